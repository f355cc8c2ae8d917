package openai_test

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/ext/model/kit/kittest"
	"github.com/weftgo/weft/ext/model/openai"
	"github.com/weftgo/weft/schema"
)

type fakeServer = kittest.FakeServer

// Rules providers/R10, providers/R11, providers/R12, providers/R28
func TestResponsesHistory_SendsThinkingBackAsItWas(t *testing.T) {
	docs, whole := scriptOf([]string{thoughtItem1, callItemOne, callItemTwo}, []string{textItemHi})
	eachTalk(t, nil, docs, whole, func(t *testing.T, c *responsesTalk, server *fakeServer) {
		c.opts = []model.Option{model.WithTools([]*schema.ToolInfo{toolOf("f")})}
		c.user("go")
		c.ask()
		c.result("call_1", "1")
		c.result("call_2", "")
		c.ask()
		first := sentFields(t, server.Requests()[0].Body)
		require.Equal(t, false, first["store"])
		require.Equal(t, []any{"reasoning.encrypted_content"}, first["include"])
		require.Equal(t, []string{
			`{"role":"user","content":[{"type":"input_text","text":"go"}]}`,
			`{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"one"},` +
				`{"type":"summary_text","text":"two"}],"encrypted_content":"gAAA/+=="}`,
			`{"type":"function_call","id":"fc_1","call_id":"call_1","name":"f","arguments":"{\"a\":1}"}`,
			`{"type":"function_call","id":"fc_2","call_id":"call_2","name":"f","arguments":"{\"a\":2}"}`,
			`{"type":"function_call_output","call_id":"call_1","output":"1"}`,
			`{"type":"function_call_output","call_id":"call_2","output":""}`, // providers/K14
		}, texts(sentInput(t, server.Requests()[1].Body)))
	})
}

func TestResponsesAnswer_HasThinkingInItsPlaces(t *testing.T) {
	docs, whole := scriptOf([]string{thoughtItem1, textItemHi})
	eachTalk(t, nil, docs, whole, func(t *testing.T, c *responsesTalk, _ *fakeServer) {
		c.user("go")
		c.ask()
		if c.chat != nil {
			m := c.said[1]
			require.Equal(t, "hi", m.Content)
			require.Equal(t, "one\n\ntwo", m.ReasoningContent)
			require.Equal(t, "completed", m.ResponseMeta.FinishReason)
			require.Equal(t, kit.FinishStop, kit.FinishOf(m))
			return
		}
		require.Equal(t, "one\n\ntwo", c.answer().ContentBlocks[0].Reasoning.Text)
		require.Equal(t, "gAAA/+==", c.answer().ContentBlocks[0].Reasoning.Signature)
		require.Equal(t, "resp_1", c.answer().ResponseMeta.ID)
		require.Equal(t, "gpt-5-2025", c.answer().ResponseMeta.Model)
		require.Equal(t, "openai", c.answer().ResponseMeta.Provider)
	})
}

// answerOf returns the answer to a question, with tools.
func answerOf(t *testing.T, items ...string) *schema.AgenticMessage {
	t.Helper()
	c := &captured{answer: responsesDoc("resp_1", "completed", items...)}
	conf := responsesAt("https://api.openai.com", func(conf *openai.ResponsesConfig) {
		conf.HTTPClient = &http.Client{Transport: c}
	})
	m, err := newResponses(t, conf).Generate(t.Context(), userSays("go"), model.WithTools([]*schema.ToolInfo{toolOf("f")}))
	require.NoError(t, err)
	return m
}

// replayOf returns what is sent of an answer, and of messages behind it.
func replayOf(t *testing.T, answer *schema.AgenticMessage, behind ...*schema.AgenticMessage) []string {
	t.Helper()
	in := append([]*schema.AgenticMessage{schema.UserAgenticMessage("go"), answer}, behind...)
	body, err := sendResponses(t, in, nil)
	require.NoError(t, err)
	return texts(sentInput(t, body)[1:])
}

func resultOf(id, text string) *schema.AgenticMessage {
	return schema.FunctionToolResultAgenticMessage(id, "f", text)
}

// Rules providers/R12, providers/R13
func TestResponsesHistory_WithoutEncryptionLeavesThinkingAndIDsOut(t *testing.T) {
	plain := []string{
		`{"type":"function_call","call_id":"call_1","name":"f","arguments":"{\"a\":1}"}`,
		`{"type":"function_call_output","call_id":"call_1","output":"1"}`,
	}
	for name, items := range map[string][]string{
		"no encrypted content": {`{"id":"rs_1","type":"reasoning","summary":[]}`, callItemOne},
		"no thinking":          {callItemOne},
		"one of two":           {thoughtItem1, `{"id":"rs_2","type":"reasoning","summary":[]}`, callItemOne},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, plain, replayOf(t, answerOf(t, items...), resultOf("call_1", "1")))
		})
	}
	t.Run("hosted calls of such an answer are left out, too", func(t *testing.T) {
		answer := answerOf(t, `{"id":"rs_1","type":"reasoning","summary":[]}`, searchItem, callItemOne)
		require.Equal(t, plain, replayOf(t, answer, resultOf("call_1", "1")))
	})
}

