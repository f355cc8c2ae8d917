package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
	"github.com/weftgo/weft/schema/claude"
)

// searchEvents are an answer with everything in it that streams have.
func searchEvents() []string {
	return messageEvents("end_turn",
		[]string{
			blockStart(0, `{"type":"thinking","thinking":"","signature":""}`), `{"type": "ping"}`,
			blockDelta(0, `{"type":"thinking_delta","thinking":"für \"dich\""}`),
			blockDelta(0, `{"type":"signature_delta","signature":"c2ln"}`), blockStop(0),
		},
		[]string{
			blockStart(1, `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{},"caller":{"type":"direct"}}`),
			blockDelta(1, `{"type":"input_json_delta","partial_json":""}`),
			blockDelta(1, `{"type":"input_json_delta","partial_json":"{\"query\":"}`),
			blockDelta(1, `{"type":"input_json_delta","partial_json":" \"töne\"}"}`), blockStop(1),
		},
		[]string{
			blockStart(2, `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result",`+
				`"title":"A & B","url":"https://x.test","encrypted_content":"ZW5j","page_age":null}]}`), blockStop(2),
		},
		textEvents(3, "It is ", "so: "),
		[]string{
			blockStart(4, `{"type":"text","text":"","citations":[]}`),
			blockDelta(4, `{"type":"citations_delta","citation":{"type":"web_search_result_location","cited_text":"c","url":"https://x.test","title":"A","encrypted_index":"aWR4"}}`),
			blockDelta(4, `{"type":"citations_delta","citation":{"type":"search_result_location","source":"s","search_result_index":0,"start_block_index":0,"end_block_index":1}}`),
			blockDelta(4, `{"type":"text_delta","text":"cited 日本 😀"}`), blockStop(4),
		},
		[]string{
			blockStart(5, `{"type":"tool_use","id":"toolu_1","name":"a","input":{}}`),
			blockDelta(5, `{"type":"input_json_delta","partial_json":""}`), blockStop(5),
		},
		[]string{
			blockStart(6, `{"type":"tool_use","id":"toolu_2","name":"b","input":{},"caller":{"type":"code_execution_20250825","tool_id":"srvtoolu_1"}}`),
			blockDelta(6, `{"type":"input_json_delta","partial_json":"{\"x\":"}`),
			blockDelta(6, `{"type":"input_json_delta","partial_json":"1}"}`), blockStop(6),
		},
		[]string{
			blockStart(7, `{"type":"compaction","content":"file_1","n":1.50}`), blockStop(7),
		},
	)
}

// Holds providers/A24, providers/A25, providers/A28, providers/A29, providers/A30, providers/K25 and providers/K26.
func TestStream_EverythingThatItMayHold(t *testing.T) {
	got, err := streamed(t, sse(searchEvents()...))
	require.NoError(t, err)
	b := got.ContentBlocks
	require.Len(t, b, 8)
	require.Equal(t, &schema.Reasoning{Text: `für "dich"`, Signature: "c2ln"}, b[0].Reasoning)
	require.Equal(t, &schema.ServerToolCall{Name: "web_search", CallID: "srvtoolu_1", Arguments: map[string]any{"query": "töne"}}, b[1].ServerToolCall)
	require.Equal(t, `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"töne"},"caller":{"type":"direct"}}`, b[1].Extra[RawBlockKey])
	require.Equal(t, &schema.ServerToolResult{Name: "web_search", CallID: "srvtoolu_1", Content: []any{map[string]any{
		"type": "web_search_result", "title": "A & B", "url": "https://x.test", "encrypted_content": "ZW5j",
	}}}, b[2].ServerToolResult)
	require.Contains(t, b[2].Extra[RawBlockKey], `"title":"A & B","url":"https://x.test","encrypted_content":"ZW5j","page_age":null`)
	require.Equal(t, "It is so: ", b[3].AssistantGenText.Text)
	require.Equal(t, "cited 日本 😀", b[4].AssistantGenText.Text)
	citations := b[4].AssistantGenText.ClaudeExtension.Citations
	require.Len(t, citations, 2)
	require.Equal(t, &claude.CitationWebSearchResultLocation{CitedText: "c", Title: "A", URL: "https://x.test", EncryptedIndex: "aWR4"}, citations[0].WebSearchResultLocation)
	require.EqualValues(t, "search_result_location", citations[1].Type)
	require.Equal(t, &schema.FunctionToolCall{CallID: "toolu_1", Name: "a", Arguments: "{}"}, b[5].FunctionToolCall)
	require.Equal(t, &schema.FunctionToolCall{CallID: "toolu_2", Name: "b", Arguments: `{"x":1}`}, b[6].FunctionToolCall)
	require.Equal(t, "compaction", b[7].ServerToolResult.Name)
	require.Equal(t, `{"type":"compaction","content":"file_1","n":1.50}`, b[7].Extra[RawBlockKey])
	require.Equal(t, "anthropic/api.anthropic.com/messages", got.Extra["origin"])
	require.Equal(t, "msg_1", got.ResponseMeta.ID)
	require.Equal(t, "m-1", got.ResponseMeta.Model)
	require.Equal(t, 9, got.ResponseMeta.TokenUsage.TotalTokens)
}

