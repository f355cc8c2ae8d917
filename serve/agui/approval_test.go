package agui

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
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/middlewares/approval"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/serve"
)

// desk is a server of the protocol under test.
type desk struct {
	t   *testing.T
	srv *serve.Server
	url string
}

func newDesk(t *testing.T, conf Config, more serve.Config, agent adk.ChatModelAgentConfig, replies ...adktest.Answer) *desk {
	t.Helper()
	agent.Name, agent.Description, agent.Model = "desk", "helps", adktest.NewModel(t, replies...)
	made, err := adk.NewChatModelAgent(t.Context(), &agent)
	require.NoError(t, err)
	more.Agents, more.DrainTimeout = []adk.Agent{made}, time.Second
	srv, err := serve.New(more)
	require.NoError(t, err)
	conf.Agent = "desk"
	web := httptest.NewServer(Handler(srv, conf))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		require.NoError(t, srv.Shutdown(ctx))
		web.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return &desk{t, srv, web.URL}
}

// post sends a body, and returns the status, and the data of the frames or the problem.
func (d *desk) post(body string) (status int, data []string) {
	d.t.Helper()
	answer, err := http.Post(d.url, "application/json", strings.NewReader(body))
	require.NoError(d.t, err)
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		text, err := io.ReadAll(answer.Body)
		require.NoError(d.t, err)
		return answer.StatusCode, []string{string(text)}
	}
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<22)
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			data = append(data, text)
		}
	}
	require.NoError(d.t, lines.Err())
	return answer.StatusCode, data
}

// talk sends a body, and returns the events, which a client accepts.
func (d *desk) talk(body string) *reader {
	d.t.Helper()
	status, data := d.post(body)
	require.Equal(d.t, http.StatusOK, status, "%s", data)
	r := newReader()
	for _, text := range data {
		var e event
		require.NoError(d.t, json.Unmarshal([]byte(text), &e))
		require.NoError(d.t, r.add(e))
	}
	require.True(d.t, r.ended)
	return r
}

func hello(text string) string {
	return `{"threadId":"t1","runId":"r1","protocolVersion":"1.0","messages":[{"id":"u1","role":"user","content":"` + text + `"}],` +
		`"tools":[],"context":[]}`
}

// guarded is an agent that asks before it pays, and the tool that pays.
func guarded(t *testing.T) (adk.ChatModelAgentConfig, *adktest.Tool) {
	guard, err := approval.New(t.Context(), &approval.Config{Tools: []string{"pay"}})
	require.NoError(t, err)
	pay := adktest.NewTool("pay", adktest.Says("paid").Repeated())
	return adk.ChatModelAgentConfig{ToolsConfig: adktest.Tools(pay), Handlers: []adk.ChatModelAgentMiddleware{guard}}, pay
}

