package schema

// ToolChoice says whether the model may or must call tools.
type ToolChoice string

const (
	// ToolChoiceForbidden keeps the model from calling tools.
	ToolChoiceForbidden ToolChoice = "forbidden"
	// ToolChoiceAllowed leaves it to the model.
	ToolChoiceAllowed ToolChoice = "allowed"
	// ToolChoiceForced makes the model call at least one tool.
	ToolChoiceForced ToolChoice = "forced"
)

// AgenticToolChoice is the [ToolChoice] for agentic models, which can be narrowed to certain tools.
type AgenticToolChoice struct {
	Type ToolChoice
	// Allowed narrows [ToolChoiceAllowed]. Nil allows every tool.
	Allowed *AgenticAllowedToolChoice
	// Forced narrows [ToolChoiceForced]. Nil accepts any tool.
	Forced *AgenticForcedToolChoice
}

// AgenticAllowedToolChoice lists the tools that the model may call.
type AgenticAllowedToolChoice struct {
	Tools []*AllowedTool
}

// AgenticForcedToolChoice lists the tools of which the model must call one.
type AgenticForcedToolChoice struct {
	Tools []*AllowedTool
}

// AllowedTool names one tool. Exactly one field is set.
type AllowedTool struct {
	// FunctionName names a tool that the application runs.
	FunctionName string
	// MCPTool names a tool of an MCP server that the provider calls.
	MCPTool *AllowedMCPTool
	// ServerTool names a tool that the provider runs.
	ServerTool *AllowedServerTool
}

// AllowedMCPTool names a tool of an MCP server.
type AllowedMCPTool struct {
	ServerLabel string
	Name        string
}

// AllowedServerTool names a tool that the provider runs.
type AllowedServerTool struct {
	Name string
}
