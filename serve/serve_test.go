package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/middlewares/approval"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

func TestMain(m *testing.M) {
	if os.Getenv(streamsServed) != "" {
		if err := serveStreams(); err != nil {
			panic(err)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// agentOf makes an agent of a scripted model.
func agentOf(t *testing.T, conf adk.ChatModelAgentConfig, replies ...adktest.Answer) adk.Agent {
	t.Helper()
	conf.Name, conf.Description, conf.Model = "desk", "helps", adktest.NewModel(t, replies...)
	agent, err := adk.NewChatModelAgent(t.Context(), &conf)
	require.NoError(t, err)
	return agent
}

// desk is a server under test, and a client of it.
type desk struct {
	t   *testing.T
	srv *Server
	url string
	// header is sent with each request.
	header http.Header
}

func newDesk(t *testing.T, conf Config, agents ...adk.Agent) *desk {
	t.Helper()
	conf.Agents = agents
	srv, err := New(conf)
	require.NoError(t, err)
	return deskOf(t, srv)
}

// deskOf is the desk of a server, which it shuts down at the end of the test.
func deskOf(t *testing.T, srv *Server) *desk {
	web := httptest.NewServer(srv)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		require.NoError(t, srv.Shutdown(ctx))
		web.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return &desk{t, srv, web.URL, http.Header{}}
}

// as is the desk for another client.
func (d *desk) as(who string) *desk {
	other := *d
	other.header = http.Header{"Authorization": {"Bearer " + who}}
	return &other
}

// byToken authenticates the principal that "as" names: "ana" or "ana/clerk".
func byToken(r *http.Request) (Principal, error) {
	who, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return Principal{}, fmt.Errorf("no token, and the secret is canary-17")
	}
	name, scope, _ := strings.Cut(who, "/")
	p := Principal{ID: name}
	if scope != "" {
		p.Scopes = []string{scope}
	}
	return p, nil
}

func (d *desk) do(method, path, body string, header ...string) *http.Response {
	d.t.Helper()
	r, err := http.NewRequestWithContext(d.t.Context(), method, d.url+path, strings.NewReader(body))
	require.NoError(d.t, err)
	for name, values := range d.header {
		r.Header[name] = values
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	require.NoError(d.t, err)
	return answer
}

// call makes a request that is answered with a status, and decodes the answer.
func (d *desk) call(status int, method, path, body string, header ...string) map[string]any {
	d.t.Helper()
	answer := d.do(method, path, body, header...)
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	require.NoError(d.t, err)
	require.Equal(d.t, status, answer.StatusCode, "%s %s: %s", method, path, data)
	decoded := map[string]any{}
	if len(data) > 0 {
		require.NoError(d.t, json.Unmarshal(data, &decoded), "%s", data)
	}
	return decoded
}

// refused makes a request that is answered with a problem, and returns its code.
func (d *desk) refused(status int, method, path, body string, header ...string) string {
	d.t.Helper()
	p := d.call(status, method, path, body, header...)
	require.EqualValues(d.t, status, p["status"])
	require.NotContains(d.t, fmt.Sprint(p), "canary")
	code, _ := p["code"].(string)
	return code
}

// frame is a server-sent event.
type frame struct{ id, event, data string }

// frames reads a stream to its end.
func frames(t *testing.T, r io.Reader) (all []frame) {
	t.Helper()
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<24)
	var f frame
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "id":
			f.id = value
		case "event":
			f.event = value
		case "data":
			f.data = value
		case "":
			if f.data != "" {
				all = append(all, f)
			}
			f = frame{}
		}
	}
	return all
}

// stream makes a request that is answered with a stream, and reads it.
func (d *desk) stream(method, path, body string, header ...string) []frame {
	d.t.Helper()
	answer := d.do(method, path, body, append(header, "Accept", "text/event-stream")...)
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusNoContent {
		data, _ := io.ReadAll(answer.Body)
		d.t.Fatalf("%s %s: %d %s", method, path, answer.StatusCode, data)
	}
	return frames(d.t, answer.Body)
}

