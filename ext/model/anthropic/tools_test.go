package anthropic

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// sent returns a field of what a call sends, as JSON.
func sent(t *testing.T, field string, change func(*Config), opts ...model.Option) string {
	t.Helper()
	text, err := json.Marshal(capture(t, change, questionBlocks, opts...)[field])
	require.NoError(t, err)
	return string(text)
}

// Holds providers/A7, providers/K9 and providers/K10.
func TestTools_HaveTheirWholeSchema(t *testing.T) {
	raw := schema.NewParamsOneOfByRawJSON(json.RawMessage(`{"type":"object","properties":{"z":{"$ref":"#/$defs/T"},"a":{"type":"string"}},` +
		`"$defs":{"T":{"type":"integer"}},"additionalProperties":false}`))
	r := new(recorder)
	_, err := newAgentic(t, r).Generate(t.Context(), questionBlocks, model.WithTools([]*schema.ToolInfo{
		{Name: "find", Desc: "finds", ParamsOneOf: raw, Extra: map[string]any{ExtraFieldsKey: map[string]any{"strict": true}}}, toolA,
	}))
	require.NoError(t, err)
	require.Contains(t, string(r.bodies[0]), `"tools":[{"name":"find","description":"finds","input_schema":{"type":"object",`+
		`"properties":{"z":{"$ref":"#/$defs/T"},"a":{"type":"string"}},"$defs":{"T":{"type":"integer"}},`+
		`"additionalProperties":false},"strict":true},`+
		`{"name":"a","description":"does a","input_schema":{"type":"object","properties":{}}}]`)
	require.NotContains(t, string(r.bodies[0]), "tool_choice")
}

// Holds providers/K10 and providers/K11.
func TestTools_AreCheckedBeforeTheyAreSent(t *testing.T) {
	body := capture(t, unchanged, questionBlocks)
	require.NotContains(t, body, "tools")
	require.NotContains(t, body, "tool_choice")
	for name, text := range map[string]string{
		"my.tool": `the name of tool "my.tool" is not accepted`, "": "tool 0 has no name",
		strings.Repeat("x", 129): "is not accepted",
	} {
		err := refused(t, unchanged, questionBlocks, model.WithTools([]*schema.ToolInfo{{Name: name}}))
		require.ErrorContains(t, err, text)
	}
	_, err := newChat(t, new(recorder)).WithTools([]*schema.ToolInfo{toolA, toolA})
	require.ErrorContains(t, err, `two tools are named "a"`)
}

// Holds providers/A8.
func TestTools_FormerOnesAreDefinedIfNoneIsOffered(t *testing.T) {
	history := []*schema.AgenticMessage{
		user(inputText("hi")), own(toolCall("c1", "a", ""), toolCall("c2", "b", ""), toolCall("c3", "a", "")),
		user(toolResult("c1", "x"), toolResult("c2", "y"), toolResult("c3", "z")),
	}
	body := capture(t, unchanged, history)
	require.Equal(t, map[string]any{"type": "none"}, body["tool_choice"])
	text, _ := json.Marshal(body["tools"])
	require.JSONEq(t, `[{"name":"a","input_schema":{"type":"object","properties":{}}},
		{"name":"b","input_schema":{"type":"object","properties":{}}}]`, string(text))
	body = capture(t, unchanged, history, model.WithTools([]*schema.ToolInfo{toolA}))
	require.Len(t, body["tools"], 1)
	require.NotContains(t, body, "tool_choice")
}

// Holds providers/A9.
func TestToolChoice(t *testing.T) {
	tools := model.WithTools([]*schema.ToolInfo{toolA, {Name: "b"}, {Name: "c"}})
	for _, c := range []struct {
		choice model.Option
		want   string
		tools  int
	}{
		{model.WithToolChoice(schema.ToolChoiceAllowed), `{"type":"auto"}`, 3},
		{model.WithToolChoice(schema.ToolChoiceForced), `{"type":"any"}`, 3},
		{model.WithToolChoice(schema.ToolChoiceForced, "b"), `{"type":"tool","name":"b"}`, 1},
		{model.WithToolChoice(schema.ToolChoiceForced, "b", "c"), `{"type":"any"}`, 2},
		{model.WithToolChoice(schema.ToolChoiceAllowed, "c"), `{"type":"auto"}`, 1},
		{model.WithToolChoice(schema.ToolChoiceForbidden), `{"type":"none"}`, 3},
		{model.WithAgenticToolChoice(&schema.AgenticToolChoice{Type: schema.ToolChoiceForced, Forced: &schema.AgenticForcedToolChoice{
			Tools: []*schema.AllowedTool{{ServerTool: &schema.AllowedServerTool{Name: "web_search"}}},
		}}), `{"type":"tool","name":"web_search"}`, 1},
	} {
		body := capture(t, func(conf *Config) {
			if strings.Contains(c.want, "web") {
				conf.ServerTools = []ServerTool{WebSearch{}.Tool()}
			}
		}, questionBlocks, tools, c.choice)
		text, _ := json.Marshal(body["tool_choice"])
		require.JSONEq(t, c.want, string(text))
		require.Len(t, body["tools"], c.tools, c.want)
	}
	one := WithDisableParallelToolUse(true)
	require.JSONEq(t, `{"type":"auto","disable_parallel_tool_use":true}`, sent(t, "tool_choice", unchanged, tools, one))
	require.JSONEq(t, `{"type":"none"}`, sent(t, "tool_choice", unchanged, tools, one, model.WithToolChoice(schema.ToolChoiceForbidden)))
	require.ErrorContains(t, refused(t, unchanged, questionBlocks, tools, model.WithToolChoice(schema.ToolChoiceForced, "x")), `"x"`)
}

