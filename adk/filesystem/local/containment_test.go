package local

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/filesystem"
)

var secret = strings.Repeat("SECRET of the neighbour. ", 41) // a length that nothing else has

// mark is the name of a file in every directory outside.
const mark = "mark-of-the-outside"

// A yard is a root with a neighbour that must not be reachable from it, and links of every kind that try.
type yard struct {
	*Local
	root, outside string
	before        string // fingerprint of the neighbour
}

func newYard(t testing.TB, mount string) *yard {
	t.Helper()
	top := t.TempDir()
	y := &yard{root: filepath.Join(top, "root"), outside: filepath.Join(top, "outside")}
	for _, dir := range []string{y.root + "/dir/sub", y.outside + "/deep"} {
		require.NoError(t, os.MkdirAll(dir, 0o755))
	}
	for _, dir := range []string{top, y.outside, y.outside + "/deep"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, mark), nil, 0o600))
	}
	for _, file := range []string{y.outside + "/secret.txt", y.outside + "/deep/secret.txt", top + "/secret.txt"} {
		require.NoError(t, os.WriteFile(file, []byte(secret), 0o600))
	}
	require.NoError(t, os.WriteFile(y.root+"/dir/inside.txt", []byte("inside"), 0o600))
	for link, target := range map[string]string{
		"rel-file":      "../outside/secret.txt",
		"rel-dir":       "../outside",
		"abs-file":      y.outside + "/secret.txt",
		"abs-dir":       y.outside,
		"parent":        "..",
		"dots":          "dir/sub/../../../outside",
		"dir/up":        "../../outside",
		"dir/sub/up":    "../../..",
		"chain1":        "chain2",
		"chain2":        "dir/up/secret.txt",
		"loop":          "loop",
		"circle":        "dir/circle",
		"dir/circle":    "../circle",
		"dir/self":      ".",
		"dangling":      "../outside/new.txt",
		"abs-inside":    y.root + "/dir/inside.txt",
		"link-inside":   "dir/inside.txt",
		"linked-dir":    "dir",
		"through":       "rel-dir/secret.txt",
		"dir/sub/twice": "../up/deep",
	} {
		if err := os.Symlink(filepath.FromSlash(target), filepath.Join(y.root, link)); err != nil {
			t.Skipf("this system makes no links: %v", err)
		}
	}
	l, err := NewBackend(t.Context(), &Config{Root: y.root, Mount: mount})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	y.Local = l
	y.before = fingerprint(t, y.outside)
	return y
}

// fingerprint changes when anything in a directory does.
func fingerprint(t testing.TB, dir string) string {
	t.Helper()
	sum := sha256.New()
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		content := []byte(nil)
		if info.Mode().IsRegular() {
			content, err = os.ReadFile(path)
		}
		fmt.Fprintf(sum, "%s %s %d %s %q\n", path, info.Mode(), info.Size(), info.ModTime(), content)
		return err
	}))
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// attack does everything with a path, and fails the test if anything comes out that lies outside.
func (y *yard) attack(t testing.TB, ctx context.Context, p string) {
	t.Helper()
	leaks := func(what, got string) {
		if strings.Contains(got, "SECRET") {
			t.Errorf("%s %q shows what lies outside: %q", what, p, got)
		}
	}
	if got, err := y.Read(ctx, &filesystem.ReadRequest{FilePath: p}); err == nil {
		leaks("read", got.Content)
	} else {
		leaks("error of read", err.Error())
	}
	if got, err := y.MultiModalRead(ctx,
		&filesystem.MultiModalReadRequest{ReadRequest: filesystem.ReadRequest{FilePath: p}}); err == nil &&
		got.FileContent != nil {
		leaks("multi-modal read", got.Content)
	}
	if list, err := y.LsInfo(ctx, &filesystem.LsInfoRequest{Path: p}); err == nil {
		for _, info := range list {
			if info.Path == mark || info.Size == int64(len(secret)) {
				t.Errorf("ls %q shows %+v, which lies outside", p, info)
			}
		}
	}
	for _, pattern := range []string{"SECRET", "(?s)SECRET.*"} {
		matches, _ := y.GrepRaw(ctx, &filesystem.GrepRequest{Pattern: pattern, Path: p, EnableMultiline: len(pattern) > 6})
		for _, m := range matches {
			leaks("grep", m.Content)
		}
	}
	for _, req := range []filesystem.GlobInfoRequest{{Pattern: "**", Path: p}, {Pattern: p}, {Pattern: p + "/**"},
		{Pattern: p + "/*.txt", Path: "dir"}} {
		found, _ := y.GlobInfo(ctx, &req)
		for _, info := range found {
			if path.Base(info.Path) == mark || info.Size == int64(len(secret)) {
				t.Errorf("glob %+v shows %+v, which lies outside", req, info)
			}
		}
	}
	_ = y.Edit(ctx, &filesystem.EditRequest{FilePath: p, OldString: "SECRET", NewString: "stolen"})
	_ = y.Write(ctx, &filesystem.WriteRequest{FilePath: p, Content: "overwritten"})
	_ = y.Write(ctx, &filesystem.WriteRequest{FilePath: p + "/new/file.txt", Content: "planted"})
	if w, err := y.Create(ctx, p); err == nil {
		_, _ = w.Write([]byte("streamed"))
		_ = w.Close()
	}
	given, giveUp := context.WithCancel(ctx)
	w, err := y.Create(given, p+"/created/file.txt")
	giveUp()
	if err == nil {
		_ = w.Close()
	}
	_ = y.Delete(ctx, &filesystem.DeleteRequest{FilePath: p})
}

