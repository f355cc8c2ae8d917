package skill

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// parse takes a SKILL.md apart.
func parse(text string) (front FrontMatter, body string, err error) {
	head, body, err := splitFrontMatter(withoutLineNumbers(text))
	if err != nil {
		return front, "", fmt.Errorf("failed to parse frontmatter: %w", err)
	}
	if err := yaml.Unmarshal([]byte(head), &front); err != nil {
		return FrontMatter{}, "", fmt.Errorf("failed to unmarshal frontmatter: %w", err)
	}
	return front, body, nil
}

const delimiter = "---"

// splitFrontMatter cuts a text at the line that starts with the delimiter, other than its first one.
func splitFrontMatter(text string) (head, body string, err error) {
	text = strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))
	if !strings.HasPrefix(text, delimiter) {
		return "", "", errors.New("file does not start with frontmatter delimiter")
	}
	head, body, found := strings.Cut(text[len(delimiter):], "\n"+delimiter)
	if !found {
		return "", "", errors.New("frontmatter closing delimiter not found")
	}
	return head, strings.TrimSpace(body), nil
}

var lineNumber = regexp.MustCompile(`^\s*\d+\t`)

// withoutLineNumbers removes the numbers that some backends put before the lines of a file. They are there only if
// every line has one that is not empty: a text may have tabs and numbers of its own.
func withoutLineNumbers(text string) string {
	lines := strings.Split(text, "\n")
	for _, line := range lines {
		if strings.TrimSpace(line) != "" && !lineNumber.MatchString(line) {
			return text
		}
	}
	for i, line := range lines {
		lines[i] = line[len(lineNumber.FindString(line)):]
	}
	return strings.Join(lines, "\n")
}
