package jinja

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxChain bounds the operators, names and literals in a row, maxBrackets the brackets in brackets, and maxBlocks
	// the blocks in blocks: the engine recurses over all of them.
	maxChain    = 1000
	maxBrackets = 50
	maxBlocks   = 100

	// maxInline is the length up to which literal text is given to the engine, which needs many times its size.
	maxInline = 256
)

// prepared is a template made ready for the engine.
type prepared struct {
	template string
	texts    []string // literal texts that are printed by name
}

// textName is the variable that holds a literal text. The letter keeps it apart from the template's own names.
func textName(i int) string { return "ꟸ" + strconv.Itoa(i) }

// prepare checks a template and rewrites it so that the engine gets only what it handles well: every tag is closed
// and on one line, comments and raw blocks are gone, whitespace control is applied, and literal text that is long or
// that the engine would change is printed by name.
func prepare(text string) (prepared, error) {
	s := scanner{rest: text}
	err := s.run()
	return prepared{s.out.String(), s.texts}, err
}

// scanner splits a template into literal text and tags.
type scanner struct {
	rest   string
	line   int // lines consumed
	out    strings.Builder
	texts  []string
	data   strings.Builder // literal text that is not yet written
	trim   bool            // whether whitespace at the beginning of the next literal text is dropped
	blocks int             // open ones
}

func (s *scanner) errorf(format string, args ...any) error {
	return fmt.Errorf("line %d: %w", s.line+1, fmt.Errorf(format, args...))
}

// take consumes n bytes.
func (s *scanner) take(n int) string {
	taken := s.rest[:n]
	s.rest = s.rest[n:]
	s.line += strings.Count(taken, "\n")
	return taken
}

func (s *scanner) run() error {
	for {
		i := nextTag(s.rest)
		if i < 0 {
			s.literal(s.take(len(s.rest)), false)
			s.flush()
			return nil
		}
		trimRight := strings.HasPrefix(s.rest[i+2:], "-")
		s.literal(s.take(i), trimRight)
		if err := s.tag(); err != nil {
			return err
		}
	}
}

// nextTag returns where the next tag begins, or -1.
func nextTag(text string) int {
	for from := 0; ; {
		i := strings.IndexByte(text[from:], '{')
		if i < 0 || from+i+1 >= len(text) {
			return -1
		}
		from += i
		if strings.IndexByte("{%#", text[from+1]) >= 0 {
			return from
		}
		from++
	}
}

const space = " \t\r\n\v\f"

// literal adds literal text, without the whitespace that the tags around it drop.
func (s *scanner) literal(text string, trimRight bool) {
	if s.trim {
		text = strings.TrimLeft(text, space)
	}
	if trimRight {
		text = strings.TrimRight(text, space)
	}
	s.data.WriteString(text)
}

// flush writes the literal text that was collected.
func (s *scanner) flush() {
	text := s.data.String()
	s.data.Reset()
	if len(text) <= maxInline && !strings.Contains(text, "\r") && nextTag(text) < 0 && !strings.HasSuffix(text, "{") {
		s.out.WriteString(text)
		return
	}
	s.out.WriteString("{{" + textName(len(s.texts)) + "}}")
	s.texts = append(s.texts, text)
	s.keepLines(text)
}

// keepLines makes up for line breaks that are not written, so that the engine's errors name the right line.
func (s *scanner) keepLines(text string) {
	if n := strings.Count(text, "\n"); n > 0 {
		s.out.WriteString("{#" + strings.Repeat("\n", n) + "#}")
	}
}

func (s *scanner) tag() error {
	kind := s.rest[1]
	if kind == '#' {
		return s.comment()
	}
	inner, err := s.inside(kind)
	if err != nil {
		return err
	}
	s.trim = strings.HasSuffix(inner, "-")
	inner = withoutControls(inner, kind)
	name := firstWord(inner)
	if kind == '%' && name == "raw" {
		return s.raw()
	}
	if kind == '%' {
		if err := s.nest(name, inner); err != nil {
			return err
		}
	}
	s.flush()
	end := "}}"
	if kind == '%' {
		end = "%}"
	}
	// The spaces keep signs and braces away from the delimiters.
	s.out.WriteString("{" + string(kind) + " " + oneLine(inner) + " " + end)
	s.keepLines(inner)
	return nil
}

// withoutControls drops the signs for whitespace control. A plus is one only in statements.
func withoutControls(inner string, kind byte) string {
	controls := "-"
	if kind == '%' {
		controls = "-+"
	}
	if inner != "" && strings.IndexByte(controls, inner[0]) >= 0 {
		inner = inner[1:]
	}
	if last := len(inner) - 1; last >= 0 && strings.IndexByte(controls, inner[last]) >= 0 {
		inner = inner[:last]
	}
	return inner
}

func (s *scanner) comment() error {
	end := strings.Index(s.rest[2:], "#}")
	if end < 0 {
		return s.errorf("unclosed comment")
	}
	s.trim = end > 0 && s.rest[2+end-1] == '-'
	s.take(end + 4)
	return nil
}

