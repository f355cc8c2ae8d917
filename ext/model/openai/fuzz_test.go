package openai

import (
	"encoding/json"
	"io"
	"testing"

	"github.com/weftgo/weft/schema"
)

// FuzzStream reads anything as the body of a streamed response. Whatever it is: the stream ends, with one error at most
// and that at the end; the chunks can be joined, and the message sent back.
func FuzzStream(f *testing.F) {
	for _, seed := range []string{
		chunk("a") + stopChunk + doneChunk,
		chunk("a") + `data: {"error":{"message":"x","code":1}}` + "\n\n",
		`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"1","function":{"name":"f","arguments":"{"}},{"id":"2"}]}}]}` + "\n" +
			`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"3","function":{"name":"f","arguments":{}}}]}}]}` + "\n" +
			doneChunk,
		`data: {"id":"r","choices":[{"delta":{"reasoning":"t","reasoning_details":[{"type":"reasoning.text","text":"t","index":0}]}}]}` + "\n" +
			`data: {"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","text":"u","index":0,"signature":"s"}]}}]}` + "\n" + doneChunk,
		`data: {"choices":[{"message":{"content":[{"text":"a"},{"image_url":{"url":"data:x;base64,AA"}}],"audio":{"data":"x"}},"logprobs":{"content":[{}]}}]}` + "\n" + doneChunk,
		"data: {\r\ndata: }\r\n\r\nerror: {}\n\n{\"error\":1}\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		m := newModel(t, streaming(body))
		s, err := m.Engine().Open(t.Context(), question, nil, true)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		var joined schema.MessageAccumulator
		for n := 0; ; n++ {
			chunk, err := s.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				return
			}
			if n > len(body) {
				t.Fatal("more chunks than bytes")
			}
			if err := joined.Add(chunk); err != nil {
				t.Fatal(err)
			}
		}
		answer, err := joined.Message()
		if err != nil {
			t.Fatal(err)
		}
		if answer.AssistantGenMultiContent != nil {
			return // media may be anything, and what is wrong with them is an error
		}
		history := []*schema.Message{answer}
		for _, call := range answer.ToolCalls {
			history = append(history, schema.ToolMessage("", call.ID))
		}
		e := m.Engine().(*engine)
		sent, err := e.newCall(false, nil).body(t.Context(), history)
		if err != nil || !json.Valid(sent) {
			t.Fatalf("%v: %s", err, sent)
		}
	})
}
