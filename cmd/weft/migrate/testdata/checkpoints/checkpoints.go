// A service that keeps its runs in files, and a test store of the same package.
package checkpoints

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/compose"
)

type fileStore struct{ dir string }

func (s *fileStore) Get(_ context.Context, id string) ([]byte, bool, error) {
	data, err := os.ReadFile(filepath.Join(s.dir, id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	return data, err == nil, err
}

func (s *fileStore) Set(_ context.Context, id string, data []byte) error { // want `checkpoints that Eino saved in this store cannot be resumed`
	return os.WriteFile(filepath.Join(s.dir, id), data, 0o600)
}

// memoryStore is gone with its process: nothing of Eino's can be in it.
type memoryStore struct {
	mu   sync.Mutex
	data map[string][]byte
}

func (s *memoryStore) Get(_ context.Context, id string) ([]byte, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, ok := s.data[id]
	return data, ok, nil
}

func (s *memoryStore) Set(_ context.Context, id string, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data[id] = append([]byte(nil), data...)
	return nil
}

// settings has a Set, and is no store.
type settings struct{}

func (settings) Set(_ context.Context, name string, data []byte) error {
	return os.WriteFile(name, data, 0o600)
}

func runner(ctx context.Context, agent adk.Agent, inMemory bool) *adk.Runner {
	var store compose.CheckPointStore = &fileStore{dir: "runs"}
	if inMemory {
		store = &memoryStore{data: map[string][]byte{}}
	}
	return adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent, CheckPointStore: store})
}

// repository stores by an interface of the program's, and rowStore by a function of its.
type repository interface {
	Put(id string, data []byte) error
}

type kvStore struct{ kv repository }

func (s *kvStore) Get(context.Context, string) ([]byte, bool, error) { return nil, false, nil }

func (s *kvStore) Set(_ context.Context, id string, data []byte) error { // want `checkpoints that Eino saved in this store cannot be resumed`
	return s.kv.Put(id, data)
}

type rowStore struct{}

func (rowStore) Get(context.Context, string) ([]byte, bool, error) { return nil, false, nil }

func (rowStore) Set(_ context.Context, id string, data []byte) error { // want `checkpoints that Eino saved in this store cannot be resumed`
	return write(id, data)
}

func write(id string, data []byte) error { return os.WriteFile(id, data, 0o600) }

// copying is in memory, by a function of the program's.
type copying struct{ data map[string][]byte }

func (c copying) Get(context.Context, string) ([]byte, bool, error) { return nil, false, nil }

func (c copying) Set(_ context.Context, id string, data []byte) error {
	c.data[id] = clone(data)
	return nil
}

func clone(data []byte) []byte { return append([]byte(nil), data...) }
