package adk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// repeating runs an agent on either kind of message that asks a tool twice and then repeats all it knows. Its runs keep
// their steps: begin, turn, start, result, turn, start, result, turn.
func repeating[M MessageType](t *testing.T, d *dialect[M]) (*TypedRunner[M], *checkpoint.MemoryStore) {
	t.Helper()
	store := checkpoint.NewMemoryStore()
	m := &modelFunc[M]{generate: func(_ context.Context, history []M, _ ...model.Option) (M, error) {
		results := 0
		var lines []string
		for _, m := range history {
			lines = append(lines, d.line(m))
			if opsOf[M]().isResult(m) {
				results++
			}
		}
		if results < 2 {
			return d.answer("", wanted{"look", fmt.Sprint("c", results+1), object}), nil
		}
		return d.answer(strings.Join(lines, "|")), nil
	}}
	look := &toolFunc{"look", func(ctx context.Context, _ string) (string, error) {
		value, _ := GetSessionValue(ctx, "sees")
		return fmt.Sprint("seen ", value), nil
	}}
	agent := setup(t, m, []tool.BaseTool{look})
	return NewTypedRunner(TypedRunnerConfig[M]{
		Agent: agent, CheckPointStore: store, Durability: EveryStep, KeepSteps: true}), store
}

// lastLine runs to the end and returns the last thing that is said.
func lastLine[M MessageType](t *testing.T, d *dialect[M], it *AsyncIterator[*TypedAgentEvent[M]]) (line string) {
	t.Helper()
	for e := range it.All() {
		require.NoError(t, e.Err)
		m, _, err := TypedGetMessage(e)
		require.NoError(t, err)
		line = d.line(m)
	}
	return line
}

// TestFork_WithAnEdit: a fork continues from what the edit made of its last step.
// Rule steps/FK-3.
func TestFork_WithAnEdit(t *testing.T) {
	t.Run("ordinary", func(t *testing.T) { testEdits(t, &chatDialect, schema.UserMessage) })
	t.Run("agentic", func(t *testing.T) { testEdits(t, &agenticDialect, schema.UserAgenticMessage) })
}

