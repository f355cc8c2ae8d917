package interop

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino-ext/components/document/parser/html"
	"github.com/cloudwego/eino-ext/components/model/gemini"
	"github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components/document/parser"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
	"google.golang.org/genai"
)

type city struct {
	Name string `json:"name" jsonschema:"required"`
}

func openaiModel(t *testing.T, s *service) model.ToolCallingChatModel {
	t.Helper()
	m, err := openai.NewChatModel(t.Context(), &openai.ChatModelConfig{
		APIKey: "key", BaseURL: s.URL, Model: "m", HTTPClient: s.client})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func newAgent(t *testing.T, config *adk.ChatModelAgentConfig) *adk.Runner {
	t.Helper()
	config.Name, config.Description = "assistant", "answers"
	agent, err := adk.NewChatModelAgent(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	return adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent, EnableStreaming: true})
}

func toolsOf(tools ...tool.BaseTool) adk.ToolsConfig {
	return adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: tools}}
}

func TestOpenAIModel_StreamsForAnAgentThatCallsATool(t *testing.T) {
	weather, err := utils.InferTool("weather", "says how the weather is",
		func(_ context.Context, c city) (string, error) { return "rain in " + c.Name, nil })
	if err != nil {
		t.Fatal(err)
	}
	s := newService(t, "text/event-stream",
		completion(called("weather", `{"name":`), map[string]any{"tool_calls": []any{map[string]any{"index": 0,
			"function": map[string]any{"arguments": `"Oslo"}`}}}}),
		completion(said("Take an "), said("umbrella.")))
	runner := newAgent(t, &adk.ChatModelAgentConfig{Model: openaiModel(t, s), ToolsConfig: toolsOf(weather)})
	got := drain(t, runner.Query(t.Context(), "Umbrella?"))
	if want := []string{"assistant: ", "tool: rain in Oslo", "assistant: Take an umbrella."}; !slices.Equal(got, want) {
		t.Errorf("the messages are %q, not %q", got, want)
	}
	if !strings.Contains(s.request(0), `"name":"weather"`) || !strings.Contains(s.request(1), "rain in Oslo") {
		t.Errorf("the service was asked\n%s\n%s", s.request(0), s.request(1))
	}
}

func TestOpenAIModel_TakesOptionsOfItsOwnInAGraph(t *testing.T) {
	s := newService(t, "application/json", `{"id":"1","model":"m","choices":[{"index":0,"finish_reason":"stop",`+
		`"message":{"role":"assistant","content":"four"}}],"usage":{"prompt_tokens":7,"completion_tokens":1}}`)
	chain := compose.NewChain[[]*schema.Message, *schema.Message]().AppendChatModel(openaiModel(t, s))
	run, err := chain.Compile(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got, err := run.Invoke(t.Context(), []*schema.Message{schema.UserMessage("2+2?")}, compose.WithChatModelOption(
		openai.WithExtraFields(map[string]any{"seed": 42}), model.WithTemperature(0.5)))
	if err != nil || got.Content != "four" || got.ResponseMeta.Usage.PromptTokens != 7 {
		t.Errorf("the chain returned %v, %v", got, err)
	}
	if req := s.request(0); !strings.Contains(req, `"seed":42`) || !strings.Contains(req, `"temperature":0.5`) {
		t.Errorf("the service was asked %s", req)
	}
}

func TestOpenAIModel_ErrorsNameTheAgent(t *testing.T) {
	s := newService(t, "application/json")
	runner := newAgent(t, &adk.ChatModelAgentConfig{Model: openaiModel(t, s)})
	events := runner.Query(t.Context(), "hello")
	event, ok := events.Next()
	if !ok || event.Err == nil || !strings.HasPrefix(event.Err.Error(), "agent 'assistant': ") {
		t.Errorf("the event is %+v", event)
	}
	for ok {
		_, ok = events.Next()
	}
}

func TestGeminiModel_AnswersAnAgent(t *testing.T) {
	s := newService(t, "text/event-stream", `data: {"candidates":[{"content":{"role":"model","parts":[`+
		`{"text":"Bonjour."}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":3}}`+"\n\n")
	client, err := genai.NewClient(t.Context(), &genai.ClientConfig{APIKey: "key", Backend: genai.BackendGeminiAPI,
		HTTPClient: s.client, HTTPOptions: genai.HTTPOptions{BaseURL: s.URL}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := gemini.NewChatModel(t.Context(), &gemini.Config{Client: client, Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	runner := newAgent(t, &adk.ChatModelAgentConfig{Model: m, Instruction: "Speak French."})
	if got := drain(t, runner.Query(t.Context(), "hello")); !slices.Equal(got, []string{"assistant: Bonjour."}) {
		t.Errorf("the messages are %q", got)
	}
	if !strings.Contains(s.request(0), "Speak French.") {
		t.Errorf("the service was asked %s", s.request(0))
	}
}

func TestHTMLParser_ParsesForWeftsLoader(t *testing.T) {
	p, err := html.NewParser(t.Context(), &html.Config{Selector: &html.BodySelector})
	if err != nil {
		t.Fatal(err)
	}
	byExtension, err := parser.NewExtParser(t.Context(), &parser.ExtParserConfig{
		Parsers: map[string]parser.Parser{".html": p}, FallbackParser: parser.TextParser{}})
	if err != nil {
		t.Fatal(err)
	}
	page := strings.NewReader("<html><head><title>Weaving</title></head><body><p>Warp and weft</p></body></html>")
	docs, err := byExtension.Parse(t.Context(), page, parser.WithURI("page.html"))
	if err != nil || len(docs) != 1 {
		t.Fatal(docs, err)
	}
	if docs[0].Content != "Warp and weft" || docs[0].MetaData[html.MetaKeyTitle] != "Weaving" {
		t.Errorf("the document is %+v", docs[0])
	}
}
