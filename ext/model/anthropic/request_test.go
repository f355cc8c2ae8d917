package anthropic

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// Holds providers/A1.
func TestRequest_GoesToMessagesWithTheKeyAndTheVersion(t *testing.T) {
	r := new(recorder)
	m := newChat(t, r, func(c *Config) { c.Betas = []string{"a-1", "b-2"}; c.Headers = map[string]string{"X-One": "1"} })
	_, err := m.Generate(t.Context(), question, WithExtraHeaders(map[string]string{"x-two": "2"}))
	require.NoError(t, err)
	req := r.requests[0]
	require.Equal(t, "https://api.anthropic.com/v1/messages", req.URL.String())
	require.Equal(t, testKey, req.Header.Get("X-Api-Key"))
	require.Empty(t, req.Header.Get("Authorization"))
	require.Equal(t, "2023-06-01", req.Header.Get("Anthropic-Version"))
	require.Equal(t, "a-1,b-2", req.Header.Get("Anthropic-Beta"))
	require.Equal(t, "1", req.Header.Get("X-One"))
	require.Equal(t, "2", req.Header.Get("X-Two"))
	for _, change := range []func(*Config){
		func(c *Config) { c.APIKey, c.AuthToken = "", "token-1" },
		func(c *Config) {
			c.APIKey, c.TokenSource = "", func(context.Context) (string, error) { return "token-1", nil }
		},
	} {
		r := new(recorder)
		_, err := newChat(t, r, change).Generate(t.Context(), question)
		require.NoError(t, err)
		require.Equal(t, "Bearer token-1", r.requests[0].Header.Get("Authorization"))
		require.Empty(t, r.requests[0].Header.Get("X-Api-Key"))
		require.Empty(t, r.requests[0].Header.Get("Anthropic-Beta"))
	}
}

// Holds providers/A2.
func TestMaxTokens_DefaultGoesByTheGeneration(t *testing.T) {
	for name, want := range map[string]int{
		"claude-opus-4-20250514": 32_000, "claude-sonnet-4-5": 32_000, "us.anthropic.claude-haiku-4-5-20251001-v1:0": 32_000,
		"claude-opus-4-1@20250805": 32_000, "claude-next": 32_000, "anthropic/claude-sonnet-4.5": 32_000,
		"claude-3-7-sonnet@20250219": 8192, "claude-3-5-haiku-latest": 8192, "kimi-k2": 8192,
		"claude-3-opus-20240229": 4096, "claude-2.1": 4096, "claude-instant-1.2": 4096,
	} {
		require.Equal(t, want, defaultMaxTokens(name), name)
	}
	body := capture(t, func(c *Config) { c.MaxTokens = 0; c.Model = "claude-3-7-sonnet-20250219" }, questionBlocks)
	require.EqualValues(t, 8192, body["max_tokens"])
	body = capture(t, unchanged, questionBlocks, model.WithMaxTokens(17), model.WithModel("claude-x"))
	require.EqualValues(t, 17, body["max_tokens"])
	require.Equal(t, "claude-x", body["model"])
}

// Holds providers/A2: an answer to a request for no tokens is no failure.
func TestMaxTokens_NoneWarmsTheCache(t *testing.T) {
	r := &recorder{answers: []string{answer("max_tokens")}}
	got, err := newAgentic(t, r).Generate(t.Context(), questionBlocks, model.WithMaxTokens(0))
	require.NoError(t, err)
	require.EqualValues(t, 0, r.body(t, 0)["max_tokens"])
	require.Equal(t, kit.FinishLength, kit.FinishOf(got))
}