// raw takes everything up to the end of the raw block as literal text.
func (s *scanner) raw() error {
	for from := 0; ; {
		i := strings.Index(s.rest[from:], "{%")
		if i < 0 {
			return s.errorf("raw block is not closed, expected {%% endraw %%}")
		}
		from += i
		end := strings.Index(s.rest[from:], "%}")
		if end < 0 {
			return s.errorf("raw block is not closed, expected {%% endraw %%}")
		}
		if tag := s.rest[from+2 : from+end]; strings.Trim(tag, "-+"+space) == "endraw" {
			s.literal(s.take(from), strings.HasPrefix(tag, "-"))
			s.take(end + 2)
			s.trim = strings.HasSuffix(tag, "-")
			return nil
		}
		from += 2
	}
}

// nest counts the blocks that are open.
func (s *scanner) nest(name, inner string) error {
	switch {
	case strings.HasPrefix(name, "end"):
		s.blocks--
	case name == "if", name == "for", name == "macro", name == "block", name == "filter", name == "with",
		name == "autoescape", name == "set" && !strings.Contains(inner, "="):
		s.blocks++
	}
	if s.blocks > maxBlocks {
		return s.errorf("blocks are nested deeper than %d", maxBlocks)
	}
	return nil
}

func firstWord(s string) string {
	s = strings.TrimLeft(s, space)
	end := strings.IndexFunc(s, func(r rune) bool { return !isWord(r) })
	if end < 0 {
		return s
	}
	return s[:end]
}

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// oneLine replaces line breaks outside of strings, which the engine takes for parts of names.
func oneLine(inner string) string {
	if !strings.ContainsAny(inner, "\n\r\v\f") {
		return inner
	}
	out := []byte(inner)
	for i := 0; i < len(out); i++ {
		switch out[i] {
		case '\n', '\r', '\v', '\f':
			out[i] = ' '
		case '"', '\'':
			i += stringLength(inner[i:]) - 1
		}
	}
	return string(out)
}

// stringLength is the length of the string literal at the beginning of s, or 0 if it is not closed.
func stringLength(s string) int {
	for i := 1; i < len(s); i++ {
		if s[i] == s[0] && s[i-1] != '\\' {
			return i + 1
		}
	}
	return 0
}

// inside consumes a tag and returns what is between its delimiters.
func (s *scanner) inside(kind byte) (string, error) {
	end := "}}"
	if kind == '%' {
		end = "%}"
	}
	var e expression
	for i := 2; i < len(s.rest); {
		closes := strings.HasPrefix(s.rest[i:], end) && !(s.rest[i] == '}' && e.expects('}'))
		if closes && len(e.open) > 0 {
			return "", s.errorf("unbalanced brackets in tag")
		}
		if closes {
			inner := s.rest[2:i]
			s.take(i + 2)
			return inner, nil
		}
		n, err := e.token(s.rest[i:])
		if err != nil {
			return "", s.errorf("%w", err)
		}
		i += n
	}
	return "", s.errorf("tag is not closed, expected %q", end)
}

// expression checks the tokens of a tag as they come.
type expression struct {
	open  []byte // the closing brackets expected
	chain []int  // tokens in a row before each of them
	count int    // tokens in a row here
}

func (e *expression) expects(bracket byte) bool {
	return len(e.open) > 0 && e.open[len(e.open)-1] == bracket
}

// token returns the length of the token at the beginning of text.
func (e *expression) token(text string) (int, error) {
	r, n := utf8.DecodeRuneInString(text)
	switch {
	case strings.ContainsRune(space, r):
		return n, nil
	case r == '"' || r == '\'':
		n = stringLength(text)
		if n == 0 {
			return 0, fmt.Errorf("string is not closed")
		}
	case isWord(r):
		if n = strings.IndexFunc(text, func(r rune) bool { return !isWord(r) }); n < 0 {
			n = len(text)
		}
	case strings.ContainsRune("([{", r):
		return n, e.push(byte(r))
	case strings.ContainsRune(")]}", r):
		return n, e.pop(byte(r))
	case r == ',':
		e.count = 0
		return n, nil
	case !strings.ContainsRune("+-*/%~|.:<>=!", r):
		return 0, fmt.Errorf("unexpected character %q in tag", r)
	}
	return n, e.next()
}

// next counts one more token in a row.
func (e *expression) next() error {
	if e.count++; e.count > maxChain {
		return fmt.Errorf("more than %d operators and operands in a row", maxChain)
	}
	return nil
}

func (e *expression) push(bracket byte) error {
	if len(e.open) == maxBrackets {
		return fmt.Errorf("brackets are nested deeper than %d", maxBrackets)
	}
	e.open = append(e.open, map[byte]byte{'(': ')', '[': ']', '{': '}'}[bracket])
	e.chain = append(e.chain, e.count)
	e.count = 0
	return nil
}

func (e *expression) pop(bracket byte) error {
	if !e.expects(bracket) {
		return fmt.Errorf("unbalanced bracket %q in tag", bracket)
	}
	last := len(e.open) - 1
	e.count = e.chain[last]
	e.open, e.chain = e.open[:last], e.chain[:last]
	return e.next()
}
