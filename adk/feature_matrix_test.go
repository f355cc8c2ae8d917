package adk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// The matrix holds every feature against every path of a run: {ordinary, agentic} × {whole, streaming} × {no tools,
// tools, tools and an interrupt in between}. On each path there is a story without features, and a feature says how it
// changes that story. A run that was interrupted and resumed has the same story as one that was not.

// field is the place where a feature grows: one path, and what the run of it leaves.
type field[M MessageType] struct {
	t                  *testing.T
	d                  *dialect[M]
	streaming          bool
	tools, interrupted bool
	conf               *TypedChatModelAgentConfig[M]
	model              *scripted[M]
	notes              diary
	options            []AgentRunOption
	// final is the history at the end, if AfterAgent was called.
	final []string
}

// feature changes the configuration of a field, and the expected events.
type feature[M MessageType] struct {
	grow func(f *field[M])
	// withTools: it means nothing to an agent without tools.
	withTools bool
	events    func(f *field[M], story []string) []string
	check     func(f *field[M])
}

const (
	asked, answered, ended = `assistant: [t#c1 {"q":1}]`, `tool t#c1: <{"q":1}>`, "assistant: done"
)

func (f *field[M]) story() []string {
	if f.tools {
		return []string{asked, answered, ended}
	}
	return []string{ended}
}

func (f *field[M]) handler(h *hooked[M]) { f.conf.Handlers = append(f.conf.Handlers, h) }

// turns is the number of times that the model answers in the story.
func (f *field[M]) turns() int {
	if f.tools {
		return 2
	}
	return 1
}

// starts is the number of times that a run was begun or taken up.
func (f *field[M]) starts() int {
	if f.interrupted {
		return 2
	}
	return 1
}

func (f *field[M]) noted(line string) (n int) {
	for _, l := range f.notes.all() {
		if l == line {
			n++
		}
	}
	return n
}

func lookAt[M MessageType](f *field[M]) {
	f.handler(&hooked[M]{afterAgent: func(ctx context.Context, s *TypedChatModelAgentState[M]) (context.Context, error) {
		f.final = f.d.lines(s.Messages)
		f.notes.add("AfterAgent")
		return ctx, nil
	}})
}

// rewritten is a model whose final answer is in capitals.
func rewritten[M MessageType](m model.BaseModel[M]) model.BaseModel[M] {
	d := dialectOf[M]()
	loud := func(a M) (M, error) {
		if d.line(a) == ended {
			return d.answer("DONE"), nil
		}
		return a, nil
	}
	return &modelFunc[M]{
		generate: func(ctx context.Context, h []M, opts ...model.Option) (a M, err error) {
			if a, err = m.Generate(ctx, h, opts...); err != nil {
				return a, err
			}
			return loud(a)
		},
		stream: func(ctx context.Context, h []M, opts ...model.Option) (*schema.StreamReader[M], error) {
			s, err := m.Stream(ctx, h, opts...)
			if err != nil {
				return nil, err
			}
			return schema.StreamReaderWithConvert(s, loud), nil
		},
	}
}

func replaceLine(old, now string) func(story []string) []string {
	return func(story []string) []string {
		for i := range story {
			if story[i] == old {
				story[i] = now
			}
		}
		return story
	}
}

