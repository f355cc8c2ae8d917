package adk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// slowPayer pays once for each call, and takes its time.
func slowPayer(t *testing.T, paid *atomic.Int32, pace time.Duration) *ChatModelAgent {
	t.Helper()
	pay := &toolFunc{"pay", func(context.Context, string) (string, error) {
		paid.Add(1)
		time.Sleep(pace)
		return "paid", nil
	}}
	return newOrdinary(t, "a", recall(callOf("pay", "c1", "1"), callOf("pay", "c2", "2"), chatAnswer("done")), pay)
}

func leased(t *testing.T, agent Agent, store CheckPointStore) *Runner {
	t.Helper()
	return NewRunner(t.Context(), RunnerConfig{Agent: agent, CheckPointStore: store, Durability: EveryStep,
		Lease: LeaseOptions{Owner: "test", TTL: 3 * time.Second}})
}

func statusOf(t *testing.T, store runs.Store, id string) runs.Info {
	t.Helper()
	info, ok, err := store.Inspect(t.Context(), id)
	require.NoError(t, err)
	require.True(t, ok)
	return info
}

// TestLease_ARunThatIsExecutedIsBusy for every other runner, in this process as in others.
// Rules distributed/F1, distributed/F17.
func TestLease_ARunThatIsExecutedIsBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var paid atomic.Int32
		store := checkpoint.NewMemoryStore()
		r := leased(t, slowPayer(t, &paid, time.Minute), store) // a call lasts 20 TTLs (F9)
		it := r.Query(t.Context(), "pay", WithCheckPointID("1"))
		time.Sleep(30 * time.Second)
		_, err := r.Resume(t.Context(), "1")
		require.ErrorIs(t, err, runs.ErrBusy)
		require.ErrorContains(t, err, `run "1" is busy: test has it until `)
		require.ErrorIs(t, lastError(r.Query(t.Context(), "pay", WithCheckPointID("1"))), runs.ErrBusy)
		require.ErrorIs(t, lastError(r.Query(t.Context(), "pay", WithCheckPointID("1"), WithRestart())), runs.ErrBusy)
		texts, _ := drainAll(t, it)
		require.Equal(t, "a: done", texts[len(texts)-1])
		require.EqualValues(t, 2, paid.Load())
		require.Equal(t, runs.Done, statusOf(t, store, "1").Status)
	})
}

// TestLease_ARunThatIsTakenOverIsGivenUp: its calls are abandoned, it starts none, and what it writes does not count.
// Rules distributed/F3, distributed/F6, distributed/F8.
func TestLease_ARunThatIsTakenOverIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var paid atomic.Int32
		store := checkpoint.NewMemoryStore()
		it := leased(t, slowPayer(t, &paid, time.Minute), store).Query(t.Context(), "pay", WithCheckPointID("1"))
		time.Sleep(10 * time.Second)
		lease, err := store.Acquire(t.Context(), "1", runs.LeaseRequest{Owner: "thief", Steal: true, TTL: time.Hour})
		require.NoError(t, err)
		before, err := lease.ReadRecords(t.Context(), "1")
		require.NoError(t, err)
		begun := time.Now()
		last := lastError(it)
		require.ErrorIs(t, last, runs.ErrLeaseLost)
		require.Less(t, time.Since(begun), 2*time.Second, "it finds out with the next renewal, and waits for no call")
		after, err := lease.ReadRecords(t.Context(), "1")
		require.NoError(t, err)
		require.Equal(t, before, after)
		require.EqualValues(t, 1, paid.Load())
		time.Sleep(2 * time.Minute) // the call comes back, and its result is not needed
		require.EqualValues(t, 1, paid.Load())
		require.Equal(t, "thief", statusOf(t, store, "1").Owner)
	})
}

// TestLease_AProcessThatLostTheRunAsksNobody: what it would ask is saved nowhere, and could not be answered. Its last
// event says why, and is the only one behind the loss. Rules distributed/F6.
func TestLease_AProcessThatLostTheRunAsksNobody(t *testing.T) {
	store := checkpoint.NewMemoryStore()
	ask := &toolFunc{"ask", func(ctx context.Context, _ string) (string, error) {
		_, err := store.Acquire(ctx, "1", runs.LeaseRequest{Owner: "thief", Steal: true, TTL: time.Hour})
		if err != nil {
			return "", err
		}
		return "", tool.Interrupt(ctx, "may I?")
	}}
	agent := newOrdinary(t, "a", recall(callOf("ask", "c1", "x"), chatAnswer("done")), ask)
	for _, durability := range []Durability{OnInterrupt, EveryStep} {
		r := NewRunner(t.Context(), RunnerConfig{Agent: agent, CheckPointStore: store, Durability: durability})
		var last *AgentEvent
		for e := range r.Query(t.Context(), "go", WithCheckPointID("1"), WithRestart()).All() {
			require.Nil(t, last, "nothing comes behind the error")
			if e.Err != nil {
				last = e
			}
			require.Nil(t, e.Action, "durability %v", durability)
		}
		require.ErrorIs(t, last.Err, runs.ErrLeaseLost)
		require.Equal(t, "thief", statusOf(t, store, "1").Owner)
		require.NoError(t, store.Remove(t.Context(), "1", true))
	}
}

