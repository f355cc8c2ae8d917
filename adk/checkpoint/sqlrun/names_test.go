package sqlrun

import (
	"math/rand"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// hostile makes a name of pieces that encodings get wrong.
func hostile(random *rand.Rand) string {
	pieces := []string{"a", "%", "#", "\x00", "\x7f", "\xff", "\xe6", "\xe6\x97", "日", "🧵", "%00", "é", "/", " ",
		"�", "$", strings.Repeat("long", 60)}
	var b strings.Builder
	for range random.Intn(8) {
		b.WriteString(pieces[random.Intn(len(pieces))])
	}
	return b.String()
}

// FuzzNames: keys are text that databases take, no two names have the same one, and names are read from them.
// Rule distributed/B3.
func FuzzNames(f *testing.F) {
	random := rand.New(rand.NewSource(1))
	for range 2000 {
		f.Add(hostile(random), hostile(random))
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		key := encode(a)
		require.True(t, utf8.ValidString(key))
		require.LessOrEqual(t, len(key), longestName)
		require.NotContains(t, key, "\x00")
		if name, ok := decode(key); ok {
			require.Equal(t, a, name)
		}
		require.Equal(t, a == b, key == encode(b))
		from, to := prefixRange(b)
		if strings.HasPrefix(a, b) && !strings.HasPrefix(key, "#") && len(b) <= longestName/3 {
			require.True(t, from <= key && key <= to, "%q is not between %q and %q", key, from, to)
		}
	})
}
