package agentsmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// maxDepth is the greatest depth of nested imports.
const maxDepth = 5

// A loader loads all files once.
type loader struct {
	conf     *Config
	files    *fileCache
	seen     map[string]bool
	budget   budget
	sections []section
	// omitted are files of the configuration that the budget left out.
	omitted []string
}

// A section is one file in the message.
type section struct{ path, content string }

// loadAll loads the files of the configuration with what they import.
func (l *loader) loadAll(ctx context.Context) error {
	l.budget = budget{perFile: l.conf.PerAgentsMDMaxBytes, all: l.conf.AllAgentsMDMaxBytes}
	for _, path := range l.conf.AgentsMDFiles {
		path = filepath.Clean(path)
		if l.seen[path] {
			continue
		}
		if l.budget.spent {
			l.seen[path] = true
			l.omitted = append(l.omitted, path)
			continue
		}
		before := len(l.sections)
		if err := l.load(ctx, path, nil); err != nil {
			return fmt.Errorf("failed to load %q: %w", path, err)
		}
		if l.budget.spent && len(l.sections) == before {
			l.omitted = append(l.omitted, path)
		}
	}
	return nil
}

// load adds a file and then its imports. The ancestors are the files on the way to it.
func (l *loader) load(ctx context.Context, path string, ancestors []string) error {
	l.seen[path] = true
	content, news, err := l.files.read(ctx, path)
	if errors.Is(err, fs.ErrNotExist) {
		if news {
			l.conf.OnLoadWarning(path, &missingError{err})
		}
		return nil
	}
	if err != nil {
		return err
	}
	if strings.TrimSpace(content) == "" {
		return nil
	}
	kept, whole := l.budget.take(content)
	if kept == "" {
		l.conf.OnLoadWarning(path, fmt.Errorf("skipped: there is no room for its %d bytes", len(content)))
		return nil
	}
	if !whole {
		l.conf.OnLoadWarning(path, fmt.Errorf("cut: %d of its %d bytes are shown", len(kept), len(content)))
		l.sections = append(l.sections, section{path, kept + cutNotice(len(kept), len(content))})
		return nil
	}
	l.sections = append(l.sections, section{path, kept})
	ancestors = append(slices.Clip(ancestors), path)
	for _, raw := range imports(content) {
		if l.budget.spent {
			return nil
		}
		if err := l.follow(ctx, raw, ancestors); err != nil {
			return fmt.Errorf("failed to import %q from %q: %w", raw, path, err)
		}
	}
	return nil
}

// follow loads an import of the last of the ancestors, unless there is a reason not to.
func (l *loader) follow(ctx context.Context, raw string, ancestors []string) error {
	path := filepath.Clean(raw)
	if !filepath.IsAbs(path) && !strings.HasPrefix(raw, "/") {
		path = filepath.Join(filepath.Dir(ancestors[len(ancestors)-1]), raw)
	}
	var reason string
	switch {
	case slices.Contains(ancestors, path):
		reason = "circular @import detected"
	case l.seen[path]:
		return nil
	case !l.inRoot(path):
		reason = "@import leaves " + l.conf.ImportRoot
	case len(ancestors) > maxDepth:
		reason = fmt.Sprintf("@import depth exceeds maximum of %d", maxDepth)
	default:
		return l.load(ctx, path, ancestors)
	}
	l.conf.OnLoadWarning(path, errors.New(reason))
	return nil
}

func (l *loader) inRoot(path string) bool {
	if l.conf.ImportRoot == "" {
		return true
	}
	rel, err := filepath.Rel(l.conf.ImportRoot, path)
	return err == nil && filepath.IsLocal(rel)
}

// A missingError is the warning about a file that does not exist.
type missingError struct{ err error }

func (e *missingError) Error() string { return "file not found, skipping" }

func (e *missingError) Unwrap() error { return e.err }
