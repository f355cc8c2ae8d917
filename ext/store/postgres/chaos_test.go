//go:build unix

package postgres

import (
	"context"
	"strings"
	"testing"

	"github.com/weftgo/weft/adk/checkpoint/checkpointtest"
	"github.com/weftgo/weft/adk/checkpoint/sqlrun"
	"github.com/weftgo/weft/adk/dispatch/chaostest"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/runs"
)

// TestChaos: see package chaostest. make chaos runs it.
// Rule distributed/K15.
func TestChaos(t *testing.T) {
	chaostest.SkipUnlessAsked(t)
	chaostest.Run(t, openChaos, func(t *testing.T) chaostest.Place {
		s := ofTest(t)
		url := newDatabase(t, s)
		proxy := checkpointtest.StartProxy(t, "tcp", "127.0.0.1:"+s.port)
		return chaostest.Place{Where: url, Proxy: proxy, Proxied: strings.Replace(url, "127.0.0.1:"+s.port, proxy.Address(), 1)}
	})
}

func openChaos(ctx context.Context, url string) (chaostest.Opened, error) {
	store, err := Open(ctx, url)
	if err != nil {
		return chaostest.Opened{}, err
	}
	return chaostest.Opened{Close: store.Close, Tenant: func(name string) (runs.Store, runlog.Store, error) {
		runStore := store.Tenant(name)
		events, err := runStore.OpenEvents(ctx, sqlrun.EventsConfig{})
		return runStore, events, err
	}}, nil
}
