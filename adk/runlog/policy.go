package runlog

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/weftgo/weft/internal/json"
	"github.com/weftgo/weft/runs"
)

// largestMedia is the largest number of bytes of base64 that is stored where media are not.
const largestMedia = 4 << 10

// prepare makes what is stored of events, which it may change.
func (l *Log) prepare(events []Event) []Event {
	kept := events[:0]
	for _, e := range events {
		if l.conf.Policy == Shape {
			e.Data = shapeOf(e.Data)
		}
		if l.conf.Redact != nil {
			before := e
			if err := guard(func() error { e = l.conf.Redact(e); return nil }); err != nil {
				l.warn("an event is not stored: Redact failed", "run", before.Run, "seq", before.Seq, "error", err)
				continue
			}
			if e.Type == "" {
				continue
			}
			e.Run, e.Seq, e.Token, e.From = before.Run, before.Seq, before.Token, before.From
		}
		if !l.conf.Media {
			e.Data = withoutMedia(e.Data)
		}
		kept = append(kept, e)
	}
	return kept
}

// shapeOf is data without texts, arguments, results and what they are about.
func shapeOf(data any) any {
	switch d := data.(type) {
	case *RunStartData:
		s := *d
		s.Input = shapes(d.Input)
		return &s
	case *ModelStartData:
		s := *d
		s.Messages.Add = shapes(d.Messages.Add)
		return &s
	case *ModelDeltaData:
		s := *d
		s.Text, s.Chars = "", len(d.Text)
		return &s
	case *ModelEndData:
		s := *d
		s.Message, s.Error = shapeOfMessage(d.Message), d.Error.shape()
		return &s
	case *ToolStartData:
		s := *d
		s.Args, s.Chars = "", len(d.Args)
		return &s
	case *ToolDeltaData:
		return &ToolDeltaData{Call: d.Call, Chars: len(d.Text) + partsSize(d.Parts)}
	case *ToolEndData:
		s := *d
		s.Chars, s.Parts, s.Structured, s.Error = partsSize(d.Parts), nil, nil, d.Error.shape()
		return &s
	case *MessageData:
		return &MessageData{Message: *shapeOfMessage(&d.Message), Error: d.Error.shape()}
	case *WaitingData:
		s := &WaitingData{Questions: make([]runs.Question, len(d.Questions))}
		for i, p := range d.Questions {
			p.Text, p.Info = "", nil
			s.Questions[i] = p
		}
		return s
	case *RepliesData:
		s := &RepliesData{Replies: map[string]json.RawMessage{}}
		for id := range d.Replies {
			s.Replies[id] = json.RawMessage("null")
		}
		return s
	case *RunEndData:
		s := *d
		s.Error = d.Error.shape()
		return &s
	case *AgentEndData:
		return &AgentEndData{Error: d.Error.shape()}
	case *NodeEndData:
		return &NodeEndData{Error: d.Error.shape()}
	case *RestartedData:
		return &RestartedData{FromSeq: d.FromSeq, Message: shapeOfMessage(d.Message)}
	case *SnapshotData:
		return &SnapshotData{Messages: shapes(d.Messages)}
	case *ProgressData:
		s := *d
		s.Message = ""
		return &s
	case *CustomData:
		return &CustomData{Name: d.Name}
	case json.RawMessage:
		return nil
	}
	return data
}

func (e *Err) shape() *Err {
	if e == nil {
		return nil
	}
	return &Err{Type: e.Type}
}

func shapes(ms []Message) []Message {
	all := make([]Message, len(ms))
	for i := range ms {
		all[i] = *shapeOfMessage(&ms[i])
	}
	return all
}

func shapeOfMessage(m *Message) *Message {
	switch {
	case m == nil:
		return nil
	case m.Chat != nil:
		s := &MessageShape{Role: string(m.Chat.Role), Chars: len(m.Chat.Content) + len(m.Chat.ReasoningContent),
			Media: len(m.Chat.UserInputMultiContent) + len(m.Chat.AssistantGenMultiContent)}
		//lint:ignore SA1019 messages still have it
		s.Media += len(m.Chat.MultiContent)
		for i := range m.Chat.ToolCalls {
			s.Calls = append(s.Calls, m.Chat.ToolCalls[i].Function.Name)
		}
		return &Message{Shape: s}
	case m.Agentic != nil:
		s := &MessageShape{Role: string(m.Agentic.Role)}
		for _, b := range m.Agentic.ContentBlocks {
			s.Chars += blockText(b)
			if b != nil && b.FunctionToolCall != nil {
				s.Calls = append(s.Calls, b.FunctionToolCall.Name)
			}
		}
		return &Message{Shape: s}
	}
	return m
}

// withoutMedia is data in which long base64 texts are replaced by what they are. Mostly that is the data itself.
func withoutMedia(data any) any {
	if n := sizeOf(&Event{Data: data}); n <= largestMedia {
		return data
	}
	encoded, err := json.Marshal(data)
	if err != nil {
		return data // the store says so
	}
	var tree any
	if json.Unmarshal(encoded, &tree) != nil || !replaceMedia(tree) {
		return data
	}
	if encoded, err = json.Marshal(tree); err != nil {
		return data
	}
	return json.RawMessage(encoded)
}

// replaceMedia replaces long base64 texts below a value and reports whether there are any.
func replaceMedia(v any) (found bool) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			found = replaceMedia(item) || found
		}
	case map[string]any:
		for key, item := range v {
			text, ok := item.(string)
			if !ok || len(text) <= largestMedia {
				found = replaceMedia(item) || found
				continue
			}
			encoded, mime, is := mediaIn(key, text, v["mime_type"])
			if is {
				delete(v, key)
				v["media"], found = describe(encoded, mime), true
			}
		}
	}
	return found
}

// mediaIn is the base64 of a member of an object, and what it is: data, or a URL that has the data in it.
func mediaIn(key, text string, mime any) (encoded string, is any, ok bool) {
	switch key {
	case "base64_data", "base64data":
		return text, mime, true
	}
	head, data, found := strings.Cut(text, ",")
	kind, isData := strings.CutPrefix(head, "data:")
	kind, isBase64 := strings.CutSuffix(kind, ";base64")
	return data, kind, found && isData && isBase64
}

// describe returns the description that replaces a medium.
func describe(encoded string, mime any) map[string]any {
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		raw = []byte(encoded)
	}
	sum := sha256.Sum256(raw)
	return map[string]any{"sha256": hex.EncodeToString(sum[:]), "bytes": len(raw), "mime": fmt.Sprint(mime)}
}
