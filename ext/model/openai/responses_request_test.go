package openai_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/eino-contrib/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/ext/model/kit/kittest"
	"github.com/weftgo/weft/ext/model/openai"
	"github.com/weftgo/weft/schema"
)

func ptr[T any](v T) *T { return &v }

// Rules providers/R1, providers/K9, providers/K41
func TestResponsesRequest_HasAllSettings(t *testing.T) {
	config := func(c *openai.ResponsesConfig) {
		c.MaxTokens, c.TopLogProbs = ptr(100), 2
		c.Temperature, c.TopP = ptr(float32(0.5)), ptr(float32(0.25))
		c.Reasoning = &openai.ResponsesReasoning{Effort: "none", Summary: "auto", Context: "all_turns", Mode: "m"}
		c.Text = &openai.ResponsesText{Verbosity: "low", Format: openai.JSONSchema("answer", &jsonschema.Schema{Type: "object"})}
		c.Store, c.Include, c.Truncation = ptr(true), []string{"x"}, "auto"
		c.ServiceTier, c.PromptCacheKey, c.SafetyIdentifier = "flex", "key", "who"
		c.PromptCache = &openai.ResponsesPromptCache{Mode: "explicit", TTL: "30m", Breakpoints: 2}
		c.PromptCacheRetention = "in-memory"
		c.Metadata = map[string]string{"b": "2", "a": "1"}
		c.MaxToolCalls, c.ParallelToolCalls = ptr(3), ptr(false)
		c.CompactThreshold, c.IncludeObfuscation = 1000, ptr(false)
		c.ExtraFields = map[string]any{"user": "u", "service_tier": nil}
	}
	in := []*schema.AgenticMessage{
		schema.SystemAgenticMessage("be brief"), schema.UserAgenticMessage("one"), schema.UserAgenticMessage("two"),
	}
	tools := model.WithTools([]*schema.ToolInfo{toolOf("f")})
	body, err := sendResponses(t, in, config, tools)
	require.NoError(t, err)
	mark := `"prompt_cache_breakpoint":{"mode":"explicit"}`
	require.Equal(t, `{"model":"gpt-5","input":[`+
		`{"role":"developer","content":[{"type":"input_text","text":"be brief",`+mark+`}]},`+
		`{"role":"user","content":[{"type":"input_text","text":"one"}]},`+
		`{"role":"user","content":[{"type":"input_text","text":"two",`+mark+`}]}],`+
		`"tools":[{"type":"function","name":"f","description":"d","parameters":{"properties":{"a":`+
		`{"description":"number","type":"integer"}},"type":"object"},"strict":false}],"parallel_tool_calls":false,"max_tool_calls":3,`+
		`"max_output_tokens":100,"temperature":0.5,"top_p":0.25,"top_logprobs":2,`+
		`"reasoning":{"effort":"none","summary":"auto","context":"all_turns","mode":"m"},`+
		`"text":{"format":{"type":"json_schema","name":"answer","schema":{"type":"object"},"strict":true},"verbosity":"low"},`+
		`"store":true,"include":["x","reasoning.encrypted_content"],"truncation":"auto","prompt_cache_key":"key",`+
		`"prompt_cache_options":{"mode":"explicit","ttl":"30m"},"prompt_cache_retention":"in_memory",`+
		`"safety_identifier":"who","metadata":{"a":"1","b":"2"},`+
		`"context_management":[{"type":"compaction","compact_threshold":1000}],"user":"u"}`, string(body))
	again, err := sendResponses(t, in, config, tools)
	require.NoError(t, err)
	require.Equal(t, body, again)
}

// Zero values send nothing.
//
// Rule providers/K10
func TestResponsesRequest_IsSmallByDefault(t *testing.T) {
	body, err := sendResponses(t, userSays("hi"), func(c *openai.ResponsesConfig) {
		c.Model, c.ParallelToolCalls, c.MaxToolCalls = "gpt-4o", ptr(true), ptr(1)
	}, model.WithToolChoice(schema.ToolChoiceAllowed))
	require.NoError(t, err)
	require.Equal(t, `{"model":"gpt-4o","input":[{"role":"user","content":[{"type":"input_text","text":"hi"}]}],"store":false}`,
		string(body))
}

