package serve

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/eino-contrib/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/internal/jsonschemacheck"
	"github.com/weftgo/weft/schema"
)

// The list of agents says what clients can do with each, and its schema of the input takes what the server takes.
// Rule serving/SV23.
func TestServer_DescribesItsAgents(t *testing.T) {
	for name, c := range map[string]struct {
		conf     Config
		handlers []adk.ChatModelAgentMiddleware
		want     map[string]any
	}{
		"by default": {Config{}, nil, map[string]any{"threads": true, "history": false, "client_tools": false, "forks": false,
			"formats": false}},
		"with all": {Config{TrustHistory: true, AllowClientTools: true, AllowFork: true}, append(formats(), ClientTools()),
			map[string]any{"threads": true, "history": true, "client_tools": true, "forks": true, "formats": true}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, c.conf, agentOf(t, adk.ChatModelAgentConfig{Handlers: c.handlers}, adktest.Says("Hello.").Repeated()))
			listed := d.call(200, "GET", "/agents", "")["agents"].([]any)
			require.Len(t, listed, 1)
			agent := listed[0].(map[string]any)
			require.Equal(t, []any{"desk", "helps", c.want}, []any{agent["name"], agent["description"], agent["capabilities"]})
			require.Len(t, agent, 4)
			inputFits(t, d, agent["input"])
		})
	}
}

// inputFits sends inputs, and requires that those are taken which fit the schema.
func inputFits(t *testing.T, d *desk, input any) {
	t.Helper()
	data, err := json.Marshal(input)
	require.NoError(t, err)
	var s jsonschema.Schema
	require.NoError(t, json.Unmarshal(data, &s))
	check := jsonschemacheck.New(&s)
	taken := 0
	for _, text := range []string{`"Hi"`, `""`, `1`, `{}`, `[]`, `[1]`, `[{"content":"Hi"}]`, `[{"role":"user","content":"Hi"}]`,
		`[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]`,
		`[{"role":"user","user_input_multi_content":[{"type":"text","text":"See"},` +
			`{"type":"image_url","image":{"url":"https://example.com/x.png","mime_type":"image/png"}}]}]`,
		`[{"role":"user","user_input_multi_content":[{"type":"image_url","image":{"url":"http://example.com/x.png"}}]}]`,
		`[{"role":"wizard","content":"Hi"}]`, `[{"role":"user","content":1}]`,
	} {
		var value any
		require.NoError(t, json.Unmarshal([]byte(text), &value))
		answer := d.do("POST", "/agents/desk/runs", `{"input":`+text+`}`, "Prefer", "wait=5")
		answer.Body.Close()
		require.Equal(t, answer.StatusCode == 201, len(check.Check(value)) == 0, "%s: %d, %v", text, answer.StatusCode,
			check.Check(value))
		if answer.StatusCode == 201 {
			taken++
		}
	}
	require.GreaterOrEqual(t, taken, 3)
}

// hiding is an agent of the application's, which shows nothing of the one in it.
type hiding struct{ agent adk.Agent }

func (h hiding) Name(ctx context.Context) string        { return h.agent.Name(ctx) }
func (h hiding) Description(ctx context.Context) string { return h.agent.Description(ctx) }
func (h hiding) Run(
	ctx context.Context, in *adk.AgentInput, opts ...adk.AgentRunOption,
) *adk.AsyncIterator[*adk.AgentEvent] {
	return h.agent.Run(ctx, in, opts...)
}

// Tools of a client that no model would be offered, or that have the name of one of the agent's own, are refused before
// there is a run.
// Rule serving/SV19.
func TestServer_RefusesToolsOfClientsThatCannotBe(t *testing.T) {
	takes := []adk.ChatModelAgentMiddleware{ClientTools()}
	look := adktest.Tools(adktest.NewTool("look", adktest.Says("sunny")))
	says := func() adktest.Answer { return adktest.Says("Hello.") }
	guided := func() adk.Agent {
		guide, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "guide", Description: "guides",
			Model: adktest.NewModel(t)})
		require.NoError(t, err)
		team, err := adk.SetSubAgents(t.Context(), agentOf(t, adk.ChatModelAgentConfig{Handlers: takes}), []adk.Agent{guide})
		require.NoError(t, err)
		return team
	}
	for name, c := range map[string]struct {
		agent adk.Agent
		tool  string
		want  string // the title of the problem, "" for a run
	}{
		"no middleware":   {agentOf(t, adk.ChatModelAgentConfig{}), "locate", "the agent takes no tools of clients"},
		"the agent's own": {agentOf(t, adk.ChatModelAgentConfig{Handlers: takes, ToolsConfig: look}), "look", `the agent has a tool "look"`},
		"of another name": {agentOf(t, adk.ChatModelAgentConfig{Handlers: takes, ToolsConfig: look}, says()), "Look", ""},
		"the transfer":    {guided(), adk.TransferToAgentToolName, `the agent has a tool "transfer_to_agent"`},
		"not known":       {hiding{agentOf(t, adk.ChatModelAgentConfig{}, says())}, "locate", ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, Config{AllowClientTools: true}, c.agent)
			body := `{"input":"Where?","tools":[{"name":"` + c.tool + `","description":"x"}]}`
			if c.want == "" {
				require.Equal(t, "done", d.call(201, "POST", "/agents/desk/runs", body, "Prefer", "wait=10")["status"])
				return
			}
			p := d.call(400, "POST", "/agents/desk/runs", body)
			require.Equal(t, "bad_request", p["code"])
			require.Contains(t, p["title"], c.want)
			require.Empty(t, d.call(200, "GET", "/runs", "")["runs"], "there is no run")
		})
	}
}

// brokenTool is a tool that does not say what it is, in one way or another.
type brokenTool struct {
	panics bool
	info   *schema.ToolInfo
}

func (b brokenTool) Info(context.Context) (*schema.ToolInfo, error) {
	if b.panics {
		panic("canary")
	}
	return b.info, errors.New("canary")
}

// What tools say of themselves is theirs: whatever it is, the server begins.
func TestServer_BeginsWithAgentsThatSayNothingGood(t *testing.T) {
	d := newDesk(t, Config{AllowClientTools: true}, agentOf(t, adk.ChatModelAgentConfig{ToolsConfig: adktest.Tools(
		brokenTool{panics: true}, brokenTool{})}))
	agent := d.call(200, "GET", "/agents", "")["agents"].([]any)[0].(map[string]any)
	require.Equal(t, true, agent["capabilities"].(map[string]any)["client_tools"], "it is not known that it takes none")
	_, err := New(Config{Agents: []adk.Agent{hiding{}}})
	require.ErrorContains(t, err, "Config.Agents[0]")
}
