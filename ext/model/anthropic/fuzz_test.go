package anthropic

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// Whatever a stream consists of, it ends in an answer or in one error, and an answer can be sent back.
func FuzzStream(f *testing.F) {
	f.Add(sse(searchEvents()...))
	f.Add(sse(pausedEvents()...))
	for _, e := range searchEvents() {
		f.Add(sse(startEvent, e, endEvent("end_turn"), stopEvent))
	}
	f.Add(`data: {"type":"content_block_start","index":-1,"content_block":null}` + "\n\n" + `data: {"type":"message_stop"}` + "\n\n")
	f.Add(answer("end_turn", `null`, `{}`, `{"type":"tool_use"}`, `7`))
	f.Fuzz(func(t *testing.T, body string) {
		transport := streaming(body)
		if strings.HasPrefix(body, "{") {
			transport = whole(body)
		}
		for _, change := range []func(*Config){unchanged, searching} {
			m := newAgentic(t, transport, change, func(c *Config) { c.MaxPauses = new(0) })
			sr, err := m.Stream(t.Context(), questionBlocks)
			if err != nil {
				t.Fatal(err)
			}
			var acc schema.AgenticMessageAccumulator
			var failure error
			for chunk, err := range sr.All() {
				if failure != nil {
					t.Fatal("something behind the error")
				}
				if failure = err; err == nil {
					if err := acc.Add(chunk); err != nil {
						t.Fatal(err)
					}
				}
			}
			if failure != nil {
				continue
			}
			got, err := acc.Message()
			if err != nil {
				t.Fatal(err)
			}
			if text := kit.CheckUsage(tokensOf(got)); text != "" && !strings.Contains(body, `-`) {
				t.Log(text)
			}
			_, _ = m.Generate(t.Context(), []*schema.AgenticMessage{questionBlocks[0], got, questionBlocks[0]})
		}
	})
}

func tokensOf(m *schema.AgenticMessage) *schema.TokenUsage {
	if m.ResponseMeta == nil {
		return nil
	}
	return m.ResponseMeta.TokenUsage
}

// Whatever a refusal consists of, it is an error with its status.
func FuzzErrorBody(f *testing.F) {
	f.Add(`{"type":"error","error":{"type":"overloaded_error","message":"busy"},"request_id":"r"}`, 529)
	f.Add(`{"type":"error","error":"x"}`, 400)
	f.Add(`<html>`, 502)
	f.Add(`{"message":"from Bedrock"}`, 403)
	f.Fuzz(func(t *testing.T, body string, status int) {
		status = 400 + (status%200+200)%200
		m := newAgentic(t, roundTrip(func(req *http.Request) (*http.Response, error) {
			return response(req, status, "application/json", strings.NewReader(body)), nil
		}))
		_, err := m.Generate(t.Context(), questionBlocks)
		if !kit.IsRetryable(err) && err == nil {
			t.Fatal("no error")
		}
	})
}

// The short way to decode a delta finds the same as encoding/json.
func FuzzDecodeDelta(f *testing.F) {
	for _, e := range searchEvents() {
		f.Add([]byte(e))
	}
	f.Add([]byte(blockDelta(3, `{"type":"text_delta","text":"a\u00e9\"\\\n😀"}`) + "   "))
	f.Add([]byte(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\xff"}  } `))
	f.Fuzz(func(t *testing.T, data []byte) {
		var short, long wireEvent
		if !decodeDelta(data, &short) {
			return
		}
		if err := json.Unmarshal(data, &long); err != nil {
			if index := strings.Index(string(data), `"index":0`); index >= 0 { // numbers with a zero in front
				return
			}
			t.Fatalf("%q: %v", data, err)
		}
		if short.Type != long.Type || short.Index != long.Index || short.Delta.Type != long.Delta.Type ||
			short.Delta.Text != long.Delta.Text || short.Delta.PartialJSON != long.Delta.PartialJSON || short.Delta.Thinking != long.Delta.Thinking {
			t.Fatalf("%q: %+v is not %+v", data, short, long)
		}
	})
}
