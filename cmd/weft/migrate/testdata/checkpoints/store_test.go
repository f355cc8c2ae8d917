package checkpoints

import (
	"context"
	"os"
	"testing"
)

// A store of a test ends with it.
type testStore struct{ memoryStore }

func (s *testStore) Set(_ context.Context, id string, data []byte) error {
	return os.WriteFile(id, data, 0o600)
}

func TestRunner(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := (&testStore{}).Set(t.Context(), "1", nil); err != nil {
		t.Fatal(err)
	}
}