func (y *yard) requireIntact(t testing.TB) {
	t.Helper()
	if now := fingerprint(t, y.outside); now != y.before {
		t.Fatal("something outside of the root has changed")
	}
}

// hostilePaths are ways out that were tried before. OUT stands for the directory outside, ROOT for the root.
var hostilePaths = []string{
	"../outside/secret.txt", "../../outside/secret.txt", "..", "../", "../..", "/..", "/../outside/secret.txt",
	"../secret.txt",
	"dir/../../outside/secret.txt", "./../outside/secret.txt", "dir/sub/../../../outside/secret.txt",
	"dir/./../../outside",
	"//../outside/secret.txt", "/./../outside", "....//outside/secret.txt", "..//outside//secret.txt",
	"dir//..//..//outside",
	"OUT", "OUT/secret.txt", "OUT/", "/OUT/secret.txt", "OUT/deep/../secret.txt", "ROOT/../outside/secret.txt", "ROOT/..",
	"ROOT/dir/../../outside",
	"ROOT-neighbour/secret.txt", "ROOT/abs-file", "ROOT/rel-dir/secret.txt",
	"rel-file", "rel-dir", "rel-dir/secret.txt", "rel-dir/deep", "rel-dir/deep/secret.txt", "abs-file", "abs-dir",
	"abs-dir/secret.txt",
	"parent", "parent/outside/secret.txt", "parent/secret.txt", "dots/secret.txt", "dir/up", "dir/up/secret.txt",
	"dir/sub/up/outside/secret.txt",
	"chain1", "chain2", "loop", "circle", "dir/circle", "dir/self/self/self/up/secret.txt", "dangling", "abs-inside",
	"through", "dir/sub/twice/secret.txt",
	"linked-dir/up/secret.txt", "linked-dir/../../outside/secret.txt", "linked-dir/sub/up", "rel-dir/../secret.txt",
	"rel-dir/..", "dir/up/../secret.txt",
	"", ".", "/", "~", "~/secret.txt", "$HOME", "%2e%2e/outside/secret.txt", "..%2foutside", "%252e%252e%252f",
	"..\\outside\\secret.txt", "dir\\..\\..\\outside",
	"\\\\host\\share", "C:\\Windows\\win.ini", "C:secret.txt", "\\\\?\\C:\\x", "NUL", "CON", "dir/aux.txt",
	"file:///etc/passwd", "file://OUT/secret.txt",
	"/etc/passwd", "/proc/self/environ", "/proc/self/cwd/secret.txt", "/proc/self/root", "/dev/stdin", "/dev/fd/0",
	"dir/inside.txt\x00../../outside/secret.txt", "\x00", "dir/\x00", "\u2024\u2024/outside",
	"\uff0e\uff0e/outside/secret.txt", "..\u2215outside", "\xc0\xae\xc0\xae/outside", "\xff\xfe",
	"dir/inside.txt/../../../outside/secret.txt", "dir/inside.txt/x", "missing/../../outside/secret.txt",
	" ../outside/secret.txt", "../outside/secret.txt ", "..\n/outside",
	"*", "**", "{..,dir}/outside/secret.txt", "[.][.]/outside/*", "\\.\\./outside", "../**", "dir/../../**",
	strings.Repeat("../", 100) + "etc/passwd", strings.Repeat("a/", 3000), strings.Repeat("x", 5000),
	strings.Repeat("dir/self/", 60) + "up/secret.txt",
}

func TestLocal_NothingLeadsOut(t *testing.T) {
	for _, mount := range []string{"", "/", "/work"} {
		for i, p := range hostilePaths {
			t.Run(fmt.Sprintf("%s %d", mount, i), func(t *testing.T) {
				y := newYard(t, mount)
				y.attack(t, t.Context(), strings.NewReplacer("OUT", y.outside, "ROOT", y.root).Replace(p))
				y.requireIntact(t)
			})
		}
	}
}

