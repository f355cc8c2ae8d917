package skill

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/filesystem"
	"github.com/weftgo/weft/adk/filesystem/local"
)

func write(t *testing.T, b filesystem.Backend, path, content string) {
	t.Helper()
	if err := b.Write(t.Context(), &filesystem.WriteRequest{FilePath: path, Content: content}); err != nil {
		t.Error(err)
	}
}

// counting counts the files that are read.
type counting struct {
	*filesystem.InMemoryBackend
	reads int
	glob  error
	// timeless leaves times out.
	timeless bool
}

func (b *counting) Read(ctx context.Context, req *filesystem.ReadRequest) (*filesystem.FileContent, error) {
	b.reads++
	return b.InMemoryBackend.Read(ctx, req)
}

func (b *counting) GlobInfo(ctx context.Context, req *filesystem.GlobInfoRequest) ([]filesystem.FileInfo, error) {
	infos, err := b.InMemoryBackend.GlobInfo(ctx, req)
	for i := range infos {
		if b.timeless {
			infos[i].ModifiedAt = ""
		}
	}
	return infos, errors.Join(err, b.glob)
}

func newFileBackend(t *testing.T, c BackendFromFilesystemConfig) Backend {
	t.Helper()
	if c.BaseDir == "" {
		c.BaseDir = "/skills"
	}
	b, err := NewBackendFromFilesystem(t.Context(), &c)
	require.NoError(t, err)
	return b
}

func names(t *testing.T, b Backend) (all []string) {
	t.Helper()
	list, err := b.List(t.Context())
	require.NoError(t, err)
	for _, s := range list {
		all = append(all, s.Name)
	}
	return all
}

// Rule batteries/SK-13.
func TestFileBackend_Config(t *testing.T) {
	var nilBackend *filesystem.InMemoryBackend
	for want, c := range map[string]*BackendFromFilesystemConfig{
		"config is required":  nil,
		"backend is required": {BaseDir: "/", Backend: nilBackend},
		"baseDir is required": {Backend: filesystem.NewInMemoryBackend()},
	} {
		b, err := NewBackendFromFilesystem(t.Context(), c)
		require.EqualError(t, err, want)
		require.True(t, b == nil, "the interface itself is nil")
	}
}

// Rules batteries/SK-13, batteries/SK-14.
func TestFileBackend_ListsAndGetsSkills(t *testing.T) {
	files := filesystem.NewInMemoryBackend()
	b := newFileBackend(t, BackendFromFilesystemConfig{Backend: files})
	list, err := b.List(t.Context())
	require.NoError(t, err)
	require.Empty(t, list)

	write(t, files, "/skills/z/SKILL.md",
		"\n---\nname: alpha\ndescription: first\nextra: {a: 1}\nmodel: strong\ncontext: fork\nagent: painter\n---\n\n# Alpha\n\nall:\n\techo 1\t2\n\n")
	write(t, files, "/skills/a/SKILL.md", "---\r\nname: beta\r\n---\r\ntext\r\n")
	write(t, files, "/skills/SKILL.md", "no skill")
	write(t, files, "/skills/a/b/SKILL.md", "no skill")
	write(t, files, "/skills/a/NOTES.md", "no skill")
	require.Equal(t, []string{"alpha", "beta"}, names(t, b))

	s, err := b.Get(t.Context(), "alpha")
	require.NoError(t, err)
	require.Equal(t, Skill{FrontMatter: FrontMatter{Name: "alpha", Description: "first", Context: ContextModeFork,
		Agent: "painter", Model: "strong"},
		Content: "# Alpha\n\nall:\n\techo 1\t2", BaseDirectory: "/skills/z"}, s)
	_, err = b.Get(t.Context(), "gamma")
	require.EqualError(t, err, "skill not found: gamma")
}

func TestFileBackend_LocalFiles(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "skills", "one"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "skills", "one", "SKILL.md"), []byte("---\nname: one\n---\ntext"),
		0o600))
	files, err := local.NewBackend(t.Context(), &local.Config{Root: dir})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	b := newFileBackend(t, BackendFromFilesystemConfig{Backend: files,
		BaseDir: filepath.ToSlash(filepath.Join(dir, "skills"))})
	s, err := b.Get(t.Context(), "one")
	require.NoError(t, err)
	require.Equal(t, filepath.ToSlash(filepath.Join(dir, "skills", "one")), s.BaseDirectory)
	_, err = newFileBackend(t, BackendFromFilesystemConfig{Backend: files,
		BaseDir: filepath.ToSlash(filepath.Join(dir, "none"))}).List(t.Context())
	require.NoError(t, err)
}

