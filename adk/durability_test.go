package adk

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// recalling answers by how many tool results it has seen.
type recalling struct{ replies }

func (r *recalling) reply(input []*schema.Message) *schema.Message {
	results := 0
	for _, m := range input {
		if m.Role == schema.Tool {
			results++
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n++
	r.seen = append(r.seen, input)
	return r.all[min(results, len(r.all)-1)]
}

func (r *recalling) Generate(_ context.Context, input []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	return r.reply(input), nil
}

func (r *recalling) Stream(_ context.Context, input []*schema.Message,
	_ ...model.Option,
) (*schema.StreamReader[*schema.Message], error) {
	return schema.StreamReaderFromArray([]*schema.Message{r.reply(input)}), nil
}

func recall(all ...*schema.Message) *recalling { return &recalling{replies{all: all}} }

// dying is a store whose process dies after some writes: nothing is written any more.
type dying struct {
	CheckPointStore
	left *atomic.Int32
}

var errDied = errors.New("the process died")

func (d dying) Set(ctx context.Context, id string, data []byte) error {
	if d.left.Add(-1) < 0 {
		return errDied
	}
	return d.CheckPointStore.Set(ctx, id, data)
}

// plainJournal has the methods of a store with a journal that does not know about runs.
type plainJournal interface {
	CheckPointStore
	CheckPointDeleter
	runs.Journal
}

// dyingJournal is one that has a journal.
type dyingJournal struct {
	plainJournal
	left *atomic.Int32
}

func (d dyingJournal) AppendRecord(ctx context.Context, id string, record []byte) error {
	if d.left.Add(-1) < 0 {
		return errDied
	}
	return d.plainJournal.AppendRecord(ctx, id, record)
}

func (d dyingJournal) Set(ctx context.Context, id string, data []byte) error {
	if d.left.Add(-1) < 0 {
		return errDied
	}
	return d.plainJournal.Set(ctx, id, data)
}

// idempotentTool may be called again.
type idempotentTool struct{ *toolFunc }

func (idempotentTool) Idempotent() bool { return true }

// TestDurability_DieAtEveryStep: wherever the process dies, the resumed run comes to the same end, and neither the
// model nor a tool is called again for what was saved.
func TestDurability_DieAtEveryStep(t *testing.T) {
	for _, journal := range []bool{true, false} {
		for _, streaming := range []bool{true, false} {
			for steps := 1; ; steps++ {
				if done := dieAt(t, steps, journal, streaming); done {
					require.Greater(t, steps, 8)
					break
				}
			}
		}
	}
}

func dieAt(t *testing.T, steps int, journal, streaming bool) (done bool) {
	t.Helper()
	var calls atomic.Int32
	keys := map[string]bool{}
	work := idempotentTool{&toolFunc{"work", func(ctx context.Context, args string) (string, error) {
		calls.Add(1)
		keys[GetIdempotencyKey(ctx)] = true
		return "worked on " + args, nil
	}}}
	inner := newOrdinary(t, "inner", recall(callOf("work", "i1", "b"), schema.AssistantMessage("inner done", nil)), work)
	outer := recall(callOf("work", "o1", "a"), callOf("inner", "o2", `{"request":"do"}`),
		schema.AssistantMessage("outer done", nil))
	last := recall(schema.AssistantMessage("last done", nil))
	seq, err := NewSequentialAgent(t.Context(), &SequentialAgentConfig{Name: "seq", SubAgents: []Agent{
		newOrdinary(t, "outer", outer, work, NewAgentTool(t.Context(), inner)), newOrdinary(t, "last", last)}})
	require.NoError(t, err)

	var left atomic.Int32
	left.Store(int32(steps))
	memoryStore := checkpoint.NewMemoryStore()
	var store CheckPointStore = dyingJournal{memoryStore, &left}
	if !journal {
		store = dying{CheckPointStore: memory{}, left: &left}
	}
	r := NewRunner(t.Context(), RunnerConfig{Agent: seq, EnableStreaming: streaming, CheckPointStore: store,
		Durability: EveryStep})
	died := false
	for e := range r.Query(t.Context(), "hi", WithCheckPointID("1")).All() {
		if e.Err != nil {
			require.ErrorIs(t, e.Err, errDied)
			died = true
		}
	}
	if !died {
		return true
	}
	before, modelCalls := calls.Load(), outer.n+last.n
	left.Store(1000)
	it, err := r.Resume(t.Context(), "1")
	require.NoError(t, err, "died after %d steps", steps)
	var text string
	for e := range it.All() {
		require.NoError(t, e.Err, "died after %d steps", steps)
		m, _, err := GetMessage(e)
		require.NoError(t, err)
		text = e.AgentName + ": " + m.Content
	}
	require.Equal(t, "last: last done", text, "died after %d steps", steps)
	what := fmt.Sprintf("died after %d steps: %d tool and %d model calls before", steps, before, modelCalls)
	require.LessOrEqual(t, calls.Load(), int32(3), what)
	require.LessOrEqual(t, outer.n+last.n, 5, what)
	require.Len(t, keys, 2, what)
	require.Len(t, last.seen[len(last.seen)-1], 6, what)
	_, err = r.Resume(t.Context(), "1")
	require.ErrorContains(t, err, "not exist", "a run that has succeeded leaves nothing")
	return false
}

func TestDurability_OutcomeUnknown(t *testing.T) {
	for name, c := range map[string]struct {
		outcome *ToolOutcome
		want    []string
		fails   string
	}{
		"result": {&ToolOutcome{Result: "paid already"}, []string{"a: paid already", "a: done"}, ""},
		"rerun":  {&ToolOutcome{Rerun: true}, []string{"a: paid", "a: done"}, ""},
		"failed": {&ToolOutcome{Err: "no money"}, nil, "no money"},
	} {
		t.Run(name, func(t *testing.T) {
			store := checkpoint.NewMemoryStore()
			var left atomic.Int32
			left.Store(1000)
			var key string
			pay := &toolFunc{"pay", func(ctx context.Context, _ string) (string, error) {
				if key == "" {
					key = GetIdempotencyKey(ctx)
					left.Store(0)
				}
				return "paid", nil
			}}
			m := recall(callOf("pay", "c", "{}"), schema.AssistantMessage("done", nil))
			r := NewRunner(t.Context(), RunnerConfig{Agent: newOrdinary(t, "a", m, tool.BaseTool(pay)),
				CheckPointStore: dyingJournal{store, &left}, Durability: EveryStep})
			for range r.Query(t.Context(), "hi", WithCheckPointID("1")).All() { //nolint:revive // to its end
			}
			left.Store(1000)
			it, err := r.Resume(t.Context(), "1")
			require.NoError(t, err)
			_, last := drainAll(t, it)
			ic := last.Action.Interrupted.InterruptContexts[0]
			require.Equal(t, &OutcomeUnknown{ToolName: "pay", CallID: "c", Arguments: "{}", IdempotencyKey: key}, ic.Info)
			it, err = r.ResumeWithParams(t.Context(), "1", &ResumeParams{Targets: map[string]any{ic.ID: c.outcome}})
			require.NoError(t, err)
			if c.fails != "" {
				for e := range it.All() {
					last = e
				}
				require.ErrorContains(t, last.Err, c.fails)
				return
			}
			texts, _ := drainAll(t, it)
			require.Equal(t, c.want, texts)
		})
	}
}

// TestDurability_OutcomeWithAnAction: who decides on a call that would have sent an action can give the action, too.
func TestDurability_OutcomeWithAnAction(t *testing.T) {
	store := checkpoint.NewMemoryStore()
	var left atomic.Int32
	left.Store(1000)
	leave := &toolFunc{"leave", func(ctx context.Context, _ string) (string, error) {
		left.Store(0)
		return "left", SendToolGenAction(ctx, "leave", NewExitAction())
	}}
	m := recall(callOf("leave", "c", "{}"), schema.AssistantMessage("not gone", nil))
	a, err := NewChatModelAgent(t.Context(), &ChatModelAgentConfig{Name: "a", Description: "a", Model: m,
		ToolsConfig: ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{leave}},
			ReturnDirectly: map[string]bool{"leave": true}}})
	require.NoError(t, err)
	r := NewRunner(t.Context(), RunnerConfig{Agent: a,
		CheckPointStore: dyingJournal{store, &left}, Durability: EveryStep})
	for range r.Query(t.Context(), "hi", WithCheckPointID("1")).All() { //nolint:revive // to its end
	}
	left.Store(1000)
	it, err := r.Resume(t.Context(), "1")
	require.NoError(t, err)
	_, last := drainAll(t, it)
	id := last.Action.Interrupted.InterruptContexts[0].ID
	it, err = r.ResumeWithParams(t.Context(), "1", &ResumeParams{Targets: map[string]any{
		id: &ToolOutcome{Result: "left", Action: NewExitAction()},
	}})
	require.NoError(t, err)
	texts, last := drainAll(t, it)
	require.Equal(t, []string{"a: left"}, texts)
	require.True(t, last.Action.Exit)
}

