package model

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/schema"
)

func TestConvCallback(t *testing.T) {
	in, out := &CallbackInput{}, &CallbackOutput{}
	require.Same(t, in, ConvCallbackInput(in))
	require.Same(t, out, ConvCallbackOutput(out))
	require.Nil(t, ConvCallbackInput((*CallbackInput)(nil)))

	messages := []*schema.Message{schema.UserMessage("x")}
	require.Equal(t, &CallbackInput{Messages: messages}, ConvCallbackInput(messages))
	require.Equal(t, &CallbackOutput{Message: messages[0]}, ConvCallbackOutput(messages[0]))
	require.Equal(t, &CallbackOutput{}, ConvCallbackOutput((*schema.Message)(nil)))
	answer := &schema.Message{ResponseMeta: &schema.ResponseMeta{Usage: &schema.TokenUsage{
		PromptTokens: 5, PromptTokenDetails: schema.PromptTokenDetails{CachedTokens: 4}, CompletionTokens: 3, TotalTokens: 8,
		CompletionTokensDetails: schema.CompletionTokensDetails{ReasoningTokens: 2},
	}}}
	require.Equal(t, &CallbackOutput{Message: answer, TokenUsage: &TokenUsage{
		PromptTokens: 5, PromptTokenDetails: PromptTokenDetails{CachedTokens: 4}, CompletionTokens: 3, TotalTokens: 8,
		CompletionTokensDetails: CompletionTokensDetails{ReasoningTokens: 2},
	}}, ConvCallbackOutput(answer))

	for _, other := range []any{nil, "x", CallbackInput{}, CallbackOutput{}, []*schema.AgenticMessage{}} {
		require.Nil(t, ConvCallbackInput(other))
		require.Nil(t, ConvCallbackOutput(other))
	}
}

func TestConvAgenticCallback(t *testing.T) {
	in, out := &AgenticCallbackInput{}, &AgenticCallbackOutput{}
	require.Same(t, in, ConvAgenticCallbackInput(in))
	require.Same(t, out, ConvAgenticCallbackOutput(out))

	messages := []*schema.AgenticMessage{{}}
	require.Equal(t, &AgenticCallbackInput{Messages: messages}, ConvAgenticCallbackInput(messages))
	require.Equal(t, &AgenticCallbackOutput{Message: messages[0]}, ConvAgenticCallbackOutput(messages[0]))
	require.Equal(t, &AgenticCallbackOutput{}, ConvAgenticCallbackOutput((*schema.AgenticMessage)(nil)))

	for _, other := range []any{nil, "x", AgenticCallbackInput{}, AgenticCallbackOutput{}, []*schema.Message{}} {
		require.Nil(t, ConvAgenticCallbackInput(other))
		require.Nil(t, ConvAgenticCallbackOutput(other))
	}
}

func TestTokenUsage_JSON(t *testing.T) {
	text, err := json.Marshal(TokenUsage{CompletionTokensDetails: CompletionTokensDetails{ReasoningTokens: 2}})
	require.NoError(t, err)
	require.JSONEq(t,
		`{"PromptTokens":0,"PromptTokenDetails":{"CachedTokens":0,"CacheWriteTokens":0},"CompletionTokens":0,"TotalTokens":0,"completion_token_details":{"reasoning_tokens":2}}`, string(text))
}

func TestConvCallback_CacheWriteTokens(t *testing.T) {
	usage := &schema.TokenUsage{PromptTokens: 9,
		PromptTokenDetails: schema.PromptTokenDetails{CachedTokens: 4, CacheWriteTokens: 3}}
	want := &TokenUsage{PromptTokens: 9, PromptTokenDetails: PromptTokenDetails{CachedTokens: 4, CacheWriteTokens: 3}}
	require.Equal(t, want,
		ConvCallbackOutput(&schema.Message{ResponseMeta: &schema.ResponseMeta{Usage: usage}}).TokenUsage)
	require.Equal(t, want,
		ConvAgenticCallbackOutput(&schema.AgenticMessage{ResponseMeta: &schema.AgenticResponseMeta{TokenUsage: usage}}).TokenUsage)
	require.Nil(t,
		ConvAgenticCallbackOutput(&schema.AgenticMessage{ResponseMeta: &schema.AgenticResponseMeta{}}).TokenUsage)
}
