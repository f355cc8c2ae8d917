// Package utils runs several retrievals at once.
package utils

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/components/retriever"
	"github.com/weftgo/weft/flow/retriever/internal/observed"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/schema"
)

// maxConcurrent is the number of retrievals of one call that run at the same time.
const maxConcurrent = 16

// RetrieveTask is one retrieval.
type RetrieveTask struct {
	// Name is for the caller to distinguish tasks.
	Name string
	// Retriever is asked with Query and RetrieveOptions.
	Retriever       retriever.Retriever
	Query           string
	RetrieveOptions []retriever.Option
	// Result or Err is set when the task is done.
	Result []*schema.Document
	Err    error
}

// ConcurrentRetrieveWithCallback runs the tasks side by side, 16 at most at a time, and returns when all are done. Each
// task's Result or Err is set; nil tasks are skipped.
//
// Callback handlers of ctx are called for every retrieval, under the type of the retriever; a retriever that calls them
// itself is left to do so. A panic of a retriever is its task's error.
//
// When a task fails the context of the others is cancelled with its error as the cause, and tasks that wait for a place
// will not begin. The Err of tasks that were given up wraps the cause.
func ConcurrentRetrieveWithCallback(ctx context.Context, tasks []*RetrieveTask) {
	outer := ctx
	ctx, cancel := context.WithCancelCause(outer)
	defer cancel(nil)
	ended := make(chan struct{}, len(tasks))
	begun := 0
	var wg sync.WaitGroup
	for _, t := range tasks {
		if t == nil {
			continue
		}
		if begun++; begun > maxConcurrent && !awaitPlace(ctx, ended) {
			t.Result, t.Err = nil, t.givenUp(outer, ctx)
			continue
		}
		wg.Go(func() {
			defer func() { ended <- struct{}{} }()
			t.run(ctx)
			if t.Err == nil {
				return
			}
			t.Result = nil
			if errors.Is(t.Err, context.Canceled) && ctx.Err() != nil {
				t.Err = t.givenUp(outer, ctx)
			}
			cancel(t.Err)
		})
	}
	wg.Wait()
}

// awaitPlace waits until a task has ended. It returns false if the others are not wanted any more.
func awaitPlace(ctx context.Context, ended <-chan struct{}) bool {
	select {
	case <-ended:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// givenUp is the error of a task that the end of ctx stopped. If that was due to another task it says so, instead of
// that something was cancelled: who looks at this task should find the reason.
func (t *RetrieveTask) givenUp(outer, ctx context.Context) error {
	cause := context.Cause(ctx)
	if err := outer.Err(); err != nil && err != cause {
		cause = fmt.Errorf("%w: %w", err, cause)
	}
	return fmt.Errorf("retrieve was given up, query: %s, cause: %w", t.Query, cause)
}

func (t *RetrieveTask) run(ctx context.Context) {
	finished := false
	defer func() {
		if !finished { // a panic does not come here: the retriever ended the goroutine
			t.Err = fmt.Errorf("retrieve, query: %s, error: the retriever ended its goroutine", t.Query)
		}
	}()
	t.Result, t.Err = t.retrieve(ctx)
	finished = true
}

func (t *RetrieveTask) retrieve(ctx context.Context) (_ []*schema.Document, err error) {
	defer t.describe(&err)
	defer safe.Recover(&err) // of the retriever's GetType or IsCallbacksEnabled
	if t.Retriever == nil {
		return nil, fmt.Errorf("retrieve, query: %s, error: the retriever is nil", t.Query)
	}
	typ, _ := components.GetType(t.Retriever)
	info := &callbacks.RunInfo{Name: typ + "Retriever", Type: typ, Component: components.ComponentOfRetriever}
	if components.IsCallbacksEnabled(t.Retriever) {
		return t.guarded(callbacks.ReuseHandlers(ctx, info))
	}
	return observed.Call(ctx, info, t.Query, t.guarded)
}

func (t *RetrieveTask) guarded(ctx context.Context) (docs []*schema.Document, err error) {
	defer t.describe(&err)
	defer safe.Recover(&err)
	return t.Retriever.Retrieve(ctx, t.Query, t.RetrieveOptions...)
}

// describe makes an error one that can be looked into, and says of a panic in which query it was.
func (t *RetrieveTask) describe(err *error) {
	*err = safe.Sound(*err)
	if panicked, ok := (*err).(*safe.PanicError); ok {
		*err = &panicError{query: t.Query, panicked: panicked}
	}
}

// panicError is the panic of a retriever. Its stack is in the error it wraps.
type panicError struct {
	query    string
	panicked *safe.PanicError
}

func (e *panicError) Error() string {
	return fmt.Sprintf("retrieve panic, query: %s, error: %v", e.query, e.panicked.Value)
}

func (e *panicError) Unwrap() error { return e.panicked }
