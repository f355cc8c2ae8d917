package adk

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/schema"
)

// Rule runtime/L22.
func TestTurnLoopStop_WithoutOptionsLetsTheAgentEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := newScene(t), newWaiting()
		s.agent = w
		l := s.run("1")
		ctx := <-w.entered
		l.Push("2")
		l.Stop()
		l.Stop()
		synctest.Wait()
		require.NoError(t, ctx.Err())
		close(w.release)
		exit := l.Wait()
		require.NoError(t, exit.ExitReason)
		require.Equal(t, []string{"2"}, exit.UnhandledItems)
		require.Empty(t, exit.InterruptedItems)
		require.False(t, exit.CheckpointAttempted)
	})
}

// Rules runtime/L23, runtime/L24.
func TestTurnLoopStop_EachKind(t *testing.T) {
	safe := CancelAfterChatModel | CancelAfterToolCalls
	for name, test := range map[string]struct {
		stops [][]StopOption
		want  *AgentCancelInfo
	}{
		"immediate":         {[][]StopOption{{WithImmediate()}}, &AgentCancelInfo{}},
		"as a cancel":       {[][]StopOption{{WithAgentCancel()}}, &AgentCancelInfo{}},
		"graceful, in time": {[][]StopOption{{WithGracefulTimeout(time.Hour)}}, &AgentCancelInfo{Mode: safe}},
		"graceful, too late": {[][]StopOption{{WithGracefulTimeout(time.Millisecond)}},
			&AgentCancelInfo{Mode: safe, Escalated: true, Timeout: true}},
		"the last of a call wins": {[][]StopOption{{WithImmediate(), WithGraceful()}}, &AgentCancelInfo{Mode: safe}},
		"escalated":               {[][]StopOption{{WithGraceful()}, {WithImmediate()}}, &AgentCancelInfo{Escalated: true}},
		"never softened":          {[][]StopOption{{WithImmediate()}, {}, {WithGraceful()}}, &AgentCancelInfo{}},
		"first bare":              {[][]StopOption{{}, {WithGraceful()}}, &AgentCancelInfo{Mode: safe}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, m := busy(t, newScene(t))
				for _, opts := range test.stops {
					l.Stop(opts...)
				}
				time.Sleep(time.Second)
				close(m.release)
				var cancelled *CancelError
				exit := l.Wait()
				require.ErrorAs(t, exit.ExitReason, &cancelled)
				require.Equal(t, test.want, cancelled.Info)
				require.Equal(t, []string{"1"}, exit.InterruptedItems)
				require.Empty(t, cancelled.CheckPointID, "there is no store")
			})
		})
	}
}

// Rule runtime/L24.
func TestTurnLoopStop_WhileIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newScene(t).run()
		synctest.Wait()
		l.Stop(WithGraceful())
		require.NoError(t, l.Wait().ExitReason)
	})
}

// Rule runtime/L25.
func TestTurnLoopStop_BeforeRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		l := NewTurnLoop(s.cfg)
		l.Push("1")
		l.Stop()
		ok, _ := l.Push("2")
		require.False(t, ok)
		l.Run(t.Context())
		exit := l.Wait()
		require.NoError(t, exit.ExitReason)
		require.Empty(t, s.turns)
		require.Equal(t, []string{"1"}, exit.UnhandledItems)
		require.Equal(t, []string{"2"}, exit.TakeLateItems())
	})
}

// Rule runtime/L26.
func TestTurnLoopStop_WhilePlanning(t *testing.T) {
	for _, inPrepare := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := newScene(t)
			if inPrepare {
				s.cfg.PrepareAgent = func(_ context.Context, l *itemLoop, _ []string) (Agent, error) {
					l.Push("3")
					l.Stop(WithImmediate())
					return s.agent, nil
				}
			}
			s.cfg.GenInput = func(_ context.Context, l *itemLoop, items []string) (*itemPlan, error) {
				if !inPrepare {
					l.Push("3")
					l.Stop(WithImmediate())
				}
				return &itemPlan{Input: &AgentInput{}, Consumed: items[1:]}, nil
			}
			exit := s.run("1", "2").Wait()
			require.NoError(t, exit.ExitReason)
			require.Equal(t, []string{"1", "2", "3"}, exit.UnhandledItems)
			require.Empty(t, exit.InterruptedItems)
		})
	}
}

// A stop that comes when the turn has just begun reaches its agent.
// Rule runtime/L10.
func TestTurnLoopStop_AtTheStartOfTheAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		m := newStuck(schema.AssistantMessage("done", nil))
		var l *itemLoop
		s.agent = setup(t, m, nil, func(c *ChatModelAgentConfig) {
			c.Handlers = []ChatModelAgentMiddleware{&hooked[Message]{beforeAgent: func(
				ctx context.Context, rc *ChatModelAgentContext,
			) (context.Context, *ChatModelAgentContext, error) {
				l.Stop(WithImmediate())
				return ctx, rc, nil
			}}}
		})
		l = NewTurnLoop(s.cfg)
		l.Push("1")
		l.Run(t.Context())
		exit := l.Wait()
		require.ErrorAs(t, exit.ExitReason, new(*CancelError))
		require.Empty(t, m.entered)
	})
}

