package nats

import (
	"bytes"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint/checkpointtest"
	"github.com/weftgo/weft/runs"
)

// cutting dials connections that end at one of the writes of messages of a store, when some of that was sent.
type cutting struct {
	subject []byte
	// sent returns the part of the write that is sent before.
	sent func(data []byte) []byte

	mu sync.Mutex // guards the fields below
	// at is the write at which the connection ends, 0 for none, and writes how many there were since that was set.
	at, writes int
}

func (c *cutting) fail(step int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at, c.writes = step, 0
}

func (c *cutting) mend() (bool, runs.Store) {
	c.mu.Lock()
	defer c.mu.Unlock()
	reached := c.at > 0 && c.writes >= c.at
	c.at = 0
	return reached, nil
}

func (c *cutting) Dial(network, address string) (net.Conn, error) {
	conn, err := net.Dial(network, address)
	return &cutConn{conn, c}, err
}

type cutConn struct {
	net.Conn
	c *cutting
}

func (c *cutConn) Write(data []byte) (int, error) {
	if !bytes.Contains(data, c.c.subject) || !c.isDue() {
		return c.Conn.Write(data)
	}
	_, _ = c.Conn.Write(c.c.sent(data))
	// The server reads what was sent before the connection ends. Its answer is not read.
	_ = c.Conn.(*net.TCPConn).CloseWrite()
	return 0, net.ErrClosed
}

func (c *cutConn) isDue() bool {
	c.c.mu.Lock()
	defer c.c.mu.Unlock()
	c.c.writes++
	return c.c.writes == c.c.at
}

// TestStore_IsWholeWhereverAConnectionEnds: before, in and behind each write.
// Rules distributed/K2, distributed/K11.
func TestStore_IsWholeWhereverAConnectionEnds(t *testing.T) {
	on := startServer(t, false)
	for name, sent := range map[string]func([]byte) []byte{
		"before": func([]byte) []byte { return nil },
		"in":     func(data []byte) []byte { return data[:len(data)/2] },
		"behind": func(data []byte) []byte { return data },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &cutting{sent: sent}
			prefix := newStore(t, on).prefix
			c.subject = []byte("HPUB " + prefix + ".")
			conn, err := nats.Connect(on.ClientURL(), nats.MaxReconnects(-1), nats.ReconnectWait(time.Millisecond),
				nats.ReconnectJitter(0, 0), nats.SetCustomDialer(c),
				nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
			require.NoError(t, err)
			t.Cleanup(conn.Close)
			s, err := New(t.Context(), Config{Conn: conn, Prefix: prefix, AnswerIn: 50 * time.Millisecond})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, s.Close()) })
			checkpointtest.EveryStep(t, checkpointtest.Steps{Store: s, Fail: c.fail, Mend: c.mend})
		})
	}
}

// TestStore_RunsContinueWhenThereIsRoom: the stream has as many bytes as it may.
// Rule distributed/K2.
func TestStore_RunsContinueWhenThereIsRoom(t *testing.T) {
	s := newStore(t, startServer(t, false))
	js, err := jetstream.New(s.wire.conn)
	require.NoError(t, err)
	adktest.OutOfRoom(t, s, func(full bool) {
		stream, err := js.Stream(t.Context(), s.prefix)
		require.NoError(t, err)
		conf := stream.CachedInfo().Config
		conf.MaxBytes, conf.Discard = -1, jetstream.DiscardNew
		if full {
			conf.MaxBytes = int64(stream.CachedInfo().State.Bytes)
		}
		_, err = js.UpdateStream(t.Context(), conf)
		require.NoError(t, err)
	})
}
