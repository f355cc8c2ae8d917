package filesystem

import "io/fs"

// NotFoundError is the error of a file that does not exist. errors.Is(err, fs.ErrNotExist) holds for it.
type NotFoundError struct {
	// Path is the path as the backend understood it.
	Path string
}

func (e *NotFoundError) Error() string { return "file not found: " + e.Path }

// Unwrap returns fs.ErrNotExist.
func (e *NotFoundError) Unwrap() error { return fs.ErrNotExist }
