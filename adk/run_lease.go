package adk

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/weftgo/weft/internal/cancelscope"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/runs"
)

// LeaseOptions says how a runner holds its runs, if its store hands out leases (runs.Leaser): one process at a
// time continues with a run, and what another one writes to it fails.
type LeaseOptions struct {
	// Owner names the holder of the runs, for people who look at the store. The default names the host and the process.
	Owner string
	// TTL is the time for which a run is held without a sign of life, and so how long it takes until another process can
	// take it over from one that died. A call may last much longer. The default is 30 seconds, at least a second.
	TTL time.Duration
	// Off takes no leases.
	Off bool
	// Steal has Resume take a run that another process holds: for people who know that the process is gone, and for tests.
	// What the other one still writes fails. It is logged, at level Warn, with both owners.
	Steal bool
}

// fencingKey asks a context for the lease of its run.
type fencingKey struct{}

// GetFencingToken returns the token of the lease under which the run of ctx is executed, 0 if there is none. Tokens grow:
// a service that remembers the greatest one it has seen for a run, and refuses smaller ones, refuses a process that lost
// the run without knowing it yet.
func GetFencingToken(ctx context.Context) uint64 {
	if ctx == nil {
		return 0
	}
	if h, _ := ctx.Value(fencingKey{}).(*heldRun); h != nil {
		return h.Token()
	}
	return 0
}

// leasePhase is the state of this process's lease on a run. The heldRun owns it.
//
//	from  to       when
//	held  lost     a write says so; or nothing could be written for the whole TTL
//	held  settled  the lease was given back
type leasePhase int

const (
	leaseHeld leasePhase = iota
	leaseLost
	leaseSettled
)

// heldRun is the lease of a run that this process executes. It keeps the lease renewed, stops the run when that is
// requested through the store, and gives it up when the lease is lost. It waits in no goroutine.
type heldRun struct {
	runs.Lease
	// control stops the run, and giveUp ends its context with the reason.
	control *cancelscope.Control
	giveUp  context.CancelCauseFunc
	// over is closed when the phase is no longer leaseHeld.
	over chan struct{}
	// clock is the clock of the store.
	clock core.StoreClock

	mu    sync.Mutex // guards the fields below
	phase leasePhase
	// sign is the time at which the last write was begun that succeeded, by the monotonic clock. (F7)
	sign time.Time
	// stopped is the last request to stop the run.
	stopped *runs.StopRequest
	// timer calls keep when the lease may have to be renewed.
	timer *time.Timer
}

// holdRun begins to hold a run.
func holdRun(lease runs.Lease, sign time.Time, control *cancelscope.Control, giveUp context.CancelCauseFunc) *heldRun {
	h := &heldRun{Lease: lease, control: control, giveUp: giveUp, over: make(chan struct{}), sign: sign,
		clock: core.NewStoreClock(lease.Info())}
	h.mu.Lock()
	h.timer = time.AfterFunc(max(time.Until(sign.Add(h.TTL()/3)), 0), h.keep)
	h.mu.Unlock()
	core.NotifyStops(lease, h.over, h.stop)
	return h
}

// keep renews the lease if nothing was written for a third of its TTL, and looks again when that will be. (F4)
func (h *heldRun) keep() {
	if h.untilRenewal() <= 0 {
		h.renew()
	}
	next := max(h.untilRenewal(), h.TTL()/20)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.phase == leaseHeld {
		h.timer.Reset(next)
	}
}

func (h *heldRun) untilRenewal() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.Until(h.sign.Add(h.TTL() / 3))
}

// renew gives the store until the end of the TTL. Then it is unknown which process holds the run, and this process gives
// it up.
func (h *heldRun) renew() {
	h.mu.Lock()
	end := h.sign.Add(h.TTL())
	h.mu.Unlock()
	ctx, cancel := context.WithDeadline(context.Background(), end)
	defer cancel()
	err := h.Renew(ctx)
	if err != nil && !time.Now().Before(end) {
		h.lose(fmt.Errorf("%w: it could not be renewed in time: %w", runs.ErrLeaseLost, err))
	}
}

