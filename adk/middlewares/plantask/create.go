package plantask

import (
	"context"
	"errors"
	"fmt"

	"github.com/weftgo/weft/schema"
)

type createArguments struct {
	Subject     string         `json:"subject"`
	Description string         `json:"description"`
	ActiveForm  string         `json:"activeForm"`
	Metadata    map[string]any `json:"metadata"`
}

func createParams() map[string]*schema.ParameterInfo {
	return map[string]*schema.ParameterInfo{
		"subject": param(schema.String, true, "What is to be done, in a few words, as an order: Run the tests",
			"要做什么，用简短的祈使句：运行测试"),
		"description": param(schema.String, true, "What belongs to the task, and when it is done.", "任务的具体内容，以及怎样才算完成。"),
		"activeForm": param(schema.String, false, "What is shown while the task is in progress: Running the tests",
			"任务进行中显示的文字：正在运行测试"),
		"metadata": param(schema.Object, false, "Anything else to keep with the task, by key.", "要随任务保存的其他信息（键值对）。"),
	}
}

// create adds a task.
func (l *list) create(ctx context.Context, in *createArguments) (string, error) {
	if in.Subject == "" {
		return "", errors.New("validate subject failed, err: it is empty")
	}
	id, err := l.nextID(ctx)
	if err != nil {
		return "", err
	}
	t := &task{ID: id, Subject: in.Subject, Description: in.Description, Status: statusPending,
		Blocks: []string{}, BlockedBy: []string{}, ActiveForm: in.ActiveForm, Metadata: in.Metadata}
	if err := l.write(ctx, t); err != nil {
		return "", err
	}
	return fmt.Sprintf("Task #%s created successfully: %s", id, t.Subject), nil
}
