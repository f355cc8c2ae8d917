package adk

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// memory is a store of one test.
type memory map[string][]byte

func (m memory) Get(_ context.Context, id string) ([]byte, bool, error) {
	b, ok := m[id]
	return b, ok, nil
}

func (m memory) Set(_ context.Context, id string, b []byte) error { m[id] = b; return nil }

// replies is a model that answers in turn.
type replies struct {
	mu   sync.Mutex
	n    int
	all  []*schema.Message
	seen [][]*schema.Message
}

func (r *replies) next(input []*schema.Message) *schema.Message {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, input)
	m := r.all[min(r.n, len(r.all)-1)]
	r.n++
	return m
}

func (r *replies) Generate(_ context.Context, input []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	return r.next(input), nil
}

func (r *replies) Stream(_ context.Context, input []*schema.Message,
	_ ...model.Option,
) (*schema.StreamReader[*schema.Message], error) {
	return schema.StreamReaderFromArray([]*schema.Message{r.next(input)}), nil
}

func newOrdinary(t *testing.T, name string, m model.BaseModel[*schema.Message],
	tools ...tool.BaseTool,
) *ChatModelAgent {
	t.Helper()
	a, err := NewChatModelAgent(t.Context(), &ChatModelAgentConfig{Name: name, Description: "does " + name, Model: m,
		ToolsConfig: ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: tools}}})
	require.NoError(t, err)
	return a
}

func callOf(name, id, args string) *schema.Message {
	return schema.AssistantMessage("",
		[]schema.ToolCall{{ID: id, Function: schema.FunctionCall{Name: name, Arguments: args}}})
}

func askTool(name string) tool.BaseTool {
	return &toolFunc{named(name), func(ctx context.Context, args string) (string, error) {
		interrupted, _, _ := tool.GetInterruptState[any](ctx)
		target, has, data := tool.GetResumeContext[string](ctx)
		if !interrupted {
			return "", tool.StatefulInterrupt(ctx, "may I?", args)
		}
		if target && has {
			return "answered " + data, nil
		}
		return "", tool.Interrupt(ctx, "again")
	}}
}

func drainAll(t *testing.T, it *AsyncIterator[*AgentEvent]) (texts []string, last *AgentEvent) {
	t.Helper()
	for e := range it.All() {
		last = e
		require.NoError(t, e.Err)
		m, _, err := GetMessage(e)
		require.NoError(t, err)
		if m != nil {
			texts = append(texts, e.AgentName+": "+m.Content)
		}
	}
	return texts, last
}

// Rules runtime/I2, runtime/R11.
func TestRunner_ResumesATool(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		m := &replies{all: []*schema.Message{callOf("ask", "c1", "x"), schema.AssistantMessage("done", nil)}}
		agent := newOrdinary(t, "a", m, askTool("ask"))
		store := memory{}
		r := NewRunner(t.Context(), RunnerConfig{Agent: agent, EnableStreaming: streaming, CheckPointStore: store})
		_, last := drainAll(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))
		require.NotNil(t, last.Action)
		require.Len(t, last.Action.Interrupted.InterruptContexts, 1)
		ic := last.Action.Interrupted.InterruptContexts[0]
		require.Equal(t, "agent:a;tool:ask:c1", ic.Address.String())
		require.Equal(t, "may I?", ic.Info)
		require.NotEmpty(t, store["1"])

		it, err := NewRunner(t.Context(),
			RunnerConfig{Agent: newOrdinary(t, "a", m, askTool("ask")), CheckPointStore: store}).
			ResumeWithParams(t.Context(), "1", &ResumeParams{Targets: map[string]any{ic.ID: "yes"}})
		require.NoError(t, err)
		texts, last := drainAll(t, it)
		require.Equal(t, []string{"a: answered yes", "a: done"}, texts)
		require.Equal(t, streaming, last.Output.MessageOutput.IsStreaming)
		require.Len(t, m.seen[1], 3)
	}
}

// Rules runtime/I2, runtime/I5, runtime/R11.
func TestInterrupt_InsideAnAgentToolInASequence(t *testing.T) {
	inner := newOrdinary(t, "inner",
		&replies{all: []*schema.Message{callOf("ask", "c2", "x"), schema.AssistantMessage("inner done", nil)}},
		askTool("ask"))
	outer := newOrdinary(t, "outer",
		&replies{all: []*schema.Message{callOf("inner", "c1", `{"request":"do"}`),
			schema.AssistantMessage("outer done", nil)}},
		NewAgentTool(t.Context(), inner))
	before := newOrdinary(t, "before", &replies{all: []*schema.Message{schema.AssistantMessage("first", nil)}})
	after := newOrdinary(t, "after", &replies{all: []*schema.Message{schema.AssistantMessage("last", nil)}})
	seq, err := NewSequentialAgent(t.Context(),
		&SequentialAgentConfig{Name: "seq", SubAgents: []Agent{before, outer, after}})
	require.NoError(t, err)
	store := memory{}
	r := NewRunner(t.Context(), RunnerConfig{Agent: seq, CheckPointStore: store})
	texts, last := drainAll(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))
	require.Equal(t, []string{"before: first", "outer: "}, texts)
	ic := last.Action.Interrupted.InterruptContexts
	require.Len(t, ic, 1)
	require.Equal(t, "agent:seq;agent:outer;tool:inner:c1;agent:inner;tool:ask:c2", ic[0].Address.String())
	it, err := r.ResumeWithParams(t.Context(), "1", &ResumeParams{Targets: map[string]any{ic[0].ID: "yes"}})
	require.NoError(t, err)
	texts, last = drainAll(t, it)
	require.Equal(t, []string{"outer: inner done", "outer: outer done", "after: last"}, texts)
	var path []string
	for _, step := range last.RunPath {
		path = append(path, step.String())
	}
	require.Equal(t, []string{"seq", "before", "outer", "after"}, path)
}