// sentBack holds the parts of the answer of searchEvents that are sent back.
const sentBack = `[{"type":"thinking","thinking":"für \"dich\"","signature":"c2ln"},` +
	`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"töne"},"caller":{"type":"direct"}},` +
	`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result",` +
	`"title":"A & B","url":"https://x.test","encrypted_content":"ZW5j","page_age":null}]},` +
	`{"type":"text","text":"It is so: "},` +
	`{"type":"text","text":"cited 日本 😀","citations":[{"type":"web_search_result_location","cited_text":"c","url":"https://x.test",` +
	`"title":"A","encrypted_index":"aWR4"},{"type":"search_result_location","source":"s","search_result_index":0,` +
	`"start_block_index":0,"end_block_index":1}]},` +
	`{"type":"tool_use","id":"toolu_1","name":"a","input":{}},` +
	`{"type":"tool_use","id":"toolu_2","name":"b","input":{"x":1},"caller":{"type":"code_execution_20250825","tool_id":"srvtoolu_1"}},` +
	`{"type":"compaction","content":"file_1","n":1.50}]`

// Holds providers/K23: an answer is the same, however it comes.
func TestStream_IsWhatGenerateReturns(t *testing.T) {
	body := `{"type":"message","id":"msg_1","model":"m-1","role":"assistant","content":` + sentBack +
		`,"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":2,"output_tokens":7}}`
	fromWhole, err := newAgentic(t, whole(body)).Generate(t.Context(), questionBlocks)
	require.NoError(t, err)
	fromStream, err := streamed(t, sse(searchEvents()...))
	require.NoError(t, err)
	require.Equal(t, fromWhole, fromStream)
	sr, err := newAgentic(t, whole(body)).Stream(t.Context(), questionBlocks) // providers/K19
	require.NoError(t, err)
	fromDocument, err := readAll(t, sr)
	require.NoError(t, err)
	for _, b := range fromDocument.ContentBlocks {
		require.NotNil(t, b.StreamingMeta)
		b.StreamingMeta = nil
	}
	require.Equal(t, fromWhole, fromDocument)
	inGenerate, err := newAgentic(t, streaming(sse(searchEvents()...))).Generate(t.Context(), questionBlocks)
	require.NoError(t, err)
	require.Equal(t, fromWhole, inGenerate)
}

// piecewise returns the bytes in pieces of random length.
type piecewise struct {
	data []byte
	rand *rand.Rand
}

func (p *piecewise) Read(b []byte) (int, error) {
	if len(p.data) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), 1+p.rand.IntN(40))], p.data)
	p.data = p.data[n:]
	return n, nil
}

