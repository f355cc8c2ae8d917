package filesystem

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/weftgo/weft/adk/filesystem/internal/search"
)

// candidate is a file in the scope of a search.
type candidate struct {
	path string // absolute
	rel  string // relative to where the search starts
	file memoryFile
}

// candidates takes a snapshot of the files at and below p, sorted by path. Searching continues without the lock, so
// that writers need not wait for it.
func (b *InMemoryBackend) candidates(p string) []candidate {
	var all []candidate
	b.mu.RLock()
	if file, ok := b.files[p]; ok {
		all = append(all, candidate{path: p, rel: path.Base(p), file: file})
	}
	for name, file := range b.files {
		if rel, ok := below(p, name); ok {
			all = append(all, candidate{path: name, rel: rel, file: file})
		}
	}
	b.mu.RUnlock()
	slices.SortFunc(all, func(a, b candidate) int { return cmp.Compare(a.path, b.path) })
	return all
}

// GrepRaw searches files. Matches come sorted by path, then by line.
func (b *InMemoryBackend) GrepRaw(ctx context.Context, req *GrepRequest) ([]GrepMatch, error) {
	searcher, err := search.NewSearcher(search.Query{
		Pattern:         req.Pattern,
		CaseInsensitive: req.CaseInsensitive,
		Multiline:       req.EnableMultiline,
		Before:          req.BeforeLines,
		After:           req.AfterLines,
	})
	if err != nil {
		return nil, err
	}
	filter := search.NewFilter(req.Glob, req.FileType)
	var matches []GrepMatch
	for _, c := range b.candidates(cleanPath(req.Path)) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		keep, err := filter.Keep(c.rel)
		if err != nil {
			return nil, err
		}
		if !keep {
			continue
		}
		err = searcher.Search(ctx, strings.NewReader(c.file.content), func(line int, content string) error {
			matches = append(matches, GrepMatch{Content: content, Path: c.path, Line: line})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return matches, nil
}

// GlobInfo finds files, sorted by path.
func (b *InMemoryBackend) GlobInfo(ctx context.Context, req *GlobInfoRequest) ([]FileInfo, error) {
	glob, err := search.CompileGlob(req.Pattern)
	if err != nil {
		return nil, err
	}
	base, absolute := cleanPath(req.Path), strings.HasPrefix(req.Pattern, "/")
	if absolute {
		base = "/"
	}
	var found []FileInfo
	for _, c := range b.candidates(base) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		name := c.rel
		if absolute {
			name = c.path
		}
		if c.path != base && glob.Match(name) {
			found = append(found, c.file.info(name))
		}
	}
	return found, nil
}
