// Package conformance holds what every bundled backend must do, as one set of tests. The tests of the backends run it.
// It must test nothing but what the interfaces and the rules of the in-memory backend promise.
package conformance

import (
	"context"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/filesystem"
)

// Backend is the interface that the bundled backends share.
type Backend interface {
	filesystem.Backend
	filesystem.Deleter
	filesystem.Creator
}

// Run tests backends that newBackend makes. They must be empty, and have the top "/".
func Run(t *testing.T, newBackend func(t *testing.T) Backend) {
	for name, test := range map[string]func(*testing.T, *suite){
		"Paths":          testPaths,         // rule batteries/IM-1
		"Ls":             testLs,            // rule batteries/IM-2
		"NotFound":       testNotFound,      // rules batteries/IM-3, batteries/B13.12
		"Read":           testRead,          // rule batteries/IM-4
		"GrepErrors":     testGrepErrors,    // rule batteries/IM-5
		"GrepScope":      testGrepScope,     // rule batteries/IM-6
		"GrepFilters":    testGrepFilters,   // rule batteries/IM-7
		"GrepLines":      testGrepLines,     // rule batteries/IM-8
		"GrepMultiline":  testGrepMultiline, // rules batteries/IM-8, batteries/B13.35
		"GrepContext":    testGrepContext,   // rule batteries/IM-9
		"Glob":           testGlob,          // rule batteries/IM-10
		"Write":          testWrite,         // rule batteries/IM-11
		"Edit":           testEdit,          // rule batteries/IM-12
		"Delete":         testDelete,
		"Create":         testCreate,
		"Create_Aborted": testCreateAborted,
		"EndedContext":   testEndedContext,
	} {
		t.Run(name, func(t *testing.T) {
			test(t, &suite{Backend: newBackend(t), ctx: t.Context()})
		})
	}
}

type suite struct {
	Backend
	ctx context.Context
}

// write makes files of paths and contents.
func (s *suite) write(t *testing.T, pathsAndContents ...string) {
	t.Helper()
	for i := 0; i < len(pathsAndContents); i += 2 {
		require.NoError(t, s.Write(s.ctx,
			&filesystem.WriteRequest{FilePath: pathsAndContents[i], Content: pathsAndContents[i+1]}))
	}
}

func (s *suite) content(t *testing.T, path string) string {
	t.Helper()
	got, err := s.Read(s.ctx, &filesystem.ReadRequest{FilePath: path})
	require.NoError(t, err)
	return got.Content
}

// grep returns the matches as path:line:content.
func (s *suite) grep(t *testing.T, req filesystem.GrepRequest) []string {
	t.Helper()
	matches, err := s.GrepRaw(s.ctx, &req)
	require.NoError(t, err)
	lines := []string{}
	for _, m := range matches {
		lines = append(lines, m.Path+":"+string(rune('0'+m.Line))+":"+m.Content)
	}
	return lines
}

func (s *suite) glob(t *testing.T, pattern, path string) []string {
	t.Helper()
	found, err := s.GlobInfo(s.ctx, &filesystem.GlobInfoRequest{Pattern: pattern, Path: path})
	require.NoError(t, err)
	return paths(found)
}

func paths(infos []filesystem.FileInfo) []string {
	all := []string{}
	for _, info := range infos {
		all = append(all, info.Path)
	}
	return all
}

func testPaths(t *testing.T, s *suite) {
	s.write(t, "test.txt", "x")
	for _, p := range []string{"test.txt", "/test.txt", "//test.txt", "/d/../test.txt", "./test.txt", "../../test.txt",
		"/../test.txt"} {
		require.Equal(t, "x", s.content(t, p), p)
	}
}

func testLs(t *testing.T, s *suite) {
	before := time.Now().Add(-time.Minute)
	s.write(t, "/a.txt", "12345", "/dir/b.txt", "", "/dir/sub/c.txt", "")
	for path, want := range map[string][]string{
		"":           {"a.txt", "dir"},
		"/":          {"a.txt", "dir"},
		"/dir":       {"b.txt", "sub"},
		"dir/":       {"b.txt", "sub"},
		"/a.txt":     {"a.txt"},
		"/di":        {},
		"/missing":   {},
		"/a.txt/sub": {},
	} {
		got, err := s.LsInfo(s.ctx, &filesystem.LsInfoRequest{Path: path})
		require.NoError(t, err, path)
		require.Equal(t, want, paths(got), path)
		for _, info := range got {
			require.Equal(t, info.Path == "dir" || info.Path == "sub", info.IsDir, info.Path)
			if info.Path == "a.txt" {
				require.EqualValues(t, 5, info.Size)
			} else {
				require.Zero(t, info.Size, info.Path)
			}
			at, err := time.Parse(time.RFC3339Nano, info.ModifiedAt)
			require.NoError(t, err)
			require.WithinRange(t, at, before, time.Now().Add(time.Minute))
		}
	}
}

