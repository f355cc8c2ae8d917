package schema

import (
	"bytes"
	"encoding/gob"
	"fmt"

	"github.com/eino-contrib/jsonschema"

	"github.com/weftgo/weft/internal/json"
)

// MCPToolCall is the model's call of a tool of an MCP server that the provider talks to.
type MCPToolCall struct {
	// ServerLabel names the server, as configured with the provider.
	ServerLabel string `json:"server_label,omitempty"`
	// ApprovalRequestID is the ID of the [MCPToolApprovalRequest] that led to the call, if there was one.
	ApprovalRequestID string `json:"approval_request_id,omitempty"`
	CallID            string `json:"call_id,omitempty"`
	Name              string `json:"name"`
	// Arguments is JSON text as the model wrote it.
	Arguments string `json:"arguments,omitempty"`
}

// MCPToolResult is the result of an [MCPToolCall].
type MCPToolResult struct {
	ServerLabel string `json:"server_label,omitempty"`
	CallID      string `json:"call_id,omitempty"`
	Name        string `json:"name"`
	Content     string `json:"content,omitempty"`
	// Error is set when the call failed.
	Error *MCPToolCallError `json:"error,omitempty"`
}

// MCPToolCallError says how an [MCPToolCall] failed.
type MCPToolCallError struct {
	Code    *int64 `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
}

// MCPListToolsResult lists the tools of an MCP server.
type MCPListToolsResult struct {
	ServerLabel string              `json:"server_label,omitempty"`
	Tools       []*MCPListToolsItem `json:"tools,omitempty"`
	// Error is set when the server could not list its tools.
	Error string `json:"error,omitempty"`
}

// MCPListToolsItem is one tool of an MCP server.
type MCPListToolsItem struct {
	Name        string             `json:"name"`
	Description string             `json:"description"`
	InputSchema *jsonschema.Schema `json:"input_schema,omitempty"`
}

// MCPToolApprovalRequest asks the user whether an MCP tool may be called.
type MCPToolApprovalRequest struct {
	ID   string `json:"id,omitempty"`
	Name string `json:"name"`
	// Arguments is JSON text as the model wrote it.
	Arguments   string `json:"arguments,omitempty"`
	ServerLabel string `json:"server_label,omitempty"`
}

// MCPToolApprovalResponse answers an [MCPToolApprovalRequest].
type MCPToolApprovalResponse struct {
	// ApprovalRequestID is the ID of the request.
	ApprovalRequestID string `json:"approval_request_id,omitempty"`
	Approve           bool   `json:"approve"`
	// Reason explains the answer to the model.
	Reason string `json:"reason,omitempty"`
}

// mcpListToolsItemGob is the gob form of an MCPListToolsItem. The schema is JSON text, because gob cannot see into it.
type mcpListToolsItemGob struct {
	Name        string
	Description string
	InputSchema []byte
}

// GobEncode encodes the item with its schema.
func (m *MCPListToolsItem) GobEncode() ([]byte, error) {
	doc := mcpListToolsItemGob{Name: m.Name, Description: m.Description}
	if m.InputSchema != nil {
		var err error
		if doc.InputSchema, err = json.Marshal(m.InputSchema); err != nil {
			return nil, fmt.Errorf("failed to marshal MCPListToolsItem.InputSchema: %w", err)
		}
	}
	var buf bytes.Buffer
	if err := gob.NewEncoder(&buf).Encode(doc); err != nil {
		return nil, fmt.Errorf("failed to encode MCPListToolsItem: %w", err)
	}
	return buf.Bytes(), nil
}

// GobDecode decodes what GobEncode wrote. It replaces the whole item.
func (m *MCPListToolsItem) GobDecode(data []byte) error {
	var doc mcpListToolsItemGob
	if err := gob.NewDecoder(bytes.NewReader(data)).Decode(&doc); err != nil {
		return fmt.Errorf("failed to decode MCPListToolsItem: %w", err)
	}
	*m = MCPListToolsItem{Name: doc.Name, Description: doc.Description}
	if len(doc.InputSchema) == 0 {
		return nil
	}
	if err := json.Unmarshal(doc.InputSchema, &m.InputSchema); err != nil {
		return fmt.Errorf("failed to unmarshal MCPListToolsItem.InputSchema: %w", err)
	}
	return nil
}
