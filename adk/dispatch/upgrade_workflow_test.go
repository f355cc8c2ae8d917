package dispatch_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/runs"
)

// paying are agents that pay, each once in a run. B asks a person before, or its process dies in its payment.
type paying struct {
	t     *testing.T
	store *checkpoint.MemoryStore
	// dies: the process dies in the first payment of B, behind the payment of A. Otherwise B asks before it pays.
	dies  bool
	aPaid chan struct{}

	mu sync.Mutex // guards the fields below
	// paid are the idempotency keys of each agent's payments.
	paid map[string]map[string]bool
	died bool
}

// pays notes a payment, and reports whether the process dies in it.
func (p *paying) pays(name, key string) (dies bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.paid[name] == nil {
		p.paid[name] = map[string]bool{}
		if name == "A" {
			close(p.aPaid)
		}
	}
	p.paid[name][key] = true
	dies = name == "B" && p.dies && !p.died
	p.died = p.died || dies
	return dies
}

// payments returns how many payments each agent has made.
func (p *paying) payments() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	made := map[string]int{}
	for name, keys := range p.paid {
		made[name] = len(keys)
	}
	return made
}

func (p *paying) agent(name string) adk.Agent {
	pay := toolNamed(p.t, "pay", func(ctx context.Context) (string, error) {
		if !p.pays(name, adk.GetIdempotencyKey(ctx)) {
			return "paid", nil
		}
		<-p.aPaid
		lease, err := p.store.Acquire(ctx, "1", runs.LeaseRequest{Owner: "reaper", Steal: true}) // as after a death
		if err != nil {
			return "", err
		}
		return "", errors.Join(errors.New("died"), lease.Settle(ctx, runs.Settlement{}))
	}).(tool.InvokableTool)
	if name != "B" || p.dies {
		return agentOf(p.t, name, again{pay})
	}
	ask := toolNamed(p.t, "ask", func(ctx context.Context) (string, error) {
		if answered, _, _ := tool.GetResumeContext[any](ctx); answered {
			return "allowed", nil
		}
		return "", tool.Interrupt(ctx, "may I?")
	})
	return agentOf(p.t, name, ask, again{pay})
}

// workflowOf makes one of a kind.
func workflowOf(t *testing.T, kind string, agents ...adk.Agent) (w adk.Agent) {
	t.Helper()
	var err error
	switch kind {
	case "sequence":
		w, err = adk.NewSequentialAgent(t.Context(), &adk.SequentialAgentConfig{Name: "w", Description: "d", SubAgents: agents})
	case "loop":
		w, err = adk.NewLoopAgent(t.Context(), &adk.LoopAgentConfig{Name: "w", Description: "d", SubAgents: agents, MaxIterations: 1})
	case "parallel":
		w, err = adk.NewParallelAgent(t.Context(), &adk.ParallelAgentConfig{Name: "w", Description: "d", SubAgents: agents})
	case "nested":
		w, err = adk.NewSequentialAgent(t.Context(), &adk.SequentialAgentConfig{Name: "outer", Description: "d",
			SubAgents: []adk.Agent{workflowOf(t, "sequence", agents...)}})
	case "in a tool":
		w = agentOf(t, "around", adk.NewAgentTool(t.Context(), workflowOf(t, "sequence", agents...)))
	}
	require.NoError(t, err)
	return w
}

// TestWork_FindsAgentsOfAWorkflowThatWasChanged while a run of it waited, or after its process died: by name and place.
// No agent pays twice, and a run whose agent is gone says so before anything runs.
// Rule distributed/C14.
func TestWork_FindsAgentsOfAWorkflowThatWasChanged(t *testing.T) {
	const fails = "cannot continue"
	for _, c := range []struct {
		what, kind string
		now        []string
		err        string
	}{
		{"unchanged", "", []string{"A", "B"}, ""}, {"one first", "", []string{"N", "A", "B"}, ""},
		{"one between", "", []string{"A", "N", "B"}, ""}, {"one last", "", []string{"A", "B", "N"}, ""},
		{"swapped", "", []string{"B", "A"}, ""}, {"another namesake", "", []string{"A", "B", "A"}, ""},
		{"removed before", "", []string{"B"}, ""}, {"removed itself", "", []string{"A"}, fails}, {"removed all", "", nil, fails},
		{"another kind", "other", []string{"A", "B"}, "workflow agent 'w'"},
	} {
		for _, kind := range []string{"sequence", "loop", "parallel", "nested", "in a tool"} {
			for _, dies := range []bool{false, true} {
				how := map[bool]string{false: " waits", true: " died"}[dies]
				other, err := c.kind, c.err
				if kind == "parallel" && c.what == "removed before" {
					err = fails // what it has said would be lost
				}
				if other != "" {
					if other = "parallel"; kind == other {
						other = "sequence"
					}
					if kind == "nested" || kind == "in a tool" {
						continue
					}
				}
				t.Run(c.what+" "+kind+how, func(t *testing.T) { changed(t, kind, other, c.now, dies, err) })
			}
		}
	}
}

func changed(t *testing.T, kind, other string, now []string, dies bool, fails string) {
	p := &paying{t: t, store: checkpoint.NewMemoryStore(), dies: dies, aPaid: make(chan struct{}), paid: map[string]map[string]bool{}}
	process := func(kind string, names ...string) *dispatch.Dispatcher {
		agents := make([]adk.Agent, len(names))
		for i, name := range names {
			agents[i] = p.agent(name)
		}
		return dispatch.New(p.store, dispatch.Config{Agents: dispatch.Agents{"w": dispatch.RunnerOf(workflowOf(t, kind, agents...))}})
	}
	d := process(kind, "A", "B")
	_, err := d.Submit(t.Context(), jobOf("1", "w"))
	require.NoError(t, err)
	o, err := d.Execute(t.Context(), "1")
	if dies {
		require.ErrorIs(t, err, runs.ErrLeaseLost)
	} else {
		require.NoError(t, err)
		require.Len(t, o.Questions, 1)
		answer, err := runs.EncodeReply(o.Questions[0].ID, "yes")
		require.NoError(t, err)
		require.NoError(t, d.Reply(t.Context(), "1", answer))
	}
	before := p.payments()
	require.Equal(t, 1, before["A"])
	if other == "" {
		other = kind
	}
	o, err = process(other, now...).Execute(t.Context(), "1")
	require.NoError(t, err)
	if fails != "" {
		require.Equal(t, runs.Failed, o.Status)
		require.ErrorContains(t, o.Err, fails)
		require.Equal(t, before, p.payments(), "no agent pays if the run cannot continue")
		return
	}
	require.Equal(t, runs.Done, o.Status, "%v %v", o.Err, o.Questions)
	require.Contains(t, o.Message.Content, "done")
	after := p.payments()
	require.Equal(t, 1, after["B"])
	payments := 1
	if kind == "parallel" && len(now) == 3 && now[2] == "A" { // another one; in a chain it sees that A has paid
		payments = 2
	}
	require.Equal(t, payments, after["A"])
}
