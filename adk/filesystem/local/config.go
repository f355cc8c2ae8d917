package local

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"time"
)

// Config configures [NewBackend]. Only Root is required.
type Config struct {
	// Root is the directory that the agent gets. It must exist. "/" gives everything.
	Root string

	// Mount is the absolute path at which requests and results show the root. The default is the path of Root, so that paths
	// mean the same for the file methods and the shell. "/" makes a tree of its own, like the in-memory backend, and does
	// not reveal where on the host it lies; use it without the shell.
	Mount string

	// MaxBytes bounds the text that a Read, a GrepRaw or an Edit handles at once, and the size of a file that a
	// multiline GrepRaw looks into. Default 16 MiB.
	MaxBytes int

	// MaxResults bounds the entries that LsInfo, GrepRaw and GlobInfo return. Default 100000.
	MaxResults int

	// SkipDirs are names of directories that GrepRaw and GlobInfo do not enter, unless a request names them. Default
	// .git, .hg and .svn; an empty slice that is not nil means none.
	SkipDirs []string

	// MultiModalRead configures reading of images and PDFs.
	MultiModalRead MultiModalReadConfig

	// ValidateCommand is asked before each command; its error refuses the command. It is a guard rail, not a sandbox: a
	// shell command has many disguises. Default: every command runs.
	ValidateCommand func(string) error

	// Shell is the program that runs commands, with its arguments; the command is added as the last one. Default
	// /bin/sh -c, on Windows cmd /S /C.
	Shell []string

	// Env is the environment of commands as key=value. The default, nil, is [DefaultEnv], which has none of the keys
	// and tokens that this process may have. os.Environ() gives commands everything, append(DefaultEnv(), …) a little
	// more, and an empty slice that is not nil nothing. To all of them WEFT_COMMAND is added, by which Close and
	// Timeout find the processes that a command has started.
	Env []string

	// Timeout stops commands that run longer, but not those in the background. Default 2 minutes; negative means never.
	Timeout time.Duration

	// MaxOutputBytes bounds the output that is kept of a command: its start and its end. Default 256 KiB.
	MaxOutputBytes int
}

const (
	defaultMaxBytes       = 16 << 20
	defaultMaxResults     = 100_000
	defaultMaxOutputBytes = 256 << 10
	defaultTimeout        = 2 * time.Minute
)

// complete returns a copy with the defaults filled in, or what is wrong.
func (c *Config) complete() (*Config, error) {
	if c == nil {
		return nil, errors.New("config is required")
	}
	full := *c
	if c.Root == "" {
		return nil, errors.New("config.Root is required: set it to the directory that the agent may use")
	}
	root, err := filepath.Abs(c.Root)
	if err != nil {
		return nil, fmt.Errorf("config.Root: %w", err)
	}
	full.Root = root
	if c.Mount == "" {
		full.Mount = filepath.ToSlash(root)
	} else if full.Mount = filepath.ToSlash(c.Mount); !isAbs(full.Mount) {
		return nil, fmt.Errorf("config.Mount %q must be an absolute path", c.Mount)
	}
	full.Mount = path.Clean(full.Mount)

	for _, n := range []struct {
		name  string
		value *int
		def   int
	}{
		{"MaxBytes", &full.MaxBytes, defaultMaxBytes},
		{"MaxResults", &full.MaxResults, defaultMaxResults},
		{"MaxOutputBytes", &full.MaxOutputBytes, defaultMaxOutputBytes},
	} {
		switch {
		case *n.value < 0:
			return nil, fmt.Errorf("config.%s must not be negative; 0 means %d", n.name, n.def)
		case *n.value == 0:
			*n.value = n.def
		}
	}
	if full.Timeout == 0 {
		full.Timeout = defaultTimeout
	}
	if c.SkipDirs == nil {
		full.SkipDirs = []string{".git", ".hg", ".svn"}
	}
	full.SkipDirs = slices.Clone(full.SkipDirs)
	full.Shell = slices.Clone(c.Shell)
	full.Env = DefaultEnv()
	if c.Env != nil {
		full.Env = slices.Clone(c.Env)
	}
	full.MultiModalRead = c.MultiModalRead.complete()
	return &full, nil
}