// TestDurability_TransferAndExitAreNotAskedForTwice: wherever the process dies, the resumed run transfers and exits as
// the first one would have.
func TestDurability_TransferAndExitAreNotAskedForTwice(t *testing.T) {
	for steps := int32(1); ; steps++ {
		d, left := &chatDialect, new(atomic.Int32)
		left.Store(steps)
		// Each answers by what it is asked, as the process may have died before its answer was saved.
		calling := func(name, tool, args string) *ChatModelAgentConfig {
			call := d.answer("", wanted{tool, "1", args})
			return &ChatModelAgentConfig{Name: name, Description: name, Model: &modelFunc[Message]{
				generate: func(context.Context, []Message, ...model.Option) (Message, error) { return call, nil }}}
		}
		leaving := calling("b", "exit", `{"final_result":"bye"}`)
		leaving.Exit = ExitTool{}
		a, err := NewChatModelAgent(t.Context(), calling("a", TransferToAgentToolName, `{"agent_name":"b"}`))
		require.NoError(t, err)
		b, err := NewChatModelAgent(t.Context(), leaving)
		require.NoError(t, err)
		r := NewRunner(t.Context(), RunnerConfig{Agent: flowOf(t, a, b),
			CheckPointStore: dyingJournal{checkpoint.NewMemoryStore(), left}, Durability: EveryStep})
		all := read(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))
		died := all[len(all)-1].Err != nil
		if died {
			left.Store(1000)
			it, err := r.Resume(t.Context(), "1")
			require.NoError(t, err)
			all = read(t, it)
		}
		last := all[len(all)-1]
		require.NoError(t, last.Err, "died after %d steps", steps)
		require.NotNil(t, last.Action, "died after %d steps", steps)
		require.True(t, last.Action.Exit, "died after %d steps", steps)
		if !died {
			require.Greater(t, steps, int32(6))
			return
		}
	}
}

