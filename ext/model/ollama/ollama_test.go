package ollama

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/catalogue"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/ext/model/kit/kittest"
	"github.com/weftgo/weft/schema"
)

const testKey = "the-key-of-the-test"

var question = []*schema.Message{schema.UserMessage("question")}

func modelAt(t testing.TB, url string, change ...func(*Config)) *ChatModel {
	t.Helper()
	transport := new(http.Transport)
	t.Cleanup(transport.CloseIdleConnections)
	conf := &Config{BaseURL: url, Model: "m", HTTPClient: &http.Client{Transport: transport}}
	for _, c := range change {
		c(conf)
	}
	m, err := NewChatModel(t.Context(), conf)
	require.NoError(t, err)
	return m
}

func joined(t testing.TB, m *ChatModel, in []*schema.Message, opts ...model.Option) *schema.Message {
	t.Helper()
	sr, err := m.Stream(t.Context(), in, opts...)
	require.NoError(t, err)
	out, err := schema.ConcatMessageStream(sr)
	require.NoError(t, err)
	return out
}

var tools = []*schema.ToolInfo{{
	Name: "look", Desc: "Looks.",
	ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{
		"list": {Type: schema.Array, ElemInfo: &schema.ParameterInfo{Type: schema.String}},
	}),
}}

const done = `"done":true,"done_reason":"stop","prompt_eval_count":9,"eval_count":4}`

// toolTurn is an answer that thinks and calls the tool twice, streamed and whole.
var (
	toolTurn = kittest.NDJSON(
		`{"model":"m","created_at":"1","message":{"role":"assistant","content":"","thinking":"h"},"done":false}`,
		`{"model":"m","created_at":"2","message":{"role":"assistant","content":"","thinking":"m"},"done":false}`,
		`{"model":"m","created_at":"3","message":{"role":"assistant","content":"Lo"},"done":false}`,
		`{"model":"m","created_at":"4","message":{"role":"assistant","content":"ok"},"done":false}`,
		`{"model":"m","created_at":"5","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"look","arguments":{"n":1}}},{"function":{"name":"look","arguments":{"n":9007199254740993}}}]},"done":false}`,
		`{"model":"m","created_at":"6","message":{"role":"assistant","content":""},`+done)
	wholeTurn = kittest.JSON(`{"model":"m","message":{"role":"assistant","content":"Look","thinking":"hm","tool_calls":[{"function":{"name":"look","arguments":{"n":1}}},{"function":{"name":"look","arguments":{"n":9007199254740993}}}]},` + done)
)

// Rules providers/O2, providers/O3, providers/K23.
func TestAnswer_StreamedAndWholeAreEqual(t *testing.T) {
	server := kittest.Server(t, kittest.Ollama(), toolTurn, wholeTurn)
	m := modelAt(t, server.URL, func(c *Config) { c.Thinking = ThinkingOn })
	streamed := joined(t, m, question, model.WithTools(tools))
	whole, err := m.Generate(t.Context(), question, model.WithTools(tools))
	require.NoError(t, err)
	for _, got := range []*schema.Message{streamed, whole} {
		require.Equal(t, "Look", got.Content)
		require.Equal(t, "hm", got.ReasoningContent)
		require.Len(t, got.ToolCalls, 2)
		require.Equal(t, `{"n":9007199254740993}`, got.ToolCalls[1].Function.Arguments, "digits are kept")
		require.NotEqual(t, got.ToolCalls[0].ID, got.ToolCalls[1].ID)
		require.NotEmpty(t, got.ToolCalls[0].ID)
		require.Equal(t, &schema.TokenUsage{PromptTokens: 9, CompletionTokens: 4, TotalTokens: 13}, got.ResponseMeta.Usage)
		require.Equal(t, "m", got.ResponseMeta.Model)
		require.Equal(t, kit.FinishToolCalls, kit.FinishOf(got))
	}
	require.Equal(t, whole.Extra, streamed.Extra)
	var sent map[string]any
	require.NoError(t, json.Unmarshal(server.Requests()[0].Body, &sent))
	require.Equal(t, true, sent["think"])
	require.Equal(t, true, sent["stream"])
	require.Contains(t, string(server.Requests()[0].Body), `"items":{"type":"string"}`, "arrays keep their items")

	// The turn continues, and the next request is one that the server takes.
	server.Add(kittest.OllamaStream("done"))
	history := append(question, streamed,
		schema.ToolMessage("a", streamed.ToolCalls[0].ID), schema.ToolMessage("", streamed.ToolCalls[1].ID))
	require.Equal(t, "done", joined(t, m, history, model.WithTools(tools)).Content)
	last := string(server.Requests()[2].Body)
	require.Contains(t, last, `"thinking":"hm"`)
	require.Contains(t, last, `"tool_name":"look"`)
	require.NotContains(t, last, streamed.ToolCalls[0].ID, "an ID that was made up is not sent")
}