// Rules providers/R12, providers/K45
func TestResponsesHistory_ChangedAnswerLeavesThinkingOut(t *testing.T) {
	original := func() *schema.AgenticMessage { return answerOf(t, thoughtItem1, callItemOne, callItemTwo) }
	plainTwo := `{"type":"function_call","call_id":"call_2","name":"f","arguments":"{\"a\":2}"}`
	t.Run("the item behind the thinking is gone", func(t *testing.T) {
		m := original()
		m.ContentBlocks = append(m.ContentBlocks[:1:1], m.ContentBlocks[2])
		require.Equal(t, plainTwo, replayOf(t, m, resultOf("call_2", "2"))[0])
	})
	t.Run("the thinking is gone", func(t *testing.T) {
		m := original()
		m.ContentBlocks = m.ContentBlocks[2:]
		require.Equal(t, plainTwo, replayOf(t, m, resultOf("call_2", "2"))[0])
	})
	t.Run("nothing is left behind the thinking", func(t *testing.T) {
		m := original()
		m.ContentBlocks = m.ContentBlocks[:1]
		require.Empty(t, replayOf(t, m, schema.UserAgenticMessage("so?"))[1:])
	})
	t.Run("another order", func(t *testing.T) {
		m := original()
		m.ContentBlocks[1], m.ContentBlocks[2] = m.ContentBlocks[2], m.ContentBlocks[1]
		require.Equal(t, plainTwo, replayOf(t, m, resultOf("call_1", "1"), resultOf("call_2", "2"))[0])
	})
}

// Models that do not think refuse thinking.
func TestResponsesHistory_PlainModelGetsNoThinking(t *testing.T) {
	in := []*schema.AgenticMessage{schema.UserAgenticMessage("go"), answerOf(t, thoughtItem1, callItemOne), resultOf("call_1", "1")}
	body, err := sendResponses(t, in, func(c *openai.ResponsesConfig) { c.Model = "gpt-4o" })
	require.NoError(t, err)
	require.Equal(t, `{"type":"function_call","call_id":"call_1","name":"f","arguments":"{\"a\":1}"}`,
		string(sentInput(t, body)[1]))
	require.NotContains(t, string(body), "include")
}

// Rule providers/R14
func TestResponsesHistory_KeepsThePhaseOfTexts(t *testing.T) {
	item := `{"id":"msg_0","type":"message","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"one"},` +
		`{"type":"output_text","text":"two"}]}`
	m := answerOf(t, thoughtItem1, item, textItemHi)
	require.Len(t, m.ContentBlocks, 4)
	require.Equal(t, "commentary", m.ContentBlocks[1].Extra[openai.ResponsesPhaseKey])
	require.Equal(t, `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"one","annotations":[]},`+
		`{"type":"output_text","text":"two","annotations":[]}],"id":"msg_0","status":"completed","phase":"commentary"}`,
		replayOf(t, m)[1])
	require.Equal(t, `{"type":"message","role":"assistant","content":"hi"}`, replayOf(t, answerOf(t, textItemHi))[0])
}

// Rules providers/R15, providers/K12
func TestResponsesHistory_SendsItemsOnce(t *testing.T) {
	answer := answerOf(t, thoughtItem1, callItemOne)
	once := replayOf(t, answer, resultOf("call_1", "1"))
	twice := replayOf(t, answer, resultOf("call_1", "1"), answer, resultOf("call_1", "1"))
	require.Equal(t, once, twice)

	t.Run("another call with the same ID gets another", func(t *testing.T) {
		other := answerOf(t, `{"type":"function_call","call_id":"call_1","name":"f","arguments":""}`)
		sent := replayOf(t, answer, resultOf("call_1", "1"), other, resultOf("call_1", "2"))
		require.Equal(t, []string{
			`{"type":"function_call","call_id":"call_1_2","name":"f","arguments":"{}"}`,
			`{"type":"function_call_output","call_id":"call_1_2","output":"2"}`,
		}, sent[len(once):])
	})
	t.Run("long IDs are shortened alike", func(t *testing.T) {
		id := strings.Repeat("x", 100)
		other := answerOf(t, `{"type":"function_call","call_id":"`+id+`","name":"f","arguments":"{x}"}`)
		sent := replayOf(t, other, resultOf(id, "2"))
		var call, result struct {
			CallID    string `json:"call_id"`
			Arguments string
		}
		require.NoError(t, json.Unmarshal([]byte(sent[0]), &call))
		require.NoError(t, json.Unmarshal([]byte(sent[1]), &result))
		require.Len(t, call.CallID, 64)
		require.Equal(t, call.CallID, result.CallID)
		require.JSONEq(t, `{"_invalid":"{x}"}`, call.Arguments) // providers/K13
	})
}

