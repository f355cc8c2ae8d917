// Package registry is a map for what a process registers once and looks up all the time.
//
// Packages that let users register functions or types keep them in a Map: a lookup is one pointer load and one map
// access, a registration copies the map, and both are safe at any time.
// It must never be used for what changes per run.
package registry

import (
	"maps"
	"sync"
	"sync/atomic"
)

// Map is a copy-on-write map. The zero value is empty and ready.
type Map[K comparable, V any] struct {
	mu      sync.Mutex
	current atomic.Pointer[map[K]V]
}

// Get returns the value of k.
func (m *Map[K, V]) Get(k K) (V, bool) {
	if current := m.current.Load(); current != nil {
		v, ok := (*current)[k]
		return v, ok
	}
	var none V
	return none, false
}

// Set stores v, replacing what k had.
func (m *Map[K, V]) Set(k K, v V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := map[K]V{}
	if current := m.current.Load(); current != nil {
		next = maps.Clone(*current)
	}
	next[k] = v
	m.current.Store(&next)
}

// Snapshot returns a function that puts the map back to what it is now, for tests that register things.
func (m *Map[K, V]) Snapshot() (restore func()) {
	before := m.current.Load()
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.current.Store(before)
	}
}
