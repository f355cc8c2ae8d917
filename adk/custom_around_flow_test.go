package adk

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/schema"
)

// around is a custom agent that passes everything on, without being a flow agent.
type around struct{ ResumableAgent }

func transferTo(name string) *schema.Message {
	return callOf(TransferToAgentToolName, "t-"+name, `{"agent_name":"`+name+`"}`)
}

func flowOf(t *testing.T, parent Agent, children ...Agent) ResumableAgent {
	t.Helper()
	f, err := SetSubAgents(t.Context(), parent, children)
	require.NoError(t, err)
	return f
}

// There is exactly one OnStart for an agent, also for one reached by a transfer inside a custom agent.
// Rule runtime/B6.
func TestCallbacks_TransferInsideACustomAgent(t *testing.T) {
	child := newOrdinary(t, "child", &replies{all: []*schema.Message{schema.AssistantMessage("done", nil)}})
	a := around{flowOf(t, newOrdinary(t, "parent", &replies{all: []*schema.Message{transferTo("child")}}), child)}
	starts := 0
	h := callbacks.NewHandlerBuilder().OnStartFn(func(
		ctx context.Context, info *callbacks.RunInfo, _ callbacks.CallbackInput,
	) context.Context {
		if info.Component == ComponentOfAgent && info.Name == "child" {
			starts++
		}
		return ctx
	}).Build()
	drainAll(t, NewRunner(t.Context(), RunnerConfig{Agent: a}).Query(t.Context(), "hi", WithCallbacks(h)))
	require.Equal(t, 1, starts)
}

// A target that does not exist is ignored: the leaf interrupts again, as without params.
// Rule runtime/I14.
func TestResume_OnlyUnknownTargets(t *testing.T) {
	m := &replies{all: []*schema.Message{callOf("ask", "c1", "x"), schema.AssistantMessage("done", nil)}}
	parent := newOrdinary(t, "parent", &replies{all: []*schema.Message{transferTo("a")}})
	r := NewRunner(t.Context(), RunnerConfig{Agent: flowOf(t, parent, newOrdinary(t, "a", m, askTool("ask"))),
		CheckPointStore: memory{}})
	drainAll(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))
	it, err := r.ResumeWithParams(t.Context(), "1", &ResumeParams{Targets: map[string]any{"nobody": "yes"}})
	require.NoError(t, err)
	_, last := drainAll(t, it)
	require.NotNil(t, last.Action)
	require.NotNil(t, last.Action.Interrupted)
}

// A sub-agent that is a custom agent around a flow: the interrupt is inside it, not reached by a transfer.
func TestResume_CustomSubAgentAroundAFlow(t *testing.T) {
	worker := newOrdinary(t, "worker",
		&replies{all: []*schema.Message{callOf("ask", "c", "x"), schema.AssistantMessage("worker done", nil)}},
		askTool("ask"))
	lead := around{flowOf(t, newOrdinary(t, "lead", &replies{all: []*schema.Message{transferTo("worker")}}), worker)}
	boss := flowOf(t, newOrdinary(t, "boss", &replies{all: []*schema.Message{transferTo("lead")}}), lead)
	r := NewRunner(t.Context(), RunnerConfig{Agent: boss, CheckPointStore: memory{}})
	_, last := drainAll(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))
	point := last.Action.Interrupted.InterruptContexts[0]
	it, err := r.ResumeWithParams(t.Context(), "1", &ResumeParams{Targets: map[string]any{point.ID: "yes"}})
	require.NoError(t, err)
	texts, _ := drainAll(t, it)
	require.Equal(t, []string{"worker: answered yes", "worker: worker done"}, texts)
}

// An exit that is the child's last event ends the sequence, also if an agent inside the child sent it.
// Rule runtime/W1.
func TestWorkflow_ExitInsideACustomAgent(t *testing.T) {
	leaver, err := NewChatModelAgent(t.Context(),
		&ChatModelAgentConfig{Name: "leaver", Description: "leaves", Exit: ExitTool{},
			Model: &replies{all: []*schema.Message{callOf("exit", "e", `{"final_result":"bye"}`)}}})
	require.NoError(t, err)
	child := around{flowOf(t, newOrdinary(t, "parent", &replies{all: []*schema.Message{transferTo("leaver")}}), leaver)}
	after := newOrdinary(t, "after", &replies{all: []*schema.Message{schema.AssistantMessage("too late", nil)}})
	seq, err := NewSequentialAgent(t.Context(), &SequentialAgentConfig{Name: "seq", SubAgents: []Agent{child, after}})
	require.NoError(t, err)
	texts, _ := drainAll(t, NewRunner(t.Context(), RunnerConfig{Agent: seq}).Query(t.Context(), "hi"))
	require.Equal(t, "leaver: bye", texts[len(texts)-1])
}

// The template behind the default instruction reports no run of its own: handlers get one start and one end of the
// agent.
func TestCallbacks_InstructionWithSessionValues(t *testing.T) {
	a, err := NewChatModelAgent(t.Context(), &ChatModelAgentConfig{Name: "a", Instruction: "Mind {x}.",
		Model: &replies{all: []*schema.Message{schema.AssistantMessage("done", nil)}}})
	require.NoError(t, err)
	starts := 0
	h := callbacks.NewHandlerBuilder().OnStartFn(func(
		ctx context.Context, info *callbacks.RunInfo, _ callbacks.CallbackInput,
	) context.Context {
		if info.Component == ComponentOfAgent {
			starts++
		}
		return ctx
	}).Build()
	drainAll(t, NewRunner(t.Context(), RunnerConfig{Agent: a}).Query(t.Context(), "hi", WithCallbacks(h),
		WithSessionValues(map[string]any{"x": 1})))
	require.Equal(t, 1, starts)
}
