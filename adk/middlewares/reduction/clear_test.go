package reduction_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/middlewares/internal/messagetest"
	"github.com/weftgo/weft/adk/middlewares/reduction"
	"github.com/weftgo/weft/schema"
)

const savedTo = "<persisted-output>Tool result saved to: /tmp/clear/%s\nUse read_file to view</persisted-output>"

// perMessage counts a message as one token.
func perMessage[M adk.MessageType](_ context.Context, messages []M, _ []*schema.ToolInfo) (int64, error) {
	return int64(len(messages)), nil
}

// byLength counts the bytes of what a transcript shows.
func byLength[M adk.MessageType](_ context.Context, messages []M, _ []*schema.ToolInfo) (int64, error) {
	n := 0
	for _, m := range messages {
		n += len(adktest.Line(m))
	}
	return int64(n), nil
}

// rounds are rounds of a call and its result each.
func rounds[M adk.MessageType](n int) []M {
	all := []M{messagetest.System[M]("s"), messagetest.User[M]("u")}
	for i := range n {
		id := fmt.Sprint("c", i)
		all = append(all, messagetest.Calling[M](id), messagetest.Result[M](id, "result "+id))
	}
	return all
}

func clearing[M adk.MessageType](t testing.TB, c *reduction.TypedConfig[M]) func(...M) ([]string, []M) {
	t.Helper()
	m, err := reduction.NewTyped(t.Context(), c)
	require.NoError(t, err)
	return func(messages ...M) ([]string, []M) {
		state := &adk.TypedChatModelAgentState[M]{Messages: messages}
		before := strings.Join(adktest.Lines(messages), "\n")
		ctx, next, err := m.BeforeModelRewriteState(t.Context(), state, nil)
		require.NoError(t, err)
		require.NotNil(t, ctx)
		require.Equal(t, before, strings.Join(adktest.Lines(state.Messages), "\n"), "what was there stays as it is")
		return adktest.Lines(next.Messages), next.Messages
	}
}

// Rules batteries/RC-2, batteries/RC-4, batteries/RC-7, batteries/RC-8.
func TestClear_EachOldRoundOnce(t *testing.T) {
	messagetest.Both(t, testClear[*schema.Message], testClear[*schema.AgenticMessage])
}

func testClear[M adk.MessageType](t *testing.T) {
	f := files{}
	do := clearing(t, &reduction.TypedConfig[M]{Backend: f, TokenCounter: perMessage[M], MaxTokensForClear: 6})
	few := rounds[M](1)
	got, _ := do(few...)
	require.Equal(t, adktest.Lines(few), got, "not long enough")

	got, messages := do(rounds[M](3)...)
	require.Equal(t, []string{"system: s", "user: u",
		"assistant: [t#c0 {}]", "tool t#c0: " + fmt.Sprintf(savedTo, "c0"),
		"assistant: [t#c1 {}]", "tool t#c1: " + fmt.Sprintf(savedTo, "c1"),
		"assistant: [t#c2 {}]", "tool t#c2: result c2"}, got)
	require.Equal(t, files{"/tmp/clear/c0": "result c0", "/tmp/clear/c1": "result c1"}, f)

	// An assistant message without calls is never marked; what is behind it is not cleared again all the same.
	messages = append([]M{messagetest.User[M]("first"), messagetest.Assistant[M]("no call")}, messages...)
	messages = append(messages, messagetest.Calling[M]("c3"), messagetest.Result[M]("c3", "result c3"))
	for range 3 {
		got, messages = do(messages...)
	}
	require.Equal(t, files{"/tmp/clear/c0": "result c0", "/tmp/clear/c1": "result c1", "/tmp/clear/c2": "result c2"}, f)
	require.Equal(t, "tool t#c2: "+fmt.Sprintf(savedTo, "c2"), got[9])
	require.Equal(t, "tool t#c3: result c3", got[11])
}

// Rule batteries/B13.1.
func TestClear_PlaceholdersAreNotOffloaded(t *testing.T) {
	f := files{}
	do := clearing(t, &reduction.Config{Backend: f, TokenCounter: perMessage[*schema.Message], MaxTokensForClear: 1})
	placeholder := fmt.Sprintf(savedTo, "c0")
	do(messagetest.Calling[*schema.Message]("c0"), messagetest.Result[*schema.Message]("c0", placeholder),
		messagetest.Calling[*schema.Message]("c1"))
	require.Empty(t, f)
}

