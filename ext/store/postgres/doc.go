// Package postgres keeps runs in PostgreSQL, which any number of processes on any machine share: checkpoints and
// journals, leases, questions and answers.
//
//	store, err := postgres.Open(ctx, os.Getenv("DATABASE_URL"))
//	…
//	defer store.Close()
//	d := dispatch.New(store, conf)
//
// What the store offers is described in package adk/checkpoint (RunStore), and what it adds in adk/checkpoint/sqlrun.
package postgres
