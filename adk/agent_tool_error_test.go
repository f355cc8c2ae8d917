package adk

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
)

// TestError_OfAnAgentInAnAgentHasOnePath: from the outermost graph to what failed, however many agents lie between.
func TestError_OfAnAgentInAnAgentHasOnePath(t *testing.T) {
	broken := errors.New("the model is away")
	innermost := newOrdinary(t, "innermost", &modelFunc[Message]{generate: func(context.Context, []Message, ...model.Option) (Message, error) { return nil, broken }})
	inner := newOrdinary(t, "inner", recall(callOf("innermost", "c2", `{"request":"x"}`)), NewAgentTool(t.Context(), innermost))
	outer := newOrdinary(t, "outer", recall(callOf("inner", "c1", `{"request":"x"}`)), NewAgentTool(t.Context(), inner))
	var err error
	for event := range NewRunner(t.Context(), RunnerConfig{Agent: outer}).Query(t.Context(), "hi").All() {
		err = event.Err
	}
	require.ErrorIs(t, err, broken)
	require.Equal(t, 1, strings.Count(err.Error(), "node path"), err.Error())
	require.True(t, strings.HasSuffix(err.Error(), "node path: [ToolNode, ToolNode, ChatModel]"), err.Error())
}
