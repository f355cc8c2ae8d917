package adk

import (
	"context"
	"errors"
)

// beginCustom starts an agent that is not of this package.
func beginCustom[M MessageType](ctx context.Context, agent TypedAgent[M], do assignment[M]) task {
	var events *AsyncIterator[*TypedAgentEvent[M]]
	if do.resume == nil {
		events = agent.Run(ctx, do.input, do.opts...)
	} else {
		resumable, ok := agent.(TypedResumableAgent[M])
		if !ok {
			return failing[M]{do.out, notResumable(agent.Name(ctx))}
		}
		events = resumable.Resume(ctx, do.resume, do.opts...)
	}
	if events == nil {
		return failing[M]{do.out, errors.New("the agent returned no iterator")}
	}
	return customRun[M]{ctx: ctx, events: events, out: do.out}
}

// customRun takes the events of an agent that runs by itself. The layers get copies: such an agent may keep its events,
// or send one in several runs.
type customRun[M MessageType] struct {
	ctx    context.Context
	events *AsyncIterator[*TypedAgentEvent[M]]
	out    sink[M]
}

func (c customRun[M]) execute() {
	defer c.events.Close()
	for {
		e, ok := c.events.Next()
		if !ok {
			return
		}
		if e != nil {
			passed := *e
			passed.Err = withContextEnd(c.ctx, e.Err)
			c.out.send(&passed)
		}
	}
}
