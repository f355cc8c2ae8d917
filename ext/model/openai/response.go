package openai

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// An assembler makes messages of what the server answers: one of a whole answer, or one a chunk of a streamed one, so
// that they can be joined.
type assembler struct {
	call           *call
	whole          bool
	requestID      string
	calls          callTracker
	said           ResponseInfo // what earlier chunks said
	reasoningField string
	begun          bool   // there was a message
	answered       bool   // some chunk had an answer, and not only usage
	finish         string // the reason, if some chunk had one
	tags           *thinkTags
	// content and thought are what came so far, where every chunk repeats it.
	content, thought string
	// cited and results are the latest lists of pages; annotated says that the answer cites them itself.
	cited, results []json.RawMessage
	annotated      bool
	// usage and cost are the latest account, which goes into the last chunk.
	usage, cost string
}

// message returns what a completion adds to the message, or nil if that is nothing. The first one is always something.
func (a *assembler) message(c *completion) *schema.Message {
	m := &schema.Message{Role: schema.Assistant}
	a.takeInfo(m, c)
	if usage := c.usage(); usage.tokens() != nil {
		m.ResponseMeta = &schema.ResponseMeta{Usage: usage.tokens()}
		a.usage = kit.RawUsage(usage.raw)
	}
	a.cost = cmp.Or(c.cost(), a.cost)
	a.takeCitations(c)
	if choice := c.choice(); choice != nil {
		a.takeChoice(m, choice)
	}
	if !a.begun {
		a.call.engine.origin.Mark(&m.Extra)
		a.call.unsupported.Note(&m.Extra)
		a.setMeta(m, c)
	}
	if a.whole {
		a.addRest(m)
	}
	if a.begun && saysNothing(m) {
		return nil
	}
	a.begun = true
	return m
}

// setMeta says who answers.
func (a *assembler) setMeta(m *schema.Message, c *completion) {
	if m.ResponseMeta == nil {
		m.ResponseMeta = new(schema.ResponseMeta)
	}
	m.ResponseMeta.ID, m.ResponseMeta.Model, m.ResponseMeta.Provider = c.ID, c.Model, a.call.engine.info.System
}

// rest returns what goes into a chunk behind the last one of a stream, nil if that is nothing.
func (a *assembler) rest() *schema.Message {
	if a.whole {
		return nil
	}
	m := &schema.Message{Role: schema.Assistant}
	a.addRest(m)
	if saysNothing(m) {
		return nil
	}
	return m
}

// addRest adds what must be said once, and is only known at the end.
func (a *assembler) addRest(m *schema.Message) {
	if a.tags != nil {
		content, thought := a.tags.end()
		m.Content += content
		m.ReasoningContent += thought
	}
	m.ToolCalls = append(m.ToolCalls, a.calls.heldCalls()...)
	a.addCitations(m)
	kit.SetExtra(&m.Extra, kit.UsageRawKey, a.usage)
	kit.SetExtra(&m.Extra, kit.UsageCostKey, a.cost)
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
		FilterResults: filterText(c.PromptFilterResults),
	}
	if choice := c.choice(); choice != nil && info.FilterResults == "" && choice.FinishReason != "" {
		info.FilterResults = filterText(choice.ContentFilterResults)
	}
	for _, f := range infoFields {
		if said, value := f.of(&a.said), *f.of(&info); *said == "" {
			*said = value
			kit.SetExtra(&m.Extra, f.key, value)
		}
	}
}

// filterText formats the result of Azure's content filter, "" without one.
func filterText(raw json.RawMessage) string {
	switch text := string(raw); text {
	case "null", "[]", "{}":
		return ""
	default:
		return text
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
		a.finish = cmp.Or(c.FinishReason, a.finish)
	}
	if from := c.answer(); from != nil {
		a.takeAnswer(m, from)
	}
}

func (a *assembler) takeAnswer(m *schema.Message, from *answer) {
	m.Content = a.fresh(&a.content, cmp.Or(from.Content.text, from.Audio.Transcript))
	a.takeReasoning(m, from)
	if a.tags != nil {
		content, thought := a.tags.split(m.Content, m.ReasoningContent != "")
		m.Content = content
		m.ReasoningContent += thought
	}
	kit.SetExtra(&m.Extra, refusalKey, from.Refusal)
	kit.SetExtra(&m.Extra, annotationsKey, kit.JoinObjects(from.Annotations))
	a.annotated = a.annotated || len(from.Annotations) > 0
	for i, call := range from.ToolCalls {
		if a.whole {
			m.ToolCalls = append(m.ToolCalls, a.wholeCalls(call)...)
		} else {
			m.ToolCalls = a.calls.add(m.ToolCalls, call, place{i, len(from.ToolCalls)}, a.call.profile.Cumulative)
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

// wholeCalls returns the calls that one that is not streamed stands for: as a rule itself.
func (a *assembler) wholeCalls(from toolCall) []schema.ToolCall {
	call := wholeCall(from)
	if calls := wrappedCalls(call, a.call.tools()); calls != nil {
		return calls
	}
	return []schema.ToolCall{call}
}

func imageOutput(url string) schema.MessageOutputPart {
	var common schema.MessagePartCommon
	if mime, data, ok := kit.SplitDataURL(url); ok {
		common.MIMEType, common.Base64Data = mime, &data
	} else {
		common.URL = &url
	}
	return schema.MessageOutputPart{
		Type:  schema.ChatMessagePartTypeImageURL,
		Image: &schema.MessageOutputImage{MessagePartCommon: common},
	}
}

// fresh returns what a chunk adds to a text, of which so far came before: all of it, unless every chunk repeats what
// came before it.
func (a *assembler) fresh(sofar *string, text string) string {
	if !a.call.profile.Cumulative || a.whole {
		return text
	}
	added, repeats := strings.CutPrefix(text, *sofar)
	if !repeats {
		added = text
		text = *sofar + text
	}
	*sofar = text
	return added
}
