//go:build unix

package sqlite

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/weftgo/weft/adk/checkpoint/sqlrun"
	"github.com/weftgo/weft/adk/dispatch/chaostest"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/runs"
)

// TestChaos: see package chaostest.
// Rule distributed/K15.
func TestChaos(t *testing.T) {
	chaostest.SkipUnlessAsked(t)
	chaostest.Run(t, openChaos, func(t *testing.T) chaostest.Place {
		return chaostest.Place{Where: filepath.Join(t.TempDir(), "runs.db")}
	})
}

func openChaos(ctx context.Context, path string) (chaostest.Opened, error) {
	store, err := Open(ctx, path)
	if err != nil {
		return chaostest.Opened{}, err
	}
	return chaostest.Opened{Close: store.Close, Tenant: func(name string) (runs.Store, runlog.Store, error) {
		runStore := store.Tenant(name)
		events, err := runStore.OpenEvents(ctx, sqlrun.EventsConfig{})
		return runStore, events, err
	}}, nil
}
