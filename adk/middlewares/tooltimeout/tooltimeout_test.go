package tooltimeout_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/middlewares/internal/messagetest"
	"github.com/weftgo/weft/adk/middlewares/toolerrors"
	"github.com/weftgo/weft/adk/middlewares/tooltimeout"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// second gives every tool a second.
var second = &tooltimeout.Config{Timeout: time.Second}

// newAgent makes an agent with the middleware, behind others.
func newAgent[M adk.MessageType](
	t *testing.T, name string, conf *tooltimeout.Config, m *adktest.Model[M], tools []tool.BaseTool,
	before ...adk.TypedChatModelAgentMiddleware[M],
) adk.TypedAgent[M] {
	t.Helper()
	handler, err := tooltimeout.NewTyped[M](t.Context(), conf)
	require.NoError(t, err)
	agent, err := adk.NewTypedChatModelAgent(t.Context(),
		&adk.TypedChatModelAgentConfig[M]{Name: name, Description: "test", Model: m,
			ToolsConfig: adktest.Tools(tools...), Handlers: append(before, handler)})
	require.NoError(t, err)
	return agent
}

func TestCallsThatHang(t *testing.T) {
	messagetest.Both(t, testCallsThatHang[*schema.Message], testCallsThatHang[*schema.AgenticMessage])
}

func testCallsThatHang[M adk.MessageType](t *testing.T) {
	ignores := func(context.Context, string) (string, error) { time.Sleep(time.Hour); return "late", nil }
	for kind := range messagetest.EveryTool() {
		for name, reply := range map[string]adktest.Answer{"gives up": adktest.Blocks(),
			"ignores its context": adktest.Does(ignores)} {
			t.Run(kind+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					begun := time.Now()
					m := adktest.NewTypedModel[M](t, adktest.Calls(adktest.Call("t", "{}")))
					err := adktest.AskStreaming(t.Context(), t,
						newAgent(t, "a", second, m, []tool.BaseTool{messagetest.EveryTool(reply)[kind]}), "hi").Err()
					var late *tooltimeout.Error
					require.ErrorAs(t, err, &late)
					require.Equal(t, &tooltimeout.Error{ToolName: "t", CallID: "call_1", Timeout: time.Second}, late)
					require.ErrorIs(t, err, context.DeadlineExceeded)
					require.ErrorContains(t, err, "agent 'a'")
					require.ErrorContains(t, err, "the call of tool 't' took longer than 1s and was given up")
					require.Equal(t, time.Second, time.Since(begun))
					time.Sleep(time.Hour) // for the abandoned tool to end
				})
			})
		}
	}
}

func TestWithToolErrorsTheModelReadsIt(t *testing.T) {
	const text = "The call of the tool failed: the call of tool 't' took longer than 1s and was given up"
	for kind := range messagetest.EveryTool() {
		replies := map[string]adktest.Answer{text: adktest.Blocks()}
		if kind == "stream" || kind == "enhanced stream" {
			replies["one \n"+text] = adktest.Streams("one ").ThenBlocks()
		}
		for want, reply := range replies {
			t.Run(kind+"/"+want[:4], func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					toolErrors, err := toolerrors.New(t.Context(), nil)
					require.NoError(t, err)
					m := adktest.NewModel(t, adktest.Calls(adktest.Call("t", "{}")),
						adktest.Says("done").SeeingLast("tool t#call_1: "+want))
					adktest.AskStreaming(t.Context(), t,
						newAgent(t, "a", second, m, []tool.BaseTool{messagetest.EveryTool(reply)[kind]}, toolErrors),
						"hi").ExpectText("done")
				})
			})
		}
	}
}

func TestCallsInTime(t *testing.T) {
	for kind, tl := range messagetest.EveryTool(adktest.Streams("one ", "two").Every(400 * time.Millisecond)) {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := adktest.NewModel(t, adktest.Calls(adktest.Call("t", "{}")),
					adktest.Says("done").SeeingLast("tool t#call_1: one two"))
				adktest.AskStreaming(t.Context(), t, newAgent(t, "a", second, m, []tool.BaseTool{tl}), "hi").ExpectText("done")
			})
		})
	}
}

// TestContext: tools see when their time is over, and the context of a stream lasts as long as it.
func TestContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler, err := tooltimeout.New(t.Context(), second)
		require.NoError(t, err)
		r, w := schema.Pipe[string](1)
		var seen context.Context
		call, err := handler.WrapStreamableToolCall(t.Context(),
			func(ctx context.Context, _ string, _ ...tool.Option) (*schema.StreamReader[string], error) {
				seen = ctx
				return r, nil
			}, &adk.ToolContext{Name: "t"})
		require.NoError(t, err)
		s, err := call(t.Context(), "{}")
		require.NoError(t, err)
		deadline, ok := seen.Deadline()
		require.True(t, ok)
		require.Equal(t, time.Second, time.Until(deadline))
		require.NoError(t, seen.Err())
		w.Close()
		for range s.All() {
		}
		require.ErrorIs(t, seen.Err(), context.Canceled)
	})
}

func TestOf(t *testing.T) {
	conf := &tooltimeout.Config{Timeout: time.Second, Of: map[string]time.Duration{"slow": time.Hour, "endless": 0}}
	for name, want := range map[string]time.Duration{"t": time.Second, "slow": time.Hour, "endless": 1000 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 1000*time.Hour)
			defer cancel()
			begun := time.Now()
			m := adktest.NewModel(t, adktest.Calls(adktest.Call(name, "{}")))
			err := adktest.Ask(ctx, t, newAgent(t, "a", conf, m, []tool.BaseTool{adktest.NewTool(name, adktest.Blocks())}),
				"hi").Err()
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Equal(t, name != "endless", errors.As(err, new(*tooltimeout.Error)))
			require.Equal(t, want, time.Since(begun))
		})
	}
}

