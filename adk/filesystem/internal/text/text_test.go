package text

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// reference is a window by the rules, with all lines in a slice.
func reference(s string, offset, limit int) string {
	lines := strings.Split(s, "\n")
	offset = max(offset, 1)
	if offset > len(lines) {
		return ""
	}
	lines = lines[offset-1:]
	if limit > 0 && limit < len(lines) {
		lines = lines[:limit]
	}
	return strings.Join(lines, "\n")
}

// Rule batteries/IM-4.
func TestWindow_AgreesWithASimpleWindow(t *testing.T) {
	for range 300 {
		var b strings.Builder
		for range rand.IntN(12) {
			b.WriteString([]string{"a", "bc", "\n", "\n", strings.Repeat("long", 20_000)}[rand.IntN(5)])
		}
		offset, limit := rand.IntN(8)-1, rand.IntN(8)-1
		got, err := Window(iotest.HalfReader(strings.NewReader(b.String())), offset, limit, 0)
		require.NoError(t, err)
		require.Equal(t, reference(b.String(), offset, limit), got, "%d %d", offset, limit)
	}
}

func TestWindow_Bounds(t *testing.T) {
	for _, limit := range []int{0, 1} {
		got, err := Window(strings.NewReader("12345"), 1, limit, 5)
		require.NoError(t, err)
		require.Equal(t, "12345", got)
		_, err = Window(strings.NewReader("123456"), 1, limit, 5)
		require.ErrorIs(t, err, ErrTooLarge)
	}
	got, err := Window(strings.NewReader(strings.Repeat("x", 1<<20)+"\nshort\nx"), 2, 1, 6)
	require.NoError(t, err, "what is skipped does not count")
	require.Equal(t, "short", got)
}

func TestWindow_Errors(t *testing.T) {
	broken := errors.New("the disk is gone")
	for _, offset := range []int{1, 5} {
		_, err := Window(io.MultiReader(strings.NewReader("a\nb\n"), iotest.ErrReader(broken)), offset, 0, 0)
		require.ErrorIs(t, err, broken)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Window(Reader(ctx, strings.NewReader("x")), 1, 0, 0)
	require.ErrorIs(t, err, context.Canceled)
}
