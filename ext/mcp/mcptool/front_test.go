package mcptool_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/ext/mcp/mcptool"
	"github.com/weftgo/weft/schema"
)

// Events of the root package have the text of a result as Content, and media as parts.
// Rule mcp/MC17.
func TestResult_HasItsTextInTheContentOfAnEvent(t *testing.T) {
	for content, want := range map[string]struct {
		text  string
		parts int
	}{
		`{"type":"text","text":"one"}`:                                                       {"one", 1},
		`{"type":"text","text":"one"},{"type":"text","text":"two"}`:                          {"one\ntwo", 2},
		`{"type":"text","text":"one"},{"type":"image","data":"aGk=","mimeType":"image/png"}`: {"one", 2},
	} {
		srv := open(t, mcptool.Config{URL: serves(t, &web{answer: answersCalls(`{"content":[` + content + `]}`)})})
		agent, err := weft.New(weft.Config{Model: adktest.NewModel(t, adktest.Calls(adktest.Call("t", "{}")), adktest.Says("done")),
			Middlewares: []weft.Middleware{srv.Middleware()}})
		require.NoError(t, err)
		var results []*schema.Message
		for event, err := range agent.Stream(t.Context(), "hi") {
			require.NoError(t, err)
			if event.Result != nil {
				results = append(results, event.Result)
			}
		}
		require.Len(t, results, 1)
		require.Equal(t, want.text, results[0].Content)
		require.Len(t, results[0].UserInputMultiContent, want.parts)
	}
}
