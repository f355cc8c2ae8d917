package aisdk

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/schema"
	"github.com/weftgo/weft/serve"
)

// asks is a message of a user, and says one of the agent, in a page.
func asks(text string) string {
	return `{"id":"u-` + text + `","role":"user","parts":[{"type":"text","text":"` + text + `"}]}`
}

func says(id string) string {
	return `{"id":"` + id + `","role":"assistant","parts":[{"type":"text","text":"…"}]}`
}

// again returns the JSON that a page posts: its messages, and what it wants.
func again(want, messages string) string {
	return `{"id":"c1",` + want + `,"messages":[` + messages + `]}`
}

const (
	submit     = `"trigger":"submit-message"`
	regenerate = `"trigger":"regenerate-message"`
)

// text returns the text of chunks, and the ID of their message.
func text(chunks []chunk) (id, text string) {
	for _, c := range chunks {
		switch c["type"] {
		case "start":
			id = c["messageId"].(string)
		case "text-delta":
			text += c["delta"].(string)
		}
	}
	return id, text
}

// Rule serving/AS3.
func TestHandler_AnswersAgainWhatThePageLeftOut(t *testing.T) {
	post := pageOf(t, adk.ChatModelAgentConfig{}, adktest.Says("1."), adktest.Says("2."),
		adktest.Says("2!").Seeing("user: 1?", "assistant: 1.", "user: 2?"),
		adktest.Says("Two.").Seeing("user: 1?", "assistant: 1.", "user: two?"),
		adktest.Says("1!").Seeing("user: 1?"), adktest.Says("One.").Seeing("user: one?"))
	first, _ := text(post(again(submit, asks("1?"))))
	second, _ := text(post(again(submit, asks("1?")+","+says(first)+","+asks("2?"))))
	other, said := text(post(again(regenerate+`,"messageId":"`+second+`"`, asks("1?")+","+says(first)+","+asks("2?"))))
	require.Equal(t, "2!", said)
	require.NotEqual(t, second, other)
	_, said = text(post(again(submit+`,"messageId":"u-2?"`, asks("1?")+","+says(first)+","+asks("two?"))))
	require.Equal(t, "Two.", said)
	require.Empty(t, post(again(regenerate, says("foreign")+","+asks("x?"))), "none of its messages is known")
	require.Empty(t, post(again(regenerate, asks("1?")+","+says(first))), "there is no question")
	_, said = text(post(again(regenerate, asks("1?"))))
	require.Equal(t, "1!", said)
	_, said = text(post(again(submit+`,"messageId":"u-1?"`, asks("one?"))))
	require.Equal(t, "One.", said)
}

// A page that does not say what it has gets nothing left out.
// Rule serving/AS3.
func TestHandler_LeavesNothingOutForAPageThatDoesNotSayWhatItHas(t *testing.T) {
	post := pageOf(t, adk.ChatModelAgentConfig{}, adktest.Says("1."), adktest.Says("2."), adktest.Says("2!").Seeing("user: 1?", "assistant: 1.", "user: 2?"),
		adktest.Says("3.").Seeing("user: 1?", "assistant: 1.", "user: 2?", "assistant: 2!", "user: 3?"))
	first, _ := text(post(again(submit, asks("1?"))))
	post(again(submit, asks("1?")+","+says(first)+","+asks("2?")))
	nameless := `{"role":"user","parts":[{"type":"text","text":"x"}]}`
	require.Empty(t, post(again(regenerate, nameless)))
	require.Empty(t, post(again(regenerate, asks("unknown"))))
	_, said := text(post(again(regenerate, asks("1?")+","+asks("2?"))))
	require.Equal(t, "2!", said, "the question that the page names, once")
	_, said = text(post(again(submit, asks("3?"))))
	require.Equal(t, "3.", said)
}

// A message that the thread has is not added again; the same request again is shown the same run.
// Rule serving/SV3.
func TestHandler_TakesAMessageOnce(t *testing.T) {
	post := pageOf(t, adk.ChatModelAgentConfig{}, adktest.Says("1.").Seeing("user: 1?"),
		adktest.Says("2.").Seeing("user: 1?", "assistant: 1.", "user: 2?"))
	first := post(again(submit, asks("1?")))
	require.Equal(t, first, post(again(submit, asks("1?"))), "its response was lost")
	_, said := text(post(again(submit, asks("1?")+","+asks("2?"))))
	require.Equal(t, "2.", said)
}

// What failed before the agent has said anything is no part of the thread: there is nothing to leave out.
func TestHandler_AnswersAgainWhatFailed(t *testing.T) {
	post := pageOf(t, adk.ChatModelAgentConfig{}, adktest.Says("1."), adktest.Fails(errors.New("cut")),
		adktest.Says("2.").Seeing("user: 1?", "assistant: 1.", "user: 2?"),
		adktest.Says("3.").Seeing("user: 1?", "assistant: 1.", "user: 2?", "assistant: 2.", "user: 3?"))
	first, _ := text(post(again(submit, asks("1?"))))
	failed, _ := text(post(again(submit, asks("1?")+","+says(first)+","+asks("2?"))))
	second, said := text(post(again(regenerate+`,"messageId":"`+failed+`"`, asks("1?")+","+says(first)+","+asks("2?"))))
	require.Equal(t, "2.", said)
	_, said = text(post(again(submit, fmt.Sprint(asks("1?"), ",", says(first), ",", asks("2?"), ",", says(second), ",", asks("3?")))))
	require.Equal(t, "3.", said)
}

// A model that uses one ID for two calls of the page gets the result of each.
// Rule serving/SV19.
func TestHandler_GivesEachCallItsResultAlthoughTheyShareAnID(t *testing.T) {
	call := func(index int, city string) schema.ToolCall {
		return schema.ToolCall{Index: &index, ID: "c", Type: "function", Function: schema.FunctionCall{Name: "look", Arguments: `{"city":"` + city + `"}`}}
	}
	for _, order := range [][2]int{{0, 1}, {1, 0}} {
		post := pageOf(t, adk.ChatModelAgentConfig{Handlers: []adk.ChatModelAgentMiddleware{serve.ClientTools()}},
			adktest.Messages(&schema.Message{Role: schema.Assistant, ToolCalls: []schema.ToolCall{call(0, "Lisbon"), call(1, "Oslo")}}),
			adktest.Says("Done.").Seeing("user: Look", `assistant: [look#c {"city":"Lisbon"}] [look#c {"city":"Oslo"}]`, "tool look#c: sunny", "tool look#c: snow"))
		tools := `"tools":[{"name":"look","description":"Looks.","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}]`
		var ids []string
		for _, c := range post(again(submit+","+tools, asks("Look"))) {
			if c["type"] == "tool-input-available" {
				ids = append(ids, c["toolCallId"].(string))
			}
		}
		require.Len(t, ids, 2)
		require.NotEqual(t, ids[0], ids[1])
		parts := []string{carriedOut(ids[0], "sunny"), carriedOut(ids[1], "snow")}
		_, said := text(post(again(submit, asks("Look")+`,{"id":"m1","role":"assistant","parts":[`+parts[order[0]]+","+parts[order[1]]+`]}`)))
		require.Equal(t, "Done.", said)
	}
}

// carriedOut is a call that the page has carried out.
func carriedOut(id, output string) string {
	return `{"type":"dynamic-tool","toolName":"look","toolCallId":"` + id + `","state":"output-available","input":{},"output":"` + output + `"}`
}
