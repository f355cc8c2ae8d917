package redis

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/weftgo/weft/adk/checkpoint/storekit"
	"github.com/weftgo/weft/runs"
)

// next is a token greater than all before.
func (s *Store) next(ctx context.Context) (uint64, error) {
	n, err := s.run(ctx, token, []string{s.tokenKey()}).Int64()
	return uint64(n), err
}

// make makes the row of a new run.
func (s *Store) make(ctx context.Context, id string, n runs.Spec, now time.Time) (*row, change, error) {
	born, err := s.next(ctx)
	if err != nil {
		return nil, change{}, storekit.FailedOnce("submit", id, err)
	}
	made, err := storekit.New(id, n, born, now)
	if err != nil {
		return nil, change{}, err
	}
	r := &row{Row: *made}
	r.Run.Tenant = s.tenant
	// What was written without a lease is the run's.
	steps, size, err := s.recordsSize(ctx, id)
	if err != nil {
		return nil, change{}, err
	}
	r.Run.Steps, r.Run.Bytes = r.Run.Steps+steps, r.Run.Bytes+size
	size, err = s.checkpointSize(ctx, id)
	r.Run.Bytes += size
	return r, change{records: n.Records}, err
}

// Submit makes a run that is ready.
func (s *Store) Submit(ctx context.Context, id string, run runs.Spec) (info runs.Info, err error) {
	if run.Key != "" {
		release, err := s.lock(ctx, run.Key)
		if err != nil {
			return info, storekit.FailedOnce("submit", id, err)
		}
		defer release()
	}
	err = s.update(ctx, "submit", id, func(r *row, now time.Time) (*row, change, error) {
		if r != nil {
			info = r.Info()
			return nil, change{}, r.Refuse(runs.ErrExists)
		}
		made, c, err := s.make(ctx, id, run, now)
		if err == nil && run.Alone {
			var other *row
			if other, err = s.inFront(ctx, made, now); err == nil && other != nil {
				err = storekit.NotAlone(&made.Row, &other.Row)
			}
		}
		if err == nil {
			info = made.Info()
		}
		return made, c, err
	})
	return info, err
}

// Acquire takes a run.
func (s *Store) Acquire(ctx context.Context, id string, req runs.LeaseRequest) (runs.Lease, error) {
	return s.acquire(ctx, id, req, false)
}

// acquire takes a run, or with due only one that is due.
func (s *Store) acquire(ctx context.Context, id string, req runs.LeaseRequest, due bool) (runs.Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, storekit.FailedOnce("acquire", id, err)
	}
	key, err := s.keyOf(ctx, id, req)
	if err != nil {
		return nil, storekit.FailedOnce("acquire", id, err)
	}
	if key != "" {
		release, err := s.lock(ctx, key)
		if err != nil {
			return nil, storekit.FailedOnce("acquire", id, err)
		}
		defer release()
	}
	var l *lease
	err = s.update(ctx, "acquire", id, func(r *row, now time.Time) (*row, change, error) {
		var c change
		made := r == nil
		if made {
			if req.Create == nil {
				return nil, c, storekit.NotFound(id)
			}
			var err error
			if r, c, err = s.make(ctx, id, *req.Create, now); err != nil {
				return nil, c, err
			}
		}
		if _, is := r.DueAt(now); due && !is {
			return nil, c, runs.ErrNothingDue
		}
		if other, err := s.inFront(ctx, r, now); err != nil || other != nil {
			if err == nil {
				err = storekit.Behind(&r.Row, &other.Row)
			}
			return nil, c, err
		}
		if r.Held(now) && !req.Steal {
			return nil, c, r.Busy()
		}
		t, err := s.next(ctx)
		if err != nil {
			return nil, c, storekit.FailedOnce("acquire", id, err)
		}
		before, err := r.Acquire(t, req, now)
		if err != nil {
			return nil, c, err
		}
		r.life = 0
		l = &lease{Lease: storekit.NewLease(&r.Row, before, made, s), store: s, turn: make(chan struct{}, 1)}
		return r, c, nil
	})
	if err != nil {
		return nil, err
	}
	s.stops.Hold(s.runKey(l.ID()), l)
	return l, nil
}

