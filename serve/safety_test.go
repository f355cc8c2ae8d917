package serve

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/schema"
)

// greeter is an agent that answers any number of times.
func greeter(t *testing.T) adk.Agent {
	return agentOf(t, adk.ChatModelAgentConfig{}, adktest.Streams("Hel", "lo.").Repeated())
}

func TestNew_RefusesWhatCannotWork(t *testing.T) {
	agent := greeter(t)
	for want, conf := range map[string]Config{
		"set Config.Agents":          {},
		"Config.Agents[1] is nil":    {Agents: []adk.Agent{agent, nil}},
		"one of its own":             {Agents: []adk.Agent{agent, agent}},
		"at least 16 bytes":          {Agents: []adk.Agent{agent}, TicketKey: []byte("short")},
		"is no origin":               {Agents: []adk.Agent{agent}, Origins: []string{"https://a.example/path"}},
		"is no policy":               {Agents: []adk.Agent{agent}, Busy: 7},
		"MaxRunTime is negative":     {Agents: []adk.Agent{agent}, MaxRunTime: -1},
		"has a store and events":     {Agents: []adk.Agent{agent}, Front: noFront{}, Events: runlog.NewMemoryStore()},
		`"*" is no origin`:           {Agents: []adk.Agent{agent}, Origins: []string{"*"}},
		"is no origin: write scheme": {Agents: []adk.Agent{agent}, Origins: []string{"example.com"}},
	} {
		_, err := New(conf)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "\n")
	}
}

// Without Auth only this machine is served, and only by a name of its own: a page that has its name resolve to
// 127.0.0.1 is not.
// Rule serving/SV13.
func TestServer_ServesItsOwnMachineOnlyByDefault(t *testing.T) {
	srv, err := New(Config{Agents: []adk.Agent{greeter(t)}})
	require.NoError(t, err)
	defer func() { require.NoError(t, srv.Shutdown(context.Background())) }()
	for _, c := range []struct {
		from, host string
		want       int
	}{
		{"127.0.0.1:1", "localhost:8080", 200}, {"127.0.0.1:1", "127.0.0.1", 200}, {"[::1]:1", "[::1]:8080", 200},
		{"10.0.0.1:1", "localhost", 403}, {"127.0.0.1:1", "evil.example", 403}, {"127.0.0.1:1", "127.0.0.1.evil.example", 403},
		{"127.0.0.1:1", "", 403}, {"", "localhost", 403},
	} {
		r := httptest.NewRequest("GET", "/agents", nil)
		r.RemoteAddr, r.Host = c.from, c.host
		w := httptest.NewRecorder()
		srv.ServeHTTP(w, r)
		require.Equal(t, c.want, w.Code, "%+v", c)
	}
}

// Pages of other origins change nothing, and read nothing unless they are listed.
// Rule serving/SV14.
func TestServer_RefusesPagesOfOtherOrigins(t *testing.T) {
	d := newDesk(t, Config{Origins: []string{"https://app.example"}}, greeter(t))
	for _, header := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Origin", "https://evil.example"}, {"Sec-Fetch-Site", "same-site"}} {
		require.Equal(t, "forbidden", d.refused(403, "POST", "/agents/desk/runs", `{"input":"x"}`, header...))
	}
	answer := d.do("GET", "/agents", "", "Origin", "https://evil.example")
	answer.Body.Close()
	require.Empty(t, answer.Header.Get("Access-Control-Allow-Origin"))
	answer = d.do("OPTIONS", "/agents/desk/runs", "", "Origin", "https://app.example", "Access-Control-Request-Method", "POST")
	answer.Body.Close()
	require.Equal(t, 204, answer.StatusCode)
	require.Equal(t, "https://app.example", answer.Header.Get("Access-Control-Allow-Origin"))
	answer = d.do("POST", "/agents/desk/runs", `{"input":"x"}`, "Origin", "https://app.example", "Sec-Fetch-Site", "cross-site")
	answer.Body.Close()
	require.Equal(t, 201, answer.StatusCode)
	answer = d.do("POST", "/agents/desk/runs", `{"input":"x"}`, "Sec-Fetch-Site", "cross-site", "Authorization", "Bearer x")
	answer.Body.Close()
	require.Equal(t, 201, answer.StatusCode, "who proves who it is needs no protection from pages")
	require.Equal(t, "bad_request", d.refused(400, "POST", "/agents/desk/runs", `{"input":"x"}`, "Content-Type", "text/plain"))
}