// Holds providers/K23: pieces, line ends and the order of open blocks make no difference.
func TestStream_HoweverTheBytesAreSplit(t *testing.T) {
	body := sse(searchEvents()...)
	want, err := streamed(t, body)
	require.NoError(t, err)
	variants := map[string]string{
		"LF": body, "CRLF": strings.ReplaceAll(body, "\n", "\r\n"), "BOM": "\uFEFF" + body,
		"no names":    strings.Join(dataLines(body), "\n\n") + "\n\n",
		"no blanks":   strings.Join(dataLines(body), "\n") + "\n",
		"comments":    strings.ReplaceAll(body, "event:", ": padding\nevent:"),
		"pings":       strings.ReplaceAll(body, "event: content_block_delta", "data: {\"type\":\"ping\"}\n\nevent: content_block_delta"),
		"new events":  strings.ReplaceAll(body, "event: content_block_delta", "data: {\"type\":\"new_thing\",\"x\":1}\n\nevent: content_block_delta"),
		"more behind": body + sse(`{"type":"error","error":{"type":"overloaded_error","message":"late"}}`, stopEvent),
		"[DONE]":      body + "data: [DONE]\n\n",
	}
	for name, text := range variants {
		for seed := range uint64(10) {
			reader := &piecewise{[]byte(text), rand.New(rand.NewPCG(seed, 7))}
			sr, err := newAgentic(t, answering("text/event-stream", reader)).Stream(t.Context(), questionBlocks)
			require.NoError(t, err)
			got, err := readAll(t, sr)
			require.NoError(t, err, name)
			require.Equal(t, want, got, name)
		}
	}
}

func dataLines(body string) (lines []string) {
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, "data:") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// Holds providers/A28: blocks may be open side by side.
func TestStream_BlocksThatAreOpenSideBySide(t *testing.T) {
	got, err := streamed(t, sse(startEvent, blockStart(0, `{"type":"text","text":"a"}`),
		blockStart(1, `{"type":"tool_use","id":"t1","name":"x","input":{}}`), blockStart(2, `{"type":"tool_use","id":"t2","name":"y","input":{}}`),
		blockDelta(2, `{"type":"input_json_delta","partial_json":"{\"n\":"}`), blockDelta(0, `{"type":"text_delta","text":"b"}`),
		blockDelta(1, `{"type":"input_json_delta","partial_json":"{}"}`), blockDelta(2, `{"type":"input_json_delta","partial_json":"2}"}`),
		blockDelta(9, `{"type":"text_delta","text":"of nobody"}`), blockStop(9),
		blockStop(2), blockStop(0), blockStop(1), endEvent("tool_use"), stopEvent))
	require.NoError(t, err)
	require.Equal(t, "ab", got.ContentBlocks[0].AssistantGenText.Text)
	require.Equal(t, "{}", got.ContentBlocks[1].FunctionToolCall.Arguments)
	require.Equal(t, `{"n":2}`, got.ContentBlocks[2].FunctionToolCall.Arguments)
}

// Holds providers/K18.
func TestStream_CutAfterAnyEventIsAnError(t *testing.T) {
	events := searchEvents()
	for n := range events {
		_, err := streamed(t, sse(events[:n]...))
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, "after %d events", n)
		require.True(t, kit.IsRetryable(err))
		if n > 0 {
			_, err = streamed(t, sse(events[:n]...)+"event: x\ndata: {\"type\":\"cont")
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
			_, err = streamed(t, sse(events[:n]...)+"data: [DONE]\n\n")
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		}
	}
	_, err := streamed(t, sse(events...))
	require.NoError(t, err)
	reset := io.MultiReader(strings.NewReader(sse(events[:5]...)), iotest.ErrReader(errors.New("connection reset")))
	sr, err := newAgentic(t, answering("text/event-stream", reset)).Stream(t.Context(), questionBlocks)
	require.NoError(t, err)
	_, err = readAll(t, sr)
	require.ErrorContains(t, err, "connection reset")
}

