package schema

import (
	"github.com/weftgo/weft/schema/claude"
	"github.com/weftgo/weft/schema/openai"
)

// UserInputText is a text for the model.
type UserInputText struct {
	Text string `json:"text,omitempty"`
}

// UserInputImage is an image for the model, by URL or in base64.
type UserInputImage struct {
	URL        string         `json:"url,omitempty"`
	Base64Data string         `json:"base64_data,omitempty"`
	MIMEType   string         `json:"mime_type,omitempty"`
	Detail     ImageURLDetail `json:"detail,omitempty"`
}

// UserInputAudio is a piece of audio for the model, by URL or in base64.
type UserInputAudio struct {
	URL        string `json:"url,omitempty"`
	Base64Data string `json:"base64_data,omitempty"`
	MIMEType   string `json:"mime_type,omitempty"`
}

// UserInputVideo is a video for the model, by URL or in base64.
type UserInputVideo struct {
	URL        string `json:"url,omitempty"`
	Base64Data string `json:"base64_data,omitempty"`
	MIMEType   string `json:"mime_type,omitempty"`
}

// UserInputFile is a file for the model, by URL or in base64.
type UserInputFile struct {
	URL        string `json:"url,omitempty"`
	Name       string `json:"name,omitempty"`
	Base64Data string `json:"base64_data,omitempty"`
	MIMEType   string `json:"mime_type,omitempty"`
}

// AssistantGenText is a text from the model. At most one of the extensions is set.
type AssistantGenText struct {
	Text string `json:"text,omitempty"`

	OpenAIExtension *openai.AssistantGenTextExtension `json:"openai_extension,omitempty"`
	ClaudeExtension *claude.AssistantGenTextExtension `json:"claude_extension,omitempty"`
	// Extension is for providers without a field of their own. To join chunks of it, its type needs a registered
	// concat function.
	Extension any `json:"extension,omitempty"`
}

// AssistantGenImage is an image from the model, by URL or in base64.
type AssistantGenImage struct {
	URL        string `json:"url,omitempty"`
	Base64Data string `json:"base64_data,omitempty"`
	MIMEType   string `json:"mime_type,omitempty"`
}

// AssistantGenAudio is a piece of audio from the model, by URL or in base64.
type AssistantGenAudio struct {
	URL        string `json:"url,omitempty"`
	Base64Data string `json:"base64_data,omitempty"`
	MIMEType   string `json:"mime_type,omitempty"`
}

// AssistantGenVideo is a video from the model, by URL or in base64.
type AssistantGenVideo struct {
	URL        string `json:"url,omitempty"`
	Base64Data string `json:"base64_data,omitempty"`
	MIMEType   string `json:"mime_type,omitempty"`
}

// Reasoning is a piece of the model's thinking.
type Reasoning struct {
	Text string `json:"text,omitempty"`
	// Signature is the provider's opaque proof of the thinking; some providers want it back with the next request.
	Signature string `json:"signature,omitempty"`

	OpenAIExtension *openai.ReasoningExtension `json:"openai_extension,omitempty"`
}
