package sqlite_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/weftgo/weft/ext/store/sqlite"
	"github.com/weftgo/weft/runs"
)

// A run that waits costs a row: it is listed for whom it waits, and answered by any process.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "runs")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store, err := sqlite.Open(ctx, filepath.Join(dir, "runs.db"))
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	lease, err := store.Acquire(ctx, "order-7", runs.LeaseRequest{Create: &runs.Spec{Agent: "clerk"}})
	if err != nil {
		log.Fatal(err)
	}
	err = lease.Settle(ctx, runs.Settlement{Status: runs.Waiting, Waiting: []runs.Question{
		{ID: "pay", Kind: "approval", For: []string{"ana"}, Text: "Pay 40 €?"},
	}})
	if err != nil {
		log.Fatal(err)
	}

	for run, err := range store.List(ctx, runs.Query{WaitingFor: "ana"}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(run.ID, run.Waiting[0].Text)
	}
	if err := store.Reply(ctx, "order-7", runs.Reply{To: "pay", Data: []byte("true"), JSON: true}); err != nil {
		log.Fatal(err)
	}
	run, _, err := store.Inspect(ctx, "order-7")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(run.Status)
	// Output:
	// order-7 Pay 40 €?
	// ready
}
