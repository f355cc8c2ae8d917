package gemini

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

var textEvents = map[string]bool{
	`{"candidates": [{"content": {"parts": [{"text": "aä\n"}],"role": "model"},"index": 0}],"usageMetadata": {"a": [1,{"b":"}"}]},` +
		`"modelVersion": "m","responseId": "r"}`: true,
	` {"candidates":[{"content":{"parts":[{"text":"\ud83d\ude00"}]}}]} `:           true,
	`{"candidates":[{"index":0,"content":{"role":null,"parts":[{"text":"a"}]}}]}`:  true,
	`{"candidates":[{"index":1,"content":{"parts":[{"text":"a"}]}}]}`:              false,
	`{"candidates":[{"content":{"parts":[{"text":""}]}}]}`:                         false,
	`{"candidates":[{"content":{"parts":[{"text":"a","thought":true}]}}]}`:         false,
	`{"candidates":[{"content":{"parts":[{"text":"a"},{"text":"b"}]}}]}`:           false,
	`{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}]}`:  false,
	`{"candidates":[{"content":{"parts":[{"text":"a"}]}}],"promptFeedback":{}}`:    false,
	`{"candidates":[{"content":{"parts":[{"text":"a"}]}}],"modelVersion":"other"}`: false,
	`{"candidates":[{"content":{"parts":[{"text":"a"}]}}]`:                         false,
	`{"candidates":[{"content":{"parts":[]}}]}`:                                    false,
	`{"candidates":[]}`: false, `{}`: false, `[]`: false, `"a"`: false, `7`: false, ``: false,
}

func TestTextEvents_AreThoseOfOnePieceOfText(t *testing.T) {
	for data, want := range textEvents {
		e := textEvent{id: "r", model: "m"}
		require.Equal(t, want, e.read([]byte(data)), data)
	}
}

// FuzzTextEvents holds what is read by hand against encoding/json.
func FuzzTextEvents(f *testing.F) {
	for data := range textEvents {
		f.Add([]byte(data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		e := textEvent{id: "r", model: "m"}
		if !e.read(data) {
			return
		}
		text, ok := e.string()
		if !ok {
			return
		}
		var w wireEvent
		require.NoError(t, json.Unmarshal(data, &w))
		require.Len(t, w.Candidates, 1)
		p := w.Candidates[0].Content.Parts[0]
		require.Equal(t, wirePart{Text: text}, p)
		require.Equal(t, string(w.UsageMetadata), string(e.usage))
		require.Empty(t, w.Candidates[0].FinishReason)
	})
}
