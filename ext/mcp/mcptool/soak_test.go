package mcptool_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/ext/mcp/mcptool"
)

// The server is cut off every 50 ms: each call has a result or an error, and runs at most once.
// Rule mcp/MC32.
func TestServer_ThatDiesAllTheTimeLosesNoCall(t *testing.T) {
	var mu sync.Mutex // guards runs and cuts
	runs := map[string]int{}
	var cuts []func() error // of the connections that there were
	s := newServer()
	addTool(s, "work", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		mu.Lock()
		runs[string(r.Params.Arguments)]++
		mu.Unlock()
		time.Sleep(time.Millisecond)
		return says(string(r.Params.Arguments)), nil
	})
	srv := open(t, mcptool.Config{Transport: func(context.Context) (mcp.Transport, error) {
		here, cut, err := piped(s)
		mu.Lock()
		cuts = append(cuts, cut)
		mu.Unlock()
		return here, err
	}})
	work := named(t, srv, "work")
	length := time.Second
	if !testing.Short() {
		length = 2 * time.Second
	}
	stop := time.Now().Add(length)
	var good, failed atomic.Int32
	var all sync.WaitGroup
	for g := range 64 {
		all.Go(func() {
			for i := 0; time.Now().Before(stop); i++ {
				arguments := fmt.Sprintf(`{"g":%d,"i":%d}`, g, i)
				result, err := call(t.Context(), work, arguments)
				if err == nil && result.Parts[0].Text == arguments {
					good.Add(1)
					continue
				}
				failed.Add(1)
				if err == nil || !strings.Contains(err.Error(), "MCP server") {
					t.Errorf("%v %v", result, err)
				}
			}
		})
	}
	for time.Now().Before(stop) {
		time.Sleep(50 * time.Millisecond)
		mu.Lock()
		last := cuts[len(cuts)-1]
		mu.Unlock()
		_ = last()
	}
	all.Wait()
	require.Positive(t, good.Load())
	mu.Lock()
	defer mu.Unlock()
	require.Greater(t, len(cuts), 3)
	for arguments, n := range runs {
		require.Equal(t, 1, n, arguments)
	}
	t.Logf("%d calls succeeded, %d failed, over %d connections", good.Load(), failed.Load(), len(cuts))
}

// Rule mcp/MC29.
func TestProgress_IsEventsOfTheRun(t *testing.T) {
	s := newServer()
	addTool(s, "work", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		token, _ := r.Params.GetProgressToken().(string)
		if len(token) < 20 {
			return says("the token can be guessed"), nil
		}
		for i := range 500 {
			_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(i), Total: 499})
		}
		return says("done"), nil
	})
	srv := open(t, mcptool.Config{Transport: inProcess(s)})
	r := cashier(t, srv, adktest.NewStore(), adktest.Calls(adktest.Call("work", `{}`)), adktest.Says("ok").SeeingLast("tool work#call_1: done"))
	var seen []*mcptool.Progress
	for events := r.Query(t.Context(), "go"); ; {
		e, ok := events.Next()
		if !ok {
			break
		}
		require.NoError(t, e.Err)
		if e.Output != nil {
			if p, ok := e.Output.CustomizedOutput.(*mcptool.Progress); ok {
				seen = append(seen, p)
			}
		}
	}
	require.NotEmpty(t, seen)
	require.LessOrEqual(t, len(seen), 5)
	last := seen[len(seen)-1]
	require.Equal(t, &mcptool.Progress{Server: "s", Tool: "work", CallID: "call_1", Done: 499, Total: 499}, last)
}

// slowly takes its time for each line of a log.
type slowly struct{ slog.Handler }

func (s slowly) WithAttrs([]slog.Attr) slog.Handler     { return s }
func (slowly) Enabled(context.Context, slog.Level) bool { return true }

func (slowly) Handle(context.Context, slog.Record) error {
	time.Sleep(100 * time.Millisecond)
	return nil
}

