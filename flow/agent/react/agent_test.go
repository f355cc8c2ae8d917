package react

import (
	"context"
	"fmt"
	"math"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/flow/agent"
	"github.com/weftgo/weft/schema"
	template "github.com/weftgo/weft/utils/callbacks"
)

// Rules components/R2, components/R3.
func TestReact_ModelSeesTheHistory(t *testing.T) {
	inBothForms(t, func(t *testing.T, run runner) {
		m := script(turn{}.calls("a#1 x"), say("let ", "me ", "see ").calls("a#2 y", "b#3 z"), say("do", "ne"))
		a := newAgent(t, withTools(AgentConfig{ToolCallingModel: m}, toolFunc{name: "a"},
			streamTool{name: "b", run: chunks("b1", "b2")}))
		out, err := run(a, user("hi"))
		require.NoError(t, err)
		require.Equal(t, inStream(t, "assistant: let me see done", "assistant: done"), out)
		first := []string{"user: hi"}
		second := append(first, "assistant: [a#1]", "tool a#1: a(x)")
		third := append(second, "assistant: let me see [a#2][b#3]", "tool a#2: a(y)", "tool b#3: b1b2")
		require.Equal(t, [][]string{first, second, third}, m.seen)
	})
}

// Rule components/R2.
func TestReact_RewritesThenModifiesTheHistory(t *testing.T) {
	inBothForms(t, func(t *testing.T, run runner) {
		var rewriter, modifier []int
		m := script(turn{}.calls("a#1 x"), say("done"))
		a := newAgent(t, withTools(AgentConfig{
			ToolCallingModel: m,
			MessageRewriter: func(_ context.Context, in []*schema.Message) []*schema.Message {
				rewriter = append(rewriter, len(in))
				return in[len(in)-2:]
			},
			MessageModifier: func(_ context.Context, in []*schema.Message) []*schema.Message {
				modifier = append(modifier, len(in))
				return append([]*schema.Message{schema.SystemMessage("s")}, in...)
			},
		}, toolFunc{name: "a"}))
		_, err := run(a, append(append(user("1"), user("2")...), append(user("3"), user("4")...)...))
		require.NoError(t, err)
		require.Equal(t, []int{4, 4}, rewriter, "what the rewriter returns is kept, what the modifier returns is not")
		require.Equal(t, []int{2, 2}, modifier)
		require.Equal(t, [][]string{
			{"system: s", "user: 3", "user: 4"},
			{"system: s", "assistant: [a#1]", "tool a#1: a(x)"},
		}, m.seen)
	})
}

// The model may do with its input what it wants.
// Rule components/B13.5.6.
func TestReact_TheModelGetsACopyOfTheHistory(t *testing.T) {
	m := script(turn{}.calls("a#1 x"), say("done"))
	m.touch = func(in []*schema.Message) { in[0] = nil; _ = append(in[:1], nil) }
	a := newAgent(t, withTools(AgentConfig{ToolCallingModel: m, MaxStep: math.MaxInt}, toolFunc{name: "a"}))
	input := user("hi")
	_, err := a.Generate(background, input)
	require.NoError(t, err)
	require.Equal(t, []string{"user: hi", "assistant: [a#1]", "tool a#1: a(x)"}, m.seen[1])
	require.NotNil(t, input[0])
}

// A model that speaks before it calls a tool is not taken for one that is done. What it says is in the stream.
// Rule components/R5.
func TestReact_FindsCallsAfterText(t *testing.T) {
	inBothForms(t, func(t *testing.T, run runner) {
		m := script(say("I ", "will ", "look").calls("a#1 x"), say("done"))
		out, err := run(newAgent(t, withTools(AgentConfig{ToolCallingModel: m}, toolFunc{name: "a"})), user("hi"))
		require.NoError(t, err)
		require.Equal(t, inStream(t, "assistant: I will lookdone", "assistant: done"), out)
	})
}

// Rule components/R5.
func TestReact_UsesTheConfiguredChecker(t *testing.T) {
	inBothForms(t, func(t *testing.T, run runner) {
		m := script(say("hello").calls("a#1 x"))
		a := newAgent(t, withTools(AgentConfig{ToolCallingModel: m,
			StreamToolCallChecker: func(_ context.Context, s *schema.StreamReader[*schema.Message]) (bool, error) {
				return false, nil // without closing the stream
			}}, toolFunc{name: "a"}))
		out, err := run(a, user("hi"))
		require.NoError(t, err)
		require.Equal(t, "assistant: hello[a#1]", out)
	})
	for name, check := range map[string]func(context.Context, *schema.StreamReader[*schema.Message]) (bool, error){
		"error": func(context.Context, *schema.StreamReader[*schema.Message]) (bool, error) { return false, errBoom },
		"panic": func(context.Context, *schema.StreamReader[*schema.Message]) (bool, error) { panic(errBoom) },
	} {
		t.Run(name, func(t *testing.T) {
			inBothForms(t, func(t *testing.T, run runner) {
				_, err := run(newAgent(t, &AgentConfig{ToolCallingModel: script(say("x")), StreamToolCallChecker: check}),
					user("hi"))
				require.ErrorIs(t, err, errBoom)
			})
		})
	}
}

