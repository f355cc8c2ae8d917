package gemini_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/ext/model/gemini"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/ext/model/kit/kittest"
	"github.com/weftgo/weft/schema"
)

const testKey = "the-key-of-the-test"

// object is decoded JSON.
type object = map[string]any

// A recordedRequest is what a recorded client sent, as far as it says how to make the same request.
type recordedRequest struct {
	Contents []struct {
		Role  string
		Parts []recordedPart
	}
	SystemInstruction struct{ Parts []recordedPart }
	Tools             []struct {
		FunctionDeclarations []struct {
			Name, Description string
			Parameters        json.RawMessage
		}
	}
	GenerationConfig struct {
		MaxOutputTokens    *int
		ResponseJSONSchema json.RawMessage `json:"responseJsonSchema"`
		ThinkingConfig     *struct {
			IncludeThoughts bool
			ThinkingBudget  *int32
			ThinkingLevel   string
		}
	}
}

type recordedPart struct {
	Text         string
	FunctionCall *struct {
		ID, Name string
		Args     json.RawMessage
	}
	FunctionResponse *struct {
		ID, Name string
		Response json.RawMessage
	}
	InlineData *struct{ MIMEType, Data string }
}

func parseRequest(t *testing.T, i *kittest.Interaction) (r recordedRequest) {
	require.NoError(t, json.Unmarshal(i.Request.Body, &r))
	return r
}

var recordedURL = regexp.MustCompile(
	`^(https://[^/]+/v1beta1?)/(?:projects/([^/]+)/locations/([^/]+)/publishers/google/)?models/([^:]+):(stream)?`)

// config returns the configuration that sends what the recorded client sent.
func config(t *testing.T, c *kittest.Cassette) *gemini.Config {
	i := c.Interactions[0]
	r := parseRequest(t, i)
	m := recordedURL.FindStringSubmatch(i.Request.URL)
	require.NotNil(t, m, i.Request.URL)
	conf := &gemini.Config{
		HTTPClient: &http.Client{Transport: c}, MaxRetries: new(int), Model: m[4],
		MaxTokens: r.GenerationConfig.MaxOutputTokens,
	}
	if m[2] == "" {
		conf.APIKey = testKey
	} else {
		conf.Project, conf.Location = m[2], m[3]
		conf.TokenSource = func(context.Context) (string, error) { return testKey, nil }
	}
	if s := r.GenerationConfig.ResponseJSONSchema; s != nil {
		conf.ResponseJSONSchema = s
	}
	if th := r.GenerationConfig.ThinkingConfig; th != nil {
		conf.ThinkingConfig = &gemini.ThinkingConfig{ThinkingBudget: th.ThinkingBudget, ThinkingLevel: th.ThinkingLevel}
	}
	return conf
}

func streams(i *kittest.Interaction) bool { return strings.Contains(i.Request.URL, ":stream") }

func (r *recordedRequest) tools(t *testing.T) (infos []*schema.ToolInfo) {
	for _, tools := range r.Tools {
		for _, f := range tools.FunctionDeclarations {
			infos = append(infos, &schema.ToolInfo{
				Name: f.Name, Desc: f.Description,
				ParamsOneOf: schema.NewParamsOneOfByRawJSON(bytes.ToLower(f.Parameters)),
			})
		}
	}
	return infos
}

// input returns the messages of a request that are not of the model, but for the results of tools.
func (r *recordedRequest) input() (messages []*schema.Message) {
	for _, p := range r.SystemInstruction.Parts {
		messages = append(messages, schema.SystemMessage(p.Text))
	}
	for _, c := range r.Contents {
		m := &schema.Message{Role: schema.User}
		for _, p := range c.Parts {
			switch {
			case c.Role != "user" || p.FunctionResponse != nil:
			case p.InlineData != nil:
				m.UserInputMultiContent = append(m.UserInputMultiContent, schema.MessageInputPart{
					Type: schema.ChatMessagePartTypeImageURL,
					Image: &schema.MessageInputImage{MessagePartCommon: schema.MessagePartCommon{
						Base64Data: &p.InlineData.Data, MIMEType: p.InlineData.MIMEType,
					}},
				})
			default:
				m.UserInputMultiContent = append(m.UserInputMultiContent, schema.MessageInputPart{
					Type: schema.ChatMessagePartTypeText, Text: p.Text,
				})
			}
		}
		if len(m.UserInputMultiContent) == 1 && m.UserInputMultiContent[0].Image == nil {
			m = schema.UserMessage(m.UserInputMultiContent[0].Text)
		}
		if m.Content != "" || len(m.UserInputMultiContent) > 0 {
			messages = append(messages, m)
		}
	}
	return messages
}

