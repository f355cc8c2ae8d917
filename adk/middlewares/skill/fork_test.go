package skill

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/middlewares/approval"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// agentHub makes agents by a function.
type agentHub[M adk.MessageType] func(name string, m model.BaseModel[M]) (adk.TypedAgent[M], error)

func (h agentHub[M]) Get(_ context.Context, name string, opts *TypedAgentHubOptions[M]) (adk.TypedAgent[M], error) {
	return h(name, opts.Model)
}

// saying is an agent whose run has these events.
type saying[M adk.MessageType] []*adk.TypedAgentEvent[M]

func (saying[M]) Name(context.Context) string        { return "saying" }
func (saying[M]) Description(context.Context) string { return "says what it was made with" }
func (s saying[M]) Run(context.Context, *adk.TypedAgentInput[M],
	...adk.AgentRunOption,
) *adk.AsyncIterator[*adk.TypedAgentEvent[M]] {
	if s == nil {
		return nil
	}
	iterator, generator := adk.NewAsyncIteratorPair[*adk.TypedAgentEvent[M]]()
	for _, e := range s {
		generator.Send(e)
	}
	generator.Close()
	return iterator
}

func forked(mode ContextMode) Skill {
	s := slides
	s.Context, s.Agent = mode, "painter"
	return s
}

// Rule batteries/SK-9.
func TestFork_ConfigurationErrors(t *testing.T) {
	boom := errors.New("boom")
	withModel := forked(ContextModeFork)
	withModel.Model = "strong"
	failing := agentHub[*schema.Message](func(string, model.BaseChatModel) (adk.Agent, error) { return nil, boom })
	empty := agentHub[*schema.Message](func(string, model.BaseChatModel) (adk.Agent, error) { return nil, nil })
	var nilHub agentHub[*schema.Message]
	for _, c := range []struct {
		skill  Skill
		config Config
		err    string
	}{
		{forked(ContextModeFork), Config{}, "skill 'slides' requires context:fork but AgentHub is not configured"},
		{forked(ContextModeForkWithContext), Config{AgentHub: nilHub},
			"skill 'slides' requires context:fork_with_context but AgentHub is not configured"},
		{withModel, Config{AgentHub: failing}, "skill 'slides' requires model 'strong' but ModelHub is not configured"},
		{withModel, Config{AgentHub: failing, ModelHub: modelHub[*schema.Message]{}},
			"failed to get model 'strong' from ModelHub: no such model"},
		{forked(ContextModeFork), Config{AgentHub: failing}, "failed to get agent 'painter' from AgentHub: boom"},
		{forked(ContextModeFork), Config{AgentHub: empty},
			"failed to get agent 'painter' from AgentHub: it returned neither an agent nor an error"},
	} {
		c.config.Backend = withSkills(c.skill)
		_, err := newTool(t, &c.config).InvokableRun(t.Context(), `{"skill":"slides"}`)
		require.EqualError(t, err, c.err)
	}
}

// Rules batteries/SK-10, batteries/SK-12.
func TestFork_RunsTheAgentOfTheSkill(t *testing.T) {
	t.Run("message", testFork[*schema.Message])
	t.Run("agentic", testFork[*schema.AgenticMessage])
}

func testFork[M adk.MessageType](t *testing.T) {
	s := forked(ContextModeFork)
	s.Model = "strong"
	strong := adktest.NewTypedModel[M](t,
		adktest.Says("Let me see.").Calling(adktest.Call("brush", `{}`)).
			Seeing("user: Launching skill: slides\nBase directory for this skill: /skills/slides\n\nUse few words."),
		adktest.Says("Painted."),
	)
	hub := agentHub[M](func(name string, m model.BaseModel[M]) (adk.TypedAgent[M], error) {
		require.Equal(t, "painter", name)
		return adk.NewTypedChatModelAgent(context.Background(), &adk.TypedChatModelAgentConfig[M]{
			Name: name, Model: m, ToolsConfig: adktest.Tools(adktest.NewTool("brush", adktest.Says("red")))})
	})
	m, err := NewTyped(t.Context(),
		&TypedConfig[M]{Backend: withSkills(s), AgentHub: hub, ModelHub: modelHub[M]{"strong", strong}})
	require.NoError(t, err)
	var results string
	if _, ok := any(*new(M)).(*schema.Message); ok {
		results = "Let me see.\nred\nPainted."
	} else {
		results = "Let me see.\nPainted." // of agentic messages only what a model wrote is text
	}
	agent, err := adk.NewTypedChatModelAgent(t.Context(), &adk.TypedChatModelAgentConfig[M]{
		Name: "artist",
		Model: adktest.NewTypedModel[M](t,
			adktest.Calls(adktest.Call("skill", `{"skill":"slides"}`)),
			adktest.Says("Done.").SeeingLast("tool skill#call_1: Skill \"slides\" completed (sub-agent execution).\n\nResult:\n"+
				results),
		),
		Handlers: []adk.TypedChatModelAgentMiddleware[M]{m},
	})
	require.NoError(t, err)
	adktest.Ask(t.Context(), t, agent, "Make slides.").ExpectText("Done.")
}

