package kittest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
)

// A Format is a way to send a sequence of events.
type Format string

// The formats that providers use.
const (
	FormatSSE    Format = "text/event-stream"                  // server-sent events
	FormatNDJSON Format = "application/x-ndjson"               // a line each
	FormatFrames Format = "application/vnd.amazon.eventstream" // binary frames of Bedrock
)

// An Event is one of a stream.
type Event struct {
	Name string // of server-sent events; empty: no event line
	Data string
}

// A Stream is a streamed answer. It is an http.Handler that sends itself, each event at once.
type Stream struct {
	Format   Format
	Events   []Event
	Terminal int    // index of the event that ends the answer; those after it may be missing
	Text     string // what the events say
	Fail     Event  // how the service reports an error in a stream; empty: not at all
}

// SSE returns a stream of server-sent events without names. Its terminal event is the last one that is not [DONE].
func SSE(data ...string) Stream { return newStream(FormatSSE, false, data) }

// NamedSSE returns a stream of server-sent events, each named after the "type" of its data.
func NamedSSE(data ...string) Stream { return newStream(FormatSSE, true, data) }

// NDJSON returns a stream of lines.
func NDJSON(data ...string) Stream { return newStream(FormatNDJSON, false, data) }

// Frames returns a stream of Bedrock's frames.
func Frames(data ...string) Stream { return newStream(FormatFrames, false, data) }

func newStream(format Format, named bool, data []string) Stream {
	s := Stream{Format: format}
	for n, d := range data {
		e := Event{Data: d}
		if named {
			e.Name = typeOf(d)
		}
		s.Events = append(s.Events, e)
		if d != "[DONE]" {
			s.Terminal = n
		}
	}
	return s
}

func typeOf(data string) string {
	var typed struct{ Type string }
	_ = json.Unmarshal([]byte(data), &typed)
	return typed.Type
}

// Encode returns an event's bytes.
func (s Stream) Encode(e Event) []byte {
	switch s.Format {
	case FormatNDJSON:
		return []byte(e.Data + "\n")
	case FormatFrames:
		return bedrockFrame(e.Data)
	}
	var b strings.Builder
	if e.Name != "" {
		b.WriteString("event: " + e.Name + "\n")
	}
	b.WriteString("data: " + e.Data + "\n\n")
	return []byte(b.String())
}

// Bytes returns the whole body.
func (s Stream) Bytes() []byte {
	var b bytes.Buffer
	for _, e := range s.Events {
		b.Write(s.Encode(e))
	}
	return b.Bytes()
}

// ServeHTTP implements http.Handler.
func (s Stream) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	s.begin(w)
	for _, e := range s.Events {
		send(w, s.Encode(e))
	}
}

func (s Stream) begin(w http.ResponseWriter) {
	w.Header().Set("Content-Type", string(s.Format))
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
}

// send writes and flushes. It reports whether the client still reads.
func send(w http.ResponseWriter, data []byte) bool {
	if _, err := w.Write(data); err != nil {
		return false
	}
	return http.NewResponseController(w).Flush() == nil
}

// JSON answers with a body and status 200.
func JSON(body string) http.Handler { return Status(http.StatusOK, body) }

// Status answers with a status, a JSON body and pairs of header names and values.
func Status(code int, body string, header ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for n := 0; n+1 < len(header); n += 2 {
			w.Header().Set(header[n], header[n+1])
		}
		w.WriteHeader(code)
		_, _ = w.Write([]byte(body))
	})
}

func quote(text string) string {
	data, _ := json.Marshal(text)
	return string(data)
}

// ChatStream returns an answer of Chat Completions with a chunk for each text.
func ChatStream(texts ...string) Stream {
	var data []string
	chunk := func(delta, finish string) {
		data = append(data, `{"id":"c-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,`+
			`"delta":`+delta+`,"finish_reason":`+finish+`}]}`)
	}
	chunk(`{"role":"assistant","content":""}`, "null")
	for _, text := range texts {
		chunk(`{"content":`+quote(text)+`}`, "null")
	}
	chunk(`{}`, `"stop"`)
	s := SSE(append(data, "[DONE]")...)
	s.Text = strings.Join(texts, "")
	s.Fail = Event{Data: `{"error":{"message":"the server is overloaded","type":"server_error","code":503}}`}
	return s
}

