package runlog

import (
	"slices"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// Transcript returns the messages that agents emitted in a run, in their order: answers of models and results of tools,
// without those that did not count (see [ModelEndData], [RestartedData]). The input of the run is not among them, nor is
// what agents said that ran as tools. Of an event whose text a policy left out there is no message. If a log begins again,
// as the log of a restarted run does, the last beginning counts.
func Transcript[M adk.MessageType](events []Event) (messages []M) {
	fold := folding{}
	for i := range events {
		fold.add(&events[i])
	}
	for _, m := range fold.messages() {
		if as, ok := As[M](m); ok {
			messages = append(messages, as)
		}
	}
	return messages
}

// folding makes the messages of a run out of its events.
type folding struct {
	entries []foldEntry
	calls   map[string]*ToolStartData
	// agentic: the messages of the run are of that kind.
	agentic bool
	// agents are the agents, and the call of a tool that each works for, itself or inside of another one, "" for none.
	agents map[SpanID]string
	points []runs.Question
	// last is the last event, and saved the last position from which the run can continue.
	last  Event
	saved uint64
	// usage is the usage of the models.
	usage runs.Usage
	// spans is the highest number of a span. named is how often an ID of a model was used, and lastNamed the calls in the
	// last answer of each agent that makes some.
	spans     SpanID
	named     map[string]int
	lastNamed map[agentPlace][]answerCall
}

// foldEntry is one message and where it comes from.
type foldEntry struct {
	seq     uint64
	call    string // of the result of a tool
	message Message
}

// add adds the next event.
func (f *folding) add(e *Event) {
	f.last, f.spans = *e, max(f.spans, e.Span)
	switch d := e.Data.(type) {
	case *RunStartData:
		if f.points = nil; d.Resumed == nil {
			f.entries, f.calls, f.usage = nil, nil, runs.Usage{}
		}
		for _, m := range d.Input {
			f.agentic = f.agentic || m.Agentic != nil
		}
	case *ModelEndData:
		f.name(e, d)
		f.usage.Add(d.Usage)
		if d.Message != nil && d.Error == nil && !d.Again && !d.Aside && f.isOuter(e.Parent) {
			f.agentic = f.agentic || d.Message.Agentic != nil
			f.put(foldEntry{seq: e.Seq, message: *d.Message})
		}
	case *AgentStartData:
		if f.agents == nil {
			f.agents = map[SpanID]string{}
		}
		if f.agents[e.Span] = d.Call; d.Call == "" {
			f.agents[e.Span] = f.agents[e.Parent]
		}
	case *MessageData:
		if d.Error == nil && f.isOuter(e.Span) {
			f.put(foldEntry{seq: e.Seq, message: d.Message})
		}
	case *ToolStartData:
		if f.calls == nil {
			f.calls = map[string]*ToolStartData{}
		}
		f.calls[d.Call] = d
	case *ToolEndData:
		if d.Parts != nil && d.Error == nil && f.isOuter(e.Parent) {
			f.putResult(e.Seq, d)
		}
	case *WaitingData:
		f.points, f.saved = d.Questions, e.Seq
	case *SavedData:
		f.saved = e.Seq
	case *RestartedData:
		f.entries = slices.DeleteFunc(f.entries, func(m foldEntry) bool { return m.seq > d.FromSeq })
	case *SnapshotData:
		f.entries, f.points = nil, d.Questions
		for _, m := range d.Messages {
			f.put(foldEntry{seq: e.Seq, message: m})
		}
	}
}

// isOuter reports whether a span is an agent whose messages belong to the run itself.
func (f *folding) isOuter(s SpanID) bool {
	call, isAgent := f.agents[s]
	return isAgent && call == ""
}

// name notes the names of the calls of an answer.
func (f *folding) name(e *Event, d *ModelEndData) {
	if d.Message == nil || len(d.Calls) == 0 {
		return
	}
	if f.named == nil {
		f.named, f.lastNamed = map[string]int{}, map[agentPlace][]answerCall{}
	}
	var calls []answerCall
	for i, c := range d.Message.calls() {
		if i < len(d.Calls) {
			f.named[c.id] = max(f.named[c.id], numberOf(d.Calls[i], c.id))
			calls = append(calls, answerCall{id: c.id, call: d.Calls[i]})
		}
	}
	setKeys(calls)
	f.lastNamed[placeAt(f.agents[e.Parent], e.Path)] = calls
}

func (f *folding) put(m foldEntry) { f.entries = append(f.entries, m) }

// putResult adds the result of a call, instead of an earlier one.
func (f *folding) putResult(seq uint64, d *ToolEndData) {
	m, ok := f.resultMessage(d)
	if !ok {
		return
	}
	f.entries = slices.DeleteFunc(f.entries, func(e foldEntry) bool { return e.call == d.Call })
	f.put(foldEntry{seq: seq, call: d.Call, message: m})
}

// resultMessage is the message that the model gets of a result.
func (f *folding) resultMessage(d *ToolEndData) (m Message, ok bool) {
	start := f.calls[d.Call]
	if start == nil {
		start = &ToolStartData{CallID: d.Call}
	}
	chat := schema.ToolMessage("", start.CallID, schema.WithToolName(start.Name))
	if text, only := onlyText(d.Parts); only {
		chat.Content = text
	} else {
		parts, err := (&schema.ToolResult{Parts: d.Parts}).ToMessageInputParts()
		if err != nil {
			return m, false
		}
		chat.UserInputMultiContent = parts
	}
	if f.agentic {
		return Message{Agentic: compose.AgenticToolMessage(chat)}, true
	}
	return Message{Chat: chat}, true
}

// onlyText returns the text of a result that is nothing but one text.
func onlyText(parts []schema.ToolOutputPart) (text string, only bool) {
	if len(parts) == 0 {
		return "", true
	}
	return parts[0].Text, len(parts) == 1 && parts[0].Type == schema.ToolPartTypeText
}

func (f *folding) messages() []Message {
	all := make([]Message, len(f.entries))
	for i := range f.entries {
		all[i] = f.entries[i].message
	}
	return all
}

// lastMessage is the last message up to an event, nil if there is none.
func (f *folding) lastMessage(seq uint64) *Message {
	for _, e := range slices.Backward(f.entries) {
		if e.seq <= seq {
			return &e.message
		}
	}
	return nil
}

func (f *folding) snapshot() *SnapshotData {
	s := &SnapshotData{Messages: f.messages()}
	if endOf(&f.last) == runs.Waiting {
		s.Questions = f.points
	}
	return s
}
