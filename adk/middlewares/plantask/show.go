package plantask

import (
	"context"
	"fmt"
	"strings"

	"github.com/weftgo/weft/schema"
)

type getArguments struct {
	TaskID string `json:"taskId"`
}

func getParams() map[string]*schema.ParameterInfo {
	return map[string]*schema.ParameterInfo{"taskId": param(schema.String, true, "ID of the task, such as 1",
		"任务的 ID，例如 1")}
}

// get shows one task.
func (l *list) get(ctx context.Context, in *getArguments) (string, error) {
	if err := checkID(in.TaskID); err != nil {
		return "", fmt.Errorf("validate task ID failed, err: %w", err)
	}
	t, err := l.task(ctx, in.TaskID)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Task #%s: %s\nStatus: %s\nDescription: %s\n", t.ID, t.Subject, t.Status, t.Description)
	for _, line := range []struct{ label, text string }{
		{"Blocked by", hashed(t.BlockedBy)}, {"Blocks", hashed(t.Blocks)}, {"Owner", t.Owner},
	} {
		if line.text != "" {
			fmt.Fprintf(&b, "%s: %s\n", line.label, line.text)
		}
	}
	return b.String(), nil
}

func listParams() map[string]*schema.ParameterInfo { return map[string]*schema.ParameterInfo{} }

// render shows all tasks, one a line.
func (l *list) render(ctx context.Context, _ *struct{}) (string, error) {
	tasks, err := l.tasks(ctx)
	if err != nil {
		return "", err
	}
	if len(tasks) == 0 {
		return "No tasks found.", nil
	}
	var b strings.Builder
	for _, t := range tasks {
		fmt.Fprintf(&b, "#%s [%s] %s", t.ID, t.Status, t.Subject)
		if t.Owner != "" {
			fmt.Fprintf(&b, " [owner: %s]", t.Owner)
		}
		if len(t.BlockedBy) > 0 {
			fmt.Fprintf(&b, " [blocked by %s]", hashed(t.BlockedBy))
		}
		b.WriteByte('\n')
	}
	return b.String(), nil
}
