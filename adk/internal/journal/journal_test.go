package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/runs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// values is a store without a journal of its own.
type values map[string][]byte

func (v values) Get(_ context.Context, id string) ([]byte, bool, error) {
	data, ok := v[id]
	return data, ok, nil
}

func (v values) Set(_ context.Context, id string, data []byte) error { v[id] = data; return nil }

// lists is one that has a journal.
type lists struct {
	values
	records map[string][][]byte
}

func (l lists) AppendRecord(_ context.Context, id string, record []byte) error {
	l.records[id] = append(l.records[id], record)
	return nil
}

func (l lists) ReadRecords(_ context.Context, id string) ([][]byte, error) {
	return slices.Clone(l.records[id]), nil
}
func (l lists) RemoveRecords(_ context.Context, id string) error { delete(l.records, id); return nil }

func stores() map[string]core.CheckPointStore {
	return map[string]core.CheckPointStore{"whole": values{}, "list": lists{values{}, map[string][][]byte{}}}
}

// turnOf is a turn that adds messages to the first keep of the turn before.
func turnOf(keep, remaining int, messages ...any) *Record {
	return &Record{Keep: keep, Remaining: remaining, Messages: messages}
}

// revive reads the journal in a new process.
func revive(t *testing.T, store core.CheckPointStore) *Journal {
	t.Helper()
	j := New(store, "1")
	past, err := j.Replay(t.Context())
	require.NoError(t, err)
	require.Equal(t, "input", string(past.Run))
	require.NoError(t, j.Adopt(Rest{}))
	require.NoError(t, j.Continue(t.Context(), nil))
	return j
}

// resumed puts what a checkpoint keeps into the journal of the process that resumes it.
func resumed(t *testing.T, stopped *Journal) (*Journal, Rest) {
	t.Helper()
	stopped.Close()
	rest, err := stopped.Rest()
	require.NoError(t, err)
	j := New(values{}, "1")
	require.NoError(t, j.Adopt(rest))
	return j, rest
}

func TestReplay_FindsTheLastTurnAndItsCalls(t *testing.T) {
	for name, store := range stores() {
		t.Run(name, func(t *testing.T) {
			j := New(store, "1")
			require.NoError(t, j.Begin(t.Context(), []byte("input")))
			v := j.Root().Begin("a", false)
			require.NoError(t, v.SaveTurn(t.Context(), turnOf(0, 9, "hi", "call")))
			c := v.Call("c1", 9)
			require.NoError(t, c.Start(t.Context()))
			require.NoError(t, c.Finish(t.Context(), func(r *Record) { r.Text = "result" }))
			require.NoError(t, v.SaveTurn(t.Context(), turnOf(1, 8, "other call")))
			require.NoError(t, v.Call("c2", 8).Start(t.Context()))

			again := revive(t, store).Root().Begin("a", false)
			require.Equal(t, v.Position(), again.Position())
			require.Equal(t, []any{"hi", "other call"}, again.LastTurn().Messages)
			require.Nil(t, again.Call("c1", 9).Known(), "the turn after it has its result")
			require.Equal(t, KindStart, again.Call("c2", 8).Known().Kind)
			require.Nil(t, again.Call("c3", 8).Known())
		})
	}
}

func TestReplay_RefusesWhatIsNoJournal(t *testing.T) {
	store := lists{values{}, map[string][][]byte{}}
	data, err := encode(&Record{Kind: KindTurn, Life: "l", N: 2, Visit: "a", Keep: 3})
	require.NoError(t, err)
	store.records["1"] = [][]byte{data}
	past, err := New(store, "1").Replay(t.Context())
	require.NoError(t, err)
	require.Nil(t, past.Run)
	require.True(t, past.Stray, "what a process wrote that had lost the run is no journal")
	begin, err := encode(&Record{Kind: KindBegin, Life: "l", N: 1, Format: Format, Run: []byte("input")})
	require.NoError(t, err)
	again, err := encode(&Record{Kind: KindTurn, Life: "l", N: 3, Visit: "a", Keep: 3})
	require.NoError(t, err)
	store.records["1"] = [][]byte{begin, data, again}
	j := New(store, "1")
	_, err = j.Replay(t.Context())
	require.NoError(t, err)
	require.ErrorContains(t, j.Adopt(Rest{}), "step 2: it keeps more messages than there are")
	store.records["1"] = [][]byte{[]byte("rubbish")}
	_, err = New(store, "1").Replay(t.Context())
	require.ErrorIs(t, err, runs.ErrDamaged)
	require.ErrorContains(t, err, `record 1 in the journal of run "1"`)
}

