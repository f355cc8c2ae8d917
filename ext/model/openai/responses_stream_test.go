package openai_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/ext/model/kit/kittest"
	"github.com/weftgo/weft/ext/model/openai"
	"github.com/weftgo/weft/schema"
)

// All that can go wrong below the protocol.
func TestResponsesStream_Misbehaviours(t *testing.T) {
	good := kittest.ResponsesStream("Hällo ", "wörld", ", 世界!")
	kittest.RunMisbehaviours(t, good, func(ctx context.Context, url string) (string, error) {
		transport := &http.Transport{}
		defer transport.CloseIdleConnections()
		m, err := openai.NewResponsesModel(ctx, &openai.ResponsesConfig{
			APIKey: responsesTestKey, Model: "gpt-5", BaseURL: url + "/v1", HTTPClient: &http.Client{Transport: transport},
		})
		if err != nil {
			return "", err
		}
		sr, err := m.Stream(ctx, userSays("go"))
		if err != nil {
			return "", checkSecrets(err)
		}
		defer sr.Close()
		text := ""
		for {
			chunk, err := sr.Recv()
			if err == io.EOF {
				return text, nil
			}
			if err != nil {
				return text, checkSecrets(err)
			}
			for _, b := range chunk.ContentBlocks {
				text += b.AssistantGenText.Text
			}
		}
	})
}

// checkSecrets panics if an error shows the key.
func checkSecrets(err error) error {
	if strings.Contains(err.Error(), responsesTestKey) {
		panic("the error shows the key")
	}
	return err
}

func streamOf(t *testing.T, events ...string) (*schema.AgenticMessage, error) {
	t.Helper()
	body := kittest.NamedSSE(events...).Bytes()
	return streamResponses(t, func() io.Reader { return bytes.NewReader(body) })
}

// Arguments and texts that come only with the end of their item, or of the answer.
//
// Rules providers/R21, providers/R22
func TestResponsesStream_TakesWhatTheDeltasDidNotHave(t *testing.T) {
	const added = `{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"f","arguments":""}}`
	const delta = `{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{\"a\""}`
	const argsDone = `{"type":"response.function_call_arguments.done","output_index":0,"arguments":"{\"a\":1}"}`
	itemDone := `{"type":"response.output_item.done","output_index":0,"item":` + callItemOne + `}`
	end := func(items ...string) string {
		return `{"type":"response.completed","response":` + responsesDoc("resp_1", "completed", items...) + `}`
	}
	for name, events := range map[string][]string{
		"deltas and item":         {added, delta, argsDone, itemDone, end()},
		"done only":               {added, argsDone, end()},
		"item only":               {itemDone, end(callItemOne)},
		"added and item":          {added, itemDone, end()},
		"terminal event only":     {end(callItemOne)},
		"deltas, then the end":    {added, delta, end(callItemOne)},
		"deltas without an added": {delta, itemDone, end()},
		"item twice":              {added, itemDone, itemDone, argsDone, delta, end(callItemOne)},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := streamOf(t, events...)
			require.NoError(t, err)
			require.Len(t, m.ContentBlocks, 1)
			require.Equal(t, &schema.FunctionToolCall{CallID: "call_1", Name: "f", Arguments: `{"a":1}`},
				m.ContentBlocks[0].FunctionToolCall)
			require.Equal(t, kit.FinishToolCalls, kit.FinishOf(m))
		})
	}
}

