package planexecute

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/prebuilt/internal/prebuilttest"
	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/prompt"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// binding is a scripted model that takes tools.
type binding struct {
	*adktest.Model[*schema.Message]
	bound *[][]string
	err   error
}

func calling(t *testing.T, script ...adktest.Answer) binding {
	t.Helper()
	return binding{Model: adktest.NewModel(t, script...), bound: new([][]string)}
}

func (b binding) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	var names []string
	for _, info := range tools {
		names = append(names, info.Name)
	}
	*b.bound = append(*b.bound, names)
	return b, b.err
}

func plans(steps ...string) adktest.Answer {
	return adktest.Calls(adktest.Call("plan", planJSON(steps...)))
}

func planJSON(steps ...string) string {
	return `{"steps":["` + strings.Join(steps, `","`) + `"]}`
}

func responds(text string) adktest.Answer {
	return adktest.Calls(adktest.Call("respond", fmt.Sprintf(`{"response":%q}`, text)))
}

func newPlanner(t *testing.T, script ...adktest.Answer) adk.Agent {
	t.Helper()
	a, err := NewPlanner(t.Context(), &PlannerConfig{ToolCallingChatModel: calling(t, script...)})
	require.NoError(t, err)
	return a
}

func executorOf(t *testing.T, m model.BaseChatModel, tools ...tool.BaseTool) adk.Agent {
	t.Helper()
	a, err := NewExecutor(t.Context(), &ExecutorConfig{Model: m, ToolsConfig: adktest.Tools(tools...)})
	require.NoError(t, err)
	return a
}

func newReplanner(t *testing.T, script ...adktest.Answer) adk.Agent {
	t.Helper()
	a, err := NewReplanner(t.Context(), &ReplannerConfig{ChatModel: calling(t, script...)})
	require.NoError(t, err)
	return a
}

func whole(t *testing.T, planner, executor, replanner adk.Agent) adk.ResumableAgent {
	t.Helper()
	a, err := New(t.Context(), &Config{Planner: planner, Executor: executor, Replanner: replanner})
	require.NoError(t, err)
	return a
}

func ask(t *testing.T, a adk.Agent, streaming bool, opts ...adk.AgentRunOption) *adktest.Events[*schema.Message] {
	t.Helper()
	return prebuilttest.Ask(t, a, streaming, "Bake bread.", opts...)
}

func spoken(events *adktest.Events[*schema.Message]) (lines []string) {
	for _, e := range events.All() {
		lines = append(lines, e.AgentName+": "+e.String())
	}
	return lines
}

// session holds what an agent leaves in the session, seen by an agent after it.
type session struct {
	adk.Agent
	left map[string]any
}

func (s *session) Run(ctx context.Context, input *adk.AgentInput,
	opts ...adk.AgentRunOption,
) *adk.AsyncIterator[*adk.AgentEvent] {
	events, out := adk.NewAsyncIteratorPair[*adk.AgentEvent]()
	inner := s.Agent.Run(ctx, input, opts...)
	go func() {
		defer out.Close()
		for e := range inner.All() {
			out.Send(e)
		}
		s.left = adk.GetSessionValues(ctx)
	}()
	return events
}

func TestPlan_Default(t *testing.T) {
	p := newDefaultPlan(t.Context())
	require.Equal(t, "", p.FirstStep())
	text, err := p.MarshalJSON()
	require.NoError(t, err)
	require.Equal(t, `{"steps":[]}`, string(text))
	require.NoError(t, p.UnmarshalJSON([]byte(`{"steps":["a < b","c"]}`)))
	require.Equal(t, "a < b", p.FirstStep())
	text, err = p.MarshalJSON()
	require.NoError(t, err)
	require.Equal(t, `{"steps":["a < b","c"]}`, string(text))
	require.Error(t, p.UnmarshalJSON([]byte(`{"steps":`)))
	require.Equal(t, "a < b", p.FirstStep())
}

func TestToolInfos(t *testing.T) {
	for _, c := range []struct {
		info     schema.ToolInfo
		name     string
		property string
		typ      string
	}{{PlanToolInfo, "plan", "steps", "array"}, {RespondToolInfo, "respond", "response", "string"}} {
		require.Equal(t, c.name, c.info.Name)
		s, err := c.info.ToJSONSchema()
		require.NoError(t, err)
		require.Equal(t, []string{c.property}, s.Required)
		p, ok := s.Properties.Get(c.property)
		require.True(t, ok)
		require.Equal(t, c.typ, p.Type)
	}
}

