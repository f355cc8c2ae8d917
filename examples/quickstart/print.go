package main

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/schema"
)

// printer shows the events of a run while they come.
type printer struct {
	out                io.Writer
	calls              int
	prompt, completion int
}

func (p *printer) print(event *adk.AgentEvent) error {
	if event.Err != nil {
		return event.Err
	}
	if event.Output == nil || event.Output.MessageOutput == nil {
		return nil
	}
	output := event.Output.MessageOutput
	if output.Role == schema.Tool {
		return p.toolResult(output)
	}
	return p.answer(output)
}

// answer prints the text of a model's message chunk by chunk, and its tool calls when it is complete.
func (p *printer) answer(output *adk.MessageVariant) error {
	var whole schema.MessageAccumulator
	for chunk, err := range p.chunks(output).All() {
		if err != nil {
			return err
		}
		fmt.Fprint(p.out, withoutControls(chunk.Content))
		if err := whole.Add(chunk); err != nil {
			return err
		}
	}
	message, err := whole.Message()
	if err != nil {
		return err
	}
	if message.Content != "" {
		fmt.Fprintln(p.out)
	}
	for _, call := range message.ToolCalls {
		fmt.Fprintf(p.out, "→ %s(%s)\n", printable(call.Function.Name), printable(call.Function.Arguments))
	}
	p.calls++
	if meta := message.ResponseMeta; meta != nil && meta.Usage != nil {
		p.prompt += meta.Usage.PromptTokens
		p.completion += meta.Usage.CompletionTokens
	}
	return nil
}

// chunks is a message as a stream, whichever way it came.
func (p *printer) chunks(output *adk.MessageVariant) *schema.StreamReader[*schema.Message] {
	if output.IsStreaming {
		return output.MessageStream
	}
	return schema.StreamReaderFromArray([]*schema.Message{output.Message})
}

func (p *printer) toolResult(output *adk.MessageVariant) error {
	result, err := output.GetMessage()
	if err != nil {
		return err
	}
	fmt.Fprintf(p.out, "← %s: %s\n", printable(output.ToolName), abridged(result.Content))
	return nil
}

// abridged is the first line of a text, cut if it is long.
func abridged(text string) string {
	const width = 100
	line, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
	line = printable(line)
	if utf8.RuneCountInString(line) > width {
		line, rest = string([]rune(line)[:width]), "…"
	}
	if rest != "" {
		line += fmt.Sprintf(" … (%d bytes)", len(text))
	}
	return line
}

// withoutControls is a text without what changes the terminal that it is shown in.
func withoutControls(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || !unicode.IsControl(r) {
			return r
		}
		return '�'
	}, text)
}

func (p *printer) summary() {
	fmt.Fprintf(p.out, "\n[%d model calls, %d tokens in, %d tokens out]\n", p.calls, p.prompt, p.completion)
}
