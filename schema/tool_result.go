package schema

import (
	"fmt"
	"strings"
)

// ToolPartType says what a part of a tool's result is.
type ToolPartType string

const (
	// ToolPartTypeText is a text.
	ToolPartTypeText ToolPartType = "text"
	// ToolPartTypeImage is an image.
	ToolPartTypeImage ToolPartType = "image"
	// ToolPartTypeAudio is a piece of audio.
	ToolPartTypeAudio ToolPartType = "audio"
	// ToolPartTypeVideo is a video.
	ToolPartTypeVideo ToolPartType = "video"
	// ToolPartTypeFile is a file.
	ToolPartTypeFile ToolPartType = "file"
	// ToolPartTypeToolSearchResult is a list of tools that a tool search found.
	ToolPartTypeToolSearchResult ToolPartType = "tool_search_result"
)

// ToolArgument holds the arguments of a call of a tool.
type ToolArgument struct {
	// Text is the arguments as the model wrote them, JSON as a rule.
	Text string `json:"text,omitempty"`
}

// ToolResult is the multi-modal result of a tool, or one chunk of it. Chunks are joined by [ConcatToolResults].
type ToolResult struct {
	Parts []ToolOutputPart `json:"parts,omitempty"`
}

// ToolOutputPart is one part of a tool's result. Type says which of the other fields counts.
type ToolOutputPart struct {
	Type ToolPartType `json:"type"`

	Text  string           `json:"text,omitempty"`
	Image *ToolOutputImage `json:"image,omitempty"`
	Audio *ToolOutputAudio `json:"audio,omitempty"`
	Video *ToolOutputVideo `json:"video,omitempty"`
	File  *ToolOutputFile  `json:"file,omitempty"`

	ToolSearchResult *ToolSearchResult `json:"tool_search_result,omitempty"`

	// Extra holds what a tool attaches to the part.
	Extra map[string]any `json:"extra,omitempty"`
}

// ToolOutputImage is an image from a tool.
type ToolOutputImage struct {
	MessagePartCommon
}

// ToolOutputAudio is a piece of audio from a tool.
type ToolOutputAudio struct {
	MessagePartCommon
}

// ToolOutputVideo is a video from a tool.
type ToolOutputVideo struct {
	MessagePartCommon
}

// ToolOutputFile is a file from a tool.
type ToolOutputFile struct {
	MessagePartCommon
}

// ToolSearchResult lists the tools that a tool search found.
type ToolSearchResult struct {
	Tools []*ToolInfo
}

// String names the tools found, for logs.
func (t *ToolSearchResult) String() string {
	if t == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString("ToolSearchResult[")
	for _, tool := range t.Tools {
		if tool != nil {
			b.WriteString(tool.Name)
		}
		b.WriteByte(',')
	}
	b.WriteByte(']')
	return b.String()
}

// ToMessageInputParts returns the result as parts of the tool message that is sent to the model, in the same order.
// Without parts it returns nil. A part without the payload that its type promises, or of an unknown type, is an error.
func (tr *ToolResult) ToMessageInputParts() ([]MessageInputPart, error) {
	if tr == nil || len(tr.Parts) == 0 {
		return nil, nil
	}
	parts := make([]MessageInputPart, len(tr.Parts))
	for i := range tr.Parts {
		part, err := tr.Parts[i].toInputPart()
		if err != nil {
			return nil, err
		}
		parts[i] = part
	}
	return parts, nil
}

func (p *ToolOutputPart) toInputPart() (MessageInputPart, error) {
	part := MessageInputPart{Extra: p.Extra}
	if err := p.checkPayload(); err != nil {
		return part, err
	}
	switch p.Type {
	case ToolPartTypeText:
		part.Type, part.Text = ChatMessagePartTypeText, p.Text
	case ToolPartTypeImage:
		part.Type = ChatMessagePartTypeImageURL
		part.Image = &MessageInputImage{MessagePartCommon: p.Image.MessagePartCommon}
	case ToolPartTypeAudio:
		part.Type = ChatMessagePartTypeAudioURL
		part.Audio = &MessageInputAudio{MessagePartCommon: p.Audio.MessagePartCommon}
	case ToolPartTypeVideo:
		part.Type = ChatMessagePartTypeVideoURL
		part.Video = &MessageInputVideo{MessagePartCommon: p.Video.MessagePartCommon}
	case ToolPartTypeFile:
		part.Type = ChatMessagePartTypeFileURL
		part.File = &MessageInputFile{MessagePartCommon: p.File.MessagePartCommon}
	case ToolPartTypeToolSearchResult:
		return MessageInputPart{Type: ChatMessagePartTypeToolSearchResult, ToolSearchResult: p.ToolSearchResult}, nil
	}
	return part, nil
}

// checkPayload checks that the part has what its type promises.
func (p *ToolOutputPart) checkPayload() error {
	var missing bool
	switch p.Type {
	case ToolPartTypeText:
	case ToolPartTypeImage:
		missing = p.Image == nil
	case ToolPartTypeAudio:
		missing = p.Audio == nil
	case ToolPartTypeVideo:
		missing = p.Video == nil
	case ToolPartTypeFile:
		missing = p.File == nil
	case ToolPartTypeToolSearchResult:
		if p.ToolSearchResult == nil {
			return fmt.Errorf("tool search result is nil for tool part type %s", p.Type)
		}
	default:
		return fmt.Errorf("unknown tool part type: %s", p.Type)
	}
	if missing {
		return fmt.Errorf("%s content is nil for tool part type %s", p.Type, p.Type)
	}
	return nil
}
