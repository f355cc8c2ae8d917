package compose

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// The four kinds of tool, as functions.

type toolBase string

func (n toolBase) Info(context.Context) (*schema.ToolInfo, error) {
	return &schema.ToolInfo{Name: string(n), ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{
		"city": {Type: schema.String}, "days": {Type: schema.Integer},
	})}, nil
}

type invokable struct {
	toolBase
	run func(ctx context.Context, args string, opts ...tool.Option) (string, error)
}

func (t *invokable) InvokableRun(ctx context.Context, args string, opts ...tool.Option) (string, error) {
	return t.run(ctx, args, opts...)
}

type streamable struct {
	toolBase
	run func(ctx context.Context, args string) (*schema.StreamReader[string], error)
}

func (t *streamable) StreamableRun(
	ctx context.Context, args string, _ ...tool.Option,
) (*schema.StreamReader[string], error) {
	return t.run(ctx, args)
}

type enhanced struct {
	toolBase
	run func(ctx context.Context, args string) (*schema.ToolResult, error)
}

func (t *enhanced) InvokableRun(
	ctx context.Context, args *schema.ToolArgument, _ ...tool.Option,
) (*schema.ToolResult, error) {
	return t.run(ctx, args.Text)
}

type enhancedStream struct {
	toolBase
	run func(ctx context.Context, args string) (*schema.StreamReader[*schema.ToolResult], error)
}

func (t *enhancedStream) StreamableRun(
	ctx context.Context, args *schema.ToolArgument, _ ...tool.Option,
) (*schema.StreamReader[*schema.ToolResult], error) {
	return t.run(ctx, args.Text)
}

func textResult(text string) *schema.ToolResult {
	return &schema.ToolResult{Parts: []schema.ToolOutputPart{{Type: schema.ToolPartTypeText, Text: text}}}
}

// echo gives back its name and arguments.
func echo(name string) *invokable {
	return &invokable{toolBase(name),
		func(_ context.Context, args string, _ ...tool.Option) (string, error) { return name + args, nil }}
}

func allKinds() []tool.BaseTool {
	return []tool.BaseTool{
		echo("inv"),
		&streamable{"str", func(_ context.Context, args string) (*schema.StreamReader[string], error) {
			return schema.StreamReaderFromArray([]string{"str", args}), nil
		}},
		&enhanced{"enh",
			func(_ context.Context, args string) (*schema.ToolResult, error) { return textResult("enh" + args), nil }},
		&enhancedStream{"est", func(_ context.Context, args string) (*schema.StreamReader[*schema.ToolResult], error) {
			return schema.StreamReaderFromArray([]*schema.ToolResult{textResult("est"), textResult(args)}), nil
		}},
	}
}

// calls is an assistant message that calls tools by name, with the arguments after a colon. IDs are c0, c1, ….
func calls(names ...string) *schema.Message {
	m := schema.AssistantMessage("", nil)
	for i, n := range names {
		name, args, _ := strings.Cut(n, ":")
		m.ToolCalls = append(m.ToolCalls,
			schema.ToolCall{ID: fmt.Sprintf("c%d", i), Function: schema.FunctionCall{Name: name, Arguments: args}})
	}
	return m
}

func toolsNode(t *testing.T, conf ToolsNodeConfig) *ToolsNode {
	t.Helper()
	tn, err := NewToolNode(context.Background(), &conf)
	require.NoError(t, err)
	return tn
}

// runTools runs a message both ways, requires the same of both, and returns the messages.
func runTools(t *testing.T, tn *ToolsNode, in *schema.Message, opts ...ToolsNodeOption) []*schema.Message {
	t.Helper()
	out, err := tn.Invoke(context.Background(), in, opts...)
	require.NoError(t, err)
	s, err := tn.Stream(context.Background(), in, opts...)
	require.NoError(t, err)
	streamed, err := concatStream(s)
	require.NoError(t, err)
	require.Equal(t, out, streamed, "Invoke and Stream differ")
	return out
}

func runToolsErr(t *testing.T, tn *ToolsNode, in *schema.Message,
	opts ...ToolsNodeOption,
) (invokeErr, streamErr error) {
	t.Helper()
	_, invokeErr = tn.Invoke(context.Background(), in, opts...)
	require.Error(t, invokeErr)
	s, streamErr := tn.Stream(context.Background(), in, opts...)
	if streamErr == nil {
		_, streamErr = concatStream(s)
	}
	require.Error(t, streamErr)
	return invokeErr, streamErr
}

func textOf(m *schema.Message) string {
	var sb strings.Builder
	sb.WriteString(m.Content)
	for _, p := range m.UserInputMultiContent {
		sb.WriteString(p.Text)
	}
	return sb.String()
}

// Rules compose/L-2, compose/L-4.
func TestToolsNode_RunsEveryKindOfToolBothWays(t *testing.T) {
	for _, sequential := range []bool{false, true} {
		tn := toolsNode(t, ToolsNodeConfig{Tools: allKinds(), ExecuteSequentially: sequential})
		out := runTools(t, tn, calls("inv:1", "str:2", "enh:3", "est:4"))
		for i, want := range []string{"inv1", "str2", "enh3", "est4"} {
			require.Equal(t, want, textOf(out[i]))
			require.Equal(t, schema.Tool, out[i].Role)
			require.Equal(t, fmt.Sprintf("c%d", i), out[i].ToolCallID)
			require.Equal(t, want[:3], out[i].ToolName)
		}
	}
}

