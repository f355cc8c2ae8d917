package adk

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/schema"
)

// loopOf makes a loop that consumes every item, one model turn each.
func loopOf(agent func(items []string) Agent,
	change ...func(*TurnLoopConfig[string, Message]),
) *TurnLoop[string, Message] {
	cfg := TurnLoopConfig[string, Message]{
		GenInput: func(_ context.Context, _ *TurnLoop[string, Message],
			items []string,
		) (*GenInputResult[string, Message], error) {
			in := &AgentInput{}
			for _, item := range items {
				in.Messages = append(in.Messages, schema.UserMessage(item))
			}
			return &GenInputResult[string, Message]{Input: in, Consumed: items}, nil
		},
		PrepareAgent: func(_ context.Context, _ *TurnLoop[string, Message], consumed []string) (Agent, error) {
			return agent(consumed), nil
		},
	}
	for _, c := range change {
		c(&cfg)
	}
	return NewTurnLoop(cfg)
}

// Rules runtime/L3, runtime/L22.
func TestTurnLoop_TurnsFollowUntilTheStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turns [][]string
		m := &replies{all: []*schema.Message{schema.AssistantMessage("ok", nil)}}
		agent := newOrdinary(t, "a", m)
		l := loopOf(func(items []string) Agent { turns = append(turns, items); return agent })
		ok, ack := l.Push("1")
		require.True(t, ok)
		require.Nil(t, ack)
		l.Push("2")
		l.Run(t.Context())
		synctest.Wait()
		l.Push("3")
		synctest.Wait()
		l.Stop(WithStopCause("enough"))
		exit := l.Wait()
		require.NoError(t, exit.ExitReason)
		require.Equal(t, [][]string{{"1", "2"}, {"3"}}, turns)
		require.Equal(t, "enough", exit.StopCause)
		ok, _ = l.Push("late")
		require.False(t, ok)
		require.Equal(t, []string{"late"}, exit.TakeLateItems())
		require.PanicsWithValue(t, "TurnLoop: Push called after TakeLateItems", func() { l.Push("too late") })
	})
}

// Rule runtime/L13.
func TestTurnLoop_PreemptEndsTheTurnAtASafePoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newStuck(callOf("echo", "c", "x"), schema.AssistantMessage("second", nil))
		agent := newOrdinary(t, "a", m, echo("echo"))
		var turns [][]string
		l := loopOf(func(items []string) Agent { turns = append(turns, items); return agent })
		l.Push("1")
		l.Run(t.Context())
		<-m.entered
		ok, ack := l.Push("2", WithPreempt[string, Message](AfterChatModel))
		require.True(t, ok)
		<-ack
		close(m.release)
		synctest.Wait()
		require.Equal(t, [][]string{{"1"}, {"2"}}, turns)
		_, ack = l.Push("3", WithPreempt[string, Message](AnySafePoint)) // nothing runs
		<-ack
		l.Stop()
		require.NoError(t, l.Wait().ExitReason)
	})
}

// Rules runtime/L10, runtime/L38.
func TestTurnLoop_StopSaveAndResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newStuck(callOf("echo", "c", "x"), schema.AssistantMessage("done", nil))
		agent := newOrdinary(t, "a", m, echo("echo"))
		store := memory{}
		keep := func(cfg *TurnLoopConfig[string, Message]) { cfg.Store, cfg.CheckpointID = store, "id" }
		l := loopOf(func([]string) Agent { return agent }, keep)
		l.Push("1")
		l.Run(t.Context())
		<-m.entered
		l.Push("2")
		l.Stop(WithGraceful())
		close(m.release)
		exit := l.Wait()
		var cancelled *CancelError
		require.ErrorAs(t, exit.ExitReason, &cancelled)
		require.Equal(t, "id", cancelled.CheckPointID)
		require.Equal(t, []string{"1"}, exit.InterruptedItems)
		require.Equal(t, []string{"2"}, exit.UnhandledItems)
		require.True(t, exit.CheckpointAttempted)
		require.NoError(t, exit.CheckpointErr)

		// Stopped before it runs again: nothing is lost.
		l = loopOf(func([]string) Agent { return agent }, keep)
		l.Push("3")
		l.Stop()
		l.Run(t.Context())
		exit = l.Wait()
		require.Equal(t, []string{"1"}, exit.InterruptedItems)
		require.Equal(t, []string{"2", "3"}, exit.UnhandledItems)

		var resumed [][]string
		var turns [][]string
		l = loopOf(func(items []string) Agent { turns = append(turns, items); return agent }, keep,
			func(cfg *TurnLoopConfig[string, Message]) {
				cfg.GenResume = func(_ context.Context, _ *TurnLoop[string, Message],
					interrupted, unhandled, fresh []string,
				) (*GenResumeResult[string, Message], error) {
					resumed = append(resumed, interrupted, unhandled, fresh)
					return &GenResumeResult[string, Message]{Consumed: interrupted, Remaining: append(unhandled, fresh...)}, nil
				}
			})
		l.Push("4")
		l.Run(t.Context())
		synctest.Wait()
		require.Equal(t, [][]string{{"1"}, {"2", "3"}, {"4"}}, resumed)
		require.Equal(t, [][]string{{"1"}, {"2", "3", "4"}}, turns)
		l.Stop()
		require.NoError(t, l.Wait().ExitReason)
	})
}

// Rule runtime/L27.
func TestTurnLoopStop_UntilIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent := newOrdinary(t, "a", &replies{all: []*schema.Message{schema.AssistantMessage("ok", nil)}})
		l := loopOf(func([]string) Agent { return agent })
		l.Stop(UntilIdleFor(time.Second))
		start := time.Now()
		l.Run(t.Context())
		time.Sleep(900 * time.Millisecond)
		l.Push("1")
		require.NoError(t, l.Wait().ExitReason)
		require.Equal(t, 1900*time.Millisecond, time.Since(start))
	})
}

func TestTurnLoop_EarlyReturnEndsTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newStuck(schema.AssistantMessage("ok", nil))
		agent := newOrdinary(t, "a", m)
		var ctx context.Context
		l := loopOf(func([]string) Agent { return agent }, func(cfg *TurnLoopConfig[string, Message]) {
			cfg.OnAgentEvents = func(context.Context, *TurnContext[string, Message], *AsyncIterator[*AgentEvent]) error {
				ctx = <-m.entered
				return nil
			}
		})
		l.Push("1")
		l.Run(t.Context())
		synctest.Wait()
		require.Error(t, ctx.Err())
		close(m.release)
		l.Stop()
		require.NoError(t, l.Wait().ExitReason)
	})
}
