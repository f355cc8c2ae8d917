package storekit

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/weftgo/weft/runs"
)

// RowError says which run has a row that cannot be read. It matches [runs.ErrUnreadable].
type RowError struct {
	ID  string
	Err error
}

// NewRowError names the run in an error of its row.
func NewRowError(id string, err error) *RowError {
	if !errors.Is(err, runs.ErrUnreadable) {
		err = fmt.Errorf("%w: %w", runs.ErrUnreadable, err)
	}
	return &RowError{id, err}
}

func (e *RowError) Error() string { return fmt.Sprintf("run %q: %v", e.ID, e.Err) }

func (e *RowError) Unwrap() error { return e.Err }

// Unreadable returns the entry of lists for a run whose row cannot be read: a run that has failed. No worker executes it,
// and Remove removes it.
func (e *RowError) Unreadable() runs.Info {
	return runs.Info{ID: e.ID, Status: runs.Failed, Error: e.Err.Error()}
}

// passedFor is for how long a run is passed over that cannot be read.
const passedFor = time.Minute

// PassedOver are runs that AcquireDue passes over for a minute because their rows cannot be read: so that one such row
// stops no worker, and is reported once a minute. The zero value is none. It is safe for concurrent use.
type PassedOver[K comparable] struct {
	mu    sync.Mutex // guards until
	until map[K]time.Time
}

// Add passes a run over, and reports whether it was not passed over already.
func (p *PassedOver[K]) Add(key K) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if now.Before(p.until[key]) {
		return false
	}
	if p.until == nil {
		p.until = map[K]time.Time{}
	}
	p.until[key] = now.Add(passedFor)
	return true
}

// Keys are the keys that are passed over now.
func (p *PassedOver[K]) Keys() []K {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(p.until, func(_ K, until time.Time) bool { return !now.Before(until) })
	return slices.Collect(maps.Keys(p.until))
}
