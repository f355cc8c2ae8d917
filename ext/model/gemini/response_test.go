package gemini_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/ext/model/gemini"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// streamed asks for a streamed answer.
func streamed(t testing.TB, conf *gemini.Config) (*schema.AgenticMessage, error) {
	t.Helper()
	return ask(t.Context(), agentic(t, conf), hello, true)
}

// Rules providers/G6, providers/K26.
func TestArguments_KeepDigitsAndOrder(t *testing.T) {
	conf, _ := fake(t, parts(`{"functionCall":{"name":"f","id":"i","args":{ "z": 9007199254740993,
		"a": 1.50, "t": "<x>" }}}`, `{"functionCall":{"name":"g","id":"j"}}`))
	m := generate(t, conf, hello, functions("f", "g"))
	require.Equal(t, `{"z":9007199254740993,"a":1.50,"t":"<x>"}`, m.ContentBlocks[0].FunctionToolCall.Arguments)
	require.Equal(t, `{}`, m.ContentBlocks[1].FunctionToolCall.Arguments)
}

// Holds providers/G7, providers/G25, providers/K25: server tools and what is not known come back as they were.
func TestParts_OfTheServer_AreKeptByteForByte(t *testing.T) {
	kept := []string{
		`{"executableCode":{"language":"PYTHON","code":"print(1)","id":"x"},"thoughtSignature":"czE="}`,
		`{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"1\n","id":"x"}}`,
		`{"toolCall":{"id":"t","toolType":"GOOGLE_SEARCH_WEB","args":{"queries":["a"],"n":9007199254740993}},"thoughtSignature":"czI="}`,
		`{"toolResponse":{"id":"t","toolType":"GOOGLE_SEARCH_WEB","response":{"b":1,"a":2}}}`,
		`{"newThing":{"x":[1,2,{"y":null}]},"thoughtSignature":"czM="}`,
		`{"inlineData":{"mimeType":"application/x-thing","data":"AAAA"}}`,
		`{"inlineData":{"mimeType":"image/png","data":"AAAA"},"thought":true}`,
	}
	conf, s := fake(t, parts(append(kept, text("done"))...), parts(text("next")))
	conf.Model = "gemini-3-pro-preview"
	first := generate(t, conf, hello)
	types := []string{}
	for _, b := range first.ContentBlocks {
		types = append(types, string(b.Type))
	}
	require.Equal(t, "server_tool_call server_tool_result server_tool_call server_tool_result server_tool_result "+
		"server_tool_result server_tool_result assistant_gen_text", strings.Join(types, " "))
	code, ok := gemini.GetExecutableCode(first.ContentBlocks[0])
	require.True(t, ok)
	require.Equal(t, gemini.ExecutableCode{ID: "x", Language: "PYTHON", Code: "print(1)"}, code)
	ran, ok := gemini.GetCodeExecutionResult(first.ContentBlocks[1])
	require.True(t, ok)
	require.Equal(t, gemini.CodeExecutionResult{ID: "x", Outcome: "OUTCOME_OK", Output: "1\n"}, ran)
	require.Equal(t, "google_search_web", first.ContentBlocks[2].ServerToolCall.Name)
	require.Equal(t, `{"queries":["a"],"n":9007199254740993}`, first.ContentBlocks[2].ServerToolCall.Arguments)
	require.Equal(t, `{"b":1,"a":2}`, first.ContentBlocks[3].ServerToolResult.Content)
	require.Equal(t, "newThing", first.ContentBlocks[4].ServerToolResult.Name)

	s.faulty = true // the validator knows no new things
	generate(t, conf, []*schema.AgenticMessage{hello[0], stored(t, first), hello[0]})
	require.Contains(t, string(s.sent[1]), strings.Join(kept, ","))
	_, ok = gemini.GetExecutableCode(first.ContentBlocks[1])
	require.False(t, ok)

	// The same through plain messages.
	conf, s = fake(t, sse(piece(kept[:3]...), piece(kept[3:]...), ended("STOP", text("done"))), parts(text("next")))
	conf.Model, s.faulty = "gemini-3-pro-preview", true
	m := chat(t, conf)
	got, err := ask(t.Context(), m, []*schema.Message{schema.UserMessage("Hello")}, true)
	require.NoError(t, err)
	require.Equal(t, "done", got.Content)
	_, err = m.Generate(t.Context(), []*schema.Message{schema.UserMessage("Hello"), stored(t, got), schema.UserMessage("Hello")})
	require.NoError(t, err)
	require.Contains(t, string(s.sent[1]), strings.Join(kept, ","))
}

