package local

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/weftgo/weft/adk/filesystem"
	"github.com/weftgo/weft/adk/filesystem/internal/text"
)

// tempPrefix starts the names of files that are being written. They lie beside the file that they will replace.
const tempPrefix = ".weft-tmp-"

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
	target, err := l.target(name)
	if err != nil {
		return err
	}
	f, info, err := l.openFile(target, os.O_WRONLY) // may we?
	switch {
	case err == nil:
		f.Close()
		mode := info.Mode().Perm()
		return l.replace(target, content, &mode)
	case !errors.Is(err, fs.ErrNotExist):
		return notADirectory(err)
	}
	if dir := path.Dir(name); target == name && dir != "." { // a link that leads nowhere makes no directories
		if err := l.root.MkdirAll(dir, 0o755); err != nil {
			return notADirectory(err)
		}
	}
	return l.replace(target, content, nil)
}

// notADirectory keeps an error of writing below a file from being taken for a missing file.
func notADirectory(err error) error {
	if missing(err) && !errors.Is(err, fs.ErrNotExist) {
		return errors.New("a directory on the way to it is a file")
	}
	return err
}

// target is the file that name leads to: name itself, or what it links to. It is not cleaned, as a ".." behind a linked
// directory means the parent of what that links to. Whether it stays in the root is up to os.Root.
func (l *Local) target(name string) (string, error) {
	for range 40 {
		link, err := l.root.Readlink(name)
		if err != nil {
			return name, nil
		}
		link = filepath.ToSlash(link)
		if isAbs(link) {
			return "", ErrOutsideRoot
		}
		dir, _ := path.Split(name)
		name = dir + link
	}
	return "", errors.New("too many levels of symbolic links")
}

// replace makes content the content of a file at once.
func (l *Local) replace(target, content string, mode *fs.FileMode) (err error) {
	dir, _ := path.Split(target)
	temp := dir + tempPrefix + rand.Text()
	f, err := l.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = l.root.Remove(temp)
		}
	}()
	if mode != nil {
		err = f.Chmod(*mode)
	}
	if err == nil {
		_, err = f.WriteString(content)
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return l.root.Rename(temp, target)
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
