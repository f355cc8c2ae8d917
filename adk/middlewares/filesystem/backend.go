package filesystem

import "github.com/weftgo/weft/adk/filesystem"

// What backends take and return, under the names of this package.
type (
	// FileInfo describes a file or directory.
	FileInfo = filesystem.FileInfo
	// GrepMatch is a line that a search found.
	GrepMatch = filesystem.GrepMatch
	// LsInfoRequest asks for the content of a directory.
	LsInfoRequest = filesystem.LsInfoRequest
	// ReadRequest asks for a file or a window of its lines.
	ReadRequest = filesystem.ReadRequest
	// MultiModalReadRequest asks for a file that may be an image or PDF.
	MultiModalReadRequest = filesystem.MultiModalReadRequest
	// GrepRequest asks for the lines that match a regular expression.
	GrepRequest = filesystem.GrepRequest
	// GlobInfoRequest asks for files whose paths match a pattern.
	GlobInfoRequest = filesystem.GlobInfoRequest
	// WriteRequest creates a file or replaces its content.
	WriteRequest = filesystem.WriteRequest
	// EditRequest replaces text in a file.
	EditRequest = filesystem.EditRequest
	// FileContent is the content of a file.
	FileContent = filesystem.FileContent
)