// stop stops the run as requested through the store.
func (h *heldRun) stop(how runs.StopRequest) {
	h.mu.Lock()
	h.stopped = &how
	h.mu.Unlock()
	request := cancelscope.Request{Mode: cancelscope.Mode(CancelAfterChatModel | CancelAfterToolCalls), Recursive: true, Timeout: how.Timeout}
	if how.Immediate {
		request.Mode = cancelscope.Mode(CancelImmediate)
	}
	h.control.Ask(request)
}

// lose gives up the run: calls in flight are abandoned, and nothing more is emitted or written. (F6)
func (h *heldRun) lose(why error) {
	if h.become(leaseLost) {
		core.AbandonLease(h.Lease)
		h.control.Ask(cancelscope.Request{Recursive: true})
		h.giveUp(why)
	}
}

// become makes the transition of the table, and reports whether it was made.
func (h *heldRun) become(to leasePhase) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.phase != leaseHeld {
		return false
	}
	h.phase = to
	h.timer.Stop()
	close(h.over)
	return true
}

// isLost reports whether another process has the run. Of nil it is false.
func (h *heldRun) isLost() bool {
	if h == nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.phase == leaseLost
}

// isHeld reports whether the run is still to be settled. Of nil it is false.
func (h *heldRun) isHeld() bool {
	if h == nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.phase == leaseHeld
}

// stopReason returns the reason given by the request that stopped the run, "" if there was none.
func (h *heldRun) stopReason() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopped == nil {
		return ""
	}
	return h.stopped.Reason
}

// write does something to the store, unless the lease is over. It is a sign of life, or says that the lease is lost.
func (h *heldRun) write(do func() error) error {
	if !h.isHeld() {
		return fmt.Errorf("run %q: %w", h.Info().ID, runs.ErrLeaseLost)
	}
	begun := time.Now()
	err := do()
	switch {
	case err == nil:
		h.mu.Lock()
		if begun.After(h.sign) {
			h.sign = begun
		}
		h.mu.Unlock()
	case errors.Is(err, runs.ErrLeaseLost):
		h.lose(err)
	}
	return err
}

// The writes of the lease.

func (h *heldRun) Set(ctx context.Context, id string, checkPoint []byte) error {
	return h.write(func() error { return h.Lease.Set(ctx, id, checkPoint) })
}

func (h *heldRun) Delete(ctx context.Context, id string) error {
	return h.write(func() error { return h.Lease.Delete(ctx, id) })
}

func (h *heldRun) AppendRecord(ctx context.Context, id string, record []byte) error {
	return h.write(func() error { return h.Lease.AppendRecord(ctx, id, record) })
}

func (h *heldRun) RemoveRecords(ctx context.Context, id string) error {
	return h.write(func() error { return h.Lease.RemoveRecords(ctx, id) })
}

func (h *heldRun) Renew(ctx context.Context) error {
	return h.write(func() error { return h.Lease.Renew(ctx) })
}

// Settle gives the lease back. After an error of the store it can be tried again, until the lease is lost.
func (h *heldRun) Settle(ctx context.Context, s runs.Settlement) error {
	err := h.write(func() error { return h.Lease.Settle(ctx, s) })
	if err == nil {
		h.become(leaseSettled)
	}
	return err
}

// ageOf returns how long ago a time was, by the monotonic clock or by the one on the wall, whichever says longer: the
// former stands still while a machine sleeps, and the latter may be set.
func ageOf(at time.Time) time.Duration {
	return max(time.Since(at), time.Now().Round(0).Sub(at.Round(0)))
}

// fresh makes sure, before a call begins, that the lease has not come near its end: a process that was frozen, or cannot
// reach the store, starts nothing. (F7, F8)
func (h *heldRun) fresh(ctx context.Context) error {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	old := ageOf(h.sign) > h.TTL()*2/3
	h.mu.Unlock()
	if !old {
		return nil
	}
	return h.Renew(ctx)
}
