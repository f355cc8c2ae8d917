package interop

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/schema"
	"github.com/weftgo/weft/serve"
	"github.com/weftgo/weft/serve/agui"
)

// asAGUI serves AG-UI.
func asAGUI(srv *serve.Server) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/agui/{agent}", agui.Handler(srv, agui.Config{AllowState: true}))
	return mux
}

// aguiClient has the client do something, and returns what it prints. Every event must be one of the protocol.
func aguiClient(t *testing.T, what, url string, args ...string) map[string]any {
	t.Helper()
	out := node(t, "@ag-ui/client", "agui.mjs", append([]string{what, url}, args...)...)[0]
	require.Empty(t, out["bad"])
	return out
}

func TestAGUI_ClientShowsTextThoughtsAndTools(t *testing.T) {
	_, url := serving(t, serve.Config{}, looking(), asAGUI,
		adktest.Messages(&schema.Message{Role: schema.Assistant, ReasoningContent: "Hmm. "}, &schema.Message{Role: schema.Assistant, ReasoningContent: "Look."},
			schema.AssistantMessage("Let me ", nil), schema.AssistantMessage("see.", nil)).Calling(adktest.Call("look", `{"a":1}`)),
		adktest.Streams("It is ", "sunny."), adktest.Says("Still."))
	out := aguiClient(t, "talk", url)
	require.Equal(t, []any{"user: Hi", "reasoning: Hmm. Look.", `assistant: Let me see. look{"a":1}`, "tool: sunny", "assistant: It is sunny.",
		"user: Again", "assistant: Still."}, out["messages"])
	require.Equal(t, "RUN_FINISHED", out["events"].([]any)[len(out["events"].([]any))-1])
}

// What an agent can do is of the form that the protocol has for it.
func TestAGUI_CapabilitiesAreThoseOfTheProtocol(t *testing.T) {
	inner, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "helper", Description: "helps",
		Model: adktest.NewModel(t)})
	require.NoError(t, err)
	conf := looking()
	conf.ToolsConfig.Tools = append(conf.ToolsConfig.Tools, adk.NewAgentTool(t.Context(), inner))
	_, url := serving(t, serve.Config{}, conf, func(srv *serve.Server) http.Handler {
		mux := http.NewServeMux()
		mux.Handle("/agui/{agent}/", agui.Handler(srv, agui.Config{}))
		return mux
	})
	all := aguiClient(t, "capabilities", url)["all"].(map[string]any)
	require.Len(t, all["tools"].(map[string]any)["items"], 2)
	require.Len(t, all["multiAgent"].(map[string]any)["subagents"], 1)
}

func TestAGUI_ClientApprovesAndRejects(t *testing.T) {
	for word, want := range map[string]string{"yes": "sunny", "no": "The user rejected this call of the tool. Do not try it again unless the user asks for it."} {
		_, url := serving(t, serve.Config{}, asking(t), asAGUI,
			adktest.Streams("Wait.").Calling(adktest.Call("look", `{}`)), adktest.Says("Done."))
		out := aguiClient(t, "approve", url, word)
		require.Equal(t, "tool_call", out["reason"])
		require.Equal(t, []any{"user: Look!", "assistant: Wait. look{}", "tool: " + want, "assistant: Done."}, out["messages"])
		require.NotContains(t, out["again"], "TOOL_CALL_START")
	}
}

// The question of a server is answered after another process has taken its place.
func TestAGUI_ClientApprovesAfterARestart(t *testing.T) {
	stored := storing(t)
	first, url := serving(t, stored(), asking(t), asAGUI, adktest.Streams("Wait.").Calling(adktest.Call("look", `{}`)))
	asked, err := json.Marshal(aguiClient(t, "ask", url))
	require.NoError(t, err)
	require.NoError(t, first.Shutdown(t.Context()))
	_, url = serving(t, stored(), asking(t), asAGUI, adktest.Says("Done."), adktest.Says("Still.").SeeingLast("user: And now?"))
	out := aguiClient(t, "answer", url, string(asked))
	require.Equal(t, []any{"user: Look!", "assistant: Wait. look{}", "tool: sunny", "assistant: Done.", "user: And now?", "assistant: Still."},
		out["messages"])
}

// A client that has to answer an approval and to carry out a call sends both at once.
func TestAGUI_ClientApprovesAndCarriesOutItsToolsAtOnce(t *testing.T) {
	conf := asking(t)
	conf.Handlers = append(conf.Handlers, serve.ClientTools())
	_, url := serving(t, serve.Config{AllowClientTools: true}, conf, asAGUI,
		adktest.Calls(adktest.Call("look", `{}`), adktest.Call("locate", `{}`)),
		adktest.Says("Done.").SeeingLast("tool look#call_1: sunny", "tool locate#call_2: 38.7"))
	messages := aguiClient(t, "both", url)["messages"].([]any)
	require.Equal(t, "assistant: Done.", messages[len(messages)-1])
}