// TestLease_ARunThatIsRefusedTakesNothingFromAHolderWhoIsSlow: the holder's lease is over, and no other process has taken
// it. Rules distributed/F3.
func TestLease_ARunThatIsRefusedTakesNothingFromAHolderWhoIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := checkpoint.NewMemoryStore()
		slow, err := store.Acquire(t.Context(), "1", runs.LeaseRequest{Owner: "slow", TTL: time.Second,
			Create: &runs.Spec{}})
		require.NoError(t, err)
		require.NoError(t, slow.AppendRecord(t.Context(), "1", []byte("x")))
		time.Sleep(time.Minute)
		var paid atomic.Int32
		err = lastError(leased(t, slowPayer(t, &paid, 0), store).Query(t.Context(), "pay", WithCheckPointID("1")))
		require.ErrorIs(t, err, runs.ErrExists)
		require.ErrorIs(t, err, runs.ErrBusy)
		require.ErrorContains(t, err, "slow has it until")
		require.NoError(t, slow.AppendRecord(t.Context(), "1", []byte("x")), "his writes count")
	})
}

// TestLease_TakingARunFromItsHolderIsLogged, with both owners. Rules distributed/F12.
func TestLease_TakingARunFromItsHolderIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var paid atomic.Int32
		store := checkpoint.NewMemoryStore()
		agent := slowPayer(t, &paid, time.Minute)
		first := leased(t, agent, store).Query(t.Context(), "pay", WithCheckPointID("1"))
		time.Sleep(10 * time.Second)
		var log bytes.Buffer
		thief := NewRunner(t.Context(), RunnerConfig{Agent: agent, CheckPointStore: store, Durability: EveryStep,
			Logger: slog.New(slog.NewTextHandler(&log, nil)), Lease: LeaseOptions{Owner: "thief", TTL: time.Hour, Steal: true}})
		it, err := thief.Resume(t.Context(), "1")
		require.NoError(t, err)
		require.ErrorIs(t, lastError(first), runs.ErrLeaseLost)
		for e := range it.All() { // a call whose outcome is not known
			require.NoError(t, e.Err)
		}
		require.Contains(t, log.String(), "a run was taken from the process that held it")
		require.Contains(t, log.String(), "from=test")
		require.Contains(t, log.String(), "by=thief")
		time.Sleep(2 * time.Minute) // the call that was abandoned comes back
	})
}

// unreachable is a store that can be cut off.
type unreachable struct {
	*checkpoint.MemoryStore
	cut atomic.Bool
}

func (u *unreachable) Acquire(ctx context.Context, id string, req runs.LeaseRequest) (runs.Lease, error) {
	l, err := u.MemoryStore.Acquire(ctx, id, req)
	if err != nil {
		return nil, err
	}
	return &cutLease{l, u}, nil
}

type cutLease struct {
	runs.Lease
	store *unreachable
}

var errUnreachable = errors.New("no route to the store")

func (l *cutLease) Renew(ctx context.Context) error {
	if l.store.cut.Load() {
		return errUnreachable
	}
	return l.Lease.Renew(ctx)
}

// TestLease_AStoreThatIsOutOfReachForTheTTLEndsTheRun, and one that comes back in time does not.
// Rule distributed/F7.
func TestLease_AStoreThatIsOutOfReachForTheTTLEndsTheRun(t *testing.T) {
	for _, comesBack := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var paid atomic.Int32
			store := &unreachable{MemoryStore: checkpoint.NewMemoryStore()}
			it := leased(t, slowPayer(t, &paid, time.Minute), store).Query(t.Context(), "pay", WithCheckPointID("1"))
			time.Sleep(10500 * time.Millisecond)
			store.cut.Store(true)
			if comesBack {
				time.Sleep(1500 * time.Millisecond)
				store.cut.Store(false)
				require.NoError(t, lastError(it))
				return
			}
			err := lastError(it)
			require.ErrorIs(t, err, runs.ErrLeaseLost)
			require.ErrorIs(t, err, errUnreachable)
			require.EqualValues(t, 1, paid.Load())
			store.cut.Store(false)
			it, err = leased(t, slowPayer(t, &paid, 0), store).Resume(t.Context(), "1")
			require.NoError(t, err, "the lease has ended")
			require.NotNil(t, interruptOf(t, it), "whether the call succeeded has to be asked")
			time.Sleep(2 * time.Minute) // the call that was given up comes back
		})
	}
}

