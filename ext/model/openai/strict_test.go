package openai

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/ext/model/kit/kittest"
	"github.com/weftgo/weft/schema"
)

// strictServers has, for each profile, the rules of the service that it is for.
var strictServers = map[string]struct {
	profile Profile
	rules   kittest.ChatRules
}{
	"OpenAI": {ProfileOpenAI, kittest.ChatOpenAI}, "Azure": {ProfileAzure, kittest.ChatAzure},
	"DeepSeek": {ProfileDeepSeek, kittest.ChatDeepSeek}, "Qwen": {ProfileQwen, kittest.ChatQwen},
	"Moonshot": {ProfileMoonshot, kittest.ChatMoonshot}, "GLM": {ProfileGLM, kittest.ChatGLM},
	"Ark": {ProfileArk, kittest.ChatArk}, "MiniMax": {ProfileMiniMax, kittest.ChatMiniMax},
	"Mistral": {ProfileMistral, kittest.ChatMistral}, "Groq": {ProfileGroq, kittest.ChatGroq},
	"xAI": {ProfileXAI, kittest.ChatXAI}, "OpenRouter": {ProfileOpenRouter, kittest.ChatOpenRouter},
	"Vercel": {ProfileVercel, kittest.ChatVercel}, "open models": {ProfileOpenModels, kittest.ChatTogether},
	"vLLM": {ProfileVLLM, kittest.ChatVLLM}, "llama.cpp": {ProfileLlamaCpp, kittest.ChatLlamaCpp},
	"Ollama": {ProfileOllama, kittest.ChatOllama}, "Bedrock": {ProfileBedrock, kittest.ChatBedrock},
	"unknown": {ProfileUnknown, kittest.ChatUnknown},
}

func TestProfiles_AllHaveAStrictServer(t *testing.T) {
	var tested []string
	for _, s := range strictServers {
		tested = append(tested, s.profile.Name)
	}
	for _, p := range append(Profiles(), ProfileUnknown) {
		require.Contains(t, tested, p.Name)
	}
}

// hardHistory is a conversation in which much is as the services like it least.
func hardHistory(media bool) []*schema.Message {
	foreign := func(m *schema.Message) *schema.Message {
		m.ReasoningContent = "thought elsewhere"
		m.Extra = map[string]any{
			"origin": "openai/api.deepseek.com/chat", reasoningFieldKey: "reasoning_content",
			reasoningDetailsKey: `{"type":"reasoning.text","text":"t","signature":"s"}`,
		}
		return m
	}
	call := func(id, arguments string) schema.ToolCall {
		return schema.ToolCall{
			ID: id, Type: "function", Function: schema.FunctionCall{Name: "weather", Arguments: arguments},
			Extra: map[string]any{extraContentKey: `{"google":{"thought_signature":"x"}}`},
		}
	}
	photo := schema.MessageInputPart{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{
		MessagePartCommon: schema.MessagePartCommon{Base64Data: new("iVBORw0KGgo="), MIMEType: "image/png"},
	}}
	result := schema.ToolMessage("", "functions.weather:0", schema.WithToolName("weather"))
	if media {
		result.UserInputMultiContent = []schema.MessageInputPart{photo}
	}
	return []*schema.Message{
		schema.SystemMessage("Be brief."),
		schema.UserMessage("What is the weather in Rome and in Oslo?"),
		foreign(schema.AssistantMessage("", []schema.ToolCall{
			call("functions.weather:0", `{"city":"Rome"}`), call("toolu_01A2b3C4d5E6f7G8h9I0j1K2l3M4n5O6p7Q8r9", ""),
		})),
		result,
		schema.ToolMessage("rain", "toolu_01A2b3C4d5E6f7G8h9I0j1K2l3M4n5O6p7Q8r9", schema.WithToolName("weather")),
		foreign(schema.AssistantMessage("Sunny and rainy.", nil)),
		schema.UserMessage("And in Bergen?"),
		foreign(schema.AssistantMessage("Let me see.", []schema.ToolCall{call("functions.weather:0", `{"city":"Ber`)})),
		schema.ToolMessage("rain, always", "functions.weather:0", schema.WithToolName("weather")),
	}
}

