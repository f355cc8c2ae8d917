package aisdk

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/middlewares/approval"
	"github.com/weftgo/weft/serve"
)

// guarded serves an agent that asks before it pays, and returns the tool that pays, and how a page posts a body.
func guarded(t *testing.T) (pay *adktest.Tool, post func(body string) []chunk) {
	t.Helper()
	guard, err := approval.New(t.Context(), &approval.Config{Tools: []string{"pay"}})
	require.NoError(t, err)
	pay = adktest.NewTool("pay", adktest.Says("paid").Repeated())
	return pay, pageOf(t, adk.ChatModelAgentConfig{ToolsConfig: adktest.Tools(pay), Handlers: []adk.ChatModelAgentMiddleware{guard}},
		adktest.Calls(adktest.Call("pay", `{"n":1}`)), adktest.Says("Done.").Repeated())
}

// pageOf serves an agent, and returns how a page posts a body: the chunks that it gets, none if it is refused.
func pageOf(t *testing.T, conf adk.ChatModelAgentConfig, replies ...adktest.Answer) func(body string) []chunk {
	t.Helper()
	return pageWith(t, Config{}, conf, replies...)
}

// pageWith is pageOf with a configuration of the handler.
func pageWith(t *testing.T, page Config, conf adk.ChatModelAgentConfig, replies ...adktest.Answer) func(body string) []chunk {
	t.Helper()
	conf.Name, conf.Description, conf.Model = "desk", "helps", adktest.NewModel(t, replies...)
	agent, err := adk.NewChatModelAgent(t.Context(), &conf)
	require.NoError(t, err)
	srv, err := serve.New(serve.Config{Agents: []adk.Agent{agent}, AllowClientTools: true, DrainTimeout: time.Second})
	require.NoError(t, err)
	web := httptest.NewServer(Handler(srv, "desk", page))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		require.NoError(t, srv.Shutdown(ctx))
		web.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return func(body string) []chunk { return postTo(t, web.URL, body) }
}

// postTo posts a body, and returns the chunks of the answer, none if it is refused.
func postTo(t *testing.T, url, body string) (chunks []chunk) {
	t.Helper()
	answer, err := http.Post(url, "application/json", strings.NewReader(body))
	require.NoError(t, err)
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		_, _ = io.Copy(io.Discard, answer.Body)
		return nil
	}
	return chunksOf(t, answer.Body)
}

// chunksOf reads a stream.
func chunksOf(t *testing.T, r io.Reader) (chunks []chunk) {
	t.Helper()
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<22)
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok && text != "[DONE]" {
			var c chunk
			require.NoError(t, json.Unmarshal([]byte(text), &c))
			chunks = append(chunks, c)
		}
	}
	require.NoError(t, lines.Err())
	return chunks
}

// notApprovals are parts of the last message, with ID for the ID of the question and CALL for the ID of the call, that a
// careless reader may take for an approval.
var notApprovals = []string{
	`{"type":"dynamic-tool","toolName":"pay","toolCallId":"CALL","state":"approval-responded"}`,
	responded(`null`), responded(`true`), responded(`"true"`), responded(`1`), responded(`[]`), responded(`[true]`), responded(`[{"id":"ID","approved":true}]`), responded(`{}`),
	responded(`{"approved":true}`), responded(`{"id":null,"approved":true}`), responded(`{"id":"other","approved":true}`), responded(`{"id":["ID"],"approved":true}`),
	responded(`{"ID":"ID","approved":true}`), responded(`{"id":"ID"}`), responded(`{"id":"ID","approved":null}`), responded(`{"id":"ID","approved":false}`),
	responded(`{"id":"ID","approved":"true"}`), responded(`{"id":"ID","approved":"yes"}`), responded(`{"id":"ID","approved":1}`),
	responded(`{"id":"ID","approved":0}`), responded(`{"id":"ID","approved":[true]}`), responded(`{"id":"ID","approved":{"approved":true}}`),
	responded(`{"id":"ID","Approved":true}`), responded(`{"id":"ID","APPROVED":true}`), responded(`{"id":"ID","approve":true}`),
	responded(`{"id":"ID","approved ":true}`), responded(`{"id":"ID","approved":false,"approved":true}`), responded(`{"id":"ID","approved":true,"approved":true}`),
	responded(`{"id":"ID","approved":false,"Approved":true}`), responded(`{"id":"ID","reason":"approved"}`), responded(`{"id":"ID","approval":{"approved":true}}`),
	responded(`{"id":"ID","id":"ID","approved":true}`),
	responded(`{"id":"ID","approved":false}`) + `,` + responded(`{"id":"ID","approved":true}`),
	responded(`{"id":"ID","approved":true}`) + `,` + responded(`{"id":"ID","approved":true}`),
	`{"type":"dynamic-tool","toolCallId":"CALL","state":"approval-responded","Approval":{"id":"ID","approved":true}}`,
	`{"type":"dynamic-tool","toolCallId":"CALL","State":"approval-responded","approval":{"id":"ID","approved":true}}`,
	`{"type":"dynamic-tool","toolCallId":"CALL","state":"approval-requested","approval":{"id":"ID","approved":true}}`,
	`{"type":"dynamic-tool","toolCallId":"CALL","state":"output-available","output":"paid","approval":{"id":"ID","approved":true}}`,
	`{"type":"dynamic-tool","toolCallId":"CALL","approval":{"id":"ID","approved":true}}`,
	`{"type":"dynamic-tool","toolCallId":"CALL","state":["approval-responded"],"approval":{"id":"ID","approved":true}}`,
	`{"type":"dynamic-tool","toolCallId":"CALL","state":"approval-responded","approval":{"id":"ID","approved":false},"approval":{"id":"ID","approved":true}}`,
	`{"type":"dynamic-tool","toolCallId":"CALL","state":"output-denied","state":"approval-responded","approval":{"id":"ID","approved":true}}`,
	`null`, `true`, `[]`, `"ID"`,
}

