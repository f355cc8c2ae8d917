package adk

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
)

// world is a loop under random pushes, stops and failures, and a loop after it on the same store, and so on. It knows
// where each item is.
type world struct {
	*dice
	t     *testing.T
	store *deletable
	agent *ChatModelAgent

	mu sync.Mutex
	// fate is the place where an item has ended: each in one place.
	fate   map[int]string
	pushed int
	// held are the items that the store must have.
	held    []int
	running int
}

type (
	worldLoop = TurnLoop[int, Message]
	worldPush = PushOption[int, Message]
)

// whimsical is a model that takes its time, and sometimes calls a tool, sometimes one that interrupts.
type whimsical struct{ w *world }

func (m whimsical) Generate(ctx context.Context, _ []Message, _ ...model.Option) (Message, error) {
	m.w.nap(ctx)
	switch m.w.roll(8) {
	case 0:
		return callOf("ask", "c", "x"), nil
	case 1, 2, 3:
		return callOf("echo", "c", "x"), nil
	case 4:
		return nil, errors.New("the model fails")
	}
	return schema.AssistantMessage("done", nil), nil
}

func (m whimsical) Stream(ctx context.Context, in []Message,
	opts ...model.Option,
) (*schema.StreamReader[Message], error) {
	return asStream(m.Generate(ctx, in, opts...))
}

func asStream(m Message, err error) (*schema.StreamReader[Message], error) {
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderFromArray([]Message{m}), nil
}

