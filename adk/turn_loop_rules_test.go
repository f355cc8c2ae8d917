package adk

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/schema"
)

// The loops of these tests have strings as items.
type (
	itemLoop   = TurnLoop[string, Message]
	itemConfig = TurnLoopConfig[string, Message]
	itemTurn   = TurnContext[string, Message]
	itemPlan   = GenInputResult[string, Message]
	loopLeft   = TurnLoopExitState[string, Message]
	itemPush   = PushOption[string, Message]
	itemEvents = AsyncIterator[*AgentEvent]
)

// scene is a loop with a log of what its callbacks were given.
type scene struct {
	testing.TB
	cfg   itemConfig
	turns [][]string
	// agent runs the turns. By default it answers at once.
	agent Agent
}

func newScene(t testing.TB) *scene {
	s := &scene{TB: t, agent: actor("a", func(context.Context, func(*AgentEvent)) {})}
	s.cfg = itemConfig{
		GenInput: func(_ context.Context, _ *itemLoop, items []string) (*itemPlan, error) {
			return &itemPlan{Input: &AgentInput{}, Consumed: items}, nil
		},
		PrepareAgent: func(_ context.Context, _ *itemLoop, consumed []string) (Agent, error) {
			s.turns = append(s.turns, consumed)
			return s.agent, nil
		},
	}
	return s
}

// stored gives the loops of a scene a store.
func (s *scene) stored(store CheckPointStore) { s.cfg.Store, s.cfg.CheckpointID = store, "id" }

// resumable lets the loops of a scene resume: with the interrupted items, the others wait. It logs what it was given.
func (s *scene) resumable(seen *[][]string) {
	s.cfg.GenResume = func(_ context.Context, _ *itemLoop,
		interrupted, unhandled, fresh []string,
	) (*GenResumeResult[string, Message], error) {
		*seen = append(*seen, interrupted, unhandled, fresh)
		return &GenResumeResult[string, Message]{Consumed: interrupted, Remaining: append(unhandled, fresh...)}, nil
	}
}

// run starts a loop with items that wait already.
func (s *scene) run(items ...string) *itemLoop {
	l := NewTurnLoop(s.cfg)
	for _, i := range items {
		l.Push(i)
	}
	l.Run(s.Context())
	return l
}

// deletable is a store that can delete, and counts.
type deletable struct {
	memory
	deleted  int
	failSet  error
	failGet  error
	writings int
}

func (d *deletable) Delete(_ context.Context, id string) error {
	d.deleted++
	delete(d.memory, id)
	return nil
}

func (d *deletable) Get(ctx context.Context, id string) ([]byte, bool, error) {
	if d.failGet != nil {
		return nil, false, d.failGet
	}
	return d.memory.Get(ctx, id)
}

func (d *deletable) Set(ctx context.Context, id string, b []byte) error {
	d.writings++
	if d.failSet != nil {
		return d.failSet
	}
	return d.memory.Set(ctx, id, b)
}

func newDeletable() *deletable { return &deletable{memory: memory{}} }

// actor is an agent of the test: it knows nothing about cancels.
func actor(name string, run func(ctx context.Context, send func(*AgentEvent))) Agent {
	return &acting{name: name, run: func(ctx context.Context, _ *AgentInput, send func(*AgentEvent)) { run(ctx, send) }}
}

type acting struct {
	name string
	run  func(ctx context.Context, input *AgentInput, send func(*AgentEvent))
}

func (a *acting) Name(context.Context) string        { return a.name }
func (a *acting) Description(context.Context) string { return "acts" }
func (a *acting) Run(ctx context.Context, input *AgentInput, _ ...AgentRunOption) *itemEvents {
	it, gen := NewAsyncIteratorPair[*AgentEvent]()
	go func() {
		defer gen.Close()
		a.run(ctx, input, gen.Send)
	}()
	return it
}

// interruptible is an actor that can be resumed.
type interruptible struct {
	acting
	resume func(ctx context.Context, info *ResumeInfo, send func(*AgentEvent))
}

func (a *interruptible) Resume(ctx context.Context, info *ResumeInfo, _ ...AgentRunOption) *itemEvents {
	it, gen := NewAsyncIteratorPair[*AgentEvent]()
	go func() {
		defer gen.Close()
		a.resume(ctx, info, gen.Send)
	}()
	return it
}

