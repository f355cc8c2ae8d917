package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/conversation"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// modelFunc is a model that is a function.
type modelFunc func(ctx context.Context, history []*schema.Message) (*schema.Message, error)

func (f modelFunc) Generate(ctx context.Context, history []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	return f(ctx, history)
}

func (f modelFunc) Stream(
	ctx context.Context, history []*schema.Message, _ ...model.Option,
) (*schema.StreamReader[*schema.Message], error) {
	m, err := f(ctx, history)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderFromArray([]*schema.Message{m}), nil
}

// toolNamed makes a tool of a function.
func toolNamed(t testing.TB, name string, do func(ctx context.Context) (string, error)) tool.BaseTool {
	t.Helper()
	made, err := utils.InferTool(name, name, func(ctx context.Context, _ struct{}) (string, error) { return do(ctx) })
	require.NoError(t, err)
	return made
}

// agentOf makes an agent that calls the tools, one after the other, and says that it is done with the last result.
func agentOf(t *testing.T, name string, tools ...tool.BaseTool) adk.Agent {
	t.Helper()
	answer := modelFunc(func(_ context.Context, history []*schema.Message) (*schema.Message, error) {
		done, last := 0, ""
		for _, m := range history {
			if m.Role == schema.Tool {
				done, last = done+1, m.Content
			}
		}
		if done == len(tools) {
			return schema.AssistantMessage("done: "+last, nil), nil
		}
		info, err := tools[done].Info(t.Context())
		if err != nil {
			return nil, err
		}
		call := schema.ToolCall{ID: fmt.Sprint("c", done), Function: schema.FunctionCall{Name: info.Name, Arguments: `{"request":"do it"}`}}
		return schema.AssistantMessage("", []schema.ToolCall{call}), nil
	})
	agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: name, Description: name, Model: answer,
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: tools}}})
	require.NoError(t, err)
	return agent
}

func jobOf(id, agent string) dispatch.Job {
	return dispatch.Job{ID: id, Agent: agent, Messages: []*schema.Message{schema.UserMessage("go")}}
}

// working is a dispatcher with a worker in a bubble.
func working(t *testing.T, store runs.Store, conf dispatch.Config, work dispatch.WorkerConfig) (*dispatch.Dispatcher, func()) {
	t.Helper()
	d := dispatch.New(store, conf)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Work(ctx, work) }()
	return d, sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-ended)
	})
}

func waitFor(t *testing.T, d *dispatch.Dispatcher, id string, status runs.Status) dispatch.Result {
	t.Helper()
	o, err := d.Wait(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, status, o.Status, "%v", o.Err)
	return o
}

// TestWork_ExecutesWhatIsSubmitted.
// Rules distributed/D3, distributed/D4.
func TestWork_ExecutesWhatIsSubmitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := checkpoint.NewMemoryStore()
		var calls atomic.Int32
		agent := agentOf(t, "a", toolNamed(t, "work", func(context.Context) (string, error) {
			calls.Add(1)
			time.Sleep(time.Minute)
			return "worked", nil
		}))
		d, stop := working(t, store, dispatch.Config{Agents: dispatch.Agents{"a": dispatch.RunnerOf(agent)}}, dispatch.WorkerConfig{})
		defer stop()
		for i := range 10 {
			info, err := d.Submit(t.Context(), jobOf(fmt.Sprint(i), "a"))
			require.NoError(t, err)
			require.Equal(t, runs.Ready, info.Status)
		}
		info, err := d.Submit(t.Context(), jobOf("3", "a"))
		require.ErrorIs(t, err, runs.ErrExists)
		require.Equal(t, "3", info.ID)
		for i := range 10 {
			o := waitFor(t, d, fmt.Sprint(i), runs.Done)
			require.Equal(t, "done: worked", o.Message.Content)
			require.Equal(t, "a", o.Agent)
		}
		require.EqualValues(t, 10, calls.Load())
	})
}

