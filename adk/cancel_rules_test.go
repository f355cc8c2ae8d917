package adk

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// Rules runtime/C1, runtime/X13.
func TestCancel_DirectRunOfAFlow(t *testing.T) {
	for _, recursive := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m := newStuck(schema.AssistantMessage("child done", nil))
			seq, err := NewSequentialAgent(t.Context(), &SequentialAgentConfig{Name: "seq", SubAgents: []Agent{
				newOrdinary(t, "child", m), newOrdinary(t, "after",
					&replies{all: []Message{schema.AssistantMessage("after", nil)}})}})
			require.NoError(t, err)
			option, cancel := WithCancel()
			it := seq.Run(t.Context(), &AgentInput{Messages: []Message{schema.UserMessage("hi")}}, option)
			<-m.entered
			var opts []AgentCancelOption
			if recursive {
				opts = append(opts, WithRecursive())
			}
			handle, contributed := cancel(opts...)
			require.True(t, contributed)
			if recursive {
				require.NoError(t, handle.Wait(), "a model that ignores its context is not waited for")
			}
			close(m.release)
			require.NoError(t, handle.Wait())
			out := collect(t, it)
			require.NotNil(t, out.err)
			require.Equal(t, recursive, len(out.texts) == 0)
		})
	}
}

// Rules runtime/C2, runtime/C4.
func TestCancel_ManyCallersAndWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newStuck(schema.AssistantMessage("done", nil))
		option, cancel := WithCancel()
		it := NewRunner(t.Context(), RunnerConfig{Agent: newOrdinary(t, "a", m)}).Query(t.Context(), "hi", option)
		<-m.entered
		var all sync.WaitGroup
		var merged atomic.Int32
		for range 50 {
			all.Go(func() {
				handle, contributed := cancel()
				if contributed {
					merged.Add(1)
				}
				require.NoError(t, handle.Wait(), "nobody has to read the events")
			})
		}
		all.Wait()
		require.Positive(t, merged.Load())
		require.NotNil(t, collect(t, it).err)
		close(m.release)
	})
}

// slowStore is a store that reports when something is being saved, and waits.
type slowStore struct {
	memory
	saving, proceed chan struct{}
}

func (s *slowStore) Set(ctx context.Context, id string, b []byte) error {
	close(s.saving)
	<-s.proceed
	return s.memory.Set(ctx, id, b)
}

// Rule runtime/C2.
func TestCancel_TheOutcomeIsFixedBeforeTheRunIsSaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newStuck(callOf("echo", "c", "x"))
		store := &slowStore{memory{}, make(chan struct{}), make(chan struct{})}
		option, cancel := WithCancel()
		it := NewRunner(t.Context(), RunnerConfig{Agent: newOrdinary(t, "a", m, echo("echo")), CheckPointStore: store}).
			Query(t.Context(), "hi", WithCheckPointID("1"), option)
		<-m.entered
		first, _ := cancel(WithAgentCancelMode(CancelAfterChatModel), WithAgentCancelTimeout(time.Minute))
		close(m.release)
		<-store.saving
		second, contributed := cancel()
		require.False(t, contributed)
		time.Sleep(time.Hour)
		close(store.proceed)
		require.NoError(t, first.Wait())
		require.NoError(t, second.Wait())
		require.Equal(t, &AgentCancelInfo{Mode: CancelAfterChatModel}, collect(t, it).err.Info)
	})
}

// Rules runtime/C8, runtime/C12.
func TestCancel_AbsorbsInterrupts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		agent := asking("a")
		agent.run = func(ctx context.Context, _ *AgentInput, send func(*AgentEvent)) {
			<-release
			send(StatefulInterrupt(ctx, "why", "state"))
		}
		store := memory{}
		r := NewRunner(t.Context(), RunnerConfig{Agent: agent, CheckPointStore: store})
		option, cancel := WithCancel()
		it := r.Query(t.Context(), "hi", WithCheckPointID("1"), option)
		handle, _ := cancel(WithAgentCancelMode(CancelAfterToolCalls))
		close(release)
		require.NoError(t, handle.Wait())
		out := collect(t, it)
		require.Equal(t, "why", out.err.InterruptContexts[0].Info, "it is absorbed")
		resumed, err := r.ResumeWithParams(t.Context(), "1",
			&ResumeParams{Targets: map[string]any{out.err.InterruptContexts[0].ID: "yes"}})
		require.NoError(t, err)
		require.Equal(t, []string{"a: a got yes"}, collect(t, resumed).texts)

		option, cancel = WithCancel()
		_, last := drainAll(t, r.Query(t.Context(), "hi", option))
		require.NotNil(t, last.Action.Interrupted)
		handle, contributed := cancel()
		require.False(t, contributed)
		require.ErrorIs(t, handle.Wait(), ErrExecutionEnded)
	})
}

