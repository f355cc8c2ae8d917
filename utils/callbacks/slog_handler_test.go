package callbacks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// records is a log that keeps its lines.
type records struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (r *records) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.buf.Write(p)
}

func (r *records) lines() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(r.buf.String()), "\n")
	slices.Sort(lines)
	return lines
}

func (r *records) logger(level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(r,
		&slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}))
}

func usage(prompt, completion int) *schema.ResponseMeta {
	return &schema.ResponseMeta{FinishReason: "stop", Model: "m-1", Usage: &schema.TokenUsage{
		PromptTokens: prompt, CompletionTokens: completion,
		PromptTokenDetails: schema.PromptTokenDetails{CachedTokens: 2, CacheWriteTokens: 3},
	}}
}

func testAgent(t *testing.T, name string, m model.BaseChatModel, tools ...tool.BaseTool) *adk.ChatModelAgent {
	t.Helper()
	a, err := adk.NewChatModelAgent(t.Context(),
		&adk.ChatModelAgentConfig{Name: name, Description: "d", Model: m, ToolsConfig: adktest.Tools(tools...)})
	require.NoError(t, err)
	return a
}

func TestSlogHandler_OneRecordForEachCall(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		t.Run(fmt.Sprint("streaming=", streaming), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log records
				sub := testAgent(t, "sub", adktest.NewModel(t,
					adktest.Messages(&schema.Message{Role: schema.Assistant, Content: "SECRET", ResponseMeta: usage(5, 1)})))
				slow := adktest.NewTool("slow", adktest.Does(func(context.Context, string) (string, error) {
					time.Sleep(2 * time.Second)
					return "SECRET", nil
				}))
				top := testAgent(t, "top", adktest.NewModel(t,
					adktest.Calls(adktest.Call("slow", `{"SECRET":1}`), adktest.Call("sub", `{"request":"SECRET"}`)),
					adktest.Messages(&schema.Message{Role: schema.Assistant, Content: "done", ResponseMeta: usage(9, 4)})), slow,
					adk.NewAgentTool(t.Context(), sub))
				runner := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: top, EnableStreaming: streaming})
				handler := NewSlogHandler(log.logger(slog.LevelInfo), nil)
				for e := range runner.Query(t.Context(), "SECRET", adk.WithCallbacks(handler)).All() {
					require.NoError(t, e.Err)
					_, _, err := adk.GetMessage(e)
					require.NoError(t, err)
				}
				synctest.Wait()
				mark := ""
				if streaming {
					mark = "streamed=true "
				}
				tokens := " finish_reason=stop input_tokens=%d output_tokens=%d cached_tokens=2 cache_write_tokens=3"
				tokens = strings.TrimSpace(mark + strings.TrimSpace(tokens))
				require.Equal(t, []string{
					`level=INFO msg="agent run" agent=top duration=2s`,
					`level=INFO msg="agent run" agent=top/sub duration=0s`,
					`level=INFO msg="model call" agent=top node=ChatModel type=Model duration=0s ` + mark + `tool_calls=2`,
					`level=INFO msg="model call" agent=top node=ChatModel type=Model model=m-1 duration=0s ` + fmt.Sprintf(tokens, 9,
						4),
					`level=INFO msg="model call" agent=top/sub node=ChatModel type=Model model=m-1 duration=0s ` + fmt.Sprintf(tokens,
						5, 1),
					`level=INFO msg="tool call" agent=top tool=slow call_id=call_1 duration=2s`,
					`level=INFO msg="tool call" agent=top tool=sub call_id=call_2 duration=0s`,
				}, withoutMarks(log.lines()))
			})
		})
	}
}

// withoutMarks leaves out what differs between tools that stream and others.
func withoutMarks(lines []string) []string {
	for i, line := range lines {
		if strings.Contains(line, "tool call") {
			lines[i] = strings.Replace(line, " streamed=true", "", 1)
		}
	}
	return lines
}

func TestSlogHandler_ErrorsAndInterrupts(t *testing.T) {
	var log records
	handler := NewSlogHandler(log.logger(slog.LevelInfo), &SlogOptions{ErrorText: true})
	broken := testAgent(t, "broken", adktest.NewModel(t, adktest.Calls(adktest.Call("read", `{}`))),
		adktest.NewTool("read", adktest.Fails(&fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist})))
	synctest.Test(t, func(t *testing.T) {
		for range adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: broken}).Query(t.Context(), "hi",
			adk.WithCallbacks(handler)).All() {
		}
		synctest.Wait()
		asking := testAgent(t, "asking", adktest.NewModel(t, adktest.Calls(adktest.Call("ask", `{}`))),
			adktest.NewTool("ask", adktest.Does(
				func(ctx context.Context, _ string) (string, error) { return "", tool.Interrupt(ctx, "why?") })))
		for range adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: asking}).Query(t.Context(), "hi",
			adk.WithCallbacks(handler)).All() {
		}
		synctest.Wait()
	})
	lines := strings.Join(log.lines(), "\n")
	require.Regexp(t,
		`level=WARN msg="tool call" agent=broken tool=read call_id=call_1 duration=\S+ error_type=\*fs.PathError error="open x: file does not exist"`, lines)
	require.Regexp(t, `level=WARN msg="agent run" agent=broken duration=\S+ error_type=\*fs.PathError error=`, lines)
	require.Regexp(t, `level=INFO msg="tool call" agent=asking tool=ask call_id=call_1 duration=\S+ interrupted=true`,
		lines)
	require.Regexp(t, `level=INFO msg="agent run" agent=asking duration=\S+ interrupted=true`, lines)
}