// TestWork_ARunThatAsksNeedsNoWorker until it is answered; then any worker continues.
// Rules distributed/D1, distributed/C8.
func TestWork_ARunThatAsksNeedsNoWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := checkpoint.NewMemoryStore()
		agent := agentOf(t, "a", toolNamed(t, "ask", func(ctx context.Context) (string, error) {
			if _, ok, answer := tool.GetResumeContext[string](ctx); ok {
				return answer, nil
			}
			return "", tool.Interrupt(ctx, "may I?")
		}))
		conf := dispatch.Config{Agents: dispatch.Agents{"a": dispatch.RunnerOf(agent)}}
		d, stop := working(t, store, conf, dispatch.WorkerConfig{})
		_, err := d.Submit(t.Context(), jobOf("1", "a"))
		require.NoError(t, err)
		o := waitFor(t, d, "1", runs.Waiting)
		require.Equal(t, "may I?", o.Questions[0].Text)
		o, err = d.Execute(t.Context(), "1")
		require.NoError(t, err)
		require.Equal(t, runs.Waiting, o.Status, "there is no answer")
		stop()

		answer, err := runs.EncodeReply(o.Questions[0].ID, "you may")
		require.NoError(t, err)
		require.NoError(t, d.Reply(t.Context(), "1", answer))
		d, stop = working(t, store, conf, dispatch.WorkerConfig{})
		defer stop()
		require.Equal(t, "done: you may", waitFor(t, d, "1", runs.Done).Message.Content)
		o, err = d.Execute(t.Context(), "1")
		require.NoError(t, err)
		require.Equal(t, "done: you may", o.Message.Content)
	})
}

// TestWork_AQuestionThatNobodyAnswersExpires.
func TestWork_AQuestionThatNobodyAnswersExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := checkpoint.NewMemoryStore()
		agent := agentOf(t, "a", toolNamed(t, "ask", func(ctx context.Context) (string, error) {
			if _, ok, _ := tool.GetResumeContext[*runs.Expired](ctx); ok {
				return "nobody answers", nil
			}
			return "", tool.Interrupt(ctx, urgent{time.Now().Add(time.Hour)})
		}))
		d, stop := working(t, store, dispatch.Config{Agents: dispatch.Agents{"a": dispatch.RunnerOf(agent)}}, dispatch.WorkerConfig{})
		defer stop()
		begun := time.Now()
		_, err := d.Submit(t.Context(), jobOf("1", "a"))
		require.NoError(t, err)
		waitFor(t, d, "1", runs.Waiting)
		time.Sleep(time.Hour + 5*time.Second)
		require.Equal(t, "done: nobody answers", waitFor(t, d, "1", runs.Done).Message.Content)
		require.Less(t, time.Since(begun), time.Hour+10*time.Second)
	})
}

// urgent is a question that expires.
type urgent struct{ Until time.Time }

func (u urgent) Asks() runs.Question { return runs.Question{Text: "quick!", Expires: u.Until} }

func init() { schema.RegisterName[urgent]("_weft_dispatch_test_urgent") }

// TestStretch_OfOneRunIsBusyForOthers.
// Rule distributed/D1.
func TestStretch_OfOneRunIsBusyForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent := agentOf(t, "a", toolNamed(t, "work", func(context.Context) (string, error) {
			time.Sleep(time.Minute)
			return "worked", nil
		}))
		d := dispatch.New(checkpoint.NewMemoryStore(), dispatch.Config{Agents: dispatch.Agents{"a": dispatch.RunnerOf(agent)}})
		_, err := d.Submit(t.Context(), jobOf("1", "a"))
		require.NoError(t, err)
		first := make(chan error, 1)
		go func() {
			_, err := d.Execute(t.Context(), "1")
			first <- err
		}()
		synctest.Wait()
		_, err = d.Execute(t.Context(), "1")
		var busy *runs.BusyError
		require.ErrorAs(t, err, &busy)
		require.False(t, busy.Until.IsZero())
		require.NoError(t, <-first)
		_, err = d.Execute(t.Context(), "none")
		require.ErrorIs(t, err, runs.ErrNotFound)
	})
}

