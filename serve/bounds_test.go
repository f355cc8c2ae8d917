package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
)

// What was said in a run that was stopped is marked, once the thread has continued.
// Rule serving/SV4.
func TestServer_MarksWhatIsIncompleteInAThread(t *testing.T) {
	d := newDesk(t, Config{}, agentOf(t, pay(t, new([]string)), adktest.Calls(adktest.Call("pay", `{"amount":7}`)), adktest.Says("Hello.")))
	run := events(t, d.stream("POST", "/agents/desk/runs", `{"input":"Pay!","thread":"t"}`))[0].Run
	d.call(202, "POST", "/runs/"+run+"/stop", "")
	d.call(201, "POST", "/agents/desk/runs", `{"input":"Hello?","thread":"t"}`, "Prefer", "wait=10")
	marked := map[string]bool{}
	for _, m := range d.call(200, "GET", "/threads/t/messages", "")["messages"].([]any) {
		m := m.(map[string]any)
		marked[fmt.Sprint(m["message"].(map[string]any)["content"])] = m["incomplete"] == true
	}
	require.Equal(t, map[string]bool{"Pay!": true, "Hello?": false, "Hello.": false}, without(marked, ""))
	thread := d.call(200, "GET", "/threads/t", "")
	require.Equal(t, "t", thread["id"])
	require.NotEmpty(t, thread["updated"])
	require.Equal(t, "not_found", d.refused(404, "GET", "/threads/u", ""))
	require.Equal(t, "bad_request", d.refused(400, "GET", "/threads/..%2Ft", ""))
}

// without is a map without a key.
func without(m map[string]bool, key string) map[string]bool {
	delete(m, key)
	return m
}

// Options of a request are the options of the calls of the model.
func TestServer_GivesTheModelTheOptionsOfARequest(t *testing.T) {
	m := adktest.NewModel(t, adktest.Says("Hi."))
	agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "desk", Description: "helps", Model: m})
	require.NoError(t, err)
	d := newDesk(t, Config{}, agent)
	d.call(201, "POST", "/agents/desk/runs", `{"input":"x","options":{"temperature":0.5,"top_p":0.25,"max_tokens":7,"stop":["."]}}`,
		"Prefer", "wait=10")
	o := m.Calls()[0].Options
	require.EqualValues(t, 0.5, *o.Temperature)
	require.EqualValues(t, 0.25, *o.TopP)
	require.Equal(t, 7, *o.MaxTokens)
	require.Equal(t, []string{"."}, o.Stop)
	for _, options := range []string{`{"temperature":3}`, `{"max_tokens":0}`, `{"Temperature":1}`, `{"temperature":"1"}`} {
		require.Equal(t, "bad_request", d.refused(400, "POST", "/agents/desk/runs", `{"input":"x","options":`+options+`}`), options)
	}
}

// A request that cannot be done as it is is refused, and not done in another way.
func TestServer_RefusesWhatItCannotDoAsAsked(t *testing.T) {
	d := newDesk(t, Config{Limits: Limits{MediaBytes: 6}}, greeter(t))
	for _, mode := range []string{"after_model", "after_tools", "later"} {
		require.Equal(t, "bad_request", d.refused(400, "POST", "/runs/x/stop", `{"mode":"`+mode+`"}`))
	}
	for _, path := range []string{"/runs?before=nonsense", "/runs?before=.", "/runs?before=x.y", "/threads?before=1", "/runs?limit=0",
		"/runs?status=nobody", "/runs?thread=../x"} {
		require.Equal(t, "bad_request", d.refused(400, "GET", path, ""), path)
	}
	image := func(data string) string {
		return `{"input":[{"role":"user","user_input_multi_content":[{"type":"image_url","image":{"base64data":"` + data +
			`","mime_type":"image/png"}}]}]}`
	}
	require.Equal(t, "too_large", d.refused(413, "POST", "/agents/desk/runs", image("AAAABBBBCCCC")))
	d.call(201, "POST", "/agents/desk/runs", image("AAAABBBB"))
}

