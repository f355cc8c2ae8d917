package safematch

import (
	"context"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCompile_RefusesWhatIsTooLarge(t *testing.T) {
	_, err := Compile(strings.Repeat(`\pL{1000}`, 10), "")
	require.ErrorContains(t, err, "regex pattern is too large")
	require.NotContains(t, err.Error(), "\n")
	_, err = Compile(`(a{1000}){1000}`, "")
	require.ErrorContains(t, err, "invalid regex pattern")
	_, err = Compile(`a(`, "i")
	require.ErrorContains(t, err, "missing closing ): `a(`")
	re, err := Compile(strings.Repeat(`\pL{1000}`, 4), "")
	require.NoError(t, err)
	require.LessOrEqual(t, re.steps, maxSteps)
}

// expired is a context that ends after so many looks at it.
type expired struct {
	context.Context
	looks int
}

func (e *expired) Err() error {
	if e.looks--; e.looks < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// The work between two looks at the context is bounded, whatever the expression and the text.
func TestMatcher_EndsWithItsContext(t *testing.T) {
	long := []byte(strings.Repeat("a", 1<<20))
	short := []byte(strings.Repeat("a", 100))
	for _, pattern := range []string{`\pL{1000}$x`, `(?s)a.*b|a`, `(a|aa)*$x`, `\B(a?){50}a{50}`} {
		re, err := Compile(pattern, "")
		require.NoError(t, err)
		start := time.Now()
		m := re.Matcher(&expired{t.Context(), 1})
		_, err = m.FindAll(long, -1)
		require.ErrorIs(t, err, context.DeadlineExceeded, pattern)
		_, err = re.Matcher(&expired{t.Context(), 0}).Match(long)
		require.ErrorIs(t, err, context.DeadlineExceeded, pattern)
		m = re.Matcher(&expired{t.Context(), 10})
		for err = nil; err == nil; {
			_, err = m.Match(short)
		}
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Less(t, time.Since(start), 20*time.Second, "it would take minutes otherwise")
	}
}

// pieces are put together to random expressions and texts.
var pieces = []string{"a", "b", "ab", ".", "^", "$", `\b`, `\B`, `\A`, `\z`, "a*", "b+?", "(a|ab)", "(b*)", "\n", "é",
	`\w`, "x?"}

func TestMatcher_FindsWhatTheStandardLibraryFinds(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		var pattern, text strings.Builder
		for range 1 + random.IntN(4) {
			pattern.WriteString(pieces[random.IntN(len(pieces))])
		}
		for range random.IntN(12) {
			text.WriteString([]string{"a", "b", "ab", "\n", "é", "\xff", " "}[random.IntN(7)])
		}
		flags := []string{"", "i", "ms"}[random.IntN(3)]
		want := regexp.MustCompile("(?" + flags + ")" + pattern.String())
		if flags == "" {
			want = regexp.MustCompile(pattern.String())
		}
		re, err := Compile(pattern.String(), flags)
		require.NoError(t, err)
		b := []byte(text.String())
		for _, limit := range []int{-1, 2} {
			got, err := re.Matcher(t.Context()).FindAll(b, limit)
			require.NoError(t, err)
			require.Equal(t, want.FindAllIndex(b, limit), got, "%q %q %q", flags, pattern.String(), text.String())
		}
		found, err := re.Matcher(t.Context()).Match(b)
		require.NoError(t, err)
		require.Equal(t, want.Match(b), found, "%q %q", pattern.String(), text.String())
	}
}

func TestMatcher_MatchesLongTexts(t *testing.T) {
	text := []byte(strings.Repeat("a", 2<<20) + "bc")
	for pattern, want := range map[string]bool{`a[b]c$`: true, "bc": true, `a[b]c.`: false, `x\d+`: false} {
		re, err := Compile(pattern, "")
		require.NoError(t, err)
		re.steps = max(re.steps, 10) // so that it is not done at once
		found, err := re.Matcher(t.Context()).Match(text)
		require.NoError(t, err)
		require.Equal(t, want, found, pattern)
	}
}

func BenchmarkMatch(b *testing.B) {
	line := []byte(strings.Repeat("some line of a program ", 4))
	re, err := Compile(`needle\d+`, "")
	if err != nil {
		b.Fatal(err)
	}
	m := re.Matcher(b.Context())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Match(line); err != nil {
			b.Fatal(err)
		}
	}
}
