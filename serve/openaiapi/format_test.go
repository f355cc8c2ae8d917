package openaiapi

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/serve"
	"github.com/weftgo/weft/serve/internal/servetest"
)

const sky = `{"type":"object","required":["sky"],"properties":{"sky":{"enum":["sun","rain"]}}}`

// A client that wants JSON of a schema gets exactly that, whatever was said on the way: streamed or not, by both APIs.
// Rule serving/OA6.
func TestHandler_AnswersInTheFormatOfTheClient(t *testing.T) {
	const chatFormat = `,"response_format":{"type":"json_schema","json_schema":{"name":"weather","strict":true,"schema":` + sky + `}}`
	const format = `,"text":{"format":{"type":"json_schema","name":"weather","strict":true,"schema":` + sky + `}}`
	servetest.EachKind(t, func(t *testing.T, makeDesk func(replies ...adktest.Answer) servetest.Desk) {
		serving := func() *api {
			d := makeDesk(adktest.Streams("Let me ", "see.").Calling(adktest.Call("look", `{}`)), adktest.Says("It is sunny."),
				adktest.Streams("```json\n", "{\"sky\": \"sun\"}\n```"))
			web := httptest.NewServer(Handler(d.Server, Config{}))
			t.Cleanup(func() { web.Close(); http.DefaultClient.CloseIdleConnections() })
			return &api{t, d.Server, web.URL}
		}
		t.Run("chat", func(t *testing.T) {
			c := serving().chat(200, ask+chatFormat+`}`)
			require.Equal(t, `{"sky": "sun"}`, c.Choices[0].Message.Content)
			require.Equal(t, "stop", c.Choices[0].FinishReason)
		})
		t.Run("chat, streamed", func(t *testing.T) {
			var text strings.Builder
			for _, c := range chunks(t, serving().stream("/v1/chat/completions", ask+chatFormat+`,"stream":true}`)) {
				if len(c.Choices) > 0 && c.Choices[0].Delta.Content != nil {
					text.WriteString(*c.Choices[0].Delta.Content)
				}
			}
			require.Equal(t, `{"sky": "sun"}`, text.String())
		})
		t.Run("responses", func(t *testing.T) {
			r := serving().respond(200, `{"model":"desk","input":"Hi"`+format+`}`)
			require.Len(t, r.Output, 1)
			require.Equal(t, `{"sky": "sun"}`, r.Output[0].Content[0].Text)
		})
		t.Run("responses, streamed", func(t *testing.T) {
			data := serving().stream("/v1/responses", `{"model":"desk","input":"Hi","stream":true`+format+`}`)
			var last struct {
				Type     string
				Response struct {
					Output []struct{ Content []struct{ Text string } }
					Text   struct{ Format map[string]any }
				}
			}
			require.NoError(t, json.Unmarshal([]byte(data[len(data)-1]), &last))
			require.Equal(t, "response.completed", last.Type)
			require.Equal(t, `{"sky": "sun"}`, last.Response.Output[0].Content[0].Text)
			require.Equal(t, []any{"json_schema", "weather", true}, []any{last.Response.Text.Format["type"],
				last.Response.Text.Format["name"], last.Response.Text.Format["strict"]})
		})
	})
}

// What is not of the format is an error, and no answer: also where a tool has ended the run.
// Rule serving/OA6.
func TestHandler_AnswersNothingThatIsNotOfTheFormat(t *testing.T) {
	takes := []adk.ChatModelAgentMiddleware{serve.ClientFormats()}
	direct := adktest.Tools(adktest.NewTool("look", adktest.Says("sunny").Repeated()))
	direct.ReturnDirectly = map[string]bool{"look": true}
	for name, replies := range map[string][]adktest.Answer{
		"never fits":      {adktest.Says("Sunny!").Repeated()},
		"ended by a tool": {adktest.Streams("{}").Calling(adktest.Call("look", `{}`)).Repeated()},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t, Config{}, serve.Config{}, adk.ChatModelAgentConfig{Handlers: takes, ToolsConfig: direct}, replies...)
			format := `{"type":"json_schema","json_schema":{"name":"x","schema":` + sky + `}}`
			require.Equal(t, "internal", a.chat(500, ask+`,"response_format":`+format+`}`).Error.Code)
			data := a.stream("/v1/chat/completions", ask+`,"stream":true,"response_format":`+format+`}`)
			require.Contains(t, data[len(data)-1], `"error"`)
			require.NotContains(t, strings.Join(data, ""), "Sunny")
			r := a.respond(200, `{"model":"desk","input":"Hi","text":{"format":{"type":"json_schema","name":"x","schema":`+sky+`}}}`)
			require.Equal(t, "failed", r.Status)
			require.Empty(t, r.Output)
		})
	}
}

// Rule serving/OA6.
func TestHandler_TakesJSONObjectsAndRefusesFormatsThatThereAreNot(t *testing.T) {
	takes := []adk.ChatModelAgentMiddleware{serve.ClientFormats()}
	a := newAPI(t, Config{}, serve.Config{}, adk.ChatModelAgentConfig{Handlers: takes}, adktest.Says("[1]"), adktest.Says(`{"a":1}`),
		adktest.Says("plain"))
	require.Equal(t, `{"a":1}`, a.chat(200, ask+`,"response_format":{"type":"json_object"}}`).Choices[0].Message.Content)
	require.Equal(t, "plain", a.chat(200, ask+`,"response_format":{"type":"text"}}`).Choices[0].Message.Content)
	for _, bad := range []string{`{"type":"json_schema"}`, `{"type":"json_schema","json_schema":{}}`, `{"type":"grammar"}`, `1`,
		`{"type":"json_schema","json_schema":{"schema":7}}`, `{"type":"json_schema","json_schema":{"schema":null}}`} {
		require.Equal(t, "bad_request", a.chat(400, ask+`,"response_format":`+bad+`}`).Error.Code, bad)
		a.post(400, "/v1/responses", `{"model":"desk","input":"Hi","text":{"format":`+bad+`}}`)
	}
	without := newAPI(t, Config{}, serve.Config{}, adk.ChatModelAgentConfig{})
	require.Contains(t, without.chat(400, ask+`,"response_format":{"type":"json_object"}}`).Error.Message, "takes no format")
}

// A run that asks before it answers shows the question, and keeps to the format when it continues.
// Rule serving/OA6.
func TestResponses_KeepToTheFormatBehindAnApproval(t *testing.T) {
	servetest.EachKind(t, func(t *testing.T, makeDesk func(replies ...adktest.Answer) servetest.Desk) {
		d := makeDesk(adktest.Calls(adktest.Call("pay", `{"n":1}`)), adktest.Says("Paid."), adktest.Says(`{"sky":"rain"}`))
		web := httptest.NewServer(Handler(d.Server, Config{}))
		defer func() { web.Close(); http.DefaultClient.CloseIdleConnections() }()
		a := &api{t, d.Server, web.URL}
		const format = `,"text":{"format":{"type":"json_schema","name":"weather","schema":` + sky + `}}}`
		first := a.respond(200, `{"model":"desk","input":"Pay!"`+format)
		require.Len(t, first.Output, 1)
		second := a.respond(200, `{"model":"desk","previous_response_id":"`+first.ID+`","input":[{"type":"mcp_approval_response",`+
			`"approval_request_id":"`+first.Output[0].ID+`","approve":true}]`+format)
		require.Len(t, second.Output, 1)
		require.Equal(t, `{"sky":"rain"}`, second.Output[0].Content[0].Text)
	})
}
