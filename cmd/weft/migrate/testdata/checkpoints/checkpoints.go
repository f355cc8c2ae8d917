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
