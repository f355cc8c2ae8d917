package redis

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"
)

// server is the server of all tests; the first that asks starts it.
var server = sync.OnceValues(startServer)

// A running server listens on a socket in a folder of its own. Without a socket there is none on this machine.
type running struct {
	socket string
	stop   func()
}

func startServer() (running, error) {
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		return running{}, nil
	}
	dir, err := os.MkdirTemp("", "redis")
	if err != nil {
		return running{}, err
	}
	socket := filepath.Join(dir, "s")
	cmd := exec.Command(binary, "--port", "0", "--unixsocket", socket, "--dir", dir, "--save", "", "--appendonly", "no")
	if err := cmd.Start(); err != nil {
		return running{}, err
	}
	return running{socket: socket, stop: func() {
		cmd.Process.Signal(os.Interrupt)
		cmd.Wait()
		os.RemoveAll(dir)
	}}, nil
}

func TestMain(m *testing.M) {
	code := m.Run()
	if s, err := server(); err == nil && s.stop != nil {
		s.stop()
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// newClient connects to the real server, whose data is removed after the test.
func newClient(t testing.TB) *redis.Client {
	t.Helper()
	s, err := server()
	if err != nil {
		t.Fatal(err)
	}
	if s.socket == "" {
		t.Skip("redis-server is not installed")
	}
	client := redis.NewClient(&redis.Options{Network: "unix", Addr: s.socket})
	t.Cleanup(func() { client.Close() })
	deadline := time.Now().Add(10 * time.Second)
	for client.Ping(t.Context()).Err() != nil { // it has just been started
		if time.Now().After(deadline) {
			t.Fatal("redis-server does not answer")
		}
		time.Sleep(5 * time.Millisecond)
	}
	if err := client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	return client
}
