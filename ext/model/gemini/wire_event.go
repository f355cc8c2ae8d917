package gemini

import (
	"encoding/json"
	"errors"

	"github.com/weftgo/weft/ext/model/kit"
)

// wireEvent is an event of a stream, or a whole answer.
type wireEvent struct {
	Candidates     []wireCandidate `json:"candidates"`
	PromptFeedback *struct {
		BlockReason        string `json:"blockReason"`
		BlockReasonMessage string `json:"blockReasonMessage"`
	} `json:"promptFeedback"`
	UsageMetadata json.RawMessage `json:"usageMetadata"`
	ModelVersion  string          `json:"modelVersion"`
	ResponseID    string          `json:"responseId"`
	Error         json.RawMessage `json:"error"`
}

type wireCandidate struct {
	Index   int `json:"index"`
	Content struct {
		Parts []wirePart `json:"parts"`
	} `json:"content"`
	FinishReason       string          `json:"finishReason"`
	FinishMessage      string          `json:"finishMessage"`
	ContinuationToken  json.RawMessage `json:"continuationToken"`
	GroundingMetadata  json.RawMessage `json:"groundingMetadata"`
	URLContextMetadata json.RawMessage `json:"urlContextMetadata"`
	CitationMetadata   json.RawMessage `json:"citationMetadata"`
	SafetyRatings      json.RawMessage `json:"safetyRatings"`
	LogprobsResult     json.RawMessage `json:"logprobsResult"`
}

// check returns an error for a call whose arguments come in pieces: one of them must not be taken for the call.
func (c *wireCandidate) check() error {
	for i := range c.Content.Parts {
		if f := c.Content.Parts[i].FunctionCall; f != nil && (f.WillContinue || len(f.PartialArgs) > 0) {
			return errors.New("the arguments of a call come in pieces: do not set streamFunctionCallArguments")
		}
	}
	return nil
}

// reset empties an event for the next, and keeps its memory.
func (e *wireEvent) reset() {
	for i := range e.Candidates[:cap(e.Candidates)] {
		c := &e.Candidates[:cap(e.Candidates)][i]
		parts := c.Content.Parts
		clear(parts[:cap(parts)])
		*c = wireCandidate{}
		c.Content.Parts = parts[:0]
	}
	*e = wireEvent{Candidates: e.Candidates[:0], UsageMetadata: e.UsageMetadata[:0],
		ModelVersion: e.ModelVersion, ResponseID: e.ResponseID}
}

// first returns the candidate that is read, nil if the event has none.
func (e *wireEvent) first() *wireCandidate {
	for i := range e.Candidates {
		if e.Candidates[i].Index == 0 {
			return &e.Candidates[i]
		}
	}
	return nil
}

// rawParts returns the parts of the candidate that is read, as they came.
func rawParts(data []byte) []json.RawMessage {
	var e struct {
		Candidates []struct {
			Index   int `json:"index"`
			Content struct {
				Parts []json.RawMessage `json:"parts"`
			} `json:"content"`
		} `json:"candidates"`
	}
	_ = kit.DecodeLenient(data, &e) // was decoded before
	for _, c := range e.Candidates {
		if c.Index == 0 {
			return c.Content.Parts
		}
	}
	return nil
}
