package adktest_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// TestRunner_RandomLives: two workers resume one run, die at random writes, stand still for longer than a lease, and take
// the run from each other. Each payment is made once, no matter which worker has the run in the end, and nothing is lost.
// Rules distributed/J2, distributed/J3, distributed/F6, distributed/F8, distributed/F14.
func TestRunner_RandomLives(t *testing.T) {
	walks, seed := 40, uint64(1)
	if n, err := strconv.ParseUint(os.Getenv("WEFT_WALKS"), 10, 64); err == nil {
		walks, seed = int(n), uint64(time.Now().UnixNano())
		if n, err := strconv.ParseUint(os.Getenv("WEFT_WALKS_SEED"), 10, 64); err == nil {
			seed = n
		}
	}
	for n := range walks {
		seed := seed + uint64(n)
		synctest.Test(t, func(t *testing.T) { walkLives(t, seed) })
		if t.Failed() {
			t.Fatalf("in the walk with the seed %d", seed)
		}
	}
}

const walkID = "run"

// walk is a run that lives many lives.
type walk struct {
	t     *testing.T
	store *checkpoint.MemoryStore

	mu sync.Mutex // guards the fields below; no other lock is taken while it is held
	// random is used by all lives.
	random *rand.Rand
	// paid are the idempotency keys with which something was paid for, by what it is.
	paid map[string][]string
	// lives, deaths and pauses count them.
	lives, deaths, pauses int
}

func (w *walk) below(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.random.IntN(n)
}

func walkLives(t *testing.T, seed uint64) {
	w := &walk{t: t, store: checkpoint.NewMemoryStore(), random: rand.New(rand.NewPCG(seed, 0)), paid: map[string][]string{}}
	w.store.Clock = time.Now
	var ends sync.WaitGroup
	for range 2 {
		ends.Go(func() {
			for !w.isDone() {
				w.live()
				time.Sleep(time.Duration(w.below(1500)) * time.Millisecond)
			}
		})
	}
	ends.Wait()
	time.Sleep(10 * time.Second) // calls that were given up stand still, and end
	info, _, err := w.store.Inspect(t.Context(), walkID)
	require.NoError(t, err)
	require.Equal(t, runs.Done, info.Status)
	require.Zero(t, info.Steps, "the journal is gone")
	require.Len(t, w.paid, 4)
	for what, keys := range w.paid {
		require.Len(t, keys, 1, "%s, in %d lives, %d deaths and %d pauses", what, w.lives, w.deaths, w.pauses)
	}
}

func (w *walk) isDone() bool {
	info, exists, err := w.store.Inspect(w.t.Context(), walkID)
	require.NoError(w.t, err)
	return exists && info.Status == runs.Done
}

// walkLife describes what one process does with the run.
type walkLife struct {
	runs.Store
	w *walk

	mu sync.Mutex // guards the fields below; no other lock is taken while it is held
	// left is the number of writes that the process makes before it dies; negative for ever.
	left int
	dead bool
	// still: it stands still, and renews nothing.
	still bool
	end   context.CancelFunc
}

var errDead = errors.New("the process is dead")

// live begins the run or resumes it, until it ends, is lost, or the process dies.
func (w *walk) live() {
	l := &walkLife{Store: w.store, w: w, left: w.below(14) - 2}
	ctx, end := context.WithCancel(w.t.Context())
	l.end = end
	defer end()
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{Name: "payer", Description: "pays", Model: l,
		ToolsConfig: adktest.Tools([]tool.BaseTool{walkPay{l}}...)})
	require.NoError(w.t, err)
	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent, CheckPointStore: l, Durability: adk.EveryStep,
		Lease: adk.LeaseOptions{TTL: time.Second, Steal: w.below(8) == 0}})
	w.mu.Lock()
	w.lives++
	w.mu.Unlock()
	events, err := runner.Resume(ctx, walkID)
	if errors.Is(err, runs.ErrNotFound) {
		events, err = runner.Query(ctx, "Pay.", adk.WithCheckPointID(walkID)), nil
	}
	for err == nil {
		if _, ok := events.Next(); !ok {
			break
		}
	}
}

// write makes a write of the process, or is the last thing that it does.
func (l *walkLife) write(do func() error) error {
	l.mu.Lock()
	if l.left--; l.left == 0 {
		l.dead = true
		l.w.mu.Lock()
		l.w.deaths++
		l.w.mu.Unlock()
	}
	dead, isLast := l.dead, l.left == 0
	l.mu.Unlock()
	if dead && (!isLast || l.w.below(2) == 0) {
		l.end()
		return errDead
	}
	err := do()
	if isLast {
		l.end()
		return errDead // it has not seen the answer
	}
	return err
}

