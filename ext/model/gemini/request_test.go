package gemini_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/ext/model/gemini"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// Rule providers/G10.
func TestContents_LeadingSystemMessagesAreTheInstruction_LaterOnesAreTheUsers(t *testing.T) {
	conf, s := fake(t, parts(text("a")))
	generate(t, conf, []*schema.AgenticMessage{
		schema.SystemAgenticMessage("one"), schema.SystemAgenticMessage("two"), schema.UserAgenticMessage("hi"),
		schema.SystemAgenticMessage("three"), own(schema.NewContentBlock(&schema.AssistantGenText{Text: "b"})),
		schema.UserAgenticMessage("c"), schema.UserAgenticMessage("d"),
	})
	require.Equal(t, `{"parts":[{"text":"one"},{"text":"two"}]}`, compact(t, s.body(0)["systemInstruction"]))
	require.Equal(t, `[{"parts":[{"text":"hi"},{"text":"three"}],"role":"user"},{"parts":[{"text":"b"}],"role":"model"},`+
		`{"parts":[{"text":"c"},{"text":"d"}],"role":"user"}]`, s.contents(0))
}

// Rules providers/K16, providers/G10.
func TestContents_HistoriesThatTheServiceRefuses_AreLocalErrors(t *testing.T) {
	for name, in := range map[string][]*schema.AgenticMessage{
		"nothing":        nil,
		"only system":    {schema.SystemAgenticMessage("s")},
		"model first":    {own(schema.NewContentBlock(&schema.AssistantGenText{Text: "b"})), schema.UserAgenticMessage("a")},
		"no result":      {schema.UserAgenticMessage("a"), own(call("1", "f", "{}", "")), schema.UserAgenticMessage("b")},
		"no call":        {schema.UserAgenticMessage("a"), result("1", "f", "x")},
		"empty message":  {schema.UserAgenticMessage("")},
		"medium without": {{Role: schema.AgenticRoleTypeUser, ContentBlocks: []*schema.ContentBlock{schema.NewContentBlock(&schema.UserInputImage{})}}},
	} {
		t.Run(name, func(t *testing.T) {
			conf, s := fake(t, parts(text("a")))
			err := refused(t, conf, in)
			var history *kit.HistoryError
			require.ErrorAs(t, err, &history)
			require.ErrorIs(t, err, kit.ErrInvalid)
			require.ErrorContains(t, err, "gemini: make the request: message ")
			require.Empty(t, s.sent)
		})
	}
}

// Rules providers/G14, providers/G15, providers/K46.
func TestResults_AreOneTurnInTheOrderOfTheCalls(t *testing.T) {
	conf, s := fake(t, parts(text("a")))
	generate(t, conf, []*schema.AgenticMessage{
		schema.UserAgenticMessage("a"),
		own(call("id-1", "f", `{"n":9007199254740993}`, "c2ln"), call("id-2", "g", "", "")),
		result("id-2", "", `{"x":1.50}`), result("id-1", "f", ""), schema.UserAgenticMessage("and now?"),
	})
	require.Contains(t, string(s.sent[0]), `"args":{"n":9007199254740993}`, "digits are kept")
	require.Contains(t, string(s.sent[0]), `"response":{"x":1.50}`)
	require.Equal(t, `[{"parts":[{"text":"a"}],"role":"user"},`+
		`{"parts":[{"functionCall":{"args":{"n":9007199254740992},"id":"id-1","name":"f"},"thoughtSignature":"c2ln"},`+
		`{"functionCall":{"args":{},"id":"id-2","name":"g"}}],"role":"model"},`+
		`{"parts":[{"functionResponse":{"id":"id-1","name":"f","response":{"result":""}}},`+
		`{"functionResponse":{"id":"id-2","name":"g","response":{"x":1.5}}},{"text":"and now?"}],"role":"user"}]`, s.contents(0))
}

// Rules providers/G14, providers/K13.
func TestResults_ErrorsAndOddArguments(t *testing.T) {
	conf, s := fake(t, parts(text("a")))
	failed := result("1", "f", "no such file")
	failed.ContentBlocks[0].Extra = map[string]any{kit.ErrorKey: true}
	generate(t, conf, []*schema.AgenticMessage{
		schema.UserAgenticMessage("a"), own(call("1", "f", `{"cut":`, ""), call("2", "f", `[1]`, "")),
		failed, result("2", "f", "[1,2]"),
	})
	require.Contains(t, s.contents(0), `"args":{"_invalid":"{\"cut\":"}`)
	require.Contains(t, s.contents(0), `"args":{"value":[1]}`)
	require.Contains(t, s.contents(0), `"response":{"error":"no such file"}`)
	require.Contains(t, s.contents(0), `"response":{"result":"[1,2]"}`)
}

