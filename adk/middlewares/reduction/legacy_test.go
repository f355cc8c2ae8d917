package reduction_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/middlewares/internal/messagetest"
	"github.com/weftgo/weft/adk/middlewares/reduction"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// Rule batteries/RL-1.
func TestLegacyClear_KeepsRecentResults(t *testing.T) {
	m, err := reduction.NewClearToolResult(t.Context(),
		&reduction.ClearToolResultConfig{ToolResultTokenThreshold: 2, KeepRecentTokens: 3,
			ClearToolResultPlaceholder: "gone", ExcludeTools: []string{"keep"},
			TokenCounter: func(*schema.Message) int { return 1 }})
	require.NoError(t, err)
	keep := schema.ToolMessage("k", "k", schema.WithToolName("keep"))
	in := []*schema.Message{schema.UserMessage("u"), keep, messagetest.Result[*schema.Message]("a", "ra"),
		messagetest.Result[*schema.Message]("b", "rb"), schema.UserMessage("v"), nil}
	state := &adk.ChatModelAgentState{Messages: in}
	require.NoError(t, m.BeforeChatModel(t.Context(), state))
	require.Equal(t, []string{"user: u", "tool keep#k: k", "tool t#a: ra", "tool t#b: rb", "user: v"},
		adktest.Lines(in[:5]))
	require.Equal(t, []string{"user: u", "tool keep#k: k", "tool t#a: ra", "tool t#b: rb", "user: v"},
		adktest.Lines(state.Messages[:5]))

	state.Messages = append(in[:5:5], schema.UserMessage("w"))
	require.NoError(t, m.BeforeChatModel(t.Context(), state))
	require.Equal(t, []string{"user: u", "tool keep#k: k", "tool t#a: gone", "tool t#b: rb", "user: v", "user: w"},
		adktest.Lines(state.Messages))
	require.Equal(t, "ra", in[2].Content)
	require.NoError(t, m.BeforeChatModel(t.Context(), state))

	_, err = reduction.NewClearToolResult(t.Context(), nil)
	require.NoError(t, err)
}

// Rules batteries/B13.19, batteries/B13.24, batteries/RL-2.
func TestLegacyOffload_MovesResultsAboveTheLimit(t *testing.T) {
	for _, c := range []*reduction.ToolResultConfig{nil, {}} {
		_, err := reduction.NewToolResultMiddleware(t.Context(), c)
		require.Error(t, err)
	}
	f := files{}
	m, err := reduction.NewToolResultMiddleware(t.Context(),
		&reduction.ToolResultConfig{Backend: f, OffloadingTokenLimit: 2, ReadFileToolName: "cat"})
	require.NoError(t, err)
	for _, c := range []struct {
		in    string
		moved bool
	}{{"12345678", false}, {"123456789", true}} {
		out, err := m.WrapToolCall.Invokable(func(context.Context, *compose.ToolInput) (*compose.ToolOutput, error) {
			return &compose.ToolOutput{Result: c.in}, nil
		})(t.Context(), &compose.ToolInput{CallID: "x"})
		require.NoError(t, err)
		streamed, err := m.WrapToolCall.Streamable(func(
			context.Context, *compose.ToolInput,
		) (*compose.StreamToolOutput, error) {
			return &compose.StreamToolOutput{Result: schema.StreamReaderFromArray(strings.Split(c.in, ""))}, nil
		})(t.Context(), &compose.ToolInput{CallID: "x"})
		require.NoError(t, err)
		all, err := items(streamed.Result)
		require.NoError(t, err)
		require.Equal(t, out.Result, strings.Join(all, ""))
		if c.moved {
			require.Contains(t, out.Result, "saved in the file /large_tool_result/x\nRead it with cat")
			require.Equal(t, files{"/large_tool_result/x": c.in}, f)
		} else {
			require.Equal(t, c.in, out.Result)
		}
	}
}