// Rules providers/R2, providers/R10
func TestResponsesRequest_KnowsModelsThatThink(t *testing.T) {
	for name, thinks := range map[string]bool{
		"gpt-5": true, "gpt-5-mini": true, "gpt-5.1-codex": true, "o3": true, "o4-mini": true, "gpt-6": true, "gpt-12.5-pro": true,
		"codex-mini-latest": true, "openai/gpt-5": true, "ft:o4-mini:org::id": true, "gpt-oss-120b": true,
		"gpt-4o": false, "gpt-4.1": false, "gpt-5-chat-latest": false, "gpt-5.2-chat-latest": false, "my-deployment": false,
		"ft:gpt-4o:org::id": false, "gpt-3.5-turbo": false, "chatgpt-4o-latest": false,
	} {
		body := mustSendResponses(t, []*schema.AgenticMessage{schema.SystemAgenticMessage("s"), schema.UserAgenticMessage("u")},
			func(c *openai.ResponsesConfig) { c.Model = name })
		role := body["input"].([]any)[0].(map[string]any)["role"]
		require.Equal(t, map[bool]string{true: "developer", false: "system"}[thinks], role, name)
		require.Equal(t, thinks, body["include"] != nil, name)
	}
	body := mustSendResponses(t, userSays("u"), func(c *openai.ResponsesConfig) {
		c.Model, c.ReasoningModel = "my-deployment", ptr(true)
	})
	require.Equal(t, []any{"reasoning.encrypted_content"}, body["include"])
}

func TestResponsesRequest_SystemMessageMayBeInstructions(t *testing.T) {
	in := []*schema.AgenticMessage{schema.SystemAgenticMessage("s"), schema.UserAgenticMessage("u")}
	body := mustSendResponses(t, in, func(c *openai.ResponsesConfig) { c.SystemAsInstructions = true })
	require.Equal(t, "s", body["instructions"])
	require.Len(t, body["input"], 1)
}

// Rules providers/R3, providers/R5, providers/K17
func TestResponsesRequest_SendsMedia(t *testing.T) {
	parts := []*schema.ContentBlock{
		schema.NewContentBlock(&schema.UserInputText{Text: "see"}),
		schema.NewContentBlock(&schema.UserInputImage{Base64Data: "aW1n", MIMEType: "image/png", Detail: schema.ImageURLDetailHigh}),
		schema.NewContentBlock(&schema.UserInputImage{URL: "https://i"}),
		{Type: schema.ContentBlockTypeUserInputImage, UserInputImage: &schema.UserInputImage{},
			Extra: map[string]any{openai.FileIDKey: "file-1"}},
		schema.NewContentBlock(&schema.UserInputFile{Base64Data: "cGRm", MIMEType: "application/pdf", Name: "a.pdf"}),
		schema.NewContentBlock(&schema.UserInputFile{URL: "https://f", Name: "b"}),
		{Type: schema.ContentBlockTypeUserInputFile, UserInputFile: &schema.UserInputFile{},
			Extra: map[string]any{openai.FileIDKey: "file-2"}},
	}
	const want = `[{"type":"input_text","text":"see"},` +
		`{"type":"input_image","image_url":"data:image/png;base64,aW1n","detail":"high"},` +
		`{"type":"input_image","image_url":"https://i","detail":"auto"},` +
		`{"type":"input_image","file_id":"file-1","detail":"auto"},` +
		`{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,cGRm"},` +
		`{"type":"input_file","file_url":"https://f"},{"type":"input_file","file_id":"file-2"}]`
	body, err := sendResponses(t, []*schema.AgenticMessage{{Role: schema.AgenticRoleTypeUser, ContentBlocks: parts}}, nil)
	require.NoError(t, err)
	require.Equal(t, `{"role":"user","content":`+want+`}`, string(sentInput(t, body)[0]))

	result := &schema.FunctionToolResult{CallID: "call_1", Name: "f"}
	for _, p := range parts {
		result.Content = append(result.Content, &schema.FunctionToolResultContentBlock{
			Text: p.UserInputText, Image: p.UserInputImage, File: p.UserInputFile, Extra: p.Extra,
		})
	}
	sent := replayOf(t, answerOf(t, callItemOne), &schema.AgenticMessage{
		Role: schema.AgenticRoleTypeUser, ContentBlocks: []*schema.ContentBlock{schema.NewContentBlock(result)},
	})
	require.Equal(t, `{"type":"function_call_output","call_id":"call_1","output":`+want+`}`, sent[1])
}

