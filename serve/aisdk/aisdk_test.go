package aisdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/schema"
	"github.com/weftgo/weft/serve"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorded is what happens in a run of an agent.
func recorded(t *testing.T, conf adk.ChatModelAgentConfig, replies ...adktest.Reply) (events []runlog.Event) {
	t.Helper()
	conf.Name, conf.Description, conf.Model = "desk", "helps", adktest.NewModel(t, replies...)
	agent, err := adk.NewChatModelAgent(t.Context(), &conf)
	require.NoError(t, err)
	log := runlog.New(runlog.Config{})
	defer func() { require.NoError(t, log.Close(context.Background())) }()
	runner := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent, EnableStreaming: true})
	for e := range runner.Query(t.Context(), "Hi", runlog.Observe(log, runlog.RunInfo{ID: "r"})...).All() {
		if e.Output != nil && e.Output.MessageOutput != nil && e.Output.MessageOutput.MessageStream != nil {
			for {
				if _, err := e.Output.MessageOutput.MessageStream.Recv(); err != nil {
					break
				}
			}
		}
	}
	for e, err := range log.Events(t.Context(), "r", runlog.Cursor{}) {
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

// order is what a page relies on.
type order struct {
	t     *testing.T
	begun bool
	over  bool
	step  bool
	part  string
	calls map[string]string
}

func (o *order) see(c chunk) {
	t := o.t
	t.Helper()
	data, err := json.Marshal(c)
	require.NoError(t, err)
	kind := c["type"].(string)
	require.False(t, o.over, "nothing follows the end: %s", data)
	require.Equal(t, kind == "start", !o.begun, "%s", data)
	o.begun = true
	id, _ := c["id"].(string)
	call, _ := c["toolCallId"].(string)
	switch kind {
	case "start-step":
		require.False(t, o.step)
		o.step = true
	case "finish-step":
		require.True(t, o.step)
		require.Empty(t, o.part, "parts end before their step")
		o.step = false
	case "text-start", "reasoning-start":
		require.True(t, o.step, "parts are in a step")
		require.Empty(t, o.part)
		o.part = id
	case "text-delta", "reasoning-delta":
		require.Equal(t, o.part, id)
		require.NotEmpty(t, c["delta"])
	case "text-end", "reasoning-end":
		require.Equal(t, o.part, id)
		o.part = ""
	case "tool-input-start":
		require.Empty(t, o.calls[call])
		o.calls[call] = "writing"
	case "tool-input-delta":
		require.Equal(t, "writing", o.calls[call])
	case "tool-input-available", "tool-input-error":
		require.Contains(t, []string{"", "writing"}, o.calls[call])
		o.calls[call] = "asked"
	case "tool-output-available", "tool-output-error", "tool-output-denied":
		require.Equal(t, "asked", o.calls[call], "%s", data)
		if c["preliminary"] == nil {
			o.calls[call] = "answered"
		}
	case "finish", "abort":
		require.False(t, o.step, "steps end before the message: %s", data)
		o.over = true
	}
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
				for _, status := range []runlog.Status{runlog.Cancelled, runlog.Failed, runlog.Interrupted} {
					o := &order{t: t, calls: map[string]string{}}
					tr := newTranslator("r", "m", Config{Version: version}, o.see)
					for i := range events[:cut] {
						tr.add(&events[i])
					}
					if !o.over {
						tr.add(&runlog.Event{Type: runlog.RunEnd, Data: &runlog.RunEndData{Status: status}})
					}
					require.True(t, o.over, "%s, cut at %d", name, cut)
				}
			}
		}
	}
}

// Rule serving/AS2.
func TestInput_ApprovesOnlyByTrue(t *testing.T) {
	q := serve.Question{ID: "p", Kind: "approval"}
	for _, bad := range []string{`"approved":null`, `"approved":"true"`, `"approved":1`, `"Approved":true`, `"approve":true`, `"approved":[true]`,
		`"approved":true,"approved":true`, `"approved":false,"approved":true`, `"approved":{}`, `"reason":"yes"`, `"approved ":true`} {
		p := uiPart{Type: "dynamic-tool", State: "approval-responded", Approval: json.RawMessage(`{"id":"p",` + bad + `}`)}
		if answer := p.answer(&q); answer != nil {
			require.NotContains(t, string(answer), `"approve":true`, bad)
		}
	}
	for _, state := range []string{"approval-requested", "output-available", "", "approved"} {
		p := uiPart{Type: "dynamic-tool", State: state, Approval: json.RawMessage(`{"id":"p","approved":true}`)}
		require.Nil(t, p.answer(&q), state)
	}
	p := uiPart{Type: "tool-pay", State: "approval-responded", Approval: json.RawMessage(`{"id":"other","approved":true}`)}
	require.Nil(t, p.answer(&q))
	p.Approval = json.RawMessage(`{"id":"p","approved":true,"reason":"ok"}`)
	require.JSONEq(t, `{"approve":true}`, string(p.answer(&q)))
}

func TestHandler_RefusesVersionsThatItDoesNotSpeak(t *testing.T) {
	require.PanicsWithValue(t, "aisdk: Config.Version is 6 or 7, and not 5", func() { Handler(nil, "desk", Config{Version: 5}) })
}

func TestInput_MakesTheHistoryOfATrustedPage(t *testing.T) {
	var in input
	require.NoError(t, json.Unmarshal([]byte(`{"messages":[{"role":"user","parts":[{"type":"text","text":"Hi"},{"type":"file","url":"data:image/png;base64,AA==","mediaType":"image/png"}]},
		{"role":"assistant","parts":[{"type":"step-start"},{"type":"reasoning","text":"hm"},{"type":"text","text":"See."},{"type":"dynamic-tool","toolName":"look","toolCallId":"c","state":"output-available","input":{"a":1},"output":"sunny"},{"type":"step-start"},{"type":"text","text":"Sunny."}]}]}`), &in))
	messages, err := in.history(false)
	require.NoError(t, err)
	var lines []string
	for _, m := range messages {
		lines = append(lines, fmt.Sprintf("%s %s %d %d", m.Role, m.Content, len(m.ToolCalls), len(m.UserInputMultiContent)))
	}
	require.Equal(t, []string{"user  0 2", "assistant See. 1 0", "tool sunny 0 0", "assistant Sunny. 0 0"}, lines)
}

func FuzzInput(f *testing.F) {
	for _, seed := range []string{`{"id":"c","messages":[{"role":"user","parts":[{"type":"text","text":"x"},{"type":"file","url":"data:a/b;base64,AA=="}]}]}`,
		`{"messages":[{"role":"assistant","parts":[{"type":"tool-x","state":"approval-responded","approval":{"id":"p","approved":true}},{"type":"dynamic-tool","toolCallId":"a~2","state":"output-error","errorText":"x"}]}]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		in := &input{}
		if json.Unmarshal(data, in) != nil || len(in.Messages) == 0 {
			return
		}
		_, _ = in.fresh()
		_, _ = in.history(true)
		for _, a := range in.answers([]serve.Question{{ID: "p", Kind: "approval"}, {ID: "c", Kind: "client_tool", Info: json.RawMessage(`{"call_id":"a"}`)}}) {
			require.True(t, json.Valid(a))
		}
	})
}
