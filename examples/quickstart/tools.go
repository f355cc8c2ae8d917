package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
)

// The limits keep a result small enough for a model to read.
const (
	maxListed  = 200
	maxRead    = 200 // lines
	maxMatches = 50
	maxFile    = 1 << 20 // bytes; larger files are no source code
)

// newTools makes the tools, which see nothing outside root.
func newTools(root *os.Root) ([]tool.BaseTool, error) {
	w := &workspace{root: root}
	list, err := utils.InferTool("list_files", "Lists the files below a directory.", w.listFiles)
	if err != nil {
		return nil, err
	}
	read, err := utils.InferTool("read_file", "Reads lines of a text file.", w.readFile)
	if err != nil {
		return nil, err
	}
	count, err := utils.InferTool("count_lines", "Counts the lines of Go code by package, the largest first.",
		w.countLines)
	if err != nil {
		return nil, err
	}
	search, err := utils.InferTool("search", "Finds the lines of text files that match a regular expression.", w.search)
	if err != nil {
		return nil, err
	}
	return []tool.BaseTool{list, read, count, search}, nil
}

// workspace is the directory that the tools work on.
type workspace struct{ root *os.Root }

type listFilesInput struct {
	Dir string `json:"dir,omitempty" jsonschema:"description=the directory\\, the current one if empty"`
}

func (w *workspace) listFiles(ctx context.Context, in *listFilesInput) (string, error) {
	var files []string
	err := w.walk(ctx, in.Dir, func(name string) error {
		files = append(files, name)
		return nil
	})
	if err != nil {
		return "", err
	}
	listed := files[:min(len(files), maxListed)]
	text := fmt.Sprintf("%d files\n%s", len(files), strings.Join(listed, "\n"))
	if len(listed) < len(files) {
		text += fmt.Sprintf("\n… and %d more", len(files)-len(listed))
	}
	return text, nil
}

type readFileInput struct {
	Path string `json:"path" jsonschema:"description=the file"`
	From int    `json:"from,omitempty" jsonschema:"description=the first line\\, 1 if left out"`
}

func (w *workspace) readFile(_ context.Context, in *readFileInput) (string, error) {
	data, err := w.root.ReadFile(path.Clean(in.Path))
	if err != nil {
		return "", err
	}
	lines := strings.Split(string(data), "\n")
	first := min(max(in.From, 1), len(lines)) - 1
	last := min(first+maxRead, len(lines))
	text := strings.Join(lines[first:last], "\n")
	if last < len(lines) {
		text += fmt.Sprintf("\n… %d more lines: read on with from=%d", len(lines)-last, last+1)
	}
	return text, nil
}

type countLinesInput struct{}

func (w *workspace) countLines(ctx context.Context, _ *countLinesInput) (string, error) {
	lines := map[string]int{}
	total, files := 0, 0
	err := w.walk(ctx, "", func(name string) error {
		if path.Ext(name) != ".go" {
			return nil
		}
		data, err := w.readSource(name)
		if err != nil {
			return err
		}
		n := bytes.Count(data, []byte{'\n'})
		lines[path.Dir(name)] += n
		total += n
		files++
		return nil
	})
	if err != nil {
		return "", err
	}
	packages := make([]string, 0, len(lines))
	for p := range lines {
		packages = append(packages, p)
	}
	slices.SortFunc(packages, func(a, b string) int {
		return cmp.Or(cmp.Compare(lines[b], lines[a]), cmp.Compare(a, b))
	})
	var sb strings.Builder
	fmt.Fprintf(&sb, "%d lines in %d Go files of %d packages\n", total, files, len(packages))
	for _, p := range packages {
		fmt.Fprintf(&sb, "%6d %s\n", lines[p], p)
	}
	return sb.String(), nil
}

type searchInput struct {
	Pattern string `json:"pattern" jsonschema:"description=a regular expression in Go syntax"`
	Ext     string `json:"ext,omitempty" jsonschema:"description=only files with this ending\\, such as .go"`
}

func (w *workspace) search(ctx context.Context, in *searchInput) (string, error) {
	pattern, err := regexp.Compile(in.Pattern)
	if err != nil {
		return "", err
	}
	var matches []string
	found := 0
	err = w.walk(ctx, "", func(name string) error {
		if in.Ext != "" && path.Ext(name) != in.Ext {
			return nil
		}
		data, err := w.readSource(name)
		if err != nil {
			return err
		}
		scanner := bufio.NewScanner(bytes.NewReader(data))
		scanner.Buffer(nil, maxFile+1)
		for n := 1; scanner.Scan(); n++ {
			if !pattern.Match(scanner.Bytes()) {
				continue
			}
			if found++; found <= maxMatches {
				matches = append(matches, fmt.Sprintf("%s:%d: %s", name, n, strings.TrimSpace(scanner.Text())))
			}
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d matches\n%s", found, strings.Join(matches, "\n")), nil
}

// walk calls visit for every file below dir, in order, except those that no reader of the source looks at.
func (w *workspace) walk(ctx context.Context, dir string, visit func(name string) error) error {
	if dir == "" {
		dir = "."
	}
	return fs.WalkDir(w.root.FS(), path.Clean(dir), func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(),
			".") || d.Name() == "vendor" || d.Name() == "node_modules"):
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		return visit(name)
	})
}

// readSource reads a file unless it is too large or binary; then it is as if it was empty.
func (w *workspace) readSource(name string) ([]byte, error) {
	info, err := w.root.Stat(name)
	if err != nil || info.Size() > maxFile {
		return nil, ignoreMissing(err)
	}
	data, err := w.root.ReadFile(name)
	if err != nil || bytes.IndexByte(data, 0) >= 0 {
		return nil, ignoreMissing(err)
	}
	return data, nil
}

// ignoreMissing forgives a file that went away between listing and reading.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