var weatherTool = []*schema.ToolInfo{{
	Name: "weather", Desc: "Tells the weather.",
	ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{"city": {Type: schema.String}}),
}}

const okAnswer = `{"id":"c","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}],` +
	`"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`

var okStream = kittest.SSE(
	`{"id":"c","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"o"}}]}`,
	`{"id":"c","model":"m","choices":[{"index":0,"delta":{"content":"k"},"finish_reason":"stop"}]}`, `[DONE]`)

func ofServer(t *testing.T, url string, profile Profile, change ...func(*Config)) *ChatModel {
	t.Helper()
	transport := new(http.Transport)
	t.Cleanup(transport.CloseIdleConnections)
	conf := &Config{
		APIKey: testKey, BaseURL: url + "/v1", Model: "m", Profile: &profile, HTTPClient: &http.Client{Transport: transport},
	}
	for _, c := range change {
		c(conf)
	}
	m, err := NewChatModel(t.Context(), conf)
	require.NoError(t, err)
	return m
}

// Rules providers/C1, providers/C2, providers/C3, providers/C7, providers/D4, providers/K12, providers/K13,
// providers/K37.
func TestProfiles_HardConversationIsAccepted(t *testing.T) {
	for name, s := range strictServers {
		t.Run(name, func(t *testing.T) {
			rules := s.rules
			server := kittest.Server(t, kittest.ChatCompletions(rules), kittest.Always(okStream))
			m := ofServer(t, server.URL, s.profile)
			media := !rules.TextOnly && !rules.NoUserAfterTool
			for _, opts := range [][]model.Option{
				{model.WithTools(weatherTool)},
				{model.WithTools(weatherTool), model.WithToolChoice(schema.ToolChoiceForced), thinkingOffFor(s.profile)},
				{model.WithTools(weatherTool), model.WithToolChoice(schema.ToolChoiceForbidden), model.WithMaxTokens(100)},
				{model.WithTools(weatherTool), model.WithStop(nil), WithExtraFields(nil)},
			} {
				sr, err := m.Stream(t.Context(), hardHistory(media), opts...)
				require.NoError(t, err)
				got := joined(t, sr)
				require.Equal(t, "ok", got.Content)
				got, err = m.Generate(t.Context(), hardHistory(media), opts...)
				require.NoError(t, err)
				require.Equal(t, "ok", got.Content)
			}
		})
	}
}

func thinkingOffFor(p Profile) model.Option {
	if p.NoForcedThinking {
		return WithThinking(false)
	}
	return model.Option{}
}

// Rule providers/D5.
func TestProfiles_ThinkingIsAskedForInTheWordsOfTheService(t *testing.T) {
	for name, want := range map[string]struct{ on, off, effort string }{
		"OpenAI":   {``, `"reasoning_effort":"none"`, `"reasoning_effort":"high"`},
		"DeepSeek": {`"thinking":{"type":"enabled"}`, `"thinking":{"type":"disabled"}`, `"reasoning_effort":"high"`},
		"Moonshot": {`"thinking":{"type":"enabled"}`, `"thinking":{"type":"disabled"}`, "error"},
		"Qwen":     {`"enable_thinking":true`, `"enable_thinking":false`, `"enable_thinking":true`},
		"OpenRouter": {`"reasoning":{"enabled":true}`, `"reasoning":{"enabled":false}`,
			`"reasoning":{"effort":"high"}`},
		"vLLM": {`"chat_template_kwargs":{"enable_thinking":true}`, `"chat_template_kwargs":{"enable_thinking":false}`,
			`"reasoning_effort":"high"`},
		"MiniMax": {"error", "error", "error"},
	} {
		t.Run(name, func(t *testing.T) {
			s := strictServers[name]
			server := kittest.Server(t, kittest.ChatCompletions(s.rules), kittest.Always(okStream))
			m := ofServer(t, server.URL, s.profile)
			for opt, want := range map[string]struct {
				set  model.Option
				want string
			}{
				"on": {WithThinking(true), want.on}, "off": {WithThinking(false), want.off},
				"effort": {WithReasoningEffort("high"), want.effort},
			} {
				_, err := m.Generate(t.Context(), question, want.set)
				if want.want == "error" {
					require.ErrorIs(t, err, kit.ErrInvalid)
					continue
				}
				require.NoError(t, err, opt)
				sent := server.Requests()
				require.Contains(t, string(sent[len(sent)-1].Body), want.want, opt)
			}
			_, err := m.Generate(t.Context(), question, WithThinking(true),
				WithExtraFields(map[string]any{"thinking": nil, "enable_thinking": nil, "reasoning": nil, "chat_template_kwargs": nil}))
			if want.on != "error" {
				require.NoError(t, err)
				sent := server.Requests()
				require.NotContains(t, string(sent[len(sent)-1].Body), "hinking\":", "ExtraFields win")
			}
		})
	}
}

