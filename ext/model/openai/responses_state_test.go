package openai_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/ext/model/kit/kittest"
	"github.com/weftgo/weft/ext/model/openai"
	"github.com/weftgo/weft/schema"
)

func keepsResponses(c *openai.ResponsesConfig) { c.PreviousResponse = true }

// Rule providers/R16
func TestResponsesState_RequestsContinueThePreviousResponse(t *testing.T) {
	docs, whole := scriptOf([]string{thoughtItem1, callItemOne, callItemTwo}, []string{textItemHi}, []string{
		`{"id":"msg_2","type":"message","role":"assistant","content":[{"type":"output_text","text":"bye"}]}`})
	eachTalk(t, keepsResponses, docs, whole, func(t *testing.T, c *responsesTalk, server *fakeServer) {
		c.opts = []model.Option{model.WithTools([]*schema.ToolInfo{toolOf("f")})}
		c.history, c.said = []*schema.AgenticMessage{schema.SystemAgenticMessage("s")}, []*schema.Message{schema.SystemMessage("s")}
		c.user("go")
		c.ask()
		c.result("call_1", "1")
		c.result("call_2", "2")
		c.ask()
		c.user("so?")
		c.ask()
		first, second, third := server.Requests()[0].Body, server.Requests()[1].Body, server.Requests()[2].Body
		require.Equal(t, true, sentFields(t, first)["store"])
		require.Nil(t, sentFields(t, first)["previous_response_id"])
		require.Len(t, sentInput(t, first), 2)
		require.Equal(t, "resp_1", sentFields(t, second)["previous_response_id"])
		require.Equal(t, []string{
			`{"type":"function_call_output","call_id":"call_1","output":"1"}`,
			`{"type":"function_call_output","call_id":"call_2","output":"2"}`,
		}, texts(sentInput(t, second)))
		require.NotNil(t, sentFields(t, second)["tools"])
		require.Equal(t, "resp_2", sentFields(t, third)["previous_response_id"])
		require.Equal(t, []string{`{"role":"user","content":[{"type":"input_text","text":"so?"}]}`}, texts(sentInput(t, third)))
	})
}

// stateful makes a conversation of two messages, and returns the model and what it sends.
func stateful(t *testing.T, change ...func(*openai.ResponsesConfig)) (*openai.ResponsesModel, *captured, []*schema.AgenticMessage) {
	t.Helper()
	c := new(captured)
	conf := responsesAt("https://api.openai.com", append(change, keepsResponses, func(conf *openai.ResponsesConfig) {
		conf.HTTPClient = &http.Client{Transport: c}
	})...)
	m := newResponses(t, conf)
	in := []*schema.AgenticMessage{schema.SystemAgenticMessage("s"), schema.UserAgenticMessage("go")}
	answer, err := m.Generate(t.Context(), in)
	require.NoError(t, err)
	return m, c, append(in, answer, schema.UserAgenticMessage("so?"))
}

func sendNext(t *testing.T, m *openai.ResponsesModel, c *captured, in []*schema.AgenticMessage) map[string]any {
	t.Helper()
	_, err := m.Generate(t.Context(), in)
	require.NoError(t, err)
	return sentFields(t, c.bodies[len(c.bodies)-1])
}

// Rule providers/R17
func TestResponsesState_ChangedConversationIsSentInFull(t *testing.T) {
	for name, change := range map[string]func(in []*schema.AgenticMessage) []*schema.AgenticMessage{
		"another system message": func(in []*schema.AgenticMessage) []*schema.AgenticMessage {
			in[0] = schema.SystemAgenticMessage("other")
			return in
		},
		"a message less": func(in []*schema.AgenticMessage) []*schema.AgenticMessage { return in[1:] },
		"another answer": func(in []*schema.AgenticMessage) []*schema.AgenticMessage {
			m := *in[2]
			m.ContentBlocks = []*schema.ContentBlock{schema.NewContentBlock(&schema.AssistantGenText{Text: "changed"})}
			in[2] = &m
			return in
		},
		"an answer of somebody else": func(in []*schema.AgenticMessage) []*schema.AgenticMessage {
			m := *in[2]
			m.Extra = map[string]any{"origin": "openai/elsewhere/responses"}
			in[2] = &m
			return in
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, c, in := stateful(t)
			in = change(in)
			body := sendNext(t, m, c, in)
			require.Nil(t, body["previous_response_id"])
			require.Len(t, body["input"], len(in))
		})
	}
	m, c, in := stateful(t)
	require.Equal(t, "resp_1", sendNext(t, m, c, in)["previous_response_id"])

	t.Run("stored and read again it is the same", func(t *testing.T) {
		m, c, in := stateful(t)
		in[2] = roundTrip(t, in[2])
		require.Equal(t, "resp_1", sendNext(t, m, c, in)["previous_response_id"])
	})
}

