package dispatch

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// Pool is slots that several workers of a process share, such as one worker for each tenant. A worker that finds much to
// do may use all of them, as long as no other one waits for a slot; while others wait it gets no more than its share. No
// worker waits for longer than the next run takes to end. It is safe for concurrent use.
type Pool struct {
	each int

	mu   sync.Mutex // guards the fields below
	free int
	// held is the number of slots that each member has.
	held map[*member]int
	// waiting are the members that wait for a slot, the one that waits for longest first.
	waiting []*seat
	// looking are the members that were given a slot and look for a run. They come back for another one if there is one.
	looking map[*member]bool
}

// member is a worker that shares a pool.
type member struct{ pool *Pool }

// seat is a member that waits for a slot. granted is closed when it has one.
type seat struct {
	of      *member
	granted chan struct{}
}

// NewPool makes a pool of so many slots. MaxEach is how many a worker gets while others wait. It panics if one of them is
// not positive.
func NewPool(slots, maxEach int) *Pool {
	if slots <= 0 || maxEach <= 0 {
		panic(fmt.Sprintf("dispatch: a pool of %d slots, %d for each worker, has none to share", slots, maxEach))
	}
	return &Pool{each: maxEach, free: slots, held: map[*member]int{},
		looking: map[*member]bool{}}
}

// join adds a worker.
func (p *Pool) join() *member { return &member{p} }

// take waits for a slot. It is false if ctx ends before.
func (m *member) take(ctx context.Context) bool {
	p := m.pool
	s := &seat{m, make(chan struct{})}
	p.mu.Lock()
	delete(p.looking, m)
	p.waiting = append(p.waiting, s)
	p.grant()
	p.mu.Unlock()
	select {
	case <-s.granted:
		return true
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(p.waiting, s)
	if i < 0 { // it was granted at the same moment
		delete(p.looking, m)
		p.put(m)
		return false
	}
	p.waiting = slices.Delete(p.waiting, i, i+1)
	p.grant() // others may have waited for this one
	return false
}

// leave gives the slot of a run back that has ended.
func (m *member) leave() {
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	m.pool.put(m)
}

// pass gives a slot back for which there was no run.
func (m *member) pass() {
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	delete(m.pool.looking, m)
	m.pool.put(m)
}

// put gives a slot back, with mu locked.
func (p *Pool) put(m *member) {
	p.free++
	if p.held[m]--; p.held[m] == 0 {
		delete(p.held, m)
	}
	p.grant()
}

// grant gives the free slots to those that wait, with mu locked: to who waits for longest and has less than its share; if
// all that wait have theirs, to who waits for longest of those with the fewest. Slots that others lack of their share, who
// are about to come back for another one, are kept for them.
func (p *Pool) grant() {
	for p.free > 0 && len(p.waiting) > 0 {
		best := -1
		for i, s := range p.waiting {
			switch n := p.held[s.of]; {
			case n < p.each && (best < 0 || p.held[p.waiting[best].of] >= p.each):
				best = i
			case best < 0 || n >= p.each && n < p.held[p.waiting[best].of]:
				best = i
			}
		}
		s := p.waiting[best]
		if p.held[s.of] >= p.each && p.free <= p.kept() {
			return
		}
		p.waiting = slices.Delete(p.waiting, best, best+1)
		p.free--
		p.held[s.of]++
		p.looking[s.of] = true
		close(s.granted)
	}
}

// kept is the number of slots that members lack of their share that look for a run, with mu locked.
func (p *Pool) kept() (n int) {
	for m := range p.looking {
		n += max(p.each-p.held[m], 0)
	}
	return n
}