// results returns the results that a request adds to the calls of an answer.
func (r *recordedRequest) results(calls []schema.ToolCall) (messages []*schema.Message) {
	if len(r.Contents) == 0 {
		return nil
	}
	for _, p := range r.Contents[len(r.Contents)-1].Parts {
		if p.FunctionResponse != nil {
			var result struct{ Result string }
			_ = json.Unmarshal(p.FunctionResponse.Response, &result)
			messages = append(messages, schema.ToolMessage(result.Result, calls[len(messages)].ID,
				schema.WithToolName(p.FunctionResponse.Name)))
		}
	}
	return messages
}

// An answer is an independent reading of a recorded response.
type answer struct {
	text, thoughts, finish, id, model string
	calls                             []object // name, args, id, signature
	signatures                        []string // of everything, in order
	usage                             object
}

func parseAnswer(t *testing.T, i *kittest.Interaction) (a answer) {
	bodies := []string{string(i.Response.Body)}
	if streams(i) {
		bodies = nil
		for line := range strings.Lines(string(i.Response.Body)) {
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				bodies = append(bodies, data)
			}
		}
	}
	str := func(v any) string { text, _ := v.(string); return text }
	for _, body := range bodies {
		var e object
		require.NoError(t, json.Unmarshal([]byte(body), &e))
		a.id, a.model = str(e["responseId"]), str(e["modelVersion"])
		a.usage, _ = e["usageMetadata"].(object)
		candidate := e["candidates"].([]any)[0].(object)
		if reason := str(candidate["finishReason"]); reason != "" {
			a.finish = reason
		}
		content, _ := candidate["content"].(object)
		parts, _ := content["parts"].([]any)
		for _, p := range parts {
			part := p.(object)
			if s := str(part["thoughtSignature"]); s != "" {
				a.signatures = append(a.signatures, s)
			}
			if call, ok := part["functionCall"].(object); ok {
				a.calls = append(a.calls, object{
					"name": call["name"], "args": call["args"], "id": str(call["id"]),
					"signature": str(part["thoughtSignature"]),
				})
			} else if part["thought"] == true {
				a.thoughts += str(part["text"])
			} else {
				a.text += str(part["text"])
			}
		}
	}
	return a
}

func (a *answer) count(key string) int {
	n, _ := a.usage[key].(float64)
	return int(n)
}

// require compares the message that the adapter made with the recording.
func (a answer) require(t *testing.T, m *schema.Message, system string) {
	t.Helper()
	require.Equal(t, schema.Assistant, m.Role)
	require.Equal(t, a.text, m.Content)
	require.Equal(t, a.thoughts, m.ReasoningContent)
	require.Len(t, m.ToolCalls, len(a.calls))
	seen := map[string]bool{}
	for n, call := range m.ToolCalls {
		var args any
		require.NoError(t, json.Unmarshal([]byte(call.Function.Arguments), &args))
		require.Equal(t, a.calls[n]["name"], call.Function.Name)
		require.Equal(t, a.calls[n]["args"], args)
		if id := a.calls[n]["id"]; id != "" {
			require.Equal(t, id, call.ID)
		}
		require.NotEmpty(t, call.ID)
		require.False(t, seen[call.ID])
		seen[call.ID] = true
		signature, _ := gemini.GetThoughtSignatureFromExtra(call.Extra)
		require.Equal(t, a.calls[n]["signature"], signature)
	}
	require.Equal(t, a.signatures, signaturesOf(m))
	meta := m.ResponseMeta
	require.Equal(t, a.finish, meta.FinishReason)
	require.Equal(t, a.id, meta.ID)
	require.Equal(t, a.model, meta.Model)
	require.Equal(t, system, meta.Provider)
	require.Equal(t, &schema.TokenUsage{
		PromptTokens:            a.count("promptTokenCount"),
		PromptTokenDetails:      schema.PromptTokenDetails{CachedTokens: a.count("cachedContentTokenCount")},
		CompletionTokens:        a.count("candidatesTokenCount") + a.count("thoughtsTokenCount"),
		CompletionTokensDetails: schema.CompletionTokensDetails{ReasoningTokens: a.count("thoughtsTokenCount")},
		TotalTokens:             a.count("totalTokenCount"),
	}, meta.Usage)
	require.Empty(t, kit.CheckUsage(meta.Usage))
	want := kit.FinishStop
	if len(a.calls) > 0 {
		want = kit.FinishToolCalls
	}
	require.Equal(t, want, kit.FinishOf(m))
	require.Equal(t, "gemini", kit.OriginOf(m.Extra).Provider)
}

