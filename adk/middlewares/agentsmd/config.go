package agentsmd

import (
	"context"
	"errors"
	"log"
	"slices"

	"github.com/weftgo/weft/adk/filesystem"
	"github.com/weftgo/weft/adk/middlewares/internal/typednil"
)

// ReadRequest asks for a file.
type ReadRequest = filesystem.ReadRequest

// FileContent is the content of a file.
type FileContent = filesystem.FileContent

// Backend is the place where the files are. A [filesystem.Backend] is one.
//
// If a backend has the method LsInfo of [filesystem.Backend] as well, files are read again only when their size or time
// of change differs; else they are read for each run.
type Backend interface {
	// Read returns a file. The error for a missing file wraps fs.ErrNotExist.
	Read(ctx context.Context, req *ReadRequest) (*FileContent, error)
}

// Config configures [New].
type Config struct {
	// Backend is the place where the files are. Required.
	Backend Backend
	// AgentsMDFiles are the files to show, in this order. A file that does not exist is passed over. Required.
	AgentsMDFiles []string
	// AllAgentsMDMaxBytes bounds the size of all files together, imports among them. The file that crosses it is cut
	// there, or left out if that would leave little of it; no more files are read, and the remaining ones of the list are
	// named. Default 0: no bound.
	AllAgentsMDMaxBytes int
	// PerAgentsMDMaxBytes bounds the size of each file. A larger one is cut there, and its imports are not followed.
	// Default 0: no bound.
	PerAgentsMDMaxBytes int
	// ImportRoot is the directory that imports must not leave. It compares paths as they are written; links are up to
	// the backend. Default: imports may lead anywhere.
	ImportRoot string
	// OnLoadWarning is called for what was passed over: missing files, circular imports, imports more than 5 deep or out
	// of the root, files that are too large. A file that stays missing is reported once. It may be called by several
	// goroutines at once. Default: the standard logger.
	OnLoadWarning func(filePath string, err error)
}

func (c *Config) validate() error {
	switch {
	case c == nil:
		return errors.New("[agentsmd]: config is required")
	case typednil.Is(c.Backend):
		return errors.New("[agentsmd]: backend is required")
	case len(c.AgentsMDFiles) == 0:
		return errors.New("[agentsmd]: at least one agent file path is required")
	case slices.Contains(c.AgentsMDFiles, ""):
		return errors.New("[agentsmd]: AgentsMDFiles has an empty path")
	case c.AllAgentsMDMaxBytes < 0:
		return errors.New("[agentsmd]: AllAgentsMDMaxBytes must be non-negative")
	case c.PerAgentsMDMaxBytes < 0:
		return errors.New("[agentsmd]: PerAgentsMDMaxBytes must be non-negative")
	}
	return nil
}

func logWarning(filePath string, err error) {
	log.Printf("[agentsmd] warning: %s: %v", filePath, err)
}
