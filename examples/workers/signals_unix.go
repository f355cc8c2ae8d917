//go:build unix

package main

import (
	"os"
	"syscall"
)

func freeze(p *os.Process) error    { return p.Signal(syscall.SIGSTOP) }
func thaw(p *os.Process) error      { return p.Signal(syscall.SIGCONT) }
func interrupt(p *os.Process) error { return p.Signal(os.Interrupt) }
