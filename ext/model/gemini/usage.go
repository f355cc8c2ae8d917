package gemini

import (
	"cmp"
	"encoding/json"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// A usage is the account of an answer, over all of its requests. Within a request the service sends running totals, of
// which the last counts.
type usage struct {
	current json.RawMessage // of the current request
	before  []json.RawMessage
}

type wireUsage struct {
	Prompt     kit.Count `json:"promptTokenCount"`
	ToolPrompt kit.Count `json:"toolUsePromptTokenCount"`
	Cached     kit.Count `json:"cachedContentTokenCount"`
	Candidates kit.Count `json:"candidatesTokenCount"`
	Thoughts   kit.Count `json:"thoughtsTokenCount"`
	Total      kit.Count `json:"totalTokenCount"`
	Traffic    string    `json:"trafficType"`
}

func (u *usage) take(raw json.RawMessage) {
	if len(raw) > 2 && string(raw) != "null" {
		u.current = append(u.current[:0], raw...)
	}
}

func (u *usage) nextHop() {
	if len(u.current) > 0 {
		u.before = append(u.before, u.current)
		u.current = nil
	}
}

func (u *usage) all() []json.RawMessage {
	if len(u.current) == 0 {
		return u.before
	}
	return append(u.before[:len(u.before):len(u.before)], u.current)
}

// tokens returns the sum of all requests, nil if the service says nothing.
func (u *usage) tokens() (sum *schema.TokenUsage) {
	for _, raw := range u.all() {
		var w wireUsage
		if kit.DecodeLenient(raw, &w) != nil {
			continue
		}
		t := &schema.TokenUsage{
			PromptTokens:            int(w.Prompt + w.ToolPrompt),
			PromptTokenDetails:      schema.PromptTokenDetails{CachedTokens: int(w.Cached)},
			CompletionTokens:        int(w.Candidates + w.Thoughts),
			CompletionTokensDetails: schema.CompletionTokensDetails{ReasoningTokens: int(w.Thoughts)},
		}
		t.TotalTokens = cmp.Or(int(w.Total), t.PromptTokens+t.CompletionTokens)
		sum = kit.AddUsage(sum, t)
	}
	return sum
}

// raw returns the accounts of all requests, one behind the other.
func (u *usage) raw() (text string) {
	for _, raw := range u.all() {
		text += kit.RawUsage(raw)
	}
	return text
}

func (u *usage) traffic() string {
	var w wireUsage
	_ = kit.DecodeLenient(u.current, &w) // nothing may have been said
	return w.Traffic
}
