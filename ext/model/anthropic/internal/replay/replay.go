package replay

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/ext/model/anthropic"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/ext/model/kit/kittest"
	"github.com/weftgo/weft/schema"
)

// A Place is where conversations were recorded.
type Place struct {
	// Recorded reports whether a file, by its path below the folder of the recordings, is of the place.
	Recorded func(file string) bool
	// Configure completes the settings for the recorded address and the model, whose name is "" if it is not in the
	// body.
	Configure func(url string, conf *anthropic.Config)
	// System is the provider that answers name.
	System string
}

// Each calls test for every recorded conversation of the place.
func (p Place) Each(t *testing.T, test func(t *testing.T, load func() *kittest.Cassette)) {
	count := 0
	for _, recording := range kittest.Cassettes(t, "anthropic", "images") {
		if p.Recorded(recording.Name) {
			count++
			t.Run(recording.Name, func(t *testing.T) {
				test(t, func() *kittest.Cassette { return recording.Load(t) })
			})
		}
	}
	require.NotZero(t, count)
}

// Run leads every conversation of the place with both models, and with an agent if it has tools.
func (p Place) Run(t *testing.T) {
	p.Each(t, func(t *testing.T, load func() *kittest.Cassette) {
		t.Run("chat", func(t *testing.T) { p.chat(t, load()) })
		t.Run("agentic", func(t *testing.T) { p.agentic(t, load()) })
		c := load()
		if r := parseRequest(t, c.Interactions[0]); len(r.toolInfos()) > 0 && r.ToolChoice.Name == "" && !r.isMarked() {
			t.Run("agent", func(t *testing.T) { p.agent(t, c) })
		}
	})
}

// isMarked reports whether the application has marked messages for the cache, which agents do not.
func (r *request) isMarked() bool { return len(r.System) > 0 && r.System[0].CacheControl != nil }

// Config returns the settings that the recorded client had.
func (p Place) Config(t *testing.T, c *kittest.Cassette) *anthropic.Config {
	r := parseRequest(t, c.Interactions[0])
	conf := &anthropic.Config{
		HTTPClient: &http.Client{Transport: c}, MaxRetries: new(int), Model: r.Model, MaxTokens: r.MaxTokens,
	}
	p.Configure(c.Interactions[0].Request.URL, conf)
	if r.Thinking != nil {
		conf.Thinking = &anthropic.Thinking{Type: r.Thinking.Type, BudgetTokens: r.Thinking.BudgetTokens}
	}
	for _, tool := range r.Tools {
		if tool.Type != "" {
			conf.ServerTools = append(conf.ServerTools, anthropic.NewServerTool(tool.Type, tool.Name, nil))
		}
	}
	return conf
}

func (r *request) options() []model.Option {
	opts := []model.Option{model.WithTools(r.toolInfos())}
	if r.ToolChoice.Name != "" {
		opts = append(opts, model.WithToolChoice(schema.ToolChoiceForced, r.ToolChoice.Name))
	}
	return opts
}

// Input returns the recorded question and the options of its call.
func Input(t *testing.T, c *kittest.Cassette) (in []*schema.Message, stream bool, opts []model.Option) {
	r := parseRequest(t, c.Interactions[0])
	return r.input(t), r.Stream || strings.HasSuffix(c.Interactions[0].Request.URL, "-stream"), r.options()
}

// added returns what the application adds to a history whose last message is the model's: the recorded marks are the
// request's.
func (r *request) history(t *testing.T, answers []*schema.Message) (messages []*schema.Message) {
	for _, m := range r.input(t) {
		if m.Role == schema.Tool && len(messages) > 0 && messages[len(messages)-1].Role == schema.User {
			messages = append(messages, answers[0])
			answers = answers[1:]
		}
		messages = append(messages, m)
	}
	return messages
}

func (p Place) chat(t *testing.T, c *kittest.Cassette) {
	m, err := anthropic.NewChatModel(t.Context(), p.Config(t, c))
	require.NoError(t, err)
	var answers []*schema.Message
	for n, i := range c.Interactions {
		r := parseRequest(t, i)
		_, stream, _ := Input(t, &kittest.Cassette{Interactions: []*kittest.Interaction{i}})
		history := r.history(t, answers)
		markCalls(r, history)
		got := ask(t, m, history, stream, r.options()...)
		requireSent(t, c, n)
		parseAnswer(t, i).requireChat(t, got, p.System)
		answers = append(answers, got)
	}
	require.NoError(t, c.Finished())
}