func TestCancelPasses(t *testing.T) {
	for kind := range messagetest.EveryTool() {
		for name, blocked := range map[string]adktest.Answer{"call": adktest.Blocks(),
			"stream": adktest.Streams("a").ThenBlocks()} {
			t.Run(kind+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					m := adktest.NewModel(t, adktest.Calls(adktest.Call("t", "{}")))
					option, cancel := adk.WithCancel()
					runner := adk.NewRunner(t.Context(), adk.RunnerConfig{EnableStreaming: true,
						Agent: newAgent(t, "a", second, m, []tool.BaseTool{messagetest.EveryTool(blocked)[kind]})})
					events := adktest.Watch(t, runner.Query(t.Context(), "hi", option))
					synctest.Wait()
					cancel()
					require.ErrorAs(t, events.Err(), new(*adk.CancelError))
				})
			})
		}
	}
}

// TestCancelInsideAnAgent: an agent in the call stops by itself, and the resumed run continues it.
func TestCancelInsideAnAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conf := &tooltimeout.Config{Timeout: time.Hour}
		inner := newAgent(t, "inner", conf,
			adktest.NewModel(t, adktest.Calls(adktest.Call("t", "{}")), adktest.Says("inner done")),
			[]tool.BaseTool{adktest.NewTool("t", adktest.Blocks(), adktest.Says("ok"))})
		outer := newAgent(t, "outer", conf, adktest.NewModel(t, adktest.Calls(adktest.Call("inner", `{"request":"x"}`)),
			adktest.Says("done").SeeingLast("tool inner#call_1: inner done")),
			[]tool.BaseTool{adk.NewAgentTool(t.Context(), inner)})
		runner := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: outer, CheckPointStore: adktest.NewStore()})
		option, cancel := adk.WithCancel()
		events := adktest.Watch(t, runner.Query(t.Context(), "hi", option, adk.WithCheckPointID("1")))
		synctest.Wait()
		cancel(adk.WithRecursive())
		require.ErrorAs(t, events.Err(), new(*adk.CancelError))
		again, err := runner.Resume(t.Context(), "1")
		require.NoError(t, err)
		adktest.Collect(t, again).ExpectText("done")
	})
}

func TestInterruptsPass(t *testing.T) {
	ask := adktest.NewTool("ask", adktest.Does(func(ctx context.Context, _ string) (string, error) {
		if was, _, _ := tool.GetInterruptState[any](ctx); was {
			return "answered", nil
		}
		return "", tool.Interrupt(ctx, "a question")
	}))
	m := adktest.NewModel(t, adktest.Calls(adktest.Call("ask", "{}")),
		adktest.Says("done").SeeingLast("tool ask#call_1: answered"))
	runner := adk.NewRunner(t.Context(),
		adk.RunnerConfig{Agent: newAgent(t, "a", second, m, []tool.BaseTool{ask}), CheckPointStore: adktest.NewStore()})
	events := adktest.Collect(t, runner.Query(t.Context(), "hi", adk.WithCheckPointID("1"))).All()
	require.Equal(t, "a question", events[len(events)-1].Action.Interrupted.InterruptContexts[0].Info)
	again, err := runner.Resume(t.Context(), "1")
	require.NoError(t, err)
	adktest.Collect(t, again).ExpectText("done")
}

func TestPanicsAndGoexitAreErrors(t *testing.T) {
	for want, reply := range map[string]adktest.Answer{
		"oh":             adktest.Panics("oh"),
		"runtime.Goexit": adktest.Does(func(context.Context, string) (string, error) { runtime.Goexit(); return "", nil }),
	} {
		for kind, tl := range messagetest.EveryTool(reply) {
			t.Run(want+"/"+kind, func(t *testing.T) {
				m := adktest.NewModel(t, adktest.Calls(adktest.Call("t", "{}")))
				require.ErrorContains(t, adktest.Ask(t.Context(), t, newAgent(t, "a", second, m, []tool.BaseTool{tl}), "hi").Err(),
					want)
			})
		}
	}
}

// TestLateStreamsAreClosed: the producer of a stream that comes too late learns that the stream is closed.
func TestLateStreamsAreClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler, err := tooltimeout.New(t.Context(), second)
		require.NoError(t, err)
		r, w := schema.Pipe[string](1)
		call, err := handler.WrapStreamableToolCall(t.Context(),
			func(context.Context, string, ...tool.Option) (*schema.StreamReader[string], error) {
				time.Sleep(time.Minute)
				return r, nil
			}, &adk.ToolContext{Name: "t"})
		require.NoError(t, err)
		_, err = call(t.Context(), "{}")
		require.ErrorAs(t, err, new(*tooltimeout.Error))
		time.Sleep(2 * time.Minute)
		require.True(t, w.Send("x", nil), "closed")
	})
}

func TestNew_Refuses(t *testing.T) {
	for want, conf := range map[string]*tooltimeout.Config{
		"config must not be nil":                             nil,
		"set Timeout":                                        {},
		"set Timeout to how":                                 {Timeout: -1},
		"the time of tool 'a' must not be negative":          {Timeout: 1, Of: map[string]time.Duration{"a": -1}},
		"set Timeout to how long a call may take, or Of for": {Of: map[string]time.Duration{"a": 0}},
	} {
		_, err := tooltimeout.New(t.Context(), conf)
		require.ErrorContains(t, err, "tooltimeout: ")
		require.ErrorContains(t, err, want)
	}
}
