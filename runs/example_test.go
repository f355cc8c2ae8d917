package runs_test

import (
	"context"
	"fmt"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/runs"
)

// A page lists the questions of all runs, and sends back the reply of a person.
func Example() {
	ctx := context.Background()
	store := checkpoint.NewMemoryStore()
	if err := askForRefund(ctx, store); err != nil {
		panic(err)
	}
	for run, err := range store.List(ctx, runs.Query{Status: []runs.Status{runs.Waiting}}) {
		if err != nil {
			panic(err)
		}
		for _, q := range run.Waiting {
			fmt.Printf("%s asks (%s): %s\n", run.ID, q.Kind, q.Text)
			if err := store.Reply(ctx, run.ID, runs.Reply{To: q.ID, Data: []byte("true"), JSON: true, By: "alice"}); err != nil {
				panic(err)
			}
		}
	}
	run, _, err := store.Inspect(ctx, "order-7")
	fmt.Println(run.Status, err)
	// Output:
	// order-7 asks (approval): refund 20 EUR
	// ready <nil>
}

// askForRefund takes a run, and gives it back with a question, as a worker does when the agent asks.
func askForRefund(ctx context.Context, store runs.Store) error {
	lease, err := store.Acquire(ctx, "order-7", runs.LeaseRequest{Create: &runs.Spec{Agent: "support"}})
	if err != nil {
		return err
	}
	return lease.Settle(ctx, runs.Settlement{Status: runs.Waiting,
		Waiting: []runs.Question{{ID: "refund", Kind: "approval", Text: "refund 20 EUR"}}})
}