// What does not count of an answer that is made again is gone from the client's messages.
func TestAGUI_ClientShowsWhatCountsOfARetry(t *testing.T) {
	conf := adk.ChatModelAgentConfig{ModelRetryConfig: &adk.ModelRetryConfig{MaxRetries: 1}}
	_, url := serving(t, serve.Config{}, conf, asAGUI, adktest.Streams("Half of ").ThenFails(errors.New("cut")),
		adktest.Streams("The ", "whole."), adktest.Says("Still."))
	require.Equal(t, []any{"user: Hi", "assistant: The whole.", "user: Again", "assistant: Still."}, aguiClient(t, "talk", url)["messages"])
}

func TestAGUI_ClientShowsAFailure(t *testing.T) {
	_, url := serving(t, serve.Config{}, looking(), asAGUI, adktest.Fails(errors.New("canary-1")))
	require.Equal(t, "something went wrong", aguiClient(t, "fail", url)["message"])
}

func TestAGUI_ClientCarriesOutItsTools(t *testing.T) {
	_, url := serving(t, serve.Config{AllowClientTools: true}, bringing(), asAGUI,
		adktest.Calls(adktest.Call("locate", `{}`)), adktest.Says("Lisbon.").SeeingLast("tool locate#call_1: 38.7"))
	out := aguiClient(t, "tools", url)
	require.Equal(t, []any{"user: Where?", "assistant: null locate{}", "tool: 38.7", "assistant: Lisbon."}, out["messages"])
}

// Sub-agents are shown as such, with their own messages.
func TestAGUI_ClientShowsSubAgents(t *testing.T) {
	inner, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "helper", Description: "helps",
		Model:       adktest.NewModel(t, adktest.Streams("I ", "help.").Calling(adktest.Call("look", `{}`)), adktest.Says("Helped.")),
		ToolsConfig: looking().ToolsConfig})
	require.NoError(t, err)
	_, url := serving(t, serve.Config{}, adk.ChatModelAgentConfig{ToolsConfig: adktest.Tools(adk.NewAgentTool(t.Context(), inner))}, asAGUI,
		adktest.Calls(adktest.Call("helper", `{"request":"x"}`)), adktest.Says("Done."), adktest.Says("Again."))
	out := aguiClient(t, "talk", url)
	require.Contains(t, out["events"], "SUBAGENT_STARTED")
	require.Contains(t, out["events"], "SUBAGENT_FINISHED")
	require.Contains(t, out["messages"], "assistant: Done.")
}

// A client of before 1.0 is shown neither sub-agents nor their texts.
func TestAGUI_ClientsOfBeforeAreServed(t *testing.T) {
	inner, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "helper", Description: "helps",
		Model: adktest.NewModel(t, adktest.Streams("I help."))})
	require.NoError(t, err)
	_, url := serving(t, serve.Config{}, adk.ChatModelAgentConfig{ToolsConfig: adktest.Tools(adk.NewAgentTool(t.Context(), inner))}, asAGUI,
		adktest.Calls(adktest.Call("helper", `{"request":"x"}`)), adktest.Says("Done."))
	out := aguiClient(t, "old", url)
	require.Equal(t, []any{"Done."}, out["messages"])
	require.NotContains(t, out["events"], "SUBAGENT_STARTED")
}

// A client of the last version before 1.0 reads text, calls and results.
func TestAGUI_TheClientOfBeforeIsServed(t *testing.T) {
	if _, err := os.Stat("node_modules/agui0"); err != nil {
		missing(t, "npm package agui0", installNPM)
	}
	_, url := serving(t, serve.Config{}, looking(), asAGUI, adktest.Streams("See. ").Calling(adktest.Call("look", `{"a":1}`)),
		adktest.Streams("It is ", "sunny."), adktest.Says("Still.").SeeingLast("user: Again"))
	out := aguiClient(t, "client0", url)
	require.Equal(t, []any{"user: Hi", "assistant: See. look", "tool: sunny", "assistant: It is sunny.", "user: Again", "assistant: Still."},
		out["messages"])
}

func TestAGUI_ClientSharesTheState(t *testing.T) {
	write, err := utils.InferTool("write", "Writes.", func(ctx context.Context, in struct {
		Line string `json:"line"`
	}) (string, error) {
		doc := map[string]any{}
		if _, err := agui.State(ctx, &doc); err != nil {
			return "", err
		}
		doc["lines"] = append(doc["lines"].([]any), in.Line)
		return "written", agui.SetState(ctx, doc)
	})
	require.NoError(t, err)
	_, url := serving(t, serve.Config{}, adk.ChatModelAgentConfig{ToolsConfig: adktest.Tools(tool.BaseTool(write))}, asAGUI,
		adktest.Calls(adktest.Call("write", `{"line":"two"}`)), adktest.Says("Done."))
	out := aguiClient(t, "state", url)
	require.Equal(t, []any{"one", "two"}, out["lines"])
	require.Contains(t, out["events"], "STATE_DELTA")
}