// Holds providers/A34 and providers/K20.
func TestErrors_HaveTheStatusOfTheirType(t *testing.T) {
	for kind, want := range map[string]struct {
		status int
		kind   kit.Kind
	}{
		"invalid_request_error": {400, kit.ErrInvalid}, "authentication_error": {401, kit.ErrAuth},
		"billing_error": {402, kit.ErrQuota}, "permission_error": {403, kit.ErrPermission},
		"not_found_error": {404, kit.ErrNotFound}, "request_too_large": {413, kit.ErrTooLarge},
		"rate_limit_error": {429, kit.ErrRateLimited}, "timeout_error": {504, kit.ErrTimeout},
		"api_error": {500, kit.ErrServer}, "overloaded_error": {529, kit.ErrOverloaded},
	} {
		body := `{"type":"error","error":{"type":"` + kind + `","message":"no"},"request_id":"req-2"}`
		bare := roundTrip(func(req *http.Request) (*http.Response, error) {
			return response(req, want.status, "application/json", strings.NewReader(body)), nil
		})
		for place, transport := range map[string]http.RoundTripper{
			"status": bare, "first": streaming(sse(body)), "document": whole(body),
			"middle": streaming(sse(append(searchEvents()[:9], body)...)),
		} {
			sr, err := newAgentic(t, transport).Stream(t.Context(), questionBlocks)
			if err == nil {
				_, err = readAll(t, sr)
			}
			var api *kit.APIError
			require.ErrorAs(t, err, &api, place)
			require.ErrorIs(t, err, want.kind)
			require.Equal(t, want.status, api.StatusCode, place)
			require.Equal(t, kind, api.Type)
			require.Equal(t, "no", api.Message)
			require.Equal(t, "anthropic", api.Provider)
			require.Contains(t, []string{"req-1", "req-2"}, api.RequestID)
		}
	}
	_, err := newAgentic(t, roundTrip(func(req *http.Request) (*http.Response, error) {
		return response(req, 400, "application/json", strings.NewReader(
			`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 5 maximum"}}`)), nil
	})).Generate(t.Context(), questionBlocks)
	require.ErrorIs(t, err, kit.ErrContextLength)
}

// Holds providers/K19.
func TestStream_WithoutEvents(t *testing.T) {
	for body, contentType := range map[string]string{"": "text/event-stream", "<html>sorry</html>": "text/html", "{}": "application/json",
		"plain": "text/plain", ": ping\n\n": "text/event-stream", `{"type":"message"`: "application/json", `[]`: "application/json"} {
		sr, err := newAgentic(t, answering(contentType, strings.NewReader(body))).Stream(t.Context(), questionBlocks)
		require.NoError(t, err)
		_, err = readAll(t, sr)
		require.Error(t, err, body)
		require.ErrorContains(t, err, "anthropic: ")
	}
}

// Holds providers/A32, providers/K42 and providers/K43.
func TestFinish_ReasonsOfTheProvider(t *testing.T) {
	for reason, want := range map[string]kit.Finish{
		"end_turn": kit.FinishStop, "max_tokens": kit.FinishLength, "stop_sequence": kit.FinishStop, "tool_use": kit.FinishToolCalls,
		"refusal": kit.FinishRefusal, "model_context_window_exceeded": kit.FinishContextLength, "compaction": kit.FinishPaused,
		"something_new": kit.FinishUnknown,
	} {
		got, err := streamed(t, sse(messageEvents(reason, textEvents(0, "part"))...))
		require.NoError(t, err)
		require.Equal(t, want, kit.FinishOf(got), reason)
		require.Equal(t, reason, got.ResponseMeta.ClaudeExtension.StopReason)
		chat, err := newChat(t, whole(answer(reason, `{"type":"text","text":"part"}`))).Generate(t.Context(), question)
		require.NoError(t, err)
		require.Equal(t, reason, chat.ResponseMeta.FinishReason)
		require.Equal(t, want, kit.FinishOf(chat))

		_, err = streamed(t, sse(messageEvents(reason)...))
		if want == kit.FinishStop || want == kit.FinishToolCalls {
			require.NoError(t, err)
			continue
		}
		var stopped *kit.StoppedError
		require.ErrorAs(t, err, &stopped)
		require.Equal(t, want, stopped.Finish)
	}
}

