package anthropic

import (
	"bytes"
	"encoding/json"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// A usage is the account of one request. What the server says later counts, and what it leaves out stays, or counts as 0
// as some servers in between do for what they said at the beginning.
type usage struct {
	fields kit.Object
	// only is the account if there is a single one, and nothing of it has to be left out: then its fields are not
	// needed.
	only json.RawMessage
}

// set takes the only account of an answer.
func (u *usage) set(raw json.RawMessage) {
	if bytes.HasPrefix(raw, []byte("{")) && !bytes.Contains(raw, []byte("null")) {
		u.only = raw
		return
	}
	u.add(raw)
}

// add takes what the server says.
func (u *usage) add(raw json.RawMessage) {
	decoded, err := kit.DecodeOrdered(raw)
	o, ok := decoded.(kit.Object)
	if err != nil || !ok {
		return
	}
	for _, f := range o {
		if f.Value != nil && (f.Value != json.Number("0") || u.fields.Get(f.Key) == nil) {
			u.fields.Set(f.Key, f.Value)
		}
	}
}

// raw returns the account as JSON, nil if there is none.
func (u *usage) raw() json.RawMessage {
	if u.fields == nil {
		return u.only
	}
	raw, _ := u.fields.Encode() // of decoded JSON: cannot fail
	return raw
}

// serviceTier returns the tier at which the request was served, "" if the server does not say it.
func (u *usage) serviceTier() string {
	if u.only != nil {
		var w struct {
			Tier string `json:"service_tier"`
		}
		_ = kit.DecodeLenient(u.only, &w) // "" if it is another thing
		return w.Tier
	}
	tier, _ := u.fields.Get("service_tier").(string)
	return tier
}

// tokens returns the account in the common form, nil if there is none.
func (u *usage) tokens() *schema.TokenUsage {
	var w struct {
		Input   kit.Count `json:"input_tokens"`
		Written kit.Count `json:"cache_creation_input_tokens"`
		Read    kit.Count `json:"cache_read_input_tokens"`
		Output  kit.Count `json:"output_tokens"`
		Details struct {
			Thinking kit.Count `json:"thinking_tokens"`
		} `json:"output_tokens_details"`
	}
	if u.raw() == nil || kit.DecodeLenient(u.raw(), &w) != nil {
		return nil
	}
	return kit.Counts{
		Prompt: w.Input + w.Written + w.Read, Completion: w.Output, Cached: w.Read, Written: w.Written,
		Reasoning: min(w.Details.Thinking, w.Output),
	}.Tokens()
}
