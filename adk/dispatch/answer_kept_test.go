package dispatch_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/components/tool"
)

// asker is a tool that asks a person, and is slow when it has an answer, for the first stops times.
func asker(t *testing.T, name string, stops int32) (tool.BaseTool, *atomic.Int32) {
	var questions, begun atomic.Int32
	return toolNamed(t, name, func(ctx context.Context) (string, error) {
		_, answered, answer := tool.GetResumeContext[string](ctx)
		if !answered {
			questions.Add(1)
			return "", tool.Interrupt(ctx, "may I?")
		}
		if begun.Add(1) <= stops {
			<-ctx.Done()
			return "", ctx.Err()
		}
		return answer, nil
	}), &questions
}

// placesOfAgents are where an agent can be in a run.
var placesOfAgents = map[string]func(t *testing.T, a adk.Agent) adk.Agent{
	"alone":         func(_ *testing.T, a adk.Agent) adk.Agent { return a },
	"in a sequence": inSequence,
	"in a loop": func(t *testing.T, a adk.Agent) adk.Agent {
		l, err := adk.NewLoopAgent(t.Context(), &adk.LoopAgentConfig{Name: "loop", Description: "d", SubAgents: []adk.Agent{a}, MaxIterations: 1})
		require.NoError(t, err)
		return l
	},
	"in parallel": func(t *testing.T, a adk.Agent) adk.Agent {
		p, err := adk.NewParallelAgent(t.Context(), &adk.ParallelAgentConfig{Name: "parallel", Description: "d",
			SubAgents: []adk.Agent{a, agentOf(t, "beside")}})
		require.NoError(t, err)
		return p
	},
	"in a tool":      inTool,
	"two tools deep": func(t *testing.T, a adk.Agent) adk.Agent { return inTool(t, inTool(t, a)) },
	"in a sequence in a tool": func(t *testing.T, a adk.Agent) adk.Agent {
		return inTool(t, inSequence(t, a))
	},
}

func inTool(t *testing.T, a adk.Agent) adk.Agent {
	return agentOf(t, "around "+a.Name(t.Context()), adk.NewAgentTool(t.Context(), a))
}

func inSequence(t *testing.T, a adk.Agent) adk.Agent {
	s, err := adk.NewSequentialAgent(t.Context(), &adk.SequentialAgentConfig{Name: "sequence", Description: "d", SubAgents: []adk.Agent{a}})
	require.NoError(t, err)
	return s
}

// TestStretch_UsesAnAnswerThatItWasStoppedWith: a run that is stopped at once while a call has its answer, by a person or
// by a worker whose time is over, asks nobody again, wherever the call is; also when it is stopped twice.
// Rule distributed/C6.
func TestStretch_UsesAnAnswerThatItWasStoppedWith(t *testing.T) {
	for place := range placesOfAgents {
		for _, how := range []string{"stopped", "drained"} {
			t.Run(place+" "+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { answerIsKept(t, place, how) })
			})
		}
	}
}

func answerIsKept(t *testing.T, place, how string) {
	const stops = 2
	asks, questions := asker(t, "ask", stops)
	store := checkpoint.NewMemoryStore()
	d := dispatch.New(store, dispatch.Config{Agents: dispatch.Agents{"a": dispatch.Runs(placesOfAgents[place](t, agentOf(t, "a", asks)))}})
	_, err := d.Submit(t.Context(), jobOf("1", "a"))
	require.NoError(t, err)
	o, err := d.Stretch(t.Context(), "1")
	require.NoError(t, err)
	require.Equal(t, checkpoint.Waiting, o.Status)
	answer, err := adk.EncodeAnswer(o.Waiting[0].ID, "yes")
	require.NoError(t, err)
	require.NoError(t, d.Answer(t.Context(), "1", answer))
	for i := range stops {
		if how == "stopped" {
			go func() {
				time.Sleep(time.Second)
				_ = d.Stop(t.Context(), "1", checkpoint.StopRequest{Immediate: true})
			}()
			o, err = d.Stretch(t.Context(), "1")
			require.NoError(t, err)
			require.Equal(t, checkpoint.Paused, o.Status, fmt.Sprint(i, o.Err))
			require.NoError(t, d.Continue(t.Context(), "1"))
			continue
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		require.NoError(t, d.Work(ctx, dispatch.WorkerConfig{DrainTimeout: -1}))
		cancel()
		info, _, err := d.Inspect(t.Context(), "1")
		require.NoError(t, err)
		require.Equal(t, checkpoint.Ready, info.Status)
	}
	o, err = d.Stretch(t.Context(), "1")
	require.NoError(t, err)
	require.Equal(t, checkpoint.Done, o.Status, o.Waiting)
	asked := questions.Load()
	require.EqualValues(t, 1, asked, "the question was asked %d times", asked)
}
