package redis

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/checkpoint/checkpointtest"
	"github.com/weftgo/weft/runs"
)

func TestStore_Conforms(t *testing.T) {
	newStore(t, nil)
	checkpointtest.RunWith(t, checkpointtest.Options{
		New: func(t *testing.T) checkpoint.Store { return newStore(t, nil) },
		Damage: func(t *testing.T, of checkpoint.Store, id string) {
			s := of.(*Store)
			require.NoError(t, s.client.HSet(t.Context(), s.runKey(id), "row", `{"v":99}`).Err())
		},
	})
}

// Rule distributed/T3.
func TestTenant_SeesItsOwn(t *testing.T) {
	s := newStore(t, nil)
	checkpointtest.Tenants(t, func(name string) runs.Store { return s.Tenant(name) })
	checkpointtest.Tenants(t, func(name string) runs.Store { return checkpoint.Scope(s.Tenant("scoped"), name) })
}

func TestStore_CanBeSealedAgain(t *testing.T) { checkpointtest.Reseal(t, newStore(t, nil)) }

// A change for other runs that a process left behind is read by any other.
func TestTodo_IsReadAsItWasWritten(t *testing.T) {
	at := time.UnixMicro(1_700_000_000_000_001)
	for _, want := range []todo{{}, {Parent: "p\xff\x00é"}, {
		Children: []runs.Child{{ID: "c\xfe", Run: runs.Spec{Agent: "a", Queue: "q", Parent: "p", ParentPoint: "\xff", Key: "k",
			Tags: map[string]string{"t\xff": "v"}, Priority: 3, NotBefore: at, Deadline: at, Build: "b", Trace: "t",
			Records: [][]byte{{0, 255}, {}}}}, {ID: "d"}},
		Parent: "p", Answer: &runs.Reply{To: "q\xff", Data: []byte{1, 255}, By: "ana", At: at},
	}} {
		data, err := want.encode()
		require.NoError(t, err)
		got, err := decodeTodo(data)
		require.NoError(t, err)
		require.Equal(t, &want, got)
	}
}

func FuzzDecodeTodo(f *testing.F) {
	whole, err := (&todo{Children: []runs.Child{{ID: "c", Run: runs.Spec{Records: [][]byte{{0}}}}},
		Answer: &runs.Reply{To: "q"}}).encode()
	require.NoError(f, err)
	f.Add(whole)
	f.Fuzz(func(t *testing.T, data []byte) {
		if todo, err := decodeTodo(data); err == nil {
			again, err := todo.encode()
			require.NoError(t, err)
			_, err = decodeTodo(again)
			require.NoError(t, err)
		}
	})
}

func TestNew_RefusesWhatCannotWork(t *testing.T) {
	_, err := New(t.Context(), Config{})
	require.ErrorContains(t, err, "Client")
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}})
	defer cluster.Close()
	_, err = New(t.Context(), Config{Client: cluster, Replicas: 1})
	require.ErrorContains(t, err, "Config.Replicas is for a *redis.Client")
	one := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer one.Close()
	_, err = New(t.Context(), Config{Client: one, Replicas: -1})
	require.ErrorContains(t, err, "leave it 0")
}

// A run whose row was destroyed, or written by a newer release, may have to end before others of its key.
// Rule distributed/D10.
func TestAcquireDue_ARunThatCannotBeReadIsInFrontOfItsKey(t *testing.T) {
	s := newStore(t, nil)
	for _, id := range []string{"damaged", "behind"} {
		_, err := s.Submit(t.Context(), id, runs.Spec{Key: "k"})
		require.NoError(t, err)
	}
	require.NoError(t, s.client.HSet(t.Context(), s.runKey("damaged"), "row", `{"v":99}`).Err())
	_, err := s.AcquireDue(t.Context(), runs.LeaseRequest{}, runs.Due{})
	require.ErrorIs(t, err, runs.ErrUnreadable)
	_, err = s.AcquireDue(t.Context(), runs.LeaseRequest{}, runs.Due{})
	require.ErrorIs(t, err, runs.ErrNothingDue)
	require.NoError(t, s.Remove(t.Context(), "damaged", false))
	_, err = s.AcquireDue(t.Context(), runs.LeaseRequest{}, runs.Due{})
	require.NoError(t, err)
}

