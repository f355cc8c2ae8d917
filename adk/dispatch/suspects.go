package dispatch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/weftgo/weft/runs"
)

// suspicion says whether a run is suspected of the deaths of the processes that executed it. It follows from
// RunInfo.Attempts, which the row of the store counts: one for each process that took the run and left nothing behind.
//
//	from      to        when
//	innocent  suspect   a third of Config.MaxAttempts processes died with it. Others may have been to blame
//	suspect   innocent  it makes a step, or a stretch of it ends
//	suspect   poisoned  MaxAttempts processes have died with it. A process executes one suspect at a time, so that a death
//	                    counts against none that waits for its turn
//
// A poisoned run is settled as failed.
type suspicion int

const (
	innocent suspicion = iota
	suspect
	poisoned
)

// suspicionOf is the standing of a run that was taken, as it was before.
func (d *TypedDispatcher[M]) suspicionOf(info runs.Info) suspicion {
	switch most := d.conf.MaxAttempts; {
	case info.Attempts >= most:
		return poisoned
	case info.Attempts >= max(most/3, 1):
		return suspect
	}
	return innocent
}

// suspectAgain is after how long a suspect is due again that has to wait for its turn. Another process may take it sooner.
const suspectAgain = time.Second

// suspectTurn is whose turn it is of the suspects that this process executes: of all dispatchers, as a process dies with
// all that it executes.
var suspectTurn turnTaker

// turnTaker hands out one turn at a time.
type turnTaker struct {
	mu    sync.Mutex // guards taken
	taken bool
}

// take returns a function that gives the turn back, which may be called twice, and nil if the turn is taken.
func (t *turnTaker) take() (giveBack func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.taken {
		return nil
	}
	t.taken = true
	return sync.OnceFunc(func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.taken = false
	})
}

// awaitTurn waits, for a caller of Stretch, until a run may be executed, and returns what gives its turn back, nil for one
// that needs none. It holds no lease meanwhile.
func (d *TypedDispatcher[M]) awaitTurn(ctx context.Context, info runs.Info) (giveBack func(), err error) {
	if d.suspicionOf(info) != suspect {
		return nil, nil
	}
	for {
		if giveBack = suspectTurn.take(); giveBack != nil {
			return giveBack, nil
		}
		timer := time.NewTimer(suspectAgain)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, fmt.Errorf("run %q, with which %d processes have died, waits until another such run has made a step: %w",
				info.ID, info.Attempts, context.Cause(ctx))
		case <-timer.C:
		}
	}
}

// errNotItsTurn says that a suspect was not executed.
var errNotItsTurn = errors.New("another run with which processes died is executed first")

// turnOf takes the turn of a run, if it needs one that its caller does not have.
func (d *TypedDispatcher[M]) turnOf(info runs.Info, has func()) (giveBack func(), err error) {
	if has != nil || d.suspicionOf(info) != suspect {
		return has, nil
	}
	if giveBack = suspectTurn.take(); giveBack == nil {
		return nil, errNotItsTurn
	}
	return giveBack, nil
}
