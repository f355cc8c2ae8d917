package schema

import (
	"fmt"
	"reflect"

	"github.com/weftgo/weft/internal/concat"
)

// functionCallJoin appends arguments.
type functionCallJoin struct {
	call      FunctionToolCall
	arguments textJoin
}

func (j *functionCallJoin) add(p *FunctionToolCall) error {
	j.arguments.add(p.Arguments)
	return agree("function tool call",
		claim{&j.call.CallID, p.CallID, "call ID"},
		claim{&j.call.Name, p.Name, "tool name"},
	)
}

func (j *functionCallJoin) result() (*FunctionToolCall, error) {
	call := j.call
	call.Arguments = j.arguments.String()
	return &call, nil
}

// functionResultJoin lists the parts of all chunks.
type functionResultJoin struct {
	tool    FunctionToolResult
	content []*FunctionToolResultContentBlock
}

func (j *functionResultJoin) add(p *FunctionToolResult) error {
	for _, part := range p.Content {
		if part != nil {
			j.content = append(j.content, part)
		}
	}
	return agree("function tool result",
		claim{&j.tool.CallID, p.CallID, "call ID"},
		claim{&j.tool.Name, p.Name, "tool name"},
	)
}

func (j *functionResultJoin) result() (*FunctionToolResult, error) {
	result := j.tool
	result.Content = append(result.Content, j.content...)
	return &result, nil
}

// valueJoin joins values of whatever type a provider's adapter uses, which must be one over all chunks.
type valueJoin struct {
	values []any
}

func (j *valueJoin) add(v any, what string) error {
	if v == nil {
		return nil
	}
	if len(j.values) > 0 && reflect.TypeOf(v) != reflect.TypeOf(j.values[0]) {
		return fmt.Errorf("expected type '%T' for %s, but got '%T'", j.values[0], what, v)
	}
	j.values = append(j.values, v)
	return nil
}

func (j *valueJoin) result(what string) (any, error) {
	v, err := concat.Values(j.values)
	if err != nil {
		return nil, fmt.Errorf("failed to concat %s: %w", what, err)
	}
	return v, nil
}

// serverCallJoin joins arguments.
type serverCallJoin struct {
	call      ServerToolCall
	arguments valueJoin
}

func (j *serverCallJoin) add(p *ServerToolCall) error {
	err := agree("server tool call",
		claim{&j.call.CallID, p.CallID, "call ID"},
		claim{&j.call.Name, p.Name, "tool name"},
	)
	if err != nil {
		return err
	}
	return j.arguments.add(p.Arguments, "server tool call arguments")
}

func (j *serverCallJoin) result() (*ServerToolCall, error) {
	call := j.call
	var err error
	if call.Arguments, err = j.arguments.result("server tool call arguments"); err != nil {
		return nil, err
	}
	return &call, nil
}

// serverResultJoin joins contents.
type serverResultJoin struct {
	tool    ServerToolResult
	content valueJoin
}

func (j *serverResultJoin) add(p *ServerToolResult) error {
	err := agree("server tool result",
		claim{&j.tool.CallID, p.CallID, "call ID"},
		claim{&j.tool.Name, p.Name, "tool name"},
	)
	if err != nil {
		return err
	}
	return j.content.add(p.Content, "server tool result")
}

func (j *serverResultJoin) result() (*ServerToolResult, error) {
	result := j.tool
	var err error
	if result.Content, err = j.content.result("server tool result"); err != nil {
		return nil, err
	}
	return &result, nil
}