// Rules compose/L-3, schema/X4.
func TestToolsNode_EachChunkFillsOnePlace(t *testing.T) {
	tn := toolsNode(t, ToolsNodeConfig{Tools: allKinds()})
	s, err := tn.Stream(context.Background(), calls("str:x", "inv:y"))
	require.NoError(t, err)
	chunksOf := map[int]int{}
	for _, chunk := range readAll(t, s) {
		require.Len(t, chunk, 2)
		set := 0
		for i, m := range chunk {
			if m != nil {
				set++
				chunksOf[i]++
				require.Equal(t, schema.Tool, m.Role)
				require.NotEmpty(t, m.ToolCallID)
				require.NotEmpty(t, m.ToolName)
			}
		}
		require.Equal(t, 1, set)
	}
	require.Equal(t, map[int]int{0: 2, 1: 1}, chunksOf)
}

// A tool that streams may have nothing to say: that is an empty result, as of one that does not stream.
// Rule compose/L-4.
func TestToolsNode_TakesEmptyStreams(t *testing.T) {
	tools := []tool.BaseTool{
		&streamable{"str", func(context.Context, string) (*schema.StreamReader[string], error) {
			return schema.StreamReaderFromArray[string](nil), nil
		}},
		&enhancedStream{"est", func(context.Context, string) (*schema.StreamReader[*schema.ToolResult], error) {
			return schema.StreamReaderFromArray[*schema.ToolResult](nil), nil
		}},
		&streamable{"broken", func(context.Context, string) (*schema.StreamReader[string], error) {
			sr, sw := schema.Pipe[string](1)
			sw.Send("", errBoom)
			sw.Close()
			return sr, nil
		}},
		&invokable{"ask", func(ctx context.Context, _ string, _ ...tool.Option) (string, error) {
			return "", tool.Interrupt(ctx, "q")
		}},
	}
	tn := toolsNode(t, ToolsNodeConfig{Tools: tools})
	out := runTools(t, tn, calls("str", "est"))
	byStream := toolsNode(t, ToolsNodeConfig{Tools: tools})
	InternalSetToolsByStream(byStream, func(context.Context) bool { return true })
	require.Equal(t, out, runTools(t, byStream, calls("str", "est")))
	for i, name := range []string{"str", "est"} {
		require.Equal(t, schema.Tool, out[i].Role)
		require.Equal(t, fmt.Sprintf("c%d", i), out[i].ToolCallID)
		require.Equal(t, name, out[i].ToolName)
		require.Empty(t, textOf(out[i]))
	}
	// An error is not nothing.
	s, err := tn.Stream(context.Background(), calls("broken"))
	require.NoError(t, err)
	_, err = s.Recv()
	require.ErrorIs(t, err, errBoom)
	_, err = s.Recv()
	require.Equal(t, io.EOF, err)
	// Beside an interrupt it is a result that is kept.
	_, err = tn.Stream(context.Background(), calls("str", "ask", "est"))
	info, ok := IsInterruptRerunError(err)
	require.True(t, ok, "%v", err)
	require.Equal(t, map[string]string{"c0": ""}, info.(*ToolsInterruptAndRerunExtra).ExecutedTools)
	require.Equal(t, map[string]*schema.ToolResult{"c2": {}}, info.(*ToolsInterruptAndRerunExtra).ExecutedEnhancedTools)
}

// Rules compose/L-1, compose/L-9.
func TestToolsNode_RefusesBadInput(t *testing.T) {
	ran := false
	tn := toolsNode(t,
		ToolsNodeConfig{Tools: []tool.BaseTool{&invokable{"inv",
			func(context.Context, string, ...tool.Option) (string, error) {
				ran = true
				return "", nil
			}}}})
	for want, in := range map[string]*schema.Message{
		"expected message role is Assistant, got user": schema.UserMessage("x"),
		"no tool call found in input message":          schema.AssistantMessage("x", nil),
		"tool nope not found in toolsNode indexes":     calls("inv", "nope"),
		"the input message is nil":                     nil,
	} {
		a, b := runToolsErr(t, tn, in)
		require.ErrorContains(t, a, want)
		require.ErrorContains(t, b, want)
	}
	require.False(t, ran, "a tool ran although another call of the message could not")
	_, err := (&ToolsNode{}).Invoke(context.Background(), calls("x"))
	require.Error(t, err)
	_, err = NewToolNode(context.Background(), &ToolsNodeConfig{Tools: []tool.BaseTool{nil}})
	require.ErrorContains(t, err, "(NewToolNode) failed to get tool info at idx= 0: ")
	_, err = NewToolNode(context.Background(), &ToolsNodeConfig{Tools: []tool.BaseTool{toolBase("bare")}})
	require.EqualError(t, err, "tool bare is not invokable, streamable, enhanced invokable or enhanced streamable")
}

// Rule compose/L-9.
func TestToolsNode_HandlesUnknownTools(t *testing.T) {
	tn := toolsNode(t, ToolsNodeConfig{UnknownToolsHandler: func(ctx context.Context, name, input string) (string, error) {
		return fmt.Sprint("no ", name, input, GetToolCallID(ctx)), nil
	}})
	require.Equal(t, "no ghost1c0", runTools(t, tn, calls("ghost:1"))[0].Content)
}

