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
	srv := open(t, mcptool.Config{Transport: inProcess(s)})
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

// A prompt gets the variables that it declares and no others, and all its blocks are shown.
// Rule mcp/MC30.
func TestPrompt_ShowsEveryKindOfBlock(t *testing.T) {
	s := newServer()
	var got map[string]string
	s.AddPrompt(&mcp.Prompt{Name: "p", Arguments: []*mcp.PromptArgument{{Name: "who"}}},
		func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			got = r.Params.Arguments
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{
				{Role: "user", Content: &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "a://b", MIMEType: "text/plain", Text: "milk"}}},
				{Role: "user", Content: &mcp.ImageContent{MIMEType: "image/png", Data: []byte("abc")}},
				{Role: "assistant", Content: &mcp.AudioContent{MIMEType: "audio/wav", Data: []byte("abc")}}}}, nil
		})
	srv := open(t, mcptool.Config{Transport: inProcess(s)})
	messages, err := srv.Prompt("p").Format(t.Context(), map[string]any{"who": 7, "history": "canary"})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"who": "7"}, got)
	data := "YWJj"
	require.Equal(t, []*schema.Message{schema.UserMessage("resource a://b (text/plain)\nmilk"),
		{Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{{Type: schema.ChatMessagePartTypeImageURL,
			Image: &schema.MessageInputImage{MessagePartCommon: schema.MessagePartCommon{Base64Data: &data, MIMEType: "image/png"}}}}},
		{Role: schema.Assistant, AssistantGenMultiContent: []schema.MessageOutputPart{{Type: schema.ChatMessagePartTypeAudioURL,
			Audio: &schema.MessageOutputAudio{MessagePartCommon: schema.MessagePartCommon{Base64Data: &data, MIMEType: "audio/wav"}}}}},
	}, messages)
}

// What asks for an answer in the middle is an error, and no empty content.
func TestResources_AndPromptsThatAskAreErrors(t *testing.T) {
	s := newServer()
	asks := mcp.InputRequestMap{"q": &mcp.ElicitParams{Message: "Who?"}}
	s.AddPrompt(&mcp.Prompt{Name: "p"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{InputRequests: asks}, nil
	})
	s.AddResource(&mcp.Resource{URI: "a://b", Name: "b"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{InputRequests: asks}, nil
	})
	srv := open(t, mcptool.Config{Transport: inProcess(s)})
	_, err := srv.Prompt("p").Format(t.Context(), nil)
	require.ErrorContains(t, err, `prompt "p": the server asks something`)
	_, err = srv.Read(t.Context(), "a://b")
	failure(t, err, mcptool.Protocol)
}