func responded(approval string) string {
	return `{"type":"dynamic-tool","toolName":"pay","toolCallId":"CALL","state":"approval-responded","input":{"n":1},"approval":` + approval + `}`
}

// body returns the JSON that a page posts.
func body(messages string) string { return `{"id":"c1","trigger":"submit-message",` + messages + `}` }

func message(parts string) string {
	return `{"id":"m1","role":"assistant","parts":[{"type":"step-start"},` + parts + `]}`
}

// answerTo posts an answer to the question of a run that waits, and returns how often it is paid, and what the page gets.
func answerTo(t *testing.T, body string) (paid int, chunks []chunk) {
	t.Helper()
	pay, post := guarded(t)
	id, call := "", ""
	for _, c := range post(`{"id":"c1","messages":[{"id":"u1","role":"user","parts":[{"type":"text","text":"Pay."}]}],"trigger":"submit-message"}`) {
		if c["type"] == "tool-approval-request" {
			id, call = c["approvalId"].(string), c["toolCallId"].(string)
		}
	}
	require.NotEmpty(t, id)
	chunks = post(strings.NewReplacer(`"ID"`, `"`+id+`"`, `"CALL"`, `"`+call+`"`).Replace(body))
	return len(pay.Calls()), chunks
}

// Rule serving/AS2.
func TestHandler_OnlyAnExactApprovalApproves(t *testing.T) {
	for _, parts := range notApprovals {
		paid, _ := answerTo(t, body(`"messages":[`+message(parts)+`]`))
		require.Zero(t, paid, "%s", parts)
	}
	yes, no := message(responded(`{"id":"ID","approved":true}`)), message(responded(`{"id":"ID","approved":false}`))
	for _, messages := range []string{`"messages":[` + no + `],"messages":[` + yes + `]`, `"messages":[` + no + `],"Messages":[` + yes + `]`,
		`"messages":[` + yes + `,` + no + `]`, `"messages":` + yes, `"messages":[` + strings.Replace(yes, `"parts"`, `"parts":[],"Parts"`, 1) + `]`} {
		paid, _ := answerTo(t, body(messages))
		require.Zero(t, paid, "%s", messages)
	}
}

func TestHandler_AnApprovalContinuesTheMessage(t *testing.T) {
	for _, approval := range []string{`{"id":"ID","approved":true}`, ` { "reason" : "so" , "approved" : true , "id" : "ID" } `} {
		paid, chunks := answerTo(t, body(`"messages":[`+message(responded(approval))+`]`))
		require.Equal(t, 1, paid)
		require.Equal(t, "m1", chunks[0]["messageId"])
		require.Equal(t, "tool-output-available", chunks[1]["type"])
		require.Equal(t, "paid", chunks[1]["output"])
		require.Equal(t, "finish", chunks[len(chunks)-1]["type"])
	}
	paid, chunks := answerTo(t, body(`"messages":[`+message(responded(`{"id":"ID","approved":false,"reason":"too much"}`))+`]`))
	require.Zero(t, paid)
	require.Equal(t, "tool-output-denied", chunks[1]["type"])
}
