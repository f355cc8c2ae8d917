package adk

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/runs"
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
	f.runner = keeping(f.store, seq)
	return f
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

// TestSteps_OfARunThatHasEnded: the steps come from all agents, with whole messages, and stay when the run has ended.
// Rule steps/FK-1.
func TestSteps_OfARunThatHasEnded(t *testing.T) {
	f := newForkable(t)
	drainAll(t, f.runner.Query(t.Context(), "hi", WithCheckPointID("1"), WithSessionValues(map[string]any{"user": "me"})))
	steps := stepsOf(t, f.store, "1")
	require.Equal(t, []string{"begin[]", "turn[seq outer]", "start[seq outer]", "result[seq outer]",
		"turn[seq outer]", "start[seq outer]", "turn[seq outer inner]", "start[seq outer inner]",
		"result[seq outer inner]", "turn[seq outer inner]", "result[seq outer]", "turn[seq outer]",
		"turn[seq last]"}, kinds(steps))
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
	require.Equal(t, runs.Done, info.Status)
	require.Equal(t, []string{"last: last done"}, resumeFork(t, f.runner, "1"), "the run has ended as any other one")
	require.NoError(t, f.store.Remove(t.Context(), "1", false))
	_, err = Steps(t.Context(), f.store, "1")
	require.ErrorIs(t, err, runs.ErrNotFound)
}

// TestFork_AtEveryStep: a fork comes to the same end as its origin, makes the calls that have no result among its
// steps, by keys of its own, and changes no byte of the origin.
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
		require.Equal(t, runs.Paused, info.Status)
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
		require.Equal(t, lastLines(steps), lastLines(stepsOf(t, f.store, id)))
		after, err := f.store.ReadRecords(t.Context(), "1")
		require.NoError(t, err)
		require.Equal(t, before, after)
	}
	require.Len(t, f.keys, 2+keysOfForks(steps), "no key is that of another run")
}

// keysOfForks returns how many calls of "work" all forks of a run make.
func keysOfForks(steps []Step) (n int) {
	for i, s := range steps {
		if s.Kind == StepResult && s.Call.Function.Name == "work" {
			n += i // the forks at the steps before
		}
	}
	return n
}

// lastLines are the messages of the last turn of a run.
func lastLines(steps []Step) (lines []string) {
	for _, m := range steps[len(steps)-1].Messages {
		lines = append(lines, chatDialect.line(m.(*schema.Message)))
	}
	return lines
}

// TestFork_AsksAgain: a fork asks what its origin has asked, under another ID: what the origin was answered is no
// answer to the fork. The result of a call that was answered is kept with its step.
// Rule steps/FK-5.
func TestFork_AsksAgain(t *testing.T) {
	for name, store := range map[string]CheckPointStore{
		"runs": checkpoint.NewMemoryStore(), "plain": onlyJournal(checkpoint.NewMemoryStore()),
	} {
		t.Run(name, func(t *testing.T) {
			r := keeping(store, askingAgent(t))
			asked := onePoint(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))
			fork := func(at int, id string) {
				require.NoError(t, Fork(t.Context(), store, "1", ForkOptions{At: at, NewID: id}))
			}
			fork(4, "waits")
			drainAll(t, answering(t, r, "1", asked.ID, "yes"))
			require.Len(t, stepsOf(t, store, "1"), 7)
			fork(2, "turn")
			fork(5, "start")
			fork(6, "result")
			for _, id := range []string{"waits", "turn", "start"} {
				point := onePoint(t, answering(t, r, id, asked.ID, "yes"))
				require.Equal(t, "may I?", point.Info, "%s: it has not been asked before", id)
				require.NotEqual(t, asked.ID, point.ID)
				texts, _ := drainAll(t, answering(t, r, id, point.ID, "no"))
				require.Equal(t, []string{"a: answered no", "a: done"}, texts)
			}
			texts := resumeFork(t, r, "result")
			require.Equal(t, []string{"a: done"}, texts)
			steps := stepsOf(t, store, "result")
			require.Equal(t, "answered yes", steps[len(steps)-1].Messages[2].(*schema.Message).Content)
		})
	}
}

