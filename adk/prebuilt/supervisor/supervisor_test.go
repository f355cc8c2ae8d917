package supervisor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/prebuilt/internal/prebuilttest"
	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

func agent(t *testing.T, name string, m model.BaseModel[*schema.Message], tools ...tool.BaseTool) *adk.ChatModelAgent {
	t.Helper()
	a, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{
		Name: name, Description: "does " + name, Model: m, ToolsConfig: adktest.Tools(tools...), Exit: adk.ExitTool{}})
	require.NoError(t, err)
	return a
}

func assembled(t *testing.T, supervisor adk.Agent, workers ...adk.Agent) adk.ResumableAgent {
	t.Helper()
	a, err := New(t.Context(), &Config{Supervisor: supervisor, SubAgents: workers})
	require.NoError(t, err)
	return a
}

// handsOver is the reply of a model that hands over.
func handsOver(to string) adktest.Answer {
	return adktest.Calls(adktest.Call(adk.TransferToAgentToolName, fmt.Sprintf(`{"agent_name":%q}`, to)))
}

// spoken are the events as "name: line", without the IDs of transfers.
func spoken(events *adktest.Events[*schema.Message]) (lines []string) {
	for _, e := range events.All() {
		lines = append(lines, e.AgentName+": "+withoutIDs(e.String()))
	}
	return lines
}

func withoutIDs(line string) string {
	for _, mark := range []string{"tool transfer_to_agent#", "[transfer_to_agent#"} {
		if before, after, ok := strings.Cut(line, mark); ok {
			end := strings.IndexAny(after, " :")
			line = before + strings.TrimSuffix(mark, "#") + after[end:]
		}
	}
	return line
}

var backToBoss = []string{
	"worker: assistant: [transfer_to_agent boss]",
	"worker: tool transfer_to_agent: successfully transferred to agent [boss]; transfer to boss",
}

// Rule batteries/B13.19.
func TestNew_InvalidConfig(t *testing.T) {
	says := func() model.BaseModel[*schema.Message] { return adktest.NewModel(t) }
	for _, c := range []struct {
		name   string
		config *Config
		err    string
	}{
		{"nil", nil, "the config is nil"},
		{"no supervisor", &Config{}, "Config.Supervisor is required"},
		{"nil pointer", &Config{Supervisor: (*adk.ChatModelAgent)(nil)}, "nil pointer"},
		{"nil worker", &Config{Supervisor: agent(t, "boss", says()), SubAgents: []adk.Agent{nil}},
			"Config.SubAgents[0] is nil"},
		{"two of a name", &Config{Supervisor: agent(t, "boss", says()), SubAgents: []adk.Agent{agent(t, "boss", says())}},
			`Config.SubAgents[0] has the name "boss" of another agent`},
		{"supervisor twice", &Config{Supervisor: func() adk.Agent {
			a := agent(t, "boss", says())
			assembled(t, a, agent(t, "w", says()))
			return a
		}()}, "agent 'boss': agent's sub-agents has already been set"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, err := New(t.Context(), c.config)
			require.ErrorContains(t, err, c.err)
			require.True(t, a == nil, "the interface itself is nil")
		})
	}
}

// Rule batteries/SV-1.
func TestNew_WorkersMayBePartOfSeveralSystems(t *testing.T) {
	shared := agent(t, "shared", adktest.NewModel(t, adktest.Says("My part.").Repeated()))
	for _, name := range []string{"one", "two", "one again"} {
		boss := adktest.NewModel(t, handsOver("shared"), adktest.Says("Done."))
		lines := spoken(ask(t, assembled(t, agent(t, name, boss), shared), false).ExpectText("Done."))
		require.Contains(t, lines, "shared: tool transfer_to_agent: successfully transferred to agent ["+name+
			"]; transfer to "+name)
	}
}