// asking is an agent that interrupts, and says what it was resumed with.
func asking(name string) *interruptible {
	return &interruptible{
		acting: acting{name, func(ctx context.Context, _ *AgentInput, send func(*AgentEvent)) {
			send(StatefulInterrupt(ctx, "why", "state of "+name))
		}},
		resume: func(_ context.Context, info *ResumeInfo, send func(*AgentEvent)) {
			text, _ := info.ResumeData.(string)
			send(said(name + " got " + text))
		},
	}
}

func said(text string) *AgentEvent {
	return EventFromMessage(schema.AssistantMessage(text, nil), nil, schema.Assistant, "")
}

// waiting is an agent that waits for the test and ignores cancels. Its context is in entered.
type waiting struct {
	Agent
	entered chan context.Context
	release chan struct{}
}

func newWaiting() *waiting {
	w := &waiting{entered: make(chan context.Context, 100), release: make(chan struct{})}
	w.Agent = actor("w", func(ctx context.Context, _ func(*AgentEvent)) {
		w.entered <- ctx
		<-w.release
	})
	return w
}

// Rule runtime/L1.
func TestNewTurnLoop_PanicsWithoutCallbacks(t *testing.T) {
	s := newScene(t)
	require.PanicsWithValue(t, "adk: NewTurnLoop: GenInput is required", func() { NewTurnLoop(itemConfig{}) })
	s.cfg.PrepareAgent = nil
	require.PanicsWithValue(t, "adk: NewTurnLoop: PrepareAgent is required", func() { NewTurnLoop(s.cfg) })
}

// Rules runtime/L13, runtime/L23, runtime/L27.
func TestTurnLoop_InvalidOptionsPanicWhenMade(t *testing.T) {
	point := "adk: SafePoint must not be zero; use AfterToolCalls, AfterChatModel, or AnySafePoint"
	require.PanicsWithValue(t, point, func() { WithPreempt[string, Message](0) })
	require.PanicsWithValue(t, point, func() { WithPreemptTimeout[string, Message](0, time.Second) })
	require.PanicsWithValue(t, "adk: WithGracefulTimeout: gracePeriod must be positive", func() { WithGracefulTimeout(0) })
	require.PanicsWithValue(t, "adk: UntilIdleFor: duration must be positive", func() { UntilIdleFor(-1) })
	require.Equal(t, SafePoint(1), AfterChatModel)
	require.Equal(t, SafePoint(2), AfterToolCalls)
	require.Equal(t, SafePoint(3), AnySafePoint)
}

// Rule runtime/L2.
func TestTurnLoop_RunsOnceAndAllWaitersGetOneState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		l := NewTurnLoop(s.cfg)
		states := make(chan *loopLeft, 3)
		for range 3 {
			go func() { states <- l.Wait() }()
		}
		l.Push("1")
		synctest.Wait()
		require.Empty(t, states, "Wait waits for Run")
		l.Run(t.Context())
		l.Run(t.Context())
		synctest.Wait()
		l.Stop()
		first := l.Wait()
		for range 3 {
			require.Same(t, first, <-states)
		}
		require.Equal(t, [][]string{{"1"}}, s.turns)
	})
}

// Rule runtime/L3.
func TestTurnLoop_SlicesBelongToWhoIsGivenThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		var given [][]string
		s.cfg.GenInput = func(_ context.Context, _ *itemLoop, items []string) (*itemPlan, error) {
			given = append(given, items)
			if len(items) < 3 {
				return &itemPlan{Input: &AgentInput{}, Consumed: items}, nil
			}
			// Overlapping parts of one array, written to afterwards.
			plan := &itemPlan{Input: &AgentInput{}, Consumed: items[:3], Remaining: items[2:]}
			return plan, nil
		}
		s.cfg.OnAgentEvents = func(_ context.Context, tc *itemTurn, _ *itemEvents) error {
			given = append(given, tc.Consumed)
			for i := range given[0] {
				given[0][i] = "overwritten"
			}
			_ = append(tc.Consumed, "x")
			return nil
		}
		l := s.run("1", "2", "3", "4", "5")
		synctest.Wait()
		l.Push("6")
		l.Stop()
		exit := l.Wait()
		l.Push("7")
		require.Equal(t, [][]string{{"1", "2", "3"}, {"3", "4", "5"}, {"5"}}[:len(s.turns)], s.turns)
		late := exit.TakeLateItems()
		for _, g := range append(append(given, s.turns...), exit.UnhandledItems, late) {
			require.Equal(t, len(g), cap(g))
		}
	})
}

