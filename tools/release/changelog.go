package main

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

const unreleased = "## Unreleased\n"

// releaseChangelog gives the section of what is unreleased the version and the date. It is an error if there is none.
func releaseChangelog(text, version string, on time.Time) (string, error) {
	before, after, ok := strings.Cut(text, unreleased)
	section, _, _ := strings.Cut(after, "\n## ")
	if !ok || strings.TrimSpace(section) == "" {
		return "", errors.New(`CHANGELOG.md: the section "Unreleased" is missing or empty: ` +
			"say what changes for users")
	}
	return fmt.Sprintf("%s## %s (%s)\n%s", before, version, on.UTC().Format(time.DateOnly), after), nil
}

// reopenChangelog adds an empty section for what is unreleased above the first one.
func reopenChangelog(text string) string {
	before, after, _ := strings.Cut(text, "\n## ")
	return before + "\n" + unreleased + "\n## " + after
}