// Rule providers/R4
func TestResponsesTools_StrictIsAlwaysSaid(t *testing.T) {
	loose := toolOf("loose")
	strict := toolOf("strict")
	strict.ParamsOneOf = schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{
		"a": {Type: schema.Integer, Required: true},
		"b": {Type: schema.Object, SubParams: map[string]*schema.ParameterInfo{"c": {Type: schema.String, Enum: []string{"x"}}}},
	})
	strict.Extra = map[string]any{openai.ExtraFieldsKey: map[string]any{"strict": true}}
	body := mustSendResponses(t, userSays("u"), nil, model.WithTools([]*schema.ToolInfo{loose, strict, {Name: "none"}}))
	tools := body["tools"].([]any)
	require.Equal(t, false, tools[0].(map[string]any)["strict"])
	require.Equal(t, false, tools[2].(map[string]any)["strict"])
	text, err := json.Marshal(tools[1])
	require.NoError(t, err)
	require.JSONEq(t, `{"type":"function","name":"strict","description":"d","strict":true,"parameters":{"type":"object",
		"additionalProperties":false,"required":["a","b"],"properties":{"a":{"type":"integer"},"b":{"type":["object","null"],
		"additionalProperties":false,"required":["c"],"properties":{"c":{"anyOf":[{"type":"string","enum":["x"]},{"type":"null"}]}}}}}}`,
		string(text))
	request, _ := http.NewRequest(http.MethodPost, "http://s/responses", nil)
	request.Header.Set("Content-Type", "application/json")
	whole, err := json.Marshal(body)
	require.NoError(t, err)
	require.Empty(t, kittest.Responses().Validate(request, whole))
}

// Rule providers/K11
func TestResponsesTools_NamesAreChecked(t *testing.T) {
	_, err := sendResponses(t, userSays("u"), nil, model.WithTools([]*schema.ToolInfo{{Name: "a b"}}))
	require.ErrorContains(t, err, `"a b"`)
}

// Rule providers/R6
func TestResponsesTools_Choice(t *testing.T) {
	f, g := toolOf("f"), toolOf("g")
	custom := &schema.ToolInfo{Name: "sql", Extra: map[string]any{openai.ExtraFieldsKey: map[string]any{"type": "custom"}}}
	named := func(mode schema.ToolChoice, tools ...*schema.AllowedTool) model.Option {
		choice := &schema.AgenticToolChoice{Type: mode}
		if mode == schema.ToolChoiceForced {
			choice.Forced = &schema.AgenticForcedToolChoice{Tools: tools}
		} else {
			choice.Allowed = &schema.AgenticAllowedToolChoice{Tools: tools}
		}
		return model.WithAgenticToolChoice(choice)
	}
	mcp := &schema.AllowedTool{MCPTool: &schema.AllowedMCPTool{ServerLabel: "wiki", Name: "ask"}}
	web := &schema.AllowedTool{ServerTool: &schema.AllowedServerTool{Name: "web_search"}}
	for want, opt := range map[string]model.Option{
		`"none"`:                         model.WithToolChoice(schema.ToolChoiceForbidden),
		`"auto"`:                         model.WithToolChoice(schema.ToolChoiceAllowed),
		`"required"`:                     model.WithToolChoice(schema.ToolChoiceForced),
		`{"type":"function","name":"f"}`: model.WithToolChoice(schema.ToolChoiceForced, "f"),
		`{"type":"custom","name":"sql"}`: model.WithToolChoice(schema.ToolChoiceForced, "sql"),
		`{"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"f"},{"type":"function","name":"g"}]}`: model.WithToolChoice(
			schema.ToolChoiceForced, "f", "g"),
		`{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"f"}]}`: model.WithToolChoice(
			schema.ToolChoiceAllowed, "f"),
		`{"type":"mcp","server_label":"wiki","name":"ask"}`: named(schema.ToolChoiceForced, mcp),
		`{"type":"web_search"}`:                             named(schema.ToolChoiceForced, web),
		`{"type":"allowed_tools","mode":"auto","tools":[{"type":"mcp","server_label":"wiki","name":"ask"},{"type":"web_search"}]}`: named(
			schema.ToolChoiceAllowed, mcp, web),
	} {
		body := mustSendResponses(t, userSays("u"), func(c *openai.ResponsesConfig) {
			c.ServerTools = []openai.ServerTool{openai.WebSearch(openai.WebSearchParams{})}
		}, model.WithTools([]*schema.ToolInfo{f, g, custom}), opt)
		got, err := json.Marshal(body["tool_choice"])
		require.NoError(t, err)
		require.JSONEq(t, want, string(got))
	}
	body := mustSendResponses(t, userSays("u"), func(c *openai.ResponsesConfig) {
		c.ServerTools = []openai.ServerTool{openai.WebSearch(openai.WebSearchParams{})}
	}, model.WithToolChoice(schema.ToolChoiceForced))
	require.Equal(t, "required", body["tool_choice"])
}