// Holds providers/A3.
func TestGenerate_StreamsInsideIfTheAnswerMayTakeLong(t *testing.T) {
	for _, c := range []struct {
		model     string
		maxTokens int
		stream    bool
	}{
		{"claude-sonnet-4-5", 21_333, false}, {"claude-sonnet-4-5", 21_334, true},
		{"claude-opus-4-20250514", 8192, false}, {"claude-opus-4-1", 8193, true}, {"claude-opus-4-5", 8193, false},
	} {
		r := &recorder{answers: []string{sse(messageEvents("end_turn", textEvents(0, "o", "k"))...)}}
		if !c.stream {
			r.answers = []string{okAnswer}
		}
		m := newAgentic(t, r, func(conf *Config) { conf.Model, conf.MaxTokens = c.model, c.maxTokens })
		got, err := m.Generate(t.Context(), questionBlocks)
		require.NoError(t, err)
		require.Equal(t, c.stream, r.body(t, 0)["stream"] == true, c)
		require.Equal(t, "ok", got.ContentBlocks[0].AssistantGenText.Text)
		require.Nil(t, got.ContentBlocks[0].StreamingMeta)
	}
}

// Holds providers/A4.
func TestSystem_LeadingMessagesAreAListOfTexts(t *testing.T) {
	in := []*schema.AgenticMessage{
		schema.SystemAgenticMessage("one"), schema.SystemAgenticMessage(" "), schema.SystemAgenticMessage("two"),
		schema.UserAgenticMessage("hi"), schema.SystemAgenticMessage("three"), schema.SystemAgenticMessage("four"),
		schema.UserAgenticMessage("there"),
	}
	body := capture(t, unchanged, in)
	require.Equal(t, []any{map[string]any{"type": "text", "text": "one"}, map[string]any{"type": "text", "text": "two"}},
		body["system"])
	require.JSONEq(t, `[{"role":"user","content":[{"type":"text","text":"hi"}]},
		{"role":"system","content":[{"type":"text","text":"three"},{"type":"text","text":"four"}]},
		{"role":"user","content":[{"type":"text","text":"there"}]}]`, sentMessages(t, unchanged, in...))
	inline := func(c *Config) { c.SystemInline = SystemInlineUser }
	require.JSONEq(t, `[{"role":"user","content":[{"type":"text","text":"hi"},{"type":"text","text":"three"},
		{"type":"text","text":"four"},{"type":"text","text":"there"}]}]`, sentMessages(t, inline, in...))
	err := refused(t, unchanged, []*schema.AgenticMessage{{Role: schema.AgenticRoleTypeSystem, ContentBlocks: []*schema.ContentBlock{
		schema.NewContentBlock(&schema.UserInputImage{URL: "https://x.test/a.png"}),
	}}, schema.UserAgenticMessage("hi")})
	require.ErrorContains(t, err, "message 0: a system message has a block of type")
}

// Holds providers/A5: results are first in their turn, in the order of the calls.
func TestTurns_ResultsAreFirstAndInOneTurn(t *testing.T) {
	got := sentMessages(t, unchanged,
		schema.UserAgenticMessage("go"), schema.UserAgenticMessage("on"),
		own(genText("so"), toolCall("c1", "a", `{"x":1}`), toolCall("c2", "a", "")),
		user(toolResult("c2", "two")), user(toolResult("c1", "one")), user(inputText("and"), inputText("now")),
		own(genText("fine")), user(inputText("thanks")))
	require.JSONEq(t, `[
		{"role":"user","content":[{"type":"text","text":"go"},{"type":"text","text":"on"}]},
		{"role":"assistant","content":[{"type":"text","text":"so"},
			{"type":"tool_use","id":"c1","name":"a","input":{"x":1}},{"type":"tool_use","id":"c2","name":"a","input":{}}]},
		{"role":"user","content":[
			{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"one"}]},
			{"type":"tool_result","tool_use_id":"c2","content":[{"type":"text","text":"two"}]},
			{"type":"text","text":"and"},{"type":"text","text":"now"}]},
		{"role":"assistant","content":[{"type":"text","text":"fine"}]},
		{"role":"user","content":[{"type":"text","text":"thanks"}]}]`, got)
}

// Holds providers/A5 for results that stand beside text in one message, and before it.
func TestTurns_ResultsOfOneMessageGoBeforeItsText(t *testing.T) {
	got := sentMessages(t, unchanged, schema.UserAgenticMessage("go"), own(toolCall("c1", "a", "")),
		user(inputText("see"), toolResult("c1", "one")))
	require.Contains(t, got, `"content":[{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"one"}]},`+
		`{"type":"text","text":"see"}]`)
}

