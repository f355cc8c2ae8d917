package openaiapi

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/serve"
	"github.com/weftgo/weft/serve/internal/servetest"
)

// Agents on ordinary messages and on agentic ones are served the same way.
// Rule serving/OA5.
func TestHandler_ServesEachKindOfMessages(t *testing.T) {
	servetest.EachKind(t, func(t *testing.T, makeDesk func(replies ...adktest.Answer) servetest.Desk) {
		serving := func(replies ...adktest.Answer) (*api, servetest.Desk) {
			d := makeDesk(replies...)
			web := httptest.NewServer(Handler(d.Server, Config{}))
			t.Cleanup(func() { web.Close(); http.DefaultClient.CloseIdleConnections() })
			return &api{t, d.Server, web.URL}, d
		}
		t.Run("text and tools", func(t *testing.T) {
			replies := []adktest.Answer{adktest.Streams("Let me ", "see.").Calling(adktest.Call("look", `{}`)), adktest.Streams("Sun", "ny.")}
			a, _ := serving(replies...)
			require.Equal(t, "Let me see.\n\nSunny.", a.chat(200, ask+`}`).Choices[0].Message.Content)
			a, _ = serving(replies...)
			require.Equal(t, "Sunny.", a.respond(200, `{"model":"desk","input":"Hi"}`).Output[1].Content[0].Text)
		})
		for _, approve := range []bool{true, false} {
			t.Run(fmt.Sprint("approved: ", approve), func(t *testing.T) {
				a, d := serving(adktest.Calls(adktest.Call("pay", `{"n":1}`)), adktest.Says("Done."))
				first := a.respond(200, `{"model":"desk","input":"Pay!"}`)
				second := a.respond(200, fmt.Sprintf(`{"model":"desk","previous_response_id":%q,"input":[{"type":"mcp_approval_response",`+
					`"approval_request_id":%q,"approve":%v}]}`, first.ID, first.Output[0].ID, approve))
				require.Equal(t, "Done.", second.Output[0].Content[0].Text)
				require.Equal(t, approve, len(d.Pay.Calls()) == 1)
			})
		}
		t.Run("tool of the client", func(t *testing.T) {
			replies := []adktest.Answer{adktest.Calls(adktest.Call("locate", `{"q":"x"}`)), adktest.Says("Lisbon.").SeeingLast("tool locate#call_1: here")}
			a, _ := serving(replies...)
			first := a.respond(200, `{"model":"desk","input":"Where?","tools":[{"type":"function","name":"locate"}]}`)
			second := a.respond(200, fmt.Sprintf(`{"model":"desk","previous_response_id":%q,"input":[{"type":"function_call_output","call_id":%q,"output":"here"}]}`,
				first.ID, first.Output[0].CallID))
			require.Equal(t, "Lisbon.", second.Output[0].Content[0].Text)
			a, _ = serving(replies...)
			tools := `,"tools":[{"type":"function","function":{"name":"locate"}}]}`
			call := a.chat(200, ask+tools).Choices[0].Message.ToolCalls[0]
			c := a.chat(200, `{"model":"desk","messages":[{"role":"user","content":"Hi"},{"role":"tool","tool_call_id":"`+call.ID+`","content":"here"}]`+tools)
			require.Equal(t, "Lisbon.", c.Choices[0].Message.Content)
		})
		t.Run("failure", func(t *testing.T) {
			a, _ := serving(adktest.Fails(errors.New("canary")).Repeated())
			require.Equal(t, "internal", a.chat(500, ask+`}`).Error.Code)
			r := a.respond(200, `{"model":"desk","input":"Hi"}`)
			require.Equal(t, "failed something went wrong", r.Status+" "+r.Error.Message)
			kinds, _ := kinds(t, a.stream("/v1/responses", `{"model":"desk","input":"Hi","stream":true}`))
			require.Equal(t, "response.failed", kinds[len(kinds)-1])
		})
		t.Run("stop", func(t *testing.T) {
			a, d := serving(adktest.Streams("word ").ThenBlocks(), adktest.Streams("word ").ThenBlocks())
			caller := d.Local(t)
			stop := func() {
				run := servetest.Speaking(t, caller)
				require.NoError(t, caller.Stop(t.Context(), run.ID, serve.StopRequest{Now: true}))
			}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				e := a.chat(500, ask+`}`).Error
				require.Equal(t, "the run was stopped", e.Message, "what there is of it does not pass for the whole answer")
			}()
			stop()
			<-ended
			ended = make(chan struct{})
			go func() {
				defer close(ended)
				r := a.respond(200, `{"model":"desk","input":"Hi"}`)
				require.Equal(t, "incomplete cancelled", r.Status+" "+r.Incomplete.Reason)
			}()
			stop()
			<-ended
		})
	})
}