// Rule batteries/B13.19.
func TestNew_InvalidConfig(t *testing.T) {
	a := executorOf(t, adktest.NewModel(t))
	failing := calling(t)
	failing.err = errors.New("no tools here")
	for name, c := range map[string]struct {
		make func() (any, error)
		err  string
	}{
		"nil":        {func() (any, error) { return New(t.Context(), nil) }, "the config is nil"},
		"no planner": {func() (any, error) { return New(t.Context(), &Config{}) }, "Config.Planner is required"},
		"no executor": {func() (any, error) { return New(t.Context(), &Config{Planner: a}) },
			"Config.Executor is required"},
		"no replanner": {func() (any, error) { return New(t.Context(), &Config{Planner: a, Executor: a}) },
			"Config.Replanner is required"},
		"planner nil": {func() (any, error) { return NewPlanner(t.Context(), nil) }, "the config is nil"},
		"planner model": {func() (any, error) { return NewPlanner(t.Context(), &PlannerConfig{}) },
			"set ChatModelWithFormattedOutput or ToolCallingChatModel"},
		"planner tools": {func() (any, error) {
			return NewPlanner(t.Context(), &PlannerConfig{ToolCallingChatModel: failing})
		}, "no tools here"},
		"executor nil": {func() (any, error) { return NewExecutor(t.Context(), nil) }, "the config is nil"},
		"executor model": {func() (any, error) { return NewExecutor(t.Context(), &ExecutorConfig{}) },
			"agent 'Model' is required"},
		"replanner nil": {func() (any, error) { return NewReplanner(t.Context(), nil) }, "the config is nil"},
		"replanner model": {func() (any, error) { return NewReplanner(t.Context(), &ReplannerConfig{}) },
			"ChatModel is required"},
		"replanner tools": {func() (any, error) { return NewReplanner(t.Context(), &ReplannerConfig{ChatModel: failing}) },
			"no tools here"},
		"one name twice": {func() (any, error) {
			return NewReplanner(t.Context(), &ReplannerConfig{ChatModel: calling(t), PlanTool: &RespondToolInfo})
		}, `have the same name "respond"`},
		"nil pointer": {func() (any, error) {
			return NewReplanner(t.Context(), &ReplannerConfig{ChatModel: (*binding)(nil)})
		}, "nil *binding pointer"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.make()
			require.ErrorContains(t, err, c.err)
		})
	}
}

// Rule batteries/PE-1.
func TestNew_Names(t *testing.T) {
	for name, a := range map[string]adk.Agent{
		"planner": newPlanner(t), "executor": executorOf(t, adktest.NewModel(t)), "replanner": newReplanner(t),
	} {
		require.Equal(t, name, a.Name(t.Context()))
		article := "a "
		if name == "executor" {
			article = "an "
		}
		require.Equal(t, article+name+" agent", a.Description(t.Context()))
	}
	a := whole(t, newPlanner(t), executorOf(t, adktest.NewModel(t)), newReplanner(t))
	require.Equal(t, "plan_execute_replan", a.Name(t.Context()))
}

// Rules batteries/B13.18, batteries/PE-3.
func TestPlanner_TakesThePlanFromTheToolCall(t *testing.T) {
	prebuilttest.Modes(t, func(t *testing.T, streaming bool) {
		one := func(args string) *schema.Message {
			zero := 0
			return schema.AssistantMessage("",
				[]schema.ToolCall{{Index: &zero, ID: "1", Function: schema.FunctionCall{Name: "plan", Arguments: args}}})
		}
		other := func(args string) *schema.Message {
			index := 1
			return schema.AssistantMessage("",
				[]schema.ToolCall{{Index: &index, ID: "2", Function: schema.FunctionCall{Name: "plan", Arguments: args}}})
		}
		m := calling(t, adktest.Messages(schema.AssistantMessage("Let me think.", nil), one(`{"steps":`), other(`{"st`),
			one(`["knead"]}`), other(`eps":[]}`)).
			Offered("plan"))
		a, err := NewPlanner(t.Context(), &PlannerConfig{ToolCallingChatModel: m})
		require.NoError(t, err)
		s := &session{Agent: a}
		events := ask(t, s, streaming).Expect(`assistant: {"steps":["knead"]}`).All()
		require.Equal(t, streaming, events[0].Output.MessageOutput.IsStreaming)
		require.Equal(t, schema.Assistant, events[0].Output.MessageOutput.Role)
		if streaming {
			require.Equal(t, []string{`assistant: {"steps":`, `assistant: ["knead"]}`}, adktest.Lines(events[0].Chunks))
		}
		require.Equal(t, &defaultPlan{Steps: []string{"knead"}}, s.left[PlanSessionKey])
		require.Equal(t, []adk.Message{schema.UserMessage("Bake bread.")}, s.left[UserInputSessionKey])
		require.Equal(t, [][]string{{"plan"}}, *m.bound, "WithTools is called once")
		call := m.Calls()[0]
		require.True(t, call.Streaming, "the model is always called for a stream")
		require.Equal(t, schema.ToolChoiceForced, *call.Options.ToolChoice)
		require.Equal(t, "user: Bake bread.", call.Lines[1])
	})
}

