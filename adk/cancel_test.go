package adk

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/internal/cancelscope"
	"github.com/weftgo/weft/schema"
)

// outcome holds what a cancelled run left.
type outcome struct {
	texts []string
	err   *CancelError
}

// collect reads the events of a run that may be cancelled.
func collect(t *testing.T, it *AsyncIterator[*AgentEvent]) (out outcome) {
	t.Helper()
	for e := range it.All() {
		require.Nil(t, out.err, "the CancelError is the last event")
		if e.Err != nil {
			if !errors.As(e.Err, &out.err) {
				require.NoError(t, e.Err)
			}
			require.Empty(t, e.AgentName)
			continue
		}
		m, _, err := GetMessage(e)
		if errors.Is(err, ErrStreamCanceled) {
			out.texts = append(out.texts, e.AgentName+": canceled")
			continue
		}
		require.NoError(t, err)
		if m != nil {
			out.texts = append(out.texts, e.AgentName+": "+m.Content)
		}
	}
	return out
}

// stuck is a tool or model that ignores its context until it is released.
type stuck struct {
	*replies
	release chan struct{}
	entered chan context.Context
}

func newStuck(all ...*schema.Message) *stuck {
	return &stuck{&replies{all: all}, make(chan struct{}), make(chan context.Context, 10)}
}

func (s *stuck) Generate(ctx context.Context, input []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	s.entered <- ctx
	<-s.release
	return s.next(input), nil
}

func (s *stuck) Stream(ctx context.Context, input []*schema.Message,
	_ ...model.Option,
) (*schema.StreamReader[*schema.Message], error) {
	s.entered <- ctx
	r, w := schema.Pipe[*schema.Message](0)
	go func() {
		defer w.Close()
		w.Send(schema.AssistantMessage("half", nil), nil)
		<-s.release
		w.Send(s.next(input), nil)
	}()
	return r, nil
}

// Rule runtime/C13.
func TestCancel_AfterChatModelResumesWithTheTools(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		m := &replies{all: []*schema.Message{callOf("echo", "c1", "x"), schema.AssistantMessage("done", nil)}}
		store := memory{}
		option, cancel := WithCancel()
		handle, contributed := cancel(WithAgentCancelMode(CancelAfterChatModel)) // before the run
		require.True(t, contributed)
		agent := newOrdinary(t, "a", m, echo("echo"))
		r := NewRunner(t.Context(), RunnerConfig{Agent: agent, EnableStreaming: streaming, CheckPointStore: store})
		out := collect(t, r.Query(t.Context(), "hi", WithCheckPointID("1"), option))
		require.Equal(t, []string{"a: "}, out.texts)
		require.Equal(t, &AgentCancelInfo{Mode: CancelAfterChatModel}, out.err.Info)
		require.Equal(t, "1", out.err.CheckPointID)
		require.EqualError(t, out.err, "agent canceled: mode=2, escalated=false (after the answer of the model)")
		require.NoError(t, handle.Wait())
		_, contributed = cancel()
		require.False(t, contributed)

		it, err := r.Resume(t.Context(), "1")
		require.NoError(t, err)
		out = collect(t, it)
		require.Equal(t, []string{"a: <x>", "a: done"}, out.texts)
		require.Nil(t, out.err)
		require.Equal(t, 2, m.n, "the model is not asked again")
	}
}

// Rule runtime/C14.
func TestCancel_AfterToolCallsResumesWithTheModel(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		m := &replies{all: []*schema.Message{callOf("echo", "c1", "x"), schema.AssistantMessage("done", nil)}}
		store := memory{}
		option, cancel := WithCancel()
		cancel(WithAgentCancelMode(CancelAfterToolCalls))
		hooks := 0
		hook := WithAfterToolCallsHook(func(context.Context) error { hooks++; return nil })
		r := NewRunner(t.Context(), RunnerConfig{Agent: newOrdinary(t, "a", m, echo("echo")), EnableStreaming: streaming,
			CheckPointStore: store})
		out := collect(t, r.Query(t.Context(), "hi", WithCheckPointID("1"), option, hook))
		require.Equal(t, []string{"a: ", "a: <x>"}, out.texts)
		require.NotNil(t, out.err)
		it, err := r.Resume(t.Context(), "1", hook)
		require.NoError(t, err)
		require.Equal(t, []string{"a: done"}, collect(t, it).texts)
		require.Equal(t, 1, hooks)
		require.Len(t, m.seen[1], 3)
	}
}

