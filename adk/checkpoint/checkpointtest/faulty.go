package checkpointtest

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"

	"github.com/weftgo/weft/runs"
)

// Fault is a way in which a call of a store goes wrong.
type Fault int

// The faults.
const (
	// NoFault lets the call do what it does.
	NoFault Fault = iota
	// Fails has the call do nothing and fail with [ErrFault].
	Fails
	// FailsAfterwards has the call do what it does and fail with ErrFault nevertheless, as when the answer of a server is
	// lost.
	FailsAfterwards
	// Twice makes the call two times, as a client that tries again does, and returns what the second one returns.
	Twice
)

// ErrFault is the error of calls that are made to fail.
var ErrFault = errors.New("the store is made to fail")

// Faulty returns a store whose calls that write, and those that take and look for runs, go wrong as plan says: it is
// asked before each, with the number of the call, from 1 on, and its name, such as "AppendRecord". It must be safe for
// concurrent use. What only reads checkpoints, journals and lists does not go wrong.
func Faulty(store runs.Store, plan func(call int, name string) Fault) runs.Store {
	return &faulty{Store: store, plan: plan}
}

type faulty struct {
	runs.Store
	plan  func(call int, name string) Fault
	calls atomic.Int64
}

// do makes a call as the plan says.
func (f *faulty) do(name string, call func() error) error {
	switch f.plan(int(f.calls.Add(1)), name) {
	case Fails:
		return ErrFault
	case FailsAfterwards:
		return errors.Join(call(), ErrFault)
	case Twice:
		_ = call()
	}
	return call()
}

func (f *faulty) lease(name string, take func() (runs.Lease, error)) (l runs.Lease, err error) {
	err = f.do(name, func() (err error) {
		l, err = take()
		return err
	})
	if err != nil {
		return nil, err
	}
	return &faultyLease{l, f}, nil
}

func (f *faulty) Acquire(ctx context.Context, id string, req runs.LeaseRequest) (runs.Lease, error) {
	return f.lease("Acquire", func() (runs.Lease, error) { return f.Store.Acquire(ctx, id, req) })
}

func (f *faulty) AcquireDue(ctx context.Context, req runs.LeaseRequest, due runs.Due) (runs.Lease, error) {
	return f.lease("AcquireDue", func() (runs.Lease, error) { return f.Store.AcquireDue(ctx, req, due) })
}

func (f *faulty) Inspect(ctx context.Context, id string) (info runs.Info, exists bool, err error) {
	err = f.do("Inspect", func() (err error) {
		info, exists, err = f.Store.Inspect(ctx, id)
		return err
	})
	return info, exists, err
}

func (f *faulty) Submit(ctx context.Context, id string, run runs.Spec) (info runs.Info, err error) {
	err = f.do("Submit", func() (err error) {
		info, err = f.Store.Submit(ctx, id, run)
		return err
	})
	return info, err
}

func (f *faulty) Reply(ctx context.Context, id string, answers ...runs.Reply) error {
	return f.do("Answer", func() error { return f.Store.Reply(ctx, id, answers...) })
}

func (f *faulty) Stop(ctx context.Context, id string, how runs.StopRequest) error {
	return f.do("Stop", func() error { return f.Store.Stop(ctx, id, how) })
}

func (f *faulty) Continue(ctx context.Context, id string) error {
	return f.do("Continue", func() error { return f.Store.Continue(ctx, id) })
}

func (f *faulty) List(ctx context.Context, q runs.Query) iter.Seq2[runs.Info, error] {
	return f.Store.List(ctx, q)
}

// faultyLease is a lease of a faulty store.
type faultyLease struct {
	runs.Lease
	f *faulty
}

func (l *faultyLease) Set(ctx context.Context, id string, checkPoint []byte) error {
	return l.f.do("Set", func() error { return l.Lease.Set(ctx, id, checkPoint) })
}

func (l *faultyLease) Delete(ctx context.Context, id string) error {
	return l.f.do("Delete", func() error { return l.Lease.Delete(ctx, id) })
}

func (l *faultyLease) AppendRecord(ctx context.Context, id string, record []byte) error {
	return l.f.do("AppendRecord", func() error { return l.Lease.AppendRecord(ctx, id, record) })
}

func (l *faultyLease) RemoveRecords(ctx context.Context, id string) error {
	return l.f.do("RemoveRecords", func() error { return l.Lease.RemoveRecords(ctx, id) })
}

func (l *faultyLease) Renew(ctx context.Context) error {
	return l.f.do("Renew", func() error { return l.Lease.Renew(ctx) })
}

func (l *faultyLease) Replies(ctx context.Context) (answers []runs.Reply, err error) {
	err = l.f.do("Answers", func() (err error) {
		answers, err = l.Lease.Replies(ctx)
		return err
	})
	return answers, err
}

func (l *faultyLease) Settle(ctx context.Context, s runs.Settlement) error {
	return l.f.do("Settle", func() error { return l.Lease.Settle(ctx, s) })
}