func TestProfileFor(t *testing.T) {
	for url, want := range map[string]string{
		"https://api.openai.com/v1": "OpenAI", "https://x.openai.azure.com/openai/v1": "Azure",
		"https://eu.api.openai.com/v1": "OpenAI", "https://notapi.openai.com.evil.test/v1": "unknown",
		"https://api.deepseek.com": "DeepSeek", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1": "Qwen (DashScope)",
		"https://api.moonshot.cn/v1": "Moonshot (Kimi)", "https://api.z.ai/api/paas/v4": "GLM (Z.ai, Zhipu)",
		"https://ark.cn-beijing.volces.com/api/v3": "Doubao (Ark)", "https://api.minimax.io/v1": "MiniMax",
		"https://api.mistral.ai/v1": "Mistral", "https://api.groq.com/openai/v1": "Groq", "https://api.x.ai/v1": "xAI",
		"https://openrouter.ai/api/v1": "OpenRouter", "https://ai-gateway.vercel.sh/v1": "Vercel AI gateway",
		"https://router.huggingface.co/v1": "Together, Fireworks, Hugging Face, DeepInfra",
		"http://localhost:8080/v1":         "llama.cpp", "http://127.0.0.1:11434/v1": "Ollama",
		"https://example.com:8080/v1":                               "unknown",
		"https://bedrock-runtime.eu-west-1.amazonaws.com/openai/v1": "Bedrock (OpenAI API)",
		"https://llm.example.com/v1":                                "unknown", "": "unknown",
	} {
		require.Equal(t, want, ProfileFor(url).Name, url)
	}
}

// Rules of providers §13.2.
func TestStream_SurvivesEveryMisbehaviour(t *testing.T) {
	good := kittest.ChatStream("Grü", "ß", "e")
	kittest.RunMisbehaviours(t, good, func(ctx context.Context, baseURL string) (text string, err error) {
		transport := new(http.Transport)
		defer transport.CloseIdleConnections()
		idle := time.Second // reading a line of 20 MB takes some of it on a busy machine
		m, err := NewChatModel(ctx, &Config{
			APIKey: testKey, BaseURL: baseURL + "/v1", Model: "m", HTTPClient: &http.Client{Transport: transport},
			IdleTimeout: &idle,
		})
		if err != nil {
			return "", err
		}
		sr, err := m.Stream(ctx, question)
		if err != nil {
			return "", err
		}
		defer sr.Close()
		for m, err := range sr.All() {
			if err != nil {
				return text, err
			}
			text += m.Content
		}
		return text, nil
	})
}

// Rules providers/K2, providers/K5.
func TestConfig_EnvironmentAndSecrets(t *testing.T) {
	kittest.PoisonEnv(t)
	kittest.NoLog(t)
	server := kittest.Server(t, kittest.ChatCompletions(kittest.ChatUnknown), kittest.Always(okStream))
	m := ofServer(t, server.URL, ProfileUnknown)
	_, err := m.Generate(t.Context(), question)
	require.NoError(t, err)
	sent := server.Requests()[0]
	require.Equal(t, "Bearer "+testKey, sent.Header.Get("Authorization"))
	require.Empty(t, sent.Header.Values("Openai-Organization"))
	conf := Config{APIKey: testKey, Model: "m", Headers: map[string]string{"X-Auth": testKey}}
	kittest.NoSecrets(t, testKey, conf, &conf, m, *m, []any{m}, m.Engine())
}

