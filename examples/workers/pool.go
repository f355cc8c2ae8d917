package main

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"time"
)

// pool is the worker processes.
type pool struct {
	store, bank    string
	workers        []*exec.Cmd
	killed, frozen int
}

func (p *pool) start(n int) error {
	for range n {
		cmd, err := p.worker()
		if err != nil {
			return err
		}
		p.workers = append(p.workers, cmd)
	}
	return nil
}

func (p *pool) worker() (*exec.Cmd, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program, "-store", p.store, "-bank", p.bank)
	cmd.Stderr = os.Stderr
	return cmd, cmd.Start()
}

// disturb kills a worker and starts another one, or freezes one for longer than its leases last.
func (p *pool) disturb() error {
	i := rand.IntN(len(p.workers))
	if rand.IntN(2) == 0 && freeze(p.workers[i].Process) == nil {
		p.frozen++
		time.Sleep(leaseTime + 500*time.Millisecond)
		return thaw(p.workers[i].Process)
	}
	p.killed++
	_ = p.workers[i].Process.Kill()
	_ = p.workers[i].Wait()
	cmd, err := p.worker()
	p.workers[i] = cmd
	return err
}

// stop ends the workers as a deploy does, and waits for them.
func (p *pool) stop() {
	for _, cmd := range p.workers {
		if cmd != nil && cmd.Process != nil && interrupt(cmd.Process) == nil {
			_ = cmd.Wait()
		}
	}
}