// With a checker that decides on the first chunk the answer streams while the model still makes it.
// Rule components/R5.
func TestReact_AnEagerCheckerStreamsLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &pipedModel{}
		a := newAgent(t, &AgentConfig{ToolCallingModel: m,
			StreamToolCallChecker: func(_ context.Context, s *schema.StreamReader[*schema.Message]) (bool, error) {
				defer s.Close()
				chunk, err := s.Recv()
				return err == nil && len(chunk.ToolCalls) > 0, err
			}})
		s, err := a.Stream(background, user("hi"))
		require.NoError(t, err)
		defer s.Close()
		for _, want := range []string{"a", "b"} {
			chunk, err := s.Recv()
			require.NoError(t, err)
			require.Equal(t, want, chunk.Content)
			m.w.Send(schema.AssistantMessage("b", nil), nil)
		}
		s.Close()
		synctest.Wait()
		require.True(t, m.w.Send(nil, nil), "closing the result reaches the model")
	})
}

// pipedModel streams "a" and leaves the rest to the test.
type pipedModel struct {
	model.ToolCallingChatModel
	w *schema.StreamWriter[*schema.Message]
}

func (m *pipedModel) Stream(context.Context, []*schema.Message,
	...model.Option,
) (s *schema.StreamReader[*schema.Message], err error) {
	s, m.w = schema.Pipe[*schema.Message](10)
	m.w.Send(schema.AssistantMessage("a", nil), nil)
	return s, nil
}

// Rule components/R8.
func TestReact_StopsAtMaxStep(t *testing.T) {
	endless := func() *scripted {
		var turns []turn
		for i := range 50 {
			turns = append(turns, turn{}.calls(fmt.Sprintf("a#%d x", i)))
		}
		return script(turns...)
	}
	for maxStep, modelCalls := range map[int]int{0: 7, 1: 1, 3: 2, 4: 2, 5: 3} {
		inBothForms(t, func(t *testing.T, run runner) {
			m := endless()
			_, err := run(newAgent(t, withTools(AgentConfig{ToolCallingModel: m, MaxStep: maxStep}, toolFunc{name: "a"})),
				user("hi"))
			require.ErrorIs(t, err, compose.ErrExceedMaxSteps)
			require.Len(t, m.seen, modelCalls, "MaxStep %d", maxStep)
		})
	}
	inBothForms(t, func(t *testing.T, run runner) {
		m := script(turn{}.calls("a#1 x"), say("done"))
		a := newAgent(t, withTools(AgentConfig{ToolCallingModel: m, MaxStep: 1}, toolFunc{name: "a"}))
		_, err := run(a, user("hi"), agent.WithComposeOptions(compose.WithRuntimeMaxSteps(3)))
		require.NoError(t, err)
	})
	_, err := NewAgent(background, &AgentConfig{ToolCallingModel: endless(), MaxStep: -1})
	require.ErrorContains(t, err, "max run steps limit must be at least 1")
}

// badTool cannot say what it is.
type badTool struct{ toolFunc }

func (badTool) Info(context.Context) (*schema.ToolInfo, error) { return nil, errBoom }

type panickingTool struct{ toolFunc }

func (panickingTool) Info(context.Context) (*schema.ToolInfo, error) { panic(errBoom) }

type silentTool struct{ toolFunc }

func (silentTool) Info(context.Context) (*schema.ToolInfo, error) { return nil, nil }

// Rules components/R9, components/B13.4.2.
func TestReact_NewAgentAsksEachToolOnce(t *testing.T) {
	_, err := NewAgent(background, nil)
	require.ErrorContains(t, err, "config is nil")
	_, err = NewAgent(background, &AgentConfig{})
	require.EqualError(t, err, "no chat model provided")

	m := script()
	for name, bad := range map[string]tool.BaseTool{"error": badTool{}, "panic": panickingTool{}} {
		_, err = NewAgent(background, withTools(AgentConfig{ToolCallingModel: m}, bad))
		require.ErrorIs(t, err, errBoom, name)
	}
	for name, bad := range map[string]tool.BaseTool{"nil tool": nil, "nil info": silentTool{}} {
		_, err = NewAgent(background, withTools(AgentConfig{ToolCallingModel: m}, toolFunc{name: "a"}, bad))
		require.ErrorContains(t, err, "index 1", name)
	}
	require.Nil(t, m.bound)

	newAgent(t, withTools(AgentConfig{ToolCallingModel: m}, toolFunc{name: "a"}, toolFunc{name: "b"}))
	require.Len(t, m.bound, 2)
	require.Equal(t, "b", m.bound[1].Name)
}

