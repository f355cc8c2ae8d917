//go:build unix

package redis

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint/checkpointtest"
	"github.com/weftgo/weft/adk/dispatch/chaostest"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/runs"
)

// TestChaos: see package chaostest. make chaos runs it.
// Rule distributed/K15.
func TestChaos(t *testing.T) {
	chaostest.SkipUnlessAsked(t)
	chaostest.Run(t, openChaos, func(t *testing.T) chaostest.Place {
		s, err := shared()
		if errors.Is(err, errNoServer) {
			t.Skip(err)
		}
		require.NoError(t, err)
		proxy := checkpointtest.StartProxy(t, "unix", s.socket())
		far := checkpointtest.StartProxy(t, "unix", s.socket())
		far.Lag(time.Millisecond)
		prefix := fmt.Sprint("chaos", prefixes.Add(1))
		return chaostest.Place{Where: fmt.Sprintf("tcp %s %s", far.Address(), prefix), Proxy: proxy,
			Proxied: fmt.Sprintf("tcp %s %s", proxy.Address(), prefix)}
	})
}

// openChaos opens the store of a network, an address, and a prefix.
func openChaos(ctx context.Context, where string) (opened chaostest.Opened, err error) {
	var network, address, prefix string
	if _, err := fmt.Sscan(where, &network, &address, &prefix); err != nil {
		return opened, err
	}
	client := redis.NewClient(&redis.Options{Network: network, Addr: address})
	store, err := New(ctx, Config{Client: client, Prefix: prefix})
	if err != nil {
		return opened, errors.Join(err, client.Close())
	}
	return chaostest.Opened{Close: client.Close, Tenant: func(name string) (runs.Store, runlog.Store, error) {
		runStore := store.Tenant(name)
		return runStore, runStore.OpenEvents(), nil
	}}, nil
}
