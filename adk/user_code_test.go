package adk

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// The code of users may do anything: panic, fail, return nothing, or wait until the run's context ends. This matrix
// holds these deeds against every spot of an agent where such code is called.

// deed is something that user code does.
type deed func(ctx context.Context) error

// deeds are tested at all spots. The keys say what they do.
var deeds = map[string]deed{
	"panics":        func(context.Context) error { panic(errBroken) },
	"fails":         func(context.Context) error { return errBroken },
	"gives nothing": func(context.Context) error { return nil },
	"blocks":        func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
}

// spot is a place in an agent where user code is called. The agent's model calls the tool "bad" and then answers.
type spot[M MessageType] struct {
	grow func(c *TypedChatModelAgentConfig[M], do deed)
	// names are the names that an error must have in addition to the agent's.
	names []string
	// mute: the code there cannot return an error.
	mute bool
	// nothing is the text of the error if the code returns nothing; "" if that is as good as anything.
	nothing string
	options func(do deed) []AgentRunOption
	// path says on which paths the spot is reached; nil means all.
	path func(streaming bool) bool
	// resumed: the spot is in a resumed run.
	resumed bool
	// waitedFor: an immediate cancel does not reach the code, which runs before the run.
	waitedFor bool
}

// TestUserCode_EverySpotEveryDeed: the run ends with one error that names the code that caused it, and leaves nothing
// running.
func TestUserCode_EverySpotEveryDeed(t *testing.T) {
	matrix(t, testUserCode[ordinary], testUserCode[agentic])
}

func testUserCode[M MessageType](t *testing.T, streaming bool) {
	for where, s := range spots[M]() {
		if s.path != nil && !s.path(streaming) {
			continue
		}
		for what, do := range deeds {
			for _, eager := range []bool{false, true}[:map[bool]int{false: 1, true: 2}[streaming]] {
				t.Run(strings.Join([]string{where, what, map[bool]string{true: "eager"}[eager]}, "/"), func(t *testing.T) {
					// Whatever the run would leave in the bubble fails the test: the context does not end by itself.
					synctest.Test(t, func(t *testing.T) { s.check(t, what, do, streaming, eager) })
				})
			}
		}
	}
}

// check runs an agent with the deed at the spot.
func (s *spot[M]) check(t *testing.T, what string, do deed, streaming, eager bool) {
	d := dialectOf[M]()
	c := &TypedChatModelAgentConfig[M]{Name: "tester",
		Model: says(d.answer("", wanted{"bad", "c1", object}), d.answer("done"))}
	c.ToolsConfig.Tools = []tool.BaseTool{echo("bad")}
	c.ToolsConfig.EagerExecution = eager
	did := 0
	s.grow(c, func(ctx context.Context) error { did++; return do(ctx) })
	a, err := NewTypedChatModelAgent(context.Background(), c)
	require.NoError(t, err)
	ctx := context.Background()
	if what == "blocks" {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Minute)
		defer cancel()
	}
	var opts []AgentRunOption
	if s.options != nil {
		opts = s.options(do)
	}
	all := s.run(ctx, t, a, streaming, opts)
	if s.options == nil {
		require.NotZero(t, did, "the spot was not reached: %v", linesOf(all))
	}
	switch {
	case what == "gives nothing" || what == "fails" && s.mute:
		if s.nothing == "" {
			require.NoError(t, all[len(all)-1].Err)
			return
		}
		require.ErrorContains(t, endError(t, all), s.nothing)
	case what == "blocks":
		require.ErrorIs(t, endError(t, all), context.DeadlineExceeded)
	default:
		require.ErrorIs(t, endError(t, all), errBroken)
		s.checkNames(t, endError(t, all), s.names...)
	}
	s.checkNames(t, endError(t, all), "tester")
}

// checkNames looks for names in what an error says.
func (s *spot[M]) checkNames(t *testing.T, err error, names ...string) {
	t.Helper()
	for _, name := range names {
		require.ErrorContains(t, err, name)
	}
}

func (s *spot[M]) run(ctx context.Context, t *testing.T, a *TypedChatModelAgent[M], streaming bool,
	opts []AgentRunOption,
) []observed[M] {
	if !s.resumed {
		return readPast(t, bare(ctx, a, streaming, opts...))
	}
	first := read(t, bare(context.Background(), a, streaming))
	return readPast(t, continueFrom(ctx, t, a, first, streaming, opts...))
}