func testNotFound(t *testing.T, s *suite) {
	for _, err := range []error{
		second(s.Read(s.ctx, &filesystem.ReadRequest{FilePath: "d/../no.txt"})),
		s.Edit(s.ctx, &filesystem.EditRequest{FilePath: "no.txt"}),
		s.Delete(s.ctx, &filesystem.DeleteRequest{FilePath: "no.txt"}),
	} {
		require.EqualError(t, err, "file not found: /no.txt")
		require.ErrorIs(t, err, fs.ErrNotExist)
	}
}

func second[T any](_ T, err error) error { return err }

func testRead(t *testing.T, s *suite) {
	long := strings.Repeat("x", 200_000)
	s.write(t, "/f", "1\n2\n3\n4\n", "/g", "1\n2\n3", "/empty", "", "/long", long+"\nsecond\n")
	for _, c := range []struct {
		path          string
		offset, limit int
		want          string
	}{
		{"/f", 0, 0, "1\n2\n3\n4\n"},
		{"/f", -3, -1, "1\n2\n3\n4\n"},
		{"/f", 1, 100, "1\n2\n3\n4\n"},
		{"/f", 0, 2, "1\n2"},
		{"/f", 2, 2, "2\n3"},
		{"/f", 3, 0, "3\n4\n"},
		{"/f", 3, 9, "3\n4\n"},
		{"/f", 9, 0, ""},
		{"/f", 9, 9, ""},
		{"/g", 0, 3, "1\n2\n3"},
		{"/g", 3, 1, "3"},
		{"/g", 4, 1, ""},
		{"/empty", 0, 0, ""},
		{"/empty", 1, 1, ""},
		{"/long", 1, 1, long},
		{"/long", 2, 0, "second\n"},
	} {
		got, err := s.Read(s.ctx, &filesystem.ReadRequest{FilePath: c.path, Offset: c.offset, Limit: c.limit})
		require.NoError(t, err)
		require.Equal(t, c.want, got.Content, "%s %d %d", c.path, c.offset, c.limit)
	}
}

func testGrepErrors(t *testing.T, s *suite) {
	_, err := s.GrepRaw(s.ctx, &filesystem.GrepRequest{})
	require.EqualError(t, err, "pattern cannot be empty")
	_, err = s.GrepRaw(s.ctx, &filesystem.GrepRequest{Pattern: "(", CaseInsensitive: true})
	require.ErrorContains(t, err, "invalid regex pattern: ")
	require.NotContains(t, err.Error(), "(?i)", "the pattern is not the caller's")

	bad := filesystem.GrepRequest{Pattern: "x", Glob: "[a"}
	require.Empty(t, s.grep(t, bad), "no file, no complaint")
	s.write(t, "/f", "")
	for _, glob := range []string{"[a", "{a", strings.Repeat("{a,b}", 20), strings.Repeat("x", 5000)} {
		_, err = s.GrepRaw(s.ctx, &filesystem.GrepRequest{Pattern: "x", Glob: glob})
		require.ErrorContains(t, err, "invalid glob pattern: ")
	}
}

func testGrepScope(t *testing.T, s *suite) {
	s.write(t, "/d/b.txt", "x", "/d/a/f.txt", "x", "/d.txt", "x", "/de/f.txt", "x")
	for path, want := range map[string][]string{
		"":          {"/d.txt:1:x", "/d/a/f.txt:1:x", "/d/b.txt:1:x", "/de/f.txt:1:x"},
		"/":         {"/d.txt:1:x", "/d/a/f.txt:1:x", "/d/b.txt:1:x", "/de/f.txt:1:x"},
		"d":         {"/d/a/f.txt:1:x", "/d/b.txt:1:x"},
		"/d/b.txt":  {"/d/b.txt:1:x"},
		"/no":       {},
		"/d.txt/no": {},
	} {
		require.Equal(t, want, s.grep(t, filesystem.GrepRequest{Pattern: "x", Path: path}), path)
	}
}

