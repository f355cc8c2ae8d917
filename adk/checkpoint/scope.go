package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/weftgo/weft/adk/checkpoint/storekit"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/runs"
)

// Scope returns the part of a store that belongs to a tenant: it sees and writes only the tenant's runs, under the
// tenant's own IDs, keys, queues and agents, whatever other tenants call theirs. Any text is a name. Stores that know
// tenants themselves, such as those on SQL, list them faster: they have a method Tenant.
//
// A worker of the store itself takes the runs of all its scopes, under the names that they have there, and so does a caller
// that lists it: a program that uses scopes has each worker use one, and none the store.
//
// Listing and counting read the runs of all tenants, and so does AcquireDue if neither queues nor agents are given.
// Sweep removes what has expired of all tenants.
func Scope(store runs.Store, tenant string) runs.Store {
	return &scope{store: store, tenant: tenant, prefix: fmt.Sprintf("%d:%s:", len(tenant), tenant)}
}

// scope is the part of a store that belongs to a tenant. Everything that names something begins with its prefix: as it has
// the length of the name, no prefix of a tenant is the beginning of another's.
type scope struct {
	store          runs.Store
	tenant, prefix string
}

// Unwrap returns the store of all tenants.
func (s *scope) Unwrap() Store { return s.store }

// in names something in the store of all tenants. "" stays so: it is none.
func (s *scope) in(name string) string {
	if name == "" {
		return ""
	}
	return s.prefix + name
}

func (s *scope) out(name string) string { return strings.TrimPrefix(name, s.prefix) }

// nameIn names an agent or a queue, of which "" is one.
func (s *scope) nameIn(name string) string { return s.prefix + name }

// queueIn names a queue. The queue of Weft's own runs has the same name in every store, which leaves them out by it.
func (s *scope) queueIn(name string) string {
	if name == storekit.OwnQueue {
		return name
	}
	return s.nameIn(name)
}

func (s *scope) info(i runs.Info) runs.Info {
	i.Tenant = s.tenant
	i.ID, i.Parent, i.Key = s.out(i.ID), s.out(i.Parent), s.out(i.Key)
	i.Queue, i.Agent = s.out(i.Queue), s.out(i.Agent)
	return i
}

// err has an error name what the tenant does.
func (s *scope) err(err error) error {
	var busy *runs.BusyError
	var state *runs.Error
	switch {
	case errors.As(err, &busy):
		own := *busy
		own.ID = s.out(own.ID)
		return &own
	case errors.As(err, &state):
		return &runs.Error{Err: state.Err, Info: s.info(state.Info)}
	}
	return err
}

func (s *scope) run(r runs.Spec) runs.Spec {
	r.Parent, r.Key, r.Queue, r.Agent = s.in(r.Parent), s.in(r.Key), s.queueIn(r.Queue), s.nameIn(r.Agent)
	return r
}

func (s *scope) Get(ctx context.Context, id string) ([]byte, bool, error) {
	return s.store.Get(ctx, s.prefix+id)
}

func (s *scope) Set(ctx context.Context, id string, checkPoint []byte) error {
	return s.store.Set(ctx, s.prefix+id, checkPoint)
}

func (s *scope) Delete(ctx context.Context, id string) error { return s.store.Delete(ctx, s.prefix+id) }

func (s *scope) AppendRecord(ctx context.Context, id string, record []byte) error {
	return s.store.AppendRecord(ctx, s.prefix+id, record)
}

func (s *scope) ReadRecords(ctx context.Context, id string) ([][]byte, error) {
	return s.store.ReadRecords(ctx, s.prefix+id)
}

func (s *scope) ReadRecordsFrom(ctx context.Context, id string, from int) ([][]byte, error) {
	return core.ReadRecordsFrom(ctx, s.store, s.prefix+id, from)
}

func (s *scope) RemoveRecords(ctx context.Context, id string) error {
	return s.store.RemoveRecords(ctx, s.prefix+id)
}

