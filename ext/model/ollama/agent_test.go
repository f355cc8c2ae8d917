package ollama_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/ext/model/kit/kittest"
	"github.com/weftgo/weft/ext/model/ollama"
)

// An agent calls a tool twice at once on a server as strict as Ollama, streamed and not.
func TestAgent_CallsTools(t *testing.T) {
	type place struct {
		City string `json:"city"`
	}
	weather, err := utils.InferTool("weather", "weather of a city",
		func(_ context.Context, p place) (string, error) { return "sunny in " + p.City, nil })
	require.NoError(t, err)
	calls := `{"model":"m","message":{"role":"assistant","content":"","thinking":"hm","tool_calls":[` +
		`{"function":{"name":"weather","arguments":{"city":"Rome"}}},` +
		`{"function":{"name":"weather","arguments":{"city":"Oslo"}}}]},"done":true,"done_reason":"stop"}`
	for _, streaming := range []bool{true, false} {
		first, second := kittest.JSON(calls), kittest.JSON(
			`{"model":"m","message":{"role":"assistant","content":"Sunny."},"done":true,"done_reason":"stop"}`)
		if streaming {
			first, second = kittest.NDJSON(calls), kittest.OllamaStream("Sun", "ny.")
		}
		server := kittest.Server(t, kittest.Ollama(), first, second)
		transport := new(http.Transport)
		t.Cleanup(transport.CloseIdleConnections)
		m, err := ollama.NewChatModel(t.Context(), &ollama.Config{
			BaseURL: server.URL, Model: "m", HTTPClient: &http.Client{Transport: transport},
		})
		require.NoError(t, err)
		agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{
			Name: "assistant", Description: "answers", Model: m,
			ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{weather}}},
		})
		require.NoError(t, err)
		runner := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent, EnableStreaming: streaming})
		last := ""
		for event := range runner.Query(t.Context(), "What is the weather in Rome and in Oslo?").All() {
			require.NoError(t, event.Err)
			msg, err := event.Output.MessageOutput.GetMessage()
			require.NoError(t, err)
			last = msg.Content
		}
		require.Equal(t, "Sunny.", last)
		requests := server.Requests()
		require.Len(t, requests, 2)
		var sent struct{ Messages []map[string]any }
		require.NoError(t, json.Unmarshal(requests[1].Body, &sent))
		require.Equal(t, "sunny in Rome", sent.Messages[2]["content"])
		require.Equal(t, "sunny in Oslo", sent.Messages[3]["content"])
	}
}
