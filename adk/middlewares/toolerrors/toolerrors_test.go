package toolerrors_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/filesystem"
	mwfilesystem "github.com/weftgo/weft/adk/middlewares/filesystem"
	"github.com/weftgo/weft/adk/middlewares/internal/messagetest"
	"github.com/weftgo/weft/adk/middlewares/toolerrors"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

var errBoom = errors.New("boom")

// newAgent makes an agent with the middleware.
func newAgent[M adk.MessageType](
	t *testing.T, name string, conf *toolerrors.Config, m *adktest.Model[M], tools ...tool.BaseTool,
) adk.TypedAgent[M] {
	t.Helper()
	handler, err := toolerrors.NewTyped[M](t.Context(), conf)
	require.NoError(t, err)
	agent, err := adk.NewTypedChatModelAgent(t.Context(),
		&adk.TypedChatModelAgentConfig[M]{Name: name, Description: "test", Model: m,
			ToolsConfig: adktest.Tools(tools...), Handlers: []adk.TypedChatModelAgentMiddleware[M]{handler}})
	require.NoError(t, err)
	return agent
}

func TestErrorsAreRead(t *testing.T) {
	messagetest.Both(t, testErrorsAreRead[*schema.Message], testErrorsAreRead[*schema.AgenticMessage])
}

func testErrorsAreRead[M adk.MessageType](t *testing.T) {
	for name, ask := range map[string]func(
		context.Context, adktest.TB, adk.TypedAgent[M], string, ...adk.AgentRunOption,
	) *adktest.Events[M]{
		"whole": adktest.Ask[M], "streaming": adktest.AskStreaming[M],
	} {
		for kind, tl := range messagetest.EveryTool(adktest.Fails(errBoom), adktest.Says("ok")) {
			t.Run(name+"/"+kind, func(t *testing.T) {
				m := adktest.NewTypedModel[M](t, adktest.Calls(adktest.Call("t", "{}")),
					adktest.Calls(adktest.Call("t", "{}")).SeeingLast("tool t#call_1: The call of the tool failed: boom"),
					adktest.Says("done").SeeingLast("tool t#call_2: ok"))
				ask(t.Context(), t, newAgent(t, "a", nil, m, tl), "hi").ExpectText("done")
			})
		}
	}
}

func TestErrorsInsideStreams(t *testing.T) {
	for _, kind := range []string{"stream", "enhanced stream"} {
		for name, c := range map[string]struct {
			script adktest.Answer
			want   string
		}{
			"after text": {adktest.Streams("one ", "two").ThenFails(errBoom), "one two\nThe call of the tool failed: boom"},
			"at once":    {adktest.Streams().ThenFails(errBoom), "The call of the tool failed: boom"},
			"none":       {adktest.Streams("one ", "two"), "one two"},
		} {
			t.Run(kind+"/"+name, func(t *testing.T) {
				m := adktest.NewModel(t, adktest.Calls(adktest.Call("t", "{}")),
					adktest.Says("done").SeeingLast("tool t#call_1: "+c.want))
				adktest.AskStreaming(t.Context(), t, newAgent(t, "a", nil, m, messagetest.EveryTool(c.script)[kind]),
					"hi").ExpectText("done")
			})
		}
	}
}

// TestErrorsInsideStreams_EndThem: a producer that sends after an error learns that the stream is closed.
func TestErrorsInsideStreams_EndThem(t *testing.T) {
	handler, err := toolerrors.New(t.Context(), nil)
	require.NoError(t, err)
	r, w := schema.Pipe[string](5)
	e, err := handler.WrapStreamableToolCall(t.Context(),
		func(context.Context, string, ...tool.Option) (*schema.StreamReader[string], error) {
			w.Send("a", nil)
			w.Send("", errBoom)
			w.Send("never seen", nil)
			return r, nil // and w is never closed
		}, &adk.ToolContext{Name: "t"})
	require.NoError(t, err)
	s, err := e(t.Context(), "{}")
	require.NoError(t, err)
	var got []string
	for chunk, err := range s.All() {
		require.NoError(t, err)
		got = append(got, chunk)
	}
	require.Equal(t, []string{"a", "\nThe call of the tool failed: boom"}, got)
	require.True(t, w.Send("more", nil), "closed")
}

