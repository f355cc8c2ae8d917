package nats

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/runs"
)

// proxy passes a connection on to a server, and does to what the client sends as the test says.
type proxy struct {
	listener net.Listener
	to       string
	ends     sync.WaitGroup
	// onData gets what a client sends, and reports whether the connection is cut behind it, before an answer can come.
	onData atomic.Pointer[func(data []byte) (cut bool)]
}

func startProxy(t *testing.T, to string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{listener: listener, to: to}
	p.ends.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			p.ends.Go(func() { p.pass(client) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		p.ends.Wait()
	})
	return p
}

func (p *proxy) url() string { return "nats://" + p.listener.Addr().String() }

func (p *proxy) pass(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(client, server)
		client.Close()
	})
	defer back.Wait()
	defer server.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		cut := false
		if do := p.onData.Load(); do != nil {
			cut = (*do)(buffer[:n])
		}
		if cut {
			client.Close() // first, so that no answer passes
		}
		if _, err := server.Write(buffer[:n]); err != nil || cut {
			time.Sleep(5 * time.Millisecond) // the server reads it before the connection ends
			return
		}
	}
}

func records(from, to int) (all []string) {
	for n := from; n < to; n++ {
		all = append(all, fmt.Sprint("record ", n))
	}
	return all
}

func requireJournal(t *testing.T, s *Store, id string, want []string) {
	t.Helper()
	got, err := s.ReadRecords(t.Context(), id)
	require.NoError(t, err)
	var texts []string
	for _, r := range got {
		texts = append(texts, string(r))
	}
	require.Equal(t, want, texts)
}

func hold(t *testing.T, s *Store, id string) runs.Lease {
	t.Helper()
	l, err := s.Acquire(t.Context(), id, runs.LeaseRequest{TTL: time.Hour, Create: &runs.Spec{}})
	require.NoError(t, err)
	return l
}

// TestStore_LosesNothingAcknowledgedWhenItsServerIsStarted again, if that writes everything to its disk.
// Rule distributed/K10.
func TestStore_LosesNothingAcknowledgedWhenItsServerIsStartedAgain(t *testing.T) {
	on := startServer(t, true)
	s := newStore(t, on)
	l := hold(t, s, "run")
	appendsDuring(t, s, l, func() {
		for range 3 {
			time.Sleep(100 * time.Millisecond)
			on.stop()
			on.start(t)
		}
	})
}

// appendsDuring appends records to "run" while something happens, and requires that all of them are there afterwards, and
// that the lease is lost when another one takes the run.
func appendsDuring(t *testing.T, s *Store, l runs.Lease, happens func()) {
	t.Helper()
	n := 0
	var isOver atomic.Bool
	var ends sync.WaitGroup
	ends.Go(func() {
		for ; !isOver.Load(); n++ {
			if err := l.AppendRecord(t.Context(), "run", []byte(records(n, n+1)[0])); err != nil {
				t.Errorf("record %d: %v", n, err)
				return
			}
			time.Sleep(time.Millisecond)
		}
	})
	happens()
	isOver.Store(true)
	ends.Wait()
	requireJournal(t, s, "run", records(0, n))
	next, err := s.Acquire(t.Context(), "run", runs.LeaseRequest{Steal: true})
	require.NoError(t, err)
	require.Greater(t, next.Token(), l.Token())
	require.ErrorIs(t, l.AppendRecord(t.Context(), "run", nil), runs.ErrLeaseLost)
}

// newCutStore makes a store whose connection passes a proxy, and one that sees the same without.
func newCutStore(t *testing.T, answerIn time.Duration) (cut, whole *Store, p *proxy) {
	t.Helper()
	on := startServer(t, false)
	whole = newStore(t, on)
	p = startProxy(t, on.Addr().String())
	cut, err := New(t.Context(), Config{Conn: connect(t, p.url()), Prefix: whole.prefix, AnswerIn: answerIn})
	require.NoError(t, err)
	t.Cleanup(func() { _ = cut.Close() })
	return cut, whole, p
}

