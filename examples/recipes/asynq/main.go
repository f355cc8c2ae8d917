// Command asynq has asynq execute runs: a task is the ID of a run.
//
//	go run ./asynq -redis 127.0.0.1:6379 -dir /tmp/asynq
//
// The runs are in SQLite here; ext/store/redis and ext/store/postgres do as well.
package main

import (
	"context"
	"flag"
	"log"
	"path/filepath"
	"time"

	"github.com/hibiken/asynq"

	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/examples/recipes"
	"github.com/weftgo/weft/examples/recipes/internal/desk"
	"github.com/weftgo/weft/ext/store/sqlite"
)

// Types of tasks.
const (
	taskRun  = "weft:run"
	taskLook = "weft:look"
)

// put puts a run into the queue, to be looked at after a while. asynq takes a task back from a worker that has died; that
// it tries one again is for errors of the store: the retries of runs are in the store of runs.
func put(ctx context.Context, queue *asynq.Client, id string, after time.Duration) error {
	_, err := queue.EnqueueContext(ctx, asynq.NewTask(taskRun, []byte(id)), asynq.ProcessIn(after),
		asynq.Timeout(24*time.Hour), asynq.MaxRetry(100))
	return err
}

// handler executes runs until ends is closed, which is before the server is shut down: then they stop at the next safe
// point. asynq ends the context of a task only when its ShutdownTimeout is over, which is too late for that.
func handler(store *dispatch.Dispatcher, queue *asynq.Client, ends <-chan struct{}) asynq.Handler {
	mux := asynq.NewServeMux()
	mux.HandleFunc(taskRun, func(ctx context.Context, task *asynq.Task) error {
		id := string(task.Payload())
		drain := dispatch.WithDrain(ends, 25*time.Second) // less than the ShutdownTimeout
		after, again, err := recipes.Next(store.Execute(ctx, id, drain))
		if err == nil && again {
			return put(context.WithoutCancel(ctx), queue, id, after)
		}
		return err
	})
	mux.HandleFunc(taskLook, func(ctx context.Context, _ *asynq.Task) error { // what the queue has forgotten
		ids, err := recipes.Due(ctx, store)
		for _, id := range ids {
			if err == nil {
				err = put(ctx, queue, id, 0)
			}
		}
		return err
	})
	return mux
}

func main() {
	dir := flag.String("dir", ".", "where the database of runs is")
	redis := flag.String("redis", "127.0.0.1:6379", "address of Redis")
	flag.Parse()
	if err := serve(context.Background(), *dir, *redis, 10); err != nil {
		log.Fatal(err)
	}
}

// serve executes some runs, answers what they ask, and returns when they have ended.
func serve(ctx context.Context, dir, redis string, n int) error {
	store, err := sqlite.Open(ctx, filepath.Join(dir, "runs.db"))
	if err != nil {
		return err
	}
	defer store.Close()
	agent, err := desk.New(ctx)
	if err != nil {
		return err
	}
	runStore := dispatch.New(store, dispatch.Config{Agents: dispatch.Agents{"desk": dispatch.RunnerOf(agent)}})
	at := asynq.RedisClientOpt{Addr: redis}
	queue := asynq.NewClient(at)
	defer queue.Close()
	server := asynq.NewServer(at, asynq.Config{Concurrency: 64, ShutdownTimeout: 30 * time.Second, LogLevel: asynq.WarnLevel,
		TaskCheckInterval: 100 * time.Millisecond, DelayedTaskCheckInterval: time.Second})
	ends := make(chan struct{})
	if err := server.Start(handler(runStore, queue, ends)); err != nil {
		return err
	}
	defer server.Shutdown()
	defer close(ends)
	clock := asynq.NewScheduler(at, &asynq.SchedulerOpts{LogLevel: asynq.WarnLevel})
	if _, err := clock.Register("@every 10s", asynq.NewTask(taskLook, nil), asynq.Unique(10*time.Second)); err != nil {
		return err
	}
	if err := clock.Start(); err != nil {
		return err
	}
	defer clock.Shutdown()
	return desk.Serve(ctx, runStore, n, func(id string) error { return put(ctx, queue, id, 0) })
}