// Rule providers/G15.
func TestIDs_MadeUpOnesAreUniqueAndNotSentBack(t *testing.T) {
	same := `{"functionCall":{"name":"f","args":{"a":1}}}`
	conf, s := fake(t, parts(same, same), parts(text("done")))
	first := generate(t, conf, hello, functions("f"))
	list := calls(first)
	require.NotEqual(t, list[0].ID, list[1].ID)
	require.True(t, strings.HasPrefix(list[0].ID, "call_"))
	generate(t, conf, []*schema.AgenticMessage{
		hello[0], stored(t, first), result(list[1].ID, "f", "two"), result(list[0].ID, "f", "one"),
	}, functions("f"))
	require.NotContains(t, string(s.sent[1]), "call_")
	require.NotContains(t, string(s.sent[1]), `"id"`)
	require.Contains(t, s.contents(1), `"response":{"result":"one"}}},{"functionResponse":{"name":"f","response":{"result":"two"`)
}

// Rule providers/K12.
func TestIDs_RecurringOverTurns_StayPaired(t *testing.T) {
	conf, s := fake(t, parts(text("a")))
	in := []*schema.AgenticMessage{schema.UserAgenticMessage("a")}
	for _, answer := range []string{"one", "two"} {
		in = append(in, own(call("f:0", "f", "{}", "")), result("f:0", "f", answer))
	}
	generate(t, conf, in)
	require.Contains(t, s.contents(0), `{"id":"f:0","name":"f","response":{"result":"one"}}`)
	require.Contains(t, s.contents(0), `{"id":"f:0_2","name":"f","response":{"result":"two"}}`)
}

// Rules providers/G16, providers/G18.
func TestSignatures_ReturnOnTheirParts(t *testing.T) {
	answer := parts(
		`{"text":"think ","thought":true}`, `{"text":"hard","thought":true}`,
		`{"text":"proven","thought":true,"thoughtSignature":"dDE="}`,
		text("a"), text("b"), `{"text":"c","thoughtSignature":"eDE="}`, text("d"),
		`{"functionCall":{"name":"f","id":"i1","args":{}},"thoughtSignature":"YzE="}`, `{"functionCall":{"name":"f","id":"i2","args":{}}}`,
		`{"text":"","thoughtSignature":"ZTE="}`)
	want := `{"parts":[{"text":"proven","thought":true,"thoughtSignature":"dDE="},{"text":"ab"},` +
		`{"text":"c","thoughtSignature":"eDE="},{"text":"d"},` +
		`{"functionCall":{"args":{},"id":"i1","name":"f"},"thoughtSignature":"YzE="},` +
		`{"functionCall":{"args":{},"id":"i2","name":"f"}},{"text":"","thoughtSignature":"ZTE="}],"role":"model"}`
	conf, s := fake(t, answer, parts(text("done")))
	first := generate(t, conf, hello, functions("f"))
	generate(t, conf, []*schema.AgenticMessage{hello[0], stored(t, first), result("i1", "", "1"), result("i2", "", "2")},
		functions("f"))
	require.Contains(t, s.contents(1), want)

	conf, s = fake(t, answer, parts(text("done")))
	m := chat(t, conf)
	in := []*schema.Message{schema.UserMessage("Hello")}
	got, err := m.Generate(t.Context(), in, functions("f"))
	require.NoError(t, err)
	require.Equal(t, "abcd", got.Content)
	require.Equal(t, "think hardproven", got.ReasoningContent)
	_, err = m.Generate(t.Context(), []*schema.Message{
		in[0], stored(t, got), schema.ToolMessage("1", "i1"), schema.ToolMessage("2", "i2"),
	}, functions("f"))
	require.NoError(t, err)
	require.Contains(t, s.contents(1), want)
}

