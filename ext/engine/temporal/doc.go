// Package temporalengine executes runs of agents on Temporal: for each run there is a workflow that waits, and an
// activity that computes.
//
//	engine, err := temporalengine.New(client, dispatcher, temporalengine.Config{})
//	…
//	info, err := engine.Submit(ctx, dispatch.Job{ID: "ticket-7", Agent: "support", Messages: messages})
//	…
//	w := worker.New(client, engine.TaskQueue(""), worker.Options{WorkerStopTimeout: 30 * time.Second})
//	engine.Register(w)
//	err = w.Run(worker.InterruptCh())
//
// An [Engine] is a dispatch.Client. What an agent says and does stays in the store of the dispatcher; Temporal sees IDs,
// states and questions. The workflow ([Run]) starts an activity that executes the run until it ends or waits. While it
// waits, for a person, a timer or another run, nothing is held but the workflow. If a worker dies, Temporal misses its
// heartbeat and gives the activity to another one, which continues after the last step that was saved.
//
// The store, which has the answers, stops and results, decides how a run continues. A signal has the workflow look at it.
// So nothing is lost if a signal is: [TypedEngine.Reconcile] finds runs that the workflow forgot, and runs whose workflow
// was terminated.
package temporalengine
