package storekit

import (
	"context"
	"sync"
	"time"
)

// Waiters wakes goroutines that wait for a change of something with a key. It holds nothing for keys that none waits for.
// The zero value is ready for use, by any number of goroutines.
type Waiters struct {
	mu    sync.Mutex // guards all fields below, and the fields of waiting
	waits map[string]*waiting
}

type waiting struct {
	count   int
	changed chan struct{}
}

// Watch returns a channel that is closed at the next change of a key. leave must be called once.
func (k *Waiters) Watch(key string) (changed <-chan struct{}, leave func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	w := k.waits[key]
	if w == nil {
		w = &waiting{changed: make(chan struct{})}
		if k.waits == nil {
			k.waits = map[string]*waiting{}
		}
		k.waits[key] = w
	}
	w.count++
	return w.changed, func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if w.count--; w.count == 0 && k.waits[key] == w {
			delete(k.waits, key)
		}
	}
}

// Await waits until a channel of Watch is closed, but no longer than most: the process that should wake it may be lost. It
// returns the error of ctx when that ends.
func Await(ctx context.Context, changed <-chan struct{}, most time.Duration) error {
	again := time.NewTimer(most)
	defer again.Stop()
	select {
	case <-changed:
	case <-again.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// Wake wakes those that wait for a key.
func (k *Waiters) Wake(key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if w := k.waits[key]; w != nil {
		close(w.changed)
		delete(k.waits, key)
	}
}

// Watched returns the keys that goroutines wait for.
func (k *Waiters) Watched() (keys []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for key := range k.waits {
		keys = append(keys, key)
	}
	return keys
}