// Rule compose/L-6.
func TestToolsNode_ACallHasItsOwnContext(t *testing.T) {
	var mu sync.Mutex
	var infos []callbacks.RunInfo
	handler := callbacks.NewHandlerBuilder().OnStartFn(func(
		ctx context.Context, info *callbacks.RunInfo, in callbacks.CallbackInput,
	) context.Context {
		mu.Lock()
		defer mu.Unlock()
		if info.Component == components.ComponentOfTool {
			infos = append(infos, *info)
			if text, ok := in.(string); !ok || text != "1" {
				t.Errorf("payload %v", in)
			}
		}
		return ctx
	}).Build()
	conf := ToolsNodeConfig{
		Tools: []tool.BaseTool{&invokable{"inv", func(ctx context.Context, args string, _ ...tool.Option) (string, error) {
			return GetToolCallID(ctx) + " " + GetCurrentAddress(ctx).String(), nil
		}}},
		ToolAliases: map[string]ToolAliasConfig{"inv": {NameAliases: []string{"alias"}}},
	}
	g := NewGraph[*schema.Message, []*schema.Message]()
	require.NoError(t, g.AddToolsNode("tools", toolsNode(t, conf)))
	line(t, g, "tools")
	out, err := compiled[*schema.Message, []*schema.Message](t, g, WithGraphName("g")).Invoke(context.Background(),
		calls("alias:1"), WithCallbacks(handler))
	require.NoError(t, err)
	require.Equal(t, "c0 runnable:g;node:tools;tool:alias:c0", out[0].Content)
	require.Equal(t, "alias", out[0].ToolName)
	require.Equal(t, []callbacks.RunInfo{{Name: "alias", Type: "invokable", Component: components.ComponentOfTool}}, infos)
}

// Rule compose/L-7.
func TestToolsNode_RunsCallsInParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &invokable{"slow", func(context.Context, string, ...tool.Option) (string, error) {
			time.Sleep(time.Second)
			return "", nil
		}}
		for want, conf := range map[time.Duration]ToolsNodeConfig{
			1 * time.Second: {},
			2 * time.Second: {MaxParallelCalls: 2},
			4 * time.Second: {ExecuteSequentially: true},
		} {
			conf.Tools = []tool.BaseTool{slow}
			start := time.Now()
			_, err := toolsNode(t, conf).Invoke(context.Background(), calls("slow", "slow", "slow", "slow"))
			require.NoError(t, err)
			require.Equal(t, want, time.Since(start))
		}
	})
}

// Rule compose/L-8.
func TestToolsNode_ReturnsTheFirstFailureByIndex(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failing := &invokable{"bad", func(_ context.Context, args string, _ ...tool.Option) (string, error) {
			if args == "late" {
				time.Sleep(time.Second)
			}
			return "", errors.New(args)
		}}
		asking := &invokable{"ask", func(ctx context.Context, _ string, _ ...tool.Option) (string, error) {
			return "", tool.Interrupt(ctx, "q")
		}}
		a, b := runToolsErr(t, toolsNode(t, ToolsNodeConfig{Tools: []tool.BaseTool{failing, asking}}),
			calls("ask", "bad:late", "bad:early"))
		require.EqualError(t, a, "failed to invoke tool[name:bad id:c1]: late")
		require.EqualError(t, b, "failed to stream tool call c1: late")
	})
}

// Rule compose/B22.24.
func TestToolsNode_PanicsInAnyCallAreErrors(t *testing.T) {
	panicking := &invokable{"p", func(context.Context, string, ...tool.Option) (string, error) { panic(errBoom) }}
	for _, sequential := range []bool{false, true} {
		tn := toolsNode(t, ToolsNodeConfig{Tools: []tool.BaseTool{panicking, echo("ok")}, ExecuteSequentially: sequential})
		for _, in := range []*schema.Message{calls("p"), calls("p", "ok"), calls("ok", "p")} {
			a, b := runToolsErr(t, tn, in)
			require.ErrorIs(t, a, errBoom)
			require.ErrorIs(t, b, errBoom)
		}
	}
	for name, conf := range map[string]ToolsNodeConfig{
		"middleware": {Tools: []tool.BaseTool{echo("ok")},
			ToolCallMiddlewares: []ToolMiddleware{{Invokable: func(InvokableToolEndpoint) InvokableToolEndpoint {
				return func(context.Context, *ToolInput) (*ToolOutput, error) { panic(errBoom) }
			}}}},
		"arguments handler": {Tools: []tool.BaseTool{echo("ok")},
			ToolArgumentsHandler: func(context.Context, string, string) (string, error) { panic(errBoom) }},
		"unknown handler": {UnknownToolsHandler: func(context.Context, string, string) (string, error) { panic(errBoom) }},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := runToolsErr(t, toolsNode(t, conf), calls("ok"))
			require.ErrorIs(t, a, errBoom)
			require.ErrorIs(t, b, errBoom)
		})
	}
}

// Rule compose/B22.24.
func TestToolsNode_SequentialStopsAtAFailure(t *testing.T) {
	var ran []string
	tl := &invokable{"t", func(_ context.Context, args string, _ ...tool.Option) (string, error) {
		ran = append(ran, args)
		if args == "bad" {
			return "", errBoom
		}
		return "", nil
	}}
	_, err := toolsNode(t, ToolsNodeConfig{Tools: []tool.BaseTool{tl},
		ExecuteSequentially: true}).Invoke(context.Background(), calls("t:1", "t:bad", "t:3"))
	require.ErrorIs(t, err, errBoom)
	require.Equal(t, []string{"1", "bad"}, ran)
}

// Rule compose/B22.22.
func TestToolsNode_StreamsOfOtherCallsAreClosedOnFailure(t *testing.T) {
	var closed <-chan struct{}
	tools := []tool.BaseTool{
		&streamable{"str", func(context.Context, string) (*schema.StreamReader[string], error) {
			s, c := tracked("1", "2", "3")
			closed = c
			return s, nil
		}},
		&invokable{"bad", func(context.Context, string, ...tool.Option) (string, error) { return "", errBoom }},
	}
	_, err := toolsNode(t, ToolsNodeConfig{Tools: tools}).Stream(context.Background(), calls("str", "bad"))
	require.ErrorIs(t, err, errBoom)
	<-closed
}

