package mcpserve_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/ext/mcp/mcpserve"
	"github.com/weftgo/weft/schema"
)

// Rule mcp/MS3.
func TestGraph_IsAToolOfItsInput(t *testing.T) {
	type pair struct {
		A int `json:"a"`
		B int `json:"b"`
	}
	chain := compose.NewChain[pair, map[string]int]()
	chain.AppendLambda(compose.InvokableLambda(func(_ context.Context, p pair) (map[string]int, error) {
		if p.A == 0 {
			return nil, errors.New("canary")
		}
		return map[string]int{"sum": p.A + p.B}, nil
	}))
	graph, err := chain.Compile(t.Context())
	require.NoError(t, err)
	s := newServer(t, mcpserve.Config{})
	require.NoError(t, mcpserve.AddGraph(t.Context(), s, "add", "Adds.", graph, mcpserve.ToolOptions{}))
	c := connect(t, s, mcpserve.HTTPOptions{}, nil)
	require.Equal(t, `{"sum":3}`, text(t, call(t, c, mcp.CallToolParams{Name: "add", Arguments: map[string]any{"a": 1, "b": 2}})))
	failed := call(t, c, mcp.CallToolParams{Name: "add", Arguments: map[string]any{}})
	require.True(t, failed.IsError)
	require.NotContains(t, text(t, failed), "canary")
}

// Both kinds of messages are served, and a run waits in a store for whichever process has the answer.
// Rules mcp/MS2, mcp/MS4.
func TestAgent_ContinuesInAnotherProcess(t *testing.T) {
	t.Run("messages", continues[*schema.Message])
	t.Run("agentic messages", continues[*schema.AgenticMessage])
}

func continues[M adk.MessageType](t *testing.T) {
	dir := t.TempDir()
	process := func(script ...adktest.Answer) *mcp.ClientSession {
		store, err := checkpoint.NewFileStore(dir)
		require.NoError(t, err)
		agent, err := adk.NewTypedChatModelAgent(t.Context(), &adk.TypedChatModelAgentConfig[M]{Name: "refund",
			Model: adktest.NewTypedModel[M](t, script...), ToolsConfig: adktest.Tools(clientTool(t))})
		require.NoError(t, err)
		s := newServer(t, mcpserve.Config{})
		runner := adk.NewTypedRunner(adk.TypedRunnerConfig[M]{Agent: agent, CheckPointStore: store})
		require.NoError(t, mcpserve.AddAgent(s, runner, mcpserve.AgentOptions{Name: "refund", Description: "Refunds."}))
		return connect(t, s, mcpserve.HTTPOptions{}, nil)
	}
	asked := call(t, process(adktest.Calls(adktest.Call("print", `{}`))), request)
	other := process(adktest.Says("done").SeeingLast("tool print#call_1: on paper"))
	require.Equal(t, "done", text(t, call(t, other, answered(t, asked, "accept", map[string]any{"text": "on paper"}))))
}

func clientTool(t *testing.T) tool.BaseTool {
	made, err := adk.NewClientTool(&schema.ToolInfo{Name: "print", Desc: "Prints."})
	require.NoError(t, err)
	return made
}

// A run stops when its client gives the call up, and says how far it is until then.
// Rule mcp/MS5.
func TestAgent_StopsWithItsCall(t *testing.T) {
	t.Parallel() // the grace of a run is five seconds
	began, ended := make(chan struct{}), make(chan struct{})
	pay := adktest.NewTool("work", adktest.Does(func(ctx context.Context, _ string) (string, error) {
		close(began)
		<-ctx.Done()
		close(ended)
		return "", ctx.Err()
	}))
	s := desk(t, mcpserve.Config{}, pay, adktest.Calls(adktest.Call("work", `{}`)))
	h, err := s.Handler(mcpserve.HTTPOptions{Sessions: true})
	require.NoError(t, err)
	server := httptest.NewServer(h)
	defer server.Close()
	var mu sync.Mutex // guards said
	var said []string
	c := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			mu.Lock()
			defer mu.Unlock()
			said = append(said, r.Params.Message)
		}})
	session, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: server.URL}, nil)
	require.NoError(t, err)
	defer session.Close()
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		own := request
		own.Meta = mcp.Meta{"progressToken": "p"}
		_, err := session.CallTool(ctx, &own)
		gone <- err
	}()
	<-began
	require.Eventually(t, func() bool { mu.Lock(); defer mu.Unlock(); return len(said) == 2 }, 5*time.Second, time.Millisecond)
	require.Equal(t, []string{"refund works", "refund calls work"}, said)
	cancel()
	require.Error(t, <-gone)
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		require.Fail(t, "the tool still runs")
	}
}