// Rule providers/K45.
func TestSignatures_OfAnAnswerThatWasChanged_AreLeftOutTogether(t *testing.T) {
	conf, s := fake(t, parts(`{"text":"c","thoughtSignature":"eDE="}`, `{"functionCall":{"name":"f","id":"i1"},"thoughtSignature":"YzE="}`),
		parts(text("done")))
	m := chat(t, conf)
	got, err := m.Generate(t.Context(), []*schema.Message{schema.UserMessage("Hello")}, functions("f"))
	require.NoError(t, err)
	changed := *got
	changed.Content = "other"
	_, err = m.Generate(t.Context(), []*schema.Message{schema.UserMessage("Hello"), &changed, schema.ToolMessage("1", "i1")})
	require.NoError(t, err)
	require.NotContains(t, s.contents(1), "thoughtSignature")
	require.Contains(t, s.contents(1), "other")
}

// Rule providers/G17.
func TestSignatures_CallsFromElsewhere_GetTheBypassOnTheFirst(t *testing.T) {
	foreign := &schema.AgenticMessage{Role: schema.AgenticRoleTypeAssistant, ContentBlocks: []*schema.ContentBlock{
		call("toolu_1", "f", "{}", ""), call("toolu_2", "f", "{}", ""),
	}}
	in := []*schema.AgenticMessage{hello[0], foreign, result("toolu_1", "f", "1"), result("toolu_2", "f", "2")}
	for name, wants := range map[string]int{"gemini-3-pro-preview": 1, "gemini-2.5-flash": 0, "gemini-3.1-flash": 1, "tuned": 0} {
		conf, s := fake(t, parts(text("a")))
		conf.Model = name
		generate(t, conf, in)
		require.Equal(t, wants, strings.Count(s.contents(0), `"thoughtSignature":"skip_thought_signature_validator"`), name)
		require.NotContains(t, s.contents(0), "toolu_")
	}
	conf, s := fake(t, parts(text("a")))
	conf.Model = "gemini-3-pro-preview"
	generate(t, conf, []*schema.AgenticMessage{
		hello[0], own(call("1", "f", "{}", "c2ln"), call("2", "f", "{}", "")), result("1", "f", "1"), result("2", "f", "2"),
	})
	require.NotContains(t, s.contents(0), "skip")
}

// Rules providers/G11, providers/K10, providers/K9.
func TestTools_AreOneEntry_ServerToolsOneEach(t *testing.T) {
	conf, s := fake(t, parts(text("a")))
	conf.Model = "gemini-3-pro-preview"
	conf.EnableGoogleSearch, conf.EnableCodeExecution = true, true
	conf.ServerTools = []gemini.ServerTool{gemini.RawServerTool(json.RawMessage(`{"urlContext":{}}`)), gemini.GoogleSearch()}
	params := schema.NewParamsOneOfByRawJSON(json.RawMessage(`{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer"}}}`))
	tools := []*schema.ToolInfo{{Name: "f", Desc: "F", ParamsOneOf: params}, {Name: "g"}}
	generate(t, conf, hello, model.WithTools(tools))
	require.Contains(t, string(s.sent[0]), `"tools":[{"functionDeclarations":[{"name":"f","description":"F","parametersJsonSchema":`+
		`{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer"}}}},{"name":"g","parametersJsonSchema":`+
		`{"type":"object","properties":{}}}]},{"urlContext":{}},{"googleSearch":{}},{"codeExecution":{}}]`)
	// Rule providers/G12.
	require.Equal(t, `{"includeServerSideToolInvocations":true}`, compact(t, s.body(0)["toolConfig"]))
	generate(t, conf, hello, model.WithTools(tools))
	require.Equal(t, string(s.sent[0]), string(s.sent[1]))

	conf, s = fake(t, parts(text("a")))
	generate(t, conf, hello, model.WithTools(nil))
	require.Equal(t, `{"contents":[{"parts":[{"text":"Hello"}],"role":"user"}]}`, compact(t, s.body(0)))
}

// Rule providers/G20.
func TestTools_InTheOlderForm(t *testing.T) {
	conf, s := fake(t, parts(text("a")))
	conf.SchemaMode = gemini.SchemaModeOpenAPI
	params := schema.NewParamsOneOfByRawJSON(json.RawMessage(`{"type":"object","properties":{"z":{"type":["string","null"]}}}`))
	generate(t, conf, hello, model.WithTools([]*schema.ToolInfo{{Name: "f", ParamsOneOf: params}, {Name: "g"}}))
	require.Contains(t, string(s.sent[0]), `[{"name":"f","parameters":{"type":"OBJECT","properties":{"z":{"type":"STRING",`+
		`"nullable":true}}}},{"name":"g"}]`)
}

