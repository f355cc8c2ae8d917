package callbacks

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/components/document"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/prompt"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func infoOf(kind components.Component) *callbacks.RunInfo {
	return &callbacks.RunInfo{Component: kind}
}

// fireAll calls every method directly, whatever Needed says.
func fireAll(h callbacks.Handler, info *callbacks.RunInfo, in callbacks.CallbackInput, out callbacks.CallbackOutput) {
	ctx := context.Background()
	h.OnStart(ctx, info, in)
	h.OnEnd(ctx, info, out)
	h.OnError(ctx, info, errors.New("x"))
	h.OnStartWithStreamInput(ctx, info, schema.StreamReaderFromArray([]callbacks.CallbackInput{in}))
	h.OnEndWithStreamOutput(ctx, info, schema.StreamReaderFromArray([]callbacks.CallbackOutput{out}))
}

// Rules components/H6, components/B13.2.1.
func TestHelper_EveryKindGetsItsPayloads(t *testing.T) {
	calls := map[string]int{}
	seen := func(name string, ok bool) {
		require.True(t, ok, name)
		calls[name]++
	}
	h := NewHandlerHelper().
		Prompt(&PromptCallbackHandler{
			OnStart: func(ctx context.Context, _ *callbacks.RunInfo, in *prompt.CallbackInput) context.Context {
				seen("prompt", in.Variables["k"] == 1)
				return ctx
			},
			OnError: func(ctx context.Context, _ *callbacks.RunInfo, err error) context.Context {
				seen("prompt", err != nil)
				return ctx
			},
		}).
		ChatModel(&ModelCallbackHandler{
			OnEnd: func(ctx context.Context, _ *callbacks.RunInfo, out *model.CallbackOutput) context.Context {
				seen("model", out.Message.Content == "hi")
				return ctx
			},
			OnEndWithStreamOutput: func(ctx context.Context, _ *callbacks.RunInfo,
				out *schema.StreamReader[*model.CallbackOutput],
			) context.Context {
				chunk, err := out.Recv()
				seen("model", err == nil && chunk.Message.Content == "hi")
				out.Close()
				return ctx
			},
		}).
		Loader(&LoaderCallbackHandler{
			OnStart: func(ctx context.Context, _ *callbacks.RunInfo, in *document.LoaderCallbackInput) context.Context {
				seen("loader", in.Source.URI == "u")
				return ctx
			},
		}).
		Tool(&ToolCallbackHandler{
			OnEnd: func(ctx context.Context, _ *callbacks.RunInfo, out *tool.CallbackOutput) context.Context {
				seen("tool", out.Response == "r")
				return ctx
			},
		}).
		Agent(&AgentCallbackHandler{
			OnStart: func(ctx context.Context, _ *callbacks.RunInfo, in *adk.AgentCallbackInput) context.Context {
				seen("agent", in.Input.EnableStreaming)
				return ctx
			},
		}).
		AgenticPrompt(&AgenticPromptCallbackHandler{
			OnStart: func(ctx context.Context, _ *callbacks.RunInfo, in *prompt.CallbackInput) context.Context {
				seen("agentic prompt", in.Variables["k"] == 2)
				return ctx
			},
			OnAgenticEnd: func(ctx context.Context, _ *callbacks.RunInfo, out *prompt.AgenticCallbackOutput) context.Context {
				seen("agentic prompt", len(out.Result) == 1)
				return ctx
			},
		}).Handler()

	fireAll(h, infoOf(components.ComponentOfPrompt), map[string]any{"k": 1}, []*schema.Message{})
	fireAll(h, infoOf(components.ComponentOfChatModel), []*schema.Message{}, schema.AssistantMessage("hi", nil))
	fireAll(h, infoOf(components.ComponentOfLoader), document.Source{URI: "u"}, []*schema.Document{})
	fireAll(h, infoOf(components.ComponentOfTool), "{}", "r")
	fireAll(h, infoOf(adk.ComponentOfAgent), &adk.AgentCallbackInput{Input: &adk.AgentInput{EnableStreaming: true}},
		&adk.AgentCallbackOutput{})
	fireAll(h, infoOf(components.ComponentOfAgenticPrompt),
		&prompt.AgenticCallbackInput{Variables: map[string]any{"k": 2}},
		[]*schema.AgenticMessage{schema.UserAgenticMessage("x")})
	require.Equal(t, map[string]int{"prompt": 2, "model": 2, "loader": 1, "tool": 1, "agent": 1, "agentic prompt": 2},
		calls)
}

// Rule components/H5.
func TestHelper_UnexpectedPayloadsAreNil(t *testing.T) {
	nils := 0
	h := NewHandlerHelper().ToolsNode(&ToolsNodeCallbackHandlers{
		OnStart: func(ctx context.Context, _ *callbacks.RunInfo, in *schema.Message) context.Context {
			if in == nil {
				nils++
			}
			return ctx
		},
		OnEndWithStreamOutput: func(ctx context.Context, _ *callbacks.RunInfo,
			out *schema.StreamReader[[]*schema.Message],
		) context.Context {
			defer out.Close()
			if chunk, err := out.Recv(); err == nil && chunk == nil {
				nils++
			}
			return ctx
		},
	}).Handler()
	fireAll(h, infoOf(compose.ComponentOfToolsNode), "not a message", 7)
	require.Equal(t, 2, nils)
}

