package aisdk

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
	"github.com/weftgo/weft/schema/openai"
)

// shown are the chunks that a translator makes of events, which a page accepts.
func shown(t *testing.T, conf Config, events ...runlog.Event) []chunk {
	t.Helper()
	r := newReader(6, nil)
	tr := newTranslator("r", "m", conf, r.must(t))
	for i := range events {
		tr.add(&events[i])
	}
	tr.add(&runlog.Event{Type: runlog.RunEnd, Data: &runlog.RunEndData{Status: runs.Done}})
	return r.chunks
}

func of(kind runlog.Type, span, parent runlog.SpanID, d any) runlog.Event {
	return runlog.Event{Type: kind, Seq: 7, Span: span, Parent: parent, Data: d}
}

func answerOf(finish string, m any) []runlog.Event {
	end := &runlog.ModelEndData{Finish: finish}
	switch m := m.(type) {
	case *schema.Message:
		said := runlog.MessageOf(m)
		end.Message = &said
	case *schema.AgenticMessage:
		said := runlog.MessageOf(m)
		end.Message = &said
	}
	return []runlog.Event{of(runlog.ModelStart, 2, 1, &runlog.ModelStartData{}), of(runlog.ModelEnd, 2, 1, end)}
}

func TestTranslator_SaysWhyAnAnswerEnds(t *testing.T) {
	for word, reason := range map[string]string{"": "stop", "stop": "stop", "tool_calls": "stop", "end_turn": "stop", "length": "length",
		"MAX_TOKENS": "length", "max_tokens": "length", "content_filter": "content-filter", "SAFETY": "content-filter",
		"refusal": "content-filter", "pause_turn": "other"} {
		chunks := shown(t, Config{}, answerOf(word, schema.AssistantMessage("Hi", nil))...)
		require.Equal(t, reason, find(chunks, "finish")[0]["finishReason"], word)
	}
}

func TestTranslator_NamesSources(t *testing.T) {
	m := &schema.AgenticMessage{Role: schema.AgenticRoleTypeAssistant, ContentBlocks: []*schema.ContentBlock{
		schema.NewContentBlock(&schema.AssistantGenText{Text: "See.", OpenAIExtension: &openai.AssistantGenTextExtension{
			Annotations: []*openai.TextAnnotation{{URLCitation: &openai.TextAnnotationURLCitation{URL: "https://a", Title: "A"}},
				{URLCitation: &openai.TextAnnotationURLCitation{URL: "https://a"}}, {URLCitation: &openai.TextAnnotationURLCitation{URL: "https://b"}}}}})}}
	require.Equal(t, []chunk{{"type": "source-url", "sourceId": "r.u1", "url": "https://a", "title": "A"},
		{"type": "source-url", "sourceId": "r.u2", "url": "https://b"}}, find(shown(t, Config{}, answerOf("", m)...), "source-url"))
}

// Files are sent up to 1 MiB, or by their URL; of longer ones a page learns that they are there.
func TestTranslator_SendsFiles(t *testing.T) {
	small, long, url := "AAAA", strings.Repeat("A", 2<<20), "https://example.com/a.png"
	image := func(m schema.MessagePartCommon) schema.MessageOutputPart {
		m.MIMEType = "image/png"
		return schema.MessageOutputPart{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageOutputImage{MessagePartCommon: m}}
	}
	m := &schema.Message{Role: schema.Assistant, AssistantGenMultiContent: []schema.MessageOutputPart{
		image(schema.MessagePartCommon{Base64Data: &small}), image(schema.MessagePartCommon{URL: &url}), image(schema.MessagePartCommon{Base64Data: &long})}}
	chunks := shown(t, Config{}, answerOf("", m)...)
	require.Equal(t, []chunk{{"type": "file", "url": "data:image/png;base64,AAAA", "mediaType": "image/png"},
		{"type": "file", "url": url, "mediaType": "image/png"}}, find(chunks, "file"))
	require.Equal(t, []chunk{{"type": "data-weft-file", "data": chunk{"mediaType": "image/png", "bytes": 3 << 19}}}, find(chunks, "data-weft-file"))
}