// Rule compose/L-5.
func TestToolsNode_MiddlewaresWrapTheCall(t *testing.T) {
	var mu sync.Mutex
	var trace []string
	mark := func(name string) ToolMiddleware {
		note := func(in *ToolInput, kind string) {
			mu.Lock()
			defer mu.Unlock()
			trace = append(trace, name+kind+in.Name)
		}
		return ToolMiddleware{
			Invokable: func(next InvokableToolEndpoint) InvokableToolEndpoint {
				return func(ctx context.Context, in *ToolInput) (*ToolOutput, error) {
					note(in, "i")
					in.Arguments += name
					return next(ctx, in)
				}
			},
			Streamable: func(next StreamableToolEndpoint) StreamableToolEndpoint {
				return func(ctx context.Context, in *ToolInput) (*StreamToolOutput, error) {
					note(in, "s")
					return next(ctx, in)
				}
			},
			EnhancedInvokable: func(next EnhancedInvokableToolEndpoint) EnhancedInvokableToolEndpoint {
				return func(ctx context.Context, in *ToolInput) (*EnhancedInvokableToolOutput, error) {
					note(in, "e")
					return next(ctx, in)
				}
			},
			EnhancedStreamable: func(next EnhancedStreamableToolEndpoint) EnhancedStreamableToolEndpoint {
				return func(ctx context.Context, in *ToolInput) (*EnhancedStreamableToolOutput, error) {
					note(in, "E")
					return next(ctx, in)
				}
			},
		}
	}
	conf := ToolsNodeConfig{Tools: allKinds(), ToolCallMiddlewares: []ToolMiddleware{mark("1"), {}, mark("2")},
		ExecuteSequentially: true}
	tn := toolsNode(t, conf)
	conf.ToolCallMiddlewares[0] = ToolMiddleware{} // the node has its own copy
	out, err := tn.Invoke(context.Background(), calls("inv:x", "str:x", "enh:x", "est:x"))
	require.NoError(t, err)
	require.Equal(t, "invx12", out[0].Content, "the first middleware is outermost")
	want := []string{"1iinv", "2iinv", "1sstr", "2sstr", "1eenh", "2eenh", "1Eest", "2Eest"}
	require.Equal(t, want, trace)
	trace = nil
	s, err := tn.Stream(context.Background(), calls("inv:x", "str:x", "enh:x", "est:x"))
	require.NoError(t, err)
	s.Close()
	require.Equal(t, want, trace, "streaming goes through the kinds that the tools are")
}

// gateOf lets calls through that were answered, and asks for an answer otherwise. It keeps a state.
func gateOf(name string) ToolMiddleware {
	return ToolMiddleware{Name: name, Invokable: func(next InvokableToolEndpoint) InvokableToolEndpoint {
		return func(ctx context.Context, in *ToolInput) (*ToolOutput, error) {
			was, _, state := GetInterruptState[string](ctx)
			resumed, _, answer := GetResumeContext[string](ctx)
			switch {
			case !resumed:
				return nil, StatefulInterrupt(ctx, "may "+in.Name+" run?", name+"'s state")
			case was && (state != name+"'s state" || answer != "yes, "+name):
				return nil, fmt.Errorf("the state is %q, the answer %q", state, answer)
			}
			return next(context.WithValue(ctx, gateKey{}, name), in)
		}
	}}
}

type gateKey struct{}

// A middleware with a name asks for interrupts at an address of its own, and the tool at the address of the call: each
// finds its own state and answer, and sees that a resume is for what is inside it.
func TestToolsNode_NamedMiddlewaresHaveAnAddress(t *testing.T) {
	asking := &invokable{"ask", func(ctx context.Context, args string, _ ...tool.Option) (string, error) {
		if _, ok, state := GetInterruptState[string](ctx); !ok || state != "the tool's state" {
			return "", StatefulInterrupt(ctx, "why?", "the tool's state")
		}
		_, _, answer := GetResumeContext[string](ctx)
		return fmt.Sprint(ctx.Value(gateKey{}), ": ", answer), nil
	}}
	unnamed := ToolMiddleware{Invokable: func(next InvokableToolEndpoint) InvokableToolEndpoint {
		return func(ctx context.Context, in *ToolInput) (*ToolOutput, error) {
			if at := GetCurrentAddress(ctx).String(); at != "runnable:;node:tools;tool:ask:c0" {
				return nil, errors.New("unnamed middleware at " + at)
			}
			return next(ctx, in)
		}
	}}
	tn := toolsNode(t, ToolsNodeConfig{Tools: []tool.BaseTool{asking},
		ToolCallMiddlewares: []ToolMiddleware{gateOf("outer"), unnamed, gateOf("inner")}})
	g := NewGraph[*schema.Message, []*schema.Message]()
	require.NoError(t, g.AddToolsNode("tools", tn))
	line(t, g, "tools")
	r := compiled[*schema.Message, []*schema.Message](t, g, WithCheckPointStore(newStore()))
	ctx := context.Background()
	for _, step := range []struct{ at, answer string }{
		{";middleware:outer", "yes, outer"}, {";middleware:inner", "yes, inner"}, {"", "because"},
	} {
		_, err := r.Invoke(ctx, calls("ask"), WithCheckPointID("id"))
		points := interrupted(t, err).InterruptContexts
		require.Len(t, points, 1)
		require.Equal(t, "runnable:;node:tools;tool:ask:c0"+step.at, points[0].Address.String())
		ctx = ResumeWithData(context.Background(), points[0].ID, step.answer)
	}
	out, err := r.Invoke(ctx, calls("ask"), WithCheckPointID("id"))
	require.NoError(t, err)
	require.Equal(t, "inner: because", out[0].Content)
}