// Rule batteries/PE-2.
func TestPlanner_FormattedOutputWins(t *testing.T) {
	prebuilttest.Modes(t, func(t *testing.T, streaming bool) {
		m := adktest.NewModel(t, adktest.Streams(`{"steps":["kn`, `ead"]}`))
		a, err := NewPlanner(t.Context(), &PlannerConfig{ChatModelWithFormattedOutput: m, ToolCallingChatModel: calling(t),
			GenInputFn: func(_ context.Context, in []adk.Message) ([]adk.Message, error) {
				return append(in, schema.UserMessage("Now.")), nil
			}})
		require.NoError(t, err)
		s := &session{Agent: a}
		ask(t, s, streaming).Expect(`assistant: {"steps":["knead"]}`)
		require.Equal(t, "knead", s.left[PlanSessionKey].(Plan).FirstStep())
		call := m.Calls()[0]
		require.Equal(t, []string{"user: Bake bread.", "user: Now."}, call.Lines)
		require.Empty(t, call.Implementation, "the model is called as it is")
		require.True(t, call.Streaming)
	})
}

// Rule batteries/PE-3.
func TestPlanner_InputIsThereAtOnce(t *testing.T) {
	release := make(chan struct{})
	a := newPlanner(t, plans("knead").When(release))
	var seen any
	early := &early{Agent: a,
		after: func(ctx context.Context) { seen, _ = adk.GetSessionValue(ctx, UserInputSessionKey); close(release) }}
	adktest.Ask(t.Context(), t, early, "Bake bread.").ExpectNoError()
	require.Equal(t, []adk.Message{schema.UserMessage("Bake bread.")}, seen)
}

// early looks at what is there when Run has returned.
type early struct {
	adk.Agent
	after func(context.Context)
}

func (e *early) Run(ctx context.Context, input *adk.AgentInput,
	opts ...adk.AgentRunOption,
) *adk.AsyncIterator[*adk.AgentEvent] {
	events := e.Agent.Run(ctx, input, opts...)
	e.after(ctx)
	return events
}

// Rule batteries/PE-3.
func TestPlanner_Errors(t *testing.T) {
	broken := errors.New("line is busy")
	prebuilttest.Modes(t, func(t *testing.T, streaming bool) {
		for _, c := range []struct {
			name  string
			reply adktest.Answer
			err   string
		}{
			{"no call", adktest.Says("I would rather not."), "no tool call"},
			{"bad JSON", adktest.Calls(adktest.Call("plan", `{"steps"`)), "unmarshal plan error: "},
			{"model fails", adktest.Fails(broken), broken.Error()},
			{"breaks off", plans("a").ThenFails(broken), broken.Error()},
			{"panics", adktest.Panics("oh"), "panic error: oh"},
		} {
			t.Run(c.name, func(t *testing.T) {
				s := &session{Agent: newPlanner(t, c.reply)}
				events := ask(t, s, streaming)
				require.ErrorContains(t, events.Err(), c.err)
				require.NotContains(t, s.left, PlanSessionKey)
			})
		}
		none, err := NewPlanner(t.Context(),
			&PlannerConfig{ToolCallingChatModel: calling(t, plans("a")), NewPlan: func(context.Context) Plan { return nil }})
		require.NoError(t, err)
		require.ErrorContains(t, ask(t, none, streaming).Err(), "NewPlan returned nil")
		panics, err := NewPlanner(t.Context(), &PlannerConfig{ToolCallingChatModel: calling(t),
			GenInputFn: func(context.Context, []adk.Message) ([]adk.Message, error) { panic("ouch") }})
		require.NoError(t, err)
		require.ErrorContains(t, ask(t, panics, streaming).Err(), "ouch")
	})
}