// signaturesOf returns the signatures of an answer in the order of its blocks.
func signaturesOf(m *schema.Message) (signatures []string) {
	for _, b := range kit.BlocksOfAnswer(m) {
		if b.Reasoning != nil && b.Reasoning.Signature != "" {
			signatures = append(signatures, b.Reasoning.Signature)
		}
		if s, ok := gemini.GetThoughtSignatureFromExtra(b.Extra); ok {
			signatures = append(signatures, s)
		}
	}
	return signatures
}

// requireSent compares what was sent with the recorded request, but for what means the same: the recorded client sends
// IDs that it made up, the role of the system instruction, the mode AUTO, and schemas in the older form.
func requireSent(t *testing.T, i *kittest.Interaction, sent []byte) {
	t.Helper()
	require.Equal(t, meaning(t, i.Request.Body), meaning(t, sent))
}

func meaning(t *testing.T, body []byte) object {
	var o object
	require.NoError(t, json.Unmarshal(body, &o))
	delete(o, "toolConfig")
	if system, ok := o["systemInstruction"].(object); ok {
		delete(system, "role")
	}
	if g, ok := o["generationConfig"].(object); ok && g["responseJsonSchema"] != nil {
		delete(g, "responseMimeType")
	}
	tools, _ := o["tools"].([]any)
	for _, tool := range tools {
		for _, f := range tool.(object)["functionDeclarations"].([]any) {
			function := f.(object)
			for _, key := range []string{"parameters", "parametersJsonSchema"} {
				if function[key] != nil {
					function["schema"] = lowerTypes(function[key])
					delete(function, key)
				}
			}
		}
	}
	for _, c := range o["contents"].([]any) {
		for _, p := range c.(object)["parts"].([]any) {
			part := p.(object)
			for _, key := range []string{"functionCall", "functionResponse"} {
				if f, ok := part[key].(object); ok {
					if id, _ := f["id"].(string); len(id) < 8 { // "1" and "2" are made up
						delete(f, "id")
					}
				}
			}
		}
	}
	return o
}

func lowerTypes(v any) any {
	data, _ := json.Marshal(v)
	text := strings.NewReplacer(`"INTEGER"`, `"integer"`, `"STRING"`, `"string"`, `"OBJECT"`, `"object"`).Replace(string(data))
	var o any
	_ = json.Unmarshal([]byte(text), &o)
	return o
}

func recordings(t testing.TB) []kittest.Recording {
	return kittest.Cassettes(t, "gemini", "images/gemini-2.5-pro.yaml")
}

func systemOf(c *kittest.Cassette) string {
	if strings.Contains(c.Interactions[0].Request.URL, "aiplatform") {
		return "gcp.vertex_ai"
	}
	return "gcp.gemini"
}

// TestCassettes holds providers/G10, providers/G11, providers/G14, providers/G15, providers/G16, providers/G18,
// providers/G19, providers/G25, providers/G27, providers/G28, providers/G30, providers/K33 and providers/K44.
func TestCassettes(t *testing.T) {
	agents := 0
	for _, recording := range recordings(t) {
		t.Run(recording.Name, func(t *testing.T) {
			t.Run("chat", func(t *testing.T) { replayChat(t, recording.Load(t)) })
			t.Run("agentic", func(t *testing.T) { replayAgentic(t, recording.Load(t)) })
			if c := recording.Load(t); len(c.Interactions) > 1 {
				agents++
				t.Run("agent", func(t *testing.T) { replayAgent(t, c) })
			}
		})
	}
	require.NotZero(t, agents)
}

// requireValid checks the requests as strictly as the service does, which has seen its own answers.
func requireValid(t *testing.T, c *kittest.Cassette) {
	t.Helper()
	backend := kittest.GeminiAPI
	if systemOf(c) == "gcp.vertex_ai" {
		backend = kittest.GeminiVertex
	}
	validator := kittest.Gemini(backend)
	for n, req := range c.Requests() {
		require.Empty(t, validator.Validate(req, c.Sent()[n]))
		if backend == kittest.GeminiVertex {
			require.Equal(t, "Bearer "+testKey, req.Header.Get("Authorization"))
		} else {
			require.Equal(t, testKey, req.Header.Get("X-Goog-Api-Key"))
		}
		validator.Observe(c.Interactions[n].Response.Body)
	}
	require.NoError(t, c.Finished())
}

// replayChat leads the recorded conversation with the chat model. Each answer takes the way of a checkpoint.
func replayChat(t *testing.T, c *kittest.Cassette) {
	m, err := gemini.NewChatModel(t.Context(), config(t, c))
	require.NoError(t, err)
	var history []*schema.Message
	for n, i := range c.Interactions {
		r := parseRequest(t, i)
		if n == 0 {
			history = r.input()
		} else {
			history = append(history, r.results(history[len(history)-1].ToolCalls)...)
		}
		got, err := ask(t.Context(), m, history, streams(i), model.WithTools(r.tools(t)))
		require.NoError(t, err)
		requireSent(t, i, c.Sent()[n])
		parseAnswer(t, i).require(t, got, systemOf(c))
		history = append(history, stored(t, got))
	}
	requireValid(t, c)
}

