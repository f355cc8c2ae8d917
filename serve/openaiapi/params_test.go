package openaiapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/middlewares/approval"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
	"github.com/weftgo/weft/serve"
)

// optioned is a model that says which options it was called with.
type optioned struct{}

func (optioned) Generate(_ context.Context, _ []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	o := model.GetCommonOptions(&model.Options{}, opts...)
	return schema.AssistantMessage(fmt.Sprint(*o.Temperature, *o.TopP, *o.MaxTokens, o.Stop), nil), nil
}

func (m optioned) Stream(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	said, err := m.Generate(ctx, in, opts...)
	return schema.StreamReaderFromArray([]*schema.Message{said}), err
}

func (m optioned) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return m, nil }

func TestChat_GivesItsParametersToTheModel(t *testing.T) {
	agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "desk", Description: "helps", Model: optioned{}})
	require.NoError(t, err)
	a := newAPIOf(t, Config{}, serve.Config{Agents: []adk.Agent{agent}})
	for body, want := range map[string]string{
		`,"temperature":0.5,"top_p":0.25,"max_tokens":7,"stop":"a"}`:                                 "0.5 0.25 7 [a]",
		`,"temperature":0.5,"top_p":0.25,"max_tokens":7,"max_completion_tokens":8,"stop":["a","b"]}`: "0.5 0.25 8 [a b]",
	} {
		require.Equal(t, want, a.chat(200, ask+body).Choices[0].Message.Content)
	}
	for _, bad := range []string{`"stop":1`, `"n":2`, `"tools":[{"type":"web_search"}]`, `"max_tokens":0`} {
		a.chat(400, ask+`,`+bad+`}`)
	}
}

// finishing is an answer that ends for a reason.
func finishing(reason string) adktest.Answer {
	return adktest.Messages(&schema.Message{Role: schema.Assistant, Content: "Half", ResponseMeta: &schema.ResponseMeta{FinishReason: reason}})
}

func TestHandler_SaysWhyAnAnswerIsNotWhole(t *testing.T) {
	for word, want := range map[string][2]string{"length": {"length", "max_output_tokens"}, "MAX_TOKENS": {"length", "max_output_tokens"},
		"content_filter": {"content_filter", "content_filter"}} {
		a := newAPI(t, Config{}, serve.Config{}, adk.ChatModelAgentConfig{}, finishing(word), finishing(word))
		require.Equal(t, want[0], a.chat(200, ask+`}`).Choices[0].FinishReason)
		kinds, last := kinds(t, a.stream("/v1/responses", `{"model":"desk","input":"Hi","stream":true}`))
		require.Equal(t, "response.incomplete", kinds[len(kinds)-1])
		require.Equal(t, want[1], last["response"].(map[string]any)["incomplete_details"].(map[string]any)["reason"])
	}
}

// Errors have the statuses, types and codes by which clients make their classes of them.
// Rule serving/OA1.
func TestHandler_RefusesInTheClassesOfTheAPI(t *testing.T) {
	busy := newAPI(t, Config{}, serve.Config{Limits: serve.Limits{StartsPerMinute: 1}}, adk.ChatModelAgentConfig{}, adktest.Says("1."))
	busy.chat(200, ask+`}`)
	unknown := newAPI(t, Config{}, serve.Config{Auth: func(*http.Request) (serve.Principal, error) {
		return serve.Principal{}, errors.New("canary")
	}}, adk.ChatModelAgentConfig{})
	over := newAPI(t, Config{}, serve.Config{}, adk.ChatModelAgentConfig{})
	require.NoError(t, over.srv.Shutdown(t.Context()))
	for _, c := range []struct {
		a          *api
		status     int
		kind, code string
	}{{busy, 429, "rate_limit_exceeded", "rate_limit_exceeded"}, {unknown, 401, "invalid_request_error", "invalid_api_key"},
		{over, 503, "server_error", "shutting_down"}} {
		e := c.a.chat(c.status, ask+`}`).Error
		require.Equal(t, c.kind+" "+c.code, e.Type+" "+e.Code)
		require.NotContains(t, e.Message, "canary")
	}
	answer, err := http.Get(over.url + "/v1/embeddings")
	require.NoError(t, err)
	answer.Body.Close()
	require.Contains(t, string(over.post(404, "/v1/embeddings", `{}`)), `"code":"unknown_url"`)
}

