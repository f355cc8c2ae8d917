// Command river has River execute runs: a job is the ID of a run.
//
//	go run ./river -dir /tmp/river
//
// It uses SQLite for both. With PostgreSQL, take ext/store/postgres and riverpgxv5, and submit run and job in one
// transaction: Store.SubmitTx, and Client.InsertTx.
package main

import (
	"context"
	"database/sql"
	"flag"
	"log"
	"path/filepath"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	_ "modernc.org/sqlite"

	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/examples/recipes"
	"github.com/weftgo/weft/examples/recipes/internal/desk"
	"github.com/weftgo/weft/ext/store/sqlite"
)

// Run is the job that executes a run.
type Run struct {
	ID string `json:"id"`
}

// Kind names the job in River's tables.
func (Run) Kind() string { return "weft_run" }

// Worker executes runs. River sees no failure of a run: that is in the store of runs, and tried again as Config.Retry says.
type Worker struct {
	river.WorkerDefaults[Run]
	Runs *dispatch.Dispatcher
}

// Timeout is none: a run ends when it has ended. A worker that is stopped settles the run as ready.
func (*Worker) Timeout(*river.Job[Run]) time.Duration { return -1 }

// Work executes a stretch.
func (w *Worker) Work(ctx context.Context, job *river.Job[Run]) error {
	drain := dispatch.WithDrain(ctx.Done(), 25*time.Second)
	after, again, err := recipes.Next(w.Runs.Execute(context.WithoutCancel(ctx), job.Args.ID, drain))
	if err == nil && again {
		return river.JobSnooze(after)
	}
	return err
}

// Look is the job that puts runs into the queue that are due and not in it: River finds out after an hour that a worker
// has died, and the lease of a run after half a minute.
type Look struct{}

// Kind names the job in River's tables.
func (Look) Kind() string { return "weft_look" }

type lookout struct {
	river.WorkerDefaults[Look]
	runs *dispatch.Dispatcher
}

func (w *lookout) Work(ctx context.Context, _ *river.Job[Look]) error {
	ids, err := recipes.Due(ctx, w.runs)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if _, err := river.ClientFromContext[*sql.Tx](ctx).Insert(ctx, Run{id}, nil); err != nil {
			return err
		}
	}
	return nil
}

// Queue makes the client of a worker.
func Queue(ctx context.Context, db *sql.DB, store *dispatch.Dispatcher) (*river.Client[*sql.Tx], error) {
	driver := riversqlite.New(db)
	migrator, err := rivermigrate.New(driver, nil)
	if err == nil {
		_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	}
	if err != nil {
		return nil, err
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, &Worker{Runs: store})
	river.AddWorker(workers, &lookout{runs: store})
	return river.NewClient(driver, &river.Config{
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 64}},
		Workers:           workers,
		FetchPollInterval: 100 * time.Millisecond,
		PeriodicJobs: []*river.PeriodicJob{river.NewPeriodicJob(river.PeriodicInterval(10*time.Second),
			func() (river.JobArgs, *river.InsertOpts) { return Look{}, nil }, nil)},
	})
}

func main() {
	dir := flag.String("dir", ".", "where the databases are")
	flag.Parse()
	if err := serve(context.Background(), *dir, 10); err != nil {
		log.Fatal(err)
	}
}

// open opens the database of River.
func open(file string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", file+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)")
	if err == nil {
		db.SetMaxOpenConns(1)
	}
	return db, err
}

// serve executes some runs, answers what they ask, and returns when they have ended.
func serve(ctx context.Context, dir string, n int) error {
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
	db, err := open(filepath.Join(dir, "river.db"))
	if err != nil {
		return err
	}
	defer db.Close()
	queue, err := Queue(ctx, db, runStore)
	if err != nil {
		return err
	}
	if err := queue.Start(ctx); err != nil {
		return err
	}
	// It ends the contexts of jobs, so that runs stop at a safe point; Stop would wait until they have ended.
	defer queue.StopAndCancel(context.WithoutCancel(ctx))
	return desk.Serve(ctx, runStore, n, func(id string) error {
		_, err := queue.Insert(ctx, Run{id}, nil)
		return err
	})
}