func TestClear_WithoutBackend(t *testing.T) {
	messagetest.Both(t, testClearWithoutBackend[*schema.Message], testClearWithoutBackend[*schema.AgenticMessage])
}

func testClearWithoutBackend[M adk.MessageType](t *testing.T) {
	conf := &reduction.TypedConfig[M]{SkipTruncation: true, TokenCounter: perMessage[M], MaxTokensForClear: 1,
		ClearExcludeTools: []string{"keep"}}
	keep := schema.ToolCall{ID: "k", Function: schema.FunctionCall{Name: "keep"}}
	got, _ := clearing(t, conf)(messagetest.Assistant[M]("", messagetest.Call("a"), keep, messagetest.Call("missing"),
		messagetest.Call("b")),
		messagetest.Result[M]("b", "rb"), messagetest.Result[M]("k", "rk"), messagetest.Result[M]("a", "ra"),
		messagetest.User[M]("u"),
		messagetest.Result[M]("missing", "too late"), messagetest.Calling[M]("last"))
	require.Equal(t, []string{"tool t#b: [Old tool result content cleared]", "tool t#k: rk",
		"tool t#a: [Old tool result content cleared]", "user: u", "tool t#missing: too late"}, got[1:6])
}

// Rules batteries/RC-1, batteries/RC-11.
func TestClear_OwnHandler(t *testing.T) {
	messagetest.Both(t, testClearOwnHandler[*schema.Message], testClearOwnHandler[*schema.AgenticMessage])
}

func testClearOwnHandler[M adk.MessageType](t *testing.T) {
	answer := &reduction.ClearResult{NeedClear: true, ToolArgument: &schema.ToolArgument{Text: `{"short":1}`},
		ToolResult: &schema.ToolResult{Parts: []schema.ToolOutputPart{text("gone")}}}
	conf := &reduction.TypedConfig[M]{SkipTruncation: true, SkipClear: true, TokenCounter: perMessage[M],
		MaxTokensForClear: 1,
		ToolConfig: map[string]*reduction.ToolReductionConfig{"t": {ClearHandler: func(
			_ context.Context, d *reduction.ToolDetail,
		) (*reduction.ClearResult, error) {
			if d.ToolContext.CallID != "c0" || d.ToolArgument.Text != "{}" || d.ToolResult.Parts[0].Text != "result c0" {
				return nil, fmt.Errorf("unexpected detail %+v", d)
			}
			return answer, nil
		}}}}
	got, _ := clearing(t, conf)(rounds[M](2)...)
	require.Equal(t, []string{`assistant: [t#c0 {"short":1}]`, "tool t#c0: gone"}, got[2:4])

	m, err := reduction.NewTyped(t.Context(), conf)
	require.NoError(t, err)
	answer = &reduction.ClearResult{NeedClear: true, NeedOffload: true}
	state := &adk.TypedChatModelAgentState[M]{Messages: rounds[M](2)}
	_, _, err = m.BeforeModelRewriteState(t.Context(), state, nil)
	require.EqualError(t, err, "clear: no backend for offload")

	conf.ToolConfig["t"].SkipClear = true
	conf.TokenCounter = func(context.Context, []M, []*schema.ToolInfo) (int64, error) { return 0, errBoom }
	m, err = reduction.NewTyped(t.Context(), conf)
	require.NoError(t, err)
	_, next, err := m.BeforeModelRewriteState(t.Context(), state, nil)
	require.NoError(t, err, "nothing can clear, so nothing is counted")
	require.Same(t, state, next)

	conf.SkipClear = false
	m, err = reduction.NewTyped(t.Context(), conf)
	require.NoError(t, err)
	ctx, next, err := m.BeforeModelRewriteState(t.Context(), state, nil)
	require.ErrorIs(t, err, errBoom)
	require.Same(t, state, next)
	require.NotNil(t, ctx)
}

// Rule batteries/B13.3.
func TestClear_BackendOfTheTool(t *testing.T) {
	messagetest.Both(t, testClearBackend[*schema.Message], testClearBackend[*schema.AgenticMessage])
}

func testClearBackend[M adk.MessageType](t *testing.T) {
	all, mine := files{}, files{}
	clearing(t, &reduction.TypedConfig[M]{Backend: all, TokenCounter: perMessage[M], MaxTokensForClear: 1,
		ToolConfig: map[string]*reduction.ToolReductionConfig{"t": {Backend: mine}}})(rounds[M](2)...)
	require.Empty(t, all)
	require.Equal(t, files{"/tmp/clear/c0": "result c0"}, mine)
}

