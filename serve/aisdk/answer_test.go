package aisdk

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/middlewares/approval"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/serve"
)

// callPart is a call of the last message, with what is said about it.
func callPart(call any, state string) string {
	return fmt.Sprintf(`{"type":"dynamic-tool","toolName":"pay","toolCallId":%q,"input":{},%s}`, call, state)
}

func responses(parts ...string) string {
	return `,{"id":"m1","role":"assistant","parts":[` + strings.Join(parts, ",") + `]}`
}

func yes(asked chunk) string {
	return callPart(asked["toolCallId"], fmt.Sprintf(`"state":"approval-responded","approval":{"id":%q,"approved":true}`, asked["approvalId"]))
}

// A question that the page has no way to answer does not keep it from answering what it can.
// Rule serving/AS2.
func TestHandler_TakesApprovalsBesideAQuestionForOthers(t *testing.T) {
	guard, err := approval.New(t.Context(), &approval.Config{Tools: []string{"pay"}})
	require.NoError(t, err)
	pay := adktest.NewTool("pay", adktest.Says("paid").Repeated())
	ask, err := utils.InferTool("ask", "Asks.", func(ctx context.Context, _ struct{}) (string, error) {
		if _, answered, name := tool.GetResumeContext[string](ctx); answered {
			return name, nil
		}
		return "", tool.Interrupt(ctx, "What is your name?")
	})
	require.NoError(t, err)
	post := pageOf(t, adk.ChatModelAgentConfig{ToolsConfig: adktest.Tools(pay, ask), Handlers: []adk.ChatModelAgentMiddleware{guard}},
		adktest.Calls(adktest.Call("pay", `{}`), adktest.Call("ask", `{}`)), adktest.Says("Done.").Repeated())
	first := post(again(submit, asks("Pay")))
	require.Len(t, find(first, "data-weft-interrupt"), 1)
	second := post(again(submit, asks("Pay")+responses(yes(find(first, "tool-approval-request")[0]))))
	require.NotEmpty(t, second)
	require.Len(t, find(second, "data-weft-interrupt"), 1, "the question is still there")
	require.Equal(t, find(first, "data-weft-interrupt")[0]["id"], find(second, "data-weft-interrupt")[0]["id"])
	require.Equal(t, "tool-calls", find(second, "finish")[0]["finishReason"])
}

// A message in which one approval follows on the other: the first is not answered again.
// Rule serving/AS2.
func TestHandler_TakesOneApprovalAfterTheOther(t *testing.T) {
	guard, err := approval.New(t.Context(), &approval.Config{Tools: []string{"pay"}})
	require.NoError(t, err)
	pay := adktest.NewTool("pay", adktest.Says("paid").Repeated())
	post := pageOf(t, adk.ChatModelAgentConfig{ToolsConfig: adktest.Tools(pay), Handlers: []adk.ChatModelAgentMiddleware{guard}},
		adktest.Calls(adktest.Call("pay", `{"n":1}`)), adktest.Calls(adktest.Call("pay", `{"n":2}`)), adktest.Says("Done."))
	one := find(post(again(submit, asks("Pay"))), "tool-approval-request")[0]
	two := find(post(again(submit, asks("Pay")+responses(yes(one)))), "tool-approval-request")[0]
	require.NotEqual(t, one["toolCallId"], two["toolCallId"])
	over := callPart(one["toolCallId"], fmt.Sprintf(`"state":"output-available","output":"paid","approval":{"id":%q,"approved":true}`, one["approvalId"]))
	_, said := text(post(again(submit, asks("Pay")+responses(over, yes(two)))))
	require.Equal(t, "Done.", said)
	require.Equal(t, []string{`{"n":1}`, `{"n":2}`}, pay.Arguments())
}

// A call is answered whatever it was made with.
func TestHandler_TakesTheResultOfACallWithLongArguments(t *testing.T) {
	long := strings.Repeat("long ", 5000)
	post := pageOf(t, adk.ChatModelAgentConfig{Handlers: []adk.ChatModelAgentMiddleware{serve.ClientTools()}},
		adktest.Calls(adktest.Call("locate", `{"q":"`+long+`"}`)), adktest.Says("Done.").SeeingLast("tool locate#call_1: 38.7"))
	post(again(submit+","+locate, asks("Where")))
	_, said := text(post(again(submit, asks("Where")+responses(strings.Replace(carriedOut("call_1", "38.7"), "look", "locate", 1)))))
	require.Equal(t, "Done.", said)
}

// A call of the client and one of the server that share an ID have each their own result, in whatever order they are.
// Rule serving/SV19.
func TestHandler_TakesTheResultOfTheClientBesideACallOfTheServerWithItsID(t *testing.T) {
	mine, own := adktest.Call("locate", `{"q":"x"}`).WithID("c1"), adktest.Call("look", `{}`).WithID("c1")
	for name, calls := range map[string][]adktest.ToolCall{"first": {mine, own}, "last": {own, mine}} {
		t.Run(name, func(t *testing.T) {
			seen := []string{"tool locate#c1: 38.7", "tool look#c1: seen"}
			if name == "last" {
				seen = []string{seen[1], seen[0]}
			}
			post := pageOf(t, adk.ChatModelAgentConfig{Handlers: []adk.ChatModelAgentMiddleware{serve.ClientTools()},
				ToolsConfig: adktest.Tools(adktest.NewTool("look", adktest.Says("seen")))},
				adktest.Calls(calls...), adktest.Says("Done.").SeeingLast(seen...))
			var parts []string
			for _, c := range find(post(again(submit+","+locate, asks("Where"))), "tool-input-available") {
				output := "38.7"
				if c["toolName"] == "look" {
					output = "seen"
				}
				parts = append(parts, strings.Replace(carriedOut(c["toolCallId"].(string), output), "look", c["toolName"].(string), 1))
			}
			require.Len(t, parts, 2)
			_, said := text(post(again(submit, asks("Where")+responses(parts...))))
			require.Equal(t, "Done.", said)
		})
	}
}
