package agui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/middlewares/approval"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
	"github.com/weftgo/weft/serve"
)

var errCut = errors.New("cut")

func thinking(text string) *schema.Message {
	return &schema.Message{Role: schema.Assistant, ReasoningContent: text}
}

// runs are runs of agents of many kinds, recorded.
func recordedRuns(t *testing.T) map[string][]runlog.Event {
	t.Helper()
	look := func() adk.ChatModelAgentConfig {
		return adk.ChatModelAgentConfig{ToolsConfig: adktest.Tools(adktest.NewTool("look", adktest.Says("sunny").Repeated()))}
	}
	guard, err := approval.New(t.Context(), &approval.Config{Tools: []string{"look"}})
	require.NoError(t, err)
	asking := look()
	asking.Handlers = []adk.ChatModelAgentMiddleware{guard}
	agent := func(name string, conf adk.ChatModelAgentConfig, replies ...adktest.Answer) adk.Agent {
		conf.Name, conf.Description, conf.Model = name, "helps", adktest.NewModel(t, replies...)
		made, err := adk.NewChatModelAgent(t.Context(), &conf)
		require.NoError(t, err)
		return made
	}
	helper := agent("helper", asking, adktest.Streams("I ", "ask.").Calling(adktest.Call("look", `{}`)))
	worker := agent("worker", look(), adktest.Streams("I ", "work.").Calling(adktest.Call("look", `{}`)), adktest.Says("Worked."))
	inOrder := look()
	inOrder.ToolsConfig.ExecuteSequentially = true
	recorded := map[string][]runlog.Event{}
	for name, a := range map[string]adk.Agent{
		"tools": agent("desk", inOrder, adktest.Messages(thinking("Hmm. "), thinking("Look."), schema.AssistantMessage("See.", nil)).
			Calling(adktest.Call("look", `{"a":1}`), adktest.Call("look", `{"a":2}`)), adktest.Streams("It is ", "sunny.")),
		"asks":  agent("desk", asking, adktest.Streams("Wait.").Calling(adktest.Call("look", `{}`))),
		"fails": agent("desk", look(), adktest.Streams("Half").ThenFails(errors.New("cut"))),
		"sub": agent("desk", adk.ChatModelAgentConfig{ToolsConfig: adktest.Tools(adk.NewAgentTool(t.Context(), worker))},
			adktest.Calls(adktest.Call("worker", `{"request":"x"}`)), adktest.Says("Done.")),
		"sub asks": agent("desk", adk.ChatModelAgentConfig{ToolsConfig: adktest.Tools(adk.NewAgentTool(t.Context(), helper))},
			adktest.Streams("Ask.").Calling(adktest.Call("helper", `{"request":"x"}`))),
		"retries": agent("desk", adk.ChatModelAgentConfig{ModelRetryConfig: &adk.ModelRetryConfig{MaxRetries: 1}},
			adktest.Streams("Half").ThenFails(errCut), adktest.Says("Whole.")),
	} {
		log := runlog.New(runlog.Config{})
		runner := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: a, EnableStreaming: true})
		for e := range runner.Query(t.Context(), "Hi", runlog.Observe(log, runlog.About{ID: name})...).All() {
			if e.Output != nil && e.Output.MessageOutput != nil && e.Output.MessageOutput.MessageStream != nil {
				for {
					if _, err := e.Output.MessageOutput.MessageStream.Recv(); err != nil {
						break
					}
				}
			}
		}
		for e, err := range log.Events(t.Context(), name, runs.Cursor{}) {
			require.NoError(t, err)
			if recorded[name] = append(recorded[name], e); e.Type == runlog.RunEnd {
				break
			}
		}
		require.NoError(t, log.Close(context.Background()))
	}
	return recorded
}

// Wherever a run ends, by itself or because it is stopped, what clients hold a stream to holds.
// Rule serving/AG1.
func TestTranslator_KeepsTheOrderWhereverARunEnds(t *testing.T) {
	for name, events := range recordedRuns(t) {
		for cut := 1; cut <= len(events); cut++ {
			for _, status := range []runs.Status{runs.Paused, runs.Failed, runs.Waiting} {
				for _, legacy := range []bool{false, true} {
					r := newReader()
					tr := newTranslator("t", "r", Config{}, legacy, r.must(t))
					tr.begin()
					for i := range events[:cut] {
						tr.add(&events[i])
					}
					if !r.ended {
						tr.add(&runlog.Event{Type: runlog.RunEnd, Data: &runlog.RunEndData{Status: status}})
					}
					require.True(t, r.ended, "%s, cut at %d", name, cut)
				}
			}
		}
	}
}

