package compose

import (
	"slices"
	"sync/atomic"
)

// arena is the memory of one run, sized to the plan and reused by later runs: where values wait between nodes, and
// what is ready. Only the run's scheduler touches it; nodes get their task alone.
type arena struct {
	*plan
	linkStates []linkState
	nodeStates []nodeState
	// tasks has one for each node that has run in this or an earlier run.
	tasks []*task
	// ready are the nodes to start next, in the order of the plan.
	ready []int
	// running counts the tasks that were started and whose end was not seen yet.
	running int
	// abandoned counts the tasks that an interrupt from outside gave up while they ran.
	abandoned int
	// failed is the first task that failed.
	failed atomic.Pointer[task]
	// ended takes the tasks that end on goroutines of their own. It has room for all, so that a task never waits.
	ended chan *task
	// completed are the tasks whose end was seen in this round, in that order.
	completed []*task
	// last are the nodes that completed last, for the error of a run that got stuck.
	last    []int
	batch   []*task   // scratch for starting
	outputs []mapped  // scratch for gathering inputs
	single  [1]stream // scratch for the output of a node with one receiver
	chosen  []bool    // scratch for branches: the outLinks of a node that its branches chose
}

// linkState holds what waits on a link.
type linkState struct {
	value   any
	stream  stream
	has     bool // a value or a stream is here
	arrived bool // the source delivered, or will not
	control control
}

// control says what a node knows of a predecessor it waits for. The values are stored in checkpoints.
type control uint8

const (
	controlWaiting control = iota
	controlReady
	controlSkipped
)

// nodeState counts what a node of a DAG still waits for. It follows from the links and is not stored.
type nodeState struct {
	waitingControls, readyControls, waitingDatas int32
	skipped, fired, queued                       bool
	// handedOn: an output of the node went to its successors, in this run.
	handedOn bool
}

// fit makes the memory for runs of a plan.
func (a *arena) fit(p *plan) {
	a.plan = p
	a.linkStates = make([]linkState, len(p.links))
	a.nodeStates = make([]nodeState, len(p.nodes))
	a.tasks = make([]*task, len(p.nodes))
	a.ready = make([]int, 0, len(p.nodes))
	a.reset()
}

func (a *arena) reset() {
	clear(a.linkStates)
	a.single[0] = nil
	for _, t := range a.tasks {
		if t != nil {
			*t = task{}
		}
	}
	clear(a.outputs[:cap(a.outputs)])
	clear(a.completed[:cap(a.completed)])
	clear(a.batch[:cap(a.batch)])
	a.failed.Store(nil)
	a.last = a.last[:0]
	a.ready, a.completed, a.outputs, a.batch = a.ready[:0], a.completed[:0], a.outputs[:0], a.batch[:0]
	for i := range a.nodeStates {
		n := &a.nodes[i]
		a.nodeStates[i] = nodeState{waitingControls: int32(n.controls), waitingDatas: int32(n.datas)}
	}
}

// task returns the task of a node, as good as new.
func (a *arena) task(i int) *task {
	t := a.tasks[i]
	if t == nil {
		t = new(task)
		a.tasks[i] = t
	} else {
		*t = task{}
	}
	t.node = &a.nodes[i]
	return t
}

// deliver puts an output on a link; s is nil in a run of values.
func (a *arena) deliver(li int, v any, s stream) {
	ls := &a.linkStates[li]
	if ls.stream != nil {
		ls.stream.Close()
	}
	ls.value, ls.stream, ls.has = v, s, true
	a.arrive(li)
}

// arrive notes that nothing more comes over the link's data side.
func (a *arena) arrive(li int) {
	l, ls := &a.links[li], &a.linkStates[li]
	if !a.dag {
		if ls.has {
			a.queue(l.to)
		}
		return
	}
	if ls.arrived || !l.data() {
		return
	}
	ls.arrived = true
	a.nodeStates[l.to].waitingDatas--
	a.queueIfReady(l.to)
}

// permit notes what the source of a link says about running the target. Only DAGs ask.
func (a *arena) permit(li int, c control) {
	l, ls := &a.links[li], &a.linkStates[li]
	if !a.dag || ls.control != controlWaiting || !l.control() {
		return
	}
	ls.control = c
	n := &a.nodeStates[l.to]
	n.waitingControls--
	if c == controlReady {
		n.readyControls++
	}
	a.queueIfReady(l.to)
}

// queueIfReady decides about a node of a DAG once all predecessors have decided. A node that no predecessor permits is
// skipped and says so to its successors.
func (a *arena) queueIfReady(i int) {
	n, pn := &a.nodeStates[i], &a.nodes[i]
	if n.fired || n.skipped || n.waitingControls > 0 {
		return
	}
	if pn.controls > 0 && n.readyControls == 0 || pn.controls == 0 && a.someDataSkipped(pn) {
		a.skip(i)
		return
	}
	if n.waitingDatas == 0 {
		a.queue(i)
	}
}

// someDataSkipped reports whether a node without control predecessors is skipped: one of those that it takes data from
// is.
func (a *arena) someDataSkipped(pn *planNode) bool {
	for _, li := range pn.inLinks {
		if ls := &a.linkStates[li]; ls.arrived && !ls.has && a.nodeStates[a.links[li].from].skipped {
			return true
		}
	}
	return false
}

func (a *arena) skip(i int) {
	a.nodeStates[i].skipped = true
	for _, li := range a.nodes[i].outLinks {
		a.permit(li, controlSkipped)
		a.arrive(li)
	}
}

func (a *arena) queue(i int) {
	if a.nodeStates[i].queued {
		return
	}
	a.nodeStates[i].queued = true
	at, _ := slices.BinarySearch(a.ready, i)
	a.ready = slices.Insert(a.ready, at, i)
}

// take empties the links into a node and forgets that it was ready. The outputs are in the order of the
// predecessors and valid until the next take.
func (a *arena) take(n *planNode) []mapped {
	a.nodeStates[n.index].queued = false
	a.nodeStates[n.index].fired = a.dag
	a.outputs = a.outputs[:0]
	for _, li := range n.inLinks {
		ls := &a.linkStates[li]
		if !ls.has {
			continue
		}
		from := &a.nodes[a.links[li].from]
		a.outputs = append(a.outputs, mapped{from: from.key, value: ls.value, stream: ls.stream, output: from.output(),
			link: &a.links[li]})
		ls.value, ls.stream, ls.has = nil, nil, false
	}
	return a.outputs
}

// closePending closes the streams that will not be read any more.
func (a *arena) closePending() {
	for i := range a.linkStates {
		if s := a.linkStates[i].stream; s != nil {
			s.Close()
			a.linkStates[i].stream = nil
		}
	}
}