// Holds providers/A6.
func TestTurns_HaveNoBlankTexts(t *testing.T) {
	got := sentMessages(t, unchanged,
		user(inputText(" "), inputText("hi"), nil), own(genText("\n"), thought("only", "sig")), user(inputText("go on")),
		own(genText(" "), toolCall("c1", "a", "")), user(toolResult("c1", "  ")), user(inputText("")),
		own(genText("that is \n")))
	require.JSONEq(t, `[{"role":"user","content":[{"type":"text","text":"hi"}]},
		{"role":"assistant","content":[{"type":"text","text":"(no content)"}]},
		{"role":"user","content":[{"type":"text","text":"go on"}]},
		{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"a","input":{}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1"}]},
		{"role":"assistant","content":[{"type":"text","text":"that is"}]}]`, got)
	got = sentMessages(t, unchanged, user(inputText("hi")), own(genText("  \n")))
	require.JSONEq(t, `[{"role":"user","content":[{"type":"text","text":"hi"}]}]`, got)
	err := refused(t, unchanged, []*schema.AgenticMessage{schema.SystemAgenticMessage("be nice"), user(inputText(" "))})
	require.ErrorIs(t, err, kit.ErrInvalid)
	require.ErrorContains(t, err, "nothing to answer")
}

// Holds providers/A10, providers/K12 and providers/K13.
func TestCalls_ArgumentsAreObjectsAndIDsFit(t *testing.T) {
	got := sentMessages(t, unchanged, user(inputText("hi")),
		own(toolCall("functions.a:0", "a", `{"cut`), toolCall("c2", "a", "[1]"), toolCall("c3", "a", "null")),
		user(toolResult("functions.a:0", "x"), toolResult("c2", "y"), toolResult("c3", "z")))
	var messages []struct {
		Content []struct {
			ID        string
			Input     json.RawMessage
			ToolUseID string `json:"tool_use_id"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(got), &messages))
	calls, results := messages[1].Content, messages[2].Content
	require.Regexp(t, `^[a-zA-Z0-9_-]{1,64}$`, calls[0].ID)
	require.Equal(t, calls[0].ID, results[0].ToolUseID)
	require.JSONEq(t, `{"_invalid":"{\"cut"}`, string(calls[0].Input))
	require.JSONEq(t, `{"value":[1]}`, string(calls[1].Input))
	require.JSONEq(t, `{"value":null}`, string(calls[2].Input))
}

// Holds providers/A10.
func TestResults_ErrorsSaySo(t *testing.T) {
	failed := toolResult("c1", "broken")
	failed.Extra = map[string]any{kit.ErrorKey: true}
	empty := toolResult("c2", "")
	empty.Extra = map[string]any{kit.ErrorKey: true}
	got := sentMessages(t, unchanged, user(inputText("hi")), own(toolCall("c1", "a", ""), toolCall("c2", "a", "")),
		user(failed, empty))
	require.Contains(t, got, `{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"broken"}],"is_error":true}`)
	require.Contains(t, got, `{"type":"tool_result","tool_use_id":"c2","content":[{"type":"text","text":"(no content)"}],"is_error":true}`)
	tool := schema.ToolMessage("broken", "c1")
	tool.Extra = map[string]any{kit.ErrorKey: true}
	r := new(recorder)
	_, err := newChat(t, r).Generate(t.Context(), []*schema.Message{
		schema.UserMessage("hi"), schema.AssistantMessage("", []schema.ToolCall{{ID: "c1", Function: schema.FunctionCall{Name: "a"}}}), tool,
	})
	require.NoError(t, err)
	require.Contains(t, string(r.bodies[0]), `"is_error":true`)
}

var png = base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n and so on"))

// Holds providers/A11 and providers/K17.
func TestMedia_ImagesAndDocuments(t *testing.T) {
	text := base64.StdEncoding.EncodeToString([]byte("a,b\n1,2"))
	titled := schema.NewContentBlock(&schema.UserInputFile{
		Base64Data: "JVBERi0xLjQK", MIMEType: "application/pdf", Name: "Q3_report (final).pdf",
	})
	titled.Extra = map[string]any{ExtraFieldsKey: map[string]any{"citations": map[string]any{"enabled": true}, "context": "c"}}
	for want, block := range map[string]*schema.ContentBlock{
		`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + png + `"}}`: schema.NewContentBlock(&schema.UserInputImage{Base64Data: png}),
		`{"type":"image","source":{"type":"base64","media_type":"image/jpeg","data":"AAAA"}}`:       schema.NewContentBlock(&schema.UserInputImage{URL: "data:image/jpg;base64,AAAA"}),
		`{"type":"image","source":{"type":"url","url":"https://x.test/a"}}`:                         schema.NewContentBlock(&schema.UserInputImage{URL: "https://x.test/a"}),
		`{"type":"image","source":{"type":"base64","media_type":"image/gif","data":"AAAA"}}`:        schema.NewContentBlock(&schema.UserInputFile{Base64Data: "AAAA", MIMEType: "image/gif"}),
		`{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0xLjQK"},
			"title":"Q3 report (final) pdf","citations":{"enabled":true},"context":"c"}`: titled,
		`{"type":"document","source":{"type":"url","url":"https://x.test/a.pdf"},"title":"Document"}`: schema.NewContentBlock(&schema.UserInputFile{URL: "https://x.test/a.pdf", Name: "日本"}),
		`{"type":"document","source":{"type":"text","media_type":"text/plain","data":"a,b\n1,2"}}`:    schema.NewContentBlock(&schema.UserInputFile{Base64Data: text, MIMEType: "text/csv; charset=utf-8"}),
		`{"type":"image","source":{"type":"file","file_id":"file_1"}}`:                                ImageFile("file_1"),
		`{"type":"document","source":{"type":"file","file_id":"file_2"}}`:                             DocumentFile("file_2"),
	} {
		require.JSONEq(t, `[{"role":"user","content":[`+want+`]}]`, sentMessages(t, unchanged, user(block)))
	}
	for want, block := range map[string]*schema.ContentBlock{
		`images of type "image/bmp" are not accepted`:       schema.NewContentBlock(&schema.UserInputImage{Base64Data: "AAAA", MIMEType: "image/bmp"}),
		`files of type "application/zip" are not accepted`:  schema.NewContentBlock(&schema.UserInputFile{Base64Data: "AAAA", MIMEType: "application/zip"}),
		`files of type "text/csv" are not accepted by URL`:  schema.NewContentBlock(&schema.UserInputFile{URL: "https://x.test/a.csv", MIMEType: "text/csv"}),
		`URL or Base64Data is required`:                     schema.NewContentBlock(&schema.UserInputImage{}),
		`a block of type "user_input_audio" cannot be sent`: schema.NewContentBlock(&schema.UserInputAudio{Base64Data: "AAAA"}),
		`the text is not in UTF-8`:                          schema.NewContentBlock(&schema.UserInputFile{Base64Data: "/w==", MIMEType: "text/plain"}),
	} {
		require.ErrorContains(t, refused(t, unchanged, []*schema.AgenticMessage{user(block)}), want)
	}
}

