package redis

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint/checkpointtest"
	"github.com/weftgo/weft/runs"
)

// TestStore_LosesNothingAcknowledgedWhenItsServerIsKilled, if the server writes everything to its disk.
// Rules distributed/K10, distributed/B22.
func TestStore_LosesNothingAcknowledgedWhenItsServerIsKilled(t *testing.T) {
	own, err := startServer("--appendonly", "yes", "--appendfsync", "always")
	if errors.Is(err, errNoServer) {
		t.Skip(err)
	}
	require.NoError(t, err)
	defer os.RemoveAll(own.dir)
	defer func() { own.kill() }()
	s := newStore(t, own)
	l, err := s.Acquire(t.Context(), "run", runs.LeaseRequest{TTL: time.Hour, Create: &runs.Spec{}})
	require.NoError(t, err)
	acknowledged := 0
	for round := range 3 {
		for range 200 {
			require.NoError(t, l.AppendRecord(t.Context(), "run", fmt.Append(nil, acknowledged)))
			acknowledged++
		}
		own.kill()
		require.NoError(t, own.start())
		require.Eventually(t, func() bool { return l.Renew(t.Context()) == nil }, 10*time.Second, 10*time.Millisecond, "round %d", round)
	}
	records, err := s.ReadRecords(t.Context(), "run")
	require.NoError(t, err)
	require.Len(t, records, acknowledged)
	for i, r := range records {
		require.Equal(t, fmt.Sprint(i), string(r))
	}
	next, err := s.Acquire(t.Context(), "run", runs.LeaseRequest{Steal: true})
	require.NoError(t, err)
	require.Greater(t, next.Token(), l.Token())
	require.ErrorIs(t, l.AppendRecord(t.Context(), "run", nil), runs.ErrLeaseLost)
}

// TestStore_WorkersComeBackWhenItsServerDoes: none of their calls fails.
// Rule distributed/K10.
func TestStore_WorkersComeBackWhenItsServerDoes(t *testing.T) {
	own, err := startServer("--appendonly", "yes", "--appendfsync", "always")
	if errors.Is(err, errNoServer) {
		t.Skip(err)
	}
	require.NoError(t, err)
	defer os.RemoveAll(own.dir)
	defer func() { own.kill() }()
	checkpointtest.Disturbed(t, newStore(t, own), func() {
		for range 2 {
			time.Sleep(200 * time.Millisecond)
			own.kill()
			time.Sleep(2500 * time.Millisecond) // longer than the client tries by itself
			require.NoError(t, own.start())
		}
		time.Sleep(200 * time.Millisecond)
	})
}

// TestStore_TokensGrowAlthoughTheServerForgetsAll.
// Rule distributed/B22.
func TestStore_TokensGrowAlthoughTheServerForgetsAll(t *testing.T) {
	s := newStore(t, nil)
	take := func() uint64 {
		l, err := s.Acquire(t.Context(), "run", runs.LeaseRequest{Steal: true, Create: &runs.Spec{}})
		require.NoError(t, err)
		return l.Token()
	}
	before := take()
	time.Sleep(5 * time.Millisecond)
	require.NoError(t, s.client.Del(t.Context(), s.tokenKey(), s.runKey("run"), s.stepsKey("run")).Err())
	require.Greater(t, take(), before)
}

// newCutStore makes a store whose connections pass a proxy, and one that sees the same without.
func newCutStore(t *testing.T) (cut, whole *Store, p *checkpointtest.Proxy) {
	t.Helper()
	whole = newStore(t, nil)
	on, err := shared()
	require.NoError(t, err)
	p = checkpointtest.StartProxy(t, "unix", on.socket())
	cut = newStoreOf(t, &redis.Options{Addr: p.Address()}, Config{Prefix: whole.root})
	return cut, whole, p
}

