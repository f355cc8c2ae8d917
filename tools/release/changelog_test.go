package main

import (
	"strings"
	"testing"
	"time"
)

func TestChangelog_TheUnreleasedSectionGetsVersionAndDate(t *testing.T) {
	on := time.Date(2026, 11, 30, 23, 0, 0, 0, time.UTC)
	before := "# Changelog\n\n## Unreleased\n\n- New.\n\n## v0.1.0 (2026-01-02)\n\n- Old.\n"
	released, err := releaseChangelog(before, "v0.2.0", on)
	if err != nil {
		t.Fatal(err)
	}
	want := "# Changelog\n\n## v0.2.0 (2026-11-30)\n\n- New.\n\n## v0.1.0 (2026-01-02)\n\n- Old.\n"
	if released != want {
		t.Errorf("want:\n%s\nhave:\n%s", want, released)
	}
	reopened := reopenChangelog(released)
	if want := strings.Replace(want, "## v0.2.0", "## Unreleased\n\n## v0.2.0", 1); reopened != want {
		t.Errorf("want:\n%s\nhave:\n%s", want, reopened)
	}
	for _, text := range []string{reopened, "# Changelog\n", "# Changelog\n\n## Unreleased\n"} {
		if _, err := releaseChangelog(text, "v0.3.0", on); err == nil {
			t.Errorf("a changelog without anything new was accepted:\n%s", text)
		}
	}
}