func TestSlogHandler_StreamsThatEndOtherwise(t *testing.T) {
	var log records
	handler := NewSlogHandler(log.logger(slog.LevelDebug), nil)
	info := &callbacks.RunInfo{Name: "chat", Type: "T", Component: components.ComponentOfAgenticModel}
	call := func(
		finish func(sr *schema.StreamReader[*schema.AgenticMessage], sw *schema.StreamWriter[*schema.AgenticMessage]),
	) {
		ctx := callbacks.InitCallbacks(t.Context(), info, handler)
		ctx = callbacks.OnStart(ctx, &model.AgenticCallbackInput{Config: &model.AgenticConfig{Model: "asked"}})
		sr, sw := schema.Pipe[*schema.AgenticMessage](4)
		_, rest := callbacks.OnEndWithStreamOutput(ctx, sr)
		sw.Send(&schema.AgenticMessage{ResponseMeta: &schema.AgenticResponseMeta{TokenUsage: &schema.TokenUsage{PromptTokens: 7}},
			ContentBlocks: []*schema.ContentBlock{schema.NewContentBlock(&schema.FunctionToolCall{CallID: "1"})}}, nil)
		_, _ = rest.Recv()
		finish(rest, sw)
	}
	call(func(sr *schema.StreamReader[*schema.AgenticMessage], _ *schema.StreamWriter[*schema.AgenticMessage]) {
		sr.Close()
	})
	call(func(sr *schema.StreamReader[*schema.AgenticMessage], sw *schema.StreamWriter[*schema.AgenticMessage]) {
		sw.Send(nil, errors.New("cut off: SECRET"))
		_, _ = sr.Recv()
		sr.Close()
	})
	ctx := callbacks.InitCallbacks(t.Context(), &callbacks.RunInfo{Component: components.ComponentOfRetriever}, handler)
	callbacks.OnEnd(callbacks.OnStart(ctx, "q"), "nothing is written of other components")
	ctx = callbacks.InitCallbacks(t.Context(), info, handler)
	callbacks.OnEnd(ctx, &schema.AgenticMessage{}) // without a start
	lines := log.lines()
	for i := range lines {
		lines[i] = regexp.MustCompile(`duration=\S+`).ReplaceAllString(lines[i], "duration=D")
	}
	const names, counts = `node=chat type=T model=asked`, `tool_calls=1 input_tokens=7 output_tokens=0`
	require.Equal(t, []string{
		`level=DEBUG msg="model call starts" ` + names,
		`level=DEBUG msg="model call starts" ` + names,
		`level=INFO msg="model call" node=chat type=T duration=D`,
		`level=INFO msg="model call" ` + names + ` duration=D streamed=true ` + counts + ` closed_early=true`,
		`level=WARN msg="model call" ` + names + ` duration=D streamed=true ` + counts + ` error_type=_OTHER`,
	}, lines)
}

// panicking is a handler of package slog that panics.
type panicking struct{ calls atomic.Int32 }

func (*panicking) Enabled(context.Context, slog.Level) bool { return true }
func (p *panicking) Handle(context.Context, slog.Record) error {
	p.calls.Add(1)
	panic("bad handler")
}
func (p *panicking) WithAttrs([]slog.Attr) slog.Handler { return p }
func (p *panicking) WithGroup(string) slog.Handler      { return p }

// A logger that panics harms neither the run nor the process, whichever goroutine calls it.
// Rule telemetry/OT-23.
func TestSlogHandler_SurvivesALoggerThatPanics(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			bad := &panicking{}
			agent := testAgent(t, "a", adktest.NewModel(t, adktest.Calls(adktest.Call("look", `{}`)), adktest.Says("done")),
				adktest.NewTool("look", adktest.Says("seen")))
			r := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent, EnableStreaming: streaming})
			adktest.Collect(t, r.Query(t.Context(), "hi", adk.WithCallbacks(NewSlogHandler(slog.New(bad), nil)))).ExpectText("done")
			synctest.Wait()
			require.EqualValues(t, 8, bad.calls.Load(), "starts and ends of the agent, two model calls and one tool call")
		})
	}
}

// Rule telemetry/OT-23.
func TestSlogHandler_SaysWhichAttemptACallIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log records
		agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "a", Description: "a",
			Model: adktest.NewModel(t, adktest.Fails(errors.New("x")), adktest.Says("done")),
			ModelRetryConfig: &adk.ModelRetryConfig{MaxRetries: 1,
				BackoffFunc: func(context.Context, int) time.Duration { return 0 }}})
		require.NoError(t, err)
		r := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent})
		handler := NewSlogHandler(log.logger(slog.LevelInfo), nil)
		adktest.Collect(t, r.Query(t.Context(), "hi", adk.WithCallbacks(handler))).ExpectText("done")
		synctest.Wait()
		require.Equal(t, []string{
			`level=INFO msg="agent run" agent=a duration=0s`,
			`level=INFO msg="model call" agent=a node=ChatModel type=Model attempt=2 duration=0s`,
			`level=WARN msg="model call" agent=a node=ChatModel type=Model duration=0s error_type=_OTHER`,
		}, log.lines())
	})
}
