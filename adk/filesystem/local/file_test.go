package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/filesystem"
)

func read(t *testing.T, l *Local, path string, offset, limit int) (string, error) {
	t.Helper()
	got, err := l.Read(t.Context(), &filesystem.ReadRequest{FilePath: path, Offset: offset, Limit: limit})
	if err != nil {
		return "", err
	}
	return got.Content, nil
}

func TestRead_LargeFileByWindow(t *testing.T) {
	l, root := newLocal(t, func(c *Config) { c.MaxBytes = 1000 })
	var b strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	require.NoError(t, os.WriteFile(filepath.Join(root, "big"), []byte(b.String()), 0o600))

	got, err := read(t, l, "big", 49_999, 0)
	require.NoError(t, err)
	require.Equal(t, "line 49999\nline 50000\n", got)
	got, err = read(t, l, "big", 25_000, 2)
	require.NoError(t, err)
	require.Equal(t, "line 25000\nline 25001", got)
	for _, window := range [][2]int{{0, 0}, {1, 2000}} {
		_, err = read(t, l, "big", window[0], window[1])
		require.EqualError(t, err, "/big: more than 1000 bytes to read: use offset and limit to read fewer lines")
	}
	err = l.Edit(t.Context(), &filesystem.EditRequest{FilePath: "big", OldString: "line 7\n", NewString: "x"})
	require.EqualError(t, err, "/big: only files of at most 1000 bytes can be edited")
}

func TestRead_WhatIsNoFile(t *testing.T) {
	l, root := newLocal(t)
	require.NoError(t, os.Mkdir(filepath.Join(root, "dir"), 0o755))
	_, err := read(t, l, "dir", 0, 0)
	require.EqualError(t, err, "/dir: is a directory")
	_, err = read(t, l, "", 0, 0)
	require.EqualError(t, err, "/: is a directory")
	require.ErrorIs(t, l.Write(t.Context(), &filesystem.WriteRequest{FilePath: "dir"}), errIsDirectory)
	require.ErrorIs(t, l.Write(t.Context(), &filesystem.WriteRequest{FilePath: "/"}), errIsDirectory)
	require.ErrorIs(t, l.Edit(t.Context(), &filesystem.EditRequest{FilePath: "dir", OldString: "x"}), errIsDirectory)
	require.ErrorIs(t, l.Delete(t.Context(), &filesystem.DeleteRequest{FilePath: "dir"}), errIsDirectory)
	require.ErrorIs(t, l.Delete(t.Context(), &filesystem.DeleteRequest{FilePath: "/"}), errIsDirectory)

	require.NoError(t, os.WriteFile(filepath.Join(root, "file"), nil, 0o600))
	err = l.Write(t.Context(), &filesystem.WriteRequest{FilePath: "file/below"})
	require.EqualError(t, err, "/file/below: a directory on the way to it is a file")
}

func TestWrite_PermissionsAndLinks(t *testing.T) {
	l, root := newLocal(t)
	script := filepath.Join(root, "script.sh")
	require.NoError(t, os.WriteFile(script, []byte("old"), 0o600))
	require.NoError(t, os.Chmod(script, 0o755))
	want, err := os.Stat(script)
	require.NoError(t, err)
	require.NoError(t, l.Write(t.Context(), &filesystem.WriteRequest{FilePath: "script.sh", Content: "newer"}))
	require.NoError(t, l.Edit(t.Context(), &filesystem.EditRequest{FilePath: "script.sh", OldString: "er", NewString: ""}))
	got, err := os.Stat(script)
	require.NoError(t, err)
	require.Equal(t, want.Mode(), got.Mode())
	require.EqualValues(t, 3, got.Size())

	// A link whose file is not there yet makes it, where the link says.
	require.NoError(t, os.Mkdir(filepath.Join(root, "d"), 0o755))
	if err := os.Symlink(filepath.FromSlash("d/later"), filepath.Join(root, "link")); err != nil {
		t.Skipf("this system makes no links: %v", err)
	}
	require.NoError(t, l.Write(t.Context(), &filesystem.WriteRequest{FilePath: "link", Content: "x"}))
	content, err := os.ReadFile(filepath.Join(root, "d", "later"))
	require.NoError(t, err)
	require.Equal(t, "x", string(content))
	require.NoError(t, l.Delete(t.Context(), &filesystem.DeleteRequest{FilePath: "link"}))
	require.FileExists(t, filepath.Join(root, "d", "later"), "only the link is deleted")
}

