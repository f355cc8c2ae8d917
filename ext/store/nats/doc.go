// Package nats keeps runs in NATS JetStream, where any number of processes on any machine share them: checkpoints and
// journals, leases, questions and answers.
//
//	store, err := nats.New(ctx, nats.Config{Conn: conn})
//	…
//	defer store.Close()
//	d := dispatch.New(store, conf)
//
// Everything is in one stream. Of each ID there is a head, which is the last message of its subject and says all that
// is known of the run, and a subject with the records of its journal. Every write names the sequence of the last
// message of its ID that the writer has read, and the server refuses it if there is a later one: the log itself fences.
//
// Events of runs are in another stream: see [Store.OpenEvents].
//
// What is durable depends on how the server is configured: see the README.
package nats
