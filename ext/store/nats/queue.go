package nats

import (
	"container/heap"
	"math"
	"time"

	"github.com/weftgo/weft/adk/checkpoint/storekit"
	"github.com/weftgo/weft/runs"
)

// queue has the runs of one queue and agent that may become due: those whose time has not come, by that, and those
// whose time has come, in the order in which they are to be taken. It is guarded by the mutex of its view.
type queue struct{ later, now ordered }

// queueName says which runs are in a queue.
type queueName struct{ queue, agent string }

func newQueue() *queue {
	return &queue{
		later: ordered{less: func(a, b *seen) bool { return a.from.Before(b.from) }},
		now:   ordered{less: func(a, b *seen) bool { return a.row.Before(&b.row, a.since, b.since) }},
	}
}

// farAway is a time at which no lease of today counts any more.
var farAway = time.Unix(math.MaxInt32, 0).AddDate(1000, 0, 0)

// dueFrom returns since when a run is due once no process holds it, and from when on that is so; false if it does not
// become due.
func dueFrom(r *storekit.Row) (since, from time.Time, ok bool) {
	since, ok = r.DueAt(farAway)
	if from = since; r.Run.Owner != "" && r.Run.LeaseUntil.After(since) {
		from = r.Run.LeaseUntil
	}
	return since, from, ok
}

// first is the run that is to be taken first, nil for none. It stays in the queue.
func (q *queue) first(now time.Time) *seen {
	for q.later.Len() > 0 && !q.later.all[0].from.After(now) {
		r := q.later.all[0]
		r.leave()
		heap.Push(&q.now, r)
	}
	if q.now.Len() == 0 {
		return nil
	}
	return q.now.all[0]
}

// enter puts a run into the queue that it belongs to.
func (v *view) enter(r *seen) {
	if r.isTried || r.in != nil {
		return
	}
	var ok bool
	if r.since, r.from, ok = dueFrom(&r.row); !ok {
		return
	}
	name := queueName{r.row.Run.Queue, r.row.Run.Agent}
	if v.queues[name] == nil {
		v.queues[name] = newQueue()
	}
	heap.Push(&v.queues[name].later, r)
}

// leave takes a run out of its queue.
func (r *seen) leave() {
	if r.in != nil {
		heap.Remove(r.in, r.index)
	}
}

// firstOf is the run that is to be taken first of those that are looked for, nil for none. It stays in its queue.
func (v *view) firstOf(due runs.Due, now time.Time) (first *seen) {
	for name, q := range v.queues {
		if len(due.Queues) == 0 && name.queue == storekit.OwnQueue {
			continue
		}
		if !isAmong(due.Queues, name.queue) || !isAmong(due.Agents, name.agent) {
			continue
		}
		r := q.first(now)
		if r != nil && (first == nil || r.row.Before(&first.row, r.since, first.since)) {
			first = r
		}
		if q.now.Len() == 0 && q.later.Len() == 0 {
			delete(v.queues, name)
		}
	}
	return first
}

// ordered is a heap of runs, each of which knows where in it it is.
type ordered struct {
	all  []*seen
	less func(a, b *seen) bool
}

func (o *ordered) Len() int           { return len(o.all) }
func (o *ordered) Less(i, j int) bool { return o.less(o.all[i], o.all[j]) }

func (o *ordered) Swap(i, j int) {
	o.all[i], o.all[j] = o.all[j], o.all[i]
	o.all[i].index, o.all[j].index = i, j
}

func (o *ordered) Push(x any) {
	r := x.(*seen)
	r.in, r.index = o, len(o.all)
	o.all = append(o.all, r)
}

func (o *ordered) Pop() any {
	last := len(o.all) - 1
	r := o.all[last]
	o.all[last], o.all = nil, o.all[:last]
	r.in = nil
	return r
}
