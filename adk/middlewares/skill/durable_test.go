package skill

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
	"github.com/weftgo/weft/schema"
)

// dying is a store that is out of reach once the process has died, after a number of steps.
type dying struct {
	*checkpoint.MemoryStore
	left int
}

var errDied = errors.New("the process has died")

func (d *dying) AppendRecord(ctx context.Context, id string, record []byte) error {
	if d.left--; d.left < 0 {
		return errDied
	}
	return d.MemoryStore.AppendRecord(ctx, id, record)
}

// again is a tool that may be called again.
type again struct{ tool.InvokableTool }

func (again) Idempotent() bool { return true }

// deciding answers by what it is asked: it calls a tool, and with the result it is done.
type deciding struct {
	call  schema.ToolCall
	asked int
}

func (d *deciding) Generate(_ context.Context, history []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	d.asked++
	if history[len(history)-1].Role == schema.Tool {
		return schema.AssistantMessage("done", nil), nil
	}
	return schema.AssistantMessage("", []schema.ToolCall{d.call}), nil
}

func (d *deciding) Stream(ctx context.Context, history []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	m, err := d.Generate(ctx, history, opts...)
	return schema.StreamReaderFromArray([]*schema.Message{m}), err
}

// TestTool_Durable: a run whose process died while a skill was loaded or carried out goes on, after whatever step that
// was, and asks nobody what became of it. At most the step that could not be saved is done again.
func TestTool_Durable(t *testing.T) {
	for _, s := range []Skill{slides, forked(ContextModeFork), forked(ContextModeForkWithContext)} {
		t.Run(string(s.Context), func(t *testing.T) {
			for steps := 1; testDurableSkill(t, s, steps); steps++ {
			}
		})
	}
}

func testDurableSkill(t *testing.T, s Skill, steps int) (died bool) {
	store, brush := &dying{checkpoint.NewMemoryStore(), steps}, adktest.NewTool("brush")
	inner := &deciding{call: schema.ToolCall{ID: "2", Function: schema.FunctionCall{Name: "brush", Arguments: `"x"`}}}
	hub := agentHub[*schema.Message](func(name string, _ model.BaseChatModel) (adk.Agent, error) {
		return adk.NewChatModelAgent(context.Background(), &adk.ChatModelAgentConfig{Name: name, Description: "paints", Model: inner,
			ToolsConfig: adktest.Tools(again{brush})})
	})
	m, err := NewTyped(t.Context(), &Config{Backend: withSkills(s), AgentHub: hub})
	require.NoError(t, err)
	outer := &deciding{call: schema.ToolCall{ID: "1", Function: schema.FunctionCall{Name: "skill", Arguments: `{"skill":"slides"}`}}}
	a, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "artist", Model: outer, Handlers: []adk.ChatModelAgentMiddleware{m}})
	require.NoError(t, err)
	r := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: a, CheckPointStore: store, Durability: adk.EveryStep})
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
	require.LessOrEqual(t, outer.asked+inner.asked+len(brush.Calls()), 6, "died after %d steps", steps)
	return died
}