// Rules providers/R7, providers/R8
func TestResponsesTools_OfTheServer(t *testing.T) {
	tools := []openai.ServerTool{
		openai.WebSearch(openai.WebSearchParams{AllowedDomains: []string{"a.org"}, SearchContextSize: "low", Country: "US"}),
		openai.FileSearch(openai.FileSearchParams{VectorStoreIDs: []string{"vs"}, MaxNumResults: 3}),
		openai.CodeInterpreter(openai.CodeInterpreterParams{MemoryLimit: "4g"}),
		openai.MCP(openai.MCPParams{ServerLabel: "wiki", ServerURL: "https://w", Authorization: "mcp-token-secret",
			AllowedTools: []string{"ask"}, RequireApproval: "never"}),
		openai.ImageGeneration(openai.ImageGenerationParams{Size: "1024x1024", PartialImages: 2}),
		openai.ComputerUse(openai.ComputerUseParams{}), openai.Shell(nil), openai.ApplyPatch(), openai.ToolSearch(),
		openai.RawServerTool(json.RawMessage(`{"type":"new_tool","b":1,"a":2}`)),
	}
	c := new(captured)
	m := newResponses(t, responsesAt("https://api.openai.com", func(conf *openai.ResponsesConfig) {
		conf.ServerTools, conf.HTTPClient = tools, &http.Client{Transport: c}
	}))
	_, err := m.Generate(t.Context(), userSays("u"))
	require.NoError(t, err)
	var sent struct {
		Tools   []json.RawMessage
		Include []string
	}
	require.NoError(t, json.Unmarshal(c.bodies[0], &sent))
	require.Equal(t, []string{
		`{"type":"web_search","filters":{"allowed_domains":["a.org"]},"search_context_size":"low","user_location":{"type":"approximate","country":"US"}}`,
		`{"type":"file_search","vector_store_ids":["vs"],"max_num_results":3}`,
		`{"type":"code_interpreter","container":{"type":"auto","memory_limit":"4g"}}`,
		`{"type":"mcp","server_label":"wiki","server_url":"https://w","authorization":"mcp-token-secret","allowed_tools":["ask"],"require_approval":"never"}`,
		`{"type":"image_generation","size":"1024x1024","partial_images":2}`,
		`{"type":"computer"}`, `{"type":"shell"}`, `{"type":"apply_patch"}`, `{"type":"tool_search"}`,
		`{"type":"new_tool","b":1,"a":2}`,
	}, texts(sent.Tools))
	require.Equal(t, []string{"reasoning.encrypted_content", "web_search_call.action.sources", "file_search_call.results",
		"code_interpreter_call.outputs"}, sent.Include)
	require.NotContains(t, fmt.Sprintf("%v %+v %#v", tools, tools, tools), "mcp-token-secret")

	t.Run("options", func(t *testing.T) {
		body := mustSendResponses(t, userSays("u"), func(c *openai.ResponsesConfig) { c.ServerTools = tools },
			openai.WithResponsesServerTools(openai.WebSearch(openai.WebSearchParams{})),
			openai.WithResponsesMCPTools(openai.MCP(openai.MCPParams{ServerLabel: "x", ConnectorID: "c"})),
			openai.WithResponsesInclude("y"))
		require.Len(t, body["tools"], 2)
		require.Equal(t, []any{"y", "reasoning.encrypted_content"}, body["include"])
	})
	t.Run("faults", func(t *testing.T) {
		for _, bad := range []openai.ServerTool{
			{}, openai.RawServerTool(json.RawMessage(`[]`)), openai.RawServerTool(json.RawMessage(`{}`)),
			openai.FileSearch(openai.FileSearchParams{}), openai.MCP(openai.MCPParams{ServerLabel: "x"}),
		} {
			_, err := openai.NewResponsesModel(t.Context(), &openai.ResponsesConfig{
				Model: "m", APIKey: "k", ServerTools: []openai.ServerTool{bad},
			})
			require.ErrorContains(t, err, "ServerTools[0]")
		}
	})
}

