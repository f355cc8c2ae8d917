//go:build !unix

package mcptool

import "os/exec"

// ownGroup does nothing: there are no process groups.
func ownGroup(*exec.Cmd) {}

func stopGroup(cmd *exec.Cmd) { killGroup(cmd) }

func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
