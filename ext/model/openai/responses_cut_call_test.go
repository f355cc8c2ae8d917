package openai_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/ext/model/kit"
)

// The server says of each item whether it is complete.
//
// Rules providers/K47, providers/K49.
func TestResponses_CallsOfCompletedItemsAreMarkedInAnswersThatWereCutOff(t *testing.T) {
	call := func(id, status, arguments string) string {
		return `{"id":"fc_` + id + `","type":"function_call","status":"` + status + `","call_id":"` + id + `","name":"f","arguments":"` + arguments + `"}`
	}
	for status, test := range map[string]struct {
		details   string
		word      string
		whole     bool
		arguments string
	}{
		"incomplete": {`,"incomplete_details":{"reason":"max_output_tokens"}`, "max_output_tokens", true, ""},
		"completed":  {"", "completed", false, "{}"},
	} {
		a, b := call("a", "completed", ""), call("b", "incomplete", "")
		end := `{"type":"response.` + status + `","response":{"id":"r","status":"` + status + `"` + test.details + `,"output":[` + a + `,` + b + `]}}`
		for name, events := range map[string][]string{
			"only the end": {end},
			"items":        {`{"type":"response.output_item.done","output_index":0,"item":` + a + `}`, end},
		} {
			m, err := streamOf(t, events...)
			require.NoError(t, err)
			require.Equal(t, test.word, model.FinishWord(m), name)
			require.Equal(t, test.whole, model.IsWholeCall(m.ContentBlocks[0].Extra), name)
			require.Equal(t, "{}", m.ContentBlocks[0].FunctionToolCall.Arguments, name)
			require.False(t, model.IsWholeCall(m.ContentBlocks[1].Extra), name)
			require.Equal(t, test.arguments, m.ContentBlocks[1].FunctionToolCall.Arguments, name)
			require.Equal(t, kit.FinishOf(m).CutOff(), status == "incomplete")
		}
	}
}
