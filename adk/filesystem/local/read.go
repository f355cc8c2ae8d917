package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/weftgo/weft/adk/filesystem"
	"github.com/weftgo/weft/adk/filesystem/internal/text"
)

var (
	errIsDirectory = errors.New("is a directory")
	errNotRegular  = errors.New("is neither a file nor a directory")
)

// openFile opens a regular file. It looks at what it has opened, not at what was there before, and does not wait.
func (l *Local) openFile(name string, flag int) (*os.File, fs.FileInfo, error) {
	f, err := l.root.OpenFile(name, flag|nonblock, 0)
	if errors.Is(err, syscall.EISDIR) { // it cannot be opened for writing
		err = errIsDirectory
	}
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = regular(info)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

func regular(info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return errIsDirectory
	case !info.Mode().IsRegular():
		return errNotRegular
	}
	return nil
}

// Read returns a file or a window of its lines. For a missing file the error is a [*filesystem.NotFoundError]. More
// than Config.MaxBytes to return is an error; the file may be larger.
func (l *Local) Read(ctx context.Context, req *filesystem.ReadRequest) (*filesystem.FileContent, error) {
	at, err := l.locate(ctx, req.FilePath)
	if err != nil {
		return nil, err
	}
	f, _, err := l.openFile(at.name, os.O_RDONLY)
	if err != nil {
		return nil, at.explain(err)
	}
	defer f.Close()
	content, err := text.Window(text.Reader(ctx, f), req.Offset, req.Limit, l.config.MaxBytes)
	if err == text.ErrTooLarge {
		err = fmt.Errorf("more than %d bytes to read: use offset and limit to read fewer lines", l.config.MaxBytes)
	}
	if err != nil {
		return nil, at.explain(err)
	}
	return &filesystem.FileContent{Content: content}, nil
}

// readAll reads a file of at most max bytes.
func readAll(ctx context.Context, f *os.File, max int) ([]byte, error) {
	data, err := io.ReadAll(text.Reader(ctx, io.LimitReader(f, int64(max)+1)))
	if err == nil && len(data) > max {
		err = text.ErrTooLarge
	}
	return data, err
}
