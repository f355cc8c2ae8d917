package redis

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// server is a Redis on a socket of its own, in a folder of its own.
type server struct {
	dir     string
	options []string
	process *exec.Cmd
}

var shared = sync.OnceValues(func() (*server, error) { return startServer("--appendonly", "no") })

var errNoServer = errors.New("there is no redis-server: install the package redis-server")

func startServer(options ...string) (*server, error) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		return nil, errNoServer
	}
	dir, err := os.MkdirTemp("", "weft-redis")
	if err != nil {
		return nil, err
	}
	s := &server{dir: dir, options: options}
	return s, s.start()
}

func (s *server) socket() string { return filepath.Join(s.dir, "s") }

func (s *server) start() error {
	args := append([]string{"--port", "0", "--unixsocket", s.socket(), "--dir", s.dir, "--save", ""}, s.options...)
	s.process = exec.Command("redis-server", args...)
	return s.process.Start()
}

func (s *server) kill() {
	_ = s.process.Process.Kill()
	_ = s.process.Wait()
}

func TestMain(m *testing.M) {
	logging.Disable() // clients log that they cannot reach servers which tests have killed
	code := m.Run()
	if s, err := shared(); err == nil {
		s.kill()
		os.RemoveAll(s.dir)
	}
	if code == 0 {
		// A client that cannot reach its server tries again in the background, up to a second after it was closed.
		err := goleak.Find(goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

var prefixes atomic.Int64

// newStore makes a store with a prefix of its own on a server, the shared one if it is nil.
func newStore(t testing.TB, on *server) *Store {
	t.Helper()
	if on == nil {
		var err error
		if on, err = shared(); errors.Is(err, errNoServer) {
			t.Skip(err)
		} else {
			require.NoError(t, err)
		}
	}
	return newStoreOf(t, &redis.Options{Network: "unix", Addr: on.socket()}, Config{})
}

// newStoreOf makes a store with a prefix of its own, unless conf has one, and a client of its own.
func newStoreOf(t testing.TB, options *redis.Options, conf Config) *Store {
	t.Helper()
	client := redis.NewClient(options)
	t.Cleanup(func() { client.Close() })
	require.Eventually(t, func() bool { return client.Ping(t.Context()).Err() == nil }, 10*time.Second, 5*time.Millisecond)
	conf.Client = client
	if conf.Prefix == "" {
		conf.Prefix = fmt.Sprint("test", prefixes.Add(1))
	}
	s, err := New(t.Context(), conf)
	require.NoError(t, err)
	return s
}
