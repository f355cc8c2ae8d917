package adk

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/internal/cancelscope"
	"github.com/weftgo/weft/schema"
)

func closedNow(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// busy is a loop in a turn on "1" with a model that is stuck; afterwards its answer has a tool call.
func busy(t *testing.T, s *scene) (*itemLoop, *stuck) {
	m := newStuck(callOf("echo", "c", "x"), schema.AssistantMessage("done", nil))
	s.agent = newOrdinary(t, "a", m, echo("echo"))
	l := s.run("1")
	<-m.entered
	return l, m
}

// Rules runtime/L12, runtime/L31.
func TestTurnLoopPush_ReportsWhetherTheItemWasTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := newScene(t)
		l := NewTurnLoop(s.cfg)
		ok, ack := l.Push("before Run")
		require.True(t, ok)
		require.Nil(t, ack)
		ok, ack = l.Push("before Run, with preempt", WithPreempt[string, Message](AnySafePoint))
		require.True(t, ok)
		require.True(t, closedNow(ack), "there is nothing to preempt")
		l.Run(ctx)
		synctest.Wait()
		cancel()
		ok, ack = l.Push("ctx done", WithPreempt[string, Message](AnySafePoint))
		require.False(t, ok)
		require.Nil(t, ack)
		exit := l.Wait()
		require.ErrorIs(t, exit.ExitReason, context.Canceled)
		ok, _ = l.Push("ended")
		require.False(t, ok)
		require.Equal(t, []string{"ctx done", "ended"}, exit.TakeLateItems())
		require.Equal(t, []string{"ctx done", "ended"}, exit.TakeLateItems())
		require.Empty(t, exit.UnhandledItems)
	})
}

// Rules runtime/L13, runtime/L14, runtime/L21.
func TestTurnLoopPush_EachKindOfPreempt(t *testing.T) {
	type P = itemPush
	for name, test := range map[string]struct {
		opts []P
		mode CancelMode
		// instant: the turn ends although its model is stuck.
		instant bool
	}{
		"after chat model": {[]P{WithPreempt[string, Message](AfterChatModel)}, CancelAfterChatModel, false},
		"after tool calls": {[]P{WithPreempt[string, Message](AfterToolCalls)}, CancelAfterToolCalls, false},
		"any": {[]P{WithPreempt[string, Message](AnySafePoint)},
			CancelAfterChatModel | CancelAfterToolCalls, false},
		"with a timeout": {[]P{WithPreemptTimeout[string, Message](AfterToolCalls, time.Second)},
			CancelAfterToolCalls, true},
		"with none": {[]P{WithPreemptTimeout[string, Message](AfterToolCalls, 0)}, CancelAfterToolCalls,
			false},
		"the last wins": {[]P{WithPreemptTimeout[string, Message](AfterToolCalls, time.Second),
			WithPreempt[string, Message](AfterChatModel)}, CancelAfterChatModel, false},
		"with the options of cancels": {[]P{WithPreemptCancel[string, Message]()}, CancelImmediate, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t)
				var cancelled *CancelError
				s.cfg.OnAgentEvents = func(_ context.Context, tc *itemTurn, events *itemEvents) error {
					for e := range events.All() {
						if e.Err != nil {
							require.ErrorAs(t, e.Err, &cancelled)
							require.True(t, closedNow(tc.Preempted))
							require.False(t, closedNow(tc.Stopped))
							return e.Err // of no interest to the loop
						}
					}
					return nil
				}
				l, m := busy(t, s)
				_, ack := l.Push("2", test.opts...)
				<-ack
				time.Sleep(2 * time.Second)
				synctest.Wait()
				require.Equal(t, test.instant, cancelled != nil)
				close(m.release)
				synctest.Wait()
				require.Equal(t, test.mode, cancelled.Info.Mode)
				require.Empty(t, cancelled.CheckPointID, "a preempted turn is not saved")
				require.Equal(t, [][]string{{"1"}, {"2"}}, s.turns)
				l.Stop()
				require.NoError(t, l.Wait().ExitReason)
			})
		})
	}
}