// TestDurability_EagerCallsAreMadeOnce: wherever the process dies, a tool that must not be called twice is not, though
// it is to start before the answer that calls it is saved, and the model calls it by another ID when it is asked again.
// One that may be repeated does start early.
func TestDurability_EagerCallsAreMadeOnce(t *testing.T) {
	for _, idempotent := range []bool{false, true} {
		for steps := 1; ; steps++ {
			done := false
			synctest.Test(t, func(t *testing.T) { done = dieWhileEager(t, steps, idempotent) })
			if done {
				require.Greater(t, steps, 4)
				break
			}
		}
	}
}

func dieWhileEager(t *testing.T, steps int, idempotent bool) (done bool) {
	calls, asked, early := 0, 0, false
	var answered atomic.Bool
	m := &modelFunc[Message]{stream: func(
		_ context.Context, h []Message, _ ...model.Option,
	) (*schema.StreamReader[Message], error) {
		asked++
		answered.Store(false)
		s, w := schema.Pipe[Message](0)
		go func(id string) {
			defer w.Close()
			if h[len(h)-1].Role == schema.Tool {
				w.Send(chatAnswer("done"), nil)
				return
			}
			w.Send(chunkAt[Message](0, wanted{"pay", id, object}), nil)
			time.Sleep(time.Minute)
			answered.Store(true)
		}(fmt.Sprint("call ", asked))
		return s, nil
	}}
	fn := &toolFunc{"pay", func(context.Context, string) (string, error) {
		calls++
		early = early || !answered.Load()
		return "paid", nil
	}}
	var pay tool.BaseTool = fn
	if idempotent {
		pay = idempotentTool{fn}
	}
	var left atomic.Int32
	left.Store(int32(steps))
	r := NewRunner(t.Context(), RunnerConfig{Agent: setup(t, m, []tool.BaseTool{pay}, eagerly[Message]),
		EnableStreaming: true,
		CheckPointStore: dyingJournal{checkpoint.NewMemoryStore(), &left}, Durability: EveryStep})
	all := read(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))
	died := all[len(all)-1].Err != nil
	require.Equal(t, idempotent && steps > 1, early, "died after %d steps", steps)
	if !died {
		require.Equal(t, 1, calls)
		return true
	}
	left.Store(1000)
	it, err := r.Resume(t.Context(), "1")
	require.NoError(t, err)
	all = read(t, it)
	// it has begun, and that is all that is known
	if last := all[len(all)-1]; last.Action != nil && last.Action.Interrupted != nil {
		ic := last.Action.Interrupted.InterruptContexts[0]
		require.IsType(t, &OutcomeUnknown{}, ic.Info)
		it, err = r.ResumeWithParams(t.Context(), "1",
			&ResumeParams{Targets: map[string]any{ic.ID: &ToolOutcome{Result: "paid"}}})
		require.NoError(t, err)
		all = read(t, it)
	}
	require.NoError(t, all[len(all)-1].Err, "died after %d steps", steps)
	require.Equal(t, "assistant: done", linesOf(all)[len(all)-1], "died after %d steps", steps)
	if !idempotent {
		require.Equal(t, 1, calls, "died after %d steps", steps)
	}
	return false
}

