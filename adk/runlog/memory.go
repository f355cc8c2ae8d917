package runlog

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weftgo/weft/runs"
)

// Bounds of what is kept in memory, where nothing else is configured.
const (
	defaultEvents = 10_000
	defaultBytes  = 8 << 20
	defaultRuns   = 1_000
)

// MemoryStore keeps events in memory: of each run up to 10,000 or 8 MiB, deltas are dropped first, and up to 1,000
// runs, the one written longest ago is dropped first. The zero value is an empty store.
type MemoryStore struct {
	mu    sync.Mutex // guards the fields below
	books map[string]*book
	// began is closed, and replaced, when a run is added.
	began chan struct{}
}

var _ Store = (*MemoryStore)(nil)

// NewMemoryStore makes an empty store.
func NewMemoryStore() *MemoryStore { return &MemoryStore{} }

// get returns the book of a run, or nil.
func (s *MemoryStore) get(run string) (*book, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.began == nil {
		s.began = make(chan struct{})
	}
	return s.books[run], s.began
}

// open returns the book of a run, and makes it.
func (s *MemoryStore) open(run string) *book {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.books[run]
	if b != nil {
		return b
	}
	if s.books == nil {
		s.books = map[string]*book{}
	}
	for len(s.books) >= defaultRuns {
		s.dropOldest()
	}
	b = newBook(run, limits{defaultEvents, defaultBytes})
	s.books[run] = b
	if s.began != nil {
		close(s.began)
		s.began = nil
	}
	return b
}

// dropOldest drops the run that was written longest ago, with mu locked.
func (s *MemoryStore) dropOldest() {
	var oldest string
	var since time.Time
	for run, b := range s.books {
		info, _ := b.info()
		if oldest == "" || info.Updated.Before(since) {
			oldest, since = run, info.Updated
		}
	}
	s.books[oldest].become(bookLeft)
	delete(s.books, oldest)
}

// Append adds events.
func (s *MemoryStore) Append(ctx context.Context, run string, events []Event) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(events) == 0 {
		return nil
	}
	return s.open(run).append(time.Now(), events...)
}

// Read yields events.
func (s *MemoryStore) Read(ctx context.Context, run string, after runs.Cursor) iter.Seq2[Event, error] {
	if b, _ := s.get(run); b != nil {
		return b.all(ctx, after)
	}
	return func(yield func(Event, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(Event{}, err)
		}
	}
}

// Wait blocks until there is an event behind the cursor.
func (s *MemoryStore) Wait(ctx context.Context, run string, after runs.Cursor) error {
	for {
		b, began := s.get(run)
		if b != nil {
			return b.wait(ctx, after, bookWritten)
		}
		select {
		case <-began:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Inspect returns what there is of a run.
func (s *MemoryStore) Inspect(ctx context.Context, run string) (Info, bool, error) {
	if err := ctx.Err(); err != nil {
		return Info{}, false, err
	}
	if b, _ := s.get(run); b != nil {
		info, exists := b.info()
		return info, exists, nil
	}
	return Info{}, false, nil
}

// List yields runs.
func (s *MemoryStore) List(ctx context.Context, q Query) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		s.mu.Lock()
		var infos []Info
		for _, b := range s.books {
			if info, exists := b.info(); exists {
				infos = append(infos, info)
			}
		}
		s.mu.Unlock()
		q.Of(ctx, infos)(yield)
	}
}

// Of yields the runs among infos that match the query, for stores that have no index. It sorts infos.
func (q Query) Of(ctx context.Context, infos []Info) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) { q.of(ctx, infos, yield) }
}

func (q Query) of(ctx context.Context, infos []Info, yield func(Info, error) bool) {
	slices.SortFunc(infos, func(a, b Info) int {
		return cmp.Or(b.Updated.Compare(a.Updated), cmp.Compare(a.Run, b.Run))
	})
	n := 0
	for _, info := range infos {
		if err := ctx.Err(); err != nil {
			yield(Info{}, err)
			return
		}
		if !strings.HasPrefix(info.Run, q.Prefix) || !q.UpdatedBefore.IsZero() && !info.Updated.Before(q.UpdatedBefore) {
			continue
		}
		if n++; !yield(info, nil) || n == q.Limit {
			return
		}
	}
}

// Delete removes the events of a run.
func (s *MemoryStore) Delete(ctx context.Context, run string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.books[run]; b != nil {
		b.become(bookLeft)
		delete(s.books, run)
	}
	return nil
}