// lateStore is a store whose answer to a renewal comes late, and that is cut off then.
type lateStore struct{ *checkpoint.MemoryStore }

func (s lateStore) Acquire(ctx context.Context, id string, req runs.LeaseRequest) (runs.Lease, error) {
	l, err := s.MemoryStore.Acquire(ctx, id, req)
	return &lateLease{Lease: l}, err
}

type lateLease struct {
	runs.Lease
	renewals atomic.Int32
}

func (l *lateLease) Renew(ctx context.Context) error {
	if l.renewals.Add(1) > 1 {
		return errUnreachable
	}
	defer time.Sleep(5 * time.Second)
	return l.Lease.Renew(ctx)
}

// A lease counts from when its last renewal was sent, not from when its answer came, and no call begins in its last third.
//
// Rule distributed/F7.
func TestLease_NoCallBeginsWhenItsRenewalWasSentTooLongAgo(t *testing.T) {
	for _, c := range []struct {
		begins time.Duration // the renewal was sent after 3 seconds, and answered after 8
		paid   int32
	}{{8900 * time.Millisecond, 1}, {9100 * time.Millisecond, 0}} {
		synctest.Test(t, func(t *testing.T) {
			var paid atomic.Int32
			asked := 0
			m := &modelFunc[Message]{generate: func(context.Context, []Message, ...model.Option) (Message, error) {
				if asked++; asked > 1 {
					return chatAnswer("done"), nil
				}
				time.Sleep(c.begins)
				return callOf("pay", "c1", "1"), nil
			}}
			agent := newOrdinary(t, "a", m, &toolFunc{"pay", func(context.Context, string) (string, error) {
				paid.Add(1)
				return "paid", nil
			}})
			r := NewRunner(t.Context(), RunnerConfig{Agent: agent, CheckPointStore: lateStore{checkpoint.NewMemoryStore()},
				Lease: LeaseOptions{Owner: "test", TTL: 9 * time.Second}})
			err := lastError(r.Query(t.Context(), "pay", WithCheckPointID("1")))
			require.Equal(t, c.paid, paid.Load())
			if c.paid == 0 {
				require.ErrorIs(t, err, errUnreachable)
			} else {
				require.NoError(t, err)
			}
		})
	}
}

// TestLease_AnEndedRunRepeatsItsEnd, and nothing runs again. (C1-C3; P5)
func TestLease_AnEndedRunRepeatsItsEnd(t *testing.T) {
	for _, durability := range []Durability{OnInterrupt, EveryStep} {
		for _, streaming := range []bool{false, true} {
			store := checkpoint.NewMemoryStore()
			var paid atomic.Int32
			m := recall(callOf("pay", "c1", "1"), chatAnswer("done"))
			agent := newOrdinary(t, "a", m, &toolFunc{"pay", func(context.Context, string) (string, error) {
				paid.Add(1)
				return "paid", nil
			}})
			r := NewRunner(t.Context(), RunnerConfig{Agent: agent, CheckPointStore: store, Durability: durability, EnableStreaming: streaming})
			drainAll(t, r.Query(t.Context(), "hi", WithCheckPointID("1"), WithRunTags(map[string]string{"for": "ana"})))
			asked := m.n
			for range 2 {
				it, err := r.Resume(t.Context(), "1")
				require.NoError(t, err)
				texts, last := drainAll(t, it)
				require.Equal(t, []string{"a: done"}, texts)
				require.Equal(t, "a", last.RunPath[0].String())
			}
			require.Equal(t, asked, m.n)
			require.EqualValues(t, 1, paid.Load())
			info := statusOf(t, store, "1")
			require.Equal(t, runs.Done, info.Status)
			require.Zero(t, info.Steps)
			require.Empty(t, info.Owner)
			require.Equal(t, map[string]string{"for": "ana"}, info.Tags)
			err := lastError(r.Query(t.Context(), "hi", WithCheckPointID("1")))
			require.ErrorIs(t, err, runs.ErrEnded)
			require.EqualError(t, err, `runner: run "1", which is done: the run has ended: give the new run another ID, or pass WithRestart`)
			require.NoError(t, lastError(r.Query(t.Context(), "hi", WithCheckPointID("1"), WithRestart())))
			require.EqualValues(t, 2, paid.Load())
		}
	}
}

