package storekit

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/runs"
)

// newRow makes a row that is ready.
func newRow(t *testing.T, n runs.Spec) *Row {
	t.Helper()
	r, err := New("run", n, 1, start)
	require.NoError(t, err)
	return r
}

// take acquires the lease for a minute.
func take(t *testing.T, r *Row, token uint64, now time.Time) {
	t.Helper()
	_, err := r.Acquire(token, runs.LeaseRequest{Owner: "ana", TTL: time.Minute}, now)
	require.NoError(t, err)
}

// Attempts are the lives that came to nothing, in a row: a store gives a run up by them.
// Rule distributed/Q7.
func TestRow_AttemptsCountLivesWithoutProgress(t *testing.T) {
	r := newRow(t, runs.Spec{})
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

	r = newRow(t, runs.Spec{})
	for life := range 5 { // given back: no holder died
		take(t, r, uint64(life), start)
		require.Equal(t, 1, r.Run.Attempts)
		require.NoError(t, r.Settle(runs.Settlement{}, runs.Retention{}, start))
		require.Zero(t, r.Run.Attempts)
	}
	take(t, r, 9, start)
	require.NoError(t, r.Settle(runs.Settlement{Status: runs.Ready, Err: "failed"}, runs.Retention{}, start))
	require.Zero(t, r.Run.Attempts)
	require.Equal(t, 1, r.Run.Retries)
}

// A lease ends at its time and not before; a sign of life moves the end.
// Rules distributed/F1, distributed/F3.
func TestRow_ALeaseLastsAsLongAsItSays(t *testing.T) {
	r := newRow(t, runs.Spec{})
	take(t, r, 1, start)
	end := start.Add(time.Minute)
	require.True(t, r.Held(end.Add(-1)))
	require.False(t, r.Held(end))
	require.True(t, r.Holds(1))
	require.False(t, r.Holds(2))
	_, err := r.Acquire(2, runs.LeaseRequest{}, end.Add(-1))
	var busy *runs.BusyError
	require.ErrorAs(t, err, &busy)
	require.Equal(t, runs.BusyError{ID: "run", Owner: "ana", Until: end, Token: 1}, *busy)
	r.Renew(end.Add(-1))
	require.Equal(t, end.Add(time.Minute-1), r.Run.LeaseUntil)
	before, err := r.Acquire(2, runs.LeaseRequest{Steal: true}, end)
	require.NoError(t, err)
	require.Equal(t, "ana", before.Owner)
	require.False(t, r.Holds(1))

	for ttl, want := range map[time.Duration]time.Duration{
		-1: defaultTTL, 0: defaultTTL, 1: shortestTTL, shortestTTL: shortestTTL, 2 * shortestTTL: 2 * shortestTTL,
	} {
		r := newRow(t, runs.Spec{})
		_, err := r.Acquire(1, runs.LeaseRequest{TTL: ttl}, start)
		require.NoError(t, err)
		require.Equal(t, start.Add(want), r.Run.LeaseUntil, "of a TTL of %v", ttl)
	}
}

// Records count, and what is executed does not expire.
func TestRow_CountsItsRecords(t *testing.T) {
	r := newRow(t, runs.Spec{Records: [][]byte{{1, 2}, {3}}})
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
	waits := rowIn(t, runs.Waiting)
	take(t, waits, 2, start)
	require.NoError(t, waits.Settle(runs.Settlement{}, runs.Retention{}, start))
	require.Equal(t, runs.Waiting, waits.Run.Status)
	require.Zero(t, waits.Run.WakeAt)

	answered := rowIn(t, runs.Waiting)
	take(t, answered, 2, start)
	require.NoError(t, answered.Reply([]runs.Reply{{To: "q"}}, at))
	require.NoError(t, answered.Settle(runs.Settlement{}, runs.Retention{}, at))
	require.Equal(t, runs.Ready, answered.Run.Status, "an answer came meanwhile")
	require.Equal(t, at, answered.Run.WakeAt)

	further := newRow(t, runs.Spec{})
	take(t, further, 1, start)
	further.Appended(1, start)
	require.NoError(t, further.Settle(runs.Settlement{}, runs.Retention{}, start))
	require.Equal(t, runs.Running, further.Run.Status)
	since, due := further.DueAt(start)
	require.True(t, due, "somebody continues it at once")
	require.Zero(t, since)

	told := newRow(t, runs.Spec{})
	take(t, told, 1, start)
	told.Progressed()
	require.NoError(t, told.Settle(runs.Settlement{WakeAt: at}, runs.Retention{}, start))
	require.Equal(t, runs.Running, told.Run.Status)
	_, due = told.DueAt(at.Add(-1))
	require.False(t, due)
	_, due = told.DueAt(at)
	require.True(t, due)
}

