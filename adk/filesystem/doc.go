// Package filesystem says what an agent needs to work with files and a shell, and has a file store in memory.
//
// A [Backend] lists, reads, searches, writes and edits files. A backend that can do more implements more interfaces:
// [MultiModalReader] for images and PDFs, [Deleter] to remove files, [Shell] or [StreamingShell] to run commands. Tools
// and middlewares take the interfaces, so that the same agent works on a directory, on a sandbox far away, or on
// nothing but memory.
//
// [InMemoryBackend] keeps everything in memory: for tests, and for agents that need a scratch pad and no disk. The
// package local beside this one has the backend for real files.
//
// Paths are slash-separated on every platform. How an error text looks is up to the backend, but a file that does not
// exist is an error for which errors.Is(err, fs.ErrNotExist) holds.
package filesystem