// Rule providers/C11.
func TestStreamOnly_GenerateStreams(t *testing.T) {
	server := kittest.Server(t, nil, kittest.Always(okStream))
	m := ofServer(t, server.URL, ProfileQwen)
	_, err := m.Generate(t.Context(), question)
	require.NoError(t, err)
	require.Contains(t, string(server.Requests()[0].Body), `"stream":true`)
}

// Rule providers/C10.
func TestThinkTags(t *testing.T) {
	p := ProfileUnknown
	p.ThinkTags = true
	for body, want := range map[string][2]string{
		"<think>hm\nso</think>\n\nYes":  {"hm\nso", "Yes"},
		" <think>hm</think>Yes <think>": {"hm", "Yes <think>"},
		"hm</think>Yes":                 {"hm", "Yes"},
		"Yes":                           {"", "Yes"},
		"<thin":                         {"", "<thin"},
		"<think>endless":                {"endless", ""},
		"<think></think>":               {"", ""},
		"<think>a</thin":                {"a</thin", ""},
	} {
		whole := answerWith(t, p, body)
		require.Equal(t, want, whole, body)
		for at := range body {
			require.Equal(t, want, answerWith(t, p, body[:at], body[at:]), "%q cut at %d", body, at)
		}
	}
}

// answerWith returns thinking and content of an answer that comes in these pieces; in one it is not streamed.
func answerWith(t *testing.T, p Profile, pieces ...string) [2]string {
	t.Helper()
	encoded := func(text string) string {
		data, err := kit.Encode(text)
		require.NoError(t, err)
		return string(data)
	}
	profiled := func(c *Config) { c.Profile = &p }
	body := ""
	for _, piece := range pieces {
		body += `data: {"choices":[{"index":0,"delta":{"content":` + encoded(piece) + `}}]}` + "\n\n"
	}
	var m *schema.Message
	var err error
	if len(pieces) == 1 {
		body = `{"choices":[{"index":0,"message":{"content":` + encoded(pieces[0]) + `},"finish_reason":"stop"}]}`
		m, err = newModel(t, wholeOf(body), profiled).Generate(t.Context(), question)
	} else {
		m, err = newModel(t, streaming(body+stopChunk+doneChunk), profiled).Generate(t.Context(), question)
	}
	var stopped *kit.StoppedError
	if errors.As(err, &stopped) {
		return [2]string{}
	}
	require.NoError(t, err)
	return [2]string{m.ReasoningContent, m.Content}
}

func wholeOf(body string) roundTrip { return whole(body) }

// Rule providers/C14.
func TestCumulative_OnlyWhatIsNewCounts(t *testing.T) {
	p := ProfileUnknown
	p.Cumulative = true
	body := ""
	for _, delta := range []string{
		`{"reasoning_content":"th"}`, `{"reasoning_content":"think","content":"a"}`, `{"content":"ab"}`, `{"content":"abc"}`,
		`{"tool_calls":[{"index":0,"id":"1","function":{"name":"f","arguments":"{\"a\""}}]}`,
		`{"tool_calls":[{"index":0,"id":"1","function":{"name":"f","arguments":"{\"a\":1}"}}]}`,
	} {
		body += `data: {"choices":[{"index":0,"delta":` + delta + `}]}` + "\n\n"
	}
	m := joined(t, stream(t, newModel(t, streaming(body+stopChunk+doneChunk), func(c *Config) { c.Profile = &p })))
	require.Equal(t, "abc", m.Content)
	require.Equal(t, "think", m.ReasoningContent)
	require.Equal(t, `{"a":1}`, m.ToolCalls[0].Function.Arguments)
	require.Len(t, m.ToolCalls, 1)
}

