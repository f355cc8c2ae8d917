package mcpserve

import (
	"context"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/schema"
)

// readMessage holds what a client is told of a message of a run.
type readMessage struct {
	text string
	// calls are the tools that a message of the assistant calls, and results those whose results it has.
	calls, results []string
}

// read reads a message of either kind.
func read[M adk.MessageType](message M) (r readMessage, ok bool) {
	switch m := any(message).(type) {
	case *schema.Message:
		if m == nil {
			return r, false
		}
		for _, c := range m.ToolCalls {
			r.calls = append(r.calls, c.Function.Name)
		}
		if m.Role == schema.Tool {
			r.results = []string{m.ToolName}
		}
		r.text = m.Content
		return r, true
	case *schema.AgenticMessage:
		if m == nil {
			return r, false
		}
		var texts []string
		for _, b := range m.ContentBlocks {
			switch {
			case b == nil:
			case b.AssistantGenText != nil:
				texts = append(texts, b.AssistantGenText.Text)
			case b.FunctionToolCall != nil:
				r.calls = append(r.calls, b.FunctionToolCall.Name)
			case b.FunctionToolResult != nil:
				r.results = append(r.results, b.FunctionToolResult.Name)
				for _, c := range b.FunctionToolResult.Content {
					if c != nil && c.Text != nil {
						texts = append(texts, c.Text.Text)
					}
				}
			}
		}
		r.text = strings.Join(texts, "\n")
		return r, true
	}
	return r, false
}

// final returns the last text of a run: the text of its last answer, or of the result of a tool that has ended it, such as
// one that returns directly.
type final struct {
	answer, result string
	endsWithTool   bool
}

func (f *final) see(m readMessage) {
	switch {
	case len(m.results) > 0:
		f.result, f.endsWithTool = m.text, true
	case m.text != "" || len(m.calls) == 0:
		f.answer, f.endsWithTool = m.text, false
	default:
		f.endsWithTool = false
	}
}

func (f *final) text() string {
	if f.endsWithTool {
		return f.result
	}
	return f.answer
}

// reporter says how far a run is, if the client wants to know: which agent works, and which tools begin and end.
type reporter struct {
	request *mcp.CallToolRequest
	token   any
	steps   int
	name    string
}

func (p *reporter) say(ctx context.Context, text string) {
	if p.token == nil {
		return
	}
	p.steps++
	_ = p.request.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: p.token,
		Progress: float64(p.steps), Message: text})
}

func (p *reporter) agent(ctx context.Context, name string) {
	if name != "" && name != p.name {
		p.name = name
		p.say(ctx, name+" works")
	}
}

func (p *reporter) message(ctx context.Context, m readMessage) {
	for _, name := range m.calls {
		p.say(ctx, p.name+" calls "+name)
	}
	for _, name := range slices.DeleteFunc(m.results, func(name string) bool { return name == "" }) {
		p.say(ctx, name+" has ended")
	}
}
