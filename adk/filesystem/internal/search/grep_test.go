package search

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/filesystem/internal/text"
)

// grep returns the lines that a query finds in content, as line:text.
func grep(t *testing.T, q Query, content string) ([]string, error) {
	t.Helper()
	s, err := NewSearcher(q)
	require.NoError(t, err)
	var got []string
	err = s.Search(t.Context(), strings.NewReader(content), func(line int, text string) error {
		got = append(got, fmt.Sprintf("%d:%s", line, text))
		return nil
	})
	return got, err
}

// reference is grep line by line as one would write it with all lines in a slice.
func reference(q Query, content string) (got []string) {
	re := regexp.MustCompile(q.Pattern)
	lines := strings.Split(strings.TrimSuffix(content, "\n"), "\n")
	if content == "" {
		lines = nil
	}
	for i, line := range lines {
		for j := max(0, i-q.After); j < len(lines) && j <= i+q.Before; j++ {
			if re.MatchString(lines[j]) {
				got = append(got, fmt.Sprintf("%d:%s", i+1, line))
				break
			}
		}
	}
	return got
}

// Rule batteries/IM-9.
func TestSearch_AgreesWithASimpleSearch(t *testing.T) {
	for range 3000 {
		var b strings.Builder
		for range rand.IntN(30) {
			b.WriteString([]string{"x", "y", "y", "y", "\n", "\n"}[rand.IntN(6)])
		}
		q := Query{Pattern: "x", Before: rand.IntN(5), After: rand.IntN(5)}
		want := reference(q, b.String())
		got, err := grep(t, q, b.String())
		require.NoError(t, err)
		require.Equal(t, want, got, "%+v %q", q, b.String())

		// Where no match spans lines, matching the whole text finds the same.
		q.Pattern, q.Multiline = "x+", true
		got, err = grep(t, q, b.String())
		require.NoError(t, err)
		if q.Before+q.After > 0 {
			require.Equal(t, want, got, "%+v %q", q, b.String())
		}
	}
}

func TestSearch_LongLines(t *testing.T) {
	long := strings.Repeat("a", 300_000)
	content := long + "x\nshort x\n" + long + "x"
	got, err := grep(t, Query{Pattern: "x"}, content)
	require.NoError(t, err)
	require.Equal(t, []string{"1:" + long + "x", "2:short x", "3:" + long + "x"}, got)

	for _, multiline := range []bool{false, true} {
		got, err = grep(t, Query{Pattern: "^a|x", MaxLine: 100_000, Multiline: multiline}, "x\n"+long)
		require.NoError(t, err)
		require.Equal(t, []string{"1:x", "2:" + long[:100_000]}, got)
	}
	got, err = grep(t, Query{Pattern: "x", MaxLine: 100_000}, content)
	require.NoError(t, err)
	require.Equal(t, []string{"2:short x"}, got,
		"the end of a line that is too long does not count, nor does it hide the next")
}

func TestSearch_Binary(t *testing.T) {
	for _, multiline := range []bool{false, true} {
		q := Query{Pattern: "x", SkipBinary: true, Multiline: multiline}
		for name, content := range map[string]string{
			"at the start":      "\x00x\n",
			"later in the head": "x\n" + strings.Repeat("y\n", 1000) + "\x00",
			"in a late match":   strings.Repeat("y\n", 10_000) + "\x00x\n",
		} {
			got, err := grep(t, q, content)
			require.NoError(t, err)
			require.Empty(t, got, name)
		}
		got, err := grep(t, q, "x\xff\xfe\n")
		require.NoError(t, err)
		require.Equal(t, []string{"1:x\xff\xfe"}, got, "another encoding is not binary")
	}
}