// done are session values after a first step.
func done(steps ...ExecutedStep) adk.AgentRunOption {
	values := map[string]any{
		UserInputSessionKey:    []adk.Message{schema.UserMessage("Bake bread."), schema.UserMessage("Two loaves.")},
		PlanSessionKey:         &defaultPlan{Steps: []string{"knead", "bake"}},
		ExecutedStepSessionKey: "a fine dough",
	}
	if steps != nil {
		values[ExecutedStepsSessionKey] = steps
	}
	return adk.WithSessionValues(values)
}

// Rules batteries/PE-4, batteries/PE-5.
func TestExecutor_Input(t *testing.T) {
	prebuilttest.Modes(t, func(t *testing.T, streaming bool) {
		m := adktest.NewModel(t, adktest.Says("kneaded"))
		s := &session{Agent: executorOf(t, m)}
		ask(t, s, streaming, done(ExecutedStep{"buy flour", "2 kg"})).ExpectText("kneaded")
		require.Equal(t, "kneaded", s.left[ExecutedStepSessionKey])
		call := m.Calls()[0]
		require.Equal(t, streaming, call.Streaming)
		for _, want := range []string{"Bake bread.\nTwo loaves.\n", `{"steps":["knead","bake"]}`,
			"Step: buy flour\nResult: 2 kg\n\n", "## Your step\nknead"} {
			require.Contains(t, call.Lines[1], want)
		}
	})
	var got *ExecutionContext
	a, err := NewExecutor(t.Context(), &ExecutorConfig{Model: adktest.NewModel(t, adktest.Says("ok").Seeing("user: mine")),
		GenInputFn: func(_ context.Context, in *ExecutionContext) ([]adk.Message, error) {
			got = in
			return []adk.Message{schema.UserMessage("mine")}, nil
		}})
	require.NoError(t, err)
	ask(t, a, false, done()).ExpectText("ok")
	require.Equal(t, "knead", got.Plan.FirstStep())
	require.Empty(t, got.ExecutedSteps)
}

// Rule batteries/PE-11.
func TestPrompts_SayWhatTheyMust(t *testing.T) {
	values := map[string]any{"input": []*schema.Message{schema.UserMessage("q")}, "plan": "p", "executed_steps": "e",
		"step": "s", "plan_tool": "PLAN", "respond_tool": "RESPOND"}
	for _, c := range []struct {
		prompt *prompt.DefaultChatTemplate
		wants  []string
	}{
		{PlannerPrompt, []string{"expert planner", "specific", "self-contained", "whatever it builds on comes before it",
			"A good plan"}},
		{ExecutorPrompt, []string{"careful", "executor", "## Objective\n", "## The plan\np", "results\ne",
			"## Your step\ns"}},
		{ReplannerPrompt, []string{"exactly one", "call 'RESPOND'", "call 'PLAN'", "remaining steps only", "How to decide",
			"How to plan"}},
	} {
		messages, err := c.prompt.Format(t.Context(), values)
		require.NoError(t, err)
		text := strings.Join(adktest.Lines(messages), "\n")
		for _, want := range c.wants {
			require.Contains(t, text, want)
		}
	}
}

// The names are in checkpoints.
// Rule batteries/PE-9.
func TestSession_RegisteredNames(t *testing.T) {
	for name, value := range map[string]any{
		"_eino_adk_plan_execute_default_plan":   &defaultPlan{Steps: []string{"a"}},
		"_eino_adk_plan_execute_executed_step":  ExecutedStep{"a", "b"},
		"_eino_adk_plan_execute_executed_steps": []ExecutedStep{{"a", "b"}},
	} {
		var saved bytes.Buffer
		require.NoError(t, gob.NewEncoder(&saved).Encode(&value))
		require.Contains(t, saved.String(), name)
		var restored any
		require.NoError(t, gob.NewDecoder(&saved).Decode(&restored))
		require.Equal(t, value, restored)
	}
}

// Rule batteries/B13.18.
func TestSession_MissingOrOfAnotherType(t *testing.T) {
	input, plan := []adk.Message{schema.UserMessage("x")}, &defaultPlan{Steps: []string{"a"}}
	for _, c := range []struct {
		name   string
		values map[string]any
		err    string
	}{
		{"nothing", nil, `the session has no value "UserInput": the planner must run before`},
		{"no plan", map[string]any{"UserInput": input}, `the session has no value "Plan"`},
		{"nil plan", map[string]any{"UserInput": input, "Plan": nil}, `the session has no value "Plan"`},
		{"other input", map[string]any{"UserInput": "x", "Plan": plan},
			`the session value "UserInput" is a string, not a []*schema.Message`},
		{"other plan", map[string]any{"UserInput": input, "Plan": "x"},
			`the session value "Plan" is a string, not a planexecute.Plan`},
		{"other steps", map[string]any{"UserInput": input, "Plan": plan, "ExecutedStep": "x", "ExecutedSteps": 1},
			`the session value "ExecutedSteps" is a int`},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, a := range []adk.Agent{executorOf(t, adktest.NewModel(t)), newReplanner(t)} {
				require.ErrorContains(t, adktest.Ask(t.Context(), t, a, "Go.", adk.WithSessionValues(c.values)).Err(), c.err)
			}
		})
	}
	nothingDone := adk.WithSessionValues(map[string]any{"UserInput": input, "Plan": plan})
	require.ErrorContains(t, adktest.Ask(t.Context(), t, newReplanner(t), "Go.", nothingDone).Err(),
		"the executor must run before")
}

