package adk

import (
	"context"
	"sync/atomic"
)

// loopContext is the context of a run that ends with the loop which reads it. It costs nothing until its Done is called,
// or the loop ends before the run does.
type loopContext struct {
	context.Context // of the caller
	// ending is nil while the loop runs and Done was not called, and loopOver when the loop has ended without a call of
	// Done.
	ending atomic.Pointer[loopEnding]
}

// loopEnding ends a loopContext.
type loopEnding struct {
	context.Context
	cancel context.CancelCauseFunc
}

// loopOver stands for the ending of a context whose Done was not called.
var loopOver = new(loopEnding)

func (c *loopContext) Done() <-chan struct{} { return c.end().Done() }

func (c *loopContext) Err() error { return c.current().Err() }

func (c *loopContext) Value(key any) any { return c.current().Value(key) }

// cancel ends the context. Without a cause, the run has ended before.
func (c *loopContext) cancel(cause error) {
	if cause == nil && c.ending.CompareAndSwap(nil, loopOver) {
		return
	}
	c.end().cancel(cause)
}

// current returns the context to which loopContext delegates.
func (c *loopContext) current() context.Context {
	if c.ending.Load() == nil {
		return c.Context
	}
	return c.end()
}

// end returns what ends the context, and makes it if there is none.
func (c *loopContext) end() *loopEnding {
	for {
		e := c.ending.Load()
		if e != nil && e != loopOver {
			return e
		}
		made := new(loopEnding)
		made.Context, made.cancel = context.WithCancelCause(c.Context)
		if e == loopOver {
			made.cancel(nil)
		}
		if c.ending.CompareAndSwap(e, made) {
			return made
		}
		made.cancel(nil)
	}
}