func TestResponsesStream_TextsThinkingAndRefusalsInPieces(t *testing.T) {
	m, err := streamOf(t,
		`{"type":"response.reasoning_summary_part.added","output_index":0,"summary_index":0}`,
		`{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"on"}`,
		`{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":1,"delta":"tw"}`,
		`{"type":"response.output_item.done","output_index":0,"item":`+thoughtItem1+`}`,
		`{"type":"response.reasoning_text.delta","output_index":1,"content_index":0,"delta":"de"}`,
		`{"type":"response.reasoning_text.done","output_index":1,"content_index":0,"text":"deep"}`,
		`{"type":"response.output_item.done","output_index":1,"item":{"id":"rs_2","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"deep!"}]}}`,
		`{"type":"response.refusal.delta","output_index":2,"content_index":0,"delta":"No "}`,
		`{"type":"response.refusal.done","output_index":2,"content_index":0,"refusal":"No way"}`,
		`{"type":"response.output_item.done","output_index":2,"item":`+refusalItem+`}`,
		`{"type":"response.completed","response":{"id":"resp_1","status":"completed"}}`)
	require.NoError(t, err)
	require.Equal(t, "on\n\ntw", m.ContentBlocks[0].Reasoning.Text[:6])
	require.Equal(t, "gAAA/+==", m.ContentBlocks[0].Reasoning.Signature)
	require.Equal(t, "deep!", m.ContentBlocks[1].Reasoning.OpenAIExtension.Content[0].Text)
	require.Equal(t, "No way.", m.ContentBlocks[2].AssistantGenText.OpenAIExtension.Refusal.Reason)
	require.Nil(t, m.ResponseMeta.TokenUsage) // providers/K34
}

// Rules providers/R23, providers/K20
func TestResponsesStream_ErrorsInside(t *testing.T) {
	start := `{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"hi"}`
	for name, test := range map[string]struct {
		event string
		kind  kit.Kind
		code  string
	}{
		"event":     {`{"type":"error","code":"rate_limit_exceeded","message":"slow down","param":null}`, kit.ErrRateLimited, "rate_limit_exceeded"},
		"nested":    {`{"type":"error","error":{"type":"server_error","code":"server_error","message":"m"}}`, kit.ErrServer, "server_error"},
		"no words":  {`{"type":"error"}`, kit.ErrUnknown, ""},
		"untyped":   {`{"error":{"message":"m","code":"context_length_exceeded"}}`, kit.ErrContextLength, "context_length_exceeded"},
		"failed":    {`{"type":"response.failed","response":{"id":"r","status":"failed","error":{"code":"server_error","message":"m"}}}`, kit.ErrServer, "server_error"},
		"no reason": {`{"type":"response.failed","response":{"id":"r","status":"failed","error":null}}`, kit.ErrUnknown, ""},
		"too long":  {`{"type":"response.failed","response":{"id":"r","status":"failed","error":{"code":"context_length_exceeded","message":"m"}}}`, kit.ErrContextLength, "context_length_exceeded"},
		"prompt":    {`{"type":"response.failed","response":{"id":"r","status":"failed","error":{"code":"invalid_prompt","message":"m"}}}`, kit.ErrInvalid, "invalid_prompt"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := streamOf(t, start, test.event)
			var api *kit.APIError
			require.ErrorAs(t, err, &api)
			require.Equal(t, test.code, api.Code)
			require.Equal(t, test.kind, api.Kind)
		})
	}
}

// Rules providers/R23, providers/K42, providers/K43
func TestResponsesStream_IncompleteAnswers(t *testing.T) {
	end := func(reason string) string {
		return `{"type":"response.incomplete","response":{"id":"r","status":"incomplete","incomplete_details":{"reason":"` + reason + `"},"output":[]}}`
	}
	start := `{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"hi"}`
	thought := `{"type":"response.reasoning_summary_text.delta","output_index":0,"delta":"hm"}`
	for reason, finish := range map[string]kit.Finish{
		"max_output_tokens": kit.FinishLength, "content_filter": kit.FinishContentFilter, "steered": kit.FinishStop, "new": kit.FinishLength,
	} {
		m, err := streamOf(t, start, end(reason))
		require.NoError(t, err)
		require.Equal(t, finish, kit.FinishOf(m), reason)
		require.Equal(t, reason, m.ResponseMeta.OpenAIExtension.IncompleteDetails.Reason)
	}
	_, err := streamOf(t, thought, end("max_output_tokens"))
	var stopped *kit.StoppedError
	require.ErrorAs(t, err, &stopped)
	require.Equal(t, kit.FinishLength, stopped.Finish)
	m, err := streamOf(t, `{"type":"response.completed","response":{"id":"r","status":"completed","output":[]}}`)
	require.NoError(t, err)
	require.True(t, kit.IsEmpty(m))
}

