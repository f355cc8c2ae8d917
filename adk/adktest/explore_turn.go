package adktest

import (
	"context"
	"errors"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/schema"
)

// turn has a TurnLoop run the agent as its only turn, or continue with it.
func (l *life[M]) turn(ctx context.Context, targets map[string]any) (end lifeEnd, err error) {
	type loop = adk.TurnLoop[string, M]
	loops := adk.NewTurnLoop(adk.TurnLoopConfig[string, M]{
		GenInput: func(_ context.Context, _ *loop, items []string) (*adk.GenInputResult[string, M], error) {
			return &adk.GenInputResult[string, M]{
				Input:    &adk.TypedAgentInput[M]{Messages: []M{question[M](items[0])}, EnableStreaming: l.Streaming},
				Consumed: items,
			}, nil
		},
		GenResume: func(_ context.Context, _ *loop, interrupted, _, _ []string) (*adk.GenResumeResult[string, M], error) {
			return &adk.GenResumeResult[string, M]{ResumeParams: &adk.ResumeParams{Targets: targets}, Consumed: interrupted}, nil
		},
		PrepareAgent: func(context.Context, *loop, []string) (adk.TypedAgent[M], error) { return l.Agent(l.probe), nil },
		OnAgentEvents: func(ctx context.Context, tc *adk.TurnContext[string, M],
			events *adk.AsyncIterator[*adk.TypedAgentEvent[M]],
		) error {
			l.read(ctx, events, &end)
			tc.Loop.Stop()
			return nil
		},
		Store: l.store, CheckpointID: checkPointID,
	})
	l.cancel = func(opts ...adk.AgentCancelOption) { loops.Stop(adk.WithAgentCancel(opts...)) }
	if !isSaved(ctx, l.store) {
		loops.Push(l.Query)
	}
	_ = l.probe.at(ctx, l.number, atBegin)
	loops.Run(ctx)
	exit := loops.Wait()
	if exit.CheckpointErr != nil {
		return end, exit.CheckpointErr
	}
	var cancelled *adk.CancelError
	var interrupted *adk.InterruptError
	switch {
	case errors.As(exit.ExitReason, &cancelled):
		end.cancelled = true
	case errors.As(exit.ExitReason, &interrupted):
		end.points = interrupted.InterruptContexts
	case len(exit.UnhandledItems)+len(exit.InterruptedItems) > 0: // it was stopped before the turn began
		end.cancelled = true
	default:
		end.err = exit.ExitReason
	}
	return end, nil
}

// question is the message of a user.
func question[M adk.MessageType](text string) M {
	var m any = schema.UserAgenticMessage(text)
	if _, ordinary := any(*new(M)).(*schema.Message); ordinary {
		m = schema.UserMessage(text)
	}
	return m.(M)
}