// TestTurnLoopPush_TurnsKnowWhyTheyEnd: a reader of the CancelError can ask whether a push or a stop caused it, however
// long the cancel itself takes.
// Rule runtime/L14.
func TestTurnLoopPush_TurnsKnowWhyTheyEnd(t *testing.T) {
	for name, cancel := range map[string]func(*itemLoop){
		"preempt": func(l *itemLoop) { l.Push("2", WithPreemptCancel[string, Message]()) },
		"stop":    func(l *itemLoop) { l.Stop(WithImmediate()) },
	} {
		synctest.Test(t, func(t *testing.T) {
			s, seen := newScene(t), make(chan struct{})
			var preempted, stopped bool
			s.cfg.OnAgentEvents = func(_ context.Context, tc *itemTurn, events *itemEvents) error {
				for e := range events.All() {
					if e.Err != nil {
						preempted, stopped = closedNow(tc.Preempted), closedNow(tc.Stopped)
						close(seen)
					}
				}
				return nil
			}
			prepare := s.cfg.PrepareAgent
			s.cfg.PrepareAgent = func(ctx context.Context, l *itemLoop, items []string) (Agent, error) {
				if items[0] == "1" {
					l.turn.control.Root().OnNow(cancelscope.StopFunc(func() { <-seen })) // the first to begin is the last to stop
				}
				return prepare(ctx, l, items)
			}
			l, m := busy(t, s)
			cancel(l)
			close(m.release)
			require.Equal(t, []bool{name == "preempt", name == "stop"}, []bool{preempted, stopped}, name)
			l.Stop()
			l.Wait()
		})
	}
}

// Rules runtime/L15, runtime/L16.
func TestTurnLoopPush_PreemptWhilePlanningWaitsForTheAgent(t *testing.T) {
	for _, delay := range []time.Duration{0, time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			s := newScene(t)
			m := newStuck(callOf("echo", "c", "x"), schema.AssistantMessage("done", nil))
			close(m.release)
			s.agent = newOrdinary(t, "a", m, echo("echo"))
			planning := make(chan struct{})
			plan := s.cfg.GenInput
			s.cfg.GenInput = func(ctx context.Context, l *itemLoop, items []string) (*itemPlan, error) {
				if items[0] == "1" {
					<-planning
				}
				return plan(ctx, l, items)
			}
			var preempted []bool
			s.cfg.OnAgentEvents = func(_ context.Context, tc *itemTurn, events *itemEvents) error {
				drainTurn(events)
				preempted = append(preempted, closedNow(tc.Preempted))
				return nil
			}
			l := s.run("1")
			synctest.Wait()
			_, ack := l.Push("2", WithPreempt[string, Message](AfterChatModel), WithPreemptDelay[string, Message](delay))
			time.Sleep(2 * time.Second)
			require.False(t, closedNow(ack), "it is held until the agent starts")
			close(planning)
			<-ack
			synctest.Wait()
			require.Equal(t, [][]string{{"1"}, {"2"}}, s.turns)
			require.Equal(t, []bool{delay < time.Hour, false}, preempted, "a later turn is never cancelled")
			l.Stop()
			require.NoError(t, l.Wait().ExitReason)
		})
	}
}

// Rule runtime/L15.
func TestTurnLoopPush_PreemptOfAnAbandonedPlanIsAcknowledged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		planning := make(chan struct{})
		s.cfg.GenInput = func(context.Context, *itemLoop, []string) (*itemPlan, error) {
			<-planning
			return nil, nil
		}
		l := s.run("1")
		synctest.Wait()
		_, ack := l.Push("2", WithPreempt[string, Message](AfterChatModel))
		_, delayed := l.Push("3", WithPreempt[string, Message](AfterChatModel), WithPreemptDelay[string, Message](time.Hour))
		close(planning)
		<-ack
		<-delayed
		require.Equal(t, []string{"1", "2", "3"}, l.Wait().UnhandledItems)
	})
}