// Rules providers/K25, providers/K26
func TestResponsesStream_UnknownEventsAndItems(t *testing.T) {
	m, err := streamOf(t, `{"type":"response.telepathy.delta","output_index":0,"delta":{"a":1}}`,
		`{"type":"response.mcp_call_arguments.delta","output_index":0,"delta":"{\"q"}`,
		`{"type":"response.output_item.done","output_index":0,"item":`+mcpCallItem+`}`,
		`{"type":"response.output_item.done","output_index":1,"item":`+unknownItem+`}`,
		`{"type":"response.completed","response":{"id":"r","status":"completed"}}`)
	require.NoError(t, err)
	require.Equal(t, `{"q":1}`, m.ContentBlocks[0].MCPToolCall.Arguments)
	require.Equal(t, unknownItem, m.ContentBlocks[2].ServerToolResult.Content)
}

// Partial images are shown, and are no part of the answer.
func TestResponsesStream_PartialImages(t *testing.T) {
	body := kittest.NamedSSE(
		`{"type":"response.image_generation_call.partial_image","output_index":0,"item_id":"ig_1","partial_image_index":0,"partial_image_b64":"cGFydA==","output_format":"webp"}`,
		`{"type":"response.output_item.done","output_index":0,"item":`+imageItem+`}`,
		`{"type":"response.completed","response":{"id":"r","status":"completed"}}`).Bytes()
	m := newResponses(t, responsesAt("https://api.openai.com", func(c *openai.ResponsesConfig) {
		c.HTTPClient = &http.Client{Transport: responsesBody{"text/event-stream", func() io.Reader { return bytes.NewReader(body) }}}
	}))
	var seen []openai.ResponsesPartialImage
	sr, err := m.Stream(t.Context(), userSays("go"), openai.WithResponsesPartialImages(
		func(_ context.Context, image openai.ResponsesPartialImage) { seen = append(seen, image) }))
	require.NoError(t, err)
	answer, err := joinResponses(sr)
	require.NoError(t, err)
	require.Equal(t, []openai.ResponsesPartialImage{{ItemID: "ig_1", Base64Data: "cGFydA==", MIMEType: "image/webp"}}, seen)
	require.Len(t, answer.ContentBlocks, 2)
	require.Equal(t, "aW1n", answer.ContentBlocks[1].AssistantGenImage.Base64Data)
}

// Rules providers/R24, providers/K33, providers/K35
func TestResponsesStream_ReportsWhatTheServerSays(t *testing.T) {
	m, err := streamOf(t, `{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"hi"}`,
		`{"type":"response.completed","response":{"id":"r","status":"completed","model":"gpt-5-x","created_at":1782321544.0,`+
			`"service_tier":"flex","previous_response_id":"p","prompt_cache_retention":"in_memory","reasoning":{"effort":"low","summary":null},`+
			`"usage":{"input_tokens":10,"input_tokens_details":{"cached_tokens":4,"cache_write_tokens":3},"output_tokens":7,`+
			`"output_tokens_details":{"reasoning_tokens":2},"total_tokens":17}}}`)
	require.NoError(t, err)
	ext := m.ResponseMeta.OpenAIExtension
	require.Equal(t, "flex", string(ext.ServiceTier))
	require.Equal(t, "p", ext.PreviousResponseID)
	require.Equal(t, "in-memory", string(ext.PromptCacheRetention)) // providers/R1
	require.Equal(t, "low", string(ext.Reasoning.Effort))
	require.EqualValues(t, 1782321544, ext.CreatedAt)
	require.Equal(t, &schema.TokenUsage{PromptTokens: 10, CompletionTokens: 7, TotalTokens: 17,
		PromptTokenDetails:      schema.PromptTokenDetails{CachedTokens: 4, CacheWriteTokens: 3},
		CompletionTokensDetails: schema.CompletionTokensDetails{ReasoningTokens: 2}}, m.ResponseMeta.TokenUsage)
	require.Contains(t, m.Extra[kit.UsageRawKey], `"cache_write_tokens":3`)
	require.Equal(t, kit.Origin{Provider: "openai", Host: "api.openai.com", API: "responses"}, kit.OriginOf(m.Extra))
}