func testGrepFilters(t *testing.T, s *suite) {
	s.write(t, "/src/a.go", "x", "/src/in/b.go", "x", "/src/c.py", "x", "/src/d.weird", "x", "/src/E.GO", "x")
	for _, c := range []struct {
		path, glob, fileType string
		want                 []string
	}{
		{"", "*.go", "", []string{"/src/a.go:1:x", "/src/in/b.go:1:x"}},
		{"", "src/*.go", "", []string{"/src/a.go:1:x"}},
		{"/src", "*/*.go", "", []string{"/src/in/b.go:1:x"}},
		{"/src", "**/*.go", "", []string{"/src/a.go:1:x", "/src/in/b.go:1:x"}},
		{"/src", "src/*.go", "", []string{}},
		{"", "{a,c}.*", "", []string{"/src/a.go:1:x", "/src/c.py:1:x"}},
		{"", "", "go", []string{"/src/a.go:1:x", "/src/in/b.go:1:x"}},
		{"", "", "python", []string{"/src/c.py:1:x"}},
		{"", "", "weird", []string{"/src/d.weird:1:x"}},
		{"", "a.*", "go", []string{"/src/a.go:1:x"}},
		{"", "a.*", "py", []string{}},
		{"/src/a.go", "*.go", "", []string{"/src/a.go:1:x"}},
		{"/src/a.go", "*.py", "", []string{}},
	} {
		got := s.grep(t, filesystem.GrepRequest{Pattern: "x", Path: c.path, Glob: c.glob, FileType: c.fileType})
		require.Equal(t, c.want, got, "%s %s %s", c.path, c.glob, c.fileType)
	}
}

func testGrepLines(t *testing.T, s *suite) {
	s.write(t, "/f", "foo foo\nbar\r\n\nFOO\nend")
	for pattern, want := range map[string][]string{
		"foo":   {"/f:1:foo foo"},
		"bar$":  {"/f:2:bar"},
		"^$":    {"/f:3:"},
		"end":   {"/f:5:end"},
		"o\nb":  {},
		"(?i)f": {"/f:1:foo foo", "/f:4:FOO"},
	} {
		require.Equal(t, want, s.grep(t, filesystem.GrepRequest{Pattern: pattern}), pattern)
	}
	require.Equal(t, []string{"/f:1:foo foo", "/f:4:FOO"},
		s.grep(t, filesystem.GrepRequest{Pattern: "o|b{9}", CaseInsensitive: true}))
}

func testGrepMultiline(t *testing.T, s *suite) {
	s.write(t, "/f", "func a() {\n  x\n}\nfunc b() {\n}\n")
	for pattern, want := range map[string][]string{
		`func a.*?\}`:    {"/f:1:func a() {", "/f:2:  x", "/f:3:}"},
		`\}\nfunc`:       {"/f:3:}", "/f:4:func b() {"},
		`\{\n`:           {"/f:1:func a() {", "/f:4:func b() {"},
		`^func b`:        {"/f:4:func b() {"},
		`[abx]`:          {"/f:1:func a() {", "/f:2:  x", "/f:4:func b() {"},
		`[()]`:           {"/f:1:func a() {", "/f:1:func a() {", "/f:4:func b() {", "/f:4:func b() {"},
		`\z`:             {},
		`nothing.*there`: {},
	} {
		require.Equal(t, want, s.grep(t, filesystem.GrepRequest{Pattern: pattern, EnableMultiline: true}), pattern)
	}
	require.Equal(t, []string{"/f:2:  x", "/f:3:}", "/f:4:func b() {", "/f:5:}"},
		s.grep(t, filesystem.GrepRequest{Pattern: `\}.func`, EnableMultiline: true, BeforeLines: 1, AfterLines: 1}))
}