// Rules providers/R18, providers/K16
func TestResponsesHistory_FaultsAreFoundBeforeSending(t *testing.T) {
	call := answerOf(t, callItemOne)
	for name, in := range map[string][]*schema.AgenticMessage{
		"empty":                 {},
		"call without a result": {schema.UserAgenticMessage("go"), call},
		"result without a call": {schema.UserAgenticMessage("go"), resultOf("call_9", "1")},
		"audio": {{Role: schema.AgenticRoleTypeUser, ContentBlocks: []*schema.ContentBlock{
			schema.NewContentBlock(&schema.UserInputAudio{Base64Data: "YQ==", MIMEType: "audio/wav"})}}},
		"video": {{Role: schema.AgenticRoleTypeUser, ContentBlocks: []*schema.ContentBlock{
			schema.NewContentBlock(&schema.UserInputVideo{URL: "https://v"})}}},
	} {
		t.Run(name, func(t *testing.T) {
			body, err := sendResponses(t, in, nil)
			require.Nil(t, body)
			var fault *kit.HistoryError
			require.ErrorAs(t, err, &fault)
			require.ErrorIs(t, err, kit.ErrInvalid)
		})
	}
}

// What the server ran goes back as it came.
//
// Rules providers/R7, providers/R15, providers/K25
func TestResponsesHistory_SendsHostedItemsBackAsTheyWere(t *testing.T) {
	hosted := []string{searchItem, codeItem, fileItem, mcpListItem, mcpCallItem, approvalItem, compactItem, unknownItem}
	items := append([]string{thoughtItem1}, append(hosted, textItemHi)...)
	for _, m := range []*schema.AgenticMessage{answerOf(t, items...), roundTrip(t, answerOf(t, items...))} {
		sent := replayOf(t, m)
		require.Equal(t, hosted, sent[1:1+len(hosted)])
	}
	// An image is kept once, in its block.
	m := roundTrip(t, answerOf(t, thoughtItem1, imageItem, textItemHi))
	require.JSONEq(t, imageItem, replayOf(t, m)[1])
	require.NotContains(t, m.ContentBlocks[1].Extra["openai_item"], "aW1n")
}

// roundTrip returns a message after JSON and gob.
func roundTrip(t *testing.T, m *schema.AgenticMessage) *schema.AgenticMessage {
	t.Helper()
	text, err := json.Marshal(m)
	require.NoError(t, err)
	var decoded schema.AgenticMessage
	require.NoError(t, json.Unmarshal(text, &decoded))
	var buf bytes.Buffer
	require.NoError(t, gob.NewEncoder(&buf).Encode(&decoded))
	var out schema.AgenticMessage
	require.NoError(t, gob.NewDecoder(&buf).Decode(&out))
	return &out
}

// Both kinds of messages survive being stored.
//
// Rule providers/K40
func TestResponsesHistory_SurvivesJSONAndGob(t *testing.T) {
	answer := answerOf(t, thoughtItem1, searchItem, callItemOne)
	require.Equal(t, replayOf(t, answer, resultOf("call_1", "1")), replayOf(t, roundTrip(t, answer), resultOf("call_1", "1")))

	c := &captured{answer: responsesDoc("resp_1", "completed", thoughtItem1, searchItem, callItemOne)}
	chat := newResponsesChat(t, responsesAt("https://api.openai.com", func(conf *openai.ResponsesConfig) {
		conf.HTTPClient = &http.Client{Transport: c}
	}))
	m, err := chat.Generate(t.Context(), []*schema.Message{schema.UserMessage("go")})
	require.NoError(t, err)
	text, err := json.Marshal(m)
	require.NoError(t, err)
	var decoded, out schema.Message
	require.NoError(t, json.Unmarshal(text, &decoded))
	var buf bytes.Buffer
	require.NoError(t, gob.NewEncoder(&buf).Encode(&decoded))
	require.NoError(t, gob.NewDecoder(&buf).Decode(&out))
	_, err = chat.Generate(t.Context(), []*schema.Message{schema.UserMessage("go"), &out, schema.ToolMessage("1", "call_1")})
	require.NoError(t, err)
	require.Equal(t, replayOf(t, answer, resultOf("call_1", "1")), texts(sentInput(t, c.bodies[1])[1:]))
}