// TestWork_DrainsWithoutRepeatingACall: another worker continues behind the call that was in flight.
// Rule distributed/D6.
func TestWork_DrainsWithoutRepeatingACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := checkpoint.NewMemoryStore()
		var calls atomic.Int32
		slow := func(context.Context) (string, error) {
			calls.Add(1)
			time.Sleep(10 * time.Second)
			return "worked", nil
		}
		agent := agentOf(t, "a", toolNamed(t, "one", slow), toolNamed(t, "two", slow), toolNamed(t, "three", slow))
		conf := dispatch.Config{Agents: dispatch.Agents{"a": dispatch.RunnerOf(agent)}}
		d, stop := working(t, store, conf, dispatch.WorkerConfig{})
		for i := range 20 {
			_, err := d.Submit(t.Context(), jobOf(fmt.Sprint(i), "a"))
			require.NoError(t, err)
		}
		time.Sleep(15 * time.Second)
		begun := time.Now()
		stop()
		require.Less(t, time.Since(begun), 6*time.Second)
		counts, err := store.Count(t.Context(), runs.Query{})
		require.NoError(t, err)
		require.Equal(t, map[runs.Status]int64{runs.Ready: 20}, counts)
		d, stop = working(t, store, conf, dispatch.WorkerConfig{})
		defer stop()
		for i := range 20 {
			waitFor(t, d, fmt.Sprint(i), runs.Done)
		}
		require.EqualValues(t, 60, calls.Load())
	})
}

// TestWork_DrainsInTimeAlthoughACallHangs.
// Rule distributed/D6.
func TestWork_DrainsInTimeAlthoughACallHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := checkpoint.NewMemoryStore()
		agent := agentOf(t, "a", toolNamed(t, "hangs", func(ctx context.Context) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}))
		d, stop := working(t, store, dispatch.Config{Agents: dispatch.Agents{"a": dispatch.RunnerOf(agent)}},
			dispatch.WorkerConfig{DrainTimeout: 5 * time.Second})
		_, err := d.Submit(t.Context(), jobOf("1", "a"))
		require.NoError(t, err)
		time.Sleep(time.Second)
		begun := time.Now()
		stop()
		require.InDelta(t, 5, time.Since(begun).Seconds(), 2)
		info, _, err := store.Inspect(t.Context(), "1")
		require.NoError(t, err)
		require.Equal(t, runs.Ready, info.Status)
		require.Empty(t, info.Owner)
	})
}

// TestWork_StopsRunsAtOnceWhenItIsInAHurry: the process has no time left, and says so while the worker ends; before that it
// means nothing.
func TestWork_StopsRunsAtOnceWhenItIsInAHurry(t *testing.T) {
	for _, early := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			store := checkpoint.NewMemoryStore()
			agent := agentOf(t, "a", toolNamed(t, "hangs", func(ctx context.Context) (string, error) {
				<-ctx.Done()
				return "", ctx.Err()
			}))
			hurry := make(chan struct{})
			d, stop := working(t, store, dispatch.Config{Agents: dispatch.Agents{"a": dispatch.RunnerOf(agent)}},
				dispatch.WorkerConfig{DrainTimeout: time.Hour, Hurry: hurry})
			if early {
				close(hurry)
			} else {
				time.AfterFunc(3*time.Second, func() { close(hurry) })
			}
			_, err := d.Submit(t.Context(), jobOf("1", "a"))
			require.NoError(t, err)
			time.Sleep(time.Second)
			info, _, err := store.Inspect(t.Context(), "1")
			require.NoError(t, err)
			require.Equal(t, runs.Running, info.Status)
			begun := time.Now()
			stop()
			require.Less(t, time.Since(begun), 5*time.Second)
			info, _, err = store.Inspect(t.Context(), "1")
			require.NoError(t, err)
			require.Equal(t, runs.Ready, info.Status)
		})
	}
}