// events decodes the events of frames.
func events(t *testing.T, all []frame) (events []runlog.Event) {
	t.Helper()
	for _, f := range all {
		var e runlog.Event
		require.NoError(t, json.Unmarshal([]byte(f.data), &e), f.data)
		require.Equal(t, f.event, string(e.Type))
		require.Equal(t, e.Cursor().String(), strings.TrimSuffix(f.id, endMark))
		events = append(events, e)
	}
	return events
}

// said is the text of the messages in events.
func said(events []runlog.Event) (texts []string) {
	for _, m := range runlog.Transcript[*schema.Message](events) {
		texts = append(texts, m.Content)
	}
	return texts
}

// pay is a tool that counts what it pays, and is only called after an approval.
func pay(t *testing.T, paid *[]string) adk.ChatModelAgentConfig {
	t.Helper()
	type order struct {
		Amount int `json:"amount"`
	}
	payTool, err := utils.InferTool("pay", "Pays.", func(_ context.Context, o order) (string, error) {
		*paid = append(*paid, fmt.Sprint(o.Amount))
		return fmt.Sprint("paid ", o.Amount), nil
	})
	require.NoError(t, err)
	guard, err := approval.New(t.Context(), &approval.Config{Tools: []string{"pay"}})
	require.NoError(t, err)
	return adk.ChatModelAgentConfig{Handlers: []adk.ChatModelAgentMiddleware{guard},
		ToolsConfig: adktest.Tools(tool.BaseTool(payTool))}
}

// A run is streamed as it happens and again later, and who has seen its end is not kept.
// Rule serving/SV8.
func TestServer_RunsAnAgentAndStreamsWhatHappens(t *testing.T) {
	d := newDesk(t, Config{}, agentOf(t, adk.ChatModelAgentConfig{}, adktest.Streams("It is ", "sunny.")))
	all := events(t, d.stream("POST", "/agents/desk/runs", `{"input":"How is the weather?"}`))
	require.Equal(t, runlog.RunStart, all[0].Type)
	start := all[0].Data.(*runlog.RunStartData)
	require.Equal(t, "desk", start.Agent)
	require.Equal(t, "How is the weather?", start.Input[0].Chat.Content)
	end, ok := all[len(all)-1].Data.(*runlog.RunEndData)
	require.True(t, ok)
	require.Equal(t, runs.Done, end.Status)
	require.Equal(t, []string{"It is sunny."}, said(all))

	again := d.stream("GET", "/runs/"+all[0].Run+"/events", "")
	require.Equal(t, all[len(all)-1].Cursor().String()+endMark, again[len(again)-1].id)
	require.Equal(t, []string{"It is sunny."}, said(events(t, again)))
	answer := d.do("GET", "/runs/"+all[0].Run+"/events", "", "Last-Event-ID", again[len(again)-1].id, "Accept", "text/event-stream")
	answer.Body.Close()
	require.Equal(t, http.StatusNoContent, answer.StatusCode)

	run := d.call(200, "GET", "/runs/"+all[0].Run, "")
	require.Equal(t, "done", run["status"])
	require.Equal(t, "It is sunny.", run["result"].(map[string]any)["content"])
	page := d.call(200, "GET", "/runs/"+all[0].Run+"/events", "", "Accept", "application/json")
	require.NotEmpty(t, page["events"])
}

func TestServer_WaitsForTheResult(t *testing.T) {
	d := newDesk(t, Config{}, agentOf(t, adk.ChatModelAgentConfig{}, adktest.Says("Sunny.")))
	run := d.call(201, "POST", "/agents/desk/runs", `{"input":"Well?"}`, "Prefer", "wait=10")
	require.Equal(t, "done", run["status"])
	require.Equal(t, "Sunny.", run["result"].(map[string]any)["content"])
}