// readPast is read for events whose streams may hold anything.
func readPast[M MessageType](t *testing.T, it *AsyncIterator[*TypedAgentEvent[M]]) (all []observed[M]) {
	for e := range it.All() {
		if e.Output != nil && e.Output.MessageOutput != nil && e.Output.MessageOutput.MessageStream != nil {
			for _, err := range e.Output.MessageOutput.MessageStream.All() {
				if err != nil {
					break
				}
			}
			e.Output.MessageOutput.IsStreaming, e.Output.MessageOutput.MessageStream = false, nil
		}
		all = append(all, readOne(t, e))
	}
	require.NotEmpty(t, all)
	return all
}

func spots[M MessageType]() map[string]*spot[M] {
	all := map[string]*spot[M]{}
	for _, some := range []map[string]*spot[M]{hookSpots[M](), wrapSpots[M](), structSpots[M](), modelSpots[M](),
		judgeSpots[M](), toolSpots[M](), nodeSpots[M]()} {
		for name, s := range some {
			all[name] = s
		}
	}
	return all
}

// hookSpots are the hooks of a middleware around the run and its turns.
func hookSpots[M MessageType]() map[string]*spot[M] {
	hook := func(name string, h func(do deed) *hooked[M]) *spot[M] {
		return &spot[M]{names: []string{"handler[0]", name + " failed"},
			grow: func(c *TypedChatModelAgentConfig[M], do deed) {
				c.Handlers = append(c.Handlers, h(do))
			}}
	}
	type state = *TypedChatModelAgentState[M]
	return map[string]*spot[M]{
		"BeforeAgent": hook("BeforeAgent", func(do deed) *hooked[M] {
			return &hooked[M]{beforeAgent: func(
				ctx context.Context, _ *ChatModelAgentContext,
			) (context.Context, *ChatModelAgentContext, error) {
				return nil, nil, do(ctx)
			}}
		}),
		"BeforeModelRewriteState": hook("BeforeModelRewriteState", func(do deed) *hooked[M] {
			return &hooked[M]{beforeModel: func(
				ctx context.Context, _ state, _ *TypedModelContext[M],
			) (context.Context, state, error) {
				return nil, nil, do(ctx)
			}}
		}),
		"AfterModelRewriteState": hook("AfterModelRewriteState", func(do deed) *hooked[M] {
			return &hooked[M]{afterModel: func(
				ctx context.Context, _ state, _ *TypedModelContext[M],
			) (context.Context, state, error) {
				return nil, nil, do(ctx)
			}}
		}),
		"AfterToolCallsRewriteState": hook("AfterToolCallsRewriteState", func(do deed) *hooked[M] {
			return &hooked[M]{afterToolCalls: func(
				ctx context.Context, _ state, _ *ToolCallsContext,
			) (context.Context, state, error) {
				return nil, nil, do(ctx)
			}}
		}),
		"BeforeFinalAnswer": hook("BeforeFinalAnswer", func(do deed) *hooked[M] {
			return &hooked[M]{finalAnswer: func(
				ctx context.Context, _ state,
			) (context.Context, FinalAnswerDecision, state, error) {
				return nil, AcceptFinalAnswer, nil, do(ctx)
			}}
		}),
		"AfterAgent": hook("AfterAgent", func(do deed) *hooked[M] {
			return &hooked[M]{afterAgent: func(ctx context.Context, _ state) (context.Context, error) { return nil, do(ctx) }}
		}),
		"WrapModel": hook("WrapModel", func(do deed) *hooked[M] {
			return &hooked[M]{wrapModel: func(
				ctx context.Context, _ model.BaseModel[M], _ *TypedModelContext[M],
			) (model.BaseModel[M], error) {
				return nil, do(ctx)
			}}
		}),
		"BeforeModelRewriteHistory": {names: []string{"handler[0]", "BeforeModelRewriteHistory failed"},
			grow: func(c *TypedChatModelAgentConfig[M], do deed) {
				c.Handlers = append(c.Handlers, &earlyHooks[M]{before: do})
			}},
		"AfterModelRewriteHistory": {names: []string{"handler[0]", "AfterModelRewriteHistory failed"},
			grow: func(c *TypedChatModelAgentConfig[M], do deed) {
				c.Handlers = append(c.Handlers, &earlyHooks[M]{after: do})
			}},
		"WrapTool": {names: []string{"handler[0]", "WrapTool failed"}, grow: func(c *TypedChatModelAgentConfig[M], do deed) {
			c.Handlers = append(c.Handlers, &earlyHooks[M]{tool: do})
		}},
	}
}