// Retention decides how long a run is kept in a state, unless the settlement does.
func TestRow_IsKeptAsLongAsTheStoreOrTheSettlementSays(t *testing.T) {
	kept := runs.Retention{Done: time.Hour, Paused: 2 * time.Hour}
	for _, c := range []struct {
		end  runs.Settlement
		want time.Duration // 0 is for ever
	}{
		{runs.Settlement{Status: runs.Done}, time.Hour},
		{runs.Settlement{Status: runs.Done, Keep: time.Minute}, time.Minute},
		{runs.Settlement{Status: runs.Done, Keep: -1}, 0},
		{runs.Settlement{Status: runs.Paused}, 2 * time.Hour},
		{runs.Settlement{Status: runs.Ready}, 0},
	} {
		r := newRow(t, runs.Spec{})
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
	r := newRow(t, runs.Spec{})
	require.NoError(t, r.Stop(runs.StopRequest{Reason: "enough"}, kept, start))
	require.Equal(t, start.Add(2*time.Hour), r.Run.Expires)
	require.Equal(t, "enough", r.Run.Error)
}

// Answers are taken all or none; one after the question has expired is late.
// Rules distributed/C7, distributed/C8, distributed/C11.
func TestRow_Answers(t *testing.T) {
	end := start.Add(time.Hour)
	asking := func() *Row {
		r := newRow(t, runs.Spec{})
		take(t, r, 1, start)
		require.NoError(t, r.Settle(runs.Settlement{Status: runs.Waiting, Waiting: []runs.Question{
			{ID: "a", Expires: end}, {ID: "b"}, {ID: "optional", Optional: true}, {ID: "child", Kind: runs.KindRun, Expires: end},
		}}, runs.Retention{}, start))
		return r
	}
	r := asking()
	require.ErrorIs(t, r.Reply([]runs.Reply{{To: "b"}, {To: "a"}}, end), runs.ErrReplyLate)
	require.Empty(t, r.Answers, "all or none")
	require.NoError(t, r.Reply([]runs.Reply{{To: "a"}}, end.Add(-1)))
	require.ErrorIs(t, r.Reply([]runs.Reply{{To: "a"}}, start), runs.ErrReplied)
	require.NoError(t, r.Reply([]runs.Reply{{To: "child"}}, end.Add(time.Hour)), "the end of a run is never late")
	require.Equal(t, runs.Waiting, r.Run.Status)
	require.NoError(t, r.Reply([]runs.Reply{{To: "b"}}, end))
	require.Equal(t, runs.Ready, r.Run.Status, "what is optional need not be answered")
	require.Equal(t, end, r.Run.WakeAt)
	err := r.Reply([]runs.Reply{{To: "b"}}, end)
	require.ErrorIs(t, err, runs.ErrReplied)
	require.ErrorIs(t, err, runs.ErrNotWaiting)
	require.Len(t, r.Answers, 3)

	r = asking()
	require.NoError(t, r.Reply([]runs.Reply{{To: "optional"}}, start))
	require.Equal(t, runs.Waiting, r.Run.Status)
	require.NoError(t, r.Stop(runs.StopRequest{}, runs.Retention{}, start))
	require.NoError(t, r.Reply([]runs.Reply{{To: "a"}, {To: "b"}, {To: "child"}}, start))
	require.Equal(t, runs.Paused, r.Run.Status, "a paused run stays so")
	require.NoError(t, r.Continue(start))
	require.Equal(t, runs.Ready, r.Run.Status)
}