// TestBegin_PositionsAreThoseOfTheUndisturbedRun: visits are identified by their position in the run, and several
// visits to one place by their order, in every process.
func TestBegin_PositionsAreThoseOfTheUndisturbedRun(t *testing.T) {
	j := New(values{}, "1")
	loop := func(round int) *Scope { return j.Root().Inside(fmt.Sprint(round)) }
	require.Equal(t, "0/a#0", loop(0).Begin("a", false).Position())
	require.Equal(t, "1/a#0", loop(1).Begin("a", false).Position())
	custom := j.Root()
	require.Equal(t, "a#0", custom.Begin("a", false).Position())
	require.Equal(t, "a#1", custom.Begin("a", false).Position())
	require.Equal(t, "b#0", custom.Begin("b", true).Position(), "nothing is known of where it stopped")
	call := custom.Begin("c", false).Call("call", 1)
	require.Equal(t, "c#0!call/d#0", call.Scope().Begin("d", false).Position())
}

// TestRest_KeepsWhatTheSavedStateDoesNotContain is the table at Rest.
func TestRest_KeepsWhatTheSavedStateDoesNotContain(t *testing.T) {
	for name, c := range map[string]struct {
		stop                  func(*Visit)
		turn, call, continues bool
	}{
		"abandoned": {func(*Visit) {}, true, true, false},
		"parked":    {(*Visit).Park, true, true, true},
		"suspended": {(*Visit).Suspend, false, true, true},
		"ended":     {(*Visit).End, false, false, false},
		"the first end counts": {func(v *Visit) {
			v.Suspend()
			v.End()
			v.Park()
		}, false, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			j := New(values{}, "1")
			require.NoError(t, j.Begin(t.Context(), nil))
			v := j.Root().Begin("a", false)
			require.NoError(t, v.SaveTurn(t.Context(), turnOf(0, 9, "call")))
			require.NoError(t, v.Call("c1", 9).Finish(t.Context(), func(r *Record) { r.Text = "result" }))
			require.NoError(t, v.Call("c2", 9).Start(t.Context()))
			c.stop(v)
			next, rest := resumed(t, j)
			require.Equal(t, c.continues, rest.Resumable["a"] == v.Position())
			again := next.Root().Begin("a", c.continues)
			require.Equal(t, c.turn, again.LastTurn() != nil)
			require.Equal(t, c.call, again.Call("c1", 9).Known() != nil)
			require.Nil(t, again.Call("c2", 9).Known(), "a call that a cancel gave up is made again without a question")
		})
	}
}

// TestRest_OfVisitsInsideCalls: what an agent did as a tool counts until the call has its result; if the call is made
// again, so do the agents in it that had ended.
func TestRest_OfVisitsInsideCalls(t *testing.T) {
	for name, c := range map[string]struct {
		stop        func(*testing.T, *Call)
		ended, open bool
	}{
		"made again":                    {func(*testing.T, *Call) {}, true, true},
		"suspended":                     {func(_ *testing.T, c *Call) { c.Suspend() }, false, true},
		"given up after it was resumed": {func(_ *testing.T, c *Call) { c.Park(); c.Suspend() }, true, true},
		"given up too late":             {func(_ *testing.T, c *Call) { c.Suspend(); c.Park() }, false, true},
		"done": {func(t *testing.T, c *Call) {
			require.NoError(t, c.Finish(t.Context(), func(*Record) {}))
			c.Suspend()
			c.Park()
		}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			j := New(values{}, "1")
			require.NoError(t, j.Begin(t.Context(), nil))
			outer := j.Root().Begin("boss", false)
			call := outer.Call("call", 9)
			first, second := call.Scope().Begin("first", false), call.Scope().Begin("second", false)
			for _, v := range []*Visit{first, second} {
				require.NoError(t, v.SaveTurn(t.Context(), turnOf(0, 9, "turn")))
			}
			first.End()
			c.stop(t, call)
			outer.Suspend()
			next, _ := resumed(t, j)
			again := next.Root().Begin("boss", true).Call("call", 9)
			require.Equal(t, c.ended, again.Scope().Begin("first", false).LastTurn() != nil)
			require.Equal(t, c.open, again.Scope().Begin("second", false).LastTurn() != nil)
		})
	}
}

