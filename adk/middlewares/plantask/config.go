package plantask

import (
	"context"
	"errors"

	"github.com/weftgo/weft/adk/filesystem"
	"github.com/weftgo/weft/adk/middlewares/internal/typednil"
)

// What backends take and return.
type (
	// FileInfo describes a file or directory. Of Path only the last element counts.
	FileInfo = filesystem.FileInfo
	// LsInfoRequest asks for the content of a directory.
	LsInfoRequest = filesystem.LsInfoRequest
	// ReadRequest asks for a file.
	ReadRequest = filesystem.ReadRequest
	// WriteRequest creates a file or replaces its content.
	WriteRequest = filesystem.WriteRequest
	// DeleteRequest removes a file.
	DeleteRequest = filesystem.DeleteRequest
)

// Backend is the place where the tasks are. [filesystem.InMemoryBackend] is one, and so is the backend of package local.
type Backend interface {
	// LsInfo lists a directory.
	LsInfo(ctx context.Context, req *LsInfoRequest) ([]FileInfo, error)
	// Read returns a file.
	Read(ctx context.Context, req *ReadRequest) (*filesystem.FileContent, error)
	// Write creates or replaces a file.
	Write(ctx context.Context, req *WriteRequest) error
	// Delete removes a file.
	Delete(ctx context.Context, req *DeleteRequest) error
}

var _ Backend = (*filesystem.InMemoryBackend)(nil)

// Config configures [New].
type Config struct {
	// Backend is the place where the tasks are. Required.
	Backend Backend
	// BaseDir is the directory of the list; nothing else should be in it. It need not exist. Required.
	BaseDir string
}

func (c *Config) validate() error {
	switch {
	case c == nil:
		return errors.New("config is required")
	case typednil.Is(c.Backend):
		return errors.New("backend is required")
	case c.BaseDir == "":
		return errors.New("baseDir is required")
	}
	return nil
}
