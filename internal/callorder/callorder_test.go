package callorder

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/schema"
)

func TestLabel_TellsCallsOfOneIDApart(t *testing.T) {
	for _, c := range []struct{ ids, want []string }{
		{[]string{"a", "b"}, []string{"a", "b"}},
		{[]string{"a", "a", "a"}, []string{"a", "a~2", "a~3"}},
		{[]string{"a", "a~2", "a"}, []string{"a", "a~2", "a~3"}},
		{[]string{"a~2", "a", "a"}, []string{"a~2", "a", "a~3"}},
		{[]string{"", ""}, []string{"", "~2"}},
	} {
		for i, want := range c.want {
			require.Equal(t, want, Label(i, func(i int) string { return c.ids[i] }), "%q", c.ids)
		}
	}
}

type said struct {
	by string
	m  *schema.Message
}

func of(e said) (string, *schema.Message) { return e.by, e.m }

func answer(by string, ids ...string) said {
	m := schema.AssistantMessage("", nil)
	for _, id := range ids {
		m.ToolCalls = append(m.ToolCalls, schema.ToolCall{ID: id})
	}
	return said{by, m}
}

func result(by, id, label, text string) said {
	m := schema.ToolMessage(text, id)
	m.Extra = map[string]any{}
	Mark(m.Extra, label, id)
	return said{by, m}
}

func TestAppend_PutsResultsInTheOrderOfTheCalls(t *testing.T) {
	for name, c := range map[string]struct {
		in   []said
		want string
	}{
		"reversed":           {[]said{answer("a", "1", "2", "3"), result("a", "3", "", "z"), result("a", "2", "", "y"), result("a", "1", "", "x")}, "[a]xyz"},
		"one ID":             {[]said{answer("a", "1", "1"), result("a", "1", "1~2", "y"), result("a", "1", "", "x")}, "[a]xy"},
		"two speakers":       {[]said{answer("a", "1", "2"), answer("b", "1", "2"), result("a", "2", "", "q"), result("b", "2", "", "y"), result("b", "1", "", "x"), result("a", "1", "", "p")}, "[a][b]pqxy"},
		"an earlier turn":    {[]said{answer("a", "1", "2"), result("a", "2", "", "y"), result("a", "1", "", "x"), answer("a", "1", "2"), result("a", "2", "", "q"), result("a", "1", "", "p")}, "[a]xy[a]pq"},
		"of no call":         {[]said{answer("a", "1", "2"), result("a", "2", "", "y"), result("a", "9", "", "?")}, "[a]y?"},
		"without any answer": {[]said{result("a", "2", "", "y"), result("a", "1", "", "x")}, "yx"},
	} {
		var list []said
		for _, e := range c.in {
			list = Append(list, e, of)
		}
		text := ""
		for _, e := range list {
			if e.m.Role == schema.Assistant {
				text += "[" + e.by + "]"
			}
			text += e.m.Content
		}
		require.Equal(t, c.want, text, name)
	}
}