// Per-call options replace or merge, and change neither the model nor another call (K8).
//
// Rule providers/R1
func TestResponsesOptions_AreForOneCall(t *testing.T) {
	c := new(captured)
	m := newResponses(t, responsesAt("https://api.openai.com", func(conf *openai.ResponsesConfig) {
		conf.HTTPClient = &http.Client{Transport: c}
		conf.ExtraFields = map[string]any{"a": 1, "b": 1}
	}))
	_, err := m.Generate(t.Context(), userSays("u"), openai.WithResponsesExtraFields(map[string]any{"b": nil, "c": 2}),
		openai.WithResponsesMaxToolCalls(2), openai.WithResponsesParallelToolCalls(false), openai.WithResponsesPromptCacheKey("k"),
		openai.WithResponsesReasoning(&openai.ResponsesReasoning{Effort: "low"}), openai.WithResponsesStore(true),
		openai.WithResponsesText(&openai.ResponsesText{Verbosity: "high"}), openai.WithResponsesTruncation("auto"),
		openai.WithResponsesExtraHeaders(map[string]string{"X-One": "1"}), model.WithModel("gpt-6"), model.WithMaxTokens(7),
		model.WithTools([]*schema.ToolInfo{toolOf("f")}), openai.WithHeadPreviousResponseID("resp_0"),
		openai.WithResponsesRequestModifier(func(_ context.Context, body []byte) ([]byte, error) {
			return append([]byte(`{"first":1,`), body[1:]...), nil
		}))
	require.NoError(t, err)
	require.Equal(t, `{"first":1,"model":"gpt-6","input":[{"role":"user","content":[{"type":"input_text","text":"u"}]}],`+
		`"previous_response_id":"resp_0",`+
		`"tools":[{"type":"function","name":"f","description":"d","parameters":{"properties":{"a":{"description":"number",`+
		`"type":"integer"}},"type":"object"},"strict":false}],"parallel_tool_calls":false,"max_tool_calls":2,"max_output_tokens":7,`+
		`"reasoning":{"effort":"low"},"text":{"verbosity":"high"},"store":true,"include":["reasoning.encrypted_content"],`+
		`"truncation":"auto","prompt_cache_key":"k","a":1,"c":2}`, string(c.bodies[0]))
	require.Equal(t, "1", c.headers[0].Get("X-One"))
	_, err = m.Generate(t.Context(), userSays("u"))
	require.NoError(t, err)
	require.Equal(t, `{"model":"gpt-5","input":[{"role":"user","content":[{"type":"input_text","text":"u"}]}],"store":false,`+
		`"include":["reasoning.encrypted_content"],"a":1,"b":1}`, string(c.bodies[1]))
}

// Rules providers/R9, providers/K15
func TestResponsesRequest_UnsupportedSettingsAreFoundOrDropped(t *testing.T) {
	sampling := func(c *openai.ResponsesConfig) { c.Temperature, c.TopP = ptr(float32(1)), ptr(float32(1)) }
	_, err := sendResponses(t, userSays("u"), sampling, model.WithStop([]string{"x"}))
	require.ErrorIs(t, err, kit.ErrInvalid)
	for _, word := range []string{"temperature", "top_p", "stop", "Reasoning.Effort", "DropUnsupported"} {
		require.ErrorContains(t, err, word)
	}
	_, err = sendResponses(t, userSays("u"), func(c *openai.ResponsesConfig) {
		c.Model, c.Reasoning = "gpt-4o", &openai.ResponsesReasoning{Effort: "low"}
	})
	require.ErrorContains(t, err, "reasoning")

	c := new(captured)
	m := newResponses(t, responsesAt("https://api.openai.com", sampling, func(conf *openai.ResponsesConfig) {
		conf.HTTPClient, conf.DropUnsupported = &http.Client{Transport: c}, true
	}))
	answer, err := m.Generate(t.Context(), userSays("u"), model.WithStop([]string{"x"}))
	require.NoError(t, err)
	require.Equal(t, `["stop","temperature","top_p"]`, answer.Extra[kit.DroppedSettingsKey])
	require.NotContains(t, string(c.bodies[0]), "temperature")
}

