package schema

// ContentBlockType says which payload a [ContentBlock] has.
type ContentBlockType string

// The types of content blocks. Each but one is named after the payload; a [ToolSearchFunctionToolResult] has type
// [ContentBlockTypeToolSearchResult].
const (
	// ContentBlockTypeReasoning is a [Reasoning] block.
	ContentBlockTypeReasoning ContentBlockType = "reasoning"
	// ContentBlockTypeUserInputText is a [UserInputText] block.
	ContentBlockTypeUserInputText ContentBlockType = "user_input_text"
	// ContentBlockTypeUserInputImage is a [UserInputImage] block.
	ContentBlockTypeUserInputImage ContentBlockType = "user_input_image"
	// ContentBlockTypeUserInputAudio is a [UserInputAudio] block.
	ContentBlockTypeUserInputAudio ContentBlockType = "user_input_audio"
	// ContentBlockTypeUserInputVideo is a [UserInputVideo] block.
	ContentBlockTypeUserInputVideo ContentBlockType = "user_input_video"
	// ContentBlockTypeUserInputFile is a [UserInputFile] block.
	ContentBlockTypeUserInputFile ContentBlockType = "user_input_file"
	// ContentBlockTypeToolSearchResult is a [ToolSearchFunctionToolResult] block.
	ContentBlockTypeToolSearchResult ContentBlockType = "tool_search_result"
	// ContentBlockTypeAssistantGenText is an [AssistantGenText] block.
	ContentBlockTypeAssistantGenText ContentBlockType = "assistant_gen_text"
	// ContentBlockTypeAssistantGenImage is an [AssistantGenImage] block.
	ContentBlockTypeAssistantGenImage ContentBlockType = "assistant_gen_image"
	// ContentBlockTypeAssistantGenAudio is an [AssistantGenAudio] block.
	ContentBlockTypeAssistantGenAudio ContentBlockType = "assistant_gen_audio"
	// ContentBlockTypeAssistantGenVideo is an [AssistantGenVideo] block.
	ContentBlockTypeAssistantGenVideo ContentBlockType = "assistant_gen_video"
	// ContentBlockTypeFunctionToolCall is a [FunctionToolCall] block.
	ContentBlockTypeFunctionToolCall ContentBlockType = "function_tool_call"
	// ContentBlockTypeFunctionToolResult is a [FunctionToolResult] block.
	ContentBlockTypeFunctionToolResult ContentBlockType = "function_tool_result"
	// ContentBlockTypeServerToolCall is a [ServerToolCall] block.
	ContentBlockTypeServerToolCall ContentBlockType = "server_tool_call"
	// ContentBlockTypeServerToolResult is a [ServerToolResult] block.
	ContentBlockTypeServerToolResult ContentBlockType = "server_tool_result"
	// ContentBlockTypeMCPToolCall is an [MCPToolCall] block.
	ContentBlockTypeMCPToolCall ContentBlockType = "mcp_tool_call"
	// ContentBlockTypeMCPToolResult is an [MCPToolResult] block.
	ContentBlockTypeMCPToolResult ContentBlockType = "mcp_tool_result"
	// ContentBlockTypeMCPListToolsResult is an [MCPListToolsResult] block.
	ContentBlockTypeMCPListToolsResult ContentBlockType = "mcp_list_tools_result"
	// ContentBlockTypeMCPToolApprovalRequest is an [MCPToolApprovalRequest] block.
	ContentBlockTypeMCPToolApprovalRequest ContentBlockType = "mcp_tool_approval_request"
	// ContentBlockTypeMCPToolApprovalResponse is an [MCPToolApprovalResponse] block.
	ContentBlockTypeMCPToolApprovalResponse ContentBlockType = "mcp_tool_approval_response"
)

// ContentBlock is one piece of an [AgenticMessage]: a type, and the payload field that belongs to it. Build it with
// [NewContentBlock] or [NewContentBlockChunk], which keep the two in step.
type ContentBlock struct {
	Type ContentBlockType `json:"type"`

	Reasoning *Reasoning `json:"reasoning,omitempty"`

	UserInputText  *UserInputText  `json:"user_input_text,omitempty"`
	UserInputImage *UserInputImage `json:"user_input_image,omitempty"`
	UserInputAudio *UserInputAudio `json:"user_input_audio,omitempty"`
	UserInputVideo *UserInputVideo `json:"user_input_video,omitempty"`
	UserInputFile  *UserInputFile  `json:"user_input_file,omitempty"`

	AssistantGenText  *AssistantGenText  `json:"assistant_gen_text,omitempty"`
	AssistantGenImage *AssistantGenImage `json:"assistant_gen_image,omitempty"`
	AssistantGenAudio *AssistantGenAudio `json:"assistant_gen_audio,omitempty"`
	AssistantGenVideo *AssistantGenVideo `json:"assistant_gen_video,omitempty"`

	FunctionToolCall             *FunctionToolCall             `json:"function_tool_call,omitempty"`
	FunctionToolResult           *FunctionToolResult           `json:"function_tool_result,omitempty"`
	ToolSearchFunctionToolResult *ToolSearchFunctionToolResult `json:"tool_search_function_tool_result,omitempty"`

	ServerToolCall   *ServerToolCall   `json:"server_tool_call,omitempty"`
	ServerToolResult *ServerToolResult `json:"server_tool_result,omitempty"`

	MCPToolCall             *MCPToolCall             `json:"mcp_tool_call,omitempty"`
	MCPToolResult           *MCPToolResult           `json:"mcp_tool_result,omitempty"`
	MCPListToolsResult      *MCPListToolsResult      `json:"mcp_list_tools_result,omitempty"`
	MCPToolApprovalRequest  *MCPToolApprovalRequest  `json:"mcp_tool_approval_request,omitempty"`
	MCPToolApprovalResponse *MCPToolApprovalResponse `json:"mcp_tool_approval_response,omitempty"`

	// StreamingMeta marks the block as a chunk and says which block of the finished message it belongs to. Nil in
	// finished messages.
	StreamingMeta *StreamingMeta `json:"streaming_meta,omitempty"`

	// Extra holds what a provider attaches to the block.
	Extra map[string]any `json:"extra,omitempty"`
}