func TestSearch_Bounds(t *testing.T) {
	_, err := grep(t, Query{Pattern: "x", Multiline: true, MaxBytes: 10}, "0123456789x")
	require.ErrorIs(t, err, text.ErrTooLarge)
	got, err := grep(t, Query{Pattern: "x", Multiline: true, MaxBytes: 11}, "0123456789x")
	require.NoError(t, err)
	require.Len(t, got, 1)
	got, err = grep(t, Query{Pattern: "x", Multiline: true, MaxMatches: 2}, "x\nx\nx\n")
	require.NoError(t, err)
	require.Len(t, got, 2)

	// Lines are kept for a match that may come, but not any amount of them.
	s, err := NewSearcher(Query{Pattern: "x", Before: 1 << 30, MaxBytes: 1000})
	require.NoError(t, err)
	kept := 0
	require.NoError(t, s.Search(t.Context(),
		io.MultiReader(strings.NewReader(strings.Repeat("0123456789\n", 100_000)+"x")), func(_ int, text string) error {
			kept += len(text)
			return nil
		}))
	require.Equal(t, 1001, kept)
}

// A hostile pattern on a long line, or on many lines, works no longer than its context lasts.
func TestSearch_EndsWithItsContext(t *testing.T) {
	for name, test := range map[string]struct {
		query   Query
		content string
	}{
		"a long line": {Query{Pattern: `\pL{1000}$x`}, strings.Repeat("a", 1<<20)},
		"many lines":  {Query{Pattern: `\pL{1000}$x`}, strings.Repeat(strings.Repeat("a", 1000)+"\n", 60)},
		"a text":      {Query{Pattern: `a.*b|a`, Multiline: true}, strings.Repeat("a\n", 1<<19)},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := NewSearcher(test.query)
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			// The context ends when there is all that the matcher needs: what follows is its work.
			content := strings.NewReader(test.content)
			r := readerFunc(func(p []byte) (int, error) {
				n, err := content.Read(p)
				if err == io.EOF || name == "many lines" {
					cancel()
				}
				return n, err
			})
			start := time.Now()
			require.ErrorIs(t, s.Search(ctx, r, func(int, string) error { return nil }), context.Canceled)
			require.Less(t, time.Since(start), 20*time.Second, "it would take minutes otherwise")
		})
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestSearch_Errors(t *testing.T) {
	broken := errors.New("the disk is gone")
	for _, multiline := range []bool{false, true} {
		s, err := NewSearcher(Query{Pattern: "x", SkipBinary: true, Multiline: multiline})
		require.NoError(t, err)
		ignore := func(int, string) error { return nil }
		require.ErrorIs(t, s.Search(t.Context(), io.MultiReader(strings.NewReader("x\n"), iotest.ErrReader(broken)), ignore),
			broken)

		full := errors.New("enough")
		calls := 0
		err = s.Search(t.Context(), strings.NewReader("x\nx\nx\n"), func(int, string) error {
			calls++
			return full
		})
		require.ErrorIs(t, err, full)
		require.Equal(t, 1, calls)
		require.NoError(t, s.Search(t.Context(), strings.NewReader("x\n"), ignore), "it can be used again")
	}
}

func TestExtensions(t *testing.T) {
	require.Equal(t, []string{"py", "pyi"}, Extensions("py"))
	require.Equal(t, Extensions("python"), Extensions("py"))
	require.Equal(t, Extensions("typescript"), Extensions("ts"))
	require.Equal(t, Extensions("markdown"), Extensions("md"))
	require.Equal(t, Extensions("csharp"), Extensions("cs"))
	require.Equal(t, []string{"cfg", "conf", "config", "ini"}, Extensions("config"))
	require.Equal(t, []string{"unlisted"}, Extensions("unlisted"))
	for name, list := range extensions {
		require.NotEmpty(t, strings.Fields(list), name)
	}
}

// BenchmarkSearch: a search allocates for what it finds, not for what it reads.
func BenchmarkSearch(b *testing.B) {
	content := strings.Repeat("some line of a program that is not what we look for\n", 20_000)
	for name, q := range map[string]Query{
		"lines":     {Pattern: "needle"},
		"context":   {Pattern: "needle", Before: 3, After: 3},
		"multiline": {Pattern: "needle", Multiline: true},
	} {
		b.Run(name, func(b *testing.B) {
			s, err := NewSearcher(q)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(content)))
			b.ReportAllocs()
			for b.Loop() {
				if err := s.Search(b.Context(), strings.NewReader(content), func(int, string) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