// Rules runtime/L4, runtime/L6.
func TestTurnLoopPlan_FailureEndsTheLoopAndKeepsItems(t *testing.T) {
	boom := errors.New("boom")
	for name, test := range map[string]struct {
		change func(*scene)
		want   string
	}{
		"GenInput fails": {func(s *scene) { s.cfg.GenInput = failingPlan(nil, boom) }, "boom"},
		"GenInput panics": {func(s *scene) {
			s.cfg.GenInput = func(context.Context, *itemLoop, []string) (*itemPlan, error) { panic("boom") }
		}, "boom"},
		"no plan": {func(s *scene) { s.cfg.GenInput = failingPlan(nil, nil) }, "GenInputResult is nil"},
		"no input": {func(s *scene) { s.cfg.GenInput = failingPlan(&itemPlan{Consumed: []string{"1"}}, nil) },
			"agent input is nil"},
		"PrepareAgent fails":   {func(s *scene) { s.cfg.PrepareAgent = preparing(nil, boom) }, "boom"},
		"PrepareAgent has nil": {func(s *scene) { s.cfg.PrepareAgent = preparing(nil, nil) }, "no agent"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, store := newScene(t), newDeletable()
				s.stored(store)
				test.change(s)
				exit := s.run("1", "2", "3").Wait()
				require.ErrorContains(t, exit.ExitReason, test.want)
				require.Equal(t, []string{"1", "2", "3"}, exit.UnhandledItems, "in the order of the pushes")
				require.Empty(t, exit.InterruptedItems)
				require.False(t, exit.CheckpointAttempted)
				require.Zero(t, store.writings)
			})
		})
	}
}

func failingPlan(plan *itemPlan, err error) func(context.Context, *itemLoop, []string) (*itemPlan, error) {
	return func(context.Context, *itemLoop, []string) (*itemPlan, error) { return plan, err }
}

func preparing(agent Agent, err error) func(context.Context, *itemLoop, []string) (Agent, error) {
	return func(context.Context, *itemLoop, []string) (Agent, error) { return agent, err }
}

// Rule runtime/L4.
func TestTurnLoopPlan_RemainingComesBeforeNewItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		s.cfg.GenInput = func(_ context.Context, l *itemLoop, items []string) (*itemPlan, error) {
			if len(items) == 3 && items[0] == "1" {
				l.Push("4") // while the turn is planned
			}
			return &itemPlan{Input: &AgentInput{}, Consumed: items[:1], Remaining: items[1:]}, nil
		}
		l := s.run("1", "2", "3")
		synctest.Wait()
		require.Equal(t, [][]string{{"1"}, {"2"}, {"3"}, {"4"}}, s.turns)
		l.Stop()
		l.Wait()
	})
}

// Rule runtime/L5.
func TestTurnLoopPlan_RunCtxIsThatOfTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		s := newScene(t)
		var seen []any
		look := func(ctx context.Context) { seen = append(seen, ctx.Value(key{})) }
		s.cfg.GenInput = func(ctx context.Context, _ *itemLoop, items []string) (*itemPlan, error) {
			return &itemPlan{RunCtx: context.WithValue(ctx, key{}, "v"), Input: &AgentInput{}, Consumed: items}, nil
		}
		s.cfg.PrepareAgent = func(ctx context.Context, _ *itemLoop, _ []string) (Agent, error) {
			look(ctx)
			return actor("a", func(ctx context.Context, _ func(*AgentEvent)) { look(ctx) }), nil
		}
		s.cfg.OnAgentEvents = func(ctx context.Context, _ *itemTurn, events *itemEvents) error {
			for range events.All() {
			}
			look(ctx)
			return nil
		}
		l := s.run("1")
		synctest.Wait()
		require.Equal(t, []any{"v", "v", "v"}, seen)
		l.Stop()
		l.Wait()
	})
}

// Rule runtime/L7.
func TestTurnLoop_CallbackDecidesWhetherAnErrorEndsTheLoop(t *testing.T) {
	boom := errors.New("boom")
	for name, test := range map[string]struct {
		agent    Agent
		callback func(context.Context, *itemTurn, *itemEvents) error
		want     string
	}{
		"its error": {nil, func(context.Context, *itemTurn, *itemEvents) error { return boom }, "boom"},
		"its panic": {nil, func(context.Context, *itemTurn, *itemEvents) error { panic("boom") }, "boom"},
		"default: first error": {actor("a", func(_ context.Context, send func(*AgentEvent)) {
			send(&AgentEvent{Err: boom})
			send(&AgentEvent{Err: errors.New("second")})
		}), nil, "boom"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t)
				if test.agent != nil {
					s.agent = test.agent
				}
				s.cfg.OnAgentEvents = test.callback
				exit := s.run("1").Wait()
				require.ErrorContains(t, exit.ExitReason, test.want)
				require.Empty(t, exit.UnhandledItems)
				require.Empty(t, exit.InterruptedItems)
			})
		})
	}
}