// markCalls marks the answers that were marked when they were sent back.
func markCalls(r request, history []*schema.Message) {
	answered := 0
	for _, recorded := range r.Messages {
		if recorded.Role != "assistant" {
			continue
		}
		for _, m := range history {
			if m.Role == schema.Assistant && answered == 0 && recorded.Content[len(recorded.Content)-1].CacheControl != nil {
				*m = *anthropic.SetMessageBreakpoint(m)
			}
		}
		answered++
	}
}

func ask(t *testing.T, m model.BaseChatModel, in []*schema.Message, stream bool, opts ...model.Option) *schema.Message {
	t.Helper()
	if !stream {
		got, err := m.Generate(t.Context(), in, opts...)
		require.NoError(t, err)
		return got
	}
	sr, err := m.Stream(t.Context(), in, opts...)
	require.NoError(t, err)
	got, err := schema.ConcatMessageStream(sr)
	require.NoError(t, err)
	return got
}

func (p Place) agentic(t *testing.T, c *kittest.Cassette) {
	m, err := anthropic.NewAgenticModel(t.Context(), p.Config(t, c))
	require.NoError(t, err)
	var answers []*schema.AgenticMessage
	for n, i := range c.Interactions {
		r := parseRequest(t, i)
		_, stream, _ := Input(t, &kittest.Cassette{Interactions: []*kittest.Interaction{i}})
		got := askBlocks(t, m, r.blocks(t, answers), stream, r.options()...)
		requireSent(t, c, n)
		parseAnswer(t, i).require(t, got, p.System)
		answers = append(answers, got)
	}
	require.NoError(t, c.Finished())
}

// blocks is history for messages of blocks.
func (r *request) blocks(t *testing.T, answers []*schema.AgenticMessage) (messages []*schema.AgenticMessage) {
	for _, m := range r.input(t) {
		if m.Role != schema.Tool {
			blocks, err := kit.MessagesToBlocks([]*schema.Message{m})
			require.NoError(t, err)
			messages = append(messages, blocks...)
			continue
		}
		if last := messages[len(messages)-1]; last.ContentBlocks[0].FunctionToolResult == nil {
			got := answers[0]
			if r.isMarked() {
				got = anthropic.SetAgenticMessageCacheControl(got, nil)
			}
			messages, answers = append(messages, got), answers[1:]
		}
		result := schema.FunctionToolResultAgenticMessage(m.ToolCallID, "", m.Content)
		result.Extra = m.Extra
		messages = append(messages, result)
	}
	return messages
}

func askBlocks(
	t *testing.T, m model.AgenticModel, in []*schema.AgenticMessage, stream bool, opts ...model.Option,
) *schema.AgenticMessage {
	t.Helper()
	if !stream {
		got, err := m.Generate(t.Context(), in, opts...)
		require.NoError(t, err)
		return got
	}
	sr, err := m.Stream(t.Context(), in, opts...)
	require.NoError(t, err)
	return JoinBlocks(t, sr)
}

// JoinBlocks reads a stream to its end.
func JoinBlocks(t *testing.T, sr *schema.StreamReader[*schema.AgenticMessage]) *schema.AgenticMessage {
	t.Helper()
	var chunks []*schema.AgenticMessage
	for chunk, err := range sr.All() {
		require.NoError(t, err)
		chunks = append(chunks, chunk)
	}
	got, err := schema.ConcatAgenticMessages(chunks)
	require.NoError(t, err)
	return got
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

// agent gives the recorded question to an agent, whose tools compute.
func (p Place) agent(t *testing.T, c *kittest.Cassette) {
	m, err := anthropic.NewChatModel(t.Context(), p.Config(t, c))
	require.NoError(t, err)
	in, stream, _ := Input(t, c)
	first := parseRequest(t, c.Interactions[0])
	var tools []tool.BaseTool
	for _, info := range first.toolInfos() {
		tools = append(tools, results[info.Name](info))
	}
	require.Len(t, in, 2)
	agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{
		Name: "assistant", Instruction: in[0].Content, Model: m,
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: tools}},
	})
	require.NoError(t, err)
	runner := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent, EnableStreaming: stream})
	var answers []*schema.Message
	for event := range runner.Query(t.Context(), in[1].UserInputMultiContent[0].Text).All() {
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
		requireSent(t, c, n)
		parseAnswer(t, i).requireChat(t, answers[n], p.System)
	}
}