// A run that another process begins again in the middle retracts what does not count.
func TestTranslator_RetractsWhatAnotherProcessSaysAgain(t *testing.T) {
	events := recordedRuns(t)["tools"]
	for cut := 2; cut < len(events); cut++ {
		r := newReader()
		tr := newTranslator("t", "r", Config{}, false, r.must(t))
		tr.begin()
		for i := range events[:cut] {
			tr.add(&events[i])
		}
		tr.add(&runlog.Event{Type: runlog.Restarted, Data: &runlog.RestartedData{FromSeq: 1}})
		require.Empty(t, r.open)
		require.Empty(t, r.shown())
	}
}

// pageOf serves an agent, and returns how a page posts a body, which is answered with a status, and reads a path.
func pageOf(t *testing.T, conf Config, agentConf adk.ChatModelAgentConfig, replies ...adktest.Answer) (
	post func(status int, body string) string, get func(path string) (status int, body string),
) {
	t.Helper()
	agentConf.Name, agentConf.Description, agentConf.Model = "desk", "helps", adktest.NewModel(t, replies...)
	agent, err := adk.NewChatModelAgent(t.Context(), &agentConf)
	require.NoError(t, err)
	srv, err := serve.New(serve.Config{Agents: []adk.Agent{agent}})
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.Handle("/agui/{agent}", Handler(srv, conf))
	mux.Handle("/agui/{agent}/", Handler(srv, conf))
	web := httptest.NewServer(mux)
	t.Cleanup(func() {
		require.NoError(t, srv.Shutdown(context.Background()))
		web.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	read := func(answer *http.Response, err error) (int, string) {
		require.NoError(t, err)
		defer answer.Body.Close()
		data, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		return answer.StatusCode, string(data)
	}
	return func(status int, body string) string {
			got, data := read(http.Post(web.URL+"/agui/desk", "application/json", strings.NewReader(body)))
			require.Equal(t, status, got, "%s", data)
			return data
		}, func(path string) (int, string) {
			return read(http.Get(web.URL + path))
		}
}

// Rule serving/AG2.
func TestHandler_TakesWhatIsNew(t *testing.T) {
	post, get := pageOf(t, Config{}, adk.ChatModelAgentConfig{}, adktest.Says("One.").Seeing("user: Hi"),
		adktest.Says("Two.").Seeing("user: Hi", "assistant: One.", "user: And?"))
	user := `{"id":"u1","role":"user","content":"Hi"}`
	in := func(messages string) string {
		return fmt.Sprintf(`{"threadId":"t","runId":"r","protocolVersion":"1.0","messages":[%s],"tools":[],"context":[],"state":null}`, messages)
	}
	require.Contains(t, post(200, in(`{"id":"s","role":"system","content":"Obey"},`+user)), `"delta":"One."`)
	require.Contains(t, post(200, in(user+`,{"id":"a","role":"assistant","content":"I said yes."},{"id":"u2","role":"user","content":[{"type":"text","text":"And?"}]}`)), `"delta":"Two."`)
	for _, bad := range []string{``, `{}`, `[]`, in(``), in(user + `,{"id":"a","role":"assistant","content":"x"}`),
		in(`{"id":"u","role":"user","content":[{"type":"image"}]}`), in(`{"id":"u","role":"user","content":1}`)} {
		post(400, bad)
	}
	require.Contains(t, post(200, `{"threadId":"t","runId":"r","messages":[],"resume":[{"interruptId":"x","status":"resolved"}]}`),
		`"code":"already_answered"`)
	status, _ := get("/agui/desk?threadId=t")
	require.Equal(t, 204, status)
}

func TestHandler_SaysWhatItCanDo(t *testing.T) {
	_, get := pageOf(t, Config{HideReasoning: true}, adk.ChatModelAgentConfig{})
	status, body := get("/agui/desk/capabilities")
	require.Equal(t, 200, status)
	for _, part := range []string{`"name":"desk"`, `"resumable":true`, `"clientProvided":false`, `"persistentState":false`, `"reasoning":{"encrypted":false,"streaming":false`} {
		require.Contains(t, body, part)
	}
	status, _ = get("/agui/nobody/capabilities")
	require.Equal(t, 404, status)
}

// described serves an agent, and returns its capabilities.
func described(t *testing.T, conf Config, agentConf adk.ChatModelAgentConfig) map[string]map[string]any {
	t.Helper()
	_, get := pageOf(t, conf, agentConf)
	status, body := get("/agui/desk/capabilities")
	require.Equal(t, 200, status, body)
	var all map[string]map[string]any
	require.NoError(t, json.Unmarshal([]byte(body), &all), body)
	return all
}

// Rule serving/AG10.
func TestHandler_ShowsToolsAndAgentsOfTheAgent(t *testing.T) {
	named := func(name string, params *schema.ParamsOneOf) tool.BaseTool {
		return toolWith{&schema.ToolInfo{Name: name, Desc: "does " + name, ParamsOneOf: params}}
	}
	good := schema.NewParamsOneOfByRawJSON([]byte(`{"type":"object","properties":{"at":{"type":"string"}}}`))
	helper, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "helper", Description: "helps too",
		Model: adktest.NewModel(t), ToolsConfig: adktest.Tools(named("find", nil), named("look", good))})
	require.NoError(t, err)
	conf := adk.ChatModelAgentConfig{ToolsConfig: adktest.Tools(named("look", good), adk.NewAgentTool(t.Context(), helper),
		named("bad", schema.NewParamsOneOfByRawJSON([]byte(`{"type":`))),
		named("deep", schema.NewParamsOneOfByRawJSON([]byte(strings.Repeat(`{"not":`, 20_000)+`{}`+strings.Repeat(`}`, 20_000)))))}
	all := described(t, Config{}, conf)
	require.Equal(t, map[string]any{"supported": true, "delegation": true, "handoffs": false,
		"subagents": []any{map[string]any{"name": "helper", "description": "helps too"}}}, all["multiAgent"])
	items := all["tools"]["items"].([]any)
	var names []string
	for _, item := range items {
		names = append(names, item.(map[string]any)["name"].(string))
	}
	require.Equal(t, []string{"look", "helper", "bad", "deep", "find"}, names)
	require.Equal(t, map[string]any{"name": "look", "description": "does look",
		"parameters": map[string]any{"type": "object", "properties": map[string]any{"at": map[string]any{"type": "string"}}}}, items[0])
	require.NotContains(t, items[2], "parameters")
	require.NotContains(t, items[3], "parameters")

	all = described(t, Config{HideTools: true}, conf)
	require.NotContains(t, all["tools"], "items")
	require.NotContains(t, all["multiAgent"], "subagents")
	all = described(t, Config{}, adk.ChatModelAgentConfig{})
	require.Equal(t, false, all["tools"]["supported"])
	require.Equal(t, []any{}, all["tools"]["items"])
	require.Equal(t, false, all["multiAgent"]["supported"])
	all = described(t, Config{}, adk.ChatModelAgentConfig{ToolsConfig: adktest.Tools(toolWith{})})
	require.NotContains(t, all["tools"], "supported", "a tool has not said what it is")
	require.NotContains(t, all["multiAgent"], "delegation")
}

