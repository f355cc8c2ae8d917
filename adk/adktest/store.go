package adktest

import (
	"context"
	"slices"
	"sync"

	"github.com/weftgo/weft/adk/checkpoint"
)

// Store keeps checkpoints in memory, records what it is asked for, and fails where it is to. It is safe for
// concurrent use.
type Store struct {
	memory checkpoint.MemoryStore

	mu  sync.Mutex
	log []string
	err error
}

var (
	_ checkpoint.Store   = (*Store)(nil)
	_ checkpoint.Deleter = (*Store)(nil)
)

// NewStore makes an empty store.
func NewStore() *Store { return &Store{} }

// Fail lets all later calls return an error; nil ends that.
func (s *Store) Fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// Log returns the calls until now, in their order: "get run-42", "set run-42", "delete run-42".
func (s *Store) Log() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

func (s *Store) called(what, checkPointID string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, what+" "+checkPointID)
	return s.err
}

// Get returns a checkpoint.
func (s *Store) Get(ctx context.Context, checkPointID string) ([]byte, bool, error) {
	if err := s.called("get", checkPointID); err != nil {
		return nil, false, err
	}
	return s.memory.Get(ctx, checkPointID)
}

// Set stores a checkpoint.
func (s *Store) Set(ctx context.Context, checkPointID string, checkPoint []byte) error {
	if err := s.called("set", checkPointID); err != nil {
		return err
	}
	return s.memory.Set(ctx, checkPointID, checkPoint)
}

// Delete removes a checkpoint.
func (s *Store) Delete(ctx context.Context, checkPointID string) error {
	if err := s.called("delete", checkPointID); err != nil {
		return err
	}
	return s.memory.Delete(ctx, checkPointID)
}