// TestRest_OfCallsInCallsThatBeginAgain: what ended inside a call is kept also if a call around that one begins again,
// and an agent that had been resumed there is found where it was.
func TestRest_OfCallsInCallsThatBeginAgain(t *testing.T) {
	j := New(values{}, "1")
	require.NoError(t, j.Begin(t.Context(), nil))
	outer := j.Root().Begin("boss", false).Call("outer", 9)
	inner := outer.Scope().Begin("helper", false).Call("inner", 9)
	ended := inner.Scope().Begin("ended", true)
	require.NoError(t, ended.SaveTurn(t.Context(), turnOf(0, 9, "turn")))
	ended.End()
	inner.Suspend()
	outer.Park()
	next, rest := resumed(t, j)
	require.Equal(t, ended.Position(), rest.Resumable["ended"])
	again := next.Root().Begin("boss", true).Call("outer", 9).Scope().Begin("helper", true).Call("inner", 9)
	require.NotNil(t, again.Scope().Begin("ended", true).LastTurn())
}

// TestRest_OfARunThatDidNotGetThere: steps that no agent has reached yet are kept, with the place where their agents
// continue.
func TestRest_OfARunThatDidNotGetThere(t *testing.T) {
	store := lists{values{}, map[string][][]byte{}}
	j := New(store, "1")
	require.NoError(t, j.Begin(t.Context(), []byte("input")))
	require.NoError(t, j.Root().Begin("a", false).SaveTurn(t.Context(), turnOf(0, 9, "turn")))
	second := revive(t, store)
	second.resumable = map[string]string{"x": "x#4"}
	third, rest := resumed(t, second)
	require.Equal(t, map[string]string{"x": "x#4"}, rest.Resumable)
	require.NotNil(t, third.Root().Begin("a", false).LastTurn())
	require.Equal(t, "x#4", third.Root().Begin("x", true).Position())
}

func TestClose_RefusesWhatComesLate(t *testing.T) {
	j := New(values{}, "1")
	require.NoError(t, j.Begin(t.Context(), nil))
	v := j.Root().Begin("a", false)
	j.Close()
	require.ErrorIs(t, v.SaveTurn(t.Context(), turnOf(0, 1)), ErrClosed)
	require.ErrorIs(t, v.Call("c", 1).Start(t.Context()), ErrClosed)
}

// TestAppend_WithoutRecordingKeepsForTheCheckpoint: a resumed run that does not save its steps writes none.
func TestAppend_WithoutRecordingKeepsForTheCheckpoint(t *testing.T) {
	store := lists{values{}, map[string][][]byte{}}
	j := New(store, "1")
	require.NoError(t, j.Adopt(Rest{}))
	require.NoError(t, j.Root().Begin("a", false).SaveTurn(t.Context(), turnOf(0, 1, "turn")))
	require.Empty(t, store.records)
	next, _ := resumed(t, j)
	require.NotNil(t, next.Root().Begin("a", false).LastTurn())
}

// failing is a store that cannot write, or panics.
type failing struct {
	lists
	err error
}

func (f failing) AppendRecord(context.Context, string, []byte) error {
	if f.err == nil {
		panic("no disk")
	}
	return f.err
}

func TestAppend_SaysWhatTheStoreSays(t *testing.T) {
	full := errors.New("disk full")
	j := New(failing{lists{values{}, map[string][][]byte{}}, full}, "1")
	require.ErrorIs(t, j.Begin(t.Context(), nil), full)
	j = New(failing{lists: lists{values{}, map[string][][]byte{}}}, "1")
	require.ErrorContains(t, j.Begin(t.Context(), nil), "the checkpoint store panicked: ")
}
