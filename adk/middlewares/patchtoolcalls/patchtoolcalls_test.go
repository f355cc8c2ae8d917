package patchtoolcalls_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/middlewares/internal/messagetest"
	"github.com/weftgo/weft/adk/middlewares/patchtoolcalls"
	"github.com/weftgo/weft/schema"
)

// Rules batteries/PT-2, batteries/PT-3.
func TestPatch_AnswersOpenCallsInCallOrder(t *testing.T) {
	messagetest.Both(t, testPatch[*schema.Message], testPatch[*schema.AgenticMessage])
}

func testPatch[M adk.MessageType](t *testing.T) {
	m, err := patchtoolcalls.NewTyped[M](t.Context(), &patchtoolcalls.Config{
		PatchedContentGenerator: func(_ context.Context, name, id string) (string, error) {
			return "none of " + name + " " + id, nil
		}})
	require.NoError(t, err)
	many := make([]string, 20)
	manyWant := []string{"user: hi", ""}
	for i := range many {
		many[i] = fmt.Sprint("c", i)
		manyWant = append(manyWant, "tool t#"+many[i]+": none of t "+many[i])
	}
	manyWant[1] = adktest.Line(messagetest.Calling[M](many...))
	for name, c := range map[string]struct {
		in   []M
		want []string // nil: the same state
	}{
		"empty": {},
		"nothing is missing": {in: []M{messagetest.User[M]("hi"), messagetest.Calling[M]("a", "b"),
			messagetest.Result[M]("b", "ok"), messagetest.Result[M]("a", "ok")}},
		"nil messages":    {in: []M{*new(M), messagetest.User[M]("hi")}},
		"all are missing": {[]M{messagetest.User[M]("hi"), messagetest.Calling[M](many...)}, manyWant},
		"one is missing": {[]M{messagetest.User[M]("hi"), messagetest.Calling[M]("a", "b"),
			messagetest.Result[M]("a", "ok")},
			[]string{"user: hi", "assistant: [t#a {}] [t#b {}]", "tool t#b: none of t b", "tool t#a: ok"}},
		"a user comes between": {[]M{messagetest.Calling[M]("a"), messagetest.User[M]("stop"),
			messagetest.Result[M]("a", "ok")},
			[]string{"assistant: [t#a {}]", "tool t#a: none of t a", "user: stop", "tool t#a: ok"}},
		"in two places": {[]M{messagetest.Calling[M]("a"), messagetest.User[M]("x"), messagetest.Calling[M]("b", "c"),
			messagetest.Result[M]("b", "ok"), messagetest.User[M]("y")},
			[]string{"assistant: [t#a {}]", "tool t#a: none of t a", "user: x", "assistant: [t#b {}] [t#c {}]",
				"tool t#c: none of t c", "tool t#b: ok", "user: y"}},
	} {
		t.Run(name, func(t *testing.T) {
			before := strings.Join(adktest.Lines(c.in), "\n")
			state := &adk.TypedChatModelAgentState[M]{Messages: c.in, ToolInfos: []*schema.ToolInfo{{Name: "t"}}}
			ctx, got, err := m.BeforeModelRewriteState(t.Context(), state, nil)
			require.NoError(t, err)
			require.NotNil(t, ctx)
			require.Equal(t, before, strings.Join(adktest.Lines(c.in), "\n"), "the input stays as it is")
			if c.want == nil {
				require.Same(t, state, got)
				return
			}
			require.NotSame(t, state, got)
			require.Equal(t, c.want, adktest.Lines(got.Messages))
			require.Equal(t, state.ToolInfos, got.ToolInfos)
			_, again, err := m.BeforeModelRewriteState(t.Context(), got, nil)
			require.NoError(t, err)
			require.Same(t, got, again, "what is patched stays as it is")
		})
	}
}

// Rule batteries/PT-1.
func TestPatch_NilConfig(t *testing.T) {
	messagetest.Both(t, testNilConfig[*schema.Message], testNilConfig[*schema.AgenticMessage])
}

