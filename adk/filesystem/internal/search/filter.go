package search

import (
	"path"
	"slices"
	"strings"
)

// A Filter chooses the files to search by a glob and a file type.
type Filter struct {
	glob     *Glob // nil: every file
	err      error // of the glob
	wholeRel bool  // the glob is for the relative path, not the base name
	typed    bool
	types    []string // extensions
}

// NewFilter makes a filter. Without glob and fileType it keeps every file. An invalid glob is an error of Keep: a
// search that no file is in the scope of has nothing to complain about.
func NewFilter(glob, fileType string) *Filter {
	f := &Filter{}
	if glob != "" {
		f.glob, f.err = CompileGlob(glob)
		f.wholeRel = strings.Contains(glob, "/") || strings.Contains(glob, "**")
	}
	if fileType != "" {
		f.typed, f.types = true, Extensions(fileType)
	}
	return f
}

// Keep reports whether to search the file with the path rel, relative to where the search starts.
func (f *Filter) Keep(rel string) (bool, error) {
	if f.err != nil {
		return false, f.err
	}
	if f.typed && !slices.Contains(f.types, strings.TrimPrefix(path.Ext(rel), ".")) {
		return false, nil
	}
	switch {
	case f.glob == nil:
		return true, nil
	case f.wholeRel:
		return f.glob.Match(rel), nil
	}
	return f.glob.Match(path.Base(rel)), nil
}
