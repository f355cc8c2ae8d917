package nats

import (
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testServer is a server of the test's own, which can be stopped and started again.
type testServer struct {
	*server.Server
	options server.Options
}

func startServer(t testing.TB, sync bool) *testServer {
	t.Helper()
	s := &testServer{options: server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true,
		JetStream: true, StoreDir: t.TempDir(), SyncAlways: sync,
		JetStreamMaxStore: 1 << 40}} // streams reserve what they may become, however small the disk is
	s.start(t)
	s.options.Port = s.Addr().(*net.TCPAddr).Port
	t.Cleanup(s.stop)
	return s
}

func (s *testServer) start(t testing.TB) {
	t.Helper()
	options := s.options
	var err error
	s.Server, err = server.NewServer(&options)
	require.NoError(t, err)
	s.Start()
	require.True(t, s.ReadyForConnections(10*time.Second))
}

func (s *testServer) stop() {
	s.Shutdown()
	s.WaitForShutdown()
}

func connect(t testing.TB, url string) *nats.Conn {
	t.Helper()
	conn, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond),
		nats.ReconnectJitter(0, 0))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	return conn
}

var prefixesOfTests atomic.Int64

// newStore makes a store with a prefix of its own on a server, and a connection of its own.
func newStore(t testing.TB, on *testServer) *Store {
	t.Helper()
	prefix := fmt.Sprint("test", prefixesOfTests.Add(1))
	s, err := New(t.Context(), Config{Conn: connect(t, on.ClientURL()), Prefix: prefix})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}