// Clients of older protocols are asked within the call, in a session.
// Rule mcp/MS4.
func TestAgent_AsksOlderClientsWithinTheCall(t *testing.T) {
	pay := adktest.NewTool("pay", adktest.Says("paid"))
	s := desk(t, mcpserve.Config{}, pay, adktest.Calls(adktest.Call("pay", `{}`)), adktest.Says("done").SeeingLast("tool pay#call_1: paid"))
	h, err := s.Handler(mcpserve.HTTPOptions{Sessions: true})
	require.NoError(t, err)
	server := httptest.NewServer(h)
	defer server.Close()
	c := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": true}}, nil
		}})
	session, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: server.URL},
		&mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	require.NoError(t, err)
	defer session.Close()
	require.Equal(t, "done", text(t, call(t, session, request)))
	require.Len(t, pay.Calls(), 1)
}

// Clients of older protocols are asked as often as the agent asks, within the one call.
// Rule mcp/MS4.
func TestAgent_AsksOlderClientsMoreThanOnce(t *testing.T) {
	pay := adktest.NewTool("pay", adktest.Says("paid").Repeated())
	s := desk(t, mcpserve.Config{MaxRuns: 1}, pay, adktest.Calls(adktest.Call("pay", `{"n":1}`)),
		adktest.Calls(adktest.Call("pay", `{"n":2}`)), adktest.Says("done"))
	h, err := s.Handler(mcpserve.HTTPOptions{Sessions: true})
	require.NoError(t, err)
	server := httptest.NewServer(h)
	defer server.Close()
	var asked []string
	c := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true}, // which others do not have
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked = append(asked, r.Params.Message)
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": true}}, nil
		}})
	session, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: server.URL},
		&mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	require.NoError(t, err)
	defer session.Close()
	require.Equal(t, "done", text(t, call(t, session, request)))
	require.Equal(t, []string{`May pay run with {"n":1}?`, `May pay run with {"n":2}?`}, asked)
	require.Len(t, pay.Calls(), 2)
}

// Rule mcp/MS5.
func TestAgent_SaysWhichToolsBeginAndEnd(t *testing.T) {
	for name, with := range map[string]func(t *testing.T, s *mcpserve.Server){
		"messages": serveLooker[*schema.Message], "agentic messages": serveLooker[*schema.AgenticMessage]} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, mcpserve.Config{})
			with(t, s)
			h, err := s.Handler(mcpserve.HTTPOptions{})
			require.NoError(t, err)
			server := httptest.NewServer(h)
			defer server.Close()
			said := make(chan string, 10)
			c := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
				ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
					said <- r.Params.Message
				}})
			session, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: server.URL}, nil)
			require.NoError(t, err)
			defer session.Close()
			p := says("?", "")
			p.Meta = mcp.Meta{"progressToken": "p"}
			require.Equal(t, "done", text(t, call(t, session, p)))
			for _, want := range []string{"a works", "a calls look", "look has ended"} {
				require.Equal(t, want, <-said)
			}
		})
	}
}

func serveLooker[M adk.MessageType](t *testing.T, s *mcpserve.Server) {
	agent, err := adk.NewTypedChatModelAgent(t.Context(), &adk.TypedChatModelAgentConfig[M]{Name: "a", Description: "a",
		Model:       adktest.NewTypedModel[M](t, adktest.Calls(adktest.Call("look", "{}")), adktest.Says("done")),
		ToolsConfig: adktest.Tools(adktest.NewTool("look", adktest.Says("seen")))})
	require.NoError(t, err)
	require.NoError(t, mcpserve.AddAgent(s, adk.NewTypedRunner(adk.TypedRunnerConfig[M]{Agent: agent}),
		mcpserve.AgentOptions{Name: "clerk", Description: "a"}))
}
