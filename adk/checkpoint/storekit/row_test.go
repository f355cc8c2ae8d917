package storekit

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/internal/core"
)

// states are all that a row can have.
var states = []Status{core.RunReady, core.RunRunning, core.RunWaiting, core.RunPaused, core.RunDone, core.RunFailed}

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// rowIn makes a row that nobody holds in a state.
func rowIn(t *testing.T, s Status) *Row {
	t.Helper()
	r, err := New("run", NewRun{}, 1, start)
	require.NoError(t, err)
	_, err = r.Acquire(1, LeaseRequest{TTL: time.Minute}, start)
	require.NoError(t, err)
	if s == core.RunRunning { // whose holder has died
		r.Run.LeaseUntil = start
		return r
	}
	require.NoError(t, r.Settle(Settlement{Status: s, Waiting: []WaitPoint{{ID: "q"}}}, Retention{}, start))
	if s != core.RunWaiting {
		r.Run.Waiting = nil
	}
	return r
}

// Each row of the table is what becomes of a run in each of the states; "" is a refusal that changes nothing.
func TestRow_Transitions(t *testing.T) {
	const ready, running, waiting, paused, done, failed = core.RunReady, core.RunRunning, core.RunWaiting, core.RunPaused,
		core.RunDone, core.RunFailed
	take := func(r *Row) error {
		_, err := r.Acquire(2, LeaseRequest{}, start.Add(time.Second))
		return err
	}
	for _, row := range []struct {
		name string
		do   func(r *Row) error
		want [6]Status
	}{
		{"taken", take, [6]Status{running, running, waiting, paused, done, failed}},
		{"taken and appended", func(r *Row) error {
			err := take(r)
			r.Appended(1, start)
			return err
		}, [6]Status{running, running, running, running, running, running}},
		{"taken and given back", func(r *Row) error {
			_ = take(r)
			return r.Settle(Settlement{}, Retention{}, start)
		}, states6()},
		{"taken, asked to stop, and given back", func(r *Row) error {
			_ = take(r)
			_ = r.Stop(StopRequest{Reason: "enough"}, Retention{}, start)
			return r.Settle(Settlement{}, Retention{}, start)
		}, [6]Status{paused, paused, paused, paused, done, failed}},
		{"taken, asked to stop, and settled as waiting", func(r *Row) error {
			_ = take(r)
			r.Stopping = &StopRequest{Reason: "enough"}
			return r.Settle(Settlement{Status: waiting, Waiting: []WaitPoint{{ID: "q"}}}, Retention{}, start)
		}, [6]Status{paused, paused, paused, paused, paused, paused}},
		{"taken, asked to stop, and settled as done", func(r *Row) error {
			_ = take(r)
			r.Stopping = &StopRequest{Reason: "enough"}
			return r.Settle(Settlement{Status: done}, Retention{}, start)
		}, [6]Status{done, done, done, done, done, done}},
		{"answered", func(r *Row) error { return r.Answer([]Answer{{Point: "q"}}, start) },
			[6]Status{"", "", ready, "", "", ""}},
		{"answered where it does not ask", func(r *Row) error { return r.Answer([]Answer{{Point: "p"}}, start) }, [6]Status{}},
		{"stopped", func(r *Row) error { return r.Stop(StopRequest{}, Retention{}, start) },
			[6]Status{paused, paused, paused, paused, "", ""}},
		{"continued", func(r *Row) error { return r.Continue(start) }, [6]Status{ready, running, "", ready, "", ""}},
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

func states6() (s [6]Status) {
	copy(s[:], states)
	return s
}
