// Package safematch matches regular expressions that strangers wrote, such as a model. The file searches use it. It
// must never work much longer than its context lasts, whatever the expression and the text are.
package safematch

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"regexp"
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

const (
	// maxSteps bounds the steps of an expression. The time for a byte of text, and the memory of the compiled
	// expression, grow with them.
	maxSteps = 10_000
	// atOnce is the number of steps, times bytes of text, that are worked through without looking at the context: 0.1 s
	// at most.
	atOnce = 1 << 22
	// betweenChecks is the same where the context can be looked at any time.
	betweenChecks = 1 << 18
)

// A Regexp is a compiled expression. It is safe for concurrent use.
type Regexp struct {
	re *regexp.Regexp
	// prefix begins every match; whole says that it is the entire expression.
	prefix []byte
	whole  bool
	steps  int
	// next finds the first match, as its group 1, behind the first character of a text, which is only looked back at.
	next *regexp.Regexp
}

// Compile compiles an expression, with flags such as "i". It refuses one that is too large to be matched in good time.
func Compile(pattern, flags string) (*Regexp, error) {
	// First without flags, so that the error shows the pattern as it was given.
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("invalid regex pattern: %w", err)
	}
	steps := stepsOf(tree)
	if steps > maxSteps {
		return nil, fmt.Errorf("regex pattern is too large: it has %d steps, and at most %d are allowed; "+
			"use smaller repeat counts or a simpler pattern", steps, maxSteps)
	}
	if flags != "" {
		pattern = "(?" + flags + ")" + pattern
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("invalid regex pattern: %w", err)
	}
	next, err := regexp.Compile(`\A(?s:.)(?s:.*?)(` + pattern + `)`)
	if err != nil {
		return nil, fmt.Errorf("invalid regex pattern: %w", err)
	}
	r := &Regexp{re: re, steps: steps, next: next}
	if !isAnchored(tree) { // otherwise the prefix counts at the start of the text only
		prefix, whole := re.LiteralPrefix()
		r.prefix, r.whole = []byte(prefix), whole
	}
	return r, nil
}

// isAnchored reports whether an expression asks for the start of the text somewhere.
func isAnchored(re *syntax.Regexp) bool {
	return re.Op == syntax.OpBeginText || slices.ContainsFunc(re.Sub, isAnchored)
}

// stepsOf estimates the size of the program for an expression.
func stepsOf(re *syntax.Regexp) int {
	steps := 1
	if re.Op == syntax.OpLiteral {
		steps = max(1, len(re.Rune))
	}
	for _, sub := range re.Sub {
		steps += stepsOf(sub)
	}
	if re.Op == syntax.OpRepeat {
		steps *= max(1, re.Min, re.Max)
	}
	return steps
}

// A Matcher matches one text after the other until its context ends. It is not safe for concurrent use.
type Matcher struct {
	*Regexp
	ctx context.Context
	// spent is the work since the context was looked at.
	spent int
}

// Matcher returns a matcher that gives up with the error of ctx.
func (r *Regexp) Matcher(ctx context.Context) *Matcher { return &Matcher{Regexp: r, ctx: ctx} }

// check looks at the context if n more bytes make it due.
func (m *Matcher) check(n int) error {
	m.spent += (n + 1) * m.steps
	if m.spent < betweenChecks {
		return nil
	}
	m.spent = 0
	return m.ctx.Err()
}

// Match reports whether text has a match.
func (m *Matcher) Match(text []byte) (bool, error) {
	if err := m.check(len(text)); err != nil {
		return false, err
	}
	switch {
	case m.whole:
		return bytes.Contains(text, m.prefix), nil
	case len(text) <= atOnce/m.steps:
		return m.re.Match(text), nil
	case !bytes.Contains(text, m.prefix):
		return false, nil
	}
	r := &reader{m: m, text: text}
	found := m.re.MatchReader(r)
	return found, r.err
}

// FindAll returns the start and end of up to limit matches that do not overlap; a negative limit is none.
func (m *Matcher) FindAll(text []byte, limit int) (spans [][]int, err error) {
	if len(text) <= atOnce/m.steps { // most texts have no match
		if found, err := m.Match(text); err != nil || !found {
			return nil, err
		}
	}
	for at, last := 0, -1; at <= len(text) && len(spans) != limit; {
		from, to, err := m.find(text, at)
		if err != nil || from < 0 {
			return spans, err
		}
		if to > from || from != last { // no empty match right behind another one
			spans = append(spans, []int{from, to})
			last = to
		}
		if at = to; to == from {
			_, width := utf8.DecodeRune(text[to:])
			at += max(1, width)
		}
	}
	return spans, nil
}

// find returns the first match from a position on, -1 if there is none.
func (m *Matcher) find(text []byte, at int) (from, to int, err error) {
	skipped := bytes.Index(text[at:], m.prefix)
	if err := m.check(max(skipped, 0)); err != nil || skipped < 0 {
		return -1, -1, err
	}
	at += skipped
	if m.whole {
		return at, at + len(m.prefix), nil
	}
	if at == 0 {
		r := &reader{m: m, text: text}
		if span := m.re.FindReaderIndex(r); span != nil && r.err == nil {
			return span[0], span[1], nil
		}
		return -1, -1, r.err
	}
	_, width := utf8.DecodeLastRune(text[:at])
	r := &reader{m: m, text: text[at-width:]}
	if span := m.next.FindReaderSubmatchIndex(r); span != nil && r.err == nil {
		return at - width + span[2], at - width + span[3], nil
	}
	return -1, -1, r.err
}

// reader gives a text to the expression engine, which has no other way to be interrupted.
type reader struct {
	m    *Matcher
	text []byte
	err  error
}

func (r *reader) ReadRune() (rune, int, error) {
	if len(r.text) == 0 {
		return 0, 0, io.EOF
	}
	c, width := rune(r.text[0]), 1
	if c >= utf8.RuneSelf {
		c, width = utf8.DecodeRune(r.text)
	}
	if r.err = r.m.check(width - 1); r.err != nil {
		return 0, 0, io.EOF
	}
	r.text = r.text[width:]
	return c, width, nil
}
