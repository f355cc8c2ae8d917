package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The limits bound the time and the memory of a tool in any directory, such as /.
const (
	maxVisited = 100_000   // files
	maxSource  = 1 << 20   // bytes; larger files are no source code
	maxTotal   = 256 << 20 // bytes that one search reads
	maxScanned = 64 << 20  // bytes of one file that are read to find a line
)

// workspace is the directory that the tools work on. Links are followed only inside of it.
type workspace struct {
	root     *os.Root
	maxFiles int // that a walk looks at
}

// visited counts what a walk saw, and what it left out.
type visited struct {
	files, unreadable int
	stopped           bool
}

func (v visited) remarks() string {
	text := ""
	if v.stopped {
		text += fmt.Sprintf("\n… only the first %d files were looked at", v.files)
	}
	if v.unreadable > 0 {
		text += fmt.Sprintf("\n… %s could not be read", counted(v.unreadable, "directory", "directories"))
	}
	return text
}

// walk calls visit for every file below dir, in order, except those that no reader of the source looks at. Directories
// that cannot be read are counted; it is an error only if dir is one of them.
func (w *workspace) walk(ctx context.Context, dir string, visit func(name string)) (seen visited, err error) {
	dir = path.Clean(strings.TrimPrefix(dir, "./"))
	if !fs.ValidPath(dir) {
		return seen, fmt.Errorf("%s is outside of the current directory", printable(dir))
	}
	err = fs.WalkDir(w.root.FS(), dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && name == dir:
			return err
		case err != nil:
			seen.unreadable++
			return nil
		case d.IsDir() && name != dir && (strings.HasPrefix(d.Name(), ".") || d.Name() == "vendor" ||
			d.Name() == "node_modules"):
			return fs.SkipDir
		case !d.Type().IsRegular() || d.Name() == ".git": // in a worktree it is a file
			return nil
		case seen.files == w.maxFiles:
			seen.stopped = true
			return fs.SkipAll
		}
		seen.files++
		visit(name)
		return nil
	})
	return seen, err
}

// reading counts what a search read, and what it left out.
type reading struct {
	bytes, denied int
	stopped       bool
}

func (r reading) remarks() string {
	text := ""
	if r.stopped {
		text += fmt.Sprintf("\n… only the first %d MB were read", maxTotal>>20)
	}
	if r.denied > 0 {
		text += fmt.Sprintf("\n… %s could not be read", counted(r.denied, "file", "files"))
	}
	return text
}

// readSource reads a file unless it is too large, binary or gone; one that may not be read is counted. Files without a
// size are not opened: among them are the kernel's files that block or never end.
func (w *workspace) readSource(name string, read *reading) (data []byte, ok bool) {
	if read.bytes >= maxTotal {
		read.stopped = true
		return nil, false
	}
	info, err := w.root.Stat(name)
	if err == nil && (info.Size() > maxSource || !info.Mode().IsRegular()) {
		return nil, false
	}
	if err == nil && info.Size() > 0 {
		data, err = w.root.ReadFile(name)
	}
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			read.denied++
		}
		return nil, false
	}
	read.bytes += len(data)
	return data, bytes.IndexByte(data, 0) < 0
}

// open opens a file that has text. A pipe or a device is refused: reading one could take for ever.
func (w *workspace) open(name string) (*os.File, error) {
	name = path.Clean(name)
	info, err := w.root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", printable(name))
	}
	return w.root.Open(name)
}

// A lineScanner reads lines of any length, of which it keeps the beginning.
type lineScanner struct {
	in      *bufio.Reader
	line    []byte
	scanned int
	err     error
}

func newLineScanner(in io.Reader) *lineScanner { return &lineScanner{in: bufio.NewReader(in)} }

// scan reads the next line. It returns false at the end, and with an error when there is no text, or too much.
func (s *lineScanner) scan(ctx context.Context) bool {
	s.line = s.line[:0]
	for began := false; ; began = true {
		part, prefix, err := s.in.ReadLine()
		s.scanned += len(part) + 1
		switch {
		case err == io.EOF:
			return began
		case err != nil:
			s.err = err
		case ctx.Err() != nil:
			s.err = context.Cause(ctx)
		case bytes.IndexByte(part, 0) >= 0:
			s.err = errNotText
		case s.scanned > maxScanned:
			s.err = fmt.Errorf("the line lies behind the first %d MB, which is as far as this tool reads", maxScanned>>20)
		}
		if s.err != nil {
			return false
		}
		if len(s.line) < maxLine*utf8.UTFMax {
			s.line = append(s.line, part...)
		}
		if !prefix {
			return true
		}
	}
}

func (s *lineScanner) text() string { return string(s.line) }

// printable is a text in one line, as it can be shown in a terminal: without control characters, and cut if it is long.
func printable(text string) string {
	text = strings.Map(func(r rune) rune {
		if r == '\t' || !unicode.IsControl(r) {
			return r
		}
		return '�'
	}, text)
	if utf8.RuneCountInString(text) > maxLine {
		text = string([]rune(text)[:maxLine]) + "…"
	}
	return text
}
