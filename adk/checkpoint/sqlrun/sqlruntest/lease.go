package sqlruntest

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
)

var leaseRules = map[string]func(*testing.T, *fixture){
	"one of many gets the run":             oneGetsIt,
	"busy says who has it":                 busySaysWho,
	"a lease that ended is taken over":     takenOver,
	"a lease that ended and counts":        endedLeaseWrites,
	"a lease that was lost writes nothing": lostLeaseWritesNothing,
	"tokens grow":                          tokensGrow,
	"what was written before is the run's": adopted,
	"attempts":                             attempts,
	"renew many":                           renewMany,
	"appends of many leases":               manyAppends,
	"of its run only":                      ofItsRunOnly,
	"too long":                             tooLong,
}

func oneGetsIt(t *testing.T, f *fixture) {
	var got, busy atomic.Int64
	together(32, func(i int) {
		_, err := f.Acquire(t.Context(), "id", checkpoint.LeaseRequest{Owner: fmt.Sprint(i),
			Create: &checkpoint.NewRun{}})
		switch {
		case err == nil:
			got.Add(1)
		case errors.Is(err, checkpoint.ErrRunBusy):
			busy.Add(1)
		default:
			t.Error(err)
		}
	})
	require.EqualValues(t, 1, got.Load())
	require.EqualValues(t, 31, busy.Load())
}

func busySaysWho(t *testing.T, f *fixture) {
	_, err := f.Acquire(t.Context(), "id", checkpoint.LeaseRequest{})
	require.ErrorIs(t, err, checkpoint.ErrNotFound)
	l := f.begin(t, "id", checkpoint.NewRun{Agent: "a"})
	require.EqualValues(t, "", l.Info().Status)
	require.Equal(t, "a", l.Info().Agent)
	require.Equal(t, 30*time.Second, l.TTL())
	f.status(t, "id", checkpoint.Running)

	var busy *checkpoint.BusyError
	_, err = f.Acquire(t.Context(), "id", checkpoint.LeaseRequest{Owner: "other"})
	require.ErrorAs(t, err, &busy)
	require.Equal(t, "id", busy.ID)
	require.Equal(t, "owner of id", busy.Owner)
	require.Equal(t, l.Token(), busy.Token)
	require.Equal(t, f.inspect(t, "id").LeaseUntil, busy.Until)

	stolen, err := f.Acquire(t.Context(), "id", checkpoint.LeaseRequest{Steal: true, TTL: time.Millisecond})
	require.NoError(t, err)
	require.Equal(t, time.Second, stolen.TTL())
	require.Equal(t, "owner of id", stolen.Info().Owner)
	require.Equal(t, "somebody", f.inspect(t, "id").Owner)
}

func takenOver(t *testing.T, f *fixture) {
	l := f.begin(t, "id", checkpoint.NewRun{})
	f.pass(t, 29*time.Second)
	require.NoError(t, l.Renew(t.Context()))
	f.pass(t, 29*time.Second)
	require.NoError(t, l.AppendRecord(t.Context(), "id", []byte("x")))
	f.pass(t, 29*time.Second)
	_, err := f.Acquire(t.Context(), "id", checkpoint.LeaseRequest{})
	require.ErrorIs(t, err, checkpoint.ErrRunBusy)
	f.nothingDue(t, checkpoint.Due{})

	f.pass(t, 2*time.Second)
	next := f.take(t, "id")
	require.Greater(t, next.Token(), l.Token())
	require.Equal(t, checkpoint.Running, next.Info().Status)
	require.Equal(t, "owner of id", next.Info().Owner)
	f.pass(t, 31*time.Second)
	require.Equal(t, "id", f.due(t, checkpoint.Due{}))
}

func endedLeaseWrites(t *testing.T, f *fixture) {
	l := f.begin(t, "id", checkpoint.NewRun{})
	f.pass(t, time.Hour)
	require.NoError(t, l.AppendRecord(t.Context(), "id", []byte("late")))
	_, err := f.Acquire(t.Context(), "id", checkpoint.LeaseRequest{})
	require.ErrorIs(t, err, checkpoint.ErrRunBusy, "the append renewed the lease")
	f.pass(t, time.Hour)
	done(t, l)
}