func (w *world) nap(ctx context.Context) {
	d := time.Duration(w.roll(20)) * time.Millisecond
	if w.roll(4) == 0 { // a careless one
		time.Sleep(d)
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// ends notes where items have ended. An item may be reported again by the loop that resumes it.
func (w *world) ends(where string, items ...int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, i := range items {
		if before, twice := w.fate[i]; twice {
			w.t.Errorf("item %d is %s, and was %s", i, where, before)
		}
		w.fate[i] = where
	}
}

// split consumes, leaves and drops items at random.
func (w *world) split(items []int) (consumed, remaining []int) {
	for n, i := range items {
		switch k := w.roll(10); {
		case n == 0 || k < 7:
			consumed = append(consumed, i)
		case k < 9:
			remaining = append(remaining, i)
		default: // dropped, if the turn begins
		}
	}
	return consumed, remaining
}

// config returns the configuration of a loop. plan is the latest one, begun whether its agent was started.
func (w *world) config(begun func(taken, consumed, remaining []int)) TurnLoopConfig[int, Message] {
	var taken, consumed, remaining []int
	cfg := TurnLoopConfig[int, Message]{
		GenInput: func(ctx context.Context, _ *worldLoop, items []int) (*GenInputResult[int, Message], error) {
			w.nap(ctx)
			if w.roll(12) == 0 {
				return nil, errors.New("no plan")
			}
			taken = slices.Clone(items)
			consumed, remaining = w.split(items)
			return &GenInputResult[int, Message]{Input: &AgentInput{EnableStreaming: w.roll(2) == 0}, Consumed: consumed,
				Remaining: remaining}, nil
		},
		GenResume: func(ctx context.Context, _ *worldLoop,
			interrupted, unhandled, fresh []int,
		) (*GenResumeResult[int, Message], error) {
			w.nap(ctx)
			if w.roll(5) == 0 {
				return nil, errors.New("no plan")
			}
			taken = slices.Concat(interrupted, unhandled, fresh)
			consumed, remaining = w.split(taken)
			return &GenResumeResult[int, Message]{Consumed: consumed, Remaining: remaining}, nil
		},
		PrepareAgent: func(ctx context.Context, _ *worldLoop, _ []int) (Agent, error) {
			w.nap(ctx)
			if w.roll(12) == 0 {
				return nil, errors.New("no agent")
			}
			return w.agent, nil
		},
		OnAgentEvents: func(_ context.Context, _ *TurnContext[int, Message], events *AsyncIterator[*AgentEvent]) error {
			begun(taken, consumed, remaining)
			early := w.roll(6) == 0
			for e := range events.All() {
				if early || e.Err != nil && w.roll(2) == 0 {
					return e.Err
				}
			}
			return nil
		},
	}
	if w.store != nil {
		cfg.Store, cfg.CheckpointID = w.store, "id"
	}
	return cfg
}

// live runs one loop to its end, and reports what it left.
func (w *world) live(ctx context.Context) {
	var current []int
	settled := func() { w.ends("consumed", current...); current = nil }
	l := NewTurnLoop(w.config(func(taken, consumed, remaining []int) {
		w.mu.Lock()
		w.running++
		w.mu.Unlock()
		settled() // the turn before
		current = consumed
		for _, i := range taken {
			if !slices.Contains(consumed, i) && !slices.Contains(remaining, i) {
				w.ends("dropped", i)
			}
		}
	}))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var pushers sync.WaitGroup
	var acks []<-chan struct{}
	var rejected []int
	push := func() {
		w.mu.Lock()
		item := w.pushed
		w.pushed++
		w.mu.Unlock()
		ok, ack := l.Push(item, w.pushOptions()...)
		w.mu.Lock()
		defer w.mu.Unlock()
		if !ok {
			rejected = append(rejected, item)
		}
		if ack != nil {
			acks = append(acks, ack)
		}
	}
	for range w.roll(3) {
		push()
	}
	if w.roll(8) == 0 {
		l.Stop()
	}
	l.Run(ctx)
	for range 3 {
		pushers.Go(func() {
			for range w.roll(4) {
				time.Sleep(time.Duration(w.roll(30)) * time.Millisecond)
				push()
			}
		})
	}
	pushers.Go(func() {
		time.Sleep(time.Duration(w.roll(150)) * time.Millisecond)
		if w.roll(10) == 0 {
			cancel()
		}
		for range 1 + w.roll(3) {
			l.Stop(w.stopOptions()...)
			time.Sleep(time.Duration(w.roll(20)) * time.Millisecond)
		}
		time.Sleep(time.Second)
		l.Stop() // after an UntilIdleFor
	})
	exit := l.Wait()
	pushers.Wait()
	for _, ack := range acks {
		<-ack
	}
	late := exit.TakeLateItems()
	slices.Sort(late)
	slices.Sort(rejected)
	require.Equal(w.t, rejected, append([]int(nil), late...))
	w.ends("late", late...)
	for _, i := range exit.InterruptedItems {
		current = slices.DeleteFunc(slices.Clone(current), func(c int) bool { return c == i })
	}
	settled()
	w.left(exit)
}

// left checks the end of a loop against its store.
func (w *world) left(exit *TurnLoopExitState[int, Message]) {
	items := slices.Concat(exit.InterruptedItems, exit.UnhandledItems)
	if w.store == nil {
		w.ends("left", items...)
		return
	}
	if exit.CheckpointAttempted {
		require.NoError(w.t, exit.CheckpointErr)
		d, err := openTurns[int](w.store.memory["id"])
		require.NoError(w.t, err)
		require.Equal(w.t, slices.Clone(exit.InterruptedItems), d.CanceledItems)
		require.Equal(w.t, slices.Clone(exit.UnhandledItems), d.UnhandledItems)
		w.held = items
		return
	}
	// Nothing was saved: either nothing was left of the checkpoint, or it was never read.
	if len(w.store.memory) > 0 {
		for _, i := range w.held {
			require.NotContains(w.t, items, i, "it is in the store, and was not read")
		}
	} else {
		w.held = nil
	}
	w.ends("left", items...)
}

func (w *world) pushOptions() (opts []worldPush) {
	switch w.roll(8) {
	case 0:
		opts = append(opts, WithPreempt[int, Message](AnySafePoint))
	case 1:
		opts = append(opts, WithPreempt[int, Message](AfterToolCalls))
	case 2:
		opts = append(opts, WithPreemptTimeout[int, Message](AfterChatModel, time.Duration(1+w.roll(20))*time.Millisecond))
	case 3:
		opts = append(opts, WithPreemptCancel[int, Message]())
	case 4:
		return []worldPush{WithPushStrategy(func(ctx context.Context, tc *TurnContext[int, Message]) []worldPush {
			w.nap(ctx)
			if tc == nil {
				return nil
			}
			return []worldPush{WithPreempt[int, Message](AnySafePoint)}
		})}
	}
	if w.roll(3) == 0 {
		opts = append(opts, WithPreemptDelay[int, Message](time.Duration(w.roll(30))*time.Millisecond))
	}
	return opts
}

func (w *world) stopOptions() []StopOption {
	switch w.roll(8) {
	case 0:
		return []StopOption{WithImmediate()}
	case 1, 2:
		return []StopOption{WithGraceful()}
	case 3:
		return []StopOption{WithGracefulTimeout(time.Duration(1+w.roll(20)) * time.Millisecond)}
	case 4:
		return []StopOption{UntilIdleFor(time.Duration(1+w.roll(50)) * time.Millisecond)}
	}
	return nil
}

// TestTurnLoop_EveryItemEndsInOnePlace drives loops at random, several on one store after each other. In the end every
// item is in exactly one place, no turn has run beside another, and nothing runs any more (the bubble ends).
// Rule runtime/B15.7.
func TestTurnLoop_EveryItemEndsInOnePlace(t *testing.T) {
	forSeeds(t, 2000, func(t *testing.T, seed uint64, d *dice) {
		w := &world{dice: d, t: t, fate: map[int]string{}}
		if seed%3 != 0 {
			w.store = newDeletable()
		}
		// One turn at a time: the agent's model and tools run between the hooks.
		inside := 0
		w.agent = setup(t, model.BaseModel[Message](whimsical{w}), nil, func(c *ChatModelAgentConfig) {
			c.ToolsConfig.Tools = append(c.ToolsConfig.Tools,
				&toolFunc{"echo", func(ctx context.Context, _ string) (string, error) {
					w.nap(ctx)
					return "ok", nil
				}}, askTool("ask"))
			c.MaxIterations = 6
			c.Handlers = []ChatModelAgentMiddleware{&hooked[Message]{
				beforeAgent: func(ctx context.Context, rc *ChatModelAgentContext) (context.Context, *ChatModelAgentContext, error) {
					inside++ // a data race, if turns overlapped
					return ctx, rc, nil
				},
			}}
		})
		for range 1 + w.roll(4) {
			w.live(t.Context())
		}
		if w.store != nil {
			w.ends("stored", w.held...)
		}
		for i := range w.pushed {
			require.Contains(t, w.fate, i, "item %d is lost", i)
		}
		require.Len(t, w.fate, w.pushed)
	})
}