func TestRequest_EverySetting(t *testing.T) {
	server := kittest.Server(t, kittest.Ollama(), kittest.Always(kittest.OllamaStream("ok")))
	hour := time.Hour
	m := modelAt(t, server.URL, func(c *Config) {
		c.Options = Options{
			NumCtx: 16384, NumPredict: 5, Temperature: new(float32(0.5)), TopP: new(float32(0.9)), TopK: 40,
			MinP: new(float32(0.1)), RepeatPenalty: new(float32(1.5)), Seed: new(0), Stop: []string{"x"},
			More: map[string]any{"num_gpu": 1},
		}
		c.KeepAlive, c.Format, c.Thinking = &hour, json.RawMessage(`{"type":"object"}`), ThinkingHigh
		c.APIKey, c.ExtraFields = testKey, map[string]any{"truncate": false}
	})
	image := schema.MessageInputPart{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{
		MessagePartCommon: schema.MessagePartCommon{Base64Data: new("iVBORw0KGgo=")},
	}}
	joined(t, m, []*schema.Message{schema.SystemMessage("s"),
		{Role: schema.User, Content: "q", UserInputMultiContent: []schema.MessageInputPart{image}}}, model.WithMaxTokens(7))
	require.JSONEq(t, `{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"q","images":["iVBORw0KGgo="]}],
		"stream":true,"format":{"type":"object"},"think":"high","keep_alive":"3600s","truncate":false,
		"options":{"num_ctx":16384,"num_predict":7,"temperature":0.5,"top_p":0.9,"top_k":40,"min_p":0.1,"repeat_penalty":1.5,
		"seed":0,"stop":["x"],"num_gpu":1}}`, string(server.Requests()[0].Body))
	require.Equal(t, "Bearer "+testKey, server.Requests()[0].Header.Get("Authorization"))
	_, err := m.Generate(t.Context(), question, WithThinking(ThinkingOff), WithOptions(Options{}), WithFormat(nil),
		WithExtraFields(map[string]any{"truncate": nil}), WithExtraHeaders(map[string]string{"A": "b"}),
		WithRequestModifier(func(_ context.Context, body []byte) ([]byte, error) {
			return append(body[:len(body)-1], `,"shift":true}`...), nil
		}))
	require.NoError(t, err)
	require.JSONEq(t, `{"model":"m","messages":[{"role":"user","content":"question"}],"stream":false,"think":false,
		"keep_alive":"3600s","shift":true}`, string(server.Requests()[1].Body))
	require.Equal(t, "b", server.Requests()[1].Header.Get("A"))
	require.Equal(t, "-1s", keepAlive(-1))
}

func TestRequest_WhatTheServerCannotDoIsAnErrorHere(t *testing.T) {
	m := modelAt(t, "http://127.0.0.1:1")
	url := schema.MessageInputPart{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{
		MessagePartCommon: schema.MessagePartCommon{URL: new("https://i")},
	}}
	for want, call := range map[string]func() error{
		"cannot be forced": func() error {
			_, err := m.Generate(t.Context(), question, model.WithTools(tools), model.WithToolChoice(schema.ToolChoiceForced))
			return err
		},
		"tool search": func() error {
			_, err := m.Generate(t.Context(), question, model.WithToolSearchTool(tools[0]))
			return err
		},
		"Base64Data": func() error {
			_, err := m.Generate(t.Context(), []*schema.Message{{Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{url}}})
			return err
		},
		"Thinking is": func() error { _, err := m.Generate(t.Context(), question, WithThinking("x")); return err },
		"has no result": func() error {
			_, err := m.Generate(t.Context(), []*schema.Message{question[0], schema.AssistantMessage("", []schema.ToolCall{{ID: "1"}})})
			return err
		},
	} {
		err := call()
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "ollama: ")
	}
}