// Runs at once, of all and of one principal, those that wait, and clients that watch are bounded.
// Rule serving/SV15.
func TestServer_BoundsRunsThatHaveNotEnded(t *testing.T) {
	started := make(chan struct{}, 1)
	d := newDesk(t, Config{Auth: byToken, DrainTimeout: -1,
		Limits: Limits{RunsPerPrincipal: 2, Runs: 3, Watchers: 1}}, blocks(t, started, nil))
	ana, bob := d.as("ana"), d.as("bob")
	one := ana.call(201, "POST", "/agents/desk/runs", `{"input":"x"}`)["id"].(string)
	ana.call(201, "POST", "/agents/desk/runs", `{"input":"x"}`)
	require.Equal(t, "too_many", ana.refused(429, "POST", "/agents/desk/runs", `{"input":"x"}`))
	bob.call(201, "POST", "/agents/desk/runs", `{"input":"x"}`)
	require.Equal(t, "too_many", bob.refused(429, "POST", "/agents/desk/runs", `{"input":"x"}`))
	watching := ana.do("GET", "/runs/"+one+"/events", "", "Accept", "text/event-stream")
	defer watching.Body.Close()
	require.Equal(t, 200, watching.StatusCode)
	require.Equal(t, "too_many", ana.refused(429, "GET", "/runs/"+one+"/events", "", "Accept", "text/event-stream"))
}

// Rule serving/SV15.
func TestServer_BoundsRunsThatWait(t *testing.T) {
	d := newDesk(t, Config{Limits: Limits{WaitingPerPrincipal: 1}},
		agentOf(t, pay(t, new([]string)), adktest.Calls(adktest.Call("pay", `{"amount":7}`)).Repeated()))
	run := events(t, d.stream("POST", "/agents/desk/runs", `{"input":"Pay!"}`))[0].Run
	require.Equal(t, "too_many", d.refused(429, "POST", "/agents/desk/runs", `{"input":"Pay!"}`))
	d.call(202, "POST", "/runs/"+run+"/stop", "")
	d.call(201, "POST", "/agents/desk/runs", `{"input":"Pay!"}`)
}

// Pages of allowed origins may send the headers of their clients, and caches do not mix up answers.
// Rule serving/SV14.
func TestServer_LetsAllowedOriginsSendTheirHeaders(t *testing.T) {
	d := newDesk(t, Config{Origins: []string{"https://app.example"}}, greeter(t))
	preflight := func(origin string) *http.Response {
		answer := d.do("OPTIONS", "/agents/desk/runs", "", "Origin", origin, "Access-Control-Request-Method", "POST",
			"Access-Control-Request-Headers", "authorization,x-stainless-os")
		answer.Body.Close()
		return answer
	}
	require.Equal(t, "authorization,x-stainless-os", preflight("https://app.example").Header.Get("Access-Control-Allow-Headers"))
	require.Empty(t, preflight("https://evil.example").Header.Get("Access-Control-Allow-Headers"))
	answer := d.do("GET", "/agents", "")
	answer.Body.Close()
	require.Equal(t, "Origin", answer.Header.Get("Vary"), "also without an origin")
}

// A server that is not ready is not one that shuts down.
func TestServer_SaysWhyItIsNotReady(t *testing.T) {
	var why error
	d := newDesk(t, Config{Ready: func(context.Context) error { return why }}, greeter(t))
	require.Equal(t, "ok", d.call(200, "GET", "/readyz", "")["status"])
	why = errors.New("canary: no database")
	require.Equal(t, "not_ready", d.refused(503, "GET", "/readyz", ""))
}

// A ticket stands for its principal also where Auth accepts every request, and expires.
// Rule serving/SV12.
func TestServer_PrefersATicketToAGuest(t *testing.T) {
	d := newDesk(t, Config{Auth: func(r *http.Request) (Principal, error) {
		if p, err := byToken(r); err == nil {
			return p, nil
		}
		return Principal{ID: "guest"}, nil
	}}, greeter(t))
	ana := d.as("ana")
	run := ana.call(201, "POST", "/agents/desk/runs", `{"input":"x"}`, "Prefer", "wait=10")["id"].(string)
	ticket := ana.call(201, "POST", "/tickets", `{"run":"`+run+`"}`)["ticket"].(string)
	require.NotEmpty(t, d.stream("GET", "/runs/"+run+"/events?ticket="+ticket, ""))
	require.Equal(t, "unauthorized", d.refused(401, "GET", "/runs/"+run+"/events?ticket="+ticket, ""), "once")
	require.Equal(t, "not_found", d.refused(404, "GET", "/runs/"+run+"/events", ""))
	require.Equal(t, "not_found", d.refused(404, "POST", "/tickets", `{"run":"`+run+`"}`), "a guest gets none")
}

