// Package nats has a consumer of NATS JetStream execute runs: a message is the ID of a run.
package nats

import (
	"context"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/examples/recipes"
)

// Put puts a run into the queue, which is a stream with the policy WorkQueue that takes the subject.
func Put(ctx context.Context, js jetstream.JetStream, subject, id string) error {
	_, err := js.Publish(ctx, subject, []byte(id))
	return err
}

// Consume executes the runs of a consumer, of which MaxAckPending says how many at the same time, until ctx ends; then
// they stop at the next safe point, and after 25 seconds at once. A message is acknowledged when its run has nothing more
// to do. It is delivered again AckWait after its worker has died, or when the run is to be looked at; so leave MaxDeliver
// unlimited.
func Consume(ctx context.Context, queue jetstream.Consumer, runs *dispatch.Dispatcher) error {
	var working sync.WaitGroup
	messages, err := queue.Consume(func(m jetstream.Msg) {
		working.Go(func() { execute(ctx, m, queue.CachedInfo().Config.AckWait, runs) })
	})
	if err != nil {
		return err
	}
	<-ctx.Done()
	messages.Stop()
	<-messages.Closed()
	working.Wait()
	return nil
}

// execute executes a stretch, and has the server wait for it meanwhile.
func execute(ctx context.Context, m jetstream.Msg, ackWait time.Duration, runs *dispatch.Dispatcher) {
	over, stop := context.WithCancel(context.Background())
	defer stop()
	go func() {
		for beat := time.NewTicker(ackWait / 3); ; {
			select {
			case <-over.Done():
				beat.Stop()
				return
			case <-beat.C:
				_ = m.InProgress()
			}
		}
	}()
	drain := dispatch.WithDrain(ctx.Done(), 25*time.Second)
	switch after, again, err := recipes.Next(runs.Execute(over, string(m.Data()), drain)); {
	case err != nil:
		_ = m.NakWithDelay(5 * time.Second)
	case again:
		_ = m.NakWithDelay(max(after, time.Millisecond))
	default:
		_ = m.Ack()
	}
}

// Look puts runs into the queue that are due and not in it, every 10 seconds until ctx ends: a process may die between
// its submission and its message.
func Look(ctx context.Context, js jetstream.JetStream, subject string, runs *dispatch.Dispatcher) {
	for clock := time.NewTicker(10 * time.Second); ctx.Err() == nil; {
		ids, _ := recipes.Due(ctx, runs)
		for _, id := range ids {
			_ = Put(ctx, js, subject, id)
		}
		select {
		case <-clock.C:
		case <-ctx.Done():
			clock.Stop()
		}
	}
}
