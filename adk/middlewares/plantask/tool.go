package plantask

import (
	"context"
	"fmt"
	"strings"

	"github.com/weftgo/weft/adk/internal/toolparams"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/internal/json"
	"github.com/weftgo/weft/internal/language"
	"github.com/weftgo/weft/schema"
)

// The names of the tools.
const (
	TaskCreateToolName = "TaskCreate"
	TaskGetToolName    = "TaskGet"
	TaskUpdateToolName = "TaskUpdate"
	TaskListToolName   = "TaskList"
)

func newTools(l *list) []tool.BaseTool {
	return []tool.BaseTool{
		&taskTool[createArguments]{TaskCreateToolName, createDesc, createDescChinese, createParams, l, l.create, false},
		&taskTool[getArguments]{TaskGetToolName, getDesc, getDescChinese, getParams, l, l.get, true},
		&taskTool[updateArguments]{TaskUpdateToolName, updateDesc, updateDescChinese, updateParams, l, l.update, false},
		&taskTool[struct{}]{TaskListToolName, listDesc, listDescChinese, listParams, l, l.render, true},
	}
}

// A taskTool is a tool on a list. T are its arguments.
type taskTool[T any] struct {
	name          string
	desc, chinese string
	params        func() map[string]*schema.ParameterInfo
	list          *list
	run           func(ctx context.Context, in *T) (string, error)
	reads         bool // and does nothing else
}

// Idempotent reports whether a call may be made again where its process died.
func (t *taskTool[T]) Idempotent() bool { return t.reads }

// GetType returns the name of the tool as the name of a Go type: taskCreateTool.
func (t *taskTool[T]) GetType() string { return "task" + strings.TrimPrefix(t.name, "Task") + "Tool" }

// Info describes the tool, in the language of the process.
func (t *taskTool[T]) Info(context.Context) (*schema.ToolInfo, error) {
	return &schema.ToolInfo{Name: t.name, Desc: language.Select(t.desc, t.chinese),
		ParamsOneOf: toolparams.Closed(t.params())}, nil
}

// InvokableRun runs the tool, one at a time on a list. Errors start with the tool's name.
func (t *taskTool[T]) InvokableRun(ctx context.Context, argumentsInJSON string, _ ...tool.Option) (string, error) {
	if strings.TrimSpace(argumentsInJSON) == "" {
		argumentsInJSON = "{}" // some models write nothing for no arguments
	}
	info, err := t.Info(ctx)
	if err != nil {
		return "", err
	}
	in, err := utils.DecodeArguments[T](ctx, info, argumentsInJSON, false)
	if err != nil {
		return "", fmt.Errorf("%s unmarshal arguments failed, err: %w", t.name, err)
	}
	unlock, err := t.list.lock(ctx)
	if err != nil {
		return "", fmt.Errorf("%s wait for other calls failed, err: %w", t.name, err)
	}
	defer unlock()
	result, err := t.run(ctx, &in)
	if err != nil {
		return "", fmt.Errorf("%s %w", t.name, err)
	}
	return json.MarshalString(struct {
		Result string `json:"result"`
	}{result})
}

// param describes an argument.
func param(t schema.DataType, required bool, english, chinese string) *schema.ParameterInfo {
	return &schema.ParameterInfo{Type: t, Required: required, Desc: language.Select(english, chinese)}
}
