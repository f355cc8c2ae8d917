package cancelscope

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	errCut   = errors.New("cut")
	errCause = errors.New("stopped")
	policy   = &CallPolicy{Grace: time.Second, Cut: errCut, Cause: func(Info) error { return errCause }}
)

// open opens a call that can be stopped.
func open(t *testing.T) (*Control, *Call) {
	t.Helper()
	control, call := new(Control), new(Call)
	call.Open(t.Context(), control.Root(), policy)
	t.Cleanup(call.Release)
	return control, call
}

// TestCall_Phases is the table at callPhase.
func TestCall_Phases(t *testing.T) {
	legal := map[[2]callPhase]bool{
		{inFlight, emitting}: true, {inFlight, committed}: true, {inFlight, returned}: true, {inFlight, abandoned}: true,
		{emitting, committed}: true, {emitting, returned}: true, {emitting, abandoned}: true,
		{committed, returned}: true,
	}
	for from := inFlight; from <= abandoned; from++ {
		for to := inFlight; to <= abandoned; to++ {
			_, c := open(t)
			c.phase = from
			if legal[[2]callPhase{from, to}] {
				require.NotPanics(t, func() { c.become(to) })
				require.Equal(t, to, c.phase)
			} else {
				require.Panics(t, func() { c.become(to) }, "%d to %d", from, to)
			}
		}
	}
}

// TestCall_Wait: how long a call is waited for once it is stopped, and whether it counts.
func TestCall_Wait(t *testing.T) {
	for name, c := range map[string]struct {
		before    func(*Call)
		recursive bool
		takes     time.Duration // the code of the call, from the stop on
		returned  bool
		waited    time.Duration
	}{
		"in flight":              {func(*Call) {}, true, time.Minute, false, 0},
		"stops itself":           {func(c *Call) { c.StopsItself(true) }, true, time.Second / 2, true, time.Second / 2},
		"stops itself too late":  {func(c *Call) { c.StopsItself(true) }, true, time.Minute, false, time.Second},
		"inside is not to stop":  {func(c *Call) { c.StopsItself(true) }, false, time.Minute, false, 0},
		"emitting":               {func(c *Call) { c.Emit() }, false, time.Second / 2, true, time.Second / 2},
		"emitting without end":   {func(c *Call) { c.Emit() }, false, time.Minute, false, time.Second},
		"committed":              {func(c *Call) { c.Commit() }, false, time.Minute, true, time.Minute},
		"committed, then emits":  {func(c *Call) { c.Commit(); c.Emit() }, false, time.Minute, true, time.Minute},
		"emits, then commits":    {func(c *Call) { c.Emit(); c.Commit() }, false, time.Minute, true, time.Minute},
		"returned before a stop": {func(c *Call) { c.Return() }, false, time.Minute, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				control, call := open(t)
				c.before(call)
				over := make(chan bool)
				go func() {
					time.Sleep(time.Second)
					control.Ask(Request{Recursive: c.recursive})
					time.Sleep(c.takes)
					over <- call.Return()
				}()
				time.Sleep(time.Second)
				began := time.Now()
				require.Equal(t, c.returned, call.Wait())
				require.Equal(t, c.waited, time.Since(began))
				synctest.Wait() // the wait may end before the context
				if name != "returned before a stop" {
					require.ErrorIs(t, context.Cause(call), errCause)
					require.Equal(t, c.returned, <-over)
				} else {
					<-over
				}
				require.False(t, call.Commit() || call.Emit(), "it is over")
			})
		})
	}
}

func TestCall_StopCutsItsStreamsOffFirst(t *testing.T) {
	control, call := open(t)
	var said []error
	call.OnStop(func(err error) { said = append(said, err, context.Cause(call)) })
	require.False(t, call.Stopped())
	control.Ask(Request{})
	require.Equal(t, []error{errCut, nil}, said)
	require.True(t, call.Stopped())
	call.OnStop(func(err error) { said = append(said, err) })
	require.Equal(t, []error{errCut, nil, errCut}, said)
	type other struct{}
	require.Same(t, call, CallFrom(context.WithValue(call, other{}, 1)))
	require.Nil(t, CallFrom(t.Context()))
}

func TestCall_KeptContextsOutliveAStop(t *testing.T) {
	control, call := open(t)
	call.Keep()
	control.Ask(Request{})
	require.NoError(t, call.Err())
	call.Release()
	require.Error(t, call.Err())
}

func TestCall_OfNil(t *testing.T) {
	var c *Call
	require.True(t, c.Commit() && c.Emit())
	require.False(t, c.Committed() || c.Stopped())
}

// Every stream of a call is cut off, however many there are.
func TestCall_StopCutsEveryStreamOff(t *testing.T) {
	control, call := open(t)
	cuts := make([]int, 5)
	for i := range cuts {
		call.OnStop(func(error) { cuts[i]++ })
	}
	control.Ask(Request{})
	require.Equal(t, []int{1, 1, 1, 1, 1}, cuts)
}