func testNilConfig[M adk.MessageType](t *testing.T) {
	m, err := patchtoolcalls.NewTyped[M](t.Context(), nil)
	require.NoError(t, err)
	for _, empty := range []*adk.TypedChatModelAgentState[M]{{}, {Messages: []M{}}} {
		_, got, err := m.BeforeModelRewriteState(t.Context(), empty, nil)
		require.NoError(t, err)
		require.Same(t, empty, got)
	}
}

// Rule batteries/PT-4.
func TestPatch_Messages(t *testing.T) {
	content := func(context.Context, string, string) (string, error) { return "gone", nil }
	ordinary, err := patchtoolcalls.New(t.Context(), &patchtoolcalls.Config{PatchedContentGenerator: content})
	require.NoError(t, err)
	_, got, err := ordinary.BeforeModelRewriteState(t.Context(),
		&adk.ChatModelAgentState{Messages: []*schema.Message{messagetest.Calling[*schema.Message]("a")}}, nil)
	require.NoError(t, err)
	require.Equal(t, schema.ToolMessage("gone", "a", schema.WithToolName("t")), got.Messages[1])

	agentic, err := patchtoolcalls.NewTyped[*schema.AgenticMessage](t.Context(),
		&patchtoolcalls.Config{PatchedContentGenerator: content})
	require.NoError(t, err)
	_, patched, err := agentic.BeforeModelRewriteState(t.Context(), &adk.TypedChatModelAgentState[*schema.AgenticMessage]{
		Messages: []*schema.AgenticMessage{messagetest.Calling[*schema.AgenticMessage]("a", "b")}}, nil)
	require.NoError(t, err)
	require.Len(t, patched.Messages, 3, "one message a call")
	result := patched.Messages[1]
	require.Equal(t, schema.AgenticRoleTypeUser, result.Role)
	require.Len(t, result.ContentBlocks, 1)
	require.Equal(t, schema.ContentBlockTypeFunctionToolResult, result.ContentBlocks[0].Type)
	require.Equal(t, &schema.FunctionToolResult{CallID: "a", Name: "t", Content: []*schema.FunctionToolResultContentBlock{
		{Type: schema.FunctionToolResultContentBlockTypeText, Text: &schema.UserInputText{Text: "gone"}}}},
		result.ContentBlocks[0].FunctionToolResult)
}

// Rule batteries/PT-5.
func TestPatch_AgenticBlocks(t *testing.T) {
	m, err := patchtoolcalls.NewTyped[*schema.AgenticMessage](t.Context(), nil)
	require.NoError(t, err)
	asking := messagetest.Calling[*schema.AgenticMessage]("a", "s")
	asking.ContentBlocks = append(asking.ContentBlocks, nil,
		&schema.ContentBlock{Type: schema.ContentBlockTypeFunctionToolCall})
	state := &adk.TypedChatModelAgentState[*schema.AgenticMessage]{Messages: []*schema.AgenticMessage{asking, {
		Role: schema.AgenticRoleTypeUser, ContentBlocks: []*schema.ContentBlock{nil,
			schema.NewContentBlock(&schema.ToolSearchFunctionToolResult{CallID: "s"}),
			schema.NewContentBlock(&schema.FunctionToolResult{CallID: "a"})}}}}
	_, got, err := m.BeforeModelRewriteState(t.Context(), state, nil)
	require.NoError(t, err)
	require.Same(t, state, got)
}

// Rule batteries/PT-6.
func TestPatch_Content(t *testing.T) {
	m, err := patchtoolcalls.New(t.Context(), nil)
	require.NoError(t, err)
	state := &adk.ChatModelAgentState{Messages: []*schema.Message{messagetest.Calling[*schema.Message]("a")}}
	_, got, err := m.BeforeModelRewriteState(t.Context(), state, nil)
	require.NoError(t, err)
	require.Contains(t, got.Messages[1].Content, "tool t with id a was cancelled")
	require.Equal(t, "t", got.Messages[1].ToolName)

	require.NoError(t, adk.SetLanguage(adk.LanguageChinese))
	defer func() { require.NoError(t, adk.SetLanguage(adk.LanguageEnglish)) }()
	_, got, err = m.BeforeModelRewriteState(t.Context(), state, nil)
	require.NoError(t, err)
	require.Contains(t, got.Messages[1].Content, "取消")

	boom := errors.New("boom")
	m, err = patchtoolcalls.New(t.Context(),
		&patchtoolcalls.Config{PatchedContentGenerator: func(context.Context, string, string) (string, error) {
			return "", boom
		}})
	require.NoError(t, err)
	ctx, _, err := m.BeforeModelRewriteState(t.Context(), state, nil)
	require.ErrorIs(t, err, boom)
	require.Equal(t, t.Context(), ctx)
}

