package turnqueue

import (
	"slices"
	"time"
)

// preempt is a request to end one turn:
//
//	state      kept in         next states
//	delayed    Queue.delayed   due or delivered, when its timer fires; void
//	due        Queue.due       delivered, when the turn begins; void
//	delivered  nowhere         none
//	void       nowhere         none: the turn was over before
type preempt struct {
	submit func()
	// ack is closed when the preempt is delivered or void.
	ack   chan struct{}
	timer *time.Timer
}

func (p *preempt) deliver() {
	p.submit()
	close(p.ack)
}

func (p *preempt) void() {
	if p.timer != nil {
		p.timer.Stop()
	}
	close(p.ack)
}

// Preempt has submit called, with the lock held, as soon as the delay is over and the turn with that number runs. The
// channel is closed behind that, or when the turn is over.
func (q *Queue[T]) Preempt(turn int, delay time.Duration, submit func()) <-chan struct{} {
	p := &preempt{submit: submit, ack: make(chan struct{})}
	switch {
	case turn == 0 || turn != q.Turn():
		p.void()
	case delay <= 0:
		q.becomesDue(p)
	default:
		q.delayed = append(q.delayed, p)
		p.timer = time.AfterFunc(delay, func() {
			q.lock.Lock()
			defer q.lock.Unlock()
			if i := slices.Index(q.delayed, p); i >= 0 {
				q.delayed = slices.Delete(q.delayed, i, i+1)
				q.becomesDue(p)
			}
		})
	}
	return p.ack
}

// becomesDue delivers a preempt, or keeps it until the turn begins.
func (q *Queue[T]) becomesDue(p *preempt) {
	if q.phase.HasBegun() {
		p.deliver()
		return
	}
	q.due = append(q.due, p)
}

// Pending returns how many preempts have been neither delivered nor void.
func (q *Queue[T]) Pending() int { return len(q.delayed) + len(q.due) }
