package local

import (
	"context"
	"fmt"
	"os"

	"github.com/weftgo/weft/adk/filesystem"
	"github.com/weftgo/weft/adk/filesystem/internal/text"
)

// Write creates a file (mode 0644) with the directories on the way (0755), less the umask, or replaces the content of a
// file, which keeps its permissions. A file that the process may not write is not replaced.
func (l *Local) Write(ctx context.Context, req *filesystem.WriteRequest) error {
	at, err := l.locate(ctx, req.FilePath)
	if err != nil {
		return err
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	return at.explain(l.write(at.name, req.Content))
}

func (l *Local) write(name, content string) error {
	d, err := l.draft(name)
	if err != nil {
		return err
	}
	if _, err := d.WriteString(content); err != nil {
		d.discard()
		return err
	}
	return d.publish()
}

// Edit replaces literal text in a file of at most Config.MaxBytes. Replacing text by itself is an error, as the caller
// certainly meant something else. For a missing file the error is a [*filesystem.NotFoundError].
func (l *Local) Edit(ctx context.Context, req *filesystem.EditRequest) error {
	at, err := l.locate(ctx, req.FilePath)
	if err != nil {
		return err
	}
	l.writing.Lock()
	defer l.writing.Unlock()

	f, _, err := l.openFile(at.name, os.O_RDONLY)
	if err != nil {
		return at.explain(err)
	}
	data, err := readAll(ctx, f, l.config.MaxBytes)
	f.Close()
	if err == text.ErrTooLarge {
		err = fmt.Errorf("only files of at most %d bytes can be edited", l.config.MaxBytes)
	}
	if err != nil {
		return at.explain(err)
	}
	content, err := text.Replace(at.shown, string(data), req.OldString, req.NewString, req.ReplaceAll)
	if err != nil {
		return err
	}
	if req.OldString == req.NewString {
		return fmt.Errorf("%s: new string must be different from old string", at.shown)
	}
	return at.explain(l.write(at.name, content))
}

// Delete removes a file, or a link itself. Directories are not removed. For a missing file the error is a
// [*filesystem.NotFoundError].
func (l *Local) Delete(ctx context.Context, req *filesystem.DeleteRequest) error {
	at, err := l.locate(ctx, req.FilePath)
	if err != nil {
		return err
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	info, err := l.root.Lstat(at.name)
	if err != nil {
		return at.explain(err)
	}
	if info.IsDir() {
		return at.explain(errIsDirectory)
	}
	return at.explain(l.root.Remove(at.name))
}
