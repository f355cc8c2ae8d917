package adk

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// TestCancel_WithTheAnswerAtTheSameMoment: a model answers at the moment when a cancel, or the timeout of one, comes.
// Whichever is first, all parties see the same outcome: either the run has ended, or it was cancelled and can be
// resumed without a loss.
func TestCancel_WithTheAnswerAtTheSameMoment(t *testing.T) {
	bubbled(t, testSameMoment[ordinary], testSameMoment[agentic])
}

func testSameMoment[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	for round := range 100 {
		m := says(d.answer("done"))
		m.hook = func(context.Context, int, []M) error { time.Sleep(time.Second); return nil }
		store := memory{}
		r := NewTypedRunner(TypedRunnerConfig[M]{Agent: setup(t, m, nil), EnableStreaming: streaming, CheckPointStore: store})
		option, cancel := WithCancel()
		it := r.Query(t.Context(), "hi", WithCheckPointID("1"), option)
		var handle *CancelHandle
		if round%2 == 0 {
			time.Sleep(time.Second)
			handle, _ = cancel()
		} else {
			handle, _ = cancel(WithAgentCancelMode(CancelAfterToolCalls), WithAgentCancelTimeout(time.Second))
		}
		all, err := read(t, it), handle.Wait()
		var cancelled *CancelError
		if errors.As(all[len(all)-1].Err, &cancelled) {
			if round%2 == 0 {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, ErrCancelTimeout)
			}
			require.Equal(t, "1", cancelled.CheckPointID)
			resumed, err := r.Resume(t.Context(), "1")
			require.NoError(t, err)
			all = read(t, resumed)
		} else {
			require.ErrorIs(t, err, ErrExecutionEnded)
			require.Empty(t, store)
		}
		require.Equal(t, []string{ended}, linesOf(all))
	}
}

// TestCancel_BeforeTheAnswerAlwaysWins: what was asked for before the answer came wins, always: the order decides, not
// the scheduler.
func TestCancel_BeforeTheAnswerAlwaysWins(t *testing.T) {
	bubbled(t, testCancelFirst[ordinary], testCancelFirst[agentic])
}

func testCancelFirst[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	for range 100 {
		option, cancel := WithCancel()
		m := says(d.answer("", wanted{"t", "c1", object}), d.answer("done"))
		m.hook = func(context.Context, int, []M) error { cancel(WithAgentCancelMode(CancelAfterChatModel)); return nil }
		r := NewTypedRunner(TypedRunnerConfig[M]{Agent: setup(t, m, []tool.BaseTool{echo("t")}), EnableStreaming: streaming})
		all := read(t, r.Query(t.Context(), "hi", option))
		require.Equal(t, []string{asked, "error"}, linesOf(all))
		require.IsType(t, &CancelError{}, endError(t, all))
	}
}

// waits until its context ends, and says so.
func waits(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }

