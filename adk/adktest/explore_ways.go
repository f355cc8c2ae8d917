package adktest

import (
	"context"
	"errors"
	"slices"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components/tool"
)

// way is a way to stop a run at a boundary.
type way[M adk.MessageType] struct {
	name string
	// kinds are the boundaries where it can be used, nil for all.
	kinds []boundaryKind
	// durable: the run can continue only if it is saved at every step.
	durable bool
	// givesUp: calls in flight may be given up or fail, and are made again.
	givesUp bool
	// freezes: the life stands still, and is no more in the way of the next one.
	freezes bool
	stop    func(l *life[M], ctx context.Context) error
}

// infoExplored is the Info of the interrupts that Explore makes.
const infoExplored = "stopped by Explore"

func ways[M adk.MessageType]() []way[M] {
	inCalls := []boundaryKind{atModelCall, atModelChunk, atToolStart, atToolEnd, atStore, atHook}
	return []way[M]{
		{name: "an interrupt", kinds: []boundaryKind{atToolStart}, stop: func(_ *life[M], ctx context.Context) error {
			return tool.Interrupt(ctx, infoExplored)
		}},
		cancelling[M]("a cancel at once", adk.CancelImmediate),
		cancelling[M]("a cancel after the model", adk.CancelAfterChatModel),
		cancelling[M]("a cancel after the tools", adk.CancelAfterToolCalls),
		cancelling[M]("a cancel at any safe point", adk.CancelAfterChatModel|adk.CancelAfterToolCalls),
		// Without a journal an agent that runs as a tool, and is given up, begins again with all that it had done.
		{name: "a cancel at once of the outermost agent", durable: true, givesUp: true,
			stop: func(l *life[M], ctx context.Context) error {
				l.cancel()
				return ctx.Err()
			}},
		{name: "the end of its context", durable: true, givesUp: true, stop: func(l *life[M], ctx context.Context) error {
			l.end()
			return ctx.Err()
		}},
		{name: "a panic", durable: true, givesUp: true, kinds: inCalls, stop: func(*life[M], context.Context) error {
			panic(infoExplored)
		}},
		failing[M]("a store that fails", errors.New("adktest: the store fails")),
		failing[M]("a store that does it and says that it failed", errAnswerLost),
		{name: "the death of the process", durable: true, stop: func(l *life[M], _ context.Context) error {
			l.probe.die()
			l.end()
			return errDied
		}},
	}
}

// failing has a write to the store fail once.
func failing[M adk.MessageType](name string, err error) way[M] {
	return way[M]{name: name, durable: true, givesUp: true, kinds: []boundaryKind{atStore},
		stop: func(*life[M], context.Context) error { return err }}
}

// cancelling cancels the run and the agents in it. A call whose context ends with that returns.
func cancelling[M adk.MessageType](name string, mode adk.CancelMode) way[M] {
	return way[M]{name: name, givesUp: mode == adk.CancelImmediate, stop: func(l *life[M], ctx context.Context) error {
		l.cancel(adk.WithAgentCancelMode(mode), adk.WithRecursive())
		return ctx.Err()
	}}
}

// usable reports whether the run can be stopped at a boundary in this way.
func (w *way[M]) usable(kind boundaryKind) bool {
	return w.kinds == nil || slices.Contains(w.kinds, kind)
}

// stopper stops a run once, at the first boundary of some kinds from a number on: what runs side by side does not
// always come in the same order.
type stopper struct {
	at      int
	usable  func(kind boundaryKind) bool
	givesUp bool
	stop    func(ctx context.Context) error
}
