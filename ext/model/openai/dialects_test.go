package openai

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// streamedBy returns the answer that a stream of these documents is, and of what is behind them.
func streamedBy(t *testing.T, body string, opts ...model.Option) (*schema.Message, error) {
	t.Helper()
	sr, err := newModel(t, streaming(body)).Stream(t.Context(), question, opts...)
	require.NoError(t, err)
	return schema.ConcatMessageStream(sr)
}

func documents(docs ...string) string {
	return "data: " + strings.Join(docs, "\n\ndata: ") + "\n\n"
}

func argumentsIn(m *schema.Message) (all []string) {
	for _, c := range m.ToolCalls {
		all = append(all, c.Function.Name+c.Function.Arguments)
	}
	return all
}

const (
	callsEnd  = `{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}`
	usageOnly = `{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}`
)

func callsDelta(calls string) string { return `{"choices":[{"delta":{"tool_calls":[` + calls + `]}}]}` }

func TestCalls_WithoutIndexAreToldApartByTheirPlace(t *testing.T) {
	m, err := streamedBy(t, documents(
		callsDelta(`{"id":"a","function":{"name":"f"}},{"id":"b","function":{"name":"g"}}`),
		callsDelta(`{"function":{"arguments":"{\"x\""}},{"function":{"arguments":"{\"y\""}}`),
		callsDelta(`{"function":{"arguments":":1}"}},{"function":{"arguments":":2}"}}`), callsEnd, "[DONE]"))
	require.NoError(t, err)
	require.Equal(t, []string{`f{"x":1}`, `g{"y":2}`}, argumentsIn(m))
	m, err = streamedBy(t, documents(
		callsDelta(`{"function":{"name":"f","arguments":"{}"}},{"function":{"name":"g","arguments":"{}"}}`),
		callsDelta(`{"function":{"name":"f","arguments":"{\"n\":1}"}},{"function":{"name":"g","arguments":"{\"n\":2}"}}`), callsEnd))
	require.NoError(t, err)
	require.Equal(t, []string{`f{}`, `g{}`, `f{"n":1}`, `g{"n":2}`}, argumentsIn(m))
}

// A model that knows the wrapper from its training calls it though the request does not offer it.
func TestCalls_SeveralInOneAreUnwrapped(t *testing.T) {
	arguments := `{"tool_uses":[{"recipient_name":"functions.f","parameters":{"a":1}},{"recipient_name":"g","parameters":{}}]}`
	text, _ := json.Marshal(arguments)
	half, _ := json.Marshal(arguments[:40])
	rest, _ := json.Marshal(arguments[40:])
	wholeBody := `{"choices":[{"message":{"tool_calls":[{"id":"c","function":{"name":"multi_tool_use.parallel","arguments":` + string(text) +
		`}},{"id":"d","function":{"name":"h","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`
	stream := documents(callsDelta(`{"index":0,"id":"c","function":{"name":"parallel","arguments":""}}`),
		callsDelta(`{"index":0,"function":{"arguments":`+string(half)+`}}`), callsDelta(`{"index":0,"function":{"arguments":`+string(rest)+`}}`),
		callsDelta(`{"index":1,"id":"d","function":{"name":"h","arguments":"{}"}}`), callsEnd, "[DONE]")
	for name, ask := range map[string]func() (*schema.Message, error){
		"whole":  func() (*schema.Message, error) { return newModel(t, whole(wholeBody)).Generate(t.Context(), question) },
		"stream": func() (*schema.Message, error) { return streamedBy(t, stream) },
	} {
		m, err := ask()
		require.NoError(t, err, name)
		require.ElementsMatch(t, []string{`f{"a":1}`, `g{}`, `h{}`}, argumentsIn(m), name)
		ids := map[string]bool{}
		for _, c := range m.ToolCalls {
			ids[c.ID] = true
		}
		require.Len(t, ids, 3)
	}
	offered := model.WithTools([]*schema.ToolInfo{{Name: "parallel"}})
	m, err := streamedBy(t, stream, offered)
	require.NoError(t, err)
	require.Equal(t, []string{"parallel" + arguments, "h{}"}, argumentsIn(m), "it is a tool of the application")
	_, err = streamedBy(t, documents(callsDelta(`{"index":0,"id":"c","function":{"name":"parallel","arguments":"{\"tool"}}`), callsEnd))
	require.ErrorAs(t, err, new(*kit.CutCallError))
}

// Services that count thinking aside show it in the total, or by more thinking than there is answer.
//
// Rule providers/K33.
func TestUsage_ThinkingThatIsCountedAside(t *testing.T) {
	for raw, want := range map[string][3]int{ // completion, reasoning, total
		`{"prompt_tokens":35,"completion_tokens":12,"total_tokens":109}`:                                                           {74, 62, 109},
		`{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11,"completion_tokens_details":{"reasoning_tokens":25}}`:          {27, 25, 36},
		`{"prompt_tokens":9,"completion_tokens":2,"total_tokens":36,"completion_tokens_details":{"reasoning_tokens":25}}`:          {27, 25, 36},
		`{"prompt_tokens":9.0,"completion_tokens":30.0,"total_tokens":39.0,"completion_tokens_details":{"reasoning_tokens":25.0}}`: {30, 25, 39},
		`{"prompt_tokens":9,"completion_tokens":30,"total_tokens":39,"completion_tokens_details":{"reasoning_tokens":25}}`:         {30, 25, 39},
	} {
		m := answerOf(t, `{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}],"usage":`+raw+`}`)
		u := m.ResponseMeta.Usage
		require.Equal(t, want, [3]int{u.CompletionTokens, u.CompletionTokensDetails.ReasoningTokens, u.TotalTokens}, raw)
		require.Empty(t, kit.CheckUsage(u))
	}
	m := answerOf(t, `{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":2168,"completion_tokens":2,`+
		`"total_tokens":2170,"prompt_tokens_details":{"cached_tokens":2161,"cache_write_tokens":2161}}}`)
	require.Equal(t, schema.PromptTokenDetails{CachedTokens: 2161}, m.ResponseMeta.Usage.PromptTokenDetails)
}

