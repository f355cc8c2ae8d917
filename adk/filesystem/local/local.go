package local

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/weftgo/weft/adk/filesystem"
)

// Local is a backend on the files below a directory, with a shell. It is safe for concurrent use.
type Local struct {
	config   *Config
	root     *os.Root
	prefixes []string // absolute paths that stand for the root

	// writing is held from reading a file to replacing it, so that no edit is lost.
	writing sync.Mutex
	// drafts are the files that Create has started and that are not done. writing guards them.
	drafts map[*fileWriter]bool

	open     context.Context // ends with Close
	shut     context.CancelCauseFunc
	starting sync.Mutex // guards against starting a command while Close waits
	commands sync.WaitGroup
	mark     string // in the environment of all commands
	tag      *tag   // is inherited by all commands, nil before the first one; starting guards it
	started  atomic.Int64
}

var (
	_ filesystem.Backend          = (*Local)(nil)
	_ filesystem.Deleter          = (*Local)(nil)
	_ filesystem.Creator          = (*Local)(nil)
	_ filesystem.MultiModalReader = (*Local)(nil)
	_ filesystem.Shell            = (*Local)(nil)
	_ filesystem.StreamingShell   = (*Local)(nil)
)

var errClosed = errors.New("the local backend is closed")

// NewBackend opens the root directory. The backend holds it open until Close.
func NewBackend(_ context.Context, cfg *Config) (*Local, error) {
	config, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(config.Root)
	if err != nil {
		return nil, fmt.Errorf("config.Root: %w", err)
	}
	l := &Local{config: config, root: root, prefixes: []string{config.Mount}, drafts: map[*fileWriter]bool{},
		mark: "/" + rand.Text()}
	if cfg.Mount == "" {
		// A command may print the path without links, pwd -P for one. It is as good as the other.
		if real, err := filepath.EvalSymlinks(config.Root); err == nil && filepath.ToSlash(real) != config.Mount {
			l.prefixes = append(l.prefixes, filepath.ToSlash(real))
		}
	}
	l.open, l.shut = context.WithCancelCause(context.Background())
	return l, nil
}

// Close stops all commands that are running, also those in the background, waits for them, discards the files of Create
// that are not closed, and closes the root. On Linux it kills what commands that have ended left in the background,
// too. Other methods fail afterwards. Closing again does nothing.
func (l *Local) Close() error {
	l.starting.Lock()
	l.shut(errClosed)
	l.starting.Unlock()
	l.commands.Wait()
	if l.started.Load() > 0 {
		killMarked(l.mark, l.tag)
	}
	l.tag.close()
	l.writing.Lock()
	defer l.writing.Unlock()
	for w := range l.drafts {
		_ = w.end(errClosed)
	}
	return l.root.Close()
}
