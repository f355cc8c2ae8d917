package adk

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// forkable is a run of a sequence whose first agent has another one as a tool, and the store that keeps its steps.
type forkable struct {
	store  *checkpoint.MemoryStore
	runner *Runner
	// made are the arguments of the calls of "work", keys their idempotency keys, and forks what they know of forks.
	made  []string
	keys  map[string]bool
	forks []string
}

func newForkable(t *testing.T, more ...tool.BaseTool) *forkable {
	t.Helper()
	f := &forkable{store: checkpoint.NewMemoryStore(), keys: map[string]bool{}}
	work := &toolFunc{"work", func(ctx context.Context, args string) (string, error) {
		f.made = append(f.made, args)
		f.keys[GetIdempotencyKey(ctx)] = true
		from, at := ForkedFrom(ctx)
		f.forks = append(f.forks, fmt.Sprintf("%s %d", from, at))
		AddSessionValue(ctx, "worked", args)
		return "worked on " + args, nil
	}}
	inner := newOrdinary(t, "inner", recall(callOf("work", "i1", "b"), chatAnswer("inner done")), work)
	outer := newOrdinary(t, "outer", recall(callOf("work", "o1", "a"), callOf("inner", "o2", `{"request":"do"}`),
		chatAnswer("outer done")), append(more, work, NewAgentTool(t.Context(), inner))...)
	seq, err := NewSequentialAgent(t.Context(), &SequentialAgentConfig{Name: "seq", SubAgents: []Agent{
		outer, newOrdinary(t, "last", recall(chatAnswer("last done")))}})
	require.NoError(t, err)
	f.runner = f.runs(seq)
	return f
}

func (f *forkable) runs(agent Agent) *Runner {
	return NewRunner(context.Background(), RunnerConfig{Agent: agent, CheckPointStore: f.store, Durability: EveryStep, KeepSteps: true})
}

// kinds are the kinds of steps, with their agents.
func kinds(steps []Step) (all []string) {
	for _, s := range steps {
		all = append(all, fmt.Sprint(s.Kind, s.Agent))
	}
	return all
}

func stepsOf(t *testing.T, store CheckPointStore, id string) []Step {
	t.Helper()
	steps, err := Steps(t.Context(), store, id)
	require.NoError(t, err)
	return steps
}

// resumeFork resumes a run that ends.
func resumeFork(t *testing.T, r *Runner, id string) (texts []string) {
	t.Helper()
	it, err := r.Resume(t.Context(), id)
	require.NoError(t, err)
	texts, _ = drainAll(t, it)
	return texts
}

// TestSteps_OfARunThatHasEnded: the steps are those of all agents, with whole messages, and stay when the run has ended.
// Rule steps/FK-1.
func TestSteps_OfARunThatHasEnded(t *testing.T) {
	f := newForkable(t)
	drainAll(t, f.runner.Query(t.Context(), "hi", WithCheckPointID("1"), WithSessionValues(map[string]any{"user": "me"})))
	steps := stepsOf(t, f.store, "1")
	require.Equal(t, []string{"begin[]", "turn[seq outer]", "start[seq outer]", "result[seq outer]", "turn[seq outer]",
		"start[seq outer]", "turn[seq outer inner]", "start[seq outer inner]", "result[seq outer inner]", "turn[seq outer inner]",
		"result[seq outer]", "turn[seq outer]", "turn[seq last]"}, kinds(steps))
	for i, s := range steps {
		require.Equal(t, i+1, s.N)
	}
	require.Equal(t, []any{schema.UserMessage("hi")}, steps[0].Messages)
	require.Equal(t, map[string]any{"user": "me"}, steps[0].Values)
	require.Equal(t, schema.ToolCall{ID: "o1", Function: schema.FunctionCall{Name: "work", Arguments: "a"}}, steps[3].Call)
	require.Equal(t, "worked on a", steps[3].Text)
	require.Len(t, steps[4].Messages, 4)
	require.Equal(t, map[string]any{"user": "me", "worked": "a"}, steps[4].Values)
	require.Equal(t, 18, steps[4].Remaining)
	require.Equal(t, "inner done", steps[10].Text)

	info, _, err := f.store.Inspect(t.Context(), "1")
	require.NoError(t, err)
	require.Equal(t, checkpoint.Done, info.Status)
	require.Equal(t, []string{"last: last done"}, resumeFork(t, f.runner, "1"), "the run has ended as any other one")
	require.NoError(t, f.store.Remove(t.Context(), "1", false))
	_, err = Steps(t.Context(), f.store, "1")
	require.ErrorIs(t, err, ErrCheckPointNotFound)
}

// TestFork_AtEveryStep: a fork comes to the same end as its origin, makes the calls that have no result among its steps,
// by keys of its own, and changes no byte of the origin.
// Rules steps/FK-2, steps/FK-4, steps/FK-5.
func TestFork_AtEveryStep(t *testing.T) {
	f := newForkable(t)
	drainAll(t, f.runner.Query(t.Context(), "hi", WithCheckPointID("1")))
	steps := stepsOf(t, f.store, "1")
	before, err := f.store.ReadRecords(t.Context(), "1")
	require.NoError(t, err)
	for at := 1; at <= len(steps); at++ {
		f.made, f.forks = nil, nil
		id := fmt.Sprint("fork ", at)
		require.NoError(t, Fork(t.Context(), f.store, "1", ForkOptions{At: at, NewID: id}))
		require.Empty(t, f.made, "forking runs nothing")
		info, _, err := f.store.Inspect(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, checkpoint.Paused, info.Status)
		require.Equal(t, "seq", info.Agent)

		texts := resumeFork(t, f.runner, id)
		require.Equal(t, "last: last done", texts[len(texts)-1])
		done := 0
		for _, s := range steps[:at] {
			if s.Kind == StepResult && s.Call.Function.Name == "work" {
				done++
			}
		}
		require.Equal(t, []string{"a", "b"}[done:], append([]string{}, f.made...), "fork at step %d", at)
		for _, from := range f.forks {
			require.Equal(t, fmt.Sprint("1 ", at), from)
		}
		ends := stepsOf(t, f.store, id)
		require.Equal(t, steps[len(steps)-1].Messages, withoutIDsLike(ends[len(ends)-1].Messages, steps[len(steps)-1].Messages))
		after, err := f.store.ReadRecords(t.Context(), "1")
		require.NoError(t, err)
		require.Equal(t, before, after)
	}
	require.Len(t, f.keys, 2+keysOfForks(steps), "no key is that of another run")
}

// keysOfForks is how many calls of "work" all forks of a run make.
func keysOfForks(steps []Step) (n int) {
	for i, s := range steps {
		if s.Kind == StepResult && s.Call.Function.Name == "work" {
			n += i // the forks at the steps before
		}
	}
	return n
}

// withoutIDsLike gives messages the Extra of others, which has their IDs.
func withoutIDsLike(messages, like []any) []any {
	messages = slices.Clone(messages)
	for i := range messages {
		m := *messages[i].(*schema.Message)
		if i < len(like) {
			m.Extra = like[i].(*schema.Message).Extra
		}
		messages[i] = &m
	}
	return messages
}