// Snowflake's streams end with their account and [DONE], and never with a reason.
func TestStream_WithoutAReasonEndsWithTheAccountAndDone(t *testing.T) {
	text := `{"choices":[{"delta":{"content":"hi","reasoning_details":[{"type":"reasoning.text","index":0,"text":"hm"}]}}]}`
	m, err := streamedBy(t, documents(text, usageOnly, "[DONE]"))
	require.NoError(t, err)
	require.Equal(t, "hi", m.Content)
	require.Equal(t, "hm", m.ReasoningContent)
	require.Equal(t, kit.FinishUnknown, kit.FinishOf(m))
	require.Len(t, GetReasoningDetails(m), 1)
	for _, cut := range []string{documents(text, "[DONE]"), documents(text, usageOnly),
		documents(callsDelta(`{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}`), usageOnly, "[DONE]")} {
		_, err = streamedBy(t, cut)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	}
}

func TestReasoning_DetailsOfSeveralTextsInTurnsAreJoined(t *testing.T) {
	delta := func(details string) string { return `{"choices":[{"delta":{"reasoning_details":[` + details + `]}}]}` }
	m, err := streamedBy(t, documents(
		delta(`{"type":"reasoning.text","index":0,"text":"A"}`), delta(`{"type":"reasoning.text","index":1,"text":"X"}`),
		delta(`{"type":"reasoning.text","index":0,"text":"B"}`), delta(`{"type":"reasoning.text","index":1,"text":"Y"}`),
		delta(`{"type":"reasoning.text","index":0,"signature":"S0"},{"type":"reasoning.text","index":1,"signature":"S1"}`),
		`{"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}`))
	require.NoError(t, err)
	got, _ := json.Marshal(GetReasoningDetails(m))
	require.JSONEq(t, `[{"type":"reasoning.text","index":0,"text":"AB","signature":"S0"},{"type":"reasoning.text","index":1,"text":"XY","signature":"S1"}]`, string(got))
}

// The code of an error says more than its status, with which services are careless.
func TestErrors_CodesWinOverStatuses(t *testing.T) {
	for code, want := range map[string]struct {
		kind  kit.Kind
		retry bool
	}{
		"tool_use_failed": {kit.ErrMalformed, true}, "json_validate_failed": {kit.ErrMalformed, true},
		"model_not_found": {kit.ErrNotFound, false}, "rate_limit_exceeded": {kit.ErrRateLimited, true},
	} {
		refuse := roundTrip(func(req *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusBadRequest, Header: http.Header{"Content-Type": {"application/json"}}, Request: req,
				Body: io.NopCloser(strings.NewReader(`{"error":{"message":"no","type":"invalid_request_error","code":"` + code + `","failed_generation":"<f>"}}`))}, nil
		})
		_, err := newModel(t, refuse).Generate(t.Context(), question)
		require.ErrorIs(t, err, want.kind)
		require.Equal(t, want.retry, kit.IsRetryable(err), code)
		require.ErrorContains(t, err, `the model wrote "<f>"`)
	}
}

// What is no answer can be asked for again, and says what it is.
func TestResponse_BodiesThatAreNoAnswerCanBeRetried(t *testing.T) {
	for name, ask := range map[string]func() error{
		"[DONE] alone": func() error { _, err := streamedBy(t, "data: [DONE]\n\n"); return err },
		"only usage":   func() error { _, err := streamedBy(t, documents(usageOnly, "[DONE]")); return err },
		"other JSON":   func() error { _, err := newModel(t, whole(`{"ok":true}`)).Generate(t.Context(), question); return err },
		"HTML": func() error {
			_, err := newModel(t, answering("text/html", strings.NewReader("<html>busy</html>"))).Generate(t.Context(), question)
			return err
		},
	} {
		err := ask()
		require.ErrorAs(t, err, new(*kit.NoAnswerError), name)
		require.True(t, kit.IsRetryable(err), name)
	}
}

func TestStream_ErrorEventsKeepTheirText(t *testing.T) {
	for data, want := range map[string]string{
		`upstream died`: "upstream died", `{"message":"upstream died"}`: "upstream died", `"upstream died"`: "upstream died",
		`{"error":{"message":"upstream died"}}`: "upstream died",
	} {
		_, err := streamedBy(t, documents(`{"choices":[{"delta":{"content":"hi"}}]}`)+"event: error\ndata: "+data+"\n\n")
		var api *kit.APIError
		require.True(t, errors.As(err, &api), data)
		require.Equal(t, want, api.Message, data)
	}
}

// What Mistral demands between a result and the user's words.
//
// Rule providers/K16.
func TestMessages_MistralGetsAnAnswerBetweenResultAndUser(t *testing.T) {
	c := ProfileMistral
	_, body := capture(t, func(conf *Config) { conf.Profile = &c }, []*schema.Message{
		schema.UserMessage("q"), {Role: schema.Assistant, ToolCalls: []schema.ToolCall{{ID: "abcdefghi", Function: schema.FunctionCall{Name: "f"}}}},
		schema.ToolMessage("r", "abcdefghi"), schema.UserMessage("and?"),
	})
	var roles []string
	for _, m := range body["messages"].([]any) {
		roles = append(roles, m.(map[string]any)["role"].(string))
	}
	require.Equal(t, []string{"user", "assistant", "tool", "assistant", "user"}, roles)
}