// TestLease_ARunThatWaitsIsListedWithItsQuestions.
// Rules distributed/Q3, distributed/S4.
func TestLease_ARunThatWaitsIsListedWithItsQuestions(t *testing.T) {
	store := checkpoint.NewMemoryStore()
	ask := &toolFunc{"ask", func(ctx context.Context, _ string) (string, error) {
		if _, ok, text := tool.GetResumeContext[string](ctx); ok {
			return "answered " + text, nil
		}
		return "", tool.Interrupt(ctx, &question{Text: "may I?"})
	}}
	agent := newOrdinary(t, "a", recall(callOf("ask", "c1", "x"), chatAnswer("done")), ask)
	r := leased(t, agent, store)
	points := interruptOf(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))
	var listed []runs.Info
	for info, err := range store.List(t.Context(), runs.Query{WaitingFor: "ana"}) {
		require.NoError(t, err)
		listed = append(listed, info)
	}
	require.Len(t, listed, 1)
	point := listed[0].Waiting[0]
	require.Equal(t, points[0].ID, point.ID)
	require.Equal(t, points[0].Address.String(), point.Address)
	require.Equal(t, runs.Kind("kind"), point.Kind)
	require.Equal(t, "may I?", point.Text)
	require.JSONEq(t, `{"Text":"may I?"}`, string(point.Info))

	_, err := r.ResumeWithParams(t.Context(), "1", &ResumeParams{Targets: map[string]any{point.ID: "no"}})
	require.ErrorContains(t, err, "the answer to question")
	require.ErrorContains(t, err, "say yes")
	require.Equal(t, runs.Waiting, statusOf(t, store, "1").Status, "it can still be answered")

	require.ErrorIs(t, lastError(r.Query(t.Context(), "hi", WithCheckPointID("1"))), runs.ErrExists)

	answer, err := runs.EncodeReply(point.ID, "yes") // by another process
	require.NoError(t, err)
	require.NoError(t, store.Reply(t.Context(), "1", answer))
	require.ErrorIs(t, store.Reply(t.Context(), "1", answer), runs.ErrNotWaiting, "it is ready")
	it, err := r.Resume(t.Context(), "1")
	require.NoError(t, err)
	texts, _ := drainAll(t, it)
	require.Equal(t, []string{"a: answered yes", "a: done"}, texts)
}

type question struct{ Text string }

func (q *question) Asks() runs.Question {
	return runs.Question{Kind: "kind", For: []string{"bob", "ana"}, Text: q.Text}
}

func (q *question) CheckReply(answer any) error {
	if answer != "yes" {
		return errors.New("say yes")
	}
	return nil
}

func init() { schema.RegisterName[*question]("_test_adk_question") }