// endless are runs of every kind that wait, somewhere, until their context ends.
func endless(t *testing.T) map[string]Agent {
	waiting := &toolFunc{"wait", func(ctx context.Context, _ string) (string, error) { return "", waits(ctx) }}
	streams := &streamToolFunc{"wait", func(ctx context.Context, _ string) (*schema.StreamReader[string], error) {
		r, w := schema.Pipe[string](2) // a sender of more than fits has to notice that the reader is gone
		w.Send("half", nil)
		context.AfterFunc(ctx, func() { w.Send("", ctx.Err()); w.Close() })
		return r, nil
	}}
	calling := func(name string, tools ...tool.BaseTool) *ChatModelAgent {
		return newOrdinary(t, name, recall(callOf("wait", "c", object), chatAnswer("done")), tools...)
	}
	deaf := &modelFunc[Message]{
		generate: func(ctx context.Context, _ []Message, _ ...model.Option) (Message, error) { return nil, waits(ctx) },
		stream: func(ctx context.Context, _ []Message, _ ...model.Option) (*schema.StreamReader[Message], error) {
			r, w := schema.Pipe[Message](2)
			w.Send(chatAnswer("half"), nil)
			context.AfterFunc(ctx, func() { w.Send(nil, ctx.Err()); w.Close() })
			return r, nil
		},
	}
	inTheModel := newOrdinary(t, "m", deaf)
	hook := &hooked[Message]{beforeModel: func(
		ctx context.Context, s *ChatModelAgentState, _ *ModelContext,
	) (context.Context, *ChatModelAgentState, error) {
		return ctx, s, waits(ctx)
	}}
	g := compose.NewGraph[string, string]()
	require.NoError(t, g.AddLambdaNode("node",
		compose.InvokableLambda(func(ctx context.Context, _ string) (string, error) { return "", waits(ctx) })))
	require.NoError(t, g.AddEdge(compose.START, "node"))
	require.NoError(t, g.AddEdge("node", compose.END))
	graph, err := g.Compile(t.Context())
	require.NoError(t, err)
	inAGraph := &toolFunc{"wait",
		func(ctx context.Context, args string) (string, error) { return graph.Invoke(ctx, args) }}
	call := func(agent Agent) Agent {
		return newOrdinary(t, "outer", recall(callOf(agent.Name(t.Context()), "o", `{"request":"do"}`), chatAnswer("done")),
			NewAgentTool(t.Context(), agent))
	}
	custom := actor("custom", func(ctx context.Context, send func(*AgentEvent)) {
		send(said("half"))
		send(&AgentEvent{Err: waits(ctx)})
	})
	return map[string]Agent{
		"model":           inTheModel,
		"tool":            calling("a", waiting),
		"streaming tool":  calling("a", streams),
		"graph in a tool": calling("a", inAGraph),
		"hook":            setup(t, model.BaseChatModel(recall(chatAnswer("done"))), nil, with[Message](hook)),
		"retry":           setup(t, model.BaseChatModel(deaf), nil, retrying[Message](3, nil)),
		"agent tool":      call(call(calling("a", waiting))),
		"custom":          custom,
		"sequence":        sequenceOf(t, "w", newOrdinary(t, "first", recall(chatAnswer("first"))), calling("a", waiting)),
		"loop":            loopAgentOf(t, "w", 0, inTheModel),
		"parallel":        parallelOf(t, "w", calling("a", waiting), newOrdinary(t, "b", deaf)),
		"transfer":        flowOf(t, newOrdinary(t, "lead", recall(transferTo("a"))), calling("a", waiting)),
		"deterministic": AgentWithDeterministicTransferTo(t.Context(),
			&DeterministicTransferConfig{Agent: calling("a", waiting)}),
		"nested workflows": sequenceOf(t, "w", parallelOf(t, "p", loopAgentOf(t, "l", 0, calling("a", waiting)))),
	}
}

// deaf are runs without an end, of agents that do not look whether their context has ended.
func deaf(t *testing.T) map[string]Agent {
	neverDone := actor("custom", func(_ context.Context, send func(*AgentEvent)) {
		r, w := schema.Pipe[Message](1)
		w.Send(chatAnswer("half"), nil)
		send(EventFromMessage(nil, r, schema.Assistant, ""))
	})
	idle := func(name string, action *AgentAction) Agent {
		return actor(name, func(_ context.Context, send func(*AgentEvent)) {
			time.Sleep(100 * time.Millisecond)
			send(&AgentEvent{Action: action})
		})
	}
	outer := newOrdinary(t, "outer", recall(callOf("custom", "o", `{"request":"do"}`), chatAnswer("done")),
		NewAgentTool(t.Context(), neverDone))
	return map[string]Agent{
		"stream in a sequence":  sequenceOf(t, "w", neverDone, newOrdinary(t, "next", recall(chatAnswer("done")))),
		"stream in a tool":      outer,
		"deaf agents in a loop": loopAgentOf(t, "w", 0, idle("a", nil), idle("b", nil)),
		"deaf agents in transfers": flowOf(t, idle("a", NewTransferToAgentAction("b")),
			idle("b", NewTransferToAgentAction("a"))),
	}
}