// Holds providers/A32.
func TestFinish_DetailsOfARefusal(t *testing.T) {
	end := `{"type":"message_delta","delta":{"stop_reason":"refusal","stop_sequence":null,"stop_details":{"category":"bio","explanation":"too dangerous"}},"usage":{"output_tokens":3}}`
	got, err := streamed(t, sse(append(append([]string{startEvent}, textEvents(0, "No.")...), end, stopEvent)...))
	require.NoError(t, err)
	require.Equal(t, &claude.StopDetails{Category: "bio", Explanation: "too dangerous"}, got.ResponseMeta.ClaudeExtension.StopDetails)
	_, err = streamed(t, sse(startEvent, end, stopEvent))
	require.ErrorIs(t, err, kit.ErrContentFilter)
	require.ErrorContains(t, err, "too dangerous")
	stopped := strings.Replace(end, `"stop_reason":"refusal","stop_sequence":null`, `"stop_reason":"stop_sequence","stop_sequence":"END"`, 1)
	got, err = streamed(t, sse(append(append([]string{startEvent}, textEvents(0, "x")...), stopped, stopEvent)...))
	require.NoError(t, err)
	require.Equal(t, "END", got.ResponseMeta.ClaudeExtension.StopSequence)
}

// Holds providers/A31 and providers/K34.
func TestUsage_IsWhatWasSaidLast(t *testing.T) {
	delta := func(usage string) string {
		return `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":` + usage + `}`
	}
	for usage, want := range map[string][2]int{
		`{"output_tokens":7}`: {2, 7}, `{"input_tokens":50,"output_tokens":9}`: {50, 9},
		`{"input_tokens":1,"output_tokens":9,"cache_read_input_tokens":4}`: {5, 9}, `null`: {2, 1},
		`{"input_tokens":null,"output_tokens":3}`: {2, 3},
	} {
		got, err := streamed(t, sse(append(append([]string{startEvent}, textEvents(0, "x")...), delta(usage), stopEvent)...))
		require.NoError(t, err)
		require.Equal(t, want[0], got.ResponseMeta.TokenUsage.PromptTokens, usage)
		require.Equal(t, want[1], got.ResponseMeta.TokenUsage.CompletionTokens, usage)
	}
	got, err := newAgentic(t, whole(`{"type":"message","content":[{"type":"text","text":"x"}],"stop_reason":"end_turn"}`)).
		Generate(t.Context(), questionBlocks)
	require.NoError(t, err)
	require.Nil(t, got.ResponseMeta.TokenUsage)
	require.NotContains(t, got.Extra, kit.UsageRawKey)
}

// Holds providers/A30: arguments that are no JSON are handed over as they came.
func TestCalls_ArgumentsOfEveryForm(t *testing.T) {
	for _, c := range []struct {
		start, want string
		deltas      []string
	}{
		{`{}`, "{}", nil}, {`{}`, "{}", []string{""}}, {`{"a":1}`, `{"a":1}`, nil}, {`{}`, `{cut}`, []string{`{c`, "ut}"}}, {`null`, "{}", nil},
	} {
		events := []string{blockStart(0, `{"type":"tool_use","id":"t","name":"x","input":`+c.start+`}`)}
		for _, d := range c.deltas {
			text, _ := json.Marshal(d)
			events = append(events, blockDelta(0, `{"type":"input_json_delta","partial_json":`+string(text)+`}`))
		}
		got, err := streamed(t, sse(messageEvents("tool_use", append(events, blockStop(0)))...))
		require.NoError(t, err)
		require.Equal(t, &schema.FunctionToolCall{CallID: "t", Name: "x", Arguments: c.want}, got.ContentBlocks[0].FunctionToolCall)
	}
}