// TestLease_OfTwoAnswersAtOnceOneCounts.
// Rule distributed/C7.
func TestLease_OfTwoAnswersAtOnceOneCounts(t *testing.T) {
	var paid atomic.Int32
	pay := &toolFunc{"pay", func(ctx context.Context, _ string) (string, error) {
		if target, _, _ := tool.GetResumeContext[string](ctx); !target {
			return "", tool.Interrupt(ctx, "pay?")
		}
		paid.Add(1)
		time.Sleep(20 * time.Millisecond)
		return "paid", nil
	}}
	for range 20 {
		paid.Store(0)
		store := checkpoint.NewMemoryStore()
		r := leased(t, newOrdinary(t, "a", recall(callOf("pay", "c1", "x"), chatAnswer("done")), pay), store)
		point := interruptOf(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))[0].ID
		var all sync.WaitGroup
		var busy atomic.Int32
		for range 4 {
			all.Go(func() {
				it, err := r.ResumeWithParams(t.Context(), "1", &ResumeParams{Targets: map[string]any{point: "yes"}})
				if errors.Is(err, runs.ErrBusy) {
					busy.Add(1)
					return
				}
				if err == nil {
					err = lastError(it)
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		require.EqualValues(t, 1, paid.Load())
		require.Positive(t, busy.Load())
	}
}

// TestResume_AfterADeathNobodyIsAskedAgain: the answer that the process was given before it died counts.
// Rule distributed/C6.
func TestResume_AfterADeathNobodyIsAskedAgain(t *testing.T) {
	for name, store := range map[string]plainJournal{
		"journal": struct{ plainJournal }{checkpoint.NewMemoryStore()},
		"values":  dyingValues{newDeletable()},
	} {
		t.Run(name, func(t *testing.T) {
			var left atomic.Int32
			left.Store(1000)
			var mortal CheckPointStore = dyingJournal{store, &left}
			if name == "values" {
				mortal = dying{CheckPointStore: store, left: &left}
			}
			dies := true
			ask := &toolFunc{"ask", func(ctx context.Context, _ string) (string, error) {
				_, ok, text := tool.GetResumeContext[string](ctx)
				switch {
				case !ok:
					return "", tool.Interrupt(ctx, "may I?")
				case dies:
					left.Store(0)
				}
				return "answered " + text, nil
			}}
			r := NewRunner(t.Context(), RunnerConfig{Agent: newOrdinary(t, "a", recall(callOf("ask", "c1", "x"), chatAnswer("done")),
				idempotentTool{ask}), CheckPointStore: mortal, Durability: EveryStep})
			point := interruptOf(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))[0].ID
			it, err := r.ResumeWithParams(t.Context(), "1", &ResumeParams{Targets: map[string]any{point: "yes"}})
			require.NoError(t, err)
			require.ErrorIs(t, lastError(it), errDied)
			left.Store(1000)
			dies = false
			it, err = r.Resume(t.Context(), "1")
			require.NoError(t, err)
			texts, _ := drainAll(t, it)
			require.Equal(t, []string{"a: answered yes", "a: done"}, texts)
		})
	}
}

// dyingValues hides the journal of a store.
type dyingValues struct{ CheckPointStore }

func (d dyingValues) Delete(ctx context.Context, id string) error {
	return d.CheckPointStore.(CheckPointDeleter).Delete(ctx, id)
}
func (d dyingValues) AppendRecord(context.Context, string, []byte) error { panic("not offered") }
func (d dyingValues) ReadRecords(context.Context, string) ([][]byte, error) {
	panic("not offered")
}
func (d dyingValues) RemoveRecords(context.Context, string) error { panic("not offered") }

// TestResume_AfterADeathQuestionsKeepTheirIDs, so that an answer that is under way fits; after an answer they are new.
// Rule distributed/C12.
func TestResume_AfterADeathQuestionsKeepTheirIDs(t *testing.T) {
	var left atomic.Int32
	left.Store(2) // its beginning and the first turn
	store := dyingJournal{checkpoint.NewMemoryStore(), &left}
	ids := map[string]bool{}
	agent := newOrdinary(t, "a", recall(callOf("ask", "c1", "x"), chatAnswer("done")), idempotentAsk{askTool("ask").(*toolFunc)})
	r := NewRunner(t.Context(), RunnerConfig{Agent: agent, CheckPointStore: store, Durability: EveryStep})
	for e := range r.Query(t.Context(), "hi", WithCheckPointID("1")).All() {
		if e.Action != nil && e.Action.Interrupted != nil {
			ids[e.Action.Interrupted.InterruptContexts[0].ID] = true
		}
	}
	left.Store(1000)
	it, err := r.Resume(t.Context(), "1")
	require.NoError(t, err)
	first := interruptOf(t, it)[0].ID
	ids[first] = true
	require.Len(t, ids, 1)
	it, err = r.Resume(t.Context(), "1")
	require.NoError(t, err)
	require.NotEqual(t, first, interruptOf(t, it)[0].ID, "it has been resumed, and asks anew")
}

type idempotentAsk struct{ *toolFunc }

func (idempotentAsk) Idempotent() bool { return true }

// TestLease_AStopThroughTheStorePausesTheRun, and it can be continued.
// Rules temporal/W7, distributed/D6.
func TestLease_AStopThroughTheStorePausesTheRun(t *testing.T) {
	for _, immediate := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var paid atomic.Int32
			store := checkpoint.NewMemoryStore()
			r := leased(t, slowPayer(t, &paid, time.Minute), store)
			it := r.Query(t.Context(), "pay", WithCheckPointID("1"))
			time.Sleep(10 * time.Second)
			begun := time.Now()
			require.NoError(t, store.Stop(t.Context(), "1", runs.StopRequest{Immediate: immediate, Reason: "tea"}))
			var cancelled *CancelError
			require.ErrorAs(t, lastError(it), &cancelled)
			require.Equal(t, immediate, time.Since(begun) < time.Second)
			info := statusOf(t, store, "1")
			require.Equal(t, runs.Paused, info.Status)
			require.Equal(t, "tea", info.Error)
			it, err := r.Resume(t.Context(), "1")
			require.NoError(t, err)
			require.NoError(t, lastError(it))
			if !immediate {
				require.EqualValues(t, 2, paid.Load())
			}
			time.Sleep(2 * time.Minute) // a call that was given up comes back
		})
	}
}

// TestLease_OfARunThatFailed: it can be resumed; one whose context has ended is paused.
// Rule distributed/C4.
func TestLease_OfARunThatFailed(t *testing.T) {
	store := checkpoint.NewMemoryStore()
	broken := true
	flaky := &toolFunc{"flaky", func(context.Context, string) (string, error) {
		if broken {
			return "", errors.New("no luck")
		}
		return "worked", nil
	}}
	r := leased(t, newOrdinary(t, "a", recall(callOf("flaky", "c1", "x"), chatAnswer("done")), flaky), store)
	require.ErrorContains(t, lastError(r.Query(t.Context(), "hi", WithCheckPointID("1"))), "no luck")
	info := statusOf(t, store, "1")
	require.Equal(t, runs.Failed, info.Status)
	require.Contains(t, info.Error, "no luck")
	require.False(t, info.Expires.IsZero())
	broken = false
	it, err := r.Resume(t.Context(), "1")
	require.NoError(t, err)
	texts, _ := drainAll(t, it)
	require.Equal(t, "a: done", texts[len(texts)-1])

	ctx, cancel := context.WithCancel(t.Context())
	cancelling := &toolFunc{"flaky", func(ctx context.Context, _ string) (string, error) {
		cancel()
		<-ctx.Done()
		return "", ctx.Err()
	}}
	r = leased(t, newOrdinary(t, "a", recall(callOf("flaky", "c1", "x"), chatAnswer("done")), cancelling), store)
	require.ErrorIs(t, lastError(r.Query(ctx, "hi", WithCheckPointID("2"))), context.Canceled)
	require.Equal(t, runs.Paused, statusOf(t, store, "2").Status)
}

