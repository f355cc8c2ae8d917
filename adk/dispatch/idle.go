package dispatch

import (
	"sync"
	"time"
)

// idleWatch calls stop when a reader has waited for a time. The reader says when it begins to wait and when it does not,
// which it does for every event: so that moves no timer, which looks by itself when it is due.
type idleWatch struct {
	idle time.Duration
	stop func()

	mu sync.Mutex // guards the fields below
	// since is the time at which the reader began to wait, zero while it does not.
	since time.Time
	timer *time.Timer
}

// watchIdle begins with a reader that waits. end ends it.
func watchIdle(idle time.Duration, stop func()) *idleWatch {
	w := &idleWatch{idle: idle, stop: stop, since: time.Now()}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(idle, w.look)
	return w
}

func (w *idleWatch) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	left := w.idle
	if !w.since.IsZero() {
		left -= time.Since(w.since)
	}
	if left > 0 {
		w.timer.Reset(left)
		return
	}
	w.stop()
}

func (w *idleWatch) wait() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.since = time.Now()
}

func (w *idleWatch) rest() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.since = time.Time{}
}

func (w *idleWatch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer.Stop()
	w.since = time.Time{}
}
