package compose

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/internal/mock/racedetector"
	"github.com/weftgo/weft/schema"
)

// every makes a middleware for every kind of tool of what it does with an output.
func every(change func(in *ToolInput, out *ToolCallOutput) (*ToolCallOutput, error)) ToolMiddleware {
	return ToolMiddleware{Every: func(next ToolCallEndpoint) ToolCallEndpoint {
		return func(ctx context.Context, in *ToolInput) (*ToolCallOutput, error) {
			out, err := next(ctx, in)
			if err != nil {
				return nil, err
			}
			return change(in, out)
		}
	}}
}

// joinedWith puts a letter before the whole text of a result.
func joinedWith(letter string) ToolMiddleware {
	return every(func(_ *ToolInput, out *ToolCallOutput) (*ToolCallOutput, error) {
		err := out.Join()
		out.MapText(func(text string) string { return letter + text })
		return out, err
	})
}

// singleWith is joinedWith as four functions.
func singleWith(letter string) ToolMiddleware {
	return ToolMiddleware{
		Invokable: func(next InvokableToolEndpoint) InvokableToolEndpoint {
			return func(ctx context.Context, in *ToolInput) (*ToolOutput, error) {
				out, err := next(ctx, in)
				return &ToolOutput{Result: letter + out.Result}, err
			}
		},
		Streamable: func(next StreamableToolEndpoint) StreamableToolEndpoint {
			return func(ctx context.Context, in *ToolInput) (*StreamToolOutput, error) {
				out, err := next(ctx, in)
				out.Result = schema.MergeStreamReaders([]*schema.StreamReader[string]{singleOf(letter), out.Result})
				return out, err
			}
		},
		EnhancedInvokable: func(next EnhancedInvokableToolEndpoint) EnhancedInvokableToolEndpoint {
			return func(ctx context.Context, in *ToolInput) (*EnhancedInvokableToolOutput, error) {
				out, err := next(ctx, in)
				return &EnhancedInvokableToolOutput{Result: textResult(letter + out.Result.Parts[0].Text)}, err
			}
		},
		EnhancedStreamable: func(next EnhancedStreamableToolEndpoint) EnhancedStreamableToolEndpoint {
			return func(ctx context.Context, in *ToolInput) (*EnhancedStreamableToolOutput, error) {
				out, err := next(ctx, in)
				whole, joinErr := concatStream(out.Result)
				out.Result = singleOf(textResult(letter + whole.Parts[0].Text))
				return out, errors.Join(err, joinErr)
			}
		},
	}
}

// One function wraps the calls of every kind of tool, among functions for single kinds, in the order of the list.
func TestToolMiddleware_EveryWrapsAllKinds(t *testing.T) {
	both := singleWith("b")
	both.Every = joinedWith("a").Every
	namedA, namedBoth := joinedWith("c"), both
	namedA.Name, namedBoth.Name = "one", "two"
	for want, middlewares := range map[string][]ToolMiddleware{
		"":      nil,
		"a":     {joinedWith("a")},
		"ba":    {singleWith("b"), joinedWith("a")},
		"abcde": {joinedWith("a"), singleWith("b"), {}, singleWith("c"), joinedWith("d"), joinedWith("e")},
		"bacd":  {singleWith("b"), joinedWith("a"), joinedWith("c"), singleWith("d")},
		"ab":    {both}, // the function for every kind is outside
		"cab":   {namedA, namedBoth},
	} {
		tn := toolsNode(t, ToolsNodeConfig{Tools: allKinds(), ToolCallMiddlewares: middlewares})
		for i, out := range runTools(t, tn, calls("inv:1", "str:2", "enh:3", "est:4")) {
			require.Equal(t, want+[]string{"inv1", "str2", "enh3", "est4"}[i], textOf(out))
			require.Equal(t, i < 2, out.Content != "", "the result has the form that the tool gives")
		}
	}
}

// What a middleware returns becomes what the tool gives, and what the next middleware takes.
func TestToolMiddleware_EveryIsConverted(t *testing.T) {
	parts := func(texts ...string) *schema.ToolResult {
		r := &schema.ToolResult{}
		for _, text := range texts {
			r.Parts = append(r.Parts, textResult(text).Parts...)
		}
		return r
	}
	for name, refusal := range map[string]func() *ToolCallOutput{
		"text": func() *ToolCallOutput { return &ToolCallOutput{Text: "not now"} },
		"stream": func() *ToolCallOutput {
			return &ToolCallOutput{TextStream: schema.StreamReaderFromArray([]string{"not ", "now"})}
		},
		"result": func() *ToolCallOutput { return &ToolCallOutput{Text: "ignored", Result: parts("not ", "now")} },
		"results": func() *ToolCallOutput {
			return &ToolCallOutput{ResultStream: schema.StreamReaderFromArray([]*schema.ToolResult{parts("not "), nil,
				parts("now")})}
		},
	} {
		t.Run(name, func(t *testing.T) {
			refuses := ToolMiddleware{Every: func(ToolCallEndpoint) ToolCallEndpoint {
				return func(context.Context, *ToolInput) (*ToolCallOutput, error) { return refusal(), nil }
			}}
			for _, around := range []ToolMiddleware{{},
				{Name: "around", Every: func(next ToolCallEndpoint) ToolCallEndpoint { return next }}} {
				tn := toolsNode(t, ToolsNodeConfig{Tools: allKinds(), ToolCallMiddlewares: []ToolMiddleware{around, refuses}})
				for i, out := range runTools(t, tn, calls("inv", "str", "enh", "est")) {
					require.Equal(t, "not now", textOf(out))
					require.Equal(t, i < 2, out.Content != "")
				}
			}
		})
	}

	image := every(func(*ToolInput, *ToolCallOutput) (*ToolCallOutput, error) {
		return &ToolCallOutput{Result: &schema.ToolResult{Parts: []schema.ToolOutputPart{{Type: schema.ToolPartTypeImage}}}}, nil
	})
	tn := toolsNode(t, ToolsNodeConfig{Tools: allKinds(), ToolCallMiddlewares: []ToolMiddleware{image}})
	for _, kind := range []string{"inv", "str"} {
		invokeErr, streamErr := runToolsErr(t, tn, calls(kind))
		require.ErrorContains(t, invokeErr, "the result has a part of type image, but is needed as text")
		require.ErrorContains(t, streamErr, "the result has a part of type image, but is needed as text")
	}
}