// Rule providers/K1
func TestResponsesConfig_AllFaultsAreNamedAtOnce(t *testing.T) {
	_, err := openai.NewResponsesModel(t.Context(), nil)
	require.ErrorContains(t, err, "nil")
	_, err = openai.NewResponsesChatModel(t.Context(), &openai.ResponsesConfig{
		MaxTokens: ptr(0), Temperature: ptr(float32(3)), TopP: ptr(float32(-1)), TopLogProbs: 21, MaxToolCalls: ptr(-1),
		CompactThreshold: -1, PromptCache: &openai.ResponsesPromptCache{Breakpoints: 5}, Store: ptr(false), PreviousResponse: true,
		Background: true, Conversation: "c", Timeout: -time.Second, IdleTimeout: ptr(-time.Second), MaxRetries: ptr(-1),
		ForeignThinking: "x", Text: &openai.ResponsesText{Format: &openai.ResponseFormat{Type: "xml"}}, BaseURL: "ftp://x",
	})
	for _, word := range []string{
		"Model", "MaxTokens", "Temperature", "TopP", "TopLogProbs", "MaxToolCalls", "CompactThreshold", "Breakpoints",
		"PreviousResponse needs", "Background needs", "Conversation and", "Timeout", "IdleTimeout", "MaxRetries",
		"ForeignThinking", "Text.Format", "BaseURL",
	} {
		require.ErrorContains(t, err, word)
	}
	_, err = openai.NewResponsesModel(t.Context(), &openai.ResponsesConfig{Model: "m"})
	require.ErrorContains(t, err, "APIKey is required")
	_, err = openai.NewResponsesModel(t.Context(), &openai.ResponsesConfig{Model: "m", BaseURL: "http://localhost:1"})
	require.NoError(t, err)
}

// Rule providers/K5
func TestResponsesConfig_PrintsNoSecrets(t *testing.T) {
	conf := responsesAt("https://user:password-in-url@api.openai.com")
	conf.Headers = map[string]string{"Authorization": "Bearer header-secret"}
	chat := newResponsesChat(t, conf)
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "c", *conf, "p", conf, "m", newResponses(t, conf), "chat", chat)
	for _, v := range []any{*conf, conf, newResponses(t, conf), chat} {
		fmt.Fprintf(&log, "%v %+v %#v %s", v, v, v, v)
	}
	for _, secret := range []string{responsesTestKey, "header-secret", "password-in-url"} {
		require.NotContains(t, log.String(), secret)
	}
}

// Rule providers/K2
func TestResponsesConfig_EnvironmentIsNotRead(t *testing.T) {
	for _, name := range []string{
		"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_WEBHOOK_SECRET", "OPENAI_CUSTOM_HEADERS",
		"AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT",
	} {
		t.Setenv(name, "https://poison.example.com/poison")
	}
	c := new(captured)
	m := newResponses(t, &openai.ResponsesConfig{APIKey: responsesTestKey, Model: "gpt-5", HTTPClient: &http.Client{Transport: c}})
	_, err := m.Generate(t.Context(), userSays("u"))
	require.NoError(t, err)
	require.Equal(t, []string{"https://api.openai.com/v1/responses"}, c.urls)
	require.Equal(t, "Bearer "+responsesTestKey, c.headers[0].Get("Authorization"))
	require.NotContains(t, fmt.Sprint(c.headers), "poison")
	require.NotContains(t, string(c.bodies[0]), "poison")
	require.Equal(t, "openai", m.Provider())
	host, port := m.Endpoint()
	require.Equal(t, "api.openai.com", host)
	require.Zero(t, port)
}

