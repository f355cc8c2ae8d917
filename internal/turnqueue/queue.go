// Package turnqueue is the life cycle of a loop that works off items in turns: its phase, the items that wait, preempts
// that are on their way to the present turn, and the time without anything to do.
//
// adk.TurnLoop uses it. It must never know what a turn does, and never start a goroutine but by the function that it
// was given for that.
package turnqueue

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// A Queue is the life cycle of one loop. Its owner calls all methods with one lock held, the one given to [New]. Timers
// of the queue lock it themselves.
type Queue[T any] struct {
	lock sync.Locker
	// wake starts the goroutine of the loop.
	wake  func()
	phase Phase
	// items wait for a turn, late ones came when it was too late.
	items, late []T
	// holds is the number of callers that want no turn to be chosen at present.
	holds int
	// turn is the number of the latest turn, from 1 on.
	turn int
	// delayed preempts wait for their timers, due ones for the turn to begin.
	delayed, due []*preempt
	idle         idleLimit
}

// idleLimit ends the loop when it has had nothing to do for a time. The timer runs from the end of the last turn on;
// nil without a limit, and while there is a turn.
type idleLimit struct {
	after time.Duration
	timer *time.Timer
}

func (i *idleLimit) stop() {
	if i.timer != nil {
		i.timer.Stop()
		i.timer = nil
	}
}

// New makes the queue of a loop. wake is called, with the lock held, when the loop needs its goroutine.
func New[T any](lock sync.Locker, wake func()) *Queue[T] { return &Queue[T]{lock: lock, wake: wake} }

// Phase returns the present phase.
func (q *Queue[T]) Phase() Phase { return q.phase }

// move changes the phase. It panics if the owner has lost track of the loop.
func (q *Queue[T]) move(to Phase) {
	if !q.phase.precedes(to) {
		panic(fmt.Sprintf("turnqueue: a loop that is %s cannot become %s", q.phase, to))
	}
	q.phase = to
}

// Start starts the loop. It reports false if it has been started already.
func (q *Queue[T]) Start() bool {
	to, ok := onStart[q.phase]
	if ok {
		q.move(to)
		q.wake()
	}
	return ok
}

// Wake has an idle loop look for something to do. A loop that is not idle does so in any case.
func (q *Queue[T]) Wake() {
	if q.phase == Idle {
		q.move(Choosing)
		q.wake()
	}
}

// Push adds an item, which waits for a turn. It reports false if the loop takes none any more.
func (q *Queue[T]) Push(item T) bool {
	if !q.phase.TakesItems() {
		return false
	}
	q.items = append(q.items, item)
	q.Wake()
	return true
}

// PushLate keeps an item that no turn will get. It reports false if the late items were taken already.
func (q *Queue[T]) PushLate(item T) bool {
	if q.phase == Sealed {
		return false
	}
	q.late = append(q.late, item)
	return true
}

// PutBack has items wait again, before all others.
func (q *Queue[T]) PutBack(items []T) {
	if len(items) > 0 {
		q.items = slices.Concat(items, q.items)
	}
}

// Hold keeps the loop from choosing a turn, until Release was called as often.
func (q *Queue[T]) Hold() { q.holds++ }

// Release takes a Hold back.
func (q *Queue[T]) Release() {
	q.holds--
	q.Wake()
}

// Next begins to plan a turn of all items that wait. Without any, or while the queue is held, it reports false and the
// loop is idle: its goroutine must end. more says that there is something to do even without items.
func (q *Queue[T]) Next(more bool) (items []T, ok bool) {
	if q.holds > 0 || len(q.items) == 0 && !more {
		q.move(Idle)
		q.limitIdleness()
		return nil, false
	}
	q.move(Planning)
	q.idle.stop()
	q.turn++
	items, q.items = q.items, nil
	return items, true
}

// Turn returns the number of the present turn, 0 if there is none.
func (q *Queue[T]) Turn() int {
	if q.phase.HasTurn() {
		return q.turn
	}
	return 0
}

// Begin lets the planned turn run, and delivers the preempts that wait for that. It reports false if the loop was
// stopped meanwhile: then the turn must not begin.
func (q *Queue[T]) Begin() bool {
	if q.phase != Planning {
		return false
	}
	q.move(Running)
	for _, p := range q.due {
		p.deliver()
	}
	q.due = nil
	return true
}

// Over ends the present turn. Preempts that have not been delivered turn out to have nothing to end.
func (q *Queue[T]) Over() {
	to, ok := onOver[q.phase]
	if !ok {
		panic(fmt.Sprintf("turnqueue: a loop that is %s has no turn", q.phase))
	}
	q.move(to)
	for _, p := range slices.Concat(q.delayed, q.due) {
		p.void()
	}
	q.delayed, q.due = nil, nil
}

// Stop has the loop end after the present turn, or now if that has not begun or there is none.
func (q *Queue[T]) Stop() {
	to, ok := onStop[q.phase]
	if !ok {
		return
	}
	asleep := q.phase == Idle
	q.move(to)
	q.idle.stop()
	if asleep {
		q.wake()
	}
}

// StopWhenIdleFor has the loop end when it has had nothing to do for that long. Of several limits the first one counts.
func (q *Queue[T]) StopWhenIdleFor(limit time.Duration) {
	if q.idle.after > 0 || !q.phase.TakesItems() {
		return
	}
	q.idle.after = limit
	if q.phase == Idle {
		q.limitIdleness()
	}
}

// limitIdleness starts the timer of an idle loop, unless it runs.
func (q *Queue[T]) limitIdleness() {
	if q.idle.after <= 0 || q.idle.timer != nil {
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(q.idle.after, func() {
		q.lock.Lock()
		defer q.lock.Unlock()
		if q.idle.timer != timer { // it was stopped too late
			return
		}
		q.idle.timer = nil
		switch {
		case q.phase == Idle && q.holds > 0:
			q.limitIdleness()
		case q.phase == Idle:
			q.Stop()
		}
	})
	q.idle.timer = timer
}

// End ends the loop and returns the items that still wait. There must be no present turn.
func (q *Queue[T]) End() []T {
	q.move(Ended)
	q.idle.stop()
	items := q.items
	q.items = nil
	return items
}

// Seal returns the late items. From then on there are no more.
func (q *Queue[T]) Seal() []T {
	if q.phase != Sealed {
		q.move(Sealed)
		q.late = slices.Clip(slices.Clone(q.late))
	}
	return q.late
}
