package openai_test

import (
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/eino-contrib/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/ext/model/kit/kittest"
	"github.com/weftgo/weft/ext/model/openai"
	"github.com/weftgo/weft/schema"
)

// What a recorded request says about how to make the same one.
type responsesRecorded struct {
	Model     string
	Stream    bool
	Input     []map[string]any
	MaxTokens *int `json:"max_output_tokens"`
	Reasoning *openai.ResponsesReasoning
	Tools     []struct {
		Type, Name, Description string
		Parameters              *jsonschema.Schema
	}
	Text *struct {
		Format struct {
			Type, Name string
			Schema     *jsonschema.Schema
		}
	}
}

func responsesRecordedRequest(t *testing.T, i *kittest.Interaction) (r responsesRecorded) {
	require.NoError(t, json.Unmarshal(i.Request.Body, &r))
	return r
}

func (r *responsesRecorded) toolInfos() (infos []*schema.ToolInfo) {
	for _, tool := range r.Tools {
		if tool.Type == "function" {
			infos = append(infos, &schema.ToolInfo{
				Name: tool.Name, Desc: tool.Description, ParamsOneOf: schema.NewParamsOneOfByJSONSchema(tool.Parameters),
			})
		}
	}
	return infos
}

// config returns the configuration of the client that was recorded.
func (r *responsesRecorded) config(c *kittest.Cassette, transport http.RoundTripper) *openai.ResponsesConfig {
	conf := &openai.ResponsesConfig{
		APIKey:     "the-key-of-the-test",
		BaseURL:    strings.TrimSuffix(c.Interactions[0].Request.URL, "/responses"),
		HTTPClient: &http.Client{Transport: transport},
		MaxRetries: new(int),
		Model:      r.Model,
		MaxTokens:  r.MaxTokens,
		Reasoning:  r.Reasoning,
	}
	for _, tool := range r.Tools {
		if tool.Type == "web_search" {
			conf.ServerTools = append(conf.ServerTools, openai.WebSearch(openai.WebSearchParams{}))
		}
	}
	if r.Text != nil {
		f := r.Text.Format
		conf.Text = &openai.ResponsesText{Format: &openai.ResponseFormat{
			Type: f.Type, JSONSchema: &openai.ResponseSchema{Name: f.Name, Schema: f.Schema},
		}}
	}
	return conf
}

// given returns what was said to the model, from one item of the input on.
func (r *responsesRecorded) given(t *testing.T) (messages []*schema.AgenticMessage) {
	for _, item := range r.Input {
		switch {
		case item["type"] == "function_call_output":
			messages = append(messages, schema.FunctionToolResultAgenticMessage(
				item["call_id"].(string), "", item["output"].(string)))
		case item["role"] == "user":
			part := item["content"].([]any)[0].(map[string]any)
			require.Equal(t, "input_text", part["type"])
			messages = append(messages, schema.UserAgenticMessage(part["text"].(string)))
		case item["role"] != nil:
			messages = append(messages, schema.SystemAgenticMessage(item["content"].(string)))
		}
	}
	return messages
}

// A responsesAnswer is what a recorded response says, read in the simplest way.
type responsesAnswer struct {
	ID, Status, Model string
	Output            []map[string]any
	Usage             struct {
		Input        int `json:"input_tokens"`
		Output       int `json:"output_tokens"`
		Total        int `json:"total_tokens"`
		InputDetails struct {
			Cached int `json:"cached_tokens"`
		} `json:"input_tokens_details"`
		OutputDetails struct {
			Reasoning int `json:"reasoning_tokens"`
		} `json:"output_tokens_details"`
	}
}

// responsesRecordedAnswer reads a response. The items of a stream are the ones in its output_item.done events: the
// terminal event has thinking in another encryption (providers/R11).
func responsesRecordedAnswer(t *testing.T, body []byte) (a responsesAnswer) {
	doc := string(body)
	var items []map[string]any
	for line := range strings.Lines(doc) {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var event struct {
			Type     string
			Response json.RawMessage
			Item     map[string]any
		}
		require.NoError(t, json.Unmarshal([]byte(data), &event))
		switch event.Type {
		case "response.output_item.done":
			items = append(items, event.Item)
		case "response.completed":
			doc = string(event.Response)
		}
	}
	require.NoError(t, json.Unmarshal([]byte(doc), &a))
	if items != nil {
		a.Output = items
	}
	return a
}