// Holds providers/A9 and providers/K15.
func TestToolChoice_CannotForceBesideThinkingWithABudget(t *testing.T) {
	thinking := func(c *Config) { c.MaxTokens, c.Thinking = 4000, BudgetThinking(2000) }
	opts := []model.Option{model.WithTools([]*schema.ToolInfo{toolA, {Name: "b"}}), model.WithToolChoice(schema.ToolChoiceForced, "a")}
	err := refused(t, thinking, questionBlocks, opts...)
	require.ErrorContains(t, err, "Thinking with a budget")
	require.ErrorIs(t, err, kit.ErrInvalid)
	body := capture(t, func(c *Config) { thinking(c); c.DropUnsupported = true }, questionBlocks, opts...)
	require.Equal(t, map[string]any{"type": "auto"}, body["tool_choice"])
	require.Len(t, body["tools"], 1)
}

// Holds providers/A23.
func TestServerTools_AreSentAsTheyAreDefined(t *testing.T) {
	for want, tool := range map[string]ServerTool{
		`{"type":"web_search_20250305","name":"web_search"}`: WebSearch{}.Tool(),
		`{"type":"web_search_20260209","name":"web_search","allowed_domains":["x.test"],"max_uses":3,
			"user_location":{"type":"approximate","city":"Florence","country":"IT"}}`: WebSearch{Type: "web_search_20260209",
			MaxUses: 3, AllowedDomains: []string{"x.test"}, City: "Florence", Country: "IT"}.Tool(),
		`{"type":"web_fetch_20250910","name":"web_fetch","blocked_domains":["x.test"],"citations":{"enabled":true},
			"max_content_tokens":9}`: WebFetch{BlockedDomains: []string{"x.test"}, Citations: true, MaxContentTokens: 9}.Tool(),
		`{"type":"code_execution_20250825","name":"code_execution"}`:                 CodeExecution(),
		`{"type":"tool_search_tool_regex_20251119","name":"tool_search_tool_regex"}`: ToolSearch("regex"),
		`{"type":"new_1","name":"n","x":[1]}`:                                        RawServerTool(json.RawMessage(`{"type":"new_1","name":"n","x":[1]}`)),
		`{"type":"mcp_toolset","mcp_server_name":"s"}`:                               RawServerTool(json.RawMessage(`{"type":"mcp_toolset","mcp_server_name":"s"}`)),
	} {
		require.JSONEq(t, "["+want+"]", sent(t, "tools", unchanged, WithServerTools(tool)))
	}
	for _, broken := range []ServerTool{RawServerTool(nil), RawServerTool(json.RawMessage(`{"name":"x"}`)), ToolSearch("x"),
		NewServerTool("t", "n", map[string]any{"f": func() {}})} {
		require.ErrorContains(t, refused(t, unchanged, questionBlocks, WithServerTools(broken)), "ServerTools[0]: ")
		_, err := NewChatModel(t.Context(), testConfig(nil, func(c *Config) { c.ServerTools = []ServerTool{broken} }))
		require.ErrorContains(t, err, "ServerTools[0]: ")
	}
}

// Holds providers/A23: a tool that Anthropic defines and the application runs has Anthropic's definition.
func TestServerTools_DefineToolsOfTheApplication(t *testing.T) {
	bash := NewServerTool("bash_20250124", "bash", nil)
	tools := model.WithTools([]*schema.ToolInfo{{Name: "bash", Desc: "runs commands"}, toolA})
	require.JSONEq(t, `[{"type":"bash_20250124","name":"bash"},
		{"name":"a","description":"does a","input_schema":{"type":"object","properties":{}}}]`,
		sent(t, "tools", unchanged, tools, WithServerTools(bash)))
	m := newChat(t, new(recorder))
	require.Empty(t, m.engine.Settings([]model.Option{tools, WithServerTools(bash)}).ServerTools)
	require.Len(t, m.engine.Settings([]model.Option{WithServerTools(bash)}).ServerTools, 1)
}

