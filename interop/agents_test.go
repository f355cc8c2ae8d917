package interop

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/serve"
)

// Agents of others, whose model is an agent, call tools of their own: they send the whole history, and no ID of a response.
// Rules serving/OA3, serving/OA8.
func TestOpenAI_AgentsOfOthersCallTheirTools(t *testing.T) {
	for _, way := range []string{"agents", "agentsStream", "langchain"} {
		t.Run(way, func(t *testing.T) {
			_, url := serving(t, serve.Config{AllowClientTools: true}, bringing(), asOpenAI,
				adktest.Calls(adktest.Call("locate", `{"city":"Lisbon"}`), adktest.Call("locate", `{"city":"Porto"}`)),
				adktest.Says("There.").SeeingLast("tool locate#call_1: at Lisbon", "tool locate#call_2: at Porto"))
			require.Equal(t, "There.", agentsOf(t, way, url)["final"])
		})
	}
}

// The Agents SDK is asked in words, and by its own means if its agent has the server's tools to approve.
// Rule serving/OA8.
func TestOpenAI_AgentsSDKIsAsked(t *testing.T) {
	_, url := serving(t, serve.Config{}, asking(t), asOpenAI, adktest.Calls(adktest.Call("look", `{"a":1}`)))
	require.Contains(t, agentsOf(t, "agentsAsk", url)["final"], "look")

	_, url = serving(t, serve.Config{}, asking(t), asOpenAI, adktest.Calls(adktest.Call("look", `{"a":1}`)),
		adktest.Says("Sunny.").SeeingLast("tool look#call_1: sunny"))
	out := agentsOf(t, "agentsApprove", url)
	require.EqualValues(t, 1, out["asked"])
	require.Equal(t, "Sunny.", out["final"])
}

func agentsOf(t *testing.T, way, url string) map[string]any {
	t.Helper()
	return node(t, "@openai/agents", "agents.mjs", way, url)[0]
}