// keyOf is the key of a run that is to be taken.
func (s *Store) keyOf(ctx context.Context, id string, req runs.LeaseRequest) (string, error) {
	r, _, err := s.read(ctx, id)
	switch {
	case err != nil:
		return "", err
	case r != nil:
		return r.Run.Key, nil
	case req.Create != nil:
		return req.Create.Key, nil
	}
	return "", nil
}

// lockTime is the time for which a process that dies while it takes a run of a key keeps others from doing so.
const lockTime = 5 * time.Second

// lock has those who take runs of one key wait for each other.
func (s *Store) lock(ctx context.Context, key string) (release func(), err error) {
	nonce := strconv.FormatUint(rand.Uint64(), 36)
	for {
		got, err := s.run(ctx, lock, []string{s.lockKey(key)}, nonce, lockTime.Milliseconds()).Int()
		if err != nil {
			return nil, err
		}
		if got == 1 {
			return func() {
				_ = unlock.Run(context.WithoutCancel(ctx), s.client, []string{s.lockKey(key)}, nonce).Err()
			}, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Duration(1+rand.IntN(5)) * time.Millisecond):
		}
	}
}

// inFront is the run that must end before r can be taken, nil for most.
func (s *Store) inFront(ctx context.Context, r *row, now time.Time) (*row, error) {
	if r.Run.Key == "" {
		return nil, nil
	}
	key := s.keyKey(r.Run.Key)
	members, err := try(ctx, s, func() *redis.ZSliceCmd { return s.client.ZRangeWithScores(ctx, key, 0, -1) })
	if err != nil {
		return nil, err
	}
	for _, m := range members {
		id := m.Member.(string)
		other, version, err := s.readAny(ctx, id)
		if err == nil && other != nil && other.bad != nil { // the index says what the row does not
			other.Run.Key, other.Born = r.Run.Key, uint64(m.Score)
		}
		switch {
		case err != nil:
			return nil, err
		case other == nil || !other.BlocksKey():
			if err := s.mend(ctx, id, version, hashed(r.Run.Key), other); err != nil {
				return nil, err
			}
		case r.IsBehind(&other.Row, now):
			return other, nil
		}
	}
	return nil, nil
}

// upTo are the members of an index whose time has come, at most so many if that is not 0.
func (s *Store) upTo(ctx context.Context, key string, now time.Time, offset, most int64) ([]redis.Z, error) {
	by := &redis.ZRangeBy{Min: "-inf", Max: strconv.FormatInt(now.UnixMicro(), 10), Offset: offset, Count: most}
	return try(ctx, s, func() *redis.ZSliceCmd { return s.client.ZRangeByScoreWithScores(ctx, key, by) })
}

// mostDue limits how many runs that are due are looked at to find the one to take.
const mostDue = 256

// AcquireDue takes the run that is due for longest. Of more than 256 that are due, priorities count among those that
// are due for longest. A run that cannot be read is passed over; its error is returned when nothing else is due, once a
// minute.
func (s *Store) AcquireDue(ctx context.Context, req runs.LeaseRequest, due runs.Due) (runs.Lease, error) {
	bad := runs.ErrNothingDue
	for offset := int64(0); ; {
		now, err := s.now(ctx)
		if err != nil {
			return nil, storekit.FailedOnce("acquire", "that is due", err)
		}
		seen, err := s.upTo(ctx, s.dueKey(), now, offset, mostDue)
		if err != nil {
			return nil, storekit.FailedOnce("acquire", "that is due", err)
		}
		found, kept, err := s.dueAmong(ctx, seen, due, now)
		if err != nil {
			return nil, storekit.FailedOnce("acquire", "that is due", err)
		}
		for _, r := range found {
			if r.bad != nil {
				if s.passedOver.Add(s.runKey(r.Run.ID)) {
					bad = r.bad
				}
				continue
			}
			l, err := s.acquire(ctx, r.Run.ID, req, true)
			if errors.Is(err, runs.ErrUnreadable) { // since it was read
				continue
			}
			if err == nil || !errors.Is(err, runs.ErrNothingDue) && !errors.Is(err, runs.ErrBusy) &&
				!errors.Is(err, runs.ErrNotFound) {
				return l, err
			}
		}
		if len(seen) < mostDue {
			return nil, bad
		}
		offset += kept
	}
}

