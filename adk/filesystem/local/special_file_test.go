//go:build unix && !solaris && !illumos && !aix

package local

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/filesystem"
)

// TestLocal_NamedPipesDoNotHang: to open a named pipe waits for the other end, which may never come.
func TestLocal_NamedPipesDoNotHang(t *testing.T) {
	l, root := newLocal(t)
	ctx := t.Context()
	require.NoError(t, syscall.Mkfifo(filepath.Join(root, "pipe.png"), 0o600))
	require.NoError(t, l.Write(ctx, &filesystem.WriteRequest{FilePath: "file", Content: "x"}))

	_, err := l.Read(ctx, &filesystem.ReadRequest{FilePath: "pipe.png"})
	require.ErrorIs(t, err, errNotRegular)
	_, err = l.MultiModalRead(ctx,
		&filesystem.MultiModalReadRequest{ReadRequest: filesystem.ReadRequest{FilePath: "pipe.png"}})
	require.ErrorIs(t, err, errNotRegular)
	require.Error(t, l.Write(ctx, &filesystem.WriteRequest{FilePath: "pipe.png"}))
	_, err = l.Create(ctx, "pipe.png")
	require.Error(t, err)
	require.ErrorIs(t, l.Edit(ctx, &filesystem.EditRequest{FilePath: "pipe.png", OldString: "x"}), errNotRegular)
	_, err = l.GrepRaw(ctx, &filesystem.GrepRequest{Pattern: "x", Path: "pipe.png"})
	require.ErrorIs(t, err, errNotRegular)

	matches, err := l.GrepRaw(ctx, &filesystem.GrepRequest{Pattern: "x"})
	require.NoError(t, err)
	require.Len(t, matches, 1)
	found, err := l.GlobInfo(ctx, &filesystem.GlobInfoRequest{Pattern: "*"})
	require.NoError(t, err)
	require.Len(t, found, 1)
	list, err := l.LsInfo(ctx, &filesystem.LsInfoRequest{})
	require.NoError(t, err)
	require.Len(t, list, 2)
}