// require compares an answer with what was recorded.
func (a *responsesAnswer) require(t *testing.T, m *schema.AgenticMessage) {
	t.Helper()
	require.Equal(t, schema.AgenticRoleTypeAssistant, m.Role)
	at := 0
	next := func() *schema.ContentBlock {
		require.Less(t, at, len(m.ContentBlocks))
		at++
		require.Nil(t, m.ContentBlocks[at-1].StreamingMeta)
		return m.ContentBlocks[at-1]
	}
	for _, item := range a.Output {
		switch item["type"] {
		case "reasoning":
			thought := next().Reasoning
			var texts []string
			for _, part := range item["summary"].([]any) {
				texts = append(texts, part.(map[string]any)["text"].(string))
			}
			require.Equal(t, strings.Join(texts, "\n\n"), thought.Text)
			encrypted, _ := item["encrypted_content"].(string)
			require.Equal(t, encrypted, thought.Signature)
		case "message":
			for _, p := range item["content"].([]any) {
				part := p.(map[string]any)
				text := next().AssistantGenText
				require.Equal(t, part["text"], text.Text)
				if annotations := part["annotations"].([]any); len(annotations) > 0 {
					require.Len(t, text.OpenAIExtension.Annotations, len(annotations))
					require.Equal(t, annotations[0].(map[string]any)["url"], text.OpenAIExtension.Annotations[0].URLCitation.URL)
				}
			}
		case "function_call":
			require.Equal(t, &schema.FunctionToolCall{
				CallID: item["call_id"].(string), Name: item["name"].(string), Arguments: item["arguments"].(string),
			}, next().FunctionToolCall)
		case "web_search_call":
			call := next().ServerToolCall
			action, _ := json.Marshal(item["action"])
			require.Equal(t, "web_search", call.Name)
			require.Equal(t, item["id"], call.CallID)
			require.JSONEq(t, string(action), call.Arguments.(string))
		default:
			t.Fatalf("item %v", item["type"])
		}
	}
	require.Len(t, m.ContentBlocks, at)
	require.Equal(t, a.ID, m.ResponseMeta.ID)
	require.Equal(t, a.ID, m.ResponseMeta.OpenAIExtension.ID)
	require.Equal(t, a.Model, m.ResponseMeta.Model)
	require.Equal(t, a.Status, m.Extra["finish_reason"])
	require.Empty(t, kit.CheckUsage(m.ResponseMeta.TokenUsage)) // providers/K33
	require.Equal(t, &schema.TokenUsage{
		PromptTokens: a.Usage.Input, CompletionTokens: a.Usage.Output, TotalTokens: a.Usage.Total,
		PromptTokenDetails:      schema.PromptTokenDetails{CachedTokens: a.Usage.InputDetails.Cached},
		CompletionTokensDetails: schema.CompletionTokensDetails{ReasoningTokens: a.Usage.OutputDetails.Reasoning},
	}, m.ResponseMeta.TokenUsage)
}

// requireResponsesSent compares a request with the recorded one, but for what means the same. The client that was
// recorded left thinking out of its requests.
func requireResponsesSent(t *testing.T, recorded, sent []byte) {
	t.Helper()
	validator := kittest.Responses()
	req, _ := http.NewRequest(http.MethodPost, "http://server/v1/responses", nil)
	req.Header.Set("Content-Type", "application/json")
	require.Empty(t, validator.Validate(req, sent), "%s", sent)
	require.Equal(t, responsesMeaning(t, recorded), responsesMeaning(t, sent))
}

func responsesMeaning(t *testing.T, body []byte) map[string]any {
	var o map[string]any
	require.NoError(t, json.Unmarshal(body, &o))
	if o["tool_choice"] == "auto" {
		delete(o, "tool_choice")
	}
	delete(o, "include")
	if text, ok := o["text"].(map[string]any); ok {
		delete(text["format"].(map[string]any), "strict")
	}
	var input []any
	for _, i := range o["input"].([]any) {
		item := i.(map[string]any)
		delete(item, "id")
		if item["type"] != "reasoning" {
			input = append(input, item)
		}
	}
	o["input"] = input
	return o
}

// A responsesAsker leads conversations with either kind of model.
type responsesAsker func(t *testing.T, in []*schema.AgenticMessage, stream bool, opts ...model.Option) (*schema.AgenticMessage, error)

func newResponsesAsker(t *testing.T, conf *openai.ResponsesConfig) responsesAsker {
	m, err := openai.NewResponsesModel(t.Context(), conf)
	require.NoError(t, err)
	return func(t *testing.T, in []*schema.AgenticMessage, stream bool, opts ...model.Option) (*schema.AgenticMessage, error) {
		if !stream {
			return m.Generate(t.Context(), in, opts...)
		}
		sr, err := m.Stream(t.Context(), in, opts...)
		if err != nil {
			return nil, err
		}
		return joinResponses(sr)
	}
}

func joinResponses(sr *schema.StreamReader[*schema.AgenticMessage]) (*schema.AgenticMessage, error) {
	defer sr.Close()
	var acc schema.AgenticMessageAccumulator
	for {
		chunk, err := sr.Recv()
		if err == io.EOF {
			return acc.Message()
		}
		if err == nil {
			err = acc.Add(chunk)
		}
		if err != nil {
			return nil, err
		}
	}
}