// Rule distributed/F18.
func TestStop_ReachesTheHolderOfARun(t *testing.T) {
	holder := newStore(t, nil)
	another, err := New(t.Context(), Config{Client: holder.client, Prefix: holder.root})
	require.NoError(t, err)
	checkpointtest.Stops(t, holder, another)
}

func TestNew_RefusesKeysOfAnOlderBuild(t *testing.T) {
	s := newStore(t, nil)
	require.NoError(t, s.client.Set(t.Context(), s.root+":token", 1, 0).Err())
	_, err := New(t.Context(), Config{Client: s.client, Prefix: s.root})
	require.ErrorContains(t, err, "were written by an older Weft")
}

// Rule distributed/B23.
func TestStore_RefusesValuesThatWereDamaged(t *testing.T) {
	s := newStore(t, nil)
	for _, id := range []string{"other", "damaged"} {
		require.NoError(t, s.Set(t.Context(), id, []byte("checkpoint")))
		require.NoError(t, s.AppendRecord(t.Context(), id, []byte("record")))
	}
	other, err := s.client.HGet(t.Context(), s.runKey("other"), "checkpoint").Result()
	require.NoError(t, err)
	require.NoError(t, s.client.HSet(t.Context(), s.runKey("damaged"), "checkpoint", other).Err())
	require.NoError(t, s.client.LSet(t.Context(), s.stepsKey("damaged"), 0, "recorD    ").Err())
	_, _, err = s.Get(t.Context(), "damaged")
	require.ErrorIs(t, err, runs.ErrUnreadable)
	_, err = s.ReadRecords(t.Context(), "damaged")
	require.ErrorIs(t, err, runs.ErrDamaged)
}

// delayed is a client that is some way from its server.
type delayed time.Duration

func (d delayed) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (d delayed) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, c redis.Cmder) error {
		time.Sleep(time.Duration(d))
		return next(ctx, c)
	}
}

func (d delayed) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, all []redis.Cmder) error {
		time.Sleep(time.Duration(d))
		return next(ctx, all)
	}
}

// Rule distributed/B21.
func TestIndex_AgreesWithTheRowsAcrossANetwork(t *testing.T) {
	s := newStore(t, nil)
	s.client.AddHook(delayed(300 * time.Microsecond))
	checkpointtest.Interleaved(t, s)
	left, err := s.client.Keys(t.Context(), s.root+":*").Result()
	require.NoError(t, err)
	require.ElementsMatch(t, []string{s.tokenKey(), s.mendedKey()}, left, "something of runs that are gone is left")
}

// Rule distributed/B21.
func TestSweep_MendsIndexesFromTheRows(t *testing.T) {
	s := newStore(t, nil)
	for _, id := range []string{"first", "second", "other"} {
		key := "k"
		if id == "other" {
			key = ""
		}
		_, err := s.Submit(t.Context(), id, runs.Spec{Key: key})
		require.NoError(t, err)
	}
	l, err := s.Acquire(t.Context(), "other", runs.LeaseRequest{})
	require.NoError(t, err)
	require.NoError(t, l.Settle(t.Context(), runs.Settlement{Status: runs.Done, Keep: time.Millisecond}))
	require.NoError(t, s.client.Del(t.Context(), s.dueKey(), s.expiresKey(), s.keyKey("k")).Err())
	require.Eventually(t, func() bool {
		swept, err := s.Sweep(t.Context(), 10)
		return err == nil && swept.Runs == 1
	}, 10*time.Second, time.Millisecond)
	taken, err := s.AcquireDue(t.Context(), runs.LeaseRequest{}, runs.Due{})
	require.NoError(t, err)
	require.Equal(t, "first", taken.Info().ID)
	_, err = s.AcquireDue(t.Context(), runs.LeaseRequest{}, runs.Due{})
	require.ErrorIs(t, err, runs.ErrNothingDue, "the second one of the key waits for the first one")
}