// What a middleware with a name panics with says so; the panics of what is inside it do not.
func TestToolsNode_NamedMiddlewaresAreBlamed(t *testing.T) {
	panics := func(name string) ToolMiddleware {
		return ToolMiddleware{Name: name, Invokable: func(InvokableToolEndpoint) InvokableToolEndpoint {
			return func(context.Context, *ToolInput) (*ToolOutput, error) { panic("oops") }
		}}
	}
	passes := ToolMiddleware{Name: "passes", Invokable: func(next InvokableToolEndpoint) InvokableToolEndpoint {
		return func(ctx context.Context, in *ToolInput) (*ToolOutput, error) { return next(ctx, in) }
	}}
	for name, want := range map[string]string{
		"guilty": "failed to invoke tool[name:t id:c0]: tool middleware 'guilty': panic error: oops",
		"":       "failed to invoke tool[name:t id:c0]: panic error: oops",
	} {
		tn := toolsNode(t, ToolsNodeConfig{Tools: []tool.BaseTool{echo("t")},
			ToolCallMiddlewares: []ToolMiddleware{passes, panics(name)}})
		_, err := tn.Invoke(context.Background(), calls("t"))
		require.EqualError(t, err, want)
	}
}

// Rules compose/L-10, compose/L-11.
func TestToolsNode_RenamesThenHandlesArguments(t *testing.T) {
	conf := ToolsNodeConfig{
		Tools: []tool.BaseTool{echo("w")},
		ToolAliases: map[string]ToolAliasConfig{"w": {NameAliases: []string{"weather"},
			ArgumentsAliases: map[string][]string{"city": {"town", "place"}}}, "absent": {NameAliases: []string{"w"}}},
	}
	for in, want := range map[string]string{
		`{"town":"Oslo","days":3}`:         `{"city":"Oslo","days":3}`,
		`{"town":"Oslo","city":"Bergen"}`:  `{"town":"Oslo","city":"Bergen"}`,
		`{"town":"Oslo","place":"Bergen"}`: `{"city":"Oslo","place":"Bergen"}`,
		`{ "city" : "Oslo" }`:              `{ "city" : "Oslo" }`,
		`{"in":{"town":1}}`:                `{"in":{"town":1}}`,
		`["town"]`:                         `["town"]`,
		`{"town":`:                         `{"town":`,
		``:                                 ``,
		`{"town":1} x`:                     `{"town":1} x`,
	} {
		require.Equal(t, "w"+want, runTools(t, toolsNode(t, conf), calls("weather:"+in))[0].Content, in)
	}
	conf.ToolArgumentsHandler = func(_ context.Context, name, args string) (string, error) {
		if args == "bad" {
			return "", errBoom
		}
		return name + args, nil
	}
	require.Equal(t, `ww{"city":1}`, runTools(t, toolsNode(t, conf), calls(`weather:{"town":1}`))[0].Content)
	err, _ := runToolsErr(t, toolsNode(t, conf), calls("w:bad"))
	require.EqualError(t, err, "failed to executed tool[name:w arguments:bad] arguments handler: boom")
}

// Rule compose/L-12.
func TestToolsNode_RefusesConflictingAliases(t *testing.T) {
	for want, aliases := range map[string]map[string]ToolAliasConfig{
		"tool 'a' has empty name alias":                                                                            {"a": {NameAliases: []string{""}}},
		"tool 'a': name alias 'b' conflicts with existing tool's canonical name":                                   {"a": {NameAliases: []string{"b"}}},
		"tool 'b': name alias 'x' conflicts with an alias already registered for tool 'a'":                         {"a": {NameAliases: []string{"x"}}, "b": {NameAliases: []string{"x"}}},
		"tool 'a' has empty canonical argument key":                                                                {"a": {ArgumentsAliases: map[string][]string{"": {"x"}}}},
		"tool 'a' has unsupported '.' in canonical argument key 'x.y': nested field matching is not yet supported": {"a": {ArgumentsAliases: map[string][]string{"x.y": {"z"}}}},
		"tool 'a' has empty argument alias for canonical key 'city'":                                               {"a": {ArgumentsAliases: map[string][]string{"city": {""}}}},
		"tool 'a' has arg alias 'days' that conflicts with existing schema property 'days'":                        {"a": {ArgumentsAliases: map[string][]string{"city": {"days"}}}},
		"tool 'a' has conflicting arg alias 'x' mapped to both 'city' and 'days'":                                  {"a": {ArgumentsAliases: map[string][]string{"city": {"x"}, "days": {"x"}}}},
	} {
		_, err := NewToolNode(context.Background(),
			&ToolsNodeConfig{Tools: []tool.BaseTool{echo("a"), echo("b")}, ToolAliases: aliases})
		require.EqualError(t, err, want)
	}
	_, err := NewToolNode(context.Background(),
		&ToolsNodeConfig{Tools: []tool.BaseTool{echo("a")},
			ToolAliases: map[string]ToolAliasConfig{"a": {NameAliases: []string{"a"}}}})
	require.NoError(t, err, "a tool's own name as alias is fine")
}

type countedTool struct {
	*invokable
	infos atomic.Int32
}

func (c *countedTool) Info(ctx context.Context) (*schema.ToolInfo, error) {
	c.infos.Add(1)
	return c.invokable.Info(ctx)
}

// toolOfAnything is of a type that can be compared, while its values may not.
type toolOfAnything struct {
	*invokable
	of any
}