// Rule batteries/B13.19.
func TestNew_ASupervisorThatHasRun(t *testing.T) {
	ran := agent(t, "ran", adktest.NewModel(t, adktest.Says("alone")))
	ask(t, ran, false).ExpectText("alone")
	_, err := New(t.Context(), &Config{Supervisor: ran, SubAgents: []adk.Agent{agent(t, "worker", adktest.NewModel(t))}})
	require.ErrorContains(t, err, "agent 'ran': agent has been frozen after run")
}

// Rule batteries/SV-2.
func TestNew_HasTheSupervisorsNameAndDescription(t *testing.T) {
	a := assembled(t, agent(t, "boss", adktest.NewModel(t)), agent(t, "worker", adktest.NewModel(t)))
	require.Equal(t, "boss", a.Name(t.Context()))
	require.Equal(t, "does boss", a.Description(t.Context()))
	typ, ok := components.GetType(a)
	require.True(t, ok)
	require.Equal(t, "Supervisor", typ)
}

func ask(t *testing.T, a adk.Agent, streaming bool, opts ...adk.AgentRunOption) *adktest.Events[*schema.Message] {
	t.Helper()
	return prebuilttest.Ask(t, a, streaming, "Go.", opts...)
}

// Rule batteries/SV-1.
func TestNew_WorkersTransferBackAndKnowNobodyElse(t *testing.T) {
	prebuilttest.Modes(t, func(t *testing.T, streaming bool) {
		boss := adktest.NewModel(t, handsOver("one").Offered("transfer_to_agent", "exit"), handsOver("two"),
			adktest.Says("Done."))
		one, two := adktest.NewModel(t, adktest.Says("1").Offered("exit")), adktest.NewModel(t,
			adktest.Says("2").Offered("exit"))
		a := assembled(t, agent(t, "boss", boss), agent(t, "one", one), agent(t, "two", two))
		events := ask(t, a, streaming).ExpectText("Done.")
		var speakers []string
		for _, e := range events.All() {
			if len(speakers) == 0 || speakers[len(speakers)-1] != e.AgentName {
				speakers = append(speakers, e.AgentName)
			}
		}
		require.Equal(t, []string{"boss", "one", "boss", "two", "boss"}, speakers)
		require.Contains(t, boss.Calls()[0].Lines[0], "one")
		require.Contains(t, boss.Calls()[0].Lines[0], "two")
	})
}

// Rule batteries/SV-3.
func TestRun_OrderOfEvents(t *testing.T) {
	prebuilttest.Modes(t, func(t *testing.T, streaming bool) {
		boss := adktest.NewModel(t, handsOver("worker").Offered("transfer_to_agent", "exit"), adktest.Says("All done."))
		worker := adktest.NewModel(t, adktest.Streams("My ", "part.").Offered("exit"))
		events := ask(t, assembled(t, agent(t, "boss", boss), agent(t, "worker", worker)), streaming)
		require.Equal(t, append(append([]string{
			`boss: assistant: [transfer_to_agent {"agent_name":"worker"}]`,
			"boss: tool transfer_to_agent: successfully transferred to agent [worker]; transfer to worker",
			"worker: assistant: My part.",
		}, backToBoss...), "boss: assistant: All done."), spoken(events))
		events.ExpectNoError()
		seen := boss.Calls()[1].Lines
		require.Contains(t, seen, "user: For context: [worker] said: My part..", "the supervisor sees what came of it")
	})
}

// Rule batteries/SV-4.
func TestRun_ExitIsFinal(t *testing.T) {
	prebuilttest.Modes(t, func(t *testing.T, streaming bool) {
		exits := adktest.Calls(adktest.Call("exit", `{"final_result":"That is all."}`))
		inner := assembled(t, agent(t, "lead", adktest.NewModel(t, handsOver("worker"))),
			agent(t, "worker", adktest.NewModel(t, exits)))
		a := assembled(t, agent(t, "boss", adktest.NewModel(t, handsOver("lead"))), inner)
		events := ask(t, a, streaming)
		lines := spoken(events)
		require.Equal(t, "worker: tool exit#call_1: That is all.; exit", lines[len(lines)-1])
	})
}

