package openai

import (
	"encoding/json"
	"strings"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// ReasoningReplay says how the thinking of earlier answers (ReasoningContent and what belongs to it) is sent back.
//
// The API has no field for it, but compatible servers have: some want it back, above all between tool calls, and some
// reject it.
type ReasoningReplay string

const (
	// ReasoningReplayAuto does what the [Profile] says: as a rule the thinking of the server's own answers is sent in the
	// fields in which it came, other servers' thinking is not, and servers that refuse thinking get none.
	ReasoningReplayAuto ReasoningReplay = ""
	// ReasoningReplayNever sends none.
	ReasoningReplayNever ReasoningReplay = "never"
	// ReasoningReplayAsReasoning sends every ReasoningContent, of whichever model, in the field "reasoning".
	ReasoningReplayAsReasoning ReasoningReplay = "reasoning"
	// ReasoningReplayAsReasoningContent sends every ReasoningContent, of whichever model, in the field "reasoning_content".
	ReasoningReplayAsReasoningContent ReasoningReplay = "reasoning_content"
)

// GetReasoningDetails returns the thinking of the message as the structured list of OpenRouter ("reasoning_details"),
// joined if it was streamed. It has what the plain text in ReasoningContent lacks: signatures and encrypted parts.
func GetReasoningDetails(m *schema.Message) []json.RawMessage {
	return mergeDetails(kit.SplitObjects(extraText(m, reasoningDetailsKey)))
}

// takeReasoning puts the thinking of an answer into the message. The name of the field it came in is noted once.
func (a *assembler) takeReasoning(m *schema.Message, from *answer) {
	field, text := string(ReasoningReplayAsReasoningContent), from.ReasoningContent
	if text == "" || a.reasoningField == string(ReasoningReplayAsReasoning) && from.Reasoning != "" {
		field, text = string(ReasoningReplayAsReasoning), from.Reasoning
	}
	if text != "" && a.reasoningField == "" {
		a.reasoningField = field
		kit.SetExtra(&m.Extra, reasoningFieldKey, field)
	}
	if text == "" && a.reasoningField == "" {
		text = detailsText(from.ReasoningDetails)
	}
	m.ReasoningContent = a.fresh(&a.thought, text) + from.Content.reasoning
	kit.SetExtra(&m.Extra, reasoningDetailsKey, kit.JoinObjects(from.ReasoningDetails))
}

// detailsText returns the texts of a list of details, for servers that send the thinking nowhere else. It goes back as
// the list that it was.
func detailsText(details []json.RawMessage) (text string) {
	for _, raw := range details {
		var d reasoningDetail
		if kit.DecodeLenient(raw, &d) == nil {
			text += d.Text + d.Summary
		}
	}
	return text
}

// replayReasoning sets the thinking of a message in the object that is sent for it. m is the message without what other
// servers attached to it, original has everything.
func (c *call) replayReasoning(o *kit.Object, m, original *schema.Message) {
	switch mode := c.conf.ReasoningReplay; mode {
	case ReasoningReplayNever:
		return
	case ReasoningReplayAsReasoning, ReasoningReplayAsReasoningContent:
		o.SetText(string(mode), kit.Thinking(original))
		return
	}
	switch c.profile.Reasoning {
	case ReasoningNever:
		return
	case ReasoningRequired:
		if len(m.ToolCalls) > 0 && !c.thinkingOff() {
			o.Set(string(ReasoningReplayAsReasoningContent), kit.Thinking(m))
		}
		return
	}
	if details := GetReasoningDetails(m); len(details) > 0 { // has what the text lacks, and the text, too
		o.Set("reasoning_details", details)
		return
	}
	if field := extraText(m, reasoningFieldKey); field != "" {
		o.SetText(field, kit.Thinking(m))
	}
}

// A reasoningDetail is an object of OpenRouter's list.
type reasoningDetail struct {
	Type      string `json:"type"`
	Index     *int   `json:"index"`
	ID        string `json:"id"`
	Text      string `json:"text"`
	Summary   string `json:"summary"`
	Signature string `json:"signature"`
}

// continuedBy reports whether next is the next piece of the same text. The signature is the last piece.
func (d *reasoningDetail) continuedBy(next *reasoningDetail) bool {
	streamed := d.Type == "reasoning.text" || d.Type == "reasoning.summary"
	sameIndex := d.Index == nil && next.Index == nil || d.Index != nil && next.Index != nil && *d.Index == *next.Index
	sameID := d.ID == "" || next.ID == "" || d.ID == next.ID
	return streamed && d.Type == next.Type && sameIndex && sameID && d.Signature == ""
}

// A detailRun is pieces of one text, and the last of them.
type detailRun struct {
	pieces []json.RawMessage
	last   reasoningDetail
}

// mergeDetails joins the pieces of texts that were streamed, also of several in turns.
func mergeDetails(pieces []json.RawMessage) (merged []json.RawMessage) {
	var runs []*detailRun
	for _, piece := range pieces {
		var next reasoningDetail
		if kit.DecodeLenient(piece, &next) != nil {
			continue
		}
		run := runOf(runs, &next)
		if run == nil {
			run = new(detailRun)
			runs = append(runs, run)
		}
		run.pieces, run.last = append(run.pieces, piece), next
	}
	for _, run := range runs {
		merged = append(merged, joinDetail(run.pieces))
	}
	return merged
}

// runOf returns the run that a piece continues, nil if it begins one. A piece without an index continues the last one
// only, as nothing tells texts apart.
func runOf(runs []*detailRun, next *reasoningDetail) *detailRun {
	for i := len(runs) - 1; i >= 0; i-- {
		if runs[i].last.continuedBy(next) {
			return runs[i]
		}
		if next.Index == nil || runs[i].last.Index != nil && *runs[i].last.Index == *next.Index {
			return nil
		}
	}
	return nil
}

// joinDetail returns one object with the fields of all pieces and their texts joined.
func joinDetail(pieces []json.RawMessage) json.RawMessage {
	if len(pieces) == 1 {
		return pieces[0]
	}
	var text, summary strings.Builder
	all := make(map[string]json.RawMessage)
	for _, piece := range pieces {
		var d reasoningDetail
		var fields map[string]json.RawMessage
		_, _ = kit.DecodeLenient(piece, &d), json.Unmarshal(piece, &fields) // both did so before
		text.WriteString(d.Text)
		summary.WriteString(d.Summary)
		for key, value := range fields {
			if string(value) != "null" {
				all[key] = value
			}
		}
	}
	for key, joined := range map[string]*strings.Builder{"text": &text, "summary": &summary} {
		if joined.Len() > 0 {
			all[key], _ = json.Marshal(joined.String())
		}
	}
	raw, _ := json.Marshal(all) // it came from JSON
	return raw
}
