package redis

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/checkpoint/checkpointtest"
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
	checkpointtest.Tenants(t, func(name string) checkpoint.RunStore { return s.Tenant(name) })
	checkpointtest.Tenants(t, func(name string) checkpoint.RunStore { return checkpoint.Scope(s.Tenant("scoped"), name) })
}

func TestStore_CanBeSealedAgain(t *testing.T) { checkpointtest.Reseal(t, newStore(t, nil)) }

// A change for other runs that a process left behind is read by any other.
func TestTodo_IsReadAsItWasWritten(t *testing.T) {
	at := time.UnixMicro(1_700_000_000_000_001)
	for _, want := range []todo{{}, {Parent: "p\xff\x00é"}, {
		Children: []checkpoint.ChildRun{{ID: "c\xfe", Run: checkpoint.NewRun{Agent: "a", Queue: "q", Parent: "p", ParentPoint: "\xff", Key: "k",
			Tags: map[string]string{"t\xff": "v"}, Priority: 3, NotBefore: at, Deadline: at, Build: "b", Trace: "t",
			Records: [][]byte{{0, 255}, {}}}}, {ID: "d"}},
		Parent: "p", Answer: &checkpoint.Answer{Point: "q\xff", Data: []byte{1, 255}, By: "ana", At: at},
	}} {
		data, err := want.encode()
		require.NoError(t, err)
		got, err := decodeTodo(data)
		require.NoError(t, err)
		require.Equal(t, &want, got)
	}
}

func FuzzDecodeTodo(f *testing.F) {
	f.Add([]byte(`{"children":[{"row":{"id":"c"},"records":["AA=="]}],"answer":{"answers":[{"point":"q","data":null}]}}`))
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
		_, err := s.Submit(t.Context(), id, checkpoint.NewRun{Key: "k"})
		require.NoError(t, err)
	}
	require.NoError(t, s.client.HSet(t.Context(), s.runKey("damaged"), "row", `{"v":99}`).Err())
	_, err := s.AcquireDue(t.Context(), checkpoint.LeaseRequest{}, checkpoint.Due{})
	require.ErrorIs(t, err, checkpoint.ErrBadRow)
	_, err = s.AcquireDue(t.Context(), checkpoint.LeaseRequest{}, checkpoint.Due{})
	require.ErrorIs(t, err, checkpoint.ErrNothingDue)
	require.NoError(t, s.Remove(t.Context(), "damaged", false))
	_, err = s.AcquireDue(t.Context(), checkpoint.LeaseRequest{}, checkpoint.Due{})
	require.NoError(t, err)
}

// Rule distributed/F18.
func TestStop_ReachesTheHolderOfARun(t *testing.T) {
	holder := newStore(t, nil)
	another, err := New(t.Context(), Config{Client: holder.client, Prefix: holder.root})
	require.NoError(t, err)
	checkpointtest.Stops(t, holder, another)
}