// Rule batteries/SV-4.
func TestRun_ExitInsideAToolIsNotFinal(t *testing.T) {
	prebuilttest.Modes(t, func(t *testing.T, streaming bool) {
		expert := agent(t, "expert", adktest.NewModel(t, adktest.Calls(adktest.Call("exit", `{"final_result":"42"}`))))
		worker, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{
			Name: "worker", Description: "asks",
			Model: adktest.NewModel(t, adktest.Calls(adktest.Call("expert", `{"request":"?"}`)), adktest.Says("It is 42.")),
			ToolsConfig: func() adk.ToolsConfig {
				c := adktest.Tools(adk.NewAgentTool(t.Context(), expert))
				c.EmitInternalEvents = true
				return c
			}(),
		})
		require.NoError(t, err)
		boss := agent(t, "boss", adktest.NewModel(t, handsOver("worker"), adktest.Says("Done.")))
		lines := spoken(ask(t, assembled(t, boss, worker), streaming))
		require.Contains(t, lines, "expert: tool exit#call_1: 42; exit", "the event was shown")
		require.Equal(t, append([]string{"worker: assistant: It is 42."}, append(backToBoss, "boss: assistant: Done.")...),
			lines[len(lines)-4:])
	})
}

// TestRun_WorkerFails: that is the end, as it is in every run. Saved steps let the worker try again.
func TestRun_WorkerFails(t *testing.T) {
	broken := errors.New("out of paper")
	a := assembled(t, agent(t, "boss", adktest.NewModel(t, handsOver("worker"), adktest.Says("Done."))),
		agent(t, "worker", adktest.NewModel(t, adktest.Fails(broken), adktest.Says("It is 42."))))
	r := adk.NewRunner(t.Context(),
		adk.RunnerConfig{Agent: a, CheckPointStore: adktest.NewStore(), Durability: adk.EveryStep})
	all := adktest.Collect(t, r.Query(t.Context(), "Go.", adk.WithCheckPointID("1"))).ExpectError(broken).All()
	require.ErrorIs(t, all[len(all)-1].Err, broken, "an error is the last event")
	events, err := r.Resume(t.Context(), "1")
	require.NoError(t, err)
	adktest.Collect(t, events).ExpectNoError().ExpectText("Done.")
}

// shared runs a system with a store.
type shared struct {
	*adk.Runner
	t *testing.T
}

func run(t *testing.T, a adk.Agent, streaming bool) shared {
	return shared{adk.NewRunner(t.Context(),
		adk.RunnerConfig{Agent: a, EnableStreaming: streaming, CheckPointStore: adktest.NewStore()}), t}
}

// interrupted starts a run and returns the only root cause of its interrupt.
func (s shared) interrupted(opts ...adk.AgentRunOption) *adk.InterruptCtx {
	s.t.Helper()
	events := adktest.Collect(s.t, s.Query(s.t.Context(), "Go.", append(opts, adk.WithCheckPointID("1"))...)).All()
	return s.point(events)
}

func (s shared) point(events []adktest.Event[*schema.Message]) *adk.InterruptCtx {
	s.t.Helper()
	last := events[len(events)-1]
	require.NotNil(s.t, last.Action, last.String())
	require.NotNil(s.t, last.Action.Interrupted)
	require.Len(s.t, last.Action.Interrupted.InterruptContexts, 1)
	return last.Action.Interrupted.InterruptContexts[0]
}

func (s shared) resumed(targets map[string]any, opts ...adk.AgentRunOption) *adktest.Events[*schema.Message] {
	s.t.Helper()
	events, err := s.ResumeWithParams(s.t.Context(), "1", &adk.ResumeParams{Targets: targets}, opts...)
	require.NoError(s.t, err)
	return adktest.Collect(s.t, events)
}

