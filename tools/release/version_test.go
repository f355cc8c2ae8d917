package main

import (
	"strings"
	"testing"
)

func TestCheckVersion_FollowsTheTagsOfAllModules(t *testing.T) {
	tags := []string{"v0.1.0", "ext/model/openai/v0.1.0", "v0.2.0-rc.1", "examples/v0.2.0-rc.1", "not-a-version"}
	for version, want := range map[string]string{
		"v0.1.1":      "comes before v0.2.0-rc.1",
		"v0.2.0-rc.1": "exists already",
		"v0.2.0-rc.2": "",
		"v0.2.0":      "",
		"v0.10.0":     "",
		"v1.0.0":      "",
		"0.2.0":       "no version",
		"v0.2":        "no version",
		"v0.2.0+meta": "no version",
		"v02.0.0":     "no version",
		"":            "no version",
		"v2.0.0":      "needs /v2 in the paths",
	} {
		err := checkVersion(version, tags)
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", version, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: want an error with %q, have %v", version, want, err)
		}
	}
}

func TestAfterAll_ComesAfterEveryTag(t *testing.T) {
	for last, want := range map[string]string{
		"": "v0.0.1-check", "v0.1.9": "v0.1.10-check", "v0.2.0-rc.1": "v0.2.1-check", "v1.4.2": "v1.4.3-check",
	} {
		tags := strings.Fields(last)
		have, err := afterAll(tags)
		if err != nil || have != want {
			t.Errorf("after %q: want %s, have %s %v", last, want, have, err)
		}
		if err := checkVersion(have, tags); err != nil {
			t.Error(err)
		}
	}
}

func TestTagOf_NamesTheDirectory(t *testing.T) {
	for dir, want := range map[string]string{".": "v0.1.0", "ext/model/openai": "ext/model/openai/v0.1.0"} {
		if have := tagOf(dir, "v0.1.0"); have != want {
			t.Errorf("%s: want %s, have %s", dir, want, have)
		}
	}
}
