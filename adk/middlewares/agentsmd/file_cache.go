package agentsmd

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"sync"

	"github.com/weftgo/weft/adk/filesystem"
)

// lister is implemented by backends that list files in addition to Read.
type lister interface {
	LsInfo(ctx context.Context, req *filesystem.LsInfoRequest) ([]filesystem.FileInfo, error)
}

// A fileCache has the files that were read. It serves all runs.
type fileCache struct {
	backend Backend
	lister  lister // nil if the backend is none

	mu    sync.Mutex
	known map[string]knownFile
}

// A knownFile is a file as it was when it was read. Without a version it is unknown whether the file is still the same.
type knownFile struct {
	missing bool
	version *filesystem.FileInfo
	content string
}

func newFileCache(backend Backend) *fileCache {
	c := &fileCache{backend: backend, known: map[string]knownFile{}}
	c.lister, _ = backend.(lister)
	return c
}

// read returns a file. news is true unless the file was missing the last time, too.
func (c *fileCache) read(ctx context.Context, path string) (content string, news bool, err error) {
	c.mu.Lock()
	known := c.known[path]
	c.mu.Unlock()

	// The version is asked for before the file is read: if it changes in between it is read once too often.
	var version *filesystem.FileInfo
	if !known.missing { // reading is the quickest way to learn whether there is one now
		version = c.version(ctx, path)
	}
	if version != nil && known.version != nil && *version == *known.version {
		return known.content, true, nil
	}
	file, err := c.backend.Read(ctx, &ReadRequest{FilePath: path, Offset: 1})
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return "", true, err
	}
	if file != nil && !missing {
		content = file.Content
	}
	c.mu.Lock()
	c.known[path] = knownFile{missing: missing, version: version, content: content}
	c.mu.Unlock()
	return content, !known.missing, err
}

// version returns size and time of change of a file, nil if the backend does not know.
func (c *fileCache) version(ctx context.Context, path string) *filesystem.FileInfo {
	if c.lister == nil {
		return nil
	}
	infos, err := c.lister.LsInfo(ctx, &filesystem.LsInfoRequest{Path: path})
	if err != nil || len(infos) != 1 {
		return nil
	}
	info := infos[0]
	if info.IsDir || info.ModifiedAt == "" || filepath.Base(info.Path) != filepath.Base(path) {
		return nil
	}
	return &info
}
