package dispatchtest

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// TestWritten_InMemoryAndFiles.
// Rule distributed/J10.
func TestWritten_InMemoryAndFiles(t *testing.T) {
	t.Run("memory", func(t *testing.T) { RunWritten(t, checkpoint.NewMemoryStore()) })
	t.Run("files", func(t *testing.T) {
		store, err := checkpoint.NewFileStore(t.TempDir())
		require.NoError(t, err)
		RunWritten(t, store)
	})
}

// around is a model that calls the agent below once, with what it was asked itself.
type around struct{ scripted }

func (a *around) Generate(ctx context.Context, history []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	last := history[len(history)-1]
	if last.Role == schema.Tool {
		return schema.AssistantMessage("done: "+last.Content, nil), nil
	}
	return schema.AssistantMessage("", []schema.ToolCall{{ID: "inner",
		Function: schema.FunctionCall{Name: "asking", Arguments: fmt.Sprintf(`{"request":%q}`, last.Content)}}}), nil
}

// TestWritten_OfWhateverAsks: what a step writes does not grow with the steps before it, wherever in the run the question
// is asked, and whatever else is kept of the run.
// Rule distributed/J10.
func TestWritten_OfWhateverAsks(t *testing.T) {
	inner, err := asking(t.Context(), "asking")
	require.NoError(t, err)
	outer, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "outer", Description: "outer", Model: &around{},
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{
			Tools: []tool.BaseTool{adk.NewAgentTool(t.Context(), inner)}}}})
	require.NoError(t, err)
	one, err := asking(t.Context(), "one")
	require.NoError(t, err)
	sequence, err := adk.NewSequentialAgent(t.Context(), &adk.SequentialAgentConfig{Name: "sequence", SubAgents: []adk.Agent{one}})
	require.NoError(t, err)
	for name, conf := range map[string]adk.RunnerConfig{
		"an agent":                 {Agent: inner, Durability: adk.EveryStep},
		"an agent, saved at stops": {Agent: inner},
		"an agent, steps kept":     {Agent: inner, Durability: adk.EveryStep, KeepSteps: true},
		"an agent in a tool":       {Agent: outer, Durability: adk.EveryStep},
		"an agent in a sequence":   {Agent: sequence, Durability: adk.EveryStep},
	} {
		t.Run(name, func(t *testing.T) {
			maker := func(_ context.Context, _ runs.Info, store checkpoint.Store) (*adk.Runner, error) {
				conf := conf
				conf.CheckPointStore = store
				return adk.NewRunner(t.Context(), conf), nil
			}
			store := checkpoint.NewMemoryStore()
			steps := 40
			if testing.Short() {
				steps = 15
			}
			few, many := written(t, store, maker, name, steps), written(t, store, maker, name, 3*steps)
			t.Logf("%d, %d bytes a step", few/int64(steps), many/int64(3*steps))
			require.Less(t, many, few*4, "three times as many steps")
		})
	}
}