// panicking is an agent whose methods panic.
type panicking struct {
	Agent
	name bool
}

func (p panicking) Name(ctx context.Context) string {
	if p.name {
		panic("boom")
	}
	return p.Agent.Name(ctx)
}

func (p panicking) Run(context.Context, *AgentInput, ...AgentRunOption) *itemEvents { panic("boom") }

// Rule runtime/B15.13.
func TestTurnLoop_PanicsAndGoexitEndTheLoop(t *testing.T) {
	for name, change := range map[string]func(*scene){
		"the agent's Name": func(s *scene) { s.agent = panicking{s.agent, true} },
		"the agent's Run":  func(s *scene) { s.agent = panicking{s.agent, false} },
		"GenInput exits": func(s *scene) {
			s.cfg.GenInput = func(context.Context, *itemLoop, []string) (*itemPlan, error) { runtime.Goexit(); return nil, nil }
		},
		"PrepareAgent exits": func(s *scene) {
			s.cfg.PrepareAgent = func(context.Context, *itemLoop, []string) (Agent, error) { runtime.Goexit(); return nil, nil }
		},
		"OnAgentEvents exits": func(s *scene) {
			s.agent = actor("a", func(ctx context.Context, _ func(*AgentEvent)) { <-ctx.Done() })
			s.cfg.OnAgentEvents = func(context.Context, *itemTurn, *itemEvents) error { runtime.Goexit(); return nil }
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t)
				change(s)
				exit := s.run("1").Wait()
				require.Error(t, exit.ExitReason)
				if slices.Contains([]string{"GenInput exits", "PrepareAgent exits"}, name) {
					require.Equal(t, []string{"1"}, exit.UnhandledItems)
				}
			})
		})
	}
}

// Rules runtime/L8, runtime/L9.
func TestTurnLoop_InterruptOfTheAgentEndsTheLoop(t *testing.T) {
	boom := errors.New("boom")
	for name, test := range map[string]struct {
		callback func(context.Context, *itemTurn, *itemEvents) error
		store    bool
		want     error
	}{
		"default":         {nil, true, nil},
		"without a store": {nil, false, nil},
		"hidden": {func(_ context.Context, _ *itemTurn, events *itemEvents) error { drainTurn(events); return nil },
			true, nil},
		"own error": {func(_ context.Context, _ *itemTurn, events *itemEvents) error { drainTurn(events); return boom }, true,
			boom},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, store := newScene(t), newDeletable()
				if test.store {
					s.stored(store)
				}
				s.agent = asking("a")
				s.cfg.OnAgentEvents = test.callback
				exit := s.run("1").Wait()
				if test.want != nil {
					require.ErrorIs(t, exit.ExitReason, test.want)
				} else {
					var interrupted *InterruptError
					require.ErrorAs(t, exit.ExitReason, &interrupted)
					require.EqualError(t, interrupted, "agent interrupted: 1 context(s)")
					require.Equal(t, interrupted.InterruptContexts, interrupted.GetInterruptContexts())
				}
				require.Equal(t, []string{"1"}, exit.InterruptedItems)
				require.Equal(t, []string{"1"}, exit.CanceledItems)
				require.Empty(t, exit.UnhandledItems)
				require.Equal(t, test.store, exit.CheckpointAttempted)
				require.Equal(t, test.store, exit.Checkpointed)
				require.NoError(t, exit.CheckpointErr)
			})
		})
	}
}

func drainTurn(events *itemEvents) {
	for range events.All() {
	}
}