// TestClear_SharedMessages is for the race detector, too: others hold the same messages.
// Rule batteries/B13.4.
func TestClear_SharedMessages(t *testing.T) {
	messagetest.Both(t, testClearShared[*schema.Message], testClearShared[*schema.AgenticMessage])
}

func testClearShared[M adk.MessageType](t *testing.T) {
	messages := rounds[M](3)
	before := everything(t, messages)
	m, err := reduction.NewTyped(t.Context(),
		&reduction.TypedConfig[M]{SkipTruncation: true, TokenCounter: perMessage[M], MaxTokensForClear: 1})
	require.NoError(t, err)
	var clearing sync.WaitGroup
	for range 4 {
		clearing.Go(func() {
			_, got, err := m.BeforeModelRewriteState(t.Context(), &adk.TypedChatModelAgentState[M]{Messages: messages}, nil)
			assert.NoError(t, err)
			assert.NotEqual(t, adktest.Lines(messages), adktest.Lines(got.Messages))
		})
	}
	clearing.Wait()
	require.Equal(t, before, everything(t, messages))
}

// everything returns all that messages have, with what a transcript does not show.
func everything[M adk.MessageType](t *testing.T, messages []M) string {
	t.Helper()
	text, err := json.Marshal(messages)
	require.NoError(t, err)
	return string(text)
}

// Rules batteries/B13.2, batteries/RC-3.
func TestClear_Rewriter(t *testing.T) {
	messagetest.Both(t, testClearRewriter[*schema.Message], testClearRewriter[*schema.AgenticMessage])
}

func testClearRewriter[M adk.MessageType](t *testing.T) {
	var asked []string
	conf := &reduction.TypedConfig[M]{SkipTruncation: true, TokenCounter: perMessage[M], MaxTokensForClear: 1,
		ClearMessageRewriter: func(_ context.Context, m M, results []M) ([]M, error) {
			asked = append(asked, adktest.Line(m)+" | "+strings.Join(adktest.Lines(results), " | "))
			if strings.Contains(adktest.Line(m), "drop") {
				return nil, nil
			}
			return append([]M{m}, results...), nil
		}}
	got, messages := clearing(t, conf)(messagetest.User[M]("hi"), messagetest.Calling[M]("drop"),
		messagetest.Result[M]("drop", "r"),
		messagetest.Calling[M]("a", "b"), messagetest.Result[M]("b", "rb"), messagetest.User[M]("stop"),
		messagetest.Result[M]("a", "stray"),
		messagetest.Assistant[M]("well"), messagetest.Calling[M]("last"))
	require.Equal(t, []string{"assistant: [t#drop {}] | tool t#drop: r", "assistant: [t#a {}] [t#b {}] | tool t#b: rb"},
		asked)
	want := []string{"user: hi", "assistant: [t#a {}] [t#b {}]", "tool t#b: [Old tool result content cleared]",
		"user: stop", "assistant: well", "assistant: [t#last {}]"}
	require.Equal(t, want, got)
	asked = nil
	got, _ = clearing(t, conf)(messages...)
	require.Equal(t, want, got)
	require.Empty(t, asked, "once is enough")
}

// Rule batteries/RC-3.
func TestClear_UnexpectedMessage(t *testing.T) {
	m := middleware(t, &reduction.Config{SkipTruncation: true, TokenCounter: perMessage[*schema.Message],
		MaxTokensForClear: 1,
		ClearMessageRewriter: func(context.Context, *schema.Message, []*schema.Message) ([]*schema.Message, error) {
			return nil, nil
		}})
	_, _, err := m.BeforeModelRewriteState(t.Context(), &adk.ChatModelAgentState{Messages: []*schema.Message{
		messagetest.Calling[*schema.Message]("a"), {Role: "poet"}, messagetest.Calling[*schema.Message]("b")}}, nil)
	require.ErrorContains(t, err, "[applyClearRewrite] unexpected message: ")
}

// Rule batteries/RC-5.
func TestClear_AtLeast(t *testing.T) {
	messagetest.Both(t, testClearAtLeast[*schema.Message], testClearAtLeast[*schema.AgenticMessage])
}

