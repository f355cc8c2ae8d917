package dispatch_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/runs"
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

// placesOfAgents has the places that an agent can have in a run.
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
// by a worker whose time is over, does not ask again, wherever the call is; also when it is stopped twice.
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
	d := dispatch.New(store, dispatch.Config{Agents: dispatch.Agents{"a": dispatch.RunnerOf(placesOfAgents[place](t, agentOf(t, "a", asks)))}})
	_, err := d.Submit(t.Context(), jobOf("1", "a"))
	require.NoError(t, err)
	o, err := d.Execute(t.Context(), "1")
	require.NoError(t, err)
	require.Equal(t, runs.Waiting, o.Status)
	answer, err := runs.EncodeReply(o.Questions[0].ID, "yes")
	require.NoError(t, err)
	require.NoError(t, d.Reply(t.Context(), "1", answer))
	for i := range stops {
		if how == "stopped" {
			go func() {
				time.Sleep(time.Second)
				_ = d.Stop(t.Context(), "1", runs.StopRequest{Immediate: true})
			}()
			o, err = d.Execute(t.Context(), "1")
			require.NoError(t, err)
			require.Equal(t, runs.Paused, o.Status, fmt.Sprint(i, o.Err))
			require.NoError(t, d.Continue(t.Context(), "1"))
			continue
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		require.NoError(t, d.Work(ctx, dispatch.WorkerConfig{DrainTimeout: -1}))
		cancel()
		info, _, err := d.Inspect(t.Context(), "1")
		require.NoError(t, err)
		require.Equal(t, runs.Ready, info.Status)
	}
	o, err = d.Execute(t.Context(), "1")
	require.NoError(t, err)
	require.Equal(t, runs.Done, o.Status, o.Questions)
	asked := questions.Load()
	require.EqualValues(t, 1, asked, "the question was asked %d times", asked)
}

// answeredMeanwhile is a store in which an answer arrives when a worker that takes the run has just looked for answers.
type answeredMeanwhile struct {
	*checkpoint.MemoryStore
	answer func()
}

func (s *answeredMeanwhile) AcquireDue(ctx context.Context, req runs.LeaseRequest, due runs.Due) (runs.Lease, error) {
	l, err := s.MemoryStore.AcquireDue(ctx, req, due)
	if err != nil || l.Info().Status != runs.Waiting {
		return l, err
	}
	return &answeredLease{Lease: l, answer: sync.OnceFunc(s.answer)}, nil
}

type answeredLease struct {
	runs.Lease
	answer func()
}

func (l *answeredLease) Replies(ctx context.Context) ([]runs.Reply, error) {
	defer l.answer()
	return l.Lease.Replies(ctx)
}

// TestAnswer_OfAQuestionWhoseRunWakesForSomethingElseIsUsed: a timer of the run ends, and an answer arrives while a
// worker takes it. The answer is used, and the question is not asked again.
// Rule distributed/C6.
func TestAnswer_OfAQuestionWhoseRunWakesForSomethingElseIsUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &answeredMeanwhile{MemoryStore: checkpoint.NewMemoryStore()}
		asked, answers := 0, 0
		agent := adktest.NewModel(t, adktest.Calls(adktest.Call("ask", `{}`), adktest.Call("sleep", `{}`)), adktest.Says("done"))
		both, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "a", Description: "a", Model: agent,
			ToolsConfig: adktest.Tools(toolNamed(t, "ask", func(ctx context.Context) (string, error) {
				if _, ok, answer := tool.GetResumeContext[string](ctx); ok {
					return answer, nil
				}
				asked++
				return "", tool.Interrupt(ctx, "which one?")
			}), toolNamed(t, "sleep", func(ctx context.Context) (string, error) {
				return "slept", dispatch.SleepFor(ctx, time.Minute)
			}))})
		require.NoError(t, err)
		d, stop := working(t, store, dispatch.Config{Agents: dispatch.Agents{"a": dispatch.RunnerOf(both)}}, dispatch.WorkerConfig{})
		defer stop()
		store.answer = func() {
			info, _, err := d.Inspect(t.Context(), "1")
			require.NoError(t, err)
			for _, q := range info.Waiting {
				if q.Kind == runs.KindQuestion {
					answer, err := runs.EncodeReply(q.ID, "blue")
					require.NoError(t, err)
					require.NoError(t, d.Reply(t.Context(), "1", answer))
					answers++
				}
			}
		}
		_, err = d.Submit(t.Context(), jobOf("1", "a"))
		require.NoError(t, err)
		waitFor(t, d, "1", runs.Waiting)
		time.Sleep(2 * time.Minute)
		waitFor(t, d, "1", runs.Done)
		require.Equal(t, 1, answers)
		require.Equal(t, 1, asked)
	})
}
