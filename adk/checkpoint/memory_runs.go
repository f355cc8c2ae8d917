package checkpoint

import (
	"bytes"
	"context"
	"iter"
	"time"

	"github.com/weftgo/weft/adk/checkpoint/storekit"
	"github.com/weftgo/weft/runs"
)

// mostEnded is the largest number of ended runs that a MemoryStore keeps, so that it does not grow for ever.
const mostEnded = 10_000

// sweptEvery is the interval at which a MemoryStore looks for runs that have expired, when one is settled.
const sweptEvery = time.Minute

// memoryRuns holds what a MemoryStore knows about runs. It is guarded by the store's mu.
type memoryRuns struct {
	rows map[string]*storekit.Row
	// leases are the leases that were taken last, by the ID of the run.
	leases map[string]*memoryLease
	index  memoryIndex
	// ended are the runs that have ended, the oldest first, each with its token then.
	ended []endedRun
	// last is the greatest token.
	last  uint64
	swept time.Time
}

type endedRun struct {
	id    string
	token uint64
}

func (m *memoryRuns) init() {
	if m.rows == nil {
		*m = memoryRuns{rows: map[string]*storekit.Row{}, leases: map[string]*memoryLease{}, index: newMemoryIndex(), last: m.last}
	}
}

// next is a token greater than all before.
func (m *memoryRuns) next() uint64 {
	m.last++
	return m.last
}

// now is the clock of the store. Cursors know microseconds.
func (s *MemoryStore) now() time.Time {
	if s.Clock != nil {
		return s.Clock().Truncate(time.Microsecond)
	}
	return time.Now().Truncate(time.Microsecond)
}

