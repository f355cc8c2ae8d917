package schema

// ChatMessagePartType says what a part of a multi-modal message is.
type ChatMessagePartType string

const (
	// ChatMessagePartTypeText is a text.
	ChatMessagePartTypeText ChatMessagePartType = "text"
	// ChatMessagePartTypeImageURL is an image, by URL or base64.
	ChatMessagePartTypeImageURL ChatMessagePartType = "image_url"
	// ChatMessagePartTypeAudioURL is a piece of audio, by URL or base64.
	ChatMessagePartTypeAudioURL ChatMessagePartType = "audio_url"
	// ChatMessagePartTypeVideoURL is a video, by URL or base64.
	ChatMessagePartTypeVideoURL ChatMessagePartType = "video_url"
	// ChatMessagePartTypeFileURL is a file, by URL or base64.
	ChatMessagePartTypeFileURL ChatMessagePartType = "file_url"
	// ChatMessagePartTypeReasoning is the model's thinking.
	ChatMessagePartTypeReasoning ChatMessagePartType = "reasoning"
	// ChatMessagePartTypeToolSearchResult is a list of tools that a tool search found.
	ChatMessagePartTypeToolSearchResult ChatMessagePartType = "tool_search_result"
)

// ImageURLDetail says how closely the model should look at an image. The empty value leaves it to the provider.
type ImageURLDetail string

const (
	// ImageURLDetailHigh asks for full resolution.
	ImageURLDetailHigh ImageURLDetail = "high"
	// ImageURLDetailLow asks for a coarse and cheap look.
	ImageURLDetailLow ImageURLDetail = "low"
	// ImageURLDetailAuto lets the provider choose.
	ImageURLDetailAuto ImageURLDetail = "auto"
)

// MessagePartCommon holds the fields of all media parts: the place of the data and its type. One of URL and Base64Data is
// set.
type MessagePartCommon struct {
	// URL is the place where the data can be fetched: a web address, or a data URL (RFC 2397).
	URL *string `json:"url,omitempty"`
	// Base64Data is the data itself, in standard base64 without a data-URL prefix.
	Base64Data *string `json:"base64data,omitempty"`
	// MIMEType is the media type, for example "image/png".
	MIMEType string `json:"mime_type,omitempty"`
	// Extra holds what a provider attaches to the media.
	Extra map[string]any `json:"extra,omitempty"`
}

// MessageInputPart is one part of what a user shows the model. Type says which of the other fields counts.
type MessageInputPart struct {
	Type ChatMessagePartType `json:"type"`

	Text  string             `json:"text,omitempty"`
	Image *MessageInputImage `json:"image,omitempty"`
	Audio *MessageInputAudio `json:"audio,omitempty"`
	Video *MessageInputVideo `json:"video,omitempty"`
	File  *MessageInputFile  `json:"file,omitempty"`

	// ToolSearchResult is set in tool messages that answer a tool search.
	ToolSearchResult *ToolSearchResult `json:"tool_search_result,omitempty"`

	// Extra holds what a provider attaches to the part.
	Extra map[string]any `json:"extra,omitempty"`
}

// MessageInputImage is an image given to the model.
type MessageInputImage struct {
	MessagePartCommon

	Detail ImageURLDetail `json:"detail,omitempty"`
}

// MessageInputAudio is a piece of audio given to the model.
type MessageInputAudio struct {
	MessagePartCommon
}

// MessageInputVideo is a video given to the model.
type MessageInputVideo struct {
	MessagePartCommon
}

// MessageInputFile is a file given to the model.
type MessageInputFile struct {
	MessagePartCommon

	// Name is the file's name, which some providers show the model.
	Name string `json:"name,omitempty"`
}

// MessageOutputPart is one part of what a model produced. Type says which of the other fields counts.
type MessageOutputPart struct {
	Type ChatMessagePartType `json:"type"`

	Text      string                  `json:"text,omitempty"`
	Image     *MessageOutputImage     `json:"image,omitempty"`
	Audio     *MessageOutputAudio     `json:"audio,omitempty"`
	Video     *MessageOutputVideo     `json:"video,omitempty"`
	Reasoning *MessageOutputReasoning `json:"reasoning,omitempty"`

	// Extra holds what a provider attaches to the part.
	Extra map[string]any `json:"extra,omitempty"`

	// StreamingMeta says, in a stream, which part of the finished message this chunk belongs to.
	// It is not written to JSON.
	StreamingMeta *MessageStreamingMeta `json:"-"`
}

// MessageStreamingMeta is the place of a streamed part in the finished message.
type MessageStreamingMeta struct {
	// Index is equal for all chunks of one part.
	Index int `json:"index,omitempty"`
}

// MessageOutputImage is an image made by the model.
type MessageOutputImage struct {
	MessagePartCommon
}

// MessageOutputAudio is a piece of audio made by the model.
type MessageOutputAudio struct {
	MessagePartCommon
}

// MessageOutputVideo is a video made by the model.
type MessageOutputVideo struct {
	MessagePartCommon
}

// MessageOutputReasoning is a piece of the model's thinking.
type MessageOutputReasoning struct {
	Text string `json:"text,omitempty"`
	// Signature is the provider's opaque proof of the text; some providers want it back with the next request.
	Signature string `json:"signature,omitempty"`
}