// Rule runtime/C9.
func TestCancel_SavingFails(t *testing.T) {
	store := newDeletable()
	store.failSet = errors.New("full")
	option, cancel := WithCancel()
	handle, _ := cancel()
	var errs []error
	for e := range NewRunner(t.Context(), RunnerConfig{Agent: newOrdinary(t, "a", &replies{}), CheckPointStore: store}).
		Query(t.Context(), "hi", WithCheckPointID("1"), option).All() {
		errs = append(errs, e.Err)
	}
	require.Len(t, errs, 2)
	require.ErrorIs(t, errs[0], store.failSet)
	require.ErrorContains(t, errs[0], "failed to save checkpoint on cancel: ")
	var cancelled *CancelError
	require.ErrorAs(t, errs[1], &cancelled)
	require.Empty(t, cancelled.CheckPointID)
	require.Len(t, cancelled.GetInterruptContexts(), 1)
	require.NoError(t, handle.Wait())
}

// A tool that is being resumed keeps its state when the run is cancelled again before it could use it.
// Rule runtime/C24.
func TestCancel_AnInterruptedCallKeepsItsState(t *testing.T) {
	m := &replies{all: []Message{callOf("ask", "c1", "x"), schema.AssistantMessage("done", nil)}}
	store := memory{}
	r := NewRunner(t.Context(), RunnerConfig{Agent: newOrdinary(t, "a", m, askTool("ask")), CheckPointStore: store})
	drainAll(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))
	option, cancel := WithCancel()
	cancel()
	it, err := r.Resume(t.Context(), "1", option)
	require.NoError(t, err)
	out := collect(t, it)
	require.Equal(t, "agent:a;tool:ask:c1", out.err.InterruptContexts[0].Address.String())
	it, err = r.ResumeWithParams(t.Context(), "1",
		&ResumeParams{Targets: map[string]any{out.err.InterruptContexts[0].ID: "yes"}})
	require.NoError(t, err)
	require.Equal(t, []string{"a: answered yes", "a: done"}, collect(t, it).texts)
}

// An agent tool that is being resumed keeps its state too when it is abandoned by a cancel that is not meant for it:
// the agent inside is not started again.
// Rule runtime/C24.
func TestCancel_AnInterruptedAgentToolKeepsItsState(t *testing.T) {
	for _, late := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			stuckOnce := 0
			ask := &toolFunc{"ask", func(ctx context.Context, args string) (string, error) {
				_, answered, answer := tool.GetResumeContext[string](ctx)
				_, has, state := tool.GetInterruptState[string](ctx)
				if !answered {
					return "", tool.StatefulInterrupt(ctx, "may I?", "asked")
				}
				if stuckOnce++; stuckOnce == 1 { // it must not end before it is given up
					<-release
				}
				require.True(t, has)
				return "answered " + answer + " " + state, nil
			}}
			deepest := recall(callOf("echo", "d", "x"), callOf("ask", "d2", "x"), chatAnswer("deepest done"))
			inner := newOrdinary(t, "inner", recall(callOf("deepest", "i", `{"request":"do"}`), chatAnswer("inner done")),
				NewAgentTool(t.Context(), newOrdinary(t, "deepest", deepest, echo("echo"), ask)))
			r := NewRunner(t.Context(), RunnerConfig{CheckPointStore: memory{},
				Agent: newOrdinary(t, "a", recall(callOf("inner", "o", `{"request":"do"}`), chatAnswer("done")),
					NewAgentTool(t.Context(), inner))})
			points := interruptOf(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))
			option, cancel := WithCancel()
			if !late {
				cancel()
			}
			it := resumeWith(t, r, map[string]any{points[0].ID: "yes"}, option)
			synctest.Wait()
			cancel()
			out := collect(t, it)
			require.NotNil(t, out.err)
			close(release)
			synctest.Wait()
			again := out.err.InterruptContexts
			require.Len(t, again, 1)
			require.Equal(t, points[0].Address, again[0].Address)
			asked := deepest.n
			texts, _ := drainAll(t, resumeWith(t, r, map[string]any{again[0].ID: "sure"}))
			require.Equal(t, []string{"a: inner done", "a: done"}, texts)
			require.Equal(t, asked+1, deepest.n, "it continues after its interrupt")
			require.Equal(t, "tool ask#d2: answered sure asked",
				chatDialect.line(deepest.seen[deepest.n-1][len(deepest.seen[deepest.n-1])-1]))
		})
	}
}

