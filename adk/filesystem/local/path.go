package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/weftgo/weft/adk/filesystem"
)

// ErrOutsideRoot is wrapped by the error for a path that leads out of the root, directly or through a symbolic link.
var ErrOutsideRoot = errors.New("path leads outside of the root")

// maxPath is the longest path in bytes, as on Linux.
const maxPath = 4096

// A place is a path of a request.
type place struct {
	name  string // below the root, slash-separated, "." for the root; what os.Root is asked for
	shown string // absolute, as results and errors show it
}

// locate finds out which place the path p of a request means. Links are left to os.Root, which follows them safely.
func (l *Local) locate(ctx context.Context, p string) (place, error) {
	if err := ctx.Err(); err != nil {
		return place{}, err
	}
	if strings.IndexByte(p, 0) >= 0 {
		return place{}, fmt.Errorf("path %q has a NUL byte", p)
	}
	if len(p) > maxPath {
		return place{}, fmt.Errorf("path has %d bytes, at most %d are allowed", len(p), maxPath)
	}
	p = filepath.ToSlash(p)
	if !isAbs(p) {
		p = l.config.Mount + "/" + p
	}
	p = path.Clean(p)
	for _, prefix := range l.prefixes {
		if p == prefix {
			return l.place("."), nil
		}
		if name, ok := strings.CutPrefix(p, strings.TrimSuffix(prefix, "/")+"/"); ok {
			return l.place(name), nil
		}
	}
	return place{}, fmt.Errorf("%s: %w: use paths below %s", p, ErrOutsideRoot, l.config.Mount)
}

func (l *Local) place(name string) place {
	return place{name: name, shown: path.Join(l.config.Mount, name)}
}

func isAbs(p string) bool { return strings.HasPrefix(p, "/") || filepath.IsAbs(p) }

// explain makes the error of an operation on a place one that names the path as the agent knows it.
func (at place) explain(err error) error {
	switch {
	case err == nil:
		return nil
	case missing(err):
		return &filesystem.NotFoundError{Path: at.shown}
	case strings.Contains(err.Error(), "path escapes from parent"): // os has no name for this error
		return fmt.Errorf("%s: %w: it is or goes through a symbolic link that the backend does not follow", at.shown,
			ErrOutsideRoot)
	}
	if pathErr := (*fs.PathError)(nil); errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	return fmt.Errorf("%s: %w", at.shown, err)
}

// missing reports whether err says that there is no such file, or that a directory on the way to it is a file.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