func features[M MessageType]() map[string]feature[M] {
	d := dialectOf[M]()
	user := opsOf[M]().user
	return map[string]feature[M]{
		"nothing": {},
		"BeforeAgent/instruction": {
			grow: func(f *field[M]) {
				f.handler(&hooked[M]{beforeAgent: func(
					ctx context.Context, rc *ChatModelAgentContext,
				) (context.Context, *ChatModelAgentContext, error) {
					f.notes.add("BeforeAgent")
					rc.Instruction += "be loud"
					return context.WithValue(ctx, fieldKey{}, "passed on"), rc, nil
				},
					beforeModel: func(ctx context.Context, s *TypedChatModelAgentState[M],
						_ *TypedModelContext[M],
					) (context.Context, *TypedChatModelAgentState[M], error) {
						f.notes.add("ctx %v", ctx.Value(fieldKey{}))
						return ctx, s, nil
					}})
			},
			check: func(f *field[M]) {
				require.Equal(f.t, f.starts(), f.noted("BeforeAgent"), "rule agent/H-1")
				require.Equal(f.t, f.turns(), f.noted("ctx passed on"), "rule agent/H-2")
				require.Equal(f.t, []string{"system: be loud", "user: hi"}, f.model.transcript()[0])
			},
		},
		"BeforeAgent/tools": {
			withTools: true,
			grow: func(f *field[M]) {
				tools := f.conf.ToolsConfig.Tools
				f.conf.ToolsConfig.Tools = []tool.BaseTool{echo("removed")}
				f.handler(&hooked[M]{beforeAgent: func(
					ctx context.Context, rc *ChatModelAgentContext,
				) (context.Context, *ChatModelAgentContext, error) {
					rc.Tools = tools
					return ctx, rc, nil
				}})
			},
			check: func(f *field[M]) {
				for _, opts := range f.model.options {
					require.Equal(f.t, []string{"t"}, toolNames(opts), "rule agent/L-4")
				}
			},
		},
		"BeforeModelRewriteState": {
			grow: func(f *field[M]) {
				f.handler(&hooked[M]{beforeModel: func(
					ctx context.Context, s *TypedChatModelAgentState[M], _ *TypedModelContext[M],
				) (context.Context, *TypedChatModelAgentState[M], error) {
					s.Messages = append(s.Messages, user("note"))
					return ctx, s, nil
				}})
			},
			check: func(f *field[M]) {
				require.Equal(f.t, []string{"user: hi", "user: note"}, f.model.transcript()[0])
				if f.tools {
					require.Equal(f.t, []string{"user: hi", "user: note", asked, answered, "user: note"}, f.model.transcript()[1],
						"rule agent/H-5")
				}
			},
		},
		"AfterModelRewriteState": {
			grow: func(f *field[M]) {
				f.handler(&hooked[M]{afterModel: func(
					ctx context.Context, s *TypedChatModelAgentState[M], _ *TypedModelContext[M],
				) (context.Context, *TypedChatModelAgentState[M], error) {
					if last := len(s.Messages) - 1; d.line(s.Messages[last]) == ended {
						s.Messages = append(slices.Clone(s.Messages[:last]), d.answer("checked"))
					}
					return ctx, s, nil
				}})
				lookAt(f)
			},
			check: func(f *field[M]) {
				require.Equal(f.t, "assistant: checked", f.final[len(f.final)-1], "rules agent/H-8, agent/R-4")
			},
		},
		"AfterToolCallsRewriteState": {
			withTools: true,
			grow: func(f *field[M]) {
				f.handler(&hooked[M]{afterToolCalls: func(
					ctx context.Context, s *TypedChatModelAgentState[M], tc *ToolCallsContext,
				) (context.Context, *TypedChatModelAgentState[M], error) {
					f.notes.add("%v", tc.ToolCalls)
					s.Messages = append(s.Messages, user("go on"))
					return ctx, s, nil
				}})
				f.options = append(f.options,
					WithAfterToolCallsHook(func(context.Context) error { f.notes.add("run hook"); return nil }))
			},
			check: func(f *field[M]) {
				require.Equal(f.t, []string{"[{t c1}]", "run hook"}, f.notes.all(), "rules agent/H-14, agent/H-15")
				require.Equal(f.t, []string{"user: hi", asked, answered, "user: go on"}, f.model.transcript()[1])
			},
		},
		"AfterAgent": {
			grow: lookAt[M],
			check: func(f *field[M]) {
				require.Equal(f.t, 1, f.noted("AfterAgent"), "rule agent/H-16")
				require.Equal(f.t, append([]string{"user: hi"}, f.story()...), f.final)
			},
		},
		"WrapModel": {
			grow: func(f *field[M]) {
				f.handler(&hooked[M]{wrapModel: func(
					_ context.Context, m model.BaseModel[M], _ *TypedModelContext[M],
				) (model.BaseModel[M], error) {
					return rewritten(m), nil
				}})
				lookAt(f)
			},
			events: func(_ *field[M], story []string) []string { return replaceLine(ended, "assistant: DONE")(story) },
			check:  func(f *field[M]) { require.Equal(f.t, "assistant: DONE", f.final[len(f.final)-1], "rule agent/H-11") },
		},
		"tool wrappers": {
			withTools: true,
			grow: func(f *field[M]) {
				f.handler(&hooked[M]{after: func(text string) string { return "(" + text + ")" }})
				f.conf.Middlewares = append(f.conf.Middlewares, AgentMiddleware{WrapToolCall: compose.ToolMiddleware{
					Invokable: func(next compose.InvokableToolEndpoint) compose.InvokableToolEndpoint {
						return func(ctx context.Context, in *compose.ToolInput) (*compose.ToolOutput, error) {
							out, err := next(ctx, in)
							if err == nil {
								out.Result = "[" + out.Result + "]"
							}
							return out, err
						}
					},
				}})
			},
			events: func(_ *field[M], story []string) []string {
				return replaceLine(answered, `tool t#c1: [(<{"q":1}>)]`)(story)
			},
			check: func(f *field[M]) {
				require.Equal(f.t, `tool t#c1: [(<{"q":1}>)]`, f.model.transcript()[1][2], "rule agent/W-7")
			},
		},
		"AgentMiddleware": {
			grow: func(f *field[M]) {
				f.conf.Middlewares = append(f.conf.Middlewares, AgentMiddleware{
					AdditionalInstruction: "be kind",
					BeforeChatModel: func(_ context.Context, s *ChatModelAgentState) error {
						s.Messages = append(s.Messages, schema.UserMessage("before"))
						return nil
					},
					AfterChatModel: func(context.Context, *ChatModelAgentState) error { f.notes.add("after"); return nil },
				})
			},
			check: func(f *field[M]) {
				first := f.model.transcript()[0]
				require.Equal(f.t, "system: be kind", first[0])
				_, ordinary := any(f).(*field[Message])
				require.Equal(f.t, ordinary, len(first) == 3, "rule agent/MW-1")
				require.Equal(f.t, ordinary, f.noted("after") == f.turns(), "rule agent/MW-2")
			},
		},
		"retry":       retryFeature[M](nil),
		"ShouldRetry": shouldRetryFeature[M](),
		"failover": {
			grow: func(f *field[M]) {
				answers := f.model
				f.conf.Model = &modelFunc[M]{
					generate: func(context.Context, []M, ...model.Option) (none M, _ error) { return none, errBroken },
					stream:   func(context.Context, []M, ...model.Option) (*schema.StreamReader[M], error) { return nil, errBroken },
				}
				f.conf.ModelFailoverConfig = &ModelFailoverConfig[M]{
					MaxRetries:     1,
					ShouldFailover: func(_ context.Context, _ M, err error) bool { return errors.Is(err, errBroken) },
					GetFailoverModel: func(context.Context, *FailoverContext[M]) (model.BaseModel[M], []M, error) {
						f.notes.add("failover")
						return answers, nil, nil
					},
				}
			},
			check: func(f *field[M]) {
				require.Equal(f.t, f.starts(), f.noted("failover"),
					"rule agent/F-1: the stand-in stays for the run, and a resumed one starts over")
			},
		},
		"gate": {
			grow: func(f *field[M]) {
				f.handler(&hooked[M]{finalAnswer: func(
					ctx context.Context, s *TypedChatModelAgentState[M],
				) (context.Context, FinalAnswerDecision, *TypedChatModelAgentState[M], error) {
					f.notes.add("gate")
					if f.noted("gate") > 1 {
						return ctx, AcceptFinalAnswer, s, nil
					}
					s.Messages = append(s.Messages, user("better"))
					return ctx, RejectFinalAnswer, s, nil
				}})
				lookAt(f)
			},
			events: func(_ *field[M], story []string) []string { return append(story, ended) },
			check: func(f *field[M]) {
				require.Equal(f.t, 2, f.noted("gate"))
				require.Equal(f.t, append(append([]string{"user: hi"}, f.story()...), "user: better", ended), f.final,
					"rules agent/FA-5, agent/FA-7")
			},
		},
		"return directly": {
			withTools: true,
			grow: func(f *field[M]) {
				f.conf.ToolsConfig.ReturnDirectly = map[string]bool{"t": true}
				lookAt(f)
			},
			events: func(_ *field[M], story []string) []string { return story[:2] },
			check: func(f *field[M]) {
				require.Equal(f.t, 1, f.noted("AfterAgent"), "rule agent/RD-5")
				require.Equal(f.t, []string{"user: hi", asked, answered}, f.final)
			},
		},
		"exit": {
			withTools: true,
			grow: func(f *field[M]) {
				f.conf.Exit = ExitTool{}
				f.model.answers[1] = []M{d.answer("", wanted{"exit", "e", `{"final_result":"so long"}`})}
			},
			events: func(_ *field[M], story []string) []string {
				return append(story[:2], `assistant: [exit#e {"final_result":"so long"}]`, "tool exit#e: so long")
			},
		},
		"eager": {withTools: true, grow: func(f *field[M]) { f.conf.ToolsConfig.EagerExecution = true }},
		"sequential": {withTools: true, grow: func(f *field[M]) {
			f.conf.ToolsConfig.EagerExecution, f.conf.ToolsConfig.ExecuteSequentially = true, true
		}},
		"senders of the user's": {
			grow: func(f *field[M]) {
				f.conf.Handlers = append(f.conf.Handlers, NewTypedEventSenderModelWrapper[M](), NewTypedEventSenderToolWrapper[M]())
			},
		},
		"SendEvent": {
			grow: func(f *field[M]) {
				send := func(ctx context.Context, what string) {
					require.NoError(f.t, TypedSendEvent(ctx,
						&TypedAgentEvent[M]{Output: &TypedAgentOutput[M]{CustomizedOutput: what}}))
				}
				f.handler(&hooked[M]{
					beforeModel: func(ctx context.Context, s *TypedChatModelAgentState[M],
						_ *TypedModelContext[M],
					) (context.Context, *TypedChatModelAgentState[M], error) {
						send(ctx, "before model")
						return ctx, s, nil
					},
					finalAnswer: func(ctx context.Context,
						s *TypedChatModelAgentState[M],
					) (context.Context, FinalAnswerDecision, *TypedChatModelAgentState[M], error) {
						send(ctx, "gate")
						return ctx, AcceptFinalAnswer, s, nil
					},
				})
			},
			events: func(f *field[M], story []string) []string {
				const own = "no message"
				if f.tools {
					return []string{own, asked, answered, own, ended, own}
				}
				return []string{own, ended, own}
			},
		},
		"run-local values": {
			grow: func(f *field[M]) {
				f.handler(&hooked[M]{
					beforeModel: func(ctx context.Context, s *TypedChatModelAgentState[M],
						_ *TypedModelContext[M],
					) (context.Context, *TypedChatModelAgentState[M], error) {
						n, _, err := GetRunLocalValue(ctx, "turns")
						require.NoError(f.t, err)
						turns, _ := n.(int)
						require.NoError(f.t, SetRunLocalValue(ctx, "turns", turns+1))
						return ctx, s, nil
					},
					afterAgent: func(ctx context.Context, _ *TypedChatModelAgentState[M]) (context.Context, error) {
						n, ok, err := GetRunLocalValue(ctx, "turns")
						f.notes.add("%v %v %v", n, ok, err)
						return ctx, nil
					},
				})
			},
			check: func(f *field[M]) {
				require.Equal(f.t, []string{fmt.Sprintf("%d true <nil>", f.turns())}, f.notes.all(), "rule agent/RL-1")
			},
		},
	}
}