// TestCancel_TheCauseIsThatOfTheLastError: the cause of a cancelled context is also the cause of the last error,
// whatever was at work, with a cancel option or without, in a runner, in a loop, and without either.
func TestCancel_TheCauseIsThatOfTheLastError(t *testing.T) {
	reason := errors.New("the user has gone home")
	agents := endless(t)
	maps.Copy(agents, deaf(t))
	for name, agent := range agents {
		for _, streaming := range []bool{false, true} {
			for host, run := range map[string]func(t *testing.T, ctx context.Context, agent Agent, streaming bool) error{
				"runner": func(t *testing.T, ctx context.Context, agent Agent, streaming bool) error {
					return lastError(NewRunner(ctx, RunnerConfig{Agent: agent, EnableStreaming: streaming}).Query(ctx, "hi"))
				},
				"cancellable": func(t *testing.T, ctx context.Context, agent Agent, streaming bool) error {
					option, _ := WithCancel()
					return lastError(NewRunner(ctx, RunnerConfig{Agent: agent, EnableStreaming: streaming, CheckPointStore: memory{}}).
						Query(ctx, "hi", option, WithCheckPointID("1")))
				},
				"directly": func(t *testing.T, ctx context.Context, agent Agent, streaming bool) error {
					return lastError(agent.Run(ctx,
						&AgentInput{Messages: []Message{schema.UserMessage("hi")}, EnableStreaming: streaming}))
				},
				"loop": func(t *testing.T, ctx context.Context, agent Agent, streaming bool) error {
					s := newScene(t)
					s.agent = agent
					s.cfg.GenInput = func(_ context.Context, _ *itemLoop, items []string) (*itemPlan, error) {
						return &itemPlan{Input: &AgentInput{Messages: []Message{schema.UserMessage("hi")}, EnableStreaming: streaming},
							Consumed: items}, nil
					}
					l := NewTurnLoop(s.cfg)
					l.Push("1")
					l.Run(ctx)
					return l.Wait().ExitReason
				},
				"idle loop": func(t *testing.T, ctx context.Context, _ Agent, _ bool) error {
					l := NewTurnLoop(newScene(t).cfg)
					l.Run(ctx)
					return l.Wait().ExitReason
				},
			} {
				t.Run(fmt.Sprintf("%s/%s/streaming=%v", name, host, streaming), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						if name == "custom" && host == "directly" {
							return // nothing but the test's own code
						}
						ctx, cancel := context.WithCancelCause(t.Context())
						start := time.Now()
						time.AfterFunc(time.Second, func() { cancel(reason) })
						err := run(t, ctx, agent, streaming)
						require.ErrorIs(t, err, reason)
						require.ErrorIs(t, err, context.Canceled)
						require.LessOrEqual(t, time.Since(start), time.Second+100*time.Millisecond)
					})
				})
			}
		}
	}
}

// TestRun_ItsContextEndsAtEveryEvent: cancelling the context of a run, at any of its events, is enough: the run ends at
// once with the error of the context, whether its events are read or not, and leaves nothing behind.
func TestRun_ItsContextEndsAtEveryEvent(t *testing.T) {
	for name := range endless(t) {
		for _, streaming := range []bool{false, true} {
			for _, reads := range []bool{false, true} {
				for at := range 5 {
					t.Run(fmt.Sprintf("%s/streaming=%v/reads=%v/%d", name, streaming, reads, at), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							agent := endless(t)[name]
							ctx, cancel := context.WithCancel(t.Context())
							it := NewRunner(ctx, RunnerConfig{Agent: agent, EnableStreaming: streaming}).Query(ctx, "hi")
							events := make(chan *AgentEvent, 100)
							go func() {
								defer close(events)
								for e := range it.All() {
									events <- e
								}
							}()
							for range at {
								synctest.Wait()
								if len(events) > 0 {
									e := <-events
									if reads {
										defer drop(e)
									}
								}
							}
							start := time.Now()
							cancel()
							if !reads {
								return // the bubble waits for every goroutine
							}
							var last error
							for e := range events {
								drop(e)
								last = e.Err
							}
							require.ErrorIs(t, last, context.Canceled)
							require.Less(t, time.Since(start), 100*time.Millisecond)
						})
					})
				}
			}
		}
	}
}

// drop reads the stream of an event.
func drop(e *AgentEvent) {
	if e.Output != nil && e.Output.MessageOutput != nil && e.Output.MessageOutput.MessageStream != nil {
		for {
			if _, err := e.Output.MessageOutput.MessageStream.Recv(); err != nil {
				return
			}
		}
	}
}
