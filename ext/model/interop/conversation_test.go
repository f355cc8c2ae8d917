package interop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/ext/model/anthropic"
	"github.com/weftgo/weft/ext/model/gemini"
	"github.com/weftgo/weft/ext/model/kit/kittest"
	"github.com/weftgo/weft/ext/model/ollama"
	"github.com/weftgo/weft/ext/model/openai"
	"github.com/weftgo/weft/schema"
)

const key = "the-key-of-the-test"

// A provider is a service with its adapters, for both kinds of messages.
type provider struct {
	validator func() kittest.Validator
	answer    func(turn) http.Handler
	chat      func(ctx context.Context, url string, c *http.Client) (model.BaseModel[*schema.Message], error)
	agentic   func(ctx context.Context, url string, c *http.Client) (model.BaseModel[*schema.AgenticMessage], error)
}

// chatProvider is a server of the Chat Completions API with a dialect.
func chatProvider(profile openai.Profile, rules kittest.ChatRules, answer func(turn) http.Handler) provider {
	config := func(url string, c *http.Client) *openai.Config {
		return &openai.Config{APIKey: key, BaseURL: url + "/v1", Model: "m", Profile: &profile, HTTPClient: c}
	}
	return provider{
		validator: func() kittest.Validator { return kittest.ChatCompletions(rules) }, answer: answer,
		chat: func(ctx context.Context, url string, c *http.Client) (model.BaseModel[*schema.Message], error) {
			return openai.NewChatModel(ctx, config(url, c))
		},
		agentic: func(ctx context.Context, url string, c *http.Client) (model.BaseModel[*schema.AgenticMessage], error) {
			return openai.NewAgenticModel(ctx, config(url, c))
		},
	}
}

func providers() map[string]provider {
	responses := func(url string, c *http.Client) *openai.ResponsesConfig {
		return &openai.ResponsesConfig{APIKey: key, BaseURL: url + "/v1", Model: "gpt-5", HTTPClient: c}
	}
	claude := func(url string, c *http.Client) *anthropic.Config {
		return &anthropic.Config{
			APIKey: key, BaseURL: url, Model: "claude-sonnet-4-5", HTTPClient: c, MaxTokens: 8000,
			Thinking: anthropic.BudgetThinking(2000), Origin: "api.anthropic.com",
		}
	}
	google := func(url string, c *http.Client) *gemini.Config {
		return &gemini.Config{APIKey: key, BaseURL: url + "/v1beta", Model: "gemini-3-pro-preview", HTTPClient: c}
	}
	return map[string]provider{
		"openai":   chatProvider(openai.ProfileOpenAI, kittest.ChatOpenAI, chatAnswer(nil, uniqueID)),
		"deepseek": chatProvider(openai.ProfileDeepSeek, kittest.ChatDeepSeek, chatAnswer(reasoningContent, uniqueID)),
		"kimi":     chatProvider(openai.ProfileMoonshot, kittest.ChatMoonshot, chatAnswer(reasoningContent, recurringID)),
		"mistral":  chatProvider(openai.ProfileMistral, kittest.ChatMistral, chatAnswer(nil, mistralID)),
		"openrouter": chatProvider(openai.ProfileOpenRouter, kittest.ChatOpenRouter,
			chatAnswer(reasoningDetails, uniqueID)),
		"responses": {
			validator: func() kittest.Validator { return kittest.Responses() }, answer: responsesAnswer,
			chat: func(ctx context.Context, url string, c *http.Client) (model.BaseModel[*schema.Message], error) {
				return openai.NewResponsesChatModel(ctx, responses(url, c))
			},
			agentic: func(ctx context.Context, url string, c *http.Client) (model.BaseModel[*schema.AgenticMessage], error) {
				return openai.NewResponsesModel(ctx, responses(url, c))
			},
		},
		"anthropic": {
			validator: func() kittest.Validator { return kittest.Anthropic() }, answer: anthropicAnswer,
			chat: func(ctx context.Context, url string, c *http.Client) (model.BaseModel[*schema.Message], error) {
				return anthropic.NewChatModel(ctx, claude(url, c))
			},
			agentic: func(ctx context.Context, url string, c *http.Client) (model.BaseModel[*schema.AgenticMessage], error) {
				return anthropic.NewAgenticModel(ctx, claude(url, c))
			},
		},
		"gemini": {
			validator: func() kittest.Validator { return kittest.Gemini(kittest.GeminiAPI) }, answer: geminiAnswer(true),
			chat: func(ctx context.Context, url string, c *http.Client) (model.BaseModel[*schema.Message], error) {
				return gemini.NewChatModel(ctx, google(url, c))
			},
			agentic: func(ctx context.Context, url string, c *http.Client) (model.BaseModel[*schema.AgenticMessage], error) {
				return gemini.NewAgenticModel(ctx, google(url, c))
			},
		},
		"ollama": {
			validator: kittest.Ollama, answer: ollamaAnswer,
			chat: func(ctx context.Context, url string, c *http.Client) (model.BaseModel[*schema.Message], error) {
				return ollama.NewChatModel(ctx, &ollama.Config{BaseURL: url, Model: "m", HTTPClient: c})
			},
			agentic: func(ctx context.Context, url string, c *http.Client) (model.BaseModel[*schema.AgenticMessage], error) {
				return ollama.NewAgenticModel(ctx, &ollama.Config{BaseURL: url, Model: "m", HTTPClient: c})
			},
		},
	}
}

