package search

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Bounds of a pattern. Within them a match takes little time, whatever the pattern is.
const (
	maxPattern      = 4 << 10 // bytes
	maxAlternatives = 256
)

// A Glob is a pattern for slash-separated paths.
type Glob struct{ alternatives []string }

// CompileGlob checks a pattern. "*" and "?" do not cross "/", "**" does; "[a-z]" and "{a,b}" work, "\" takes the
// meaning from the next character.
func CompileGlob(pattern string) (*Glob, error) {
	if len(pattern) > maxPattern {
		return nil, fmt.Errorf("invalid glob pattern: it has %d bytes, at most %d are allowed", len(pattern), maxPattern)
	}
	if !doublestar.ValidatePattern(pattern) {
		return nil, fmt.Errorf("invalid glob pattern: %q: %w", pattern, doublestar.ErrBadPattern)
	}
	g := &Glob{}
	if err := g.expand("", pattern); err != nil {
		return nil, fmt.Errorf("invalid glob pattern: %q: %w", pattern, err)
	}
	return g, nil
}

// expand adds the alternatives of head+pattern. head has no braces any more. Doing this once, and not in each match,
// keeps patterns with many braces from taking exponential time.
func (g *Glob) expand(head, pattern string) error {
	open := indexSpecial(pattern, "{")
	if open < 0 {
		if len(g.alternatives) == maxAlternatives {
			return fmt.Errorf("its braces make more than %d alternatives", maxAlternatives)
		}
		g.alternatives = append(g.alternatives, head+pattern)
		return nil
	}
	head += pattern[:open]
	parts, rest, ok := splitBraces(pattern[open+1:])
	if !ok {
		return errors.New("a brace is not closed")
	}
	for _, part := range parts {
		if err := g.expand(head, part+rest); err != nil {
			return err
		}
	}
	return nil
}

// splitBraces cuts what follows an opening brace into the alternatives and what follows the closing brace.
func splitBraces(s string) (parts []string, rest string, ok bool) {
	depth, start := 0, 0
	for i := 0; ; i++ {
		n := indexSpecial(s[i:], "{,}")
		if n < 0 {
			return nil, "", false
		}
		i += n
		switch {
		case s[i] == '{':
			depth++
		case s[i] == '}' && depth > 0:
			depth--
		case depth > 0: // a comma of an inner group
		default:
			parts = append(parts, s[start:i])
			start = i + 1
			if s[i] == '}' {
				return parts, s[start:], true
			}
		}
	}
}

// indexSpecial is the index of the first byte of s that is in set and is neither escaped nor in a character class.
func indexSpecial(s, set string) int {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case s[i] == '[':
			i = classEnd(s, i)
		case strings.IndexByte(set, s[i]) >= 0:
			return i
		}
	}
	return -1
}

// classEnd is the index of the bracket that closes the class which opens at s[i]; i if none does.
func classEnd(s string, i int) int {
	for j := i + 1; j < len(s); j++ {
		switch s[j] {
		case '\\':
			j++
		case ']':
			return j
		}
	}
	return i
}

// Match reports whether the pattern matches the whole of name.
func (g *Glob) Match(name string) bool {
	for _, a := range g.alternatives {
		if doublestar.MatchUnvalidated(a, name) {
			return true
		}
	}
	return false
}

// Base is the directory that everything which the pattern can match lies in, "" if there is none.
func (g *Glob) Base() string {
	if len(g.alternatives) != 1 {
		return ""
	}
	base, _ := doublestar.SplitPattern(g.alternatives[0])
	return base
}