func eachResponsesRecording(t *testing.T, test func(t *testing.T, load func() *kittest.Cassette)) {
	for _, r := range kittest.Cassettes(t, "openai-responses") {
		t.Run(strings.TrimPrefix(r.Name, "openai-responses/"), func(t *testing.T) {
			test(t, func() *kittest.Cassette { return r.Load(t) })
		})
	}
}

func TestResponsesCassettes_ModelsAndAgents(t *testing.T) {
	eachResponsesRecording(t, func(t *testing.T, load func() *kittest.Cassette) {
		t.Run("model", func(t *testing.T) { replayResponses(t, load()) })
		t.Run("chat model", func(t *testing.T) { replayResponsesChat(t, load()) })
		if c := load(); len(c.Interactions) > 1 {
			t.Run("agent", func(t *testing.T) { replayResponsesAgent(t, c) })
		}
	})
}

// replayResponses leads the recorded conversation with an agentic model.
func replayResponses(t *testing.T, c *kittest.Cassette) {
	first := responsesRecordedRequest(t, c.Interactions[0])
	ask := newResponsesAsker(t, first.config(c, c))
	validator := kittest.Responses() // knows what was handed out
	var history []*schema.AgenticMessage
	said := 0
	for n, i := range c.Interactions {
		r := responsesRecordedRequest(t, i)
		given := r.given(t)
		history = append(history, given[said:]...)
		said = len(given)
		answer, err := ask(t, history, r.Stream, model.WithTools(r.toolInfos()))
		require.NoError(t, err)
		requireResponsesSent(t, i.Request.Body, c.Sent()[n])
		require.Empty(t, validator.Validate(c.Requests()[n], c.Sent()[n]))
		validator.Observe(i.Response.Body)
		recorded := responsesRecordedAnswer(t, i.Response.Body)
		recorded.require(t, answer)
		history = append(history, answer)
	}
	require.NoError(t, c.Finished())
}

func replayResponsesChat(t *testing.T, c *kittest.Cassette) {
	first := responsesRecordedRequest(t, c.Interactions[0])
	m, err := openai.NewResponsesChatModel(t.Context(), first.config(c, c))
	require.NoError(t, err)
	var history []*schema.Message
	said := 0
	for n, i := range c.Interactions {
		r := responsesRecordedRequest(t, i)
		given := r.given(t)
		history = append(history, responsesMessages(given[said:])...)
		said = len(given)
		answer := ask(t, m, history, r.Stream, model.WithTools(r.toolInfos()))
		requireResponsesSent(t, i.Request.Body, c.Sent()[n])
		recorded := responsesRecordedAnswer(t, i.Response.Body)
		requireResponsesMessage(t, &recorded, answer)
		history = append(history, answer)
	}
	require.NoError(t, c.Finished())
}

// responsesMessages returns texts and results as messages of a chat model.
func responsesMessages(in []*schema.AgenticMessage) (out []*schema.Message) {
	for _, m := range in {
		switch b := m.ContentBlocks[0]; {
		case b.FunctionToolResult != nil:
			out = append(out, schema.ToolMessage(b.FunctionToolResult.Content[0].Text.Text, b.FunctionToolResult.CallID))
		case m.Role == schema.AgenticRoleTypeSystem:
			out = append(out, schema.SystemMessage(b.UserInputText.Text))
		default:
			out = append(out, schema.UserMessage(b.UserInputText.Text))
		}
	}
	return out
}

// requireResponsesMessage compares an answer of a chat model with what was recorded.
func requireResponsesMessage(t *testing.T, a *responsesAnswer, m *schema.Message) {
	t.Helper()
	blocks := &schema.AgenticMessage{
		Role: schema.AgenticRoleTypeAssistant, ContentBlocks: kit.BlocksOfAnswer(m), Extra: map[string]any{
			"finish_reason": m.ResponseMeta.FinishReason,
		},
		ResponseMeta: kit.ResponseMetaOf(m),
	}
	require.NotNil(t, blocks.ResponseMeta)
	blocks.ResponseMeta.ID, blocks.ResponseMeta.Model = m.ResponseMeta.ID, m.ResponseMeta.Model
	blocks.ResponseMeta.TokenUsage = m.ResponseMeta.Usage
	a.require(t, blocks)
}

// replayResponsesAgent gives the recorded question to an agent, whose tools compute.
func replayResponsesAgent(t *testing.T, c *kittest.Cassette) {
	first := responsesRecordedRequest(t, c.Interactions[0])
	m, err := openai.NewResponsesChatModel(t.Context(), first.config(c, c))
	require.NoError(t, err)
	var tools []tool.BaseTool
	for _, info := range first.toolInfos() {
		tools = append(tools, results[info.Name](info))
	}
	input, err := kit.BlocksToMessages(first.given(t))
	require.NoError(t, err)
	require.Len(t, input, 2)
	agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{
		Name: "assistant", Instruction: input[0].Content, Model: m,
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
		requireResponsesSent(t, i.Request.Body, c.Sent()[n])
		recorded := responsesRecordedAnswer(t, i.Response.Body)
		requireResponsesMessage(t, &recorded, answers[n])
	}
}

