package openai

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// wrapperNames are names of a tool that OpenAI's models know from their training and write sometimes though the request
// does not offer it: a call of it has several calls in its arguments.
var wrapperNames = []string{"multi_tool_use.parallel", "multi_tool_use_parallel", "parallel"}

// isWrapper reports whether a call is one of several in one: its name is known, and no tool that was offered has it.
func isWrapper(name string, offered []*schema.ToolInfo) bool {
	return slices.Contains(wrapperNames, name) && !slices.ContainsFunc(offered, func(info *schema.ToolInfo) bool {
		return info != nil && info.Name == name
	})
}

// A wrapped is a call in the arguments of another.
type wrapped struct {
	Name      string          `json:"recipient_name"`
	Arguments json.RawMessage `json:"parameters"`
}

// unwrap returns the calls in arguments, nil if these are no list of calls.
func unwrap(arguments string) []wrapped {
	var list struct {
		Calls []wrapped `json:"tool_uses"`
	}
	if json.Unmarshal([]byte(arguments), &list) != nil {
		return nil
	}
	for i := range list.Calls {
		c := &list.Calls[i]
		c.Name = strings.TrimPrefix(c.Name, "functions.")
		if c.Name == "" || len(c.Arguments) == 0 {
			return nil
		}
	}
	return list.Calls
}

// wrappedID returns the ID of the i-th call in one with an ID.
func wrappedID(id string, i int) string {
	if i == 0 {
		return id
	}
	return id + "_" + strconv.Itoa(i+1)
}

// wrappedCalls returns the calls in a call that came whole, nil if it is no wrapper.
func wrappedCalls(call schema.ToolCall, offered []*schema.ToolInfo) (calls []schema.ToolCall) {
	if !isWrapper(call.Function.Name, offered) {
		return nil
	}
	for i, c := range unwrap(call.Function.Arguments) {
		calls = append(calls, schema.ToolCall{
			ID: wrappedID(call.ID, i), Type: "function",
			Function: schema.FunctionCall{Name: c.Name, Arguments: kit.RawUsage(c.Arguments)},
		})
	}
	return calls
}

// wrappedBlocks is wrappedCalls for blocks.
func wrappedBlocks(item *responsesItem, arguments string) (blocks []*schema.ContentBlock) {
	for i, c := range unwrap(arguments) {
		blocks = append(blocks, schema.NewContentBlock(&schema.FunctionToolCall{
			CallID: wrappedID(item.CallID, i), Name: c.Name, Arguments: kit.RawUsage(c.Arguments),
		}))
	}
	return blocks
}

// hold takes a chunk of a call that may have others in it, and returns nothing before it is complete.
func (t *callTracker) hold(call *trackedCall, chunk schema.ToolCall) []schema.ToolCall {
	held := call.held
	if held == nil {
		held = &chunk
		call.held = held
	} else {
		held.Function.Arguments += chunk.Function.Arguments
	}
	if !call.args.complete() {
		return nil
	}
	call.held, call.plain = nil, true
	calls := wrappedCalls(*held, nil)
	if calls == nil {
		return []schema.ToolCall{*held}
	}
	for i := range calls {
		index := call.index
		if i > 0 {
			index = t.next
			t.taken[index] = true
			t.next++
		}
		calls[i].Index = &index
	}
	return calls
}

// heldCalls returns the calls that were held to the end of the answer, as they are.
func (t *callTracker) heldCalls() (calls []schema.ToolCall) {
	for _, call := range t.all {
		if call.held != nil {
			calls = append(calls, *call.held)
			call.held = nil
		}
	}
	return calls
}
