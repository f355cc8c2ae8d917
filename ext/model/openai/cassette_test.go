package openai_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/eino-contrib/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/ext/model/kit/kittest"
	"github.com/weftgo/weft/ext/model/openai"
	"github.com/weftgo/weft/schema"
)

// eachRecording runs test for every recorded conversation with a Chat Completions server.
func eachRecording(t *testing.T, test func(t *testing.T, load func() *kittest.Cassette)) {
	for _, r := range kittest.Cassettes(t, "openai-chat", "openai-compatible", "openrouter", "images") {
		if strings.HasSuffix(r.Load(t).Interactions[0].Request.URL, "/chat/completions") { // and no other API
			t.Run(r.Name, func(t *testing.T) { test(t, func() *kittest.Cassette { return r.Load(t) }) })
		}
	}
}

// A recorded request, as far as it says how to make the same one.
type recordedRequest struct {
	Model               string
	Messages            []map[string]any
	Stream              bool
	MaxTokens           *int           `json:"max_tokens"`
	MaxCompletionTokens *int           `json:"max_completion_tokens"`
	ReasoningEffort     string         `json:"reasoning_effort"`
	Usage               map[string]any // OpenRouter
	Tools               []struct {
		Function struct {
			Name, Description string
			Parameters        *jsonschema.Schema
		}
	}
	ResponseFormat *struct {
		Type       string
		JSONSchema *openai.ResponseSchema `json:"json_schema"`
	} `json:"response_format"`
}

func parseRequest(t *testing.T, i *kittest.Interaction) (r recordedRequest) {
	require.NoError(t, json.Unmarshal([]byte(i.Request.Body), &r))
	return r
}

// replayed returns a model that is configured as the recorded client was.
func replayed(t *testing.T, c *kittest.Cassette) *openai.ChatModel {
	r := parseRequest(t, c.Interactions[0])
	conf := &openai.Config{
		APIKey:          "the-key-of-the-test",
		BaseURL:         strings.TrimSuffix(c.Interactions[0].Request.URL, "/chat/completions"),
		HTTPClient:      &http.Client{Transport: c},
		MaxRetries:      new(int),
		Model:           r.Model,
		MaxTokens:       r.MaxTokens,
		MaxTokensField:  openai.MaxTokensFieldMaxTokens,
		ReasoningEffort: r.ReasoningEffort,
	}
	if r.MaxCompletionTokens != nil {
		conf.MaxTokens, conf.MaxTokensField = r.MaxCompletionTokens, openai.MaxTokensFieldMaxCompletionTokens
	}
	if r.Usage != nil {
		conf.ExtraFields = map[string]any{"usage": r.Usage}
	}
	if f := r.ResponseFormat; f != nil {
		conf.ResponseFormat = &openai.ResponseFormat{Type: f.Type, JSONSchema: f.JSONSchema}
	}
	m, err := openai.NewChatModel(t.Context(), conf)
	require.NoError(t, err)
	return m
}

func (r *recordedRequest) toolInfos() (infos []*schema.ToolInfo) {
	for _, tool := range r.Tools {
		infos = append(infos, &schema.ToolInfo{
			Name: tool.Function.Name, Desc: tool.Function.Description,
			ParamsOneOf: schema.NewParamsOneOfByJSONSchema(tool.Function.Parameters),
		})
	}
	return infos
}

// input returns the messages that are not of the model.
func (r *recordedRequest) input(t *testing.T) (messages []*schema.Message) {
	for _, recorded := range r.Messages {
		m := &schema.Message{Role: schema.RoleType(recorded["role"].(string))}
		m.ToolCallID, _ = recorded["tool_call_id"].(string)
		switch content := recorded["content"].(type) {
		case string:
			m.Content = content
		case []any:
			for _, part := range content {
				m.UserInputMultiContent = append(m.UserInputMultiContent, inputPart(t, part.(map[string]any)))
			}
		}
		if m.Role != schema.Assistant {
			messages = append(messages, m)
		}
	}
	return messages
}

func inputPart(t *testing.T, part map[string]any) schema.MessageInputPart {
	if part["type"] == "text" {
		return schema.MessageInputPart{Type: schema.ChatMessagePartTypeText, Text: part["text"].(string)}
	}
	url := part["image_url"].(map[string]any)["url"].(string)
	mimeType, data, ok := strings.Cut(strings.TrimPrefix(url, "data:"), ";base64,")
	require.True(t, ok)
	return schema.MessageInputPart{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{
		MessagePartCommon: schema.MessagePartCommon{Base64Data: &data, MIMEType: mimeType},
	}}
}

// What the recorded response says, read in the simplest way.
type recordedAnswer struct {
	id, model, text, reasoning, finish string
	calls                              []schema.ToolCall
	prompt, completion, total          int
	cached, thought                    int
}