// Rules runtime/C22, runtime/C24.
func TestCancel_ImmediateWhileTheModelIsStuck(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m := newStuck(schema.AssistantMessage("done", nil))
			store := memory{}
			option, cancel := WithCancel()
			r := NewRunner(t.Context(), RunnerConfig{Agent: newOrdinary(t, "a", m), EnableStreaming: streaming,
				CheckPointStore: store})
			it := r.Query(t.Context(), "hi", WithCheckPointID("1"), option)
			ctx := <-m.entered
			synctest.Wait()
			handle, contributed := cancel()
			require.True(t, contributed)
			require.NoError(t, handle.Wait())
			out := collect(t, it)
			require.NotNil(t, out.err)
			if streaming {
				require.Equal(t, []string{"a: canceled"}, out.texts)
			}
			var cause *CancelError
			require.ErrorAs(t, context.Cause(ctx), &cause)
			close(m.release)
			again, err := r.Resume(t.Context(), "1")
			require.NoError(t, err)
			require.NotEmpty(t, collect(t, again).texts)
		})
	}
}

// TestCancel_CauseOfACallThatIsReleasedAtOnce: a reader whose stream is cut off may be quicker than the cancel: running
// calls get the cancel as their cause all the same.
// Rule runtime/B15.10.
func TestCancel_CauseOfACallThatIsReleasedAtOnce(t *testing.T) {
	var control cancelscope.Control
	call := watch(t.Context(), control.Root(), func(context.Context) (int, error) { return 0, nil })
	call.OnStop(func(error) { call.Release() })
	control.Ask(cancelscope.Request{})
	require.ErrorAs(t, context.Cause(&call.Call), new(*CancelError))
}

// candid is a model whose stream says what the end of its context was.
type candid struct{ *replies }

func (c candid) Stream(ctx context.Context, _ []*schema.Message,
	_ ...model.Option,
) (*schema.StreamReader[*schema.Message], error) {
	r, w := schema.Pipe[*schema.Message](2)
	w.Send(schema.AssistantMessage("half", nil), nil)
	go func() {
		defer w.Close()
		<-ctx.Done()
		w.Send(nil, ctx.Err())
	}()
	return r, nil
}

// Rule runtime/C7.
func TestCancel_AStreamSaysThatTheRunWasCancelled(t *testing.T) {
	for range 100 { // the model and the cancel race
		synctest.Test(t, func(t *testing.T) {
			option, cancel := WithCancel()
			r := NewRunner(t.Context(), RunnerConfig{Agent: newOrdinary(t, "a", candid{}), EnableStreaming: true})
			it := r.Query(t.Context(), "hi", option)
			e, ok := it.Next()
			require.True(t, ok)
			s := e.Output.MessageOutput.MessageStream
			_, err := s.Recv()
			require.NoError(t, err)
			cancel()
			_, err = s.Recv()
			require.ErrorIs(t, err, ErrStreamCanceled)
			require.NotNil(t, collect(t, it).err)
		})
	}
}

