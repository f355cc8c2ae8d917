package interop

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/weftgo/weft/ext/model/kit/kittest"
)

// turns is the number of answers of a conversation that call tools, each two of them; one more answer ends it.
const (
	turns = 4
	calls = 2
)

// resultMark begins what the tool returns. Servers count it to know how far the conversation is.
const resultMark = "RESULT-"

// A turn is what a server is to answer.
type turn struct {
	number int
	last   bool
	id     string // of this answer, the same for the same request
	stream bool
}

// answering makes a server of the answers of a provider. It says the same whenever it is asked the same.
func answering(answer func(turn) http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		results := bytes.Count(body, []byte(resultMark))
		sum := sha256.Sum256(body)
		answer(turn{
			number: results / calls, last: results/calls >= turns, id: hex.EncodeToString(sum[:6]),
			stream: bytes.Contains(body, []byte(`"stream":true`)) || strings.Contains(r.URL.Path, "stream"),
		}).ServeHTTP(w, r)
	})
}

const finalText = "All done."

func (t turn) thought() string { return fmt.Sprintf("I think about step %d (%s).", t.number, t.id) }

func (t turn) text() string {
	if t.last {
		return finalText
	}
	return fmt.Sprintf("Step %d.", t.number)
}

func (t turn) arguments(call int) string { return fmt.Sprintf(`{"n":%d}`, calls*t.number+call) }

// chatAnswer is an answer of a Chat Completions server. thinking is the delta with the thought, id the ID of a call.
func chatAnswer(thinking func(turn) string, id func(turn, int) string) func(turn) http.Handler {
	return func(t turn) http.Handler {
		delta := func(fields string) string {
			return `{"id":"c-` + t.id + `","model":"m","choices":[{"index":0,"delta":{` + fields + `}}]}`
		}
		events := []string{delta(`"role":"assistant","content":""`)}
		if thinking != nil {
			events = append(events, delta(thinking(t)))
		}
		events = append(events, delta(fmt.Sprintf(`"content":%q`, t.text())))
		finish := "stop"
		if !t.last {
			finish = "tool_calls"
			for i := range calls {
				args := t.arguments(i)
				events = append(events,
					delta(fmt.Sprintf(`"tool_calls":[{"index":%d,"id":%q,"type":"function","function":{"name":"look","arguments":%q}}]`,
						i, id(t, i), args[:3])),
					delta(fmt.Sprintf(`"tool_calls":[{"index":%d,"function":{"arguments":%q}}]`, i, args[3:])))
			}
		}
		events = append(events,
			`{"id":"c-`+t.id+`","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"`+finish+`"}]}`,
			`{"id":"c-`+t.id+`","model":"m","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13}}`,
			"[DONE]")
		return kittest.SSE(events...)
	}
}

func reasoningContent(t turn) string { return fmt.Sprintf(`"reasoning_content":%q`, t.thought()) }

func reasoningDetails(t turn) string {
	return fmt.Sprintf(`"reasoning":%[1]q,"reasoning_details":[{"type":"reasoning.text","text":%[1]q,"index":0,"signature":"sig-%[2]s"}]`,
		t.thought(), t.id)
}

func uniqueID(t turn, call int) string { return fmt.Sprintf("call_%s_%d", t.id, call) }

// recurringID returns IDs as Kimi counts them: from 0 in every answer.
func recurringID(_ turn, call int) string { return fmt.Sprintf("functions.look:%d", call) }

func mistralID(t turn, call int) string { return fmt.Sprintf("%s%d", t.id[:8], call) }

func responsesAnswer(t turn) http.Handler {
	var events []string
	var items []string
	add := func(format string, args ...any) { events = append(events, fmt.Sprintf(format, args...)) }
	item := func(text string, deltas ...string) {
		at := len(items)
		add(`{"type":"response.output_item.added","output_index":%d,"item":%s}`, at,
			strings.NewReplacer(`"completed"`, `"in_progress"`).Replace(text))
		events = append(events, deltas...)
		add(`{"type":"response.output_item.done","output_index":%d,"item":%s}`, at, text)
		items = append(items, text)
	}
	add(`{"type":"response.created","response":{"id":"resp_%s","status":"in_progress","output":[]}}`, t.id)
	item(fmt.Sprintf(`{"type":"reasoning","id":"rs_%s","summary":[],"encrypted_content":"enc-%s"}`, t.id, t.id))
	item(fmt.Sprintf(`{"type":"message","id":"msg_%s","role":"assistant","status":"completed","content":[{"type":"output_text","text":%q,"annotations":[]}]}`, t.id, t.text()),
		fmt.Sprintf(`{"type":"response.output_text.delta","output_index":1,"content_index":0,"item_id":"msg_%s","delta":%q}`, t.id, t.text()))
	if !t.last {
		for i := range calls {
			item(fmt.Sprintf(`{"type":"function_call","id":"fc_%s_%d","call_id":%q,"name":"look","arguments":%q,"status":"completed"}`,
				t.id, i, uniqueID(t, i), t.arguments(i)),
				fmt.Sprintf(`{"type":"response.function_call_arguments.delta","output_index":%d,"item_id":"fc_%s_%d","delta":%q}`,
					i+2, t.id, i, t.arguments(i)))
		}
	}
	response := fmt.Sprintf(`{"id":"resp_%s","object":"response","model":"m","status":"completed","output":[%s],"usage":{"input_tokens":9,"output_tokens":4,"total_tokens":13}}`,
		t.id, strings.Join(items, ","))
	if !t.stream {
		return kittest.JSON(response)
	}
	add(`{"type":"response.completed","response":%s}`, response)
	return kittest.NamedSSE(events...)
}