// A world has a server for each provider and makes their models.
type world struct {
	t       *testing.T
	all     map[string]provider
	servers map[string]*kittest.FakeServer
	client  *http.Client
}

func newWorld(t *testing.T) *world {
	t.Helper()
	transport := new(http.Transport)
	w := &world{t: t, all: providers(), servers: map[string]*kittest.FakeServer{}, client: &http.Client{Transport: transport}}
	for name, p := range w.all {
		v := p.validator()
		if o, ok := v.(kittest.Observer); ok {
			o.Observe(nil) // from now on it knows what it gave, and nothing else
		}
		w.servers[name] = kittest.Server(t, v, kittest.Always(answering(p.answer)))
	}
	t.Cleanup(transport.CloseIdleConnections)
	return w
}

// modelOf returns the model of a provider for messages M.
func modelOf[M adk.MessageType](w *world, name string) model.BaseModel[M] {
	p, url := w.all[name], w.servers[name].URL
	var m any
	var err error
	if _, chat := any(*new(M)).(*schema.Message); chat {
		m, err = p.chat(w.t.Context(), url, w.client)
	} else {
		m, err = p.agentic(w.t.Context(), url, w.client)
	}
	require.NoError(w.t, err)
	return m.(model.BaseModel[M])
}

// A traveller is a model that asks another provider in each turn.
type traveller[M adk.MessageType] struct {
	models []model.BaseModel[M]
}

func travel[M adk.MessageType](w *world, names []string) *traveller[M] {
	t := new(traveller[M])
	for _, name := range names {
		t.models = append(t.models, modelOf[M](w, name))
	}
	return t
}

func (t *traveller[M]) next(in []M) model.BaseModel[M] {
	answers := 0
	for _, m := range in {
		switch m := any(m).(type) {
		case *schema.Message:
			if m.Role == schema.Assistant {
				answers++
			}
		case *schema.AgenticMessage:
			if m.Role == schema.AgenticRoleTypeAssistant {
				answers++
			}
		}
	}
	return t.models[answers%len(t.models)]
}

func (t *traveller[M]) Generate(ctx context.Context, in []M, opts ...model.Option) (M, error) {
	return t.next(in).Generate(ctx, in, opts...)
}

func (t *traveller[M]) Stream(ctx context.Context, in []M, opts ...model.Option) (*schema.StreamReader[M], error) {
	return t.next(in).Stream(ctx, in, opts...)
}

type lookInput struct {
	N int `json:"n"`
}

func lookTool(t *testing.T) tool.InvokableTool {
	look, err := utils.InferTool("look", "Looks something up.", func(_ context.Context, in lookInput) (string, error) {
		return fmt.Sprint(resultMark, in.N), nil
	})
	require.NoError(t, err)
	return look
}

func agentOf[M adk.MessageType](
	t *testing.T, m model.BaseModel[M], look tool.BaseTool, change ...func(*adk.TypedChatModelAgentConfig[M]),
) adk.TypedAgent[M] {
	conf := &adk.TypedChatModelAgentConfig[M]{
		Name: "traveller", Description: "asks everybody", Instruction: "Be brief.", Model: m, MaxIterations: 20,
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{look}}},
	}
	for _, c := range change {
		c(conf)
	}
	a, err := adk.NewTypedChatModelAgent(t.Context(), conf)
	require.NoError(t, err)
	return a
}

// requireDone checks that the conversation came to its end, with all results.
func requireDone[M adk.MessageType](t *testing.T, events *adktest.Events[M]) {
	t.Helper()
	events.ExpectNoError()
	text := strings.ReplaceAll(events.Text(), "<reasoning>", "")
	require.Equal(t, finalText, text, strings.Join(events.Lines(), "\n"))
	require.GreaterOrEqual(t, len(events.ToolCalls()), turns*calls, "answers that broke off may have some, too")
}