// earlyHooks has the hooks of early versions.
type earlyHooks[M MessageType] struct {
	*TypedBaseChatModelAgentMiddleware[M]
	before, after, tool deed
}

func (e *earlyHooks[M]) BeforeModelRewriteHistory(ctx context.Context, _ []M) (context.Context, []M, error) {
	if e.before == nil {
		return nil, nil, nil
	}
	return nil, nil, e.before(ctx)
}

func (e *earlyHooks[M]) AfterModelRewriteHistory(ctx context.Context, _ []M) (context.Context, []M, error) {
	if e.after == nil {
		return nil, nil, nil
	}
	return nil, nil, e.after(ctx)
}

func (e *earlyHooks[M]) WrapTool(ctx context.Context, _ tool.BaseTool) (tool.BaseTool, error) {
	if e.tool == nil {
		return nil, nil
	}
	return nil, e.tool(ctx)
}

// callHooks has the four hooks around tool calls. The deed is done by the hook, or by what it puts around the call.
type callHooks[M MessageType] struct {
	*TypedBaseChatModelAgentMiddleware[M]
	hook, inside deed
}

func (h *callHooks[M]) WrapInvokableToolCall(
	ctx context.Context, _ InvokableToolCallEndpoint, _ *ToolContext,
) (InvokableToolCallEndpoint, error) {
	if h.hook != nil {
		return nil, h.hook(ctx)
	}
	return func(ctx context.Context, _ string, _ ...tool.Option) (string, error) { return "", h.inside(ctx) }, nil
}

func (h *callHooks[M]) WrapStreamableToolCall(
	ctx context.Context, _ StreamableToolCallEndpoint, _ *ToolContext,
) (StreamableToolCallEndpoint, error) {
	if h.hook != nil {
		return nil, h.hook(ctx)
	}
	return func(ctx context.Context, _ string, _ ...tool.Option) (*schema.StreamReader[string], error) {
		return nil, h.inside(ctx)
	}, nil
}

func (h *callHooks[M]) WrapEnhancedInvokableToolCall(
	ctx context.Context, _ EnhancedInvokableToolCallEndpoint, _ *ToolContext,
) (EnhancedInvokableToolCallEndpoint, error) {
	if h.hook != nil {
		return nil, h.hook(ctx)
	}
	return func(ctx context.Context, _ *schema.ToolArgument, _ ...tool.Option) (*schema.ToolResult, error) {
		return nil, h.inside(ctx)
	}, nil
}

func (h *callHooks[M]) WrapEnhancedStreamableToolCall(
	ctx context.Context, _ EnhancedStreamableToolCallEndpoint, _ *ToolContext,
) (EnhancedStreamableToolCallEndpoint, error) {
	if h.hook != nil {
		return nil, h.hook(ctx)
	}
	return func(ctx context.Context, _ *schema.ToolArgument,
		_ ...tool.Option,
	) (*schema.StreamReader[*schema.ToolResult], error) {
		return nil, h.inside(ctx)
	}, nil
}

// forms are tools of each kind. run is called by all of them, nothing is what the kind makes of a result that is not
// there, and stream is for the kinds that give one.
func forms(run deed) map[string]struct {
	tool    tool.BaseTool
	hook    string
	nothing string
} {
	type form = struct {
		tool    tool.BaseTool
		hook    string
		nothing string
	}
	return map[string]form{
		"invokable": {&toolFunc{"bad", func(ctx context.Context, _ string) (string, error) { return "", run(ctx) }},
			"WrapInvokableToolCall", ""},
		"streamable": {&streamToolFunc{"bad", func(ctx context.Context, _ string) (*schema.StreamReader[string], error) {
			return nil, run(ctx)
		}}, "WrapStreamableToolCall", "nil stream"},
		"enhanced invokable": {&enhancedToolFunc{"bad",
			func(ctx context.Context, _ *schema.ToolArgument) (*schema.ToolResult, error) {
				return nil, run(ctx)
			}}, "WrapEnhancedInvokableToolCall", ""},
		"enhanced streamable": {&enhancedStreamToolFunc{"bad",
			func(ctx context.Context, _ *schema.ToolArgument) (*schema.StreamReader[*schema.ToolResult], error) {
				return nil, run(ctx)
			}}, "WrapEnhancedStreamableToolCall", "nil stream"},
	}
}