// Holds providers/A10 and providers/A11: media and search results are inside the results of tools.
func TestMedia_InResultsOfTools(t *testing.T) {
	result := &schema.FunctionToolResult{CallID: "c1", Content: []*schema.FunctionToolResultContentBlock{
		{Type: schema.FunctionToolResultContentBlockTypeImage, Image: &schema.UserInputImage{Base64Data: png}},
	}}
	got := sentMessages(t, unchanged, user(inputText("hi")), own(toolCall("c1", "a", "")), user(schema.NewContentBlock(result)))
	require.Contains(t, got, `"content":[{"type":"image","source":{"type":"base64","media_type":"image/png"`)

	found := SearchResults([]*schema.Document{
		{ID: "d1", Content: "text of it", MetaData: map[string]any{"source": "https://x.test", "title": "T"}}, nil, {Content: " "},
	})
	parts, err := found.ToMessageInputParts()
	require.NoError(t, err)
	tool := schema.ToolMessage("", "c1")
	tool.UserInputMultiContent = parts
	r := new(recorder)
	_, err = newChat(t, r).Generate(t.Context(), []*schema.Message{
		schema.UserMessage("hi"), schema.AssistantMessage("", []schema.ToolCall{{ID: "c1", Function: schema.FunctionCall{Name: "a"}}}), tool,
	})
	require.NoError(t, err)
	require.Contains(t, string(r.bodies[0]), `"content":[{"type":"search_result","source":"https://x.test","title":"T",`+
		`"content":[{"type":"text","text":"text of it"}],"citations":{"enabled":true}}]`)
}

