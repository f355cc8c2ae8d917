package postgres

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/checkpoint/checkpointtest"
	"github.com/weftgo/weft/runs"
)

// startBouncer puts a PgBouncer before the server that gives every transaction any connection, and returns its port.
func startBouncer(t *testing.T, s *server) (port string) {
	t.Helper()
	program := "/usr/sbin/pgbouncer"
	if _, err := os.Stat(program); err != nil {
		if program, err = exec.LookPath("pgbouncer"); err != nil {
			t.Skip("PgBouncer is not installed: install the package pgbouncer")
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, port, _ = net.SplitHostPort(l.Addr().String())
	l.Close()
	conf := filepath.Join(s.dir, "bouncer"+port+".ini")
	require.NoError(t, os.WriteFile(conf, []byte(fmt.Sprintf(`[databases]
* = host=127.0.0.1 port=%s user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %s
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 4
max_client_conn = 200
server_lifetime = 1
`, s.port, port)), 0o644))
	bouncer := exec.Command(program, conf)
	bouncer.SysProcAttr = s.as
	var said bytes.Buffer
	bouncer.Stderr = &said
	require.NoError(t, bouncer.Start())
	ended := make(chan error, 1)
	go func() { ended <- bouncer.Wait() }()
	t.Cleanup(func() {
		select {
		case err := <-ended:
			t.Errorf("PgBouncer has ended by itself: %v\n%s", err, said.String())
			return
		default:
		}
		_ = bouncer.Process.Signal(syscall.SIGKILL)
		<-ended
	})
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		conn, err := pgx.Connect(ctx, strings.Replace(s.url("postgres"), s.port, port, 1))
		if err != nil {
			return false
		}
		return conn.Close(ctx) == nil
	}, 10*time.Second, 50*time.Millisecond, "PgBouncer does not answer")
	if version, _ := exec.Command(program, "--version").Output(); bytes.HasPrefix(version, []byte("PgBouncer 1.18.")) {
		return withoutCancels(t, port)
	}
	return port
}

// withoutCancels puts a proxy before a PgBouncer that does not pass on requests to cancel a query, and returns its port.
// PgBouncer 1.18, which Debian 12 has, ends itself where a server answers while it sends such a request: "server_proto:
// server in bad state: 11". pgx makes one wherever a context ends in the middle of a query.
func withoutCancels(t *testing.T, bouncer string) (port string) {
	t.Helper()
	const cancelRequest = 80877102 // PostgreSQL 15, 55.7 Message Formats
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var conns sync.WaitGroup
	pass := func(client net.Conn) {
		defer client.Close()
		head := make([]byte, 8)
		if _, err := io.ReadFull(client, head); err != nil || binary.BigEndian.Uint32(head[4:]) == cancelRequest {
			return
		}
		server, err := net.Dial("tcp", "127.0.0.1:"+bouncer)
		if err != nil {
			return
		}
		conns.Go(func() {
			defer server.Close()
			if _, err := server.Write(head); err == nil {
				_, _ = io.Copy(server, client)
			}
		})
		_, _ = io.Copy(client, server)
	}
	conns.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			conns.Go(func() { pass(client) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		conns.Wait() // the stores are closed
	})
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return port
}

// TestStore_BehindPgBouncer: no call needs the connection that an earlier one had.
// Rule distributed/B5.
func TestStore_BehindPgBouncer(t *testing.T) {
	if testing.Short() {
		t.Skip("the whole suite once more takes a minute: left out with -short")
	}
	own := ofTest(t)
	port := startBouncer(t, own)
	checkpointtest.Run(t, func(t *testing.T) checkpoint.Store {
		direct := newDatabase(t, own)
		s, err := New(t.Context(), Config{URL: strings.Replace(direct, own.port, port, 1), ListenURL: direct})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		return s
	})
}

// TestStore_WorkersBehindPgBouncerAreWoken, by the connection that listens, which goes around it.
func TestStore_WorkersBehindPgBouncerAreWoken(t *testing.T) {
	own := ofTest(t)
	port := startBouncer(t, own)
	direct := newDatabase(t, own)
	open := func() *Store {
		s, err := New(t.Context(), Config{URL: strings.Replace(direct, own.port, port, 1), ListenURL: direct})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		return s
	}
	sleeper, other := open(), open()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	woke := sleeper.Wake(ctx, runs.Due{})
	var n atomic.Int64
	require.Eventually(t, func() bool {
		_, err := other.Submit(t.Context(), fmt.Sprint(n.Add(1)), runs.Spec{})
		if err != nil && !errors.Is(err, runs.ErrExists) {
			return false
		}
		select {
		case <-woke:
			return true
		case <-time.After(200 * time.Millisecond):
			return false
		}
	}, 10*time.Second, time.Millisecond)
}
