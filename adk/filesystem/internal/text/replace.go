package text

import (
	"errors"
	"fmt"
	"strings"
)

// Replace replaces the literal text old in content, which is what the file path has. old must occur, and without all
// exactly once.
func Replace(path, content, old, new string, all bool) (string, error) {
	if old == "" {
		return "", errors.New("oldString must be non-empty")
	}
	first := strings.Index(content, old)
	if first < 0 {
		return "", fmt.Errorf("oldString not found in file: %s", path)
	}
	if all {
		return strings.ReplaceAll(content, old, new), nil
	}
	// From the next byte on, as occurrences that overlap are ambiguous too.
	if strings.Contains(content[first+1:], old) {
		return "", fmt.Errorf("multiple occurrences of oldString found in file %s, but ReplaceAll is false", path)
	}
	return content[:first] + new + content[first+len(old):], nil
}
