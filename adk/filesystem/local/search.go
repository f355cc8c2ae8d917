package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weftgo/weft/adk/filesystem"
	"github.com/weftgo/weft/adk/filesystem/internal/search"
	"github.com/weftgo/weft/adk/filesystem/internal/text"
)

// maxLine is the number of bytes of a line that GrepRaw looks at.
const maxLine = 1 << 20

// GrepRaw searches files for a regular expression, sorted by path, then by line. Files that look binary are left out,
// as are files that cannot be read, unless req.Path names them. Of a line longer than 1 MiB only the start is searched.
// A multiline search leaves out files of more than Config.MaxBytes. More matches than Config.MaxResults, or more text
// than Config.MaxBytes, are an error.
func (l *Local) GrepRaw(ctx context.Context, req *filesystem.GrepRequest) ([]filesystem.GrepMatch, error) {
	at, err := l.locate(ctx, req.Path)
	if err != nil {
		return nil, err
	}
	searcher, err := search.NewSearcher(search.Query{
		Pattern:         req.Pattern,
		CaseInsensitive: req.CaseInsensitive,
		Multiline:       req.EnableMultiline,
		Before:          req.BeforeLines,
		After:           req.AfterLines,
		SkipBinary:      true,
		MaxLine:         maxLine,
		MaxBytes:        l.config.MaxBytes,
		MaxMatches:      l.config.MaxResults + 1,
	})
	if err != nil {
		return nil, err
	}
	info, err := l.root.Stat(at.name)
	if err != nil {
		if missing(err) {
			return nil, nil
		}
		return nil, at.explain(err)
	}
	g := &grep{local: l, searcher: searcher}
	filter := search.NewFilter(req.Glob, req.FileType)
	if info.IsDir() {
		err = l.walk(ctx, at.name, func(name string) error {
			keep, err := filter.Keep(relative(at.name, name))
			if err != nil || !keep {
				return err
			}
			_ = g.search(ctx, l.place(name)) // a file that cannot be read does not end the search
			return cmp.Or(g.full, ctx.Err())
		})
	} else {
		var keep bool
		if keep, err = filter.Keep(path.Base(at.name)); err == nil && keep {
			err = g.search(ctx, at)
		}
	}
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(g.matches, func(a, b filesystem.GrepMatch) int { return strings.Compare(a.Path, b.Path) })
	return g.matches, nil
}

// grep is one search.
type grep struct {
	local    *Local
	searcher *search.Searcher
	matches  []filesystem.GrepMatch
	bytes    int
	full     error // why there is no room for more matches
}

// search adds the matches in a file.
func (g *grep) search(ctx context.Context, at place) error {
	f, _, err := g.local.openFile(at.name, os.O_RDONLY)
	if err != nil {
		return at.explain(err)
	}
	defer f.Close()
	err = g.searcher.Search(ctx, f, func(line int, content string) error {
		return g.add(filesystem.GrepMatch{Content: content, Path: at.shown, Line: line})
	})
	switch {
	case g.full != nil:
		return g.full
	case err == text.ErrTooLarge:
		err = fmt.Errorf("a multiline search takes files of at most %d bytes: search line by line", g.local.config.MaxBytes)
	}
	return at.explain(err)
}

func (g *grep) add(m filesystem.GrepMatch) error {
	config := g.local.config
	g.bytes += len(m.Content)
	switch {
	case g.bytes > config.MaxBytes:
		g.full = fmt.Errorf("more than %d bytes match: use a narrower pattern, path or glob", config.MaxBytes)
	case len(g.matches) == config.MaxResults:
		g.full = fmt.Errorf("more than %d lines match: use a narrower pattern, path or glob", config.MaxResults)
	default:
		g.matches = append(g.matches, m)
	}
	return g.full
}

// relative cuts the directory dir off name, which lies in it.
func relative(dir, name string) string {
	if dir == "." {
		return name
	}
	return strings.TrimPrefix(name, dir+"/")
}

// GlobInfo finds files, sorted by path. Links to directories are not descended into, unless the request names them.
// More files than Config.MaxResults are an error.
func (l *Local) GlobInfo(ctx context.Context, req *filesystem.GlobInfoRequest) ([]filesystem.FileInfo, error) {
	glob, err := search.CompileGlob(req.Pattern)
	if err != nil {
		return nil, err
	}
	absolute := isAbs(req.Pattern)
	start, err := l.globStart(ctx, req, glob, absolute)
	if err != nil {
		return nil, err
	}
	var found []filesystem.FileInfo
	err = l.walk(ctx, start.walk, func(name string) error {
		shown := relative(start.base, name)
		if absolute {
			shown = l.place(name).shown
		}
		if !glob.Match(shown) {
			return nil
		}
		info, err := l.root.Stat(name)
		if err != nil {
			return nil // it is gone by now
		}
		if len(found) == l.config.MaxResults {
			return errTooMany{l.config.MaxResults}
		}
		found = append(found, fileInfo(shown, info))
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // nothing lies below what does not exist
		return nil, err
	}
	slices.SortFunc(found, func(a, b filesystem.FileInfo) int { return strings.Compare(a.Path, b.Path) })
	return found, nil
}

// globStart is the place where a glob starts.
type globStart struct {
	base string // what results are relative to
	walk string // the directory to walk: the base, or what the pattern names below it
}

func (l *Local) globStart(
	ctx context.Context, req *filesystem.GlobInfoRequest, glob *search.Glob, absolute bool,
) (globStart, error) {
	named := glob.Base()
	if !absolute {
		at, err := l.locate(ctx, req.Path)
		if err != nil {
			return globStart{}, err
		}
		if fs.ValidPath(named) {
			return globStart{base: at.name, walk: path.Join(at.name, named)}, nil
		}
		return globStart{base: at.name, walk: at.name}, nil
	}
	named = filepath.ToSlash(named)
	if named == "" || strings.HasPrefix(l.config.Mount+"/", strings.TrimSuffix(named, "/")+"/") {
		return globStart{base: ".", walk: "."}, nil
	}
	at, err := l.locate(ctx, named)
	return globStart{base: ".", walk: at.name}, err
}
