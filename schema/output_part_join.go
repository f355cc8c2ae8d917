package schema

import (
	"fmt"

	"github.com/weftgo/weft/internal/concat"
)

// run merges adjacent parts of one kind, from the second part on.
type run struct {
	text      textJoin // the text, or base64 data
	signature string
	mimeType  string
	extra     concat.Map // of the parts
	media     concat.Map // of their media
}

func addFilled(j *concat.Map, m map[string]any) {
	if len(m) > 0 {
		j.Add(m)
	}
}

// outputPartJoin joins the parts that a model produced: adjacent chunks of one part become one.
type outputPartJoin struct {
	groups []outputGroup
}

// outputGroup is one part of the result: first alone, or the run that it begins.
type outputGroup struct {
	first MessageOutputPart
	run   *run
}

func (j *outputPartJoin) add(parts []MessageOutputPart) {
	for i := range parts {
		if n := len(j.groups); n > 0 && continuesOutput(&j.groups[n-1].first, &parts[i]) {
			j.groups[n-1].merge(&parts[i])
			continue
		}
		j.groups = append(j.groups, outputGroup{first: parts[i]})
	}
}

// continuesOutput reports whether b is the next chunk of the part that a is a chunk of.
func continuesOutput(a, b *MessageOutputPart) bool {
	if a.Type != b.Type || (a.StreamingMeta == nil) != (b.StreamingMeta == nil) {
		return false
	}
	if a.StreamingMeta != nil && a.StreamingMeta.Index != b.StreamingMeta.Index {
		return false
	}
	switch a.Type {
	case ChatMessagePartTypeText, ChatMessagePartTypeReasoning:
		return true
	case ChatMessagePartTypeAudioURL:
		return isAudioData(a) && isAudioData(b)
	}
	return false
}

// isAudioData reports whether the audio of p is given as data only, which can be appended to; a URL cannot.
func isAudioData(p *MessageOutputPart) bool {
	return p.Audio != nil && p.Audio.Base64Data != nil && p.Audio.URL == nil
}

func (g *outputGroup) merge(next *MessageOutputPart) {
	if g.run == nil {
		g.run = &run{}
		g.run.addOutput(&g.first)
	}
	g.run.addOutput(next)
}

func (r *run) addOutput(p *MessageOutputPart) {
	addFilled(&r.extra, p.Extra)
	switch p.Type {
	case ChatMessagePartTypeText:
		r.text.add(p.Text)
	case ChatMessagePartTypeReasoning:
		r.addReasoning(p.Reasoning)
	case ChatMessagePartTypeAudioURL:
		r.text.add(*p.Audio.Base64Data)
		if r.mimeType == "" {
			r.mimeType = p.Audio.MIMEType
		}
		addFilled(&r.media, p.Audio.Extra)
	}
}

func (r *run) addText(text string, extra map[string]any) {
	r.text.add(text)
	addFilled(&r.extra, extra)
}

func (r *run) addReasoning(reasoning *MessageOutputReasoning) {
	if reasoning == nil {
		return
	}
	r.text.add(reasoning.Text)
	if reasoning.Signature != "" {
		r.signature = reasoning.Signature
	}
}

func (j *outputPartJoin) result() ([]MessageOutputPart, error) {
	if len(j.groups) == 0 {
		return nil, nil
	}
	parts := make([]MessageOutputPart, len(j.groups))
	for i := range j.groups {
		part, err := j.groups[i].part()
		if err != nil {
			return nil, err
		}
		parts[i] = part
	}
	return parts, nil
}

func (g *outputGroup) part() (MessageOutputPart, error) {
	if g.run == nil {
		return g.first.clone(), nil
	}
	part := MessageOutputPart{Type: g.first.Type, StreamingMeta: clonePointer(g.first.StreamingMeta)}
	kind := "text"
	switch part.Type {
	case ChatMessagePartTypeText:
		part.Text = g.run.text.String()
	case ChatMessagePartTypeReasoning:
		kind = "reasoning"
		part.Reasoning = &MessageOutputReasoning{Text: g.run.text.String(), Signature: g.run.signature}
	case ChatMessagePartTypeAudioURL:
		kind = "audio"
		data := g.run.text.String()
		part.Audio = &MessageOutputAudio{MessagePartCommon{Base64Data: &data, MIMEType: g.run.mimeType}}
	}
	var err error
	if part.Extra, err = g.run.extra.Result(); err != nil {
		return part, fmt.Errorf("failed to concat %s part extra: %w", kind, err)
	}
	if part.Audio == nil {
		return part, nil
	}
	if part.Audio.Extra, err = g.run.media.Result(); err != nil {
		return part, fmt.Errorf("failed to concat audio extra: %w", err)
	}
	return part, nil
}
