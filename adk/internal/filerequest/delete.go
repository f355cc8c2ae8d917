// Package filerequest has the requests to backends of files that go by more than one name.
//
// Package filesystem exports them, and middlewares export them again, so that a backend made for the one is a backend
// for the other. It holds plain data and must never get behaviour.
package filerequest

// DeleteRequest removes a file.
type DeleteRequest struct {
	// FilePath is the file. Directories are not removed.
	FilePath string
}