func TestPatch_InARun(t *testing.T) {
	m, err := patchtoolcalls.New(t.Context(), nil)
	require.NoError(t, err)
	model := adktest.NewModel(t, adktest.Says("fine").Seeing("user: weather?", "assistant: [t#a {}]",
		"tool t#a: The call of tool t with id a was cancelled: another message arrived before it finished.",
		"user: never mind"))
	agent, err := adk.NewChatModelAgent(t.Context(),
		&adk.ChatModelAgentConfig{Name: "a", Model: model, Handlers: []adk.ChatModelAgentMiddleware{m}})
	require.NoError(t, err)
	runner := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent})
	adktest.Collect(t, runner.Run(t.Context(),
		[]adk.Message{schema.UserMessage("weather?"), messagetest.Calling[*schema.Message]("a"),
			schema.UserMessage("never mind")})).
		ExpectText("fine")
}

// Rule batteries/B13.31.
func TestPatch_NothingToDoCostsNothing(t *testing.T) {
	m, err := patchtoolcalls.New(t.Context(), nil)
	require.NoError(t, err)
	state := &adk.ChatModelAgentState{Messages: messagetest.Conversation[*schema.Message](1000)}
	got := testing.AllocsPerRun(10, func() { _, _, _ = m.BeforeModelRewriteState(t.Context(), state, nil) })
	require.LessOrEqual(t, got, 10.0)
}

func BenchmarkPatch(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			m, err := patchtoolcalls.New(b.Context(), nil)
			require.NoError(b, err)
			state := &adk.ChatModelAgentState{Messages: messagetest.Conversation[*schema.Message](n)}
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := m.BeforeModelRewriteState(b.Context(), state, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestResults_RemovedMarkedOrRefused(t *testing.T) {
	messagetest.Both(t, testResults[*schema.Message], testResults[*schema.AgenticMessage])
}

func testResults[M adk.MessageType](t *testing.T) {
	history := []M{
		messagetest.Result[M]("lost", "of nobody"),
		messagetest.Calling[M]("a", "b"), messagetest.Result[M]("a", "first"), messagetest.Result[M]("a", "second"),
		messagetest.Result[M]("x", "of nobody"),
		messagetest.User[M]("hi"), messagetest.Result[M]("b", "too late"),
	}
	const calls, gap = "assistant: [t#a {}] [t#b {}]", "tool t#b: The call of tool t with id b was cancelled: another message arrived before it finished."
	for name, c := range map[string]struct {
		conf patchtoolcalls.Config
		want []string
	}{
		"orphans": {patchtoolcalls.Config{RemoveOrphanResults: true},
			[]string{calls, gap, "tool t#a: first", "tool t#a: second", "user: hi"}},
		"duplicates": {patchtoolcalls.Config{RemoveDuplicateResults: true, MarkSynthetic: true},
			[]string{"tool t#lost: of nobody", calls, gap, "tool t#a: first", "tool t#x: of nobody", "user: hi",
				"tool t#b: too late"}},
		"both": {patchtoolcalls.Config{RemoveOrphanResults: true, RemoveDuplicateResults: true},
			[]string{calls, gap, "tool t#a: first", "user: hi"}},
		"neither": {patchtoolcalls.Config{},
			[]string{"tool t#lost: of nobody", calls, gap, "tool t#a: first", "tool t#a: second", "tool t#x: of nobody",
				"user: hi", "tool t#b: too late"}},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := patchtoolcalls.NewTyped[M](t.Context(), &c.conf)
			require.NoError(t, err)
			before := strings.Join(adktest.Lines(history), "\n")
			_, got, err := m.BeforeModelRewriteState(t.Context(), &adk.TypedChatModelAgentState[M]{Messages: history}, nil)
			require.NoError(t, err)
			require.Equal(t, c.want, adktest.Lines(got.Messages))
			require.Equal(t, before, strings.Join(adktest.Lines(history), "\n"), "the input stays as it is")
			for _, patched := range got.Messages {
				require.Equal(t, c.conf.MarkSynthetic && adktest.Line(patched) == gap, patchtoolcalls.IsSynthetic(patched))
			}
			_, again, err := m.BeforeModelRewriteState(t.Context(), got, nil)
			require.NoError(t, err)
			require.Same(t, got, again)
		})
	}
	m, err := patchtoolcalls.NewTyped[M](t.Context(), &patchtoolcalls.Config{Strict: true, RemoveOrphanResults: true})
	require.NoError(t, err)
	_, _, err = m.BeforeModelRewriteState(t.Context(), &adk.TypedChatModelAgentState[M]{Messages: history}, nil)
	var invalid *patchtoolcalls.InvalidError
	require.ErrorAs(t, err, &invalid)
	require.Equal(t, []string{
		`message 0: the result of call "lost" of tool "t" answers no call`,
		`message 1: call "b" of tool "t" has no result`,
		`message 3: the result of call "a" of tool "t" is the second one of its call`,
		`message 4: the result of call "x" of tool "t" answers no call`,
		`message 6: the result of call "b" of tool "t" answers no call`,
	}, invalid.Problems)
	valid := &adk.TypedChatModelAgentState[M]{Messages: []M{messagetest.Calling[M]("a"), messagetest.Result[M]("a", "ok")}}
	_, got, err := m.BeforeModelRewriteState(t.Context(), valid, nil)
	require.NoError(t, err)
	require.Same(t, valid, got)
}

