package schema

// mcpCallJoin appends arguments.
type mcpCallJoin struct {
	call      MCPToolCall
	arguments textJoin
}

func (j *mcpCallJoin) add(p *MCPToolCall) error {
	j.arguments.add(p.Arguments)
	return agree("mcp tool call",
		claim{&j.call.ServerLabel, p.ServerLabel, "server label"},
		claim{&j.call.ApprovalRequestID, p.ApprovalRequestID, "approval request ID"},
		claim{&j.call.CallID, p.CallID, "call ID"},
		claim{&j.call.Name, p.Name, "tool name"},
	)
}

func (j *mcpCallJoin) result() (*MCPToolCall, error) {
	call := j.call
	call.Arguments = j.arguments.String()
	return &call, nil
}

// mcpResultJoin takes the last content and the last error: an MCP result is not streamed, only repeated.
type mcpResultJoin struct {
	tool MCPToolResult
}

func (j *mcpResultJoin) add(p *MCPToolResult) error {
	if p.Content != "" {
		j.tool.Content = p.Content
	}
	if p.Error != nil {
		j.tool.Error = p.Error
	}
	return agree("mcp tool result",
		claim{&j.tool.ServerLabel, p.ServerLabel, "server label"},
		claim{&j.tool.CallID, p.CallID, "call ID"},
		claim{&j.tool.Name, p.Name, "tool name"},
	)
}

func (j *mcpResultJoin) result() (*MCPToolResult, error) {
	return clonePointer(&j.tool), nil
}

// mcpListJoin lists the tools of all chunks and takes the last error.
type mcpListJoin struct {
	list  MCPListToolsResult
	tools []*MCPListToolsItem
}

func (j *mcpListJoin) add(p *MCPListToolsResult) error {
	j.tools = append(j.tools, p.Tools...)
	if p.Error != "" {
		j.list.Error = p.Error
	}
	return agree("mcp list tools result",
		claim{&j.list.ServerLabel, p.ServerLabel, "server label"},
	)
}

func (j *mcpListJoin) result() (*MCPListToolsResult, error) {
	list := j.list
	list.Tools = append(list.Tools, j.tools...)
	return &list, nil
}

// approvalRequestJoin appends arguments.
type approvalRequestJoin struct {
	request   MCPToolApprovalRequest
	arguments textJoin
}

func (j *approvalRequestJoin) add(p *MCPToolApprovalRequest) error {
	j.arguments.add(p.Arguments)
	return agree("mcp tool approval request",
		claim{&j.request.ID, p.ID, "request ID"},
		claim{&j.request.Name, p.Name, "tool name"},
		claim{&j.request.ServerLabel, p.ServerLabel, "server label"},
	)
}

func (j *approvalRequestJoin) result() (*MCPToolApprovalRequest, error) {
	request := j.request
	request.Arguments = j.arguments.String()
	return &request, nil
}