// Holds providers/A26.
func TestToolSearch_OfTheApplication(t *testing.T) {
	search := &schema.ToolInfo{Name: "search"}
	opts := []model.Option{model.WithTools([]*schema.ToolInfo{toolA}), model.WithDeferredTools([]*schema.ToolInfo{{Name: "far"}})}
	found := schema.NewContentBlock(&schema.ToolSearchFunctionToolResult{
		CallID: "c1", Name: "search", Result: &schema.ToolSearchResult{Tools: []*schema.ToolInfo{{Name: "far"}}},
	})
	history := []*schema.AgenticMessage{user(inputText("hi")), own(toolCall("c1", "search", "")), user(found)}
	body := capture(t, unchanged, history, append(opts, model.WithToolSearchTool(search))...)
	text, _ := json.Marshal(body)
	require.Contains(t, string(text), `"defer_loading":true`)
	require.Contains(t, string(text), `"content":[{"tool_name":"far","type":"tool_reference"}]`)
	require.Len(t, body["tools"], 3)
	body = capture(t, unchanged, questionBlocks, append(opts, WithServerTools(ToolSearch("bm25")))...)
	text, _ = json.Marshal(body["tools"])
	require.JSONEq(t, `[{"name":"a","description":"does a","input_schema":{"type":"object","properties":{}}},
		{"name":"far","input_schema":{"type":"object","properties":{}},"defer_loading":true},
		{"type":"tool_search_tool_bm25_20251119","name":"tool_search_tool_bm25"}]`, string(text))
	require.NotContains(t, sent(t, "tools", unchanged, opts...), "defer_loading") // nothing finds them
}

// Holds providers/A12.
func TestResponseFormat_IsStructuredOutputOrATool(t *testing.T) {
	raw := json.RawMessage(`{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"string"}},"additionalProperties":false}`)
	format := &ResponseFormat{Name: "person", RawSchema: raw}
	r := new(recorder)
	_, err := newAgentic(t, r, func(c *Config) { c.Model = "claude-sonnet-4-5" }).Generate(t.Context(), questionBlocks,
		WithResponseFormat(format), WithReasoningEffort("low"))
	require.NoError(t, err)
	require.Contains(t, string(r.bodies[0]), `"output_config":{"effort":"low","format":{"type":"json_schema","schema":`+string(raw)+`}}`)
	require.NotContains(t, string(r.bodies[0]), "tools")

	r = &recorder{answers: []string{answer("tool_use", `{"type":"tool_use","id":"t1","name":"person","input":{"z":"Ann"}}`)}}
	got, err := newAgentic(t, r).Generate(t.Context(), questionBlocks, WithResponseFormat(format))
	require.NoError(t, err)
	body := r.body(t, 0)
	require.Equal(t, map[string]any{"type": "tool", "name": "person"}, body["tool_choice"])
	require.Len(t, got.ContentBlocks, 1)
	require.JSONEq(t, `{"z":"Ann"}`, got.ContentBlocks[0].AssistantGenText.Text)

	events := sse(messageEvents("tool_use", []string{
		blockStart(0, `{"type":"tool_use","id":"t1","name":"person","input":{}}`),
		blockDelta(0, `{"type":"input_json_delta","partial_json":""}`), blockDelta(0, `{"type":"input_json_delta","partial_json":"{\"z\":"}`),
		blockDelta(0, `{"type":"input_json_delta","partial_json":"\"Ann\"}"}`), blockStop(0),
	})...)
	got, err = streamed(t, events, func(c *Config) { c.ResponseFormat = format })
	require.NoError(t, err)
	require.Equal(t, `{"z":"Ann"}`, got.ContentBlocks[0].AssistantGenText.Text)

	require.JSONEq(t, `{"type":"any"}`, sent(t, "tool_choice", unchanged, WithResponseFormat(format), model.WithTools([]*schema.ToolInfo{toolA})))
	require.JSONEq(t, `{"type":"auto"}`, sent(t, "tool_choice", func(c *Config) { c.MaxTokens = 4000 }, WithResponseFormat(format), WithThinking(BudgetThinking(2000))))
	require.ErrorContains(t, refused(t, unchanged, questionBlocks, WithResponseFormat(&ResponseFormat{Name: "a", RawSchema: raw}),
		model.WithTools([]*schema.ToolInfo{toolA})), "set ResponseFormat.Name")
}
