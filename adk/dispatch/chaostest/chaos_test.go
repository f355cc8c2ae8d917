//go:build unix

package chaostest_test

import (
	"context"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/dispatch/chaostest"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/runs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestChaos_InMemory has workers that are drained, as there is one process.
// Rule distributed/K15.
func TestChaos_InMemory(t *testing.T) {
	var store *checkpoint.MemoryStore
	var events map[string]runlog.Store
	open := func(context.Context, string) (chaostest.Opened, error) {
		return chaostest.Opened{Tenant: func(name string) (runs.Store, runlog.Store, error) {
			return checkpoint.Scope(store, name), events[name], nil
		}}, nil
	}
	chaostest.Run(t, open, func(*testing.T) chaostest.Place {
		store = checkpoint.NewMemoryStore()
		events = map[string]runlog.Store{"acme": runlog.NewMemoryStore(), "globex": runlog.NewMemoryStore()}
		return chaostest.Place{Inside: true}
	})
}

// TestChaos_Files has workers that are killed and frozen, too.
// Rule distributed/K15.
func TestChaos_Files(t *testing.T) {
	chaostest.SkipUnlessAsked(t)
	chaostest.Run(t, openFiles, func(t *testing.T) chaostest.Place { return chaostest.Place{Where: t.TempDir()} })
}

func openFiles(_ context.Context, dir string) (chaostest.Opened, error) {
	store, err := checkpoint.NewFileStore(filepath.Join(dir, "runs"))
	return chaostest.Opened{Tenant: func(name string) (runs.Store, runlog.Store, error) {
		events, err := runlog.NewFileStore(filepath.Join(dir, "events", name))
		return checkpoint.Scope(store, name), events, err
	}}, err
}
