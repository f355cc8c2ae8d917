// Command workers has three worker processes execute runs that pay, ask for approval, hand over and wait for runs of
// other agents, while it kills and freezes the workers at random. In the end every order has been paid once.
//
//	go run ./examples/workers
//	go run ./examples/workers -runs 500
//	go run ./examples/workers -store postgres://user:password@localhost/database
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/examples/internal/demo"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

func main() {
	orders := flag.Int("runs", 30, "how many orders there are")
	workers := flag.Int("workers", 3, "how many processes execute them")
	calm := flag.Bool("calm", false, "kill and freeze nobody")
	where := flag.String("store", "", "where the runs are: an SQLite file, or the URL of an empty PostgreSQL database; default a new file")
	bankURL := flag.String("bank", "", "be a worker, whose payments go to this bank")
	flag.Parse()
	var err error
	if *bankURL != "" {
		err = work(*where, *bankURL)
	} else {
		err = office(context.Background(), *where, *orders, *workers, *calm)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// office submits the orders, approves what asks for it, and waits until all have ended.
func office(ctx context.Context, where string, count, workers int, calm bool) error {
	demo.Banner(os.Stderr)
	if where == "" {
		dir, err := os.MkdirTemp("", "weft-workers")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		where = filepath.Join(dir, "runs.db")
	}
	store, err := openStore(ctx, where)
	if err != nil {
		return err
	}
	defer store.Close()
	b := newBank()
	server := httptest.NewServer(b)
	defer server.Close()

	d := dispatch.New(store, dispatch.Config{})
	begun := time.Now()
	for n := range count {
		id := orderID(n)
		_, err := d.Submit(ctx, dispatch.Job{ID: id, Agent: "desk", SessionValues: map[string]any{"order": id},
			Messages: []*schema.Message{schema.UserMessage("Two tickets, please.")}})
		if err != nil {
			return err
		}
	}
	p := &pool{store: where, bank: server.URL}
	if err := p.start(workers); err != nil {
		return errors.Join(err, p.stop())
	}
	approved, err := approveAll(ctx, d, count, p, calm)
	took := time.Since(begun)
	if err := errors.Join(err, p.stop()); err != nil {
		return err
	}
	fmt.Printf("%d orders have ended in %s: %d workers were killed, and %d frozen.\n", count, took.Round(100*time.Millisecond),
		p.killed, p.frozen)
	return report(ctx, d, b, count, approved)
}

func orderID(n int) string { return fmt.Sprintf("order-%03d", n) }

// approveAll disturbs the workers, and answers what orders ask, until all have ended. It returns how often each order was
// approved: one that is asked about again has lost an answer.
func approveAll(ctx context.Context, d *dispatch.Dispatcher, count int, p *pool, calm bool) (approved map[string]int, err error) {
	approved = map[string]int{}
	for last := time.Now(); ; {
		ended := 0
		for info, err := range d.List(ctx, runs.Query{Agent: "desk"}) {
			if err != nil {
				return nil, err
			}
			if info.Status == runs.Done || info.Status == runs.Failed {
				ended++
			}
			for _, q := range info.Waiting {
				if info.Status != runs.Waiting || q.Answered || q.Kind != runs.KindQuestion {
					continue
				}
				reply := q.Reply(runs.JSONReply("true"))
				reply.By = "ana"
				switch err := d.Reply(ctx, info.ID, reply); {
				case err == nil:
					approved[info.ID]++
				case !errors.Is(err, runs.ErrNotWaiting):
					return nil, err
				}
			}
		}
		if ended == count {
			return approved, nil
		}
		if !calm && time.Since(last) > 400*time.Millisecond {
			last = time.Now()
			if err := p.disturb(); err != nil {
				return nil, err
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// report says what became of the orders. It fails if one was paid or approved twice, or not at all.
func report(ctx context.Context, d *dispatch.Dispatcher, b *bank, count int, approved map[string]int) error {
	var wrong []error
	refused := 0
	for n := range count {
		o, err := d.Wait(ctx, orderID(n))
		if err != nil {
			return err
		}
		if o.Status != runs.Done {
			wrong = append(wrong, fmt.Errorf("%s is %s: %w", orderID(n), o.Status, o.Err))
		}
		var paid int
		if paid, refused = b.books(orderID(n)); paid != 1 {
			wrong = append(wrong, fmt.Errorf("%s was paid %d times", orderID(n), paid))
		}
		if times := approved[orderID(n)]; times != 1 {
			wrong = append(wrong, fmt.Errorf("%s was approved %d times", orderID(n), times))
		}
	}
	example, err := d.Wait(ctx, orderID(0))
	if err != nil {
		return err
	}
	if example.Message != nil {
		fmt.Println("The first one:", example.Message.Content)
	}
	fmt.Printf("The bank refused %d requests of workers that had lost their run.\n", refused)
	if err := errors.Join(wrong...); err != nil {
		return err
	}
	fmt.Println("Every order was approved once and paid once.")
	return nil
}
