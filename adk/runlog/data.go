package runlog

import (
	"github.com/weftgo/weft/internal/json"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// RunStartData is the beginning of a stretch of a run.
type RunStartData struct {
	Agent string `json:"agent"`
	// Input is the input of the run, empty for one that is resumed.
	Input     []Message `json:"input"`
	Streaming bool      `json:"streaming"`

	Thread       string `json:"thread,omitempty"`
	Conversation string `json:"conversation,omitempty"`
	// Resumed is set if the run continues.
	Resumed *Resumption       `json:"resumed,omitempty"`
	Forked  *Fork             `json:"forked,omitempty"`
	Labels  map[string]string `json:"labels,omitempty"`
}

// Resumption says what a run continues from.
type Resumption struct {
	// FromSeq is the last event of the stretch before.
	FromSeq uint64 `json:"from_seq"`
}

// Fork says which run a run was made from, and at which of its steps.
type Fork struct {
	Run  string `json:"run"`
	Step int    `json:"step"`
}

// RunEndData is the end of a stretch of a run, with what the stretch has used. [Recorder.Usage] has what the run has.
type RunEndData struct {
	Status     runs.Status `json:"status"`
	Error      *Err        `json:"error,omitempty"`
	Usage      runs.Usage  `json:"usage"`
	Cost       *Cost       `json:"cost,omitempty"`
	ModelCalls int         `json:"model_calls"`
	ToolCalls  int         `json:"tool_calls"`
}

// Cost is an amount of money, decimal, and its currency.
type Cost struct {
	Amount   string `json:"amount"`
	Currency string `json:"currency"`
}

// Err is an error: a type with few values (see adk.ErrorType, and interrupted, abandoned) and a text.
type Err struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// AgentStartData is an agent that begins.
type AgentStartData struct {
	Name string `json:"name"`
	// Kind is the implementation.
	Kind string `json:"kind"`
	// Call is the tool call that it runs for.
	Call string `json:"call,omitempty"`
}

// AgentEndData is an agent that has ended.
type AgentEndData struct {
	Error *Err `json:"error,omitempty"`
}

// ModelStartData is a call of a model.
type ModelStartData struct {
	Model    string `json:"model,omitempty"`
	Provider string `json:"provider,omitempty"`
	// Attempt counts the calls for one answer from 1.
	Attempt  int       `json:"attempt"`
	Messages Input     `json:"messages"`
	Tools    []string  `json:"tools,omitempty"`
	Params   *Settings `json:"params,omitempty"`
}

// Input is the request to a model, as a change: the first Keep messages of the model.start before it in the same agent,
// then Add.
type Input struct {
	Keep int       `json:"keep"`
	Add  []Message `json:"add"`
}

// Settings holds the settings that a call ran with, as far as the provider reports them.
type Settings struct {
	Temperature float32  `json:"temperature,omitempty"`
	TopP        float32  `json:"top_p,omitempty"`
	MaxTokens   int      `json:"max_tokens,omitempty"`
	Stop        []string `json:"stop,omitempty"`
}

// DeltaKind names the kind of a piece of an answer.
type DeltaKind string

// The kinds of pieces.
const (
	Text      DeltaKind = "text"
	Reasoning DeltaKind = "reasoning"
	Args      DeltaKind = "args"
)

// ModelDeltaData is a piece of an answer.
type ModelDeltaData struct {
	Kind DeltaKind `json:"kind"`
	Text string    `json:"text"`
	// Call is the tool call whose arguments these are, Index its place in the answer.
	Call  string `json:"call,omitempty"`
	Index *int   `json:"index,omitempty"`
	// Name is the tool that is called.
	Name string `json:"name,omitempty"`
	// Chars is the length of the text that a policy left out.
	Chars int `json:"chars,omitempty"`
}

// ModelEndData is the answer of a model, or why there is none.
type ModelEndData struct {
	Message *Message `json:"message,omitempty"`
	// Calls are the names in this log of the tool calls in the message, in their order (see [ToolStartData]).
	Calls  []string    `json:"calls,omitempty"`
	Finish string      `json:"finish,omitempty"`
	Usage  *runs.Usage `json:"usage,omitempty"`
	// FirstMS is after how many milliseconds the first chunk came.
	FirstMS int64 `json:"first_ms,omitempty"`
	Error   *Err  `json:"error,omitempty"`
	// Again: the call is made again, or would be if it were allowed; what was shown of this one does not count.
	Again bool `json:"again,omitempty"`
	// Aside: the answer is none of an agent, but of a model that a tool, a node or a middleware has asked.
	Aside bool `json:"aside,omitempty"`
}

// ToolStartData is a call of a tool.
type ToolStartData struct {
	// Call is the name of the call in this log. CallID is the ID that the model gave, which it may use again and again.
	Call       string `json:"call"`
	CallID     string `json:"call_id"`
	Name       string `json:"name"`
	Args       string `json:"args"`
	Idempotent bool   `json:"idempotent,omitempty"`
	Chars      int    `json:"chars,omitempty"`
}

// ToolDeltaData is a piece of a result.
type ToolDeltaData struct {
	Call  string                  `json:"call"`
	Text  string                  `json:"text,omitempty"`
	Parts []schema.ToolOutputPart `json:"parts,omitempty"`
	Chars int                     `json:"chars,omitempty"`
}

// ToolEndData is the result of a call as the model gets it, or why there is none.
type ToolEndData struct {
	Call  string                  `json:"call"`
	Parts []schema.ToolOutputPart `json:"parts"`
	Error *Err                    `json:"error,omitempty"`
	// IsError: the result is words for the model about a call that failed.
	IsError    bool            `json:"is_error,omitempty"`
	Structured json.RawMessage `json:"structured,omitempty"`
	Chars      int             `json:"chars,omitempty"`
}

// NodeStartData is a node of a graph that begins.
type NodeStartData struct {
	Node      string `json:"node"`
	Component string `json:"component"`
	Name      string `json:"name,omitempty"`
}

// NodeEndData is a node that has ended.
type NodeEndData struct {
	Error *Err `json:"error,omitempty"`
}

// MessageData is a message that no recorded call of a model or a tool made: one of an agent of the application's own,
// or of a middleware.
type MessageData struct {
	Message Message `json:"message"`
	Error   *Err    `json:"error,omitempty"`
}

// InterruptData lists the questions that a run waits for.
type WaitingData struct {
	Questions []runs.Question `json:"questions"`
}

// ResumeData is the answers that a run continues with, by the IDs of their points.
type RepliesData struct {
	Replies map[string]json.RawMessage `json:"replies"`
}

// ActionKind names an action that an agent asks of the runtime.
type ActionKind string

// The kinds of actions.
const (
	Transfer ActionKind = "transfer"
	Exit     ActionKind = "exit"
	Break    ActionKind = "break"
)

// ActionData describes an action that an agent asks of the runtime.
type ActionData struct {
	Kind ActionKind `json:"kind"`
	To   string     `json:"to,omitempty"`
}

// ProgressData reports the progress of a call or a run. It is recorded of an event whose AgentOutput.CustomizedOutput is a
// ProgressData, or a pointer to one, such as one that a tool sends by adk.SendEvent.
type ProgressData struct {
	// Call is the tool call that it is about, if it is. The producer sets the model's ID (compose.GetToolCallID); the event
	// has the name of the call in the log.
	Call    string   `json:"call,omitempty"`
	Done    *float64 `json:"done,omitempty"`
	Total   *float64 `json:"total,omitempty"`
	Message string   `json:"message,omitempty"`
}

// CustomData is an event of the application's own.
type CustomData struct {
	Name  string          `json:"name"`
	Value json.RawMessage `json:"value"`
}

// SavedData says that the run can continue from here.
type SavedData struct {
	// Step is the number of steps that are saved.
	Step int `json:"step"`
}

// RestartedData begins the record of another process after the one before has died. What came after FromSeq does not
// count: the run makes it again. Message is the last message that counts.
type RestartedData struct {
	FromSeq uint64   `json:"from_seq"`
	Message *Message `json:"message,omitempty"`
}

// SnapshotData is all messages of the run up to the position of the event. It comes first where what a reader asked for
// is not there any more: it replaces whatever the reader has.
type SnapshotData struct {
	Messages []Message `json:"messages"`
	// Questions are the questions that the run waits for.
	Questions []runs.Question `json:"questions,omitempty"`
}

// DroppedData says which events are not there any more. None of them has a message of its own.
type DroppedData struct {
	From uint64 `json:"from"`
	To   uint64 `json:"to"`
}