func testEdits[M MessageType](t *testing.T, d *dialect[M], user func(string) M) {
	r, store := repeating(t, d)
	it := r.Run(t.Context(), []M{user("hi")}, WithCheckPointID("1"), WithSessionValues(map[string]any{"sees": "1"}))
	call, result := `assistant: [look#c1 {"q":1}]`, "tool look#c1: seen 1"
	call2, result2 := `assistant: [look#c2 {"q":1}]`, "tool look#c2: seen 1"
	all := func(lines ...string) string { return "assistant: " + strings.Join(lines, "|") }
	require.Equal(t, all("user: hi", call, result, call2, result2), lastLine(t, d, it))
	for name, c := range map[string]struct {
		at   int
		edit func(s *Step) error
		want string
	}{
		"none":            {5, nil, all("user: hi", call, result, call2, result2)},
		"nothing changes": {5, func(*Step) error { return nil }, all("user: hi", call, result, call2, result2)},
		"input": {1, func(s *Step) error { s.Messages[0] = user("ho"); return nil },
			all("user: ho", call, result, call2, result2)},
		"first values": {1, func(s *Step) error { s.Values["sees"] = "2"; return nil },
			all("user: hi", call, "tool look#c1: seen 2", call2, "tool look#c2: seen 2")},
		"a call": {2, func(s *Step) error { s.Messages[1] = d.answer("", wanted{"look", "c9", `{"q":9}`}); return nil },
			all("user: hi", `assistant: [look#c9 {"q":9}]`, "tool look#c9: seen 1", call2, result2)},
		"an answer in place of a call": {2, func(s *Step) error { s.Messages[1] = d.answer("no"); return nil },
			"assistant: no"},
		"the user says more": {2, func(s *Step) error {
			s.Messages = append(s.Messages[:1], d.answer("why?"), user("so"))
			return nil
		}, all("user: hi", "assistant: why?", "user: so", call, result, call2, result2)},
		"a result": {4, func(s *Step) error { s.Text = "edited"; return nil },
			all("user: hi", call, "tool look#c1: edited", call2, result2)},
		"values of a turn": {5, func(s *Step) error { s.Values["sees"] = "3"; return nil },
			all("user: hi", call, result, call2, "tool look#c2: seen 3")},
		"history": {5, func(s *Step) error { s.Messages = append([]any{user("before")}, s.Messages...); return nil },
			all("user: before", "user: hi", call, result, call2, result2)},
		"the last word": {8, func(s *Step) error { s.Messages[5] = d.answer("bye"); return nil }, "assistant: bye"},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, Fork(t.Context(), store, "1", ForkOptions{At: c.at, NewID: name, Edit: c.edit}))
			it, err := r.Resume(t.Context(), name)
			require.NoError(t, err)
			require.Equal(t, c.want, lastLine(t, d, it))
		})
	}
	for name, c := range map[string]struct {
		at   int
		edit func(s *Step) error
		want string
	}{
		"number":    {2, func(s *Step) error { s.N = 3; return nil }, "it changes what cannot be edited"},
		"kind":      {2, func(s *Step) error { s.Kind = StepResult; return nil }, "it changes what cannot be edited"},
		"agent":     {2, func(s *Step) error { s.Agent[0] = "x"; return nil }, "it changes what cannot be edited"},
		"remaining": {2, func(s *Step) error { s.Remaining++; return nil }, "it changes what cannot be edited"},
		"a call that began": {3, func(s *Step) error { s.Call.Function.Arguments = "x"; return nil },
			"it changes what cannot be edited"},
		"a call with its result": {4, func(s *Step) error { s.Call.ID = "x"; return nil },
			"it changes what cannot be edited"},
		"parts in place of text": {4, func(s *Step) error { s.Result = new(schema.ToolResult); return nil },
			"the tool returns its results as Text or as Result"},
		"no messages": {2, func(s *Step) error { s.Messages = nil; return nil }, "no message is left"},
		"no input":    {1, func(s *Step) error { s.Messages = nil; return nil }, "no message is left"},
		"not a message": {2, func(s *Step) error { s.Messages[0] = "hi"; return nil },
			"message 0 is string and must be a *schema."},
		"a nil message": {2, func(s *Step) error { s.Messages[0] = *new(M); return nil }, "message 0 is "},
		"no result": {5, func(s *Step) error { s.Messages = append(s.Messages[:2], s.Messages[3]); return nil },
			`call "c1" has no result before message 2`},
		"no result at the end": {2, func(s *Step) error { s.Messages = append(s.Messages, user("so")); return nil },
			`call "c1" has no result before message 2`},
		"no call": {5, func(s *Step) error { s.Messages = s.Messages[2:]; return nil },
			`message 0 is the result of call "c1", which the answer before it does not make`},
		"one of two results": {5, func(s *Step) error {
			both := d.answer("", wanted{"look", "c1", "{}"}, wanted{"look", "c2", "{}"})
			s.Messages = []any{user("hi"), both, s.Messages[2]}
			return nil
		}, `call "c2" has no result`},
		"a value less": {2, func(s *Step) error { delete(s.Values, "sees"); return nil },
			`the session value "sees" cannot be removed: set it to another value`},
		"a value of a type that nobody knows": {2, func(s *Step) error { s.Values["x"] = struct{ A int }{}; return nil },
			"step of "},
		"error": {2, func(*Step) error { return errors.New("not like this") }, "the edit of step 2: not like this"},
		"panic": {2, func(*Step) error { panic("ouch") }, "ouch"},
	} {
		t.Run("refused: "+name, func(t *testing.T) {
			err := Fork(t.Context(), store, "1", ForkOptions{At: c.at, NewID: "x", Edit: c.edit})
			require.ErrorContains(t, err, c.want)
			_, exists, err := store.Inspect(t.Context(), "x")
			require.NoError(t, err)
			require.False(t, exists)
		})
	}
}

