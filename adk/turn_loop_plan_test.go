package adk

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestTurnLoopStop_AtOnceCancelsWhoPlans: planning a turn may take long, too. A stop at once, or one whose time is
// over, ends the context of the plan; the items are as they were.
// Rule runtime/L26.
func TestTurnLoopStop_AtOnceCancelsWhoPlans(t *testing.T) {
	wait := func(ctx context.Context) error {
		<-ctx.Done()
		return fmt.Errorf("asking for the history: %w", context.Cause(ctx))
	}
	places := map[string]func(s *scene){
		"GenInput": func(s *scene) {
			s.cfg.GenInput = func(ctx context.Context, _ *itemLoop, _ []string) (*itemPlan, error) { return nil, wait(ctx) }
		},
		"GenInput, which says only that its context has ended": func(s *scene) {
			s.cfg.GenInput = func(ctx context.Context, _ *itemLoop, _ []string) (*itemPlan, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}
		},
		"PrepareAgent": func(s *scene) {
			s.cfg.PrepareAgent = func(ctx context.Context, _ *itemLoop, _ []string) (Agent, error) { return nil, wait(ctx) }
		},
		"PrepareAgent, in a context of the plan's": func(s *scene) {
			type key struct{}
			s.cfg.GenInput = func(ctx context.Context, _ *itemLoop, items []string) (*itemPlan, error) {
				return &itemPlan{RunCtx: context.WithValue(ctx, key{}, 1), Input: &AgentInput{}, Consumed: items}, nil
			}
			s.cfg.PrepareAgent = func(ctx context.Context, _ *itemLoop, _ []string) (Agent, error) { return nil, wait(ctx) }
		},
	}
	for name, stop := range map[string]struct {
		options []StopOption
		after   time.Duration
	}{
		"at once":               {[]StopOption{WithImmediate()}, 0},
		"with a cancel":         {[]StopOption{WithAgentCancel()}, 0},
		"when its time is over": {[]StopOption{WithGracefulTimeout(time.Minute)}, time.Minute},
	} {
		for place, build := range places {
			t.Run(place+", "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newScene(t)
					build(s)
					l := s.run("1", "2")
					synctest.Wait()
					begin := time.Now()
					l.Stop(stop.options...)
					exit := l.Wait()
					require.NoError(t, exit.ExitReason)
					require.Equal(t, []string{"1", "2"}, exit.UnhandledItems)
					require.Equal(t, stop.after, time.Since(begin))
				})
			})
		}
	}

	t.Run("GenResume", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			store := interruptedStore(t)
			s := newScene(t)
			s.stored(store)
			s.cfg.GenResume = func(ctx context.Context, _ *itemLoop,
				_, _, _ []string,
			) (*GenResumeResult[string, Message], error) {
				return nil, wait(ctx)
			}
			l := s.run("3")
			synctest.Wait()
			l.Stop(WithImmediate())
			exit := l.Wait()
			require.NoError(t, exit.ExitReason)
			require.Equal(t, []string{"1"}, exit.InterruptedItems)
			require.Equal(t, []string{"2", "3"}, exit.UnhandledItems)
			require.True(t, exit.CheckpointAttempted)
		})
	})
}

// TestTurnLoopStop_LeavesPlansAloneOtherwise: a stop that has time does not disturb the plan, an error of the plan's
// own counts, and once the agent has begun a stop is for that, not for the contexts.
// Rule runtime/L26.
func TestTurnLoopStop_LeavesPlansAloneOtherwise(t *testing.T) {
	t.Run("a stop that has time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newScene(t)
			s.cfg.GenInput = func(ctx context.Context, l *itemLoop, items []string) (*itemPlan, error) {
				l.Stop(WithGraceful())
				require.NoError(t, ctx.Err())
				return &itemPlan{Input: &AgentInput{}, Consumed: items}, nil
			}
			require.NoError(t, s.run("1").Wait().ExitReason)
		})
	})
	t.Run("an error of the plan's own", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newScene(t)
			s.cfg.GenInput = func(_ context.Context, l *itemLoop, _ []string) (*itemPlan, error) {
				l.Stop(WithImmediate())
				return nil, errBroken
			}
			require.ErrorIs(t, s.run("1").Wait().ExitReason, errBroken)
		})
	})
	t.Run("the agent has begun", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newScene(t)
			s.agent = actor("a", func(ctx context.Context, send func(*AgentEvent)) {
				now, _ := CancelRequested(ctx)
				<-now
				require.NoError(t, ctx.Err())
				send(Interrupt(ctx, "stopped"))
			})
			s.cfg.OnAgentEvents = func(ctx context.Context, _ *itemTurn, events *itemEvents) error {
				for range events.All() {
				}
				require.NoError(t, ctx.Err())
				return nil
			}
			l := s.run("1")
			synctest.Wait()
			l.Stop(WithImmediate())
			exit := l.Wait()
			require.ErrorAs(t, exit.ExitReason, new(*CancelError))
			require.Equal(t, []string{"1"}, exit.InterruptedItems)
		})
	})
}

// The context of the loop ends a turn also where RunCtx is not made of it.
// Rule runtime/L30.
func TestTurnLoop_ATurnWithItsOwnContextEndsWithTheLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		var cause error
		s.agent = actor("a", func(ctx context.Context, _ func(*AgentEvent)) {
			<-ctx.Done()
			cause = context.Cause(ctx)
		})
		s.cfg.GenInput = func(_ context.Context, _ *itemLoop, items []string) (*itemPlan, error) {
			return &itemPlan{RunCtx: context.Background(), Input: &AgentInput{}, Consumed: items}, nil
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		l := NewTurnLoop(s.cfg)
		l.Push("1")
		l.Run(ctx)
		synctest.Wait()
		cancel(errBroken)
		exit := l.Wait()
		require.ErrorIs(t, exit.ExitReason, context.Canceled)
		require.ErrorIs(t, exit.ExitReason, errBroken)
		require.Equal(t, errBroken, cause)
	})
}
