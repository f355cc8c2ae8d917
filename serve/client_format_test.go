package serve

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/runs"
)

// formats are the handlers of an agent whose clients say what the answer is to be.
func formats() []adk.ChatModelAgentMiddleware {
	return []adk.ChatModelAgentMiddleware{ClientFormats()}
}

const inSky = `"format":{"description":"The weather.","schema":{"type":"object","required":["sky"],` +
	`"properties":{"sky":{"enum":["sun","rain"]}}}}`

// An answer that does not fit what the client asked for goes back to the model; other runs of the agent are as they
// were.
// Rule serving/SV24.
func TestServer_HasAnswersKeepToTheFormatOfTheClient(t *testing.T) {
	d := newDesk(t, Config{}, agentOf(t, adk.ChatModelAgentConfig{Handlers: formats(), Instruction: "Be kind."},
		adktest.Says("Sunny!"), adktest.Says(`{"sky":"snow"}`), adktest.Says("```json\n{\"sky\":\"sun\"}\n```"),
		adktest.Says("Sunny!").Seeing("system: Be kind.", "user: How is it?"),
		adktest.Says("no").Repeated()))
	ask := func(more string) map[string]any {
		return d.call(201, "POST", "/agents/desk/runs", `{"input":"How is it?"`+more+`}`, "Prefer", "wait=10")
	}
	run := ask(`,` + inSky)
	require.Equal(t, "done", run["status"])
	value, err := (&Format{Schema: json.RawMessage(`{"type":"object"}`)}).Value(run["result"].(map[string]any)["content"].(string))
	require.NoError(t, err)
	require.JSONEq(t, `{"sky":"sun"}`, string(value))
	require.Equal(t, "done", ask("")["status"])
	require.Equal(t, "failed", ask(`,` + inSky)["status"])
	require.Equal(t, "failed", ask(`,"format":{}`)["status"], "any object")
	agent := d.call(200, "GET", "/agents", "")["agents"].([]any)[0].(map[string]any)
	require.Equal(t, true, agent["capabilities"].(map[string]any)["formats"])
}

// The format is part of the run: another process that continues it keeps to it.
// Rule serving/SV24.
func TestServer_KeepsToTheFormatInAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	var paid []string
	conf := func() adk.ChatModelAgentConfig {
		c := pay(t, &paid)
		c.Handlers = append(c.Handlers, ClientFormats())
		return c
	}
	first := newDesk(t, stores(t, dir), agentOf(t, conf(), adktest.Calls(adktest.Call("pay", `{"amount":7}`))))
	run := first.call(201, "POST", "/agents/desk/runs", `{"input":"Pay!",`+inSky+`}`, "Prefer", "wait=10")
	require.Equal(t, "waiting", run["status"])
	question := run["questions"].([]any)[0].(map[string]any)["id"].(string)
	require.NoError(t, first.srv.Shutdown(t.Context()))

	second := newDesk(t, stores(t, dir), agentOf(t, conf(), adktest.Says("Paid."), adktest.Says(`{"sky":"rain"}`)))
	run = second.call(202, "POST", "/runs/"+run["id"].(string)+"/replies", `{"replies":{"`+question+`":{"approve":true}}}`,
		"Prefer", "wait=10")
	require.Equal(t, "done", run["status"])
	require.Equal(t, `{"sky":"rain"}`, run["result"].(map[string]any)["content"])
}

// A format that an agent would not keep to, or that is none, is refused before there is a run.
// Rule serving/SV24.
func TestServer_RefusesFormatsThatWouldNotBeKept(t *testing.T) {
	guide, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "guide", Description: "guides",
		Model: adktest.NewModel(t)})
	require.NoError(t, err)
	team, err := adk.SetSubAgents(t.Context(), agentOf(t, adk.ChatModelAgentConfig{Handlers: formats()}), []adk.Agent{guide})
	require.NoError(t, err)
	for name, agent := range map[string]adk.Agent{
		"without": agentOf(t, adk.ChatModelAgentConfig{}), "hands over": team,
		"not known": hiding{agentOf(t, adk.ChatModelAgentConfig{Handlers: formats()})},
	} {
		d := newDesk(t, Config{}, agent)
		p := d.call(400, "POST", "/agents/desk/runs", `{"input":"Hi",`+inSky+`}`)
		require.Contains(t, p["title"], "takes no format", name)
		require.Empty(t, d.call(200, "GET", "/runs", "")["runs"])
	}
	d := newDesk(t, Config{}, agentOf(t, adk.ChatModelAgentConfig{Handlers: formats()}))
	long, deep := strings.Repeat("x", 64<<10+1), strings.Repeat(`{"not":`, 80)+`{}`+strings.Repeat(`}`, 80)
	for body, status := range map[string]int{
		`{"schema":1}`: 400, `{"schema":[]}`: 400, `{"schema":"x"}`: 400, `1`: 400,
		`{"schema":{"type":"object","type":"array"}}`: 400, `{"Schema":{}}`: 400,
		`{"description":"` + long + `"}`: 413, `{"schema":` + deep + `}`: 413,
		`{"schema":{"description":"` + long + `"}}`: 413,
	} {
		answer := d.do("POST", "/agents/desk/runs", `{"input":"Hi","format":`+body+`}`)
		answer.Body.Close()
		require.Equal(t, status, answer.StatusCode, "%.100s", body)
	}
}

// The same key with another format is another request.
// Rule serving/SV24.
func TestServer_TakesAFormatForPartOfTheRequest(t *testing.T) {
	d := newDesk(t, Config{}, agentOf(t, adk.ChatModelAgentConfig{Handlers: formats()}, adktest.Says(`{"sky":"sun"}`).Repeated()))
	post := func(status int, more string) map[string]any {
		return d.call(status, "POST", "/agents/desk/runs", `{"input":"Hi"`+more+`}`, "Idempotency-Key", "k")
	}
	run := post(201, `,`+inSky)
	require.Equal(t, run["id"], post(201, `,`+inSky)["id"])
	post(422, "")
	post(422, `,"format":{}`)
}

// Runs of one agent with formats of their own do not meet.
func TestServer_KeepsTheFormatsOfManyRunsApart(t *testing.T) {
	d := newDesk(t, Config{}, agentOf(t, adk.ChatModelAgentConfig{Handlers: formats()}, adktest.Says(`{"a":1}`).Repeated()))
	var all sync.WaitGroup
	for n := range 8 {
		all.Add(1)
		go func() {
			defer all.Done()
			fits := n%2 == 0
			kind := map[bool]string{true: "integer", false: "string"}[fits]
			answer := d.do("POST", "/agents/desk/runs", fmt.Sprintf(
				`{"input":"Hi","format":{"schema":{"type":"object","properties":{"a":{"type":%q}}}}}`, kind), "Prefer", "wait=30")
			defer answer.Body.Close()
			var run Run
			if json.NewDecoder(answer.Body).Decode(&run) != nil || (run.Status == runs.Done) != fits {
				t.Errorf("a run with a format of type %s is %s", kind, run.Status)
			}
		}()
	}
	all.Wait()
}