// Rules batteries/PE-6, batteries/PE-7.
func TestReplanner_PlansOrResponds(t *testing.T) {
	prebuilttest.Modes(t, func(t *testing.T, streaming bool) {
		t.Run("plans", func(t *testing.T) {
			m := calling(t, plans("bake").Offered("plan", "respond"))
			a, err := NewReplanner(t.Context(), &ReplannerConfig{ChatModel: m})
			require.NoError(t, err)
			s := &session{Agent: a}
			ask(t, s, streaming, done(ExecutedStep{"buy flour", "2 kg"})).Expect(`assistant: {"steps":["bake"]}`)
			require.Equal(t, &defaultPlan{Steps: []string{"bake"}}, s.left[PlanSessionKey])
			require.Equal(t, []ExecutedStep{{"buy flour", "2 kg"}, {"knead", "a fine dough"}}, s.left[ExecutedStepsSessionKey])
			call := m.Calls()[0]
			require.True(t, call.Streaming)
			require.Equal(t, schema.ToolChoiceForced, *call.Options.ToolChoice)
			require.Contains(t, call.Lines[0], "call 'respond'")
			require.Contains(t, call.Lines[0], "call 'plan'")
			require.Contains(t, call.Lines[1], "Step: knead\nResult: a fine dough\n\n")
			require.Equal(t, [][]string{{"plan", "respond"}}, *m.bound)
		})
		t.Run("responds", func(t *testing.T) {
			s := &session{Agent: newReplanner(t, responds("Bread!"))}
			events := ask(t, s, streaming, done()).Expect(`assistant: {"response":"Bread!"}`, "break loop").All()
			require.Equal(t, &adk.BreakLoopAction{From: "replanner"}, events[1].Action.BreakLoop)
			require.Equal(t, "replanner", events[1].AgentName)
			require.Equal(t, &defaultPlan{Steps: []string{"knead", "bake"}}, s.left[PlanSessionKey])
		})
		for name, c := range map[string]struct {
			reply adktest.Answer
			err   string
		}{
			"bad JSON":   {adktest.Calls(adktest.Call("plan", `{`)), "unmarshal plan error: "},
			"other tool": {adktest.Calls(adktest.Call("dance", `{}`)), "unexpected tool call: dance"},
			"no call":    {adktest.Says("Done!"), "no tool call"},
		} {
			t.Run(name, func(t *testing.T) {
				s := &session{Agent: newReplanner(t, c.reply)}
				require.ErrorContains(t, ask(t, s, streaming, done()).Err(), c.err)
				require.Equal(t, &defaultPlan{Steps: []string{"knead", "bake"}}, s.left[PlanSessionKey], "the old plan is kept")
			})
		}
	})
}

// Compiling a graph takes thousands of allocations.
// Rule batteries/B13.28.
func TestPlanner_NothingIsCompiledInARun(t *testing.T) {
	m := calling(t, plans("a").Repeated())
	planner, err := NewPlanner(t.Context(), &PlannerConfig{ToolCallingChatModel: m})
	require.NoError(t, err)
	runner := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: planner})
	allocs := testing.AllocsPerRun(10,
		func() { adktest.Collect(t, runner.Query(t.Context(), "Bake bread.")).ExpectNoError() })
	require.Less(t, allocs, 400.0)
	require.Len(t, *m.bound, 1)
}