// notApprovals are entries of resume, with ID for the ID of the question, that a careless reader may take for an approval.
var notApprovals = []string{
	`{"interruptId":"ID"}`,
	`{"interruptId":"ID","status":"resolved"}`,
	`{"interruptId":"ID","status":"resolved","payload":null}`,
	`{"interruptId":"ID","status":"resolved","payload":true}`,
	`{"interruptId":"ID","status":"resolved","payload":"true"}`,
	`{"interruptId":"ID","status":"resolved","payload":1}`,
	`{"interruptId":"ID","status":"resolved","payload":"approved"}`,
	`{"interruptId":"ID","status":"resolved","payload":[]}`,
	`{"interruptId":"ID","status":"resolved","payload":[true]}`,
	`{"interruptId":"ID","status":"resolved","payload":[{"approved":true}]}`,
	`{"interruptId":"ID","status":"resolved","payload":{}}`,
	`{"interruptId":"ID","status":"resolved","payload":{"approved":null}}`,
	`{"interruptId":"ID","status":"resolved","payload":{"approved":false}}`,
	`{"interruptId":"ID","status":"resolved","payload":{"approved":"true"}}`,
	`{"interruptId":"ID","status":"resolved","payload":{"approved":"yes"}}`,
	`{"interruptId":"ID","status":"resolved","payload":{"approved":1}}`,
	`{"interruptId":"ID","status":"resolved","payload":{"approved":0}}`,
	`{"interruptId":"ID","status":"resolved","payload":{"approved":[true]}}`,
	`{"interruptId":"ID","status":"resolved","payload":{"approved":{"approved":true}}}`,
	`{"interruptId":"ID","status":"resolved","payload":{"Approved":true}}`,
	`{"interruptId":"ID","status":"resolved","payload":{"APPROVED":true}}`,
	`{"interruptId":"ID","status":"resolved","payload":{"approve":true}}`,
	`{"interruptId":"ID","status":"resolved","payload":{"approved ":true}}`,
	`{"interruptId":"ID","status":"resolved","payload":{"approved":false,"approved":true}}`,
	`{"interruptId":"ID","status":"resolved","payload":{"approved":true,"approved":true}}`,
	`{"interruptId":"ID","status":"resolved","payload":{"approved":false,"Approved":true}}`,
	`{"interruptId":"ID","status":"resolved","payload":{"payload":{"approved":true}}}`,
	`{"interruptId":"ID","status":"resolved","payload":{"approved":true,"editedArgs":"x"}}`,
	`{"interruptId":"ID","status":"resolved","payload":{"approved":true,"editedArgs":[1]}}`,
	`{"interruptId":"ID","status":"resolved","payload":{"approved":true,"editedArgs":{},"editedArgs":{}}}`,
	`{"interruptId":"ID","status":"cancelled","payload":{"approved":true}}`,
	`{"interruptId":"ID","status":"Resolved","payload":{"approved":true}}`,
	`{"interruptId":"ID","status":null,"payload":{"approved":true}}`,
	`{"interruptId":"ID","status":true,"payload":{"approved":true}}`,
	`{"interruptId":"ID","payload":{"approved":true}}`,
	`{"interruptId":"ID","Status":"resolved","payload":{"approved":true}}`,
	`{"interruptId":"ID","status":"resolved","Payload":{"approved":true}}`,
	`{"interruptId":"ID","status":"resolved","payload":{"approved":false},"payload":{"approved":true}}`,
	`{"interruptId":"ID","status":"cancelled","status":"resolved","payload":{"approved":true}}`,
	`{"InterruptID":"ID","status":"resolved","payload":{"approved":true}}`,
	`{"interruptId":"other","status":"resolved","payload":{"approved":true}}`,
	`{"interruptId":["ID"],"status":"resolved","payload":{"approved":true}}`,
	`{"interruptId":"ID","status":"cancelled"},{"interruptId":"ID","status":"resolved","payload":{"approved":true}}`,
	`{"interruptId":"ID","status":"resolved","payload":{"approved":true}},{"interruptId":"ID","status":"resolved","payload":{"approved":true}}`,
	`null`, `true`, `"ID"`, `[]`,
}

func resume(entries string) string {
	return `{"threadId":"t1","runId":"r2","protocolVersion":"1.0","messages":[{"id":"u1","role":"user","content":"Pay."}],"resume":[` + entries + `]}`
}

// Rule serving/AG3.
func TestHandler_OnlyAnExactApprovalApproves(t *testing.T) {
	for _, entry := range notApprovals {
		agent, pay := guarded(t)
		d := newDesk(t, Config{}, serve.Config{}, agent, adktest.Calls(adktest.Call("pay", `{"n":1}`)), adktest.Says("Done.").Repeated())
		first := d.talk(hello("Pay."))
		asked := first.events[len(first.events)-1].Outcome.Interrupts[0]
		d.post(resume(strings.ReplaceAll(entry, "ID", asked.ID)))
		require.Empty(t, pay.Calls(), "%s", entry)
	}
	for _, entry := range []string{
		`{"interruptId":"ID","status":"resolved","payload":{"approved":true}}`,
		` { "status" : "resolved" , "metadata": {"approved":false}, "payload" : { "why":"so", "approved" : true } , "interruptId" : "ID" } `,
	} {
		agent, pay := guarded(t)
		d := newDesk(t, Config{}, serve.Config{}, agent, adktest.Calls(adktest.Call("pay", `{"n":1}`)), adktest.Says("Done."))
		first := d.talk(hello("Pay."))
		asked := first.events[len(first.events)-1].Outcome.Interrupts[0]
		d.talk(resume(strings.ReplaceAll(entry, "ID", asked.ID)))
		require.Len(t, pay.Calls(), 1, "%s", entry)
	}
}

