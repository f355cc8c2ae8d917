package nats

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/adk/runlog/runlogtest"
	"github.com/weftgo/weft/runs"
	weft "github.com/weftgo/weft/schema"
)

func openEvents(t testing.TB, s *Store) *Events {
	t.Helper()
	e, err := s.OpenEvents(t.Context(), EventsConfig{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

// Rules runlog/RL8, runlog/E6.
func TestEvents_Conform(t *testing.T) {
	t.Parallel()
	on := startServer(t, false)
	runlogtest.Run(t, func(t *testing.T) runlog.Store { return openEvents(t, newStore(t, on)) })
}

func said(run string, seq uint64, text string) runlog.Event {
	return runlog.Event{V: 1, Run: run, Seq: seq, Type: runlog.Said, Span: 1,
		Data: &runlog.MessageData{Message: runlog.MessageOf(weft.AssistantMessage(text, nil))}}
}

// A reader hears at once of what another process writes, and deltas are gone with their message.
//
// Rules runlog/E2, runlog/E6.
func TestEvents_OfAnotherProcessArriveAtOnce(t *testing.T) {
	t.Parallel()
	on := startServer(t, false)
	store := newStore(t, on)
	other, err := New(t.Context(), Config{Conn: connect(t, on.ClientURL()), Prefix: store.prefix})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, other.Close()) })
	writer, reader := openEvents(t, store), openEvents(t, other)
	events := make([]runlog.Event, 11)
	for i := range events {
		events[i] = runlog.Event{V: 1, Run: "run", Seq: uint64(i) + 1, Type: runlog.ModelDelta, Span: 2,
			Data: &runlog.ModelDeltaData{Kind: runlog.Text, Text: "word "}}
	}
	events[10].Type, events[10].Data = runlog.ModelEnd, &runlog.ModelEndData{}
	require.Less(t, runlogtest.Arrive(t, writer, reader, events...), 300*time.Millisecond)
	require.Eventually(t, func() bool {
		var types []runlog.Type
		for e, err := range reader.Read(t.Context(), "run", runs.Cursor{}) {
			require.NoError(t, err)
			types = append(types, e.Type)
		}
		return len(types) == 1 && types[0] == runlog.ModelEnd
	}, 5*time.Second, 10*time.Millisecond)
}

// An event may be longer than a message of the server.
func TestEvents_KeepWhatIsLongerThanAMessage(t *testing.T) {
	t.Parallel()
	e := openEvents(t, newStore(t, startServer(t, false)))
	long := strings.Repeat("x", 20*e.store.piece+17) // more than one answer of the server
	all := []runlog.Event{said("run", 1, "short"), said("run", 2, long), said("run", 3, "short")}
	require.NoError(t, e.Append(t.Context(), "run", all))
	require.NoError(t, e.Append(t.Context(), "run", []runlog.Event{said("run", 4, long[:e.store.piece])}))
	var lengths []int
	for event, err := range e.Read(t.Context(), "run", runs.Cursor{}) {
		require.NoError(t, err)
		lengths = append(lengths, len(event.Data.(*runlog.MessageData).Message.Chat.Content))
	}
	require.Equal(t, []int{5, len(long), 5, e.store.piece}, lengths)
	info, exists, err := e.Inspect(t.Context(), "run")
	require.NoError(t, err)
	require.True(t, exists)
	require.Equal(t, runs.Cursor{Seq: 4}, info.Last)
}

// Tenants do not see each other's events.
//
// Rule distributed/T3.
func TestEvents_OfATenantAreItsOwn(t *testing.T) {
	t.Parallel()
	store := newStore(t, startServer(t, false))
	a, b := openEvents(t, store.Tenant("a")), openEvents(t, store.Tenant("b"))
	require.NoError(t, a.Append(t.Context(), "run", []runlog.Event{said("run", 1, "of a")}))
	_, exists, err := b.Inspect(t.Context(), "run")
	require.NoError(t, err)
	require.False(t, exists)
	for info := range b.List(t.Context(), runlog.Query{}) {
		t.Errorf("the other tenant sees %v", info)
	}
	require.NoError(t, b.Delete(t.Context(), "run"))
	_, exists, err = a.Inspect(t.Context(), "run")
	require.NoError(t, err)
	require.True(t, exists)
}

// BenchmarkEvents_Append measures a batch of deltas.
func BenchmarkEvents_Append(b *testing.B) {
	e := openEvents(b, newStore(b, startServer(b, false)))
	seq := uint64(0)
	for b.Loop() {
		seq++
		if err := e.Append(b.Context(), "run", []runlog.Event{said("run", seq, fmt.Sprint("message ", seq))}); err != nil {
			b.Fatal(err)
		}
	}
}

// A process has one subscription for all readers.
//
// Rule runlog/E7.
func TestEvents_HaveOneSubscriptionForAllReaders(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	for _, count := range []int{1, 1000} {
		on := startServer(t, false)
		store := newStore(t, on)
		other, err := New(t.Context(), Config{Conn: connect(t, on.ClientURL()), Prefix: store.prefix})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, other.Close()) })
		runlogtest.Watch(t, openEvents(t, store), openEvents(t, other), 1000, count)
	}
}
