package interop

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/middlewares/approval"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/ext/model/openai"
	"github.com/weftgo/weft/schema"
	"github.com/weftgo/weft/serve"
	"github.com/weftgo/weft/serve/openaiapi"
)

// serving serves an agent "desk", and returns the server and its address.
func serving(t *testing.T, conf serve.Config, agent adk.ChatModelAgentConfig, handler func(*serve.Server) http.Handler,
	replies ...adktest.Answer,
) (*serve.Server, string) {
	t.Helper()
	agent.Name, agent.Description, agent.Model = "desk", "helps", adktest.NewModel(t, replies...)
	desk, err := adk.NewChatModelAgent(t.Context(), &agent)
	require.NoError(t, err)
	conf.Agents, conf.DrainTimeout = []adk.Agent{desk}, time.Second
	srv, err := serve.New(conf)
	require.NoError(t, err)
	web := httptest.NewServer(handler(srv))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		require.NoError(t, srv.Shutdown(ctx))
		web.Close()
	})
	return srv, web.URL
}

// storing makes configurations of servers that have one directory, one after the other.
func storing(t *testing.T) func() serve.Config {
	t.Helper()
	dir := t.TempDir()
	return func() serve.Config {
		store, err := checkpoint.NewFileStore(dir + "/runs")
		require.NoError(t, err)
		events, err := runlog.NewFileStore(dir + "/events")
		require.NoError(t, err)
		return serve.Config{Store: store, Events: events}
	}
}

// asOpenAI serves OpenAI's API.
func asOpenAI(srv *serve.Server) http.Handler { return openaiapi.Handler(srv, openaiapi.Config{}) }

// looking is an agent with a tool of its own.
func looking() adk.ChatModelAgentConfig {
	return adk.ChatModelAgentConfig{ToolsConfig: adktest.Tools(adktest.NewTool("look", adktest.Says("sunny").Repeated()))}
}

// asking is an agent whose tool needs an approval.
func asking(t *testing.T) adk.ChatModelAgentConfig {
	guard, err := approval.New(t.Context(), &approval.Config{Tools: []string{"look"}})
	require.NoError(t, err)
	conf := looking()
	conf.Handlers = []adk.ChatModelAgentMiddleware{guard}
	return conf
}

// bringing is an agent whose clients bring tools.
func bringing() adk.ChatModelAgentConfig {
	return adk.ChatModelAgentConfig{Handlers: []adk.ChatModelAgentMiddleware{serve.ClientTools()}}
}

func TestOpenAI_NodeClientListsChatsAndStreams(t *testing.T) {
	_, url := serving(t, serve.Config{}, looking(), asOpenAI,
		adktest.Streams("Let me see.").Calling(adktest.Call("look", `{}`)), adktest.Streams("It is ", "sunny."),
		adktest.Streams("It is ", "sunny."), adktest.Streams("Hel", "lo."))
	out := node(t, "openai", "openai.mjs", "basics", url)[0]
	require.Equal(t, []any{"desk"}, out["models"])
	require.Equal(t, "Let me see.\n\nIt is sunny.", out["chat"])
	require.Equal(t, "It is sunny.", out["stream"])
	require.Equal(t, true, out["usage"])
	require.Equal(t, "Hello.", out["response"])
	require.Equal(t, "NotFoundError", out["nobody"])
	require.Equal(t, "BadRequestError", out["bad"])
}

func TestOpenAI_NodeClientGetsAnswersOfItsFormat(t *testing.T) {
	conf := looking()
	conf.Handlers = append(conf.Handlers, serve.ClientFormats())
	var replies []adktest.Answer
	for range 4 {
		replies = append(replies, adktest.Streams("Let me ", "see.").Calling(adktest.Call("look", `{}`)), adktest.Says("Sunny."),
			adktest.Streams("```json\n", `{"sky":"sun"}`, "\n```"))
	}
	_, url := serving(t, serve.Config{}, conf, asOpenAI, replies...)
	out := node(t, "openai", "openai.mjs", "formats", url)[0]
	sunny := map[string]any{"sky": "sun"}
	require.Equal(t, []any{sunny, sunny, sunny, sunny}, out["all"])
	require.Equal(t, "json_schema", out["shown"].(map[string]any)["type"])
}

func TestOpenAI_NodeClientCallsItsTools(t *testing.T) {
	_, url := serving(t, serve.Config{AllowClientTools: true}, bringing(), asOpenAI,
		adktest.Calls(adktest.Call("locate", `{"precise":true}`)), adktest.Says("You are in Lisbon.").SeeingLast("tool locate#call_1: 38.7"))
	out := node(t, "openai", "openai.mjs", "tools", url)[0]
	require.Equal(t, "You are in Lisbon.", out["final"])
	require.Equal(t, map[string]any{"precise": true}, out["args"])
}

func TestOpenAI_NodeClientApproves(t *testing.T) {
	_, url := serving(t, serve.Config{}, asking(t), asOpenAI,
		adktest.Calls(adktest.Call("look", `{"a":1}`)), adktest.Says("Sunny.").SeeingLast("tool look#call_1: sunny"))
	out := node(t, "openai", "openai.mjs", "approve", url)[0]
	require.Equal(t, "mcp_approval_request", out["asked"])
	require.Equal(t, "Sunny.", out["final"])
}