// TestStop_PausesARunUntilItIsContinued.
// Rule distributed/D9.
func TestStop_PausesARunUntilItIsContinued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := checkpoint.NewMemoryStore()
		slow := func(context.Context) (string, error) {
			time.Sleep(10 * time.Second)
			return "worked", nil
		}
		agent := agentOf(t, "a", toolNamed(t, "one", slow), toolNamed(t, "two", slow))
		d, stop := working(t, store, dispatch.Config{Agents: dispatch.Agents{"a": dispatch.RunnerOf(agent)}}, dispatch.WorkerConfig{})
		defer stop()
		_, err := d.Submit(t.Context(), jobOf("1", "a"))
		require.NoError(t, err)
		time.Sleep(time.Second)
		require.NoError(t, d.Stop(t.Context(), "1", runs.StopRequest{Reason: "tea"}))
		o := waitFor(t, d, "1", runs.Paused)
		require.EqualError(t, o.Err, "tea")
		time.Sleep(time.Hour)
		waitFor(t, d, "1", runs.Paused)
		require.NoError(t, d.Continue(t.Context(), "1"))
		waitFor(t, d, "1", runs.Done)
	})
}

// TestWork_TriesFailuresAgainThatMayPass, later and later, and gives up in the end.
// Rule distributed/D7.
func TestWork_TriesFailuresAgainThatMayPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := checkpoint.NewMemoryStore()
		var calls, never atomic.Int32
		agent := agentOf(t, "a", toolNamed(t, "flaky", func(context.Context) (string, error) {
			if calls.Add(1) < 4 {
				return "", passing{}
			}
			return "worked", nil
		}))
		broken := agentOf(t, "b", toolNamed(t, "broken", func(context.Context) (string, error) { return "", errors.New("no luck") }))
		hopeless := agentOf(t, "c", toolNamed(t, "hopeless", func(context.Context) (string, error) {
			never.Add(1)
			return "", passing{}
		}))
		d, stop := working(t, store, dispatch.Config{Agents: dispatch.Agents{"a": dispatch.RunnerOf(agent), "b": dispatch.RunnerOf(broken),
			"c": dispatch.RunnerOf(hopeless)}}, dispatch.WorkerConfig{})
		defer stop()
		for _, id := range []string{"a", "b", "c"} {
			_, err := d.Submit(t.Context(), jobOf(id, id))
			require.NoError(t, err)
		}
		begun := time.Now()
		require.ErrorContains(t, waitFor(t, d, "b", runs.Failed).Err, "no luck")
		waitFor(t, d, "a", runs.Done)
		require.InDelta(t, 5+10+20, time.Since(begun).Seconds(), 5)
		require.ErrorContains(t, waitFor(t, d, "c", runs.Failed).Err, "it will pass")
		require.EqualValues(t, 21, never.Load())
	})
}

// passing is an error of something that works again soon.
type passing struct{}

func (passing) Error() string   { return "it will pass" }
func (passing) Retryable() bool { return true }

// TestWork_ARunThatKillsItsProcessesFails.
// Rules distributed/Q7, distributed/D12.
func TestWork_ARunThatKillsItsProcessesFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := checkpoint.NewMemoryStore()
		agent := agentOf(t, "a", toolNamed(t, "work", func(context.Context) (string, error) { return "worked", nil }))
		d := dispatch.New(store, dispatch.Config{MaxAttempts: 3, Agents: dispatch.Agents{"a": dispatch.RunnerOf(agent)}})
		_, err := d.Submit(t.Context(), jobOf("1", "a"))
		require.NoError(t, err)
		for range 3 { // processes that die at once
			_, err := store.AcquireDue(t.Context(), runs.LeaseRequest{TTL: time.Second}, runs.Due{})
			require.NoError(t, err)
			time.Sleep(2 * time.Second)
		}
		o, err := d.Execute(t.Context(), "1")
		require.NoError(t, err)
		require.Equal(t, runs.Failed, o.Status)
		var poisoned *dispatch.PoisonedError
		require.ErrorAs(t, o.Err, &poisoned)
		require.ErrorContains(t, o.Err, "died 3 times at the same place")
	})
}

