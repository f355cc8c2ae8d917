package schema

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type parsed struct {
	ID    int    `json:"id"`
	Title string `json:"title"`
}

// Rules schema/P1, schema/B15.4.4.
func TestMessageJSONParser_ReadsTheContentByDefault(t *testing.T) {
	config := &MessageJSONParseConfig{}
	for _, p := range []MessageParser[parsed]{
		NewMessageJSONParser[parsed](nil), NewMessageJSONParser[parsed](config), &MessageJSONParser[parsed]{},
	} {
		got, err := p.Parse(ctx, AssistantMessage(`{"id": 1}`, nil))
		require.NoError(t, err)
		require.Equal(t, parsed{ID: 1}, got)
	}
	require.Equal(t, &MessageJSONParseConfig{}, config)
}

// Rules schema/P2, schema/B15.4.4.
func TestMessageJSONParser_ReadsContentOrToolCall(t *testing.T) {
	m := AssistantMessage(`{"id": 1}`,
		[]ToolCall{{Function: FunctionCall{Arguments: `{"id": 2}`}}, {Function: FunctionCall{Arguments: `{"id": 3}`}}})
	got, err := NewMessageJSONParser[parsed](&MessageJSONParseConfig{ParseFrom: MessageParseFromToolCall}).Parse(ctx, m)
	require.NoError(t, err)
	require.Equal(t, 2, got.ID)
	_, err = NewMessageJSONParser[parsed](&MessageJSONParseConfig{ParseFrom: MessageParseFromToolCall}).Parse(ctx,
		UserMessage("{}"))
	require.EqualError(t, err, "no tool call found")
	_, err = NewMessageJSONParser[parsed](&MessageJSONParseConfig{ParseFrom: "reasoning"}).Parse(ctx, m)
	require.EqualError(t, err, "invalid parse from type: reasoning")
	_, err = NewMessageJSONParser[parsed](nil).Parse(ctx, nil)
	require.ErrorContains(t, err, "nil")
}

// Rules schema/P3, schema/B15.4.4.
func TestMessageJSONParser_FollowsTheKeyPath(t *testing.T) {
	const text = `{"other": {"a": [1, "]}"], "b": "{"}, "data": {"list": [{"id": 7}, {"id": 8, "title": "t"}], "": {"id": 9}, "n": null}} trailing`
	parse := func(path string) (parsed, error) {
		return NewMessageJSONParser[parsed](&MessageJSONParseConfig{ParseKeyPath: path}).Parse(ctx, UserMessage(text))
	}
	for path, want := range map[string]parsed{
		"data.list.0": {ID: 7}, "data.list.1": {ID: 8, Title: "t"}, "data.": {ID: 9}, "data.n": {}, "data": {},
	} {
		got, err := parse(path)
		require.NoError(t, err, path)
		require.Equal(t, want, got, path)
	}
	for path, want := range map[string]string{
		"missing": "key not found", "data.missing": "key not found", "data.list.2": "out of range",
		"data.list.x":  "not an array index",
		"data.list.-1": "not an array index", "data.list.0.id.x": "neither an object nor an array",
	} {
		got, err := parse(path)
		require.ErrorContains(t, err, "failed to get parse key path: ", path)
		require.ErrorContains(t, err, want, path)
		require.Zero(t, got)
	}
	_, err := parse("data.list")
	require.ErrorContains(t, err, "failed to unmarshal content: ")
	for _, broken := range []string{"", "{", `{"a"`, `{"a":`, `{"b": 1, `, `[`, `[1`, "x"} {
		_, err := NewMessageJSONParser[parsed](&MessageJSONParseConfig{ParseKeyPath: "a"}).Parse(ctx, UserMessage(broken))
		require.ErrorContains(t, err, "failed to ", broken)
	}
}

// Rule schema/P3.
func TestMessageJSONParser_RefusesTrailingText(t *testing.T) {
	for _, bad := range []string{"", " ", "{", `{"id": "x"}`, `{"id": 1} x`, `[1]`} {
		got, err := NewMessageJSONParser[parsed](nil).Parse(ctx, UserMessage(bad))
		require.ErrorContains(t, err, "failed to unmarshal content: ", bad)
		require.Zero(t, got)
	}
	for _, good := range []string{"null", " {} \n"} {
		got, err := NewMessageJSONParser[parsed](nil).Parse(ctx, UserMessage(good))
		require.NoError(t, err)
		require.Zero(t, got)
	}
}

// Rule schema/P4.
func TestMessageJSONParser_DecodesIntoAnyType(t *testing.T) {
	const text = `{"ID": 1, "TITLE": "t"}`
	pointer, err := NewMessageJSONParser[**parsed](nil).Parse(ctx, UserMessage(text))
	require.NoError(t, err)
	require.Equal(t, parsed{ID: 1, Title: "t"}, **pointer)
	m, err := NewMessageJSONParser[map[string]any](nil).Parse(ctx, UserMessage(text))
	require.NoError(t, err)
	require.Equal(t, map[string]any{"ID": 1.0, "TITLE": "t"}, m)
	list, err := NewMessageJSONParser[[]parsed](nil).Parse(ctx, UserMessage("["+text+"]"))
	require.NoError(t, err)
	require.Equal(t, []parsed{{ID: 1, Title: "t"}}, list)
	nested, err := NewMessageJSONParser[*parsed](&MessageJSONParseConfig{ParseKeyPath: "a"}).Parse(ctx,
		UserMessage(`{"a":`+text+"}"))
	require.NoError(t, err)
	require.Equal(t, &parsed{ID: 1, Title: "t"}, nested)
}

// FuzzMessageJSONParser_KeyPath holds the walk against decoding everything.
func FuzzMessageJSONParser_KeyPath(f *testing.F) {
	f.Add(`{"a": {"b": [1, {"c": 2}]}}`, "a.b.1.c")
	f.Add(`[[1], {"x": null}]`, "1.x")
	f.Fuzz(func(t *testing.T, text, path string) {
		got, err := NewMessageJSONParser[any](&MessageJSONParseConfig{ParseKeyPath: path}).Parse(ctx, UserMessage(text))
		var all any
		if path == "" || json.Unmarshal([]byte(text), &all) != nil {
			return
		}
		if again, _ := json.Marshal(all); strings.Count(string(again), `"`) != strings.Count(text, `"`) {
			return // a key is repeated, or written in more than one way
		}
		want, ok := all, true
		for _, key := range strings.Split(path, ".") {
			switch v := want.(type) {
			case map[string]any:
				want, ok = v[key]
			case []any:
				i, err := strconv.Atoi(key)
				if ok = err == nil && i >= 0 && i < len(v); ok {
					want = v[i]
				}
			default:
				ok = false
			}
			if !ok {
				break
			}
		}
		if ok != (err == nil) || ok && !reflect.DeepEqual(got, want) {
			t.Errorf("%s at %q: got %v, %v; want %v, %v", text, path, got, err, want, ok)
		}
	})
}
