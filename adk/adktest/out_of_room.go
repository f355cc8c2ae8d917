package adktest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// OutOfRoom tests that runs survive a store that is full. It has runs make calls, each after the one before, and fill the
// store before another answer of the model is saved; fill(false) makes room again. It requires that the run fails with an
// error that matches [runs.ErrFull] and names the run and its life, that it continues when there is room, and
// that each call is made once.
func OutOfRoom(t *testing.T, store runs.Store, fill func(full bool)) {
	t.Helper()
	const calls = 3
	for fullAt := range calls + 1 {
		x := &roomless{t: t, calls: calls, fill: fill, fullAt: fullAt}
		id := fmt.Sprint("full at ", fullAt)
		err := x.run(store, func(r *adk.Runner) (*adk.AsyncIterator[*adk.AgentEvent], error) {
			return r.Query(t.Context(), "Pay.", adk.WithCheckPointID(id)), nil
		})
		if !errors.Is(err, runs.ErrFull) || !strings.Contains(err.Error(), id) || !strings.Contains(err.Error(), " life ") {
			t.Errorf("a run whose store is full at answer %d: %v; want an error that matches ErrStoreFull, and names run and life",
				fullAt, err)
		}
		fill(false)
		x.fullAt = -1
		err = x.run(store, func(r *adk.Runner) (*adk.AsyncIterator[*adk.AgentEvent], error) { return r.Resume(t.Context(), id) })
		if err != nil {
			t.Errorf("resumed when there is room: %v", err)
		}
		if want := []string{"0", "1", "2"}; !slices.Equal(x.made, want) {
			t.Errorf("full at answer %d, the calls %q were made; want %q, each once", fullAt, x.made, want)
		}
		if info, _, err := store.Inspect(t.Context(), id); err != nil || info.Status != runs.Done {
			t.Errorf("the run is %q, %v; want it done", info.Status, err)
		}
	}
}

// roomless is a run whose store is filled when the model gives an answer.
type roomless struct {
	t     *testing.T
	calls int
	fill  func(full bool)
	// fullAt is the number of that answer, from 0; negative for none. made are the calls.
	fullAt int
	made   []string
}

// run begins or continues the run as another process would, which has taken it over, and returns its error.
func (x *roomless) run(store runs.Store, do func(*adk.Runner) (*adk.AsyncIterator[*adk.AgentEvent], error)) error {
	x.t.Helper()
	pay := NewTool("pay", Does(func(_ context.Context, call string) (string, error) {
		x.made = append(x.made, call)
		return "paid " + strings.Repeat(".", 1000), nil
	}).Repeated())
	agent, err := adk.NewChatModelAgent(x.t.Context(), &adk.ChatModelAgentConfig{Name: "payer", Description: "pays", Model: x,
		ToolsConfig: Tools([]tool.BaseTool{pay}...)})
	if err != nil {
		x.t.Fatal(err)
	}
	events, err := do(adk.NewRunner(x.t.Context(), adk.RunnerConfig{Agent: agent, CheckPointStore: store,
		Durability: adk.EveryStep, Lease: adk.LeaseOptions{Steal: true}}))
	if err != nil {
		return err
	}
	for {
		e, ok := events.Next()
		if !ok {
			return err
		}
		if e.Err != nil {
			err = errors.Join(err, e.Err)
		}
	}
}

// Generate pays what is not paid yet, one call an answer.
func (x *roomless) Generate(_ context.Context, history []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	paid := 0
	for _, m := range history {
		if m.Role == schema.Tool {
			paid++
		}
	}
	if paid == x.fullAt {
		x.fill(true)
	}
	if paid == x.calls {
		return schema.AssistantMessage("all paid", nil), nil
	}
	return schema.AssistantMessage("", []schema.ToolCall{{ID: fmt.Sprint("call ", paid),
		Function: schema.FunctionCall{Name: "pay", Arguments: fmt.Sprint(paid)}}}), nil
}

// Stream is Generate in one piece.
func (x *roomless) Stream(ctx context.Context, history []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	m, err := x.Generate(ctx, history, opts...)
	return schema.StreamReaderFromArray([]*schema.Message{m}), err
}
