package adk

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// hooked is a middleware made of functions. A hook without one does what the base does.
type hooked[M MessageType] struct {
	*TypedBaseChatModelAgentMiddleware[M]
	beforeAgent func(ctx context.Context, rc *ChatModelAgentContext) (context.Context, *ChatModelAgentContext, error)
	beforeModel func(ctx context.Context, s *TypedChatModelAgentState[M],
		mc *TypedModelContext[M],
	) (context.Context, *TypedChatModelAgentState[M], error)
	afterModel func(ctx context.Context, s *TypedChatModelAgentState[M],
		mc *TypedModelContext[M],
	) (context.Context, *TypedChatModelAgentState[M], error)
	afterToolCalls func(ctx context.Context, s *TypedChatModelAgentState[M],
		tc *ToolCallsContext,
	) (context.Context, *TypedChatModelAgentState[M], error)
	finalAnswer func(ctx context.Context,
		s *TypedChatModelAgentState[M],
	) (context.Context, FinalAnswerDecision, *TypedChatModelAgentState[M], error)
	afterAgent func(ctx context.Context, s *TypedChatModelAgentState[M]) (context.Context, error)
	wrapModel  func(ctx context.Context, m model.BaseModel[M], mc *TypedModelContext[M]) (model.BaseModel[M], error)
	// around sees every tool call, whatever its form: it gets the arguments, and changes the text of the result by after.
	around func(ctx context.Context, tc *ToolContext, args string) (context.Context, string, error)
	after  func(text string) string
}

func (h *hooked[M]) BeforeAgent(
	ctx context.Context, rc *ChatModelAgentContext,
) (context.Context, *ChatModelAgentContext, error) {
	if h.beforeAgent == nil {
		return h.TypedBaseChatModelAgentMiddleware.BeforeAgent(ctx, rc)
	}
	return h.beforeAgent(ctx, rc)
}

func (h *hooked[M]) BeforeModelRewriteState(
	ctx context.Context, s *TypedChatModelAgentState[M], mc *TypedModelContext[M],
) (context.Context, *TypedChatModelAgentState[M], error) {
	if h.beforeModel == nil {
		return h.TypedBaseChatModelAgentMiddleware.BeforeModelRewriteState(ctx, s, mc)
	}
	return h.beforeModel(ctx, s, mc)
}

func (h *hooked[M]) AfterModelRewriteState(
	ctx context.Context, s *TypedChatModelAgentState[M], mc *TypedModelContext[M],
) (context.Context, *TypedChatModelAgentState[M], error) {
	if h.afterModel == nil {
		return h.TypedBaseChatModelAgentMiddleware.AfterModelRewriteState(ctx, s, mc)
	}
	return h.afterModel(ctx, s, mc)
}

func (h *hooked[M]) AfterToolCallsRewriteState(
	ctx context.Context, s *TypedChatModelAgentState[M], tc *ToolCallsContext,
) (context.Context, *TypedChatModelAgentState[M], error) {
	if h.afterToolCalls == nil {
		return h.TypedBaseChatModelAgentMiddleware.AfterToolCallsRewriteState(ctx, s, tc)
	}
	return h.afterToolCalls(ctx, s, tc)
}

func (h *hooked[M]) BeforeFinalAnswer(
	ctx context.Context, s *TypedChatModelAgentState[M],
) (context.Context, FinalAnswerDecision, *TypedChatModelAgentState[M], error) {
	if h.finalAnswer == nil {
		return h.TypedBaseChatModelAgentMiddleware.BeforeFinalAnswer(ctx, s)
	}
	return h.finalAnswer(ctx, s)
}

func (h *hooked[M]) AfterAgent(ctx context.Context, s *TypedChatModelAgentState[M]) (context.Context, error) {
	if h.afterAgent == nil {
		return h.TypedBaseChatModelAgentMiddleware.AfterAgent(ctx, s)
	}
	return h.afterAgent(ctx, s)
}

func (h *hooked[M]) WrapModel(
	ctx context.Context, m model.BaseModel[M], mc *TypedModelContext[M],
) (model.BaseModel[M], error) {
	if h.wrapModel == nil {
		return h.TypedBaseChatModelAgentMiddleware.WrapModel(ctx, m, mc)
	}
	return h.wrapModel(ctx, m, mc)
}

func (h *hooked[M]) enter(ctx context.Context, tc *ToolContext, args string) (context.Context, string, error) {
	if h.around == nil {
		return ctx, args, nil
	}
	return h.around(ctx, tc, args)
}

func (h *hooked[M]) leave(text string) string {
	if h.after == nil {
		return text
	}
	return h.after(text)
}

func (h *hooked[M]) leaveParts(r *schema.ToolResult) *schema.ToolResult {
	out := &schema.ToolResult{}
	for _, p := range r.Parts {
		p.Text = h.leave(p.Text)
		out.Parts = append(out.Parts, p)
	}
	return out
}

func (h *hooked[M]) WrapInvokableToolCall(
	_ context.Context, e InvokableToolCallEndpoint, tc *ToolContext,
) (InvokableToolCallEndpoint, error) {
	return func(ctx context.Context, args string, opts ...tool.Option) (string, error) {
		ctx, args, err := h.enter(ctx, tc, args)
		if err != nil {
			return "", err
		}
		text, err := e(ctx, args, opts...)
		return h.leave(text), err
	}, nil
}

