package storekit

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/runs"
)

// states are all that a row can have.
var states = []runs.Status{runs.Ready, runs.Running, runs.Waiting, runs.Paused, runs.Done, runs.Failed}

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// rowIn makes a row in a state that no process holds.
func rowIn(t *testing.T, s runs.Status) *Row {
	t.Helper()
	r, err := New("run", runs.Spec{}, 1, start)
	require.NoError(t, err)
	_, err = r.Acquire(1, runs.LeaseRequest{TTL: time.Minute}, start)
	require.NoError(t, err)
	if s == runs.Running { // whose holder has died
		r.Run.LeaseUntil = start
		return r
	}
	require.NoError(t, r.Settle(runs.Settlement{Status: s, Waiting: []runs.Question{{ID: "q"}}}, runs.Retention{}, start))
	if s != runs.Waiting {
		r.Run.Waiting = nil
	}
	return r
}

// Each row of the table has the state that a run gets from each of the states; "" is a refusal that changes nothing.
func TestRow_Transitions(t *testing.T) {
	const ready, running, waiting, paused, done, failed = runs.Ready, runs.Running, runs.Waiting, runs.Paused,
		runs.Done, runs.Failed
	take := func(r *Row) error {
		_, err := r.Acquire(2, runs.LeaseRequest{}, start.Add(time.Second))
		return err
	}
	for _, row := range []struct {
		name string
		do   func(r *Row) error
		want [6]runs.Status
	}{
		{"taken", take, [6]runs.Status{running, running, waiting, paused, done, failed}},
		{"taken and appended", func(r *Row) error {
			err := take(r)
			r.Appended(1, start)
			return err
		}, [6]runs.Status{running, running, running, running, running, running}},
		{"taken and given back", func(r *Row) error {
			_ = take(r)
			return r.Settle(runs.Settlement{}, runs.Retention{}, start)
		}, states6()},
		{"taken, asked to stop, and given back", func(r *Row) error {
			_ = take(r)
			_ = r.Stop(runs.StopRequest{Reason: "enough"}, runs.Retention{}, start)
			return r.Settle(runs.Settlement{}, runs.Retention{}, start)
		}, [6]runs.Status{paused, paused, paused, paused, done, failed}},
		{"taken, asked to stop, and settled as waiting", func(r *Row) error {
			_ = take(r)
			r.Stopping = &runs.StopRequest{Reason: "enough"}
			return r.Settle(runs.Settlement{Status: waiting, Waiting: []runs.Question{{ID: "q"}}}, runs.Retention{}, start)
		}, [6]runs.Status{paused, paused, paused, paused, paused, paused}},
		{"taken, asked to stop, and settled as done", func(r *Row) error {
			_ = take(r)
			r.Stopping = &runs.StopRequest{Reason: "enough"}
			return r.Settle(runs.Settlement{Status: done}, runs.Retention{}, start)
		}, [6]runs.Status{done, done, done, done, done, done}},
		{"answered", func(r *Row) error { return r.Reply([]runs.Reply{{To: "q"}}, start) },
			[6]runs.Status{"", "", ready, "", "", ""}},
		{"answered where it does not ask", func(r *Row) error { return r.Reply([]runs.Reply{{To: "p"}}, start) }, [6]runs.Status{}},
		{"stopped", func(r *Row) error { return r.Stop(runs.StopRequest{}, runs.Retention{}, start) },
			[6]runs.Status{paused, paused, paused, paused, "", ""}},
		{"continued", func(r *Row) error { return r.Continue(start) }, [6]runs.Status{ready, running, "", ready, "", ""}},
	} {
		t.Run(row.name, func(t *testing.T) {
			for i, from := range states {
				r := rowIn(t, from)
				err := row.do(r)
				want := row.want[i]
				if want == "" {
					require.Error(t, err, "from %s", from)
					want = from
				} else {
					require.NoError(t, err, "from %s", from)
				}
				require.Equal(t, want, r.Run.Status, "from %s", from)
			}
		})
	}
}

func states6() (s [6]runs.Status) {
	copy(s[:], states)
	return s
}
