package utils

import (
	"context"

	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/internal/callbacks"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/internal/secrets"
	"github.com/weftgo/weft/schema"
)

// ErrorHandler turns the error of a tool into the text that the model reads instead. A nil handler stands for the text
// of the error.
type ErrorHandler func(context.Context, error) string

// WrapToolWithErrorHandler returns a tool that runs in the same ways as t, of the four declared in package tool, and
// returns what h makes of an error as its result: enhanced tools as one text part, streams as one chunk. So a failed
// call does not end the run, and the model can try something else.
//
// Interrupts are not errors and pass, as do errors inside a stream, and errors of an agent inside the tool whose steps
// cannot be saved. A t that runs in none of the ways is returned itself.
func WrapToolWithErrorHandler(t tool.BaseTool, h ErrorHandler) tool.BaseTool {
	base := handled{t}
	switch t := t.(type) {
	case tool.InvokableTool:
		return wrapStreams(t, h, base, invokeSide{t, h})
	case tool.EnhancedInvokableTool:
		return wrapEnhancedStreams(t, h, base, enhancedInvokeSide{t, h})
	case tool.StreamableTool:
		return handledStreamable{base, streamSide{t, h}}
	case tool.EnhancedStreamableTool:
		return handledEnhancedStreamable{base, enhancedStreamSide{t, h}}
	}
	return t
}

// wrapStreams adds the stream side of t, if it has one, to its wrapped invokable side.
func wrapStreams(t tool.BaseTool, h ErrorHandler, base handled, invoke invokeSide) tool.BaseTool {
	switch t := t.(type) {
	case tool.StreamableTool:
		return struct {
			handled
			invokeSide
			streamSide
		}{base, invoke, streamSide{t, h}}
	case tool.EnhancedStreamableTool:
		return struct {
			handled
			invokeSide
			enhancedStreamSide
		}{base, invoke, enhancedStreamSide{t, h}}
	}
	return handledInvokable{base, invoke}
}

// wrapEnhancedStreams is wrapStreams for an enhanced invokable side.
func wrapEnhancedStreams(t tool.BaseTool, h ErrorHandler, base handled, invoke enhancedInvokeSide) tool.BaseTool {
	switch t := t.(type) {
	case tool.StreamableTool:
		return struct {
			handled
			enhancedInvokeSide
			streamSide
		}{base, invoke, streamSide{t, h}}
	case tool.EnhancedStreamableTool:
		return struct {
			handled
			enhancedInvokeSide
			enhancedStreamSide
		}{base, invoke, enhancedStreamSide{t, h}}
	}
	return handledEnhancedInvokable{base, invoke}
}

// WrapInvokableToolWithErrorHandler is [WrapToolWithErrorHandler] for the invokable side of t alone.
func WrapInvokableToolWithErrorHandler(t tool.InvokableTool, h ErrorHandler) tool.InvokableTool {
	return handledInvokable{handled{t}, invokeSide{t, h}}
}

// WrapStreamableToolWithErrorHandler is [WrapToolWithErrorHandler] for the streamable side of t alone.
func WrapStreamableToolWithErrorHandler(t tool.StreamableTool, h ErrorHandler) tool.StreamableTool {
	return handledStreamable{handled{t}, streamSide{t, h}}
}

type (
	handledInvokable struct {
		handled
		invokeSide
	}
	handledEnhancedInvokable struct {
		handled
		enhancedInvokeSide
	}
	handledStreamable struct {
		handled
		streamSide
	}
	handledEnhancedStreamable struct {
		handled
		enhancedStreamSide
	}
)

// handled describes a wrapped tool like the tool itself.
type handled struct{ inner tool.BaseTool }

func (t handled) Info(ctx context.Context) (*schema.ToolInfo, error) { return t.inner.Info(ctx) }
func (t handled) GetType() string                                    { return callbacks.TypeName(t.inner) }
func (t handled) IsCallbacksEnabled() bool                           { return components.IsCallbacksEnabled(t.inner) }

func (t handled) Idempotent() bool {
	inner, ok := t.inner.(interface{ Idempotent() bool })
	return ok && inner.Idempotent()
}

// answer returns the text for an error; ok is false if the error is to pass.
func (h ErrorHandler) answer(ctx context.Context, err error) (text string, ok bool) {
	if err == nil {
		return "", false
	}
	if _, interrupt := core.IsInterruptRerunError(err); interrupt || core.EndsRun(err) {
		return "", false
	}
	if h == nil {
		return secrets.Hide(err.Error()), true
	}
	return h(ctx, err), true
}

type invokeSide struct {
	runner  tool.InvokableTool
	handler ErrorHandler
}

func (s invokeSide) InvokableRun(ctx context.Context, argumentsInJSON string, opts ...tool.Option) (string, error) {
	result, err := s.runner.InvokableRun(ctx, argumentsInJSON, opts...)
	if text, ok := s.handler.answer(ctx, err); ok {
		return text, nil
	}
	return result, err
}

type enhancedInvokeSide struct {
	runner  tool.EnhancedInvokableTool
	handler ErrorHandler
}

func (s enhancedInvokeSide) InvokableRun(
	ctx context.Context, toolArgument *schema.ToolArgument, opts ...tool.Option,
) (*schema.ToolResult, error) {
	result, err := s.runner.InvokableRun(ctx, toolArgument, opts...)
	if text, ok := s.handler.answer(ctx, err); ok {
		return textResult(text), nil
	}
	return result, err
}

type streamSide struct {
	runner  tool.StreamableTool
	handler ErrorHandler
}

func (s streamSide) StreamableRun(
	ctx context.Context, argumentsInJSON string, opts ...tool.Option,
) (*schema.StreamReader[string], error) {
	result, err := s.runner.StreamableRun(ctx, argumentsInJSON, opts...)
	if text, ok := s.handler.answer(ctx, err); ok {
		return schema.StreamReaderFromArray([]string{text}), nil
	}
	return result, err
}

type enhancedStreamSide struct {
	runner  tool.EnhancedStreamableTool
	handler ErrorHandler
}

func (s enhancedStreamSide) StreamableRun(
	ctx context.Context, toolArgument *schema.ToolArgument, opts ...tool.Option,
) (*schema.StreamReader[*schema.ToolResult], error) {
	result, err := s.runner.StreamableRun(ctx, toolArgument, opts...)
	if text, ok := s.handler.answer(ctx, err); ok {
		return schema.StreamReaderFromArray([]*schema.ToolResult{textResult(text)}), nil
	}
	return result, err
}

func textResult(text string) *schema.ToolResult {
	return &schema.ToolResult{Parts: []schema.ToolOutputPart{{Type: schema.ToolPartTypeText, Text: text}}}
}
