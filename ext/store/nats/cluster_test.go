package nats

import (
	"fmt"
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/checkpoint/checkpointtest"
)

// startCluster starts three servers that know each other.
func startCluster(t *testing.T) (all []*testServer) {
	t.Helper()
	var routes []*url.URL
	for range 3 {
		free, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		routes = append(routes, &url.URL{Scheme: "nats", Host: free.Addr().String()})
		all = append(all, &testServer{options: server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true,
			ServerName: fmt.Sprint("server", len(all)), JetStream: true, StoreDir: t.TempDir(),
			Cluster: server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: free.Addr().(*net.TCPAddr).Port}}})
		require.NoError(t, free.Close())
	}
	for _, s := range all {
		s.options.Routes = routes
		s.start(t)
		s.options.Port = s.Addr().(*net.TCPAddr).Port
		t.Cleanup(s.stop)
	}
	require.Eventually(t, func() bool {
		for _, s := range all {
			if s.JetStreamIsLeader() && len(s.JetStreamClusterPeers()) == 3 {
				return true
			}
		}
		return false
	}, 20*time.Second, 10*time.Millisecond)
	return all
}

// newReplicatedStore makes a store with a prefix of its own on three servers, with a connection to one of them.
func newReplicatedStore(t *testing.T, on *testServer) *Store {
	t.Helper()
	s, err := New(t.Context(), Config{Conn: connect(t, on.ClientURL()), Replicas: 3,
		Prefix: fmt.Sprint("test", prefixesOfTests.Add(1))})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// TestStore_LosesNothingAcknowledgedWhenServersOfAClusterEnd one after the other, each with its disk.
// Rule distributed/K10.
func TestStore_LosesNothingAcknowledgedWhenServersOfAClusterEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("three servers take a while")
	}
	t.Parallel()
	all := startCluster(t)
	conn, err := nats.Connect(all[0].ClientURL()+","+all[1].ClientURL()+","+all[2].ClientURL(), nats.MaxReconnects(-1),
		nats.ReconnectWait(10*time.Millisecond), nats.ReconnectJitter(0, 0))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	s, err := New(t.Context(), Config{Conn: conn, Replicas: 3, AnswerIn: time.Second})
	require.NoError(t, err)
	defer s.Close()
	l := hold(t, s, "run")
	appendsDuring(t, s, l, func() {
		for _, one := range all {
			one.stop()
			time.Sleep(100 * time.Millisecond)
			one.start(t)
			require.Eventually(t, one.JetStreamIsCurrent, 30*time.Second, 10*time.Millisecond)
			time.Sleep(time.Second) // the stream is current a little later
		}
	})
}

// TestStore_ConformsInACluster of three servers, each of which answers reads, also while it lags.
func TestStore_ConformsInACluster(t *testing.T) {
	if testing.Short() {
		t.Skip("three servers take a while")
	}
	t.Parallel()
	all := startCluster(t)
	checkpointtest.Run(t, func(t *testing.T) checkpoint.Store { return newReplicatedStore(t, all[2]) })
}