// Rules components/H1, components/H2, components/H3.
func TestHelper_NeedsWhatItsSlotsNeed(t *testing.T) {
	helper := NewHandlerHelper()
	checker := helper.Handler().(callbacks.TimingChecker)
	ctx := context.Background()
	agentic := infoOf(components.ComponentOfAgenticModel)
	require.False(t, checker.Needed(ctx, nil, callbacks.TimingOnStart))
	require.False(t, checker.Needed(ctx, agentic, callbacks.TimingOnStart))

	helper.AgenticModel(&AgenticModelCallbackHandler{
		OnStart: func(ctx context.Context, _ *callbacks.RunInfo, _ *model.AgenticCallbackInput) context.Context {
			return ctx
		},
	})
	require.True(t, checker.Needed(ctx, agentic, callbacks.TimingOnStart), "the handler is a live view")
	require.False(t, checker.Needed(ctx, agentic, callbacks.TimingOnEnd))
	require.False(t, checker.Needed(ctx, agentic, callbacks.TimingOnStartWithStreamInput))
	require.False(t, checker.Needed(ctx, infoOf("Custom"), callbacks.TimingOnStart))

	helper.AgenticModel(nil)
	require.False(t, checker.Needed(ctx, agentic, callbacks.TimingOnStart))

	helper.Graph(callbacks.NewHandlerBuilder().OnEndFn(func(
		ctx context.Context, _ *callbacks.RunInfo, _ callbacks.CallbackOutput,
	) context.Context {
		return ctx
	}).Build())
	require.True(t, checker.Needed(ctx, infoOf(compose.ComponentOfGraph), callbacks.TimingOnEnd))
	require.False(t, checker.Needed(ctx, infoOf(compose.ComponentOfGraph), callbacks.TimingOnStart))
	require.False(t, (*ModelCallbackHandler)(nil).Needed(ctx, agentic, callbacks.TimingOnStart))
}

// What is set is needed, and a stream input never is, whatever the kind.
// Rule components/H4.
func TestHelper_TypedHandlersNeedWhatIsSet(t *testing.T) {
	type needs interface {
		Needed(ctx context.Context, info *callbacks.RunInfo, timing callbacks.CallbackTiming) bool
	}
	timings := map[string]callbacks.CallbackTiming{
		"OnStart": callbacks.TimingOnStart, "OnEnd": callbacks.TimingOnEnd, "OnError": callbacks.TimingOnError,
		"OnStartWithStreamInput": callbacks.TimingOnStartWithStreamInput,
		"OnEndWithStreamOutput":  callbacks.TimingOnEndWithStreamOutput,
	}
	for _, h := range []needs{
		&PromptCallbackHandler{}, &ModelCallbackHandler{}, &EmbeddingCallbackHandler{}, &IndexerCallbackHandler{},
		&RetrieverCallbackHandler{},
		&LoaderCallbackHandler{}, &TransformerCallbackHandler{}, &ToolCallbackHandler{}, &ToolsNodeCallbackHandlers{},
		&AgenticPromptCallbackHandler{},
		&AgenticModelCallbackHandler{}, &AgenticToolsNodeCallbackHandlers{}, &AgentCallbackHandler{},
		&AgenticAgentCallbackHandler{},
	} {
		v := reflect.ValueOf(h).Elem()
		require.Positive(t, v.NumField())
		for i := range v.NumField() {
			f := v.Field(i)
			f.Set(reflect.MakeFunc(f.Type(), func(args []reflect.Value) []reflect.Value { return args[:1] }))
			set := strings.Replace(v.Type().Field(i).Name, "Agentic", "", 1) // OnAgenticStart is for the same moment as OnStart
			for name, timing := range timings {
				require.Equal(t, name == set, h.Needed(context.Background(), infoOf("any"), timing), "%T with %s: %s", h, set, name)
			}
			f.SetZero()
		}
	}
}

// Setting a slot again replaces what was in it.
// Rule components/H7.
func TestHelper_TheLastSetterCounts(t *testing.T) {
	var calls []string
	says := func(what string) *ToolCallbackHandler {
		return &ToolCallbackHandler{OnStart: func(
			ctx context.Context, _ *callbacks.RunInfo, _ *tool.CallbackInput,
		) context.Context {
			calls = append(calls, what)
			return ctx
		}}
	}
	helper := NewHandlerHelper().Tool(says("first")).Tool(says("second"))
	fireAll(helper.Handler(), infoOf(components.ComponentOfTool), "{}", "r")
	require.Equal(t, []string{"second"}, calls)
	seed := &AgenticCallbackHandler{OnStart: func(
		ctx context.Context, _ *callbacks.RunInfo, _ *adk.AgenticCallbackInput,
	) context.Context {
		calls = append(calls, "seed")
		return ctx
	}}
	helper.AgenticAgent(&AgenticAgentCallbackHandler{}).Agentic(seed) // two names of one slot
	fireAll(helper.Handler(), infoOf(adk.ComponentOfAgenticAgent), &adk.AgenticCallbackInput{},
		&adk.AgenticCallbackOutput{})
	require.Equal(t, []string{"second", "seed"}, calls)
}