// dueAmong reads rows that the index says are due, and returns those that are, in the order in which they are to be
// taken, and those that cannot be read, and how many the index keeps. It corrects the index for the others.
func (s *Store) dueAmong(ctx context.Context, seen []redis.Z, due runs.Due, now time.Time) (found []*row, kept int64, err error) {
	ids := make([]string, len(seen))
	for i, m := range seen {
		ids[i] = m.Member.(string)
	}
	rows, err := s.readAll(ctx, ids)
	if err != nil {
		return nil, 0, err
	}
	for i, r := range rows {
		var from time.Time
		may := false
		if r != nil {
			from, may = r.dueFrom()
		}
		switch {
		case r != nil && r.bad != nil: // who can read it finds it there
			kept++
			found = append(found, r)
		case !may || from.After(now):
			err = s.mend(ctx, ids[i], versionOf(r), "", r)
		default:
			kept++
			if _, is := r.DueAt(now); is && r.IsAmong(due) {
				found = append(found, r)
			}
		}
		if err != nil {
			return nil, 0, err
		}
	}
	slices.SortFunc(found, func(a, b *row) int { return storekit.InDueOrder(&a.Row, &b.Row, now) })
	return found, kept, nil
}

// readAll reads rows, nil where there is none. They may be bad.
func (s *Store) readAll(ctx context.Context, ids []string) ([]*row, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	reads := make([]*redis.SliceCmd, len(ids))
	err := s.pipelined(ctx, func(p redis.Pipeliner) {
		for i, id := range ids {
			reads[i] = p.HMGet(ctx, s.runKey(id), rowFields...)
		}
	})
	if err != nil {
		return nil, err
	}
	rows := make([]*row, len(ids))
	for i, read := range reads {
		rows[i], _ = s.readRow(ids[i], read.Val())
	}
	return rows, nil
}

// transition changes a run that exists.
func (s *Store) transition(ctx context.Context, doing, id string, do func(r *row, now time.Time) error) error {
	return s.update(ctx, doing, id, func(r *row, now time.Time) (*row, change, error) {
		if r == nil {
			return nil, change{}, storekit.NotFound(id)
		}
		return r, change{}, do(r, now)
	})
}

// Reply replies to questions of a run.
func (s *Store) Reply(ctx context.Context, id string, answers ...runs.Reply) error {
	return s.transition(ctx, "answer", id, func(r *row, now time.Time) error { return r.Row.Reply(answers, now) })
}

// Stop asks the holder of a run to stop it, and pauses it if no process holds it. A holder in this process gets the
// request at once, another one within storekit.StopPoll.
func (s *Store) Stop(ctx context.Context, id string, how runs.StopRequest) error {
	err := s.transition(ctx, "stop", id, func(r *row, now time.Time) error { return r.Row.Stop(how, s.retention, now) })
	if err == nil {
		s.stops.Look(ctx, s.runKey(id))
	}
	return err
}

// Continue makes a run that is paused ready.
func (s *Store) Continue(ctx context.Context, id string) error {
	return s.transition(ctx, "continue", id, func(r *row, now time.Time) error { return r.Row.Continue(now) })
}

// Inspect returns what is known of a run. What follows from its last change for other runs has happened then.
func (s *Store) Inspect(ctx context.Context, id string) (runs.Info, bool, error) {
	r, _, err := s.read(ctx, id)
	for err == nil && r != nil && r.Todo != nil {
		if err = s.doOthers(ctx, r); err == nil || errors.Is(err, errChanged) {
			r, _, err = s.read(ctx, id)
		}
	}
	if err != nil || r == nil {
		return runs.Info{}, false, storekit.FailedOnce("inspect", id, err)
	}
	return r.Info(), true, nil
}

// Result returns the result of a run that is done.
func (s *Store) Result(ctx context.Context, id string) ([]byte, error) {
	r, _, err := s.read(ctx, id)
	if err != nil || r == nil {
		return nil, storekit.FailedOnce("get the result of", id, err)
	}
	return r.Row.Result, nil
}

// List yields the runs that there are when the loop begins. It reads all of them.
func (s *Store) List(ctx context.Context, q runs.Query) iter.Seq2[runs.Info, error] {
	return storekit.List(ctx, q, s.find)
}

