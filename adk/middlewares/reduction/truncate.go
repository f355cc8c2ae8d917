package reduction

import (
	"context"
	"errors"
	"fmt"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/filesystem"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

var errNoTruncBackend = errors.New("truncation: no backend for offload")

// cutResult cuts the results of tools that are too long.
func (m *middleware[M]) cutResult(
	ctx context.Context, call *compose.ToolInput, next compose.ToolCallEndpoint,
) (*compose.ToolCallOutput, error) {
	t := m.truncationOf(call.Name)
	if t == nil {
		return next(ctx, call)
	}
	name, callID, arguments := call.Name, call.CallID, call.Arguments
	out, err := next(ctx, call)
	if err != nil {
		return nil, err
	}
	if !out.Streams() && out.Result == nil && t.handler == nil && len(out.Text) <= m.conf.MaxLengthForTrunc {
		return out, nil
	}
	detail := &ToolDetail{
		ToolContext: &adk.ToolContext{Name: name, CallID: callID}, ToolArgument: &schema.ToolArgument{Text: arguments}}
	switch {
	case out.ResultStream != nil:
		out.ResultStream, err = truncateStream(ctx, t, detail, out.ResultStream, resultChunks, m.saver)
	case out.Result != nil:
		out.Result, err = m.truncate(ctx, t, detail, out.Result)
	case out.TextStream != nil:
		out.TextStream, err = truncateStream(ctx, t, detail, out.TextStream, textChunks, m.saver)
	default:
		err = m.truncateText(ctx, t, detail, out)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// truncateText cuts the text of an output.
func (m *middleware[M]) truncateText(
	ctx context.Context, t *truncation, detail *ToolDetail, out *compose.ToolCallOutput,
) error {
	whole := textResult(out.Text)
	cut, err := m.truncate(ctx, t, detail, whole)
	if err == nil && cut != whole {
		out.Text = firstText(cut)
	}
	return err
}

// chunkForm is the chunks of a tool's stream: how they are cut, and how handlers see them.
type chunkForm[T any] struct {
	kind     chunkKind[T]
	toResult func(T) *schema.ToolResult
	ofResult func(*schema.ToolResult) T
}

var (
	textChunks   = chunkForm[string]{textCut{}, textResult, firstText}
	resultChunks = chunkForm[*schema.ToolResult]{partsCut{}, sameResult, sameResult}
)

func sameResult(r *schema.ToolResult) *schema.ToolResult { return r }

// truncateStream cuts a stream, or has the tool's own handler do it.
func truncateStream[T any](ctx context.Context, t *truncation, detail *ToolDetail, stream *schema.StreamReader[T],
	form chunkForm[T], saver func(*truncation, *ToolDetail) saver) (*schema.StreamReader[T], error) {
	if t.handler == nil {
		return cutStream(ctx, stream, form.kind, saver(t, detail)), nil
	}
	original, cut, err := handleStream(ctx, t, detail, stream, form.toResult)
	if err != nil || cut == nil {
		return original, err
	}
	return schema.StreamReaderWithConvert(cut, func(r *schema.ToolResult) (T, error) { return form.ofResult(r), nil }), nil
}

// truncate returns what takes the place of a result, which is the result itself if it stays.
func (m *middleware[M]) truncate(
	ctx context.Context, t *truncation, detail *ToolDetail, result *schema.ToolResult,
) (*schema.ToolResult, error) {
	detail.ToolResult = result
	handler := t.handler
	if handler == nil {
		handler = m.truncateDefault
	}
	cut, err := t.handled(ctx, handler, detail)
	if err != nil {
		return nil, err
	}
	if cut == nil {
		return result, nil
	}
	if cut.ToolResult == nil {
		return nil, fmt.Errorf("truncation: the handler of tool %q wants its result replaced and returned none",
			detail.ToolContext.Name)
	}
	return cut.ToolResult, nil
}

// handled calls a handler and writes what it wants written. It returns nil if the result stays.
func (t *truncation) handled(
	ctx context.Context, handler func(context.Context, *ToolDetail) (*TruncResult, error), detail *ToolDetail,
) (*TruncResult, error) {
	cut, err := handler(ctx, detail)
	if err != nil || cut == nil || !cut.NeedTrunc {
		return nil, err
	}
	if !cut.NeedOffload {
		return cut, nil
	}
	return cut, t.write(ctx, cut.OffloadFilePath, cut.OffloadContent)
}

func (t *truncation) write(ctx context.Context, path, content string) error {
	if t.backend == nil {
		return errNoTruncBackend
	}
	return t.backend.Write(ctx, &filesystem.WriteRequest{FilePath: path, Content: content})
}

// handleStream shows a copy of a stream to a tool's own handler. It returns what takes its place, or else the stream
// itself, with all that the handler has read.
func handleStream[T any](ctx context.Context, t *truncation, detail *ToolDetail, stream *schema.StreamReader[T],
	toResult func(T) *schema.ToolResult) (*schema.StreamReader[T], *schema.StreamReader[*schema.ToolResult], error) {
	copies := stream.Copy(2)
	original := copies[0]
	shown := schema.StreamReaderWithConvert(copies[1],
		func(chunk T) (*schema.ToolResult, error) { return toResult(chunk), nil })
	detail.StreamToolResult = shown
	cut, err := t.handled(ctx, t.handler, detail)
	if err != nil {
		original.Close()
		shown.Close()
		return nil, nil, err
	}
	if cut == nil {
		shown.Close()
		return original, nil, nil
	}
	original.Close()
	switch {
	case cut.StreamToolResult != nil:
		// It may read from the copy, which the reader of the result closes then.
		shown.SetAutomaticClose()
		return nil, cut.StreamToolResult, nil
	case cut.ToolResult != nil:
		shown.Close()
		return nil, schema.StreamReaderFromArray([]*schema.ToolResult{cut.ToolResult}), nil
	}
	shown.Close()
	return nil, nil, fmt.Errorf("truncation: the handler of tool %q wants its stream replaced and returned none",
		detail.ToolContext.Name)
}

// textResult is a text as the result of a tool.
func textResult(text string) *schema.ToolResult {
	return &schema.ToolResult{Parts: []schema.ToolOutputPart{{Type: schema.ToolPartTypeText, Text: text}}}
}

// firstText is the text of the first part of a result.
func firstText(r *schema.ToolResult) string {
	if r == nil || len(r.Parts) == 0 {
		return ""
	}
	return r.Parts[0].Text
}
