package schema

// ServerToolCall is the model's call of a tool that the provider runs, such as web search.
type ServerToolCall struct {
	Name   string `json:"name"`
	CallID string `json:"call_id,omitempty"`
	// Arguments has the type that the provider's adapter gives it.
	Arguments any `json:"arguments,omitempty"`
}

// ServerToolResult is the result of a [ServerToolCall].
type ServerToolResult struct {
	Name   string `json:"name"`
	CallID string `json:"call_id,omitempty"`
	// Content has the type that the provider's adapter gives it.
	Content any `json:"content,omitempty"`
}
