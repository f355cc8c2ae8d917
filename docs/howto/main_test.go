// Package howto has the programs of the pages in docs/how-to: each is an example that is run, and its page is made of it.
package howto

import (
	"context"
	"errors"
	"log"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/weftgo/weft"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scripted gives its answers one after the other, as pieces of a stream if it is asked for one.
type scripted struct {
	mu      sync.Mutex // guards answers
	answers [][]*schema.Message
}

// model stands for any model: it answers with these texts and calls, one after the other.
func answers(all ...any) weft.Model {
	m := &scripted{}
	for _, a := range all {
		switch a := a.(type) {
		case string:
			m.answers = append(m.answers, []*schema.Message{schema.AssistantMessage(a, nil)})
		case []string:
			var pieces []*schema.Message
			for _, p := range a {
				pieces = append(pieces, schema.AssistantMessage(p, nil))
			}
			m.answers = append(m.answers, pieces)
		case schema.ToolCall:
			m.answers = append(m.answers, []*schema.Message{schema.AssistantMessage("", []schema.ToolCall{a})})
		case []schema.ToolCall:
			m.answers = append(m.answers, []*schema.Message{schema.AssistantMessage("", a)})
		case *schema.Message:
			m.answers = append(m.answers, []*schema.Message{a})
		case error:
			m.answers = append(m.answers, nil)
		}
	}
	return m
}

// call is the call of a tool.
func call(name, arguments string) schema.ToolCall {
	return schema.ToolCall{ID: "call_" + name, Type: "function", Function: schema.FunctionCall{Name: name, Arguments: arguments}}
}

func (m *scripted) Stream(ctx context.Context, _ []*schema.Message, _ ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.answers) == 0 {
		return nil, errors.New("the model has no more answers")
	}
	next := m.answers[0]
	m.answers = m.answers[1:]
	if next == nil {
		return nil, errors.New("503 overloaded")
	}
	return schema.StreamReaderFromArray(next), ctx.Err()
}

func (m *scripted) Generate(ctx context.Context, in []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	stream, err := m.Stream(ctx, in)
	if err != nil {
		return nil, err
	}
	return schema.ConcatMessageStream(stream)
}

// must ends the program with an error.
func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}