// TestStore_MakesEachChangeOnceWhenAnswersAreLost: the connection is cut behind each kind of write in turn, and the
// caller learns that the write was done.
// Rules distributed/K11, distributed/J5.
func TestStore_MakesEachChangeOnceWhenAnswersAreLost(t *testing.T) {
	s, whole, p := newCutStore(t)
	lost := make(chan struct{})
	close(lost)
	var before <-chan struct{} = lost
	lose := func(script *redis.Script) { // the answer to the next call of the script
		t.Helper()
		require.NoError(t, script.Load(t.Context(), whole.client).Err())
		requireClosed(t, before)
		before = p.CutAfter([]byte(script.Hash()))
	}
	lose(replace)
	_, err := s.Submit(t.Context(), "submitted", runs.Spec{})
	require.NoError(t, err)

	lose(replace)
	l, err := s.Acquire(t.Context(), "run", runs.LeaseRequest{TTL: time.Hour,
		Create: &runs.Spec{Key: "k", Records: [][]byte{[]byte("a")}}})
	require.NoError(t, err)
	require.Empty(t, l.Info().Status)
	lose(sign)
	require.NoError(t, l.AppendRecord(t.Context(), "run", []byte("b")))
	lose(sign)
	require.NoError(t, l.Renew(t.Context()))
	require.NoError(t, l.AppendRecord(t.Context(), "run", []byte("c")))
	lose(replace)
	require.NoError(t, l.Set(t.Context(), "run", []byte("saved")))
	lose(replace)
	require.NoError(t, l.Settle(t.Context(), runs.Settlement{Status: runs.Waiting,
		Waiting: []runs.Question{{ID: "q"}}, Children: []runs.Child{{ID: "child"}}}))
	lose(replace)
	require.NoError(t, s.Reply(t.Context(), "run", runs.Reply{To: "q", Data: []byte("yes")}))
	lose(replace)
	require.NoError(t, s.Stop(t.Context(), "run", runs.StopRequest{Reason: "lunch"}))
	lose(replace)
	require.NoError(t, s.Continue(t.Context(), "run"))
	began := time.Now()
	lose(lock)
	l, err = s.Acquire(t.Context(), "run", runs.LeaseRequest{})
	require.NoError(t, err)
	require.Less(t, time.Since(began), lockTime/2, "it waited for itself")
	lose(replace)
	_, err = s.AcquireDue(t.Context(), runs.LeaseRequest{}, runs.Due{})
	require.NoError(t, err)

	records, err := whole.ReadRecords(t.Context(), "run")
	require.NoError(t, err)
	require.Equal(t, [][]byte{[]byte("a"), []byte("b"), []byte("c")}, records)
	answers, err := l.Replies(t.Context())
	require.NoError(t, err)
	require.Len(t, answers, 1)
	lose(remove)
	require.NoError(t, s.Remove(t.Context(), "run", true))
	requireClosed(t, before)
}

// requireClosed requires that what a channel stands for has happened.
func requireClosed(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	default:
		t.Fatal("no request was disturbed")
	}
}

// TestStore_AppendsOnceOverANetworkThatLosesAnswers.
// Rules distributed/K11, distributed/J5.
func TestStore_AppendsOnceOverANetworkThatLosesAnswers(t *testing.T) {
	s, whole, p := newCutStore(t)
	p.Lose(true)
	checkpointtest.Disturbed(t, s, func() { time.Sleep(2 * time.Second) })
	checkpointtest.LosesAnswers(t, s, whole, nil)
}

// TestStore_AcknowledgesNoOtherRecord than the one that an unclear append has written.
// Rule distributed/J5.
func TestStore_AcknowledgesNoOtherRecord(t *testing.T) {
	s, whole, p := newCutStore(t)
	s.patience = 1
	noRetry := newStoreOf(t, &redis.Options{Addr: p.Address(), MaxRetries: -1}, Config{Prefix: whole.root, Patience: 1})
	l, err := noRetry.Acquire(t.Context(), "run", runs.LeaseRequest{TTL: time.Hour, Create: &runs.Spec{}})
	require.NoError(t, err)
	unclear := func(record string) {
		t.Helper()
		p.CutAfter([]byte(sign.Hash()))
		require.ErrorIs(t, l.AppendRecord(t.Context(), "run", []byte(record)), ErrUnavailable)
		require.Eventually(t, func() bool { // it arrived
			records, err := whole.ReadRecords(t.Context(), "run")
			return err == nil && len(records) > 0 && string(records[len(records)-1]) == record
		}, 10*time.Second, time.Millisecond)
	}
	require.NoError(t, l.AppendRecord(t.Context(), "run", []byte("a")))
	unclear("b")
	require.NoError(t, l.AppendRecord(t.Context(), "run", []byte("b"))) // again
	unclear("c")
	require.NoError(t, l.AppendRecord(t.Context(), "run", []byte("d"))) // another one in its place
	require.NoError(t, l.AppendRecord(t.Context(), "run", []byte("e")))
	records, err := whole.ReadRecords(t.Context(), "run")
	require.NoError(t, err)
	require.Equal(t, "[a b c d e]", fmt.Sprintf("%s", records))
}

// TestStore_SaysThatTheServerIsAway when its patience is over.
func TestStore_SaysThatTheServerIsAway(t *testing.T) {
	own, err := startServer("--appendonly", "no")
	if errors.Is(err, errNoServer) {
		t.Skip(err)
	}
	require.NoError(t, err)
	defer os.RemoveAll(own.dir)
	s := newStore(t, own)
	s.patience = 50 * time.Millisecond
	l, err := s.Acquire(t.Context(), "run", runs.LeaseRequest{Create: &runs.Spec{}})
	require.NoError(t, err)
	own.kill()
	for doing, call := range map[string]func(ctx context.Context) error{
		"get":    func(ctx context.Context) error { _, _, err := s.Get(ctx, "run"); return err },
		"append": func(ctx context.Context) error { return l.AppendRecord(ctx, "run", []byte("a")) },
		"settle": func(ctx context.Context) error {
			return l.Settle(ctx, runs.Settlement{Status: runs.Failed})
		},
		"list": func(ctx context.Context) error { _, err := s.Count(ctx, runs.Query{}); return err },
		"acquire": func(ctx context.Context) error {
			_, err := s.AcquireDue(ctx, runs.LeaseRequest{}, runs.Due{})
			return err
		},
	} {
		err := call(t.Context())
		require.ErrorIs(t, err, ErrUnavailable, doing)
		require.ErrorContains(t, err, doing)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, call(ctx), context.Canceled, doing)
	}
}