func TestServer_AsksAndIsAnswered(t *testing.T) {
	var paid []string
	d := newDesk(t, Config{}, agentOf(t, pay(t, &paid), adktest.Calls(adktest.Call("pay", `{"amount":7}`)), adktest.Says("Paid.")))
	first := d.stream("POST", "/agents/desk/runs", `{"input":"Pay!","thread":"t1"}`)
	all := events(t, first)
	run := all[0].Run
	open := d.call(200, "GET", "/questions", "")["questions"].([]any)
	require.Len(t, open, 1)
	question := open[0].(map[string]any)
	require.Equal(t, "approval", question["kind"])
	require.Equal(t, "pay", question["tool"])
	require.Equal(t, run, question["run"])
	id := question["id"].(string)
	answer := d.do("GET", "/runs/"+run+"/events", "", "Last-Event-ID", first[len(first)-1].id, "Accept", "text/event-stream")
	answer.Body.Close()
	require.Equal(t, http.StatusNoContent, answer.StatusCode, "who has seen everything of a run that waits is not kept waiting")
	require.Equal(t, "questions_open", d.refused(409, "POST", "/agents/desk/runs", `{"input":"Hello?","thread":"t1"}`))
	require.Equal(t, "bad_request", d.refused(400, "POST", "/runs/"+run+"/replies", `{"replies":{}}`))
	require.Equal(t, "not_found", d.refused(404, "POST", "/runs/"+run+"/replies", `{"replies":{"x":1,"`+id+`":{"approve":true}}}`))
	require.Empty(t, paid)

	rest := events(t, d.stream("POST", "/runs/"+run+"/replies", `{"replies":{"`+id+`":{"approve":true}}}`))
	require.Equal(t, []string{"7"}, paid)
	require.Equal(t, []string{"", "paid 7", "Paid."}, said(append(all, rest...)))
	// The same answer again is one whose response was lost; another one comes too late.
	again := events(t, d.stream("POST", "/runs/"+run+"/replies", `{"replies":{"`+id+`":{"approve":true}}}`))
	require.Equal(t, said(rest), said(again))
	require.Equal(t, "already_answered", d.refused(409, "POST", "/runs/"+run+"/replies", `{"replies":{"`+id+`":{"approve":false}}}`))
	require.Equal(t, []string{"7"}, paid)
	messages := d.call(200, "GET", "/threads/t1/messages", "")["messages"].([]any)
	require.Len(t, messages, 4)
}

// Whatever is not exactly an approval approves nothing.
// Rule serving/SV7.
func TestServer_ApprovesOnlyByJSONTrue(t *testing.T) {
	var paid []string
	d := newDesk(t, Config{Limits: Limits{StartsPerMinute: 1000}}, agentOf(t, pay(t, &paid),
		adktest.Calls(adktest.Call("pay", `{"amount":7}`)), adktest.Says("No.")))
	run := events(t, d.stream("POST", "/agents/desk/runs", `{"input":"Pay!"}`))[0].Run
	id := d.call(200, "GET", "/questions", "")["questions"].([]any)[0].(map[string]any)["id"].(string)
	for _, bad := range malformedApprovals {
		answer := d.do("POST", "/runs/"+run+"/replies", `{"replies":{"`+id+`":`+bad+`}}`)
		answer.Body.Close()
		require.Equal(t, http.StatusBadRequest, answer.StatusCode, bad)
	}
	d.stream("POST", "/runs/"+run+"/replies", `{"replies":{"`+id+`":{"approve":false}}}`)
	require.Empty(t, paid)
}

