package agui

import "encoding/json"

// event is an event of the protocol. What is empty is left out: clients refuse null.
type event struct {
	Type            string `json:"type"`
	SubagentRunID   string `json:"subagentRunId,omitempty"`
	ThreadID        string `json:"threadId,omitempty"`
	RunID           string `json:"runId,omitempty"`
	ProtocolVersion string `json:"protocolVersion,omitempty"`
	ParentRunID     string `json:"parentRunId,omitempty"`
	MessageID       string `json:"messageId,omitempty"`
	Role            string `json:"role,omitempty"`
	// Delta is a text, or of a state []operation.
	Delta           any      `json:"delta,omitempty"`
	ToolCallID      string   `json:"toolCallId,omitempty"`
	ToolCallName    string   `json:"toolCallName,omitempty"`
	ParentMessageID string   `json:"parentMessageId,omitempty"`
	Content         any      `json:"content,omitempty"`
	ActivityType    string   `json:"activityType,omitempty"`
	Replace         bool     `json:"replace,omitempty"`
	StepName        string   `json:"stepName,omitempty"`
	Name            string   `json:"name,omitempty"`
	Value           any      `json:"value,omitempty"`
	ParentSubagent  string   `json:"parentSubagentRunId,omitempty"`
	ParentToolCall  string   `json:"parentToolCallId,omitempty"`
	Outcome         *outcome `json:"outcome,omitempty"`
	Usage           []usage  `json:"usage,omitempty"`
	Snapshot        *any     `json:"snapshot,omitempty"`
	Message         string   `json:"message,omitempty"`
	Code            string   `json:"code,omitempty"`
	Description     string   `json:"description,omitempty"`
	// Result is the result of a run or of a sub-agent, Messages all messages that the client shows.
	Result   any               `json:"result,omitempty"`
	Messages []json.RawMessage `json:"messages,omitempty"`
}

// outcome is the outcome of a run, or of a sub-agent.
type outcome struct {
	Type         string      `json:"type"`
	Pending      []string    `json:"pendingToolCallIds,omitempty"`
	Interrupts   []interrupt `json:"interrupts,omitempty"`
	InterruptIDs []string    `json:"interruptIds,omitempty"`
}

// MarshalJSON encodes the outcome. One of type interrupt has a list of them, whatever is in it.
func (o outcome) MarshalJSON() ([]byte, error) {
	type plain outcome
	if o.Type != "interrupt" || o.Interrupts != nil {
		return json.Marshal(plain(o))
	}
	return json.Marshal(struct {
		plain
		Interrupts []interrupt `json:"interrupts"`
	}{plain(o), []interrupt{}})
}

// interrupt is a question.
type interrupt struct {
	ID             string          `json:"id"`
	Reason         string          `json:"reason"`
	Message        string          `json:"message,omitempty"`
	ToolCallID     string          `json:"toolCallId,omitempty"`
	ResponseSchema json.RawMessage `json:"responseSchema,omitempty"`
	ExpiresAt      string          `json:"expiresAt,omitempty"`
	SubagentRunID  string          `json:"subagentRunId,omitempty"`
	Metadata       map[string]any  `json:"metadata,omitempty"`
}

// usage is the usage of a run.
type usage struct {
	Provider     string `json:"provider,omitempty"`
	Model        string `json:"model,omitempty"`
	Input        int    `json:"inputTokens,omitempty"`
	Output       int    `json:"outputTokens,omitempty"`
	Total        int    `json:"totalTokens,omitempty"`
	Reasoning    int    `json:"reasoningTokens,omitempty"`
	CachedInput  int    `json:"cachedInputTokens,omitempty"`
	CachedWrites int    `json:"cacheWriteInputTokens,omitempty"`
}

// wireCall is a call in a message of a client.
type wireCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}