// The question of a server is answered after another process has taken its place.
func TestOpenAI_NodeClientApprovesAfterARestart(t *testing.T) {
	stored := storing(t)
	first, url := serving(t, stored(), asking(t), asOpenAI, adktest.Calls(adktest.Call("look", `{"a":1}`)))
	asked := node(t, "openai", "openai.mjs", "ask", url)[0]
	require.NoError(t, first.Shutdown(t.Context()))
	_, url = serving(t, stored(), asking(t), asOpenAI, adktest.Says("Sunny.").SeeingLast("tool look#call_1: sunny"),
		adktest.Says("Still.").SeeingLast("user: And now?"))
	out := node(t, "openai", "openai.mjs", "answer", url, asked["id"].(string), asked["request"].(string))[0]
	require.Equal(t, "Sunny.", out["final"])
	require.Equal(t, "Still.", out["next"])
}

// A client that gives up in the middle stops the run.
func TestOpenAI_NodeClientAborts(t *testing.T) {
	srv, url := serving(t, serve.Config{}, looking(), asOpenAI, adktest.Streams("word ", "word ", "word ").ThenBlocks())
	require.Equal(t, true, node(t, "openai", "openai.mjs", "abort", url)[0]["aborted"])
	r := httptest.NewRequest("GET", "http://localhost/runs", nil)
	r.RemoteAddr = "127.0.0.1:1"
	require.Eventually(t, func() bool {
		c, err := srv.Caller(r)
		require.NoError(t, err)
		all, err := c.Runs(t.Context(), serve.Query{Status: serve.Stopped})
		require.NoError(t, err)
		return len(all) == 1
	}, 10*time.Second, 20*time.Millisecond)
}

func TestOpenAI_GoClientChatsStreamsAndResponds(t *testing.T) {
	_, url := serving(t, serve.Config{}, looking(), asOpenAI, adktest.Streams("Hel", "lo."), adktest.Streams("Hel", "lo."), adktest.Streams("Hel", "lo."))
	c := sdk.NewClient(option.WithBaseURL(url+"/v1"), option.WithAPIKey("x"), option.WithMaxRetries(0))
	params := sdk.ChatCompletionNewParams{Model: "desk", Messages: []sdk.ChatCompletionMessageParamUnion{sdk.UserMessage("Hi")}}
	whole, err := c.Chat.Completions.New(t.Context(), params)
	require.NoError(t, err)
	require.Equal(t, "Hello.", whole.Choices[0].Message.Content)
	stream := c.Chat.Completions.NewStreaming(t.Context(), params)
	all := sdk.ChatCompletionAccumulator{}
	for stream.Next() {
		all.AddChunk(stream.Current())
	}
	require.NoError(t, stream.Err())
	require.Equal(t, "Hello.", all.Choices[0].Message.Content)
	answer, err := c.Responses.New(t.Context(), responses.ResponseNewParams{Model: "desk",
		Input: responses.ResponseNewParamsInputUnion{OfString: sdk.String("Hi")}})
	require.NoError(t, err)
	require.Equal(t, "Hello.", answer.OutputText())
	params.Model = "nobody"
	_, err = c.Chat.Completions.New(t.Context(), params)
	var failed *sdk.Error
	require.ErrorAs(t, err, &failed)
	require.Equal(t, 404, failed.StatusCode)
}

// runsOf are the runs of a server whose callers are this machine.
func runsOf(t *testing.T, srv *serve.Server) []serve.Run {
	t.Helper()
	r := httptest.NewRequest("GET", "http://localhost/runs", nil)
	r.RemoteAddr = "127.0.0.1:1"
	c, err := srv.Caller(r)
	require.NoError(t, err)
	all, err := c.Runs(t.Context(), serve.Query{})
	require.NoError(t, err)
	return all
}

// A run that has failed is executed once, although clients of the API send requests again by themselves.
func TestOpenAI_ClientsDoNotRepeatARunThatFailed(t *testing.T) {
	broken := adktest.Fails(errors.New("broken")).Repeated()
	srv, url := serving(t, serve.Config{}, looking(), asOpenAI, adktest.Calls(adktest.Call("look", `{}`)), broken)
	c := sdk.NewClient(option.WithBaseURL(url+"/v1"), option.WithAPIKey("x"))
	_, err := c.Chat.Completions.New(t.Context(), sdk.ChatCompletionNewParams{Model: "desk",
		Messages: []sdk.ChatCompletionMessageParamUnion{sdk.UserMessage("Hi")}})
	var failed *sdk.Error
	require.ErrorAs(t, err, &failed)
	require.Equal(t, 500, failed.StatusCode)
	require.Len(t, runsOf(t, srv), 1)

	srv, url = serving(t, serve.Config{}, looking(), asOpenAI, adktest.Calls(adktest.Call("look", `{}`)), broken)
	out := node(t, "openai", "openai.mjs", "retries", url)[0]
	require.EqualValues(t, 1, out["requests"])
	require.EqualValues(t, 500, out["status"])
	require.Len(t, runsOf(t, srv), 1)
}

// An agent is the model of another one.
func TestOpenAI_AgentBehindAnAgent(t *testing.T) {
	_, url := serving(t, serve.Config{}, looking(), asOpenAI, adktest.Streams("It is ", "sunny."))
	m, err := openai.NewChatModel(t.Context(), &openai.Config{BaseURL: url + "/v1", APIKey: "x", Model: "desk"})
	require.NoError(t, err)
	front, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "front", Description: "asks the desk", Model: m})
	require.NoError(t, err)
	runner := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: front, EnableStreaming: true})
	text := ""
	for e := range runner.Query(t.Context(), "How is the weather?").All() {
		require.NoError(t, e.Err)
		msg, _, err := adk.GetMessage(e)
		require.NoError(t, err)
		if msg != nil && msg.Role == schema.Assistant {
			text += msg.Content
		}
	}
	require.Equal(t, "It is sunny.", text)
}