func anthropicAnswer(t turn) http.Handler {
	content := []string{
		fmt.Sprintf(`{"type":"thinking","thinking":%q,"signature":"sig-%s"}`, t.thought(), t.id),
		fmt.Sprintf(`{"type":"text","text":%q}`, t.text()),
	}
	reason := "end_turn"
	var events []string
	add := func(format string, args ...any) { events = append(events, fmt.Sprintf(format, args...)) }
	add(`{"type":"message_start","message":{"id":"msg_%s","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":9,"output_tokens":1}}}`, t.id)
	add(`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`)
	add(`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":%q}}`, t.thought())
	add(`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"sig-%s"}}`, t.id)
	add(`{"type":"content_block_stop","index":0}`)
	add(`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`)
	add(`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":%q}}`, t.text())
	add(`{"type":"content_block_stop","index":1}`)
	if !t.last {
		reason = "tool_use"
		for i := range calls {
			id := fmt.Sprintf("toolu_%s%d", t.id, i)
			content = append(content, fmt.Sprintf(`{"type":"tool_use","id":%q,"name":"look","input":%s}`, id, t.arguments(i)))
			add(`{"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":%q,"name":"look","input":{}}}`, i+2, id)
			add(`{"type":"content_block_delta","index":%d,"delta":{"type":"input_json_delta","partial_json":%q}}`, i+2, t.arguments(i))
			add(`{"type":"content_block_stop","index":%d}`, i+2)
		}
	}
	if !t.stream {
		return kittest.JSON(fmt.Sprintf(`{"id":"msg_%s","type":"message","role":"assistant","model":"m","content":[%s],"stop_reason":%q,"usage":{"input_tokens":9,"output_tokens":4}}`,
			t.id, strings.Join(content, ","), reason))
	}
	add(`{"type":"message_delta","delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":4}}`, reason)
	add(`{"type":"message_stop"}`)
	return kittest.NamedSSE(events...)
}

// geminiAnswer has the signature on the first of the calls, as Gemini does, and on the text if there are none.
func geminiAnswer(withIDs bool) func(turn) http.Handler {
	return func(t turn) http.Handler {
		parts := []string{fmt.Sprintf(`{"text":%q,"thought":true}`, t.thought())}
		if t.last {
			parts = append(parts, fmt.Sprintf(`{"text":%q,"thoughtSignature":"c2ln%s"}`, t.text(), t.id))
		} else {
			parts = append(parts, fmt.Sprintf(`{"text":%q}`, t.text()))
			for i := range calls {
				id, signature := "", ""
				if withIDs {
					id = fmt.Sprintf(`"id":"%s%d",`, t.id, i)
				}
				if i == 0 {
					signature = fmt.Sprintf(`,"thoughtSignature":"c2ln%s"`, t.id)
				}
				parts = append(parts, fmt.Sprintf(`{"functionCall":{%s"name":"look","args":%s}%s}`, id, t.arguments(i), signature))
			}
		}
		const usage = `"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":3,"thoughtsTokenCount":1,"totalTokenCount":13},"modelVersion":"m"`
		if !t.stream {
			return kittest.JSON(`{"candidates":[{"content":{"role":"model","parts":[` + strings.Join(parts, ",") +
				`]},"finishReason":"STOP","index":0}],` + usage + `,"responseId":"` + t.id + `"}`)
		}
		var events []string
		for i, part := range parts {
			finish := ""
			if i == len(parts)-1 {
				finish = `,"finishReason":"STOP"`
			}
			events = append(events, `{"candidates":[{"content":{"role":"model","parts":[`+part+`]}`+finish+`,"index":0}],`+usage+
				`,"responseId":"`+t.id+`"}`)
		}
		return kittest.SSE(events...)
	}
}

func ollamaAnswer(t turn) http.Handler {
	message := func(fields string) string {
		return `{"model":"m","message":{"role":"assistant",` + fields + `},"done":false}`
	}
	events := []string{
		message(fmt.Sprintf(`"content":"","thinking":%q`, t.thought())), message(fmt.Sprintf(`"content":%q`, t.text())),
	}
	all := fmt.Sprintf(`"content":%q,"thinking":%q`, t.text(), t.thought())
	if !t.last {
		var list []string
		for i := range calls {
			list = append(list, `{"function":{"name":"look","arguments":`+t.arguments(i)+`}}`)
		}
		tools := `"tool_calls":[` + strings.Join(list, ",") + `]`
		events = append(events, message(`"content":"",`+tools))
		all += "," + tools
	}
	const done = `"done":true,"done_reason":"stop","prompt_eval_count":9,"eval_count":4}`
	if !t.stream {
		return kittest.JSON(`{"model":"m","message":{"role":"assistant",` + all + `},` + done)
	}
	return kittest.NDJSON(append(events, `{"model":"m","message":{"role":"assistant","content":""},`+done)...)
}
