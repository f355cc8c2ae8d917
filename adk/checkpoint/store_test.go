package checkpoint_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/checkpoint/checkpointtest"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/runs"
)

var (
	_ adk.CheckPointStore     = (*checkpoint.FileStore)(nil)
	_ adk.CheckPointDeleter   = (*checkpoint.FileStore)(nil)
	_ compose.CheckPointStore = (*checkpoint.MemoryStore)(nil)
)

func TestMemoryStore_Conforms(t *testing.T) {
	conformsInMemory(t, func(s *clockedStore) checkpoint.Store { return s })
}

// conformsInMemory tests what wrap makes of a MemoryStore, whose time passes at once.
func conformsInMemory(t *testing.T, wrap func(*clockedStore) checkpoint.Store) {
	t.Helper()
	clocks := map[checkpoint.Store]*clockedStore{}
	checkpointtest.RunWith(t, checkpointtest.Options{
		New: func(*testing.T) checkpoint.Store {
			c, began := &clockedStore{MemoryStore: checkpoint.NewMemoryStore()}, time.Now()
			c.Clock = func() time.Time { return began.Add(time.Duration(c.passed.Load())) }
			wrapped := wrap(c)
			clocks[wrapped] = c
			return wrapped
		},
		Advance: func(store checkpoint.Store, d time.Duration) { clocks[store].passed.Add(int64(d)) },
	})
}

// clockedStore is a MemoryStore with a clock that a test moves.
type clockedStore struct {
	*checkpoint.MemoryStore
	passed atomic.Int64 // nanoseconds
}

func TestFileStore_Conforms(t *testing.T) {
	dirs := map[checkpoint.Store]string{}
	checkpointtest.RunWith(t, checkpointtest.Options{
		New: func(t *testing.T) checkpoint.Store {
			dir := t.TempDir()
			store, err := checkpoint.NewFileStore(dir)
			require.NoError(t, err)
			dirs[store] = dir
			return store
		},
		Damage: func(t *testing.T, store checkpoint.Store, id string) {
			rows, err := filepath.Glob(filepath.Join(dirs[store], id+"=*.run"))
			require.NoError(t, err)
			require.Len(t, rows, 1)
			data, err := os.ReadFile(rows[0])
			require.NoError(t, err)
			data[len(data)/2] ^= 1
			require.NoError(t, os.WriteFile(rows[0], data, 0o600))
		},
	})
}

// TestFileStore_ConformsAcrossStores: what one store on a directory writes, another one reads, as in two processes.
func TestFileStore_ConformsAcrossStores(t *testing.T) {
	checkpointtest.Run(t, func(t *testing.T) checkpoint.Store {
		dir := t.TempDir()
		one, err := checkpoint.NewFileStore(dir)
		require.NoError(t, err)
		two, err := checkpoint.NewFileStore(dir)
		require.NoError(t, err)
		return &alternating{one: one, two: two}
	})
}

// alternating uses two stores on one directory in turns.
type alternating struct {
	one, two *checkpoint.FileStore
	turn     atomic.Int64
}

func (a *alternating) next() *checkpoint.FileStore {
	if a.turn.Add(1)%2 == 0 {
		return a.one
	}
	return a.two
}

func (a *alternating) Get(ctx context.Context, id string) ([]byte, bool, error) {
	return a.next().Get(ctx, id)
}
func (a *alternating) Set(ctx context.Context, id string, b []byte) error {
	return a.next().Set(ctx, id, b)
}
func (a *alternating) Delete(ctx context.Context, id string) error { return a.next().Delete(ctx, id) }
func (a *alternating) AppendRecord(ctx context.Context, id string, r []byte) error {
	return a.next().AppendRecord(ctx, id, r)
}
func (a *alternating) ReadRecords(ctx context.Context, id string) ([][]byte, error) {
	return a.next().ReadRecords(ctx, id)
}
func (a *alternating) RemoveRecords(ctx context.Context, id string) error {
	return a.next().RemoveRecords(ctx, id)
}

func TestMemoryStore_ZeroValueIsEmpty(t *testing.T) {
	var store checkpoint.MemoryStore
	require.NoError(t, store.Set(t.Context(), "id", []byte("x")))
	got, ok, err := store.Get(t.Context(), "id")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "x", string(got))
}

func TestErrors_NameTheID(t *testing.T) {
	file, err := checkpoint.NewFileStore(t.TempDir())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, s := range map[string]interface {
		checkpoint.Store
		checkpoint.Deleter
		runs.Journal
	}{"memory": checkpoint.NewMemoryStore(), "file": file} {
		t.Run(name, func(t *testing.T) {
			_, _, getErr := s.Get(ctx, "the\nid")
			_, readErr := s.ReadRecords(ctx, "the\nid")
			for _, err := range []error{
				getErr, s.Set(ctx, "the\nid", nil), s.Delete(ctx, "the\nid"),
				readErr, s.AppendRecord(ctx, "the\nid", nil), s.RemoveRecords(ctx, "the\nid"),
			} {
				require.ErrorIs(t, err, context.Canceled)
				require.ErrorContains(t, err, `checkpoint "the\nid"`)
			}
			err := s.Set(ctx, strings.Repeat("x", 1<<20), nil)
			require.ErrorContains(t, err, "(1048576 bytes)")
			require.Less(t, len(err.Error()), 200)
		})
	}
}