// Rule batteries/SK-10.
func TestFork_WithContextGetsTheHistory(t *testing.T) {
	t.Run("message", testForkWithContext[*schema.Message])
	t.Run("agentic", testForkWithContext[*schema.AgenticMessage])
}

func testForkWithContext[M adk.MessageType](t *testing.T) {
	painter := adktest.NewTypedModel[M](t, adktest.Says("Painted.").SeeingLast(
		"user: Make slides.",
		`assistant: [skill#call_1 {"skill":"slides"}] [slow#call_2 {}]`,
		"tool slow#call_2: "+siblingNote,
		"tool skill#call_1: Launching skill: slides\nBase directory for this skill: /skills/slides\n\nUse few words.",
	))
	hub := agentHub[M](func(name string, m model.BaseModel[M]) (adk.TypedAgent[M], error) {
		require.Nil(t, m)
		return adk.NewTypedChatModelAgent(context.Background(), &adk.TypedChatModelAgentConfig[M]{Name: name, Model: painter})
	})
	m, err := NewTyped(t.Context(),
		&TypedConfig[M]{Backend: withSkills(forked(ContextModeForkWithContext)), AgentHub: hub})
	require.NoError(t, err)
	agent, err := adk.NewTypedChatModelAgent(t.Context(), &adk.TypedChatModelAgentConfig[M]{
		Name: "artist",
		Model: adktest.NewTypedModel[M](t,
			adktest.Calls(adktest.Call("skill", `{"skill":"slides"}`), adktest.Call("slow", `{}`)),
			adktest.Says("Done.")),
		ToolsConfig: adktest.Tools(adktest.NewTool("slow")),
		Handlers:    []adk.TypedChatModelAgentMiddleware[M]{m},
	})
	require.NoError(t, err)
	adktest.Ask(t.Context(), t, agent, "Make slides.").ExpectText("Done.")
}

// A tool that starts while the model is still writing finds a history without its own call.
// Rule batteries/SK-10.
func TestFork_CallNotInTheHistoryYet(t *testing.T) {
	f := &fork[*schema.Message]{middleware: &middleware[*schema.Message]{toolName: "skill"}}
	got := f.answered(&SubAgentInput{ToolCallID: "c2", RawArguments: "{}", SkillContent: "text", History: []adk.Message{
		schema.UserMessage("hi"), schema.AssistantMessage("",
			[]schema.ToolCall{{ID: "c1", Function: schema.FunctionCall{Name: "x"}}}),
		schema.ToolMessage("done", "c1", schema.WithToolName("x"))}})
	require.Equal(t, []string{"user: hi", "assistant: [x#c1 ]", "tool x#c1: done", "assistant: [skill#c2 {}]",
		"tool skill#c2: text"},
		adktest.Lines(got))
}

// Rule batteries/SK-10.
func TestFork_NoState(t *testing.T) {
	hub := agentHub[*schema.Message](func(string, model.BaseChatModel) (adk.Agent, error) {
		return saying[*schema.Message]{}, nil
	})
	_, err := newTool(t, &Config{Backend: withSkills(forked(ContextModeForkWithContext)),
		AgentHub: hub}).InvokableRun(t.Context(), `{"skill":"slides"}`)
	require.ErrorContains(t, err, "failed to get messages from state: ")
	agentic := agentHub[*schema.AgenticMessage](func(
		string, model.AgenticModel,
	) (adk.TypedAgent[*schema.AgenticMessage], error) {
		return saying[*schema.AgenticMessage]{}, nil
	})
	_, err = newTool(t, &TypedConfig[*schema.AgenticMessage]{Backend: withSkills(forked(ContextModeForkWithContext)),
		AgentHub: agentic}).
		InvokableRun(t.Context(), `{"skill":"slides"}`)
	require.ErrorContains(t, err, "failed to get messages from state: ")
}

