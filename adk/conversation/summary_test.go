package conversation

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/middlewares/summarization"
)

// M10
func TestKeepSummary_SummarizesOnce(t *testing.T) {
	c := open(t, checkpoint.NewMemoryStore())
	for range 3 {
		exchange(t, c, "boats?", "ahoy")
	}
	shorten, err := summarization.New(t.Context(), &summarization.Config{
		Model:   adktest.NewModel(t, adktest.Says("They have talked about boats.")),
		Trigger: &summarization.TriggerCondition{ContextMessages: 6}, Callback: KeepSummary,
	})
	require.NoError(t, err)
	agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "a", Model: adktest.NewModel(t,
		adktest.Says("Boats."), adktest.Says("Yes.")), Handlers: []adk.ChatModelAgentMiddleware{shorten}})
	require.NoError(t, err)
	runner := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent})
	for _, question := range []string{"what was it about?", "really?"} {
		_, err := finish(runner.Query(t.Context(), question, c.RunOption(HistoryOptions{})))
		require.NoError(t, err)
	}
	h, err := c.History(t.Context())
	require.NoError(t, err)
	require.Len(t, h.Turns, 6)
	require.Equal(t, Compaction, h.Turns[3].Kind)
	require.EqualValues(t, 3, h.Turns[3].Covers)
	seen := texts(t, c, HistoryOptions{})
	require.Len(t, seen, 5)
	require.Contains(t, seen[0], "They have talked about boats.")
	require.Equal(t, []string{"what was it about?", "Boats.", "really?", "Yes."}, seen[1:])
	require.Nil(t, FromContext(t.Context()))
}