// Rules providers/G2, providers/G12, providers/G19, providers/G21, providers/K11, providers/K15.
func TestRequests_KnownToBeRefused_AreLocalErrors(t *testing.T) {
	budget, low := int32(100), int32(10)
	for want, c := range map[string]struct {
		change func(*gemini.Config, *service)
		opts   []model.Option
	}{
		"functions cannot be offered beside the tools of Vertex itself (googleSearch)": {
			func(c *gemini.Config, s *service) { vertex(c, s); c.EnableGoogleSearch = true }, []model.Option{functions("f")}},
		"only Vertex has them: remove Labels": {
			func(c *gemini.Config, _ *service) { c.Labels = map[string]string{"a": "b"} }, nil},
		"server tool fileSearch: only gcp.gemini has it": {
			func(c *gemini.Config, s *service) { vertex(c, s); c.EnableFileSearch = &gemini.FileSearch{} }, nil},
		"server tool enterpriseWebSearch: only gcp.vertex_ai has it": {
			func(c *gemini.Config, _ *service) { c.ServerTools = []gemini.ServerTool{gemini.EnterpriseWebSearch()} }, nil},
		"method: only Vertex": {func(c *gemini.Config, _ *service) {
			c.SafetySettings = []*gemini.SafetySetting{{Category: "C", Threshold: "T", Method: "SEVERITY"}}
		}, nil},
		`tool "1x" is not accepted`: {nil, []model.Option{functions("1x")}},
		"takes ThinkingLevel, not ThinkingBudget": {func(c *gemini.Config, _ *service) {
			c.Model, c.ThinkingConfig = "gemini-3-pro-preview", &gemini.ThinkingConfig{ThinkingBudget: &budget}
		}, nil},
		"takes ThinkingBudget, not ThinkingLevel": {func(c *gemini.Config, _ *service) {
			c.ThinkingConfig = &gemini.ThinkingConfig{ThinkingLevel: "low"}
		}, nil},
		"at least 128 tokens": {func(c *gemini.Config, _ *service) {
			c.Model, c.ThinkingConfig = "gemini-2.5-pro", &gemini.ThinkingConfig{ThinkingBudget: &low}
		}, nil},
		"offer a function that takes the final answer": {func(c *gemini.Config, _ *service) {
			c.ResponseJSONSchema = object{"type": "object"}
		}, []model.Option{functions("f")}},
		"tool search is not known": {nil, []model.Option{model.WithToolSearchTool(&schema.ToolInfo{Name: "s"})}},
		"none of the tools":        {nil, []model.Option{model.WithToolChoice(schema.ToolChoiceForced, "x"), functions("f")}},
		"has no tools":             {nil, []model.Option{model.WithToolChoice(schema.ToolChoiceForced)}},
		"forces a tool of the s":   {func(c *gemini.Config, _ *service) { c.EnableGoogleSearch = true }, []model.Option{model.WithToolChoice(schema.ToolChoiceForced)}},
		`"a?b" is no name`:         {nil, []model.Option{model.WithModel("a?b")}},
	} {
		conf, s := fake(t, parts(text("a")))
		if c.change != nil {
			c.change(conf, s)
		}
		require.ErrorContains(t, refused(t, conf, hello, c.opts...), want)
		require.Empty(t, s.sent, want)
	}
}

// Rule providers/K15.
func TestRequests_DropUnsupported_LeavesOutAndSaysSo(t *testing.T) {
	conf, s := fake(t, parts(text("a")))
	conf.DropUnsupported = true
	conf.Labels = map[string]string{"a": "b"}
	conf.ThinkingConfig = &gemini.ThinkingConfig{ThinkingLevel: "high"}
	conf.ResponseJSONSchema = object{"type": "object"}
	m := generate(t, conf, hello, functions("f"))
	require.Equal(t, `["thinkingLevel","ResponseJSONSchema","labels"]`, m.Extra[kit.DroppedSettingsKey])
	require.Nil(t, s.body(0)["labels"])
	require.Equal(t, `{"thinkingConfig":{"includeThoughts":true}}`, compact(t, s.body(0)["generationConfig"]))
}

