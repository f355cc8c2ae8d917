package gemini

import (
	"encoding/json"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
	"github.com/weftgo/weft/schema/gemini"
)

// Keys of the Extra of answers, with JSON as the service sends it if not said otherwise.
const (
	// GroundingKey holds the sources of an answer, with what schema/gemini has no field for.
	GroundingKey = "gemini_grounding"
	// URLContextKey holds which pages were read.
	URLContextKey = "gemini_url_context"
	// CitationsKey holds what the answer quotes.
	CitationsKey = "gemini_citations"
	// SafetyRatingsKey holds the ratings of the answer.
	SafetyRatingsKey = "gemini_safety_ratings"
	// LogprobsKey holds the log probabilities: one object for each event, one behind the other.
	LogprobsKey = "gemini_logprobs"
	// FinishMessageKey holds the service's words for why the answer ended.
	FinishMessageKey = "gemini_finish_message"
	// TrafficTypeKey holds what the request was billed as, on Vertex.
	TrafficTypeKey = "gemini_traffic_type"
)

// An ending collects what is said about an answer as a whole, often more than once.
type ending struct {
	// reason is the reason for which the answer ended, "" while it has not: the service's word for it.
	reason, message string
	// blocked is the reason for which the prompt was blocked.
	blocked string

	id, model string
	usage     usage

	grounding                      kit.Object
	urlContext, citations, ratings json.RawMessage
	logprobs                       []json.RawMessage
}

// event takes what an event says.
func (n *ending) event(e *wireEvent) {
	if f := e.PromptFeedback; f != nil && f.BlockReason != "" {
		n.blocked, n.reason, n.message = f.BlockReason, f.BlockReason, f.BlockReasonMessage
	}
	n.usage.take(e.UsageMetadata)
	n.id, n.model = e.ResponseID, e.ModelVersion
}

// unspecified is the word for a reason that the service does not say.
const unspecified = "FINISH_REASON_UNSPECIFIED"

// candidate takes what an event says about the answer.
func (n *ending) candidate(c *wireCandidate) {
	if c.FinishReason != "" && c.FinishReason != unspecified {
		n.reason = c.FinishReason
		n.message = c.FinishMessage
	}
	keep(&n.urlContext, c.URLContextMetadata)
	keep(&n.citations, c.CitationMetadata)
	keep(&n.ratings, c.SafetyRatings)
	if len(c.LogprobsResult) > 0 {
		n.logprobs = append(n.logprobs, append(json.RawMessage{}, c.LogprobsResult...))
	}
	if len(c.GroundingMetadata) > 2 {
		n.ground(c.GroundingMetadata)
	}
}

// keep replaces a value by a later one.
func keep(value *json.RawMessage, later json.RawMessage) {
	if len(later) > 0 && string(later) != "null" {
		*value = append(json.RawMessage{}, later...)
	}
}

// nextHop prepares for the next request of the answer.
func (n *ending) nextHop() {
	n.reason, n.message = "", ""
	n.usage.nextHop()
}

// malformed reports whether the model wrote calls that the service could not read or does not allow.
func (n *ending) malformed() bool {
	switch n.reason {
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS":
		return true
	}
	return false
}

// finish says in out how the answer has ended, or returns the error if that is no answer.
func (n *ending) finish(r *reader, out *schema.AgenticMessage) error {
	if err := n.stopped(r); err != nil {
		return err
	}
	kit.SetFinishReason(out, n.reason)
	r.markCalls(out)
	if out.ResponseMeta == nil {
		out.ResponseMeta = new(schema.AgenticResponseMeta)
	}
	meta := out.ResponseMeta
	meta.ID, meta.Model, meta.Provider = n.id, n.model, r.call.e.info.System
	meta.TokenUsage = n.usage.tokens()
	meta.GeminiExtension = &gemini.ResponseMetaExtension{
		ID: n.id, FinishReason: n.reason, GroundingMeta: groundingOf(n.grounding),
	}
	if len(n.grounding) > 0 {
		text, _ := n.grounding.Encode() // was JSON
		kit.SetExtra(&out.Extra, GroundingKey, string(text))
	}
	kit.SetExtra(&out.Extra, kit.UsageRawKey, n.usage.raw())
	kit.SetExtra(&out.Extra, TrafficTypeKey, n.usage.traffic())
	kit.SetExtra(&out.Extra, FinishMessageKey, n.message)
	kit.SetExtra(&out.Extra, LogprobsKey, kit.JoinObjects(n.logprobs))
	for key, raw := range map[string]json.RawMessage{
		URLContextKey: n.urlContext, CitationsKey: n.citations, SafetyRatingsKey: n.ratings,
	} {
		if raw != nil {
			kit.SetExtra(&out.Extra, key, oneLine(raw))
		}
	}
	return nil
}

// stopped returns the error for an answer that is none: a blocked prompt, calls that must not be run, or nothing at all.
func (n *ending) stopped(r *reader) error {
	switch {
	case n.blocked != "" && !r.hasContent:
		return r.stop(kit.StoppedError{Finish: kit.FinishContentFilter, Reason: n.blocked, Detail: n.message})
	case n.malformed() && r.hasCalls:
		return r.stop(kit.StoppedError{Finish: kit.FinishMalformed, Reason: n.reason, Detail: n.message})
	case r.hasContent || r.hasCalls:
		return nil
	case n.reason == "":
		return r.stop(kit.StoppedError{
			Finish: kit.FinishUnknown, Detail: "the service gave neither content nor a reason",
		})
	}
	empty := newMessage()
	kit.SetFinishReason(empty, n.reason)
	return kit.CheckStopped(provider, n.reason, r.call.e.info.Redactor.Text(n.message), empty)
}

// stop completes the error for an answer that is none.
func (r *reader) stop(e kit.StoppedError) error {
	e.Provider, e.Detail = provider, r.call.e.info.Redactor.Text(e.Detail)
	return &e
}