func testClearAtLeast[M adk.MessageType](t *testing.T) {
	f := files{}
	processed := 0
	conf := &reduction.TypedConfig[M]{Backend: f, TokenCounter: byLength[M], MaxTokensForClear: 1, ClearAtLeastTokens: 500,
		ClearPostProcess: func(context.Context, *adk.TypedChatModelAgentState[M]) context.Context { processed++; return nil }}
	messages := rounds[M](3)
	got, _ := clearing(t, conf)(messages...)
	require.Equal(t, adktest.Lines(messages), got)
	require.Empty(t, f)
	require.Zero(t, processed)
	messages[3] = messagetest.Result[M]("c0", strings.Repeat("x", 1000))
	got, _ = clearing(t, conf)(messages...)
	require.Contains(t, got[3], "saved to")
	require.Len(t, f, 2)
	require.Equal(t, 1, processed)
}

// Rule batteries/B13.32.
func TestClear_FailedAttemptIsRemembered(t *testing.T) {
	handled := 0
	m := middleware(t, &reduction.Config{SkipTruncation: true, TokenCounter: byLength[*schema.Message],
		MaxTokensForClear: 1, ClearAtLeastTokens: 1 << 20,
		ToolConfig: map[string]*reduction.ToolReductionConfig{"t": {ClearHandler: func(
			context.Context, *reduction.ToolDetail,
		) (*reduction.ClearResult, error) {
			handled++
			return nil, nil
		}}}})
	retried := 0
	agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "a",
		Model:    adktest.NewModel(t, adktest.Says("no"), adktest.Says("no"), adktest.Says("yes")),
		Handlers: []adk.ChatModelAgentMiddleware{m, &rejecting{times: &retried}}})
	require.NoError(t, err)
	adktest.Collect(t, adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent}).Run(t.Context(),
		rounds[*schema.Message](2))).ExpectText("yes")
	require.Equal(t, 1, handled)
}

// rejecting rejects two answers.
type rejecting struct {
	adk.BaseChatModelAgentMiddleware
	times *int
}

func (r *rejecting) BeforeFinalAnswer(
	ctx context.Context, s *adk.ChatModelAgentState,
) (context.Context, adk.FinalAnswerDecision, *adk.ChatModelAgentState, error) {
	if *r.times++; *r.times > 2 {
		return ctx, adk.AcceptFinalAnswer, s, nil
	}
	return ctx, adk.RejectFinalAnswer, s, nil
}

// Rule batteries/B13.5.
func TestClear_MediaStays(t *testing.T) {
	url, data := "http://u", "AAAA"
	input := []schema.MessageInputPart{{Type: schema.ChatMessagePartTypeText, Text: "look"},
		{Type: schema.ChatMessagePartTypeImageURL,
			Image: &schema.MessageInputImage{MessagePartCommon: schema.MessagePartCommon{URL: &url},
				Detail: schema.ImageURLDetailHigh}},
		{Type: schema.ChatMessagePartTypeFileURL,
			File: &schema.MessageInputFile{MessagePartCommon: schema.MessagePartCommon{Base64Data: &data}, Name: "n"}}}
	conf := reduction.Config{SkipTruncation: true, TokenCounter: perMessage[*schema.Message], MaxTokensForClear: 1}
	_, got := clearing(t, &conf)(messagetest.Calling[*schema.Message]("a"),
		&schema.Message{Role: schema.Tool, ToolCallID: "a", ToolName: "t", UserInputMultiContent: input},
		messagetest.Calling[*schema.Message]("b"))
	parts := got[1].UserInputMultiContent
	require.Equal(t, "[Old tool result content cleared]", parts[0].Text)
	require.Equal(t, input[1:], parts[1:])
	require.Equal(t, "look", input[0].Text)

	content := []*schema.FunctionToolResultContentBlock{nil,
		{Type: schema.FunctionToolResultContentBlockTypeText, Text: &schema.UserInputText{Text: "look"}},
		{Type: schema.FunctionToolResultContentBlockTypeImage,
			Image: &schema.UserInputImage{Base64Data: "AAAA", Detail: schema.ImageURLDetailHigh}},
		{Type: schema.FunctionToolResultContentBlockTypeFile, File: &schema.UserInputFile{URL: "u", Name: "n"}}}
	agentic := reduction.TypedConfig[*schema.AgenticMessage]{SkipTruncation: true,
		TokenCounter: perMessage[*schema.AgenticMessage], MaxTokensForClear: 1}
	_, changed := clearing(t, &agentic)(messagetest.Calling[*schema.AgenticMessage]("a"),
		&schema.AgenticMessage{Role: schema.AgenticRoleTypeUser,
			ContentBlocks: []*schema.ContentBlock{nil,
				schema.NewContentBlock(&schema.FunctionToolResult{CallID: "a", Name: "t", Content: content})}},
		messagetest.Calling[*schema.AgenticMessage]("b"))
	blocks := changed[1].ContentBlocks[1].FunctionToolResult.Content
	require.Len(t, blocks, 3)
	require.Equal(t, "[Old tool result content cleared]", blocks[0].Text.Text)
	require.Equal(t, content[2:], blocks[1:])
	require.Equal(t, "look", content[1].Text.Text)
}

