package postgres_test

import (
	"context"
	"log"
	"os"

	"github.com/weftgo/weft/ext/store/postgres"
	"github.com/weftgo/weft/runs"
)

// An order is placed and its run submitted in one transaction: there is never one without the other.
func Example() {
	ctx := context.Background()
	store, err := postgres.Open(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	tx, err := store.DB().BeginTx(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, "INSERT INTO orders (id) VALUES ($1)", "order-7"); err != nil {
		log.Fatal(err)
	}
	if _, err := store.SubmitTx(ctx, tx, "order-7", runs.Spec{Agent: "clerk"}); err != nil {
		log.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		log.Fatal(err)
	}
}
