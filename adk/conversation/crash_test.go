package conversation

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

var errDied = errors.New("the process has died")

// mortal is the store, of runs and of the conversation, of a process that dies: after so many writes nothing is written.
type mortal struct {
	*checkpoint.MemoryStore
	left atomic.Int64
}

func (m *mortal) write(do func() error) error {
	if m.left.Add(-1) < 0 {
		return errDied
	}
	return do()
}

func (m *mortal) AppendRecord(ctx context.Context, id string, record []byte) error {
	return m.write(func() error { return m.MemoryStore.AppendRecord(ctx, id, record) })
}

func (m *mortal) Acquire(ctx context.Context, id string, req runs.LeaseRequest) (l runs.Lease, err error) {
	err = m.write(func() error {
		l, err = m.MemoryStore.Acquire(ctx, id, req)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &mortalLease{l, m}, nil
}

type mortalLease struct {
	runs.Lease
	m *mortal
}

func (l *mortalLease) AppendRecord(ctx context.Context, id string, record []byte) error {
	return l.m.write(func() error { return l.Lease.AppendRecord(ctx, id, record) })
}

func (l *mortalLease) Settle(ctx context.Context, s runs.Settlement) error {
	return l.m.write(func() error { return l.Lease.Settle(ctx, s) })
}

// deskModel looks before it answers, and asks for money when the question is to pay.
type deskModel struct{}

func (deskModel) Generate(_ context.Context, history []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	call := func(name string) *schema.Message {
		return schema.AssistantMessage("", []schema.ToolCall{{ID: "1", Function: schema.FunctionCall{Name: name, Arguments: "{}"}}})
	}
	switch last := history[len(history)-1]; {
	case last.Role == schema.Tool:
		return schema.AssistantMessage("Hello", nil), nil
	case last.Content == "Pay!":
		return call("pay"), nil
	}
	return call("look"), nil
}

func (m deskModel) Stream(ctx context.Context, history []*schema.Message, opts ...model.Option) (
	*schema.StreamReader[*schema.Message], error) {
	answer, err := m.Generate(ctx, history, opts...)
	return schema.StreamReaderFromArray([]*schema.Message{answer}), err
}

// again is a tool whose calls may be repeated.
type again struct{ *adktest.Tool }

func (again) Idempotent() bool { return true }

// deskOf is a runner of a process. It takes the runs of those that died.
func deskOf(t *testing.T, store adk.CheckPointStore) *adk.Runner {
	t.Helper()
	agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{
		Name: "desk", Description: "answers", Model: deskModel{},
		ToolsConfig: adktest.Tools(pays{adktest.NewTool("pay")}, again{adktest.NewTool("look", adktest.Says("found").Repeated())}),
	})
	require.NoError(t, err)
	return adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent, CheckPointStore: store, Durability: adk.EveryStep,
		Lease: adk.LeaseOptions{Steal: true}})
}

// A process that dies at any write, of the run or of its conversation, leaves what the next one needs: the run ends with
// its turn in the conversation once, also if the next question was asked before. That is why the turn need not be
// appended in the transaction in which the run is settled.
//
// Rules distributed/M3, distributed/M4.
func TestRunOption_AProcessThatDiesBesideTheConversationLosesNoTurn(t *testing.T) {
	for _, next := range []string{"", "answered", "waits"} {
		for writes := int64(0); ; writes++ {
			survived := false
			t.Run(fmt.Sprintf("%d writes, next question %q", writes, next), func(t *testing.T) {
				survived = dieAfter(t, writes, next)
			})
			if survived || t.Failed() {
				break
			}
		}
	}
}

// dieAfter has a process die that answers a question, another question asked, if the conversation lets it, and the first
// run continued. It reports whether the process survived.
func dieAfter(t *testing.T, writes int64, next string) (survived bool) {
	store := checkpoint.NewMemoryStore()
	m := &mortal{MemoryStore: store}
	m.left.Store(writes)
	_, err := finish(deskOf(t, m).Query(t.Context(), "Hi", open(t, m).RunOption(HistoryOptions{}), adk.WithCheckPointID("run")))
	if survived = m.left.Load() >= 0; survived {
		require.NoError(t, err)
	}

	c := open(t, store)
	h, err := c.History(t.Context())
	require.NoError(t, err)
	if next == "waits" && h.Open == nil && len(h.Turns) == 0 {
		return survived // it had not begun its turn, so the other one is the first
	}
	if question := map[string]string{"answered": "And?", "waits": "Pay!"}[next]; question != "" {
		_, err = finish(deskOf(t, store).Query(t.Context(), question, c.RunOption(HistoryOptions{}), adk.WithCheckPointID("next")))
		if err != nil {
			require.ErrorAs(t, err, new(*OpenError))
		}
	}
	events, err := deskOf(t, store).Resume(t.Context(), "run", c.RunOption(HistoryOptions{}))
	if errors.Is(err, runs.ErrNotFound) { // it had not begun
		events, err = deskOf(t, store).Query(t.Context(), "Hi", c.RunOption(HistoryOptions{}), adk.WithCheckPointID("run")), nil
	}
	require.NoError(t, err)
	_, err = finish(events)
	require.NoError(t, err)

	info, _, err := store.Inspect(t.Context(), "run")
	require.NoError(t, err)
	require.Equal(t, runs.Done, info.Status)
	turns := 0
	for turn, err := range c.Turns(t.Context()) {
		require.NoError(t, err)
		if turn.ID == "run" {
			turns++
			require.Equal(t, []string{"user: Hi", "assistant: [look]", "tool: found", "assistant: Hello"}, contents(turn.Messages()))
		}
	}
	require.Equal(t, 1, turns)
	return survived
}
