package nats

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/examples/recipes/internal/desk"
	"github.com/weftgo/weft/runs"
)

// queueOf starts a server with a queue.
func queueOf(t *testing.T) (jetstream.JetStream, jetstream.Consumer) {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server does not start")
	}
	conn, err := nats.Connect(s.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "RUNS", Subjects: []string{"runs"},
		Retention: jetstream.WorkQueuePolicy})
	if err != nil {
		t.Fatal(err)
	}
	queue, err := stream.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: "workers", AckWait: time.Second,
		MaxAckPending: 64})
	if err != nil {
		t.Fatal(err)
	}
	return js, queue
}

func TestConsume_EveryOrderEnds(t *testing.T) {
	js, queue := queueOf(t)
	agent, err := desk.New(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	store := dispatch.New(checkpoint.NewMemoryStore(), dispatch.Config{Agents: dispatch.Agents{"desk": dispatch.RunnerOf(agent)}})
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	ended := make(chan error)
	go func() { ended <- Consume(ctx, queue, store) }()
	go Look(ctx, js, "runs", store)
	if err := desk.Serve(ctx, store, 10, func(id string) error { return Put(ctx, js, "runs", id) }); err != nil {
		t.Fatal(err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

// A worker that ends gives its run back behind the call that is in flight, which takes longer than the server waits
// without a sign of life.
func TestConsume_AWorkerThatEndsGivesItsRunBack(t *testing.T) {
	js, queue := queueOf(t)
	agent, calls, err := desk.NewSlow(t.Context(), 2500*time.Millisecond, 2)
	if err != nil {
		t.Fatal(err)
	}
	store := dispatch.New(checkpoint.NewMemoryStore(), dispatch.Config{Agents: dispatch.Agents{"desk": dispatch.RunnerOf(agent)}})
	if _, err := store.Submit(t.Context(), desk.Job("r")); err != nil {
		t.Fatal(err)
	}
	if err := Put(t.Context(), js, "runs", "r"); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		for calls.Load() == 0 {
			time.Sleep(time.Millisecond)
		}
		stop()
	}()
	if err := Consume(ctx, queue, store); err != nil {
		t.Fatal(err)
	}
	info, _, err := store.Inspect(t.Context(), "r")
	if err != nil || info.Status != runs.Ready || calls.Load() != 1 {
		t.Fatalf("%s after %d calls: %v", info.Status, calls.Load(), err)
	}
	ctx, stop = context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- Consume(ctx, queue, store) }()
	for o, err := store.Wait(ctx, "r"); o.Status != runs.Done; o, err = store.Wait(ctx, "r") {
		if err != nil {
			t.Fatal(err)
		}
	}
	stop()
	if err := <-ended; err != nil || calls.Load() != 2 {
		t.Fatalf("%d calls: %v", calls.Load(), err)
	}
}
