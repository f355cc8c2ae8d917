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

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/examples/internal/demo"
	"github.com/weftgo/weft/schema"
)

func main() {
	runs := flag.Int("runs", 30, "how many orders there are")
	workers := flag.Int("workers", 3, "how many processes execute them")
	calm := flag.Bool("calm", false, "kill and freeze nobody")
	where := flag.String("store", "", "where the runs are: an SQLite file, or the URL of an empty PostgreSQL database; default a new file")
	bankURL := flag.String("bank", "", "be a worker, whose payments go to this bank")
	flag.Parse()
	var err error
	if *bankURL != "" {
		err = work(*where, *bankURL)
	} else {
		err = office(context.Background(), *where, *runs, *workers, *calm)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// office submits the orders, approves what asks for it, and waits until all have ended.
func office(ctx context.Context, where string, runs, workers int, calm bool) error {
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
	for n := range runs {
		id := orderID(n)
		_, err := d.Submit(ctx, dispatch.Job{ID: id, Agent: "desk", SessionValues: map[string]any{"order": id},
			Messages: []*schema.Message{schema.UserMessage("Two tickets, please.")}})
		if err != nil {
			return err
		}
	}
	p := &pool{store: where, bank: server.URL}
	defer p.stop()
	if err := p.start(workers); err != nil {
		return err
	}
	if err := approveAll(ctx, d, runs, p, calm); err != nil {
		return err
	}
	took := time.Since(begun)
	fmt.Printf("%d orders have ended in %s: %d workers were killed, and %d frozen.\n", runs, took.Round(100*time.Millisecond),
		p.killed, p.frozen)
	return report(ctx, d, b, runs)
}

func orderID(n int) string { return fmt.Sprintf("order-%03d", n) }

// approveAll disturbs the workers, and answers what orders ask, until all have ended.
func approveAll(ctx context.Context, d *dispatch.Dispatcher, runs int, p *pool, calm bool) error {
	for last := time.Now(); ; {
		ended := 0
		for info, err := range d.List(ctx, checkpoint.Query{Agent: "desk"}) {
			if err != nil {
				return err
			}
			if info.Status == checkpoint.Done || info.Status == checkpoint.Failed {
				ended++
			}
			for _, q := range info.Waiting {
				if info.Status != checkpoint.Waiting || q.Answered || q.Kind != adk.QuestionPlain {
					continue
				}
				answer, err := adk.EncodeAnswer(q.ID, adk.JSONAnswer("true"))
				if err != nil {
					return err
				}
				answer.By = "ana"
				if err := d.Answer(ctx, info.ID, answer); err != nil && !errors.Is(err, checkpoint.ErrNotWaiting) {
					return err
				}
			}
		}
		if ended == runs {
			return nil
		}
		if !calm && time.Since(last) > 700*time.Millisecond {
			last = time.Now()
			if err := p.disturb(); err != nil {
				return err
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// report says what became of the orders. It fails if one was paid twice, or not at all.
func report(ctx context.Context, d *dispatch.Dispatcher, b *bank, runs int) error {
	var wrong []error
	for n := range runs {
		o, err := d.Wait(ctx, orderID(n))
		if err != nil {
			return err
		}
		if o.Status != checkpoint.Done {
			wrong = append(wrong, fmt.Errorf("%s is %s: %w", orderID(n), o.Status, o.Err))
		}
		if paid := b.payments(orderID(n)); paid != 1 {
			wrong = append(wrong, fmt.Errorf("%s was paid %d times", orderID(n), paid))
		}
	}
	example, err := d.Wait(ctx, orderID(0))
	if err != nil {
		return err
	}
	if example.Result != nil {
		fmt.Println("The first one:", example.Result.Content)
	}
	fmt.Printf("The bank was asked %d times to pay, and refused %d requests of workers that had lost their run.\n", b.asked, b.refused)
	if err := errors.Join(wrong...); err != nil {
		return err
	}
	fmt.Println("Every order was paid once.")
	return nil
}
