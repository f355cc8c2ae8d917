package mcptool_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/ext/mcp/mcptool"
)

// stdio is the configuration of this binary as a program that serves.
func stdio(mode string, args ...string) mcptool.Config {
	return mcptool.Config{Command: append([]string{os.Args[0]}, args...), Env: []string{childMode + "=" + mode}}
}

func failure(t *testing.T, err error, kind mcptool.ErrorKind) *mcptool.CallError {
	t.Helper()
	var failed *mcptool.CallError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, kind, failed.Kind, "%v", err)
	require.NotContains(t, err.Error(), "\n")
	return failed
}

// Rule mcp/MC1.
func TestNew_RefusesBadConfigurations(t *testing.T) {
	for want, conf := range map[string]mcptool.Config{
		"Name is empty": {Command: []string{"x"}},
		"exactly one":   {Name: "s"},
		"exactly one ":  {Name: "s", Command: []string{"x"}, URL: "http://x"},
		"address":       {Name: "s", URL: "file:///x"},
		"need URL":      {Name: "s", Command: []string{"x"}, HTTPClient: http.DefaultClient},
		"need Command":  {Name: "s", URL: "http://x", Dir: "x"},
		"is empty":      {Name: "s", Command: []string{""}},
		"pattern":       {Name: "s", URL: "http://x", Include: []string{"["}},
		"negative":      {Name: "s", URL: "http://x", Timeout: -1},
		"Prefix":        {Name: "s", URL: "http://x", Prefix: "a.b"},
		"Model is nil":  {Name: "s", URL: "http://x", Sampling: &mcptool.Sampling{}},
	} {
		_, err := mcptool.New(conf)
		require.ErrorContains(t, err, strings.TrimSpace(want))
	}
}

// Rule mcp/MC4.
func TestCommand_IsStartedAgainWhenItDied(t *testing.T) {
	srv := open(t, stdio("server"))
	pid := named(t, srv, "pid")
	first, err := call(t.Context(), pid, "{}")
	require.NoError(t, err)
	number, err := strconv.Atoi(first.Parts[0].Text)
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(number, syscall.SIGKILL))
	require.Eventually(t, func() bool {
		second, err := call(t.Context(), pid, "{}")
		return err == nil && second.Parts[0].Text != first.Parts[0].Text
	}, 10*time.Second, 10*time.Millisecond)
}

// Rules mcp/MC3, mcp/MC5.
func TestCommand_ACallThatKillsItIsNotRepeated(t *testing.T) {
	srv := open(t, stdio("server"))
	_, err := call(t.Context(), named(t, srv, "die"), "{}")
	require.ErrorContains(t, failure(t, err, mcptool.OutcomeUnknown), "exit status 7, and said: out of ink")
}

// Rule mcp/MC3.
func TestCommand_GetsFewVariables(t *testing.T) {
	t.Setenv("SECRET_KEY", "canary")
	srv := open(t, stdio("server"))
	result, err := call(t.Context(), named(t, srv, "env"), "{}")
	require.NoError(t, err)
	require.NotContains(t, result.Parts[0].Text, "canary")
	require.Contains(t, result.Parts[0].Text, "PATH=")
}

// Rule mcp/MC3.
func TestCommand_GetsAllVariablesIfItIsTo(t *testing.T) {
	t.Setenv("SECRET_KEY", "canary")
	conf := stdio("server")
	conf.InheritEnv = true
	result, err := call(t.Context(), named(t, open(t, conf), "env"), "{}")
	require.NoError(t, err)
	require.Contains(t, result.Parts[0].Text, "canary")
}

func TestCommand_ThatCannotServeSaysWhy(t *testing.T) {
	conf := stdio("stubborn", "dies")
	srv := open(t, conf)
	err := srv.Ready(t.Context())
	require.ErrorContains(t, failure(t, err, mcptool.Connect), "exit status 3, and said: cannot find the database")
	srv = open(t, mcptool.Config{Command: []string{"/nowhere/program"}})
	failure(t, srv.Ready(t.Context()), mcptool.Connect)
}

func TestReady_DoesNotWaitForEver(t *testing.T) {
	conf := mcptool.Config{ConnectTimeout: 50 * time.Millisecond, Transport: func(context.Context) (mcp.Transport, error) {
		here, _ := mcp.NewInMemoryTransports()
		return here, nil
	}}
	failure(t, open(t, conf).Ready(t.Context()), mcptool.Connect)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := open(t, conf).Ready(ctx)
	failure(t, err, mcptool.Canceled)
	require.ErrorIs(t, err, context.Canceled)
}