// Rules compose/L-13, compose/B22.32.
func TestToolsNode_CallOptionsReplaceToolsAndAliases(t *testing.T) {
	other := &countedTool{invokable: echo("other")}
	type toolOptions struct{ suffix string }
	withSuffix := tool.WrapImplSpecificOptFn(func(o *toolOptions) { o.suffix = "!" })
	tn := toolsNode(t, ToolsNodeConfig{
		Tools: []tool.BaseTool{&invokable{"a", func(_ context.Context, args string, opts ...tool.Option) (string, error) {
			return args + tool.GetImplSpecificOptions(&toolOptions{}, opts...).suffix + fmt.Sprint(len(opts)), nil
		}}},
		ToolAliases: map[string]ToolAliasConfig{"a": {NameAliases: []string{"A"}}, "other": {NameAliases: []string{"O"}}},
	})
	require.Equal(t, "x!2", runTools(t, tn, calls("a:x"), WithToolOption(withSuffix),
		WithToolOption(tool.Option{}))[0].Content)

	list := WithToolList(other)
	require.Equal(t, "otherx", runTools(t, tn, calls("O:x"), list)[0].Content, "the node's aliases apply to the list")
	runTools(t, tn, calls("other:x"), list)
	require.EqualValues(t, 1, other.infos.Load(), "the same list is bound once")
	_, err := runToolsErr(t, tn, calls("a"), list)
	require.ErrorContains(t, err, "tool a not found")

	aliases := WithToolAliases(map[string]ToolAliasConfig{"a": {NameAliases: []string{"B"}}})
	require.Equal(t, "x0", runTools(t, tn, calls("B:x"), aliases)[0].Content)
	_, err = runToolsErr(t, tn, calls("A:x"), aliases)
	require.ErrorContains(t, err, "tool A not found", "the given aliases take the place of all others")
	require.Equal(t, "x0", runTools(t, tn, calls("A:x"), WithToolList())[0].Content)

	given := map[string]ToolAliasConfig{"a": {NameAliases: []string{"C"}}}
	runTools(t, tn, calls("C:x"), WithToolAliases(given))
	given["a"].NameAliases[0] = "D"
	require.Equal(t, "x0", runTools(t, tn, calls("D:x"), WithToolAliases(given))[0].Content, "they were changed meanwhile")
	_, err = runToolsErr(t, tn, calls("C:x"), WithToolAliases(given))
	require.ErrorContains(t, err, "tool C not found")

	byValue := WithToolList(toolOfAnything{invokable: echo("v"), of: []string{"cannot be compared"}})
	for range 2 {
		require.Equal(t, "vx", runTools(t, tn, calls("v:x"), byValue)[0].Content)
	}

	_, err = runToolsErr(t, tn, calls("a"), WithToolList(toolBase("bare")))
	require.ErrorContains(t, err, "failed to convert tool list from call option: tool bare is not")
}

// Rule compose/L-16.
func TestToolsNode_TheLastOfANameWins(t *testing.T) {
	second := &invokable{"a", func(context.Context, string, ...tool.Option) (string, error) { return "second", nil }}
	require.Equal(t, "second", runTools(t, toolsNode(t, ToolsNodeConfig{Tools: []tool.BaseTool{echo("a"), second}}),
		calls("a"))[0].Content)
}

// Calls that asked for an interrupt run again, with their state and data; the others do not.
// Rules compose/L-14, compose/L-15.
func TestToolsNode_ResumesOnlyTheOpenCalls(t *testing.T) {
	for _, sequential := range []bool{false, true} {
		for _, streaming := range []bool{false, true} {
			t.Run(fmt.Sprintf("sequential=%v/streaming=%v", sequential, streaming), func(t *testing.T) {
				var ran sync.Map
				count := func(name string) {
					n, _ := ran.LoadOrStore(name, new(atomic.Int32))
					n.(*atomic.Int32).Add(1)
				}
				tools := []tool.BaseTool{
					&invokable{"ask", func(ctx context.Context, args string, _ ...tool.Option) (string, error) {
						count("ask" + args)
						if _, has, data := tool.GetResumeContext[string](ctx); has {
							_, _, saved := tool.GetInterruptState[string](ctx)
							return saved + data, nil
						}
						return "", tool.StatefulInterrupt(ctx, "q"+args, args)
					}},
					&streamable{"str", func(_ context.Context, args string) (*schema.StreamReader[string], error) {
						count("str")
						return schema.StreamReaderFromArray([]string{"s", args}), nil
					}},
					&enhanced{"enh", func(_ context.Context, args string) (*schema.ToolResult, error) {
						count("enh")
						return textResult("e" + args), nil
					}},
				}
				g := NewGraph[*schema.Message, []*schema.Message]()
				require.NoError(t, g.AddToolsNode("tools",
					toolsNode(t, ToolsNodeConfig{Tools: tools, ExecuteSequentially: sequential})))
				line(t, g, "tools")
				r := compiled[*schema.Message, []*schema.Message](t, g, WithCheckPointStore(newStore()))
				run := func(ctx context.Context) ([]*schema.Message, error) {
					if !streaming {
						return r.Invoke(ctx, calls("ask:1", "str:2", "ask:3", "enh:4"), WithCheckPointID("id"))
					}
					s, err := r.Stream(ctx, calls("ask:1", "str:2", "ask:3", "enh:4"), WithCheckPointID("id"))
					if err != nil {
						return nil, err
					}
					return concatStream(s)
				}
				_, err := run(context.Background())
				info := interrupted(t, err)
				require.Len(t, info.InterruptContexts, 2)
				require.Equal(t, "runnable:;node:tools;tool:ask:c0", info.InterruptContexts[0].Address.String())
				extra := info.RerunNodesExtra["tools"].(*ToolsInterruptAndRerunExtra)
				require.Equal(t, []string{"c0", "c2"}, extra.RerunTools)
				require.Equal(t, map[string]any{"c0": "q1", "c2": "q3"}, extra.RerunExtraMap)
				require.Equal(t, map[string]string{"c1": "s2"}, extra.ExecutedTools)
				require.Contains(t, extra.ExecutedEnhancedTools, "c3")
				require.Len(t, extra.ToolCalls, 4)

				_, err = run(ResumeWithData(context.Background(), info.InterruptContexts[0].ID, "!"))
				info = interrupted(t, err)
				require.Len(t, info.InterruptContexts, 1)
				require.Equal(t, "q3", info.InterruptContexts[0].Info)

				out, err := run(ResumeWithData(context.Background(), info.InterruptContexts[0].ID, "?"))
				require.NoError(t, err)
				var texts []string
				for _, m := range out {
					texts = append(texts, textOf(m))
				}
				require.Equal(t, []string{"1!", "s2", "3?", "e4"}, texts)
				for name, want := range map[string]int32{"ask1": 2, "ask3": 3, "str": 1, "enh": 1} {
					n, _ := ran.Load(name)
					require.Equal(t, want, n.(*atomic.Int32).Load(), name)
				}
			})
		}
	}
}

