package main

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/examples/recipes/internal/desk"
	"github.com/weftgo/weft/runs"
)

// redisServer starts a server, and returns its address.
func redisServer(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("there is no redis-server: install the package redis-server")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	listener.Close()
	server := exec.Command("redis-server", "--port", fmt.Sprint(port), "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir())
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	address := fmt.Sprint("127.0.0.1:", port)
	for range 100 {
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	return address
}

func TestServe_EveryOrderEnds(t *testing.T) {
	address := redisServer(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := serve(ctx, t.TempDir(), address, 10); err != nil {
		t.Fatal(err)
	}
}

// A server that is shut down gives its run back behind the call that is in flight.
func TestHandler_GivesRunsBackWhenTheServerEnds(t *testing.T) {
	at := asynq.RedisClientOpt{Addr: redisServer(t)}
	agent, calls, err := desk.NewSlow(t.Context(), time.Second, 20)
	if err != nil {
		t.Fatal(err)
	}
	store := dispatch.New(checkpoint.NewMemoryStore(), dispatch.Config{Agents: dispatch.Agents{"desk": dispatch.RunnerOf(agent)}})
	queue := asynq.NewClient(at)
	defer queue.Close()
	ends := make(chan struct{})
	server := asynq.NewServer(at, asynq.Config{ShutdownTimeout: 10 * time.Second, LogLevel: asynq.FatalLevel,
		TaskCheckInterval: 100 * time.Millisecond})
	if err := server.Start(handler(store, queue, ends)); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Submit(t.Context(), desk.Job("r")); err != nil {
		t.Fatal(err)
	}
	if err := put(t.Context(), queue, "r", 0); err != nil {
		t.Fatal(err)
	}
	for calls.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	close(ends)
	server.Shutdown()
	info, _, err := store.Inspect(t.Context(), "r")
	if err != nil || info.Status != runs.Ready || calls.Load() != 1 {
		t.Fatalf("%s after %d calls: %v", info.Status, calls.Load(), err)
	}
}
