package openai

import (
	"io"
	"math"
	"testing"

	"github.com/eino-contrib/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
)

// fullConfig sets everything that goes into the body of a request.
func fullConfig(c *Config) {
	c.Model = "gpt-x"
	c.MaxTokens = new(100)
	c.Temperature, c.TopP = new(float32(0.7)), new(float32(0.9))
	c.Stop = []string{"END"}
	c.Seed = new(0)
	c.PresencePenalty, c.FrequencyPenalty = new(float32(0.1)), new(float32(-2))
	c.LogitBias = map[string]int{"50256": -100}
	c.LogProbs, c.TopLogProbs = true, 2
	c.User = "user-1"
	c.Metadata = map[string]string{"k": "<v>"}
	c.ServiceTier = "flex"
	c.ReasoningEffort = "low"
	c.Verbosity = "high"
	c.ParallelToolCalls = new(false)
	c.ResponseFormat = JSONObject()
	c.ExtraFields = map[string]any{"z": 1, "a": map[string]any{"b": true}}
}

func rawBody(t *testing.T, change func(*Config), in []*schema.Message, opts ...model.Option) string {
	req, _ := capture(t, change, in, opts...)
	body, err := io.ReadAll(req.Body)
	require.NoError(t, err)
	return string(body)
}

func TestRequest_Everything(t *testing.T) {
	want := `{"model":"gpt-x","messages":[{"role":"user","content":"question"}],` +
		`"tools":[{"type":"function","function":{"name":"now","parameters":{"type":"object","properties":{}}}}],"parallel_tool_calls":false,` +
		`"max_tokens":100,"temperature":0.7,"top_p":0.9,"stop":["END"],"seed":0,"presence_penalty":0.1,"frequency_penalty":-2,` +
		`"logit_bias":{"50256":-100},"logprobs":true,"top_logprobs":2,"verbosity":"high",` +
		`"response_format":{"type":"json_object"},"reasoning_effort":"low","user":"user-1","metadata":{"k":"<v>"},"service_tier":"flex","a":{"b":true},"z":1}`
	for range 10 { // always the same bytes
		require.Equal(t, want, rawBody(t, fullConfig, question, model.WithTools([]*schema.ToolInfo{{Name: "now"}})))
	}
}

func TestRequest_OptionsOfTheCall(t *testing.T) {
	_, body := capture(t, fullConfig, question,
		model.WithModel("gpt-y"), model.WithTemperature(0), model.WithTopP(0.5), model.WithMaxTokens(5),
		model.WithStop([]string{"X"}),
		WithSeed(3), WithUser("user-2"), WithMetadata(nil), WithServiceTier(""), WithReasoningEffort("high"),
		WithVerbosity("low"),
		WithParallelToolCalls(true), WithResponseFormat(nil), WithLogProbs(0),
		WithExtraFields(map[string]any{"z": 2, "top_p": 0.25}), WithExtraFields(map[string]any{"a": nil, "stop": nil}),
		model.WithTools([]*schema.ToolInfo{{Name: "now"}}))
	delete(body, "messages")
	delete(body, "tools")
	require.Equal(t, map[string]any{
		"model": "gpt-y", "temperature": 0., "top_p": 0.25, "max_tokens": 5., "seed": 3., "user": "user-2",
		"reasoning_effort": "high", "verbosity": "low", "parallel_tool_calls": true, "logprobs": true,
		"presence_penalty": 0.1, "frequency_penalty": -2., "logit_bias": map[string]any{"50256": -100.}, "z": 2.,
	}, body)
}

func TestRequest_OptionsLeaveTheModelAsItIs(t *testing.T) {
	var before, after string
	m := newModel(t, whole(`{"choices":[{"message":{}}]}`), fullConfig)
	body := func() string {
		data, err := engineOf(m).newCall(false, nil).body(t.Context(), question)
		require.NoError(t, err)
		return string(data)
	}
	before = body()
	_, err := m.Generate(t.Context(), question, WithExtraFields(map[string]any{"a": nil}), model.WithTemperature(2),
		WithSeed(9))
	require.NoError(t, err)
	after = body()
	require.Equal(t, before, after)
}

func TestRequest_Minimal(t *testing.T) {
	require.Equal(t, `{"model":"m","messages":[{"role":"user","content":"question"}]}`, rawBody(t, unchanged, question))
}

func TestRequest_JSONSchema(t *testing.T) {
	s := &jsonschema.Schema{Type: "object", Required: []string{"a"}}
	_, body := capture(t, unchanged, question, WithResponseFormat(JSONSchema("answer", s)))
	require.Equal(t, map[string]any{
		"type": "json_schema",
		"json_schema": map[string]any{
			"name": "answer", "strict": true,
			"schema": map[string]any{"type": "object", "required": []any{"a"}},
		},
	}, body["response_format"])
}

func TestRequest_StreamOptions(t *testing.T) {
	for name, c := range map[string]struct {
		options *StreamOptions
		want    any
	}{
		"default": {nil, map[string]any{"include_usage": true}},
		"none":    {&StreamOptions{}, nil},
		"no obfuscation": {&StreamOptions{IncludeUsage: true, IncludeObfuscation: new(false)},
			map[string]any{"include_usage": true, "include_obfuscation": false}},
	} {
		m := newModel(t, streaming(""), func(conf *Config) { conf.StreamOptions = c.options })
		data, err := engineOf(m).newCall(true, nil).body(t.Context(), question)
		require.NoError(t, err)
		body := decoded(t, data)
		require.Equal(t, true, body["stream"], name)
		require.Equal(t, c.want, body["stream_options"], name)
	}
}

func TestRequest_BadOptionsAreErrorsOfTheCall(t *testing.T) {
	m := newModel(t, whole(`{"choices":[{"message":{}}]}`))
	for want, opt := range map[string]model.Option{
		"MaxTokens must be positive":                    model.WithMaxTokens(0),
		"ResponseFormat.Type":                           WithResponseFormat(&ResponseFormat{}),
		"TopLogProbs":                                   WithLogProbs(-1),
		`encode the request: field "a"`:                 WithExtraFields(map[string]any{"a": math.Inf(1)}),
		`encode the request: field "temperature": json`: model.WithTemperature(float32(math.NaN())),
	} {
		_, err := m.Generate(t.Context(), question, opt)
		require.ErrorContains(t, err, want)
		_, err = m.Stream(t.Context(), question, opt)
		require.ErrorContains(t, err, want)
	}
}

func BenchmarkRequest(b *testing.B) {
	m := newModel(b, streaming(""))
	history := []*schema.Message{schema.SystemMessage("You are helpful.")}
	for range 25 {
		history = append(history,
			schema.AssistantMessage("", []schema.ToolCall{{ID: "1",
				Function: schema.FunctionCall{Name: "f", Arguments: `{"a":1}`}}}),
			schema.ToolMessage("the result", "1"))
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := engineOf(m).newCall(true, nil).body(b.Context(), history); err != nil {
			b.Fatal(err)
		}
	}
}