// TestFork_EarlyResultsBelongToTheirAnswer: an edit cannot take a call away that was made before the turn was over.
// Rule steps/FK-3.
func TestFork_EarlyResultsBelongToTheirAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := checkpoint.NewMemoryStore()
		m := &modelFunc[Message]{stream: func(
			_ context.Context, h []Message, _ ...model.Option,
		) (*schema.StreamReader[Message], error) {
			if h[len(h)-1].Role == schema.Tool {
				return schema.StreamReaderFromArray([]Message{chatAnswer("done")}), nil
			}
			s, w := schema.Pipe[Message](0)
			go func() {
				defer w.Close()
				w.Send(chunkAt[Message](0, wanted{"look", "c1", object}), nil)
				time.Sleep(time.Minute)
			}()
			return s, nil
		}}
		r := NewRunner(t.Context(), RunnerConfig{
			EnableStreaming: true, CheckPointStore: store, Durability: EveryStep, KeepSteps: true,
			Agent: setup(t, m, []tool.BaseTool{idempotentTool{textTool("look", "seen")}}, eagerly[Message])})
		drainAll(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))
		require.Equal(t, "[begin start result turn turn]", fmt.Sprint(onlyKinds(stepsOf(t, store, "1"))))
		err := Fork(t.Context(), store, "1", ForkOptions{At: 4, NewID: "2", Edit: func(s *Step) error {
			s.Messages[1] = chatAnswer("no")
			return nil
		}})
		require.ErrorIs(t, err, ErrForkEdit)
		require.EqualError(t, err, `failed to fork run "1": the edit of step 4, a turn: the answer does not make call "c1", `+
			`whose result is step 3: fork before that step`)
		require.NoError(t, Fork(t.Context(), store, "1", ForkOptions{At: 4, NewID: "2", Edit: func(s *Step) error {
			s.Messages[1].(*schema.Message).Content = "I look."
			return nil
		}}))
		require.Contains(t, resumeFork(t, r, "2"), "tester: done")
	})
}

// TestFork_EditsAResultOfParts: the parts of a result are edited as parts.
// Rule steps/FK-3.
func TestFork_EditsAResultOfParts(t *testing.T) {
	store := checkpoint.NewMemoryStore()
	text := func(s string) *schema.ToolResult {
		return &schema.ToolResult{Parts: []schema.ToolOutputPart{{Type: schema.ToolPartTypeText, Text: s}}}
	}
	look := &enhancedToolFunc{"look", func(context.Context, *schema.ToolArgument) (*schema.ToolResult, error) {
		return text("seen"), nil
	}}
	r := keeping(store, newOrdinary(t, "a", recall(callOf("look", "c1", "{}"), chatAnswer("done")), look))
	drainAll(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))
	require.Equal(t, text("seen"), stepsOf(t, store, "1")[3].Result)
	fork := func(id string, edit func(s *Step)) error {
		return Fork(t.Context(), store, "1", ForkOptions{At: 4, NewID: id, Edit: func(s *Step) error { edit(s); return nil }})
	}
	require.ErrorContains(t, fork("2", func(s *Step) { s.Text = "edited" }), "change the one that is set")
	require.ErrorContains(t, fork("2", func(s *Step) { s.Result = nil }), "change the one that is set")
	require.NoError(t, fork("2", func(s *Step) { s.Result.Parts[0].Text = "edited" }))
	resumeFork(t, r, "2")
	steps := stepsOf(t, store, "2")
	require.Equal(t, `tool look#c1: text(edited)`, chatDialect.line(steps[4].Messages[2].(*schema.Message)))
}

// TestFork_EditsAResultThatWasGiven: the result of a call that was decided by a person is edited as text.
// Rule steps/FK-3.
func TestFork_EditsAResultThatWasGiven(t *testing.T) {
	store := checkpoint.NewMemoryStore()
	var left atomic.Int32
	left.Store(1000)
	pay := &toolFunc{"pay", func(context.Context, string) (string, error) { left.Store(0); return "paid", nil }}
	agent := newOrdinary(t, "a", recall(callOf("pay", "c1", "{}"), chatAnswer("done")), pay)
	dies := keeping(dyingJournal{store, &left}, agent)
	for range dies.Query(t.Context(), "hi", WithCheckPointID("1")).All() { //nolint:revive // to its end
	}
	r := keeping(onlyJournal(store), agent)
	it, err := r.Resume(t.Context(), "1")
	require.NoError(t, err)
	point := onePoint(t, it)
	drainAll(t, answering(t, r, "1", point.ID, &ToolOutcome{Result: "paid before"}))
	steps := stepsOf(t, store, "1")
	n := slices.Index(onlyKinds(steps), StepResult) + 1
	require.Equal(t, "paid before", steps[n-1].Text)
	require.Nil(t, steps[n-1].Result)
	err = Fork(t.Context(), onlyJournal(store), "1", ForkOptions{At: n, NewID: "2", Edit: func(s *Step) error {
		s.Text = "edited"
		return nil
	}})
	require.NoError(t, err)
	require.Contains(t, resumeFork(t, r, "2"), "a: done")
	steps = stepsOf(t, store, "2")
	require.Equal(t, "tool pay#c1: edited", chatDialect.line(steps[len(steps)-1].Messages[2].(*schema.Message)))
}
