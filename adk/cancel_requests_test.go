package adk

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// Rule runtime/C3.
func TestCancel_RequestsMerge(t *testing.T) {
	second, minute := WithAgentCancelTimeout(time.Second), WithAgentCancelTimeout(time.Minute)
	model, tools := WithAgentCancelMode(CancelAfterChatModel), WithAgentCancelMode(CancelAfterToolCalls)
	for name, c := range map[string]struct {
		requests [][]AgentCancelOption
		after    time.Duration // 0: when the model has answered
		want     AgentCancelInfo
	}{
		"modes add up": {[][]AgentCancelOption{{model}, {tools}}, 0,
			AgentCancelInfo{Mode: CancelAfterChatModel | CancelAfterToolCalls}},
		"immediate absorbs": {[][]AgentCancelOption{{model, minute}, {}}, -1, AgentCancelInfo{Escalated: true}},
		"immediate stays":   {[][]AgentCancelOption{{}, {model, second}}, -1, AgentCancelInfo{}},
		"the earliest deadline": {[][]AgentCancelOption{{model, minute}, {model, second}, {model, minute}}, time.Second,
			AgentCancelInfo{Mode: CancelAfterChatModel, Escalated: true, Timeout: true}},
		"no deadline is not earlier": {[][]AgentCancelOption{{model, second}, {model, WithAgentCancelTimeout(0)},
			{model, WithAgentCancelTimeout(-1)}}, time.Second,
			AgentCancelInfo{Mode: CancelAfterChatModel, Escalated: true, Timeout: true}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newStuck(callOf("echo", "c", "x"), schema.AssistantMessage("done", nil))
				option, cancel := WithCancel()
				it := ask(t.Context(), Agent(newOrdinary(t, "a", m, echo("echo"))), false, option)
				<-m.entered
				start := time.Now()
				var handle *CancelHandle
				for _, opts := range c.requests {
					handle, _ = cancel(opts...)
				}
				if c.after == 0 {
					close(m.release)
				}
				handle.Wait()
				require.Equal(t, max(c.after, 0), time.Since(start))
				require.Equal(t, &c.want, collect(t, it).err.Info)
				if c.after != 0 {
					close(m.release)
				}
			})
		})
	}
}

// A cancel that was recursive once stays so.
// Rule runtime/C3.
func TestCancel_RecursiveStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newStuck(callOf("echo", "c", "x"))
		option, cancel := WithCancel()
		it := ask(t.Context(), Agent(sequenceOf(t, "seq", newOrdinary(t, "a", m, echo("echo")))), false, option)
		<-m.entered
		cancel(WithAgentCancelMode(CancelAfterChatModel))
		cancel(WithAgentCancelMode(CancelAfterChatModel), WithRecursive())
		cancel(WithAgentCancelMode(CancelAfterChatModel))
		close(m.release)
		require.Equal(t, "agent:seq;agent:a", collect(t, it).err.InterruptContexts[0].Address.String())
	})
}

// Rules runtime/B15.9, runtime/C9, runtime/C10.
func TestCancel_WithoutAStoreSavesNothing(t *testing.T) {
	for name, opts := range map[string][]AgentRunOption{"no ID": nil, "an ID": {WithCheckPointID("1")}} {
		option, cancel := WithCancel()
		handle, _ := cancel()
		out := collect(t, NewRunner(t.Context(), RunnerConfig{Agent: asker(t, "a")}).Query(t.Context(), "hi",
			append(opts, option)...))
		require.NotNil(t, out.err, name)
		require.Empty(t, out.err.CheckPointID, name)
		require.NotEmpty(t, out.err.InterruptContexts, "%s: rule runtime/C9", name)
		require.NoError(t, handle.Wait(), name)
	}
}

// A recursive cancel waits a second for a custom agent in a tool, and no longer.
// Rule runtime/C18.
func TestCancel_CustomAgentsGetASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWaiting()
		option, cancel := WithCancel()
		m := &replies{all: []Message{callOf("w", "1", `{"request":"do"}`)}}
		it := ask(t.Context(), Agent(newOrdinary(t, "a", m, NewAgentTool(t.Context(), w.Agent))), false, option)
		<-w.entered
		start := time.Now()
		handle, _ := cancel(WithRecursive())
		require.Zero(t, time.Since(start), "rule runtime/B15.9: the call does not wait")
		require.NoError(t, handle.Wait())
		require.Equal(t, time.Second, time.Since(start))
		require.NotNil(t, collect(t, it).err)
		close(w.release)
	})
}