// Rule providers/G13.
func TestToolChoice(t *testing.T) {
	for name, c := range map[string]struct {
		choice schema.ToolChoice
		names  []string
		search bool
		want   string // toolConfig and names of functions
	}{
		"unset":           {"", nil, false, `null f g`},
		"allowed":         {schema.ToolChoiceAllowed, nil, false, `{"functionCallingConfig":{"mode":"AUTO"}} f g`},
		"allowed some":    {schema.ToolChoiceAllowed, []string{"g"}, false, `{"functionCallingConfig":{"mode":"AUTO"}} g`},
		"forced":          {schema.ToolChoiceForced, nil, false, `{"functionCallingConfig":{"mode":"ANY"}} f g`},
		"forced one":      {schema.ToolChoiceForced, []string{"f"}, false, `{"functionCallingConfig":{"allowedFunctionNames":["f"],"mode":"ANY"}} f g`},
		"forbidden":       {schema.ToolChoiceForbidden, nil, true, `{"functionCallingConfig":{"mode":"NONE"}} f g`},
		"allowed, search": {schema.ToolChoiceAllowed, nil, true, `{"functionCallingConfig":{"mode":"VALIDATED"},"includeServerSideToolInvocations":true} f g googleSearch`},
	} {
		t.Run(name, func(t *testing.T) {
			conf, s := fake(t, parts(text("a")))
			conf.EnableGoogleSearch = c.search
			opts := []model.Option{functions("f", "g")}
			if c.choice != "" {
				opts = append(opts, model.WithToolChoice(c.choice, c.names...))
			}
			generate(t, conf, hello, opts...)
			got := compact(t, s.body(0)["toolConfig"])
			for _, tool := range s.body(0)["tools"].([]any) {
				for key, value := range tool.(object) {
					if key != "functionDeclarations" {
						got += " " + key
						continue
					}
					for _, f := range value.([]any) {
						got += " " + f.(object)["name"].(string)
					}
				}
			}
			require.Equal(t, c.want, got)
		})
	}
}

// Rules providers/G19, providers/G20, providers/G24, providers/K8.
func TestSettings_PassThrough(t *testing.T) {
	n, k, seed, f := 10, int32(3), int32(7), float32(0.5)
	conf, s := fake(t, parts(text("a")))
	vertex(conf, s)
	budget := int32(0)
	conf.MaxTokens, conf.TopK, conf.Seed, conf.Temperature, conf.TopP = &n, &k, &seed, &f, &f
	conf.PresencePenalty, conf.FrequencyPenalty, conf.StopSequences = &f, &f, []string{"x"}
	conf.ThinkingConfig = &gemini.ThinkingConfig{ThinkingBudget: &budget}
	conf.ResponseModalities, conf.ImageConfig = []string{"TEXT"}, &gemini.ImageConfig{AspectRatio: "1:1"}
	conf.MediaResolution, conf.ResponseLogprobs, conf.Logprobs = "MEDIA_RESOLUTION_LOW", true, &k
	conf.SpeechConfig = object{"languageCode": "de"}
	conf.SafetySettings = []*gemini.SafetySetting{{Category: "C", Threshold: "T"}}
	conf.Labels, conf.ServiceTier = map[string]string{"b": "1", "a": "2"}, "flex"
	conf.ResponseJSONSchema = json.RawMessage(`{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"string"}}}`)
	conf.ExtraFields = map[string]any{"generationConfig": map[string]any{"audioTimestamp": true, "topP": nil}, "x": 1, "store": false}
	s.faulty = true // x is no field
	generate(t, conf, hello, gemini.WithExtraFields(map[string]any{"x": nil}))
	require.Equal(t, `{"contents":[{"role":"user","parts":[{"text":"Hello"}]}],"safetySettings":[{"category":"C","threshold":"T"}],`+
		`"generationConfig":{"temperature":0.5,"topK":3,"maxOutputTokens":10,"stopSequences":["x"],"seed":7,`+
		`"presencePenalty":0.5,"frequencyPenalty":0.5,"responseLogprobs":true,"logprobs":3,"responseModalities":["TEXT"],`+
		`"imageConfig":{"aspectRatio":"1:1"},"speechConfig":{"languageCode":"de"},"mediaResolution":"MEDIA_RESOLUTION_LOW",`+
		`"thinkingConfig":{"thinkingBudget":0},"responseMimeType":"application/json","responseJsonSchema":{"type":"object",`+
		`"properties":{"b":{"type":"string"},"a":{"type":"string"}}},"audioTimestamp":true},"labels":{"a":"2","b":"1"},`+
		`"serviceTier":"flex","store":false}`, string(s.sent[0]))
}