func (h *hooked[M]) WrapStreamableToolCall(
	_ context.Context, e StreamableToolCallEndpoint, tc *ToolContext,
) (StreamableToolCallEndpoint, error) {
	return func(ctx context.Context, args string, opts ...tool.Option) (*schema.StreamReader[string], error) {
		ctx, args, err := h.enter(ctx, tc, args)
		if err != nil {
			return nil, err
		}
		s, err := e(ctx, args, opts...)
		if err != nil {
			return nil, err
		}
		return schema.StreamReaderWithConvert(s, func(c string) (string, error) { return h.leave(c), nil }), nil
	}, nil
}

func (h *hooked[M]) WrapEnhancedInvokableToolCall(
	_ context.Context, e EnhancedInvokableToolCallEndpoint, tc *ToolContext,
) (EnhancedInvokableToolCallEndpoint, error) {
	return func(ctx context.Context, arg *schema.ToolArgument, opts ...tool.Option) (*schema.ToolResult, error) {
		ctx, args, err := h.enter(ctx, tc, arg.Text)
		if err != nil {
			return nil, err
		}
		r, err := e(ctx, &schema.ToolArgument{Text: args}, opts...)
		if err != nil {
			return nil, err
		}
		return h.leaveParts(r), nil
	}, nil
}

func (h *hooked[M]) WrapEnhancedStreamableToolCall(
	_ context.Context, e EnhancedStreamableToolCallEndpoint, tc *ToolContext,
) (EnhancedStreamableToolCallEndpoint, error) {
	return func(ctx context.Context, arg *schema.ToolArgument,
		opts ...tool.Option,
	) (*schema.StreamReader[*schema.ToolResult], error) {
		ctx, args, err := h.enter(ctx, tc, arg.Text)
		if err != nil {
			return nil, err
		}
		s, err := e(ctx, &schema.ToolArgument{Text: args}, opts...)
		if err != nil {
			return nil, err
		}
		return schema.StreamReaderWithConvert(s,
			func(r *schema.ToolResult) (*schema.ToolResult, error) { return h.leaveParts(r), nil }), nil
	}, nil
}

// with adds middlewares to an agent.
func with[M MessageType](handlers ...TypedChatModelAgentMiddleware[M]) func(*TypedChatModelAgentConfig[M]) {
	return func(c *TypedChatModelAgentConfig[M]) { c.Handlers = append(c.Handlers, handlers...) }
}

// aroundModel makes a model wrapper that calls before and after around each call.
func aroundModel[M MessageType](
	before, after func(),
) func(context.Context, model.BaseModel[M], *TypedModelContext[M]) (model.BaseModel[M], error) {
	return func(_ context.Context, m model.BaseModel[M], _ *TypedModelContext[M]) (model.BaseModel[M], error) {
		return &modelFunc[M]{
			generate: func(ctx context.Context, h []M, opts ...model.Option) (M, error) {
				before()
				defer after()
				return m.Generate(ctx, h, opts...)
			},
			stream: func(ctx context.Context, h []M, opts ...model.Option) (*schema.StreamReader[M], error) {
				before()
				defer after()
				return m.Stream(ctx, h, opts...)
			},
		}, nil
	}
}

// diary is a list of what happened that many may write to.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) add(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *diary) all() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string(nil), d.lines...)
}

// endError is the error of a run's last event, the only event with one.
func endError[M MessageType](t testing.TB, all []observed[M]) error {
	t.Helper()
	require.NotEmpty(t, all)
	for _, o := range all[:len(all)-1] {
		require.NoError(t, o.Err, "only the last event may have an error")
	}
	require.Error(t, all[len(all)-1].Err)
	return all[len(all)-1].Err
}

// bare runs an agent without a runner.
func bare[M MessageType](ctx context.Context, a *TypedChatModelAgent[M], streaming bool,
	opts ...AgentRunOption,
) *AsyncIterator[*TypedAgentEvent[M]] {
	return a.Run(ctx, &TypedAgentInput[M]{Messages: []M{opsOf[M]().user("hi")}, EnableStreaming: streaming}, opts...)
}

// continueFrom resumes a run from its last event, an interrupt.
func continueFrom[M MessageType](
	ctx context.Context, t testing.TB, a *TypedChatModelAgent[M], all []observed[M], streaming bool,
	opts ...AgentRunOption,
) *AsyncIterator[*TypedAgentEvent[M]] {
	t.Helper()
	require.NotEmpty(t, all)
	last := all[len(all)-1]
	require.NoError(t, last.Err)
	require.NotNil(t, last.Action, "%v", linesOf(all))
	require.NotNil(t, last.Action.Interrupted)
	left := last.Action.Interrupted.Data.(*ChatModelAgentInterruptInfo)
	return a.Resume(ctx, &ResumeInfo{
		EnableStreaming: streaming, InterruptInfo: last.Action.Interrupted,
		WasInterrupted: true, InterruptState: left.Data, IsResumeTarget: true,
	}, opts...)
}

// asksFirst is a tool that interrupts its run once, and answers when it is resumed.
func asksFirst(name string, ran *diary) tool.BaseTool {
	return &toolFunc{named(name), func(ctx context.Context, args string) (string, error) {
		was, _, _ := tool.GetInterruptState[string](ctx)
		ran.add("%s#%s resumed=%v", name, compose.GetToolCallID(ctx), was)
		if !was {
			return "", tool.StatefulInterrupt(ctx, "may I?", "asked")
		}
		return "<" + args + ">", nil
	}}
}

// object is the arguments of a call that are complete.
const object = `{"q":1}`