func TestTell(t *testing.T) {
	for kind, tl := range messagetest.EveryTool(adktest.Fails(errBoom), adktest.Streams("a").ThenFails(errBoom)) {
		t.Run(kind, func(t *testing.T) {
			for range 2 {
				var seen *adk.ToolContext
				conf := &toolerrors.Config{Tell: func(_ context.Context, call *adk.ToolContext, err error) (string, bool) {
					require.ErrorIs(t, err, errBoom)
					seen = call
					return "not used", false
				}}
				m := adktest.NewModel(t, adktest.Calls(adktest.Call("t", "{}")))
				adktest.AskStreaming(t.Context(), t, newAgent(t, "a", conf, m, tl), "hi").ExpectError(errBoom)
				require.Equal(t, &adk.ToolContext{Name: "t", CallID: "call_1"}, seen)
			}
		})
	}
}

// never fails the test if it is asked about an error.
func never(t *testing.T) *toolerrors.Config {
	return &toolerrors.Config{Tell: func(_ context.Context, _ *adk.ToolContext, err error) (string, bool) {
		t.Errorf("asked about %v", err)
		return "reported", true
	}}
}

func TestInterruptsPass(t *testing.T) {
	inner := newAgent(t, "a", never(t),
		adktest.NewModel(t, adktest.Calls(adktest.Call("ask", "{}")), adktest.Says("inner done")),
		adktest.NewTool("ask", adktest.Does(func(ctx context.Context, _ string) (string, error) {
			if was, _, _ := tool.GetInterruptState[any](ctx); was {
				return "answered", nil
			}
			return "", tool.Interrupt(ctx, "a question")
		})))
	outer := newAgent(t, "outer", never(t),
		adktest.NewModel(t, adktest.Calls(adktest.Call("a", `{"request":"x"}`)), adktest.Says("done")),
		adk.NewAgentTool(t.Context(), inner))
	runner := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: outer, CheckPointStore: adktest.NewStore()})
	events := adktest.Collect(t, runner.Query(t.Context(), "hi", adk.WithCheckPointID("1"))).All()
	require.Equal(t, "a question", events[len(events)-1].Action.Interrupted.InterruptContexts[0].Info)
	again, err := runner.Resume(t.Context(), "1")
	require.NoError(t, err)
	adktest.Collect(t, again).ExpectText("done")
}

func TestCancelAndContextPass(t *testing.T) {
	for kind := range messagetest.EveryTool() {
		for name, blocked := range map[string]adktest.Answer{"call": adktest.Blocks(),
			"stream": adktest.Streams("a").ThenBlocks()} {
			t.Run(kind+"/"+name+"/cancel", func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					agent := newAgent(t, "a", never(t), adktest.NewModel(t, adktest.Calls(adktest.Call("t", "{}"))),
						messagetest.EveryTool(blocked)[kind])
					option, cancel := adk.WithCancel()
					runner := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent, EnableStreaming: true})
					events := adktest.Watch(t, runner.Query(t.Context(), "hi", option))
					synctest.Wait()
					cancel()
					require.ErrorAs(t, events.Err(), new(*adk.CancelError))
				})
			})
			t.Run(kind+"/"+name+"/context", func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					defer cancel()
					agent := newAgent(t, "a", never(t), adktest.NewModel(t, adktest.Calls(adktest.Call("t", "{}"))),
						messagetest.EveryTool(blocked)[kind])
					adktest.AskStreaming(ctx, t, agent, "hi").ExpectError(context.DeadlineExceeded)
				})
			})
		}
	}
}