// TestFork_KeysStayInTheFork: a call of a fork that stopped and is made again has the key that it had there, which is not
// the key of the origin; a fork of the fork has another one.
// Rule steps/FK-4.
func TestFork_KeysStayInTheFork(t *testing.T) {
	store := checkpoint.NewMemoryStore()
	keys := map[string][]string{} // by run
	run := ""
	ask := &toolFunc{"ask", func(ctx context.Context, _ string) (string, error) {
		keys[run] = append(keys[run], GetIdempotencyKey(ctx))
		if _, has, answer := tool.GetResumeContext[string](ctx); has {
			return answer, nil
		}
		return "", tool.Interrupt(ctx, "may I?")
	}}
	inner := newOrdinary(t, "inner", recall(callOf("ask", "i1", "b"), chatAnswer("inner done")), ask)
	r := keeping(store, newOrdinary(t, "outer", recall(callOf("inner", "o1", `{"request":"do"}`), chatAnswer("done")),
		NewAgentTool(t.Context(), inner)))
	var point *InterruptCtx
	live := func(id string, it *AsyncIterator[*AgentEvent]) {
		point = onePoint(t, it)
		drainAll(t, answering(t, r, id, point.ID, "yes"))
		require.Len(t, keys[id], 2)
		require.Equal(t, keys[id][0], keys[id][1])
	}
	run = "1"
	live("1", r.Query(t.Context(), "hi", WithCheckPointID("1")))
	all := map[string]bool{keys["1"][0]: true}
	for i, from := range []string{"1", "1", "2", "3"} {
		run = fmt.Sprint(i + 2)
		require.NoError(t, Fork(t.Context(), store, from, ForkOptions{At: 4, NewID: run})) // behind the turn of inner
		it, err := r.Resume(t.Context(), run)
		require.NoError(t, err)
		live(run, it)
		require.False(t, all[keys[run][0]], "run %s", run)
		all[keys[run][0]] = true
	}
}

// TestFork_ResultsBesideStay: of calls that were made side by side, those with a result keep it, and the others are
// made in the fork, also one that had only begun.
// Rule steps/FK-5.
func TestFork_ResultsBesideStay(t *testing.T) {
	store := checkpoint.NewMemoryStore()
	var made atomic.Int32
	slow := &toolFunc{"slow", func(context.Context, string) (string, error) { made.Add(1); return "slow", nil }}
	quick := textTool("quick", "quick")
	both := chatAnswer("", wanted{"slow", "1", "{}"}, wanted{"quick", "2", "{}"})
	agent := setup(t, recall(both, chatAnswer("never"), chatAnswer("done")), []tool.BaseTool{slow, quick},
		func(c *ChatModelAgentConfig) { c.ToolsConfig.ExecuteSequentially = true })
	r := keeping(store, agent)
	drainAll(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))
	steps := stepsOf(t, store, "1")
	require.Equal(t, "[begin turn start result start result turn]", fmt.Sprint(onlyKinds(steps)))
	for at, calls := range []int32{1: 1, 2: 1, 3: 1, 4: 0, 5: 0, 6: 0, 7: 0} {
		if at == 0 {
			continue
		}
		made.Store(0)
		id := fmt.Sprint("fork ", at)
		require.NoError(t, Fork(t.Context(), store, "1", ForkOptions{At: at, NewID: id}))
		resumeFork(t, r, id)
		require.Equal(t, calls, made.Load(), "fork at step %d", at)
	}
}

func onlyKinds(steps []Step) (all []StepKind) {
	for _, s := range steps {
		all = append(all, s.Kind)
	}
	return all
}

