package serve

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// newAgenticDesk serves an agent on agentic messages, which has no conversations.
func newAgenticDesk(t *testing.T, conf TypedConfig[*schema.AgenticMessage], replies ...adktest.Answer) *desk {
	t.Helper()
	look := &schema.ToolInfo{Name: "look", Desc: "Looks."}
	tool, err := adk.NewClientTool(look)
	require.NoError(t, err)
	agent, err := adk.NewTypedChatModelAgent(t.Context(), &adk.TypedChatModelAgentConfig[*schema.AgenticMessage]{
		Name: "desk", Description: "helps", ToolsConfig: adktest.Tools(tool),
		Model: adktest.NewTypedModel[*schema.AgenticMessage](t, replies...)})
	require.NoError(t, err)
	conf.Agents = []adk.TypedAgent[*schema.AgenticMessage]{agent}
	srv, err := NewTyped(conf)
	require.NoError(t, err)
	return deskOf(t, srv)
}

// A client that has the history finds the run of its thread that waits, and answers it, on a server that keeps no
// threads; in the thread one run is executed at a time.
// Rules serving/SV2, serving/SV3.
func TestServer_FindsRunsOfThreadsThatItDoesNotKeep(t *testing.T) {
	d := newAgenticDesk(t, TypedConfig[*schema.AgenticMessage]{TrustHistory: true}, adktest.Calls(adktest.Call("look", `{}`)),
		adktest.Says("A cat."), adktest.Says("A dog.").Seeing("user: What?", "assistant: A cat.", "user: And now?"))
	require.False(t, d.srv.KeepsThreads())
	run := events(t, d.stream("POST", "/agents/desk/runs", `{"input":"What?","thread":"t"}`))[0].Run
	caller := &Caller{server: d.srv, principal: Principal{ID: "local"}}
	last, exists, err := caller.LastRun(t.Context(), "t")
	require.NoError(t, err)
	require.True(t, exists)
	require.Equal(t, run, last.ID)
	require.Equal(t, runs.Waiting, last.Status)
	require.Equal(t, "questions_open", d.refused(409, "POST", "/agents/desk/runs", `{"input":"Hello?","thread":"t"}`))
	open := d.call(200, "GET", "/questions?thread=t", "")["questions"].([]any)
	require.Len(t, open, 1)
	require.Empty(t, d.call(200, "GET", "/questions?thread=other", "")["questions"])
	answered, err := caller.Reply(t.Context(), run, ClientReplies(last.Questions, nil), true)
	require.Error(t, err, "nothing is answered")
	require.Empty(t, answered.ID)
	d.stream("POST", "/runs/"+run+"/replies", `{"replies":{"`+open[0].(map[string]any)["id"].(string)+`":{"text":"cat"}}}`)
	again := d.call(201, "POST", "/agents/desk/runs", `{"thread":"t","input":[{"role":"user","content":"What?"},
		{"role":"assistant","content":"A cat."},{"role":"user","content":"And now?"}]}`, "Prefer", "wait=10")
	require.Equal(t, "done", again["status"])
	require.Equal(t, "t", again["thread"])
	require.Len(t, d.call(200, "GET", "/runs?thread=t", "")["runs"], 2)
	require.Empty(t, d.call(200, "GET", "/runs?thread=u", "")["runs"])
	require.Equal(t, "bad_request", d.refused(400, "POST", "/agents/desk/runs", `{"thread":"t","replaces":"`+run+`"}`))
}

// A server that keeps no threads does not take a message for a whole conversation.
// Rule serving/SV3.
func TestServer_RefusesAThreadThatNobodyKeeps(t *testing.T) {
	d := newAgenticDesk(t, TypedConfig[*schema.AgenticMessage]{})
	require.Equal(t, "bad_request", d.refused(400, "POST", "/agents/desk/runs", `{"thread":"t","input":"Hello?"}`))
	require.Equal(t, "bad_request", d.refused(400, "GET", "/threads/t/messages", ""))
}

// A run whose client has the history leaves no conversation, on a server that keeps threads.
// Rule serving/SV3.
func TestCaller_StartsARunWhoseClientHasTheHistory(t *testing.T) {
	d := newDesk(t, Config{}, agentOf(t, adk.ChatModelAgentConfig{},
		adktest.Says("Two.").Seeing("user: 1?", "assistant: One.", "user: 2?"), adktest.Says("Three.").Seeing("user: 3?")))
	caller := &Caller{server: d.srv, principal: Principal{ID: "local"}}
	for _, messages := range [][]*schema.Message{
		{schema.UserMessage("1?"), schema.AssistantMessage("One.", nil), schema.UserMessage("2?")},
		{schema.UserMessage("3?")},
	} {
		run, err := caller.Start(t.Context(), Start{Agent: "desk", Thread: "t", Stateless: true, TrustHistory: true, Messages: messages})
		require.NoError(t, err)
		run, err = caller.Result(t.Context(), run.ID, 10*time.Second)
		require.NoError(t, err)
		require.Equal(t, runs.Done, run.Status)
		require.Equal(t, "t", run.Thread)
	}
	require.Empty(t, d.call(200, "GET", "/threads", "")["threads"])
}
