package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/weftgo/weft/runs"
)

// MemoryBlobs keeps large values in memory, for tests. The zero value is empty.
type MemoryBlobs struct {
	mu  sync.Mutex // guards all
	all map[string]memoryBlob
}

type memoryBlob struct {
	data []byte
	put  time.Time
}

// NewMemoryBlobs makes empty blobs.
func NewMemoryBlobs() *MemoryBlobs { return &MemoryBlobs{} }

// Put stores a copy of a value.
func (b *MemoryBlobs) Put(ctx context.Context, name string, data []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.all == nil {
		b.all = map[string]memoryBlob{}
	}
	b.all[name] = memoryBlob{bytes.Clone(data), time.Now()}
	return nil
}

// Get returns a copy of a value.
func (b *MemoryBlobs) Get(ctx context.Context, name string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	blob, ok := b.all[name]
	if !ok {
		return nil, fmt.Errorf("value %q: %w", name, runs.ErrNotFound)
	}
	return bytes.Clone(blob.data), nil
}

// Delete removes a value.
func (b *MemoryBlobs) Delete(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.all, name)
	return nil
}

// List yields values.
func (b *MemoryBlobs) List(_ context.Context, prefix string) iter.Seq2[BlobInfo, error] {
	return func(yield func(BlobInfo, error) bool) {
		b.mu.Lock()
		var infos []BlobInfo
		for name, blob := range b.all {
			if strings.HasPrefix(name, prefix) {
				infos = append(infos, BlobInfo{name, blob.put})
			}
		}
		b.mu.Unlock()
		for _, info := range infos {
			if !yield(info, nil) {
				return
			}
		}
	}
}

// FileBlobs keeps large values in files, each written and synced before it has its name. Processes may share a directory.
type FileBlobs struct{ dir string }

// NewFileBlobs opens a directory, and makes it.
func NewFileBlobs(dir string) (*FileBlobs, error) {
	dir, err := filepath.Abs(dir)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return nil, fmt.Errorf("directory of large values: %w", err)
	}
	return &FileBlobs{dir}, nil
}

func (b *FileBlobs) path(name string) (string, error) {
	if !filepath.IsLocal(name) {
		return "", fmt.Errorf("%q is no name of a large value", name)
	}
	return filepath.Join(b.dir, filepath.FromSlash(name)), nil
}

// Put stores a value. One that is there becomes young again: something refers to it again.
func (b *FileBlobs) Put(ctx context.Context, name string, data []byte) error {
	path, err := b.path(name)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return new(disk).replace(ctx, path, data)
}

// Get returns a value.
func (b *FileBlobs) Get(ctx context.Context, name string) ([]byte, error) {
	path, err := b.path(name)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("value %q: %w", name, runs.ErrNotFound)
	}
	return data, err
}

// Delete removes a value.
func (b *FileBlobs) Delete(ctx context.Context, name string) error {
	path, err := b.path(name)
	if err == nil {
		err = new(disk).remove(ctx, path)
	}
	return err
}

// List yields values.
func (b *FileBlobs) List(ctx context.Context, prefix string) iter.Seq2[BlobInfo, error] {
	return func(yield func(BlobInfo, error) bool) {
		err := filepath.WalkDir(b.dir, func(path string, e fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) { // deleted meanwhile
				return nil
			}
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return err
			}
			name, err := filepath.Rel(b.dir, path)
			name = filepath.ToSlash(name)
			if err != nil || e.IsDir() || !strings.HasPrefix(name, prefix) || strings.Count(name, "/") != 1 {
				return err
			}
			info, err := e.Info()
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err == nil && !yield(BlobInfo{name, info.ModTime()}, nil) {
				return fs.SkipAll
			}
			return err
		})
		if err != nil {
			yield(BlobInfo{}, err)
		}
	}
}