// Rule providers/G25.
func TestParts_OfMedia(t *testing.T) {
	conf, s := fake(t, parts(text("a"), `{"inlineData":{"mimeType":"image/png","data":"AAAA"},"thoughtSignature":"czE="}`,
		`{"inlineData":{"mimeType":"audio/wav","data":"BBBB"}}`, `{"inlineData":{"mimeType":"audio/wav","data":"CCCC"}}`,
		`{"fileData":{"mimeType":"video/mp4","fileUri":"gs://a/b"}}`), parts(text("b")))
	m := generate(t, conf, hello)
	require.Len(t, m.ContentBlocks, 5)
	require.Equal(t, "AAAA", m.ContentBlocks[1].AssistantGenImage.Base64Data)
	require.Equal(t, "CCCC", m.ContentBlocks[3].AssistantGenAudio.Base64Data)
	require.Equal(t, "gs://a/b", m.ContentBlocks[4].AssistantGenVideo.URL)
	generate(t, conf, []*schema.AgenticMessage{hello[0], stored(t, m), hello[0]})
	require.Contains(t, s.contents(1), `{"inlineData":{"data":"AAAA","mimeType":"image/png"},"thoughtSignature":"czE="}`)
}

// Holds providers/G25 and providers/K23: blocks are what the parts say, however they come.
func TestStream_GivesTheSameBlocksAsAWholeAnswer(t *testing.T) {
	list := []string{
		`{"text":"x","thought":true}`, `{"text":"y","thought":true}`, text("a"), text(""), text("b"),
		`{"text":"c","thoughtSignature":"czE="}`, text("d"), `{"functionCall":{"name":"f","id":"i","args":{"a":1}}}`,
		`{"functionCall":{"name":"f","id":"j","args":{"a":1}},"thoughtSignature":"czI="}`, text("e"),
		`{"executableCode":{"language":"PYTHON","code":"1"}}`, `{"text":"","thoughtSignature":"czM="}`,
	}
	whole, _ := fake(t, parts(list...))
	want := generate(t, whole, hello)
	for n := 1; n <= len(list); n++ {
		var events []string
		for at := 0; at < len(list); at += n {
			events = append(events, piece(list[at:min(at+n, len(list))]...))
		}
		for name, body := range map[string]string{
			"events": sse(append(events, parts())...), "list": "[" + strings.Join(append(events, parts()), ",\n") + "]",
		} {
			conf, _ := fake(t, body)
			got, err := streamed(t, conf)
			require.NoError(t, err)
			require.Equal(t, want, got, "%s, %d", name, n)
		}
	}
	require.Len(t, want.ContentBlocks, 9)
}