func (s *scope) ListCheckPoints(ctx context.Context, prefix string) iter.Seq2[runs.Listed, error] {
	return func(yield func(runs.Listed, error) bool) {
		for i, err := range s.store.ListCheckPoints(ctx, s.prefix+prefix) {
			i.ID = s.out(i.ID)
			if !yield(i, err) {
				return
			}
		}
	}
}

func (s *scope) request(req runs.LeaseRequest) runs.LeaseRequest {
	if req.Create != nil {
		run := s.run(*req.Create)
		req.Create = &run
	}
	return req
}

func (s *scope) lease(l runs.Lease, err error) (runs.Lease, error) {
	if err != nil {
		return nil, s.err(err)
	}
	return &scopedLease{l, s}, nil
}

func (s *scope) Acquire(ctx context.Context, id string, req runs.LeaseRequest) (runs.Lease, error) {
	return s.lease(s.store.Acquire(ctx, s.prefix+id, s.request(req)))
}

func (s *scope) AcquireDue(ctx context.Context, req runs.LeaseRequest, due runs.Due) (runs.Lease, error) {
	if len(due.Queues) == 0 && len(due.Agents) == 0 {
		queues, err := s.queues(ctx)
		if err != nil || len(queues) == 0 {
			return nil, errors.Join(err, errIf(err == nil, runs.ErrNothingDue))
		}
		return s.lease(s.store.AcquireDue(ctx, s.request(req), runs.Due{Queues: queues}))
	}
	in := runs.Due{}
	for _, q := range due.Queues {
		in.Queues = append(in.Queues, s.queueIn(q))
	}
	for _, a := range due.Agents {
		in.Agents = append(in.Agents, s.nameIn(a))
	}
	return s.lease(s.store.AcquireDue(ctx, s.request(req), in))
}

func errIf(condition bool, err error) error {
	if condition {
		return err
	}
	return nil
}

// queues are the queues that have runs of the tenant which may be due.
func (s *scope) queues(ctx context.Context) (queues []string, err error) {
	for i, err := range s.store.List(ctx, runs.Query{Status: []runs.Status{runs.Ready, runs.Running, runs.Waiting}}) {
		if err != nil {
			return nil, err
		}
		if s.owns(i) && !slices.Contains(queues, i.Queue) {
			queues = append(queues, i.Queue)
		}
	}
	return queues, nil
}

func (s *scope) owns(i runs.Info) bool { return strings.HasPrefix(i.ID, s.prefix) }

func (s *scope) Inspect(ctx context.Context, id string) (runs.Info, bool, error) {
	i, exists, err := s.store.Inspect(ctx, s.prefix+id)
	if !exists {
		return runs.Info{}, false, err
	}
	return s.info(i), true, err
}

func (s *scope) Result(ctx context.Context, id string) ([]byte, error) {
	return s.store.Result(ctx, s.prefix+id)
}

// query is the query of all tenants, without its limit.
func (s *scope) query(q runs.Query) (runs.Query, error) {
	q.Parent, q.Key = s.in(q.Parent), s.in(q.Key)
	if q.Queue != "" {
		q.Queue = s.queueIn(q.Queue)
	}
	if q.Agent != "" {
		q.Agent = s.nameIn(q.Agent)
	}
	if q.After != "" {
		at, id, ok := strings.Cut(q.After, ".")
		if !ok {
			return q, storekit.ErrBadCursor
		}
		q.After = at + "." + s.prefix + id
	}
	q.Limit = 0
	return q, nil
}

func (s *scope) List(ctx context.Context, q runs.Query) iter.Seq2[runs.Info, error] {
	return func(yield func(runs.Info, error) bool) {
		all, err := s.query(q)
		if err != nil {
			yield(runs.Info{}, err)
			return
		}
		n := 0
		for i, err := range s.store.List(ctx, all) {
			switch {
			case err != nil:
				yield(runs.Info{}, err)
				return
			case !s.owns(i):
				continue
			case q.Limit > 0 && n >= q.Limit:
				return
			}
			n++
			if !yield(s.info(i), nil) {
				return
			}
		}
	}
}

