package main

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/semver"
)

// tagOf returns the tag of a version of the module in a directory, as the go command looks for it.
func tagOf(dir, version string) string {
	if dir == "." {
		return version
	}
	return dir + "/" + version
}

// checkVersion returns an error unless version can follow the versions that tags name. All modules have the same
// version, so that tags of one of them are of all.
func checkVersion(version string, tags []string) error {
	switch {
	case !semver.IsValid(version) || semver.Canonical(version) != version:
		return fmt.Errorf("%q is no version: want vMAJOR.MINOR.PATCH, and -NAME.NUMBER behind it before a release",
			version)
	case semver.Major(version) != "v0" && semver.Major(version) != "v1":
		return fmt.Errorf("%s needs /%s in the paths of all modules", version, semver.Major(version))
	}
	last := latest(tags)
	switch {
	case last == "":
		return nil
	case last == version:
		return fmt.Errorf("%s exists already", version)
	case semver.Compare(version, last) < 0:
		return fmt.Errorf("%s comes before %s, which exists", version, last)
	}
	return nil
}

// latest returns the highest version among tags of all modules, or "".
func latest(tags []string) string {
	last := ""
	for _, tag := range tags {
		v := tag[strings.LastIndexByte(tag, '/')+1:]
		if semver.IsValid(v) && (last == "" || semver.Compare(v, last) > 0) {
			last = v
		}
	}
	return last
}

// afterAll returns a version for checks that comes after all of the tags.
func afterAll(tags []string) (string, error) {
	last := latest(tags)
	if last == "" {
		return "v0.0.1-check", nil
	}
	parts := strings.Split(strings.TrimSuffix(last, semver.Prerelease(last)), ".")
	patch, err := strconv.Atoi(parts[len(parts)-1])
	if err != nil {
		return "", fmt.Errorf("tag %s: %w", last, err)
	}
	return fmt.Sprintf("%s.%d-check", semver.MajorMinor(last), patch+1), nil
}