// Rules providers/R27, providers/Z1, providers/Z2, providers/Z4
func TestResponsesConfig_Azure(t *testing.T) {
	token := func(context.Context) (string, error) { return "entra-token", nil }
	azure := "https://r.openai.azure.com"
	for name, test := range map[string]struct {
		conf        openai.ResponsesConfig
		url, header string
		model       string
	}{
		"v1 by base URL": {openai.ResponsesConfig{BaseURL: azure + "/openai/v1", APIKey: "azure-key", Model: "d"},
			azure + "/openai/v1/responses", "azure-key", "d"},
		"v1 by resource": {openai.ResponsesConfig{Azure: &openai.AzureConfig{Endpoint: azure + "/", Deployment: "d"}, APIKey: "azure-key"},
			azure + "/openai/v1/responses", "azure-key", "d"},
		"preview": {openai.ResponsesConfig{Azure: &openai.AzureConfig{Endpoint: azure, APIVersion: "2025-04-01-preview"}, Model: "d",
			APIKey: "azure-key"}, azure + "/openai/responses?api-version=2025-04-01-preview", "azure-key", "d"},
		"token": {openai.ResponsesConfig{BaseURL: azure + "/openai/v1/", TokenSource: token, Model: "d"},
			azure + "/openai/v1/responses", "", "d"},
	} {
		t.Run(name, func(t *testing.T) {
			c := new(captured)
			test.conf.HTTPClient = &http.Client{Transport: c}
			_, err := newResponses(t, &test.conf).Generate(t.Context(), userSays("u"))
			require.NoError(t, err)
			require.Equal(t, test.url, c.urls[0])
			require.Equal(t, test.header, c.headers[0].Get("Api-Key"))
			require.Equal(t, test.conf.TokenSource != nil, c.headers[0].Get("Authorization") == "Bearer entra-token")
			require.Equal(t, test.model, sentFields(t, c.bodies[0])["model"])
		})
	}
}

func TestResponsesConfig_Organization(t *testing.T) {
	c := new(captured)
	m := newResponses(t, responsesAt("https://api.openai.com", func(conf *openai.ResponsesConfig) {
		conf.HTTPClient, conf.Organization, conf.Project = &http.Client{Transport: c}, "org", "proj"
	}))
	_, err := m.Generate(t.Context(), userSays("u"))
	require.NoError(t, err)
	require.Equal(t, "org", c.headers[0].Get("OpenAI-Organization"))
	require.Equal(t, "proj", c.headers[0].Get("OpenAI-Project"))
}

func TestResponses_WithToolsLeavesTheModelAsItIs(t *testing.T) {
	c := new(captured)
	conf := responsesAt("https://api.openai.com", func(conf *openai.ResponsesConfig) { conf.HTTPClient = &http.Client{Transport: c} })
	chat := newResponsesChat(t, conf)
	with, err := chat.WithTools([]*schema.ToolInfo{toolOf("f")})
	require.NoError(t, err)
	agentic := newResponses(t, conf)
	agenticWith, err := agentic.WithTools([]*schema.ToolInfo{toolOf("g")})
	require.NoError(t, err)
	for _, ask := range []func() error{
		func() error {
			_, err := with.Generate(t.Context(), []*schema.Message{schema.UserMessage("u")})
			return err
		},
		func() error {
			_, err := chat.Generate(t.Context(), []*schema.Message{schema.UserMessage("u")})
			return err
		},
		func() error { _, err := agenticWith.Generate(t.Context(), userSays("u")); return err },
		func() error { _, err := agentic.Generate(t.Context(), userSays("u")); return err },
		func() error {
			_, err := agenticWith.Generate(t.Context(), userSays("u"), model.WithTools(nil))
			return err
		},
	} {
		require.NoError(t, ask())
	}
	require.Contains(t, string(c.bodies[0]), `"name":"f"`)
	require.NotContains(t, string(c.bodies[1]), "tools")
	require.Contains(t, string(c.bodies[2]), `"name":"g"`)
	require.NotContains(t, string(c.bodies[3]), "tools")
	require.NotContains(t, string(c.bodies[4]), "tools")
	_, err = chat.WithTools([]*schema.ToolInfo{nil})
	require.Error(t, err)
	_, err = agentic.WithTools([]*schema.ToolInfo{{}})
	require.Error(t, err)
}

