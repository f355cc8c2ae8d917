package filesystem

import (
	"context"
	"io"
)

// Backend is a store of files. Methods must be safe for concurrent use, must honour ctx, and must not keep requests.
type Backend interface {
	// LsInfo lists what lies directly in a directory. Path of an entry is its name. A path that names a file yields
	// that one entry, an unknown path nothing and no error.
	LsInfo(ctx context.Context, req *LsInfoRequest) ([]FileInfo, error)
	// Read returns a file or a window of its lines. The error for a missing file wraps fs.ErrNotExist.
	Read(ctx context.Context, req *ReadRequest) (*FileContent, error)
	// GrepRaw returns the lines that match a regular expression, in files below a directory or in one file. Path of a
	// match is absolute.
	GrepRaw(ctx context.Context, req *GrepRequest) ([]GrepMatch, error)
	// GlobInfo returns the files (not the directories) whose paths match a pattern.
	GlobInfo(ctx context.Context, req *GlobInfoRequest) ([]FileInfo, error)
	// Write creates a file or replaces its content.
	Write(ctx context.Context, req *WriteRequest) error
	// Edit replaces literal text in a file. The error for a missing file wraps fs.ErrNotExist.
	Edit(ctx context.Context, req *EditRequest) error
}

// Deleter is a [Backend] that can remove files too.
type Deleter interface {
	// Delete removes a file. The error for a missing file wraps fs.ErrNotExist.
	Delete(ctx context.Context, req *DeleteRequest) error
}

// Creator is a [Backend] that takes files piece by piece too.
type Creator interface {
	// Create starts a file, which takes the place of one that there may be when it is closed, as a whole. Before, and
	// if Write or Close returns an error, the file that was there stays. ctx is for the time until Close: when it ends
	// before, the file is discarded, and Write and Close return its error.
	Create(ctx context.Context, filePath string) (io.WriteCloser, error)
}

// FileInfo describes a file or directory.
type FileInfo struct {
	// Path is a name, a relative or an absolute path, depending on the method that returned it.
	Path string
	// IsDir is true for directories.
	IsDir bool
	// Size is the length in bytes; 0 for directories.
	Size int64
	// ModifiedAt is the time of the last change as RFC 3339 with nanoseconds; empty if the backend does not know it.
	ModifiedAt string
}

// GrepMatch is a line that [Backend.GrepRaw] found, or a line of context around one.
type GrepMatch struct {
	// Content is the line without its newline.
	Content string
	// Path is the absolute path of the file.
	Path string
	// Line is the number of the line, from 1.
	Line int
}

// LsInfoRequest asks for the content of a directory.
type LsInfoRequest struct {
	// Path of the directory; "" is the top.
	Path string
}

// ReadRequest asks for a file or a window of its lines.
type ReadRequest struct {
	// FilePath is the file.
	FilePath string
	// Offset is the first line, from 1; less than 1 means 1. An offset past the end gives empty content.
	Offset int
	// Limit is the greatest number of lines; 0 or less means the whole rest.
	Limit int
}

// GrepRequest asks for the lines that match a regular expression.
type GrepRequest struct {
	// Pattern is a regular expression in the syntax of the package regexp. Required.
	Pattern string
	// Path is the directory or file to search; "" is everything.
	Path string
	// Glob leaves only files that match it: the base name, or the path below Path if Glob contains "/" or "**".
	Glob string
	// FileType leaves only files with the extensions of a type such as "go", "py" or "markdown". A type that is not
	// known stands for the extension of that name. Glob and FileType apply together.
	FileType string
	// CaseInsensitive ignores case.
	CaseInsensitive bool
	// EnableMultiline matches the whole file at once: "." matches newlines too, and "^" and "$" match at lines. A match
	// yields every line that it spans.
	EnableMultiline bool
	// AfterLines and BeforeLines ask for so many lines of context around each match; 0 or less means none. With
	// context every line is returned at most once.
	AfterLines  int
	BeforeLines int
}

// GlobInfoRequest asks for files whose paths match a pattern.
type GlobInfoRequest struct {
	// Pattern is a glob: "*" and "?" do not cross "/", "**" does, "[a-z]" and "{a,b}" work. An absolute pattern is
	// matched with absolute paths and yields those; another is matched with paths relative to Path and yields those.
	Pattern string
	// Path is the place where a pattern that is not absolute starts; "" is the top.
	Path string
}

// WriteRequest creates a file or replaces its content.
type WriteRequest struct {
	// FilePath is the file. Directories on the way to it need not exist.
	FilePath string
	// Content is the whole new content.
	Content string
}

// EditRequest replaces text in a file.
type EditRequest struct {
	// FilePath is the file.
	FilePath string
	// OldString is the literal text to replace. It must not be empty and must occur in the file.
	OldString string
	// NewString takes its place.
	NewString string
	// ReplaceAll replaces every occurrence. Without it OldString must occur exactly once.
	ReplaceAll bool
}

// DeleteRequest removes a file.
type DeleteRequest struct {
	// FilePath is the file. Directories are not removed.
	FilePath string
}

// FileContent is the result of [Backend.Read].
type FileContent struct {
	// Content is the text as it is in the file. A window that ends before the file does has no newline after its last
	// line.
	Content string
}
