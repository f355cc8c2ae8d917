package mcpserve_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/ext/mcp/mcpserve"
)

// A tool is not run with zero values for arguments that a client has left out: the result tells the client what is
// missing, so that its model can mend it. Absent arguments and null are accepted by a tool that requires none.
// Rule mcp/MS1.
func TestAddTool_RefusesArgumentsThatDoNotFit(t *testing.T) {
	ran := 0
	type path struct {
		Path string `json:"path"`
		N    int    `json:"n,omitempty" jsonschema:"maximum=5"`
	}
	del, err := utils.InferTool("del", "deletes", func(context.Context, path) (string, error) {
		ran++
		return "deleted", nil
	})
	require.NoError(t, err)
	all, err := utils.InferTool("all", "lists", func(context.Context, struct{}) (string, error) { return "all", nil })
	require.NoError(t, err)
	s := newServer(t, mcpserve.Config{})
	require.NoError(t, s.AddTool(t.Context(), del, mcpserve.ToolOptions{}))
	require.NoError(t, s.AddTool(t.Context(), all, mcpserve.ToolOptions{}))
	c := connect(t, s, mcpserve.HTTPOptions{}, nil)
	for arguments, says := range map[string]string{`null`: "path is required", `{}`: "path is required",
		`{"path":7}`: "path must be of type string", `{"path":"a","n":6}`: "n must be at most 5"} {
		result := call(t, c, mcp.CallToolParams{Name: "del", Arguments: json.RawMessage(arguments)})
		require.True(t, result.IsError, arguments)
		require.Contains(t, result.Content[0].(*mcp.TextContent).Text, says)
	}
	require.Zero(t, ran)
	require.False(t, call(t, c, mcp.CallToolParams{Name: "del", Arguments: json.RawMessage(`{"path":"a"}`)}).IsError)
	require.Equal(t, 1, ran)
	for _, arguments := range []string{`null`, `{}`} {
		require.False(t, call(t, c, mcp.CallToolParams{Name: "all", Arguments: json.RawMessage(arguments)}).IsError, arguments)
	}
}
