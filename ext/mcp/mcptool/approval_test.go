package mcptool_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/middlewares/approval"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/ext/mcp/mcptool"
)

// shop is a server with a tool that says it is harmless, one that says nothing, and one that drops the latter.
func shop(t *testing.T) *mcptool.Server {
	s := newServer()
	no := false
	s.AddTool(&mcp.Tool{Name: "read", InputSchema: json.RawMessage(anyObject),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, answers("42"))
	addTool(s, "drop", answers("dropped"))
	srv := open(t, mcptool.Config{Transport: inProcess(s)})
	s.AddTool(&mcp.Tool{Name: "hide", InputSchema: json.RawMessage(anyObject),
		Annotations: &mcp.ToolAnnotations{DestructiveHint: &no}},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			s.RemoveTools("drop")
			return says("hidden"), nil
		})
	return srv
}

// expectAsked has a run with the tools of a server make some calls, and stop before the last of them or not. A tool of
// its own, wait, waits until the server lists no tool drop.
func expectAsked(t *testing.T, want bool, srv *mcptool.Server, of []*mcptool.Server, calls ...string) {
	t.Helper()
	approve, err := approval.New(t.Context(), &approval.Config{Ask: mcptool.AskDestructive(of...)})
	require.NoError(t, err)
	var script []adktest.Answer
	for _, name := range calls {
		script = append(script, adktest.Calls(adktest.Call(name, "{}")))
	}
	if !want {
		script = append(script, adktest.Says("done"))
	}
	conf := &adk.ChatModelAgentConfig{Name: "clerk", Model: adktest.NewModel(t, script...),
		Handlers: []adk.ChatModelAgentMiddleware{srv.Middleware(), approve},
		ToolsConfig: adktest.Tools(adktest.NewTool("wait", adktest.Does(func(context.Context, string) (string, error) {
			require.Eventually(t, func() bool { return !slices.Contains(names(t, srv), "drop") }, 5*time.Second, time.Millisecond)
			return "gone", nil
		})))}
	conf.ToolsConfig.ToolAliases = map[string]compose.ToolAliasConfig{
		"drop": {NameAliases: []string{"erase"}}, "read": {NameAliases: []string{"look"}}}
	agent, err := adk.NewChatModelAgent(t.Context(), conf)
	require.NoError(t, err)
	r := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent, CheckPointStore: adktest.NewStore()})
	all := adktest.Collect(t, r.Query(t.Context(), "hi", adk.WithCheckPointID("1"))).ExpectNoError().All()
	last := all[len(all)-1].Action
	require.Equal(t, want, last != nil && last.Interrupted != nil)
	if want {
		asked := last.Interrupted.InterruptContexts[0].Info.(*approval.Request)
		require.Equal(t, calls[len(calls)-1], asked.Tool)
	}
}

// Whether to ask is decided by what the run has: not by what the server lists meanwhile, nor by whether it is there.
// Rule mcp/MC15.
func TestAskDestructive_GoesByTheToolsOfTheRun(t *testing.T) {
	down, err := mcptool.New(mcptool.Config{Name: "down", Transport: func(context.Context) (mcp.Transport, error) {
		return nil, errors.New("down")
	}})
	require.NoError(t, err)
	defer func() { _ = down.Close() }()
	for name, c := range map[string]struct {
		calls []string
		want  bool
	}{
		"harmless":               {[]string{"read"}, false},
		"harmless, by its alias": {[]string{"look"}, false},
		"says nothing":           {[]string{"drop"}, true},
		"by its alias":           {[]string{"erase"}, true},
		"not listed any more":    {[]string{"hide", "wait", "drop"}, true},
		"of nobody's server":     {[]string{"hide", "wait"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			srv := shop(t)
			expectAsked(t, c.want, srv, []*mcptool.Server{down, srv}, c.calls...)
		})
	}
	expectAsked(t, true, shop(t), nil, "drop")
	expectAsked(t, false, shop(t), []*mcptool.Server{down}, "drop") // of another server
}

// What cannot be judged is asked for.
// Rule mcp/MC15.
func TestAskDestructive_AsksForWhatIsUnknown(t *testing.T) {
	asks, err := mcptool.AskDestructive()(t.Context(), &adk.ToolContext{Name: "read"}, "{}")
	require.NoError(t, err)
	require.True(t, asks, "outside of a run")
}
