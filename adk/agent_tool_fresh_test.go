package adk

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// byHistory is a model whose answer follows from the history alone, so that calls side by side may come in any order.
func byHistory[M MessageType](seen chan<- []string, answer func(lines []string) M) *modelFunc[M] {
	do := func(history []M) M {
		lines := dialectOf[M]().lines(history)
		seen <- lines
		return answer(lines)
	}
	return &modelFunc[M]{
		generate: func(_ context.Context, h []M, _ ...model.Option) (M, error) { return do(h), nil },
		stream: func(_ context.Context, h []M, _ ...model.Option) (*schema.StreamReader[M], error) {
			return schema.StreamReaderFromArray([]M{do(h)}), nil
		},
	}
}

// Each call of an agent tool begins fresh: calls side by side, calls one after the other, and a call in a run that was
// resumed see their own request and what they did themselves, and have an iteration budget of their own.
// Rule runtime/A12.
func TestAgentTool_EachCallBeginsFresh(t *testing.T) {
	matrix(t, testFresh[ordinary], testFresh[agentic])
}

func testFresh[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	seen := make(chan []string, 100)
	request := func(lines []string) string {
		for _, name := range []string{"first", "second", "third"} {
			if strings.Contains(lines[0], name) {
				return name
			}
		}
		return "?"
	}
	inner := setup[M](t, nil, []tool.BaseTool{askTool("ask")}, func(c *TypedChatModelAgentConfig[M]) {
		c.Name, c.MaxIterations = "inner", 2 // one call of the tool, and the answer
		c.Model = byHistory(seen, func(lines []string) M {
			if len(lines) == 1 {
				return d.answer("", wanted{"ask", "q", request(lines)})
			}
			return d.answer(request(lines) + " of " + lines[len(lines)-1])
		})
	})
	outer := says(
		d.answer("", wanted{"inner", "1", `{"request":"first"}`}, wanted{"inner", "2", `{"request":"second"}`}),
		d.answer("", wanted{"inner", "3", `{"request":"third"}`}),
		d.answer("done"))
	store := memory{}
	r := func() *TypedRunner[M] { // another process, perhaps
		return NewTypedRunner(TypedRunnerConfig[M]{EnableStreaming: streaming, CheckPointStore: store,
			Agent: setup(t, outer, []tool.BaseTool{NewTypedAgentTool[M](t.Context(), inner)}, func(c *TypedChatModelAgentConfig[M]) { c.Name = "outer" })})
	}
	all := read(t, r().Query(t.Context(), "hi", WithCheckPointID("1")))
	resume := func(answer string) {
		last := all[len(all)-1]
		require.NoError(t, last.Err)
		point := last.Action.Interrupted.InterruptContexts[0]
		it, err := r().ResumeWithParams(t.Context(), "1", &ResumeParams{Targets: map[string]any{point.ID: answer}})
		require.NoError(t, err)
		all = read(t, it)
	}
	resume("a") // one of the two, then the other, then the third
	resume("b")
	resume("c")
	require.Equal(t, "assistant: done", linesOf(all)[len(linesOf(all))-1])

	close(seen)
	begins, ends := map[string]int{}, map[string]int{}
	for lines := range seen {
		mine := request(lines)
		for _, other := range []string{"first", "second", "third"} {
			if other != mine {
				require.False(t, slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, other) }),
					"the call of %s saw %s: %q", mine, other, lines)
			}
		}
		switch len(lines) {
		case 1:
			begins[mine]++
		case 3:
			ends[mine]++
		default:
			t.Errorf("a call saw %q", lines)
		}
	}
	each := map[string]int{"first": 1, "second": 1, "third": 1}
	require.Equal(t, each, begins)
	require.Equal(t, each, ends)
}