func TestToolMiddleware_EveryMustReturnSomething(t *testing.T) {
	nothing := every(func(*ToolInput, *ToolCallOutput) (*ToolCallOutput, error) { return nil, nil })
	for _, middlewares := range [][]ToolMiddleware{{nothing}, {joinedWith("a"), nothing}} {
		tn := toolsNode(t, ToolsNodeConfig{Tools: allKinds(), ToolCallMiddlewares: middlewares})
		for _, kind := range []string{"inv", "str", "enh", "est"} {
			invokeErr, streamErr := runToolsErr(t, tn, calls(kind))
			require.ErrorIs(t, invokeErr, errNilToolOutput)
			require.ErrorIs(t, streamErr, errNilToolOutput)
		}
	}
}

// The internal form of a middleware is passed the form of the tool that is called.
func TestToolMiddleware_InternalFormsKnowTheForm(t *testing.T) {
	internal := InternalToolMiddleware(func(form InternalToolForm, next ToolCallEndpoint) ToolCallEndpoint {
		return func(ctx context.Context, in *ToolInput) (*ToolCallOutput, error) {
			out, err := next(ctx, in)
			if streams := form == InternalStreamable || form == InternalEnhancedStreamable; streams != out.Streams() {
				return nil, fmt.Errorf("form %v of %+v", form, out)
			}
			in.Name = "" // nothing depends on it any more
			return &ToolCallOutput{Text: fmt.Sprint(form)}, err
		}
	})
	tn := toolsNode(t, ToolsNodeConfig{Tools: allKinds(), ToolCallMiddlewares: []ToolMiddleware{internal}})
	for i, out := range runTools(t, tn, calls("inv", "str", "enh", "est")) {
		require.Equal(t, fmt.Sprint(i), textOf(out))
	}
}

// A stream that is mapped stays one, and what the tool returned is not changed.
func TestToolCallOutput_MapText(t *testing.T) {
	upper := func(out ToolCallOutput) *ToolCallOutput {
		out.MapText(strings.ToUpper)
		return &out
	}
	mixed := &schema.ToolResult{Parts: []schema.ToolOutputPart{{Type: schema.ToolPartTypeImage, Text: "x"},
		{Type: schema.ToolPartTypeText, Text: "x"}}}
	require.Equal(t, "X", upper(ToolCallOutput{Text: "x"}).Text)
	require.Equal(t, []schema.ToolOutputPart{mixed.Parts[0], {Type: schema.ToolPartTypeText, Text: "X"}},
		upper(ToolCallOutput{Result: mixed}).Result.Parts)
	require.Equal(t, "x", mixed.Parts[1].Text)
	s := upper(ToolCallOutput{TextStream: schema.StreamReaderFromArray([]string{"a", "b"})})
	require.True(t, s.Streams())
	require.Equal(t, []string{"A", "B"}, readAll(t, s.TextStream))
	r := upper(ToolCallOutput{ResultStream: schema.StreamReaderFromArray([]*schema.ToolResult{nil, textResult("a")})})
	require.Equal(t, []*schema.ToolResult{nil, textResult("A")}, readAll(t, r.ResultStream))
	failing := ToolCallOutput{TextStream: schema.StreamReaderWithConvert(singleOf(1),
		func(int) (string, error) { return "", errBoom })}
	require.ErrorIs(t, failing.Join(), errBoom)
	require.False(t, failing.Streams())
}

// A middleware for every kind costs one allocation a call, and none if it is beside others of that kind.
func TestToolMiddleware_EveryIsCheap(t *testing.T) {
	if racedetector.Enabled {
		t.Skip("allocations are counted without the race detector")
	}
	passes := ToolMiddleware{Every: func(next ToolCallEndpoint) ToolCallEndpoint {
		return func(ctx context.Context, in *ToolInput) (*ToolCallOutput, error) { return next(ctx, in) }
	}}
	allocs := func(middlewares ...ToolMiddleware) float64 {
		tn := toolsNode(t, ToolsNodeConfig{Tools: []tool.BaseTool{echo("t")}, ToolCallMiddlewares: middlewares})
		message := calls("t")
		return testing.AllocsPerRun(100, func() {
			if _, err := tn.Invoke(context.Background(), message); err != nil {
				t.Error(err)
			}
		})
	}
	none := allocs()
	require.LessOrEqual(t, allocs(passes), none+1)
	require.LessOrEqual(t, allocs(passes, passes, passes), none+1)
}
