package aisdk

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/middlewares/approval"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/schema"
	"github.com/weftgo/weft/serve/internal/servetest"
)

// What runs of agents look like in each version.
func TestTranslator_ShowsRunsAsInTheGoldenFiles(t *testing.T) {
	retry := adk.ChatModelAgentConfig{ModelRetryConfig: &adk.ModelRetryConfig{MaxRetries: 1}}
	thought := &schema.Message{Role: schema.Assistant, ReasoningContent: "Hmm."}
	guard, err := approval.New(t.Context(), &approval.Config{Tools: []string{"look"}})
	require.NoError(t, err)
	asking := looking()
	asking.Handlers = []adk.ChatModelAgentMiddleware{guard}
	worker, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "worker", Description: "works",
		Model: adktest.NewModel(t, adktest.Streams("I ", "work."))})
	require.NoError(t, err)
	working := adk.ChatModelAgentConfig{ToolsConfig: adktest.Tools(adk.NewAgentTool(t.Context(), worker))}
	for name, events := range map[string][]runlog.Event{
		"tools": recorded(t, looking(), adktest.Messages(thought, schema.AssistantMessage("See.", nil)).
			Calling(adktest.Call("look", `{"a":1}`)), adktest.Streams("It is ", "sunny.")),
		"asks":    recorded(t, asking, adktest.Streams("Wait.").Calling(adktest.Call("look", `{}`))),
		"fails":   recorded(t, looking(), adktest.Streams("Half").ThenFails(errors.New("cut"))),
		"retries": recorded(t, retry, adktest.Streams("Half").ThenFails(errors.New("cut")), adktest.Says("Whole.")),
		"sub":     recorded(t, working, adktest.Calls(adktest.Call("worker", `{"request":"x"}`)), adktest.Says("Done.")),
	} {
		for _, version := range []string{"6", "7"} {
			var shown strings.Builder
			tr := newTranslator("r_1", "msg_1", Config{Version: int(version[0] - '0')}, func(c chunk) {
				data, err := json.Marshal(c)
				require.NoError(t, err)
				shown.Write(append(data, '\n'))
			})
			for i := range events {
				tr.add(&events[i])
			}
			servetest.RequireGolden(t, name+".v"+version+".golden", shown.String())
		}
	}
}