// Rules runtime/L27, runtime/L28.
func TestTurnLoopStop_OptionsBesideAnIdleLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := newScene(t), newWaiting()
		s.agent = w
		start := time.Now()
		l := s.run("1")
		ctx := <-w.entered
		l.Stop(UntilIdleFor(time.Second), WithImmediate(), WithStopCause("idle"))
		l.Stop(UntilIdleFor(time.Minute), WithStopCause("second"))
		time.Sleep(10 * time.Second)
		require.NoError(t, ctx.Err(), "the agent is left alone")
		close(w.release)
		exit := l.Wait()
		require.NoError(t, exit.ExitReason)
		require.Equal(t, "idle", exit.StopCause)
		require.Equal(t, 11*time.Second, time.Since(start))
	})
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		l := newScene(t).run()
		l.Stop(UntilIdleFor(time.Hour))
		synctest.Wait()
		l.Stop()
		require.NoError(t, l.Wait().ExitReason)
		require.Zero(t, time.Since(start), "a later stop acts at once")
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		l := NewTurnLoop(newScene(t).cfg)
		l.Run(ctx)
		l.Stop(UntilIdleFor(time.Hour))
		require.ErrorIs(t, l.Wait().ExitReason, context.DeadlineExceeded)
	})
}

// Rule runtime/L29.
func TestTurnLoopStop_AgentsThatIgnoreCancelEndByThemselves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := newScene(t), newWaiting()
		s.agent = w
		l := s.run("1")
		<-w.entered
		l.Stop(WithImmediate())
		synctest.Wait()
		close(w.release)
		exit := l.Wait()
		require.NoError(t, exit.ExitReason)
		require.Empty(t, exit.InterruptedItems)
	})
}

// Rule runtime/L30.
func TestTurnLoop_EndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, store := newScene(t), newDeletable()
		s.stored(store)
		s.agent = actor("a", func(ctx context.Context, _ func(*AgentEvent)) { <-ctx.Done() })
		ctx, cancel := context.WithCancel(t.Context())
		l := NewTurnLoop(s.cfg)
		l.Push("1")
		l.Run(ctx)
		synctest.Wait()
		l.Push("2")
		cancel()
		exit := l.Wait()
		require.Equal(t, context.Canceled, exit.ExitReason)
		require.Equal(t, []string{"2"}, exit.UnhandledItems)
		require.False(t, exit.CheckpointAttempted)
		require.Zero(t, store.writings)
	})
}

// Rule runtime/B15.6.
func TestTurnLoop_CallbackThatReturnsEarlyEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		running := 0
		s.agent = actor("a", func(ctx context.Context, send func(*AgentEvent)) {
			running++
			require.Equal(t, 1, running, "turns do not overlap")
			send(said("hi"))
			<-ctx.Done()
			time.Sleep(time.Second) // it takes its time
			running--
		})
		s.cfg.OnAgentEvents = func(_ context.Context, tc *itemTurn, events *itemEvents) error {
			events.Next()
			if tc.Consumed[0] != "5" {
				tc.Loop.Push(string(tc.Consumed[0][0] + 1))
			}
			return nil
		}
		l := s.run("1")
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Len(t, s.turns, 5)
		require.Zero(t, running)
		l.Stop()
		require.NoError(t, l.Wait().ExitReason)
	})
}

// Rule runtime/B15.21.
func TestTurnLoop_NoTimerOutlivesTheLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, m := busy(t, newScene(t))
		for range 100 {
			l.Push("x", WithPreempt[string, Message](AnySafePoint), WithPreemptDelay[string, Message](time.Hour))
		}
		require.Equal(t, 100, l.queue.Pending())
		l.Stop(UntilIdleFor(time.Hour))
		l.Stop(WithGracefulTimeout(time.Hour))
		l.Stop(WithImmediate())
		l.Wait()
		require.Zero(t, l.queue.Pending())
		close(m.release)
	})
}

func TestTurnLoop_ACancelOptionInThePlanIsNotUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		option, cancel := WithCancel()
		s.cfg.GenInput = func(_ context.Context, _ *itemLoop, items []string) (*itemPlan, error) {
			return &itemPlan{Input: &AgentInput{}, Consumed: items, RunOpts: []AgentRunOption{option}}, nil
		}
		l, m := busy(t, s)
		handle, contributed := cancel()
		require.False(t, contributed, "the loop has its own")
		require.ErrorIs(t, handle.Wait(), ErrExecutionEnded)
		l.Stop(WithImmediate())
		require.ErrorAs(t, l.Wait().ExitReason, new(*CancelError))
		close(m.release)
	})
}
