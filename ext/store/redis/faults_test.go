package redis

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
)

// TestStore_LosesNothingAcknowledgedWhenItsServerIsKilled, if the server writes everything to its disk.
// Rules distributed/K10, distributed/B22.
func TestStore_LosesNothingAcknowledgedWhenItsServerIsKilled(t *testing.T) {
	own, err := startServer("--appendonly", "yes", "--appendfsync", "always")
	if errors.Is(err, errNoServer) {
		t.Skip(err)
	}
	require.NoError(t, err)
	defer os.RemoveAll(own.dir)
	defer func() { own.kill() }()
	s := newStore(t, own)
	l, err := s.Acquire(t.Context(), "run", checkpoint.LeaseRequest{TTL: time.Hour, Create: &checkpoint.NewRun{}})
	require.NoError(t, err)
	acknowledged := 0
	for round := range 3 {
		for range 200 {
			require.NoError(t, l.AppendRecord(t.Context(), "run", fmt.Append(nil, acknowledged)))
			acknowledged++
		}
		own.kill()
		require.NoError(t, own.start())
		require.Eventually(t, func() bool { return l.Renew(t.Context()) == nil }, 10*time.Second, 10*time.Millisecond, "round %d", round)
	}
	records, err := s.ReadRecords(t.Context(), "run")
	require.NoError(t, err)
	require.Len(t, records, acknowledged)
	for i, r := range records {
		require.Equal(t, fmt.Sprint(i), string(r))
	}
	next, err := s.Acquire(t.Context(), "run", checkpoint.LeaseRequest{Steal: true})
	require.NoError(t, err)
	require.Greater(t, next.Token(), l.Token())
	require.ErrorIs(t, l.AppendRecord(t.Context(), "run", nil), checkpoint.ErrLeaseLost)
}

// TestStore_TokensGrowAlthoughTheServerForgetsAll.
// Rule distributed/B22.
func TestStore_TokensGrowAlthoughTheServerForgetsAll(t *testing.T) {
	s := newStore(t, nil)
	take := func() uint64 {
		l, err := s.Acquire(t.Context(), "run", checkpoint.LeaseRequest{Steal: true, Create: &checkpoint.NewRun{}})
		require.NoError(t, err)
		return l.Token()
	}
	before := take()
	time.Sleep(5 * time.Millisecond)
	require.NoError(t, s.client.Del(t.Context(), s.tokenKey(), s.runKey("run"), s.stepsKey("run")).Err())
	require.Greater(t, take(), before)
}
