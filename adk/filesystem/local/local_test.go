package local

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/filesystem"
	"github.com/weftgo/weft/adk/filesystem/internal/conformance"
)

// newLocal makes a backend on a new directory with the top "/". edit may change the config.
func newLocal(t testing.TB, edit ...func(*Config)) (*Local, string) {
	t.Helper()
	cfg := &Config{Root: t.TempDir(), Mount: "/"}
	for _, e := range edit {
		e(cfg)
	}
	l, err := NewBackend(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l, cfg.Root
}

func TestLocal(t *testing.T) {
	conformance.Run(t, func(t *testing.T) conformance.Backend {
		l, _ := newLocal(t)
		return l
	})
}

func TestNewBackend_Config(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, "f")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for name, c := range map[string]struct {
		config *Config
		text   string
	}{
		"nil":           {nil, "config is required"},
		"no root":       {&Config{}, "config.Root is required: "},
		"missing":       {&Config{Root: filepath.Join(root, "no")}, "config.Root: "},
		"a file":        {&Config{Root: file}, "config.Root: "},
		"mount":         {&Config{Root: root, Mount: "rel"}, `config.Mount "rel" must be an absolute path`},
		"negative max":  {&Config{Root: root, MaxBytes: -1}, "config.MaxBytes must not be negative"},
		"negative max2": {&Config{Root: root, MaxResults: -1}, "config.MaxResults must not be negative"},
		"negative max3": {&Config{Root: root, MaxOutputBytes: -1}, "config.MaxOutputBytes must not be negative"},
	} {
		l, err := NewBackend(t.Context(), c.config)
		require.ErrorContains(t, err, c.text, name)
		require.Nil(t, l, name)
	}
}

func TestLocal_PathsOfTheHost(t *testing.T) {
	// As on a Mac, where the temporary directory is behind a link.
	real := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(real, link); err != nil {
		t.Skipf("this system makes no links: %v", err)
	}
	l, err := NewBackend(t.Context(), &Config{Root: link})
	require.NoError(t, err)
	defer l.Close()
	shown := filepath.ToSlash(link)

	require.NoError(t, l.Write(t.Context(), &filesystem.WriteRequest{FilePath: link + "/d/f", Content: "x"}))
	for _, p := range []string{"d/f", link + "/d/f", real + "/d/f", link + "/d/../d/f"} {
		got, err := l.Read(t.Context(), &filesystem.ReadRequest{FilePath: p})
		require.NoError(t, err, p)
		require.Equal(t, "x", got.Content)
	}
	matches, err := l.GrepRaw(t.Context(), &filesystem.GrepRequest{Pattern: "x"})
	require.NoError(t, err)
	require.Equal(t, []filesystem.GrepMatch{{Content: "x", Path: shown + "/d/f", Line: 1}}, matches)
	for _, pattern := range []string{shown + "/**", shown + "/d/f", "/**/f"} {
		found, err := l.GlobInfo(t.Context(), &filesystem.GlobInfoRequest{Pattern: pattern})
		require.NoError(t, err)
		require.Len(t, found, 1)
		require.Equal(t, shown+"/d/f", found[0].Path)
	}
	_, err = l.Read(t.Context(), &filesystem.ReadRequest{FilePath: "no"})
	require.EqualError(t, err, "file not found: "+shown+"/no")

	outside := filepath.ToSlash(filepath.Dir(link))
	for _, p := range []string{"..", "../x", outside, outside + "/linked", link + "2/f", "/"} {
		_, err := l.Read(t.Context(), &filesystem.ReadRequest{FilePath: p})
		require.ErrorIs(t, err, ErrOutsideRoot, p)
		_, err = l.LsInfo(t.Context(), &filesystem.LsInfoRequest{Path: p})
		require.ErrorIs(t, err, ErrOutsideRoot, p)
		require.ErrorIs(t, l.Write(t.Context(), &filesystem.WriteRequest{FilePath: p}), ErrOutsideRoot, p)
	}
	_, err = l.GlobInfo(t.Context(), &filesystem.GlobInfoRequest{Pattern: "/etc/*"})
	require.ErrorIs(t, err, ErrOutsideRoot)
}

func TestLocal_Closed(t *testing.T) {
	l, _ := newLocal(t)
	require.NoError(t, l.Close())
	require.NoError(t, l.Close())
	_, err := l.Read(t.Context(), &filesystem.ReadRequest{FilePath: "f"})
	require.ErrorIs(t, err, os.ErrClosed)
	_, err = l.Execute(t.Context(), &filesystem.ExecuteRequest{Command: "true"})
	require.ErrorIs(t, err, errClosed)
	_, err = l.ExecuteStreaming(t.Context(), &filesystem.ExecuteRequest{Command: "true"})
	require.ErrorIs(t, err, errClosed)
}

func TestLocal_Permissions(t *testing.T) {
	if runtime.GOOS == "windows" || os.Getuid() == 0 {
		t.Skip("needs a user whom permissions keep out")
	}
	l, root := newLocal(t)
	require.NoError(t, os.MkdirAll(filepath.Join(root, "a-locked"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, "b-locked"), []byte("x"), 0o000))
	require.NoError(t, os.WriteFile(filepath.Join(root, "c-open"), []byte("x"), 0o444))
	require.NoError(t, os.Chmod(filepath.Join(root, "a-locked"), 0))
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(root, "a-locked"), 0o755) })

	matches, err := l.GrepRaw(t.Context(), &filesystem.GrepRequest{Pattern: "x"})
	require.NoError(t, err)
	require.Equal(t, []filesystem.GrepMatch{{Content: "x", Path: "/c-open", Line: 1}}, matches,
		"what is locked hides nothing else")
	_, err = l.GrepRaw(t.Context(), &filesystem.GrepRequest{Pattern: "x", Path: "/b-locked"})
	require.ErrorIs(t, err, os.ErrPermission, "it was asked for by name")
	_, err = l.GrepRaw(t.Context(), &filesystem.GrepRequest{Pattern: "x", Path: "/a-locked"})
	require.ErrorIs(t, err, os.ErrPermission)
	_, err = l.Read(t.Context(), &filesystem.ReadRequest{FilePath: "/b-locked"})
	require.ErrorIs(t, err, os.ErrPermission)
	require.ErrorIs(t, l.Write(t.Context(), &filesystem.WriteRequest{FilePath: "/c-open"}), os.ErrPermission)
}