// Rules batteries/B13.15, batteries/SK-13.
func TestFileBackend_BrokenFiles(t *testing.T) {
	for content, want := range map[string]string{
		"text":                 "failed to list skills: failed to load skill from /skills/bad/SKILL.md: failed to parse frontmatter: file does not start with frontmatter delimiter",
		"":                     "failed to list skills: failed to load skill from /skills/bad/SKILL.md: failed to parse frontmatter: file does not start with frontmatter delimiter",
		"---\nname: x":         "failed to list skills: failed to load skill from /skills/bad/SKILL.md: failed to parse frontmatter: frontmatter closing delimiter not found",
		"---\nname: [\n---\n":  "failed to list skills: failed to load skill from /skills/bad/SKILL.md: failed to unmarshal frontmatter: ",
		"---\nname: {}\n---\n": "failed to list skills: failed to load skill from /skills/bad/SKILL.md: failed to unmarshal frontmatter: ",
	} {
		files := filesystem.NewInMemoryBackend()
		write(t, files, "/skills/bad/SKILL.md", content)
		write(t, files, "/skills/good/SKILL.md", "---\nname: good\n---\n")
		b := newFileBackend(t, BackendFromFilesystemConfig{Backend: files})
		list, err := b.List(t.Context())
		require.ErrorContains(t, err, want)
		require.Nil(t, list)
		s, err := b.Get(t.Context(), "bad")
		require.ErrorContains(t, err, want)
		require.Zero(t, s)
		_, err = b.Get(t.Context(), "good")
		require.NoError(t, err, "one file does not hide another")

		var warned []string
		lenient := newFileBackend(t, BackendFromFilesystemConfig{Backend: files, OnLoadWarning: func(path string, err error) {
			require.Error(t, err)
			warned = append(warned, path)
		}})
		require.Equal(t, []string{"good"}, names(t, lenient))
		require.Equal(t, []string{"/skills/bad/SKILL.md"}, warned)
	}

	_, err := newFileBackend(t,
		BackendFromFilesystemConfig{Backend: &counting{InMemoryBackend: filesystem.NewInMemoryBackend(),
			glob: errors.New("boom")}}).List(t.Context())
	require.EqualError(t, err, "failed to list skills: failed to glob skill files: boom")
	gone := &vanishing{filesystem.NewInMemoryBackend()}
	_, err = newFileBackend(t, BackendFromFilesystemConfig{Backend: gone}).List(t.Context())
	require.ErrorContains(t, err,
		"failed to list skills: failed to load skill from /skills/a/SKILL.md: failed to read file: ")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// vanishing lists a file that is gone when it is read.
type vanishing struct{ *filesystem.InMemoryBackend }

func (vanishing) GlobInfo(context.Context, *filesystem.GlobInfoRequest) ([]filesystem.FileInfo, error) {
	return []filesystem.FileInfo{{Path: "a/SKILL.md"}}, nil
}

// Rule batteries/B13.27.
func TestFileBackend_ReadsOnlyWhatChanged(t *testing.T) {
	files := &counting{InMemoryBackend: filesystem.NewInMemoryBackend()}
	b := newFileBackend(t, BackendFromFilesystemConfig{Backend: files})
	for _, name := range []string{"a", "b", "c"} {
		write(t, files, "/skills/"+name+"/SKILL.md", "---\nname: "+name+"\n---\nold")
	}
	require.Equal(t, []string{"a", "b", "c"}, names(t, b))
	require.Equal(t, 3, files.reads)
	names(t, b)
	_, err := b.Get(t.Context(), "b")
	require.NoError(t, err)
	require.Equal(t, 3, files.reads)

	write(t, files, "/skills/b/SKILL.md", "---\nname: b\n---\nnew text")
	s, err := b.Get(t.Context(), "b")
	require.NoError(t, err)
	require.Equal(t, "new text", s.Content)
	require.Equal(t, 4, files.reads)
	require.NoError(t, files.Delete(t.Context(), &filesystem.DeleteRequest{FilePath: "/skills/a/SKILL.md"}))
	require.Equal(t, []string{"b", "c"}, names(t, b))
	require.Equal(t, 4, files.reads)

	files.timeless, files.reads = true, 0
	names(t, b)
	names(t, b)
	require.Equal(t, 4, files.reads, "what may have changed is read")
}

// Rule batteries/B13.15.
func TestParse_LineNumbers(t *testing.T) {
	front, body, err := parse("     1\t---\n     2\tname: x\n     3\t---\n     4\t\tindented\n\n     6\t7\ttable")
	require.NoError(t, err)
	require.Equal(t, "x", front.Name)
	require.Equal(t, "indented\n\n7\ttable", body)
	_, body, err = parse("---\nname: x\n---\n1\tone\n2\ttwo")
	require.NoError(t, err)
	require.Equal(t, "1\tone\n2\ttwo", body, "numbers of the text itself stay")
}