// Rules providers/G27, providers/K43.
func TestFinish_Reasons(t *testing.T) {
	for reason, want := range map[string]kit.Finish{
		"STOP": kit.FinishStop, "MAX_TOKENS": kit.FinishLength, "SAFETY": kit.FinishContentFilter,
		"RECITATION": kit.FinishContentFilter, "BLOCKLIST": kit.FinishContentFilter, "SPII": kit.FinishContentFilter,
		"PROHIBITED_CONTENT": kit.FinishContentFilter, "IMAGE_SAFETY": kit.FinishContentFilter,
		"IMAGE_OTHER": kit.FinishContentFilter, "MALFORMED_FUNCTION_CALL": kit.FinishMalformed,
		"UNEXPECTED_TOOL_CALL": kit.FinishMalformed, "TOO_MANY_TOOL_CALLS": kit.FinishMalformed,
		"LANGUAGE": kit.FinishError, "OTHER": kit.FinishError, "NO_IMAGE": kit.FinishError, "NEWLY_INVENTED": kit.FinishUnknown,
	} {
		conf, _ := fake(t, ended(reason, text("a")), strings.Replace(ended(reason), `"finishReason"`, `"finishMessage":"why","finishReason"`, 1))
		m := generate(t, conf, hello)
		require.Equal(t, want, kit.FinishOf(m), reason)
		conf, _ = fake(t, strings.Replace(ended(reason), `"finishReason"`, `"finishMessage":"why","finishReason"`, 1))
		m, err := streamed(t, conf)
		if reason == "STOP" {
			require.NoError(t, err)
			require.True(t, kit.IsEmpty(m))
			continue
		}
		var stopped *kit.StoppedError
		require.ErrorAs(t, err, &stopped, reason)
		require.Equal(t, kit.StoppedError{Provider: "gemini", Finish: want, Reason: reason, Detail: "why"}, *stopped)
		require.Equal(t, want == kit.FinishMalformed, kit.IsRetryable(err))
	}
}

// Holds providers/G27: a candidate may have no content, or content without parts.
func TestFinish_CandidateWithoutContent(t *testing.T) {
	for _, candidate := range []string{`{"finishReason":"STOP"}`, `{"content":{"role":"model"},"finishReason":"STOP"}`,
		`{"content":null,"finishReason":"STOP","index":0}`, `{"content":{"parts":null},"finishReason":"STOP"}`} {
		for _, body := range []string{`{"candidates":[` + candidate + `]}`, sse(`{"candidates":[` + candidate + `]}`)} {
			conf, _ := fake(t, body)
			m, err := streamed(t, conf)
			require.NoError(t, err)
			require.True(t, kit.IsEmpty(m))
		}
	}
}

// Holds providers/G27: the service's verdict counts, even if there is a call.
func TestFinish_MalformedCallsAreNotRun(t *testing.T) {
	good := `{"functionCall":{"name":"f","id":"i","args":{}}}`
	for _, body := range []string{
		ended("MALFORMED_FUNCTION_CALL", good), sse(piece(text("a")), piece(good), ended("MALFORMED_FUNCTION_CALL")),
		sse(ended("UNEXPECTED_TOOL_CALL", text("a"), good)),
	} {
		conf, _ := fake(t, body)
		_, err := streamed(t, conf)
		var stopped *kit.StoppedError
		require.ErrorAs(t, err, &stopped)
		require.Equal(t, kit.FinishMalformed, stopped.Finish)
		require.True(t, kit.IsRetryable(err))
	}
	conf, _ := fake(t, ended("MALFORMED_FUNCTION_CALL", text("a")))
	require.Equal(t, kit.FinishMalformed, kit.FinishOf(generate(t, conf, hello)))
}

// Rule providers/G26.
func TestBlockedPrompt_IsAContentFilterError(t *testing.T) {
	blocked := `{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT","blockReasonMessage":"no"},"usageMetadata":{"promptTokenCount":3}}`
	for _, body := range []string{blocked, sse(blocked), sse(`{"usageMetadata":{"promptTokenCount":1}}`, blocked)} {
		conf, _ := fake(t, body)
		_, err := streamed(t, conf)
		require.ErrorIs(t, err, kit.ErrContentFilter)
		require.EqualError(t, err, "gemini: the answer has no content: it ended with content_filter (PROHIBITED_CONTENT): no")
		require.False(t, kit.IsRetryable(err))
	}
}

