package storekit

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/internal/core"
)

// newRow makes a row that is ready.
func newRow(t *testing.T, n NewRun) *Row {
	t.Helper()
	r, err := New("run", n, 1, start)
	require.NoError(t, err)
	return r
}

// take acquires the lease for a minute.
func take(t *testing.T, r *Row, token uint64, now time.Time) {
	t.Helper()
	_, err := r.Acquire(token, LeaseRequest{Owner: "ana", TTL: time.Minute}, now)
	require.NoError(t, err)
}

// Attempts are the lives that came to nothing, in a row: a store gives a run up by them.
// Rule distributed/Q7.
func TestRow_AttemptsCountLivesWithoutProgress(t *testing.T) {
	r := newRow(t, NewRun{})
	dead := start
	for life := 1; life <= 3; life++ {
		take(t, r, uint64(life), dead)
		require.Equal(t, life, r.Run.Attempts)
		dead = dead.Add(time.Minute)
	}
	r.Appended(10, dead)
	require.Equal(t, 3, r.Run.Attempts, "the first record says only that the process lives")
	r.Appended(10, dead)
	require.Equal(t, 1, r.Run.Attempts, "the second one is progress")

	r = newRow(t, NewRun{})
	for life := range 5 { // given back: nobody died
		take(t, r, uint64(life), start)
		require.Equal(t, 1, r.Run.Attempts)
		require.NoError(t, r.Settle(Settlement{}, Retention{}, start))
		require.Zero(t, r.Run.Attempts)
	}
	take(t, r, 9, start)
	require.NoError(t, r.Settle(Settlement{Status: core.RunReady, Err: "failed"}, Retention{}, start))
	require.Zero(t, r.Run.Attempts)
	require.Equal(t, 1, r.Run.Retries)
}

// A lease ends at its time and not before; a sign of life moves the end.
// Rules distributed/F1, distributed/F3.
func TestRow_ALeaseLastsAsLongAsItSays(t *testing.T) {
	r := newRow(t, NewRun{})
	take(t, r, 1, start)
	end := start.Add(time.Minute)
	require.True(t, r.Held(end.Add(-1)))
	require.False(t, r.Held(end))
	require.True(t, r.Holds(1))
	require.False(t, r.Holds(2))
	_, err := r.Acquire(2, LeaseRequest{}, end.Add(-1))
	var busy *core.BusyError
	require.ErrorAs(t, err, &busy)
	require.Equal(t, core.BusyError{ID: "run", Owner: "ana", Until: end, Token: 1}, *busy)
	r.Renew(end.Add(-1))
	require.Equal(t, end.Add(time.Minute-1), r.Run.LeaseUntil)
	before, err := r.Acquire(2, LeaseRequest{Steal: true}, end)
	require.NoError(t, err)
	require.Equal(t, "ana", before.Owner)
	require.False(t, r.Holds(1))

	for ttl, want := range map[time.Duration]time.Duration{
		-1: defaultTTL, 0: defaultTTL, 1: shortestTTL, shortestTTL: shortestTTL, 2 * shortestTTL: 2 * shortestTTL,
	} {
		r := newRow(t, NewRun{})
		_, err := r.Acquire(1, LeaseRequest{TTL: ttl}, start)
		require.NoError(t, err)
		require.Equal(t, start.Add(want), r.Run.LeaseUntil, "of a TTL of %v", ttl)
	}
}

// Records count, and what is executed does not expire.
func TestRow_CountsItsRecords(t *testing.T) {
	r := newRow(t, NewRun{Records: [][]byte{{1, 2}, {3}}})
	require.Equal(t, 2, r.Run.Steps)
	require.EqualValues(t, 3, r.Run.Bytes)
	take(t, r, 1, start)
	r.Run.Expires = start
	later := start.Add(30 * time.Second)
	r.Appended(5, later)
	require.Equal(t, 3, r.Run.Steps)
	require.EqualValues(t, 8, r.Run.Bytes)
	require.Zero(t, r.Run.Expires)
	require.Equal(t, later, r.Run.Updated)
	require.Equal(t, later.Add(time.Minute), r.Run.LeaseUntil, "a record is a sign of life")
}

