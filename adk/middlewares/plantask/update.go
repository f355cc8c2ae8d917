package plantask

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/weftgo/weft/schema"
)

type updateArguments struct {
	TaskID       string         `json:"taskId"`
	Subject      string         `json:"subject"`
	Description  string         `json:"description"`
	ActiveForm   string         `json:"activeForm"`
	Status       string         `json:"status"`
	AddBlocks    []string       `json:"addBlocks"`
	AddBlockedBy []string       `json:"addBlockedBy"`
	Owner        string         `json:"owner"`
	Metadata     map[string]any `json:"metadata"`
}

func updateParams() map[string]*schema.ParameterInfo {
	status := param(schema.String, false, "New status. deleted removes the task.", "新的状态。deleted 会移除任务。")
	status.Enum = statuses
	ids := func(english, chinese string) *schema.ParameterInfo {
		p := param(schema.Array, false, english, chinese)
		p.ElemInfo = &schema.ParameterInfo{Type: schema.String}
		return p
	}
	return map[string]*schema.ParameterInfo{
		"taskId":       param(schema.String, true, "ID of the task to change, such as 1", "要修改的任务的 ID，例如 1"),
		"subject":      param(schema.String, false, "New subject.", "新的标题。"),
		"description":  param(schema.String, false, "New description.", "新的描述。"),
		"activeForm":   param(schema.String, false, "New text to show while the task is in progress.", "任务进行中显示的新文字。"),
		"status":       status,
		"addBlocks":    ids("IDs of tasks that cannot start before this one is completed.", "在此任务完成之前不能开始的任务的 ID。"),
		"addBlockedBy": ids("IDs of tasks that must be completed before this one can start.", "必须先完成、此任务才能开始的任务的 ID。"),
		"owner":        param(schema.String, false, "Who works on the task.", "负责此任务的人或 Agent。"),
		"metadata":     param(schema.Object, false, "Keys to set; null removes a key.", "要设置的键值；null 表示删除该键。"),
	}
}