// Holds providers/K8: what a call sets counts for it alone, streamed or not.
func TestOptions_ChangeOneCall(t *testing.T) {
	conf, s := fake(t, parts(text("a")))
	m := agentic(t, conf)
	budget := int32(64)
	options := []model.Option{
		model.WithModel("gemini-2.0-flash"), model.WithMaxTokens(5), gemini.WithTopK(2), gemini.WithSeed(1),
		gemini.WithThinkingConfig(&gemini.ThinkingConfig{ThinkingBudget: &budget}), gemini.WithResponseModalities("TEXT"),
		gemini.WithMediaResolution("MEDIA_RESOLUTION_LOW"), gemini.WithLogprobs(2), gemini.WithServiceTier("flex"),
		gemini.WithImageConfig(&gemini.ImageConfig{ImageSize: "2K"}), gemini.WithExtraHeaders(map[string]string{"X-A": "b"}),
		gemini.WithResponseJSONSchema(object{"type": "object"}), gemini.WithServerTools(gemini.URLContext()),
		gemini.WithSafetySettings(&gemini.SafetySetting{Category: "C", Threshold: "T"}),
		gemini.WithRequestModifier(func(_ context.Context, body []byte) ([]byte, error) {
			return []byte(strings.Replace(string(body), "Hello", "Goodbye", 1)), nil
		}),
	}
	_, err := m.Generate(t.Context(), hello, options...)
	require.NoError(t, err)
	_, err = ask(t.Context(), m, hello, true, options...)
	require.NoError(t, err)
	_, err = m.Generate(t.Context(), hello)
	require.NoError(t, err)
	require.Equal(t, string(s.sent[0]), string(s.sent[1]))
	for _, want := range []string{`"Goodbye"`, `"topK":2`, `"maxOutputTokens":5`, `"urlContext"`, `"imageSize":"2K"`} {
		require.Contains(t, string(s.sent[0]), want)
	}
	require.Equal(t, "/v1beta/models/gemini-2.0-flash:streamGenerateContent", s.requests[1].URL.Path)
	require.Equal(t, "b", s.requests[0].Header.Get("X-A"))
	require.Equal(t, `{"contents":[{"parts":[{"text":"Hello"}],"role":"user"}]}`, compact(t, s.body(2)))
}

func image(mime, data, url string) *schema.ContentBlock {
	return schema.NewContentBlock(&schema.UserInputImage{MIMEType: mime, Base64Data: data, URL: url})
}

func user(blocks ...*schema.ContentBlock) *schema.AgenticMessage {
	return &schema.AgenticMessage{Role: schema.AgenticRoleTypeUser, ContentBlocks: blocks}
}