// Count counts runs by status. It reads all of them.
func (s *Store) Count(ctx context.Context, q runs.Query) (map[runs.Status]int64, error) {
	return storekit.Count(ctx, q, s.find)
}

func (s *Store) find(ctx context.Context, l *storekit.Listing) (found []runs.Info, err error) {
	ids, err := s.ids(ctx)
	for chunk := range slices.Chunk(ids, 500) {
		rows, err := s.readAll(ctx, chunk)
		if err != nil {
			return nil, storekit.FailedOnce("list", "", err)
		}
		for _, r := range rows {
			if r != nil && l.Matches(&r.Run) {
				found = append(found, r.Info())
			}
		}
	}
	return found, storekit.FailedOnce("list", "", err)
}

// Remove removes everything of a run.
func (s *Store) Remove(ctx context.Context, id string, force bool) error {
	_, err := s.removeIf(ctx, "remove", id, func(r *row, now time.Time) error {
		if r != nil && r.Held(now) && !force {
			return r.Busy()
		}
		return nil
	})
	return err
}

// errKept says that a run is not to be removed.
var errKept = errors.New("the run is kept")

// removeIf removes a run that check has nothing against.
func (s *Store) removeIf(ctx context.Context, doing, id string, check func(r *row, now time.Time) error) (removed bool, err error) {
	for {
		if err := ctx.Err(); err != nil {
			return false, storekit.FailedOnce(doing, id, err)
		}
		_, err := try(ctx, s, func() *redis.FloatCmd { return s.client.ZScore(ctx, s.idsKey(), id) })
		if errors.Is(err, redis.Nil) {
			return false, nil
		}
		var r *row
		var version string
		var now time.Time
		if err == nil {
			r, version, err = s.readAny(ctx, id)
		}
		if err == nil {
			now, err = s.now(ctx)
		}
		if err != nil {
			return false, storekit.FailedOnce(doing, id, err)
		}
		if err := check(r, now); err != nil {
			return false, err
		}
		keys, _ := s.indexed(id, version, r)
		done, err := s.run(ctx, remove, keys, version, id).Int()
		if err == nil && done == 0 {
			continue
		}
		return err == nil, storekit.FailedOnce(doing, id, err)
	}
}

// Sweep removes runs that have expired, and has the indexes of some more runs say what their rows do.
func (s *Store) Sweep(ctx context.Context, limit int) (swept runs.Swept, err error) {
	if err := s.mendSome(ctx); err != nil {
		return swept, storekit.FailedOnce("sweep", "", err)
	}
	now, err := s.now(ctx)
	if err != nil {
		return swept, storekit.FailedOnce("sweep", "", err)
	}
	seen, err := s.upTo(ctx, s.expiresKey(), now, 0, 0)
	if err != nil {
		return swept, storekit.FailedOnce("sweep", "", err)
	}
	for _, m := range seen {
		if swept.Runs == limit {
			swept.More = true
			return swept, nil
		}
		id := m.Member.(string)
		removed, err := s.sweepOne(ctx, id, now)
		if err != nil {
			return swept, storekit.FailedOnce("sweep", id, err)
		}
		if removed {
			swept.Runs++
		}
	}
	return swept, nil
}

// sweepOne removes a run that the index says has expired.
func (s *Store) sweepOne(ctx context.Context, id string, now time.Time) (removed bool, err error) {
	r, version, err := s.readAny(ctx, id)
	switch {
	case err != nil:
		return false, err
	case r == nil || r.Run.Expires.IsZero() || r.Run.Expires.After(now):
		if r != nil && r.bad != nil {
			return false, nil
		}
		return false, s.mend(ctx, id, version, "", r)
	}
	removed, err = s.removeIf(ctx, "sweep", id, func(r *row, now time.Time) error {
		if r == nil || !r.Expired(now) {
			return errKept
		}
		return nil
	})
	if errors.Is(err, errKept) {
		err = nil
	}
	return removed, err
}

// readStop reads a request to stop.
func readStop(text string) (*runs.StopRequest, error) {
	if text == "" {
		return nil, nil
	}
	stop := new(runs.StopRequest)
	return stop, json.Unmarshal([]byte(text), stop)
}
