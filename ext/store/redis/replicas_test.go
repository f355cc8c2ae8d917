package redis

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/runs"
)

// replicated starts a server and a replica of it, and waits until the replica follows.
func replicated(t *testing.T) (primary, replica *server) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
	require.NoError(t, l.Close())
	start := func(options ...string) *server {
		own, err := startServer(append([]string{"--appendonly", "no"}, options...)...)
		if errors.Is(err, errNoServer) {
			t.Skip(err)
		}
		require.NoError(t, err)
		t.Cleanup(func() { own.kill(); os.RemoveAll(own.dir) })
		return own
	}
	primary = start("--bind", "127.0.0.1", "--port", port, "--repl-diskless-sync-delay", "0")
	replica = start("--replicaof", "127.0.0.1", port)
	client := redis.NewClient(&redis.Options{Network: "unix", Addr: primary.socket()})
	defer client.Close()
	require.Eventually(t, func() bool { return client.Do(t.Context(), "wait", 1, 100).Val() == int64(1) }, 20*time.Second, 10*time.Millisecond)
	return primary, replica
}

// TestReplicas_HaveWhatACallHasReturned: a replica that takes the place of its primary has every record, and fences.
// Rule distributed/B22.
func TestReplicas_HaveWhatACallHasReturned(t *testing.T) {
	primary, replica := replicated(t)
	conf := Config{Prefix: "shared", Replicas: 1}
	s := newStoreOf(t, &redis.Options{Network: "unix", Addr: primary.socket()}, conf)
	l, err := s.Acquire(t.Context(), "run", runs.LeaseRequest{TTL: time.Hour, Create: &runs.Spec{}})
	require.NoError(t, err)
	const records = 300
	for i := range records {
		require.NoError(t, l.AppendRecord(t.Context(), "run", fmt.Append(nil, i)))
	}
	primary.kill()

	follower := redis.NewClient(&redis.Options{Network: "unix", Addr: replica.socket()})
	defer follower.Close()
	require.NoError(t, follower.Do(t.Context(), "replicaof", "no", "one").Err())
	conf.Replicas = 0
	after := newStoreOf(t, &redis.Options{Network: "unix", Addr: replica.socket()}, conf)
	kept, err := after.ReadRecords(t.Context(), "run")
	require.NoError(t, err)
	require.Len(t, kept, records)
	next, err := after.Acquire(t.Context(), "run", runs.LeaseRequest{Steal: true})
	require.NoError(t, err)
	require.Greater(t, next.Token(), l.Token())
}

// TestReplicas_ThatDoNotFollowAreWaitedFor: a write that they do not have in time is an error, and made once nevertheless.
// Rule distributed/B22.
func TestReplicas_ThatDoNotFollowAreWaitedFor(t *testing.T) {
	primary, replica := replicated(t)
	s := newStoreOf(t, &redis.Options{Network: "unix", Addr: primary.socket()},
		Config{Replicas: 1, Patience: 100 * time.Millisecond})
	l, err := s.Acquire(t.Context(), "run", runs.LeaseRequest{TTL: time.Hour, Create: &runs.Spec{}})
	require.NoError(t, err)
	require.NoError(t, l.AppendRecord(t.Context(), "run", []byte("a")))
	require.NoError(t, replica.process.Process.Signal(syscall.SIGSTOP))
	err = l.AppendRecord(t.Context(), "run", []byte("b"))
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorContains(t, err, "too few replicas have the write (Config.Replicas): 0 of 1")

	s.patience = time.Minute
	ended := make(chan error)
	go func() { ended <- l.AppendRecord(t.Context(), "run", []byte("b")) }()
	select {
	case err := <-ended:
		require.FailNow(t, "it did not wait", "%v", err)
	case <-time.After(200 * time.Millisecond):
	}
	require.NoError(t, replica.process.Process.Signal(syscall.SIGCONT))
	require.NoError(t, <-ended)
	records, err := s.ReadRecords(t.Context(), "run")
	require.NoError(t, err)
	require.Equal(t, "[a b]", fmt.Sprintf("%s", records))
}
