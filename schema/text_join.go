package schema

import "strings"

// textJoin joins texts. While there is only one it is kept as it is, without a copy. It must not be copied once a
// second text came.
type textJoin struct {
	only string
	b    strings.Builder
}

const minTextBuffer = 64

func (t *textJoin) add(s string) {
	if t.b.Len() == 0 {
		if t.only == "" || s == "" {
			t.only += s
			return
		}
		t.grow(len(t.only) + len(s))
		t.b.WriteString(t.only)
	}
	t.grow(len(s))
	t.b.WriteString(s)
}

// grow makes room for n more bytes, at least doubling the buffer: many small chunks need few allocations.
func (t *textJoin) grow(n int) {
	if t.b.Cap()-t.b.Len() < n {
		t.b.Grow(max(n, minTextBuffer))
	}
}

// String returns what was added so far.
func (t *textJoin) String() string {
	if t.b.Len() > 0 {
		return t.b.String()
	}
	return t.only
}

// single keeps the one value that a field may have over all chunks. An empty v says nothing. It reports false, and
// keeps the earlier value, if v is another one.
func single[S ~string](field *S, v S) bool {
	if *field == "" {
		*field = v
	}
	return v == "" || v == *field
}