// ask asks a model of either kind, as a stream or not.
func ask[M kit.Message](
	ctx context.Context, m model.BaseModel[M], in []M, stream bool, opts ...model.Option,
) (M, error) {
	if !stream {
		return m.Generate(ctx, in, opts...)
	}
	sr, err := m.Stream(ctx, in, opts...)
	if err != nil {
		return nil, err
	}
	return joined(sr)
}

func joined[M kit.Message](sr *schema.StreamReader[M]) (M, error) {
	defer sr.Close()
	var chunks []M
	for {
		chunk, err := sr.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		chunks = append(chunks, chunk)
	}
	var whole any
	var err error
	switch chunks := any(chunks).(type) {
	case []*schema.Message:
		whole, err = schema.ConcatMessages(chunks)
	case []*schema.AgenticMessage:
		whole, err = schema.ConcatAgenticMessages(chunks)
	}
	if err != nil {
		return nil, err
	}
	return whole.(M), nil
}

// replayAgentic is replayChat for the agentic model.
func replayAgentic(t *testing.T, c *kittest.Cassette) {
	m, err := gemini.NewAgenticModel(t.Context(), config(t, c))
	require.NoError(t, err)
	var history []*schema.AgenticMessage
	for n, i := range c.Interactions {
		r := parseRequest(t, i)
		var given []*schema.Message
		if n == 0 {
			given = r.input()
			blocks, err := kit.MessagesToBlocks(given)
			require.NoError(t, err)
			history = blocks
		} else {
			results := r.results(calls(history[len(history)-1]))
			for _, m := range results {
				history = append(history, schema.FunctionToolResultAgenticMessage(m.ToolCallID, m.ToolName, m.Content))
			}
		}
		got, err := ask(t.Context(), m, history, streams(i), model.WithTools(r.tools(t)))
		require.NoError(t, err)
		requireSent(t, i, c.Sent()[n])
		a := parseAnswer(t, i)
		requireBlocks(t, a, got)
		history = append(history, stored(t, got))
	}
	requireValid(t, c)
}

func calls(m *schema.AgenticMessage) (list []schema.ToolCall) {
	for _, b := range m.ContentBlocks {
		if b.FunctionToolCall != nil {
			list = append(list, schema.ToolCall{ID: b.FunctionToolCall.CallID})
		}
	}
	return list
}

func requireBlocks(t *testing.T, a answer, m *schema.AgenticMessage) {
	t.Helper()
	var text, thoughts string
	for _, b := range m.ContentBlocks {
		require.Nil(t, b.StreamingMeta)
		if b.AssistantGenText != nil {
			text += b.AssistantGenText.Text
		}
		if b.Reasoning != nil {
			thoughts += b.Reasoning.Text
		}
	}
	require.Equal(t, a.text, text)
	require.Equal(t, a.thoughts, thoughts)
	require.Len(t, calls(m), len(a.calls))
	require.Equal(t, a.finish, m.ResponseMeta.GeminiExtension.FinishReason)
	require.Equal(t, a.id, m.ResponseMeta.GeminiExtension.ID)
	require.Equal(t, a.count("totalTokenCount"), m.ResponseMeta.TokenUsage.TotalTokens)
}

type numbers struct{ A, B int }

// computers compute what the tools of the recordings return.
var computers = map[string]func(info *schema.ToolInfo) tool.BaseTool{
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
	for _, info := range first.tools(t) {
		tools = append(tools, computers[info.Name](info))
	}
	m, err := gemini.NewChatModel(t.Context(), config(t, c))
	require.NoError(t, err)
	input := first.input()
	require.Len(t, input, 2)
	agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{
		Name: "assistant", Instruction: input[0].Content, Model: m,
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: tools}},
	})
	require.NoError(t, err)
	runner := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent, EnableStreaming: streams(c.Interactions[0])})
	var answers []*schema.Message
	for event := range runner.Query(t.Context(), input[1].Content).All() {
		require.NoError(t, event.Err)
		m, err := event.Output.MessageOutput.GetMessage()
		require.NoError(t, err)
		if m.Role == schema.Assistant {
			answers = append(answers, m)
		}
	}
	require.Len(t, answers, len(c.Interactions))
	for n, i := range c.Interactions {
		requireSent(t, i, c.Sent()[n])
		parseAnswer(t, i).require(t, answers[n], systemOf(c))
	}
	requireValid(t, c)
}
