package schema

// RoleType says who a [Message] comes from.
type RoleType string

const (
	// Assistant is the model.
	Assistant RoleType = "assistant"
	// User is the person, or the program, that talks to the model.
	User RoleType = "user"
	// System is the author of the application: instructions to the model.
	System RoleType = "system"
	// Tool is a tool that answers a call of the model.
	Tool RoleType = "tool"
)

// Message is one entry of a conversation with a chat model, or one chunk of such an entry while it is streamed.
//
// Chunks are joined by [ConcatMessages] or a [MessageAccumulator]. A Message is a plain value: it has no locks, and
// a message that was handed to other code (sent on a stream, returned from a node, stored in a session) must be
// treated as read-only; change a copy instead.
type Message struct {
	Role RoleType `json:"role"`

	// Content is the text. It stands alone or beside the multi-modal lists.
	Content string `json:"content"`

	// MultiContent holds multi-modal content of either side.
	//
	// Deprecated: use UserInputMultiContent and AssistantGenMultiContent.
	MultiContent []ChatMessagePart `json:"multi_content,omitempty"`

	// UserInputMultiContent holds the user's content for the model: text, images, audio, video, files.
	UserInputMultiContent []MessageInputPart `json:"user_input_multi_content,omitempty"`

	// AssistantGenMultiContent holds the output of the model: text, media, reasoning.
	AssistantGenMultiContent []MessageOutputPart `json:"assistant_output_multi_content,omitempty"`

	// Name is the optional name of the speaker.
	Name string `json:"name,omitempty"`

	// ToolCalls are the calls the model asks for. Only assistant messages have them.
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`

	// ToolCallID is the ID of the call that a tool message answers.
	ToolCallID string `json:"tool_call_id,omitempty"`
	// ToolName is the name of the tool that produced a tool message.
	ToolName string `json:"tool_name,omitempty"`

	// ResponseMeta holds the provider's report about the response: token usage, the reason for its end.
	ResponseMeta *ResponseMeta `json:"response_meta,omitempty"`

	// ReasoningContent is the model's thinking, where the provider gives it as one text.
	ReasoningContent string `json:"reasoning_content,omitempty"`

	// Extra holds whatever else a provider or a middleware attaches. Values joined over several chunks follow the
	// rules of stream concatenation: strings are appended, numbers and booleans are taken from the last chunk, maps
	// are joined key by key.
	Extra map[string]any `json:"extra,omitempty"`
}

// ToolCall is one call of a tool that the model asks for.
type ToolCall struct {
	// Index distinguishes the chunks of one streamed call from the chunks of another: chunks with equal indexes are one
	// call. Nil outside of streams.
	Index *int `json:"index,omitempty"`
	// ID names the call; the tool message with the result carries it as ToolCallID.
	ID string `json:"id"`
	// Type is the kind of call, "function" with all known providers.
	Type     string       `json:"type"`
	Function FunctionCall `json:"function"`

	// Extra holds what the provider attaches to the call.
	Extra map[string]any `json:"extra,omitempty"`
}

// FunctionCall is the name of a function and its arguments, as the model wrote them.
type FunctionCall struct {
	Name string `json:"name,omitempty"`
	// Arguments is JSON text as the model wrote it; nothing guarantees that it is valid or fits the tool's schema.
	Arguments string `json:"arguments,omitempty"`
}

// SystemMessage returns a message with role [System].
func SystemMessage(content string) *Message {
	return &Message{Role: System, Content: content}
}

// UserMessage returns a message with role [User].
func UserMessage(content string) *Message {
	return &Message{Role: User, Content: content}
}

// AssistantMessage returns a message with role [Assistant]. The slice of tool calls, which may be nil, is not copied.
func AssistantMessage(content string, toolCalls []ToolCall) *Message {
	return &Message{Role: Assistant, Content: content, ToolCalls: toolCalls}
}

// ToolMessageOption sets an optional field of a [ToolMessage].
type ToolMessageOption func(*toolMessageOptions)

type toolMessageOptions struct {
	toolName string
}

// WithToolName sets the ToolName of a [ToolMessage]. The last one given wins.
func WithToolName(name string) ToolMessageOption {
	return func(o *toolMessageOptions) { o.toolName = name }
}

// ToolMessage returns a message with role [Tool]: the result of the call with the given ID.
func ToolMessage(content string, toolCallID string, opts ...ToolMessageOption) *Message {
	var o toolMessageOptions
	for _, opt := range opts {
		opt(&o)
	}
	return &Message{Role: Tool, Content: content, ToolCallID: toolCallID, ToolName: o.toolName}
}
