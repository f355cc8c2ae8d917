package main

import (
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"time"
)

// pool is the worker processes. Its methods belong to one goroutine.
type pool struct {
	store, bank    string
	workers        []*exec.Cmd
	killed, frozen int
	// thawing are the workers that are frozen; each is thawed by a goroutine of its own.
	thawing sync.WaitGroup

	mu  sync.Mutex // guards ice
	ice map[*exec.Cmd]bool
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

// disturb kills a worker and starts another one, or freezes one for three times as long as its leases last. Of frozen
// workers there is one at a time, and it is not killed: it is to find out that it has lost its runs.
func (p *pool) disturb() error {
	i := rand.IntN(len(p.workers))
	if p.isFrozen(p.workers[i]) {
		return nil
	}
	if rand.IntN(2) == 0 && p.freeze(p.workers[i]) {
		return nil
	}
	p.killed++
	_ = p.workers[i].Process.Kill()
	_ = p.workers[i].Wait()
	cmd, err := p.worker()
	p.workers[i] = cmd
	return err
}

func (p *pool) isFrozen(cmd *exec.Cmd) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ice[cmd]
}

// freeze stops a worker in whatever it does, unless another one is frozen or the system cannot do that.
func (p *pool) freeze(cmd *exec.Cmd) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.ice) > 0 || freeze(cmd.Process) != nil {
		return false
	}
	p.frozen++
	p.ice = map[*exec.Cmd]bool{cmd: true}
	p.thawing.Go(func() {
		time.Sleep(3 * leaseTime)
		p.mu.Lock()
		defer p.mu.Unlock()
		_ = thaw(cmd.Process)
		delete(p.ice, cmd)
	})
	return true
}

// stop ends the workers as a deploy does, and waits for them.
func (p *pool) stop() error {
	p.thawing.Wait()
	var all error
	for _, cmd := range p.workers {
		if cmd != nil && cmd.Process != nil && interrupt(cmd.Process) == nil {
			all = errors.Join(all, cmd.Wait())
		}
	}
	return all
}
