package openai

import (
	"cmp"
	"strings"

	"github.com/weftgo/weft/schema"
)

// An assembler makes messages of what the server answers: one of a whole answer, or one a chunk of a streamed one, so
// that they can be joined.
type assembler struct {
	whole          bool
	requestID      string
	calls          callTracker
	said           ResponseInfo // what earlier chunks said
	reasoningField string
	begun          bool // there was a message
	answered       bool // some chunk had an answer, and not only usage
	finished       bool // some chunk had a finish reason
}

// message returns what a completion adds to the message, or nil if that is nothing. The first one is always something.
func (a *assembler) message(c *completion) *schema.Message {
	m := &schema.Message{Role: schema.Assistant}
	a.takeInfo(m, c)
	if usage := c.usage().tokens(); usage != nil {
		m.ResponseMeta = &schema.ResponseMeta{Usage: usage}
	}
	if choice := c.choice(); choice != nil {
		a.takeChoice(m, choice)
	}
	if a.begun && saysNothing(m) {
		return nil
	}
	a.begun = true
	return m
}

func saysNothing(m *schema.Message) bool {
	return m.Content == "" && m.ReasoningContent == "" && m.ResponseMeta == nil && m.Extra == nil &&
		len(m.ToolCalls) == 0 && len(m.AssistantGenMultiContent) == 0
}

// takeInfo notes what the server says about the response, each thing once.
func (a *assembler) takeInfo(m *schema.Message, c *completion) {
	info := ResponseInfo{
		ID: c.ID, RequestID: a.requestID,
		Model: c.Model, Provider: c.Provider,
		ServiceTier: c.ServiceTier, SystemFingerprint: c.SystemFingerprint,
	}
	for _, f := range infoFields {
		if said, value := f.of(&a.said), *f.of(&info); *said == "" {
			*said = value
			addExtra(m, f.key, value)
		}
	}
}

func (a *assembler) takeChoice(m *schema.Message, c *choice) {
	a.answered = true
	logProbs := c.LogProbs
	if logProbs != nil && len(logProbs.Content) == 0 {
		logProbs = nil
	}
	if c.FinishReason != "" || logProbs != nil {
		if m.ResponseMeta == nil {
			m.ResponseMeta = new(schema.ResponseMeta)
		}
		m.ResponseMeta.FinishReason, m.ResponseMeta.LogProbs = c.FinishReason, logProbs
		a.finished = a.finished || c.FinishReason != ""
	}
	if from := c.answer(); from != nil {
		a.takeAnswer(m, from)
	}
}

func (a *assembler) takeAnswer(m *schema.Message, from *answer) {
	m.Content = cmp.Or(from.Content.text, from.Audio.Transcript)
	a.takeReasoning(m, from)
	addExtra(m, refusalKey, from.Refusal)
	addExtra(m, annotationsKey, joinObjects(from.Annotations))
	for _, call := range from.ToolCalls {
		if a.whole {
			m.ToolCalls = append(m.ToolCalls, wholeCall(call))
		} else {
			m.ToolCalls = append(m.ToolCalls, a.calls.add(call))
		}
	}
	for _, url := range from.Content.images {
		m.AssistantGenMultiContent = append(m.AssistantGenMultiContent, imageOutput(url))
	}
	for _, image := range from.Images {
		m.AssistantGenMultiContent = append(m.AssistantGenMultiContent, imageOutput(image.ImageURL.URL))
	}
	if data := from.Audio.Data; data != "" {
		m.AssistantGenMultiContent = append(m.AssistantGenMultiContent, schema.MessageOutputPart{
			Type:  schema.ChatMessagePartTypeAudioURL,
			Audio: &schema.MessageOutputAudio{MessagePartCommon: schema.MessagePartCommon{Base64Data: &data}},
		})
	}
}

func imageOutput(url string) schema.MessageOutputPart {
	var common schema.MessagePartCommon
	if mime, data, ok := splitDataURL(url); ok {
		common.MIMEType, common.Base64Data = mime, &data
	} else {
		common.URL = &url
	}
	return schema.MessageOutputPart{
		Type:  schema.ChatMessagePartTypeImageURL,
		Image: &schema.MessageOutputImage{MessagePartCommon: common},
	}
}

// splitDataURL takes a data URL in base64 apart.
func splitDataURL(url string) (mime, data string, ok bool) {
	rest, ok := strings.CutPrefix(url, "data:")
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, ";base64,")
}