// Rule providers/K41
func TestResponses_CallbacksSeeTheCallOnce(t *testing.T) {
	good := kittest.ResponsesStream("hi")
	var mu sync.Mutex // guards starts, usage
	starts, usage, tools := 0, 0, 0
	handler := callbacks.NewHandlerBuilder().OnStartFn(
		func(ctx context.Context, _ *callbacks.RunInfo, in callbacks.CallbackInput) context.Context {
			mu.Lock()
			defer mu.Unlock()
			starts++
			tools = len(model.ConvAgenticCallbackInput(in).Tools)
			return ctx
		}).OnEndWithStreamOutputFn(func(
		ctx context.Context, _ *callbacks.RunInfo, out *schema.StreamReader[callbacks.CallbackOutput],
	) context.Context {
		defer out.Close()
		for {
			chunk, err := out.Recv()
			if err != nil {
				return ctx
			}
			if o := model.ConvAgenticCallbackOutput(chunk); o.TokenUsage != nil {
				mu.Lock()
				usage++
				mu.Unlock()
			}
		}
	}).Build()
	ctx := callbacks.InitCallbacks(t.Context(), &callbacks.RunInfo{}, handler)
	m := newResponses(t, responsesAt("https://api.openai.com", func(c *openai.ResponsesConfig) {
		c.ServerTools = []openai.ServerTool{openai.WebSearch(openai.WebSearchParams{})}
		c.HTTPClient = &http.Client{Transport: responsesBody{"text/event-stream", func() io.Reader { return bytes.NewReader(good.Bytes()) }}}
	}))
	sr, err := m.Stream(ctx, userSays("go"), model.WithTools([]*schema.ToolInfo{toolOf("f")}))
	require.NoError(t, err)
	_, err = joinResponses(sr)
	require.NoError(t, err)
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, 1, starts)
	require.Equal(t, 1, usage)
	require.Equal(t, 2, tools)
}

// Servers repeat keys that they refuse in their errors, keys for MCP servers included.
//
// Rule providers/K5
func TestResponses_ErrorsShowNoSecrets(t *testing.T) {
	tool := openai.MCP(openai.MCPParams{ServerLabel: "w", ServerURL: "https://w", Authorization: "mcp-token-secret",
		Headers: map[string]string{"X-Api-Key": "mcp-header-secret"}})
	server := kittest.Server(t, nil, kittest.Always(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error":{"message":"bad `+responsesTestKey+` mcp-token-secret mcp-header-secret extra-header-secret"}}`)
	})))
	_, err := newResponses(t, responsesAt(server.URL)).Generate(t.Context(), userSays("go"), openai.WithResponsesMCPTools(tool),
		openai.WithResponsesExtraHeaders(map[string]string{"X-Token": "extra-header-secret"}))
	require.ErrorIs(t, err, kit.ErrAuth)
	for _, secret := range []string{responsesTestKey, "mcp-token-secret", "mcp-header-secret", "extra-header-secret"} {
		require.NotContains(t, err.Error(), secret)
	}
}

