package demo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
)

// Model is a chat model without a language model in it.
type Model struct {
	// Answer makes an answer of the history. Required. [Script] makes one.
	Answer func(ctx context.Context, history []*schema.Message) (*schema.Message, error)
	// Pace is the time for which a stream waits before each chunk. An answer that is not streamed takes it once.
	Pace time.Duration
}

// Generate answers in one piece.
func (m *Model) Generate(ctx context.Context, history []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	answer, err := m.answer(ctx, history)
	if err != nil {
		return nil, err
	}
	return answer, wait(ctx, m.Pace)
}

// Stream answers in chunks: a word each, then a tool call each.
func (m *Model) Stream(
	ctx context.Context, history []*schema.Message, _ ...model.Option,
) (*schema.StreamReader[*schema.Message], error) {
	answer, err := m.answer(ctx, history)
	if err != nil {
		return nil, err
	}
	reader, writer := schema.Pipe[*schema.Message](1)
	go func() {
		defer writer.Close()
		for _, chunk := range chunksOf(answer) {
			if err := wait(ctx, m.Pace); err != nil {
				writer.Send(nil, err)
				return
			}
			if closed := writer.Send(chunk, nil); closed {
				return
			}
		}
	}()
	return reader, nil
}

func (m *Model) answer(ctx context.Context, history []*schema.Message) (*schema.Message, error) {
	answer, err := m.Answer(ctx, history)
	if err != nil {
		return nil, err
	}
	if answer == nil {
		return nil, errors.New("demo model: the rules have no answer")
	}
	answer.ResponseMeta = &schema.ResponseMeta{FinishReason: "stop", Usage: usage(history, answer)}
	return answer, nil
}

// usage counts tokens the way people estimate them: four letters each.
func usage(history []*schema.Message, answer *schema.Message) *schema.TokenUsage {
	u := &schema.TokenUsage{PromptTokens: Tokens(history), CompletionTokens: Tokens([]*schema.Message{answer})}
	u.TotalTokens = u.PromptTokens + u.CompletionTokens
	return u
}

// Tokens estimates how many tokens messages have.
func Tokens(messages []*schema.Message) (n int) {
	for _, m := range messages {
		n += len(m.Content)/4 + 1
		for _, c := range m.ToolCalls {
			n += len(c.Function.Arguments)/4 + 1
		}
	}
	return n
}

func chunksOf(answer *schema.Message) (chunks []*schema.Message) {
	if answer.Content != "" {
		for _, word := range strings.SplitAfter(answer.Content, " ") {
			chunks = append(chunks, schema.AssistantMessage(word, nil))
		}
	}
	for i, call := range answer.ToolCalls {
		call.Index = &i
		chunks = append(chunks, schema.AssistantMessage("", []schema.ToolCall{call}))
	}
	return append(chunks, &schema.Message{Role: schema.Assistant, ResponseMeta: answer.ResponseMeta})
}

// wait returns early, with an error, when ctx ends.
func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// A Line is one answer of a [Script]. results are the results of the tools that the model has called for this question.
type Line func(question string, results []*schema.Message) *schema.Message

// Script returns a rule for [Model]: the first line answers a question, and each later one the results of the tool
// calls that the line before it made. The last line answers whatever comes then.
func Script(lines ...Line) func(context.Context, []*schema.Message) (*schema.Message, error) {
	return func(_ context.Context, history []*schema.Message) (*schema.Message, error) {
		question, answers := "", 0
		var results []*schema.Message
		for _, m := range history {
			switch m.Role {
			case schema.User:
				if strings.Contains(m.Content, "`transfer_to_agent`") { // how the question came here is not the question
					answers, results = 0, nil
					continue
				}
				question, answers, results = m.Content, 0, nil
			case schema.Assistant:
				answers++
			case schema.Tool:
				results = append(results, m)
			}
		}
		return lines[min(answers, len(lines)-1)](question, results), nil
	}
}

// Says answers with a text. In it, {question} and {results} stand for what they say.
func Says(text string) Line {
	return func(question string, results []*schema.Message) *schema.Message {
		var texts []string
		for _, r := range results {
			texts = append(texts, r.Content)
		}
		return schema.AssistantMessage(strings.NewReplacer("{question}", question, "{results}",
			strings.Join(texts, "; ")).Replace(text), nil)
	}
}

// Calls calls tools. The calls of one line run side by side.
func Calls(calls ...schema.ToolCall) Line { return SaysAndCalls("", calls...) }

// SaysAndCalls says something and calls tools.
func SaysAndCalls(text string, calls ...schema.ToolCall) Line {
	return func(_ string, results []*schema.Message) *schema.Message {
		numbered := make([]schema.ToolCall, len(calls))
		for i, c := range calls {
			c.ID = fmt.Sprintf("call_%d", len(results)+i+1)
			numbered[i] = c
		}
		return schema.AssistantMessage(text, numbered)
	}
}

// Call is a tool call for [Calls].
func Call(name, arguments string) schema.ToolCall {
	return schema.ToolCall{Type: "function", Function: schema.FunctionCall{Name: name, Arguments: arguments}}
}