// Rule runtime/L17.
func TestTurnLoopPush_PreemptsMerge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		var cancelled *CancelError
		s.cfg.OnAgentEvents = func(_ context.Context, _ *itemTurn, events *itemEvents) error {
			for e := range events.All() {
				if e.Err != nil {
					require.ErrorAs(t, e.Err, &cancelled)
				}
			}
			return nil
		}
		l, m := busy(t, s)
		var acks []<-chan struct{}
		for _, o := range []itemPush{WithPreempt[string, Message](AfterToolCalls),
			WithPreempt[string, Message](AfterChatModel), WithPreemptTimeout[string, Message](AfterToolCalls, time.Second)} {
			_, ack := l.Push("2", o)
			acks = append(acks, ack)
		}
		for _, ack := range acks {
			<-ack
		}
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, &AgentCancelInfo{Mode: CancelAfterChatModel | CancelAfterToolCalls, Escalated: true, Timeout: true},
			cancelled.Info)
		require.Equal(t, [][]string{{"1"}, {"2", "2", "2"}}, s.turns)
		close(m.release)
		l.Stop()
		l.Wait()
	})
}

// Rule runtime/L18.
func TestTurnLoopPush_DelayHoldsThePreemptBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		l, m := busy(t, s)
		start := time.Now()
		ok, ack := l.Push("2", WithPreemptDelay[string, Message](time.Second))
		require.True(t, ok)
		require.Nil(t, ack, "a delay alone has no effect")
		_, ack = l.Push("3", WithPreemptCancel[string, Message](), WithPreemptDelay[string, Message](time.Second))
		<-ack
		require.Equal(t, time.Second, time.Since(start))
		synctest.Wait()
		require.Equal(t, [][]string{{"1"}, {"2", "3"}}, s.turns)

		_, ack = l.Push("4", WithPreemptCancel[string, Message](), WithPreemptDelay[string, Message](time.Hour))
		l.Stop(WithImmediate())
		l.Wait()
		<-ack
		require.Equal(t, time.Second, time.Since(start), "the end of the loop closes it")
		close(m.release)
	})
}

// Rule runtime/L19.
func TestTurnLoopPush_StrategyChoosesTheOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		s := newScene(t)
		s.cfg.GenInput = func(ctx context.Context, _ *itemLoop, items []string) (*itemPlan, error) {
			return &itemPlan{RunCtx: context.WithValue(ctx, key{}, "v"), Input: &AgentInput{}, Consumed: items}, nil
		}
		idle := func(ctx context.Context, tc *itemTurn) []itemPush {
			require.Nil(t, tc)
			require.Equal(t, context.Background(), ctx)
			return nil
		}
		l := NewTurnLoop(s.cfg)
		l.Push("0", WithPushStrategy(idle))
		m := newStuck(callOf("echo", "c", "x"), schema.AssistantMessage("done", nil))
		s.agent = newOrdinary(t, "a", m, echo("echo"))
		l.Run(t.Context())
		<-m.entered
		nested := WithPushStrategy(func(context.Context, *itemTurn) []itemPush {
			require.Fail(t, "a nested strategy")
			return nil
		})
		_, ack := l.Push("1", WithPreemptCancel[string, Message](),
			WithPushStrategy(func(ctx context.Context, tc *itemTurn) []itemPush {
				require.Equal(t, []string{"0"}, tc.Consumed)
				require.Same(t, l, tc.Loop)
				require.Equal(t, "v", ctx.Value(key{}))
				return []itemPush{nested}
			}))
		require.Nil(t, ack, "other options do not count")

		// The loop ends the turn, but plans none while a strategy looks at it.
		deciding := make(chan struct{})
		go l.Push("2", WithPushStrategy(func(context.Context, *itemTurn) []itemPush {
			<-deciding
			return []itemPush{WithPreemptCancel[string, Message]()} // finds the turn over
		}))
		synctest.Wait()
		close(m.release)
		synctest.Wait()
		require.Len(t, s.turns, 1)
		close(deciding)
		synctest.Wait()
		require.Equal(t, [][]string{{"0"}, {"1", "2"}}, s.turns)

		l.Stop()
		exit := l.Wait()
		called := false
		ok, _ := l.Push("3", WithPushStrategy(func(context.Context, *itemTurn) []itemPush { called = true; return nil }))
		require.True(t, called && !ok)
		require.Equal(t, []string{"3"}, exit.TakeLateItems())
	})
}

