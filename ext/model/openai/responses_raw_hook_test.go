package openai_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/ext/model/openai"
	"github.com/weftgo/weft/schema"
)

func TestResponses_HookCitationsAndFilterResults(t *testing.T) {
	item := `{"id":"msg_1","type":"message","content":[{"type":"output_text","text":"x","annotations":[{"type":"url_citation","url":"https://o","title":"O","start_index":1,"end_index":2}]}]}`
	body := `{"id":"r","object":"response","status":"completed","output":[` + item + `],"content_filters":[{"blocked":false}]}`
	seen := ""
	c := &captured{answer: body}
	m, err := openai.NewResponsesChatModel(t.Context(), &openai.ResponsesConfig{
		APIKey: "k", Model: "gpt-5", HTTPClient: &http.Client{Transport: c},
		RawHook: func(_ context.Context, a kit.RawAnswer) error {
			seen = string(a.JSON)
			kit.SetExtra(&a.Message.Extra, "mine", "1")
			return nil
		},
	})
	require.NoError(t, err)
	answer, err := m.Generate(t.Context(), []*schema.Message{schema.UserMessage("q")})
	require.NoError(t, err)
	require.Equal(t, body, seen)
	require.Equal(t, "1", answer.Extra["mine"])
	require.Equal(t, `{"blocked":false}`, openai.GetResponseInfo(answer).FilterResults)
	require.Equal(t, []openai.Citation{{URL: "https://o", Title: "O", Start: 1, End: 2}}, openai.GetCitations(answer))
}