// responsesBody answers every request with a body.
type responsesBody struct {
	contentType string
	body        func() io.Reader
}

func (b responsesBody) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {b.contentType}}, Request: req,
		Body: io.NopCloser(b.body()), ContentLength: -1,
	}, nil
}

// streamResponses reads a body as a streamed answer.
func streamResponses(t *testing.T, body func() io.Reader, more ...func(*openai.ResponsesConfig)) (*schema.AgenticMessage, error) {
	t.Helper()
	conf := &openai.ResponsesConfig{
		APIKey: "the-key-of-the-test", Model: "gpt-5", MaxRetries: new(int),
		HTTPClient: &http.Client{Transport: responsesBody{"text/event-stream", body}},
	}
	for _, change := range more {
		change(conf)
	}
	return newResponsesAsker(t, conf)(t, []*schema.AgenticMessage{schema.UserAgenticMessage("hi")}, true)
}

// randomPieces returns a reader that gives a body in pieces of any size.
type randomPieces struct {
	rest []byte
	rng  *rand.Rand
}

func (r *randomPieces) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), 1+r.rng.IntN(40))], r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// Rule providers/K23
func TestResponsesStream_IsTheSameHoweverItIsSplit(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	eachResponsesRecording(t, func(t *testing.T, load func() *kittest.Cassette) {
		for _, i := range load().Interactions {
			if !responsesRecordedIsStream(i) {
				continue
			}
			body := i.Response.Body
			want, err := streamResponses(t, func() io.Reader { return bytes.NewReader(body) })
			require.NoError(t, err)
			for _, variant := range [][]byte{
				body, bytes.ReplaceAll(body, []byte("\n"), []byte("\r\n")), bytes.ReplaceAll(body, []byte("\n\n"), []byte("\n")),
			} {
				got, err := streamResponses(t, func() io.Reader { return &randomPieces{variant, rng} })
				require.NoError(t, err)
				require.Equal(t, want, got)
			}
			got, err := streamResponses(t, func() io.Reader { return iotest.OneByteReader(bytes.NewReader(body)) })
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
	})
}

func responsesRecordedIsStream(i *kittest.Interaction) bool {
	return bytes.Contains(i.Response.Body, []byte("data: "))
}

// The terminal event has the whole answer, as a request without a stream would have got it.
//
// Rule providers/K23
func TestResponsesStream_IsTheSameAsTheWholeAnswer(t *testing.T) {
	eachResponsesRecording(t, func(t *testing.T, load func() *kittest.Cassette) {
		for _, i := range load().Interactions {
			if !responsesRecordedIsStream(i) {
				continue
			}
			streamed, err := streamResponses(t, func() io.Reader { return bytes.NewReader(i.Response.Body) })
			require.NoError(t, err)
			_, doc, _ := bytes.Cut(i.Response.Body, []byte(`data: {"type":"response.completed","response":`))
			doc = doc[:bytes.LastIndex(doc, []byte(`,"sequence_number":`))]
			whole, err := streamResponses(t, func() io.Reader { return bytes.NewReader(doc) }, func(c *openai.ResponsesConfig) {
				c.HTTPClient = &http.Client{Transport: responsesBody{"application/json", func() io.Reader { return bytes.NewReader(doc) }}}
			})
			require.NoError(t, err)
			for n, b := range whole.ContentBlocks {
				if b.Reasoning != nil && b.Reasoning.Signature != "" {
					require.NotEmpty(t, streamed.ContentBlocks[n].Reasoning.Signature)
					b.Reasoning.Signature = streamed.ContentBlocks[n].Reasoning.Signature // encrypted again
				}
			}
			require.Equal(t, whole, streamed)
		}
	})
}

// Rule providers/K18
func TestResponsesStream_CutAfterAnyEventIsAnError(t *testing.T) {
	eachResponsesRecording(t, func(t *testing.T, load func() *kittest.Cassette) {
		for _, i := range load().Interactions {
			if !responsesRecordedIsStream(i) {
				continue
			}
			events := strings.SplitAfter(string(i.Response.Body), "\n\n")
			for n := range events {
				cut := strings.Join(events[:n], "")
				_, err := streamResponses(t, func() io.Reader { return strings.NewReader(cut) })
				if strings.Contains(cut, "event: response.completed") {
					require.NoError(t, err)
					continue
				}
				require.ErrorIs(t, err, io.ErrUnexpectedEOF, "%d events", n)
			}
		}
	})
}