// Rules providers/O3, providers/K18, providers/K20.
func TestStream_EndsAndErrors(t *testing.T) {
	text := `{"model":"m","message":{"role":"assistant","content":"a"},"done":false}`
	for name, c := range map[string]struct {
		lines []string
		check func(*testing.T, error)
	}{
		"no end": {[]string{text}, func(t *testing.T, err error) { require.True(t, kit.IsRetryable(err), err) }},
		"error behind 200": {[]string{text, `{"error":"model runner has unexpectedly stopped"}`}, func(t *testing.T, err error) {
			var api *kit.APIError
			require.ErrorAs(t, err, &api)
			require.Equal(t, "model runner has unexpectedly stopped", api.Message)
		}},
		"nothing but thinking": {[]string{`{"message":{"thinking":"h"},"done":true,"done_reason":"length"}`}, func(t *testing.T, err error) {
			var stopped *kit.StoppedError
			require.ErrorAs(t, err, &stopped)
			require.Equal(t, kit.FinishLength, stopped.Finish)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			server := kittest.Server(t, nil, kittest.Always(kittest.NDJSON(c.lines...)))
			sr, err := modelAt(t, server.URL).Stream(t.Context(), question)
			require.NoError(t, err)
			_, err = schema.ConcatMessageStream(sr)
			require.Error(t, err)
			c.check(t, err)
		})
	}
	server := kittest.Server(t, nil, kittest.Status(404, `{"error":"model 'm' not found"}`))
	_, err := modelAt(t, server.URL).Generate(t.Context(), question)
	require.ErrorIs(t, err, kit.ErrNotFound)
	require.EqualError(t, err, "ollama: status 404: model 'm' not found")
}

