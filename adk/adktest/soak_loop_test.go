package adktest_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/schema"
)

// loop has a TurnLoop run the agent in a few turns, which are preempted, and stops it. Another one continues where it
// stopped. Every item must be part of a turn, or be left over.
func (s *soaking[M]) loop(rnd *rand.Rand) error {
	store := checkpoint.NewMemoryStore()
	var owed []string
	for number := range 1 + rnd.IntN(2) {
		before, _, _ := store.Get(context.Background(), soakLoopID)
		l := &soakLoop[M]{soaking: s, rnd: rnd, number: number}
		if rnd.IntN(2) == 0 {
			l.store = store
		}
		exit := l.run()
		s.tally.add("TurnLoop")
		if exit.CheckpointErr != nil {
			return fmt.Errorf("%s in a TurnLoop: %w", s.name, exit.CheckpointErr)
		}
		after, _, _ := store.Get(context.Background(), soakLoopID)
		if l.store != nil && (before == nil || !bytes.Equal(before, after)) { // it took over what was saved
			l.items = append(l.items, owed...)
		}
		if lost := l.lost(exit); lost != nil {
			return fmt.Errorf("%s in a TurnLoop has lost the items %q", s.name, lost)
		}
		if owed = nil; exit.CheckpointAttempted {
			owed = slices.Concat(exit.UnhandledItems, exit.InterruptedItems)
		}
	}
	return nil
}

// soakLoopID is the checkpoint ID of all TurnLoops: each has a store of its own.
const soakLoopID = "soak"

// soakLoop is one TurnLoop.
type soakLoop[M adk.MessageType] struct {
	*soaking[M]
	rnd    *rand.Rand
	number int
	store  adk.CheckPointStore
	// items are the items that the loop has taken.
	items []string

	mu       sync.Mutex // guards prepared
	prepared []string   // the items of all turns for which an agent was prepared
}

// lost returns the items that were neither part of a turn nor left over.
func (l *soakLoop[M]) lost(exit *adk.TurnLoopExitState[string, M]) (lost []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := slices.Concat(l.prepared, exit.UnhandledItems, exit.InterruptedItems)
	for _, item := range l.items {
		if !slices.Contains(known, item) {
			lost = append(lost, item)
		}
	}
	return lost
}

// run runs the loop to its end.
func (l *soakLoop[M]) run() *adk.TurnLoopExitState[string, M] {
	ctx, end := context.WithCancel(context.Background())
	defer end()
	cancel := func(...adk.AgentCancelOption) (*adk.CancelHandle, bool) { return nil, false }
	if f := randomFault(l.rnd, disturbance{cancel: cancel, end: end}, 40); f != nil {
		ctx = context.WithValue(ctx, faultsKey{}, f)
	}
	loop := adk.NewTurnLoop(l.config())
	loop.Run(ctx)
	l.pushAndStop(loop)
	return loop.Wait()
}

func (l *soakLoop[M]) config() adk.TurnLoopConfig[string, M] {
	type loop = adk.TurnLoop[string, M]
	streaming, seed := l.rnd.IntN(2) == 0, l.rnd.Uint64()
	conf := adk.TurnLoopConfig[string, M]{
		GenInput: func(_ context.Context, _ *loop, items []string) (*adk.GenInputResult[string, M], error) {
			return &adk.GenInputResult[string, M]{
				Input:    &adk.TypedAgentInput[M]{Messages: []M{userMessage[M](items[0])}, EnableStreaming: streaming},
				Consumed: items[:1], Remaining: items[1:],
			}, nil
		},
		GenResume: func(
			_ context.Context, _ *loop, interrupted, waiting, pushed []string,
		) (*adk.GenResumeResult[string, M], error) {
			return &adk.GenResumeResult[string, M]{Consumed: interrupted, Remaining: append(waiting, pushed...)}, nil
		},
		PrepareAgent: func(_ context.Context, _ *loop, consumed []string) (adk.TypedAgent[M], error) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.prepared = append(l.prepared, consumed...)
			return l.shared, nil
		},
	}
	if l.store != nil {
		conf.Store, conf.CheckpointID = l.store, soakLoopID
	}
	if l.rnd.IntN(2) == 0 {
		conf.OnAgentEvents = func(
			_ context.Context, _ *adk.TurnContext[string, M], events *adk.AsyncIterator[*adk.TypedAgentEvent[M]],
		) error {
			rnd := rand.New(rand.NewPCG(seed, 1))
			return read(rnd, events, randomReading(rnd)).err
		}
	}
	return conf
}

// pushAndStop gives the loop some items and stops it.
func (l *soakLoop[M]) pushAndStop(loop *adk.TurnLoop[string, M]) {
	points := []adk.SafePoint{adk.AfterChatModel, adk.AfterToolCalls, adk.AnySafePoint}
	for n := range 1 + l.rnd.IntN(4) {
		var opts []adk.PushOption[string, M]
		switch l.rnd.IntN(4) {
		case 0:
			opts = append(opts, adk.WithPreempt[string, M](points[l.rnd.IntN(len(points))]))
		case 1:
			opts = append(opts, adk.WithPreemptCancel[string, M](cancelOptions(l.rnd)...))
		}
		if l.rnd.IntN(4) == 0 {
			opts = append(opts, adk.WithPreemptDelay[string, M](time.Duration(l.rnd.IntN(1000))*time.Microsecond))
		}
		item := fmt.Sprintf("item %d of loop %d", n, l.number)
		if taken, _ := loop.Push(item, opts...); taken {
			l.items = append(l.items, item)
		}
		time.Sleep(time.Duration(l.rnd.IntN(1000)) * time.Microsecond)
	}
	stops := [][]adk.StopOption{
		nil, {adk.WithImmediate()}, {adk.WithGraceful()}, {adk.WithGracefulTimeout(time.Millisecond)},
		{adk.UntilIdleFor(time.Millisecond)}, {adk.WithAgentCancel(cancelOptions(l.rnd)...)}, {adk.WithSkipCheckpoint()},
	}
	loop.Stop(stops[l.rnd.IntN(len(stops))]...)
}

// userMessage is a message of a user.
func userMessage[M adk.MessageType](text string) M {
	var m any = schema.UserAgenticMessage(text)
	if _, ordinary := any(*new(M)).(*schema.Message); ordinary {
		m = schema.UserMessage(text)
	}
	return m.(M)
}
