package mcpserve_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/conversation"
	"github.com/weftgo/weft/ext/mcp/mcpserve"
	"github.com/weftgo/weft/schema"
)

// chatty serves an agent with threads, and with a tool that only its client can run.
func chatty(t *testing.T, script ...adktest.Answer) *mcpserve.Server {
	t.Helper()
	store := checkpoint.NewMemoryStore()
	threads, err := conversation.NewStore(store)
	require.NoError(t, err)
	agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "clerk", Description: "a",
		Model: adktest.NewModel(t, script...), ToolsConfig: adktest.Tools(clientTool(t))})
	require.NoError(t, err)
	s := newServer(t, mcpserve.Config{})
	runner := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent, CheckPointStore: store})
	require.NoError(t, mcpserve.AddAgent(s, runner, mcpserve.AgentOptions{Name: "clerk", Description: "Works.", Conversations: threads}))
	return s
}

func says(request, thread string) mcp.CallToolParams {
	arguments := map[string]any{"request": request}
	if thread != "" {
		arguments["thread"] = thread
	}
	return mcp.CallToolParams{Name: "clerk", Arguments: arguments}
}

// A call continues what was said in its thread, by the same principal.
// Rule mcp/MS2.
func TestAgent_ContinuesThreads(t *testing.T) {
	s := chatty(t, adktest.Says("hello ann").Seeing("user: I am Ann"),
		adktest.Says("Ann").Seeing("user: I am Ann", "assistant: hello ann", "user: who am I?"),
		adktest.Says("no idea").Seeing("user: who am I?"), adktest.Says("no idea").Seeing("user: who am I?"),
		adktest.Says("no idea").Seeing("user: who am I?"))
	o := mcpserve.HTTPOptions{Verify: func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		return &auth.TokenInfo{UserID: token, Expiration: time.Now().Add(time.Hour)}, nil
	}}
	ann := connect(t, s, o, &http.Client{Transport: bearer("ann")})
	bob := connect(t, s, o, &http.Client{Transport: bearer("bob")})
	require.Equal(t, "hello ann", text(t, call(t, ann, says("I am Ann", "t1"))))
	require.Equal(t, "Ann", text(t, call(t, ann, says("who am I?", "t1"))))
	require.Equal(t, "no idea", text(t, call(t, ann, says("who am I?", "t2"))))
	require.Equal(t, "no idea", text(t, call(t, ann, says("who am I?", ""))))
	require.Equal(t, "no idea", text(t, call(t, bob, says("who am I?", "t1"))))
	for _, bad := range []map[string]any{{"request": "x", "thread": "a/b"}, {"request": "x", "Thread": "a/b"}} {
		require.True(t, call(t, ann, mcp.CallToolParams{Name: "clerk", Arguments: bad}).IsError, "%v", bad)
	}
}

// A thread that waits for an answer takes no other call, and continues with the answer.
// Rules mcp/MS2, mcp/MS4.
func TestAgent_AThreadWaitsForItsAnswer(t *testing.T) {
	s := chatty(t, adktest.Calls(adktest.Call("print", `{}`)), adktest.Says("printed").SeeingLast("tool print#call_1: on paper"),
		adktest.Says("yes").SeeingLast("assistant: printed", "user: did you?"))
	c := connect(t, s, mcpserve.HTTPOptions{}, nil)
	first := says("print it", "t1")
	asked := call(t, c, first)
	busy := call(t, c, says("hurry", "t1"))
	require.True(t, busy.IsError)
	require.Contains(t, text(t, busy), "has not ended")
	again := answered(t, asked, "accept", map[string]any{"text": "on paper"})
	again.Name, again.Arguments = first.Name, first.Arguments
	require.Equal(t, "printed", text(t, call(t, c, again)))
	require.Equal(t, "yes", text(t, call(t, c, says("did you?", "t1"))))
}

func TestAddAgent_RefusesThreadsWhereThereCanBeNone(t *testing.T) {
	threads, err := conversation.NewStore(checkpoint.NewMemoryStore())
	require.NoError(t, err)
	agentic, err := adk.NewTypedChatModelAgent(t.Context(), &adk.TypedChatModelAgentConfig[*schema.AgenticMessage]{Name: "a",
		Description: "a", Model: adktest.NewTypedModel[*schema.AgenticMessage](t)})
	require.NoError(t, err)
	o := mcpserve.AgentOptions{Name: "a", Description: "a", Conversations: threads}
	require.ErrorContains(t, mcpserve.AddAgent(newServer(t, mcpserve.Config{}),
		adk.NewTypedRunner(adk.TypedRunnerConfig[*schema.AgenticMessage]{Agent: agentic}), o), "ordinary messages")
	plain, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "a", Description: "a", Model: adktest.NewModel(t)})
	require.NoError(t, err)
	o.Input = schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{"q": {Type: schema.String}})
	require.ErrorContains(t, mcpserve.AddAgent(newServer(t, mcpserve.Config{}),
		adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: plain}), o), "not both")
}

// The result is what the run ends with: the last answer, also an empty one, or the result of a tool that ends it.
// Rule mcp/MS2.
func TestAgent_TheResultIsWhatTheRunEndsWith(t *testing.T) {
	for want, c := range map[string]struct {
		directly bool
		script   []adktest.Answer
	}{
		"seen": {true, []adktest.Answer{adktest.Says("let me look").Calling(adktest.Call("look", "{}"))}},
		"":     {false, []adktest.Answer{adktest.Calls(adktest.Call("look", "{}")), adktest.Says("")}},
		"done": {false, []adktest.Answer{adktest.Says("let me look").Calling(adktest.Call("look", "{}")), adktest.Says("done")}},
	} {
		tools := adktest.Tools(adktest.NewTool("look", adktest.Says("seen")))
		if c.directly {
			tools.ReturnDirectly = map[string]bool{"look": true}
		}
		agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "a", Description: "a",
			Model: adktest.NewModel(t, c.script...), ToolsConfig: tools})
		require.NoError(t, err)
		s := newServer(t, mcpserve.Config{})
		require.NoError(t, mcpserve.AddAgent(s, adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent}),
			mcpserve.AgentOptions{Name: "clerk", Description: "a"}))
		require.Equal(t, want, text(t, call(t, connect(t, s, mcpserve.HTTPOptions{}, nil), says("?", ""))))
	}
}
