package local

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// killRounds is the number of times that killMarked looks for processes that were started while it looked.
const killRounds = 20

// tag is an open file that the processes of commands inherit: a process that clears its environment still has it.
type tag struct {
	file *os.File
	name string // as /proc shows it
}

// firstTag is the descriptor of the first tag in a command, above those that shell scripts use.
const firstTag = 20

// newTag opens a tag, nil if that fails: then the environment alone marks processes. It must be closed.
func newTag() *tag {
	r, w, err := os.Pipe()
	if err != nil {
		return nil
	}
	_ = w.Close() // its readers get EOF
	name, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(r.Fd())))
	if err != nil {
		_ = r.Close()
		return nil
	}
	return &tag{r, name}
}

func (t *tag) close() {
	if t != nil {
		_ = t.file.Close()
	}
}

// inherited are files for a command, from descriptor 3 on, so that it has tags.
func inherited(tags ...*tag) []*os.File {
	files := make([]*os.File, firstTag-3)
	for _, t := range tags {
		if t != nil {
			files = append(files, t.file)
		}
	}
	return files
}

// isOpenIn reports whether a process has the tag.
func (t *tag) isOpenIn(pid int) bool {
	if t == nil {
		return false
	}
	folder := "/proc/" + strconv.Itoa(pid) + "/fd/"
	entries, _ := os.ReadDir(folder) // another user's, or it has ended
	for _, entry := range entries {
		if name, err := os.Readlink(folder + entry.Name()); err == nil && name == t.name {
			return true
		}
	}
	return false
}

// killMarked kills the processes that have a mark in their environment, or a tag. A process keeps the environment and the
// files of its parent, whatever group or session it moves to and whichever process adopts it, unless it removes both
// itself.
func killMarked(mark string, t *tag) {
	for range killRounds {
		entries, err := filepath.Glob("/proc/[0-9]*")
		if err != nil {
			return
		}
		found := false
		for _, entry := range entries {
			pid, err := strconv.Atoi(filepath.Base(entry))
			if err == nil && pid != os.Getpid() && killIfMarked(pid, mark, t) {
				found = true
			}
		}
		if !found {
			return
		}
	}
}

// killIfMarked kills a process that has a mark or a tag, and reports whether it has.
func killIfMarked(pid int, mark string, t *tag) bool {
	process, err := os.FindProcess(pid) // from here on the ID stands for this process, even when it has ended
	if err != nil {
		return false
	}
	defer process.Release()
	environment, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	marked := err == nil && bytes.Contains(environment, []byte(mark)) || t.isOpenIn(pid)
	return marked && process.Kill() == nil
}
