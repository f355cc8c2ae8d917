package schema

// FunctionToolCall is the model's call of a tool that the application runs.
type FunctionToolCall struct {
	// CallID names the call; the result carries it, too.
	CallID string `json:"call_id,omitempty"`
	Name   string `json:"name"`
	// Arguments is JSON text as the model wrote it; nothing guarantees that it is valid.
	Arguments string `json:"arguments,omitempty"`
}

// FunctionToolResultContentBlockType says which payload a [FunctionToolResultContentBlock] has.
type FunctionToolResultContentBlockType string

const (
	// FunctionToolResultContentBlockTypeText is a text.
	FunctionToolResultContentBlockTypeText FunctionToolResultContentBlockType = "text"
	// FunctionToolResultContentBlockTypeImage is an image.
	FunctionToolResultContentBlockTypeImage FunctionToolResultContentBlockType = "image"
	// FunctionToolResultContentBlockTypeAudio is a piece of audio.
	FunctionToolResultContentBlockTypeAudio FunctionToolResultContentBlockType = "audio"
	// FunctionToolResultContentBlockTypeVideo is a video.
	FunctionToolResultContentBlockTypeVideo FunctionToolResultContentBlockType = "video"
	// FunctionToolResultContentBlockTypeFile is a file.
	FunctionToolResultContentBlockTypeFile FunctionToolResultContentBlockType = "file"
)

// FunctionToolResultContentBlock is one part of a tool's result. Type says which of the other fields counts.
type FunctionToolResultContentBlock struct {
	Type FunctionToolResultContentBlockType `json:"type"`

	Text  *UserInputText  `json:"text,omitempty"`
	Image *UserInputImage `json:"image,omitempty"`
	Audio *UserInputAudio `json:"audio,omitempty"`
	Video *UserInputVideo `json:"video,omitempty"`
	File  *UserInputFile  `json:"file,omitempty"`

	// Extra holds what a tool attaches to the part.
	Extra map[string]any `json:"extra,omitempty"`
}

// FunctionToolResult answers a [FunctionToolCall].
type FunctionToolResult struct {
	// CallID is the ID of the call.
	CallID string `json:"call_id,omitempty"`
	// Name is the name of the tool.
	Name    string                            `json:"name"`
	Content []*FunctionToolResultContentBlock `json:"content,omitempty"`
}

// ToolSearchFunctionToolResult answers a [FunctionToolCall] that searched for tools.
type ToolSearchFunctionToolResult struct {
	// CallID is the ID of the call.
	CallID string `json:"call_id,omitempty"`
	// Name is the name of the search tool.
	Name   string            `json:"name"`
	Result *ToolSearchResult `json:"result,omitempty"`
}
