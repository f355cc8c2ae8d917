// Package messagetest makes messages of either kind, and tools of every kind, for tests.
//
// The tests of middlewares use it, so that each runs for both kinds of message.
// It must never be used outside of tests.
package messagetest

import (
	"fmt"
	"testing"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// Both runs a test for both kinds of message.
func Both(t *testing.T, ordinary, agentic func(*testing.T)) {
	t.Run("ordinary", ordinary)
	t.Run("agentic", agentic)
}

// EveryTool is the tool "t" in every form.
func EveryTool(script ...adktest.Answer) map[string]tool.BaseTool {
	return map[string]tool.BaseTool{"tool": adktest.NewTool("t", script...),
		"stream":   adktest.NewStreamTool("t", script...),
		"enhanced": adktest.NewEnhancedTool("t", script...), "enhanced stream": adktest.NewEnhancedStreamTool("t", script...)}
}

// Call is a call of the tool "t" with the arguments "{}".
func Call(id string) schema.ToolCall {
	return schema.ToolCall{ID: id, Function: schema.FunctionCall{Name: "t", Arguments: "{}"}}
}

// Calling is an assistant message with calls of tool "t".
func Calling[M adk.MessageType](ids ...string) M {
	calls := make([]schema.ToolCall, len(ids))
	for i, id := range ids {
		calls[i] = Call(id)
	}
	return Assistant[M]("", calls...)
}

// Assistant is an assistant message.
func Assistant[M adk.MessageType](text string, calls ...schema.ToolCall) M {
	if isOrdinary[M]() {
		return any(schema.AssistantMessage(text, calls)).(M)
	}
	m := &schema.AgenticMessage{Role: schema.AgenticRoleTypeAssistant}
	if text != "" {
		m.ContentBlocks = append(m.ContentBlocks, schema.NewContentBlock(&schema.AssistantGenText{Text: text}))
	}
	for _, c := range calls {
		m.ContentBlocks = append(m.ContentBlocks, schema.NewContentBlock(
			&schema.FunctionToolCall{CallID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments}))
	}
	return any(m).(M)
}

// Used is an assistant message with the number of tokens that it took, of the prompt and of the answer.
func Used[M adk.MessageType](m M, prompt, completion int) M {
	usage := &schema.TokenUsage{PromptTokens: prompt, CompletionTokens: completion, TotalTokens: prompt + completion}
	switch m := any(m).(type) {
	case *schema.Message:
		m.ResponseMeta = &schema.ResponseMeta{Usage: usage}
	case *schema.AgenticMessage:
		m.ResponseMeta = &schema.AgenticResponseMeta{TokenUsage: usage}
	}
	return m
}

// System is a system message.
func System[M adk.MessageType](text string) M {
	if isOrdinary[M]() {
		return any(schema.SystemMessage(text)).(M)
	}
	return any(schema.SystemAgenticMessage(text)).(M)
}

// User is a user message.
func User[M adk.MessageType](text string) M {
	if isOrdinary[M]() {
		return any(schema.UserMessage(text)).(M)
	}
	return any(schema.UserAgenticMessage(text)).(M)
}

// Result is the result of a call of tool "t".
func Result[M adk.MessageType](id, text string) M {
	if isOrdinary[M]() {
		return any(schema.ToolMessage(text, id, schema.WithToolName("t"))).(M)
	}
	return any(schema.FunctionToolResultAgenticMessage(id, "t", text)).(M)
}

// Conversation is at least n messages: rounds of a user, a call, its result and an answer.
func Conversation[M adk.MessageType](n int) []M {
	messages := make([]M, 0, n+4)
	for i := 0; len(messages) < n; i++ {
		id := fmt.Sprint("c", i)
		messages = append(messages, User[M]("continue"), Calling[M](id), Result[M](id, "ok"), Assistant[M]("done"))
	}
	return messages
}

func isOrdinary[M adk.MessageType]() bool {
	var none M
	_, ordinary := any(none).(*schema.Message)
	return ordinary
}