// A custom agent that does not look for cancels runs to its end; one that asks can stop.
// Rules runtime/B15.22, runtime/C19.
func TestCancel_CustomAgentsMayAskForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWaiting()
		option, cancel := WithCancel()
		it := ask(t.Context(), w.Agent, false, option)
		ctx := <-w.entered
		handle, _ := cancel()
		synctest.Wait()
		require.NoError(t, ctx.Err())
		close(w.release)
		require.ErrorIs(t, handle.Wait(), ErrExecutionEnded)
		require.Nil(t, collect(t, it).err)
	})
	for _, mode := range []CancelMode{CancelImmediate, CancelAfterToolCalls} {
		synctest.Test(t, func(t *testing.T) {
			started := make(chan struct{})
			a := asking("a")
			a.run = func(ctx context.Context, _ *AgentInput, send func(*AgentEvent)) {
				done, asked := CancelRequested(ctx)
				_, yes := asked()
				require.False(t, yes)
				close(started)
				if mode == CancelImmediate {
					<-done
				} else {
					synctest.Wait()
				}
				got, yes := asked()
				require.True(t, yes)
				require.Equal(t, mode, got)
				send(StatefulInterrupt(ctx, "stopped", "state"))
			}
			option, cancel := WithCancel()
			r := NewRunner(t.Context(), RunnerConfig{Agent: a, CheckPointStore: memory{}})
			it := r.Query(t.Context(), "hi", WithCheckPointID("1"), option)
			<-started
			handle, _ := cancel(WithAgentCancelMode(mode))
			require.NoError(t, handle.Wait())
			require.Equal(t, "stopped", collect(t, it).err.InterruptContexts[0].Info)
			texts, _ := drainAll(t, resumeWith(t, r, nil))
			require.Equal(t, []string{"a: a got "}, texts)
		})
	}
	done, mode := CancelRequested(t.Context())
	_, asked := mode()
	require.Nil(t, done)
	require.False(t, asked)
}

// Streams end with ErrStreamCanceled; other ends stay as they are.
// Rule runtime/C21.
func TestCancel_StreamsEndWithItsError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newStuck(schema.AssistantMessage("done", nil))
		option, cancel := WithCancel()
		it := ask(t.Context(), Agent(newOrdinary(t, "a", m)), true, option)
		e, _ := it.Next()
		stream := e.Output.MessageOutput.MessageStream
		_, err := stream.Recv()
		require.NoError(t, err)
		cancel()
		_, err = stream.Recv()
		require.ErrorIs(t, err, ErrStreamCanceled)
		require.NotNil(t, collect(t, it).err)
		close(m.release)
	})
	control, cancel := WithCancel()
	call := watch[Message](t.Context(), control.cancel.Root(), nil)
	defer call.Release()
	abortable := func() *schema.StreamReader[Message] {
		s, abort := schema.StreamReaderWithAbort(streamOf[Message]("a"))
		call.OnStop(abort)
		return s
	}
	whole, cut := abortable(), abortable()
	_, err := whole.Recv()
	require.NoError(t, err)
	_, err = whole.Recv()
	require.Equal(t, io.EOF, err)
	cancel()
	_, err = whole.Recv()
	require.Equal(t, io.EOF, err, "it had ended")
	for _, s := range []*schema.StreamReader[Message]{cut, abortable()} {
		_, err = s.Recv()
		require.ErrorIs(t, err, ErrStreamCanceled)
	}
}

// A cancel in the middle of a stream that hangs always leaves a CancelError and a saved run.
// Rule runtime/C23.
func TestCancel_AStreamThatHangs(t *testing.T) {
	for range 300 {
		m := newStuck(schema.AssistantMessage("done", nil))
		store := memory{}
		option, cancel := WithCancel()
		it := NewRunner(t.Context(), RunnerConfig{Agent: newOrdinary(t, "a", m), EnableStreaming: true,
			CheckPointStore: store}).
			Query(t.Context(), "hi", WithCheckPointID("1"), option)
		<-m.entered
		cancel()
		out := collect(t, it)
		require.NotNil(t, out.err)
		require.Equal(t, "1", out.err.CheckPointID)
		require.NotEmpty(t, store["1"])
		close(m.release)
	}
}