// TestDurability_LateStepsAreDropped: a call that was abandoned returns when its run is saved already, or when it is
// over: it leaves nothing behind that a resume would take for steps of the run.
// Rule runtime/C22.
func TestDurability_LateStepsAreDropped(t *testing.T) {
	for name, newStore := range map[string]func() CheckPointStore{
		"journal": func() CheckPointStore { return checkpoint.NewMemoryStore() },
		"whole":   func() CheckPointStore { return newDeletable() },
	} {
		for _, nested := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/nested=%v", name, nested), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { testLateSteps(t, newStore(), nested) })
			})
		}
	}
}

func testLateSteps(t *testing.T, store CheckPointStore, nested bool) {
	release := make(chan struct{})
	calls := 0
	deaf := idempotentTool{&toolFunc{"work", func(context.Context, string) (string, error) {
		if calls++; calls == 1 {
			<-release
		}
		return "worked", nil
	}}}
	agent := newOrdinary(t, "a", recall(callOf("work", "c", "x"), chatAnswer("done")), deaf)
	if nested { // it runs to its end when no caller waits for it
		agent = newOrdinary(t, "outer", recall(callOf("a", "o", `{"request":"do"}`), chatAnswer("done")),
			NewAgentTool(t.Context(), agent))
	}
	r := NewRunner(t.Context(), RunnerConfig{Agent: agent, CheckPointStore: store, Durability: EveryStep})
	option, cancel := WithCancel()
	it := r.Query(t.Context(), "hi", WithCheckPointID("1"), option)
	synctest.Wait()
	handle, _ := cancel()
	require.NoError(t, handle.Wait())
	require.Equal(t, "1", collect(t, it).err.CheckPointID)
	close(release)
	synctest.Wait()
	it, err := r.Resume(t.Context(), "1")
	require.NoError(t, err)
	texts, _ := drainAll(t, it)
	require.Contains(t, texts[len(texts)-1], "done")
	require.Equal(t, 2, calls)
}

