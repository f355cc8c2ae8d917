package local

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestOutput_WithinTheLimitIsWhole(t *testing.T) {
	for range 300 {
		text := strings.Repeat("añ→🙂\n", rand.IntN(20))
		out := newOutput(max(2, len(text)+1), nil)
		got := ""
		for left := text; left != ""; {
			n := 1 + rand.IntN(len(left))
			_, _ = out.Write([]byte(left[:n]))
			left = left[n:]
			if rand.IntN(2) == 0 {
				taken := out.take()
				require.True(t, utf8.ValidString(taken), "a character was torn apart: %q", taken)
				got += taken
			}
		}
		rest, truncated := out.stop()
		require.False(t, truncated)
		require.Equal(t, text, got+rest)
		require.Empty(t, out.take(), "nothing is returned twice")
	}
}

func TestOutput_MiddleIsLeftOut(t *testing.T) {
	for range 300 {
		limit := 2 * (4 + rand.IntN(30))
		text := ""
		out := newOutput(limit, nil)
		for len(text) <= 5*limit {
			part := strings.Repeat("ñ🙂x", rand.IntN(limit))
			text += part
			_, _ = out.Write([]byte(part))
		}
		require.LessOrEqual(t, len(out.tail), 2*out.limit, "memory is bounded")
		first := out.take()
		rest, truncated := out.stop()
		require.True(t, truncated)
		got := first + rest
		require.True(t, utf8.ValidString(got), "%q", got)
		head, tail, ok := strings.Cut(got, fmt.Sprintf("\n[... %d bytes left out ...]\n", len(text)-limit))
		require.True(t, ok, got)
		require.True(t, strings.HasPrefix(text, head) && strings.HasSuffix(text, tail))
		require.Greater(t, len(head)+len(tail), limit-8)
		_, _ = out.Write([]byte("late"))
		require.Empty(t, out.take())
	}
}

func TestOutput_BytesThatAreNoText(t *testing.T) {
	out := newOutput(100, nil)
	_, _ = out.Write([]byte("\xff\xfe\x80\x80\x80\x80\x80"))
	require.Equal(t, "\xff\xfe\x80\x80\x80\x80\x80", out.take(), "they are passed on as they are")
	_, _ = out.Write([]byte("\xf0\x9f"))
	require.Empty(t, out.take())
	rest, _ := out.stop()
	require.Equal(t, "\xf0\x9f", rest, "the end does not wait for more")
}