// TestLease_IsGivenBackByARunThatCouldNotBegin.
func TestLease_IsGivenBackByARunThatCouldNotBegin(t *testing.T) {
	store := checkpoint.NewMemoryStore()
	r := leased(t, newOrdinary(t, "a", recall(chatAnswer("done"))), store)
	type unregistered struct{ C chan int }
	err := lastError(r.Query(t.Context(), "hi", WithCheckPointID("1"), WithSessionValues(map[string]any{"x": unregistered{}})))
	require.ErrorContains(t, err, "failed to save a step")
	require.Empty(t, statusOf(t, store, "1").Owner)
	require.NoError(t, lastError(r.Query(t.Context(), "hi", WithCheckPointID("1"))), "nothing was saved of it")
	tags := map[string]string{"key": strings.Repeat("x", 129)}
	require.ErrorContains(t, lastError(r.Query(t.Context(), "hi", WithCheckPointID("2"), WithRunTags(tags))), "at most 128 bytes")
}

// TestLease_Off takes none.
func TestLease_Off(t *testing.T) {
	store := checkpoint.NewMemoryStore()
	r := NewRunner(t.Context(), RunnerConfig{Agent: newOrdinary(t, "a", recall(chatAnswer("done"))), CheckPointStore: store,
		Lease: LeaseOptions{Off: true}})
	for range 2 {
		require.NoError(t, lastError(r.Query(t.Context(), "hi", WithCheckPointID("1"))))
	}
	_, exists, err := store.Inspect(t.Context(), "1")
	require.NoError(t, err)
	require.False(t, exists)
}

// TestGetFencingToken_IsThatOfTheLease.
// Rule distributed/F10.
func TestGetFencingToken_IsThatOfTheLease(t *testing.T) {
	store := checkpoint.NewMemoryStore()
	var tokens []uint64
	look := &toolFunc{"look", func(ctx context.Context, _ string) (string, error) {
		tokens = append(tokens, GetFencingToken(ctx))
		return "", nil
	}}
	agent := newOrdinary(t, "a", recall(callOf("look", "c1", "x"), chatAnswer("done")), look)
	for _, id := range []string{"1", "2"} {
		drainAll(t, leased(t, agent, store).Query(t.Context(), "hi", WithCheckPointID(id)))
	}
	drainAll(t, NewRunner(t.Context(), RunnerConfig{Agent: agent}).Query(t.Context(), "hi"))
	require.Equal(t, statusOf(t, store, "1").Token, tokens[0])
	require.Greater(t, tokens[1], tokens[0])
	require.Zero(t, tokens[2])
	var none context.Context
	require.Zero(t, GetFencingToken(none))
}

// TestJSONAnswer_IsDecodedIntoWhatTheToolWaitsFor; one that does not fit is no answer, and the logger says why.
// Rule distributed/C10.
func TestJSONAnswer_IsDecodedIntoWhatTheToolWaitsFor(t *testing.T) {
	type decision struct{ Approve bool }
	var log strings.Builder
	store := checkpoint.NewMemoryStore()
	ask := &toolFunc{"ask", func(ctx context.Context, _ string) (string, error) {
		if _, ok, d := tool.GetResumeContext[*decision](ctx); ok && d.Approve {
			return "approved", nil
		}
		return "", tool.Interrupt(ctx, "may I?")
	}}
	r := NewRunner(t.Context(), RunnerConfig{Agent: newOrdinary(t, "a", recall(callOf("ask", "c1", "x"), chatAnswer("done")), ask),
		CheckPointStore: store, Durability: EveryStep, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	point := interruptOf(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))[0].ID
	for _, raw := range []string{`{"Approve":true,"Amount":5}`, `"yes"`, `{"Approve":true} {}`} {
		answer, err := runs.EncodeReply(point, runs.JSONReply(raw))
		if !json.Valid([]byte(raw)) {
			require.ErrorContains(t, err, "is no JSON")
			continue
		}
		require.NoError(t, err)
		require.NoError(t, store.Reply(t.Context(), "1", answer))
		it, err := r.Resume(t.Context(), "1")
		require.NoError(t, err)
		point = interruptOf(t, it)[0].ID
	}
	require.Contains(t, log.String(), `unknown field`)
	require.Contains(t, log.String(), `tool:ask:c1`)
	it, err := r.ResumeWithParams(t.Context(), "1", &ResumeParams{Targets: map[string]any{point: runs.JSONReply(`{"Approve":true}`)}})
	require.NoError(t, err)
	texts, _ := drainAll(t, it)
	require.Equal(t, []string{"a: approved", "a: done"}, texts)
}

// TestKeepEnded_APlainStoreKnowsTheEnd for as long as it is to be kept.
// Rule distributed/C5.
func TestKeepEnded_APlainStoreKnowsTheEnd(t *testing.T) {
	for _, durability := range []Durability{OnInterrupt, EveryStep} {
		synctest.Test(t, func(t *testing.T) {
			for _, store := range []CheckPointStore{memory{}, newDeletable(), struct{ plainJournal }{checkpoint.NewMemoryStore()}} {
				r := NewRunner(t.Context(), RunnerConfig{Agent: newOrdinary(t, "a", recall(chatAnswer("done"))), CheckPointStore: store,
					Durability: durability, KeepEnded: time.Hour})
				drainAll(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))
				it, err := r.Resume(t.Context(), "1")
				require.NoError(t, err)
				texts, _ := drainAll(t, it)
				require.Equal(t, []string{"a: done"}, texts)
				time.Sleep(2 * time.Hour)
				_, err = r.Resume(t.Context(), "1")
				require.ErrorIs(t, err, runs.ErrExpired)
			}
		})
	}
}