// An image that another provider's model made is in the user's next turn, as the API takes none from the assistant.
func TestMedia_OfTheAssistantGoToTheUsersTurn(t *testing.T) {
	made := schema.NewContentBlock(&schema.AssistantGenImage{Base64Data: png, MIMEType: "image/png"})
	answer := &schema.AgenticMessage{Role: schema.AgenticRoleTypeAssistant, ContentBlocks: []*schema.ContentBlock{genText("see"), made}}
	got := sentMessages(t, unchanged, user(inputText("draw")), answer, user(inputText("bigger")))
	require.JSONEq(t, `[{"role":"user","content":[{"type":"text","text":"draw"}]},
		{"role":"assistant","content":[{"type":"text","text":"see"}]},
		{"role":"user","content":[{"type":"text","text":"[an image that the assistant made]"},
			{"type":"image","source":{"type":"base64","media_type":"image/png","data":"`+png+`"}},
			{"type":"text","text":"bigger"}]}]`, got)
}

// Holds providers/A13.
func TestRequest_PlainSettings(t *testing.T) {
	body := capture(t, func(c *Config) {
		c.TopP, c.TopK, c.StopSequences = new(float32(0.5)), new(int32(3)), []string{"END"}
		c.UserID, c.ServiceTier, c.Speed, c.InferenceGeo, c.Container = "u1", "standard_only", "fast", "us", "cont_1"
		c.ExtraFields = map[string]any{"mcp_servers": []any{"x"}, "service_tier": nil}
	}, questionBlocks, model.WithStop([]string{"STOP"}), WithTopK(4), WithUserID("u2"),
		WithExtraFields(map[string]any{"diagnostics": map[string]any{"b": 1, "a": 2}}))
	delete(body, "messages")
	require.Equal(t, map[string]any{
		"model": "claude-sonnet-4-20250514", "max_tokens": 1000.0, "top_p": 0.5, "top_k": 4.0,
		"stop_sequences": []any{"STOP"}, "metadata": map[string]any{"user_id": "u2"}, "speed": "fast",
		"inference_geo": "us", "container": "cont_1", "mcp_servers": []any{"x"}, "diagnostics": map[string]any{"a": 2.0, "b": 1.0},
	}, body)
}

// Holds providers/A13 and providers/K15.
func TestRequest_NewerModelsTakeOneOfTemperatureAndTopP(t *testing.T) {
	both := func(c *Config) {
		c.Model, c.Temperature, c.TopP = "claude-sonnet-4-5", new(float32(1)), new(float32(0.9))
	}
	err := refused(t, both, questionBlocks)
	require.ErrorIs(t, err, kit.ErrInvalid)
	require.ErrorContains(t, err, "TopP beside Temperature")
	r := new(recorder)
	got, err := newAgentic(t, r, both, func(c *Config) { c.DropUnsupported = true }).Generate(t.Context(), questionBlocks)
	require.NoError(t, err)
	require.NotContains(t, string(r.bodies[0]), "top_p")
	require.Equal(t, `["top_p"]`, got.Extra[kit.DroppedSettingsKey])
	capture(t, func(c *Config) { both(c); c.Model = "claude-sonnet-4-20250514" }, questionBlocks)
}

