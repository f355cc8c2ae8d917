package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// What servers answer. Only names are relied on: a field that is missing, null or of another type than expected counts
// as not there, since servers that call themselves compatible differ in such details.

// A completion is a whole answer, or a chunk of a streamed one.
type completion struct {
	ID                string   `json:"id"`
	Object            string   `json:"object"`
	Model             string   `json:"model"`
	ServiceTier       string   `json:"service_tier"`
	SystemFingerprint string   `json:"system_fingerprint"`
	Provider          string   `json:"provider"` // OpenRouter
	Choices           []choice `json:"choices"`
	// Perplexity, xAI: addresses, and pages with titles
	Citations     []json.RawMessage `json:"citations"`
	SearchResults []json.RawMessage `json:"search_results"`
	Usage         *usage            `json:"usage"`
	XGroq         struct {
		Usage *usage          `json:"usage"`
		Error json.RawMessage `json:"error"`
	} `json:"x_groq"`
	Error json.RawMessage `json:"error"`
	// Azure: what its filter says of the prompt
	PromptFilterResults json.RawMessage `json:"prompt_filter_results"`
	ProviderMetadata    metadata        `json:"provider_metadata"` // Vercel
}

// metadata is the report of Vercel's gateway about the provider behind it.
type metadata struct {
	Gateway struct {
		Cost word `json:"cost"`
	} `json:"gateway"`
}

// A word is a JSON text or number as a text.
type word string

func (w *word) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) != nil && string(data) != "null" {
		text = string(data)
	}
	*w = word(text)
	return nil
}

// cost returns the price in US dollars, "" if the server does not say it.
func (c *completion) cost() string {
	u := c.usage()
	if u != nil && u.Cost != "" {
		return string(u.Cost)
	}
	if u != nil && u.CostTicks != "" {
		return dollars(string(u.CostTicks))
	}
	cost := c.ProviderMetadata.Gateway.Cost
	if choice := c.choice(); choice != nil {
		cost = cmp.Or(cost, choice.ProviderMetadata.Gateway.Cost)
		if a := choice.answer(); a != nil {
			cost = cmp.Or(cost, a.ProviderMetadata.Gateway.Cost)
		}
	}
	return string(cost)
}

// ticksPerDollar is xAI's unit: a tick is a ten-billionth of a dollar.
const ticksPerDollar = 10_000_000_000

func dollars(ticks string) string {
	n, err := strconv.ParseInt(ticks, 10, 64)
	if err != nil || n < 0 {
		return ""
	}
	text := fmt.Sprintf("%d.%010d", n/ticksPerDollar, n%ticksPerDollar)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// failure returns the error that the server put instead of an answer, or behind a part of it. whole says that data is
// all there is.
func (c *completion) failure(data []byte, whole bool) *APIError {
	if c.Object == "error" {
		return kit.ParseError(data)
	}
	for _, raw := range []json.RawMessage{c.Error, c.XGroq.Error} {
		if e := kit.ParseError(raw); e != nil {
			return e
		}
	}
	choice := c.choice()
	if choice == nil {
		return c.errorDocument(data, whole)
	}
	if e := kit.ParseError(choice.Error); e != nil {
		return e
	}
	if choice.FinishReason == "error" {
		return &APIError{Message: "the server ended the answer with an error"}
	}
	return nil
}

// errorDocument returns the error of a document that consists of one alone, such as {"code":500,"message":"down"}. A plain
// text counts only instead of a whole answer: in a stream it may be there to keep the connection open.
func (c *completion) errorDocument(data []byte, whole bool) *APIError {
	if c.Object != "" || len(c.Choices) > 0 || c.Usage != nil || c.XGroq.Usage != nil {
		return nil
	}
	e := kit.ParseError(data)
	if e == nil || e.Message == "" || !whole && e.Code == "" && e.Type == "" {
		return nil
	}
	return e
}

// choice returns the first of the alternative answers.
func (c *completion) choice() *choice {
	for i := range c.Choices {
		if c.Choices[i].Index == 0 {
			return &c.Choices[i]
		}
	}
	return nil
}

// usage returns the token counts, from wherever the server puts them.
func (c *completion) usage() *usage {
	switch choice := c.choice(); {
	case c.Usage != nil:
		return c.Usage
	case c.XGroq.Usage != nil:
		return c.XGroq.Usage
	case choice != nil:
		return choice.Usage
	}
	return nil
}

type choice struct {
	Index        int              `json:"index"`
	Message      *answer          `json:"message"`
	Delta        *answer          `json:"delta"`
	FinishReason string           `json:"finish_reason"`
	LogProbs     *schema.LogProbs `json:"logprobs"`
	Usage        *usage           `json:"usage"` // Moonshot
	Error        json.RawMessage  `json:"error"` // OpenRouter

	ContentFilterResults json.RawMessage `json:"content_filter_results"` // Azure
	ProviderMetadata     metadata        `json:"provider_metadata"`      // Vercel
}

func (c *choice) answer() *answer {
	if c.Delta != nil {
		return c.Delta
	}
	return c.Message
}

type answer struct {
	Content          content           `json:"content"`
	Reasoning        string            `json:"reasoning"`
	ReasoningContent string            `json:"reasoning_content"`
	ReasoningDetails []json.RawMessage `json:"reasoning_details"`
	Refusal          string            `json:"refusal"`
	ToolCalls        []toolCall        `json:"tool_calls"`
	Annotations      []json.RawMessage `json:"annotations"`
	Images           []contentPart     `json:"images"` // OpenRouter
	Audio            struct {
		Data       string `json:"data"`
		Transcript string `json:"transcript"`
	} `json:"audio"`
	ProviderMetadata metadata `json:"provider_metadata"` // Vercel
}

// content is a text, or a list of parts.
type content struct {
	text, reasoning string
	images          []string
}

type contentPart struct {
	Text     string `json:"text"`
	ImageURL struct {
		URL string `json:"url"`
	} `json:"image_url"`
	Thinking []struct {
		Text string `json:"text"`
	} `json:"thinking"` // Mistral
}

func (c *content) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, &c.text) == nil {
		return nil
	}
	var parts []contentPart
	if decodeList(data, &parts) != nil {
		return nil
	}
	var text, reasoning strings.Builder
	for _, part := range parts {
		text.WriteString(part.Text)
		for _, thought := range part.Thinking {
			reasoning.WriteString(thought.Text)
		}
		if part.ImageURL.URL != "" {
			c.images = append(c.images, part.ImageURL.URL)
		}
	}
	c.text, c.reasoning = text.String(), reasoning.String()
	return nil
}