// TestRun_AfterADeathBetweenTheEndAndItsRemovalTheEndIsRepeated.
// Rule distributed/J7.
func TestRun_AfterADeathBetweenTheEndAndItsRemovalTheEndIsRepeated(t *testing.T) {
	var left atomic.Int32
	left.Store(1000)
	m := recall(chatAnswer("done"))
	store := &unremovable{plainJournal: checkpoint.NewMemoryStore()}
	store.fails.Store(true)
	r := NewRunner(t.Context(), RunnerConfig{Agent: newOrdinary(t, "a", m), CheckPointStore: store, Durability: EveryStep})
	require.ErrorContains(t, lastError(r.Query(t.Context(), "hi", WithCheckPointID("1"))), "failed to save the end of the run")
	store.fails.Store(false)
	asked := m.n
	it, err := r.Resume(t.Context(), "1")
	require.NoError(t, err)
	texts, _ := drainAll(t, it)
	require.Equal(t, []string{"a: done"}, texts)
	require.Equal(t, asked, m.n)
	_, err = r.Resume(t.Context(), "1")
	require.ErrorIs(t, err, runs.ErrNotFound)
}

// unremovable is a store whose process dies before anything is removed.
type unremovable struct {
	plainJournal
	fails atomic.Bool
}

func (u *unremovable) Delete(ctx context.Context, id string) error {
	if u.fails.Load() {
		return errDied
	}
	return u.plainJournal.Delete(ctx, id)
}

// resolving is a tool that can ask its service what became of a call.
type resolving struct {
	*toolFunc
	outcome func(*OutcomeUnknown) (*ToolOutcome, error)
}

func (r *resolving) Outcome(_ context.Context, u *OutcomeUnknown) (*ToolOutcome, error) {
	return r.outcome(u)
}

// TestOutcomeResolver_IsAskedBeforeAnybodyElse.
// Rule distributed/F14.
func TestOutcomeResolver_IsAskedBeforeAnybodyElse(t *testing.T) {
	for name, c := range map[string]struct {
		outcome *ToolOutcome
		err     error
		want    string
		calls   int32
		asks    bool
	}{
		"it knows the result": {outcome: &ToolOutcome{Result: "paid before"}, want: "a: paid before", calls: 1},
		"it knows of no call": {outcome: &ToolOutcome{Rerun: true}, want: "a: paid", calls: 2},
		"it knows an error":   {outcome: &ToolOutcome{Err: "no money"}, err: errors.New("no money"), calls: 1},
		"it does not know":    {asks: true, calls: 1},
		"it cannot find out":  {err: errUnreachable, calls: 1},
		"it panics":           {err: errors.New("boom"), calls: 1},
	} {
		t.Run(name, func(t *testing.T) {
			var left, calls atomic.Int32
			left.Store(3) // the beginning, a turn, the start of the call
			pay := &resolving{toolFunc: &toolFunc{"pay", func(context.Context, string) (string, error) {
				calls.Add(1)
				return "paid", nil
			}}}
			pay.outcome = func(u *OutcomeUnknown) (*ToolOutcome, error) {
				switch {
				case u.ToolName != "pay" || u.IdempotencyKey == "":
					t.Errorf("asked about %+v", u)
				case name == "it panics":
					panic("boom")
				case c.outcome == nil:
					return nil, c.err
				}
				return c.outcome, nil
			}
			store := dyingJournal{checkpoint.NewMemoryStore(), &left}
			r := NewRunner(t.Context(), RunnerConfig{Agent: newOrdinary(t, "a", recall(callOf("pay", "c1", "x"), chatAnswer("done")), pay),
				CheckPointStore: store, Durability: EveryStep})
			require.ErrorIs(t, lastError(r.Query(t.Context(), "hi", WithCheckPointID("1"))), errDied)
			left.Store(1000)
			it, err := r.Resume(t.Context(), "1")
			require.NoError(t, err)
			switch {
			case c.asks:
				require.IsType(t, (*OutcomeUnknown)(nil), interruptOf(t, it)[0].Info)
			case c.err != nil:
				require.ErrorContains(t, lastError(it), c.err.Error())
			default:
				texts, _ := drainAll(t, it)
				require.Equal(t, []string{c.want, "a: done"}, texts)
			}
			require.Equal(t, c.calls, calls.Load())
		})
	}
}