// TestWork_TakesOverFromAProcessThatDied, within the TTL and a poll.
// Rule distributed/D5.
func TestWork_TakesOverFromAProcessThatDied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := checkpoint.NewMemoryStore()
		agent := agentOf(t, "a", toolNamed(t, "work", func(context.Context) (string, error) { return "worked", nil }))
		d := dispatch.New(store, dispatch.Config{})
		_, err := d.Submit(t.Context(), jobOf("1", "a"))
		require.NoError(t, err)
		_, err = store.AcquireDue(t.Context(), runs.LeaseRequest{TTL: 4 * time.Second}, runs.Due{})
		require.NoError(t, err)
		begun := time.Now()
		d, stop := working(t, store, dispatch.Config{Agents: dispatch.Agents{"a": dispatch.RunnerOf(agent)}}, dispatch.WorkerConfig{})
		defer stop()
		waitFor(t, d, "1", runs.Done)
		require.Less(t, time.Since(begun), 4*time.Second+1300*time.Millisecond+100*time.Millisecond)
	})
}

// TestWork_RunsOfOneKeyDoNotOverlap, and keep their order.
// Rule distributed/D10.
func TestWork_RunsOfOneKeyDoNotOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := checkpoint.NewMemoryStore()
		var now atomic.Int32
		var mu sync.Mutex // guards order
		var order []string
		agent := agentOf(t, "a", toolNamed(t, "work", func(ctx context.Context) (string, error) {
			require.EqualValues(t, 1, now.Add(1))
			defer now.Add(-1)
			id, _ := adk.GetSessionValue(ctx, "id")
			mu.Lock()
			order = append(order, id.(string))
			mu.Unlock()
			time.Sleep(time.Second)
			return "worked", nil
		}))
		d, stop := working(t, store, dispatch.Config{Agents: dispatch.Agents{"a": dispatch.RunnerOf(agent)}}, dispatch.WorkerConfig{})
		defer stop()
		var want []string
		for i := range 8 {
			job := jobOf(fmt.Sprint(i), "a")
			job.Key, job.SessionValues = "ana", map[string]any{"id": job.ID}
			_, err := d.Submit(t.Context(), job)
			require.NoError(t, err)
			want = append(want, job.ID)
		}
		rejected := jobOf("no", "a")
		rejected.Key, rejected.OnBusy = "ana", dispatch.Reject
		_, err := d.Submit(t.Context(), rejected)
		require.ErrorIs(t, err, runs.ErrBusy)
		for _, id := range want {
			waitFor(t, d, id, runs.Done)
		}
		require.Equal(t, want, order)

		first, second := jobOf("first", "a"), jobOf("second", "a")
		first.Key, second.Key = "bob", "bob"
		first.SessionValues, second.SessionValues = map[string]any{"id": "first"}, map[string]any{"id": "second"}
		second.OnBusy = dispatch.Interrupt
		_, err = d.Submit(t.Context(), first)
		require.NoError(t, err)
		time.Sleep(100 * time.Millisecond)
		_, err = d.Submit(t.Context(), second)
		require.NoError(t, err)
		waitFor(t, d, "second", runs.Done)
		require.ErrorContains(t, waitFor(t, d, "first", runs.Paused).Err, "run second takes its place")
	})
}

// TestWork_ARunPastItsDeadlineFails.
// Rule distributed/D11.
func TestWork_ARunPastItsDeadlineFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent := agentOf(t, "a", toolNamed(t, "hangs", func(ctx context.Context) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}))
		d, stop := working(t, checkpoint.NewMemoryStore(), dispatch.Config{Agents: dispatch.Agents{"a": dispatch.RunnerOf(agent)}}, dispatch.WorkerConfig{})
		defer stop()
		job := jobOf("1", "a")
		job.Deadline = time.Now().Add(time.Minute)
		_, err := d.Submit(t.Context(), job)
		require.NoError(t, err)
		begun := time.Now()
		require.ErrorContains(t, waitFor(t, d, "1", runs.Failed).Err, "deadline of the run is over")
		require.InDelta(t, 60, time.Since(begun).Seconds(), 2)
	})
}