// Holds providers/K9: equal calls send equal bytes.
func TestRequest_EqualCallsSendEqualBytes(t *testing.T) {
	extra := map[string]any{"mcp_servers": []any{1}, "diagnostics": map[string]any{"y": 1, "b": 2}, "fallbacks": []any{1}}
	var first []byte
	for range 20 {
		r := new(recorder)
		m := newAgentic(t, r, func(c *Config) { c.ExtraFields = extra })
		_, err := m.Generate(t.Context(), questionBlocks, model.WithTools([]*schema.ToolInfo{{
			Name: "t", ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{
				"b": {Type: schema.String}, "a": {Type: schema.Integer}, "c": {Type: schema.Number},
			}),
		}}))
		require.NoError(t, err)
		if first == nil {
			first = r.bodies[0]
		}
		require.Equal(t, string(first), string(r.bodies[0]))
	}
}

// Holds providers/K8.
func TestRequest_ModifiersSeeAndChangeTheBytes(t *testing.T) {
	r := new(recorder)
	add := func(text string) model.Option {
		return WithRequestModifier(func(_ context.Context, body []byte) ([]byte, error) {
			return []byte(strings.Replace(string(body), "question", "question"+text, 1)), nil
		})
	}
	m := newAgentic(t, r)
	_, err := m.Generate(t.Context(), questionBlocks, add("-2"), add("-1"))
	require.NoError(t, err)
	require.Contains(t, string(r.bodies[0]), "question-1-2")
	_, err = m.Generate(t.Context(), questionBlocks)
	require.NoError(t, err)
	require.NotContains(t, string(r.bodies[1]), "question-")
	_, err = m.Generate(t.Context(), questionBlocks, WithRequestModifier(
		func(context.Context, []byte) ([]byte, error) { return nil, context.DeadlineExceeded }))
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// Holds providers/A35.
func TestCountTokens_SendsWhatMakesThePrompt(t *testing.T) {
	r := &recorder{answers: []string{`{"input_tokens":42}`}}
	m := newAgentic(t, r, func(c *Config) { c.Temperature = new(float32(1)); c.UserID = "u" })
	n, err := m.CountTokens(t.Context(), questionBlocks, model.WithTools([]*schema.ToolInfo{toolA}))
	require.NoError(t, err)
	require.Equal(t, 42, n)
	require.Equal(t, "/v1/messages/count_tokens", r.requests[0].URL.Path)
	body := r.body(t, 0)
	for _, name := range []string{"max_tokens", "temperature", "metadata", "stream"} {
		require.NotContains(t, body, name)
	}
	require.Contains(t, body, "tools")
	n, err = newChat(t, r).CountTokens(t.Context(), question)
	require.NoError(t, err)
	require.Equal(t, 42, n)
	for _, broken := range []string{`{}`, `[]`, `{"input_tokens":"x"}`} {
		_, err = newChat(t, whole(broken)).CountTokens(t.Context(), question)
		require.ErrorContains(t, err, "anthropic: decode the response: no input_tokens", broken)
	}
	_, err = newChat(t, r).CountTokens(t.Context(), nil)
	require.ErrorIs(t, err, kit.ErrInvalid)
}

// Holds providers/K16: the API wants the user to begin.
func TestTurns_AnAnswerAtTheStartIsRefused(t *testing.T) {
	err := refused(t, unchanged, []*schema.AgenticMessage{schema.SystemAgenticMessage("be"), own(genText("Hello!")), user(inputText("hi"))})
	var history *kit.HistoryError
	require.ErrorAs(t, err, &history)
	require.Equal(t, 1, history.Index)
}

// Holds providers/A6: the error of a model that does not continue answers says what it may be.
func TestTurns_ErrorsNameAnAnswerAtTheEnd(t *testing.T) {
	r := new(recorder)
	in := []*schema.AgenticMessage{user(inputText("hi")), own(genText("Hello, "))}
	_, err := newAgentic(t, r).Generate(t.Context(), in)
	require.NoError(t, err)
	_, err = newAgentic(t, r, func(c *Config) { c.Model = "claude-opus-4-7" }).Generate(t.Context(), in)
	var api *kit.APIError
	require.ErrorAs(t, err, &api)
	require.ErrorContains(t, err, "the conversation ends with an answer")
}