// good are tools of each kind that do what they should.
func good() map[string]tool.BaseTool {
	return map[string]tool.BaseTool{
		"invokable": echo("bad"),
		"streamable": &streamToolFunc{"bad", func(context.Context, string) (*schema.StreamReader[string], error) {
			return schema.StreamReaderFromArray([]string{"fine"}), nil
		}},
		"enhanced invokable": &enhancedToolFunc{"bad",
			func(context.Context, *schema.ToolArgument) (*schema.ToolResult, error) {
				return &schema.ToolResult{}, nil
			}},
		"enhanced streamable": &enhancedStreamToolFunc{"bad",
			func(context.Context, *schema.ToolArgument) (*schema.StreamReader[*schema.ToolResult], error) {
				return schema.StreamReaderFromArray([]*schema.ToolResult{{}}), nil
			}},
	}
}

// wrapSpots are the hooks around tool calls, and what they put around them.
func wrapSpots[M MessageType]() map[string]*spot[M] {
	all := map[string]*spot[M]{}
	for kind, f := range forms(nil) {
		all[f.hook] = &spot[M]{names: []string{"handler[0]", f.hook + " failed", "bad", "c1"},
			grow: func(c *TypedChatModelAgentConfig[M], do deed) {
				c.ToolsConfig.Tools = []tool.BaseTool{good()[kind]}
				c.Handlers = append(c.Handlers, &callHooks[M]{hook: do})
			}}
		all["wrapped "+kind+" call"] = &spot[M]{names: []string{"bad", "c1"},
			nothing: strings.Replace(f.nothing, "nil stream", "neither an output nor an error", 1),
			grow: func(c *TypedChatModelAgentConfig[M], do deed) {
				c.ToolsConfig.Tools = []tool.BaseTool{good()[kind]}
				c.Handlers = append(c.Handlers, &callHooks[M]{inside: do})
			}}
	}
	return all
}

// structSpots are the functions of an AgentMiddleware.
func structSpots[M MessageType]() map[string]*spot[M] {
	all := map[string]*spot[M]{
		"WrapToolCall": {names: []string{"bad", "c1"}, nothing: "neither an output nor an error",
			grow: func(c *TypedChatModelAgentConfig[M], do deed) {
				c.Middlewares = []AgentMiddleware{{WrapToolCall: compose.ToolMiddleware{Invokable: outputOf(do)}}}
			}},
	}
	if _, ordinary := any(all).(map[string]*spot[Message]); !ordinary {
		return all
	}
	all["BeforeChatModel"] = &spot[M]{names: []string{"middleware[0]", "BeforeChatModel failed"},
		grow: func(c *TypedChatModelAgentConfig[M], do deed) {
			c.Middlewares = []AgentMiddleware{{BeforeChatModel: func(ctx context.Context, _ *ChatModelAgentState) error {
				return do(ctx)
			}}}
		}}
	all["AfterChatModel"] = &spot[M]{names: []string{"middleware[0]", "AfterChatModel failed"},
		grow: func(c *TypedChatModelAgentConfig[M], do deed) {
			c.Middlewares = []AgentMiddleware{{AfterChatModel: func(ctx context.Context, _ *ChatModelAgentState) error {
				return do(ctx)
			}}}
		}}
	return all
}

// outputOf is a tool middleware that gives no output.
func outputOf(do deed) compose.InvokableToolMiddleware {
	return func(compose.InvokableToolEndpoint) compose.InvokableToolEndpoint {
		return func(ctx context.Context, _ *compose.ToolInput) (*compose.ToolOutput, error) { return nil, do(ctx) }
	}
}

func whole(streaming bool) bool { return !streaming }

func live(streaming bool) bool { return streaming }

