package schema

import (
	"github.com/weftgo/weft/schema/claude"
	"github.com/weftgo/weft/schema/gemini"
	"github.com/weftgo/weft/schema/openai"
)

// AgenticRoleType says who an [AgenticMessage] comes from. There is no role for tools: their results travel in
// messages of the user.
type AgenticRoleType string

const (
	// AgenticRoleTypeSystem is the author of the application: instructions to the model.
	AgenticRoleTypeSystem AgenticRoleType = "system"
	// AgenticRoleTypeUser is the author of what is said to the model, tool results included.
	AgenticRoleTypeUser AgenticRoleType = "user"
	// AgenticRoleTypeAssistant is the model.
	AgenticRoleTypeAssistant AgenticRoleType = "assistant"
)

// AgenticMessage is one entry of a conversation with an agentic model, or one chunk of such an entry: an ordered list
// of content blocks, as the newer provider APIs have them.
//
// Chunks are joined by [ConcatAgenticMessages] or an [AgenticMessageAccumulator]. Like a [Message], it is read-only
// once it was handed to other code.
type AgenticMessage struct {
	Role AgenticRoleType `json:"role"`
	// ContentBlocks is the content in order. Nil blocks are ignored.
	ContentBlocks []*ContentBlock `json:"content_blocks,omitempty"`
	// ResponseMeta holds the provider's report about the response.
	ResponseMeta *AgenticResponseMeta `json:"response_meta,omitempty"`
	// Extra holds whatever else a provider or a middleware attaches.
	Extra map[string]any `json:"extra,omitempty"`
}

// AgenticResponseMeta holds a provider's report about one response of an agentic model. At most one of the extensions
// is set.
type AgenticResponseMeta struct {
	// TokenUsage is nil when the provider did not report it.
	TokenUsage *TokenUsage `json:"token_usage,omitempty"`
	// ID, Model and Provider mean the same as in [ResponseMeta], for every provider. The extensions may have more.
	ID       string `json:"id,omitempty"`
	Model    string `json:"model,omitempty"`
	Provider string `json:"provider,omitempty"`

	OpenAIExtension *openai.ResponseMetaExtension `json:"openai_extension,omitempty"`
	GeminiExtension *gemini.ResponseMetaExtension `json:"gemini_extension,omitempty"`
	ClaudeExtension *claude.ResponseMetaExtension `json:"claude_extension,omitempty"`
	// Extension is for providers without a field of their own. To join chunks of it, its type needs a registered
	// concat function.
	Extension any `json:"extension,omitempty"`
}

// SystemAgenticMessage returns a message with role [AgenticRoleTypeSystem] and one text block.
func SystemAgenticMessage(text string) *AgenticMessage {
	return agenticText(AgenticRoleTypeSystem, text)
}

// UserAgenticMessage returns a message with role [AgenticRoleTypeUser] and one text block.
func UserAgenticMessage(text string) *AgenticMessage {
	return agenticText(AgenticRoleTypeUser, text)
}

func agenticText(role AgenticRoleType, text string) *AgenticMessage {
	return &AgenticMessage{
		Role:          role,
		ContentBlocks: []*ContentBlock{NewContentBlock(&UserInputText{Text: text})},
	}
}

// FunctionToolResultAgenticMessage returns the message that answers a function tool call with a text: role
// [AgenticRoleTypeUser], one [FunctionToolResult] block.
func FunctionToolResultAgenticMessage(callID, name, result string) *AgenticMessage {
	return &AgenticMessage{
		Role: AgenticRoleTypeUser,
		ContentBlocks: []*ContentBlock{NewContentBlock(&FunctionToolResult{
			CallID: callID,
			Name:   name,
			Content: []*FunctionToolResultContentBlock{{
				Type: FunctionToolResultContentBlockTypeText,
				Text: &UserInputText{Text: result},
			}},
		})},
	}
}
