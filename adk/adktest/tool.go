package adktest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// Tools is the configuration of an agent with these tools.
func Tools(tools ...tool.BaseTool) adk.ToolsConfig {
	return adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: tools}}
}

// scriptedTool holds what all kinds of tools have: a script and a record of calls.
type scriptedTool struct {
	script []Answer

	mu    sync.Mutex
	info  schema.ToolInfo
	calls []ToolCall
}

// Tool is a tool that returns a text.
type Tool struct{ scriptedTool }

// StreamTool is a tool that returns a text in chunks.
type StreamTool struct{ scriptedTool }

// EnhancedTool is a tool that returns a [schema.ToolResult].
type EnhancedTool struct{ scriptedTool }

// EnhancedStreamTool is a tool that returns a [schema.ToolResult] in chunks.
type EnhancedStreamTool struct{ scriptedTool }

var (
	_ tool.InvokableTool          = (*Tool)(nil)
	_ tool.StreamableTool         = (*StreamTool)(nil)
	_ tool.EnhancedInvokableTool  = (*EnhancedTool)(nil)
	_ tool.EnhancedStreamableTool = (*EnhancedStreamTool)(nil)
)

// NewTool makes a tool that gives one reply a call; the last one is given again and again. Without replies it returns
// its arguments. It is safe for concurrent use. It panics if a reply is one that no such tool gives; so do the
// functions for other kinds of tools.
func NewTool(name string, script ...Answer) *Tool {
	return &Tool{newScripted[string](name, script)}
}

// NewStreamTool is [NewTool] for a tool that streams.
func NewStreamTool(name string, script ...Answer) *StreamTool {
	return &StreamTool{newScripted[string](name, script)}
}

// NewEnhancedTool is [NewTool] for a tool that returns parts. Of a text it makes one part.
func NewEnhancedTool(name string, script ...Answer) *EnhancedTool {
	return &EnhancedTool{newScripted[*schema.ToolResult](name, script)}
}

// NewEnhancedStreamTool is [NewEnhancedTool] for a tool that streams.
func NewEnhancedStreamTool(name string, script ...Answer) *EnhancedStreamTool {
	return &EnhancedStreamTool{newScripted[*schema.ToolResult](name, script)}
}

func newScripted[T any](name string, script []Answer) scriptedTool {
	for i, r := range script {
		for _, c := range r.chunks {
			if _, ok := c.raw.(T); c.calls != nil || c.raw != nil && !ok {
				panic(fmt.Sprintf("adktest: reply %d of the script of tool %q is none that such a tool gives", i+1, name))
			}
		}
		if r.seeingOf != nil || r.anyTools {
			panic(fmt.Sprintf("adktest: reply %d of the script of tool %q expects what only models see", i+1, name))
		}
	}
	if len(script) == 0 {
		script = []Answer{Does(func(_ context.Context, arguments string) (string, error) { return arguments, nil })}
	}
	return scriptedTool{script: slices.Clone(script), info: schema.ToolInfo{Name: name, Desc: "a tool of a test"}}
}

// Describe sets what the tool says about itself.
func (s *scriptedTool) Describe(desc string, params map[string]*schema.ParameterInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.info.Desc, s.info.ParamsOneOf = desc, schema.NewParamsOneOfByParams(params)
}

// Info returns what the tool says about itself.
func (s *scriptedTool) Info(context.Context) (*schema.ToolInfo, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	info := s.info
	return &info, nil
}

// Calls are the calls until now, in the order in which they came.
func (s *scriptedTool) Calls() []ToolCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// Arguments are the arguments of the calls until now.
func (s *scriptedTool) Arguments() []string {
	var all []string
	for _, c := range s.Calls() {
		all = append(all, c.Arguments)
	}
	return all
}

// next records a call and begins the reply.
func (s *scriptedTool) next(ctx context.Context, arguments string) (*Answer, []chunk, error) {
	s.mu.Lock()
	r := &s.script[min(len(s.calls), len(s.script)-1)]
	s.calls = append(s.calls, ToolCall{ID: compose.GetToolCallID(ctx), Name: s.info.Name, Arguments: arguments})
	s.mu.Unlock()
	chunks, err := r.begin(ctx, arguments)
	return r, chunks, err
}

func toolChunks[T any](ctx context.Context, s *scriptedTool, arguments string, of func(chunk) T) (*Answer, []T, error) {
	r, chunks, err := s.next(ctx, arguments)
	if err != nil {
		return nil, nil, err
	}
	out := make([]T, len(chunks))
	for i, c := range chunks {
		out[i] = of(c)
	}
	return r, out, nil
}

func textOf(c chunk) string { return c.text }

func resultOf(c chunk) *schema.ToolResult {
	if c.raw != nil {
		return c.raw.(*schema.ToolResult)
	}
	return &schema.ToolResult{Parts: []schema.ToolOutputPart{{Type: schema.ToolPartTypeText, Text: c.text}}}
}

// InvokableRun gives the next reply.
func (s *Tool) InvokableRun(ctx context.Context, argumentsInJSON string, _ ...tool.Option) (string, error) {
	r, texts, err := toolChunks(ctx, &s.scriptedTool, argumentsInJSON, textOf)
	if err == nil {
		err = r.whole(ctx, len(texts))
	}
	if err != nil {
		return "", err
	}
	return strings.Join(texts, ""), nil
}

// StreamableRun gives the next reply in chunks.
func (s *StreamTool) StreamableRun(
	ctx context.Context, argumentsInJSON string, _ ...tool.Option,
) (*schema.StreamReader[string], error) {
	r, texts, err := toolChunks(ctx, &s.scriptedTool, argumentsInJSON, textOf)
	if err != nil {
		return nil, err
	}
	return stream(ctx, r, texts), nil
}

// InvokableRun gives the next reply.
func (s *EnhancedTool) InvokableRun(
	ctx context.Context, toolArgument *schema.ToolArgument, _ ...tool.Option,
) (*schema.ToolResult, error) {
	r, results, err := toolChunks(ctx, &s.scriptedTool, toolArgument.Text, resultOf)
	if err == nil {
		err = r.whole(ctx, len(results))
	}
	if err != nil {
		return nil, err
	}
	if len(results) == 1 {
		return results[0], nil
	}
	return schema.ConcatToolResults(results)
}

// StreamableRun gives the next reply in chunks.
func (s *EnhancedStreamTool) StreamableRun(
	ctx context.Context, toolArgument *schema.ToolArgument, _ ...tool.Option,
) (*schema.StreamReader[*schema.ToolResult], error) {
	r, results, err := toolChunks(ctx, &s.scriptedTool, toolArgument.Text, resultOf)
	if err != nil {
		return nil, err
	}
	return stream(ctx, r, results), nil
}
