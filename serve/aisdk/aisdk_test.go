package aisdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
	"github.com/weftgo/weft/serve"
)

// recorded returns the events of a run of an agent.
func recorded(t *testing.T, conf adk.ChatModelAgentConfig, replies ...adktest.Answer) (events []runlog.Event) {
	t.Helper()
	conf.Name, conf.Description, conf.Model = "desk", "helps", adktest.NewModel(t, replies...)
	agent, err := adk.NewChatModelAgent(t.Context(), &conf)
	require.NoError(t, err)
	log := runlog.New(runlog.Config{})
	defer func() { require.NoError(t, log.Close(context.Background())) }()
	runner := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent, EnableStreaming: true})
	for e := range runner.Query(t.Context(), "Hi", runlog.Observe(log, runlog.About{ID: "r"})...).All() {
		if e.Output != nil && e.Output.MessageOutput != nil && e.Output.MessageOutput.MessageStream != nil {
			for {
				if _, err := e.Output.MessageOutput.MessageStream.Recv(); err != nil {
					break
				}
			}
		}
	}
	for e, err := range log.Events(t.Context(), "r", runs.Cursor{}) {
		require.NoError(t, err)
		if events = append(events, e); e.Type == runlog.RunEnd {
			break
		}
	}
	return events
}

func looking() adk.ChatModelAgentConfig {
	return adk.ChatModelAgentConfig{ToolsConfig: adktest.Tools(adktest.NewTool("look", adktest.Says("sunny").Repeated()))}
}

// Rule serving/AS1.
func TestTranslator_KeepsTheOrderWhereverARunEnds(t *testing.T) {
	retry := adk.ChatModelAgentConfig{ModelRetryConfig: &adk.ModelRetryConfig{MaxRetries: 1}}
	for name, events := range map[string][]runlog.Event{
		"tools": recorded(t, looking(), adktest.Messages(&schema.Message{Role: schema.Assistant, ReasoningContent: "Hmm."}, schema.AssistantMessage("See.", nil)).
			Calling(adktest.Call("look", `{"a":1}`), adktest.Call("look", `{"a":2}`)), adktest.Streams("It is ", "sunny.")),
		"fails":   recorded(t, looking(), adktest.Streams("Half").ThenFails(errors.New("cut"))),
		"retries": recorded(t, retry, adktest.Streams("Half").ThenFails(errors.New("cut")), adktest.Says("Whole.")),
		"damaged": recorded(t, adk.ChatModelAgentConfig{}, adktest.Says("Fine.")),
	} {
		for _, version := range []int{6, 7} {
			for cut := 1; cut <= len(events); cut++ {
				for _, status := range []runs.Status{runs.Paused, runs.Failed, runs.Waiting} {
					r := newReader(version, nil)
					tr := newTranslator("r", "m", Config{Version: version}, r.must(t))
					for i := range events[:cut] {
						tr.add(&events[i])
					}
					if !r.ended {
						tr.add(&runlog.Event{Type: runlog.RunEnd, Data: &runlog.RunEndData{Status: status}})
					}
					require.True(t, r.ended, "%s, cut at %d", name, cut)
				}
			}
		}
	}
}

func TestHandler_RefusesVersionsThatItDoesNotSpeak(t *testing.T) {
	require.PanicsWithValue(t, "aisdk: Config.Version is 6 or 7, and not 5", func() { Handler(nil, "desk", Config{Version: 5}) })
}

func TestInput_MakesTheHistoryOfATrustedPage(t *testing.T) {
	var in input
	require.NoError(t, json.Unmarshal([]byte(`{"messages":[{"role":"user","parts":[{"type":"text","text":"Hi"},{"type":"file","url":"data:image/png;base64,AA==","mediaType":"image/png"}]},
		{"role":"assistant","parts":[{"type":"step-start"},{"type":"reasoning","text":"hm"},{"type":"text","text":"See."},{"type":"dynamic-tool","toolName":"look","toolCallId":"c","state":"output-available","input":{"a":1},"output":"sunny"},{"type":"step-start"},{"type":"text","text":"Sunny."}]}]}`), &in))
	messages, err := in.History(false)
	require.NoError(t, err)
	var lines []string
	for _, m := range messages {
		lines = append(lines, fmt.Sprintf("%s %s %d %d", m.Role, m.Content, len(m.ToolCalls), len(m.UserInputMultiContent)))
	}
	require.Equal(t, []string{"user  0 2", "assistant See. 1 0", "tool sunny 0 0", "assistant Sunny. 0 0"}, lines)
}

func FuzzInput(f *testing.F) {
	for _, seed := range []string{`{"id":"c","messages":[{"role":"user","parts":[{"type":"text","text":"x"},{"type":"file","url":"data:a/b;base64,AA=="}]}]}`,
		`{"messages":[{"role":"assistant","parts":[{"type":"tool-x","state":"approval-responded","approval":{"id":"p","approved":true}},{"type":"dynamic-tool","toolCallId":"a~2","state":"output-error","errorText":"x"}]}]}`,
		`{"messages":[{"role":"assistant","parts":[{"type":"tool-x","toolCallId":"a~10","state":"output-available","output":1},{"type":"tool-x","toolCallId":"a","state":"output-available"},{"type":"tool-x","toolCallId":"a~0"}]}]}`,
		`{"messages":[{"role":"assistant","parts":[{"state":"approval-responded","state":"x","approval":{"id":"p","approved":true}}]}]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		in := &input{}
		var err error
		if json.Unmarshal(data, in) != nil || len(in.Messages) == 0 {
			return
		}
		if in.decisions, err = readDecisions(data); err != nil {
			return
		}
		_, _, _ = in.Fresh()
		_, _ = in.History(true)
		run, err := in.replaced(func(yield func(serve.ThreadMessage, error) bool) {
			_ = yield(serve.ThreadMessage{Run: "r_1"}, nil) && yield(serve.ThreadMessage{Run: "r_2"}, nil)
		})
		require.True(t, err != nil || slices.Contains([]string{"", "r_1", "r_2"}, run))
		for _, a := range in.answers([]runs.Question{{ID: "p", Kind: "approval"}, {ID: "c", Kind: "client_tool", Info: json.RawMessage(`{"call_id":"a"}`)}}) {
			require.True(t, json.Valid(a))
		}
	})
}
