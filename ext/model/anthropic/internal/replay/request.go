// Package replay leads recorded conversations with Claude again, for the tests of the modules that speak its API.
package replay

import (
	"encoding/json"
	"testing"

	"github.com/eino-contrib/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/ext/model/anthropic"
	"github.com/weftgo/weft/ext/model/kit/kittest"
	"github.com/weftgo/weft/schema"
)

// request is a recorded request, as far as it says how to make the same one.
type request struct {
	Model     string
	MaxTokens int `json:"max_tokens"`
	System    []content
	Messages  []struct {
		Role    string
		Content []content
	}
	Tools []struct {
		Type, Name, Description string
		InputSchema             *jsonschema.Schema `json:"input_schema"`
	}
	ToolChoice struct{ Type, Name string } `json:"tool_choice"`
	Thinking   *struct {
		Type         string
		BudgetTokens int `json:"budget_tokens"`
	}
	Stream bool
}

type content struct {
	Type, Text   string
	CacheControl *struct{} `json:"cache_control"`
	ToolUseID    string    `json:"tool_use_id"`
	Source       *struct{ Data, URL string }
	Content      []content
}

func parseRequest(t *testing.T, i *kittest.Interaction) (r request) {
	require.NoError(t, json.Unmarshal([]byte(i.Request.Body), &r))
	return r
}

func (r *request) toolInfos() (infos []*schema.ToolInfo) {
	for _, tool := range r.Tools {
		if tool.Type == "" {
			infos = append(infos, &schema.ToolInfo{
				Name: tool.Name, Desc: tool.Description, ParamsOneOf: schema.NewParamsOneOfByJSONSchema(tool.InputSchema),
			})
		}
	}
	return infos
}

// input returns the messages that are not of the model.
func (r *request) input(t *testing.T) (messages []*schema.Message) {
	for _, c := range r.System {
		m := schema.SystemMessage(c.Text)
		if c.CacheControl != nil {
			m = anthropic.SetMessageBreakpoint(m)
		}
		messages = append(messages, m)
	}
	for _, recorded := range r.Messages {
		if recorded.Role == "user" {
			messages = append(messages, userMessages(t, recorded.Content)...)
		}
	}
	return messages
}

func userMessages(t *testing.T, contents []content) (messages []*schema.Message) {
	user := &schema.Message{Role: schema.User}
	for _, c := range contents {
		var m *schema.Message
		switch {
		case c.Type == "tool_result":
			require.Len(t, c.Content, 1)
			m = schema.ToolMessage(c.Content[0].Text, c.ToolUseID)
			messages = append(messages, m)
		case c.Source != nil:
			user.UserInputMultiContent = append(user.UserInputMultiContent, schema.MessageInputPart{
				Type: schema.ChatMessagePartTypeImageURL,
				Image: &schema.MessageInputImage{MessagePartCommon: schema.MessagePartCommon{
					Base64Data: &c.Source.Data, MIMEType: "image/png",
				}},
			})
		default:
			user.UserInputMultiContent = append(user.UserInputMultiContent, schema.MessageInputPart{
				Type: schema.ChatMessagePartTypeText, Text: c.Text,
			})
			m = user
		}
		if c.CacheControl != nil {
			*m = *anthropic.SetMessageBreakpoint(m)
		}
	}
	if len(user.UserInputMultiContent) > 0 {
		messages = append(messages, user)
	}
	return messages
}

// requireSent compares what was sent with what was recorded, in meaning: choices that say the default may be missing.
// It must also be what the service takes.
func requireSent(t *testing.T, c *kittest.Cassette, n int) {
	t.Helper()
	sent := c.Sent()[n]
	require.Equal(t, meaning(t, c.Interactions[n].Request.Body), meaning(t, sent))
	require.Empty(t, kittest.Anthropic().Validate(c.Requests()[n], sent))
}

func meaning(t *testing.T, body []byte) map[string]any {
	t.Helper()
	var o map[string]any
	require.NoError(t, json.Unmarshal(body, &o))
	if choice, ok := o["tool_choice"].(map[string]any); ok {
		delete(choice, "disable_parallel_tool_use")
		if choice["type"] == "auto" {
			delete(o, "tool_choice")
		}
	}
	return o
}
