// Package wakeup wakes those in a process that wait for a change of something with a key.
package wakeup

import "sync"

// Keys is who waits, by key. It holds nothing for keys that nobody waits for. The zero value is ready for use.
type Keys struct {
	mu    sync.Mutex // guards all fields below, and those of waiters
	waits map[string]*waiters
}

type waiters struct {
	count   int
	changed chan struct{}
}

// Watch returns a channel that is closed at the next change of a key. leave must be called once.
func (k *Keys) Watch(key string) (changed <-chan struct{}, leave func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	w := k.waits[key]
	if w == nil {
		w = &waiters{changed: make(chan struct{})}
		if k.waits == nil {
			k.waits = map[string]*waiters{}
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

// Wake wakes those that wait for a key.
func (k *Keys) Wake(key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if w := k.waits[key]; w != nil {
		close(w.changed)
		delete(k.waits, key)
	}
}

// Watched returns the keys that somebody waits for.
func (k *Keys) Watched() (keys []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for key := range k.waits {
		keys = append(keys, key)
	}
	return keys
}