// Rules compose/L-17, compose/L-18.
func TestToolsNode_UsesTheResultsOfTheProvider(t *testing.T) {
	for _, sequential := range []bool{false, true} {
		var ran atomic.Int32
		tn := toolsNode(t, ToolsNodeConfig{ExecuteSequentially: sequential,
			Tools: []tool.BaseTool{&invokable{"t", func(_ context.Context, args string, _ ...tool.Option) (string, error) {
				ran.Add(1)
				return "ran" + args, nil
			}}}})
		InternalSetToolExecutionProvider(tn,
			func(
				_ context.Context, in *schema.Message,
			) (map[string]*schema.StreamReader[string], map[string]*schema.StreamReader[*schema.ToolResult], error) {
				if in.Content == "fail" {
					return nil, nil, errBoom
				}
				return map[string]*schema.StreamReader[string]{"c0": schema.StreamReaderFromArray([]string{"ear", "ly"})},
					map[string]*schema.StreamReader[*schema.ToolResult]{"c2": schema.StreamReaderFromArray([]*schema.ToolResult{textResult("en"), textResult("h")})}, nil
			})
		out := runTools(t, tn, calls("t:0", "t:1", "t:2"))
		require.Equal(t, []string{"early", "ran1", "enh"}, []string{textOf(out[0]), textOf(out[1]), textOf(out[2])})
		require.EqualValues(t, 2, ran.Load())
		require.Equal(t, "early", runTools(t, tn, calls("t:0"))[0].Content, "a single call that was executed runs again")
		require.EqualValues(t, 2, ran.Load())
		s, err := tn.Stream(context.Background(), calls("t:0"))
		require.NoError(t, err)
		require.Len(t, readAll(t, s), 2, "the chunks of a provided stream are passed through")

		failing := calls("t:0")
		failing.Content = "fail"
		a, b := runToolsErr(t, tn, failing)
		require.Equal(t, errBoom, a)
		require.Equal(t, errBoom, b)
	}
}

// Rule compose/L-19.
func TestToolsNode_RunsASingleCall(t *testing.T) {
	tn := toolsNode(t, ToolsNodeConfig{Tools: allKinds(),
		ToolAliases: map[string]ToolAliasConfig{"inv": {NameAliases: []string{"alias"}}}})
	call := func(name string) schema.ToolCall {
		return schema.ToolCall{ID: "id", Function: schema.FunctionCall{Name: name, Arguments: "x"}}
	}
	text, result, useEnhanced, err := InternalStreamSingleToolCall(tn, context.Background(), call("alias"))
	require.NoError(t, err)
	require.False(t, useEnhanced)
	require.Nil(t, result)
	require.Equal(t, []string{"invx"}, readAll(t, text))
	_, result, useEnhanced, err = InternalStreamSingleToolCall(tn, context.Background(), call("est"))
	require.NoError(t, err)
	require.True(t, useEnhanced)
	require.Len(t, readAll(t, result), 2)
	_, _, _, err = InternalStreamSingleToolCall(tn, context.Background(), schema.ToolCall{})
	require.Error(t, err)
	_, _, _, err = InternalStreamSingleToolCall(tn, context.Background(), call("ghost"))
	require.ErrorContains(t, err, "tool ghost not found")
}

