package mcpserve_test

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/prompt"
	"github.com/weftgo/weft/ext/mcp/mcpserve"
	"github.com/weftgo/weft/schema"
)

// Rule mcp/MS8.
func TestPrompt_IsATemplateThatIsFilledIn(t *testing.T) {
	data := "YWJj"
	template := prompt.FromMessages(schema.FString, schema.SystemMessage("Be brief."),
		schema.UserMessage("Greet {who} {how}."), schema.AssistantMessage("Hello", nil),
		&schema.Message{Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{{Type: schema.ChatMessagePartTypeText, Text: "See"},
			{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{
				MessagePartCommon: schema.MessagePartCommon{Base64Data: &data, MIMEType: "image/png"}}}}})
	s := newServer(t, mcpserve.Config{})
	require.NoError(t, s.AddPrompt(template, mcpserve.PromptOptions{Name: "greet", Description: "Greets.",
		Arguments: []*mcp.PromptArgument{{Name: "who", Required: true}, {Name: "how"}}}))
	require.NoError(t, s.AddPrompt(prompt.FromMessages(schema.FString, schema.UserMessage("{canary}")),
		mcpserve.PromptOptions{Name: "broken"}))
	require.ErrorContains(t, s.AddPrompt(template, mcpserve.PromptOptions{Name: "a b"}), `prompt "a b"`)
	require.ErrorContains(t, s.AddPrompt(nil, mcpserve.PromptOptions{Name: "a"}), "template is nil")
	c := connect(t, s, mcpserve.HTTPOptions{}, nil)
	got, err := c.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "greet", Arguments: map[string]string{"who": "Ann", "more": "x"}})
	require.NoError(t, err)
	require.Equal(t, []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "Be brief."}},
		{Role: "user", Content: &mcp.TextContent{Text: "Greet Ann ."}}, {Role: "assistant", Content: &mcp.TextContent{Text: "Hello"}},
		{Role: "user", Content: &mcp.TextContent{Text: "See"}},
		{Role: "user", Content: &mcp.ImageContent{MIMEType: "image/png", Data: []byte("abc")}}}, got.Messages)
	_, err = c.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "greet"})
	require.ErrorContains(t, err, `argument "who" is missing`)
	_, err = c.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "broken"})
	require.ErrorContains(t, err, "the call failed")
	require.NotContains(t, err.Error(), "canary")
}