// Rule batteries/SV-5.
func TestResume_ContinuesTheWorker(t *testing.T) {
	prebuilttest.Modes(t, func(t *testing.T, streaming bool) {
		boss := adktest.NewModel(t, handsOver("worker"), adktest.Says("Done."))
		worker := adktest.NewModel(t, adktest.Calls(adktest.Call("ask", "{}")),
			adktest.Says("I was allowed.").SeeingLast("tool ask#call_1: answered yes"))
		r := run(t, assembled(t, agent(t, "boss", boss), agent(t, "worker", worker, prebuilttest.Approval())), streaming)
		point := r.interrupted()
		require.Equal(t, "may I?", point.Info)

		again := r.resumed(nil)
		require.Equal(t, "again", r.point(again.All()).Info, "a point that is not among the targets interrupts again")

		events := r.resumed(map[string]any{r.point(again.All()).ID: "yes"})
		require.Equal(t, append(append([]string{"worker: tool ask#call_1: answered yes", "worker: assistant: I was allowed."},
			backToBoss...), "boss: assistant: Done."), spoken(events))
		last := events.All()
		require.Equal(t, streaming, last[len(last)-1].Output.MessageOutput.IsStreaming)
		require.Contains(t, boss.Calls()[1].Lines, "user: For context: [worker] said: I was allowed..")
	})
}

// Rule batteries/SV-5.
func TestResume_ContinuesTheSupervisor(t *testing.T) {
	prebuilttest.Modes(t, func(t *testing.T, streaming bool) {
		boss := adktest.NewModel(t, adktest.Calls(adktest.Call("ask", "{}")), handsOver("worker"), adktest.Says("Done."))
		r := run(t, assembled(t, agent(t, "boss", boss, prebuilttest.Approval()),
			agent(t, "worker", adktest.NewModel(t, adktest.Says("My part.")))), streaming)
		point := r.interrupted()
		lines := spoken(r.resumed(map[string]any{point.ID: "yes"}))
		require.Equal(t, "boss: tool ask#call_1: answered yes", lines[0])
		require.Equal(t, append([]string{"worker: assistant: My part."}, append(backToBoss, "boss: assistant: Done.")...),
			lines[len(lines)-4:])
	})
}

// renamed is a wrapper that only has another name.
type renamed struct {
	adk.ResumableAgent
	name string
}

func (r renamed) Name(context.Context) string { return r.name }

// Rule batteries/SV-5.
func TestResume_NestedSupervisors(t *testing.T) {
	prebuilttest.Modes(t, func(t *testing.T, streaming bool) {
		for _, wrapped := range []bool{false, true} {
			name := "lead"
			var inner adk.Agent = assembled(t,
				agent(t, "lead", adktest.NewModel(t, handsOver("worker"), adktest.Says("Team done."))),
				agent(t, "worker", adktest.NewModel(t, adktest.Calls(adktest.Call("ask", "{}")), adktest.Says("My part.")),
					prebuilttest.Approval()))
			if wrapped {
				name = "team"
				inner = renamed{inner.(adk.ResumableAgent), name}
			}
			boss := adktest.NewModel(t, handsOver(name), adktest.Says("All done."))
			r := run(t, assembled(t, agent(t, "boss", boss), inner), streaming)
			point := r.interrupted()
			require.Equal(t, []string{
				"worker: tool ask#call_1: answered yes",
				"worker: assistant: My part.",
				"worker: assistant: [transfer_to_agent lead]",
				"worker: tool transfer_to_agent: successfully transferred to agent [lead]; transfer to lead",
				"lead: assistant: Team done.",
				name + ": assistant: [transfer_to_agent boss]",
				name + ": tool transfer_to_agent: successfully transferred to agent [boss]; transfer to boss",
				"boss: assistant: All done.",
			}, spoken(r.resumed(map[string]any{point.ID: "yes"})))
		}
	})
}