// Rules runtime/L10, runtime/L11, runtime/L21.
func TestTurnLoopStop_ExitState(t *testing.T) {
	boom := errors.New("boom")
	for name, test := range map[string]struct {
		answer      *schema.Message
		returned    error
		interrupted bool
	}{
		"at a safe point":                   {callOf("echo", "c", "x"), nil, true},
		"at a safe point, callback's error": {callOf("echo", "c", "x"), boom, true},
		"no safe point came":                {schema.AssistantMessage("done", nil), nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, store := newScene(t), newDeletable()
				s.stored(store)
				m := newStuck(test.answer)
				s.agent = newOrdinary(t, "a", m, echo("echo"))
				stopped := false
				s.cfg.OnAgentEvents = func(_ context.Context, tc *itemTurn, events *itemEvents) error {
					drainTurn(events)
					<-tc.Stopped
					stopped = tc.StopCause() == "why"
					return test.returned
				}
				l := s.run("1")
				<-m.entered
				l.Push("2")
				l.Stop(WithGraceful(), WithStopCause("why"))
				close(m.release)
				exit := l.Wait()
				require.True(t, stopped)
				var cancelled *CancelError
				switch {
				case test.returned != nil:
					require.ErrorIs(t, exit.ExitReason, boom)
				case test.interrupted:
					require.ErrorAs(t, exit.ExitReason, &cancelled)
					require.Equal(t, "id", cancelled.CheckPointID)
				default:
					require.NoError(t, exit.ExitReason)
				}
				require.Equal(t, test.interrupted, len(exit.InterruptedItems) == 1)
				require.Equal(t, []string{"2"}, exit.UnhandledItems)
				require.True(t, exit.CheckpointAttempted)
			})
		})
	}
}

// panickingStore panics in one of its methods.
type panickingStore struct {
	*deletable
	in string
}

func (p panickingStore) panicIn(method string) {
	if p.in == method {
		panic("boom")
	}
}

func (p panickingStore) Get(ctx context.Context, id string) ([]byte, bool, error) {
	p.panicIn("Get")
	return p.deletable.Get(ctx, id)
}

func (p panickingStore) Set(ctx context.Context, id string, b []byte) error {
	p.panicIn("Set")
	return p.deletable.Set(ctx, id, b)
}

func (p panickingStore) Delete(ctx context.Context, id string) error {
	p.panicIn("Delete")
	return p.deletable.Delete(ctx, id)
}

// Whatever panics ends the loop with an error, and no item is lost.
// Rule runtime/B15.13.
func TestTurnLoop_PanicsInCallbacksBecomeTheExitReason(t *testing.T) {
	for name, c := range map[string]struct {
		change     func(s *scene)
		unhandled  []string
		checkpoint bool // the panic is one of saving
	}{
		"GenInput": {func(s *scene) {
			s.cfg.GenInput = func(context.Context, *itemLoop, []string) (*itemPlan, error) { panic("boom") }
		}, []string{"1"}, false},
		"PrepareAgent": {func(s *scene) {
			s.cfg.PrepareAgent = func(context.Context, *itemLoop, []string) (Agent, error) { panic("boom") }
		}, []string{"1"}, false},
		"OnAgentEvents": {func(s *scene) {
			s.cfg.OnAgentEvents = func(context.Context, *itemTurn, *itemEvents) error { panic("boom") }
		}, nil, false},
		"the agent": {func(s *scene) {
			s.agent = &custom[Message]{"a", func(context.Context, *AgentInput, []AgentRunOption) *itemEvents { panic("boom") }}
		}, nil, false},
		"GenResume": {func(s *scene) {
			store := memory{}
			s.stored(store)
			agent := s.agent
			s.agent = asking("a")
			require.ErrorAs(s, s.run("0").Wait().ExitReason, new(*InterruptError))
			s.agent = agent
			s.cfg.GenResume = func(context.Context, *itemLoop, []string, []string,
				[]string,
			) (*GenResumeResult[string, Message], error) {
				panic("boom")
			}
		}, []string{"1"}, false},
		"Store.Get": {func(s *scene) { s.stored(panickingStore{newDeletable(), "Get"}) }, []string{"1"}, false},
		"Store.Set": {func(s *scene) { s.stored(panickingStore{newDeletable(), "Set"}); s.agent = asking("a") }, nil,
			true},
		"Store.Delete": {func(s *scene) { s.stored(panickingStore{newDeletable(), "Delete"}) }, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			c.change(s)
			l := s.run("1")
			if name == "Store.Delete" {
				l.Stop(UntilIdleFor(time.Millisecond))
			}
			exit := l.Wait()
			err := exit.ExitReason
			if c.checkpoint {
				err = exit.CheckpointErr
			}
			require.ErrorContains(t, err, "boom")
			require.Equal(t, c.unhandled, exit.UnhandledItems)
		})
	}
}