// TestWrite_ReadersSeeOldOrNew: no reader meets half a file, no edit of many gets lost, nothing is left lying around.
func TestWrite_ReadersSeeOldOrNew(t *testing.T) {
	l, root := newLocal(t)
	write := func(content string) error {
		return l.Write(t.Context(), &filesystem.WriteRequest{FilePath: "f", Content: content})
	}
	long, short := strings.Repeat("long\n", 50_000), "short\n"
	require.NoError(t, write(short))
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				got, err := read(t, l, "f", 0, 0)
				if err != nil || got != long && got != short {
					t.Errorf("half a file: %d bytes, %v", len(got), err)
					return
				}
				list, _ := l.LsInfo(t.Context(), &filesystem.LsInfoRequest{})
				if len(list) != 1 {
					t.Errorf("a file that is only just being written is shown: %v", list)
					return
				}
			}
		})
	}
	for range 100 {
		require.NoError(t, write(long))
		require.NoError(t, write(short))
	}
	close(done)
	readers.Wait()

	const editors = 30
	lines := ""
	for i := range editors {
		lines += fmt.Sprintf("<%d>\n", i)
	}
	require.NoError(t, write(lines))
	var wg sync.WaitGroup
	for i := range editors {
		wg.Go(func() {
			if err := l.Edit(t.Context(), &filesystem.EditRequest{FilePath: "f", OldString: fmt.Sprintf("<%d>", i),
				NewString: "done"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got, err := read(t, l, "f", 0, 0)
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("done\n", editors), got)
	entries, err := os.ReadDir(root)
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

func TestEdit_TextByItself(t *testing.T) {
	l, _ := newLocal(t)
	require.NoError(t, l.Write(t.Context(), &filesystem.WriteRequest{FilePath: "f", Content: "x"}))
	err := l.Edit(t.Context(), &filesystem.EditRequest{FilePath: "f", OldString: "x", NewString: "x"})
	require.ErrorContains(t, err, "new string must be different from old string")
}

func TestGrep_BinaryAndSkippedDirectories(t *testing.T) {
	l, root := newLocal(t)
	for path, content := range map[string]string{
		"a.txt": "needle", "b.bin": "\x00needle", ".git/config": "needle", "sub/.git/x": "needle", ".hidden": "needle",
	} {
		require.NoError(t, l.Write(t.Context(), &filesystem.WriteRequest{FilePath: path, Content: content}))
	}
	grep := func(l *Local, path string) (found []string) {
		matches, err := l.GrepRaw(t.Context(), &filesystem.GrepRequest{Pattern: "needle", Path: path})
		require.NoError(t, err)
		for _, m := range matches {
			found = append(found, m.Path)
		}
		return found
	}
	require.Equal(t, []string{"/.hidden", "/a.txt"}, grep(l, ""))
	require.Equal(t, []string{"/.git/config"}, grep(l, ".git"))
	require.Empty(t, grep(l, "b.bin"))
	found, err := l.GlobInfo(t.Context(), &filesystem.GlobInfoRequest{Pattern: ".git/*"})
	require.NoError(t, err)
	require.Len(t, found, 1)

	all, err := NewBackend(t.Context(), &Config{Root: root, Mount: "/", SkipDirs: []string{}})
	require.NoError(t, err)
	defer all.Close()
	require.Equal(t, []string{"/.git/config", "/.hidden", "/a.txt", "/sub/.git/x"}, grep(all, ""))
}

func TestSearch_ResultsAreBounded(t *testing.T) {
	l, root := newLocal(t, func(c *Config) { c.MaxResults, c.MaxBytes = 10, 100 })
	ctx := t.Context()
	grep := func(pattern string) error {
		_, err := l.GrepRaw(ctx, &filesystem.GrepRequest{Pattern: pattern})
		return err
	}
	require.NoError(t, os.WriteFile(filepath.Join(root, "lines"), []byte(strings.Repeat("x\n", 10)+"y\n"), 0o600))
	require.NoError(t, grep("x"))
	require.ErrorContains(t, grep("."), "more than 10 lines match: use a narrower pattern")
	_, err := l.GrepRaw(ctx, &filesystem.GrepRequest{Pattern: ".", EnableMultiline: true})
	require.ErrorContains(t, err, "more than 10 lines match")
	require.NoError(t, os.WriteFile(filepath.Join(root, "long"), []byte(strings.Repeat("z", 101)), 0o600))
	require.ErrorContains(t, grep("z"), "more than 100 bytes match: use a narrower pattern")
	_, err = l.GrepRaw(ctx, &filesystem.GrepRequest{Pattern: "z", EnableMultiline: true})
	require.NoError(t, err, "a file that is too large for a multiline search hides nothing else")
	_, err = l.GrepRaw(ctx, &filesystem.GrepRequest{Pattern: "z", EnableMultiline: true, Path: "long"})
	require.EqualError(t, err, "/long: a multiline search takes files of at most 100 bytes: search line by line")

	list := func() error {
		_, err := l.LsInfo(ctx, &filesystem.LsInfoRequest{})
		return err
	}
	require.NoError(t, list())
	for i := range 5 {
		for _, dir := range []string{"a", "b"} {
			require.NoError(t, l.Write(ctx, &filesystem.WriteRequest{FilePath: fmt.Sprintf("%s/%d", dir, i)}))
		}
	}
	_, err = l.GlobInfo(ctx, &filesystem.GlobInfoRequest{Pattern: "?/*"})
	require.NoError(t, err)
	_, err = l.GlobInfo(ctx, &filesystem.GlobInfoRequest{Pattern: "**"})
	require.EqualError(t, err, "more than 10 results: ask for a smaller part")
	for i := range 10 {
		require.NoError(t, l.Write(ctx, &filesystem.WriteRequest{FilePath: fmt.Sprint(i)}))
	}
	require.EqualError(t, list(), "/: more than 10 results: ask for a smaller part")
}

func TestGrep_ContextEndsWhileSearching(t *testing.T) {
	l, root := newLocal(t)
	for i := range 20 {
		require.NoError(t, os.WriteFile(filepath.Join(root, fmt.Sprint(i)), []byte(strings.Repeat("x\n", 1000)), 0o600))
	}
	ctx := &endsAfter{Context: t.Context(), checks: 10}
	_, err := l.GrepRaw(ctx, &filesystem.GrepRequest{Pattern: "y"})
	require.ErrorIs(t, err, context.Canceled)
	ctx = &endsAfter{Context: t.Context(), checks: 2}
	_, err = l.GlobInfo(ctx, &filesystem.GlobInfoRequest{Pattern: "*"})
	require.ErrorIs(t, err, context.Canceled)
}

// endsAfter is a context that ends when it was asked so many times.
type endsAfter struct {
	context.Context
	checks int
}

func (c *endsAfter) Err() error {
	if c.checks--; c.checks < 0 {
		return context.Canceled
	}
	return nil
}

func TestErrors_CanBeTold(t *testing.T) {
	l, _ := newLocal(t)
	_, err := read(t, l, "no/such/file", 0, 0)
	var notFound *filesystem.NotFoundError
	require.True(t, errors.As(err, &notFound))
	require.Equal(t, "/no/such/file", notFound.Path)
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = read(t, l, "a\x00b", 0, 0)
	require.EqualError(t, err, `path "a\x00b" has a NUL byte`)
	_, err = read(t, l, strings.Repeat("x", 5000), 0, 0)
	require.EqualError(t, err, "path has 5000 bytes, at most 4096 are allowed")
}