// Rule components/B13.5.5.
func TestReact_LeavesTheConfigAlone(t *testing.T) {
	conf := withTools(AgentConfig{ToolCallingModel: script(), ToolReturnDirectly: map[string]struct{}{"a": {}}},
		toolFunc{name: "a"})
	conf.ToolsConfig.ToolCallMiddlewares = make([]compose.ToolMiddleware, 0, 4)
	newAgent(t, conf)
	newAgent(t, conf)
	require.Empty(t, conf.ToolsConfig.ToolCallMiddlewares)
	require.Nil(t, conf.ToolsConfig.ToolCallMiddlewares[:1][0].Invokable, "nor is what lies behind the slice")
	require.Nil(t, conf.StreamToolCallChecker)
}

// Rule components/R11.
func TestReact_WithToolsReplacesTheToolsOfACall(t *testing.T) {
	_, err := WithTools(background, badTool{})
	require.Equal(t, errBoom, err)
	opts, err := WithTools(background, toolFunc{name: "late"})
	require.NoError(t, err)
	require.Len(t, opts, 2)
	inBothForms(t, func(t *testing.T, run runner) {
		m := script(turn{}.calls("late#1 x"), say("done"))
		out, err := run(newAgent(t, &AgentConfig{ToolCallingModel: m}), user("hi"), opts...)
		require.NoError(t, err)
		require.Equal(t, "assistant: done", out)
		require.Equal(t, "tool late#1: late(x)", m.seen[1][2])
		require.Len(t, m.opts[0].Tools, 1)
		require.Equal(t, "late", m.opts[0].Tools[0].Name)
	})
}

type toolSettings struct{ answer string }

type settingsTool struct{ toolFunc }

func (settingsTool) InvokableRun(_ context.Context, _ string, opts ...tool.Option) (string, error) {
	return tool.GetImplSpecificOptions(&toolSettings{}, opts...).answer, nil
}

func TestReact_OptionsReachModelAndTools(t *testing.T) {
	m := script(turn{}.calls("a#1 x"), say("done"))
	a := newAgent(t, withTools(AgentConfig{ToolCallingModel: m}, settingsTool{toolFunc{name: "a"}}))
	_, err := a.Generate(background, user("hi"), WithChatModelOptions(model.WithModel("big")),
		WithToolOptions(tool.WrapImplSpecificOptFn(func(s *toolSettings) { s.answer = "set" })))
	require.NoError(t, err)
	require.Equal(t, "big", *m.opts[1].Model)
	require.Equal(t, "tool a#1: set", m.seen[1][2])
}

// Rule components/R12.
func TestReact_RunsWithoutInput(t *testing.T) {
	inBothForms(t, func(t *testing.T, run runner) {
		for _, input := range [][]*schema.Message{nil, {}} {
			out, err := run(newAgent(t, &AgentConfig{ToolCallingModel: script(say("hello"))}), input)
			require.NoError(t, err)
			require.Equal(t, "assistant: hello", out)
		}
	})
}

// Rule components/R13.
func TestReact_RunsAsPartOfAGraph(t *testing.T) {
	build := func() (*Agent, *scripted) {
		m := script(turn{}.calls("a#1 x"), say("done"))
		return newAgent(t, withTools(AgentConfig{ToolCallingModel: m, MaxStep: 3}, toolFunc{name: "a"})), m
	}
	for name, add := range map[string]func(*compose.Chain[[]*schema.Message, *schema.Message], *Agent){
		"AppendGraph": func(c *compose.Chain[[]*schema.Message, *schema.Message], a *Agent) {
			g, opts := a.ExportGraph()
			c.AppendGraph(g, opts...)
		},
		"AnyLambda": func(c *compose.Chain[[]*schema.Message, *schema.Message], a *Agent) {
			l, err := compose.AnyLambda(a.Generate, a.Stream, nil, nil)
			require.NoError(t, err)
			c.AppendLambda(l)
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, streaming := range []bool{false, true} {
				a, m := build()
				chain := compose.NewChain[[]*schema.Message, *schema.Message]()
				add(chain, a)
				r, err := chain.Compile(background)
				require.NoError(t, err)
				out := &schema.Message{}
				if streaming {
					s, err := r.Stream(background, user("hi"))
					require.NoError(t, err)
					out, err = schema.ConcatMessageStream(s)
					require.NoError(t, err)
				} else {
					out, err = r.Invoke(background, user("hi"))
					require.NoError(t, err)
				}
				require.Equal(t, "done", out.Content)
				require.Len(t, m.seen, 2)
			}
		})
	}
}

