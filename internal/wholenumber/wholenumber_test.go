package wholenumber

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRewrite_IntegersThatAreWrittenOtherwise(t *testing.T) {
	for text, want := range map[string]string{
		`{"n":5.0}`: `{"n":5}`, `{"n":1e2}`: `{"n":100}`, `[1E+2,-3.00,0.0,-0.0]`: `[100,-3,0,0]`, `1.5e1`: `15`, `120e-1`: `12`,
		`{"n":5}`: ``, `5.5`: ``, `1e-1`: ``, `1e400`: ``, `1e20`: ``, `{"5.0":"5.0 \" 1e2"}`: ``, `{"a\"":1.0}`: `{"a\"":1}`,
		`9223372036854775807.0`: `9223372036854775807`, `0.000e3`: `0`, `12e-3`: ``, `5.`: ``, `-`: ``, `e`: ``, `1e`: ``, `"\`: ``,
	} {
		got, changed := Rewrite(text)
		if want == "" {
			require.False(t, changed, text)
			want = text
		}
		require.Equal(t, want, got)
	}
}

func FuzzRewrite_KeepsTheValue(f *testing.F) {
	f.Add(`{"n":[5.0,1e2,"1.0"]}`)
	f.Fuzz(func(t *testing.T, text string) {
		var before, after any
		if json.Unmarshal([]byte(text), &before) != nil {
			Rewrite(text)
			return
		}
		got, _ := Rewrite(text)
		require.NoError(t, json.Unmarshal([]byte(got), &after))
		require.Equal(t, before, after)
	})
}
