// Package lambda has a function execute runs that is ended after a while, such as AWS Lambda after 15 minutes: a call is
// the ID of a run. It stops the run in time at a safe point, and asks to be called again.
package lambda

import (
	"context"
	"time"

	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/examples/recipes"
)

// Event is the argument of the function, such as from a message of SQS.
type Event struct {
	Run string `json:"run"`
}

// Function makes the function: lambda.Start(Function(…)). A minute before the deadline of its context, 14 minutes after
// the call on AWS, the run stops at the next safe point, and half a minute later at once. again has the function be
// called again after a while, such as by a message with a delay; SQS has 15 minutes at most, and a call that is too early
// does no harm. An error is for who calls: the call is made again.
func Function(
	runs *dispatch.Dispatcher, margin time.Duration, again func(ctx context.Context, e Event, after time.Duration) error,
) func(context.Context, Event) error {
	return func(ctx context.Context, e Event) error {
		ends := make(chan struct{})
		if deadline, ok := ctx.Deadline(); ok {
			timer := time.AfterFunc(time.Until(deadline)-margin, func() { close(ends) })
			defer timer.Stop()
		}
		o, err := runs.Execute(context.WithoutCancel(ctx), e.Run, dispatch.WithDrain(ends, margin/2))
		after, more, err := recipes.Next(o, err)
		if err == nil && more {
			return again(ctx, e, after)
		}
		return err
	}
}