func TestHandler_BoundsMetadata(t *testing.T) {
	a := newAPI(t, Config{}, serve.Config{}, adk.ChatModelAgentConfig{}, adktest.Says("Hi.").Repeated())
	var members []string
	for i := range 16 {
		members = append(members, fmt.Sprintf(`"k%02d":"%s"`, i, strings.Repeat("v", 512)))
	}
	r := a.respond(200, `{"model":"desk","input":"Hi","metadata":{`+strings.Join(members, ",")+`}}`)
	require.Len(t, r.Metadata, 16)
	a.respond(400, `{"model":"desk","input":"Hi","metadata":{`+strings.Join(members, ",")+`,"more":""}}`)
	a.respond(400, `{"model":"desk","input":"Hi","metadata":{"k":"`+strings.Repeat("v", 513)+`"}}`)
	a.chat(400, ask+`,"metadata":{"`+strings.Repeat("k", 65)+`":"v"}}`)
}

// Clients of the API send a request again by themselves, unless they are told not to: they are, but where nothing was begun.
// Rule serving/OA7.
func TestHandler_HasNothingRepeatedThatWasBegun(t *testing.T) {
	retried := func(a *api, status int) string {
		t.Helper()
		answer, err := http.Post(a.url+"/v1/chat/completions", "application/json", strings.NewReader(ask+`,"metadata":{"thread":"t"}}`))
		require.NoError(t, err)
		answer.Body.Close()
		require.Equal(t, status, answer.StatusCode)
		return answer.Header.Get("X-Should-Retry")
	}
	failing := newAPI(t, Config{}, serve.Config{}, adk.ChatModelAgentConfig{}, adktest.Fails(errors.New("broken")))
	require.Equal(t, "false", retried(failing, 500))
	guard, err := approval.New(t.Context(), &approval.Config{Tools: []string{"look"}})
	require.NoError(t, err)
	waiting := newAPI(t, Config{}, serve.Config{}, adk.ChatModelAgentConfig{ToolsConfig: adktest.Tools(adktest.NewTool("look")),
		Handlers: []adk.ChatModelAgentMiddleware{guard}}, adktest.Calls(adktest.Call("look", `{}`)))
	waiting.chat(200, ask+`,"metadata":{"thread":"t"}}`)
	require.Equal(t, "false", retried(waiting, 409))
	full := newAPI(t, Config{}, serve.Config{Limits: serve.Limits{StartsPerMinute: 1}}, adk.ChatModelAgentConfig{}, adktest.Says("1."))
	full.chat(200, ask+`}`)
	require.Equal(t, "true", retried(full, 429))
}

// The same request with the same key is answered by the same run.
func TestHandler_TakesAnIdempotencyKey(t *testing.T) {
	a := newAPI(t, Config{}, serve.Config{}, adk.ChatModelAgentConfig{}, adktest.Says("Once."))
	var ids []string
	for range 2 {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.url+"/v1/chat/completions", strings.NewReader(ask+`}`))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", "k1")
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		var c completion
		require.NoError(t, json.NewDecoder(answer.Body).Decode(&c))
		answer.Body.Close()
		ids = append(ids, c.ID+c.Choices[0].Message.Content)
	}
	require.Equal(t, ids[0], ids[1])
}

// Models that a client may not know are not listed.
// Rules serving/OA1, serving/SV13.
func TestHandler_ListsOnlyModelsThatAClientMayKnow(t *testing.T) {
	agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "desk", Description: "helps",
		Model: adktest.NewModel(t)})
	require.NoError(t, err)
	srv, err := serve.New(serve.Config{Agents: []adk.Agent{agent}, AllowAnonymous: true,
		Authorize: func(context.Context, serve.Principal, serve.Action) error { return errors.New("no") }})
	require.NoError(t, err)
	defer func() { require.NoError(t, srv.Shutdown(context.Background())) }()
	for path, status := range map[string]int{"/v1/models": 200, "/v1/models/desk": 404} {
		answer := httptest.NewRecorder()
		Handler(srv, Config{}).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
		require.Equal(t, status, answer.Code)
		require.NotContains(t, answer.Body.String(), "desk")
	}
}
