package skill

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"sync"

	"github.com/weftgo/weft/adk/filesystem"
	"github.com/weftgo/weft/adk/middlewares/internal/typednil"
)

// skillFiles matches the files of skills below the base directory.
const skillFiles = "*/SKILL.md"

// BackendFromFilesystemConfig configures [NewBackendFromFilesystem].
type BackendFromFilesystemConfig struct {
	// Backend is the place where the files are. Required.
	Backend filesystem.Backend
	// BaseDir is the directory with one directory for each skill. Required.
	BaseDir string
	// OnLoadWarning is called for files that are no valid skills, and List leaves those out. Without it such a file is an
	// error of List. It may be called by several goroutines at once.
	OnLoadWarning func(filePath string, err error)
}

// fileBackend finds skills in files, and keeps those that it has read until the files change.
type fileBackend struct {
	BackendFromFilesystemConfig

	mu    sync.Mutex
	known map[string]readSkill // by path
}

// A readSkill is a file as it was when it was read.
type readSkill struct {
	version filesystem.FileInfo
	skill   Skill
}

// NewBackendFromFilesystem returns a backend for the skills in <BaseDir>/<directory>/SKILL.md. Files are read when they
// are new or their size or time of change differs; if the file backend has no times of change, they are read each time.
// Skills are listed by name. A directory that does not exist has no skills. It fails if config is nil, or has no
// Backend or no BaseDir. The backend is safe for concurrent use if the one of the files is.
func NewBackendFromFilesystem(_ context.Context, config *BackendFromFilesystemConfig) (Backend, error) {
	switch {
	case config == nil:
		return nil, errors.New("config is required")
	case typednil.Is(config.Backend):
		return nil, errors.New("backend is required")
	case config.BaseDir == "":
		return nil, errors.New("baseDir is required")
	}
	return &fileBackend{BackendFromFilesystemConfig: *config}, nil
}

// List returns all skills.
func (b *fileBackend) List(ctx context.Context) ([]FrontMatter, error) {
	skills, err := b.load(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("failed to list skills: %w", err)
	}
	list := make([]FrontMatter, len(skills))
	for i := range skills {
		list[i] = skills[i].FrontMatter
	}
	return list, nil
}

// Get returns a skill by its name. Of several with the same name it is the one whose path comes first.
func (b *fileBackend) Get(ctx context.Context, name string) (Skill, error) {
	skills, err := b.load(ctx, name)
	if i := slices.IndexFunc(skills, func(s Skill) bool { return s.Name == name }); i >= 0 {
		return skills[i], nil
	}
	if err != nil {
		return Skill{}, fmt.Errorf("failed to list skills: %w", err)
	}
	return Skill{}, fmt.Errorf("skill not found: %s", name)
}

// load returns the skills there are, sorted, and the first error of a file. If wanted is the name of a skill and its
// file did not change since it was read, no other file is read.
func (b *fileBackend) load(ctx context.Context, wanted string) ([]Skill, error) {
	files, err := b.files(ctx)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	known := b.known
	b.mu.Unlock()

	for _, f := range files {
		if s, ok := known[f.Path]; ok && wanted != "" && s.skill.Name == wanted && s.isCurrent(f) {
			return []Skill{s.skill}, nil
		}
	}
	var skills []Skill
	var failed error
	read := make(map[string]readSkill, len(files))
	for _, f := range files {
		s, ok := known[f.Path]
		if !ok || !s.isCurrent(f) {
			s.version = f
			if s.skill, err = b.read(ctx, f.Path); err != nil {
				failed = cmp.Or(failed, b.broken(f.Path, err))
				continue
			}
		}
		read[f.Path] = s
		skills = append(skills, s.skill)
	}
	b.mu.Lock()
	b.known = read
	b.mu.Unlock()
	slices.SortStableFunc(skills, func(x, y Skill) int { return cmp.Compare(x.Name, y.Name) })
	return skills, failed
}

// isCurrent reports whether a file is still what was read. A time that is not known never is.
func (s readSkill) isCurrent(f filesystem.FileInfo) bool {
	return f.ModifiedAt != "" && s.version == f
}

// broken reports a file that is no skill to OnLoadWarning; without that it returns the error.
func (b *fileBackend) broken(path string, err error) error {
	if b.OnLoadWarning != nil {
		b.OnLoadWarning(path, err)
		return nil
	}
	return fmt.Errorf("failed to load skill from %s: %w", path, err)
}

// files finds the files of skills, sorted by their full paths.
func (b *fileBackend) files(ctx context.Context) ([]filesystem.FileInfo, error) {
	found, err := b.Backend.GlobInfo(ctx, &filesystem.GlobInfoRequest{Pattern: skillFiles, Path: b.BaseDir})
	if err != nil {
		return nil, fmt.Errorf("failed to glob skill files: %w", err)
	}
	files := make([]filesystem.FileInfo, len(found))
	for i, f := range found {
		if !path.IsAbs(f.Path) && !filepath.IsAbs(f.Path) {
			f.Path = path.Join(b.BaseDir, f.Path)
		}
		files[i] = f
	}
	slices.SortFunc(files, func(x, y filesystem.FileInfo) int { return cmp.Compare(x.Path, y.Path) })
	return files, nil
}

func (b *fileBackend) read(ctx context.Context, file string) (Skill, error) {
	content, err := b.Backend.Read(ctx, &filesystem.ReadRequest{FilePath: file})
	if err != nil {
		return Skill{}, fmt.Errorf("failed to read file: %w", err)
	}
	var text string
	if content != nil {
		text = content.Content
	}
	front, body, err := parse(text)
	if err != nil {
		return Skill{}, err
	}
	return Skill{FrontMatter: front, Content: body, BaseDirectory: path.Dir(file)}, nil
}