// Who gives a lease back has changed nothing, unless the run has come further.
func TestRow_GivenBackItIsAsBefore(t *testing.T) {
	at := start.Add(time.Hour)
	waits := rowIn(t, core.RunWaiting)
	take(t, waits, 2, start)
	require.NoError(t, waits.Settle(Settlement{}, Retention{}, start))
	require.Equal(t, core.RunWaiting, waits.Run.Status)
	require.Zero(t, waits.Run.WakeAt)

	answered := rowIn(t, core.RunWaiting)
	take(t, answered, 2, start)
	require.NoError(t, answered.Answer([]Answer{{Point: "q"}}, at))
	require.NoError(t, answered.Settle(Settlement{}, Retention{}, at))
	require.Equal(t, core.RunReady, answered.Run.Status, "an answer came meanwhile")
	require.Equal(t, at, answered.Run.WakeAt)

	further := newRow(t, NewRun{})
	take(t, further, 1, start)
	further.Appended(1, start)
	require.NoError(t, further.Settle(Settlement{}, Retention{}, start))
	require.Equal(t, core.RunRunning, further.Run.Status)
	since, due := further.DueAt(start)
	require.True(t, due, "somebody continues it at once")
	require.Zero(t, since)

	told := newRow(t, NewRun{})
	take(t, told, 1, start)
	told.Progressed()
	require.NoError(t, told.Settle(Settlement{WakeAt: at}, Retention{}, start))
	require.Equal(t, core.RunRunning, told.Run.Status)
	_, due = told.DueAt(at.Add(-1))
	require.False(t, due)
	_, due = told.DueAt(at)
	require.True(t, due)
}

// Retention decides how long a run is kept in a state, unless the settlement does.
func TestRow_IsKeptAsLongAsTheStoreOrTheSettlementSays(t *testing.T) {
	kept := Retention{Done: time.Hour, Paused: 2 * time.Hour}
	for _, c := range []struct {
		end  Settlement
		want time.Duration // 0 is for ever
	}{
		{Settlement{Status: core.RunDone}, time.Hour},
		{Settlement{Status: core.RunDone, Keep: time.Minute}, time.Minute},
		{Settlement{Status: core.RunDone, Keep: -1}, 0},
		{Settlement{Status: core.RunPaused}, 2 * time.Hour},
		{Settlement{Status: core.RunReady}, 0},
	} {
		r := newRow(t, NewRun{})
		take(t, r, 1, start)
		require.NoError(t, r.Settle(c.end, kept, start))
		if c.want == 0 {
			require.Zero(t, r.Run.Expires, "%+v", c.end)
			continue
		}
		end := start.Add(c.want)
		require.Equal(t, end, r.Run.Expires, "%+v", c.end)
		require.False(t, r.Expired(end))
		require.True(t, r.Expired(end.Add(1)))
		take(t, r, 2, end)
		require.False(t, r.Expired(end.Add(1)), "somebody holds it")
	}
	r := newRow(t, NewRun{})
	require.NoError(t, r.Stop(StopRequest{Reason: "enough"}, kept, start))
	require.Equal(t, start.Add(2*time.Hour), r.Run.Expires)
	require.Equal(t, "enough", r.Run.Error)
}

// Answers are taken all or none; one after the question has expired is late.
// Rules distributed/C7, distributed/C8, distributed/C11.
func TestRow_Answers(t *testing.T) {
	end := start.Add(time.Hour)
	asking := func() *Row {
		r := newRow(t, NewRun{})
		take(t, r, 1, start)
		require.NoError(t, r.Settle(Settlement{Status: core.RunWaiting, Waiting: []WaitPoint{
			{ID: "a", Expires: end}, {ID: "b"}, {ID: "optional", Optional: true}, {ID: "child", Kind: runQuestion, Expires: end},
		}}, Retention{}, start))
		return r
	}
	r := asking()
	require.ErrorIs(t, r.Answer([]Answer{{Point: "b"}, {Point: "a"}}, end), core.ErrAnswerLate)
	require.Empty(t, r.Answers, "all or none")
	require.NoError(t, r.Answer([]Answer{{Point: "a"}}, end.Add(-1)))
	require.ErrorIs(t, r.Answer([]Answer{{Point: "a"}}, start), core.ErrAnswered)
	require.NoError(t, r.Answer([]Answer{{Point: "child"}}, end.Add(time.Hour)), "the end of a run is never late")
	require.Equal(t, core.RunWaiting, r.Run.Status)
	require.NoError(t, r.Answer([]Answer{{Point: "b"}}, end))
	require.Equal(t, core.RunReady, r.Run.Status, "what is optional need not be answered")
	require.Equal(t, end, r.Run.WakeAt)
	err := r.Answer([]Answer{{Point: "b"}}, end)
	require.ErrorIs(t, err, core.ErrAnswered)
	require.ErrorIs(t, err, core.ErrNotWaiting)
	require.Len(t, r.Answers, 3)

	r = asking()
	require.NoError(t, r.Answer([]Answer{{Point: "optional"}}, start))
	require.Equal(t, core.RunWaiting, r.Run.Status)
	require.NoError(t, r.Stop(StopRequest{}, Retention{}, start))
	require.NoError(t, r.Answer([]Answer{{Point: "a"}, {Point: "b"}, {Point: "child"}}, start))
	require.Equal(t, core.RunPaused, r.Run.Status, "a paused run stays so")
	require.NoError(t, r.Continue(start))
	require.Equal(t, core.RunReady, r.Run.Status)
}