// malformedApprovals are answers that are neither an approval nor a rejection.
var malformedApprovals = []string{`null`, `true`, `"true"`, `1`, `[]`, `[true]`, `{}`, `{"approve":null}`, `{"approve":"true"}`,
	`{"approve":1}`, `{"approve":"yes"}`, `{"approve":[true]}`, `{"approve":{}}`, `{"Approve":true}`, `{"APPROVE":true}`,
	`{"approved":true}`, `{"approve":true,"approve":true}`, `{"approve":false,"approve":true}`, `{"approve":true,"extra":1}`,
	`{"approve":true,"arguments":[]}`, `{"approve":true,"arguments":"{}"}`, `{"approve":true,"arguments":1}`,
	`{"approve":true,"text":1}`, `{"verdict":"approved"}`, `{"verdict":"approved","approve":true}`, `{"hash":"x","approve":true}`,
	`{"approve":true`, `{"approve":true}}`, `{"approve":true} {"approve":true}`, `{"approve":true,}`, `{"approve":True}`,
	`{approve:true}`, `{"ap\u0070rove":true,"approve":false}`, `"approve"`, `"yes"`, `{"answer":true}`, `{"resolved":true}`,
	`{"status":"resolved"}`, `{"payload":{"approved":true}}`, `{"approve ":true}`, `-1`, `{"approve":0}`, `{"":true}`}

// The next run of a thread sees what was said in those before.
// Rules serving/SV3, serving/SV4.
func TestServer_TakesAThreadForItsConversation(t *testing.T) {
	d := newDesk(t, Config{}, agentOf(t, adk.ChatModelAgentConfig{}, adktest.Says("Hello Ana."),
		adktest.Says("Ana.").Seeing("user: I am Ana.", "assistant: Hello Ana.", "user: Who am I?")))
	d.stream("POST", "/agents/desk/runs", `{"input":"I am Ana.","thread":"t1"}`)
	all := events(t, d.stream("POST", "/agents/desk/runs", `{"input":"Who am I?","thread":"t1"}`))
	require.Equal(t, []string{"Ana."}, said(all))
	threads := d.call(200, "GET", "/threads", "")["threads"].([]any)
	require.Len(t, threads, 1)
	require.Equal(t, "t1", threads[0].(map[string]any)["id"])
	d.call(204, "DELETE", "/threads/t1", "")
	require.Empty(t, d.call(200, "GET", "/threads", "")["threads"])
	require.Empty(t, d.call(200, "GET", "/runs", "")["runs"])
	for _, path := range []string{"", "/events"} {
		require.Equal(t, "not_found", d.refused(404, "GET", "/runs/"+all[0].Run+path, ""))
	}
	require.Empty(t, d.call(200, "GET", "/threads/t1/messages", "")["messages"])
}

func TestServer_HidesWhatBelongsToOthers(t *testing.T) {
	var paid []string
	conf := pay(t, &paid)
	d := newDesk(t, Config{Auth: byToken}, agentOf(t, conf, adktest.Calls(adktest.Call("pay", `{"amount":7}`))))
	ana, bob := d.as("ana"), d.as("bob")
	require.Equal(t, "unauthorized", d.refused(401, "GET", "/agents", ""))
	run := events(t, ana.stream("POST", "/agents/desk/runs", `{"input":"Pay!","thread":"t1"}`))[0].Run
	id := ana.call(200, "GET", "/questions", "")["questions"].([]any)[0].(map[string]any)["id"].(string)
	for _, path := range []string{"/runs/" + run, "/runs/" + run + "/events", "/runs/nobody"} {
		require.Equal(t, "not_found", bob.refused(404, "GET", path, ""))
	}
	require.Equal(t, "not_found", bob.refused(404, "POST", "/runs/"+run+"/stop", ""))
	require.Equal(t, "not_found", bob.refused(404, "POST", "/runs/"+run+"/replies", `{"replies":{"`+id+`":{"approve":true}}}`))
	require.Equal(t, "not_found", bob.refused(404, "POST", "/tickets", `{"run":"`+run+`"}`))
	for path, list := range map[string]string{"/runs": "runs", "/questions": "questions", "/threads": "threads", "/threads/t1/messages": "messages"} {
		require.Empty(t, bob.call(200, "GET", path, "")[list], path)
	}
	require.Empty(t, paid)
}

