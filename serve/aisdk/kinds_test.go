package aisdk

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/serve"
	"github.com/weftgo/weft/serve/internal/servetest"
)

const locate = `"tools":[{"name":"locate","description":"Locates.","parameters":{"type":"object","properties":{"q":{"type":"string"}}}}]`

// find are the chunks of a type.
func find(chunks []chunk, kind string) (found []chunk) {
	for _, c := range chunks {
		if c["type"] == kind {
			found = append(found, c)
		}
	}
	return found
}

// Agents on ordinary messages, whose threads the server keeps, and on agentic ones, whose history the page has, are
// served the same way.
// Rule serving/AS4.
func TestHandler_ServesEachKindOfMessages(t *testing.T) {
	servetest.EachKind(t, func(t *testing.T, makeDesk func(replies ...adktest.Answer) servetest.Desk) {
		serving := func(replies ...adktest.Answer) (s servetest.Desk, url string) {
			s = makeDesk(replies...)
			web := httptest.NewServer(Handler(s.Server, "desk", Config{TrustHistory: s.Agentic}))
			t.Cleanup(func() { web.Close(); http.DefaultClient.CloseIdleConnections() })
			return s, web.URL
		}
		t.Run("text and tools", func(t *testing.T) {
			_, url := serving(adktest.Streams("Let me ", "see.").Calling(adktest.Call("look", `{}`)), adktest.Streams("Sun", "ny."),
				adktest.Says("Two.").SeeingLast("user: And?"))
			first := postTo(t, url, again(submit, asks("Hi")))
			id, said := text(first)
			require.Equal(t, "Let me see.Sunny.", said)
			require.Equal(t, "sunny", find(first, "tool-output-available")[0]["output"])
			_, said = text(postTo(t, url, again(submit, asks("Hi")+","+says(id)+","+asks("And?"))))
			require.Equal(t, "Two.", said)
		})
		for verdict, outcome := range map[string]string{"true": "tool-output-available", "false": "tool-output-denied"} {
			t.Run("approved: "+verdict, func(t *testing.T) {
				s, url := serving(adktest.Calls(adktest.Call("pay", `{"n":1}`)), adktest.Says("Done."))
				first := postTo(t, url, again(submit, asks("Pay")))
				asked := find(first, "tool-approval-request")[0]
				answer := fmt.Sprintf(`{"id":"m","role":"assistant","parts":[{"type":"dynamic-tool","toolName":"pay","toolCallId":%q,`+
					`"state":"approval-responded","input":{"n":1},"approval":{"id":%q,"approved":%s}}]}`, asked["toolCallId"], asked["approvalId"], verdict)
				second := postTo(t, url, again(submit, asks("Pay")+","+answer))
				_, said := text(second)
				require.Equal(t, "Done.", said)
				require.Len(t, find(second, outcome), 1)
				require.Equal(t, verdict == "true", len(s.Pay.Calls()) == 1)
				require.Equal(t, second, postTo(t, url, again(submit, asks("Pay")+","+answer)), "its response was lost")
			})
		}
		t.Run("tool of the page", func(t *testing.T) {
			_, url := serving(adktest.Calls(adktest.Call("locate", `{"q":"x"}`)), adktest.Says("Lisbon.").SeeingLast("tool locate#call_1: 38.7"))
			postTo(t, url, again(submit+","+locate, asks("Where")))
			_, said := text(postTo(t, url, again(submit, asks("Where")+`,{"id":"m","role":"assistant","parts":[`+strings.Replace(carriedOut("call_1", "38.7"), "look", "locate", 1)+`]}`)))
			require.Equal(t, "Lisbon.", said)
		})
		t.Run("failure", func(t *testing.T) {
			_, url := serving(adktest.Fails(errors.New("canary")))
			require.Equal(t, "something went wrong", find(postTo(t, url, again(submit, asks("Hi"))), "error")[0]["errorText"])
		})
		t.Run("stop, and reconnect", func(t *testing.T) {
			s, url := serving(adktest.Streams("word ", "word ").ThenBlocks())
			ended := make(chan []chunk, 1)
			go func() { ended <- postTo(t, url, again(submit, asks("Hi"))) }()
			caller := s.Local(t)
			run := servetest.Speaking(t, caller)
			answer, err := http.Get(url + "/c1/stream")
			require.NoError(t, err)
			defer answer.Body.Close()
			require.NoError(t, caller.Stop(t.Context(), run.ID, serve.StopRequest{Now: true}))
			require.Len(t, find(<-ended, "abort"), 1)
			require.Len(t, find(chunksOf(t, answer.Body), "abort"), 1)
		})
	})
}
