package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
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
	maxListed   = 200
	maxRead     = 200 // lines
	maxMatches  = 50
	maxPackages = 200
	maxLine     = 500 // runes
)

// newTools makes the tools, which see nothing outside root.
func newTools(root *os.Root) ([]tool.BaseTool, error) {
	w := &workspace{root: root, maxFiles: maxVisited}
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

type listFilesInput struct {
	Dir  string `json:"dir,omitempty" jsonschema:"description=the directory\\, the current one if empty"`
	Name string `json:"name,omitempty" jsonschema:"description=only files whose path contains this text"`
}

func (w *workspace) listFiles(ctx context.Context, in *listFilesInput) (string, error) {
	var listed []string
	found := 0
	seen, err := w.walk(ctx, in.Dir, func(name string) {
		if !strings.Contains(name, in.Name) {
			return
		}
		if found++; found <= maxListed {
			listed = append(listed, printable(name))
		}
	})
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("%s\n%s", counted(found, "file", "files"), strings.Join(listed, "\n"))
	if len(listed) < found {
		text += fmt.Sprintf("\n… and %d more", found-len(listed))
	}
	return text + seen.remarks(), nil
}

type readFileInput struct {
	Path string `json:"path" jsonschema:"description=the file"`
	From int    `json:"from,omitempty" jsonschema:"description=the first line\\, 1 if left out"`
}

func (w *workspace) readFile(ctx context.Context, in *readFileInput) (string, error) {
	f, err := w.open(in.Path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var text []string
	first, more := max(in.From, 1), false
	scanner := newLineScanner(f)
	n := 0
	for n = 1; scanner.scan(ctx); n++ {
		if n >= first+maxRead {
			more = true
			break
		}
		if n >= first {
			text = append(text, printable(scanner.text()))
		}
	}
	switch {
	case scanner.err != nil:
		return "", scanner.err
	case more:
		text = append(text, fmt.Sprintf("… there is more: read on with from=%d", n))
	case len(text) == 0 && first > 1:
		return "", fmt.Errorf("%s has %s only", printable(in.Path), counted(n-1, "line", "lines"))
	}
	return strings.Join(text, "\n"), nil
}

type countLinesInput struct{}

func (w *workspace) countLines(ctx context.Context, _ *countLinesInput) (string, error) {
	lines := map[string]int{}
	total, files := 0, 0
	var read reading
	seen, err := w.walk(ctx, "", func(name string) {
		if path.Ext(name) != ".go" {
			return
		}
		if data, ok := w.readSource(name, &read); ok {
			n := bytes.Count(data, []byte{'\n'})
			lines[path.Dir(name)] += n
			total += n
			files++
		}
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
	fmt.Fprintf(&sb, "%s in %s of %s\n", counted(total, "line", "lines"), counted(files, "Go file", "Go files"),
		counted(len(packages), "package", "packages"))
	for _, p := range packages[:min(len(packages), maxPackages)] {
		fmt.Fprintf(&sb, "%6d %s\n", lines[p], printable(p))
	}
	return sb.String() + seen.remarks() + read.remarks(), nil
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
	var read reading
	found := 0
	seen, err := w.walk(ctx, "", func(name string) {
		if in.Ext != "" && path.Ext(name) != in.Ext {
			return
		}
		data, ok := w.readSource(name, &read)
		if !ok {
			return
		}
		n := 0
		for line := range bytes.Lines(data) {
			n++
			if line = bytes.TrimRight(line, "\r\n"); !pattern.Match(line) {
				continue
			}
			if found++; found <= maxMatches {
				matches = append(matches, fmt.Sprintf("%s:%d: %s", printable(name), n,
					printable(strings.TrimSpace(string(line)))))
			}
		}
	})
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("%s\n%s", counted(found, "match", "matches"), strings.Join(matches, "\n"))
	if len(matches) < found {
		text += fmt.Sprintf("\n… and %d more", found-len(matches))
	}
	return text + seen.remarks() + read.remarks(), nil
}

// counted is a number with its noun.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

var errNotText = errors.New("this is no text file")