// modelSpots are the model, its stream, and what makes its first input.
func modelSpots[M MessageType]() map[string]*spot[M] {
	d := dialectOf[M]()
	streamOf := func(item func(ctx context.Context, chunk M) (M, error)) func(*TypedChatModelAgentConfig[M]) {
		return func(c *TypedChatModelAgentConfig[M]) {
			c.Model = &modelFunc[M]{stream: func(
				ctx context.Context, _ []M, _ ...model.Option,
			) (*schema.StreamReader[M], error) {
				return schema.StreamReaderWithConvert(schema.StreamReaderFromArray([]M{d.chunk("a"), d.chunk("b")}),
					func(chunk M) (M, error) { return item(ctx, chunk) }), nil
			}}
		}
	}
	return map[string]*spot[M]{
		"Generate": {path: whole, nothing: "neither a message nor an error",
			grow: func(c *TypedChatModelAgentConfig[M], do deed) {
				c.Model = &modelFunc[M]{generate: func(ctx context.Context, _ []M, _ ...model.Option) (M, error) {
					return d.nothing, do(ctx)
				}}
			}},
		"Stream": {path: live, nothing: "neither a stream nor an error",
			grow: func(c *TypedChatModelAgentConfig[M], do deed) {
				c.Model = &modelFunc[M]{stream: func(
					ctx context.Context, _ []M, _ ...model.Option,
				) (*schema.StreamReader[M], error) {
					return nil, do(ctx)
				}}
			}},
		"stream of the model": {path: live, nothing: "nil", grow: func(c *TypedChatModelAgentConfig[M], do deed) {
			streamOf(func(ctx context.Context, chunk M) (M, error) {
				if d.line(chunk) == "assistant: b" {
					return d.nothing, do(ctx)
				}
				return chunk, nil
			})(c)
		}},
		"GenModelInput": {names: []string{"GenModelInput"}, grow: func(c *TypedChatModelAgentConfig[M], do deed) {
			c.GenModelInput = func(ctx context.Context, _ string, _ *TypedAgentInput[M]) ([]M, error) { return nil, do(ctx) }
		}},
	}
}

// failsFirst is a model that fails on its first call.
func failsFirst[M MessageType]() *fickle[M] {
	return &fickle[M]{tries: []try[M]{breaks[M](errShaky, "a"), says1[M]("done")}}
}

// judgeSpots returns the functions that decide on the attempts of a model.
func judgeSpots[M MessageType]() map[string]*spot[M] {
	return map[string]*spot[M]{
		"ShouldRetry": {names: []string{"ShouldRetry"}, mute: true, grow: func(c *TypedChatModelAgentConfig[M], do deed) {
			c.ModelRetryConfig = &TypedModelRetryConfig[M]{MaxRetries: 1,
				ShouldRetry: func(ctx context.Context, _ *TypedRetryContext[M]) *TypedRetryDecision[M] {
					_ = do(ctx)
					return nil
				}}
		}},
		"IsRetryAble": {names: []string{"IsRetryAble"}, mute: true, nothing: errShaky.Error(),
			grow: func(c *TypedChatModelAgentConfig[M], do deed) {
				c.Model = failsFirst[M]()
				c.ModelRetryConfig = &TypedModelRetryConfig[M]{MaxRetries: 1,
					IsRetryAble: func(ctx context.Context, _ error) bool { _ = do(ctx); return false }}
			}},
		"BackoffFunc": {names: []string{"BackoffFunc"}, mute: true, grow: func(c *TypedChatModelAgentConfig[M], do deed) {
			c.Model = failsFirst[M]()
			c.ModelRetryConfig = &TypedModelRetryConfig[M]{MaxRetries: 1,
				BackoffFunc: func(ctx context.Context, _ int) time.Duration { _ = do(ctx); return 0 }}
		}},
		"ShouldFailover": {names: []string{"ShouldFailover"}, mute: true, nothing: errShaky.Error(),
			grow: func(c *TypedChatModelAgentConfig[M], do deed) {
				c.Model = failsFirst[M]()
				c.ModelFailoverConfig = &ModelFailoverConfig[M]{MaxRetries: 1,
					ShouldFailover: func(ctx context.Context, _ M, _ error) bool { _ = do(ctx); return false },
					GetFailoverModel: func(context.Context, *FailoverContext[M]) (model.BaseModel[M], []M, error) {
						return nil, nil, errors.New("not asked for")
					}}
			}},
		"GetFailoverModel": {names: []string{"GetFailoverModel"},
			nothing: "failover GetFailoverModel returned nil model at attempt 1",
			grow: func(c *TypedChatModelAgentConfig[M], do deed) {
				c.Model = failsFirst[M]()
				c.ModelFailoverConfig = &ModelFailoverConfig[M]{MaxRetries: 1,
					ShouldFailover: func(context.Context, M, error) bool { return true },
					GetFailoverModel: func(ctx context.Context, _ *FailoverContext[M]) (model.BaseModel[M], []M, error) {
						return nil, nil, do(ctx)
					}}
			}},
	}
}

