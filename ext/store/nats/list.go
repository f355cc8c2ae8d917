package nats

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/weftgo/weft/adk/checkpoint/storekit"
	"github.com/weftgo/weft/runs"
)

// Inspect returns what is known of a run.
func (s *Store) Inspect(ctx context.Context, id string) (info runs.Info, exists bool, err error) {
	st, err := s.inspect(ctx, id)
	if err != nil || !st.IsRun {
		return info, false, storekit.FailedOnce("inspect", id, err)
	}
	return st.Row.Info(), true, nil
}

// Result returns the result of a run that is done.
func (s *Store) Result(ctx context.Context, id string) ([]byte, error) {
	st, err := s.inspect(ctx, id)
	if err != nil {
		return nil, storekit.FailedOnce("get the result of", id, err)
	}
	return st.Row.Result, nil
}

func (s *Store) inspect(ctx context.Context, id string) (st *state, err error) {
	err = s.retry(ctx, func(ctx context.Context) error {
		st, err = s.read(ctx, id)
		return err
	})
	return st, err
}

// headsFrom reads heads of the tenant from a sequence on, in the order in which they were written, without the records
// that came after them, and says whether there are more. They may be bad.
func (s *Store) headsFrom(ctx context.Context, from uint64) (heads []*state, more bool, err error) {
	found, more, err := s.wire.nextOfAll(ctx, s.heads(), from, mostMessages)
	if err != nil {
		return nil, false, err
	}
	for _, m := range found {
		hash, ok := s.hashIn(m.subject)
		if !ok {
			continue
		}
		st, err := s.readState(ctx, nil, hash, []message{m})
		if err != nil {
			return nil, false, err
		}
		heads = append(heads, st)
	}
	return heads, more, nil
}

// all reads every ID of the tenant of which something is known.
func (s *Store) all(ctx context.Context) ([]*state, error) {
	heads := map[string]*state{}
	for from, more := uint64(1), true; more; {
		var found []*state
		err := s.retry(ctx, func(ctx context.Context) (err error) {
			found, more, err = s.headsFrom(ctx, from)
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, st := range found {
			heads[st.hash], from = st, st.headSeq+1 // one that changed meanwhile comes again
		}
	}
	var growing []string // those that may have records behind their head
	for hash, st := range heads {
		switch {
		case st.isGone():
			delete(heads, hash)
		case st.bad == nil && (!st.IsRun || st.Row.Run.Owner != ""):
			growing = append(growing, hash)
		}
	}
	var now []*state
	err := s.retry(ctx, func(ctx context.Context) (err error) {
		now, err = s.readAll(ctx, growing)
		return err
	})
	for _, st := range now {
		if heads[st.hash] = st; st.isGone() {
			delete(heads, st.hash)
		}
	}
	all := make([]*state, 0, len(heads))
	for _, st := range heads {
		all = append(all, st)
	}
	return all, err
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
	all, err := s.all(ctx)
	if err != nil {
		return nil, storekit.Failed("list", "", err)
	}
	for _, st := range all {
		if st.bad != nil {
			info := st.bad.Unreadable()
			if info.Tenant = s.tenant; l.Matches(&info) {
				found = append(found, info)
			}
			continue
		}
		if st.IsRun && l.Matches(&st.Row.Run) {
			found = append(found, st.Row.Info())
		}
	}
	return found, nil
}

// ListCheckPoints yields the IDs that begin with a prefix and have a checkpoint or a journal, in their order.
func (s *Store) ListCheckPoints(ctx context.Context, prefix string) iter.Seq2[runs.Listed, error] {
	return func(yield func(runs.Listed, error) bool) {
		all, err := s.all(ctx)
		if err != nil {
			yield(runs.Listed{}, storekit.Failed("list", prefix, err))
			return
		}
		slices.SortFunc(all, func(a, b *state) int { return strings.Compare(a.Row.Run.ID, b.Row.Run.ID) })
		for _, st := range all {
			id := st.Row.Run.ID
			if st.Saved == nil && st.Row.Run.Steps == 0 || !strings.HasPrefix(id, prefix) {
				continue
			}
			if !yield(runs.Listed{ID: id, Modified: st.modified}, nil) {
				return
			}
		}
	}
}
