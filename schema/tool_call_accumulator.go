package schema

import (
	"fmt"
	"maps"
	"slices"
)

// A ToolCallAccumulator joins the chunks of one streamed tool call. The zero value is ready for use. It must not be
// copied after the first Add, and is not safe for concurrent use.
type ToolCallAccumulator struct {
	call      ToolCall // everything but the arguments
	arguments textJoin
	started   bool
}

// Add joins one more chunk. The ID, the type and the name may come in any chunk and be repeated, but a second,
// different value is an error, after which the accumulator is unchanged. Arguments are appended. The index is taken
// from the first chunk, Extra from the first chunk that has one.
func (a *ToolCallAccumulator) Add(chunk ToolCall) error {
	next := a.call
	if !single(&next.ID, chunk.ID) {
		return fmt.Errorf("cannot concat ToolCalls with different tool id: '%s' '%s'", a.call.ID, chunk.ID)
	}
	if !single(&next.Type, chunk.Type) {
		return fmt.Errorf("cannot concat ToolCalls with different tool type: '%s' '%s'", a.call.Type, chunk.Type)
	}
	if !single(&next.Function.Name, chunk.Function.Name) {
		return fmt.Errorf("cannot concat ToolCalls with different tool name: '%s' '%s'",
			a.call.Function.Name, chunk.Function.Name)
	}
	if !a.started {
		next.Index = clonePointer(chunk.Index)
		a.started = true
	}
	if len(next.Extra) == 0 && len(chunk.Extra) > 0 {
		next.Extra = maps.Clone(chunk.Extra)
	}
	a.call = next
	a.arguments.add(chunk.Function.Arguments)
	return nil
}

// ToolCall returns the call as far as it has come. More chunks may be added afterwards; the returned call shares
// nothing with them.
func (a *ToolCallAccumulator) ToolCall() ToolCall {
	call := a.call
	call.Index = clonePointer(call.Index)
	call.Extra = maps.Clone(call.Extra)
	call.Function.Arguments = a.arguments.String()
	return call
}

// toolCallJoin joins the tool calls of the chunks of one message. Calls without an index are complete, each one its
// own; chunks with an index belong to the call of that index.
type toolCallJoin struct {
	whole   []ToolCall
	first   [1]ToolCall // room for the only one of most messages
	indexed map[int]*ToolCallAccumulator
	last    *ToolCallAccumulator // of the index seen last: nearly always the index of the next chunk, too
	err     error
}

func (j *toolCallJoin) add(calls []ToolCall) {
	for i := range calls {
		if j.err != nil {
			return
		}
		if calls[i].Index == nil {
			if j.whole == nil {
				j.whole = j.first[:0]
			}
			j.whole = append(j.whole, cloneToolCall(calls[i]))
			continue
		}
		j.err = j.at(*calls[i].Index).Add(calls[i])
	}
}

func (j *toolCallJoin) at(index int) *ToolCallAccumulator {
	if j.last != nil && *j.last.call.Index == index {
		return j.last
	}
	a, ok := j.indexed[index]
	if !ok {
		a = &ToolCallAccumulator{}
		if j.indexed == nil {
			j.indexed = map[int]*ToolCallAccumulator{}
		}
		j.indexed[index] = a
	}
	j.last = a
	return a
}

// result returns the complete calls as they came, then the others by index.
func (j *toolCallJoin) result() ([]ToolCall, error) {
	if j.err != nil {
		return nil, j.err
	}
	if len(j.whole)+len(j.indexed) == 0 {
		return nil, nil
	}
	calls := make([]ToolCall, 0, len(j.whole)+len(j.indexed))
	for _, call := range j.whole {
		calls = append(calls, cloneToolCall(call))
	}
	if len(j.indexed) == 0 {
		return calls, nil
	}
	for _, index := range slices.Sorted(maps.Keys(j.indexed)) {
		calls = append(calls, j.indexed[index].ToolCall())
	}
	return calls, nil
}

func cloneToolCall(call ToolCall) ToolCall {
	call.Index = clonePointer(call.Index)
	call.Extra = cloneFilled(call.Extra)
	return call
}
