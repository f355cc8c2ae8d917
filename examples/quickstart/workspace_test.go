//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// workspaceOf returns the tools' view of a directory.
func workspaceOf(t *testing.T, dir string) *workspace {
	t.Helper()
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	t.Cleanup(func() { _ = root.Close() })
	return &workspace{root: root, maxFiles: maxVisited}
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	return file
}

// results returns what all tools say about a directory.
func results(t *testing.T, w *workspace) (all string) {
	t.Helper()
	ctx := context.Background()
	for _, call := range []func() (string, error){
		func() (string, error) { return w.listFiles(ctx, &listFilesInput{}) },
		func() (string, error) { return w.countLines(ctx, nil) },
		func() (string, error) { return w.search(ctx, &searchInput{Pattern: "needle"}) },
	} {
		text, err := call()
		require.NoError(t, err)
		all += text + "\n"
	}
	return all
}

func TestTools_SayThatADirectoryIsEmpty(t *testing.T) {
	all := results(t, workspaceOf(t, t.TempDir()))
	for _, want := range []string{"0 files", "0 lines in 0 Go files", "0 matches"} {
		require.Contains(t, all, want)
	}
}

func TestTools_NamesOfAnyKindStayInTheirLine(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"with space.go", "with\nnewline.go", "with\x1b[31mcolour.go", "ünïcode 世界.go", "-dash.go"} {
		write(t, dir, name, "package p // needle\n")
	}
	all := results(t, workspaceOf(t, dir))
	require.NotContains(t, all, "\x1b")
	for _, want := range []string{"5 files", "with�newline.go", "5 matches", "ünïcode 世界.go:1: package p // needle"} {
		require.Contains(t, all, want)
	}
}

func TestTools_PassOverWhatIsNoSource(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.txt", "needle\n")
	write(t, dir, "binary", "needle\x00\n")
	require.NoError(t, os.Truncate(write(t, dir, "huge", "needle\n"), 1<<30))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644))
	require.NoError(t, os.Symlink(".", filepath.Join(dir, "loop")))
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(dir, "outside")))
	w := workspaceOf(t, dir)
	all := results(t, w)
	require.Contains(t, all, "3 files")
	require.Contains(t, all, "1 match\na.txt:1: needle")
	for name, want := range map[string]string{
		"pipe": "not a file", "loop": "not a file", "outside": "escapes", "binary": "no text file", ".": "not a file",
		"/etc/passwd": "escapes", "no/such": "no such file", "a.txt/b": "not a directory", "": "not a file",
	} {
		_, err := w.readFile(context.Background(), &readFileInput{Path: name})
		require.ErrorContains(t, err, want, name)
	}
	text, err := w.readFile(context.Background(), &readFileInput{Path: "loop/loop/a.txt"})
	require.NoError(t, err)
	require.Equal(t, "needle", text)
}

func TestTools_SayWhatTheyMayNotRead(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	dir := t.TempDir()
	write(t, dir, "a.go", "package a\n")
	require.NoError(t, os.Chmod(write(t, dir, "secret.go", "package a\n"), 0))
	write(t, dir, "closed/b.go", "package b\n")
	require.NoError(t, os.Chmod(filepath.Join(dir, "closed"), 0))
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, "closed"), 0o755) })
	all := results(t, workspaceOf(t, dir))
	require.Contains(t, all, "1 directory could not be read")
	require.Contains(t, all, "1 file could not be read")
	require.Contains(t, all, "1 line in 1 Go file of 1 package")
}

func TestReadFile_GivesAFileInParts(t *testing.T) {
	dir := t.TempDir()
	var lines strings.Builder
	for i := range 450 {
		fmt.Fprintln(&lines, i+1)
	}
	write(t, dir, "numbers", lines.String())
	require.NoError(t, os.Truncate(write(t, dir, "long", strings.Repeat("x", 1<<20)+"\nsecond\n"), 1<<20+8))
	w := workspaceOf(t, dir)
	ctx := context.Background()
	first, err := w.readFile(ctx, &readFileInput{Path: "numbers"})
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(first, "1\n2\n"))
	require.True(t, strings.HasSuffix(first, "200\n… there is more: read on with from=201"), first[len(first)-50:])
	last, err := w.readFile(ctx, &readFileInput{Path: "numbers", From: 401})
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(last, "\n450"))
	_, err = w.readFile(ctx, &readFileInput{Path: "numbers", From: 1000})
	require.ErrorContains(t, err, "numbers has 450 lines only")
	long, err := w.readFile(ctx, &readFileInput{Path: "long"})
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(long, "x…\nsecond"))
	require.Less(t, len(long), 4*maxLine)
}

func TestTools_StopInAHugeDirectory(t *testing.T) {
	dir := t.TempDir()
	for i := range 500 {
		write(t, dir, fmt.Sprintf("%d/%d", i%7, i), "")
	}
	w := workspaceOf(t, dir)
	text, err := w.listFiles(context.Background(), &listFilesInput{})
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(text, "500 files\n"))
	require.True(t, strings.HasSuffix(text, "\n… and 300 more"))
	w.maxFiles = 300
	text, err = w.listFiles(context.Background(), &listFilesInput{})
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(text, "300 files\n"))
	require.True(t, strings.HasSuffix(text, "\n… and 100 more\n… only the first 300 files were looked at"))
}

func TestTools_StopWhenTheContextEnds(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.go", "package a\n")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	w := workspaceOf(t, dir)
	_, err := w.search(ctx, &searchInput{Pattern: "a"})
	require.ErrorIs(t, err, context.Canceled)
	_, err = w.readFile(ctx, &readFileInput{Path: "a.go"})
	require.ErrorIs(t, err, context.Canceled)
}