// Rule serving/SV6.
func TestServer_GivesTheSameRunForTheSameKey(t *testing.T) {
	d := newDesk(t, Config{}, agentOf(t, adk.ChatModelAgentConfig{}, adktest.Says("Once.")))
	first := d.call(201, "POST", "/agents/desk/runs", `{"input":"Go"}`, "Idempotency-Key", "k1", "Prefer", "wait=10")
	again := d.call(201, "POST", "/agents/desk/runs", `{"input":"Go"}`, "Idempotency-Key", "k1")
	require.Equal(t, first["id"], again["id"])
	require.Equal(t, "conflict", d.refused(422, "POST", "/agents/desk/runs", `{"input":"Go on"}`, "Idempotency-Key", "k1"))
}

// What was said in a run that is stopped stays in its thread, and the next one begins behind it.
// Rules serving/SV4, serving/SV20.
func TestServer_StopsARunAndKeepsWhatWasSaid(t *testing.T) {
	started := make(chan struct{}, 1)
	slow, err := utils.InferTool("slow", "Takes long.", func(ctx context.Context, _ struct{}) (string, error) {
		started <- struct{}{}
		<-ctx.Done()
		return "", ctx.Err()
	})
	require.NoError(t, err)
	d := newDesk(t, Config{}, agentOf(t, adk.ChatModelAgentConfig{ToolsConfig: adktest.Tools(tool.BaseTool(slow))},
		adktest.Calls(adktest.Call("slow", `{}`)), adktest.Says("Hi.").SeeingLast("user: Hello?")))
	run := d.call(201, "POST", "/agents/desk/runs", `{"input":"Go","thread":"t1"}`)["id"].(string)
	<-started
	require.Equal(t, "busy", d.refused(409, "POST", "/agents/desk/runs", `{"input":"Hello?","thread":"t1"}`))
	d.call(202, "POST", "/runs/"+run+"/stop", `{"mode":"now"}`)
	require.Equal(t, "stopped", d.call(200, "GET", "/runs/"+run, "", "Prefer", "wait=10")["status"])
	all := events(t, d.stream("GET", "/runs/"+run+"/events", ""))
	require.Equal(t, runs.Paused, all[len(all)-1].Data.(*runlog.RunEndData).Status)
	require.Equal(t, "already_answered", d.refused(409, "POST", "/runs/"+run+"/stop", ""))
	again := events(t, d.stream("POST", "/agents/desk/runs", `{"input":"Hello?","thread":"t1"}`))
	require.Equal(t, []string{"Hi."}, said(again))
	var texts []string
	for _, m := range d.call(200, "GET", "/threads/t1/messages", "")["messages"].([]any) {
		texts = append(texts, fmt.Sprint(m.(map[string]any)["message"].(map[string]any)["content"]))
	}
	require.Equal(t, []string{"Go", "Hello?", "Hi."}, texts)
}

// Rules serving/SV16, serving/SV18.
func TestServer_NeverShowsTheTextOfAnError(t *testing.T) {
	var mu sync.Mutex
	var logged bytes.Buffer
	logger := slog.New(slog.NewTextHandler(writerFunc(func(p []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return logged.Write(p)
	}), nil))
	d := newDesk(t, Config{Logger: logger}, agentOf(t, adk.ChatModelAgentConfig{Instruction: "canary-prompt"},
		adktest.Fails(fmt.Errorf("the key is canary-1"))))
	all := d.stream("POST", "/agents/desk/runs", `{"input":"Go"}`)
	run := events(t, all)[0].Run
	for _, f := range all {
		require.NotContains(t, f.data, "canary")
	}
	require.NotContains(t, fmt.Sprint(d.call(200, "GET", "/runs/"+run, "")), "canary")
	require.Eventually(t, func() bool { // the stream may end a moment before
		mu.Lock()
		defer mu.Unlock()
		return strings.Contains(logged.String(), `msg="run ended"`)
	}, 10*time.Second, time.Millisecond)
	mu.Lock()
	defer mu.Unlock()
	require.NotContains(t, logged.String(), "canary-prompt")
	require.Contains(t, logged.String(), "canary-1", "the operator reads why")
	require.Equal(t, 1, strings.Count(logged.String(), `msg="run ended"`))
	require.Contains(t, logged.String(), "status=failed")
	require.Contains(t, logged.String(), "model_calls=1")
}

