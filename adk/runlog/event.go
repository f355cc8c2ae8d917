package runlog

import (
	"bytes"
	"fmt"
	"reflect"
	"strconv"

	"github.com/weftgo/weft/internal/json"
	"github.com/weftgo/weft/runs"
)

// Version is the version of the format of events, their member v.
const Version = 1

// Type names the kind of an [Event], which decides the type of its Data. Readers ignore types that they do not know.
type Type string

// The types of events, with the type of their Data.
const (
	RunStart   Type = "run.start"   // *RunStartData
	RunEnd     Type = "run.end"     // *RunEndData
	AgentStart Type = "agent.start" // *AgentStartData
	AgentEnd   Type = "agent.end"   // *AgentEndData
	ModelStart Type = "model.start" // *ModelStartData
	ModelDelta Type = "model.delta" // *ModelDeltaData
	ModelEnd   Type = "model.end"   // *ModelEndData
	ToolStart  Type = "tool.start"  // *ToolStartData
	ToolDelta  Type = "tool.delta"  // *ToolDeltaData
	ToolEnd    Type = "tool.end"    // *ToolEndData
	NodeStart  Type = "node.start"  // *NodeStartData
	NodeEnd    Type = "node.end"    // *NodeEndData
	Said       Type = "message"     // *MessageData
	Waiting    Type = "waiting"     // *WaitingData
	Replied    Type = "replies"     // *RepliesData
	Action     Type = "action"      // *ActionData
	Progress   Type = "progress"    // *ProgressData
	Custom     Type = "custom"      // *CustomData
	Saved      Type = "saved"       // *SavedData
	Restarted  Type = "restarted"   // *RestartedData
	Snapshot   Type = "snapshot"    // *SnapshotData
	Dropped    Type = "dropped"     // *DroppedData
)

// IsDelta reports whether the type is a piece of something that comes whole later: the first to be dropped.
func (t Type) IsDelta() bool { return t == ModelDelta || t == ToolDelta }

// SpanID names something that starts and ends in a run: the run itself (0), an agent, a call of a model, of a tool. It
// is unique in the run.
type SpanID uint64

// Event is one thing that happened in a run. An event that was recorded is never changed, and neither is what it
// refers to: it is shared by all readers.
type Event struct {
	V   int
	Run string
	// Seq counts the events of the run from 1, and Token is the token of the lease under which a process recorded the event,
	// 0 without leases. See [Cursor].
	Seq   uint64
	Token uint64
	// From is the first of several deltas that were joined to this one, 0 if it is one alone.
	From uint64
	// T is the time of the event, in microseconds since 1970.
	T    int64
	Type Type
	// Span is the span that the event belongs to, and Parent the span around that.
	Span, Parent SpanID
	// Agent is the agent at work, Path the way to it from the outermost one, by names.
	Agent string
	Path  []string
	// Data is a pointer to the struct of the type (see [Type]), a json.RawMessage of a type that is not known, or nil.
	Data any
	// Sealed has the data of an event in a store that [Seal] encrypts. Data has next to nothing then. It is nil elsewhere.
	Sealed []byte
}

// Cursor is the position of the event.
func (e *Event) Cursor() runs.Cursor { return runs.Cursor{Token: e.Token, Seq: e.Seq} }

// dataTypes are the types of Data by the type of event.
var dataTypes = map[Type]reflect.Type{
	RunStart:   reflect.TypeFor[RunStartData](),
	RunEnd:     reflect.TypeFor[RunEndData](),
	AgentStart: reflect.TypeFor[AgentStartData](),
	AgentEnd:   reflect.TypeFor[AgentEndData](),
	ModelStart: reflect.TypeFor[ModelStartData](),
	ModelDelta: reflect.TypeFor[ModelDeltaData](),
	ModelEnd:   reflect.TypeFor[ModelEndData](),
	ToolStart:  reflect.TypeFor[ToolStartData](),
	ToolDelta:  reflect.TypeFor[ToolDeltaData](),
	ToolEnd:    reflect.TypeFor[ToolEndData](),
	NodeStart:  reflect.TypeFor[NodeStartData](),
	NodeEnd:    reflect.TypeFor[NodeEndData](),
	Said:       reflect.TypeFor[MessageData](),
	Waiting:    reflect.TypeFor[WaitingData](),
	Replied:    reflect.TypeFor[RepliesData](),
	Action:     reflect.TypeFor[ActionData](),
	Progress:   reflect.TypeFor[ProgressData](),
	Custom:     reflect.TypeFor[CustomData](),
	Saved:      reflect.TypeFor[SavedData](),
	Restarted:  reflect.TypeFor[RestartedData](),
	Snapshot:   reflect.TypeFor[SnapshotData](),
	Dropped:    reflect.TypeFor[DroppedData](),
}

// wireEvent is an event as JSON. Event.AppendJSON writes it.
type wireEvent struct {
	V      int             `json:"v"`
	Run    string          `json:"run"`
	Seq    uint64          `json:"seq"`
	From   uint64          `json:"from,omitempty"`
	Token  string          `json:"token,omitempty"`
	T      int64           `json:"t"`
	Type   Type            `json:"type"`
	Span   string          `json:"span"`
	Parent string          `json:"parent,omitempty"`
	Agent  string          `json:"agent,omitempty"`
	Path   []string        `json:"path,omitempty"`
	Data   json.RawMessage `json:"data"`
	Sealed []byte          `json:"sealed,omitempty"`
}

// UnmarshalJSON decodes an event. Members and types that are not known are not an error.
func (e *Event) UnmarshalJSON(data []byte) error {
	var w wireEvent
	if err := json.Unmarshal(data, &w); err != nil {
		return fmt.Errorf("an event is no JSON object of its format: %w", err)
	}
	number := func(text string, base int) (n uint64) {
		if n, err := strconv.ParseUint(text, base, 64); err == nil {
			return n
		}
		return 0
	}
	*e = Event{V: w.V, Run: w.Run, Seq: w.Seq, From: w.From, Token: number(w.Token, 16), T: w.T, Type: w.Type,
		Span: SpanID(number(w.Span, 10)), Parent: SpanID(number(w.Parent, 10)), Agent: w.Agent, Path: w.Path, Sealed: w.Sealed}
	t, known := dataTypes[w.Type]
	if !known {
		if w.Data != nil {
			e.Data = json.RawMessage(bytes.Clone(w.Data))
		}
		return nil
	}
	into := reflect.New(t).Interface()
	if len(w.Data) > 0 {
		if err := json.Unmarshal(w.Data, into); err != nil {
			return fmt.Errorf("event %d (%s) of run %q: its data is not of its type: %w", e.Seq, e.Type, e.Run, err)
		}
	}
	e.Data = into
	return nil
}
