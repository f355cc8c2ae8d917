package nats

import (
	"context"
	"errors"
	"time"

	"github.com/weftgo/weft/adk/checkpoint/storekit"
	"github.com/weftgo/weft/runs"
)

// Submit makes a run that is ready.
func (s *Store) Submit(ctx context.Context, id string, run runs.Spec) (info runs.Info, err error) {
	after, err := s.change(ctx, "submit", id, nil, func(ctx context.Context, c *change, st *state) error {
		if st.IsRun {
			info = st.Row.Info()
			return st.Row.Refuse(runs.ErrExists)
		}
		if err := c.submit(ctx, st, run); err != nil || !run.Alone {
			return err
		}
		other, err := c.inFront(ctx, st)
		if err == nil && other != nil {
			err = storekit.NotAlone(&st.Row, &other.Row)
		}
		return err
	})
	if err == nil {
		info = after.Row.Info()
	}
	return info, err
}

// Acquire takes a run.
func (s *Store) Acquire(ctx context.Context, id string, req runs.LeaseRequest) (runs.Lease, error) {
	l, err := s.acquire(ctx, id, req, false)
	if err != nil {
		return nil, err
	}
	return l, nil
}

// acquire takes a run, or with due only one that is due.
func (s *Store) acquire(ctx context.Context, id string, req runs.LeaseRequest, due bool) (*lease, error) {
	var before runs.Info
	var made bool
	var write uint64
	after, err := s.change(ctx, "acquire", id, nil, func(ctx context.Context, c *change, st *state) error {
		if made = !st.IsRun; made {
			if req.Create == nil {
				return storekit.NotFound(id)
			}
			if err := c.submit(ctx, st, *req.Create); err != nil {
				return err
			}
		}
		if _, is := st.Row.DueAt(c.now); due && !is {
			s.view.note(st)
			return runs.ErrNothingDue
		}
		if other, err := c.inFront(ctx, st); err != nil || other != nil {
			if err == nil {
				err = storekit.Behind(&st.Row, &other.Row)
			}
			return err
		}
		var err error
		if before, err = st.Row.Acquire(0, req, c.now); err != nil { // the token is the sequence of the head
			return err
		}
		write, st.Taker = c.write, c.write
		c.put(st)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if after.Taker != write { // it was taken, the answer was lost, and then another process took it
		return nil, after.Row.Busy()
	}
	l := s.newLease(after, before, made)
	s.stops.Hold(s.watched(l.ID()), l)
	return l, nil
}

// AcquireDue takes the run that is due for longest. A run that cannot be read, or whose key has one that cannot be read,
// is passed over; its error is returned when nothing else is due, once a minute.
func (s *Store) AcquireDue(
	ctx context.Context, req runs.LeaseRequest, due runs.Due,
) (runs.Lease, error) {
	var bad *storekit.RowError
	for {
		id, tried, err := s.nextDue(ctx, due)
		if err != nil {
			return nil, s.orUnreadable(err)
		}
		l, err := s.acquire(ctx, id, req, true)
		switch {
		case err == nil:
			tried()
			return l, nil
		case errors.As(err, &bad):
			defer tried() // not before: it would be the next one again
			continue
		case errors.Is(err, runs.ErrNotFound):
			s.view.forget(id)
		case !errors.Is(err, runs.ErrNothingDue) && !errors.Is(err, runs.ErrBusy):
			tried()
			return nil, err
		}
		tried()
	}
}

// orUnreadable is the error that says that nothing is due, or one of a run that was passed over, once a minute.
func (s *Store) orUnreadable(err error) error {
	if !errors.Is(err, runs.ErrNothingDue) {
		return err
	}
	for _, bad := range s.view.unreadable() {
		if s.passedOver.Add(s.of + "." + bad.ID) {
			return bad
		}
	}
	return err
}

// nextDue finds a run to take. tried is to be called after the attempt.
func (s *Store) nextDue(ctx context.Context, due runs.Due) (id string, tried func(), err error) {
	for _, moment := range []time.Duration{viewFresh, 0} {
		now, err := s.look(ctx, moment)
		if err != nil {
			return "", nil, storekit.Failed("acquire", "that is due", err)
		}
		if id, tried = s.view.try(due, now); tried != nil {
			return id, tried, nil
		}
	}
	return "", nil, runs.ErrNothingDue
}

// look brings the view up to date, unless that was done a moment ago. It returns what time it is.
func (s *Store) look(ctx context.Context, moment time.Duration) (now time.Time, err error) {
	err = s.retry(ctx, func(ctx context.Context) error {
		if err := s.refresh(ctx, moment); err != nil {
			return err
		}
		now, err = s.clock.now(ctx)
		return err
	})
	return now, err
}

// transition changes a run that exists.
func (s *Store) transition(ctx context.Context, doing, id string, do func(r *storekit.Row, now time.Time) error) error {
	_, err := s.change(ctx, doing, id, nil, func(_ context.Context, c *change, st *state) error {
		if !st.IsRun {
			return storekit.NotFound(id)
		}
		c.put(st)
		return do(&st.Row, c.now)
	})
	return err
}

// Reply replies to questions of a run.
func (s *Store) Reply(ctx context.Context, id string, answers ...runs.Reply) error {
	return s.transition(ctx, "answer", id, func(r *storekit.Row, now time.Time) error { return r.Reply(answers, now) })
}

// Continue makes a run that is paused ready.
func (s *Store) Continue(ctx context.Context, id string) error {
	return s.transition(ctx, "continue", id, func(r *storekit.Row, now time.Time) error { return r.Continue(now) })
}

// Remove removes everything of a run.
func (s *Store) Remove(ctx context.Context, id string, force bool) error {
	return s.removeIf(ctx, "remove", id, func(st *state, now time.Time) error {
		if st.IsRun && st.Row.Held(now) && !force {
			return st.Row.Busy()
		}
		return nil
	})
}

// goneFor is the time for which the head of an ID that was removed remains, so that every process that looks for due runs
// sees that it is gone.
const goneFor = time.Hour

// removeIf removes everything of an ID that check has nothing against. An ID without anything remains as a head that
// says so, and that the server removes some time later.
func (s *Store) removeIf(ctx context.Context, doing, id string, check func(st *state, now time.Time) error) error {
	key := ""
	after, err := s.changeRead(ctx, doing, id, nil, s.readAny, func(_ context.Context, c *change, st *state) error {
		if err := check(st, c.now); err != nil || st.headSeq == 0 {
			return err
		}
		key = st.Row.Run.Key
		st.head, st.bad = head{From: st.version, Writes: st.Writes}, nil
		st.Row.Run.ID = id
		c.put(st)
		return nil
	})
	if err != nil || after.headSeq == 0 {
		return err
	}
	err = s.retry(ctx, func(ctx context.Context) error {
		if err := s.wire.purge(ctx, s.allOf(after.hash), after.headSeq); err != nil {
			return err
		}
		return s.wire.purge(ctx, s.pieces(after.hash, ">"), after.headSeq)
	})
	if err == nil {
		s.leaveKey(ctx, key)
	}
	return storekit.FailedOnce(doing, id, err)
}

// errKept says that a run is not to be removed.
var errKept = errors.New("the run is kept")

// Sweep removes runs that have expired.
func (s *Store) Sweep(ctx context.Context, limit int) (swept runs.Swept, err error) {
	now, err := s.look(ctx, 0)
	if err != nil {
		return swept, storekit.Failed("sweep", "", err)
	}
	for _, id := range s.view.expired(now) {
		if swept.Runs == limit {
			swept.More = true
			return swept, nil
		}
		err := s.removeIf(ctx, "sweep", id, func(st *state, now time.Time) error {
			if !st.IsRun || !st.Row.Expired(now) {
				s.view.note(st)
				return errKept
			}
			return nil
		})
		switch {
		case err == nil:
			swept.Runs++
			s.view.forget(id)
		case !errors.Is(err, errKept):
			return swept, err
		}
	}
	return swept, nil
}
