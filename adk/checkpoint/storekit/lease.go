package storekit

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/weftgo/weft/runs"
)

// Reads is the part of a store with which a [Lease] reads its run.
type Reads interface {
	Get(ctx context.Context, id string) ([]byte, bool, error)
	ReadRecords(ctx context.Context, id string) ([][]byte, error)
}

// Lease is the part of a runs.Lease that is the same in every store: which run was taken, reading it, and the
// requests to stop it. A store embeds it in a type of its own that adds what writes. It is safe for concurrent use.
type Lease struct {
	token  uint64
	ttl    time.Duration
	before runs.Info
	reads  Reads
	// stops has the last request to stop that was not received.
	stops chan runs.StopRequest
	// notify is called with requests to stop, nil if none is set.
	notify atomic.Pointer[func(runs.StopRequest)]
}

// NewLease makes the lease that [Row.Acquire] has given out, with what that returned. isNew says that the run was made by
// taking it. A request to stop that the row has is delivered.
func NewLease(r *Row, before runs.Info, isNew bool, reads Reads) *Lease {
	if isNew {
		before.Status = ""
	}
	before.Now = r.Run.Updated
	l := &Lease{token: r.Run.Token, ttl: r.TTL, before: before, reads: reads, stops: make(chan runs.StopRequest, 1)}
	if r.Stopping != nil {
		l.Deliver(*r.Stopping)
	}
	return l
}

// ID is the ID of the run.
func (l *Lease) ID() string { return l.before.ID }

// Token is the token of the lease.
func (l *Lease) Token() uint64 { return l.token }

// TTL is the time for which the lease counts from a renewal.
func (l *Lease) TTL() time.Duration { return l.ttl }

// Info is the run as it was when it was taken.
func (l *Lease) Info() runs.Info { return l.before }

// Stops delivers the last request to stop the run.
func (l *Lease) Stops() <-chan runs.StopRequest { return l.stops }

// NotifyStops has f called with each request to stop, also with one that came before, in a goroutine of its own. Stops
// delivers nothing from then on. A program that holds many runs saves a goroutine for each.
func (l *Lease) NotifyStops(f func(runs.StopRequest)) {
	l.notify.Store(&f)
	if len(l.stops) > 0 {
		l.call()
	}
}

// call passes the last request to the function in notify, if there is one. It may be called with locks held.
func (l *Lease) call() {
	f := l.notify.Load()
	if f == nil {
		return
	}
	go func() {
		select {
		case stop := <-l.stops:
			(*f)(stop)
		default: // another call was faster
		}
	}()
}

// Deliver passes on a request to stop. One that was not received gives way.
func (l *Lease) Deliver(stop runs.StopRequest) {
	defer l.call()
	for {
		select {
		case l.stops <- stop:
			return
		default:
		}
		select {
		case <-l.stops:
		default:
		}
	}
}

// Get returns the checkpoint of the run.
func (l *Lease) Get(ctx context.Context, id string) ([]byte, bool, error) {
	if err := CheckID(l.ID(), id); err != nil {
		return nil, false, err
	}
	return l.reads.Get(ctx, id)
}

// ReadRecords returns the journal of the run.
func (l *Lease) ReadRecords(ctx context.Context, id string) ([][]byte, error) {
	if err := CheckID(l.ID(), id); err != nil {
		return nil, err
	}
	return l.reads.ReadRecords(ctx, id)
}

// Check refuses to write a value that is too long, or to another run.
func (l *Lease) Check(doing, id string, value []byte) error {
	if err := CheckID(l.ID(), id); err != nil {
		return err
	}
	return CheckSize(doing, id, value)
}

// Lost is the error of a lease that no longer counts.
func (l *Lease) Lost() error { return Lost(l.ID(), l.token) }