// TestStore_MakesEachChangeOnceWhenAnswersAreLost: a connection that is cut behind what was sent leaves open whether it
// was done.
// Rule distributed/K11.
func TestStore_MakesEachChangeOnceWhenAnswersAreLost(t *testing.T) {
	cut, whole, p := newCutStore(t, 50*time.Millisecond)
	var sent, lost atomic.Int64
	onData := func(data []byte) bool {
		isWrite := bytes.Contains(data, []byte("HPUB "+whole.prefix+".run."))
		if !isWrite || sent.Add(1)%3 != 0 {
			return false
		}
		lost.Add(1)
		return true
	}
	p.onData.Store(&onData)
	for n := range 6 {
		id, parent := fmt.Sprint("run ", n), fmt.Sprint("parent ", n)
		_, err := cut.Submit(t.Context(), parent, runs.Spec{})
		require.NoError(t, err)
		pl := hold(t, cut, parent)
		require.NoError(t, pl.Settle(t.Context(), runs.Settlement{Status: runs.Waiting,
			Waiting: []runs.Question{{ID: "q"}}, Children: []runs.Child{{ID: id, Run: runs.Spec{
				Parent: parent, ParentPoint: "q", Records: [][]byte{[]byte("record 0")}}}}}))
		l := hold(t, cut, id)
		require.NoError(t, l.AppendRecord(t.Context(), id, []byte("record 1")))
		require.NoError(t, l.AppendRecord(t.Context(), id, []byte("record 2")))
		require.NoError(t, l.Set(t.Context(), id, []byte("saved")))
		require.NoError(t, l.AppendRecord(t.Context(), id, []byte("record 3")))
		require.NoError(t, l.Renew(t.Context()))
		require.NoError(t, l.AppendRecord(t.Context(), id, bytes.Repeat([]byte("large"), longestMessage)))
		require.NoError(t, l.Settle(t.Context(), runs.Settlement{Status: runs.Failed, Answer: []byte("yes")}))
		got, err := whole.ReadRecords(t.Context(), id)
		require.NoError(t, err)
		require.Len(t, got, 5)
		require.NoError(t, whole.RemoveRecords(t.Context(), id))
		info, _, err := whole.Inspect(t.Context(), parent)
		require.NoError(t, err)
		require.Equal(t, runs.Ready, info.Status)
	}
	require.Greater(t, lost.Load(), int64(6))
}

// TestStore_RefusesWhatArrivesLate: what was sent before another one took the run, and arrives after that, is not
// written, and a record that was sent twice is written once.
// Rule distributed/K11.
func TestStore_RefusesWhatArrivesLate(t *testing.T) {
	cut, whole, p := newCutStore(t, 0)
	l := hold(t, cut, "run")
	require.NoError(t, l.AppendRecord(t.Context(), "run", []byte("record 0")))
	for _, rule := range []struct {
		name      string
		meanwhile func(t *testing.T)
		want      error
		journal   []string
	}{
		{"slowly", func(t *testing.T) {}, nil, records(0, 2)},
		{"beside a request to stop", func(t *testing.T) {
			require.NoError(t, whole.Stop(t.Context(), "run", runs.StopRequest{Reason: "tea"}))
		}, nil, records(0, 3)},
		{"behind a takeover", func(t *testing.T) {
			_, err := whole.Acquire(t.Context(), "run", runs.LeaseRequest{Steal: true})
			require.NoError(t, err)
		}, runs.ErrLeaseLost, records(0, 3)},
	} {
		t.Run(rule.name, func(t *testing.T) {
			before, _, err := whole.Inspect(t.Context(), "run")
			require.NoError(t, err)
			var held atomic.Bool
			onData := func(data []byte) bool {
				if bytes.Contains(data, []byte(".step ")) && held.CompareAndSwap(false, true) {
					rule.meanwhile(t)
				}
				return false
			}
			p.onData.Store(&onData)
			err = l.AppendRecord(t.Context(), "run", fmt.Append(nil, "record ", before.Steps))
			require.ErrorIs(t, err, rule.want)
			require.True(t, held.Load())
			requireJournal(t, whole, "run", rule.journal)
		})
	}
	require.Equal(t, "tea", (<-l.Stops()).Reason)
}

// TestStore_AppendsOnceWhatIsAppendedAgain after a call that gave up: its record may have been written, or come later.
func TestStore_AppendsOnceWhatIsAppendedAgain(t *testing.T) {
	cut, whole, p := newCutStore(t, 200*time.Millisecond)
	l := hold(t, cut, "run")
	for n, isLost := range []bool{false, true, false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		var once sync.Once
		onData := func(data []byte) (cut bool) {
			if bytes.Contains(data, []byte(".step ")) {
				once.Do(func() {
					cancel()
					time.Sleep(20 * time.Millisecond) // the caller has given up before the record is there
					cut = isLost
				})
			}
			return cut
		}
		p.onData.Store(&onData)
		record := []byte(records(n, n+1)[0])
		require.ErrorIs(t, l.AppendRecord(ctx, "run", record), context.Canceled)
		require.NoError(t, l.AppendRecord(t.Context(), "run", record))
		requireJournal(t, whole, "run", records(0, n+1))
	}
}

// TestStore_SaysThatTheServerIsAway when its patience is over.
func TestStore_SaysThatTheServerIsAway(t *testing.T) {
	on := startServer(t, false)
	s, err := New(t.Context(), Config{Conn: connect(t, on.ClientURL()), AnswerIn: 20 * time.Millisecond,
		Patience: 100 * time.Millisecond})
	require.NoError(t, err)
	defer s.Close()
	l := hold(t, s, "run")
	on.stop()
	_, _, err = s.Get(t.Context(), "run")
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorContains(t, err, `get checkpoint "run"`)
	err = l.AppendRecord(t.Context(), "run", []byte("record 0"))
	require.ErrorIs(t, err, ErrUnavailable)
	_, err = s.AcquireDue(t.Context(), runs.LeaseRequest{}, runs.Due{})
	require.ErrorIs(t, err, ErrUnavailable)
	on.start(t)
	require.Eventually(t, func() bool { return l.AppendRecord(t.Context(), "run", []byte("record 0")) == nil },
		10*time.Second, time.Millisecond)
	requireJournal(t, s, "run", records(0, 1))
}