// Holds providers/G26: chunks of nothing but metadata are normal; nothing but metadata is no answer.
func TestMetadataAlone(t *testing.T) {
	conf, _ := fake(t, sse(`{"usageMetadata":{"promptTokenCount":1},"responseId":"r"}`, piece(text("a")), parts(), `{"usageMetadata":{"promptTokenCount":9}}`))
	m, err := streamed(t, conf)
	require.NoError(t, err)
	require.Equal(t, 9, m.ResponseMeta.TokenUsage.PromptTokens)
	conf, _ = fake(t, `{"usageMetadata":{"promptTokenCount":1}}`)
	_, err = streamed(t, conf)
	var stopped *kit.StoppedError
	require.ErrorAs(t, err, &stopped)
	conf, _ = fake(t, sse(`{"usageMetadata":{"promptTokenCount":1}}`))
	_, err = streamed(t, conf)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

// Rules providers/G28, providers/K33, providers/K34, providers/K35.
func TestUsage(t *testing.T) {
	raw := `{"promptTokenCount":10,"toolUsePromptTokenCount":5,"cachedContentTokenCount":4,"candidatesTokenCount":3,` +
		`"thoughtsTokenCount":2,"totalTokenCount":20,"trafficType":"ON_DEMAND"}`
	conf, _ := fake(t, sse(piece(text("a")), `{"candidates":[{"finishReason":"STOP"}],"usageMetadata":`+raw+`}`))
	m, err := streamed(t, conf)
	require.NoError(t, err)
	require.Equal(t, &schema.TokenUsage{
		PromptTokens: 15, PromptTokenDetails: schema.PromptTokenDetails{CachedTokens: 4}, CompletionTokens: 5,
		CompletionTokensDetails: schema.CompletionTokensDetails{ReasoningTokens: 2}, TotalTokens: 20,
	}, m.ResponseMeta.TokenUsage)
	require.Empty(t, kit.CheckUsage(m.ResponseMeta.TokenUsage))
	require.Equal(t, raw, m.Extra[kit.UsageRawKey])
	require.Equal(t, "ON_DEMAND", m.Extra[gemini.TrafficTypeKey])

	conf, _ = fake(t, `{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}]}`)
	require.Nil(t, generate(t, conf, hello).ResponseMeta.TokenUsage)
}

// Rule providers/G29.
func TestGrounding_LateAndInPieces(t *testing.T) {
	first := `{"groundingChunks":[{"web":{"uri":"u","title":"t","domain":"d"}},{"maps":{"placeId":"p"}}],"webSearchQueries":["q"],"groundingSupports":[]}`
	second := `{"groundingSupports":[{"segment":{"startIndex":1,"endIndex":2,"partIndex":0,"text":"x"},"groundingChunkIndices":[0],` +
		`"confidenceScores":[0.5]}],"searchEntryPoint":{"renderedContent":"<b>","sdkBlob":"AQ=="},"groundingChunks":[]}`
	body := sse(piece(text("a")), `{"candidates":[{"groundingMetadata":`+first+`}]}`,
		`{"candidates":[{"finishReason":"STOP","groundingMetadata":`+second+`,"citationMetadata":{"citationSources":[]},`+
			`"urlContextMetadata":{"urlMetadata":[]},"safetyRatings":[{"category":"C"}],"logprobsResult":{"a":1}}]}`)
	conf, _ := fake(t, body)
	m, err := streamed(t, conf)
	require.NoError(t, err)
	meta := stored(t, m).ResponseMeta.GeminiExtension.GroundingMeta
	require.Equal(t, "u", meta.GroundingChunks[0].Web.URI)
	require.Nil(t, meta.GroundingChunks[1].Web)
	require.Equal(t, []int{0}, meta.GroundingSupports[0].GroundingChunkIndices)
	require.Equal(t, 2, meta.GroundingSupports[0].Segment.EndIndex)
	require.Equal(t, "<b>", meta.SearchEntryPoint.RenderedContent)
	require.Equal(t, []string{"q"}, meta.WebSearchQueries)
	require.Contains(t, m.Extra[gemini.GroundingKey], `"maps":{"placeId":"p"}`)
	require.Equal(t, `{"citationSources":[]}`, m.Extra[gemini.CitationsKey])
	require.Equal(t, `{"urlMetadata":[]}`, m.Extra[gemini.URLContextKey])
	require.Equal(t, `[{"category":"C"}]`, m.Extra[gemini.SafetyRatingsKey])
	require.Equal(t, `{"a":1}`, m.Extra[gemini.LogprobsKey])

	conf, _ = fake(t, body)
	plain, err := ask(t.Context(), chat(t, conf), []*schema.Message{schema.UserMessage("Hello")}, true)
	require.NoError(t, err)
	require.Equal(t, "u", gemini.GetGroundMetadata(stored(t, plain)).GroundingChunks[0].Web.URI)
	require.Nil(t, gemini.GetGroundMetadata(schema.AssistantMessage("a", nil)))
}

// Rules providers/G8, providers/K36.
func TestContinuation_IsAskedForAndAddedUp(t *testing.T) {
	hop := func(text, token, usage string) string {
		return `{"candidates":[{"content":{"parts":[{"text":"` + text + `"}]},"finishReason":"CONTINUATION","continuationToken":"` +
			token + `"}],"usageMetadata":` + usage + `,"responseId":"` + text + `"}`
	}
	last := `{"candidates":[{"content":{"parts":[{"text":"c"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1}}`
	u := `{"promptTokenCount":10,"candidatesTokenCount":1}`
	for name, bodies := range map[string][]string{
		"whole":  {hop("a", "dDE=", u), hop("b", "dDI=", u), last},
		"stream": {sse(hop("a", "dDE=", u)), sse(hop("b", "dDI=", u)), sse(last)},
	} {
		t.Run(name, func(t *testing.T) {
			conf, s := fake(t, bodies...)
			s.faulty = true // the validator knows no token
			m, err := ask(t.Context(), agentic(t, conf), hello, name == "stream")
			require.NoError(t, err)
			require.Len(t, m.ContentBlocks, 1)
			require.Equal(t, "abc", m.ContentBlocks[0].AssistantGenText.Text)
			require.Equal(t, 24, m.ResponseMeta.TokenUsage.TotalTokens)
			require.Len(t, kit.SplitObjects(m.Extra[kit.UsageRawKey].(string)), 3)
			require.Equal(t, "dDE=", s.body(1)["continuationToken"])
			require.Equal(t, "dDI=", s.body(2)["continuationToken"])
			require.Equal(t, s.contents(0), s.contents(2))
		})
	}
	conf, s := fake(t, sse(hop("a", "dDE=", u)))
	s.faulty = true
	m, err := streamed(t, conf)
	require.NoError(t, err)
	require.Equal(t, kit.FinishPaused, kit.FinishOf(m))
	require.Len(t, s.sent, 9, "it gives up after 8 continuations")
	conf, s = fake(t, ended("CONTINUATION", text("a")))
	require.Equal(t, kit.FinishPaused, kit.FinishOf(generate(t, conf, hello)))
	require.Len(t, s.sent, 1)
	conf, s = fake(t, sse(hop("a", "dDE=", u)), `{"error":{"code":400,"message":"expired"}}`)
	s.faulty = true
	_, err = streamed(t, conf)
	require.ErrorIs(t, err, kit.ErrInvalid)
	require.ErrorContains(t, err, "continue the answer (request 2)")
}

// Rules providers/G31, providers/K28, providers/K29, providers/K20.
func TestErrors(t *testing.T) {
	for body, want := range map[string]kit.Kind{
		`{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"m","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerDayPerProject"}]}]}}`:    kit.ErrQuota,
		`{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"m","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerMinutePerProject"}]}]}}`: kit.ErrRateLimited,
		`{"error":{"code":503,"status":"UNAVAILABLE","message":"overloaded"}}`:                                                     kit.ErrOverloaded,
		`{"error":{"code":504,"status":"DEADLINE_EXCEEDED","message":"m"}}`:                                                        kit.ErrTimeout,
		`{"error":{"code":500,"status":"INTERNAL","message":"m"}}`:                                                                 kit.ErrServer,
		`{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"m"}}`:                                                         kit.ErrInvalid,
		`{"error":{"code":400,"status":"FAILED_PRECONDITION","message":"User location is not supported"}}`:                         kit.ErrInvalid,
		`{"error":{"code":403,"status":"PERMISSION_DENIED","message":"m"}}`:                                                        kit.ErrPermission,
		`{"error":{"code":404,"status":"NOT_FOUND","message":"m"}}`:                                                                kit.ErrNotFound,
		`{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"API key not valid. Please pass a valid API key."}}`:           kit.ErrAuth,
		`{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"The input token count (9) exceeds the maximum number (8)."}}`: kit.ErrContextLength,
	} {
		for name, sent := range map[string]string{"event": sse(piece(text("a")), body), "list": "[" + body + "]", "whole": "\n" + body} {
			conf, _ := fake(t, sent)
			_, err := streamed(t, conf)
			require.ErrorIs(t, err, want, "%s: %s", name, body)
			var api *kit.APIError
			require.ErrorAs(t, err, &api)
			require.Equal(t, "gemini", api.Provider)
			require.NotZero(t, api.StatusCode)
		}
	}
}

// Holds providers/G31: the reset of a limit is in a detail, in the body of an error status, as a list, too.
func TestErrors_RetryInfo(t *testing.T) {
	info := `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"m","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"3600s"}]}}`
	for _, body := range []string{info, "[" + info + "]"} {
		conf, _ := fake(t, "")
		conf.MaxRetries = nil
		conf.HTTPClient.Transport = transport(func(req *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 429, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
		})
		_, err := streamed(t, conf)
		var api *kit.APIError
		require.ErrorAs(t, err, &api)
		require.Equal(t, "1h0m0s", api.RetryAfter.String())
		require.Equal(t, kit.ErrRateLimited, api.Kind)
	}
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// Rule providers/K27.
func TestPanic_OfATransport_IsAnError(t *testing.T) {
	conf, _ := fake(t, "")
	conf.HTTPClient.Transport = transport(func(*http.Request) (*http.Response, error) { panic(errors.New("oh " + testKey)) })
	_, err := streamed(t, conf)
	require.ErrorContains(t, err, "gemini: panic: oh [redacted]")
}

// Holds providers/G25 and providers/K19: odd documents.
func TestWholeAnswers_ThatAreNone(t *testing.T) {
	for body, want := range map[string]string{
		`null`: "neither an answer nor an error", `{}`: "neither an answer nor an error", `7`: "", `[]`: "cut off",
		`{"candidates":`: "", ``: "unexpected EOF", `[{"candidates":[]}]`: "cut off", `"text"`: "",
	} {
		conf, _ := fake(t, body)
		_, err := agentic(t, conf).Generate(t.Context(), hello)
		require.ErrorContains(t, err, want, body)
	}
	conf, _ := fake(t, `{"candidates":[{"index":1,"content":{"parts":[{"text":"b"}]}},{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}]}`)
	require.Equal(t, "a", generate(t, conf, hello).ContentBlocks[0].AssistantGenText.Text)
}

// Arguments in pieces are refused, rather than run as calls without arguments.
func TestArguments_InPieces_AreAnError(t *testing.T) {
	conf, _ := fake(t, sse(piece(`{"functionCall":{"name":"f","willContinue":true}}`),
		piece(`{"functionCall":{"partialArgs":[{"jsonPath":"$.a","stringValue":"x"}]}}`), parts()))
	_, err := streamed(t, conf)
	require.ErrorContains(t, err, "streamFunctionCallArguments")
}
