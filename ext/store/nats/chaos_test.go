//go:build unix

package nats

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

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
		s := startServer(t, false)
		proxy := checkpointtest.StartProxy(t, "tcp", s.Addr().String())
		return chaostest.Place{Where: s.ClientURL(), Proxy: proxy, Proxied: "nats://" + proxy.Address()}
	})
}

func openChaos(ctx context.Context, url string) (opened chaostest.Opened, err error) {
	conn, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond), nats.ReconnectJitter(0, 0))
	if err != nil {
		return opened, err
	}
	store, err := New(ctx, Config{Conn: conn})
	if err != nil {
		conn.Close()
		return opened, err
	}
	var events []*Events
	opened.Tenant = func(name string) (runs.Store, runlog.Store, error) {
		runStore := store.Tenant(name)
		of, err := runStore.OpenEvents(ctx, EventsConfig{})
		if err == nil {
			events = append(events, of)
		}
		return runStore, of, err
	}
	opened.Close = func() error {
		defer conn.Close()
		var errs []error
		for _, of := range events {
			errs = append(errs, of.Close())
		}
		return errors.Join(append(errs, store.Close())...)
	}
	return opened, nil
}
