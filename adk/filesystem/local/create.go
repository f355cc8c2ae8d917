package local

import (
	"context"
	"io"
	"io/fs"
	"sync"
)

// Create starts a file as [Local.Write] would write it: with the directories on the way, with the permissions of the
// file that it replaces, never outside of the root. The file takes its place when it is closed, and is not to be seen
// before. When ctx or the backend is over before, or when a write fails, nothing of it stays, also if it is never
// closed. The writer is safe for concurrent use.
func (l *Local) Create(ctx context.Context, filePath string) (io.WriteCloser, error) {
	at, err := l.locate(ctx, filePath)
	if err != nil {
		return nil, err
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	if l.open.Err() != nil {
		return nil, at.explain(errClosed)
	}
	d, err := l.draft(at.name)
	if err != nil {
		return nil, at.explain(err)
	}
	w := &fileWriter{ctx: ctx, local: l, at: at, draft: d}
	l.drafts[w] = true
	w.unhook = context.AfterFunc(ctx, func() {
		l.writing.Lock()
		defer l.writing.Unlock()
		w.end(ctx.Err())
	})
	return w, nil
}

// fileWriter is a file that Create has started. Local.writing is locked before mu.
type fileWriter struct {
	ctx    context.Context
	local  *Local
	at     place
	unhook func() bool

	mu    sync.Mutex
	draft *draft // nil when it is published or discarded
	err   error  // why nothing can be written any more
}

// Write adds to the file. After an error nothing more can be written, and Close discards the file.
func (w *fileWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = w.ctx.Err()
	}
	if w.err != nil {
		return 0, w.err
	}
	n, err := w.draft.Write(p)
	w.err = w.at.explain(err)
	return n, w.err
}

// Close puts the file in its place, or returns why it does not. Closing again is an error.
func (w *fileWriter) Close() error {
	w.unhook()
	w.local.writing.Lock()
	defer w.local.writing.Unlock()
	return w.end(w.ctx.Err())
}

// end publishes the file, or discards it for a reason. It is called with Local.writing locked, and works once.
func (w *fileWriter) end(reason error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.draft == nil {
		return w.err
	}
	if w.err == nil {
		w.err = reason
	}
	if w.err != nil {
		w.draft.discard()
	} else {
		w.err = w.at.explain(w.draft.publish())
	}
	w.draft = nil
	delete(w.local.drafts, w)
	err := w.err
	if err == nil {
		w.err = w.at.explain(fs.ErrClosed)
	}
	return err
}
