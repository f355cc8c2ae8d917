package checkpoint

import (
	"bytes"
	"context"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weftgo/weft/adk/checkpoint/storekit"
	"github.com/weftgo/weft/runs"
)

// MemoryStore keeps runs in memory. It copies what it takes and what it gives. It is safe for concurrent use; the zero
// value is an empty store. A call whose context has ended does nothing and returns the error of the context. Of the
// runs that have ended it keeps the last 10,000.
type MemoryStore struct {
	// Retention sets the time for which runs are kept. It must not be changed when the store is in use.
	Retention runs.Retention
	// Clock is the clock of the store, for tests. The default is time.Now.
	Clock func() time.Time

	mu          sync.RWMutex // guards all fields below
	checkpoints map[string][]byte
	journals    map[string][][]byte
	// modified is the time at which a checkpoint or journal was written last, by its ID.
	modified map[string]time.Time
	runs     memoryRuns
}

var _ runs.Store = (*MemoryStore)(nil)

// NewMemoryStore makes an empty store.
func NewMemoryStore() *MemoryStore { return &MemoryStore{} }

// Get returns a copy of the checkpoint, and false when there is none with that ID.
func (s *MemoryStore) Get(ctx context.Context, checkPointID string) ([]byte, bool, error) {
	if err := ended(ctx, "get", checkPointID); err != nil {
		return nil, false, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	checkPoint, ok := s.checkpoints[checkPointID]
	return bytes.Clone(checkPoint), ok, nil
}

// Set stores a copy of the checkpoint.
func (s *MemoryStore) Set(ctx context.Context, checkPointID string, checkPoint []byte) error {
	if err := ended(ctx, "set", checkPointID); err != nil {
		return err
	}
	if err := storekit.CheckSize("set", checkPointID, checkPoint); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.checkpoints == nil {
		s.checkpoints = map[string][]byte{}
	}
	s.checkpoints[checkPointID] = storekit.Owned(checkPoint)
	s.written(checkPointID)
	return nil
}

// Delete removes the checkpoint. Its journal stays.
func (s *MemoryStore) Delete(ctx context.Context, checkPointID string) error {
	if err := ended(ctx, "delete", checkPointID); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.checkpoints, checkPointID)
	s.removed(checkPointID)
	return nil
}

// written notes the time, with mu locked.
func (s *MemoryStore) written(checkPointID string) {
	if s.modified == nil {
		s.modified = map[string]time.Time{}
	}
	s.modified[checkPointID] = s.now()
}

// removed forgets the time of an ID of which nothing is left, with mu locked.
func (s *MemoryStore) removed(checkPointID string) {
	if _, ok := s.checkpoints[checkPointID]; !ok && s.journals[checkPointID] == nil {
		delete(s.modified, checkPointID)
	}
}

// ListCheckPoints yields the IDs that begin with a prefix. It yields those that exist when the loop begins.
func (s *MemoryStore) ListCheckPoints(ctx context.Context, prefix string) iter.Seq2[runs.Listed, error] {
	return func(yield func(runs.Listed, error) bool) {
		if err := ended(ctx, "list", prefix); err != nil {
			yield(runs.Listed{}, err)
			return
		}
		yieldSorted(ctx, s.infos(prefix), yield)
	}
}

func (s *MemoryStore) infos(prefix string) (infos []runs.Listed) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for id, modified := range s.modified {
		if strings.HasPrefix(id, prefix) {
			infos = append(infos, runs.Listed{ID: id, Modified: modified})
		}
	}
	return infos
}

// yieldSorted yields what was found, in the order of the IDs.
func yieldSorted(ctx context.Context, infos []runs.Listed, yield func(runs.Listed, error) bool) {
	slices.SortFunc(infos, func(a, b runs.Listed) int { return strings.Compare(a.ID, b.ID) })
	for _, info := range infos {
		if err := ended(ctx, "list", info.ID); err != nil {
			yield(runs.Listed{}, err)
			return
		}
		if !yield(info, nil) {
			return
		}
	}
}

// AppendRecord adds a copy of the record.
func (s *MemoryStore) AppendRecord(ctx context.Context, checkPointID string, record []byte) error {
	if err := ended(ctx, "append to the journal of", checkPointID); err != nil {
		return err
	}
	if err := storekit.CheckSize("append to the journal of", checkPointID, record); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.append(checkPointID, record)
	return nil
}

// ReadRecords returns copies of the records.
func (s *MemoryStore) ReadRecords(ctx context.Context, checkPointID string) ([][]byte, error) {
	return s.ReadRecordsFrom(ctx, checkPointID, 0)
}

// ReadRecordsFrom returns copies of the records behind the first so many.
func (s *MemoryStore) ReadRecordsFrom(ctx context.Context, checkPointID string, from int) ([][]byte, error) {
	if err := ended(ctx, "read the journal of", checkPointID); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	records := s.journals[checkPointID]
	records = slices.Clone(records[min(from, len(records)):])
	for i, r := range records {
		records[i] = bytes.Clone(r)
	}
	return records, nil
}

// RemoveRecords removes all records.
func (s *MemoryStore) RemoveRecords(ctx context.Context, checkPointID string) error {
	if err := ended(ctx, "remove the journal of", checkPointID); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.journals, checkPointID)
	s.removed(checkPointID)
	return nil
}

// ended is the error of a call whose context has ended.
func ended(ctx context.Context, doing, checkPointID string) error {
	return storekit.Failed(doing, checkPointID, ctx.Err())
}

// EventRetention is for how long the events of a run stay after its end: see [runs.Retention].
func (s *MemoryStore) EventRetention() time.Duration { return s.Retention.ForEvents() }