// Rule runtime/L19.
func TestTurnLoopPush_StrategyThatPanicsPushesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		l := s.run()
		require.Panics(t, func() {
			l.Push("1", WithPushStrategy(func(context.Context, *itemTurn) []itemPush { panic("boom") }))
		})
		l.Push("2")
		synctest.Wait()
		require.Equal(t, [][]string{{"2"}}, s.turns, "the loop continues")
		l.Stop()
		l.Wait()
	})
}

// Rule runtime/L20.
func TestTurnLoopPush_PreemptAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, store := newScene(t), newDeletable()
		s.stored(store)
		m := newStuck(callOf("echo", "c", "x"), schema.AssistantMessage("done", nil), callOf("echo", "c", "x"),
			schema.AssistantMessage("done", nil))
		s.agent = newOrdinary(t, "a", m, echo("echo"))
		l := s.run("1")
		for _, preempt := range []bool{true, false, true} {
			<-m.entered
			if preempt {
				_, ack := l.Push("p", WithPreempt[string, Message](AfterChatModel))
				<-ack
			}
			m.release <- struct{}{}
			synctest.Wait()
			if !preempt {
				l.Push("n")
			}
		}
		require.Equal(t, [][]string{{"1"}, {"p"}, {"n"}, {"p"}}, s.turns)
		require.Zero(t, store.writings)
		close(m.release)
		l.Stop()
		require.NoError(t, l.Wait().ExitReason)
	})
}

// Rule runtime/L20.
func TestTurnLoopPush_APreemptedInterruptDoesNotEndTheLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		release := make(chan struct{})
		s.agent = actor("a", func(ctx context.Context, send func(*AgentEvent)) {
			<-release
			send(Interrupt(ctx, "why"))
		})
		l := s.run("1")
		synctest.Wait()
		s.agent = actor("b", func(context.Context, func(*AgentEvent)) {})
		l.Push("2", WithPreempt[string, Message](AnySafePoint))
		close(release)
		synctest.Wait()
		require.Equal(t, [][]string{{"1"}, {"2"}}, s.turns)
		l.Stop()
		require.NoError(t, l.Wait().ExitReason)
	})
}

// Rule runtime/B15.8.
func TestTurnLoopStop_WinsOverPreempt(t *testing.T) {
	for name, stopFirst := range map[string]bool{"stop first": true, "preempt first": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, store := newScene(t), newDeletable()
				s.stored(store)
				l, m := busy(t, s)
				l.Push("2", WithPreempt[string, Message](AnySafePoint))
				if stopFirst {
					l.Stop(WithGraceful())
					l.Push("3", WithPreempt[string, Message](AnySafePoint)) // late
				} else {
					l.Stop(WithGraceful())
				}
				close(m.release)
				exit := l.Wait()
				require.ErrorAs(t, exit.ExitReason, new(*CancelError))
				require.Equal(t, []string{"1"}, exit.InterruptedItems)
				require.Equal(t, []string{"2"}, exit.UnhandledItems)
				require.True(t, exit.CheckpointAttempted)
			})
		})
	}
}
