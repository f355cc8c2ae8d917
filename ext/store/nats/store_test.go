package nats

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/checkpoint/checkpointtest"
	"github.com/weftgo/weft/runs"
)

func TestStore_Conforms(t *testing.T) {
	t.Parallel()
	on := startServer(t, false)
	checkpointtest.RunWith(t, checkpointtest.Options{
		New: func(t *testing.T) checkpoint.Store { return newStore(t, on) },
		Damage: func(t *testing.T, of checkpoint.Store, id string) {
			damage(t, of.(*Store), id)
		},
	})
}

// damage writes a head as a newer release might.
func damage(t *testing.T, s *Store, id string) {
	t.Helper()
	st, err := s.read(t.Context(), id)
	require.NoError(t, err)
	m, err := s.headMessage(t.Context(), st)
	require.NoError(t, err)
	m.Data = []byte(`{"row":{"v":99}}`)
	m.Header.Set(valueHeader, value{Size: len(m.Data), Sum: sha256.Sum256(m.Data)}.header())
	_, err = s.wire.publish(t.Context(), m)
	require.NoError(t, err)
}

// A run whose head was destroyed, or written by a newer release, may have to end before others of its key.
// Rule distributed/D10.
func TestAcquireDue_ARunThatCannotBeReadIsInFrontOfItsKey(t *testing.T) {
	s := newStore(t, startServer(t, false))
	for _, id := range []string{"damaged", "behind", "free"} {
		_, err := s.Submit(t.Context(), id, runs.Spec{Key: map[bool]string{true: id, false: "k"}[id == "free"]})
		require.NoError(t, err)
	}
	damage(t, s, "damaged")
	l, err := s.AcquireDue(t.Context(), runs.LeaseRequest{}, runs.Due{})
	require.NoError(t, err)
	require.Equal(t, "free", l.Info().ID)
	_, err = s.AcquireDue(t.Context(), runs.LeaseRequest{}, runs.Due{})
	require.ErrorIs(t, err, runs.ErrUnreadable)
	_, err = s.AcquireDue(t.Context(), runs.LeaseRequest{}, runs.Due{})
	require.ErrorIs(t, err, runs.ErrNothingDue)
	require.NoError(t, s.Remove(t.Context(), "damaged", false))
	_, err = s.AcquireDue(t.Context(), runs.LeaseRequest{}, runs.Due{})
	require.NoError(t, err)
}

func TestNew_RefusesWhatCannotWork(t *testing.T) {
	_, err := New(t.Context(), Config{})
	require.ErrorContains(t, err, "Config.Conn is missing")
	conn := connect(t, startServer(t, false).ClientURL())
	for _, prefix := range []string{"a.b", "a b", "*", ">", "ä"} {
		_, err = New(t.Context(), Config{Conn: conn, Prefix: prefix})
		require.ErrorContains(t, err, "Config.Prefix")
	}
	_, err = New(t.Context(), Config{Conn: conn, Prefix: "replicated", Replicas: 3})
	require.Error(t, err)

	js, err := jetstream.New(conn)
	require.NoError(t, err)
	made := 0
	for want, change := range map[string]func(c *jetstream.StreamConfig){
		"none of Weft":         func(c *jetstream.StreamConfig) { c.Metadata = nil },
		"version 2":            func(c *jetstream.StreamConfig) { c.Metadata[schemaKey] = "2" },
		"subjects":             func(c *jetstream.StreamConfig) { c.Subjects = c.Subjects[:1] },
		"must allow rollups":   func(c *jetstream.StreamConfig) { c.AllowAtomicPublish = false },
		"runs would be lost":   func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour },
		"limits remove":        func(c *jetstream.StreamConfig) { c.MaxBytes, c.Discard = 1<<20, jetstream.DiscardOld },
		"its limits remove me": func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 1 },
	} {
		made++ // a server cannot make a stream again while it still deletes the files of the one before
		prefix := fmt.Sprint("bad", made)
		c := streamConfig(Config{Prefix: prefix})
		change(&c)
		_, err := js.CreateStream(t.Context(), c)
		require.NoError(t, err)
		_, err = New(t.Context(), Config{Conn: conn, Prefix: prefix})
		require.ErrorContains(t, err, want)
	}
}

func TestNew_RefusesAServerWithoutJetStream(t *testing.T) {
	on := &testServer{options: server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true}}
	on.start(t)
	t.Cleanup(on.stop)
	_, err := New(t.Context(), Config{Conn: connect(t, on.ClientURL())})
	require.ErrorContains(t, err, `the stream "weft"`)
}