// A call that is carried out before the answer that it is in is there shows what there is of its result, and the result.
func TestTranslator_ShowsResultsOfEarlyCalls(t *testing.T) {
	args := func(text string) runlog.Event {
		return of(runlog.ModelDelta, 2, 1, &runlog.ModelDeltaData{Kind: runlog.Args, Call: "c", Name: "look", Text: text})
	}
	result := []schema.ToolOutputPart{{Type: schema.ToolPartTypeText, Text: "sunny"}}
	m := runlog.MessageOf(schema.AssistantMessage("", []schema.ToolCall{{ID: "c", Function: schema.FunctionCall{Name: "look", Arguments: `{"a":1}`}}}))
	chunks := shown(t, Config{StaticTools: []string{"look"}}, of(runlog.ModelStart, 2, 1, &runlog.ModelStartData{}), args(`{"a":`), args(`1}`),
		of(runlog.ToolStart, 3, 1, &runlog.ToolStartData{Call: "c", Name: "look", Args: `{"a":1}`}),
		of(runlog.ToolDelta, 3, 1, &runlog.ToolDeltaData{Call: "c", Text: "sun"}), args(""),
		of(runlog.ToolEnd, 3, 1, &runlog.ToolEndData{Call: "c", Parts: result}),
		of(runlog.ModelEnd, 2, 1, &runlog.ModelEndData{Message: &m, Calls: []string{"c"}}))
	require.Equal(t, []chunk{{"type": "tool-output-available", "toolCallId": "c", "output": "sun", "preliminary": true},
		{"type": "tool-output-available", "toolCallId": "c", "output": "sunny"}}, find(chunks, "tool-output-available"), "static tools are not dynamic")
	require.Equal(t, []chunk{{"type": "tool-input-available", "toolCallId": "c", "toolName": "look", "input": json.RawMessage(`{"a":1}`)}},
		find(chunks, "tool-input-available"))
}

func TestTranslator_GivesDataTheirIDs(t *testing.T) {
	chunks := shown(t, Config{}, of(runlog.Progress, 0, 3, &runlog.ProgressData{Call: "c", Message: "half"}),
		of(runlog.Custom, 0, 3, &runlog.CustomData{Name: "news", Value: json.RawMessage(`1`)}))
	require.Equal(t, "r.p.c", find(chunks, "data-weft-progress")[0]["id"])
	require.Equal(t, "r.c7", find(chunks, "data-weft-custom")[0]["id"])
}

// lateName are the pieces of an answer whose call is named behind its first arguments.
func lateName() []runlog.Event {
	piece := func(name, text string) runlog.Event {
		return of(runlog.ModelDelta, 2, 1, &runlog.ModelDeltaData{Kind: runlog.Args, Call: "c1", Name: name, Text: text})
	}
	said := runlog.MessageOf(schema.AssistantMessage("", []schema.ToolCall{{ID: "c1",
		Function: schema.FunctionCall{Name: "look", Arguments: `{"a":1}`}}}))
	return []runlog.Event{of(runlog.ModelStart, 2, 1, &runlog.ModelStartData{}), piece("", ""), piece("", `{"a"`), piece("look", ""),
		piece("", `:1}`), of(runlog.ModelEnd, 2, 1, &runlog.ModelEndData{Message: &said, Calls: []string{"c1"}})}
}

func TestTranslator_BeginsACallWhenItsNameIsKnown(t *testing.T) {
	chunks := shown(t, Config{}, lateName()...)
	begun := find(chunks, "tool-input-start")
	require.Len(t, begun, 1)
	require.Equal(t, "look", begun[0]["toolName"])
	args := ""
	for _, c := range find(chunks, "tool-input-delta") {
		args += c["inputTextDelta"].(string)
	}
	require.JSONEq(t, `{"a":1}`, args)
	require.Equal(t, "look", find(chunks, "tool-input-available")[0]["toolName"])
}

// What the page could not carry out stays an error when the run continues.
// Rule serving/AS5.
func TestTranslator_KeepsErrorsOfThePagesTools(t *testing.T) {
	for answer, kind := range map[string]string{`{"text":"","error":"denied"}`: "tool-output-error", `{"text":"here"}`: "tool-output-available"} {
		chunks := shown(t, Config{}, of(runlog.ToolStart, 2, 1, &runlog.ToolStartData{Call: "c", Name: "locate"}),
			of(runlog.ToolEnd, 2, 1, &runlog.ToolEndData{Call: "c", Error: &runlog.Err{Type: "interrupted"}}),
			of(runlog.Waiting, 0, 0, &runlog.WaitingData{Questions: []runs.Question{{ID: "p", Call: "c", Kind: runs.KindClientTool}}}),
			of(runlog.Replied, 0, 0, &runlog.RepliesData{Replies: map[string]json.RawMessage{"p": json.RawMessage(answer)}}),
			of(runlog.ToolStart, 3, 1, &runlog.ToolStartData{Call: "c", Name: "locate"}),
			of(runlog.ToolEnd, 3, 1, &runlog.ToolEndData{Call: "c", Parts: []schema.ToolOutputPart{{Type: schema.ToolPartTypeText, Text: "denied"}}}))
		require.Len(t, find(chunks, kind), 1, answer)
	}
}

// A call that a person has rejected is part of the history of a page that is trusted.
// Rule serving/AS5.
func TestHistory_HasCallsThatWereRejected(t *testing.T) {
	var m uiMessage
	require.NoError(t, json.Unmarshal([]byte(`{"role":"assistant","parts":[{"type":"dynamic-tool","toolName":"pay","toolCallId":"c",
		"state":"output-denied","input":{"to":"bob"},"approval":{"id":"a","approved":false,"reason":"too much"}}]}`), &m))
	messages := m.answers()
	require.Len(t, messages, 2)
	require.Equal(t, `{"to":"bob"}`, messages[0].ToolCalls[0].Function.Arguments)
	require.Equal(t, "The user rejected this call of the tool: too much", messages[1].Content)
}