// What a tool that outlives its run sends is dropped.
// Rules runtime/E3, runtime/E10.
func TestSendEvent_AfterACancelIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var err error
		slow := &toolFunc{"slow", func(ctx context.Context, _ string) (string, error) {
			<-release
			err = errors.Join(SendEvent(ctx, said("late")), SendEvent(ctx, &AgentEvent{Action: NewExitAction()}))
			return "late", nil
		}}
		option, cancel := WithCancel()
		it := ask(t.Context(), Agent(newOrdinary(t, "a", &replies{all: []Message{callOf("slow", "1", "x")}}, slow)), false,
			option)
		synctest.Wait()
		handle, _ := cancel()
		require.NoError(t, handle.Wait())
		require.Equal(t, []string{"a: "}, collect(t, it).texts)
		close(release)
		synctest.Wait()
		require.NoError(t, err)
	})
}

// The outermost agent obeys a cancel also when the run comes back to it.
// Rule runtime/C15.
func TestCancel_ReachesTheOutermostAgentAfterATransferBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		option, cancel := WithCancel()
		a := &replies{all: []Message{transferTo("b"), schema.AssistantMessage("not asked", nil)}}
		b := actor("b", func(_ context.Context, send func(*AgentEvent)) {
			cancel()
			send(said("b"))
			send(&AgentEvent{Action: NewTransferToAgentAction("a")})
		})
		out := collect(t, ask(t.Context(), Agent(flowOf(t, newOrdinary(t, "a", a), b)), false, option))
		require.Equal(t, "b: b", out.texts[len(out.texts)-1], "the agent inside has its say")
		require.NotNil(t, out.err)
		require.Equal(t, 1, a.n)
	})
}

// A model fails at the moment in which the run is cancelled: the event of the attempt, which would have been tried again,
// ends with the cancel. Its own error would break the history of the resumed run.
// Rules runtime/C21, runtime/C23.
func TestCancel_BesideAFailureThatWouldBeTriedAgain(t *testing.T) {
	compose.RegisterStreamChunkConcatFunc(func(all []joinedBy) (joinedBy, error) {
		all[0]()
		return all[0], nil
	})
	for name, change := range map[string]func(*ChatModelAgentConfig){
		"retry": func(c *ChatModelAgentConfig) { c.ModelRetryConfig = &ModelRetryConfig{MaxRetries: 3} },
		"failover": func(c *ChatModelAgentConfig) {
			c.ModelFailoverConfig = &ModelFailoverConfig[*schema.Message]{
				MaxRetries:     1,
				ShouldFailover: func(context.Context, *schema.Message, error) bool { return false },
				GetFailoverModel: func(context.Context, *FailoverContext[*schema.Message]) (
					model.BaseModel[*schema.Message], []*schema.Message, error,
				) {
					return nil, nil, errors.New("not asked")
				},
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			option, cancel := WithCancel()
			cancelling := func() { cancel() }
			m := &modelFunc[*schema.Message]{stream: func(
				context.Context, []*schema.Message, ...model.Option,
			) (*schema.StreamReader[*schema.Message], error) {
				sr, sw := schema.Pipe[*schema.Message](3)
				for range 2 { // joined when the error has come, before anybody decides about it
					sw.Send(&schema.Message{Role: schema.Assistant, Content: "half", Extra: map[string]any{"at": joinedBy(cancelling)}}, nil)
				}
				sw.Send(nil, errors.New("busy"))
				sw.Close()
				return sr, nil
			}}
			conf := &ChatModelAgentConfig{Name: "a", Model: m}
			change(conf)
			agent, err := NewChatModelAgent(t.Context(), conf)
			require.NoError(t, err)
			it := ask(t.Context(), Agent(agent), true, option)
			e, _ := it.Next()
			stream := e.Output.MessageOutput.MessageStream
			for range 2 {
				_, err = stream.Recv()
				require.NoError(t, err)
			}
			_, err = stream.Recv()
			require.ErrorIs(t, err, ErrStreamCanceled)
			var cancelled *CancelError
			require.ErrorAs(t, collect(t, it).err, &cancelled)
		})
	}
}

// joinedBy is called when values of it are joined.
type joinedBy func()
