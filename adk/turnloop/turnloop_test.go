package turnloop_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/turnloop"
	"github.com/weftgo/weft/schema"
)

// sleeper is an agent that runs for a second, or until its context ends.
type sleeper struct{}

func (sleeper) Name(context.Context) string        { return "sleeper" }
func (sleeper) Description(context.Context) string { return "sleeps" }
func (sleeper) Run(ctx context.Context, _ *adk.AgentInput,
	_ ...adk.AgentRunOption,
) *adk.AsyncIterator[*adk.AgentEvent] {
	events, send := adk.NewAsyncIteratorPair[*adk.AgentEvent]()
	stop, _ := adk.CancelRequested(ctx)
	go func() {
		defer send.Close()
		select {
		case <-stop:
			send.Send(adk.Interrupt(ctx, "stopped"))
		case <-time.After(time.Second):
			send.Send(adk.EventFromMessage(schema.AssistantMessage("awake", nil), nil, schema.Assistant, ""))
		}
	}()
	return events
}

func TestTurnLoop_14_SeedShape(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turns [][]string
		loop := turnloop.NewTurnLoop(turnloop.TurnLoopConfig[string]{
			GenInput: func(_ context.Context, _ *turnloop.TurnLoop[string],
				items []string,
			) (*turnloop.GenInputResult[string], error) {
				return &turnloop.GenInputResult[string]{Input: &adk.AgentInput{}, Consumed: items}, nil
			},
			PrepareAgent: func(_ context.Context, _ *turnloop.TurnLoop[string], consumed []string) (adk.Agent, error) {
				turns = append(turns, consumed)
				return sleeper{}, nil
			},
		})
		loop.Push("1")
		loop.Run(t.Context())
		synctest.Wait()
		start := time.Now()
		_, ack := loop.Push("2", turnloop.WithPreempt[string](), turnloop.WithPreemptDelay[string](time.Millisecond))
		<-ack
		synctest.Wait()
		require.Equal(t, time.Millisecond, time.Since(start), "the default of a preempt is to end the turn at once")
		loop.Push("3",
			turnloop.WithPushStrategy(func(_ context.Context, tc *turnloop.TurnContext[string]) []turnloop.PushOption[string] {
				require.Equal(t, []string{"2"}, tc.Consumed)
				return nil
			}))
		loop.Stop(turnloop.WithAgentCancel(), turnloop.WithStopCause("enough"), turnloop.WithSkipCheckpoint())
		exit := loop.Wait()
		require.ErrorAs(t, exit.ExitReason, new(*adk.CancelError))
		require.Equal(t, "enough", exit.StopCause)
		require.Equal(t, []string{"2"}, exit.CanceledItems)
		require.Equal(t, []string{"3"}, exit.UnhandledItems)
		require.Equal(t, [][]string{{"1"}, {"2"}}, turns)
		require.Equal(t, time.Millisecond, time.Since(start))
	})
}

func TestTurnLoop_14_UntilIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		loop := turnloop.NewTurnLoop(turnloop.TurnLoopConfig[int]{
			GenInput: func(_ context.Context, _ *turnloop.TurnLoop[int], items []int) (*turnloop.GenInputResult[int], error) {
				return &turnloop.GenInputResult[int]{Input: &adk.AgentInput{}, Consumed: items}, nil
			},
			PrepareAgent: func(context.Context, *turnloop.TurnLoop[int], []int) (adk.Agent, error) { return sleeper{}, nil },
		})
		start := time.Now()
		loop.Push(1)
		loop.Run(t.Context())
		loop.Stop(turnloop.UntilIdleFor(time.Second))
		require.NoError(t, loop.Wait().ExitReason)
		require.Equal(t, 2*time.Second, time.Since(start))
	})
}