// Rule batteries/PE-8.
func TestNew_PlansExecutesAndReplans(t *testing.T) {
	prebuilttest.Modes(t, func(t *testing.T, streaming bool) {
		executor := adktest.NewModel(t, adktest.Says("a fine dough"), adktest.Says("a loaf"))
		a := whole(t, newPlanner(t, plans("knead", "bake")), executorOf(t, executor),
			newReplanner(t, plans("bake"), responds("Bread!")))
		events := ask(t, a, streaming)
		require.Equal(t, []string{
			`planner: assistant: {"steps":["knead","bake"]}`,
			"executor: assistant: a fine dough",
			`replanner: assistant: {"steps":["bake"]}`,
			"executor: assistant: a loaf",
			`replanner: assistant: {"response":"Bread!"}`,
			"replanner: break loop",
		}, spoken(events))
		all := events.All()
		require.Equal(t, &adk.BreakLoopAction{From: "replanner", Done: true, CurrentIterations: 1},
			all[len(all)-1].Action.BreakLoop)
		require.Contains(t, executor.Calls()[1].Lines[1], "Step: knead\nResult: a fine dough\n\n")
		require.Contains(t, executor.Calls()[1].Lines[1], "## Your step\nbake")
	})
}

// Rule batteries/PE-8.
func TestNew_MaxIterations(t *testing.T) {
	for _, c := range []struct{ max, want int }{{0, 10}, {-1, 10}, {2, 2}} {
		executor := adktest.NewModel(t, adktest.Says("done").Repeated())
		a, err := New(t.Context(), &Config{Planner: newPlanner(t, plans("a")), Executor: executorOf(t, executor),
			Replanner: newReplanner(t, plans("a").Repeated()), MaxIterations: c.max})
		require.NoError(t, err)
		ask(t, a, false).ExpectNoError()
		require.Len(t, executor.Calls(), c.want)
	}
}

// Rule batteries/PE-8.
func TestNew_CustomReplannerExits(t *testing.T) {
	exits, err := adk.NewChatModelAgent(t.Context(),
		&adk.ChatModelAgentConfig{Name: "mine", Description: "exits", Exit: adk.ExitTool{},
			Model: adktest.NewModel(t, adktest.Calls(adktest.Call("exit", `{"final_result":"ok"}`)))})
	require.NoError(t, err)
	a := whole(t, newPlanner(t, plans("a")), executorOf(t, adktest.NewModel(t, adktest.Says("done"))), exits)
	lines := ask(t, a, false).Lines()
	require.Equal(t, "tool exit#call_1: ok; exit", lines[len(lines)-1])
}

// Rule batteries/PE-9.
func TestResume_ContinuesTheExecutor(t *testing.T) {
	prebuilttest.Modes(t, func(t *testing.T, streaming bool) {
		executor := adktest.NewModel(t, adktest.Says("a fine dough"), adktest.Calls(adktest.Call("ask", "{}")),
			adktest.Says("a loaf").SeeingLast("tool ask#call_1: answered yes"))
		store := adktest.NewStore()
		runner := func(planner, replanner adk.Agent) *adk.Runner {
			a := whole(t, planner, executorOf(t, executor, prebuilttest.Approval()), replanner)
			return adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: a, EnableStreaming: streaming, CheckPointStore: store})
		}
		first := runner(newPlanner(t, plans("knead", "bake")), newReplanner(t, plans("bake")))
		events := adktest.Collect(t, first.Query(t.Context(), "Bake bread.", adk.WithCheckPointID("1"))).All()
		last := events[len(events)-1]
		require.NotNil(t, last.Action, last.String())
		require.Len(t, last.Action.Interrupted.InterruptContexts, 1)
		point := last.Action.Interrupted.InterruptContexts[0]
		require.True(t, point.IsRootCause)

		// Another process continues, with all messages and results from the store.
		m := calling(t, responds("Bread!"))
		replanner, err := NewReplanner(t.Context(), &ReplannerConfig{ChatModel: m})
		require.NoError(t, err)
		resumed, err := runner(newPlanner(t), replanner).ResumeWithParams(t.Context(), "1",
			&adk.ResumeParams{Targets: map[string]any{point.ID: "yes"}})
		require.NoError(t, err)
		require.Equal(t, []string{
			"executor: tool ask#call_1: answered yes",
			"executor: assistant: a loaf",
			`replanner: assistant: {"response":"Bread!"}`,
			"replanner: break loop",
		}, spoken(adktest.Collect(t, resumed)))
		seen := m.Calls()[0].Lines[1]
		require.Contains(t, seen, "Step: knead\nResult: a fine dough\n\nStep: bake\nResult: a loaf\n\n")
		require.Contains(t, seen, "Bake bread.\n")
		require.Contains(t, seen, `{"steps":["bake"]}`)
	})
}

