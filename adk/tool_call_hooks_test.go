package adk

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// fourKinds are tools of the four kinds that give their arguments back, in two pieces if they stream.
func fourKinds() []tool.BaseTool {
	result := func(text string) *schema.ToolResult {
		return &schema.ToolResult{Parts: []schema.ToolOutputPart{{Type: schema.ToolPartTypeText, Text: text}}}
	}
	return []tool.BaseTool{
		&toolFunc{"text", func(_ context.Context, args string) (string, error) { return args, nil }},
		&streamToolFunc{"stream", func(_ context.Context, args string) (*schema.StreamReader[string], error) {
			return schema.StreamReaderFromArray([]string{args[:1], args[1:]}), nil
		}},
		&enhancedToolFunc{"parts", func(_ context.Context, args *schema.ToolArgument) (*schema.ToolResult, error) {
			return result(args.Text), nil
		}},
		&enhancedStreamToolFunc{"partstream",
			func(_ context.Context, args *schema.ToolArgument) (*schema.StreamReader[*schema.ToolResult], error) {
				return schema.StreamReaderFromArray([]*schema.ToolResult{result(args.Text[:1]), result(args.Text[1:])}), nil
			}},
	}
}

// marks puts a mark around the arguments and the result of every call, and answers some itself.
func marks(mark string) ToolCallWrapper {
	return func(ctx context.Context, call *compose.ToolInput,
		next compose.ToolCallEndpoint,
	) (*compose.ToolCallOutput, error) {
		switch call.Arguments {
		case "refuse":
			return &compose.ToolCallOutput{Text: mark + ": refused " + call.Name + " " + call.CallID}, nil
		case "fail":
			return nil, errBroken
		case "nothing":
			return nil, nil
		}
		call.Arguments = mark + call.Arguments
		out, err := next(ctx, call)
		if err == nil {
			err = out.Join()
			out.MapText(func(text string) string { return text + mark })
		}
		return out, err
	}
}

// embedsHooks has other hooks, too.
type embedsHooks[M MessageType] struct {
	TypedToolCallHooks[M]
	ran bool
}

func (e *embedsHooks[M]) AfterAgent(ctx context.Context, _ *TypedChatModelAgentState[M]) (context.Context, error) {
	e.ran = true
	return ctx, nil
}

// overridesOne has its own hook for one kind of tool.
type overridesOne[M MessageType] struct{ TypedToolCallHooks[M] }

func (*overridesOne[M]) WrapInvokableToolCall(
	_ context.Context, e InvokableToolCallEndpoint, _ *ToolContext,
) (InvokableToolCallEndpoint, error) {
	return func(ctx context.Context, args string, opts ...tool.Option) (string, error) {
		text, err := e(ctx, args, opts...)
		return "own " + text, err
	}, nil
}

// delegates hands its hooks for tool calls on to another middleware, as users' middlewares do.
type delegates[M MessageType] struct {
	TypedBaseChatModelAgentMiddleware[M]
	to TypedChatModelAgentMiddleware[M]
}

func (d *delegates[M]) WrapInvokableToolCall(
	ctx context.Context, e InvokableToolCallEndpoint, tc *ToolContext,
) (InvokableToolCallEndpoint, error) {
	return d.to.WrapInvokableToolCall(ctx, e, tc)
}

func (d *delegates[M]) WrapStreamableToolCall(
	ctx context.Context, e StreamableToolCallEndpoint, tc *ToolContext,
) (StreamableToolCallEndpoint, error) {
	return d.to.WrapStreamableToolCall(ctx, e, tc)
}

func (d *delegates[M]) WrapEnhancedInvokableToolCall(
	ctx context.Context, e EnhancedInvokableToolCallEndpoint, tc *ToolContext,
) (EnhancedInvokableToolCallEndpoint, error) {
	return d.to.WrapEnhancedInvokableToolCall(ctx, e, tc)
}

func (d *delegates[M]) WrapEnhancedStreamableToolCall(
	ctx context.Context, e EnhancedStreamableToolCallEndpoint, tc *ToolContext,
) (EnhancedStreamableToolCallEndpoint, error) {
	return d.to.WrapEnhancedStreamableToolCall(ctx, e, tc)
}

// One function wraps the calls of every kind of tool, whether the runtime calls it directly or by the four hooks.
func TestToolCallHooks_OneFunctionForEveryKind(t *testing.T) {
	bubbled(t, testToolCallHooks[ordinary], testToolCallHooks[agentic])
}

