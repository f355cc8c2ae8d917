//go:build unix

package chaostest

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
)

// settingsVariable has the settings of a worker, in the environment of its process.
const settingsVariable = "WEFT_CHAOS_WORKER"

// osProcess is this program once more.
type osProcess struct {
	cmd *exec.Cmd
	// alive is open as long as this process lives: the other one ends with it.
	alive io.Closer
}

// startProcess has a test of this program executed in another process.
func startProcess(test string, s settings, logs io.Writer) (process, error) {
	encoded, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+test+"$", "-test.timeout=0")
	cmd.Env = append(os.Environ(), settingsVariable+"="+string(encoded))
	cmd.Stderr = logs
	alive, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	return &osProcess{cmd, alive}, cmd.Start()
}

func (p *osProcess) kill() bool   { return p.cmd.Process.Kill() == nil }
func (p *osProcess) freeze() bool { return p.cmd.Process.Signal(syscall.SIGSTOP) == nil }
func (p *osProcess) thaw()        { _ = p.cmd.Process.Signal(syscall.SIGCONT) }

func (p *osProcess) drain(hurry bool) {
	how := syscall.SIGTERM
	if hurry {
		how = syscall.SIGINT
	}
	_ = p.cmd.Process.Signal(how)
}

// wait takes a process for one that has ended well if it was asked to end before it knew what to do then.
func (p *osProcess) wait() error {
	err := p.cmd.Wait()
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() &&
		(status.Signal() == syscall.SIGTERM || status.Signal() == syscall.SIGINT) {
		return nil
	}
	return err
}

// onSignals returns a context that ends when this process is asked to end, and a channel that is closed when that is urgent.
// The process ends at once when the one that started it has.
func onSignals() (ctx context.Context, hurry <-chan struct{}, stop func()) {
	ctx, end := context.WithCancel(context.Background())
	urgent := make(chan struct{})
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	var once sync.Once
	go func() {
		for s := range signals {
			if s == syscall.SIGINT {
				once.Do(func() { close(urgent) })
			}
			end()
		}
	}()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	}()
	return ctx, urgent, func() {
		signal.Stop(signals)
		close(signals)
		end()
	}
}

// inside is a worker in this process, which can be drained and no more.
type inside struct {
	end, hurry func()
	ended      chan error
}

func startInside(w *worker) *inside {
	ctx, end := context.WithCancel(context.Background())
	hurried, hurry := context.WithCancel(context.Background())
	p := &inside{end, hurry, make(chan error, 1)}
	go func() { p.ended <- w.work(ctx, hurried.Done()) }()
	return p
}

func (*inside) kill() bool   { return false }
func (*inside) freeze() bool { return false }
func (*inside) thaw()        {}

func (p *inside) drain(hurry bool) {
	if hurry {
		p.hurry()
	}
	p.end()
}

func (p *inside) wait() error {
	defer p.hurry() // releases it
	return <-p.ended
}
