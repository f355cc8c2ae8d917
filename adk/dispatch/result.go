package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// TypedResult holds the state of a run after an attempt, and its last message.
type TypedResult[M adk.MessageType] struct {
	Status runs.Status
	// Message is the last message of a run that is done, nil if there was none, and Agent who said it.
	Message M
	Agent   string
	// Questions are the questions that a run waits for.
	Questions []runs.Question
	// WakeAt is the time at which a run that is ready or waits becomes due by itself.
	WakeAt time.Time
	// Err is the error of a run that failed or was stopped. Only the process that executed it has the error itself; others
	// have its text.
	Err error
}

// Result is [TypedResult] of runs on ordinary messages.
//
// Its fields, which are documented at [TypedResult]:
//
//   - Status: of the run
//   - Message, Agent: the last message, and whose it is
//   - Questions: what it waits for
//   - WakeAt: when it becomes due by itself
//   - Err: why it failed or was stopped
type Result = TypedResult[*schema.Message]

// outcomeOf reads the outcome of a run.
func (d *TypedDispatcher[M]) outcomeOf(ctx context.Context, info runs.Info) (o TypedResult[M], err error) {
	o = TypedResult[M]{Status: info.Status, Questions: info.Waiting, WakeAt: info.WakeAt}
	if info.Error != "" {
		o.Err = errors.New(info.Error)
	}
	if info.Status != runs.Done {
		return o, nil
	}
	result, err := d.store.Result(ctx, info.ID)
	if err == nil {
		o.Message, o.Agent, err = adk.DecodeResult[M](result)
	}
	if err != nil {
		return o, fmt.Errorf("the result of run %q: %w", info.ID, err)
	}
	return o, nil
}

// How often Wait looks at the store: at first, and at most.
const (
	firstLook = 20 * time.Millisecond
	lastLook  = time.Second
)

// Wait waits until a run is done, has failed, waits or is paused, whichever process executes it, and returns its outcome.
// It returns the error of ctx when that ends, and one that matches runs.ErrNotFound if there is no such run.
func (d *TypedDispatcher[M]) Wait(ctx context.Context, id string) (o TypedResult[M], err error) {
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		changed := d.change()
		info, exists, err := d.Inspect(ctx, id)
		switch {
		case err != nil:
			return o, err
		case !exists:
			return o, fmt.Errorf("wait for run %q: %w", id, runs.ErrNotFound)
		case info.Status != runs.Ready && info.Status != runs.Running && info.Owner == "":
			return d.outcomeOf(ctx, info)
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return o, fmt.Errorf("wait for run %q: %w", id, context.Cause(ctx))
		case <-changed:
		case <-timer.C:
		}
		timer.Stop()
	}
}
