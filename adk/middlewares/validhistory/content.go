package validhistory

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/schema"
)

func blank(text string) bool { return strings.TrimSpace(text) == "" }

// hasEmptyParts reports whether a message has parts with nothing in them.
func hasEmptyParts[M adk.MessageType](m M) bool {
	switch m := any(m).(type) {
	case *schema.Message:
		return slices.ContainsFunc(m.UserInputMultiContent, emptyInput) || slices.ContainsFunc(m.AssistantGenMultiContent,
			emptyOutput)
	case *schema.AgenticMessage:
		return slices.ContainsFunc(m.ContentBlocks, emptyBlock)
	}
	return false
}

func emptyInput(p schema.MessageInputPart) bool {
	return p.Type == schema.ChatMessagePartTypeText && blank(p.Text)
}

func emptyOutput(p schema.MessageOutputPart) bool {
	return p.Type == schema.ChatMessagePartTypeText && blank(p.Text)
}

func emptyBlock(b *schema.ContentBlock) bool {
	if b == nil {
		return true
	}
	switch b.Type {
	case schema.ContentBlockTypeUserInputText:
		return b.UserInputText == nil || blank(b.UserInputText.Text)
	case schema.ContentBlockTypeAssistantGenText:
		return b.AssistantGenText == nil || blank(b.AssistantGenText.Text)
	case schema.ContentBlockTypeFunctionToolCall:
		return b.FunctionToolCall == nil
	case schema.ContentBlockTypeFunctionToolResult:
		return b.FunctionToolResult == nil
	case schema.ContentBlockTypeToolSearchResult:
		return b.ToolSearchFunctionToolResult == nil
	}
	return false
}

// withoutEmptyParts is a copy of a message without such parts.
func withoutEmptyParts[M adk.MessageType](m M) M {
	switch m := any(m).(type) {
	case *schema.Message:
		changed := *m
		changed.UserInputMultiContent = slices.DeleteFunc(slices.Clone(m.UserInputMultiContent), emptyInput)
		changed.AssistantGenMultiContent = slices.DeleteFunc(slices.Clone(m.AssistantGenMultiContent), emptyOutput)
		return any(&changed).(M)
	case *schema.AgenticMessage:
		return any(withBlocks(m, emptyBlock)).(M)
	}
	return m
}

// withBlocks is a copy of a message without some of its blocks.
func withBlocks(m *schema.AgenticMessage, without func(*schema.ContentBlock) bool) *schema.AgenticMessage {
	changed := *m
	changed.ContentBlocks = slices.DeleteFunc(slices.Clone(m.ContentBlocks), without)
	return &changed
}

// isEmpty reports whether a message without empty parts has nothing at all. Results may be empty.
func isEmpty[M adk.MessageType](m M) bool {
	switch m := any(m).(type) {
	case *schema.Message:
		//lint:ignore SA1019 stored messages still have it
		parts := len(m.UserInputMultiContent) + len(m.AssistantGenMultiContent) + len(m.MultiContent) + len(m.ToolCalls)
		return m.Role != schema.Tool && parts == 0 && blank(m.Content) && m.ReasoningContent == ""
	case *schema.AgenticMessage:
		return len(m.ContentBlocks) == 0
	}
	return false
}

func hasRole[M adk.MessageType](m M) bool {
	switch m := any(m).(type) {
	case *schema.Message:
		return m.Role != ""
	case *schema.AgenticMessage:
		return m.Role != ""
	}
	return false
}

// asUsers is a copy of a message from the user.
func asUsers[M adk.MessageType](m M) M {
	switch m := any(m).(type) {
	case *schema.Message:
		changed := *m
		changed.Role = schema.User
		return any(&changed).(M)
	case *schema.AgenticMessage:
		changed := *m
		changed.Role = schema.AgenticRoleTypeUser
		return any(&changed).(M)
	}
	return m
}

func isResultBlock(b *schema.ContentBlock) bool {
	return b != nil && (b.FunctionToolResult != nil || b.ToolSearchFunctionToolResult != nil)
}

// split takes the results of a message apart: a message for each, and what else it has.
func split[M adk.MessageType](m M) (results []M, rest M) {
	agentic, ok := any(m).(*schema.AgenticMessage)
	if !ok {
		return []M{m}, rest
	}
	for _, b := range agentic.ContentBlocks {
		if isResultBlock(b) {
			one := *agentic
			one.ContentBlocks = []*schema.ContentBlock{b}
			results = append(results, any(&one).(M))
		}
	}
	if len(results) == len(agentic.ContentBlocks) {
		return results, rest
	}
	return results, any(withBlocks(agentic, isResultBlock)).(M)
}

// withResultID is a copy of a message with one result, for another call.
func withResultID[M adk.MessageType](m M, id string) M {
	switch m := any(m).(type) {
	case *schema.Message:
		changed := *m
		changed.ToolCallID = id
		return any(&changed).(M)
	case *schema.AgenticMessage:
		changed, block := *m, *m.ContentBlocks[0]
		if r := block.FunctionToolResult; r != nil {
			other := *r
			other.CallID = id
			block.FunctionToolResult = &other
		} else {
			other := *block.ToolSearchFunctionToolResult
			other.CallID = id
			block.ToolSearchFunctionToolResult = &other
		}
		changed.ContentBlocks = []*schema.ContentBlock{&block}
		return any(&changed).(M)
	}
	return m
}

// withCallIDs is a copy of a message whose calls have these IDs.
func withCallIDs[M adk.MessageType](m M, ids []string) M {
	switch m := any(m).(type) {
	case *schema.Message:
		changed := *m
		changed.ToolCalls = slices.Clone(m.ToolCalls)
		for i := range changed.ToolCalls {
			changed.ToolCalls[i].ID = ids[i]
		}
		return any(&changed).(M)
	case *schema.AgenticMessage:
		changed := *m
		changed.ContentBlocks = slices.Clone(m.ContentBlocks)
		n := 0
		for i, b := range changed.ContentBlocks {
			if b == nil || b.FunctionToolCall == nil {
				continue
			}
			block, call := *b, *b.FunctionToolCall
			call.CallID = ids[n]
			n++
			block.FunctionToolCall = &call
			changed.ContentBlocks[i] = &block
		}
		return any(&changed).(M)
	}
	return m
}

// distinct makes IDs different from each other.
func distinct(ids []string) (changed bool) {
	taken := make(map[string]bool, len(ids))
	for _, id := range ids {
		taken[id] = true
	}
	seen := make(map[string]bool, len(ids))
	next := map[string]int{}
	for i, id := range ids {
		if !seen[id] {
			seen[id] = true
			continue
		}
		changed = true
		for n := max(next[id], 2); ; n++ {
			if other := fmt.Sprintf("%s_%d", id, n); !taken[other] {
				ids[i], taken[other], next[id] = other, true, n+1
				break
			}
		}
	}
	return changed
}