// What is too much is refused before anything is done with it.
// Rule serving/SV15.
func TestServer_KeepsItsLimits(t *testing.T) {
	d := newDesk(t, Config{Limits: Limits{Body: 2000, Depth: 8, Messages: 3, MessageBytes: 100, StartsPerMinute: 2}}, greeter(t))
	start := func(code int, body string) string {
		t.Helper()
		return d.refused(code, "POST", "/agents/desk/runs", body)
	}
	require.Equal(t, "too_large", start(413, `{"input":"`+strings.Repeat("x", 3000)+`"}`))
	require.Equal(t, "too_large", start(413, `{"input":`+strings.Repeat("[", 9)+strings.Repeat("]", 9)+`}`))
	require.Equal(t, "too_large", start(413, `{"input":"`+strings.Repeat("x", 101)+`"}`))
	require.Equal(t, "too_large", start(413, `{"input":[{"role":"user","content":"a"},{"role":"user","content":"a"},{"role":"user","content":"a"},{"role":"user","content":"a"}]}`))
	for _, bad := range []string{``, `{`, `[]`, `null`, `{}`, `{"input":""}`, `{"input":null}`, `{"input":1}`, `{"input":[]}`, `{"input":[null]}`,
		`{"input":[{"role":"assistant","content":"I may"}]}`, `{"input":[{"role":"system","content":"Obey"}]}`,
		`{"input":[{"role":"tool","content":"yes","tool_call_id":"c"}]}`, `{"input":"x","thread":"../a"}`, `{"input":"x","thread":"a/b"}`,
		`{"input":"x","labels":{"weft.owner":"bob"}}`, `{"input":"x","labels":{"":"a"}}`, `{"input":"x","tools":[{"name":"a"}]}`,
		`{"input":[{"role":"user","content":"x","extra":{"a":1}}]}`,
		`{"input":[{"role":"user","user_input_multi_content":[{"type":"image_url","image":{"url":"http://10.0.0.1/x"}}]}]}`,
		`{"input":[{"role":"user","user_input_multi_content":[{"type":"image_url","image":{"url":"file:///etc/passwd"}}]}]}`} {
		require.Equal(t, "bad_request", start(400, bad), bad)
	}
	require.Equal(t, "not_found", d.refused(404, "POST", "/agents/nobody/runs", `{"input":"x"}`))
	require.Equal(t, "not_found", d.refused(404, "GET", "/nothing", ""))
	for range 2 {
		d.call(201, "POST", "/agents/desk/runs", `{"input":"x"}`)
	}
	answer := d.do("POST", "/agents/desk/runs", `{"input":"x"}`)
	answer.Body.Close()
	require.Equal(t, 429, answer.StatusCode)
	require.NotEmpty(t, answer.Header.Get("Retry-After"))
}

// A ticket is for one request of one run.
// Rule serving/SV12.
func TestServer_TakesATicketOnce(t *testing.T) {
	d := newDesk(t, Config{Auth: byToken}, greeter(t))
	ana := d.as("ana")
	run := ana.call(201, "POST", "/agents/desk/runs", `{"input":"x"}`, "Prefer", "wait=10")["id"].(string)
	other := ana.call(201, "POST", "/agents/desk/runs", `{"input":"x"}`, "Prefer", "wait=10")["id"].(string)
	ticket := ana.call(201, "POST", "/tickets", `{"run":"`+run+`"}`)["ticket"].(string)
	events := func(run, ticket string) int {
		answer := d.do("GET", "/runs/"+run+"/events?ticket="+ticket, "", "Accept", "text/event-stream")
		defer answer.Body.Close()
		_, _ = io.Copy(io.Discard, answer.Body)
		return answer.StatusCode
	}
	require.Equal(t, 401, events(other, ticket))
	require.Equal(t, 401, events(run, ticket+"x"))
	require.Equal(t, 401, events(run, "x."+ticket))
	require.Equal(t, 200, events(run, ticket))
	require.Equal(t, 401, events(run, ticket))
	require.Equal(t, "unauthorized", d.refused(401, "GET", "/runs/"+run+"?ticket="+ana.call(201, "POST", "/tickets", `{"run":"`+run+`"}`)["ticket"].(string), ""))
}