// texts are the texts of the messages of a thread.
func (d *desk) texts(thread string) (texts []string) {
	d.t.Helper()
	for _, m := range d.call(200, "GET", "/threads/"+thread+"/messages", "")["messages"].([]any) {
		texts = append(texts, fmt.Sprint(m.(map[string]any)["message"].(map[string]any)["content"]))
	}
	return texts
}

// Rule serving/SV21.
func TestServer_AnswersAQuestionOfAThreadAgain(t *testing.T) {
	d := newDesk(t, Config{}, agentOf(t, adk.ChatModelAgentConfig{}, adktest.Says("One."), adktest.Says("Two."), adktest.Says("Three."),
		adktest.Says("Two!").Seeing("user: 1?", "assistant: One.", "user: 2?"), adktest.Says("First.").Seeing("user: First?")))
	ask := func(body string) string {
		return d.call(201, "POST", "/agents/desk/runs", body, "Prefer", "wait=10")["id"].(string)
	}
	first, second := ask(`{"input":"1?","thread":"t"}`), ask(`{"input":"2?","thread":"t"}`)
	ask(`{"input":"3?","thread":"t"}`)
	ask(`{"thread":"t","replaces":"` + second + `"}`)
	require.Equal(t, []string{"1?", "One.", "2?", "Two!"}, d.texts("t"))
	for _, input := range []string{"", `"input":"?",`} {
		require.Equal(t, "conflict", d.refused(422, "POST", "/agents/desk/runs", `{`+input+`"thread":"t","replaces":"`+second+`"}`),
			"it is no part of the thread any more")
	}
	require.Equal(t, "not_found", d.refused(404, "POST", "/agents/desk/runs", `{"thread":"other","input":"?","replaces":"`+second+`"}`))
	require.Equal(t, "bad_request", d.refused(400, "POST", "/agents/desk/runs", `{"input":"?","replaces":"`+second+`"}`), "a run without a thread")
	require.Equal(t, "bad_request", d.refused(400, "POST", "/agents/desk/runs", `{"thread":"t"}`))
	ask(`{"thread":"t","input":"First?","replaces":"` + first + `"}`)
	require.Equal(t, []string{"First?", "First."}, d.texts("t"))
}

// Rule serving/SV21.
func TestServer_ReplacesARunThatHasNotEnded(t *testing.T) {
	paid := []string{}
	conf := pay(t, &paid)
	d := newDesk(t, Config{}, agentOf(t, conf, adktest.Calls(adktest.Call("pay", `{"amount":1}`)),
		adktest.Streams("Well").ThenBlocks(), adktest.Says("Fine.").Seeing("user: Pay!")))
	all := events(t, d.stream("POST", "/agents/desk/runs", `{"input":"Pay!","thread":"t"}`))
	waits := all[0].Run
	again := d.call(201, "POST", "/agents/desk/runs", `{"thread":"t","replaces":"`+waits+`"}`)["id"].(string)
	require.Equal(t, "stopped", d.call(200, "GET", "/runs/"+waits, "")["status"], "its question is closed")
	require.Eventually(t, func() bool {
		return strings.Contains(fmt.Sprint(d.call(200, "GET", "/runs/"+again+"/events", "", "Accept", "application/json")), "Well")
	}, 10*time.Second, time.Millisecond)
	last := d.call(201, "POST", "/agents/desk/runs", `{"thread":"t","replaces":"`+again+`"}`, "Prefer", "wait=10")
	require.Equal(t, "done", last["status"])
	require.Equal(t, []string{"Pay!", "Fine."}, d.texts("t"))
	require.Empty(t, paid)
}