// Incomplete answers are no predecessors.
//
// Rule providers/R17
func TestResponsesState_IncompleteAnswerIsNotContinued(t *testing.T) {
	c := &captured{answer: `{"id":"resp_1","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[` + textItemHi + `]}`}
	m := newResponses(t, responsesAt("https://api.openai.com", keepsResponses, func(conf *openai.ResponsesConfig) {
		conf.HTTPClient = &http.Client{Transport: c}
	}))
	answer, err := m.Generate(t.Context(), userSays("go"))
	require.NoError(t, err)
	require.Equal(t, kit.FinishLength, kit.FinishOf(answer))
	require.Equal(t, "incomplete", string(answer.ResponseMeta.OpenAIExtension.Status))
	body := sendNext(t, m, c, append(userSays("go"), answer, schema.UserAgenticMessage("on")))
	require.Nil(t, body["previous_response_id"])
}

// Rule providers/R17
func TestResponsesState_LostResponseIsSentInFull(t *testing.T) {
	lost := kittest.Status(http.StatusBadRequest, `{"error":{"message":"Previous response with id 'resp_1' not found.",`+
		`"type":"invalid_request_error","param":"previous_response_id","code":"previous_response_not_found"}}`)
	server := kittest.Server(t, kittest.Responses(), kittest.JSON(responsesDoc("resp_1", "completed", thoughtItem1, callItemOne)),
		lost, kittest.JSON(responsesDoc("resp_2", "completed", textItemHi)))
	m := newResponses(t, responsesAt(server.URL, keepsResponses))
	in := userSays("go")
	answer, err := m.Generate(t.Context(), in, model.WithTools([]*schema.ToolInfo{toolOf("f")}))
	require.NoError(t, err)
	in = append(in, answer, resultOf("call_1", "1"))
	answer, err = m.Generate(t.Context(), in, model.WithTools([]*schema.ToolInfo{toolOf("f")}))
	require.NoError(t, err)
	require.Equal(t, "resp_1", answer.Extra[openai.ResponsesPreviousLostKey])
	require.Len(t, server.Requests(), 3)
	require.Len(t, sentInput(t, server.Requests()[1].Body), 1)
	require.Len(t, sentInput(t, server.Requests()[2].Body), 4)

	t.Run("not if the head is with the server", func(t *testing.T) {
		server := kittest.Server(t, nil, lost)
		_, err := newResponses(t, responsesAt(server.URL)).Generate(t.Context(), userSays("go"),
			openai.WithHeadPreviousResponseID("resp_0"))
		require.ErrorIs(t, err, kit.ErrInvalid)
	})
}

func TestResponsesState_ConversationOfTheServer(t *testing.T) {
	c := &captured{answer: `{"id":"resp_1","status":"completed","conversation":{"id":"conv_1"},"output":[` + textItemHi + `]}`}
	m := newResponses(t, responsesAt("https://api.openai.com", func(conf *openai.ResponsesConfig) {
		conf.HTTPClient, conf.Conversation = &http.Client{Transport: c}, "conv_1"
	}))
	in := userSays("go")
	answer, err := m.Generate(t.Context(), in)
	require.NoError(t, err)
	body := sendNext(t, m, c, append(in, answer, schema.UserAgenticMessage("on")))
	require.Equal(t, "conv_1", body["conversation"])
	require.Equal(t, true, body["store"])
	require.Len(t, body["input"], 1)
}