func said(text string) *adk.AgentEvent {
	return adk.EventFromMessage(schema.AssistantMessage(text, nil), nil, schema.Assistant, "")
}

// Rules batteries/SK-10, batteries/SK-12.
func TestFork_CustomFunctions(t *testing.T) {
	boom := errors.New("boom")
	var in SubAgentInput
	var out SubAgentOutput
	var askFails, formatFails error
	conf := &Config{
		Backend: withSkills(forked(ContextModeFork)),
		AgentHub: agentHub[*schema.Message](func(string, model.BaseChatModel) (adk.Agent, error) {
			return saying[*schema.Message]{said("one"), nil, {}, said(""), said("two")}, nil
		}),
		BuildForkMessages: func(_ context.Context, i SubAgentInput) ([]adk.Message, error) {
			in = i
			return nil, askFails
		},
		FormatForkResult: func(_ context.Context, o SubAgentOutput) (string, error) {
			out = o
			return "formatted", formatFails
		},
	}
	raw := `{"skill":"slides"}`
	got, err := newTool(t, conf).InvokableRun(t.Context(), raw)
	require.NoError(t, err)
	require.Equal(t, "formatted", got)
	require.Equal(t, SubAgentInput{Skill: forked(ContextModeFork), Mode: ContextModeFork, RawArguments: raw,
		SkillContent: "Launching skill: slides\nBase directory for this skill: /skills/slides\n\nUse few words."}, in)
	require.Equal(t, []string{"one", "two"}, out.Results)
	require.Equal(t, []string{"assistant: one", "assistant:", "assistant: two"}, adktest.Lines(out.Messages))
	require.Equal(t, raw, out.RawArguments)

	formatFails = boom
	_, err = newTool(t, conf).InvokableRun(t.Context(), raw)
	require.EqualError(t, err, "failed to format fork result: boom")
	askFails = boom
	_, err = newTool(t, conf).InvokableRun(t.Context(), raw)
	require.EqualError(t, err, "failed to build fork messages: boom")
}

// Rule batteries/SK-11.
func TestFork_ErrorsOfTheAgent(t *testing.T) {
	boom := errors.New("boom")
	broken := func() adk.MessageStream {
		r, w := schema.Pipe[adk.Message](2)
		w.Send(schema.AssistantMessage("one", nil), nil)
		w.Send(nil, boom)
		w.Close()
		return r
	}
	for _, c := range []struct {
		agent saying[*schema.Message]
		err   string
	}{
		{saying[*schema.Message]{said("one"), {Err: boom}}, "failed to run agent event: boom"},
		{saying[*schema.Message]{adk.EventFromMessage(nil, broken(), schema.Assistant, "")},
			"failed to get message from event: "},
		{nil, "failed to run agent event: the agent returned no events"},
	} {
		hub := agentHub[*schema.Message](func(string, model.BaseChatModel) (adk.Agent, error) { return c.agent, nil })
		if c.agent == nil {
			hub = func(string, model.BaseChatModel) (adk.Agent, error) { return mute{}, nil }
		}
		_, err := newTool(t, &Config{Backend: withSkills(forked(ContextModeFork)), AgentHub: hub}).InvokableRun(t.Context(),
			`{"skill":"slides"}`)
		require.ErrorContains(t, err, c.err)
	}
}

// mute is an agent that returns no events at all.
type mute struct{ saying[*schema.Message] }

// TestFork_NothingSaid: an agent that says nothing has carried out the skill, too.
// Rule batteries/SK-12.
func TestFork_NothingSaid(t *testing.T) {
	hub := agentHub[*schema.Message](func(string, model.BaseChatModel) (adk.Agent, error) {
		return saying[*schema.Message]{}, nil
	})
	got, err := newTool(t, &Config{Backend: withSkills(forked(ContextModeFork)), AgentHub: hub}).InvokableRun(t.Context(),
		`{"skill":"slides"}`)
	require.NoError(t, err)
	require.Equal(t, "Skill \"slides\" completed (sub-agent execution).\n\nResult:\n", got)
}

// Rule batteries/B13.16.
func TestFork_InterruptAndResume(t *testing.T) {
	for _, mode := range []ContextMode{ContextModeFork, ContextModeForkWithContext} {
		t.Run("message "+string(mode), func(t *testing.T) { testInterrupt[*schema.Message](t, mode) })
		t.Run("agentic "+string(mode), func(t *testing.T) { testInterrupt[*schema.AgenticMessage](t, mode) })
	}
}