// toolSpots are the tools themselves.
func toolSpots[M MessageType]() map[string]*spot[M] {
	all := map[string]*spot[M]{
		"Info": {waitedFor: true, names: []string{"tool at index 0", "Info"}, nothing: "neither an info nor an error",
			grow: func(c *TypedChatModelAgentConfig[M], do deed) {
				c.ToolsConfig.Tools = []tool.BaseTool{infoTool{echo("bad"), do}}
			}},
		"Info of the exit tool": {waitedFor: true, names: []string{"exit tool", "Info"},
			nothing: "neither an info nor an error", grow: func(c *TypedChatModelAgentConfig[M], do deed) {
				c.Exit = infoTool{echo("bad"), do}
			}},
		"exit tool": {names: []string{"bad", "c1"}, grow: func(c *TypedChatModelAgentConfig[M], do deed) {
			c.ToolsConfig.Tools = nil
			c.Exit = forms(do)["invokable"].tool
		}},
		"stream of a tool": {names: []string{"bad", "c1"}, grow: func(c *TypedChatModelAgentConfig[M], do deed) {
			c.ToolsConfig.Tools = []tool.BaseTool{&streamToolFunc{"bad",
				func(ctx context.Context, _ string) (*schema.StreamReader[string], error) {
					return schema.StreamReaderWithConvert(schema.StreamReaderFromArray([]string{"a", "b"}),
						func(s string) (string, error) {
							if s == "a" {
								return s, nil
							}
							return "", do(ctx)
						}), nil
				}}}
		}},
		"stream of an enhanced tool": {names: []string{"bad", "c1"}, grow: func(c *TypedChatModelAgentConfig[M], do deed) {
			c.ToolsConfig.Tools = []tool.BaseTool{&enhancedStreamToolFunc{"bad",
				func(ctx context.Context, _ *schema.ToolArgument) (*schema.StreamReader[*schema.ToolResult], error) {
					return schema.StreamReaderWithConvert(schema.StreamReaderFromArray([]string{"a", "b"}),
						func(s string) (*schema.ToolResult, error) {
							if s == "a" {
								return &schema.ToolResult{}, nil
							}
							return nil, do(ctx)
						}), nil
				}}}
		}},
	}
	for kind, f := range forms(nil) {
		all[kind+" tool"] = &spot[M]{names: []string{"bad", "c1"}, nothing: f.nothing,
			grow: func(c *TypedChatModelAgentConfig[M], do deed) {
				c.ToolsConfig.Tools = []tool.BaseTool{forms(do)[kind].tool}
			}}
	}
	return all
}

// infoTool does the deed when it is asked what it is.
type infoTool struct {
	tool.BaseTool
	do deed
}

func (i infoTool) Info(ctx context.Context) (*schema.ToolInfo, error) { return nil, i.do(ctx) }