// Rules providers/G22, providers/K17.
func TestMedia_InlineOrByAddress(t *testing.T) {
	video := schema.NewContentBlock(&schema.UserInputVideo{URL: "https://www.youtube.com/watch?v=1"})
	gemini.SetBlockVideoMetadata(video, &gemini.VideoMetadata{StartOffset: 1500 * time.Millisecond, EndOffset: time.Minute, FPS: 2})
	gemini.SetMediaResolution(&video.Extra, "MEDIA_RESOLUTION_HIGH")
	conf, s := fake(t, parts(text("a")))
	generate(t, conf, []*schema.AgenticMessage{user(
		image("", "iVBORw0KGgoAAAANSUhEUg==", ""), image("", "", "data:image/gif;base64,R0lG"),
		image("", "", "gs://bucket/a.JPG"), image("", "", "https://generativelanguage.googleapis.com/v1beta/files/x"),
		schema.NewContentBlock(&schema.UserInputAudio{Base64Data: "AAAA", MIMEType: "audio/wav;rate=1"}),
		schema.NewContentBlock(&schema.UserInputFile{URL: "https://example.com/a.pdf?x=1"}), video,
	)})
	require.Equal(t, `[{"parts":[{"inlineData":{"data":"iVBORw0KGgoAAAANSUhEUg==","mimeType":"image/png"}},`+
		`{"inlineData":{"data":"R0lG","mimeType":"image/gif"}},{"fileData":{"fileUri":"gs://bucket/a.JPG","mimeType":"image/jpeg"}},`+
		`{"fileData":{"fileUri":"https://generativelanguage.googleapis.com/v1beta/files/x"}},`+
		`{"inlineData":{"data":"AAAA","mimeType":"audio/wav"}},`+
		`{"fileData":{"fileUri":"https://example.com/a.pdf?x=1","mimeType":"application/pdf"}},`+
		`{"fileData":{"fileUri":"https://www.youtube.com/watch?v=1","mimeType":"video/mp4"},"mediaResolution":`+
		`{"level":"MEDIA_RESOLUTION_HIGH"},"videoMetadata":{"endOffset":"60s","fps":2,"startOffset":"1.5s"}}],"role":"user"}]`,
		s.contents(0))
	conf, s = fake(t, parts(text("a")))
	vertex(conf, s)
	require.ErrorContains(t, refused(t, conf, []*schema.AgenticMessage{user(image("", "", "https://example.com/x"))}), "set MIMEType")
	conf.MaxInline = 10
	require.ErrorContains(t, refused(t, conf, []*schema.AgenticMessage{user(image("image/png", "AAAAAAAAAAAA", ""))}), "Upload")
	conf.MaxInline = -1
	generate(t, conf, []*schema.AgenticMessage{user(image("image/png", "AAAAAAAAAAAA", ""))})
}

// Holds providers/G22, for plain messages.
func TestMedia_SettersOfPlainMessages(t *testing.T) {
	address := "https://youtu.be/1"
	video := &schema.MessageInputVideo{MessagePartCommon: schema.MessagePartCommon{URL: &address}}
	gemini.SetInputVideoMetaData(video, &gemini.VideoMetadata{FPS: 0.5})
	conf, s := fake(t, parts(text("a")))
	_, err := chat(t, conf).Generate(t.Context(), []*schema.Message{{Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{
		{Type: schema.ChatMessagePartTypeVideoURL, Video: video},
	}}})
	require.NoError(t, err)
	require.Contains(t, s.contents(0), `"videoMetadata":{"fps":0.5}`)
}

// Rules providers/G14, providers/K17.
func TestMedia_OfResults(t *testing.T) {
	picture := &schema.FunctionToolResultContentBlock{
		Type:  schema.FunctionToolResultContentBlockTypeImage,
		Image: &schema.UserInputImage{Base64Data: "iVBORw0KGgoAAAANSUhEUg=="},
	}
	gemini.SetMultiModalToolResultDisplayName(&picture.Extra, "shot")
	sound := &schema.FunctionToolResultContentBlock{
		Type: schema.FunctionToolResultContentBlockTypeAudio, Audio: &schema.UserInputAudio{Base64Data: "AAAA", MIMEType: "audio/wav"},
	}
	answer := result("1", "f", `{"see":{"$ref":"shot"}}`)
	answer.ContentBlocks[0].FunctionToolResult.Content = append(answer.ContentBlocks[0].FunctionToolResult.Content, picture, sound)
	in := []*schema.AgenticMessage{hello[0], own(call("1", "f", "{}", "c2ln"), call("2", "g", "{}", "")), answer, result("2", "g", "x")}

	conf, s := fake(t, parts(text("a")))
	conf.Model = "gemini-3-pro-preview"
	generate(t, conf, in)
	require.Contains(t, s.contents(0), `{"parts":[{"functionResponse":{"id":"1","name":"f","parts":[{"inlineData":{"data":`+
		`"iVBORw0KGgoAAAANSUhEUg==","displayName":"shot","mimeType":"image/png"}}],"response":{"see":{"$ref":"shot"}}}},`+
		`{"functionResponse":{"id":"2","name":"g","response":{"result":"x"}}},`+
		`{"text":"Media in the result of tool f (call 1):"},{"inlineData":{"data":"AAAA","mimeType":"audio/wav"}}],"role":"user"}`)

	conf, s = fake(t, parts(text("a")))
	generate(t, conf, in)
	require.Contains(t, s.contents(0), `{"text":"Media in the result of tool f (call 1):"},{"inlineData":{"data":"iVBOR`)
}