// TestFork_OnlyWhatCanBeForked: what is asked for has to be there, and the ID of the fork to be free.
// Rule steps/FK-2.
func TestFork_OnlyWhatCanBeForked(t *testing.T) {
	f := newForkable(t)
	drainAll(t, f.runner.Query(t.Context(), "hi", WithCheckPointID("1")))
	plain := onlyJournal(f.store)
	require.NoError(t, f.store.Set(t.Context(), "checkpoint", []byte("x")))
	require.NoError(t, f.store.AppendRecord(t.Context(), "journal", []byte("x")))
	for _, c := range []struct {
		store CheckPointStore
		id    string
		o     ForkOptions
		want  string
	}{
		{f.store, "1", ForkOptions{At: 1}, `the fork needs an ID of its own: set ForkOptions.NewID`},
		{f.store, "1", ForkOptions{At: 1, NewID: "1"}, `the fork needs an ID of its own: set ForkOptions.NewID`},
		{f.store, "1", ForkOptions{NewID: "2"}, `there is no step 0: set ForkOptions.At to one from 1 to 13`},
		{f.store, "1", ForkOptions{At: 14, NewID: "2"}, `there is no step 14: set ForkOptions.At to one from 1 to 13`},
		{f.store, "1", ForkOptions{At: 1, NewID: "checkpoint"}, `run "checkpoint": there is a run with that ID`},
		{plain, "1", ForkOptions{At: 1, NewID: "journal"}, `run "journal": there is a run with that ID`},
		{f.store, "none", ForkOptions{At: 1, NewID: "2"}, `failed to read the steps of run "none": ` +
			`there are none, or they are not kept (see RunnerConfig.KeepSteps): checkpoint[none] not exist`},
	} {
		require.EqualError(t, Fork(t.Context(), c.store, c.id, c.o), fmt.Sprintf("failed to fork run %q: %s", c.id, c.want))
	}
	require.NoError(t, Fork(t.Context(), f.store, "1", ForkOptions{At: 13, NewID: "2"}))
	require.ErrorIs(t, Fork(t.Context(), f.store, "1", ForkOptions{At: 13, NewID: "2"}), runs.ErrExists)
}

// TestFork_IsThereAsAWhole: a plain store that fails in between leaves nothing, and what a process leaves that dies
// there cannot be resumed.
// Rule steps/FK-2.
func TestFork_IsThereAsAWhole(t *testing.T) {
	f := newForkable(t)
	drainAll(t, f.runner.Query(t.Context(), "hi", WithCheckPointID("1")))
	var left atomic.Int32
	left.Store(3)
	dying := dyingJournal{f.store, &left}
	require.ErrorIs(t, Fork(t.Context(), dying, "1", ForkOptions{At: 8, NewID: "2"}), errDied)
	records, err := f.store.ReadRecords(t.Context(), "2")
	require.NoError(t, err)
	require.Empty(t, records)

	plain := onlyJournal(f.store)
	require.NoError(t, Fork(t.Context(), plain, "1", ForkOptions{At: 9, NewID: "2"}))
	records, err = f.store.ReadRecords(t.Context(), "2")
	require.NoError(t, err)
	require.NoError(t, f.store.RemoveRecords(t.Context(), "2"))
	for _, r := range records[:len(records)-1] {
		require.NoError(t, f.store.AppendRecord(t.Context(), "2", r))
	}
	_, err = keeping(plain, askingAgent(t)).Resume(t.Context(), "2")
	require.EqualError(t, err, `failed to load from checkpoint: fork "2" of run "1" was not written to its end: `+
		`remove it, and fork again`)
}

// TestForkedFrom_OutsideOfForks: there is no origin.
// Rule steps/FK-4.
func TestForkedFrom_OutsideOfForks(t *testing.T) {
	for _, ctx := range []context.Context{t.Context(), nil} {
		id, at := ForkedFrom(ctx)
		require.Empty(t, id)
		require.Zero(t, at)
	}
	f := newForkable(t)
	drainAll(t, f.runner.Query(t.Context(), "hi", WithCheckPointID("1")))
	require.Equal(t, []string{" 0", " 0"}, f.forks)
}