// Rule components/R14.
func TestReact_PersonaModifierPrependsASystemMessage(t *testing.T) {
	in := make([]*schema.Message, 1, 4)
	in[0] = schema.UserMessage("hi")
	out := NewPersonaModifier("be brief")(background, in)
	require.Equal(t, []string{"system: be brief", "user: hi"}, lines(out))
	require.Equal(t, "user: hi", line(in[0]))
}

// Rule components/R21.
func TestReact_BuildAgentCallbackHandlesModelAndTools(t *testing.T) {
	var calls []string
	note := func(what string) { calls = append(calls, what) }
	handler := BuildAgentCallback(&template.ModelCallbackHandler{
		OnEnd: func(ctx context.Context, info *callbacks.RunInfo, out *model.CallbackOutput) context.Context {
			note(info.Name + " " + line(out.Message))
			return ctx
		},
	}, &template.ToolCallbackHandler{
		OnStart: func(ctx context.Context, info *callbacks.RunInfo, in *tool.CallbackInput) context.Context {
			note(info.Name + " " + in.ArgumentsInJSON)
			return ctx
		},
	})
	m := script(turn{}.calls("a#1 x"), say("done"))
	a := newAgent(t, withTools(AgentConfig{ToolCallingModel: m, ModelNodeName: "brain"}, toolFunc{name: "a"}))
	_, err := a.Generate(background, user("hi"),
		agent.WithComposeOptions(compose.WithCallbacks(handler, BuildAgentCallback(nil, nil))))
	require.NoError(t, err)
	require.Equal(t, []string{"brain assistant: [a#1]", "a x", "brain assistant: done"}, calls)

	empty := BuildAgentCallback(&template.ModelCallbackHandler{},
		&template.ToolCallbackHandler{}).(callbacks.TimingChecker)
	for _, timing := range []callbacks.CallbackTiming{callbacks.TimingOnStart, callbacks.TimingOnEnd,
		callbacks.TimingOnError} {
		require.False(t, empty.Needed(background, &callbacks.RunInfo{Component: "ChatModel"}, timing))
	}
}

func TestReact_NamesOfTheGraphAndItsNodes(t *testing.T) {
	for _, conf := range []AgentConfig{{}, {GraphName: "g", ModelNodeName: "m", ToolsNodeName: "t"}} {
		var names []string
		handler := callbacks.NewHandlerBuilder().OnStartFn(func(
			ctx context.Context, info *callbacks.RunInfo, _ callbacks.CallbackInput,
		) context.Context {
			names = append(names, info.Name)
			return ctx
		}).Build()
		conf.ToolCallingModel = script(turn{}.calls("a#1 x"), say("done"))
		_, err := newAgent(t, withTools(conf, toolFunc{name: "a"})).Generate(background, user("hi"),
			agent.WithComposeOptions(compose.WithCallbacks(handler)))
		require.NoError(t, err)
		want := []string{"ReActAgent", "ChatModel", "Tools", "a", "ChatModel"}
		if conf.GraphName != "" {
			want = []string{"g", "m", "t", "a", "m"}
		}
		require.Equal(t, want, names)
	}
}

func TestReact_UserCodeThatPanicsFailsTheRun(t *testing.T) {
	explode := func(context.Context, []*schema.Message) []*schema.Message { panic(errBoom) }
	for name, conf := range map[string]AgentConfig{
		"modifier": {MessageModifier: explode},
		"rewriter": {MessageRewriter: explode},
	} {
		t.Run(name, func(t *testing.T) {
			inBothForms(t, func(t *testing.T, run runner) {
				conf.ToolCallingModel = script(say("x"))
				_, err := run(newAgent(t, &conf), user("hi"))
				require.ErrorIs(t, err, errBoom)
			})
		})
	}
	inBothForms(t, func(t *testing.T, run runner) {
		m := script(turn{}.calls("a#1 x"))
		_, err := run(newAgent(t, withTools(AgentConfig{ToolCallingModel: m},
			toolFunc{name: "a", run: func(context.Context, string) (string, error) {
				panic(errBoom)
			}})), user("hi"))
		require.ErrorIs(t, err, errBoom)
	})
}