// Rule batteries/RC-9.
func TestClear_SeveralResultsInAMessage(t *testing.T) {
	m, err := reduction.NewTyped(t.Context(),
		&reduction.TypedConfig[*schema.AgenticMessage]{SkipTruncation: true, TokenCounter: perMessage[*schema.AgenticMessage],
			MaxTokensForClear: 1})
	require.NoError(t, err)
	both := messagetest.Result[*schema.AgenticMessage]("a", "x")
	both.ContentBlocks = append(both.ContentBlocks, messagetest.Result[*schema.AgenticMessage]("b", "x").ContentBlocks...)
	_, _, err = m.BeforeModelRewriteState(t.Context(),
		&adk.TypedChatModelAgentState[*schema.AgenticMessage]{Messages: []*schema.AgenticMessage{
			messagetest.Calling[*schema.AgenticMessage]("a", "b"), both, messagetest.Calling[*schema.AgenticMessage]("c")}}, nil)
	require.ErrorContains(t, err, "multiple FunctionToolResult blocks")
}

func TestClear_InARun(t *testing.T) {
	messagetest.Both(t, testClearRun[*schema.Message], testClearRun[*schema.AgenticMessage])
}

func testClearRun[M adk.MessageType](t *testing.T) {
	m, err := reduction.NewTyped(t.Context(), &reduction.TypedConfig[M]{SkipTruncation: true, MaxTokensForClear: 100})
	require.NoError(t, err)
	long := strings.Repeat("x", 400)
	model := adktest.NewTypedModel[M](t, adktest.Calls(adktest.Call("t", "{}")), adktest.Calls(adktest.Call("t", "{}")),
		adktest.Says("done").Seeing("user: hi", "assistant: [t#call_1 {}]",
			"tool t#call_1: [Old tool result content cleared]",
			"assistant: [t#call_2 {}]", "tool t#call_2: "+long))
	agent, err := adk.NewTypedChatModelAgent(t.Context(), &adk.TypedChatModelAgentConfig[M]{Name: "a", Model: model,
		ToolsConfig: adktest.Tools(adktest.NewTool("t", adktest.Says(long))),
		Handlers:    []adk.TypedChatModelAgentMiddleware[M]{m}})
	require.NoError(t, err)
	adktest.AskStreaming(t.Context(), t, agent, "hi").ExpectText("done")
}

func TestClear_NothingToDoCostsLittle(t *testing.T) {
	messagetest.Both(t, testClearCosts[*schema.Message], testClearCosts[*schema.AgenticMessage])
}

func testClearCosts[M adk.MessageType](t *testing.T) {
	m, err := reduction.NewTyped(t.Context(), &reduction.TypedConfig[M]{SkipTruncation: true})
	require.NoError(t, err)
	state := &adk.TypedChatModelAgentState[M]{Messages: messagetest.Conversation[M](100),
		ToolInfos: []*schema.ToolInfo{{Name: "t"}}}
	require.LessOrEqual(t, testing.AllocsPerRun(100,
		func() { _, _, _ = m.BeforeModelRewriteState(t.Context(), state, nil) }), 10.0)
}

func BenchmarkClear(b *testing.B) {
	b.Run("ordinary", benchmarkClear[*schema.Message])
	b.Run("agentic", benchmarkClear[*schema.AgenticMessage])
}

func benchmarkClear[M adk.MessageType](b *testing.B) {
	for _, n := range []int{10, 100, 1000, 10000} {
		for name, limit := range map[string]int64{"below": 1 << 40, "above": 1} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				m, err := reduction.NewTyped(b.Context(), &reduction.TypedConfig[M]{SkipTruncation: true, MaxTokensForClear: limit})
				require.NoError(b, err)
				state := &adk.TypedChatModelAgentState[M]{Messages: messagetest.Conversation[M](n)}
				b.ReportAllocs()
				for b.Loop() {
					if _, _, err := m.BeforeModelRewriteState(b.Context(), state, nil); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
