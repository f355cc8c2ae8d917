package utils

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// Sides of tools that all return the same error.
type (
	infoSide           struct{}
	failInvoke         struct{ err error }
	failEnhancedInvoke struct{ err error }
	failStream         struct{ err error }
	failEnhancedStream struct{ err error }
	selfReporting      struct{}
	onlyInfo           struct{ infoSide }
	invokeTool         struct {
		infoSide
		failInvoke
	}
	enhancedTool struct {
		infoSide
		failEnhancedInvoke
	}
	streamTool struct {
		infoSide
		failStream
	}
	enhancedStreamTool struct {
		infoSide
		failEnhancedStream
	}
	invokeAndStream struct {
		infoSide
		failInvoke
		failStream
	}
	invokeAndEnhanced struct {
		infoSide
		failInvoke
		failEnhancedStream
	}
	enhancedAndStream struct {
		infoSide
		failEnhancedInvoke
		failStream
	}
	enhancedAndEnhanced struct {
		infoSide
		failEnhancedInvoke
		failEnhancedStream
	}
	selfReportingTool struct {
		selfReporting
		invokeTool
	}
)

var theInfo = infoOf("inner")

func (infoSide) Info(context.Context) (*schema.ToolInfo, error) { return theInfo, nil }

func (s failInvoke) InvokableRun(context.Context, string, ...tool.Option) (string, error) {
	return "partial", s.err
}

func (s failEnhancedInvoke) InvokableRun(
	context.Context, *schema.ToolArgument, ...tool.Option,
) (*schema.ToolResult, error) {
	return nil, s.err
}

func (s failStream) StreamableRun(context.Context, string, ...tool.Option) (*schema.StreamReader[string], error) {
	return nil, s.err
}

func (s failEnhancedStream) StreamableRun(
	context.Context, *schema.ToolArgument, ...tool.Option,
) (*schema.StreamReader[*schema.ToolResult], error) {
	return nil, s.err
}

func (selfReporting) GetType() string          { return "Self" }
func (selfReporting) IsCallbacksEnabled() bool { return true }

// combinations are all the ways a tool can run.
func combinations(err error) []tool.BaseTool {
	i, ei, s, es := failInvoke{err}, failEnhancedInvoke{err}, failStream{err}, failEnhancedStream{err}
	return []tool.BaseTool{
		invokeTool{failInvoke: i}, enhancedTool{failEnhancedInvoke: ei}, streamTool{failStream: s},
		enhancedStreamTool{failEnhancedStream: es},
		invokeAndStream{failInvoke: i, failStream: s}, invokeAndEnhanced{failInvoke: i, failEnhancedStream: es},
		enhancedAndStream{failEnhancedInvoke: ei, failStream: s},
		enhancedAndEnhanced{failEnhancedInvoke: ei, failEnhancedStream: es},
	}
}

// shape reports in which ways a tool can run.
func shape(t tool.BaseTool) [4]bool {
	_, i := t.(tool.InvokableTool)
	_, ei := t.(tool.EnhancedInvokableTool)
	_, s := t.(tool.StreamableTool)
	_, es := t.(tool.EnhancedStreamableTool)
	return [4]bool{i, ei, s, es}
}

func describeError(_ context.Context, err error) string { return "handled: " + err.Error() }

// Rule components/E1.
func TestErrorHandler_WrapperHasTheShapeOfTheTool(t *testing.T) {
	for _, inner := range combinations(nil) {
		require.Equal(t, shape(inner), shape(WrapToolWithErrorHandler(inner, describeError)), "%T", inner)
	}
	plain := &onlyInfo{}
	require.True(t, tool.BaseTool(plain) == WrapToolWithErrorHandler(plain, describeError))
	require.Nil(t, WrapToolWithErrorHandler(nil, describeError))
}