func TestTransport_MistakesAreErrors(t *testing.T) {
	for want, f := range map[string]func(context.Context) (mcp.Transport, error){
		"nil":      func(context.Context) (mcp.Transport, error) { return nil, nil },
		"panic in": func(context.Context) (mcp.Transport, error) { panic("x") },
		"no way":   func(context.Context) (mcp.Transport, error) { return nil, errors.New("no way") },
	} {
		require.ErrorContains(t, failure(t, open(t, mcptool.Config{Transport: f}).Ready(t.Context()), mcptool.Connect), want)
	}
}

// Rule mcp/MC7.
func TestCall_EndsWithoutSignsOfLife(t *testing.T) {
	s := newServer()
	stop := make(chan struct{})
	defer close(stop)
	addTool(s, "sleep", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		<-stop
		return says("late"), nil
	})
	addTool(s, "work", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := range 10 {
			time.Sleep(40 * time.Millisecond)
			_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: r.Params.GetProgressToken(), Progress: float64(i)})
		}
		return says("done"), nil
	})
	srv := open(t, mcptool.Config{Transport: inProcess(s), Timeout: 200 * time.Millisecond})
	_, err := call(t.Context(), named(t, srv, "sleep"), "{}")
	require.ErrorContains(t, failure(t, err, mcptool.Timeout), "no sign of life for 200ms")
	result, err := call(t.Context(), named(t, srv, "work"), "{}")
	require.NoError(t, err)
	require.Equal(t, "done", result.Parts[0].Text)
	srv = open(t, mcptool.Config{Transport: inProcess(s), MaxTime: 200 * time.Millisecond})
	_, err = call(t.Context(), named(t, srv, "work"), "{}")
	require.ErrorContains(t, failure(t, err, mcptool.Timeout), "MaxTime")
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	_, err = call(ctx, named(t, srv, "sleep"), "{}")
	failure(t, err, mcptool.Canceled)
	require.ErrorIs(t, err, context.Canceled)
}

func TestClose_EndsCallsInFlight(t *testing.T) {
	s := newServer()
	began := make(chan struct{})
	addTool(s, "sleep", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		close(began)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	srv := open(t, mcptool.Config{Transport: inProcess(s)})
	sleep := named(t, srv, "sleep")
	ended := make(chan error)
	go func() {
		_, err := call(context.Background(), sleep, "{}")
		ended <- err
	}()
	<-began
	require.NoError(t, srv.Close())
	require.ErrorContains(t, <-ended, "was closed")
	_, err := call(t.Context(), sleep, "{}")
	failure(t, err, mcptool.Connect)
	require.NoError(t, srv.Close())
}

// Rule mcp/MC2.
func TestHeader_SeesTheContextOfTheCallAndStaysWithItsHost(t *testing.T) {
	type userKey struct{}
	s := newServer()
	addTool(s, "echo", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return says(r.Extra.Header.Get("Authorization")), nil
	})
	url := httpServer(t, s)
	header := func(ctx context.Context) (http.Header, error) {
		user, _ := ctx.Value(userKey{}).(string)
		return http.Header{"authorization": {"Bearer " + user}}, nil
	}
	srv := open(t, mcptool.Config{URL: url, Header: header})
	echo := named(t, srv, "echo")
	var all sync.WaitGroup
	for _, user := range []string{"ann", "bob", "cid"} {
		all.Go(func() {
			result, err := call(context.WithValue(t.Context(), userKey{}, user), echo, "{}")
			if err != nil || result.Parts[0].Text != "Bearer "+user {
				t.Errorf("%s: %v %v", user, result, err)
			}
		})
	}
	all.Wait()

	var leaked atomic.Bool
	thief := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		leaked.Store(leaked.Load() || r.Header.Get("Authorization") != "")
		w.WriteHeader(http.StatusNotFound)
	}))
	defer thief.Close()
	moved := httptest.NewServer(http.RedirectHandler(thief.URL, http.StatusTemporaryRedirect))
	defer moved.Close()
	require.Error(t, open(t, mcptool.Config{URL: moved.URL, Header: header}).Ready(t.Context()))
	require.False(t, leaked.Load())
	bad := open(t, mcptool.Config{URL: url, Header: func(context.Context) (http.Header, error) { panic("canary") }})
	require.ErrorContains(t, bad.Ready(t.Context()), "panic in Config.Header")
}