// The SDK hands on the last notices of a call beside its result: here they wait behind a slow logger.
// Rule mcp/MC29.
func TestProgress_IsWholeWhenTheResultIsThere(t *testing.T) {
	s := newServer()
	addTool(s, "work", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		_ = r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "error", Data: "look"})
		for i := range 3 {
			_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: r.Params.GetProgressToken(), Progress: float64(i + 1), Total: 3})
		}
		return says("done"), nil
	})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	defer web.Close()
	for name, conf := range map[string]mcptool.Config{"messages": {Transport: inProcess(s)}, "HTTP": {URL: web.URL}} {
		t.Run(name, func(t *testing.T) {
			conf.Name, conf.Logger = "s", slog.New(slowly{slog.DiscardHandler})
			conf.Meta = func(context.Context) map[string]string {
				return map[string]string{"io.modelcontextprotocol/logLevel": "debug"}
			}
			r := cashier(t, open(t, conf), adktest.NewStore(), adktest.Calls(adktest.Call("work", `{}`)), adktest.Says("ok"))
			last := 0.0
			for e := range r.Query(t.Context(), "go").All() {
				require.NoError(t, e.Err)
				if e.Output == nil {
					continue
				}
				if p, ok := e.Output.CustomizedOutput.(*mcptool.Progress); ok {
					last = p.Done
				}
			}
			require.Equal(t, 3.0, last)
		})
	}
}

func TestLogs_AreBounded(t *testing.T) {
	s := newServer()
	addTool(s, "talk", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for range 200 {
			_ = r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "error", Data: strings.Repeat("x", 10_000)})
		}
		return says("done"), nil
	})
	var logged lockedBuffer
	srv := open(t, mcptool.Config{Transport: inProcess(s), Logger: slog.New(slog.NewTextHandler(&logged, nil)),
		Meta: func(context.Context) map[string]string {
			return map[string]string{"io.modelcontextprotocol/logLevel": "debug"}
		}})
	_, err := call(t.Context(), named(t, srv, "talk"), "{}")
	require.NoError(t, err)
	require.Greater(t, strings.Count(logged.String(), "an MCP server says"), 40)
	require.LessOrEqual(t, len(logged.String()), 51*5000)
}

// lockedBuffer is a buffer for several goroutines.
type lockedBuffer struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}
func (l *lockedBuffer) String() string { l.mu.Lock(); defer l.mu.Unlock(); return l.b.String() }

// Rule mcp/MC22.
func TestSampling_AsksTheModelWithinLimits(t *testing.T) {
	s := newServer()
	addTool(s, "sum", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if a, ok := r.Params.InputResponses["m"].(*mcp.CreateMessageWithToolsResult); ok && string(r.Params.Arguments) != `{"more":true}` {
			return says(a.Content[0].(*mcp.TextContent).Text), nil
		}
		return &mcp.CallToolResult{RequestState: "s", InputRequests: mcp.InputRequestMap{
			"m": &mcp.CreateMessageParams{MaxTokens: 5, SystemPrompt: "Add.", Messages: []*mcp.SamplingMessage{
				{Role: "user", Content: &mcp.TextContent{Text: "1+1"}}}}}}, nil
	})
	m := adktest.NewModel(t, adktest.Says("2").Seeing("system: Add.", "user: 1+1"), adktest.Says("2"))
	srv := open(t, mcptool.Config{Transport: inProcess(s), Sampling: &mcptool.Sampling{Model: m, MaxCalls: 1}})
	sum := named(t, srv, "sum")
	result, err := call(t.Context(), sum, "{}")
	require.NoError(t, err)
	require.Equal(t, "2", result.Parts[0].Text)
	_, err = call(t.Context(), sum, `{"more":true}`)
	require.ErrorContains(t, failure(t, err, mcptool.Protocol), "more than 1 times")
	refusing := open(t, mcptool.Config{Transport: inProcess(s), Sampling: &mcptool.Sampling{Model: m,
		Approve: func(context.Context, *mcp.CreateMessageWithToolsParams) (bool, error) { return false, nil }}})
	_, err = call(t.Context(), named(t, refusing, "sum"), "{}")
	require.ErrorContains(t, failure(t, err, mcptool.Unanswered), "Approve refused")
	broken := open(t, mcptool.Config{Transport: inProcess(s),
		Sampling: &mcptool.Sampling{Model: adktest.NewModel(t, adktest.Fails(errors.New("no money")))}})
	_, err = call(t.Context(), named(t, broken, "sum"), "{}")
	require.ErrorContains(t, failure(t, err, mcptool.Unanswered), "no money")
	require.NotContains(t, err.Error(), "refused")
}