type fieldKey struct{}

func toolNames(opts []model.Option) []string {
	names := []string{}
	for _, info := range model.GetCommonOptions(nil, opts...).Tools {
		names = append(names, info.Name)
	}
	return names
}

// retryFeature: the model fails before each of its answers.
func retryFeature[M MessageType](
	should func(context.Context, *TypedRetryContext[M]) *TypedRetryDecision[M],
) feature[M] {
	return feature[M]{
		grow: func(f *field[M]) {
			failed := false
			answers := f.model
			f.conf.Model = &modelFunc[M]{
				generate: func(ctx context.Context, h []M, opts ...model.Option) (none M, _ error) {
					if failed = !failed; failed {
						return none, errBroken
					}
					return answers.Generate(ctx, h, opts...)
				},
				stream: func(ctx context.Context, h []M, opts ...model.Option) (*schema.StreamReader[M], error) {
					if failed = !failed; failed {
						return nil, errBroken
					}
					return answers.Stream(ctx, h, opts...)
				},
			}
			f.conf.ModelRetryConfig = &TypedModelRetryConfig[M]{MaxRetries: 1, ShouldRetry: should, BackoffFunc: noPause}
		},
	}
}

// shouldRetryFeature: each turn's first answer is rejected.
func shouldRetryFeature[M MessageType]() feature[M] {
	return feature[M]{
		grow: func(f *field[M]) {
			f.conf.ModelRetryConfig = &TypedModelRetryConfig[M]{MaxRetries: 1, BackoffFunc: noPause,
				ShouldRetry: func(_ context.Context, rc *TypedRetryContext[M]) *TypedRetryDecision[M] {
					f.notes.add("%s", f.d.line(rc.OutputMessage))
					return &TypedRetryDecision[M]{Retry: rc.RetryAttempt == 1, RejectReason: "first"}
				}}
			var twice [][]M
			for _, a := range f.model.answers {
				twice = append(twice, a, a)
			}
			f.model.answers = twice
		},
		events: func(f *field[M], story []string) (all []string) {
			if !f.streaming {
				return story
			}
			for _, line := range story {
				if line != answered {
					all = append(all, "broken stream")
				}
				all = append(all, line)
			}
			return all
		},
		check: func(f *field[M]) { require.Len(f.t, f.notes.all(), 2*f.turns()) },
	}
}

func noPause(context.Context, int) time.Duration { return 0 }
