package planexecute

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/schema"
)

// structuredModel is the model of a planner or replanner: what it says is JSON. Of a model that has to call a tool it
// gives the arguments of the first call as text. The model is always called for a stream.
type structuredModel struct {
	// call is a chain of the model alone: callback handlers are called as for any model in a chain.
	call compose.Runnable[[]*schema.Message, *schema.Message]
	// tools has the tools that the model must choose from, nil for one that writes JSON by itself.
	tools []*schema.ToolInfo
}

// newStructuredModel makes the model of the agent with the given name. The model must have the tools already.
func newStructuredModel(
	ctx context.Context, agent string, m model.BaseChatModel, tools []*schema.ToolInfo,
) (*structuredModel, error) {
	call, err := compose.NewChain[[]*schema.Message, *schema.Message]().AppendChatModel(m).
		Compile(ctx, compose.WithGraphName(agent))
	if err != nil {
		return nil, err
	}
	return &structuredModel{call: call, tools: tools}, nil
}

// bound gives a model its tools.
func bound(m model.ToolCallingChatModel, tools []*schema.ToolInfo) (withTools model.BaseChatModel, err error) {
	defer safe.Recover(&err)
	withTools, err = m.WithTools(tools)
	if err != nil {
		return nil, fmt.Errorf("WithTools of the model: %w", err)
	}
	if withTools == nil {
		return nil, errors.New("WithTools of the model returned neither a model nor an error")
	}
	return withTools, nil
}

// IsCallbacksEnabled keeps the agent from reporting the calls a second time.
func (*structuredModel) IsCallbacksEnabled() bool { return true }

// Generate returns the whole text.
func (m *structuredModel) Generate(
	ctx context.Context, input []*schema.Message, opts ...model.Option,
) (*schema.Message, error) {
	s, err := m.Stream(ctx, input, opts...)
	if err != nil {
		return nil, err
	}
	return schema.ConcatMessageStream(s)
}

// Stream returns the text in chunks.
func (m *structuredModel) Stream(
	ctx context.Context, input []*schema.Message, opts ...model.Option,
) (*schema.StreamReader[*schema.Message], error) {
	opts = withoutEmptyTools(opts)
	if m.tools != nil {
		opts = append(opts, model.WithTools(m.tools), model.WithToolChoice(schema.ToolChoiceForced))
	}
	s, err := m.call.Stream(ctx, input, compose.WithChatModelOption(opts...))
	if err != nil || m.tools == nil {
		return s, err
	}
	first := &firstCall{answer: answerOf(ctx)}
	return schema.StreamReaderWithConvert(s, first.arguments, schema.WithOnEOF(first.end)), nil
}

// withoutEmptyTools leaves out that the agent around has no tools: the model may have its own.
func withoutEmptyTools(opts []model.Option) []model.Option {
	var kept []model.Option
	for _, o := range opts {
		if tools := model.GetCommonOptions(nil, o).Tools; tools == nil || len(tools) > 0 {
			kept = append(kept, o)
		}
	}
	return kept
}

// answer holds what a run remembers of the model's answer in addition to its text.
type answer struct {
	// tool is the one that was called.
	tool string
}

type answerKey struct{}

func answerOf(ctx context.Context) *answer {
	if a, ok := ctx.Value(answerKey{}).(*answer); ok {
		return a
	}
	return new(answer)
}

// answering gives a run room for the answer.
type answering struct {
	*adk.BaseChatModelAgentMiddleware
}

// BeforeAgent implements [adk.ChatModelAgentMiddleware].
func (answering) BeforeAgent(
	ctx context.Context, run *adk.ChatModelAgentContext,
) (context.Context, *adk.ChatModelAgentContext, error) {
	return context.WithValue(ctx, answerKey{}, new(answer)), run, nil
}

// text is the final text of a run.
func text(state *adk.ChatModelAgentState) string {
	if n := len(state.Messages); n > 0 && state.Messages[n-1] != nil {
		return state.Messages[n-1].Content
	}
	return ""
}

// firstCall finds the first tool call in the chunks of an answer. Other calls do not count.
type firstCall struct {
	answer *answer
	found  bool
	// index is the index of the call in the stream, nil for one that comes whole.
	index *int
}

// arguments returns what a chunk adds to the arguments of the call.
func (c *firstCall) arguments(chunk *schema.Message) (*schema.Message, error) {
	if chunk == nil {
		return nil, schema.ErrNoValue
	}
	var delta string
	ours := false
	for _, call := range chunk.ToolCalls {
		if !c.isOurs(call) {
			continue
		}
		ours = true
		if c.answer.tool == "" {
			c.answer.tool = call.Function.Name
		}
		delta += call.Function.Arguments
	}
	if !ours {
		return nil, schema.ErrNoValue
	}
	return schema.AssistantMessage(delta, nil), nil
}

func (c *firstCall) isOurs(call schema.ToolCall) bool {
	if !c.found {
		c.found, c.index = true, call.Index
		return true
	}
	return c.index != nil && call.Index != nil && *call.Index == *c.index
}

func (c *firstCall) end() (any, error) {
	if !c.found {
		return nil, errNoToolCall
	}
	return nil, io.EOF
}

var errNoToolCall = errors.New("no tool call: the model must call a tool, and its answer has none")