func lostLeaseWritesNothing(t *testing.T, f *fixture) {
	for name, lose := range map[string]func(id string, l checkpoint.Lease){
		"taken over": func(id string, _ checkpoint.Lease) {
			f.pass(t, time.Hour)
			f.take(t, id)
		},
		"settled": func(id string, l checkpoint.Lease) {
			require.NoError(t, l.Settle(t.Context(), checkpoint.Settlement{Status: checkpoint.Failed}))
		},
		"given back": func(id string, l checkpoint.Lease) {
			require.NoError(t, l.Settle(t.Context(), checkpoint.Settlement{}))
		},
		"removed": func(id string, _ checkpoint.Lease) { require.NoError(t, f.Remove(t.Context(), id, true)) },
		"removed and made again": func(id string, _ checkpoint.Lease) {
			require.NoError(t, f.Remove(t.Context(), id, true))
			f.begin(t, id, checkpoint.NewRun{})
		},
		"paused after it ended": func(id string, _ checkpoint.Lease) {
			f.pass(t, time.Hour)
			require.NoError(t, f.Stop(t.Context(), id, checkpoint.StopRequest{}))
		},
	} {
		id := name
		l := f.begin(t, id, checkpoint.NewRun{})
		require.NoError(t, l.Set(t.Context(), id, []byte("saved")))
		require.NoError(t, l.AppendRecord(t.Context(), id, []byte("x")))
		lose(id, l)
		before, had, err := f.Inspect(t.Context(), id)
		require.NoError(t, err)
		for write, err := range map[string]error{
			"Set":              l.Set(t.Context(), id, []byte("zombie")),
			"Delete":           l.Delete(t.Context(), id),
			"AppendRecord":     l.AppendRecord(t.Context(), id, []byte("zombie")),
			"RemoveRecords":    l.RemoveRecords(t.Context(), id),
			"Renew":            l.Renew(t.Context()),
			"Settle":           l.Settle(t.Context(), checkpoint.Settlement{Status: checkpoint.Done}),
			"Settle as it was": l.Settle(t.Context(), checkpoint.Settlement{}),
		} {
			assert.ErrorIs(t, err, checkpoint.ErrLeaseLost, "%s after it was %s", write, name)
			var state *checkpoint.RunError
			if assert.ErrorAs(t, err, &state) {
				assert.Equal(t, id, state.Info.ID)
				assert.Equal(t, l.Token(), state.Info.Token)
			}
		}
		_, err = l.Answers(t.Context())
		assert.ErrorIs(t, err, checkpoint.ErrLeaseLost)
		lost, err := f.RenewAll(t.Context(), []checkpoint.Lease{l})
		assert.NoError(t, err)
		assert.Equal(t, []checkpoint.Lease{l}, lost)
		now, has, err := f.Inspect(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, had, has)
		require.Equal(t, before, now)
	}
}

func tokensGrow(t *testing.T, f *fixture) {
	last := uint64(0)
	check := func(l checkpoint.Lease) {
		require.Greater(t, l.Token(), last)
		last = l.Token()
	}
	l := f.begin(t, "id", checkpoint.NewRun{})
	check(l)
	require.NoError(t, l.Settle(t.Context(), checkpoint.Settlement{Status: checkpoint.Ready}))
	l = f.take(t, "id")
	check(l)
	require.NoError(t, f.Remove(t.Context(), "id", true))
	check(f.begin(t, "id", checkpoint.NewRun{}))
	check(f.begin(t, "other", checkpoint.NewRun{}))
	s := f.Tenant("tenant")
	l, err := s.Acquire(t.Context(), "id", checkpoint.LeaseRequest{Create: &checkpoint.NewRun{}})
	require.NoError(t, err)
	check(l)
}

func adopted(t *testing.T, f *fixture) {
	require.NoError(t, f.Set(t.Context(), "id", []byte("saved")))
	require.NoError(t, f.AppendRecord(t.Context(), "id", []byte("one")))
	_, ok, err := f.Inspect(t.Context(), "id")
	require.NoError(t, err)
	require.False(t, ok, "a checkpoint that was written without a lease is no run")
	_, err = f.Acquire(t.Context(), "id", checkpoint.LeaseRequest{})
	require.ErrorIs(t, err, checkpoint.ErrNotFound)
	require.ErrorIs(t, f.Answer(t.Context(), "id"), checkpoint.ErrNotFound)
	f.nothingDue(t, checkpoint.Due{})
	require.Empty(t, listed(t, f, checkpoint.Query{}))

	l := f.begin(t, "id", checkpoint.NewRun{Records: [][]byte{[]byte("two")}})
	require.EqualValues(t, "", l.Info().Status)
	require.Equal(t, 2, l.Info().Steps)
	require.EqualValues(t, len("saved")+6, l.Info().Bytes)
	records(t, l, "id", "one", "two")
	got, ok, err := l.Get(t.Context(), "id")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "saved", string(got))
}

