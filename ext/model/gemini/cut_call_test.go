package gemini_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
)

// The service says nothing of the last call of an answer that was cut off.
//
// Rule providers/K49.
func TestCalls_ThoseThatSomethingFollowedAreMarkedInAnswersThatWereCutOff(t *testing.T) {
	call := func(id string) string {
		return `{"functionCall":{"id":"` + id + `","name":"f","args":{}},"thoughtSignature":"c2ln"}`
	}
	event := func(reason string, parts string) string {
		return `{"candidates":[{"content":{"role":"model","parts":[` + parts + `]}` + reason + `}],"responseId":"r"}`
	}
	for reason, want := range map[string][]bool{
		"MAX_TOKENS": {true, false}, "SAFETY": {true, false}, "STOP": {false, false},
	} {
		end := `,"finishReason":"` + reason + `"`
		for name, body := range map[string]string{
			"whole":  event(end, call("a")+","+call("b")),
			"stream": "data: " + event("", call("a")) + "\n\ndata: " + event(end, call("b")) + "\n\n",
		} {
			conf, _ := fake(t, body)
			sr, err := agentic(t, conf).Stream(t.Context(), []*schema.AgenticMessage{schema.UserAgenticMessage("q")})
			require.NoError(t, err)
			m, err := schema.ConcatAgenticMessages(chunksOf(t, sr))
			require.NoError(t, err)
			require.Equal(t, reason, model.FinishWord(m))
			require.Equal(t, want, []bool{model.IsWholeCall(m.ContentBlocks[0].Extra), model.IsWholeCall(m.ContentBlocks[1].Extra)}, name)

			conf, _ = fake(t, body)
			plain, err := chat(t, conf).Generate(t.Context(), []*schema.Message{schema.UserMessage("q")})
			require.NoError(t, err)
			require.Equal(t, want, []bool{model.IsWholeCall(plain.ToolCalls[0].Extra), model.IsWholeCall(plain.ToolCalls[1].Extra)}, name)
		}
	}
}

func chunksOf(t *testing.T, sr *schema.StreamReader[*schema.AgenticMessage]) (chunks []*schema.AgenticMessage) {
	for m, err := range sr.All() {
		require.NoError(t, err)
		chunks = append(chunks, m)
	}
	return chunks
}