// TestLocal_LinksSayWhy: a link that leads out is an error that a caller can tell, and one that stays inside works.
func TestLocal_LinksSayWhy(t *testing.T) {
	y := newYard(t, "/")
	ctx := t.Context()
	for _, p := range []string{"rel-file", "rel-dir/secret.txt", "abs-file", "parent/secret.txt", "chain1", "dangling",
		"abs-inside"} {
		_, err := y.Read(ctx, &filesystem.ReadRequest{FilePath: p})
		require.ErrorIs(t, err, ErrOutsideRoot, p)
		require.ErrorContains(t, err, "/"+p)
		err = y.Write(ctx, &filesystem.WriteRequest{FilePath: p})
		require.ErrorIs(t, err, ErrOutsideRoot, p)
		_, err = y.Create(ctx, p)
		require.ErrorIs(t, err, ErrOutsideRoot, p)
	}
	got, err := y.Read(ctx, &filesystem.ReadRequest{FilePath: "link-inside"})
	require.NoError(t, err)
	require.Equal(t, "inside", got.Content)

	require.NoError(t, y.Edit(ctx,
		&filesystem.EditRequest{FilePath: "linked-dir/self/inside.txt", OldString: "in", NewString: "be"}))
	require.NoError(t, y.Edit(ctx, &filesystem.EditRequest{FilePath: "link-inside", OldString: "be", NewString: "out"}))
	link, err := os.Readlink(filepath.Join(y.root, "link-inside"))
	require.NoError(t, err, "a link is written through, not replaced")
	require.Equal(t, "dir/inside.txt", filepath.ToSlash(link))
	content, err := os.ReadFile(filepath.Join(y.root, "dir", "inside.txt"))
	require.NoError(t, err)
	require.Equal(t, "outside", string(content))

	list, err := y.LsInfo(ctx, &filesystem.LsInfoRequest{Path: "/"})
	require.NoError(t, err)
	isDir := map[string]bool{}
	for _, info := range list {
		isDir[info.Path] = info.IsDir
	}
	require.True(t, isDir["linked-dir"])
	require.Contains(t, isDir, "rel-dir", "it is there, whatever it leads to")
	require.False(t, isDir["rel-dir"])

	matches, err := y.GrepRaw(ctx, &filesystem.GrepRequest{Pattern: "outside"})
	require.NoError(t, err)
	require.Equal(t, []filesystem.GrepMatch{{Content: "outside", Path: "/dir/inside.txt", Line: 1},
		{Content: "outside", Path: "/link-inside", Line: 1}}, matches,
		"links to files are searched, links to directories are not descended into")
}

// TestLocal_RaceWithTheDisk swaps a directory and a file for links that lead out, and back, as fast as it can, while
// the backend works on them.
func TestLocal_RaceWithTheDisk(t *testing.T) {
	y := newYard(t, "/")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	dir, aside := filepath.Join(y.root, "swap"), filepath.Join(y.root, "aside")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.Symlink("../outside", filepath.Join(y.root, "evil")))

	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			_ = os.Rename(dir, aside)
			_ = os.Rename(filepath.Join(y.root, "evil"), dir)
			_ = os.Rename(dir, filepath.Join(y.root, "evil"))
			_ = os.Rename(aside, dir)
			file := filepath.Join(dir, "secret.txt")
			_ = os.Remove(file)
			_ = os.Symlink("../../outside/secret.txt", file)
		}
	})
	for range 2 {
		wg.Go(func() {
			for ctx.Err() == nil {
				y.attack(t, t.Context(), "swap/secret.txt")
				y.attack(t, t.Context(), "swap/deep")
			}
		})
	}
	wg.Wait()
	y.requireIntact(t)
	for _, name := range left(t, y.root) {
		if info, err := os.Lstat(filepath.Join(y.root, name)); err == nil && info.IsDir() {
			for _, file := range left(t, filepath.Join(y.root, name)) {
				require.NotContains(t, file, tempPrefix)
			}
		}
	}
}

func FuzzLocal_NothingLeadsOut(f *testing.F) {
	for _, p := range hostilePaths {
		f.Add(p, "/")
	}
	f.Fuzz(func(t *testing.T, p, mount string) {
		if mount != "" {
			mount = "/work"
		}
		y := newYard(t, mount)
		y.attack(t, t.Context(), strings.NewReplacer("OUT", y.outside, "ROOT", y.root).Replace(p))
		y.requireIntact(t)
	})
}