// A page of the events of a run that has ended has all of them, however slowly they come.
func TestServer_AnswersWithAllEventsOfARunThatHasEnded(t *testing.T) {
	d := newDesk(t, Config{}, greeter(t))
	run := d.call(201, "POST", "/agents/desk/runs", `{"input":"x"}`, "Prefer", "wait=10")["id"].(string)
	d.srv.runs = &slowEvents{d.srv.runs}
	page := d.call(200, "GET", "/runs/"+run+"/events", "", "Accept", "application/json")["events"].([]any)
	require.Equal(t, "run.end", page[len(page)-1].(map[string]any)["type"])
}

// Every frame of a stream has the headers that proxies and browsers need.
// Rule serving/SV9.
func TestServer_SendsTheHeadersOfStreams(t *testing.T) {
	d := newDesk(t, Config{}, greeter(t))
	w, r := httptest.NewRecorder(), httptest.NewRequest("POST", "/agents/desk/runs", strings.NewReader(`{"input":"x"}`))
	r.RemoteAddr, r.Host = "127.0.0.1:1", "localhost"
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Content-Type", "application/json")
	d.srv.ServeHTTP(w, r)
	for name, want := range map[string]string{"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-store",
		"X-Accel-Buffering": "no", "Vary": "Accept", "X-Content-Type-Options": "nosniff"} {
		require.Equal(t, want, w.Header().Get(name))
	}
	require.True(t, strings.HasPrefix(w.Body.String(), ": weft\nretry: 2000\n\n"), w.Body.String())
	require.True(t, w.Flushed)
	require.NotContains(t, w.Body.String(), "\r")
}

// Runs that are started at the same time do not pass the limit of a principal together.
// Rule serving/SV15.
func TestServer_KeepsTheLimitOfRunsThatStartTogether(t *testing.T) {
	const most, all = 4, 40
	d := newDesk(t, Config{DrainTimeout: -1, Limits: Limits{RunsPerPrincipal: most, StartsPerMinute: 1000, Runs: 1000}},
		agentOf(t, adk.ChatModelAgentConfig{}, adktest.Blocks().Repeated()))
	codes := make(chan int, all)
	for range all {
		go func() {
			answer := d.do("POST", "/agents/desk/runs", `{"input":"x"}`)
			answer.Body.Close()
			codes <- answer.StatusCode
		}()
	}
	begun := 0
	for range all {
		if <-codes == 201 {
			begun++
		}
	}
	require.Positive(t, begun)
	require.LessOrEqual(t, begun, most)
}

// A body that comes drop by drop is given up; one that has come lets the answer take as long as it takes.
// Rule serving/SV15.
func TestServer_GivesUpSlowBodies(t *testing.T) {
	const within = 200 * time.Millisecond
	slow := agentOf(t, adk.ChatModelAgentConfig{}, adktest.Says("Hi.").After(3*within).Repeated())
	d := newDesk(t, Config{Limits: Limits{BodyTime: within}}, slow)
	body, drops := io.Pipe()
	defer drops.Close()
	go func() { _, _ = drops.Write([]byte(`{"input":`)) }() // and no more
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.url+"/agents/desk/runs", body)
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	answer.Body.Close()
	require.Equal(t, http.StatusRequestTimeout, answer.StatusCode)
	run := d.call(201, "POST", "/agents/desk/runs", `{"input":"x"}`, "Prefer", "wait=10")
	require.Equal(t, "done", run["status"])
	require.Contains(t, fmt.Sprint(d.stream("POST", "/agents/desk/runs", `{"input":"x"}`)), "Hi.")
}

// The address of a run that was started is below the path at which the server is mounted.
func TestServer_NamesRunsBelowItsPrefix(t *testing.T) {
	d := newDesk(t, Config{}, greeter(t))
	for _, prefix := range []string{"", "/native", "/a/b"} {
		web := httptest.NewServer(http.StripPrefix(prefix, d.srv))
		answer, err := http.Post(web.URL+prefix+"/agents/desk/runs", "application/json", strings.NewReader(`{"input":"x"}`))
		require.NoError(t, err)
		answer.Body.Close()
		location := answer.Header.Get("Location")
		require.True(t, strings.HasPrefix(location, prefix+"/runs/"), location)
		found, err := http.Get(web.URL + location)
		require.NoError(t, err)
		found.Body.Close()
		require.Equal(t, 200, found.StatusCode)
		web.Close()
	}
}