// Rule batteries/PE-10.
func TestCancel_EndsEachPhase(t *testing.T) {
	prebuilttest.Modes(t, func(t *testing.T, streaming bool) {
		synctest.Test(t, func(t *testing.T) {
			for _, who := range []string{"planner", "executor", "replanner"} {
				replies := map[string]adktest.Answer{"planner": plans("knead"), "executor": adktest.Says("dough"),
					"replanner": responds("Bread!")}
				script := func(name string) []adktest.Answer {
					if name == who {
						return []adktest.Answer{adktest.Blocks(), replies[name]}
					}
					return []adktest.Answer{replies[name]}
				}
				a := whole(t, newPlanner(t, script("planner")...), executorOf(t, adktest.NewModel(t, script("executor")...)),
					newReplanner(t, script("replanner")...))
				r := adk.NewRunner(t.Context(),
					adk.RunnerConfig{Agent: a, EnableStreaming: streaming, CheckPointStore: adktest.NewStore()})
				option, cancel := adk.WithCancel()
				it := r.Query(t.Context(), "Bake bread.", adk.WithCheckPointID("1"), option)
				synctest.Wait()
				began := time.Now()
				cancel(adk.WithRecursive())
				var stopped *adk.CancelError
				require.ErrorAs(t, adktest.Collect(t, it).Err(), &stopped, who)
				require.Less(t, time.Since(began), 2*time.Second)

				resumed, err := r.Resume(t.Context(), "1")
				require.NoError(t, err)
				lines := adktest.Collect(t, resumed).ExpectNoError().Lines()
				require.Equal(t, []string{`assistant: {"response":"Bread!"}`, "break loop"}, lines[len(lines)-2:], who)
			}
		})
	})
}

// Rule batteries/PE-10.
func TestCancel_AfterChatModel(t *testing.T) {
	option, cancel := adk.WithCancel()
	calls := adktest.NewModel(t, adktest.Calls(adktest.Call("echo", "{}")), adktest.Says("dough"))
	cancelling := &cancellingModel{calls,
		func() { cancel(adk.WithAgentCancelMode(adk.CancelAfterChatModel), adk.WithRecursive()) }}
	a := whole(t, newPlanner(t, plans("knead")), executorOf(t, cancelling, adktest.NewTool("echo")),
		newReplanner(t, responds("Bread!")))
	r := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: a, CheckPointStore: adktest.NewStore()})
	events := adktest.Collect(t, r.Query(t.Context(), "Bake bread.", adk.WithCheckPointID("1"), option))
	var stopped *adk.CancelError
	require.ErrorAs(t, events.Err(), &stopped)
	require.Equal(t, adk.CancelAfterChatModel, stopped.Info.Mode)
	require.NotEmpty(t, stopped.InterruptContexts)
	resumed, err := r.Resume(t.Context(), "1")
	require.NoError(t, err)
	adktest.Collect(t, resumed).ExpectNoError().ExpectText(`{"response":"Bread!"}`)
}

// cancellingModel cancels the run while it answers.
type cancellingModel struct {
	*adktest.Model[*schema.Message]
	cancel func()
}

func (m *cancellingModel) Generate(
	ctx context.Context, in []*schema.Message, opts ...model.Option,
) (*schema.Message, error) {
	m.cancel()
	return m.Model.Generate(ctx, in, opts...)
}

// selfReporting is a model that fires its callbacks itself.
type selfReporting struct{ binding }

func (selfReporting) IsCallbacksEnabled() bool { return true }
func (selfReporting) GetType() string          { return "Mine" }
func (m selfReporting) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	_, err := m.binding.WithTools(tools)
	return m, err
}
func (m selfReporting) Stream(
	ctx context.Context, in []*schema.Message, opts ...model.Option,
) (*schema.StreamReader[*schema.Message], error) {
	ctx = callbacks.OnStart(ctx, &model.CallbackInput{Messages: in})
	s, err := m.binding.Stream(ctx, in, opts...)
	if err != nil {
		callbacks.OnError(ctx, err)
		return nil, err
	}
	_, s = callbacks.OnEndWithStreamOutput(ctx, s)
	return s, nil
}

