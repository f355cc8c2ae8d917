package anthropic

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
	ub "github.com/weftgo/weft/utils/callbacks"
)

const (
	pausedCall = `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"a"},"caller":{"type":"direct"}}`
	pausedText = `{"type":"text","text":"Looking … ","citations":null}`
)

func searching(c *Config) { c.ServerTools = []ServerTool{WebSearch{}.Tool()} }

// streamedBlock are the events of a block that comes in a stream, in two pieces.
func pausedEvents() []string {
	return messageEvents("pause_turn", textEvents(0, "Looking ", "… "), []string{
		blockStart(1, `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{},"caller":{"type":"direct"}}`),
		blockDelta(1, `{"type":"input_json_delta","partial_json":"{\"query\":"}`), blockDelta(1, `{"type":"input_json_delta","partial_json":"\"a\"}"}`),
		blockStop(1),
	})
}

// Holds providers/A33 and providers/K36.
func TestPause_IsContinuedWithWhatCameSoFar(t *testing.T) {
	result := `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"web_search_tool_result_error","error_code":"unavailable"}}`
	for name, answers := range map[string][]string{
		"whole": {
			strings.Replace(answer("pause_turn", pausedText, pausedCall), `"stop_reason"`, `"container":{"id":"cont_1"},"stop_reason"`, 1),
			answer("pause_turn", result), answer("end_turn", `{"type":"text","text":"found"}`),
		},
		"streamed": {
			strings.Replace(sse(pausedEvents()...), `"stop_reason":"pause_turn"`, `"stop_reason":"pause_turn","container":{"id":"cont_1"}`, 1),
			sse(messageEvents("pause_turn", []string{blockStart(0, result), blockStop(0)})...), sse(messageEvents("end_turn", textEvents(0, "found"))...),
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := &recorder{answers: answers}
			m := newAgentic(t, r, searching)
			var got *schema.AgenticMessage
			var err error
			if name == "whole" {
				got, err = m.Generate(t.Context(), questionBlocks)
			} else {
				var sr *schema.StreamReader[*schema.AgenticMessage]
				sr, err = m.Stream(t.Context(), questionBlocks)
				require.NoError(t, err)
				got, err = readAll(t, sr)
			}
			require.NoError(t, err)
			require.Len(t, got.ContentBlocks, 4)
			require.Equal(t, "srvtoolu_1", got.ContentBlocks[1].ServerToolCall.CallID)
			require.Equal(t, map[string]any{"type": "web_search_tool_result_error", "error_code": "unavailable"}, got.ContentBlocks[2].ServerToolResult.Content)
			require.Equal(t, "found", got.ContentBlocks[3].AssistantGenText.Text)
			require.Equal(t, "end_turn", got.Extra["finish_reason"])
			require.Equal(t, 6, got.ResponseMeta.TokenUsage.PromptTokens)
			require.Len(t, kit.SplitObjects(got.Extra[kit.UsageRawKey].(string)), 3)

			require.Len(t, r.bodies, 3)
			require.NotContains(t, r.body(t, 0), "container")
			require.Equal(t, "cont_1", r.body(t, 1)["container"])
			for n, want := range map[int][]string{1: {pausedText, pausedCall}, 2: {pausedText, pausedCall, result}} {
				messages := r.body(t, n)["messages"].([]any)
				require.Len(t, messages, 2)
				sentBlocks, _ := json.Marshal(messages[1].(map[string]any)["content"])
				want[0] = strings.Replace(want[0], `,"citations":null`, "", 1)
				require.JSONEq(t, "["+strings.Join(want, ",")+"]", strings.Replace(string(sentBlocks), `"citations":null,`, "", 1))
			}
		})
	}
}

// Holds providers/A33.
func TestPause_EndsAtTheLimit(t *testing.T) {
	r := &recorder{answers: []string{answer("pause_turn", pausedCall)}}
	got, err := newAgentic(t, r, searching, func(c *Config) { c.MaxPauses = new(2) }).Generate(t.Context(), questionBlocks)
	require.NoError(t, err)
	require.Len(t, r.bodies, 3)
	require.Equal(t, kit.FinishPaused, kit.FinishOf(got))
	require.Len(t, got.ContentBlocks, 3)
	r = &recorder{answers: []string{answer("pause_turn", pausedCall)}}
	_, err = newAgentic(t, r, searching, func(c *Config) { c.MaxPauses = new(0) }).Generate(t.Context(), questionBlocks)
	require.NoError(t, err)
	require.Len(t, r.bodies, 1)
}

// Holds providers/A33: what the user does not see is one answer for callbacks, and an error ends it.
func TestPause_IsOneCallForCallbacks(t *testing.T) {
	r := &recorder{answers: []string{answer("pause_turn", pausedCall), answer("end_turn", `{"type":"text","text":"x"}`)}}
	var log []string
	handler := ub.NewHandlerHelper().AgenticModel(&ub.AgenticModelCallbackHandler{
		OnStart: func(ctx context.Context, _ *callbacks.RunInfo, in *model.AgenticCallbackInput) context.Context {
			require.Len(t, in.Tools, 1) // providers/K41
			log = append(log, "start")
			return ctx
		},
		OnEnd: func(ctx context.Context, _ *callbacks.RunInfo, out *model.AgenticCallbackOutput) context.Context {
			log = append(log, "end")
			require.Equal(t, 6, out.TokenUsage.TotalTokens)
			require.Equal(t, "claude-sonnet-4-20250514", out.Config.Model)
			require.Equal(t, 1000, out.Config.MaxTokens)
			return ctx
		},
	}).Handler()
	ctx := callbacks.InitCallbacks(t.Context(), nil, handler)
	_, err := newAgentic(t, r, searching).Generate(ctx, questionBlocks)
	require.NoError(t, err)
	require.Equal(t, []string{"start", "end"}, log)

	n := 0
	failing := roundTrip(func(req *http.Request) (*http.Response, error) {
		if n++; n == 1 {
			return whole(answer("pause_turn", pausedCall))(req)
		}
		return response(req, 529, "application/json", strings.NewReader(`{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`)), nil
	})
	_, err = newAgentic(t, failing, searching).Generate(t.Context(), questionBlocks)
	require.ErrorIs(t, err, kit.ErrOverloaded)
}