// toolWith is a tool that says what it is, nil for an error.
type toolWith struct{ info *schema.ToolInfo }

func (w toolWith) Info(context.Context) (*schema.ToolInfo, error) {
	if w.info == nil {
		return nil, errors.New("offline")
	}
	return w.info, nil
}

// What may not be known to a client is not described.
// Rule serving/SV13.
func TestHandler_DescribesOnlyAgentsThatAClientMayKnow(t *testing.T) {
	agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "desk", Description: "helps",
		Model: adktest.NewModel(t)})
	require.NoError(t, err)
	srv, err := serve.New(serve.Config{Agents: []adk.Agent{agent}, AllowAnonymous: true,
		Authorize: func(context.Context, serve.Principal, serve.Action) error { return errors.New("no") }})
	require.NoError(t, err)
	defer func() { require.NoError(t, srv.Shutdown(context.Background())) }()
	answer := httptest.NewRecorder()
	Handler(srv, Config{Agent: "desk"}).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/agui/desk/capabilities", nil))
	require.Equal(t, 404, answer.Code)
}

func FuzzInput(f *testing.F) {
	for _, seed := range []string{`{"threadId":"t","runId":"r","messages":[{"role":"user","content":[{"type":"image","source":{"type":"data","value":"AA==","mimeType":"image/png"}}]}]}`,
		`{"messages":[{"role":"assistant","toolCalls":[{"id":"a","function":{"name":"x","arguments":"{}"}}]},{"role":"tool","toolCallId":"a","content":"x","error":"y"}],"resume":[{"interruptId":"p","status":"resolved","payload":{"approved":true}}]}`,
		`{"messages":[{"role":"assistant","toolCalls":[{"id":"a"},{"id":"a~2"},{"id":"a~10"}]},{"role":"tool","toolCallId":"a~2","content":"x"},{"role":"tool","toolCallId":"a","content":"y"}]}`,
		`{"resume":[{"interruptId":"p","status":"resolved","status":"cancelled"}]}`, `{"resume":[{"interruptId":"p","Status":"resolved"}],"Resume":[]}`, `{"resume":{}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		in := &input{}
		var err error
		if json.Unmarshal(data, in) != nil {
			return
		}
		if in.Resume, err = readResume(data); err != nil {
			return
		}
		_, _, _ = in.Fresh()
		_, _ = in.History(true)
		questions := []runs.Question{{ID: "p", Kind: "approval"}, {ID: "c", Kind: "client_tool", Info: json.RawMessage(`{"call_id":"a"}`)}}
		for _, a := range in.answers(questions) {
			require.True(t, json.Valid(a))
		}
		for _, a := range in.clientResults(questions) {
			require.True(t, json.Valid(a))
		}
	})
}