func parseAnswer(t *testing.T, i *kittest.Interaction) *recordedAnswer {
	a := new(recordedAnswer)
	if !strings.Contains(string(i.Response.Body), "data: ") {
		a.add(t, string(i.Response.Body))
		return a
	}
	for line := range strings.Lines(string(i.Response.Body)) {
		if data, ok := strings.CutPrefix(line, "data: "); ok && !strings.HasPrefix(data, "[DONE]") {
			a.add(t, data)
		}
	}
	return a
}

func (a *recordedAnswer) add(t *testing.T, data string) {
	type object = map[string]any
	var o object
	require.NoError(t, json.Unmarshal([]byte(data), &o))
	get := func(o object, keys ...string) any {
		for _, key := range keys[:len(keys)-1] {
			o, _ = o[key].(object)
		}
		return o[keys[len(keys)-1]]
	}
	text := func(into *string, v any) {
		if v, ok := v.(string); ok && v != "" {
			*into = v
		}
	}
	number := func(into *int, v any) {
		if v, ok := v.(float64); ok {
			*into = int(v)
		}
	}
	text(&a.id, o["id"])
	text(&a.model, o["model"])
	number(&a.prompt, get(o, "usage", "prompt_tokens"))
	number(&a.completion, get(o, "usage", "completion_tokens"))
	number(&a.total, get(o, "usage", "total_tokens"))
	number(&a.cached, get(o, "usage", "prompt_tokens_details", "cached_tokens"))
	number(&a.thought, get(o, "usage", "completion_tokens_details", "reasoning_tokens"))
	for _, c := range o["choices"].([]any) {
		choice := c.(object)
		text(&a.finish, choice["finish_reason"])
		m, ok := choice["delta"].(object)
		if !ok {
			m = choice["message"].(object)
		}
		var content, thought string
		text(&content, m["content"])
		text(&thought, m["reasoning"])
		text(&thought, m["reasoning_content"])
		a.text, a.reasoning = a.text+content, a.reasoning+thought
		calls, _ := m["tool_calls"].([]any)
		for n, c := range calls {
			call := c.(object)
			if i, ok := call["index"].(float64); ok {
				n = int(i)
			}
			for len(a.calls) <= n {
				a.calls = append(a.calls, schema.ToolCall{})
			}
			text(&a.calls[n].ID, call["id"])
			text(&a.calls[n].Type, call["type"])
			text(&a.calls[n].Function.Name, get(call, "function", "name"))
			var args string
			text(&args, get(call, "function", "arguments"))
			a.calls[n].Function.Arguments += args
		}
	}
}

// require compares a message with what was recorded.
func (a *recordedAnswer) require(t *testing.T, m *schema.Message) {
	t.Helper()
	require.Equal(t, schema.Assistant, m.Role)
	require.Equal(t, a.text, m.Content)
	require.Equal(t, a.reasoning, m.ReasoningContent)
	require.Equal(t, a.finish, m.ResponseMeta.FinishReason)
	info := openai.GetResponseInfo(m)
	require.Equal(t, a.id, info.ID)
	require.NotEmpty(t, info.Model)

	require.Len(t, m.ToolCalls, len(a.calls))
	for n, call := range m.ToolCalls {
		call.Index = nil
		require.Equal(t, a.calls[n], call)
	}

	completion := a.completion
	if a.prompt+completion < a.total { // reasoning is counted aside
		completion += a.thought
	}
	require.Equal(t, &schema.TokenUsage{
		PromptTokens: a.prompt, CompletionTokens: completion, TotalTokens: a.total,
		PromptTokenDetails:      schema.PromptTokenDetails{CachedTokens: a.cached},
		CompletionTokensDetails: schema.CompletionTokensDetails{ReasoningTokens: a.thought},
	}, m.ResponseMeta.Usage)
	require.NotZero(t, a.total)
}

// requireSent compares a request with the recorded one, but for what means the same.
func requireSent(t *testing.T, i *kittest.Interaction, sent []byte) {
	t.Helper()
	require.Equal(t, meaning(t, []byte(i.Request.Body)), meaning(t, sent))
}

func meaning(t *testing.T, body []byte) map[string]any {
	var o map[string]any
	require.NoError(t, json.Unmarshal(body, &o))
	if o["tool_choice"] == "auto" {
		delete(o, "tool_choice")
	}
	tools, _ := o["tools"].([]any)
	for _, tool := range tools {
		function := tool.(map[string]any)["function"].(map[string]any)
		if function["strict"] == false {
			delete(function, "strict")
		}
	}
	for _, m := range o["messages"].([]any) {
		for _, c := range toolCallsOf(m.(map[string]any)) {
			function := c.(map[string]any)["function"].(map[string]any)
			var args any
			require.NoError(t, json.Unmarshal([]byte(function["arguments"].(string)), &args))
			function["arguments"] = args
		}
	}
	return o
}

func toolCallsOf(m map[string]any) []any {
	calls, _ := m["tool_calls"].([]any)
	return calls
}

