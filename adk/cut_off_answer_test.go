package adk

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// finishedWith notes the provider's word for why an answer ended in a message.
func finishedWith[M MessageType](m M, word string) M {
	switch m := any(m).(type) {
	case *schema.Message:
		m.ResponseMeta = &schema.ResponseMeta{FinishReason: word}
	case *schema.AgenticMessage:
		m.Extra = map[string]any{model.FinishWordKey: word}
	}
	return m
}

// wholeCalls marks all calls of an answer as complete.
func wholeCalls[M MessageType](m M) M {
	switch m := any(m).(type) {
	case *schema.Message:
		for i := range m.ToolCalls {
			model.MarkWholeCall(&m.ToolCalls[i].Extra)
		}
	case *schema.AgenticMessage:
		for _, b := range m.ContentBlocks {
			if b.FunctionToolCall != nil {
				model.MarkWholeCall(&b.Extra)
			}
		}
	}
	return m
}

// TestCutOffAnswer_ExecutesNoCall: a call of an answer that the limit of tokens cut off is not executed, also if its
// arguments can be read; its result says why, and the model can make it again.
// Rule agent/R-10.
func TestCutOffAnswer_ExecutesNoCall(t *testing.T) {
	matrix(t, testCutOffAnswer[*schema.Message], testCutOffAnswer[*schema.AgenticMessage])
}

func testCutOffAnswer[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	for word, executes := range map[string]bool{
		"length": false, "max_tokens": false, "MAX_TOKENS": false, "max_output_tokens": false, "incomplete": false,
		"content_filter": false, "model_context_window_exceeded": false, "tool_calls": true, "tool_use": true, "": true,
	} {
		for _, arguments := range []string{`{}`, object, ``, `{"path":"READ`} {
			for _, eager := range []bool{false, true} {
				var ran atomic.Int32
				write := &toolFunc{"write", func(context.Context, string) (string, error) { ran.Add(1); return "written", nil }}
				answer := finishedWith(d.answer("", wanted{"write", "1", arguments}), word)
				m := &scripted[M]{answers: [][]M{{answer}, {d.answer("done")}}}
				a := setup[M](t, m, []tool.BaseTool{write}, func(c *TypedChatModelAgentConfig[M]) { c.ToolsConfig.EagerExecution = eager })
				what := fmt.Sprintf("%q with %q, eager=%v", word, arguments, eager)
				all := read(t, bare(t.Context(), a, streaming))
				require.NoError(t, all[len(all)-1].Err, what)
				result := linesOf(all)[1]
				if executes {
					require.Equal(t, "tool write#1: written", result, what)
					require.EqualValues(t, 1, ran.Load(), what)
					continue
				}
				require.Zero(t, ran.Load(), what)
				require.True(t, strings.HasPrefix(result, "tool write#1: The call was not executed: the answer was cut off ("+word+")"), "%s: %s", what, result)
				require.Equal(t, result, m.transcript()[1][2], "the model reads what the user sees")
			}
		}
	}
}

// TestCutOffAnswer_ExecutesCallsThatTheProviderMarked: what the provider said to be complete is executed, and the calls
// beside it are not. A run that was stopped there knows it still.
// Rule agent/R-10.
func TestCutOffAnswer_ExecutesCallsThatTheProviderMarked(t *testing.T) {
	matrix(t, testCutOffMarked[*schema.Message], testCutOffMarked[*schema.AgenticMessage])
}

func testCutOffMarked[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	answer := wholeCalls(d.answer("", wanted{"a", "1", object}))
	merge(answer, d.answer("", wanted{"b", "2", `{}`}))
	m := &scripted[M]{answers: [][]M{{finishedWith(answer, "length")}, {d.answer("done")}}}
	var ran diary
	b := &toolFunc{"b", func(context.Context, string) (string, error) { t.Error("b was executed"); return "", nil }}
	a := setup[M](t, m, []tool.BaseTool{asksFirst("a", &ran), b})
	all := read(t, bare(t.Context(), a, streaming))
	rest := read(t, continueFrom(t.Context(), t, a, all, streaming))
	require.NoError(t, rest[len(rest)-1].Err)
	lines := m.transcript()[1]
	require.Equal(t, `tool a#1: <{"q":1}>`, lines[2])
	require.Contains(t, lines[3], "tool b#2: The call was not executed: the answer was cut off (length)")
}

// TestCutOffAnswer_AgainAndAgainEndsTheRun: a model that never comes to the end of its call is not asked without an end.
// Rule agent/R-10.
func TestCutOffAnswer_AgainAndAgainEndsTheRun(t *testing.T) {
	matrix(t, testCutOffAgain[*schema.Message], testCutOffAgain[*schema.AgenticMessage])
}

func testCutOffAgain[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	m := &scripted[M]{answers: [][]M{{finishedWith(d.answer("", wanted{"write", "1", `{}`}), "max_tokens")}}}
	a := setup[M](t, m, []tool.BaseTool{&toolFunc{"write", func(context.Context, string) (string, error) { return "", nil }}})
	err := endError(t, read(t, bare(t.Context(), a, streaming)))
	mistake := new(ModelMistake)
	require.ErrorAs(t, err, &mistake)
	require.Equal(t, MistakeCutOff, mistake.Kind)
	require.ErrorContains(t, err, `the answer of the model of agent "tester" was cut off (max_tokens) in its call of tool "write"`)
	require.Len(t, m.transcript(), 4)
}