// Rules compose/L-20, compose/L-21, compose/L-22.
func TestAgenticToolsNode_ConvertsCallsAndResults(t *testing.T) {
	url := "http://x"
	picture := &enhanced{"pic", func(context.Context, string) (*schema.ToolResult, error) {
		return &schema.ToolResult{Parts: []schema.ToolOutputPart{
			{Type: schema.ToolPartTypeText, Text: "a picture", Extra: map[string]any{"k": 1}},
			{Type: schema.ToolPartTypeImage,
				Image: &schema.ToolOutputImage{MessagePartCommon: schema.MessagePartCommon{URL: &url, MIMEType: "image/png"}}},
		}}, nil
	}}
	finder := &enhanced{"find", func(context.Context, string) (*schema.ToolResult, error) {
		return &schema.ToolResult{Parts: []schema.ToolOutputPart{{Type: schema.ToolPartTypeToolSearchResult,
			ToolSearchResult: &schema.ToolSearchResult{}}}}, nil
	}}
	tn, err := NewAgenticToolsNode(context.Background(),
		&ToolsNodeConfig{Tools: []tool.BaseTool{echo("inv"), picture, finder}})
	require.NoError(t, err)
	in := &schema.AgenticMessage{Role: schema.AgenticRoleTypeAssistant, ContentBlocks: []*schema.ContentBlock{
		nil,
		schema.NewContentBlock(&schema.AssistantGenText{Text: "thinking"}),
		schema.NewContentBlock(&schema.FunctionToolCall{CallID: "1", Name: "inv", Arguments: "x"}),
		schema.NewContentBlock(&schema.FunctionToolCall{CallID: "2", Name: "pic"}),
		schema.NewContentBlock(&schema.FunctionToolCall{CallID: "3", Name: "find"}),
	}}
	out, err := tn.Invoke(context.Background(), in)
	require.NoError(t, err)
	require.Len(t, out, 3)
	for _, m := range out {
		require.Equal(t, schema.AgenticRoleTypeUser, m.Role)
		require.Len(t, m.ContentBlocks, 1)
	}
	first := out[0].ContentBlocks[0].FunctionToolResult
	require.Equal(t, "invx", first.Content[0].Text.Text)
	require.Equal(t, "1", first.CallID)
	second := out[1].ContentBlocks[0].FunctionToolResult
	require.Equal(t, map[string]any{"k": 1}, second.Content[0].Extra)
	require.Equal(t, url, second.Content[1].Image.URL)
	require.NotNil(t, out[2].ContentBlocks[0].ToolSearchFunctionToolResult)

	s, err := tn.Stream(context.Background(), in)
	require.NoError(t, err)
	for _, chunk := range readAll(t, s) {
		for i, m := range chunk {
			if m != nil {
				require.Equal(t, i, m.ContentBlocks[0].StreamingMeta.Index)
			}
		}
	}
	_, err = tn.Invoke(context.Background(), schema.UserAgenticMessage("x"))
	require.ErrorContains(t, err, "no tool call found in input message")
	_, err = tn.Invoke(context.Background(), nil)
	require.Error(t, err)
	_, err = (&AgenticToolsNode{}).Stream(context.Background(), in)
	require.Error(t, err)
}

func FuzzRenameArguments(f *testing.F) {
	f.Add(`{"town":"Oslo","days":3}`)
	f.Add(`{"a":{"town":[1,2]}}`)
	f.Add(`{"town":1,"town":2}`)
	aliases := map[string]string{"town": "city"}
	f.Fuzz(func(t *testing.T, in string) {
		out := renameArguments(in, aliases)
		if !strings.Contains(in, "town") && !strings.Contains(in, `\u`) && out != in {
			t.Fatalf("%q without an alias became %q", in, out)
		}
		if again := renameArguments(out, aliases); strings.Count(in, "town") < 2 && again != out {
			t.Fatalf("renaming is not stable: %q, %q", out, again)
		}
	})
}

func BenchmarkToolsNode_16Calls(b *testing.B) {
	tn, err := NewToolNode(context.Background(), &ToolsNodeConfig{Tools: []tool.BaseTool{echo("inv")}})
	if err != nil {
		b.Fatal(err)
	}
	names := make([]string, 16)
	for i := range names {
		names[i] = "inv:x"
	}
	in := calls(names...)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tn.Invoke(context.Background(), in); err != nil {
			b.Fatal(err)
		}
	}
}

// Calls that a model gave no ID of their own: each finds its own question and answer again, and one that is done
// takes nothing of the others.
// Rule compose/L-15.
func TestToolsNode_ReplaysCallsWithoutIDs(t *testing.T) {
	asks := &invokable{"asks", func(ctx context.Context, args string, _ ...tool.Option) (string, error) {
		was, has, saved := tool.GetInterruptState[string](ctx)
		if was && (!has || saved != args) {
			return "", fmt.Errorf("%s has the state of %q", args, saved)
		}
		if target, _, answer := tool.GetResumeContext[string](ctx); target {
			return args + answer, nil
		}
		return "", tool.StatefulInterrupt(ctx, args, args)
	}}
	g := NewGraph[*schema.Message, []*schema.Message]()
	require.NoError(t, g.AddToolsNode("tools", toolsNode(t, ToolsNodeConfig{Tools: []tool.BaseTool{asks}})))
	line(t, g, "tools")
	message := calls("asks:a", "asks:b", "asks:c")
	for i := range message.ToolCalls {
		message.ToolCalls[i].ID = ""
	}
	for name, next := range map[string]func(n int) []int{
		"the first": func(int) []int { return []int{0} },
		"the last":  func(n int) []int { return []int{n - 1} },
		"all":       func(n int) []int { return []int{0, 1, 2}[:n] },
	} {
		for range 5 { // they must not depend on the order of a map
			r := compiled[*schema.Message, []*schema.Message](t, g, WithCheckPointStore(newStore()))
			out, err := r.Invoke(context.Background(), message, WithCheckPointID("id"))
			for round := 0; err != nil; round++ {
				require.Less(t, round, 3, name)
				open := interrupted(t, err).InterruptContexts
				data := map[string]any{}
				for _, i := range next(len(open)) {
					data[open[i].ID] = fmt.Sprint(" is ", open[i].Info)
				}
				out, err = r.Invoke(BatchResumeWithData(context.Background(), data), nil, WithCheckPointID("id"))
			}
			require.Equal(t, []string{"a is a", "b is b", "c is c"}, []string{out[0].Content, out[1].Content, out[2].Content},
				name)
		}
	}
}
