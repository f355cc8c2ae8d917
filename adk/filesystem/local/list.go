package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/weftgo/weft/adk/filesystem"
)

// errTooMany says that Config.MaxResults does not suffice.
type errTooMany struct{ max int }

func (e errTooMany) Error() string {
	return fmt.Sprintf("more than %d results: ask for a smaller part", e.max)
}

func fileInfo(name string, info fs.FileInfo) filesystem.FileInfo {
	out := filesystem.FileInfo{Path: name, IsDir: info.IsDir(), ModifiedAt: info.ModTime().Format(time.RFC3339Nano)}
	if !out.IsDir {
		out.Size = info.Size()
	}
	return out
}

// LsInfo lists a directory, sorted by name. A link is shown as what it leads to, if that lies inside the root.
func (l *Local) LsInfo(ctx context.Context, req *filesystem.LsInfoRequest) ([]filesystem.FileInfo, error) {
	at, err := l.locate(ctx, req.Path)
	if err != nil {
		return nil, err
	}
	info, err := l.root.Stat(at.name)
	switch {
	case err != nil && missing(err):
		return nil, nil
	case err != nil:
		return nil, at.explain(err)
	case !info.IsDir():
		return []filesystem.FileInfo{fileInfo(path.Base(at.name), info)}, nil
	}
	entries, err := l.readDir(ctx, at.name)
	if err != nil {
		return nil, at.explain(err)
	}
	var list []filesystem.FileInfo
	for _, e := range entries {
		name := path.Join(at.name, e.Name())
		info, err := l.root.Stat(name)
		if err != nil {
			info, err = l.root.Lstat(name) // a link that leads outside or nowhere
		}
		if err == nil { // else it is gone by now
			list = append(list, fileInfo(e.Name(), info))
		}
	}
	return list, nil
}

// readDir lists a directory in the order of names. Files that are only just being written are left out.
func (l *Local) readDir(ctx context.Context, name string) ([]fs.DirEntry, error) {
	dir, err := l.root.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	var entries []fs.DirEntry
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		more, err := dir.ReadDir(1024)
		for _, e := range more {
			if !strings.HasPrefix(e.Name(), tempPrefix) {
				entries = append(entries, e)
			}
		}
		switch {
		case len(entries) > l.config.MaxResults:
			return nil, errTooMany{l.config.MaxResults}
		case err == io.EOF:
			slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
			return entries, nil
		case err != nil:
			return nil, err
		}
	}
}

// walk visits the regular files below a directory, and links to such files. It does not descend into links to
// directories, so it cannot go in circles. A directory further down that cannot be read is passed over: the rest of the
// tree is still worth having.
func (l *Local) walk(ctx context.Context, dir string, visit func(name string) error) error {
	entries, err := l.readDir(ctx, dir)
	if err != nil {
		return l.place(dir).explain(err)
	}
	return l.visitAll(ctx, dir, entries, visit)
}

func (l *Local) visitAll(
	ctx context.Context, dir string, entries []fs.DirEntry, visit func(name string) error,
) (err error) {
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch {
		case len(name) > maxPath: // no request could name it
		case e.IsDir():
			err = l.descend(ctx, name, visit)
		case e.Type().IsRegular() || l.linksToFile(e, name):
			err = visit(name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// descend walks a directory that the walk met.
func (l *Local) descend(ctx context.Context, dir string, visit func(name string) error) error {
	if slices.Contains(l.config.SkipDirs, path.Base(dir)) {
		return nil
	}
	entries, err := l.readDir(ctx, dir)
	tooMany := errTooMany{}
	switch {
	case errors.As(err, &tooMany):
		return l.place(dir).explain(err)
	case err != nil:
		return ctx.Err()
	}
	return l.visitAll(ctx, dir, entries, visit)
}

func (l *Local) linksToFile(e fs.DirEntry, name string) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return false
	}
	info, err := l.root.Stat(name)
	return err == nil && info.Mode().IsRegular()
}
