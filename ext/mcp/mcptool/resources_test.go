package mcptool_test

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/ext/mcp/mcptool"
	"github.com/weftgo/weft/schema"
)

// Rule mcp/MC30.
func TestPromptsAndResources_AreThereForProgramsAndModels(t *testing.T) {
	s := newServer()
	s.AddPrompt(&mcp.Prompt{Name: "greet", Arguments: []*mcp.PromptArgument{{Name: "who", Required: true}}},
		func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{
				{Role: "user", Content: &mcp.TextContent{Text: "Greet " + r.Params.Arguments["who"]}},
				{Role: "assistant", Content: &mcp.TextContent{Text: "Hello"}}}}, nil
		})
	s.AddResource(&mcp.Resource{URI: "notes://1", Name: "first", MIMEType: "text/plain"},
		func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "notes://1", MIMEType: "text/plain", Text: "milk"}}}, nil
		})
	srv := open(t, mcptool.Config{Transport: inProcess(t, s)})
	messages, err := srv.Prompt("greet").Format(t.Context(), map[string]any{"who": "Ann"})
	require.NoError(t, err)
	require.Equal(t, []*schema.Message{schema.UserMessage("Greet Ann"), {Role: schema.Assistant, Content: "Hello"}}, messages)
	_, err = srv.Prompt("greet").Format(t.Context(), nil)
	require.EqualError(t, err, `MCP server "s": prompt "greet": variable "who" is missing`)
	_, err = srv.Prompt("gone").Format(t.Context(), nil)
	failure(t, err, mcptool.Protocol)
	tools, err := srv.ResourceTools()
	require.NoError(t, err)
	list, err := tools[0].(tool.InvokableTool).InvokableRun(t.Context(), "{}")
	require.NoError(t, err)
	require.Equal(t, "notes://1 first text/plain \n", list)
	read := tools[1].(tool.EnhancedInvokableTool)
	result, err := call(t.Context(), read, `{"uri":"notes://1"}`)
	require.NoError(t, err)
	require.Equal(t, []string{"text resource notes://1 (text/plain)\nmilk"}, shown(result.Parts))
	for _, bad := range []string{`{}`, `{"uri":"notes://2"}`} {
		result, err = call(t.Context(), read, bad)
		require.NoError(t, err)
		require.Equal(t, true, result.Parts[0].Extra[mcptool.ErrorKey])
	}
	templates, err := srv.ResourceTemplates(t.Context())
	require.NoError(t, err)
	require.Empty(t, templates)
}