// Submit makes a run that is ready.
func (s *MemoryStore) Submit(ctx context.Context, id string, run runs.Spec) (runs.Info, error) {
	if err := ended(ctx, "submit", id); err != nil {
		return runs.Info{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.make(id, run)
	if r == nil {
		return runs.Info{}, err
	}
	if err == nil && run.Alone {
		if other := s.runs.index.blocked(r, s.now()); other != nil {
			s.remove(r)
			return runs.Info{}, storekit.NotAlone(r, other)
		}
	}
	return r.Info(), err
}

// make makes a run, with mu locked. If there is one, it returns that and an error.
func (s *MemoryStore) make(id string, run runs.Spec) (*storekit.Row, error) {
	s.runs.init()
	if r := s.runs.rows[id]; r != nil {
		return r, r.Refuse(runs.ErrExists)
	}
	r, err := storekit.New(id, run, s.runs.next(), s.now())
	if err != nil {
		return nil, err
	}
	s.runs.rows[id] = r
	for _, record := range run.Records {
		s.append(id, record)
	}
	r.Run.Steps, r.Run.Bytes = len(s.journals[id]), int64(len(s.checkpoints[id])) // also what was written without a lease
	for _, record := range s.journals[id] {
		r.Run.Bytes += int64(len(record))
	}
	s.runs.index.add(r)
	return r, nil
}

// append adds a record, with mu locked.
func (s *MemoryStore) append(id string, record []byte) {
	if s.journals == nil {
		s.journals = map[string][][]byte{}
	}
	s.journals[id] = append(s.journals[id], storekit.Owned(record))
	s.written(id)
}

// Acquire takes a run.
func (s *MemoryStore) Acquire(ctx context.Context, id string, req runs.LeaseRequest) (runs.Lease, error) {
	if err := ended(ctx, "acquire", id); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs.init()
	r, made := s.runs.rows[id], false
	if r == nil {
		if req.Create == nil {
			return nil, storekit.NotFound(id)
		}
		var err error
		if r, err = s.make(id, *req.Create); err != nil {
			return nil, err
		}
		made = true
	}
	if other := s.runs.index.blocked(r, s.now()); other != nil {
		if made {
			s.remove(r)
		}
		return nil, storekit.Behind(r, other)
	}
	return s.take(r, req, made)
}

// take gives out the lease of a run, with mu locked. isNew: it was made for that.
func (s *MemoryStore) take(r *storekit.Row, req runs.LeaseRequest, isNew bool) (runs.Lease, error) {
	before, err := r.Acquire(s.runs.last+1, req, s.now())
	if err != nil {
		return nil, err
	}
	s.runs.next()
	l := &memoryLease{Lease: storekit.NewLease(r, before, isNew, s), store: s, row: r}
	s.runs.leases[l.ID()] = l
	s.runs.index.changed(r)
	return l, nil
}

// AcquireDue takes the run that is due for longest.
func (s *MemoryStore) AcquireDue(ctx context.Context, req runs.LeaseRequest, due runs.Due) (runs.Lease, error) {
	if err := ended(ctx, "acquire", "that is due"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs.init()
	var found *storekit.Row
	var foundAt time.Time
	now := s.now()
	for r := range s.runs.index.ready(now) {
		since, isDue := r.DueAt(now)
		if isDue && r.IsAmong(due) && s.runs.index.blocked(r, now) == nil && (found == nil || r.Before(found, since, foundAt)) {
			found, foundAt = r, since
		}
	}
	if found == nil {
		return nil, runs.ErrNothingDue
	}
	return s.take(found, req, false)
}

// Reply replies to questions of a run.
func (s *MemoryStore) Reply(ctx context.Context, id string, answers ...runs.Reply) error {
	return s.transition(ctx, "answer", id, func(r *storekit.Row) error { return r.Reply(answers, s.now()) })
}

// Stop asks the holder of a run to stop it, and pauses it if no process holds it.
func (s *MemoryStore) Stop(ctx context.Context, id string, how runs.StopRequest) error {
	return s.transition(ctx, "stop", id, func(r *storekit.Row) error {
		if err := r.Stop(how, s.Retention, s.now()); err != nil {
			return err
		}
		if l := s.runs.leases[id]; r.Stopping != nil && l != nil {
			l.Deliver(how)
		}
		return nil
	})
}

// Continue makes a run that is paused ready.
func (s *MemoryStore) Continue(ctx context.Context, id string) error {
	return s.transition(ctx, "continue", id, func(r *storekit.Row) error { return r.Continue(s.now()) })
}

// transition changes a run that exists.
func (s *MemoryStore) transition(ctx context.Context, doing, id string, do func(*storekit.Row) error) error {
	if err := ended(ctx, doing, id); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.runs.rows[id]
	if r == nil {
		return storekit.NotFound(id)
	}
	err := do(r)
	s.runs.index.changed(r)
	return err
}

// Inspect returns what is known of a run.
func (s *MemoryStore) Inspect(ctx context.Context, id string) (runs.Info, bool, error) {
	if err := ended(ctx, "inspect", id); err != nil {
		return runs.Info{}, false, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	r := s.runs.rows[id]
	if r == nil {
		return runs.Info{}, false, nil
	}
	return r.Info(), true, nil
}

// Result returns the result of a run that is done.
func (s *MemoryStore) Result(ctx context.Context, id string) ([]byte, error) {
	if err := ended(ctx, "get the result of", id); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if r := s.runs.rows[id]; r != nil {
		return bytes.Clone(r.Result), nil
	}
	return nil, nil
}

// List yields the runs that there are when the loop begins.
func (s *MemoryStore) List(ctx context.Context, q runs.Query) iter.Seq2[runs.Info, error] {
	return storekit.List(ctx, q, s.find)
}

// Count counts runs by status.
func (s *MemoryStore) Count(ctx context.Context, q runs.Query) (map[runs.Status]int64, error) {
	q.After, q.Limit = "", 0
	counts := map[runs.Status]int64{}
	if err := ended(ctx, "count", ""); err != nil {
		return counts, err
	}
	l := storekit.Listing{Query: q}
	s.mu.RLock()
	defer s.mu.RUnlock()
	s.runs.index.find(&l.Query, func(r *storekit.Row) {
		if l.Matches(&r.Run) {
			counts[r.Run.Status]++
		}
	})
	return counts, nil
}

func (s *MemoryStore) find(ctx context.Context, l *storekit.Listing) (all []runs.Info, err error) {
	if err := ended(ctx, "list", ""); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	s.runs.index.find(&l.Query, func(r *storekit.Row) {
		if l.Matches(&r.Run) {
			all = append(all, r.Info())
		}
	})
	return all, nil
}

// Remove removes everything of a run.
func (s *MemoryStore) Remove(ctx context.Context, id string, force bool) error {
	if err := ended(ctx, "remove", id); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.runs.rows[id]
	switch {
	case r == nil:
		s.removeData(id)
		return nil
	case r.Held(s.now()) && !force:
		return r.Busy()
	}
	s.remove(r)
	return nil
}

// remove removes a run, with mu locked.
func (s *MemoryStore) remove(r *storekit.Row) {
	delete(s.runs.rows, r.Run.ID)
	delete(s.runs.leases, r.Run.ID)
	s.runs.index.remove(r)
	s.removeData(r.Run.ID)
}

func (s *MemoryStore) removeData(id string) {
	delete(s.checkpoints, id)
	delete(s.journals, id)
	s.removed(id)
}

// Sweep removes runs that have expired.
func (s *MemoryStore) Sweep(ctx context.Context, limit int) (swept runs.Swept, err error) {
	if err := ended(ctx, "sweep", ""); err != nil {
		return swept, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sweep(limit), nil
}

func (s *MemoryStore) sweep(limit int) (swept runs.Swept) {
	now := s.now()
	s.runs.index.expired(now, func(r *storekit.Row) bool {
		if swept.Runs == limit {
			swept.More = true
			return false
		}
		s.remove(r)
		swept.Runs++
		return true
	})
	return swept
}

// bound removes the runs that ended first, if there are too many, and those that have expired, now and then. mu is
// locked.
func (s *MemoryStore) bound(r *storekit.Row) {
	if status := r.Run.Status; status == runs.Done || status == runs.Failed {
		s.runs.ended = append(s.runs.ended, endedRun{r.Run.ID, r.Run.Token})
	}
	for len(s.runs.ended) > mostEnded {
		old := s.runs.ended[0]
		s.runs.ended = s.runs.ended[1:]
		if o := s.runs.rows[old.id]; o != nil && o.Run.Token == old.token && o.Run.Owner == "" {
			s.remove(o)
		}
	}
	switch now := s.now(); {
	case s.runs.swept.IsZero():
		s.runs.swept = now
	case now.Sub(s.runs.swept) > sweptEvery:
		s.runs.swept = now
		s.sweep(len(s.runs.rows))
	}
}

// memoryLease is the lease of a run of a MemoryStore.
type memoryLease struct {
	*storekit.Lease
	store *MemoryStore
	row   *storekit.Row // guarded by store.mu
}

// write does something to the run while the lease counts.
func (l *memoryLease) write(ctx context.Context, doing, id string, value []byte, do func(s *MemoryStore, r *storekit.Row) error) error {
	err := ended(ctx, doing, id)
	if err == nil {
		err = l.Check(doing, id, value)
	}
	if err != nil {
		return err
	}
	s := l.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.runs.rows[id] != l.row || !l.row.Holds(l.Token()) {
		return l.Lost()
	}
	status := l.row.Run.Status
	if err := do(s, l.row); err != nil {
		return err
	}
	if l.row.Run.Status != status || l.row.Run.Owner == "" {
		s.runs.index.changed(l.row)
	}
	return nil
}

func (l *memoryLease) Set(ctx context.Context, id string, checkPoint []byte) error {
	return l.write(ctx, "set", id, checkPoint, func(s *MemoryStore, r *storekit.Row) error {
		s.set(r, storekit.Owned(checkPoint))
		r.Renew(s.now())
		return nil
	})
}

// set replaces the checkpoint of a run, with mu locked. nil removes it.
func (s *MemoryStore) set(r *storekit.Row, checkPoint []byte) {
	id := r.Run.ID
	r.Run.Bytes += int64(len(checkPoint) - len(s.checkpoints[id]))
	if checkPoint == nil {
		delete(s.checkpoints, id)
		s.removed(id)
		return
	}
	if s.checkpoints == nil {
		s.checkpoints = map[string][]byte{}
	}
	s.checkpoints[id] = storekit.Owned(checkPoint)
	s.written(id)
}

func (l *memoryLease) Delete(ctx context.Context, id string) error {
	return l.write(ctx, "delete", id, nil, func(s *MemoryStore, r *storekit.Row) error {
		s.set(r, nil)
		return nil
	})
}

func (l *memoryLease) AppendRecord(ctx context.Context, id string, record []byte) error {
	return l.write(ctx, "append to the journal of", id, record, func(s *MemoryStore, r *storekit.Row) error {
		s.append(id, record)
		r.Appended(len(record), s.now())
		return nil
	})
}

func (l *memoryLease) RemoveRecords(ctx context.Context, id string) error {
	return l.write(ctx, "remove the journal of", id, nil, func(s *MemoryStore, r *storekit.Row) error {
		s.dropRecords(r)
		return nil
	})
}

// dropRecords removes the journal of a run, with mu locked.
func (s *MemoryStore) dropRecords(r *storekit.Row) {
	for _, record := range s.journals[r.Run.ID] {
		r.Run.Bytes -= int64(len(record))
	}
	r.Run.Steps = 0
	delete(s.journals, r.Run.ID)
	s.removed(r.Run.ID)
}

func (l *memoryLease) Renew(ctx context.Context) error {
	return l.write(ctx, "renew", l.ID(), nil, func(s *MemoryStore, r *storekit.Row) error {
		r.Renew(s.now())
		return nil
	})
}

func (l *memoryLease) Replies(ctx context.Context) (answers []runs.Reply, err error) {
	err = l.write(ctx, "read the answers of", l.ID(), nil, func(_ *MemoryStore, r *storekit.Row) error {
		answers = storekit.OwnedAnswers(r.Answers)
		return nil
	})
	return answers, err
}

// Settle sets the state of the run and gives the lease back.
func (l *memoryLease) Settle(ctx context.Context, settlement runs.Settlement) error {
	return l.write(ctx, "settle", l.ID(), settlement.Checkpoint, func(s *MemoryStore, r *storekit.Row) error {
		if err := storekit.CheckSettlement(l.ID(), settlement); err != nil {
			return err
		}
		resultBefore := len(r.Result)
		if err := r.Settle(settlement, s.Retention, s.now()); err != nil {
			return err
		}
		delete(s.runs.leases, l.ID())
		if settlement.Status == "" {
			return nil
		}
		r.Run.Bytes += int64(len(r.Result) - resultBefore)
		if settlement.Checkpoint != nil {
			s.set(r, settlement.Checkpoint)
		} else if settlement.Status == runs.Done {
			s.set(r, nil)
		}
		if settlement.DropRecords {
			s.dropRecords(r)
		}
		for _, child := range settlement.Children {
			if made, err := s.make(child.ID, child.Run); err != nil && made != nil { // it exists
				made.AskedAgain(child.Run)
			}
		}
		s.answerParent(r, settlement)
		s.runs.index.changed(r)
		s.bound(r)
		return nil
	})
}

// answerParent gives the parent of a run that has ended its answer. One that does not wait for it any more gets none.
func (s *MemoryStore) answerParent(r *storekit.Row, settlement runs.Settlement) {
	id, answer, ok := r.ParentAnswer(settlement)
	if parent := s.runs.rows[id]; ok && parent != nil && parent.Reply([]runs.Reply{answer}, s.now()) == nil {
		s.runs.index.changed(parent)
	}
}