// TestNew_MakesOneStreamForAllThatStartAtOnce.
// Rule distributed/B8.
func TestNew_MakesOneStreamForAllThatStartAtOnce(t *testing.T) {
	on := startServer(t, false)
	var all sync.WaitGroup
	for n := range 20 {
		conn := connect(t, on.ClientURL())
		all.Go(func() {
			s, err := New(t.Context(), Config{Conn: conn})
			if err == nil {
				err = s.Set(t.Context(), fmt.Sprint(n), nil)
				_ = s.Close()
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// Rule distributed/T3.
func TestTenant_SeesItsOwn(t *testing.T) {
	s := newStore(t, startServer(t, false))
	checkpointtest.Tenants(t, func(name string) runs.Store { return s.Tenant(name) })
	checkpointtest.Tenants(t, func(name string) runs.Store { return checkpoint.Scope(s.Tenant("scoped"), name) })
}

// TestStore_KeepsLargeValues beside its messages, and removes them with what refers to them. (B33)
func TestStore_KeepsLargeValues(t *testing.T) {
	s := newStore(t, startServer(t, false))
	value := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
	l := hold(t, s, "run")
	for range 2 {
		require.NoError(t, l.Set(t.Context(), "run", value))
		require.NoError(t, l.AppendRecord(t.Context(), "run", value))
	}
	got, _, err := l.Get(t.Context(), "run")
	require.NoError(t, err)
	require.True(t, bytes.Equal(value, got))
	records, err := l.ReadRecords(t.Context(), "run")
	require.NoError(t, err)
	require.Len(t, records, 2)
	require.True(t, bytes.Equal(value, records[1]))
	require.NoError(t, l.Settle(t.Context(), runs.Settlement{Status: runs.Done, Result: value,
		DropRecords: true}))
	got, err = s.Result(t.Context(), "run")
	require.NoError(t, err)
	require.True(t, bytes.Equal(value, got))
	info, _, err := s.Inspect(t.Context(), "run")
	require.NoError(t, err)
	require.Equal(t, int64(len(value)), info.Bytes)
	require.Eventually(t, func() bool { return stored(t, s).Bytes < uint64(len(value)*3/2) }, 10*time.Second,
		time.Millisecond)

	tooLong := make([]byte, 64<<20+1)
	require.ErrorContains(t, s.Set(t.Context(), "run", tooLong), "too long")
	require.NoError(t, s.Remove(t.Context(), "run", false))
	require.LessOrEqual(t, stored(t, s).Msgs, uint64(1))
}

// TestStore_CutsValuesForServersThatTakeShortMessages, down to 64 KiB.
func TestStore_CutsValuesForServersThatTakeShortMessages(t *testing.T) {
	for payload, want := range map[int32]string{leastPayload: "", leastPayload - 1: "max_payload"} {
		on := &testServer{options: server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true,
			JetStream: true, StoreDir: t.TempDir(), MaxPayload: payload}}
		on.start(t)
		t.Cleanup(on.stop)
		s, err := New(t.Context(), Config{Conn: connect(t, on.ClientURL())})
		if want != "" {
			require.ErrorContains(t, err, want)
			continue
		}
		require.NoError(t, err)
		defer s.Close()
		for _, size := range []int{s.piece, s.piece + 1, 10 * s.piece} {
			record := bytes.Repeat([]byte{'x'}, size)
			id := fmt.Sprint(size)
			_, err := s.Submit(t.Context(), id, runs.Spec{Agent: string(record), Records: [][]byte{record}})
			require.NoError(t, err)
			requireJournal(t, s, id, []string{string(record)})
		}
	}
}

func stored(t *testing.T, s *Store) jetstream.StreamState {
	t.Helper()
	js, err := jetstream.New(s.wire.conn)
	require.NoError(t, err)
	stream, err := js.Stream(t.Context(), s.prefix)
	require.NoError(t, err)
	return stream.CachedInfo().State
}

// TestStore_SaysThatALargeValueIsDamaged: its name, length and hash are where it is referred to. (B33)
func TestStore_SaysThatALargeValueIsDamaged(t *testing.T) {
	s := newStore(t, startServer(t, false))
	s.patience = 0
	value := make([]byte, 2*longestMessage+1)
	l := hold(t, s, "run")
	require.NoError(t, l.Set(t.Context(), "run", value))
	require.NoError(t, l.AppendRecord(t.Context(), "run", value))
	st, err := s.read(t.Context(), "run")
	require.NoError(t, err)
	require.NoError(t, s.wire.purge(t.Context(), s.pieces(st.hash, ">"), 0))
	_, _, err = s.Get(t.Context(), "run")
	require.ErrorIs(t, err, errDamaged)
	_, err = s.ReadRecords(t.Context(), "run")
	require.ErrorIs(t, err, errDamaged)
	require.ErrorContains(t, err, `"run"`)
	require.NoError(t, s.Remove(t.Context(), "run", true))
}

// TestStore_LeavesNothingBehind: what is kept does not grow with what was done.
// Rule distributed/Q14.
func TestStore_LeavesNothingBehind(t *testing.T) {
	s := newStore(t, startServer(t, false))
	for n := range 50 {
		id := fmt.Sprint(n)
		_, err := s.Submit(t.Context(), id, runs.Spec{Key: fmt.Sprint("key ", n%5),
			Records: [][]byte{[]byte("begin")}})
		require.NoError(t, err)
		l := hold(t, s, id)
		for range 20 {
			require.NoError(t, l.AppendRecord(t.Context(), id, []byte("step")))
		}
		require.NoError(t, l.Renew(t.Context()))
		require.NoError(t, l.Settle(t.Context(), runs.Settlement{Status: runs.Done, DropRecords: true,
			Keep: time.Microsecond}))
	}
	for n := range 20 {
		require.NoError(t, s.Set(t.Context(), "plain", make([]byte, n*1000)))
		require.NoError(t, s.AppendRecord(t.Context(), "plain", []byte("step")))
	}
	require.NoError(t, s.RemoveRecords(t.Context(), "plain"))
	require.NoError(t, s.Delete(t.Context(), "plain"))
	time.Sleep(time.Millisecond)
	swept, err := s.Sweep(t.Context(), 100)
	require.NoError(t, err)
	require.Equal(t, runs.Swept{Runs: 50}, swept)
	// One head of each ID remains for an hour.
	require.Eventually(t, func() bool { return stored(t, s).Msgs == 51 }, 10*time.Second, time.Millisecond)
}

// TestWake_ReceivesWhatIsDue in any process, for the queues and agents that are asked for. (B34)
func TestWake_ReceivesWhatIsDue(t *testing.T) {
	on := startServer(t, false)
	s := newStore(t, on)
	other, err := New(t.Context(), Config{Conn: connect(t, on.ClientURL()), Prefix: s.prefix})
	require.NoError(t, err)
	defer other.Close()
	due := runs.Due{Queues: []string{"q\xff"}, Agents: []string{"a"}}
	woke := other.Wake(t.Context(), due)
	require.NoError(t, other.wire.conn.Flush())
	submit := func(id string, run runs.Spec) {
		t.Helper()
		_, err := s.Submit(t.Context(), id, run)
		require.NoError(t, err)
	}
	submit("other queue", runs.Spec{Agent: "a"})
	submit("other agent", runs.Spec{Queue: "q\xff"})
	submit("later", runs.Spec{Queue: "q\xff", Agent: "a", NotBefore: time.Now().Add(time.Hour)})
	require.NoError(t, s.wire.conn.Flush())
	select {
	case <-woke:
		t.Fatal("it received for what is not due")
	case <-time.After(20 * time.Millisecond):
	}
	submit("now", runs.Spec{Queue: "q\xff", Agent: "a"})
	<-woke
	l, err := other.AcquireDue(t.Context(), runs.LeaseRequest{}, due)
	require.NoError(t, err)
	require.Equal(t, "now", l.Info().ID)
}

// What has become due is taken at once also where the server's answer about its time was long on its way, in the process
// that made it due and in others.
func TestAcquireDue_TakesWhatIsDueWithAClockThatIsLate(t *testing.T) {
	on := startServer(t, false)
	s := newStore(t, on)
	other, err := New(t.Context(), Config{Conn: connect(t, on.ClientURL()), Prefix: s.prefix})
	require.NoError(t, err)
	defer other.Close()
	late := func(s *Store) {
		_, err := s.clock.now(t.Context())
		require.NoError(t, err)
		s.clock.mu.Lock()
		defer s.clock.mu.Unlock()
		s.clock.server = s.clock.server.Add(-5 * time.Second)
	}
	for name, worker := range map[string]*Store{"this process": s, "another one": other} {
		_, err = s.Submit(t.Context(), name, runs.Spec{})
		require.NoError(t, err)
		l, err := s.Acquire(t.Context(), name, runs.LeaseRequest{})
		require.NoError(t, err)
		require.NoError(t, l.Settle(t.Context(), runs.Settlement{Status: runs.Waiting,
			Waiting: []runs.Question{{ID: "q"}}}))
		late(s)
		late(worker)
		require.NoError(t, s.Reply(t.Context(), name, runs.Reply{To: "q"}))
		l, err = worker.AcquireDue(t.Context(), runs.LeaseRequest{}, runs.Due{})
		require.NoError(t, err, name)
		require.Equal(t, name, l.Info().ID)
	}
}

// TestAcquireDue_ForgetsWhatOthersRemoved, also what it was about to take.
func TestAcquireDue_ForgetsWhatOthersRemoved(t *testing.T) {
	on := startServer(t, false)
	s := newStore(t, on)
	other, err := New(t.Context(), Config{Conn: connect(t, on.ClientURL()), Prefix: s.prefix})
	require.NoError(t, err)
	defer other.Close()
	for n := range 3 {
		_, err := s.Submit(t.Context(), fmt.Sprint(n), runs.Spec{Key: "k", Priority: -n})
		require.NoError(t, err)
	}
	_, err = other.look(t.Context(), 0)
	require.NoError(t, err)
	other.view.at = time.Now().Round(0) // it is not asked again
	require.NoError(t, s.Remove(t.Context(), "0", false))
	l, err := other.AcquireDue(t.Context(), runs.LeaseRequest{}, runs.Due{})
	require.NoError(t, err)
	require.Equal(t, "1", l.Info().ID)
}

// TestClose_EndsTheStoreAndNotItsConnection.
func TestClose_EndsTheStoreAndNotItsConnection(t *testing.T) {
	conn := connect(t, startServer(t, false).ClientURL())
	s, err := New(t.Context(), Config{Conn: conn})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.Equal(t, nats.CONNECTED, conn.Status())
	conn.Close()
	require.NoError(t, s.Close())
}

func TestStore_CanBeSealedAgain(t *testing.T) {
	checkpointtest.Reseal(t, newStore(t, startServer(t, false)))
}

// Large values are replaced, too, while a process holds the run, and a journal that is too long for one step is left as it
// is.
func TestStore_RewritesAllValuesOrNone(t *testing.T) {
	s := newStore(t, startServer(t, false))
	louder := func(_ checkpoint.ValueKind, value []byte) ([]byte, error) { return append(value, '!'), nil }
	large := bytes.Repeat([]byte("x"), 2*longestMessage)
	_, err := s.Submit(t.Context(), "a", runs.Spec{Records: [][]byte{large, []byte("b")}})
	require.NoError(t, err)
	l, err := s.Acquire(t.Context(), "a", runs.LeaseRequest{})
	require.NoError(t, err)
	require.NoError(t, l.Set(t.Context(), "a", large))
	require.NoError(t, s.Rewrite(t.Context(), "a", louder))
	require.NoError(t, l.AppendRecord(t.Context(), "a", []byte("c")))
	records, err := s.ReadRecords(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, [][]byte{append(large, '!'), []byte("b!"), []byte("c")}, records)
	data, _, err := l.Get(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, append(large, '!'), data)
	info, _, err := s.Inspect(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, 3, info.Steps)
	require.EqualValues(t, 2*(len(large)+1)+3, info.Bytes)
	require.NoError(t, s.Rewrite(t.Context(), "nobody", louder))

	for range mostTogether {
		require.NoError(t, l.AppendRecord(t.Context(), "a", []byte("r")))
	}
	require.ErrorIs(t, s.Rewrite(t.Context(), "a", louder), errTooMuch)
	records, err = s.ReadRecords(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, []byte("b!"), records[1])
	require.Equal(t, []byte("r"), records[len(records)-1])
}

// Rule distributed/F18.
func TestStop_ReachesTheHolderOfARun(t *testing.T) {
	on := startServer(t, false)
	holder := newStore(t, on)
	another, err := New(t.Context(), Config{Conn: connect(t, on.ClientURL()), Prefix: holder.prefix})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, another.Close()) })
	checkpointtest.Stops(t, holder, another)
}