// traced notes who starts, and below whom.
type traced struct {
	mu     sync.Mutex
	starts []string
	ends   int
}

type parentKey struct{}

func (c *traced) handler() callbacks.Handler {
	return callbacks.NewHandlerBuilder().
		OnStartFn(func(ctx context.Context, info *callbacks.RunInfo, _ callbacks.CallbackInput) context.Context {
			if info.Component != adk.ComponentOfAgent {
				return ctx
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			parent, _ := ctx.Value(parentKey{}).(string)
			name := info.Name + ":" + info.Type
			c.starts = append(c.starts, parent+" > "+name)
			return context.WithValue(ctx, parentKey{}, name)
		}).
		OnEndFn(func(ctx context.Context, info *callbacks.RunInfo, output callbacks.CallbackOutput) context.Context {
			if out := adk.ConvAgentCallbackOutput(output); out != nil {
				out.Events.Close()
				c.mu.Lock()
				defer c.mu.Unlock()
				c.ends++
			}
			return ctx
		}).Build()
}

// Rule batteries/SV-2.
func TestCallbacks_SeeTheSystemAsOneAgent(t *testing.T) {
	boss := adktest.NewModel(t, handsOver("worker"), adktest.Says("Done."))
	worker := adktest.NewModel(t, adktest.Calls(adktest.Call("ask", "{}")), adktest.Says("My part."))
	r := run(t, assembled(t, agent(t, "boss", boss), agent(t, "worker", worker, prebuilttest.Approval())), false)
	var first, second traced
	point := r.interrupted(adk.WithCallbacks(first.handler()))
	require.Equal(t, []string{
		" > boss:Supervisor", "boss:Supervisor > boss:ChatModel", "boss:Supervisor > worker:ChatModel",
	}, first.starts)
	require.Equal(t, 3, first.ends)

	r.resumed(map[string]any{point.ID: "yes"}, adk.WithCallbacks(second.handler()))
	require.Equal(t, []string{
		" > boss:Supervisor", "boss:Supervisor > worker:ChatModel", "boss:Supervisor > boss:ChatModel",
	}, second.starts)
	require.Equal(t, 3, second.ends)
}

func TestCancel_Recursive(t *testing.T) {
	prebuilttest.Modes(t, func(t *testing.T, streaming bool) {
		boss := adktest.NewModel(t, handsOver("worker"), adktest.Says("Done."))
		worker := adktest.NewModel(t, adktest.Calls(adktest.Call("echo", `"x"`)), adktest.Says("My part."))
		option, cancel := adk.WithCancel()
		echo := adktest.NewTool("echo", adktest.Does(func(_ context.Context, in string) (string, error) {
			cancel(adk.WithAgentCancelMode(adk.CancelAfterToolCalls), adk.WithRecursive())
			return in, nil
		}))
		r := run(t, assembled(t, agent(t, "boss", boss), agent(t, "worker", worker, echo)), streaming)
		events := adktest.Collect(t, r.Query(t.Context(), "Go.", adk.WithCheckPointID("1"), option))
		var stopped *adk.CancelError
		require.ErrorAs(t, events.Err(), &stopped)
		require.Len(t, echo.Calls(), 1)

		resumed, err := r.Resume(t.Context(), "1")
		require.NoError(t, err)
		require.Equal(t, append(append([]string{"worker: assistant: My part."}, backToBoss...), "boss: assistant: Done."),
			spoken(adktest.Collect(t, resumed)))
		require.Len(t, echo.Calls(), 1, "what was done is not done again")
	})
}

// A cancel that is not recursive applies to the supervisor alone: at its first turn, and when it continues after a
// worker.
func TestCancel_NotRecursive(t *testing.T) {
	prebuilttest.Modes(t, func(t *testing.T, streaming bool) {
		for _, by := range []string{"boss", "worker"} {
			option, cancel := adk.WithCancel()
			cancels := adktest.NewTool("cancel", adktest.Does(func(_ context.Context, in string) (string, error) {
				cancel(adk.WithAgentCancelMode(adk.CancelAfterToolCalls | adk.CancelAfterChatModel))
				return in, nil
			}))
			look := adktest.NewTool("look", adktest.Says("seen"))
			calls := func(name string) adktest.Answer { return adktest.Calls(adktest.Call(name, `"x"`)) }
			first := calls("look")
			if by == "boss" {
				first = calls("cancel")
			}
			boss := adktest.NewModel(t, first, handsOver("worker"), calls("look"), adktest.Says("Done."))
			worker := adktest.NewModel(t, calls(map[string]string{"boss": "look", "worker": "cancel"}[by]),
				adktest.Says("My part."))
			r := run(t, assembled(t, agent(t, "boss", boss, cancels, look), agent(t, "worker", worker, cancels, look)),
				streaming)
			events := adktest.Collect(t, r.Query(t.Context(), "Go.", adk.WithCheckPointID("1"), option))
			var stopped *adk.CancelError
			require.ErrorAs(t, events.Err(), &stopped)
			before := spoken(events)
			want := "boss: tool cancel#"
			if by == "worker" { // which has its say
				require.Contains(t, before, "worker: assistant: My part.")
				want = "boss: assistant: [look#"
			}
			require.True(t, strings.HasPrefix(before[len(before)-2], want), "%v", before)

			resumed, err := r.Resume(t.Context(), "1")
			require.NoError(t, err)
			after := spoken(adktest.Collect(t, resumed))
			require.Equal(t, "boss: assistant: Done.", after[len(after)-1])
		}
	})
}

// talkative always answers, whichever agent asks.
type talkative struct{ to string }

func (m talkative) Generate(_ context.Context, input []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	said := strings.Join(adktest.Lines(input), "\n")
	if m.to != "" && !strings.Contains(said, "my part") {
		return schema.AssistantMessage("", []schema.ToolCall{{ID: "1", Function: schema.FunctionCall{
			Name: adk.TransferToAgentToolName, Arguments: fmt.Sprintf(`{"agent_name":%q}`, m.to)}}}), nil
	}
	if m.to != "" {
		return schema.AssistantMessage("done", nil), nil
	}
	return schema.AssistantMessage("my part", nil), nil
}

func (m talkative) Stream(ctx context.Context, input []*schema.Message,
	opts ...model.Option,
) (*schema.StreamReader[*schema.Message], error) {
	answer, err := m.Generate(ctx, input, opts...)
	return schema.StreamReaderFromArray([]*schema.Message{answer}), err
}

func TestRun_Concurrently(t *testing.T) {
	inner := assembled(t, agent(t, "lead", talkative{"worker"}), agent(t, "worker", talkative{}))
	a := assembled(t, agent(t, "boss", talkative{"lead"}), inner)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			r := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: a, EnableStreaming: i%2 == 0})
			events := adktest.Collect(t, r.Query(t.Context(), "Go."))
			if got := events.Text(); got != "done" || events.Err() != nil {
				t.Errorf("the run ended with %q, %v", got, events.Err())
			}
		})
	}
	all.Wait()
}

// Rule batteries/SV-4.
func TestRun_ExitEndsASequence(t *testing.T) {
	exits := adktest.Calls(adktest.Call("exit", `{"final_result":"That is all."}`))
	a := assembled(t, agent(t, "boss", adktest.NewModel(t, handsOver("worker"))),
		agent(t, "worker", adktest.NewModel(t, exits)))
	after := agent(t, "after", adktest.NewModel(t))
	sequence, err := adk.NewSequentialAgent(t.Context(),
		&adk.SequentialAgentConfig{Name: "all", SubAgents: []adk.Agent{a, after}})
	require.NoError(t, err)
	adktest.Ask(t.Context(), t, sequence, "Go.").ExpectText("")
}