// Rules runtime/I13, runtime/W7.
func TestWorkflow_ParallelInterruptsAndResume(t *testing.T) {
	agent := func(name string) Agent {
		return newOrdinary(t, name, &replies{all: []*schema.Message{callOf("ask", "c-"+name, "x"),
			schema.AssistantMessage(name+" done", nil)}}, askTool("ask"))
	}
	quick := newOrdinary(t, "quick", &replies{all: []*schema.Message{schema.AssistantMessage("quick done", nil)}})
	par, err := NewParallelAgent(t.Context(),
		&ParallelAgentConfig{Name: "par", SubAgents: []Agent{agent("x"), quick, agent("y")}})
	require.NoError(t, err)
	store := memory{}
	r := NewRunner(t.Context(), RunnerConfig{Agent: par, CheckPointStore: store})
	_, last := drainAll(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))
	require.Len(t, last.Action.Interrupted.InterruptContexts, 2)
	first := last.Action.Interrupted.InterruptContexts[0]
	before := []string{first.ID, last.Action.Interrupted.InterruptContexts[1].ID}
	it, err := r.ResumeWithParams(t.Context(), "1", &ResumeParams{Targets: map[string]any{first.ID: "1"}})
	require.NoError(t, err)
	texts, last := drainAll(t, it)
	require.Equal(t, []string{"x: answered 1", "x: x done"}, texts)
	require.Len(t, last.Action.Interrupted.InterruptContexts, 1)
	require.NotContains(t, before, last.Action.Interrupted.InterruptContexts[0].ID, "rule runtime/I2: it has a new ID")
	it, err = r.ResumeWithParams(t.Context(), "1",
		&ResumeParams{Targets: map[string]any{last.Action.Interrupted.InterruptContexts[0].ID: "2"}})
	require.NoError(t, err)
	texts, _ = drainAll(t, it)
	require.Equal(t, []string{"y: answered 2", "y: y done"}, texts)
}

// Rules runtime/F3, runtime/F5.
func TestFlow_TransferAndResume(t *testing.T) {
	child := newOrdinary(t, "child",
		&replies{all: []*schema.Message{callOf("ask", "c", "x"), schema.AssistantMessage("child done", nil)}}, askTool("ask"))
	model := &replies{all: []*schema.Message{callOf(TransferToAgentToolName, "t", `{"agent_name":"child"}`)}}
	parent := newOrdinary(t, "parent", model)
	flow, err := SetSubAgents(t.Context(), parent, []Agent{child})
	require.NoError(t, err)
	store := memory{}
	r := NewRunner(t.Context(), RunnerConfig{Agent: flow, CheckPointStore: store})
	texts, last := drainAll(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))
	require.Equal(t, []string{"parent: ", "parent: successfully transferred to agent [child]", "child: "}, texts)
	ic := last.Action.Interrupted.InterruptContexts[0]
	require.Equal(t, "agent:parent;agent:child;tool:ask:c", ic.Address.String())
	it, err := r.ResumeWithParams(t.Context(), "1", &ResumeParams{Targets: map[string]any{ic.ID: "yes"}})
	require.NoError(t, err)
	texts, _ = drainAll(t, it)
	require.Equal(t, []string{"child: answered yes", "child: child done"}, texts)
}

// In a store that does not know about runs, a run can be resumed from its checkpoint again. One that is saved at every
// step removes it: nothing that it has done may be done twice.
// Rules runtime/R6, runtime/R12.
func TestRunner_KeepsTheCheckpointOfARunThatHasEnded(t *testing.T) {
	for name, durability := range map[string]Durability{"on interrupt": OnInterrupt, "every step": EveryStep} {
		t.Run(name, func(t *testing.T) {
			for _, store := range []CheckPointStore{struct{ plainJournal }{checkpoint.NewMemoryStore()}, newDeletable(), memory{}} {
				m := recall(callOf("ask", "c1", "x"), callOf("ask", "c2", "y"), schema.AssistantMessage("done", nil))
				r := NewRunner(t.Context(), RunnerConfig{Agent: newOrdinary(t, "a", m, askTool("ask")), CheckPointStore: store,
					Durability: durability})
				_, last := drainAll(t, r.Query(t.Context(), "hi", WithCheckPointID("")))
				first, _, err := store.Get(t.Context(), "")
				require.NoError(t, err)
				require.NotEmpty(t, first, "rule runtime/R6: an empty string is an ID")
				resume := func() *AsyncIterator[*AgentEvent] {
					point := last.Action.Interrupted.InterruptContexts[0].ID
					it, err := r.ResumeWithParams(t.Context(), "", &ResumeParams{Targets: map[string]any{point: "yes"}})
					require.NoError(t, err)
					return it
				}
				_, last = drainAll(t, resume())
				second, _, err := store.Get(t.Context(), "")
				require.NoError(t, err)
				require.NotEqual(t, first, second, "it has stopped again, and is saved under the same ID")

				done := []string{"a: answered yes", "a: done"}
				texts, _ := drainAll(t, resume())
				require.Equal(t, done, texts)
				if durability == EveryStep {
					_, err := r.Resume(t.Context(), "")
					require.ErrorContains(t, err, "checkpoint[] not exist")
					continue
				}
				texts, _ = drainAll(t, resume())
				require.Equal(t, done, texts)
			}
		})
	}
}