// asking is a tool that asks the user.
type asking struct{ *adktest.Tool }

func (asking) InvokableRun(ctx context.Context, _ string, _ ...tool.Option) (string, error) {
	if target, ok, answer := tool.GetResumeContext[string](ctx); target && ok {
		return answer, nil
	}
	return "", tool.Interrupt(ctx, "which colour?")
}

// An interrupt of the agent stops the run, and the resumed run continues in the agent.
func testInterrupt[M adk.MessageType](t *testing.T, mode ContextMode) {
	painter := adktest.NewTypedModel[M](t,
		adktest.Calls(adktest.Call("ask", `{}`)),
		adktest.Says("Painted.").SeeingLast("tool ask#call_1: red"))
	hub := agentHub[M](func(name string, m model.BaseModel[M]) (adk.TypedAgent[M], error) {
		return adk.NewTypedChatModelAgent(context.Background(), &adk.TypedChatModelAgentConfig[M]{
			Name: name, Model: painter, ToolsConfig: adktest.Tools(asking{adktest.NewTool("ask")})})
	})
	m, err := NewTyped(t.Context(), &TypedConfig[M]{Backend: withSkills(forked(mode)), AgentHub: hub})
	require.NoError(t, err)
	agent, err := adk.NewTypedChatModelAgent(t.Context(), &adk.TypedChatModelAgentConfig[M]{
		Name: "artist",
		Model: adktest.NewTypedModel[M](t,
			adktest.Calls(adktest.Call("skill", `{"skill":"slides"}`)),
			adktest.Says("Done.")),
		Handlers: []adk.TypedChatModelAgentMiddleware[M]{m},
	})
	require.NoError(t, err)
	runner := adk.NewTypedRunner(adk.TypedRunnerConfig[M]{Agent: agent, CheckPointStore: adktest.NewStore()})
	stopped := adktest.Collect(t, runner.Query(t.Context(), "Make slides.",
		adk.WithCheckPointID("1"))).ExpectNoError().All()
	points := stopped[len(stopped)-1].Action.Interrupted.InterruptContexts
	require.Len(t, points, 1)
	require.Equal(t, "which colour?", points[0].Info)

	events, err := runner.ResumeWithParams(t.Context(), "1",
		&adk.ResumeParams{Targets: map[string]any{points[0].ID: "red"}})
	require.NoError(t, err)
	adktest.Collect(t, events).ExpectText("Done.")
	require.Len(t, painter.Calls(), 2, "nothing is done twice")
}

// TestFork_BehindApproval: a skill that may run is carried out with all that it has to know.
func TestFork_BehindApproval(t *testing.T) {
	painter := adktest.NewModel(t,
		adktest.Says("Painted.").SeeingLast("user: Launching skill: slides\nBase directory for this skill: /skills/slides\n\nUse few words."))
	hub := agentHub[*schema.Message](func(name string, _ model.BaseChatModel) (adk.Agent, error) {
		return adk.NewChatModelAgent(context.Background(), &adk.ChatModelAgentConfig{Name: name, Model: painter})
	})
	skills, err := NewMiddleware(t.Context(), &Config{Backend: withSkills(forked(ContextModeFork)), AgentHub: hub})
	require.NoError(t, err)
	ask, err := approval.New(t.Context(), &approval.Config{Tools: []string{"skill"}})
	require.NoError(t, err)
	agent, err := adk.NewChatModelAgent(t.Context(),
		&adk.ChatModelAgentConfig{Name: "artist", Handlers: []adk.ChatModelAgentMiddleware{ask, skills},
			Model: adktest.NewModel(t, adktest.Calls(adktest.Call("skill", `{"skill":"slides"}`)), adktest.Says("Done."))})
	require.NoError(t, err)
	runner := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent, CheckPointStore: adktest.NewStore()})
	stopped := adktest.Collect(t, runner.Query(t.Context(), "Make slides.",
		adk.WithCheckPointID("1"))).ExpectNoError().All()
	point := stopped[len(stopped)-1].Action.Interrupted.InterruptContexts[0]
	events, err := runner.ResumeWithParams(t.Context(), "1",
		&adk.ResumeParams{Targets: map[string]any{point.ID: point.Info.(*approval.Request).Approve()}})
	require.NoError(t, err)
	adktest.Collect(t, events).ExpectText("Done.")
}
