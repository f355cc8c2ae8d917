package jinja

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/prompt"
	"github.com/weftgo/weft/schema"
)

// format renders a text as users of package schema do.
func format(text string, vars map[string]any) (string, error) {
	got, err := schema.UserMessage(text).Format(context.Background(), vars, schema.Jinja2)
	if err != nil {
		return "", err
	}
	return got[0].Content, nil
}

// Rule schema/F18.
func TestRegistered_RendersMessages(t *testing.T) {
	vars := map[string]any{"a": "x", "l": []int{1, 2}}
	for range 2 { // compiled, and from the cache
		got, err := format("{{ a }} {{ l[1] }}", vars)
		require.NoError(t, err)
		require.Equal(t, "x 2", got)
	}
	_, err := format("{{ a", nil)
	require.EqualError(t, err, `failed to format content: line 1: tag is not closed, expected "}}"`)
}

// Rule schema/B15.2.3.
func TestRegistered_IsBounded(t *testing.T) {
	vars := map[string]any{"big": strings.Repeat("big ", 1<<22)}
	_, err := format(strings.Repeat("{{ big }}", 4), vars)
	require.NoError(t, err)
	_, err = format(strings.Repeat("{{ big }}", 5), vars)
	require.ErrorIs(t, err, errTooLong)
	vars["big"] = strings.Repeat("big ", 1<<14)
	_, err = format("{% for i in range(2000) %}{{ big }}{% endfor %}", vars)
	require.ErrorIs(t, err, errTooLong)
}

func TestRegistered_Concurrent(t *testing.T) {
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			for k := range 50 {
				n := (i + k) % 7
				want := fmt.Sprint(k, " ", n)
				if got, err := format("{{a}} "+fmt.Sprint(n), map[string]any{"a": k}); err != nil || got != want {
					t.Errorf("got %q, %v; want %q", got, err, want)
				}
			}
		})
	}
	wg.Wait()
}

// Rule components/P5.
func TestRegistered_RendersPrompts(t *testing.T) {
	history := []*schema.Message{schema.UserMessage("hi"), schema.AssistantMessage("hello", nil)}
	result, err := prompt.FromMessages(schema.Jinja2,
		schema.SystemMessage("you are {{role}}"), schema.MessagesPlaceholder("history", true), schema.UserMessage("{{question}}"),
	).Format(context.Background(), map[string]any{"role": "a cook", "question": "why?", "history": history})
	require.NoError(t, err)
	require.Len(t, result, 4)
	require.Equal(t, "you are a cook", result[0].Content)
	require.Equal(t, history, result[1:3])
	require.Equal(t, "why?", result[3].Content)
}

func BenchmarkFormat(b *testing.B) {
	text := strings.Repeat("some text with a {{ name }} and {{ n }} in it\n", 20) // about 1 KB
	vars := map[string]any{"name": "variable", "n": 12}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := format(text, vars); err != nil {
			b.Fatal(err)
		}
	}
}
