package adk

import (
	"context"
	"sync/atomic"
)

// loopContext is the context of a run that ends with the loop which reads it. It costs nothing until somebody asks when it
// ends, or the loop ends before the run does.
type loopContext struct {
	context.Context // of the caller
	// ending is nil while nobody has asked and the loop runs, and loopOver when nobody has asked and the loop has ended.
	ending atomic.Pointer[loopEnding]
}

// loopEnding is what ends a loopContext.
type loopEnding struct {
	context.Context
	cancel context.CancelCauseFunc
}

// loopOver stands for the ending of a context that nobody has asked about.
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

// current is what the context delegates to.
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
