// Package sqlite keeps runs in an SQLite file that the processes of one machine share: checkpoints and journals,
// leases, questions and answers. The driver is in pure Go.
//
//	store, err := sqlite.Open(ctx, "/var/lib/assistant/runs.db")
//	…
//	defer store.Close()
//	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent, CheckPointStore: store})
//
// What the store offers is described in package adk/checkpoint (RunStore), and what it adds in adk/checkpoint/sqlrun.
package sqlite
