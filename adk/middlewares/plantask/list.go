package plantask

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/weftgo/weft/internal/json"
)

const (
	taskFile      = ".json"
	watermarkFile = ".highwatermark"
)

// A list is the tasks in a directory.
type list struct {
	Config
	// busy is full while a tool works on the list.
	busy chan struct{}
}

func newList(c *Config) *list { return &list{Config: *c, busy: make(chan struct{}, 1)} }

// lock waits until no other tool works on the list, or ctx ends.
func (l *list) lock(ctx context.Context) (unlock func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case l.busy <- struct{}{}:
		return func() { <-l.busy }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *list) path(file string) string { return path.Join(l.BaseDir, file) }

// files are the names of the files in the directory.
func (l *list) files(ctx context.Context) ([]string, error) {
	infos, err := l.Backend.LsInfo(ctx, &LsInfoRequest{Path: l.BaseDir})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list files in %s failed, err: %w", l.BaseDir, err)
	}
	var names []string
	for _, info := range infos {
		if !info.IsDir {
			names = append(names, path.Base(strings.ReplaceAll(info.Path, `\`, "/")))
		}
	}
	return names, nil
}

// ids are the IDs of the tasks, in order.
func (l *list) ids(ctx context.Context) ([]string, error) {
	names, err := l.files(ctx)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, name := range names {
		if id, ok := strings.CutSuffix(name, taskFile); ok && isID(id) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, compareIDs)
	return ids, nil
}

// read returns the text of a file.
func (l *list) read(ctx context.Context, name string) (string, error) {
	content, err := l.Backend.Read(ctx, &ReadRequest{FilePath: l.path(name)})
	if err != nil {
		return "", err
	}
	if content == nil {
		return "", errors.New("the backend returned neither content nor an error")
	}
	return content.Content, nil
}

// task returns one task.
func (l *list) task(ctx context.Context, id string) (*task, error) {
	text, err := l.read(ctx, id+taskFile)
	if err != nil {
		return nil, fmt.Errorf("read task file %s failed, err: %w", l.path(id+taskFile), err)
	}
	t := new(task)
	if err := json.UnmarshalString(text, t); err != nil {
		return nil, fmt.Errorf("parse task file %s failed, err: %w", l.path(id+taskFile), err)
	}
	t.ID = id // a file is what it is called
	return t, nil
}

// tasks returns all tasks, in order.
func (l *list) tasks(ctx context.Context) ([]*task, error) {
	ids, err := l.ids(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]*task, len(ids))
	for i, id := range ids {
		if all[i], err = l.task(ctx, id); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// write stores a task.
func (l *list) write(ctx context.Context, t *task) error {
	text, err := json.MarshalString(t)
	if err == nil {
		err = l.Backend.Write(ctx, &WriteRequest{FilePath: l.path(t.ID + taskFile), Content: text})
	}
	if err != nil {
		return fmt.Errorf("write Task #%s failed, err: %w", t.ID, err)
	}
	return nil
}

// delete removes a task.
func (l *list) delete(ctx context.Context, id string) error {
	if err := l.Backend.Delete(ctx, &DeleteRequest{FilePath: l.path(id + taskFile)}); err != nil {
		return fmt.Errorf("delete Task #%s failed, err: %w", id, err)
	}
	return nil
}

// nextID returns the ID for a new task, and sees to it that none gets it again.
func (l *list) nextID(ctx context.Context) (string, error) {
	names, err := l.files(ctx)
	if err != nil {
		return "", err
	}
	var last uint64
	if slices.Contains(names, watermarkFile) {
		text, err := l.read(ctx, watermarkFile)
		if err != nil {
			return "", fmt.Errorf("read file %s failed, err: %w", l.path(watermarkFile), err)
		}
		last, _ = strconv.ParseUint(strings.TrimSpace(text), 10, 63)
	}
	id := strconv.FormatUint(last+1, 10)
	if slices.Contains(names, id+taskFile) {
		return "", fmt.Errorf("task #%s already exists", id)
	}
	if err := l.Backend.Write(ctx, &WriteRequest{FilePath: l.path(watermarkFile), Content: id}); err != nil {
		return "", fmt.Errorf("write file %s failed, err: %w", l.path(watermarkFile), err)
	}
	return id, nil
}