// TestResume_ADecisionCountsForOneCall: one that says that a call is to be made again does not say it for the call that is
// made then, if the process dies in that.
// Rules distributed/C6, distributed/C9.
func TestResume_ADecisionCountsForOneCall(t *testing.T) {
	var left, calls atomic.Int32
	left.Store(3) // the beginning, a turn, the start of the call
	pay := &toolFunc{"pay", func(context.Context, string) (string, error) {
		if calls.Add(1) == 2 {
			left.Store(0) // the process dies when it has paid
		}
		return "paid", nil
	}}
	r := NewRunner(t.Context(), RunnerConfig{Agent: newOrdinary(t, "a", recall(callOf("pay", "c1", "x"), chatAnswer("done")), pay),
		CheckPointStore: dyingJournal{checkpoint.NewMemoryStore(), &left}, Durability: EveryStep})
	require.ErrorIs(t, lastError(r.Query(t.Context(), "hi", WithCheckPointID("1"))), errDied)
	left.Store(1000)
	it, err := r.Resume(t.Context(), "1")
	require.NoError(t, err)
	point := interruptOf(t, it)[0].ID
	again := &ResumeParams{Targets: map[string]any{point: &ToolOutcome{Rerun: true}}}
	it, err = r.ResumeWithParams(t.Context(), "1", again)
	require.NoError(t, err)
	require.ErrorIs(t, lastError(it), errDied)
	require.EqualValues(t, 2, calls.Load())
	left.Store(1000)
	it, err = r.ResumeWithParams(t.Context(), "1", again) // the same decision, delivered once more
	require.NoError(t, err)
	asked := interruptOf(t, it)[0]
	require.IsType(t, (*OutcomeUnknown)(nil), asked.Info)
	require.NotEqual(t, point, asked.ID)
	require.EqualValues(t, 2, calls.Load(), "whether it has paid has to be asked anew")
	it, err = r.ResumeWithParams(t.Context(), "1", &ResumeParams{Targets: map[string]any{asked.ID: &ToolOutcome{Result: "paid"}}})
	require.NoError(t, err)
	texts, _ := drainAll(t, it)
	require.Equal(t, []string{"a: paid", "a: done"}, texts)
}

// What is saved and cannot be read is not taken for a run that does not exist: a program begins such a one again.
func TestRun_WhatCannotBeReadIsNotMissing(t *testing.T) {
	away := errors.New("the store is away")
	for what, c := range map[string]struct {
		store CheckPointStore
		err   error
	}{
		"checkpoint": {&unreadable{MemoryStore: checkpoint.NewMemoryStore(), get: away}, away},
		"journal":    {&unreadable{MemoryStore: checkpoint.NewMemoryStore(), records: runs.ErrDamaged}, runs.ErrDamaged},
	} {
		t.Run(what, func(t *testing.T) {
			r := NewRunner(t.Context(), RunnerConfig{Agent: newOrdinary(t, "a", recall(chatAnswer("done"))), CheckPointStore: c.store, Durability: EveryStep})
			_, err := r.Resume(t.Context(), "1")
			require.ErrorIs(t, err, c.err)
			require.NotErrorIs(t, err, runs.ErrNotFound)
			_, err = r.ResumeWithParams(t.Context(), "1", &ResumeParams{Targets: map[string]any{"q": "yes"}})
			require.ErrorIs(t, err, c.err)
			require.NotErrorIs(t, err, runs.ErrNotFound)
		})
	}
}

// unreadable has values that were saved without a lease, and that cannot be read.
type unreadable struct {
	*checkpoint.MemoryStore
	get, records error
}

func (s *unreadable) Get(context.Context, string) ([]byte, bool, error) { return nil, false, s.get }

func (s *unreadable) ReadRecords(context.Context, string) ([][]byte, error) { return nil, s.records }
