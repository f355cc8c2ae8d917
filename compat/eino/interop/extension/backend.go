package extension

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cloudwego/eino/adk/filesystem"
)

// Directory is a backend for files that lie directly in a directory.
type Directory struct{ Path string }

var _ filesystem.Backend = Directory{}

func (d Directory) file(path string) string { return filepath.Join(d.Path, filepath.Base(path)) }

// LsInfo lists the files.
func (d Directory) LsInfo(context.Context, *filesystem.LsInfoRequest) (infos []filesystem.FileInfo, err error) {
	entries, err := os.ReadDir(d.Path)
	for _, e := range entries {
		infos = append(infos, filesystem.FileInfo{Path: e.Name(), IsDir: e.IsDir()})
	}
	return infos, err
}

// Read returns a file.
func (d Directory) Read(_ context.Context, req *filesystem.ReadRequest) (*filesystem.FileContent, error) {
	text, err := os.ReadFile(d.file(req.FilePath))
	return &filesystem.FileContent{Content: string(text)}, err
}

// GrepRaw returns the lines that contain a text.
func (d Directory) GrepRaw(_ context.Context, req *filesystem.GrepRequest) (all []filesystem.GrepMatch, err error) {
	entries, err := os.ReadDir(d.Path)
	for _, e := range entries {
		text, readErr := os.ReadFile(d.file(e.Name()))
		if readErr != nil {
			return nil, readErr
		}
		for i, line := range strings.Split(string(text), "\n") {
			if strings.Contains(line, req.Pattern) {
				all = append(all, filesystem.GrepMatch{Path: "/" + e.Name(), Line: i + 1, Content: line})
			}
		}
	}
	return all, err
}

// GlobInfo returns the files whose names match.
func (d Directory) GlobInfo(_ context.Context, req *filesystem.GlobInfoRequest) ([]filesystem.FileInfo, error) {
	names, err := filepath.Glob(d.file(req.Pattern))
	var infos []filesystem.FileInfo
	for _, n := range names {
		infos = append(infos, filesystem.FileInfo{Path: "/" + filepath.Base(n)})
	}
	return infos, err
}

// Write writes a file.
func (d Directory) Write(_ context.Context, req *filesystem.WriteRequest) error {
	return os.WriteFile(d.file(req.FilePath), []byte(req.Content), 0o644)
}

// Edit replaces text in a file.
func (d Directory) Edit(_ context.Context, req *filesystem.EditRequest) error {
	text, err := os.ReadFile(d.file(req.FilePath))
	if err != nil {
		return err
	}
	if !strings.Contains(string(text), req.OldString) {
		return fmt.Errorf("%s does not contain the text", req.FilePath)
	}
	changed := strings.Replace(string(text), req.OldString, req.NewString, 1)
	return os.WriteFile(d.file(req.FilePath), []byte(changed), 0o644)
}