func testGrepContext(t *testing.T, s *suite) {
	s.write(t, "/f", "1\n2\nx3\n4\nx5\n6\n7\n8\nx9\n", "/g", "x")
	for _, c := range []struct {
		before, after int
		want          string
	}{
		{0, 0, "3 5 9"},
		{-1, -1, "3 5 9"},
		{1, 0, "2 3 4 5 8 9"},
		{0, 1, "3 4 5 6 9"},
		{1, 1, "2 3 4 5 6 8 9"},
		{2, 2, "1 2 3 4 5 6 7 8 9"},
		{100, 100, "1 2 3 4 5 6 7 8 9"},
		{100, 0, "1 2 3 4 5 6 7 8 9"},
		{3, 0, "1 2 3 4 5 6 7 8 9"},
	} {
		var lines []string
		for _, m := range s.grep(t, filesystem.GrepRequest{Pattern: "x", BeforeLines: c.before, AfterLines: c.after}) {
			if path, rest, _ := strings.Cut(m, ":"); path == "/f" {
				number, content, _ := strings.Cut(rest, ":")
				require.Equal(t, number, strings.TrimPrefix(content, "x"))
				lines = append(lines, number)
			} else {
				require.Equal(t, "/g:1:x", m)
			}
		}
		require.Equal(t, c.want, strings.Join(lines, " "), "%d %d", c.before, c.after)
	}
}

func testGlob(t *testing.T, s *suite) {
	s.write(t, "/a.go", "", "/src/b.go", "12", "/src/in/c.go", "", "/src/in/d.txt", "", "/src/.hidden", "")
	for _, c := range []struct {
		pattern, path string
		want          []string
	}{
		{"*.go", "", []string{"a.go"}},
		{"*.go", "/src", []string{"b.go"}},
		{"**/*.go", "", []string{"a.go", "src/b.go", "src/in/c.go"}},
		{"**/*.go", "src", []string{"b.go", "in/c.go"}},
		{"/**/*.go", "/src/in", []string{"/a.go", "/src/b.go", "/src/in/c.go"}},
		{"/src/*", "", []string{"/src/.hidden", "/src/b.go"}},
		{"/src/in/c.go", "", []string{"/src/in/c.go"}},
		{"in/c.go", "/src", []string{"in/c.go"}},
		{"in/?.{go,txt}", "/src", []string{"in/c.go", "in/d.txt"}},
		{"in/[a-c].*", "/src", []string{"in/c.go"}},
		{"**", "/src/in", []string{"c.go", "d.txt"}},
		{"src", "", []string{}},
		{"*", "/src/b.go", []string{}},
		{"*", "/missing", []string{}},
		{"missing/*", "", []string{}},
		{"../*", "/src", []string{}},
		{"", "", []string{}},
	} {
		require.Equal(t, c.want, s.glob(t, c.pattern, c.path), "%s %s", c.pattern, c.path)
	}
	found, err := s.GlobInfo(s.ctx, &filesystem.GlobInfoRequest{Pattern: "/src/b.go"})
	require.NoError(t, err)
	require.EqualValues(t, 2, found[0].Size)
	require.False(t, found[0].IsDir)
	_, err = time.Parse(time.RFC3339Nano, found[0].ModifiedAt)
	require.NoError(t, err)
	_, err = s.GlobInfo(s.ctx, &filesystem.GlobInfoRequest{Pattern: "[a"})
	require.ErrorContains(t, err, "invalid glob pattern: ")
}

func testWrite(t *testing.T, s *suite) {
	s.write(t, "/deep/er/f", "first, which is longer")
	s.write(t, "deep/er/f", "second")
	require.Equal(t, "second", s.content(t, "/deep/er/f"))
	got, err := s.LsInfo(s.ctx, &filesystem.LsInfoRequest{Path: "/deep/er"})
	require.NoError(t, err)
	require.Equal(t, []string{"f"}, paths(got))
	require.EqualValues(t, 6, got[0].Size)
}

func testEdit(t *testing.T, s *suite) {
	edit := func(old, new string, all bool) error {
		return s.Edit(s.ctx, &filesystem.EditRequest{FilePath: "f", OldString: old, NewString: new, ReplaceAll: all})
	}
	s.write(t, "/f", "aaa b.c $1\n")
	for _, c := range []struct {
		old  string
		all  bool
		text string
	}{
		{"", true, "oldString must be non-empty"},
		{"B", true, "oldString not found in file: /f"},
		{"b?c", false, "oldString not found in file: /f"},
		{"a", false, "multiple occurrences of oldString found in file /f, but ReplaceAll is false"},
		{"aa", false, "multiple occurrences of oldString found in file /f, but ReplaceAll is false"},
	} {
		require.EqualError(t, edit(c.old, "new", c.all), c.text)
	}
	require.Equal(t, "aaa b.c $1\n", s.content(t, "/f"), "a refused edit changes nothing")

	require.NoError(t, edit("b.c", "$0", false))
	require.Equal(t, "aaa $0 $1\n", s.content(t, "/f"))
	require.NoError(t, edit("a", "xy", true))
	require.Equal(t, "xyxyxy $0 $1\n", s.content(t, "/f"))
	require.NoError(t, edit(" $0 $1\n", "", false))
	got, err := s.LsInfo(s.ctx, &filesystem.LsInfoRequest{Path: "/f"})
	require.NoError(t, err)
	require.EqualValues(t, 6, got[0].Size)
}