// TestDurability_WhatEndsWithTheContextIsSaved: a tool or a model that has ended when the context of the run ends, and
// before that is saved, has ended all the same: it is not called again, and no one is asked for its outcome.
func TestDurability_WhatEndsWithTheContextIsSaved(t *testing.T) {
	for _, place := range []string{"model", "tool"} {
		t.Run(place, func(t *testing.T) {
			ctx, end := context.WithCancel(t.Context())
			defer end()
			m := &endingModel{recall(callOf("pay", "1", "a"), schema.AssistantMessage("done", nil)), func() {
				if place == "model" {
					end()
				}
			}}
			calls := 0
			pay := &toolFunc{"pay", func(context.Context, string) (string, error) {
				calls++
				if place == "tool" {
					end()
				}
				return "paid", nil
			}}
			r := NewRunner(t.Context(), RunnerConfig{CheckPointStore: checkpoint.NewMemoryStore(), Durability: EveryStep,
				Agent: newOrdinary(t, "a", m, pay)})
			var last error
			for e := range r.Query(ctx, "hi", WithCheckPointID("1")).All() {
				last = e.Err
			}
			require.ErrorIs(t, last, context.Canceled)

			it, err := r.Resume(t.Context(), "1")
			require.NoError(t, err)
			var text string
			for e := range it.All() {
				require.NoError(t, e.Err)
				require.Nil(t, e.Action, "nobody is asked")
				msg, _, err := GetMessage(e)
				require.NoError(t, err)
				text = msg.Content
			}
			require.Equal(t, "done", text)
			require.Equal(t, 1, calls)
			require.Equal(t, 2, m.n, "calls of the model")
		})
	}
}

// endingModel is one after whose answers something happens.
type endingModel struct {
	*recalling
	then func()
}

func (m *endingModel) Generate(_ context.Context, input []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	defer m.then()
	return m.reply(input), nil
}

// TestDurability_AShownErrorIsNoFailure: the error of an agent in a tool that its caller has got over is shown to the
// reader. The run succeeds all the same, and what was saved of it is removed; so do the agents around the caller.
func TestDurability_AShownErrorIsNoFailure(t *testing.T) {
	calling := func(name string, inner Agent, answer string) *ChatModelAgent {
		m := recall(callOf(inner.Name(t.Context()), "1", `{"request":"do"}`), schema.AssistantMessage(answer, nil))
		return setup(t, m, []tool.BaseTool{NewAgentTool(t.Context(), inner)}, func(c *ChatModelAgentConfig) {
			c.Name, c.ToolsConfig.EmitInternalEvents = name, true
		})
	}
	for _, depth := range []int{1, 2} {
		agent := calling("forgiving", sends(&AgentEvent{Err: errors.New("broken")}), "got over it")
		agent.agent.(*chatModelAgent[Message]).conf.ToolsConfig.ToolCallMiddlewares = []compose.ToolMiddleware{{Invokable: func(next compose.InvokableToolEndpoint) compose.InvokableToolEndpoint {
			return func(ctx context.Context, in *compose.ToolInput) (*compose.ToolOutput, error) {
				out, err := next(ctx, in)
				if err != nil {
					out = &compose.ToolOutput{Result: "it failed"}
				}
				return out, nil
			}
		}}}
		want := []string{"assistant: [custom#1 {\"request\":\"do\"}]", "error", "tool custom#1: it failed",
			"assistant: got over it"}
		if depth == 2 {
			agent = calling("outer", agent, "done")
			want = append(append([]string{"assistant: [forgiving#1 {\"request\":\"do\"}]"}, want...),
				"tool forgiving#1: got over it", "assistant: done")
		}
		store := checkpoint.NewMemoryStore()
		r := NewRunner(t.Context(), RunnerConfig{Agent: agent, CheckPointStore: store, Durability: EveryStep})
		require.Equal(t, want, linesOf(read(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))))
		records, err := store.ReadRecords(t.Context(), "1")
		require.NoError(t, err)
		require.Len(t, records, 0)
	}
}