func attempts(t *testing.T, f *fixture) {
	next := func(want int) checkpoint.Lease {
		l := f.take(t, "id")
		require.Equal(t, want, l.Info().Attempts)
		return l
	}
	f.submit(t, "id", checkpoint.NewRun{})
	require.NoError(t, next(0).AppendRecord(t.Context(), "id", []byte("it lives")))
	f.pass(t, time.Hour)
	next(1)
	f.pass(t, time.Hour)
	l := next(2)
	require.Equal(t, 3, f.inspect(t, "id").Attempts)
	require.NoError(t, l.AppendRecord(t.Context(), "id", []byte("it lives")))
	require.Equal(t, 3, f.inspect(t, "id").Attempts)
	require.NoError(t, l.AppendRecord(t.Context(), "id", []byte("progress")))
	require.Equal(t, 1, f.inspect(t, "id").Attempts)
	f.pass(t, time.Hour)
	l = next(1)
	require.NoError(t, l.Settle(t.Context(), checkpoint.Settlement{}))
	require.Equal(t, 1, f.inspect(t, "id").Attempts)
	require.NoError(t, next(1).Settle(t.Context(), checkpoint.Settlement{Status: checkpoint.Ready}))
	require.Equal(t, 0, f.inspect(t, "id").Attempts)
}

func renewMany(t *testing.T, f *fixture) {
	var all []checkpoint.Lease
	for i := range 250 {
		all = append(all, f.begin(t, fmt.Sprint(i), checkpoint.NewRun{}))
	}
	require.NoError(t, f.Stop(t.Context(), "7", checkpoint.StopRequest{Reason: "lunch"}))
	done(t, all[9])
	f.pass(t, 20*time.Second)
	lost, err := f.RenewAll(t.Context(), all)
	require.NoError(t, err)
	require.Equal(t, []checkpoint.Lease{all[9]}, lost)
	require.Equal(t, "lunch", (<-all[7].Stops()).Reason)
	f.pass(t, 20*time.Second)
	f.nothingDue(t, checkpoint.Due{})
}

// manyAppends: records of one lease keep their order, and those of several are not mixed, however they were grouped.
func manyAppends(t *testing.T, f *fixture) {
	const runs, each = 8, 20
	together(runs, func(i int) {
		id := fmt.Sprint(i)
		l, err := f.Acquire(t.Context(), id, checkpoint.LeaseRequest{Create: &checkpoint.NewRun{}})
		if !assert.NoError(t, err) {
			return
		}
		for n := range each {
			assert.NoError(t, l.AppendRecord(t.Context(), id, fmt.Appendf(nil, "%d of %d", n, i)))
			if n == each/2 && i == 0 {
				_, err := f.Acquire(t.Context(), id, checkpoint.LeaseRequest{Steal: true})
				assert.NoError(t, err)
				assert.ErrorIs(t, l.AppendRecord(t.Context(), id, nil), checkpoint.ErrLeaseLost)
				return
			}
		}
	})
	for i := 1; i < runs; i++ {
		var want []string
		for n := range each {
			want = append(want, fmt.Sprintf("%d of %d", n, i))
		}
		records(t, f, fmt.Sprint(i), want...)
		info := f.inspect(t, fmt.Sprint(i))
		require.Equal(t, each, info.Steps)
	}
	require.Equal(t, each/2+1, f.inspect(t, "0").Steps)
}

func ofItsRunOnly(t *testing.T, f *fixture) {
	l := f.begin(t, "id", checkpoint.NewRun{})
	f.begin(t, "other", checkpoint.NewRun{})
	require.Error(t, l.Set(t.Context(), "other", nil))
	require.Error(t, l.AppendRecord(t.Context(), "other", nil))
	_, _, err := l.Get(t.Context(), "other")
	require.Error(t, err)
	_, err = l.ReadRecords(t.Context(), "other")
	require.Error(t, err)
}

func tooLong(t *testing.T, f *fixture) {
	f.conf.Limits.Value = 10
	f = reopen(t, f)
	l := f.begin(t, "id", checkpoint.NewRun{})
	long := []byte("12345678901")
	for _, err := range []error{
		l.AppendRecord(t.Context(), "id", long), l.Set(t.Context(), "id", long), f.Set(t.Context(), "plain", long),
		f.AppendRecord(t.Context(), "plain", long), f.Answer(t.Context(), "id", checkpoint.Answer{Data: long}),
		l.Settle(t.Context(), checkpoint.Settlement{Status: checkpoint.Done, Result: long}),
	} {
		require.ErrorContains(t, err, "11 bytes are too long: at most 10")
	}
	require.NoError(t, l.AppendRecord(t.Context(), "id", long[:10]))
}