// One agentic message may have several results, and a text beside them.
func TestResults_InsideAnAgenticMessage(t *testing.T) {
	m, err := patchtoolcalls.NewTyped[*schema.AgenticMessage](t.Context(),
		&patchtoolcalls.Config{RemoveOrphanResults: true, RemoveDuplicateResults: true})
	require.NoError(t, err)
	result := func(id string) *schema.ContentBlock {
		return schema.NewContentBlock(&schema.FunctionToolResult{CallID: id, Name: "t"})
	}
	text := schema.NewContentBlock(&schema.UserInputText{Text: "and"})
	mixed := &schema.AgenticMessage{Role: schema.AgenticRoleTypeUser,
		ContentBlocks: []*schema.ContentBlock{result("a"), text, result("a"), nil, result("x")}}
	_, got, err := m.BeforeModelRewriteState(t.Context(), &adk.TypedChatModelAgentState[*schema.AgenticMessage]{
		Messages: []*schema.AgenticMessage{messagetest.Calling[*schema.AgenticMessage]("a"), mixed}}, nil)
	require.NoError(t, err)
	require.Equal(t, []*schema.ContentBlock{result("a"), text, nil}, got.Messages[1].ContentBlocks)
	require.Len(t, mixed.ContentBlocks, 5)
}

