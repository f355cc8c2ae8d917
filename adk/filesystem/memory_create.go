package filesystem

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"sync"
)

// Create starts a file, which is there when it is closed. The writer is safe for concurrent use.
func (b *InMemoryBackend) Create(ctx context.Context, filePath string) (io.WriteCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return &memoryWriter{ctx: ctx, backend: b, path: cleanPath(filePath)}, nil
}

// memoryWriter is a file that Create has started.
type memoryWriter struct {
	ctx     context.Context
	backend *InMemoryBackend
	path    string

	mu      sync.Mutex
	content bytes.Buffer
	err     error // why nothing can be written any more
}

// Write adds to the file.
func (w *memoryWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.over(); err != nil {
		return 0, err
	}
	return w.content.Write(p)
}

// Close puts the file in its place. Closing again is an error.
func (w *memoryWriter) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.over(); err != nil {
		return err
	}
	err := w.backend.Write(w.ctx, &WriteRequest{FilePath: w.path, Content: w.content.String()})
	w.content = bytes.Buffer{}
	w.err = fmt.Errorf("%s: %w", w.path, fs.ErrClosed)
	return err
}

// over returns why the file takes nothing more, if it does not.
func (w *memoryWriter) over() error {
	if w.err == nil {
		if w.err = w.ctx.Err(); w.err != nil {
			w.content = bytes.Buffer{}
		}
	}
	return w.err
}
