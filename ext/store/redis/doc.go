// Package redis keeps runs in Redis or Valkey, which any number of processes on any machine share: checkpoints and
// journals, leases, questions and answers.
//
//	store, err := redis.New(ctx, redis.Config{Client: client})
//	…
//	d := dispatch.New(store, conf)
//
// What is durable depends on how the server is configured: see the README.
package redis
