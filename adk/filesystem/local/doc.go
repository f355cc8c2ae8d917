// Package local gives an agent the files below one directory, and a shell in it.
//
//	backend, err := local.NewBackend(ctx, &local.Config{Root: "/home/me/project"})
//	…
//	defer backend.Close()
//
// The file methods cannot leave the root, whatever path they are given and whatever changes on disk meanwhile: neither
// by "..", nor by absolute paths, nor by symbolic links, which are followed only as far as they stay inside. They go
// through [os.Root]. What it does not keep out are other file systems mounted below the root, and hard links: a file
// that has a name below the root is in the root, whatever names it has elsewhere, and can be read. The shell could make
// such a link to any file of the same file system and user.
//
// The shell is not contained: a command can do what the process may do. Give an agent the shell methods only if you
// would let it type into a terminal, or run the whole process in a sandbox.
//
// Writes and edits replace a file at once: a reader sees the old content or the new one. A file gets a new inode by
// that: other hard links to it keep the old content. Links to files are written through. Files of any size can be read
// in windows of lines and searched; what an answer may hold is bounded, and a method that would exceed a bound returns
// an error that says how to ask for less.
package local