// Rules providers/K37, providers/K38
func TestResponsesHistory_OfOtherProvidersIsSentWithoutWhatOnlyTheyUnderstand(t *testing.T) {
	answer := answerOf(t, thoughtItem1, searchItem, textItemHi, callItemOne)
	answer.Extra["origin"] = "openai/other.example.com/responses"
	in := []*schema.AgenticMessage{schema.UserAgenticMessage("go"), answer, resultOf("call_1", "1")}
	body, err := sendResponses(t, in, nil)
	require.NoError(t, err)
	for _, secret := range []string{"gAAA", "rs_1", "ws_1", "fc_1", "msg_1", `"reasoning","id"`} {
		require.NotContains(t, string(body), secret)
	}
	sent := texts(sentInput(t, body)[1:])
	require.Len(t, sent, 4)
	require.Contains(t, sent[0], "[web_search")
	require.Equal(t, `{"type":"message","role":"assistant","content":"hi"}`, sent[1])

	body, err = sendResponses(t, in, func(c *openai.ResponsesConfig) { c.ForeignThinking = kit.ForeignThinkingText })
	require.NoError(t, err)
	require.Contains(t, string(body), `<thinking>\none\n\ntwo\n</thinking>`)

	t.Run("images of other models are shown as such of the user", func(t *testing.T) {
		drawn := &schema.AgenticMessage{Role: schema.AgenticRoleTypeAssistant, ContentBlocks: []*schema.ContentBlock{
			schema.NewContentBlock(&schema.AssistantGenImage{Base64Data: "aW1n", MIMEType: "image/png"}),
		}}
		require.Contains(t, replayOf(t, drawn)[0], `"image_url":"data:image/png;base64,aW1n"`)
	})
}

// What a call has apart from name and arguments is sent back, too.
//
// Rules providers/R12, providers/R28
func TestResponsesHistory_KeepsTheFieldsOfCalls(t *testing.T) {
	item := `{"id":"fc_1","type":"function_call","call_id":"call_1","name":"f","namespace":"mail","arguments":"{}",` +
		`"caller":{"type":"program","caller_id":"p"}}`
	m := roundTrip(t, answerOf(t, thoughtItem1, item))
	require.Equal(t, `{"type":"function_call","id":"fc_1","call_id":"call_1","name":"f","arguments":"{}",`+
		`"caller":{"caller_id":"p","type":"program"},"namespace":"mail"}`, replayOf(t, m, resultOf("call_1", "1"))[1])
}

func TestResponsesHistory_SendsRawThinkingAndRefusalsBack(t *testing.T) {
	m := roundTrip(t, answerOf(t,
		`{"id":"rs_1","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"deep"}]}`, refusalItem))
	require.Equal(t, []string{
		`{"type":"reasoning","id":"rs_1","summary":[],"content":[{"type":"reasoning_text","text":"deep"}]}`,
		`{"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"No way."}],"id":"msg_r","status":"completed"}`,
	}, replayOf(t, m))
}

func TestResponsesHistory_PlainModeKeepsCallsThatWaitForResults(t *testing.T) {
	unencrypted := `{"id":"rs_1","type":"reasoning","summary":[]}`
	local := `{"id":"lsh_1","type":"local_shell_call","call_id":"call_l","status":"completed","action":{"type":"exec","command":["ls"]}}`
	c := &captured{answer: responsesDoc("resp_1", "completed", unencrypted, customItem, local, imageItem)}
	answer, err := newResponses(t, responsesAt("https://api.openai.com", func(conf *openai.ResponsesConfig) {
		conf.HTTPClient = &http.Client{Transport: c}
	})).Generate(t.Context(), userSays("go"), model.WithTools([]*schema.ToolInfo{toolOf("local_shell"), toolOf("sql")}))
	require.NoError(t, err)
	sent := replayOf(t, answer, resultOf("call_c", "1"), resultOf("call_l", "2"))
	require.Equal(t, []string{
		`{"type":"custom_tool_call","call_id":"call_c","name":"sql","input":"select 1"}`,
		local,
		`{"role":"user","content":[{"type":"input_text","text":"The image that you made:"},` +
			`{"type":"input_image","image_url":"data:image/webp;base64,aW1n","detail":"auto"}]}`,
		`{"type":"custom_tool_call_output","call_id":"call_c","output":"1"}`,
		`{"type":"local_shell_call_output","id":"call_l","output":"2"}`,
	}, sent)
}
