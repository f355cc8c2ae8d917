package local

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

func create(t *testing.T, l *Local, path string) io.WriteCloser {
	t.Helper()
	w, err := l.Create(t.Context(), path)
	require.NoError(t, err)
	_, err = io.WriteString(w, "half")
	require.NoError(t, err)
	return w
}

// left is everything in a directory, also what the backend does not show.
func left(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestCreate_PermissionsAndLinks(t *testing.T) {
	l, root := newLocal(t)
	script := filepath.Join(root, "script.sh")
	require.NoError(t, os.WriteFile(script, []byte("old"), 0o600))
	require.NoError(t, os.Chmod(script, 0o755))
	want, err := os.Stat(script)
	require.NoError(t, err)
	require.NoError(t, create(t, l, "script.sh").Close())
	got, err := os.Stat(script)
	require.NoError(t, err)
	require.Equal(t, want.Mode(), got.Mode())

	if err := os.Symlink("script.sh", filepath.Join(root, "link")); err != nil {
		t.Skipf("this system makes no links: %v", err)
	}
	w := create(t, l, "link")
	_, err = io.WriteString(w, " and whole")
	require.NoError(t, err)
	require.NoError(t, w.Close())
	content, err := os.ReadFile(script)
	require.NoError(t, err)
	require.Equal(t, "half and whole", string(content), "a link is written through")
	require.Equal(t, []string{"link", "script.sh"}, left(t, root))
}

// TestCreate_NothingIsLeft: a file that is not finished leaves neither itself nor directories, and takes nothing from
// others.
func TestCreate_NothingIsLeft(t *testing.T) {
	t.Run("never closed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l, root := newLocal(t)
			ctx, cancel := context.WithCancel(t.Context())
			_, err := l.Create(ctx, "a/b/f")
			require.NoError(t, err)
			require.Len(t, left(t, filepath.Join(root, "a", "b")), 1)
			cancel()
			synctest.Wait()
			require.Empty(t, left(t, root))
		})
	})
	t.Run("the backend is closed", func(t *testing.T) {
		l, root := newLocal(t)
		w := create(t, l, "a/f")
		require.NoError(t, l.Close())
		require.Empty(t, left(t, root))
		_, err := io.WriteString(w, "x")
		require.ErrorIs(t, err, errClosed)
		require.ErrorIs(t, w.Close(), errClosed)
		_, err = l.Create(t.Context(), "f")
		require.ErrorIs(t, err, errClosed)
	})
	t.Run("its place is taken", func(t *testing.T) {
		l, root := newLocal(t)
		w := create(t, l, "f")
		require.NoError(t, os.Mkdir(filepath.Join(root, "f"), 0o755))
		require.Error(t, w.Close())
		require.Equal(t, []string{"f"}, left(t, root))
	})
	t.Run("a write fails", func(t *testing.T) {
		l, root := newLocal(t)
		w := create(t, l, "f")
		require.NoError(t, w.(*fileWriter).draft.File.Close())
		_, err := io.WriteString(w, "x")
		require.ErrorIs(t, err, os.ErrClosed)
		require.ErrorContains(t, err, "/f: ")
		require.ErrorIs(t, w.Close(), os.ErrClosed)
		require.Empty(t, left(t, root))
	})
	t.Run("others came into its directory", func(t *testing.T) {
		l, root := newLocal(t)
		ctx, cancel := context.WithCancel(t.Context())
		w, err := l.Create(ctx, "a/b/f")
		require.NoError(t, err)
		require.NoError(t, create(t, l, "a/g").Close())
		cancel()
		require.ErrorIs(t, w.Close(), context.Canceled)
		require.Equal(t, []string{"g"}, left(t, filepath.Join(root, "a")))
	})
	t.Run("a file took the place of its directory", func(t *testing.T) {
		l, root := newLocal(t)
		ctx, cancel := context.WithCancel(t.Context())
		w, err := l.Create(ctx, "a/f")
		require.NoError(t, err)
		require.NoError(t, os.RemoveAll(filepath.Join(root, "a")))
		require.NoError(t, os.WriteFile(filepath.Join(root, "a"), []byte("theirs"), 0o600))
		cancel()
		require.ErrorIs(t, w.Close(), context.Canceled)
		require.Equal(t, []string{"a"}, left(t, root))
	})
}

// A directory that is moved away while a file in it is written does not keep the draft of the file.
func TestCreate_DirectoryIsSwapped(t *testing.T) {
	for name, finish := range map[string]func(l *Local, w io.WriteCloser) error{
		"closed":         func(_ *Local, w io.WriteCloser) error { return w.Close() },
		"backend closed": func(l *Local, _ io.WriteCloser) error { return errors.Join(l.Close(), errors.New("discarded")) },
	} {
		t.Run(name, func(t *testing.T) {
			l, root := newLocal(t)
			dir, moved := filepath.Join(root, "dir"), filepath.Join(root, "moved")
			w := create(t, l, "dir/f")
			if err := os.Rename(dir, moved); err != nil {
				t.Skipf("this system does not move directories with open files: %v", err)
			}
			require.NoError(t, os.Mkdir(dir, 0o755))
			require.Error(t, finish(l, w))
			require.Empty(t, left(t, moved))
			require.NotContains(t, left(t, root), "f")
		})
	}
}

func TestCreate_WhatIsNoFile(t *testing.T) {
	l, root := newLocal(t)
	require.NoError(t, os.Mkdir(filepath.Join(root, "dir"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, "file"), nil, 0o600))
	for path, want := range map[string]string{
		"dir": "/dir: is a directory", "/": "/: is a directory",
		"file/below": "/file/below: a directory on the way to it is a file",
		"a\x00b":     "NUL byte", strings.Repeat("x", 5000): "at most 4096",
	} {
		w, err := l.Create(t.Context(), path)
		require.ErrorContains(t, err, want)
		require.True(t, w == nil, "the interface itself is nil")
	}
	require.Equal(t, []string{"dir", "file"}, left(t, root))
}
