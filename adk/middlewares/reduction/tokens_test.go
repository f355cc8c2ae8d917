package reduction_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/middlewares/internal/messagetest"
	"github.com/weftgo/weft/adk/middlewares/reduction"
	"github.com/weftgo/weft/schema"
)

// counted returns what the default counter makes of messages: the most tokens at which they are still cleared.
func counted[M adk.MessageType](t *testing.T, tools []*schema.ToolInfo, messages ...M) int64 {
	t.Helper()
	// Two rounds behind the messages, of which one can be cleared. That takes as many tokens as are counted, or more.
	messages = append(messages, messagetest.Calling[M]("a"), messagetest.Result[M]("a", "r"), messagetest.Calling[M]("b"))
	cleared := func(limit int64) bool {
		m, err := reduction.NewTyped(t.Context(), &reduction.TypedConfig[M]{SkipTruncation: true, MaxTokensForClear: limit})
		require.NoError(t, err)
		in := &adk.TypedChatModelAgentState[M]{Messages: messages, ToolInfos: tools}
		_, got, err := m.BeforeModelRewriteState(t.Context(), in, nil)
		require.NoError(t, err)
		return got != in
	}
	var n int64
	for cleared(n + 1) {
		n++
	}
	return n
}

// Rule batteries/RC-10.
func TestTokens_Messages(t *testing.T) {
	none := counted[*schema.Message](t, nil)
	for name, c := range map[string]struct {
		message *schema.Message
		bytes   int
	}{
		"nil":          {nil, 0},
		"user":         {schema.UserMessage("12345678901"), len("user\n\n12345678901\n")},
		"rounded down": {schema.UserMessage("1234567890"), len("user\n\n1234567890\n")},
		"reasoning":    {&schema.Message{Role: schema.Assistant, ReasoningContent: "12345"}, len("assistant\n12345\n\n")},
		"calls":        {messagetest.Calling[*schema.Message]("x", "y"), len("assistant\n\n\nt\n{}t\n{}")},
		"calls of users": {&schema.Message{Role: schema.User, ToolCalls: messagetest.Calling[*schema.Message]("x").ToolCalls},
			len("user\n\n\n")},
		"texts": {&schema.Message{Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{
			{Type: schema.ChatMessagePartTypeText, Text: "12345678"},
			{Type: schema.ChatMessagePartTypeImageURL, Text: "no text of an image"}}}, len("user\n\n\n12345678\n")},
	} {
		require.EqualValues(t, c.bytes/4, counted(t, nil, c.message)-none, name)
	}
}

// Rule batteries/RC-10.
func TestTokens_AgenticMessages(t *testing.T) {
	none := counted[*schema.AgenticMessage](t, nil)
	require.EqualValues(t, 0, counted[*schema.AgenticMessage](t, nil, nil)-none)
	m := schema.UserAgenticMessage("some text of eleven")
	m.ContentBlocks = append(m.ContentBlocks, nil, schema.NewContentBlock(&schema.UserInputText{Text: "more"}))
	want := len("user")/4 + len(m.ContentBlocks[0].String())/4 + len(m.ContentBlocks[2].String())/4
	require.EqualValues(t, want, counted(t, nil, m)-none)
}

// Rule batteries/RC-10.
func TestTokens_Tools(t *testing.T) {
	messagetest.Both(t, testToolTokens[*schema.Message], testToolTokens[*schema.AgenticMessage])
}

func testToolTokens[M adk.MessageType](t *testing.T) {
	info := &schema.ToolInfo{Name: "search", Desc: "finds things",
		ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{"q": {Type: schema.String}})}
	text, err := json.Marshal(info)
	require.NoError(t, err)
	none := counted[M](t, nil)
	require.EqualValues(t, len(text)/4, counted[M](t, []*schema.ToolInfo{info})-none)
	extra := *info
	extra.Extra = map[string]any{"long": "this is for the provider alone"}
	require.EqualValues(t, 2*(len(text)/4), counted[M](t, []*schema.ToolInfo{info, &extra})-none, "Extra is not counted")
}

// Rule batteries/RC-1.
func TestClear_Threshold(t *testing.T) {
	messagetest.Both(t, testThreshold[*schema.Message], testThreshold[*schema.AgenticMessage])
}

func testThreshold[M adk.MessageType](t *testing.T) {
	infos := []*schema.ToolInfo{{Name: "t"}}
	for tokens, want := range map[int64]bool{9: false, 10: true, 11: true} {
		m, err := reduction.NewTyped(t.Context(), &reduction.TypedConfig[M]{SkipTruncation: true, MaxTokensForClear: 10,
			TokenCounter: func(_ context.Context, messages []M, tools []*schema.ToolInfo) (int64, error) {
				require.Len(t, messages, 6)
				require.Equal(t, infos, tools)
				return tokens, nil
			}})
		require.NoError(t, err)
		in := &adk.TypedChatModelAgentState[M]{Messages: rounds[M](2), ToolInfos: infos}
		_, got, err := m.BeforeModelRewriteState(t.Context(), in, nil)
		require.NoError(t, err)
		require.Equal(t, want, in != got, tokens)
	}
}

// Rule batteries/RC-6.
func TestClear_PostProcess(t *testing.T) {
	messagetest.Both(t, testPostProcess[*schema.Message], testPostProcess[*schema.AgenticMessage])
}

func testPostProcess[M adk.MessageType](t *testing.T) {
	type key struct{}
	var seen *adk.TypedChatModelAgentState[M]
	m, err := reduction.NewTyped(t.Context(),
		&reduction.TypedConfig[M]{SkipTruncation: true, TokenCounter: perMessage[M], MaxTokensForClear: 6,
			ClearPostProcess: func(ctx context.Context, state *adk.TypedChatModelAgentState[M]) context.Context {
				seen = state
				return context.WithValue(ctx, key{}, "mine")
			}})
	require.NoError(t, err)
	ctx, _, err := m.BeforeModelRewriteState(t.Context(), &adk.TypedChatModelAgentState[M]{Messages: rounds[M](1)}, nil)
	require.NoError(t, err)
	require.Nil(t, seen, "nothing was cleared")
	require.Nil(t, ctx.Value(key{}))
	in := &adk.TypedChatModelAgentState[M]{Messages: rounds[M](2), ToolInfos: []*schema.ToolInfo{{Name: "t"}}}
	ctx, got, err := m.BeforeModelRewriteState(t.Context(), in, nil)
	require.NoError(t, err)
	require.Equal(t, "mine", ctx.Value(key{}))
	require.Same(t, got, seen, "it sees the messages as they are now")
	require.NotSame(t, in, got)
	require.Equal(t, in.ToolInfos, got.ToolInfos)
}

// Rule batteries/RC-11.
func TestClear_BothSkipped(t *testing.T) {
	m := middleware(t, &reduction.Config{SkipTruncation: true, SkipClear: true, MaxTokensForClear: 1,
		MaxLengthForTrunc: 1})
	in := &adk.ChatModelAgentState{Messages: rounds[*schema.Message](3)}
	_, got, err := m.BeforeModelRewriteState(t.Context(), in, nil)
	require.NoError(t, err)
	require.Same(t, in, got)
	out, err := invoke(t, m, "long", nil)
	require.NoError(t, err)
	require.Equal(t, "long", out)
}