// A parallel agent that is cancelled when it has just been resumed keeps what its branches have.
// Rule runtime/C20.
func TestCancel_ResumedParallelKeepsItsBranches(t *testing.T) {
	quick := &replies{all: []Message{schema.AssistantMessage("quick done", nil)}}
	slow := &replies{all: []Message{callOf("ask", "c", "x"), schema.AssistantMessage("slow done", nil)}}
	par, err := NewParallelAgent(t.Context(), &ParallelAgentConfig{Name: "par", SubAgents: []Agent{
		newOrdinary(t, "quick", quick), newOrdinary(t, "slow", slow, askTool("ask"))}})
	require.NoError(t, err)
	seq, err := NewSequentialAgent(t.Context(), &SequentialAgentConfig{Name: "seq", SubAgents: []Agent{par}})
	require.NoError(t, err)
	store := memory{}
	r := NewRunner(t.Context(), RunnerConfig{Agent: seq, CheckPointStore: store})
	drainAll(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))
	option, cancel := WithCancel()
	cancel(WithRecursive())
	it, err := r.Resume(t.Context(), "1", option)
	require.NoError(t, err)
	out := collect(t, it)
	it, err = r.ResumeWithParams(t.Context(), "1",
		&ResumeParams{Targets: map[string]any{out.err.InterruptContexts[0].ID: "yes"}})
	require.NoError(t, err)
	require.Equal(t, []string{"slow: answered yes", "slow: slow done"}, collect(t, it).texts)
	require.Equal(t, 1, quick.n)
	require.Equal(t, 2, slow.n)
}

// TestCancel_AnAnswerThatComesWithItIsNotLost: the answer of a model that obeys its context by answering is either
// emitted, or the run has been cancelled.
// Rules runtime/C7, runtime/C22.
func TestCancel_AnAnswerThatComesWithItIsNotLost(t *testing.T) {
	bubbled(t, testAnswerWithCancel[ordinary], testAnswerWithCancel[agentic])
}

func testAnswerWithCancel[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	for range 50 {
		option, cancel := WithCancel()
		m := says(d.answer("done"))
		m.hook = func(ctx context.Context, turn int, _ []M) error {
			if turn == 0 {
				cancel()
				<-ctx.Done()
			}
			return nil
		}
		r := NewTypedRunner(TypedRunnerConfig[M]{Agent: setup(t, m, nil), EnableStreaming: streaming,
			CheckPointStore: memory{}})
		all := read(t, r.Query(t.Context(), "hi", WithCheckPointID("1"), option))
		if len(all) == 1 && all[0].Err == nil {
			require.Equal(t, []string{ended}, linesOf(all))
			continue
		}
		require.IsType(t, &CancelError{}, endError(t, all))
		it, err := r.Resume(t.Context(), "1")
		require.NoError(t, err)
		require.Equal(t, []string{ended}, linesOf(read(t, it)))
		require.Equal(t, []string{"user: hi"}, m.transcript()[1], "the turn is taken anew")
	}
}

// TestCancel_AStreamThatBrokeOffIsTakenAnew: a turn whose stream broke off, in a run that is stopped before anything
// else follows, is taken again: agents that come later see nothing of the broken one.
// Rule runtime/F6.
func TestCancel_AStreamThatBrokeOffIsTakenAnew(t *testing.T) {
	broken := errors.New("broken")
	option, cancel := WithCancel()
	stops := &TypedModelRetryConfig[Message]{MaxRetries: 1,
		ShouldRetry: func(_ context.Context, rc *TypedRetryContext[Message]) *TypedRetryDecision[Message] {
			if rc.Err != nil {
				cancel(WithRecursive())
			}
			return nil
		}}
	m := &breaksOnce{says(chatAnswer("one done")), broken}
	s := newTheatre()
	seq := sequenceOf(t, "seq", setup(t, model.BaseModel[Message](m), nil,
		func(c *ChatModelAgentConfig) { c.Name, c.ModelRetryConfig = "one", stops }), s.says("two"))
	r := NewRunner(t.Context(), RunnerConfig{Agent: seq, EnableStreaming: true, CheckPointStore: memory{}})
	require.IsType(t, &CancelError{}, endError(t, read(t, r.Query(t.Context(), "hi", WithCheckPointID("1"), option))))
	it, err := r.Resume(t.Context(), "1")
	require.NoError(t, err)
	require.Equal(t, []string{"assistant: one done", "assistant: two"}, linesOf(read(t, it)))
	require.Equal(t, []string{"user: hi", quotedLine("one", "one done")}, s.asked["two"])
}

// breaksOnce is a model whose first stream breaks off.
type breaksOnce struct {
	*scripted[Message]
	with error
}

func (m *breaksOnce) Stream(ctx context.Context, history []Message,
	opts ...model.Option,
) (*schema.StreamReader[Message], error) {
	if m.with == nil {
		return m.scripted.Stream(ctx, history, opts...)
	}
	s, w := schema.Pipe[Message](2)
	w.Send(chatAnswer("half"), nil)
	w.Send(nil, m.with)
	w.Close()
	m.with = nil
	return s, nil
}