func TestStream_SurvivesEveryMisbehaviour(t *testing.T) {
	kittest.RunMisbehaviours(t, kittest.OllamaStream("Grü", "ß", "e"), func(ctx context.Context, url string) (text string, err error) {
		transport := new(http.Transport)
		defer transport.CloseIdleConnections()
		idle := 300 * time.Millisecond
		m, err := NewChatModel(ctx, &Config{BaseURL: url, Model: "m", HTTPClient: &http.Client{Transport: transport}, IdleTimeout: &idle})
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

// Rule providers/O4.
func TestAnswer_SaysThatTheContextIsFull(t *testing.T) {
	answer := kittest.JSON(`{"message":{"content":"a"},"done":true,"done_reason":"length","prompt_eval_count":4000,"eval_count":96}`)
	server := kittest.Server(t, nil, kittest.Always(answer))
	got, err := modelAt(t, server.URL, func(c *Config) { c.Options.NumCtx = 4096 }).Generate(t.Context(), question)
	require.NoError(t, err)
	require.Equal(t, "true", got.Extra[ContextFullKey])
	got, err = modelAt(t, server.URL, func(c *Config) { c.Options.NumCtx = 8192 }).Generate(t.Context(), question)
	require.NoError(t, err)
	require.NotContains(t, got.Extra, ContextFullKey)
}

// Rule providers/P4.
func TestDescribe(t *testing.T) {
	server := kittest.Server(t, nil, kittest.Always(kittest.JSON(
		`{"capabilities":["completion","thinking","vision"],"model_info":{"general.architecture":"qwen3","qwen3.context_length":40960}}`)))
	agentic, err := NewAgenticModel(t.Context(), &Config{BaseURL: server.URL, Model: "m",
		HTTPClient: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}})
	require.NoError(t, err)
	for _, d := range []kit.Describer{modelAt(t, server.URL), agentic} {
		info, err := d.Describe(t.Context())
		require.NoError(t, err)
		require.Equal(t, catalogue.ModelInfo{
			ContextWindow: 40960, Capabilities: catalogue.Capabilities{Reasoning: true, Images: true},
		}, info)
	}
}

// Rules providers/K1, providers/K2, providers/K5.
func TestConfig_FaultsEnvironmentAndSecrets(t *testing.T) {
	_, err := NewChatModel(t.Context(), &Config{
		BaseURL: "x", APIKey: "a", TokenSource: func(context.Context) (string, error) { return "", nil }, Thinking: "x",
		Format: json.RawMessage("{"), Timeout: -1, Options: Options{NumCtx: -1}, ForeignThinking: "x",
	})
	for _, want := range []string{"BaseURL", "Model", "APIKey", "Thinking", "Format", "Timeout", "NumCtx", "ForeignThinking"} {
		require.ErrorContains(t, err, want)
	}
	_, err = NewChatModel(t.Context(), nil)
	require.EqualError(t, err, "ollama: config is nil")

	kittest.PoisonEnv(t)
	t.Setenv("OLLAMA_HOST", "http://192.0.2.1")
	kittest.NoLog(t)
	server := kittest.Server(t, kittest.Ollama(), kittest.OllamaStream("ok"))
	m := modelAt(t, server.URL, func(c *Config) { c.APIKey = testKey })
	require.Equal(t, "ok", joined(t, m, question).Content)
	conf := Config{APIKey: testKey, Model: "m", Headers: map[string]string{"Authorization": testKey}}
	kittest.NoSecrets(t, testKey, conf, &conf, m, m.Engine())
	require.Equal(t, `Ollama model "m" at 127.0.0.1`, fmt.Sprint(m))
	require.Equal(t, "ollama", m.Provider())
}

func TestStream_ClosedReaderEndsTheRequest(t *testing.T) {
	gone := make(chan struct{})
	server := kittest.Server(t, nil, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(gone)
		fmt.Fprintln(w, `{"message":{"content":"a"},"done":false}`)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	sr, err := modelAt(t, server.URL).Stream(t.Context(), question)
	require.NoError(t, err)
	_, err = sr.Recv()
	require.NoError(t, err)
	sr.Close()
	<-gone
}

func FuzzStream(f *testing.F) {
	f.Add(string(toolTurn.Bytes()))
	f.Add(`{"message":{"tool_calls":[{"function":{"name":"f","arguments":"x"}},{}]},"done":true}`)
	f.Add(`{"error":{"a":1}}`)
	f.Fuzz(func(t *testing.T, body string) {
		m := modelAt(t, "http://server.test", func(c *Config) {
			c.MaxRetries = new(0)
			c.HTTPClient = &http.Client{Transport: answering(body)}
		})
		sr, err := m.Stream(t.Context(), question)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := schema.ConcatMessageStream(sr)
		if err != nil {
			return
		}
		history := []*schema.Message{question[0], answer}
		for _, call := range answer.ToolCalls {
			history = append(history, schema.ToolMessage("", call.ID))
		}
		sent, err := m.engine.newCall(true, nil).body(t.Context(), history)
		var historyError *kit.HistoryError
		if !errors.As(err, &historyError) && (err != nil || !json.Valid(sent)) {
			t.Fatalf("%v: %s", err, sent)
		}
	})
}

// answering is a transport whose responses have this body.
type answering string

func (body answering) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/x-ndjson"}}, Request: req,
		Body: io.NopCloser(strings.NewReader(string(body))), ContentLength: -1,
	}, nil
}

// TestLive asks a real server: WEFT_LIVE_OLLAMA is the name of a model that knows tools, WEFT_LIVE_OLLAMA_URL its address.
func TestLive(t *testing.T) {
	name := os.Getenv("WEFT_LIVE_OLLAMA")
	if name == "" {
		t.Skip("set WEFT_LIVE_OLLAMA to the name of a model to talk to Ollama")
	}
	m := modelAt(t, os.Getenv("WEFT_LIVE_OLLAMA_URL"), func(c *Config) { c.Model, c.Options.NumCtx = name, 8192 })
	info, err := m.Describe(t.Context())
	require.NoError(t, err)
	require.NotZero(t, info.ContextWindow)
	got := joined(t, m, []*schema.Message{schema.UserMessage("Say hello.")})
	require.NotEmpty(t, got.Content)
	require.NotZero(t, got.ResponseMeta.Usage.TotalTokens)
	got = joined(t, m, []*schema.Message{schema.UserMessage("Look at the list [\"a\"] with the tool.")}, model.WithTools(tools))
	t.Log(got)
}