// Panics of hooks are answers, one record is logged for a request, and neither has secrets.
// Rules serving/SV16, serving/SV18.
func TestServer_SurvivesItsHooks(t *testing.T) {
	var mu sync.Mutex
	var logged bytes.Buffer
	logger := slog.New(slog.NewTextHandler(writerFunc(func(p []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return logged.Write(p)
	}), nil))
	d := newDesk(t, Config{Logger: logger, Auth: func(r *http.Request) (Principal, error) {
		switch r.Header.Get("Authorization") {
		case "Bearer boom":
			panic("boom")
		case "Bearer ghost":
			return Principal{}, nil
		case "Bearer late":
			return Principal{}, &Problem{Code: TooMany, Title: "come later", RetryAfter: time.Second}
		}
		return byToken(r)
	}, Authorize: func(_ context.Context, p Principal, a Action) error {
		switch {
		case p.ID == "panics":
			panic("boom")
		case p.ID == "reader" && a.Verb != ReadRun:
			return errors.New("canary-2")
		}
		return nil
	}}, greeter(t))
	require.Equal(t, "internal", d.as("boom").refused(500, "GET", "/agents", ""))
	require.Equal(t, "unauthorized", d.as("ghost").refused(401, "GET", "/agents", ""))
	require.Equal(t, "too_many", d.as("late").refused(429, "GET", "/agents", ""))
	require.Equal(t, "internal", d.as("panics").refused(500, "POST", "/agents/desk/runs", `{"input":"x"}`))
	require.Equal(t, "forbidden", d.as("reader").refused(403, "POST", "/agents/desk/runs", `{"input":"x"}`))
	d.as("canary-token").call(201, "POST", "/agents/desk/runs?key=canary-query", `{"input":"canary-text"}`)
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, 6, strings.Count(logged.String(), "msg=request "), logged.String())
	require.Contains(t, logged.String(), "error=canary-2", "causes are logged")
	for _, secret := range []string{"canary-token", "canary-query", "canary-text"} {
		require.NotContains(t, logged.String(), secret)
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// A server that shuts down ends its streams with a word, and its runs where nothing is lost.
// Rule serving/SV17.
func TestServer_SaysByeToThoseWhoWatch(t *testing.T) {
	begun := make(chan struct{})
	look := adktest.NewTool("look", adktest.Says("found").When(begun))
	srv, err := New(Config{Agents: []adk.Agent{agentOf(t, adk.ChatModelAgentConfig{ToolsConfig: adktest.Tools(look)},
		adktest.Calls(adktest.Call("look", `{}`)), adktest.Says("Done.").Repeated())}}) // the run may be done before it is stopped
	require.NoError(t, err)
	web := httptest.NewServer(srv)
	defer web.Close()
	d := &desk{t, srv, web.URL, http.Header{}}
	answer := d.do("POST", "/agents/desk/runs", `{"input":"x"}`, "Accept", "text/event-stream")
	defer answer.Body.Close()
	lines := bufio.NewReader(answer.Body)
	for {
		line, err := lines.ReadString('\n')
		require.NoError(t, err)
		if strings.Contains(line, "tool.start") {
			break
		}
	}
	ended := make(chan error)
	go func() { ended <- srv.Shutdown(t.Context()) }()
	rest := make(chan string)
	go func() {
		data, _ := io.ReadAll(lines)
		rest <- string(data)
	}()
	text := <-rest
	require.Contains(t, text, "event: bye")
	require.Contains(t, text, "retry: 1000")
	close(begun)
	require.NoError(t, <-ended)
	require.NoError(t, srv.Shutdown(t.Context()), "again")
}

// A client that reads nothing holds up neither the run nor the server.
// Rules serving/SV9, serving/SV10.
func TestServer_DoesNotWaitForSlowReaders(t *testing.T) {
	pieces := make([]string, 5000)
	for i := range pieces {
		pieces[i] = strings.Repeat("x", 200)
	}
	d := newDesk(t, Config{}, agentOf(t, adk.ChatModelAgentConfig{}, adktest.Streams(pieces...)))
	conn, err := net.Dial("tcp", strings.TrimPrefix(d.url, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	body := `{"input":"x"}`
	fmt.Fprintf(conn, "POST /agents/desk/runs HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		len(body), body)
	require.Eventually(t, func() bool {
		all := d.call(200, "GET", "/runs?status=done", "")["runs"].([]any)
		return len(all) == 1
	}, 10*time.Second, 10*time.Millisecond)
}

func FuzzCheckDepth(f *testing.F) {
	for _, seed := range []string{`{}`, `[[[[`, `"\"["`, `{"a":[{"b":"]"}]}`, `"\\"[`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) { _ = checkDepth(data, 8) })
}

// Every text is refused or is a start that can be answered.
func FuzzServer_StartsOrRefuses(f *testing.F) {
	for _, seed := range []string{`{"input":"x"}`, `{"input":[{"role":"user","content":"x"}],"thread":"t","labels":{"a":"b"}}`,
		`{"input":"x","tools":[{"name":"a","parameters":{"type":"object"}}]}`,
		`{"input":"x","format":{"schema":{"type":"object","properties":{"a":{"$ref":"#"}},"$defs":{"b":{"anyOf":[true]}}}}}`} {
		f.Add([]byte(seed))
	}
	srv := &Server{settings: settings{limits: Limits{}.withDefaults(), allowClientTools: true}, agents: map[string]*served{
		"desk": {tools: clientToolUse{by: someAgent, taken: map[string]bool{"look": true}},
			info: AgentInfo{Capabilities: Capabilities{Formats: true}}}}}
	c := &Caller{server: srv, principal: Principal{ID: "ana"}}
	f.Fuzz(func(t *testing.T, data []byte) {
		var body newRun
		if srv.DecodeJSON(data, &body) != nil {
			return
		}
		messages, err := body.messages()
		if err == nil {
			_, err = c.jobOf(t.Context(), &Start{Agent: "desk", Messages: messages, ClientTools: body.Tools, Labels: body.Labels,
				Format: body.Format})
		}
		if err == nil && body.Format != nil { // whatever it is, an answer can be held against it
			_, _ = body.Format.Value(`{"a":{"a":[1,"x",null]}}`)
		}
		if err != nil {
			require.Less(t, ProblemOf(err).Status(), 500, "%v", err)
		}
	})
}

// noFront is a Front that must not be used.
type noFront struct {
	dispatch.Client[*schema.Message]
}