// Rule providers/R4
func TestResponsesTools_StrictSchemasAreLowered(t *testing.T) {
	loose := `{"$schema":"x","type":"object","$defs":{"d":{"type":"object","properties":{"x":{"type":"string","minLength":1}}}},
		"required":["list"],"properties":{
		"list":{"type":"array","uniqueItems":true,"items":{"type":"object","properties":{"y":{"type":["integer","string"]}}}},
		"one":{"oneOf":[{"type":"string"},{"$ref":"#/$defs/d"}]},
		"ref":{"$ref":"#/$defs/d","description":"nothing may stand beside it"},
		"map":{"type":"object","default":{},"properties":{},"additionalProperties":false}}}`
	want := `{"type":"object","$defs":{"d":{"type":"object","properties":{"x":{"type":["string","null"]}},"required":["x"],
		"additionalProperties":false}},"required":["list","map","one","ref"],"additionalProperties":false,"properties":{
		"list":{"type":"array","items":{"type":"object","properties":{"y":{"type":["integer","string","null"]}},"required":["y"],
		"additionalProperties":false}},
		"one":{"anyOf":[{"type":"string"},{"$ref":"#/$defs/d"},{"type":"null"}]},
		"ref":{"anyOf":[{"$ref":"#/$defs/d"},{"type":"null"}]},
		"map":{"type":["object","null"],"properties":{},"required":[],"additionalProperties":false}}}`
	info := &schema.ToolInfo{Name: "f", ParamsOneOf: schema.NewParamsOneOfByRawJSON(json.RawMessage(loose)),
		Extra: map[string]any{openai.ExtraFieldsKey: map[string]any{"strict": true}}}
	body := mustSendResponses(t, userSays("u"), nil, model.WithTools([]*schema.ToolInfo{info}))
	parameters := body["tools"].([]any)[0].(map[string]any)["parameters"].(map[string]any)
	require.ElementsMatch(t, []any{"list", "map", "one", "ref"}, parameters["required"])
	parameters["required"] = []any{"list", "map", "one", "ref"}
	got, err := json.Marshal(parameters)
	require.NoError(t, err)
	require.JSONEq(t, want, string(got))
}

// What a strict schema cannot say is an error before anything is sent, in both APIs.
//
// Rule providers/R4.
func TestStrictTools_SchemasThatAreNoneAreAnError(t *testing.T) {
	for property, fault := range map[string]string{
		`{"type":"object","additionalProperties":{"type":"string"}}`: "p is a map",
		`{"type":"object","additionalProperties":true}`:              "p is a map",
		`{"type":"object"}`: "p is an object with any fields",
		`true`:              "p takes any value",
		`{}`:                "p takes any value",
		`{"type":"array"}`:  "p[] takes any value",
		`{"type":"array","items":{"type":"object","properties":{"q":{"additionalProperties":{},"type":"object"}}}}`: "p[].q is a map",
		`{"anyOf":[{"type":"string"},{"description":"any"}]}`:                                                       "p takes any value",
	} {
		info := &schema.ToolInfo{Name: "f", ParamsOneOf: schema.NewParamsOneOfByRawJSON(
			json.RawMessage(`{"type":"object","properties":{"p":` + property + `}}`)),
			Extra: map[string]any{openai.ExtraFieldsKey: map[string]any{"strict": true}}}
		c := new(captured)
		conf := responsesAt("https://api.openai.com", func(conf *openai.ResponsesConfig) { conf.HTTPClient = &http.Client{Transport: c} })
		_, err := newResponses(t, conf).Generate(t.Context(), userSays("u"), model.WithTools([]*schema.ToolInfo{info}))
		require.ErrorContains(t, err, `tool "f": `+fault, property)
		chat, err := openai.NewChatModel(t.Context(), &openai.Config{APIKey: "k", Model: "m", HTTPClient: &http.Client{Transport: c}})
		require.NoError(t, err)
		_, err = chat.Generate(t.Context(), []*schema.Message{schema.UserMessage("u")}, model.WithTools([]*schema.ToolInfo{info}))
		require.ErrorContains(t, err, `tool "f": `+fault, property)
		require.Empty(t, c.bodies)
	}
}
