package adk

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// ClientToolCall is the info of an interrupt for a tool call that is carried out outside the process: by a browser, an
// editor, the caller of a server. The run stops with it, and is resumed with a [ClientToolResult] for the interrupt's
// ID.
type ClientToolCall struct {
	Name   string `json:"name"`
	CallID string `json:"call_id"`
	// Arguments is JSON text as the model wrote it.
	Arguments string `json:"arguments"`
}

// Asks says how the call is listed: see [runs.Asker].
func (c *ClientToolCall) Asks() runs.Question {
	return runs.Question{Kind: runs.KindClientTool, Tool: c.Name, Call: c.CallID, Arguments: c.Arguments,
		Text: fmt.Sprintf("a client has to call %s with %s", c.Name, c.Arguments)}
}

// Shortened is the call with fewer arguments, for lists: see [runs.Shortener]. The call itself is whole in the record of the run.
func (c *ClientToolCall) Shortened(most int) any {
	short := *c
	short.Arguments = strings.ToValidUTF8(c.Arguments[:min(len(c.Arguments), most)], "")
	return &short
}

// ClientToolResult is the result of a [ClientToolCall], for [ResumeParams].Targets. A string stands for one without an
// Error.
type ClientToolResult struct {
	// Text is the result that the model reads.
	Text string `json:"text"`
	// Error, if not empty, says why there is none, and is read by the model instead of Text.
	Error string `json:"error,omitempty"`
}

func init() {
	schema.RegisterName[*ClientToolCall]("_weft_adk_client_tool_call")
	schema.RegisterName[*ClientToolResult]("_weft_adk_client_tool_result")
}

// clientTool is a tool that the process cannot run.
type clientTool struct{ info *schema.ToolInfo }

// NewClientTool makes a tool that is carried out outside the process. A call of it interrupts the run with a
// [*ClientToolCall] as info; the run needs a store to be resumed. It fails if info is nil or has no name. The tool is
// safe for concurrent use.
func NewClientTool(info *schema.ToolInfo) (tool.InvokableTool, error) {
	if info == nil || info.Name == "" {
		return nil, errors.New("a client tool needs an info with a name")
	}
	return &clientTool{info}, nil
}

// Info returns the description that the tool was made with.
func (t *clientTool) Info(context.Context) (*schema.ToolInfo, error) { return t.info, nil }

// GetType returns "clientTool".
func (t *clientTool) GetType() string { return "clientTool" }

// Idempotent reports true: the call only asks, and asking again is answered once.
func (t *clientTool) Idempotent() bool { return true }

// InvokableRun asks for the result, or returns it.
func (t *clientTool) InvokableRun(ctx context.Context, argumentsInJSON string, _ ...tool.Option) (string, error) {
	if target, answered, text := tool.GetResumeContext[string](ctx); target && answered {
		return text, nil
	}
	if target, answered, result := tool.GetResumeContext[*ClientToolResult](ctx); target && answered && result != nil {
		if result.Error != "" {
			return result.Error, nil
		}
		return result.Text, nil
	}
	if _, err := utils.DecodeArguments[any](ctx, t.info, argumentsInJSON, false); err != nil {
		return "", err
	}
	call := &ClientToolCall{Name: t.info.Name, CallID: compose.GetToolCallID(ctx), Arguments: argumentsInJSON}
	return "", tool.Interrupt(ctx, call)
}
