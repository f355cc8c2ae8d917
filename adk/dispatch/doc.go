// Package dispatch executes runs of agents on whatever worker is free, and lets them wait for hours without one.
//
// An application submits jobs, answers questions, stops runs and looks at them with a [Dispatcher]. Processes that call
// [TypedDispatcher.Work] execute what is due. All they share is a store of runs (runs.Store):
//
//	d := dispatch.New(store, dispatch.Config{Agents: dispatch.Agents{"support": dispatch.RunnerOf(agent)}})
//	info, err := d.Submit(ctx, dispatch.Job{ID: "ticket-7", Agent: "support", Messages: messages})
//	…
//	err = d.Work(ctx, dispatch.WorkerConfig{}) // in a worker: until ctx ends, then it drains
//
// A run is executed in stretches: from where it is to where it ends, or waits for an answer. Each stretch holds the lease
// of its run. If the process dies, the lease ends, and another worker continues after the last step that was saved. While
// a run waits, for a person, a timer, another run or a webhook, it is a row in the store and nothing else.
//
// The package is no engine: it has no graphs of jobs, no schedules, no rate limits and no pages. Programs that have a
// queue already call [TypedDispatcher.Execute] from its handler.
package dispatch