func (s *scope) Count(ctx context.Context, q runs.Query) (map[runs.Status]int64, error) {
	q.After, q.Limit = "", 0
	counts := map[runs.Status]int64{}
	for i, err := range s.List(ctx, q) {
		if err != nil {
			return counts, err
		}
		counts[i.Status]++
	}
	return counts, nil
}

func (s *scope) Submit(ctx context.Context, id string, run runs.Spec) (runs.Info, error) {
	i, err := s.store.Submit(ctx, s.prefix+id, s.run(run))
	if i.ID != "" || err == nil {
		i = s.info(i)
	}
	return i, s.err(err)
}

func (s *scope) Reply(ctx context.Context, id string, answers ...runs.Reply) error {
	return s.err(s.store.Reply(ctx, s.prefix+id, answers...))
}

func (s *scope) Stop(ctx context.Context, id string, how runs.StopRequest) error {
	return s.err(s.store.Stop(ctx, s.prefix+id, how))
}

func (s *scope) Continue(ctx context.Context, id string) error {
	return s.err(s.store.Continue(ctx, s.prefix+id))
}

func (s *scope) Remove(ctx context.Context, id string, force bool) error {
	return s.err(s.store.Remove(ctx, s.prefix+id, force))
}

func (s *scope) Sweep(ctx context.Context, limit int) (runs.Swept, error) {
	return s.store.Sweep(ctx, limit)
}

// scopedLease is the lease of a run of a tenant.
type scopedLease struct {
	runs.Lease
	scope *scope
}

func (l *scopedLease) Info() runs.Info { return l.scope.info(l.Lease.Info()) }

func (l *scopedLease) Get(ctx context.Context, id string) ([]byte, bool, error) {
	data, exists, err := l.Lease.Get(ctx, l.scope.prefix+id)
	return data, exists, l.scope.err(err)
}

func (l *scopedLease) Set(ctx context.Context, id string, checkPoint []byte) error {
	return l.scope.err(l.Lease.Set(ctx, l.scope.prefix+id, checkPoint))
}

func (l *scopedLease) Delete(ctx context.Context, id string) error {
	return l.scope.err(l.Lease.Delete(ctx, l.scope.prefix+id))
}

func (l *scopedLease) AppendRecord(ctx context.Context, id string, record []byte) error {
	return l.scope.err(l.Lease.AppendRecord(ctx, l.scope.prefix+id, record))
}

func (l *scopedLease) ReadRecords(ctx context.Context, id string) ([][]byte, error) {
	records, err := l.Lease.ReadRecords(ctx, l.scope.prefix+id)
	return records, l.scope.err(err)
}

func (l *scopedLease) RemoveRecords(ctx context.Context, id string) error {
	return l.scope.err(l.Lease.RemoveRecords(ctx, l.scope.prefix+id))
}

func (l *scopedLease) Renew(ctx context.Context) error { return l.scope.err(l.Lease.Renew(ctx)) }

func (l *scopedLease) Replies(ctx context.Context) ([]runs.Reply, error) {
	answers, err := l.Lease.Replies(ctx)
	for i := range answers { // of a run that has ended
		if id, ok := strings.CutPrefix(answers[i].By, "run "+l.scope.prefix); ok {
			answers[i].By = "run " + id
		}
	}
	return answers, l.scope.err(err)
}

func (l *scopedLease) Settle(ctx context.Context, settlement runs.Settlement) error {
	settlement.Children = slices.Clone(settlement.Children)
	for i := range settlement.Children {
		c := &settlement.Children[i]
		c.ID, c.Run = l.scope.prefix+c.ID, l.scope.run(c.Run)
	}
	return l.scope.err(l.Lease.Settle(ctx, settlement))
}

// As finds what a store offers beyond this package, also below the wrappers of this package: such as a *sqlite.Store.
func As[T any](store Store) (T, bool) {
	for store != nil {
		if t, ok := store.(T); ok {
			return t, true
		}
		wrapper, ok := store.(interface{ Unwrap() Store })
		if !ok {
			break
		}
		store = wrapper.Unwrap()
	}
	var none T
	return none, false
}