// What else a body says about answers does not count: neither a member in other letters, nor one that is there twice.
func TestHandler_BodiesThatCanBeReadInTwoWaysApproveNothing(t *testing.T) {
	yes := `{"interruptId":"ID","status":"resolved","payload":{"approved":true}}`
	no := `{"interruptId":"ID","status":"cancelled"}`
	for _, members := range []string{`"resume":[NO],"resume":[YES]`, `"resume":[NO],"Resume":[YES]`, `"Resume":[YES]`, `"resume":YES`} {
		agent, pay := guarded(t)
		d := newDesk(t, Config{}, serve.Config{}, agent, adktest.Calls(adktest.Call("pay", `{"n":1}`)), adktest.Says("Done.").Repeated())
		first := d.talk(hello("Pay."))
		asked := first.events[len(first.events)-1].Outcome.Interrupts[0]
		members = strings.NewReplacer("NO", no, "YES", yes).Replace(members)
		d.post(`{"threadId":"t1","runId":"r2","messages":[],` + strings.ReplaceAll(members, "ID", asked.ID) + `}`)
		require.Empty(t, pay.Calls(), "%s", members)
	}
}

// Edited arguments take the place of those that the model wrote.
func TestHandler_ApprovesWithOtherArguments(t *testing.T) {
	agent, pay := guarded(t)
	d := newDesk(t, Config{}, serve.Config{}, agent, adktest.Calls(adktest.Call("pay", `{"n":1}`)), adktest.Says("Done."))
	first := d.talk(hello("Pay."))
	asked := first.events[len(first.events)-1].Outcome.Interrupts[0]
	second := d.talk(resume(`{"interruptId":"` + asked.ID + `","status":"resolved","payload":{"approved":true,"editedArgs":{"n":2}}}`))
	require.Equal(t, []string{`{"n":2}`}, pay.Arguments())
	require.Equal(t, []string{"paid"}, second.results[asked.ToolCallID])
	require.Equal(t, []string{"Done."}, second.shown())
}

// The question of a server is answered after another process has taken its place.
func TestHandler_ApprovesAfterARestart(t *testing.T) {
	dir := t.TempDir()
	stored := func() serve.Config {
		store, err := checkpoint.NewFileStore(dir + "/runs")
		require.NoError(t, err)
		events, err := runlog.NewFileStore(dir + "/events")
		require.NoError(t, err)
		return serve.Config{Store: store, Events: events}
	}
	agent, pay := guarded(t)
	before := newDesk(t, Config{}, stored(), agent, adktest.Streams("Wait.").Calling(adktest.Call("pay", `{"n":1}`)))
	first := before.talk(hello("Pay."))
	asked := first.events[len(first.events)-1].Outcome.Interrupts[0]
	require.NoError(t, before.srv.Shutdown(t.Context()))
	after := newDesk(t, Config{}, stored(), agent, adktest.Says("Done."))
	second := after.talk(resume(`{"interruptId":"` + asked.ID + `","status":"resolved","payload":{"approved":true}}`))
	require.Len(t, pay.Calls(), 1)
	require.Equal(t, []string{"Done."}, second.shown())
	require.Equal(t, []string{"paid"}, second.results[asked.ToolCallID])
	require.NotContains(t, second.used, "call "+asked.ToolCallID)
}