// TestPatch_ResultsOfAGenerator: results may have parts, and are made of what the model called the tool with.
// Rules batteries/PT-4, batteries/PT-6.
func TestPatch_ResultsOfAGenerator(t *testing.T) {
	url := "https://example.com/a.png"
	image := schema.ToolOutputPart{Type: schema.ToolPartTypeImage,
		Image: &schema.ToolOutputImage{MessagePartCommon: schema.MessagePartCommon{URL: &url}}}
	text := schema.ToolOutputPart{Type: schema.ToolPartTypeText, Text: "see"}
	search := schema.ToolOutputPart{Type: schema.ToolPartTypeToolSearchResult, ToolSearchResult: &schema.ToolSearchResult{}}
	for name, c := range map[string]struct {
		made    *patchtoolcalls.PatchedToolResult
		chat    *schema.Message
		agentic []*schema.FunctionToolResultContentBlock
		wrong   string
	}{
		"none":     {made: nil, chat: &schema.Message{}, agentic: textBlocks("")},
		"content":  {made: &patchtoolcalls.PatchedToolResult{Content: "c"}, chat: &schema.Message{Content: "c"}, agentic: textBlocks("c")},
		"no parts": {made: &patchtoolcalls.PatchedToolResult{ToolResult: &schema.ToolResult{}}, chat: &schema.Message{}, agentic: textBlocks("")},
		"a text":   {made: withParts(text), chat: &schema.Message{Content: "see"}, agentic: textBlocks("see")},
		"parts": {made: withParts(text, image), chat: &schema.Message{UserInputMultiContent: []schema.MessageInputPart{
			{Type: schema.ChatMessagePartTypeText, Text: "see"},
			{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{MessagePartCommon: image.Image.MessagePartCommon}}}},
			agentic: append(textBlocks("see"), &schema.FunctionToolResultContentBlock{
				Type: schema.FunctionToolResultContentBlockTypeImage, Image: &schema.UserInputImage{URL: url}})},
		"both": {made: &patchtoolcalls.PatchedToolResult{Content: "c", ToolResult: &schema.ToolResult{}},
			wrong: "patchtoolcalls: the PatchedToolResult for tool t with id a: it has Content and ToolResult: set one of them"},
		"no image":            {made: withParts(schema.ToolOutputPart{Type: schema.ToolPartTypeImage}), wrong: "for tool t with id a: "},
		"a search and others": {made: withParts(search, text), wrong: "other parts beside it"},
	} {
		conf := &patchtoolcalls.Config{
			PatchedContentGenerator: func(context.Context, string, string) (string, error) { return "does not count", nil },
			PatchedToolResultGenerator: func(_ context.Context, tool, id string, arg *schema.ToolArgument) (*patchtoolcalls.PatchedToolResult, error) {
				require.Equal(t, []string{"t", "a", "{}"}, []string{tool, id, arg.Text})
				return c.made, nil
			}}
		t.Run(name, func(t *testing.T) {
			got, err := patchOne[*schema.Message](t, conf)
			blocks, agenticErr := patchOne[*schema.AgenticMessage](t, conf)
			if c.wrong != "" {
				require.ErrorContains(t, err, c.wrong)
				require.ErrorContains(t, agenticErr, c.wrong)
				return
			}
			require.NoError(t, err)
			require.NoError(t, agenticErr)
			c.chat.Role, c.chat.ToolCallID, c.chat.ToolName = schema.Tool, "a", "t"
			require.Equal(t, c.chat, got)
			require.Equal(t, &schema.FunctionToolResult{CallID: "a", Name: "t", Content: c.agentic},
				blocks.ContentBlocks[0].FunctionToolResult)
		})
	}
	boom := errors.New("boom")
	_, err := patchOne[*schema.Message](t, &patchtoolcalls.Config{PatchedToolResultGenerator: func(
		context.Context, string, string, *schema.ToolArgument) (*patchtoolcalls.PatchedToolResult, error) {
		return nil, boom
	}})
	require.ErrorIs(t, err, boom)
}

func withParts(parts ...schema.ToolOutputPart) *patchtoolcalls.PatchedToolResult {
	return &patchtoolcalls.PatchedToolResult{ToolResult: &schema.ToolResult{Parts: parts}}
}

func textBlocks(text string) []*schema.FunctionToolResultContentBlock {
	return []*schema.FunctionToolResultContentBlock{
		{Type: schema.FunctionToolResultContentBlockTypeText, Text: &schema.UserInputText{Text: text}}}
}

// patchOne is the result that a call without one gets.
func patchOne[M adk.MessageType](t *testing.T, conf *patchtoolcalls.Config) (result M, err error) {
	t.Helper()
	m, err := patchtoolcalls.NewTyped[M](t.Context(), conf)
	require.NoError(t, err)
	_, got, err := m.BeforeModelRewriteState(t.Context(),
		&adk.TypedChatModelAgentState[M]{Messages: []M{messagetest.Calling[M]("a")}}, nil)
	if err != nil {
		return result, err
	}
	return got.Messages[1], nil
}