func testToolCallHooks[M MessageType](t *testing.T, streaming bool) {
	hooks := func(mark string) *TypedToolCallHooks[M] { return &TypedToolCallHooks[M]{Wrap: marks(mark)} }
	embeds := &embedsHooks[M]{TypedToolCallHooks: *hooks("a")}
	for name, c := range map[string]struct {
		handlers []TypedChatModelAgentMiddleware[M]
		text     string // what comes of the arguments x of the first kind, and of the others
		others   string
		refusal  string
	}{
		"alone":     {[]TypedChatModelAgentMiddleware[M]{hooks("a")}, "axxa", "axxa", "a: refused %s c"},
		"two":       {[]TypedChatModelAgentMiddleware[M]{hooks("a"), hooks("b")}, "baxxba", "baxxba", "a: refused %s c"},
		"embedded":  {[]TypedChatModelAgentMiddleware[M]{embeds}, "axxa", "axxa", "a: refused %s c"},
		"one's own": {[]TypedChatModelAgentMiddleware[M]{&overridesOne[M]{*hooks("a")}}, "own xx", "axxa", ""},
		"delegated": {[]TypedChatModelAgentMiddleware[M]{&delegates[M]{to: hooks("a")}}, "axxa", "axxa", "a: refused %s c"},
		"among": {[]TypedChatModelAgentMiddleware[M]{&delegates[M]{to: hooks("a")}, hooks("b"),
			&delegates[M]{to: hooks("c")}}, "cbaxxcba", "cbaxxcba", "a: refused %s c"},
		"none": {[]TypedChatModelAgentMiddleware[M]{&TypedToolCallHooks[M]{}}, "xx", "xx", ""},
		"nil":  {[]TypedChatModelAgentMiddleware[M]{&delegates[M]{to: &TypedToolCallHooks[M]{}}}, "xx", "xx", ""},
	} {
		lines := func(events []observed[M]) (plain []string) { // lines without what distinguishes parts from texts
			for _, line := range linesOf(events)[1:] {
				plain = append(plain, strings.TrimSuffix(strings.Replace(line, "text(", "", 1), ")"))
			}
			return plain
		}
		call := func(name, args string) []observed[M] {
			m := says(dialectOf[M]().answer("", wanted{name, "c", args}), dialectOf[M]().answer("done"))
			return read(t, bare(t.Context(), setup(t, m, fourKinds(), with(c.handlers...)), streaming))
		}
		for i, kind := range []string{"text", "stream", "parts", "partstream"} {
			want := c.others
			if i == 0 {
				want = c.text
			}
			require.Equal(t, []string{"tool " + kind + "#c: " + want, "assistant: done"}, lines(call(kind, "xx")), "%s %s", name,
				kind)
			if c.refusal == "" {
				continue
			}
			require.Equal(t, "tool "+kind+"#c: "+fmt.Sprintf(c.refusal, kind), lines(call(kind, "refuse"))[0], name)
			require.ErrorIs(t, endError(t, call(kind, "fail")), errBroken, name)
			require.ErrorIs(t, endError(t, call(kind, "nothing")), errNoToolResult, name)
		}
	}
	require.True(t, embeds.ran)
}

// The events of results are sent from the place of the middleware that sends them, by whatever hooks are around it.
func TestToolCallHooks_AroundTheSender(t *testing.T) {
	sender := NewEventSenderToolWrapper()
	for _, h := range []ChatModelAgentMiddleware{WrapEveryToolCall(marks("a")),
		&delegates[Message]{to: WrapEveryToolCall(marks("a"))}} {
		m := says(chatAnswer("", wanted{"text", "c", "x"}), chatAnswer("done"))
		all := read(t, bare(t.Context(), setup(t, m, fourKinds(), with(h, sender)), false))
		require.Equal(t, "tool text#c: ax", linesOf(all)[1], "the event is sent inside")
		require.Contains(t, dialectOf[Message]().lines(m.histories[1]), "tool text#c: axa", "the result contains all")
	}
}

// Calls run at once, and each has its own name, ID and arguments.
func TestToolCallHooks_ConcurrentCalls(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]bool{}
	note := WrapEveryToolCall(func(
		ctx context.Context, call *compose.ToolInput, next compose.ToolCallEndpoint,
	) (*compose.ToolCallOutput, error) {
		mu.Lock()
		seen[strings.Join([]string{call.Name, call.CallID, call.Arguments}, " ")] = true
		mu.Unlock()
		return next(ctx, call)
	})
	m := says(chatAnswer("", wanted{"text", "1", "aa"}, wanted{"text", "2", "bb"}, wanted{"parts", "3", "cc"}),
		chatAnswer("done"))
	read(t, bare(t.Context(), setup(t, m, fourKinds(), with(note)), false))
	require.Equal(t, map[string]bool{"text 1 aa": true, "text 2 bb": true, "parts 3 cc": true}, seen)
}
