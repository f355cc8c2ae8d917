package search

import (
	"strings"
	"testing"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/stretchr/testify/require"
)

func TestGlob_Alternatives(t *testing.T) {
	for pattern, want := range map[string][]string{
		"plain":          {"plain"},
		"{a,b}":          {"a", "b"},
		"x{a,b}y{,c}":    {"xay", "xayc", "xby", "xbyc"},
		"{a,{b,c}d}e":    {"ae", "bde", "cde"},
		"{a}":            {"a"},
		`\{a,b\}`:        {`\{a,b\}`},
		`{\,,\}}`:        {`\,`, `\}`},
		"[{]x,y[}]":      {"[{]x,y[}]"},
		"{[,],[}]}":      {"[,]", "[}]"},
		"**/{a/b,c}/*.x": {"**/a/b/*.x", "**/c/*.x"},
	} {
		g, err := CompileGlob(pattern)
		require.NoError(t, err, pattern)
		require.Equal(t, want, g.alternatives, pattern)
	}
}

func TestGlob_Invalid(t *testing.T) {
	for _, pattern := range []string{"[a", "{a", "a{b,{c}", "[]", `\`, strings.Repeat("{a,b}", 9),
		strings.Repeat("{", 2000) + strings.Repeat("}", 2000), strings.Repeat("a", maxPattern+1)} {
		_, err := CompileGlob(pattern)
		if strings.HasPrefix(pattern, "{{{") {
			require.NoError(t, err, "odd but harmless")
			continue
		}
		require.ErrorContains(t, err, "invalid glob pattern: ", pattern)
	}
	_, err := CompileGlob("[a")
	require.ErrorIs(t, err, doublestar.ErrBadPattern)
}

// TestGlob_HostilePatternsTakeLittleTime: patterns that make a backtracking matcher count to the end of time.
func TestGlob_HostilePatternsTakeLittleTime(t *testing.T) {
	name := strings.Repeat(strings.Repeat("a", 60)+"/", 60) + "b"
	start := time.Now()
	for _, pattern := range []string{
		strings.Repeat("*{a,aa}", 8) + "c",
		strings.Repeat("*a", 100) + "c",
		strings.Repeat("**/", 100) + "c",
		strings.Repeat("**/*a", 100) + "c",
		strings.Repeat("{**/,*}", 8) + "c",
		strings.Repeat("?*", 200) + "c",
	} {
		g, err := CompileGlob(pattern)
		require.NoError(t, err)
		require.False(t, g.Match(name), pattern)
	}
	require.Less(t, time.Since(start), 2*time.Minute)
}

func TestGlob_Base(t *testing.T) {
	for pattern, want := range map[string]string{
		"/a/b/*.go": "/a/b", "a/b/c": "a/b", "*": ".", "/*": "/", "a/{b,c}/d": "", "**/x": ".", "a/**": "a",
	} {
		g, err := CompileGlob(pattern)
		require.NoError(t, err)
		require.Equal(t, want, g.Base(), pattern)
	}
}

// FuzzGlob holds that with the braces taken apart beforehand a pattern matches all that it matched before. It may match
// more: doublestar itself overlooks that "*{a,}" matches nothing, too.
func FuzzGlob(f *testing.F) {
	for _, seed := range []string{"*.{go,mod}", "{a,{b,c}}", `\{`, "[{a]b}", "[a-z]{,x}", "**/x{/y,z}", "{**/,}a",
		"[^,{]"} {
		f.Add(seed, "a.go")
		f.Add(seed, "x/y/z")
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if len(pattern) > 40 || len(name) > 40 || strings.Count(pattern, "{") > 4 {
			return
		}
		g, err := CompileGlob(pattern)
		if err != nil {
			return
		}
		// What a class may hold differs from one matcher to the next; braces within are not compared.
		if strings.Contains(pattern, "[") || strings.Contains(pattern, "**") && strings.Contains(pattern, "{") {
			g.Match(name)
			return
		}
		want, err := doublestar.Match(pattern, name)
		if got := g.Match(name); err == nil && want && !got {
			t.Fatalf("%q does not match %q any more", pattern, name)
		}
	})
}