// Rule runtime/C24.
func TestCancel_FinishedToolResultsAreKept(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m := &replies{all: []*schema.Message{schema.AssistantMessage("", []schema.ToolCall{
				{ID: "1", Function: schema.FunctionCall{Name: "quick", Arguments: "a"}},
				{ID: "2", Function: schema.FunctionCall{Name: "slow", Arguments: "b"}},
			}), schema.AssistantMessage("done", nil)}}
			release := make(chan struct{})
			var ranQuick, ranSlow atomic.Int32
			quick := &toolFunc{"quick", func(context.Context, string) (string, error) { ranQuick.Add(1); return "quick", nil }}
			slow := &toolFunc{"slow",
				func(context.Context, string) (string, error) { ranSlow.Add(1); <-release; return "slow", nil }}
			store := memory{}
			option, cancel := WithCancel()
			r := NewRunner(t.Context(), RunnerConfig{Agent: newOrdinary(t, "a", m, quick, slow), EnableStreaming: streaming,
				CheckPointStore: store})
			it := r.Query(t.Context(), "hi", WithCheckPointID("1"), option)
			synctest.Wait()
			handle, _ := cancel()
			require.NoError(t, handle.Wait())
			require.NotNil(t, collect(t, it).err)
			close(release)
			synctest.Wait()
			it, err := r.Resume(t.Context(), "1")
			require.NoError(t, err)
			require.Equal(t, []string{"a: slow", "a: done"}, collect(t, it).texts)
			require.Equal(t, int32(1), ranQuick.Load())
			require.Equal(t, int32(2), ranSlow.Load())
			require.Len(t, m.seen[1], 4)
			require.Equal(t, 2, m.n)
		})
	}
}

// TestCancel_RecursiveIntoAgentTools: the agents inside stop as well, and continue where they were.
// Rule runtime/C16.
func TestCancel_RecursiveIntoAgentTools(t *testing.T) {
	for name, opts := range map[string][]AgentCancelOption{
		"immediate":  {WithRecursive()},
		"safe point": {WithRecursive(), WithAgentCancelMode(CancelAfterChatModel)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inner := newStuck(callOf("echo", "i", "x"), schema.AssistantMessage("inner done", nil))
				outer := &replies{all: []*schema.Message{callOf("inner", "o", `{"request":"do"}`),
					schema.AssistantMessage("outer done", nil)}}
				store := memory{}
				option, cancel := WithCancel()
				r := NewRunner(t.Context(), RunnerConfig{CheckPointStore: store,
					Agent: newOrdinary(t, "outer", outer, NewAgentTool(t.Context(), newOrdinary(t, "inner", inner, echo("echo"))))})
				it := r.Query(t.Context(), "hi", WithCheckPointID("1"), option)
				<-inner.entered
				handle, _ := cancel(opts...)
				if name == "safe point" {
					close(inner.release)
				}
				require.NoError(t, handle.Wait())
				out := collect(t, it)
				require.NotNil(t, out.err)
				require.Equal(t, "agent:outer;tool:inner:o;agent:inner", out.err.InterruptContexts[0].Address.String())
				if name == "immediate" {
					close(inner.release)
				}
				synctest.Wait()
				inner.n = 0
				if name == "safe point" {
					inner.n = 1
				}
				it, err := r.Resume(t.Context(), "1")
				require.NoError(t, err)
				require.Equal(t, []string{"outer: inner done", "outer: outer done"}, collect(t, it).texts)
				require.Equal(t, 2, outer.n)
			})
		})
	}
}

// TestCancel_NotRecursiveLeavesInnerAgentsAlone: only the outermost agent obeys it.
// Rule runtime/C15.
func TestCancel_NotRecursiveLeavesInnerAgentsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newStuck(schema.AssistantMessage("child done", nil))
		after := &replies{all: []*schema.Message{schema.AssistantMessage("after done", nil)}}
		seq, err := NewSequentialAgent(t.Context(), &SequentialAgentConfig{Name: "seq",
			SubAgents: []Agent{newOrdinary(t, "child", m), newOrdinary(t, "after", after)}})
		require.NoError(t, err)
		store := memory{}
		option, cancel := WithCancel()
		r := NewRunner(t.Context(), RunnerConfig{Agent: seq, CheckPointStore: store})
		it := r.Query(t.Context(), "hi", WithCheckPointID("1"), option)
		ctx := <-m.entered
		handle, _ := cancel()
		synctest.Wait()
		require.NoError(t, ctx.Err())
		close(m.release)
		require.NoError(t, handle.Wait())
		out := collect(t, it)
		require.Equal(t, []string{"child: child done"}, out.texts)
		require.Equal(t, "Sequential workflow cancel at transition", out.err.InterruptContexts[0].Info)
		it, err = r.Resume(t.Context(), "1")
		require.NoError(t, err)
		require.Equal(t, []string{"after: after done"}, collect(t, it).texts)
		require.Len(t, after.seen[0], 2, "it sees what was said before")
	})
}

