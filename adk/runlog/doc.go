// Package runlog records what happens in runs of agents, and reads it: while it happens and later, in the process that
// executes a run and in others.
//
// A record is a list of events: agents, calls of models and tools with what went in and came out, pieces of answers as
// they come, questions, usage, the end. Options of a run have it recorded:
//
//	log := runlog.New(runlog.Config{})
//	events := runner.Query(ctx, "What is the weather?", runlog.Observe(log, runlog.About{ID: "r-1"})...)
//
// and any number of readers follow it, each at its own pace:
//
//	for e, err := range log.Events(ctx, "r-1", runs.Cursor{}) {
//		…
//		fmt.Printf("id: %s\ndata: %s\n\n", e.Cursor(), encoded)
//	}
//
// A reader that comes back gives the [Cursor] of the last event that it has seen. Whatever it gives, what follows makes a
// correct picture: events, or a [Snapshot] of all messages where too much is missing.
//
// The events of a run are in the memory of the process that executes it, whole and bounded. With a [Store] they are also
// written down, as the [Policy] says, for readers in other processes: in files ([NewFileStore]), or in the database of a
// store of runs. Package adk/dispatch records every run that it executes, and follows runs from process to process.
//
// Recording changes nothing of a run, and no run waits for a reader, nor for the store of events, with one exception: the
// beginning of a stretch reads what is recorded of the run, which takes two seconds at most.
package runlog