// StreamingMeta is the place of a streamed block in the finished message.
type StreamingMeta struct {
	// Index is equal for all chunks of one block; blocks are ordered by it.
	Index int `json:"index"`
}

// contentBlockVariant is any payload of a [ContentBlock].
type contentBlockVariant interface {
	Reasoning |
		UserInputText | UserInputImage | UserInputAudio | UserInputVideo | UserInputFile |
		AssistantGenText | AssistantGenImage | AssistantGenAudio | AssistantGenVideo |
		FunctionToolCall | FunctionToolResult | ToolSearchFunctionToolResult |
		ServerToolCall | ServerToolResult |
		MCPToolCall | MCPToolResult | MCPListToolsResult | MCPToolApprovalRequest | MCPToolApprovalResponse
}

// NewContentBlock returns a block with the given payload, which is not copied, and the type that belongs to it.
func NewContentBlock[T contentBlockVariant](content *T) *ContentBlock {
	b := &ContentBlock{}
	switch p := any(content).(type) {
	case *Reasoning:
		b.Type, b.Reasoning = ContentBlockTypeReasoning, p
	case *UserInputText:
		b.Type, b.UserInputText = ContentBlockTypeUserInputText, p
	case *UserInputImage:
		b.Type, b.UserInputImage = ContentBlockTypeUserInputImage, p
	case *UserInputAudio:
		b.Type, b.UserInputAudio = ContentBlockTypeUserInputAudio, p
	case *UserInputVideo:
		b.Type, b.UserInputVideo = ContentBlockTypeUserInputVideo, p
	case *UserInputFile:
		b.Type, b.UserInputFile = ContentBlockTypeUserInputFile, p
	case *AssistantGenText:
		b.Type, b.AssistantGenText = ContentBlockTypeAssistantGenText, p
	case *AssistantGenImage:
		b.Type, b.AssistantGenImage = ContentBlockTypeAssistantGenImage, p
	case *AssistantGenAudio:
		b.Type, b.AssistantGenAudio = ContentBlockTypeAssistantGenAudio, p
	case *AssistantGenVideo:
		b.Type, b.AssistantGenVideo = ContentBlockTypeAssistantGenVideo, p
	case *FunctionToolCall:
		b.Type, b.FunctionToolCall = ContentBlockTypeFunctionToolCall, p
	case *FunctionToolResult:
		b.Type, b.FunctionToolResult = ContentBlockTypeFunctionToolResult, p
	case *ToolSearchFunctionToolResult:
		b.Type, b.ToolSearchFunctionToolResult = ContentBlockTypeToolSearchResult, p
	case *ServerToolCall:
		b.Type, b.ServerToolCall = ContentBlockTypeServerToolCall, p
	case *ServerToolResult:
		b.Type, b.ServerToolResult = ContentBlockTypeServerToolResult, p
	case *MCPToolCall:
		b.Type, b.MCPToolCall = ContentBlockTypeMCPToolCall, p
	case *MCPToolResult:
		b.Type, b.MCPToolResult = ContentBlockTypeMCPToolResult, p
	case *MCPListToolsResult:
		b.Type, b.MCPListToolsResult = ContentBlockTypeMCPListToolsResult, p
	case *MCPToolApprovalRequest:
		b.Type, b.MCPToolApprovalRequest = ContentBlockTypeMCPToolApprovalRequest, p
	case *MCPToolApprovalResponse:
		b.Type, b.MCPToolApprovalResponse = ContentBlockTypeMCPToolApprovalResponse, p
	}
	return b
}

// NewContentBlockChunk is [NewContentBlock] with a place in the stream. With a nil meta the block is a finished one.
func NewContentBlockChunk[T contentBlockVariant](content *T, meta *StreamingMeta) *ContentBlock {
	b := NewContentBlock(content)
	b.StreamingMeta = meta
	return b
}