// decodeList is decode for a list.
func decodeList[T any](data []byte, list *[]T) error {
	var wrapped struct{ List []T }
	err := kit.DecodeLenient(append(append([]byte(`{"List":`), data...), '}'), &wrapped)
	*list = wrapped.List
	return err
}

type toolCall struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string    `json:"name"`
		Arguments arguments `json:"arguments"`
	} `json:"function"`
	ExtraContent json.RawMessage `json:"extra_content"` // Google: signatures of the thinking before the call
}

// arguments are JSON text; some servers send the JSON itself.
type arguments string

func (a *arguments) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) != nil {
		text = string(data)
	}
	*a = arguments(text) // "" for null
	return nil
}

// usage counts tokens.
type usage struct {
	PromptTokens        kit.Count `json:"prompt_tokens"`
	CompletionTokens    kit.Count `json:"completion_tokens"`
	TotalTokens         kit.Count `json:"total_tokens"`
	PromptTokensDetails struct {
		CachedTokens     kit.Count `json:"cached_tokens"`
		CacheWriteTokens kit.Count `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionTokensDetails struct {
		ReasoningTokens kit.Count `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	PromptCacheHitTokens kit.Count `json:"prompt_cache_hit_tokens"` // DeepSeek
	CachedTokens         kit.Count `json:"cached_tokens"`           // Moonshot

	Cost      word `json:"cost"`              // OpenRouter
	CostTicks word `json:"cost_in_usd_ticks"` // xAI

	raw json.RawMessage // all of it
}

// UnmarshalJSON keeps the object as it is, too.
func (u *usage) UnmarshalJSON(data []byte) error {
	type plain usage
	err := kit.DecodeLenient(data, (*plain)(u))
	u.raw = bytes.Clone(data)
	return err
}

// tokens returns the counts in the sense of schema.TokenUsage, nil if there are none.
func (u *usage) tokens() *schema.TokenUsage {
	if u == nil || u.PromptTokens == 0 && u.CompletionTokens == 0 && u.TotalTokens == 0 { // MiniMax: sent to keep alive
		return nil
	}
	return kit.Counts{
		Prompt: u.PromptTokens, Completion: u.CompletionTokens, Total: u.TotalTokens,
		Cached:    max(u.PromptTokensDetails.CachedTokens, u.PromptCacheHitTokens, u.CachedTokens),
		Written:   u.PromptTokensDetails.CacheWriteTokens,
		Reasoning: u.CompletionTokensDetails.ReasoningTokens,
	}.Tokens()
}