// update changes or removes a task. Everything is checked before anything is written.
func (l *list) update(ctx context.Context, in *updateArguments) (string, error) {
	if err := checkID(in.TaskID); err != nil {
		return "", fmt.Errorf("validate task ID failed, err: %w", err)
	}
	if in.Status != "" && !slices.Contains(statuses, in.Status) {
		return "", fmt.Errorf("validate status failed, err: %q is none of %s", in.Status, strings.Join(statuses, ", "))
	}
	if in.Status == statusDeleted {
		return l.remove(ctx, in.TaskID)
	}
	t, err := l.task(ctx, in.TaskID)
	if err != nil {
		return "", err
	}
	if len(in.AddBlocks)+len(in.AddBlockedBy) > 0 {
		if err := l.link(ctx, t, in); err != nil {
			return "", err
		}
	}
	changed := t.apply(in)
	if len(changed) == 0 {
		return fmt.Sprintf("Task #%s was not changed: no field was given", t.ID), nil
	}
	if err := l.write(ctx, t); err != nil {
		return "", err
	}
	if in.Status == statusCompleted {
		if err := l.clearIfDone(ctx); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("Updated task #%s %s", t.ID, strings.Join(changed, ", ")), nil
}

// apply changes the fields that are given, and returns their names.
func (t *task) apply(in *updateArguments) (changed []string) {
	set := func(name string, field *string, value string) {
		if value != "" {
			*field = value
			changed = append(changed, name)
		}
	}
	set("subject", &t.Subject, in.Subject)
	set("description", &t.Description, in.Description)
	set("activeForm", &t.ActiveForm, in.ActiveForm)
	set("status", &t.Status, in.Status)
	if len(in.AddBlocks) > 0 {
		t.Blocks = union(t.Blocks, in.AddBlocks)
		changed = append(changed, "blocks")
	}
	if len(in.AddBlockedBy) > 0 {
		t.BlockedBy = union(t.BlockedBy, in.AddBlockedBy)
		changed = append(changed, "blockedBy")
	}
	set("owner", &t.Owner, in.Owner)
	if len(in.Metadata) > 0 {
		if t.Metadata == nil {
			t.Metadata = map[string]any{}
		}
		maps.Copy(t.Metadata, in.Metadata)
		maps.DeleteFunc(t.Metadata, func(_ string, v any) bool { return v == nil })
		changed = append(changed, "metadata")
	}
	return changed
}

// link checks the dependencies that a task is to get, and writes them down with the tasks at their other ends.
func (l *list) link(ctx context.Context, t *task, in *updateArguments) error {
	for _, id := range in.AddBlocks {
		if err := checkID(id); err != nil {
			return fmt.Errorf("validate blocked task ID failed, err: %w", err)
		}
	}
	for _, id := range in.AddBlockedBy {
		if err := checkID(id); err != nil {
			return fmt.Errorf("validate blocking task ID failed, err: %w", err)
		}
	}
	all, err := l.tasks(ctx)
	if err != nil {
		return err
	}
	tasks := make(map[string]*task, len(all))
	for _, other := range all {
		tasks[other.ID] = other
	}
	linked := *t
	linked.Blocks, linked.BlockedBy = union(t.Blocks, in.AddBlocks), union(t.BlockedBy, in.AddBlockedBy)
	tasks[t.ID] = &linked
	if blocksItself(t.ID, tasks) {
		return fmt.Errorf("check dependencies of Task #%s failed, err: it would wait for itself: cyclic dependency", t.ID)
	}
	if err := present(tasks, in.AddBlocks); err != nil {
		return fmt.Errorf("update Task #%s blocks failed, err: %w", t.ID, err)
	}
	if err := present(tasks, in.AddBlockedBy); err != nil {
		return fmt.Errorf("update Task #%s blockedBy failed, err: %w", t.ID, err)
	}
	for _, id := range in.AddBlocks {
		tasks[id].BlockedBy = union(tasks[id].BlockedBy, []string{t.ID})
		if err := l.write(ctx, tasks[id]); err != nil {
			return fmt.Errorf("update Task #%s blocks failed, err: %w", t.ID, err)
		}
	}
	for _, id := range in.AddBlockedBy {
		tasks[id].Blocks = union(tasks[id].Blocks, []string{t.ID})
		if err := l.write(ctx, tasks[id]); err != nil {
			return fmt.Errorf("update Task #%s blockedBy failed, err: %w", t.ID, err)
		}
	}
	return nil
}

// present reports the first task that does not exist.
func present(tasks map[string]*task, ids []string) error {
	for _, id := range ids {
		if tasks[id] == nil {
			return fmt.Errorf("there is no task #%s: %w", id, fs.ErrNotExist)
		}
	}
	return nil
}

// remove deletes a task, after it was taken out of all others.
func (l *list) remove(ctx context.Context, id string) (string, error) {
	all, err := l.tasks(ctx)
	if err != nil {
		return "", err
	}
	if !slices.ContainsFunc(all, func(t *task) bool { return t.ID == id }) {
		return "", fmt.Errorf("delete Task #%s failed, err: there is no such task: %w", id, fs.ErrNotExist)
	}
	for _, t := range all {
		if t.ID == id || !slices.Contains(t.Blocks, id) && !slices.Contains(t.BlockedBy, id) {
			continue
		}
		t.Blocks, t.BlockedBy = without(t.Blocks, id), without(t.BlockedBy, id)
		if err := l.write(ctx, t); err != nil {
			return "", err
		}
	}
	if err := l.delete(ctx, id); err != nil {
		return "", err
	}
	return fmt.Sprintf("Updated task #%s deleted", id), nil
}

// clearIfDone removes all tasks if all are completed.
func (l *list) clearIfDone(ctx context.Context) error {
	all, err := l.tasks(ctx)
	if err != nil {
		return err
	}
	for _, t := range all {
		if t.Status != statusCompleted {
			return nil
		}
	}
	for _, t := range all {
		if err := l.delete(ctx, t.ID); err != nil {
			return err
		}
	}
	return nil
}
