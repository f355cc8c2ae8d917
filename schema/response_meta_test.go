package schema

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// The origin is joined to the last value that is not empty, tokens written to a cache to the highest count.
func TestConcat_OriginAndCacheWrites(t *testing.T) {
	usage := func(n int) *TokenUsage {
		return &TokenUsage{PromptTokenDetails: PromptTokenDetails{CacheWriteTokens: n}}
	}
	m, err := ConcatMessages([]*Message{
		{ResponseMeta: &ResponseMeta{ID: "1", Model: "m", Usage: usage(3)}},
		{ResponseMeta: &ResponseMeta{Model: "m-2026", Provider: "openai", Usage: usage(7)}},
		{ResponseMeta: &ResponseMeta{ID: "2", Usage: usage(5)}},
	})
	require.NoError(t, err)
	require.Equal(t, &ResponseMeta{ID: "2", Model: "m-2026", Provider: "openai", Usage: usage(7)}, m.ResponseMeta)
	require.Equal(t, ": \nfinish_reason: \nusage: &{0 {0 7} 0 0 {0}}", m.String())
	a, err := ConcatAgenticMessages([]*AgenticMessage{
		{ResponseMeta: &AgenticResponseMeta{ID: "1", Model: "m", TokenUsage: usage(3)}},
		{ResponseMeta: &AgenticResponseMeta{ID: "2", Provider: "anthropic", TokenUsage: usage(1)}},
	})
	require.NoError(t, err)
	require.Equal(t, &AgenticResponseMeta{ID: "2", Model: "m", Provider: "anthropic", TokenUsage: usage(3)},
		a.ResponseMeta)
}

// Fields that Eino does not have leave no trace when they are empty, and messages without them are read.
func TestResponseMeta_EncodingsStayReadable(t *testing.T) {
	doc, err := json.Marshal(&ResponseMeta{FinishReason: "stop", Usage: &TokenUsage{PromptTokens: 1}})
	require.NoError(t, err)
	require.Equal(t,
		`{"finish_reason":"stop","usage":{"prompt_tokens":1,"prompt_token_details":{"cached_tokens":0,"cache_write_tokens":0},"completion_tokens":0,"total_tokens":0,"completion_token_details":{}}}`, string(doc))
	type oldUsage struct {
		PromptTokens       int
		PromptTokenDetails struct{ CachedTokens int }
	}
	type oldMeta struct {
		FinishReason string
		Usage        *oldUsage
	}
	var buf bytes.Buffer
	old := oldMeta{"stop", &oldUsage{PromptTokens: 2}}
	old.Usage.PromptTokenDetails.CachedTokens = 1
	require.NoError(t, gob.NewEncoder(&buf).Encode(old))
	var meta ResponseMeta
	require.NoError(t, gob.NewDecoder(&buf).Decode(&meta))
	require.Equal(t, ResponseMeta{FinishReason: "stop",
		Usage: &TokenUsage{PromptTokens: 2, PromptTokenDetails: PromptTokenDetails{CachedTokens: 1}}}, meta)
	// And the other way round.
	buf.Reset()
	meta.ID, meta.Model, meta.Provider, meta.Usage.PromptTokenDetails.CacheWriteTokens = "1", "m", "p", 3
	require.NoError(t, gob.NewEncoder(&buf).Encode(meta))
	var back oldMeta
	require.NoError(t, gob.NewDecoder(&buf).Decode(&back))
	require.Equal(t, old, back)
}

// TestTokenUsage_AddCountsEveryField sets each count to another number, so that one that is forgotten shows.
func TestTokenUsage_AddCountsEveryField(t *testing.T) {
	var u, twice TokenUsage
	require.NoError(t, json.Unmarshal([]byte(`{"prompt_tokens":1,"prompt_token_details":{"cached_tokens":2,"cache_write_tokens":3},
		"completion_tokens":4,"total_tokens":5,"completion_token_details":{"reasoning_tokens":6}}`), &u))
	require.NoError(t, json.Unmarshal([]byte(`{"prompt_tokens":2,"prompt_token_details":{"cached_tokens":4,"cache_write_tokens":6},
		"completion_tokens":8,"total_tokens":10,"completion_token_details":{"reasoning_tokens":12}}`), &twice))
	sum := u
	sum.Add(&u)
	sum.Add(nil)
	require.Equal(t, twice, sum)
}
