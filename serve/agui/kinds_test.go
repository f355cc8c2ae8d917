package agui

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/serve"
	"github.com/weftgo/weft/serve/internal/servetest"
)

// Agents on ordinary messages, whose threads the server keeps, and on agentic ones, whose history the page has, are
// served the same way.
// Rule serving/AG8.
func TestHandler_ServesEachKindOfMessages(t *testing.T) {
	servetest.EachKind(t, func(t *testing.T, makeDesk func(replies ...adktest.Answer) servetest.Desk) {
		serving := func(replies ...adktest.Answer) (*desk, *adktest.Tool) {
			s := makeDesk(replies...)
			web := httptest.NewServer(Handler(s.Server, Config{Agent: "desk", TrustHistory: s.Agentic}))
			t.Cleanup(func() { web.Close(); http.DefaultClient.CloseIdleConnections() })
			return &desk{t, s.Server, web.URL}, s.Pay
		}
		t.Run("text, thoughts and tools", func(t *testing.T) {
			d, _ := serving(adktest.Streams("Let me ", "see.").Calling(adktest.Call("look", `{}`)), adktest.Streams("Sun", "ny."),
				adktest.Says("Two.").SeeingLast("user: And?"))
			r := d.talk(body("r1", user("u1", "Hi"), ""))
			require.Equal(t, []string{"Let me see.", "Sunny."}, r.shown())
			require.Equal(t, []string{"sunny"}, r.results["call_1"])
			require.Equal(t, "Sunny.", r.last().Result)
			r = d.talk(body("r2", user("u1", "Hi")+`,{"id":"a","role":"assistant","content":"Sunny."},`+user("u2", "And?"), ""))
			require.Equal(t, []string{"Two."}, r.shown())
		})
		for verdict, result := range map[string]string{"true": "paid", "false": "The user rejected this call of the tool. " +
			"Do not try it again unless the user asks for it."} {
			t.Run("approved: "+verdict, func(t *testing.T) {
				d, pay := serving(adktest.Calls(adktest.Call("pay", `{"n":1}`)), adktest.Says("Done."))
				asked := d.talk(body("r1", user("u1", "Pay."), "")).last().Outcome.Interrupts[0]
				r := d.talk(body("r2", user("u1", "Pay."), `,"resume":[{"interruptId":"`+asked.ID+`","status":"resolved","payload":{"approved":`+verdict+`}}]`))
				require.Equal(t, []string{"Done."}, r.shown())
				require.Equal(t, []string{result}, r.results["call_1"])
				require.Equal(t, verdict == "true", len(pay.Calls()) == 1)
			})
		}
		t.Run("tool of the client", func(t *testing.T) {
			d, _ := serving(adktest.Calls(adktest.Call("locate", `{"q":"x"}`)), adktest.Says("Lisbon.").SeeingLast("tool locate#call_1: 38.7"))
			require.Equal(t, []string{"call_1"}, d.talk(body("r1", user("u1", "Where?"), locate)).last().Outcome.Pending)
			r := d.talk(body("r2", user("u1", "Where?")+`,{"id":"x","role":"tool","toolCallId":"call_1","content":"38.7"}`, ""))
			require.Equal(t, []string{"Lisbon."}, r.shown())
		})
		t.Run("failure", func(t *testing.T) {
			d, _ := serving(adktest.Fails(errors.New("canary")))
			require.Equal(t, "something went wrong", d.talk(body("r1", user("u1", "Hi"), "")).last().Message)
		})
		t.Run("stop, and reconnect", func(t *testing.T) {
			d, _ := serving(adktest.Streams("word ", "word ").ThenBlocks())
			ended := make(chan *reader, 1)
			go func() { ended <- d.talk(body("r1", user("u1", "Hi"), "")) }()
			caller := servetest.Local(t, d.srv)
			run := servetest.Speaking(t, caller)
			watched := make(chan []frame, 1)
			go func() { _, f := d.frames("GET", "?threadId=t1", "", ""); watched <- f }()
			require.NoError(t, caller.Stop(t.Context(), run.ID, serve.StopRequest{Now: true}))
			require.Equal(t, "cancelled", (<-ended).last().Outcome.Type)
			frames := <-watched
			if len(frames) > 0 { // otherwise it was stopped before
				require.Contains(t, frames[len(frames)-1].data, `"cancelled"`)
			}
		})
	})
}