// TestWork_LeavesRunsToOthersThatItDoesNotKnow.
// Rules distributed/D12, distributed/D13.
func TestWork_LeavesRunsToOthersThatItDoesNotKnow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := checkpoint.NewMemoryStore()
		a := agentOf(t, "a", toolNamed(t, "work", func(context.Context) (string, error) { return "worked", nil }))
		refuses := func(context.Context, runs.Info, checkpoint.Store) (*adk.Runner, error) {
			return nil, dispatch.ErrWrongWorker
		}
		d, stop := working(t, store, dispatch.Config{Agents: dispatch.Agents{"a": refuses}}, dispatch.WorkerConfig{})
		for _, agent := range []string{"a", "b"} {
			_, err := d.Submit(t.Context(), jobOf(agent, agent))
			require.NoError(t, err)
		}
		time.Sleep(time.Minute)
		stop()
		info, _, err := store.Inspect(t.Context(), "a")
		require.NoError(t, err)
		require.Equal(t, runs.Ready, info.Status)
		conf := dispatch.Config{Agents: dispatch.Agents{"a": dispatch.RunnerOf(a), "b": dispatch.RunnerOf(a)}}
		d, stop = working(t, store, conf, dispatch.WorkerConfig{})
		defer stop()
		waitFor(t, d, "a", runs.Done)
		waitFor(t, d, "b", runs.Done)
	})
}

// TestWork_ConfigurationsThatCannotWorkAreRefused where they are used.
func TestWork_ConfigurationsThatCannotWorkAreRefused(t *testing.T) {
	d := dispatch.New(checkpoint.NewMemoryStore(), dispatch.Config{})
	require.ErrorContains(t, d.Work(t.Context(), dispatch.WorkerConfig{}), "Config.Agents")
	_, err := d.Submit(t.Context(), dispatch.Job{ID: "1"})
	require.ErrorContains(t, err, "Job.Agent")
	_, err = d.Submit(t.Context(), dispatch.Job{ID: "1", Agent: "a"})
	require.ErrorContains(t, err, "no messages")
	require.Panics(t, func() { dispatch.New(nil, dispatch.Config{}) })
	makers := map[string]dispatch.TypedRunnerFunc[*schema.Message]{
		"has made no runner": func(context.Context, runs.Info, checkpoint.Store) (*adk.Runner, error) { return nil, nil },
		"boom":               func(context.Context, runs.Info, checkpoint.Store) (*adk.Runner, error) { panic("boom") },
		"did not use the store": func(ctx context.Context, _ runs.Info, _ checkpoint.Store) (*adk.Runner, error) {
			return adk.NewRunner(ctx, adk.RunnerConfig{Agent: agentOf(t, "a"), CheckPointStore: checkpoint.NewMemoryStore()}), nil
		},
	}
	for want, maker := range makers {
		d := dispatch.New(checkpoint.NewMemoryStore(), dispatch.Config{Agents: dispatch.Agents{"a": maker}})
		_, err := d.Submit(t.Context(), jobOf("1", "a"))
		require.NoError(t, err)
		o, err := d.Execute(t.Context(), "1")
		require.NoError(t, err)
		require.Equal(t, runs.Failed, o.Status)
		require.ErrorContains(t, o.Err, want)
	}
}

// frozenStore is one whose process stands still in the first read of a run, for longer than its lease lasts.
type frozenStore struct {
	*checkpoint.MemoryStore
	frozen atomic.Bool
}

func (s *frozenStore) AcquireDue(ctx context.Context, req runs.LeaseRequest, due runs.Due) (runs.Lease, error) {
	l, err := s.MemoryStore.AcquireDue(ctx, req, due)
	if err != nil {
		return nil, err
	}
	return &frozenLease{l, s}, nil
}

type frozenLease struct {
	runs.Lease
	store *frozenStore
}

func (l *frozenLease) ReadRecords(ctx context.Context, id string) ([][]byte, error) {
	if l.store.frozen.CompareAndSwap(false, true) {
		time.Sleep(2 * l.TTL())
	}
	return l.Lease.ReadRecords(ctx, id)
}

func (l *frozenLease) Renew(context.Context) error { return errors.New("out of reach") }

