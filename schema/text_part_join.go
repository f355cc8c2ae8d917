package schema

// textPart is a part of a message of which only texts are joined.
type textPart[P any] interface {
	// asText returns the part's text and extra, if it is a text.
	asText() (text string, extra map[string]any, ok bool)
	// joined returns the text part that a run of texts becomes.
	joined(text string, extra map[string]any) P
	clone() P
}

func (p MessageInputPart) asText() (string, map[string]any, bool) {
	return p.Text, p.Extra, p.Type == ChatMessagePartTypeText
}

func (p MessageInputPart) joined(text string, extra map[string]any) MessageInputPart {
	return MessageInputPart{Type: ChatMessagePartTypeText, Text: text, Extra: extra}
}

func (p ToolOutputPart) asText() (string, map[string]any, bool) {
	return p.Text, p.Extra, p.Type == ToolPartTypeText
}

func (p ToolOutputPart) joined(text string, extra map[string]any) ToolOutputPart {
	return ToolOutputPart{Type: ToolPartTypeText, Text: text, Extra: extra}
}

// textPartJoin lists parts in order; adjacent texts become one.
type textPartJoin[P textPart[P]] struct {
	groups []textGroup[P]
}

// textGroup is one part of the result: first alone, or the run of texts that it begins.
type textGroup[P textPart[P]] struct {
	first P
	run   *run
}

func (j *textPartJoin[P]) add(parts []P) {
	for _, part := range parts {
		if text, extra, ok := part.asText(); ok && j.continueText(text, extra) {
			continue
		}
		j.groups = append(j.groups, textGroup[P]{first: part})
	}
}

// continueText appends to the last part, if that is a text.
func (j *textPartJoin[P]) continueText(text string, extra map[string]any) bool {
	if len(j.groups) == 0 {
		return false
	}
	g := &j.groups[len(j.groups)-1]
	firstText, firstExtra, ok := g.first.asText()
	if !ok {
		return false
	}
	if g.run == nil {
		g.run = &run{}
		g.run.addText(firstText, firstExtra)
	}
	g.run.addText(text, extra)
	return true
}

func (j *textPartJoin[P]) result() ([]P, error) {
	if len(j.groups) == 0 {
		return nil, nil
	}
	parts := make([]P, len(j.groups))
	for i, g := range j.groups {
		if g.run == nil {
			parts[i] = g.first.clone()
			continue
		}
		extra, err := g.run.extra.Result()
		if err != nil {
			return nil, err
		}
		parts[i] = g.first.joined(g.run.text.String(), extra)
	}
	return parts, nil
}