// Rules components/B13.2.2, components/B13.2.3.
func TestHelper_UnsetSlotsReturnTheContextAndCloseStreams(t *testing.T) {
	h := NewHandlerHelper().ChatModel(&ModelCallbackHandler{}).Handler()
	type key struct{}
	ctx := context.WithValue(context.Background(), key{}, 1)
	for _, info := range []*callbacks.RunInfo{nil, infoOf("Custom"), infoOf(components.ComponentOfChatModel)} {
		require.Equal(t, ctx, h.OnStart(ctx, info, nil))
		require.Equal(t, ctx, h.OnEnd(ctx, info, nil))
		require.Equal(t, ctx, h.OnError(ctx, info, nil))
		in, inWriter := schema.Pipe[callbacks.CallbackInput](1)
		require.Equal(t, ctx, h.OnStartWithStreamInput(ctx, info, in))
		require.True(t, inWriter.Send(nil, nil), "the stream was not closed")
		out, outWriter := schema.Pipe[callbacks.CallbackOutput](1)
		require.Equal(t, ctx, h.OnEndWithStreamOutput(ctx, info, out))
		require.True(t, outWriter.Send(nil, nil), "the stream was not closed")
	}
}

// Rule components/B13.2.5.
func TestHelper_SettersMayRunBesideRuns(t *testing.T) {
	helper := NewHandlerHelper()
	h := helper.Handler()
	var wg sync.WaitGroup
	wg.Go(func() {
		for range 1000 {
			helper.Tool(&ToolCallbackHandler{OnStart: func(
				ctx context.Context, _ *callbacks.RunInfo, _ *tool.CallbackInput,
			) context.Context {
				return ctx
			}})
		}
	})
	wg.Go(func() {
		for range 1000 {
			h.OnStart(context.Background(), infoOf(components.ComponentOfTool), "{}")
		}
	})
	wg.Wait()
}

// In a graph the helper gets real payloads, and every kind its own.
// A workflow has a slot of its own, in a real run and until it is taken away.
// Rule components/B13.2.4.
func TestHelper_HasASlotForWorkflows(t *testing.T) {
	var calls []components.Component
	note := func(_ context.Context, info *callbacks.RunInfo) { calls = append(calls, info.Component) }
	helper := NewHandlerHelper().Workflow(callbacks.NewHandlerBuilder().
		OnStartFn(func(ctx context.Context, info *callbacks.RunInfo, _ callbacks.CallbackInput) context.Context {
			note(ctx, info)
			return ctx
		}).
		OnEndFn(func(ctx context.Context, info *callbacks.RunInfo, _ callbacks.CallbackOutput) context.Context {
			note(ctx, info)
			return ctx
		}).Build())
	wf := compose.NewWorkflow[string, string]()
	wf.AddLambdaNode("n",
		compose.InvokableLambda(func(_ context.Context, in string) (string, error) {
			return in, nil
		})).AddInput(compose.START)
	wf.End().AddInput("n")
	r, err := wf.Compile(context.Background())
	require.NoError(t, err)
	_, err = r.Invoke(context.Background(), "x", compose.WithCallbacks(helper.Handler()))
	require.NoError(t, err)
	require.Equal(t, []components.Component{compose.ComponentOfWorkflow, compose.ComponentOfWorkflow}, calls)
	helper.Workflow(nil)
	_, err = r.Invoke(context.Background(), "x", compose.WithCallbacks(helper.Handler()))
	require.NoError(t, err)
	require.Len(t, calls, 2)
}

func TestHelper_InAGraph(t *testing.T) {
	var kinds []components.Component
	note := func(ctx context.Context, info *callbacks.RunInfo, _ callbacks.CallbackInput) context.Context {
		kinds = append(kinds, info.Component)
		return ctx
	}
	start := callbacks.NewHandlerBuilder().OnStartFn(note).Build()
	h := NewHandlerHelper().Chain(start).Lambda(start).Handler()
	chain := compose.NewChain[string, string]()
	chain.AppendLambda(compose.InvokableLambda(func(_ context.Context, in string) (string, error) { return in, nil }))
	r, err := chain.Compile(context.Background())
	require.NoError(t, err)
	_, err = r.Invoke(context.Background(), "x", compose.WithCallbacks(h))
	require.NoError(t, err)
	require.Equal(t, []components.Component{compose.ComponentOfChain, compose.ComponentOfLambda}, kinds)
}
