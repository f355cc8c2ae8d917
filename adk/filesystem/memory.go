package filesystem

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weftgo/weft/adk/filesystem/internal/text"
)

// InMemoryBackend is a [Backend], [Deleter] and [Creator] that keeps files in memory. Directories exist as far as files
// lie in them. Paths are paths in a tree with the top "/": a missing leading slash is added, and ".." cannot leave the
// top. It is safe for concurrent use.
type InMemoryBackend struct {
	mu    sync.RWMutex
	files map[string]memoryFile // by clean absolute path
}

// A memoryFile is never changed, so a reader may use it without the lock.
type memoryFile struct {
	content  string
	modified time.Time
}

// NewInMemoryBackend returns a backend without files.
func NewInMemoryBackend() *InMemoryBackend {
	return &InMemoryBackend{files: make(map[string]memoryFile)}
}

var (
	_ Backend = (*InMemoryBackend)(nil)
	_ Deleter = (*InMemoryBackend)(nil)
	_ Creator = (*InMemoryBackend)(nil)
)

// cleanPath makes the absolute path that a path of a request stands for.
func cleanPath(p string) string {
	if !strings.HasPrefix(p, "/") {
		p = "/" + p
	}
	return path.Clean(p)
}

// below cuts the directory dir off the clean path p; ok is false if p does not lie in dir.
func below(dir, p string) (rel string, ok bool) {
	rel, ok = strings.CutPrefix(p, strings.TrimSuffix(dir, "/")+"/")
	return rel, ok && rel != "" // there may be a file at the top
}

func (f memoryFile) info(name string) FileInfo {
	return FileInfo{Path: name, Size: int64(len(f.content)), ModifiedAt: f.modified.Format(time.RFC3339Nano)}
}

// LsInfo lists a directory, sorted by name. ModifiedAt of a directory is the time of the newest file below it. A path
// that is a file and a directory, as nothing forbids here, is listed as the directory.
func (b *InMemoryBackend) LsInfo(ctx context.Context, req *LsInfoRequest) ([]FileInfo, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	dir := cleanPath(req.Path)

	b.mu.RLock()
	defer b.mu.RUnlock()
	var entries []FileInfo
	newest := make(map[string]time.Time) // of the directories
	for p, file := range b.files {
		rel, ok := below(dir, p)
		if !ok {
			continue
		}
		name, _, nested := strings.Cut(rel, "/")
		if !nested {
			entries = append(entries, file.info(name))
		} else if t, known := newest[name]; !known || file.modified.After(t) {
			newest[name] = file.modified
		}
	}
	if file, ok := b.files[dir]; ok && len(entries)+len(newest) == 0 {
		return []FileInfo{file.info(path.Base(dir))}, nil
	}
	for name, modified := range newest {
		entries = append(entries, FileInfo{Path: name, IsDir: true, ModifiedAt: modified.Format(time.RFC3339Nano)})
	}
	slices.SortFunc(entries, func(a, b FileInfo) int { return cmp.Compare(a.Path, b.Path) })
	return entries, nil
}

// Read returns a file or a window of its lines. For a missing file the error is a [*NotFoundError].
func (b *InMemoryBackend) Read(ctx context.Context, req *ReadRequest) (*FileContent, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p := cleanPath(req.FilePath)
	b.mu.RLock()
	file, ok := b.files[p]
	b.mu.RUnlock()
	if !ok {
		return nil, &NotFoundError{Path: p}
	}
	if req.Offset <= 1 && req.Limit <= 0 {
		return &FileContent{Content: file.content}, nil
	}
	window, err := text.Window(strings.NewReader(file.content), req.Offset, req.Limit, 0)
	if err != nil {
		return nil, err
	}
	return &FileContent{Content: window}, nil
}

// Write creates or replaces a file. It never fails but for an ended ctx.
func (b *InMemoryBackend) Write(ctx context.Context, req *WriteRequest) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.files[cleanPath(req.FilePath)] = memoryFile{content: req.Content, modified: time.Now()}
	return nil
}

// Edit replaces literal text in a file. For a missing file the error is a [*NotFoundError].
func (b *InMemoryBackend) Edit(ctx context.Context, req *EditRequest) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p := cleanPath(req.FilePath)
	b.mu.Lock()
	defer b.mu.Unlock()
	file, ok := b.files[p]
	if !ok {
		return &NotFoundError{Path: p}
	}
	content, err := text.Replace(p, file.content, req.OldString, req.NewString, req.ReplaceAll)
	if err != nil {
		return err
	}
	b.files[p] = memoryFile{content: content, modified: time.Now()}
	return nil
}

// Delete removes a file. For a missing file the error is a [*NotFoundError].
func (b *InMemoryBackend) Delete(ctx context.Context, req *DeleteRequest) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p := cleanPath(req.FilePath)
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.files[p]; !ok {
		return &NotFoundError{Path: p}
	}
	delete(b.files, p)
	return nil
}
