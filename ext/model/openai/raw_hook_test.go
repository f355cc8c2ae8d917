package openai

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// keepExecuted is a hook that keeps what Groq's compound models have executed.
func keepExecuted(_ context.Context, a kit.RawAnswer) error {
	var doc struct {
		Choices []struct {
			Message struct {
				Executed json.RawMessage `json:"executed_tools"`
			}
		}
	}
	if err := json.Unmarshal(a.JSON, &doc); err != nil || len(doc.Choices) == 0 {
		return err
	}
	if a.Message != nil {
		kit.SetExtra(&a.Message.Extra, "executed", string(doc.Choices[0].Message.Executed))
	}
	if a.Agentic != nil {
		kit.SetExtra(&a.Agentic.Extra, "executed", string(doc.Choices[0].Message.Executed))
	}
	return nil
}

const executedBody = `{"choices":[{"message":{"content":"x","executed_tools":[{"type":"search"}]},"finish_reason":"stop"}]}`

// Rule providers/K52.
func TestRawHook_ReachesWhatAMessageHasNoFieldFor(t *testing.T) {
	m, err := newModel(t, whole(executedBody), func(c *Config) { c.RawHook = keepExecuted }).Generate(t.Context(), question)
	require.NoError(t, err)
	require.Equal(t, `[{"type":"search"}]`, m.Extra["executed"])
	m, err = newModel(t, whole(executedBody)).Generate(t.Context(), question, kit.WithRawHook(keepExecuted))
	require.NoError(t, err)
	require.Equal(t, `[{"type":"search"}]`, m.Extra["executed"])
	agentic, err := NewAgenticModel(t.Context(), &Config{
		BaseURL: "https://server.test/v1", APIKey: testKey, Model: "m", RawHook: keepExecuted, HTTPClient: &http.Client{Transport: whole(executedBody)},
	})
	require.NoError(t, err)
	b, err := agentic.Generate(t.Context(), []*schema.AgenticMessage{schema.UserAgenticMessage("q")})
	require.NoError(t, err)
	require.Equal(t, `[{"type":"search"}]`, b.Extra["executed"])
}

func TestRawHook_SeesEveryEventBeforeItsChunk(t *testing.T) {
	docs := []string{`{"choices":[{"delta":{"content":"a"}}],"n":1}`, `{"choices":[{"delta":{"content":"b"}}],"n":2}`,
		`{"choices":[{"delta":{}}],"n":3}`, `{"choices":[{"delta":{},"finish_reason":"stop"}],"n":4}`}
	var seen []string
	text := ""
	hook := func(_ context.Context, a kit.RawAnswer) error {
		seen = append(seen, string(a.JSON))
		if a.Message != nil {
			text += a.Message.Content
			a.Message.Content += "!"
		}
		return nil
	}
	sr, err := newModel(t, streaming(documents(append(docs, "[DONE]")...))).Stream(t.Context(), question, kit.WithRawHook(hook))
	require.NoError(t, err)
	m, err := schema.ConcatMessageStream(sr)
	require.NoError(t, err)
	require.Equal(t, docs, seen)
	require.Equal(t, "ab", text)
	require.Equal(t, "a!b!!", m.Content)
}

func TestRawHook_AnErrorEndsTheCall(t *testing.T) {
	refused := errors.New("moderated")
	hook := kit.WithRawHook(func(context.Context, kit.RawAnswer) error { return refused })
	_, err := newModel(t, whole(executedBody)).Generate(t.Context(), question, hook)
	require.ErrorIs(t, err, refused)
	sr, err := newModel(t, streaming(documents(callsEnd))).Stream(t.Context(), question, hook)
	require.NoError(t, err)
	_, err = schema.ConcatMessageStream(sr)
	require.ErrorIs(t, err, refused)
	_, err = newModel(t, whole(executedBody)).Generate(t.Context(), question,
		kit.WithRawHook(func(context.Context, kit.RawAnswer) error { panic("oh") }))
	require.ErrorContains(t, err, "panic: oh")
}

func TestCitations_OfListsBesideTheAnswer(t *testing.T) {
	lists := `"citations":["https://a","https://b"],"search_results":[{"title":"A","url":"https://a"},{"title":"C","url":"https://c"}]`
	want := []Citation{{URL: "https://a", Title: "A"}, {URL: "https://b"}}
	m := answerOf(t, `{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}],`+lists+`}`)
	require.Equal(t, want, GetCitations(m))
	m, err := streamedBy(t, documents(`{"choices":[{"delta":{"content":"x"}}],`+lists+`}`,
		`{"choices":[{"delta":{},"finish_reason":"stop"}],`+lists+`}`, "[DONE]"))
	require.NoError(t, err)
	require.Equal(t, want, GetCitations(m))
	blocks, err := kit.MessagesToBlocks([]*schema.Message{question[0], m})
	require.NoError(t, err)
	require.Equal(t, want, GetCitations(blocks[1]))
	m = answerOf(t, `{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}],"search_results":[{"title":"C","url":"https://c"}]}`)
	require.Equal(t, []Citation{{URL: "https://c", Title: "C"}}, GetCitations(m))
	m = answerOf(t, `{"choices":[{"message":{"content":"x","annotations":[{"type":"url_citation","url_citation":`+
		`{"url":"https://o","title":"O","start_index":1,"end_index":2}}]},"finish_reason":"stop"}],`+lists+`}`)
	require.Equal(t, []Citation{{URL: "https://o", Title: "O", Start: 1, End: 2}}, GetCitations(m))
	require.Nil(t, GetCitations[*schema.Message](nil))
}