// Each order of providers, both kinds of messages, streamed and not: every request is one that its provider accepts.
// Rules providers/K37, providers/K38, providers/K39.
func TestConversation_VisitsProvidersInEveryOrder(t *testing.T) {
	t.Run("chat", visitInEveryOrder[*schema.Message])
	t.Run("agentic", visitInEveryOrder[*schema.AgenticMessage])
}

func visitInEveryOrder[M adk.MessageType](t *testing.T) {
	w := newWorld(t)
	var names []string
	for name := range w.all {
		names = append(names, name)
	}
	slices.Sort(names)
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 7))
		order := slices.Clone(names)
		r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		if seed%3 == 0 { // again and again to few: what one gave comes back with another's between
			order = order[:2+seed%2]
		}
		agent := agentOf[M](t, travel[M](w, order), lookTool(t))
		ask := adktest.Ask[M]
		if seed%2 == 0 {
			ask = adktest.AskStreaming[M]
		}
		t.Log(seed, order)
		requireDone(t, ask(t.Context(), t, agent, "Look around."))
		if t.Failed() {
			t.Fatalf("seed %d: %s", seed, strings.Join(order, ", "))
		}
	}
}

// A conversation through all providers is stopped at every boundary, saved, and resumed by a new agent.
func TestConversation_StopsAndResumesAnywhere(t *testing.T) {
	t.Run("chat", stopAnywhere[*schema.Message])
	t.Run("agentic", stopAnywhere[*schema.AgenticMessage])
}

func stopAnywhere[M adk.MessageType](t *testing.T) {
	order := []string{"anthropic", "gemini", "responses", "deepseek", "openrouter"}
	boundaries := 0 // all
	if testing.Short() {
		boundaries = 15
	}
	for _, durability := range []adk.Durability{adk.OnInterrupt, adk.EveryStep} {
		w := newWorld(t)
		w.client.Transport.(*http.Transport).DisableKeepAlives = true // what is idle would count as left over
		adktest.Explore(t.Context(), t, adktest.Exploration[M]{
			Query: "Look around.", Streaming: true, Durability: durability, Boundaries: boundaries,
			Agent: func(p *adktest.Probe[M]) adk.TypedAgent[M] {
				return agentOf[M](t, p.Model(travel[M](w, order)), p.Tool(lookTool(t)))
			},
		})
	}
}

// cutting lets so many bytes of the n-th answer through, and then ends it cleanly.
type cutting struct {
	http.RoundTripper
	after int
}

func (c *cutting) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := c.RoundTripper.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	body := resp.Body
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(body, int64(c.after)), body}
	return resp, nil
}

// A stream that breaks anywhere has another provider answer, and the conversation continues with that one's answer alone.
func TestConversation_FailsOverInMidStream(t *testing.T) {
	for _, pair := range [][2]string{
		{"anthropic", "gemini"}, {"gemini", "responses"}, {"responses", "openai"}, {"openrouter", "anthropic"},
		{"kimi", "mistral"}, {"mistral", "ollama"}, {"ollama", "deepseek"},
	} {
		t.Run(pair[0]+" to "+pair[1], func(t *testing.T) {
			w := newWorld(t)
			whole := w.client.Transport
			cuts := 0
			for after := 0; ; after += 97 {
				w.client = &http.Client{Transport: &cutting{whole, after}}
				broken := modelOf[*schema.Message](w, pair[0])
				w.client = &http.Client{Transport: whole}
				healthy := modelOf[*schema.Message](w, pair[1])
				failed := 0
				agent := agentOf(t, broken, lookTool(t), func(c *adk.TypedChatModelAgentConfig[*schema.Message]) {
					c.ModelFailoverConfig = &adk.ModelFailoverConfig[*schema.Message]{
						MaxRetries: 1,
						ShouldFailover: func(_ context.Context, _ *schema.Message, err error) bool {
							failed++
							return errors.Is(err, io.ErrUnexpectedEOF)
						},
						GetFailoverModel: func(context.Context, *adk.FailoverContext[*schema.Message]) (
							model.BaseModel[*schema.Message], []*schema.Message, error,
						) {
							return healthy, nil, nil
						},
					}
				})
				events := adktest.AskStreaming(t.Context(), t, agent, "Look around.")
				requireDone(t, events)
				if t.Failed() {
					t.Fatalf("cut after %d bytes", after)
				}
				if failed == 0 { // nothing was cut
					break
				}
				cuts++
			}
			require.Greater(t, cuts, 5)
		})
	}
}