// AnthropicStream returns an answer of the Messages protocol with a delta for each text.
func AnthropicStream(texts ...string) Stream {
	s := NamedSSE(anthropicEvents(texts)...)
	s.Text = strings.Join(texts, "")
	s.Fail = Event{Name: "error", Data: `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`}
	return s
}

// BedrockStream returns an answer of the Messages protocol in frames.
func BedrockStream(texts ...string) Stream {
	s := Frames(anthropicEvents(texts)...)
	s.Text = strings.Join(texts, "")
	return s
}

func anthropicEvents(texts []string) []string {
	data := []string{
		`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],` +
			`"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
	}
	for _, text := range texts {
		data = append(data, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":`+quote(text)+`}}`)
	}
	return append(data, `{"type":"content_block_stop","index":0}`,
		`{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":5}}`,
		`{"type":"message_stop"}`)
}

// ResponsesStream returns an answer of the Responses protocol with a delta for each text.
func ResponsesStream(texts ...string) Stream {
	whole := quote(strings.Join(texts, ""))
	part := `{"type":"output_text","text":` + whole + `,"annotations":[]}`
	item := `{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[` + part + `]}`
	at := `"item_id":"msg_1","output_index":0,"content_index":0`
	data := []string{
		`"response.created","response":{"id":"resp_1","object":"response","status":"in_progress","output":[]}`,
		`"response.output_item.added","output_index":0,"item":{"id":"msg_1","type":"message","status":"in_progress",` +
			`"role":"assistant","content":[]}`,
		`"response.content_part.added",` + at + `,"part":{"type":"output_text","text":"","annotations":[]}`,
	}
	for _, text := range texts {
		data = append(data, `"response.output_text.delta",`+at+`,"delta":`+quote(text))
	}
	data = append(data,
		`"response.output_text.done",`+at+`,"text":`+whole,
		`"response.content_part.done",`+at+`,"part":`+part,
		`"response.output_item.done","output_index":0,"item":`+item,
		`"response.completed","response":{"id":"resp_1","object":"response","status":"completed","model":"m","output":[`+
			item+`],"usage":{"input_tokens":3,"output_tokens":5,"total_tokens":8}}`)
	for n, d := range data {
		data[n] = `{"sequence_number":` + strconv.Itoa(n) + `,"type":` + d + `}`
	}
	s := NamedSSE(data...)
	s.Text = strings.Join(texts, "")
	s.Fail = Event{Name: "error", Data: `{"type":"error","code":"server_error","message":"the server failed",` +
		`"param":null}`}
	return s
}

// GeminiStream returns an answer of streamGenerateContent with a chunk for each text.
func GeminiStream(texts ...string) Stream {
	var data []string
	for n, text := range texts {
		finish := ""
		if n == len(texts)-1 {
			finish = `,"finishReason":"STOP"`
		}
		data = append(data, `{"candidates":[{"index":0,"content":{"role":"model","parts":[{"text":`+quote(text)+`}]}`+
			finish+`}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":5,"totalTokenCount":8},"responseId":"r"}`)
	}
	s := SSE(data...)
	s.Text = strings.Join(texts, "")
	s.Fail = Event{Data: `{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}`}
	return s
}

// OllamaStream returns an answer of /api/chat with a line for each text.
func OllamaStream(texts ...string) Stream {
	var data []string
	for _, text := range texts {
		data = append(data, `{"model":"m","message":{"role":"assistant","content":`+quote(text)+`},"done":false}`)
	}
	s := NDJSON(append(data, `{"model":"m","message":{"role":"assistant","content":""},"done":true,`+
		`"done_reason":"stop","prompt_eval_count":3,"eval_count":5}`)...)
	s.Text = strings.Join(texts, "")
	s.Fail = Event{Data: `{"error":"the runner has died"}`}
	return s
}