// Rules providers/K18, providers/K23.
func TestCassettes(t *testing.T) {
	conversations, runs := 0, 0
	eachRecording(t, func(t *testing.T, load func() *kittest.Cassette) {
		conversations++
		t.Run("model", func(t *testing.T) { replayModel(t, load()) })
		t.Run("split", func(t *testing.T) {
			for seed := range uint64(3) {
				replayModel(t, load().With(kittest.Split(seed)))
			}
			replayModel(t, load().With(kittest.CRLF(), kittest.Split(9)))
		})
		t.Run("cut", func(t *testing.T) { replayCut(t, load()) })
		if c := load(); len(parseRequest(t, c.Interactions[0]).Tools) > 0 {
			runs++
			t.Run("agent", func(t *testing.T) { replayAgent(t, c) })
		}
	})
	require.NotZero(t, conversations)
	require.NotZero(t, runs)
}

// replayModel leads the recorded conversation with the model.
func replayModel(t *testing.T, c *kittest.Cassette) {
	m := replayed(t, c)
	var history []*schema.Message
	for n, i := range c.Interactions {
		r := parseRequest(t, i)
		given := r.input(t)
		history = append(history, given[inputCount(history):]...)
		answer := ask(t, m, history, r.Stream, model.WithTools(r.toolInfos()))
		requireSent(t, i, c.Sent()[n])
		parseAnswer(t, i).require(t, answer)
		history = append(history, answer)
	}
	require.NoError(t, c.Finished())
}

// replayCut asks the first question and has the answer cut behind every event. Only behind the finish reason that is no
// error.
func replayCut(t *testing.T, c *kittest.Cassette) {
	first := c.Interactions[0]
	r := parseRequest(t, first)
	if !r.Stream {
		return
	}
	finished := false
	for n, event := range first.Events() {
		finished = finished || bytes.Contains(event, []byte(`"finish_reason":"`)) || bytes.Contains(event, []byte("[DONE]"))
		sr, err := replayed(t, c.With(kittest.Cut(n+1))).Stream(t.Context(), r.input(t), model.WithTools(r.toolInfos()))
		if err == nil {
			_, err = schema.ConcatMessageStream(sr)
		}
		if finished {
			require.NoError(t, err, "event %d", n)
		} else {
			require.ErrorIs(t, err, io.ErrUnexpectedEOF, "event %d", n)
		}
	}
	require.True(t, finished)
}

// inputCount counts the messages that are not of the model.
func inputCount(history []*schema.Message) (n int) {
	for _, m := range history {
		if m.Role != schema.Assistant {
			n++
		}
	}
	return n
}

func ask(t *testing.T, m model.BaseChatModel, in []*schema.Message, stream bool, opts ...model.Option) *schema.Message {
	t.Helper()
	if !stream {
		answer, err := m.Generate(t.Context(), in, opts...)
		require.NoError(t, err)
		return answer
	}
	sr, err := m.Stream(t.Context(), in, opts...)
	require.NoError(t, err)
	answer, err := schema.ConcatMessageStream(sr)
	require.NoError(t, err)
	return answer
}

type numbers struct{ A, B int }

// results computes what the tools of the recordings return.
var results = map[string]func(info *schema.ToolInfo) tool.BaseTool{
	"add": func(info *schema.ToolInfo) tool.BaseTool {
		return utils.NewTool(info, func(_ context.Context, n numbers) (int, error) { return n.A + n.B, nil })
	},
	"multiply": func(info *schema.ToolInfo) tool.BaseTool {
		return utils.NewTool(info, func(_ context.Context, n numbers) (int, error) { return n.A * n.B, nil })
	},
	"weather": func(info *schema.ToolInfo) tool.BaseTool {
		return utils.NewTool(info, func(_ context.Context, q struct{ Location string }) (string, error) {
			if !strings.Contains(q.Location, "Florence") {
				return "", fmt.Errorf("no weather in %q", q.Location)
			}
			return "40 C", nil
		})
	},
}

// replayAgent gives the recorded question to an agent, whose tools compute.
func replayAgent(t *testing.T, c *kittest.Cassette) {
	first := parseRequest(t, c.Interactions[0])
	var tools []tool.BaseTool
	for _, info := range first.toolInfos() {
		tools = append(tools, results[info.Name](info))
	}
	input := first.input(t)
	require.Len(t, input, 2)
	agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{
		Name:        "assistant",
		Instruction: input[0].Content,
		Model:       replayed(t, c),
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: tools}},
	})
	require.NoError(t, err)
	runner := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent, EnableStreaming: first.Stream})

	var answers []*schema.Message
	for event := range runner.Query(t.Context(), input[1].Content).All() {
		require.NoError(t, event.Err)
		m, err := event.Output.MessageOutput.GetMessage()
		require.NoError(t, err)
		if m.Role == schema.Assistant {
			answers = append(answers, m)
		}
	}
	require.NoError(t, c.Finished())
	require.Len(t, answers, len(c.Interactions))
	for n, i := range c.Interactions {
		requireSent(t, i, c.Sent()[n])
		parseAnswer(t, i).require(t, answers[n])
	}
}
