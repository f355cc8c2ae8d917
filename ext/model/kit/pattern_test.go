package kit

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPattern_MatchesDocumentsThatDifferInTheNamedFields(t *testing.T) {
	var p Pattern
	_, ok := p.Match([]byte(`{"a":"x"}`))
	require.False(t, ok, "nothing was learned")
	p.Learn([]byte(`{"id":"c","n":1,"delta":{"content":"a \"quoted\" b","role":null},"pad":"zz"}`), "content", "n", "pad", "role")
	require.Equal(t, []string{"n", "content", "pad"}, p.Holes(), "null is neither a text nor a number")
	for doc, want := range map[string][]string{
		`{"id":"c","n":27,"delta":{"content":"\\","role":null},"pad":""}`:        {"27", `"\\"`, `""`},
		`{"id":"c","n":0,"delta":{"content":"}\",","role":null},"pad":"\u00e4"}`: {"0", `"}\","`, `"\u00e4"`},
		`{"id":"d","n":1,"delta":{"content":"a","role":null},"pad":"zz"}`:        nil,
		`{"id":"c","n":1,"delta":{"content":null,"role":null},"pad":"zz"}`:       nil,
		`{"id":"c","n":1.5,"delta":{"content":"a","role":null},"pad":"zz"}`:      nil,
		`{"id":"c","n":01,"delta":{"content":"a","role":null},"pad":"zz"}`:       nil,
		`{"id":"c","n":1,"delta":{"content":"a","role":null},"pad":"zz"}}`:       nil,
		`{"id":"c","n":1,"delta":{"content":"a","role":null},"pad":"zz","x":1}`:  nil,
		`{"id":"c","n":1,"delta":{"content":"a`:                                  nil,
		`{"id":"c","n":1,"delta":{"content":"a\"`:                                nil,
		``: nil,
	} {
		values, ok := p.Match([]byte(doc))
		require.Equal(t, want != nil, ok, doc)
		for i := range want {
			require.Equal(t, want[i], string(values[i]), doc)
		}
	}
	p.Forget()
	_, ok = p.Match([]byte(`{"id":"c","n":1,"delta":{"content":"a","role":null},"pad":"zz"}`))
	require.False(t, ok)
}

func TestText(t *testing.T) {
	for value, want := range map[string]string{`"a"`: "a", `""`: "", `"\u00e4\n\"x"`: "ä\n\"x", `"ü"`: "ü"} {
		got, ok := Text([]byte(value))
		require.True(t, ok, value)
		require.Equal(t, want, got)
	}
	for _, value := range []string{`1`, ``, `"`, `"\x"`, "\"\xff\"", "\"a\nb\""} {
		_, ok := Text([]byte(value))
		require.False(t, ok, value)
	}
}

// What a pattern matches is a document that decodes to the same but for the named fields: checked with random ones.
func FuzzPattern(f *testing.F) {
	f.Add(`{"a":{"content":"x"},"n":1}`, `{"a":{"content":"y"},"n":23}`)
	f.Add(`{"content":"x","content":"y"}`, `{"content":"\"","content":"}"}`)
	f.Add(`["content":1]`, `{"content":[{"content":"1"}]}`)
	f.Fuzz(func(t *testing.T, learned, doc string) {
		var first any
		if json.Unmarshal([]byte(learned), &first) != nil {
			return
		}
		var p Pattern
		p.Learn([]byte(learned), "content", "n")
		_, same := p.Match([]byte(learned))
		require.Equal(t, len(p.Holes()) > 0, same)
		values, ok := p.Match([]byte(doc))
		if !ok {
			return
		}
		for _, v := range values {
			if v[0] == '"' {
				if _, valid := Text(v); !valid {
					return
				}
			}
		}
		var second any
		require.NoError(t, json.Unmarshal([]byte(doc), &second))
		require.Equal(t, blank(first), blank(second))
	})
}

// blank replaces the texts and numbers of the fields that may differ.
func blank(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			switch value.(type) {
			case string, float64:
				if key == "content" || key == "n" {
					value = "?"
				}
			}
			v[key] = blank(value)
		}
	case []any:
		for i := range v {
			v[i] = blank(v[i])
		}
	}
	return v
}

func BenchmarkPattern(b *testing.B) {
	doc := []byte(`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}]}`)
	var p Pattern
	p.Learn(doc, "content")
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := p.Match(doc); !ok {
			b.Fatal("no match")
		}
	}
}