// nodeSpots returns the functions around the calls of a message, and around a resumed run.
func nodeSpots[M MessageType]() map[string]*spot[M] {
	all := map[string]*spot[M]{
		"UnknownToolsHandler": {names: []string{"bad"}, grow: func(c *TypedChatModelAgentConfig[M], do deed) {
			c.ToolsConfig.Tools = []tool.BaseTool{echo("other")}
			c.ToolsConfig.UnknownToolsHandler = func(ctx context.Context, _, _ string) (string, error) { return "", do(ctx) }
		}},
		"ToolArgumentsHandler": {names: []string{"bad", "arguments handler"},
			grow: func(c *TypedChatModelAgentConfig[M], do deed) {
				c.ToolsConfig.ToolArgumentsHandler = func(ctx context.Context, _, _ string) (string, error) { return "", do(ctx) }
			}},
		"ToolCallMiddlewares": {names: []string{"bad", "c1"}, nothing: "neither an output nor an error",
			grow: func(c *TypedChatModelAgentConfig[M], do deed) {
				c.ToolsConfig.ToolCallMiddlewares = []compose.ToolMiddleware{{Invokable: outputOf(do)}}
			}},
		"WithAfterToolCallsHook": {names: []string{"WithAfterToolCallsHook"},
			grow: func(*TypedChatModelAgentConfig[M], deed) {},
			options: func(do deed) []AgentRunOption {
				return []AgentRunOption{WithAfterToolCallsHook(func(ctx context.Context) error { return do(ctx) })}
			}},
	}
	if _, ordinary := any(all).(map[string]*spot[Message]); ordinary {
		all["WithHistoryModifier"] = &spot[M]{names: []string{"HistoryModifier"}, mute: true, resumed: true,
			// Without messages there is no call to continue with; the tools node has its own.
			grow: func(c *TypedChatModelAgentConfig[M], _ deed) {
				c.ToolsConfig.Tools = []tool.BaseTool{asksFirst("bad", &diary{})}
			},
			options: func(do deed) []AgentRunOption {
				return []AgentRunOption{WithHistoryModifier(func(ctx context.Context, _ []Message) []Message {
					_ = do(ctx)
					return nil
				})}
			}}
	}
	return all
}

// TestUserCode_CallbackHandlers: a handler that panics ends the run with its error, wherever it is called, or with the
// error that was reported to it; nothing is left running.
func TestUserCode_CallbackHandlers(t *testing.T) {
	matrix(t, testPanickingHandlers[ordinary], testPanickingHandlers[agentic])
}

func testPanickingHandlers[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	for _, timing := range []string{"start", "end", "error"} {
		for _, where := range []string{"agent", "graph", "model", "tool"} {
			t.Run(timing+" of "+where, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					reached := false
					panics := func(at string, info *callbacks.RunInfo) {
						if at == timing && kindOf(info) == where {
							reached = true
							panic(errBroken)
						}
					}
					h := callbacks.NewHandlerBuilder().
						OnStartFn(func(ctx context.Context, info *callbacks.RunInfo, _ callbacks.CallbackInput) context.Context {
							panics("start", info)
							return ctx
						}).
						OnStartWithStreamInputFn(func(
							ctx context.Context, info *callbacks.RunInfo, in *schema.StreamReader[callbacks.CallbackInput],
						) context.Context {
							in.Close()
							panics("start", info)
							return ctx
						}).
						OnEndFn(func(ctx context.Context, info *callbacks.RunInfo, _ callbacks.CallbackOutput) context.Context {
							panics("end", info)
							return ctx
						}).
						OnEndWithStreamOutputFn(func(ctx context.Context, info *callbacks.RunInfo,
							out *schema.StreamReader[callbacks.CallbackOutput],
						) context.Context {
							out.Close()
							panics("end", info)
							return ctx
						}).
						OnErrorFn(func(ctx context.Context, info *callbacks.RunInfo, _ error) context.Context {
							panics("error", info)
							return ctx
						}).Build()
					m := says(d.answer("", wanted{"t", "c1", object}), d.answer("done"))
					m.hook = func(_ context.Context, turn int, _ []M) error {
						if timing == "error" && where != "tool" {
							return errShaky
						}
						return nil
					}
					works := &toolFunc{"t", func(context.Context, string) (string, error) {
						if timing == "error" {
							return "", errShaky
						}
						return "fine", nil
					}}
					ctx := callbacks.InitCallbacks(context.Background(), nil, h)
					all := readPast(t, ask(ctx, TypedAgent[M](setup(t, m, []tool.BaseTool{works})), streaming))
					err := endError(t, all)
					if timing == "error" && where == "agent" { // it never comes
						require.False(t, reached)
						require.ErrorIs(t, err, errShaky)
						return
					}
					require.True(t, reached)
					require.ErrorIs(t, err, errBroken)
					(&spot[M]{}).checkNames(t, err, "tester")
				})
			})
		}
	}
}

// kindOf names the kind of component that a callback is about.
func kindOf(info *callbacks.RunInfo) string {
	switch info.Component {
	case ComponentOfAgent, ComponentOfAgenticAgent:
		return "agent"
	case compose.ComponentOfGraph:
		return "graph"
	case components.ComponentOfChatModel, components.ComponentOfAgenticModel:
		return "model"
	case components.ComponentOfTool:
		return "tool"
	}
	return ""
}
