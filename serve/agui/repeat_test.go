package agui

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/serve"
)

// folded has the messages of a client, made of events as clients of AG-UI make them: an event with the ID of a message
// that is there adds to that message.
type folded []map[string]any

func (f *folded) message(id, role string) map[string]any {
	for _, m := range *f {
		if m["id"] == id {
			return m
		}
	}
	m := map[string]any{"id": id, "role": role}
	*f = append(*f, m)
	return m
}

func (f *folded) add(t *testing.T, e event) {
	switch e.Type {
	case "TEXT_MESSAGE_START":
		f.message(e.MessageID, "assistant")
	case "TEXT_MESSAGE_CONTENT":
		m := f.message(e.MessageID, "assistant")
		text, _ := m["content"].(string)
		m["content"] = text + e.Delta.(string)
	case "TOOL_CALL_START":
		m := f.message(e.ParentMessageID, "assistant")
		calls, _ := m["toolCalls"].([]any)
		m["toolCalls"] = append(calls, map[string]any{"id": e.ToolCallID, "type": "function",
			"function": map[string]any{"name": e.ToolCallName, "arguments": ""}})
	case "TOOL_CALL_ARGS":
		for _, m := range *f {
			calls, _ := m["toolCalls"].([]any)
			for _, c := range calls {
				if c := c.(map[string]any); c["id"] == e.ToolCallID {
					function := c["function"].(map[string]any)
					function["arguments"] = function["arguments"].(string) + e.Delta.(string)
				}
			}
		}
	case "TOOL_CALL_RESULT":
		*f = append(*f, map[string]any{"id": e.MessageID, "role": "tool", "toolCallId": e.ToolCallID, "content": e.Content})
	case "MESSAGES_SNAPSHOT":
		data, err := json.Marshal(e.Messages)
		require.NoError(t, err)
		*f = nil
		require.NoError(t, json.Unmarshal(data, f))
	}
}

// after returns what the client shows when it has read n events more, all of them if n is negative.
func (f folded) after(t *testing.T, r *reader, n int) (after folded) {
	data, err := json.Marshal(f)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &after)) // a copy
	for i, e := range r.events {
		if i == n {
			break
		}
		after.add(t, e)
	}
	return after
}

func (f folded) body(run, more string) string {
	data, _ := json.Marshal([]map[string]any(f))
	return body(run, string(data[1:len(data)-1]), more)
}

// A client that sends a request again, wherever its stream was cut off, shows what the first one led to once: whether it
// sends the messages that it has by then, or the same bytes.
// Rule serving/AG5.
func TestHandler_ARequestThatIsSentAgainIsShownOnce(t *testing.T) {
	for _, protocol := range []string{"1.0", "0.0.59"} {
		agent, pay := guarded(t)
		d := newDesk(t, Config{}, serve.Config{Limits: serve.Limits{StartsPerMinute: 1 << 20}}, agent,
			adktest.Streams("Let ", "me.").Calling(adktest.Call("pay", `{"n":1}`)),
			adktest.Streams("Once ", "more.").Calling(adktest.Call("pay", `{"n":2}`)), adktest.Says("Done."))
		talk := func(f folded, run, more string) *reader {
			return d.talk(strings.Replace(f.body(run, more), `"protocolVersion":"1.0"`, `"protocolVersion":"`+protocol+`"`, 1))
		}
		asked := folded{{"id": "u1", "role": "user", "content": "Pay."}}
		first := talk(asked, "r1", "")
		want := asked.after(t, first, -1)
		for n := 0; n < len(first.events); n += 3 {
			cut := asked.after(t, first, n)
			require.Equal(t, want, cut.after(t, talk(cut, "r1", ""), -1), "start again after %d events, with what came", n)
			require.Equal(t, want, cut.after(t, talk(asked, "r1", ""), -1), "start again after %d events, the same bytes", n)
		}
		yes := func(r *reader) string {
			return fmt.Sprintf(`,"resume":[{"interruptId":%q,"status":"resolved","payload":{"approved":true}}]`, r.last().Outcome.Interrupts[0].ID)
		}
		asked = want
		second := talk(asked, "r2", yes(first))
		want = asked.after(t, second, -1)
		require.Len(t, second.last().Outcome.Interrupts, 1)
		for n := 0; n < len(second.events); n += 3 {
			cut := asked.after(t, second, n)
			require.Equal(t, want, cut.after(t, talk(cut, "r2", yes(first)), -1), "answer again after %d events, with what came", n)
			require.Equal(t, want, cut.after(t, talk(asked, "r2", yes(first)), -1), "answer again after %d events, the same bytes", n)
		}
		third := talk(want, "r3", yes(second))
		require.Equal(t, []string{"Done."}, third.shown())
		require.Len(t, pay.Calls(), 2)
	}
}