func TestStreamsThatWereCutOffPass(t *testing.T) {
	m := adktest.NewModel(t, adktest.Calls(adktest.Call("t", "{}")))
	adktest.Ask(t.Context(), t, newAgent(t, "a", never(t), m, adktest.NewTool("t", adktest.Fails(adk.ErrStreamCanceled))),
		"hi").
		ExpectError(adk.ErrStreamCanceled)
	cancelled := &adk.CancelError{Info: &adk.AgentCancelInfo{}}
	m = adktest.NewModel(t, adktest.Calls(adktest.Call("t", "{}")))
	adktest.Ask(t.Context(), t, newAgent(t, "a", never(t), m, adktest.NewTool("t", adktest.Fails(cancelled))),
		"hi").ExpectError(cancelled)
}

func TestTimeoutOfTheToolItself(t *testing.T) {
	slow := adktest.NewTool("t", adktest.Does(func(ctx context.Context, _ string) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, 0)
		defer cancel()
		return "", ctx.Err()
	}))
	m := adktest.NewModel(t, adktest.Calls(adktest.Call("t", "{}")),
		adktest.Says("done").SeeingLast("tool t#call_1: The call of the tool failed: context deadline exceeded"))
	adktest.Ask(t.Context(), t, newAgent(t, "a", nil, m, slow), "hi").ExpectText("done")
}

func TestWithFilesAndBadArguments(t *testing.T) {
	files, err := mwfilesystem.New(t.Context(), &mwfilesystem.MiddlewareConfig{Backend: filesystem.NewInMemoryBackend()})
	require.NoError(t, err)
	forModel, err := toolerrors.New(t.Context(), nil)
	require.NoError(t, err)
	m := adktest.NewModel(t, adktest.Calls(adktest.Call("read_file", `{"file_path":"/none"}`)),
		adktest.Calls(adktest.Call("edit_file", `{"file_path":`)).
			SeeingLast("tool read_file#call_1: The call of the tool failed: file not found: /none"),
		adktest.Says("sorry"))
	agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "a", Model: m,
		Handlers: []adk.ChatModelAgentMiddleware{files, forModel}})
	require.NoError(t, err)
	adktest.Ask(t.Context(), t, agent, "hi").ExpectText("sorry")
	history := m.Calls()[2].Messages
	require.Contains(t, history[len(history)-1].Content, "The call of the tool failed: ", "arguments that are no JSON")
}

func TestPanicsPass(t *testing.T) {
	m := adktest.NewModel(t, adktest.Calls(adktest.Call("t", "{}")))
	err := adktest.Ask(t.Context(), t, newAgent(t, "a", never(t), m, adktest.NewTool("t", adktest.Panics("oh"))),
		"hi").Err()
	require.ErrorContains(t, err, "oh")
}

func TestLanguage_Chinese(t *testing.T) {
	require.NoError(t, adk.SetLanguage(adk.LanguageChinese))
	t.Cleanup(func() { require.NoError(t, adk.SetLanguage(adk.LanguageEnglish)) })
	m := adktest.NewModel(t, adktest.Calls(adktest.Call("t", "{}")),
		adktest.Says("done").SeeingLast("tool t#call_1: 工具调用失败：boom"))
	adktest.Ask(t.Context(), t, newAgent(t, "a", nil, m, adktest.NewTool("t", adktest.Fails(errBoom))),
		"hi").ExpectText("done")
}

// Of a mistake of the model the model reads what it has to mend, and nothing of the way there.
func TestText_OfAMistake(t *testing.T) {
	h, err := toolerrors.New(t.Context(), nil)
	require.NoError(t, err)
	mistake := &adk.ModelMistake{Text: "size is required", Err: errors.New("[LocalFunc] failed")}
	for want, err := range map[string]error{
		"The call of the tool failed: size is required":           mistake,
		"The call of the tool failed: inside: [LocalFunc] failed": fmt.Errorf("inside: %w", mistake),
	} {
		call, wrapErr := h.WrapInvokableToolCall(t.Context(),
			func(context.Context, string, ...tool.Option) (string, error) { return "", err }, &adk.ToolContext{})
		require.NoError(t, wrapErr)
		got, err := call(t.Context(), "{}")
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}
