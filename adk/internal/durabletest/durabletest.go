// Package durabletest lets runs that are saved at every step die after each of them, and continue.
//
// The tests of tools that have agents inside use it.
// It must never be used outside of tests.
package durabletest

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// plain is a store with a journal that does not know about runs.
type plain interface {
	checkpoint.Store
	runs.Journal
}

// dying is a store that is out of reach once the process has died, after a number of steps.
type dying struct {
	plain
	left int
}

var errDied = errors.New("the process has died")

func (d *dying) AppendRecord(ctx context.Context, id string, record []byte) error {
	if d.left--; d.left < 0 {
		return errDied
	}
	return d.plain.AppendRecord(ctx, id, record)
}

// Again is a tool that may be called again.
type Again struct{ tool.InvokableTool }

// Idempotent reports true.
func (Again) Idempotent() bool { return true }

// Model answers by what it is asked: it makes a call, and with the result it is done.
type Model struct {
	call schema.ToolCall
	// Asked counts the calls of the model.
	Asked int
}

// NewModel makes a model that calls a tool.
func NewModel(id, name, arguments string) *Model {
	return &Model{call: schema.ToolCall{ID: id, Function: schema.FunctionCall{Name: name, Arguments: arguments}}}
}

// Generate answers.
func (m *Model) Generate(_ context.Context, history []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	m.Asked++
	if history[len(history)-1].Role == schema.Tool {
		return schema.AssistantMessage("done", nil), nil
	}
	return schema.AssistantMessage("", []schema.ToolCall{m.call}), nil
}

// Stream is Generate in one chunk.
func (m *Model) Stream(
	ctx context.Context, history []*schema.Message, opts ...model.Option,
) (*schema.StreamReader[*schema.Message], error) {
	answer, err := m.Generate(ctx, history, opts...)
	return schema.StreamReaderFromArray([]*schema.Message{answer}), err
}

// Survive runs an agent whose process dies after a number of steps, and continues with it. The run has to end with
// "done", and must not ask anything. It reports false if it ended before it could die.
func Survive(t *testing.T, a adk.Agent, streaming bool, steps int) (died bool) {
	t.Helper()
	store := &dying{checkpoint.NewMemoryStore(), steps}
	r := adk.NewRunner(t.Context(),
		adk.RunnerConfig{Agent: a, EnableStreaming: streaming, CheckPointStore: store, Durability: adk.EveryStep})
	events := adktest.Collect(t, r.Query(t.Context(), "Go.", adk.WithCheckPointID("1")))
	if died = events.Err() != nil; died {
		require.ErrorIs(t, events.Err(), errDied)
		store.left = 1000
		resumed, err := r.Resume(t.Context(), "1")
		require.NoError(t, err)
		events = adktest.Collect(t, resumed)
	}
	for _, e := range events.All() {
		require.NoError(t, e.Err, "died after %d steps", steps)
		require.True(t, e.Action == nil || e.Action.Interrupted == nil, "died after %d steps: it asks", steps)
	}
	events.ExpectText("done")
	return died
}