func (l *walkLife) isDead() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dead
}

// pause has the process stand still for a while, now and then for longer than a lease.
func (l *walkLife) pause() {
	l.set(true)
	time.Sleep(time.Duration(l.w.below(3)*l.w.below(1500)) * time.Millisecond)
	l.set(false)
}

func (l *walkLife) set(still bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.still = still
}

func (l *walkLife) Acquire(ctx context.Context, id string, req runs.LeaseRequest) (lease runs.Lease, err error) {
	err = l.write(func() (err error) {
		lease, err = l.Store.Acquire(ctx, id, req)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &walkLease{lease, l}, nil
}

type walkLease struct {
	runs.Lease
	life *walkLife
}

func (l *walkLease) Set(ctx context.Context, id string, data []byte) error {
	return l.life.write(func() error { return l.Lease.Set(ctx, id, data) })
}

func (l *walkLease) AppendRecord(ctx context.Context, id string, record []byte) error {
	return l.life.write(func() error { return l.Lease.AppendRecord(ctx, id, record) })
}

func (l *walkLease) RemoveRecords(ctx context.Context, id string) error {
	return l.life.write(func() error { return l.Lease.RemoveRecords(ctx, id) })
}

func (l *walkLease) Settle(ctx context.Context, s runs.Settlement) error {
	return l.life.write(func() error { return l.Lease.Settle(ctx, s) })
}

func (l *walkLease) Renew(ctx context.Context) error {
	l.life.mu.Lock()
	dead, still := l.life.dead, l.life.still
	l.life.mu.Unlock()
	switch {
	case dead:
		return errDead
	case still:
		return nil
	}
	return l.Lease.Renew(ctx)
}

// walkPay pays. What was paid for, and what not, can be found out.
type walkPay struct{ life *walkLife }

func (p walkPay) Info(context.Context) (*schema.ToolInfo, error) {
	return &schema.ToolInfo{Name: "pay", Desc: "pays"}, nil
}

func (p walkPay) InvokableRun(ctx context.Context, what string, _ ...tool.Option) (string, error) {
	if p.life.isDead() {
		return "", errDead
	}
	w := p.life.w
	w.mu.Lock()
	w.paid[what] = append(w.paid[what], adk.GetIdempotencyKey(ctx))
	w.mu.Unlock()
	p.life.pause() // a call that has an effect later may have it beside its repetition
	return "paid " + what, ctx.Err()
}

func (p walkPay) Outcome(_ context.Context, u *adk.OutcomeUnknown) (*adk.ToolOutcome, error) {
	w := p.life.w
	w.mu.Lock()
	defer w.mu.Unlock()
	for what, keys := range w.paid {
		for _, key := range keys {
			if key == u.IdempotencyKey {
				return &adk.ToolOutcome{Result: "paid " + what}, nil
			}
		}
	}
	return &adk.ToolOutcome{Rerun: true}, nil
}

// Generate has two things paid for side by side, and then one after the other.
func (l *walkLife) Generate(ctx context.Context, history []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	l.w.mu.Lock()
	l.w.pauses++
	l.w.mu.Unlock()
	l.pause()
	if l.isDead() || ctx.Err() != nil {
		return nil, errDead
	}
	paid := 0
	for _, m := range history {
		if m.Role == schema.Tool {
			paid++
		}
	}
	pay := func(things ...string) *schema.Message {
		var calls []schema.ToolCall
		for _, what := range things {
			calls = append(calls, schema.ToolCall{ID: fmt.Sprint("call ", what, l.w.below(1000)),
				Function: schema.FunctionCall{Name: "pay", Arguments: what}})
		}
		return schema.AssistantMessage("", calls)
	}
	switch paid {
	case 0:
		return pay(`"a"`, `"b"`), nil
	case 2:
		return pay(`"c"`), nil
	case 3:
		return pay(`"d"`), nil
	}
	return schema.AssistantMessage("all paid", nil), nil
}

// Stream is Generate in one piece.
func (l *walkLife) Stream(ctx context.Context, history []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	m, err := l.Generate(ctx, history, opts...)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderFromArray([]*schema.Message{m}), nil
}