// Rules components/E2, components/B13.3.2.
func TestErrorHandler_ErrorBecomesResult(t *testing.T) {
	const want = "handled: broken"
	wantResult := &schema.ToolResult{Parts: []schema.ToolOutputPart{{Type: schema.ToolPartTypeText, Text: want}}}
	for _, inner := range combinations(errors.New("broken")) {
		wrapped := WrapToolWithErrorHandler(inner, describeError)
		if w, ok := wrapped.(tool.InvokableTool); ok {
			got, err := w.InvokableRun(background, "")
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
		if w, ok := wrapped.(tool.EnhancedInvokableTool); ok {
			got, err := w.InvokableRun(background, nil)
			require.NoError(t, err)
			require.Equal(t, wantResult, got)
		}
		if w, ok := wrapped.(tool.StreamableTool); ok {
			sr, err := w.StreamableRun(background, "")
			require.NoError(t, err)
			chunks, errs := all(t, sr)
			require.Empty(t, errs)
			require.Equal(t, []string{want}, chunks)
		}
		if w, ok := wrapped.(tool.EnhancedStreamableTool); ok {
			sr, err := w.StreamableRun(background, nil)
			require.NoError(t, err)
			chunks, errs := all(t, sr)
			require.Empty(t, errs)
			require.Equal(t, []*schema.ToolResult{wantResult}, chunks)
		}
	}
}

// Rule components/E3.
func TestErrorHandler_InterruptsPass(t *testing.T) {
	never := func(context.Context, error) string { panic("the handler saw an interrupt") }
	for _, interrupt := range []error{tool.Interrupt(background, nil), core.ErrInterruptAndRerun, runs.ErrNotSaved} {
		for _, inner := range combinations(interrupt) {
			wrapped := WrapToolWithErrorHandler(inner, never)
			if w, ok := wrapped.(tool.InvokableTool); ok {
				got, err := w.InvokableRun(background, "")
				require.True(t, interrupt == err)
				require.Equal(t, "partial", got)
			}
			if w, ok := wrapped.(tool.EnhancedInvokableTool); ok {
				_, err := w.InvokableRun(background, nil)
				require.True(t, interrupt == err)
			}
			if w, ok := wrapped.(tool.StreamableTool); ok {
				_, err := w.StreamableRun(background, "")
				require.True(t, interrupt == err)
			}
			if w, ok := wrapped.(tool.EnhancedStreamableTool); ok {
				_, err := w.StreamableRun(background, nil)
				require.True(t, interrupt == err)
			}
		}
	}
}

// Rule components/E4.
func TestErrorHandler_LeavesInfoAndStreamsAlone(t *testing.T) {
	for _, inner := range combinations(nil) {
		info, err := WrapToolWithErrorHandler(inner, describeError).Info(background)
		require.NoError(t, err)
		require.Same(t, theInfo, info)
	}
	broken := errors.New("broken")
	late := NewStreamTool(infoOf("t"), func(context.Context, int) (*schema.StreamReader[int], error) {
		sr, w := schema.Pipe[int](1)
		w.Send(0, broken)
		w.Close()
		return sr, nil
	})
	sr, err := WrapStreamableToolWithErrorHandler(late, describeError).StreamableRun(background, "1")
	require.NoError(t, err)
	_, errs := all(t, sr)
	require.Equal(t, []error{broken}, errs, "errors inside the stream pass")
}

func TestErrorHandler_SuccessPasses(t *testing.T) {
	ok := NewTool(infoOf("t"), func(context.Context, int) (string, error) { return "fine", nil })
	got, err := WrapInvokableToolWithErrorHandler(ok, describeError).InvokableRun(background, "1")
	require.NoError(t, err)
	require.Equal(t, "fine", got)
	got, err = WrapInvokableToolWithErrorHandler(ok, describeError).InvokableRun(background, "x")
	require.NoError(t, err)
	require.Contains(t, got, "handled: [LocalFunc] failed to unmarshal arguments in json")
}

// Rule components/B13.3.3.
func TestErrorHandler_TypeAndCallbacksAreForwarded(t *testing.T) {
	typ, ok := components.GetType(WrapToolWithErrorHandler(selfReportingTool{}, describeError))
	require.True(t, ok)
	require.Equal(t, "Self", typ)
	require.True(t, components.IsCallbacksEnabled(WrapToolWithErrorHandler(selfReportingTool{}, describeError)))

	wrapped := WrapToolWithErrorHandler(&invokeTool{}, describeError)
	typ, _ = components.GetType(wrapped)
	require.Equal(t, "invokeTool", typ, "as without the wrapper")
	require.False(t, components.IsCallbacksEnabled(wrapped))
}

func TestErrorHandler_NilHandler(t *testing.T) {
	got, err := WrapInvokableToolWithErrorHandler(invokeTool{failInvoke: failInvoke{errors.New("broken")}},
		nil).InvokableRun(background, "")
	require.NoError(t, err)
	require.Equal(t, "broken", got)
}