// Holds providers/K24: what joining appends is in one chunk only.
func TestStream_ChunksHaveOneBlockAndIndexes(t *testing.T) {
	sr, err := newAgentic(t, streaming(sse(searchEvents()...))).Stream(t.Context(), questionBlocks)
	require.NoError(t, err)
	defer sr.Close()
	seen, last := map[string]int{}, -1
	for m, err := range sr.All() {
		require.NoError(t, err)
		require.LessOrEqual(t, len(m.ContentBlocks), 1)
		for key := range m.Extra {
			seen[key]++
		}
		for _, b := range m.ContentBlocks {
			require.GreaterOrEqual(t, b.StreamingMeta.Index, last)
			last = b.StreamingMeta.Index
		}
	}
	require.Equal(t, map[string]int{"origin": 1, "finish_reason": 1, kit.UsageRawKey: 1}, seen)
	require.Equal(t, 7, last)
}

// Holds providers/A27: deltas and blocks of unknown types are kept whole.
func TestStream_UnknownBlocksJoinTheirDeltas(t *testing.T) {
	got, err := streamed(t, sse(messageEvents("end_turn", []string{
		blockStart(0, `{"type":"compaction","content":null}`), blockDelta(0, `{"type":"compaction_delta","content":"short "}`),
		blockDelta(0, `{"type":"compaction_delta","content":"story","by":{"x":1}}`), blockStop(0),
	}, []string{
		blockStart(1, `{"type":"mcp_tool_use","id":"m1","name":"find","server_name":"docs","input":{}}`),
		blockDelta(1, `{"type":"input_json_delta","partial_json":"{\"q\":1}"}`), blockStop(1),
		blockStart(2, `{"type":"mcp_tool_result","tool_use_id":"m1","is_error":true,"content":[{"type":"text","text":"none"}]}`), blockStop(2),
	})...))
	require.NoError(t, err)
	require.Equal(t, `{"type":"compaction","content":"short story","by":{"x":1}}`, got.ContentBlocks[0].Extra[RawBlockKey])
	require.Equal(t, &schema.MCPToolCall{ServerLabel: "docs", CallID: "m1", Name: "find", Arguments: `{"q":1}`}, got.ContentBlocks[1].MCPToolCall)
	require.Equal(t, &schema.MCPToolResult{CallID: "m1", Content: "none", Error: &schema.MCPToolCallError{Message: "none"}}, got.ContentBlocks[2].MCPToolResult)
	require.Contains(t, sentMessages(t, unchanged, questionBlocks[0], got, user(inputText("on"))), `{"type":"compaction","content":"short story","by":{"x":1}}`)
}

// Holds providers/K22.
func TestStream_CloseEndsTheRequestOfASilentServer(t *testing.T) {
	gone := make(chan struct{})
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, sse(startEvent, blockStart(0, `{"type":"text","text":"first"}`)))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(gone)
	})
	sr, err := newAgentic(t, nil, at).Stream(context.Background(), questionBlocks)
	require.NoError(t, err)
	_, err = sr.Recv()
	require.NoError(t, err)
	sr.Close()
	<-gone
}

// Holds providers/K24: servers that do not count blocks.
func TestStream_BlocksOfOneIndex(t *testing.T) {
	call := func(id string) []string {
		return []string{blockStart(0, `{"type":"tool_use","id":"`+id+`","name":"x","input":{}}`),
			blockDelta(0, `{"type":"input_json_delta","partial_json":"{}"}`), blockStop(0)}
	}
	got, err := streamed(t, sse(messageEvents("tool_use", textEvents(0, "a"), call("t1"), call("t2"))...))
	require.NoError(t, err)
	require.Len(t, got.ContentBlocks, 3)
	require.Equal(t, "a", got.ContentBlocks[0].AssistantGenText.Text)
	require.Equal(t, "t1", got.ContentBlocks[1].FunctionToolCall.CallID)
	require.Equal(t, "t2", got.ContentBlocks[2].FunctionToolCall.CallID)
}