// TestWork_ARunWhoseWorkerStoodStillBeforeItBeganIsExecutedLater, and has not failed.
// Rule distributed/F7.
func TestWork_ARunWhoseWorkerStoodStillBeforeItBeganIsExecutedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &frozenStore{MemoryStore: checkpoint.NewMemoryStore()}
		agent := agentOf(t, "a", toolNamed(t, "work", func(context.Context) (string, error) { return "worked", nil }))
		d, stop := working(t, store, dispatch.Config{Agents: dispatch.Agents{"a": dispatch.RunnerOf(agent)}, TTL: 2 * time.Second},
			dispatch.WorkerConfig{})
		defer stop()
		_, err := d.Submit(t.Context(), jobOf("1", "a"))
		require.NoError(t, err)
		waitFor(t, d, "1", runs.Done)
	})
}

// slowTalks is a store of conversations that takes longer than a lease lasts, once.
type slowTalks struct {
	conversation.Store
	slow atomic.Bool
}

func (s *slowTalks) State(ctx context.Context, id string, branch conversation.Branch) (conversation.BranchState, error) {
	if s.slow.CompareAndSwap(false, true) {
		<-ctx.Done()
		return conversation.BranchState{}, ctx.Err()
	}
	return s.Store.State(ctx, id, branch)
}

// TestWork_ARunThatWasLostBeforeItsTurnBeganIsExecutedLater, and has not failed.
// Rules distributed/F6, distributed/F7.
func TestWork_ARunThatWasLostBeforeItsTurnBeganIsExecutedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &frozenStore{MemoryStore: checkpoint.NewMemoryStore()}
		store.frozen.Store(true) // it is only that no renewal arrives
		kept, err := conversation.NewStore(store.MemoryStore)
		require.NoError(t, err)
		talk := conversation.Open(&slowTalks{Store: kept}, "talk")
		d, stop := working(t, store, dispatch.Config{TTL: 2 * time.Second, Agents: dispatch.Agents{"a": dispatch.RunnerOf(agentOf(t, "a"))},
			Options: func(context.Context, runs.Info) ([]adk.AgentRunOption, error) {
				return []adk.AgentRunOption{talk.RunOption(conversation.HistoryOptions{})}, nil
			}}, dispatch.WorkerConfig{})
		defer stop()
		_, err = d.Submit(t.Context(), jobOf("1", "a"))
		require.NoError(t, err)
		waitFor(t, d, "1", runs.Done)
		turn, found, err := talk.Find(t.Context(), "1")
		require.NoError(t, err)
		require.True(t, found)
		require.Equal(t, conversation.Kept, turn.Status)
	})
}

// choosy is a question that takes one answer.
type choosy struct{ Want string }

func (c *choosy) CheckReply(answer any) error {
	if answer != c.Want {
		return fmt.Errorf("say %q", c.Want)
	}
	return nil
}

func init() { schema.RegisterName[*choosy]("_weft_dispatch_test_choosy") }

// TestAnswer_IsRefusedByTheQuestionBeforeItIsTaken: the run waits on, and takes a good one. Rules distributed/C10.
func TestAnswer_IsRefusedByTheQuestionBeforeItIsTaken(t *testing.T) {
	agent := agentOf(t, "a", toolNamed(t, "ask", func(ctx context.Context) (string, error) {
		if _, ok, answer := tool.GetResumeContext[string](ctx); ok {
			return answer, nil
		}
		return "", tool.Interrupt(ctx, &choosy{"please"})
	}))
	d := dispatch.New(checkpoint.NewMemoryStore(), dispatch.Config{Agents: dispatch.Agents{"a": dispatch.RunnerOf(agent)}})
	_, err := d.Submit(t.Context(), jobOf("1", "a"))
	require.NoError(t, err)
	o, err := d.Execute(t.Context(), "1")
	require.NoError(t, err)
	for _, bad := range []any{"no", nil, runs.JSONReply(`"no"`)} {
		answer, err := runs.EncodeReply(o.Questions[0].ID, bad)
		require.NoError(t, err)
		err = d.Reply(t.Context(), "1", answer)
		require.ErrorIs(t, err, runs.ErrRefused)
		require.ErrorContains(t, err, `say "please"`)
	}
	answer, err := runs.EncodeReply(o.Questions[0].ID, "please")
	require.NoError(t, err)
	require.NoError(t, d.Reply(t.Context(), "1", answer))
	o, err = d.Execute(t.Context(), "1")
	require.NoError(t, err)
	require.Equal(t, "done: please", o.Message.Content)
}
