package postgres

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint/checkpointtest"
	"github.com/weftgo/weft/adk/checkpoint/sqlrun"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/adk/runlog/runlogtest"
	"github.com/weftgo/weft/runs"
)

func TestEvents_Conform(t *testing.T) {
	ofTest(t)
	runlogtest.Run(t, func(t *testing.T) runlog.Store {
		events, err := newStore(t).OpenEvents(t.Context())
		require.NoError(t, err)
		return events
	})
}

// A reader hears at once of what another process writes.
//
// Rule runlog/E6.
func TestEvents_OfAnotherProcessArriveAtOnce(t *testing.T) {
	url := newDatabase(t, ofTest(t))
	open := func() runlog.Store {
		s, err := Open(t.Context(), url)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		events, err := s.OpenEvents(t.Context())
		require.NoError(t, err)
		return events
	}
	writer, reader := open(), open()
	time.Sleep(300 * time.Millisecond) // until both listen
	events := make([]runlog.Event, 21)
	for i := range events {
		events[i] = runlog.Event{V: 1, Run: "run", Seq: uint64(i) + 1, Type: runlog.Saved}
	}
	took := runlogtest.Arrive(t, writer, reader, events...)
	t.Logf("half of the events came within %v", took)
	require.Less(t, took, 300*time.Millisecond, "that is a poll")
}

// A process has one connection that hears, and one goroutine that looks, for all readers.
//
// Rule runlog/E7.
func TestEvents_HaveOneListenerForAllReaders(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	for _, count := range []int{1, 1000} {
		url := newDatabase(t, ofTest(t))
		var processes []runlog.Store
		for range 2 {
			s, err := Open(t.Context(), url)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, s.Close()) })
			events, err := s.OpenEvents(t.Context())
			require.NoError(t, err)
			processes = append(processes, events)
		}
		runlogtest.Watch(t, processes[0], processes[1], 1000, count)
	}
}

// TestEvents_OfALifeThatWasOvertakenAreNotAddedBesideThoseOfTheNext: the old one's are on their way when the next one adds
// its own, to a database whose transactions see what others have committed meanwhile.
//
// Rule runlog/E4.
func TestEvents_OfALifeThatWasOvertakenAreNotAddedBesideThoseOfTheNext(t *testing.T) {
	url := newDatabase(t, ofTest(t))
	p := checkpointtest.StartProxy(t, "tcp", "127.0.0.1:"+ofTest(t).port)
	_, port, err := net.SplitHostPort(p.Address())
	require.NoError(t, err)
	open := func(url string) *sqlrun.Events {
		s, err := New(t.Context(), Config{URL: url, NoListen: true})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		e, err := s.OpenEvents(t.Context())
		require.NoError(t, err)
		return e
	}
	old, next := open(strings.Replace(url, ofTest(t).port, port, 1)), open(url)
	event := func(token, seq uint64) []runlog.Event {
		return []runlog.Event{{V: 1, Run: "run", Token: token, Seq: seq, Type: runlog.ModelStart, Data: &runlog.ModelStartData{}}}
	}
	require.NoError(t, old.Append(t.Context(), "run", event(1, 1)))
	came := p.Delay([]byte("INSERT INTO weft_events"), 500*time.Millisecond)
	late := make(chan error)
	go func() { late <- old.Append(t.Context(), "run", event(1, 2)) }()
	<-came
	require.NoError(t, next.Append(t.Context(), "run", event(2, 1)))
	all := func() (at []runs.Cursor) {
		for e, err := range next.Read(t.Context(), "run", runs.Cursor{}) {
			require.NoError(t, err)
			at = append(at, e.Cursor())
		}
		return at
	}
	before := all()
	require.NoError(t, <-late)
	require.Equal(t, before, all())
	require.ErrorIs(t, old.Append(t.Context(), "run", event(1, 3)), runlog.ErrOvertaken)
}

// TestEvents_HaveTheirTablesFromMigrations, and make none themselves.
// Rule distributed/B6.
func TestEvents_HaveTheirTablesFromMigrations(t *testing.T) {
	conf := Config{URL: newDatabase(t, ofTest(t))}
	require.NoError(t, Migrate(t.Context(), conf))
	conf.NoMigrate = true
	s, err := New(t.Context(), conf)
	require.NoError(t, err)
	defer s.Close()
	_, err = s.DB().Exec("SELECT 1 FROM weft_events")
	require.NoError(t, err)
}