// Rules providers/K6, providers/K31
func TestResponses_TokenSourceIsAskedAgain(t *testing.T) {
	var tokens []string
	server := kittest.Server(t, nil, kittest.Status(http.StatusUnauthorized, `{"error":{"message":"expired"}}`),
		kittest.JSON(responsesDoc("resp_1", "completed", textItemHi)))
	m := newResponses(t, responsesAt(server.URL, func(c *openai.ResponsesConfig) {
		c.APIKey = ""
		c.TokenSource = func(context.Context) (string, error) {
			tokens = append(tokens, "token-"+string(rune('a'+len(tokens))))
			return tokens[len(tokens)-1], nil
		}
	}))
	_, err := m.Generate(t.Context(), userSays("go"))
	require.NoError(t, err)
	require.Equal(t, []string{"token-a", "token-b"}, tokens)
	require.Equal(t, "Bearer token-b", server.Requests()[1].Header.Get("Authorization"))
}

// Rule providers/K27
func TestResponses_PanicsOfUsersBecomeErrors(t *testing.T) {
	m := newResponses(t, responsesAt("https://api.openai.com", func(c *openai.ResponsesConfig) {
		c.APIKey, c.TokenSource = "", func(context.Context) (string, error) { panic("boom") }
	}))
	_, err := m.Generate(t.Context(), userSays("go"))
	require.ErrorContains(t, err, "boom")
	_, err = m.Stream(t.Context(), userSays("go"))
	require.ErrorContains(t, err, "boom")
	_, err = sendResponses(t, userSays("go"), nil, openai.WithResponsesRequestModifier(
		func(context.Context, []byte) ([]byte, error) { return nil, errors.New("no") }))
	require.ErrorContains(t, err, "no")
}

// Many streams at once, each closed somewhere; nothing is left behind (TestMain).
//
// Rule providers/K22
func TestResponses_ManyStreamsAreClosedAnywhere(t *testing.T) {
	const streams, atOnce = 1000, 50
	good := kittest.ResponsesStream(strings.Split("a stream with a few words in it", " ")...)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		good.ServeHTTP(w, r)
	}))
	defer server.Close()
	transport := &http.Transport{MaxIdleConnsPerHost: atOnce}
	defer transport.CloseIdleConnections()
	m := newResponses(t, responsesAt(server.URL, func(c *openai.ResponsesConfig) { c.HTTPClient = &http.Client{Transport: transport} }))
	var wg sync.WaitGroup
	for worker := range atOnce {
		wg.Go(func() {
			for n := worker; n < streams; n += atOnce {
				ctx, cancel := context.WithCancel(t.Context())
				sr, err := m.Stream(ctx, userSays("go"))
				if err != nil {
					cancel()
					t.Error(err)
					return
				}
				for range n % 12 {
					if _, err := sr.Recv(); err != nil {
						break
					}
				}
				if n%3 == 0 {
					cancel()
				}
				sr.Close()
				cancel()
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("streams hang")
	}
}

func FuzzResponsesStream(f *testing.F) {
	f.Add(kittest.ResponsesStream("one", "two").Bytes())
	f.Add(responsesEvents("resp_1", "completed", thoughtItem1, callItemOne, searchItem, imageItem, mcpCallItem, unknownItem).Bytes())
	f.Add([]byte(`{"id":"r","status":"completed","output":[{"type":"message","content":[{"type":"refusal"}]}]}`))
	f.Add([]byte("data: {\"type\":\"response.output_text.delta\",\"output_index\":-5,\"delta\":\"x\"}\n\n"))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, kind := range []string{"text/event-stream", "application/json"} {
			m, err := openai.NewResponsesChatModel(t.Context(), &openai.ResponsesConfig{
				APIKey: responsesTestKey, Model: "gpt-5", MaxRetries: new(int), PreviousResponse: true,
				HTTPClient: &http.Client{Transport: responsesBody{kind, func() io.Reader { return bytes.NewReader(body) }}},
			})
			require.NoError(t, err)
			answer, err := m.Generate(t.Context(), []*schema.Message{schema.UserMessage("go")})
			if (answer == nil) == (err == nil) {
				t.Fatalf("answer %v, error %v", answer, err)
			}
			if err != nil && strings.Contains(err.Error(), "goroutine ") {
				t.Fatalf("panic: %v", err)
			}
		}
	})
}