// Rules providers/C8, providers/K33, providers/K35.
func TestUsage_CostAndCacheWrites(t *testing.T) {
	for name, c := range map[string]struct{ body, cost string }{
		"OpenRouter": {`"usage":{"prompt_tokens":5,"completion_tokens":2,"cost":0.001285,"prompt_tokens_details":{"cache_write_tokens":3}}`,
			"0.001285"},
		"xAI":    {`"usage":{"prompt_tokens":5,"completion_tokens":2,"cost_in_usd_ticks":1087500}`, "0.00010875"},
		"Vercel": {`"provider_metadata":{"gateway":{"cost":"0.0045"}}`, "0.0045"},
		"none":   {`"usage":{"prompt_tokens":5,"completion_tokens":2}`, ""},
	} {
		m := answerOf(t, `{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}],`+c.body+`}`)
		require.Equal(t, c.cost, kit.ExtraText(m.Extra, kit.UsageCostKey), name)
		if m.ResponseMeta.Usage != nil {
			require.Empty(t, kit.CheckUsage(m.ResponseMeta.Usage))
			require.Contains(t, kit.ExtraText(m.Extra, kit.UsageRawKey), `"prompt_tokens":5`)
		}
		if name == "OpenRouter" {
			require.Equal(t, 3, m.ResponseMeta.Usage.PromptTokenDetails.CacheWriteTokens)
		}
	}
	zero := `data: {"choices":[{"index":0,"delta":{"content":"a"}}],"usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}}` + "\n\n"
	m := joined(t, stream(t, newModel(t, streaming(zero+stopChunk+doneChunk))))
	require.Nil(t, m.ResponseMeta.Usage, "not known is not zero")
}

// Rules providers/K15, providers/K43.
func TestRequest_SettingsThatTheModelRefuses(t *testing.T) {
	server := kittest.Server(t, kittest.ChatCompletions(kittest.ChatOpenAI), kittest.Always(okStream))
	reasoner := func(c *Config) { c.Model = "gpt-5-mini" }
	m := ofServer(t, server.URL, ProfileOpenAI, reasoner)
	_, err := m.Generate(t.Context(), question, model.WithTemperature(0.5))
	require.ErrorIs(t, err, kit.ErrInvalid)
	require.ErrorContains(t, err, "temperature")
	require.ErrorContains(t, err, "DropUnsupported")
	_, err = m.Generate(t.Context(), question, model.WithTemperature(1))
	require.NoError(t, err, "the only temperature that it takes")
	got, err := ofServer(t, server.URL, ProfileOpenAI, reasoner, func(c *Config) { c.DropUnsupported = true }).
		Generate(t.Context(), question, model.WithTemperature(0.5), model.WithTopP(0.5))
	require.NoError(t, err)
	require.Equal(t, `["temperature","top_p"]`, got.Extra[kit.DroppedSettingsKey])

	_, err = newModel(t, whole(`{"choices":[{"message":{"content":""},"finish_reason":"length"}]}`)).
		Generate(t.Context(), question)
	var stopped *kit.StoppedError
	require.ErrorAs(t, err, &stopped)
	require.Equal(t, kit.FinishLength, stopped.Finish)
}

// Rule providers/Z3.
func TestAzure_DeploymentForAModel(t *testing.T) {
	req, _ := capture(t, func(c *Config) {
		c.BaseURL, c.Azure = "", &AzureConfig{
			Endpoint: "https://a.openai.azure.com", APIVersion: "2024-10-21",
			DeploymentFor: func(model string) string { return "deployed-" + model },
		}
	}, question, model.WithModel("other"))
	require.Contains(t, req.URL.Path, "/deployments/deployed-other/")
}

// Rule providers/K16.
func TestRequest_HistoriesThatNobodyAccepts(t *testing.T) {
	m := newModel(t, whole(okAnswer))
	for index, in := range map[int][]*schema.Message{
		0: {},
		1: {schema.UserMessage("a"), schema.ToolMessage("x", "1")},
		2: {schema.UserMessage("a"), callOf("1"), schema.UserMessage("b")},
		3: {schema.SystemMessage("s"), schema.UserMessage("a"), callOf("1"), schema.ToolMessage("x", "2")},
	} {
		_, err := m.Generate(t.Context(), in)
		var history *kit.HistoryError
		require.ErrorAs(t, err, &history)
		require.Equal(t, index, history.Index)
		require.ErrorIs(t, err, kit.ErrInvalid)
	}
	require.True(t, slices.IsSorted([]int{0, 1}))
}