// cutting is a proxy that breaks connections after it has passed requests on.
func cutting(t *testing.T, to string, cut *atomic.Bool) string {
	p := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out, _ := http.NewRequestWithContext(r.Context(), r.Method, to, r.Body)
		out.Header = r.Header.Clone()
		response, err := http.DefaultClient.Do(out)
		if err == nil {
			defer response.Body.Close()
		}
		if err != nil || cut.Load() && r.Header.Get("Mcp-Method") == "tools/call" {
			cut.Store(false)
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", response.Header.Get("Content-Type"))
		w.WriteHeader(response.StatusCode)
		w.(http.Flusher).Flush()
		buffer := make([]byte, 1<<16)
		for {
			n, err := response.Body.Read(buffer)
			_, _ = w.Write(buffer[:n])
			w.(http.Flusher).Flush()
			if err != nil {
				return
			}
		}
	}))
	t.Cleanup(p.Close)
	return p.URL
}

// Rule mcp/MC5.
func TestCall_ThatMayHaveRunIsRepeatedOnlyIfAllowed(t *testing.T) {
	var runs atomic.Int32
	s := newServer()
	addTool(s, "pay", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		runs.Add(1)
		return says("paid"), nil
	})
	s.AddTool(&mcp.Tool{Name: "look", InputSchema: map[string]any{"type": "object"},
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			runs.Add(1)
			return says("seen"), nil
		})
	var cut atomic.Bool
	url := cutting(t, httpServer(t, s), &cut)
	wary := open(t, mcptool.Config{URL: url})
	trusting := open(t, mcptool.Config{URL: url, TrustAnnotations: true})
	knowing := open(t, mcptool.Config{URL: url, Idempotent: func(raw string) bool { return raw == "pay" }})
	for name, c := range map[string]struct {
		srv  *mcptool.Server
		tool string
		runs int32
	}{
		"pay": {wary, "pay", 1}, "a hint": {wary, "look", 1}, "trusted hint": {trusting, "look", 2},
		"trusted without": {trusting, "pay", 1}, "known": {knowing, "pay", 2}, "known not": {knowing, "look", 1},
	} {
		tl := named(t, c.srv, c.tool)
		runs.Store(0)
		cut.Store(true)
		result, err := call(t.Context(), tl, "{}")
		require.Equal(t, c.runs, runs.Load(), name)
		if c.runs == 2 {
			require.NoError(t, err, name)
			require.NotEmpty(t, result.Parts[0].Text)
			continue
		}
		failure(t, err, mcptool.OutcomeUnknown)
	}
}

// Rules mcp/MC4, mcp/MC5.
func TestCall_IsSentAgainWhenTheServerHasLostTheSession(t *testing.T) {
	var runs atomic.Int32
	s := newServer()
	addTool(s, "pay", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		runs.Add(1)
		return says("paid"), nil
	})
	var handler atomic.Pointer[http.Handler]
	fresh := func() {
		var h http.Handler = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
		handler.Store(&h)
	}
	fresh()
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*handler.Load()).ServeHTTP(w, r) }))
	defer h.Close()
	defer h.CloseClientConnections()
	srv := open(t, mcptool.Config{URL: h.URL})
	pay := named(t, srv, "pay")
	for i := range int32(3) {
		_, err := call(t.Context(), pay, "{}")
		require.NoError(t, err)
		require.Equal(t, i+1, runs.Load())
		fresh()
	}
	require.NoError(t, srv.Close())
	for session := range s.Sessions() {
		_ = session.Close()
	}
}

// What a server sends can make the SDK panic. That fails the call, and not the process.
func TestCall_SurvivesWhatTheSDKDoesNot(t *testing.T) {
	srv := open(t, mcptool.Config{Transport: scripted(func(method string, _ json.RawMessage) string {
		if method == "tools/list" {
			return `{"tools":[{"name":"t","inputSchema":{"type":"object"}},null]}`
		}
		return `{"resultType":"input_required","inputRequests":{"a":null}}`
	})})
	_, err := call(t.Context(), named(t, srv, "t"), "{}")
	require.ErrorContains(t, failure(t, err, mcptool.OutcomeUnknown), "cannot be read")
}
