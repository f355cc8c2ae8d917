package jsonscan

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func ended(pieces ...string) bool {
	var o Object
	for _, p := range pieces {
		o.Feed(p)
	}
	return o.Ended()
}

func TestObject(t *testing.T) {
	for text, want := range map[string]bool{
		"":                         false,
		"  ":                       false,
		"{":                        false,
		`{"a":1}`:                  true,
		" {} \n":                   true,
		`{"a":"}"`:                 false,
		`{"a":"}"}`:                true,
		`{"a":"\"}"}`:              true,
		`{"a":"\\"}`:               true,
		`{"a":[{"b":[]}]}`:         true,
		`[]`:                       false,
		`null`:                     false,
		`{}x`:                      false,
		`{}{}`:                     false,
		"{\"a\":\"\u00e9\u4e16\"}": true,
	} {
		require.Equal(t, want, ended(text), "%q", text)
		require.Equal(t, want, ended(strings.Split(text, "")...), "%q in pieces", text)
	}
}

func FuzzObject(f *testing.F) {
	for _, s := range []string{`{"a":1}`, `{"a":"\"}`, `[{}]`, ` {} `, `{"a":[1,2,{"b":null}]}`} {
		f.Add(s, 2)
	}
	f.Fuzz(func(t *testing.T, text string, cut int) {
		cut = min(max(cut, 0), len(text))
		got := ended(text[:cut], text[cut:])
		require.Equal(t, ended(text), got, "the same in pieces")
		trimmed := strings.Trim(text, " \t\r\n")
		if json.Valid([]byte(text)) && strings.HasPrefix(trimmed, "{") {
			require.True(t, got, "every valid object is found")
		}
	})
}

func BenchmarkObject(b *testing.B) {
	piece := strings.Repeat(`{"key":"some text"},`, 50)
	b.SetBytes(int64(len(piece)))
	var o Object
	for b.Loop() {
		o.Feed(piece)
	}
}
