package local

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// killRounds is how often killMarked looks for processes that were started while it looked.
const killRounds = 20

// killMarked kills the processes that have a mark in their environment. A process keeps the environment of its parent,
// whatever group or session it moves to and whichever process adopts it, unless it removes the mark itself.
func killMarked(mark string) {
	for range killRounds {
		entries, err := filepath.Glob("/proc/[0-9]*")
		if err != nil {
			return
		}
		found := false
		for _, entry := range entries {
			pid, err := strconv.Atoi(filepath.Base(entry))
			if err == nil && pid != os.Getpid() && killIfMarked(pid, mark) {
				found = true
			}
		}
		if !found {
			return
		}
	}
}

// killIfMarked kills a process that has a mark, and reports whether it has.
func killIfMarked(pid int, mark string) bool {
	process, err := os.FindProcess(pid) // from here on the ID stands for this process, even when it has ended
	if err != nil {
		return false
	}
	defer process.Release()
	environment, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && bytes.Contains(environment, []byte(mark)) && process.Kill() == nil
}