// Rule batteries/PE-3.
func TestCallbacks_SeeTheModelsOfPlannerAndReplanner(t *testing.T) {
	broken := errors.New("line is busy")
	prebuilttest.Modes(t, func(t *testing.T, streaming bool) {
		for _, c := range []struct {
			name  string
			wrap  func(binding) model.ToolCallingChatModel
			typ   string
			reply adktest.Answer
			want  []string
		}{
			{"silent", func(b binding) model.ToolCallingChatModel { return selfReporting{b} }, "Mine", plans("a"),
				[]string{"start", "end"}},
			{"plain", func(b binding) model.ToolCallingChatModel { return b }, "binding", plans("a"), []string{"start", "end"}},
			{"fails", func(b binding) model.ToolCallingChatModel { return b }, "binding", adktest.Fails(broken),
				[]string{"start", "error"}},
		} {
			t.Run(c.name, func(t *testing.T) {
				var mu sync.Mutex
				var calls []string
				chains, agents := 0, 0
				hear := func(info *callbacks.RunInfo, what string) {
					mu.Lock()
					defer mu.Unlock()
					if info.Component == components.ComponentOfChatModel {
						calls = append(calls, what)
						require.Equal(t, c.typ, info.Type)
					}
					if info.Component == adk.ComponentOfAgent {
						agents++
					}
				}
				h := callbacks.NewHandlerBuilder().
					OnStartFn(func(ctx context.Context, info *callbacks.RunInfo, in callbacks.CallbackInput) context.Context {
						hear(info, "start")
						return ctx
					}).
					OnStartWithStreamInputFn(func(
						ctx context.Context, info *callbacks.RunInfo, in *schema.StreamReader[callbacks.CallbackInput],
					) context.Context {
						in.Close()
						if info.Component == compose.ComponentOfChain { // and not the graph of an agent
							require.Equal(t, "planner", info.Name)
							chains++
						}
						return ctx
					}).
					OnEndFn(func(ctx context.Context, info *callbacks.RunInfo, _ callbacks.CallbackOutput) context.Context {
						hear(info, "whole end")
						return ctx
					}).
					OnEndWithStreamOutputFn(func(ctx context.Context, info *callbacks.RunInfo,
						out *schema.StreamReader[callbacks.CallbackOutput],
					) context.Context {
						out.Close()
						hear(info, "end")
						return ctx
					}).
					OnErrorFn(func(ctx context.Context, info *callbacks.RunInfo, _ error) context.Context {
						hear(info, "error")
						return ctx
					}).Build()
				a, err := NewPlanner(t.Context(), &PlannerConfig{ToolCallingChatModel: c.wrap(calling(t, c.reply))})
				require.NoError(t, err)
				ask(t, a, streaming, adk.WithCallbacks(h))
				require.Equal(t, c.want, calls)
				require.Equal(t, 1, chains)
				require.Equal(t, 2, agents, "one start and one end")
			})
		}
	})
}

// baker answers each of the three agents in the form that it expects.
type baker struct {
	reply func(in []*schema.Message) *schema.Message
}

func (b baker) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return b, nil }
func (b baker) Generate(_ context.Context, in []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	return b.reply(in), nil
}
func (b baker) Stream(_ context.Context, in []*schema.Message,
	_ ...model.Option,
) (*schema.StreamReader[*schema.Message], error) {
	return schema.StreamReaderFromArray([]*schema.Message{b.reply(in)}), nil
}

func TestNew_Concurrently(t *testing.T) {
	call := func(name, args string) *schema.Message {
		return schema.AssistantMessage("",
			[]schema.ToolCall{{ID: "1", Function: schema.FunctionCall{Name: name, Arguments: args}}})
	}
	planner, err := NewPlanner(t.Context(),
		&PlannerConfig{ToolCallingChatModel: baker{func(in []*schema.Message) *schema.Message {
			return call("plan", planJSON("bake "+in[1].Content, "eat"))
		}}})
	require.NoError(t, err)
	executor := executorOf(t, baker{func(in []*schema.Message) *schema.Message {
		_, step, _ := strings.Cut(in[1].Content, "## Your step\n")
		return schema.AssistantMessage("did "+step, nil)
	}})
	replanner, err := NewReplanner(t.Context(),
		&ReplannerConfig{ChatModel: baker{func(in []*schema.Message) *schema.Message {
			if strings.Contains(in[1].Content, "Result: did eat") {
				_, results, _ := strings.Cut(in[1].Content, "results\n")
				return call("respond", fmt.Sprintf(`{"response":%q}`, results))
			}
			return call("plan", planJSON("eat"))
		}}})
	require.NoError(t, err)
	a := whole(t, planner, executor, replanner)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			r := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: a, EnableStreaming: i%2 == 0})
			events := adktest.Collect(t, r.Query(t.Context(), fmt.Sprintf("loaf %d", i)))
			want := fmt.Sprintf(`{"response":"Step: bake loaf %d\nResult: did bake loaf %d\n\nStep: eat\nResult: did eat\n\n"}`,
				i, i)
			if got := events.Text(); got != want || events.Err() != nil {
				t.Errorf("run %d ended with %q, %v", i, got, events.Err())
			}
		})
	}
	all.Wait()
}