// Rule providers/G23.
func TestCachedContent_RepeatsNothingOfThePrefix(t *testing.T) {
	conf, s := fake(t, `{"name":"cachedContents/1","model":"models/gemini-2.5-flash","usageMetadata":{"totalTokenCount":99}}`, parts(text("a")))
	conf.Cache = &gemini.CacheConfig{TTL: 90 * time.Second}
	m := agentic(t, conf)
	made, err := m.CreatePrefixCache(t.Context(), []*schema.AgenticMessage{schema.SystemAgenticMessage("s"), schema.UserAgenticMessage("long")}, functions("f"))
	require.NoError(t, err)
	require.Equal(t, "cachedContents/1", made.Name)
	require.Equal(t, 99, made.UsageMetadata.TotalTokenCount)
	require.Equal(t, "/v1beta/cachedContents", s.requests[0].URL.Path)
	require.Equal(t, `{"model":"models/gemini-2.5-flash","contents":[{"role":"user","parts":[{"text":"long"}]}],`+
		`"systemInstruction":{"parts":[{"text":"s"}]},"tools":[{"functionDeclarations":[{"name":"f","description":"does f",`+
		`"parametersJsonSchema":{"type":"object","properties":{}}}]}],"ttl":"90s"}`, string(s.sent[0]))
	_, err = m.Generate(t.Context(), append([]*schema.AgenticMessage{schema.SystemAgenticMessage("s")}, hello...),
		gemini.WithCachedContentName(made.Name), functions("f"), model.WithToolChoice(schema.ToolChoiceAllowed))
	require.NoError(t, err)
	require.Equal(t, `{"cachedContent":"cachedContents/1","contents":[{"parts":[{"text":"Hello"}],"role":"user"}]}`, compact(t, s.body(1)))
	require.NoError(t, m.DeleteCachedContent(t.Context(), made.Name))
	require.Equal(t, "DELETE", s.requests[2].Method)

	// A prefix may have nothing but a system instruction; on Vertex names are longer.
	conf, s = fake(t, `{"name":"projects/p/locations/us-east5/cachedContents/1"}`)
	vertex(conf, s)
	conf.Cache = &gemini.CacheConfig{ExpireTime: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)}
	_, err = chat(t, conf).CreatePrefixCache(t.Context(), []*schema.Message{schema.SystemMessage("s")})
	require.NoError(t, err)
	require.Equal(t, "/v1beta1/projects/p/locations/us-east5/cachedContents", s.requests[0].URL.Path)
	require.Equal(t, `{"expireTime":"2030-01-02T03:04:05Z","model":"projects/p/locations/us-east5/publishers/google/models/gemini-2.5-flash",`+
		`"systemInstruction":{"parts":[{"text":"s"}]}}`, compact(t, s.body(0)))
}

// Rule providers/G32.
func TestCountTokens_AndDescribe(t *testing.T) {
	conf, s := fake(t, `{"totalTokens":7}`, `{"name":"models/m","inputTokenLimit":1048576,"thinking":true}`, `{}`)
	m := chat(t, conf)
	n, err := m.CountTokens(t.Context(), []*schema.Message{schema.UserMessage("Hello")}, functions("f"))
	require.NoError(t, err)
	require.Equal(t, 7, n)
	require.Equal(t, "/v1beta/models/gemini-2.5-flash:countTokens", s.requests[0].URL.Path)
	require.Equal(t, "models/gemini-2.5-flash", s.body(0)["generateContentRequest"].(object)["model"])
	info, err := m.ModelInfo(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1048576, info.InputTokenLimit)
	require.Equal(t, "GET /v1beta/models/gemini-2.5-flash", s.requests[1].Method+" "+s.requests[1].URL.Path)
	_, err = m.CountTokens(t.Context(), []*schema.Message{schema.UserMessage("Hello")})
	require.ErrorContains(t, err, "did not say how many")

	conf, s = fake(t, `{"totalTokens":7}`)
	vertex(conf, s)
	_, err = agentic(t, conf).CountTokens(t.Context(), hello)
	require.NoError(t, err)
	require.Equal(t, `{"contents":[{"parts":[{"text":"Hello"}],"role":"user"}]}`, compact(t, s.body(0)))
}
