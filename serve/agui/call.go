package agui

import (
	"fmt"
	"strings"

	"github.com/weftgo/weft/adk/runlog"
)

// startTool begins a tool. A call that no message has is shown first.
func (t *translator) startTool(e *runlog.Event, d *runlog.ToolStartData) {
	s := t.scopes[e.Parent]
	t.scopes[e.Span] = s
	t.tools[e.Span] = true
	if _, known := t.calls[d.Call]; known {
		t.calls[d.Call] = s
		return
	}
	a := &answer{scope: s, id: fmt.Sprintf("%s.c%d", t.run, e.Span), openCall: map[string]bool{}}
	t.beginCall(a, d.Call, d.Name)
	if d.Args != "" {
		t.out(s, event{Type: "TOOL_CALL_ARGS", ToolCallID: d.Call, Delta: d.Args})
	}
	t.endCalls(a)
}

// endTool shows the result of a call. A call that was interrupted has none yet.
func (t *translator) endTool(e *runlog.Event, d *runlog.ToolEndData) {
	delete(t.tools, e.Span)
	content := resultOf(d)
	if parts, isList := content.([]any); isList && t.legacy {
		content = inWords(parts)
	}
	if d.Error != nil && (d.Error.Type == interrupted || d.Error.Type == abandoned) {
		t.endRested(e.Span, nil, d.Error)
		return
	}
	t.endRested(e.Span, content, nil)
	if t.has[d.Call] {
		return
	}
	t.out(t.scopes[e.Span], event{Type: "TOOL_CALL_RESULT", MessageID: t.messageID(e.Span), ToolCallID: d.Call,
		Content: content, Role: "tool"})
}

// Types of errors of calls that have no result.
const (
	interrupted = "interrupted"
	abandoned   = "abandoned"
)

// resultOf returns the result of a call: its text, or parts if it has others.
func resultOf(d *runlog.ToolEndData) any {
	if d.Error != nil {
		return d.Error.Message
	}
	text := ""
	var media []any
	for _, p := range d.Parts {
		text += p.Text
		if m := mediaOf(p); m != nil {
			media = append(media, m)
		}
	}
	if media == nil {
		return text
	}
	return append([]any{map[string]any{"type": "text", "text": text}}, media...)
}

// inWords is a result with media as a text, for clients of before 1.0, whose run ends with an error at anything else.
func inWords(parts []any) string {
	var b strings.Builder
	for _, p := range parts {
		part, _ := p.(map[string]any)
		if text, ok := part["text"].(string); ok {
			b.WriteString(text)
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "(%v)", part["type"])
	}
	return b.String()
}