func testDelete(t *testing.T, s *suite) {
	s.write(t, "/d/a", "x", "/d/b", "x")
	require.NoError(t, s.Delete(s.ctx, &filesystem.DeleteRequest{FilePath: "d/a"}))
	require.Equal(t, []string{"b"}, s.glob(t, "*", "/d"))
	require.Error(t, s.Delete(s.ctx, &filesystem.DeleteRequest{FilePath: "/d"}), "a directory")
	require.Equal(t, "x", s.content(t, "/d/b"))
}

func testCreate(t *testing.T, s *suite) {
	s.write(t, "/old", "old")
	for path, want := range map[string]string{"/old": "old", "d/../new/er/f": ""} {
		w, err := s.Create(s.ctx, path)
		require.NoError(t, err)
		for _, piece := range []string{"one ", "", "two"} {
			n, err := io.WriteString(w, piece)
			require.NoError(t, err)
			require.Equal(t, len(piece), n)
		}
		got, err := s.Read(s.ctx, &filesystem.ReadRequest{FilePath: path})
		if want == "" {
			require.ErrorIs(t, err, fs.ErrNotExist, "it is not there before it is closed")
		} else {
			require.NoError(t, err)
			require.Equal(t, want, got.Content)
		}
		require.NoError(t, w.Close())
		require.Equal(t, "one two", s.content(t, path))
		_, err = w.Write([]byte("more"))
		require.ErrorIs(t, err, fs.ErrClosed)
		require.ErrorIs(t, w.Close(), fs.ErrClosed)
		require.Equal(t, "one two", s.content(t, path))
	}
	w, err := s.Create(s.ctx, "/empty")
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.Equal(t, "", s.content(t, "/empty"))
	require.Equal(t, []string{"empty", "new/er/f", "old"}, s.glob(t, "**", ""))
}

func testCreateAborted(t *testing.T, s *suite) {
	s.write(t, "/old", "old")
	for _, path := range []string{"/old", "/new/er/f"} {
		ctx, cancel := context.WithCancel(s.ctx)
		w, err := s.Create(ctx, path)
		require.NoError(t, err)
		_, err = w.Write([]byte("half"))
		require.NoError(t, err)
		cancel()
		_, err = w.Write([]byte("more"))
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, w.Close(), context.Canceled)
		require.ErrorIs(t, w.Close(), context.Canceled)
	}
	require.Equal(t, "old", s.content(t, "/old"))
	got, err := s.LsInfo(s.ctx, &filesystem.LsInfoRequest{})
	require.NoError(t, err)
	require.Equal(t, []string{"old"}, paths(got), "nothing is left, no directory either")
}

func testEndedContext(t *testing.T, s *suite) {
	s.write(t, "/f", "x")
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	for name, err := range map[string]error{
		"ls":     second(s.LsInfo(ctx, &filesystem.LsInfoRequest{})),
		"read":   second(s.Read(ctx, &filesystem.ReadRequest{FilePath: "/f"})),
		"grep":   second(s.GrepRaw(ctx, &filesystem.GrepRequest{Pattern: "x"})),
		"glob":   second(s.GlobInfo(ctx, &filesystem.GlobInfoRequest{Pattern: "**"})),
		"write":  s.Write(ctx, &filesystem.WriteRequest{FilePath: "/f", Content: "y"}),
		"edit":   s.Edit(ctx, &filesystem.EditRequest{FilePath: "/f", OldString: "x", NewString: "y"}),
		"delete": s.Delete(ctx, &filesystem.DeleteRequest{FilePath: "/f"}),
		"create": second(s.Create(ctx, "/f")),
	} {
		require.ErrorIs(t, err, context.Canceled, name)
	}
	require.Equal(t, "x", s.content(t, "/f"))
}