// Rule runtime/C5.
func TestCancel_TimeoutMakesItImmediate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newStuck(schema.AssistantMessage("done", nil))
		option, cancel := WithCancel()
		it := NewRunner(t.Context(), RunnerConfig{Agent: newOrdinary(t, "a", m)}).Query(t.Context(), "hi", option)
		<-m.entered
		handle, _ := cancel(WithAgentCancelMode(CancelAfterToolCalls), WithAgentCancelTimeout(time.Second))
		require.ErrorIs(t, handle.Wait(), ErrCancelTimeout)
		require.Equal(t, &AgentCancelInfo{Mode: CancelAfterToolCalls, Escalated: true, Timeout: true},
			collect(t, it).err.Info)
		close(m.release)
	})
}

// Rules runtime/C11, runtime/C12.
func TestCancel_BeforeTheRunStartsAndAfterItEnded(t *testing.T) {
	m := &replies{all: []*schema.Message{schema.AssistantMessage("done", nil)}}
	option, cancel := WithCancel()
	handle, _ := cancel()
	out := collect(t, NewRunner(t.Context(), RunnerConfig{Agent: newOrdinary(t, "a", m)}).Query(t.Context(), "hi", option))
	require.NotNil(t, out.err)
	require.NoError(t, handle.Wait())
	require.Zero(t, m.n)

	option, cancel = WithCancel()
	out = collect(t, newOrdinary(t, "a", m).Run(t.Context(), &AgentInput{}, option))
	require.Nil(t, out.err)
	handle, contributed := cancel()
	require.False(t, contributed)
	require.ErrorIs(t, handle.Wait(), ErrExecutionEnded)

	var last error
	for e := range newOrdinary(t, "a", m).Run(t.Context(), &AgentInput{}, option).All() {
		last = e.Err
	}
	require.ErrorIs(t, last, errCancelReused)
}

// Rule runtime/C17.
func TestCancel_NestedRunsAreAbortedOnly(t *testing.T) {
	for _, recursive := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			nested := newStuck(schema.AssistantMessage("nested done", nil))
			inner := newOrdinary(t, "nested", nested)
			var texts []string
			finished := make(chan struct{})
			run := &toolFunc{"run", func(ctx context.Context, _ string) (string, error) {
				defer close(finished)
				for e := range inner.Run(ctx, &AgentInput{Messages: []Message{schema.UserMessage("do")}}).All() {
					require.NoError(t, e.Err)
					m, _, _ := GetMessage(e)
					texts = append(texts, m.Content)
				}
				return "", nil
			}}
			m := &replies{all: []*schema.Message{callOf("run", "c", "x"), schema.AssistantMessage("done", nil)}}
			option, cancel := WithCancel()
			it := NewRunner(t.Context(), RunnerConfig{Agent: newOrdinary(t, "a", m, run)}).Query(t.Context(), "hi", option)
			ctx := <-nested.entered
			var opts []AgentCancelOption
			if recursive {
				opts = []AgentCancelOption{WithRecursive()}
			}
			handle, _ := cancel(opts...)
			require.NoError(t, handle.Wait())
			require.NotNil(t, collect(t, it).err)
			if recursive {
				<-finished
				require.Error(t, ctx.Err())
				require.Empty(t, texts)
				close(nested.release)
				return
			}
			require.NoError(t, ctx.Err())
			close(nested.release)
			<-finished
			require.Equal(t, []string{"nested done"}, texts)
		})
	}
}
