package compose

import (
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/weftgo/weft/internal/safe"
)

// distribute hands a node's output to its branches and successors. decided is nil unless the branches have been asked.
func (r *run) distribute(n *planNode, value any, s stream, decided *decision) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = graphError(safe.NewPanicError(v, debug.Stack()))
		}
	}()
	r.nodeStates[n.index].handedOn = true
	var chosen []bool
	if decided != nil {
		chosen, err = decided.chosen, decided.err
	} else if len(n.branches) > 0 {
		r.chosen = slices.Grow(r.chosen[:0], len(n.outLinks))[:len(n.outLinks)]
		chosen = r.chosen
		s, err = r.branch(n, value, s, chosen)
	}
	if err != nil {
		return graphErrorf("calculate next step fail, node: %s, error: %w", n.key, err)
	}
	copies := r.split(n, s, chosen)
	for i, li := range n.outLinks {
		l, taken := &r.links[li], len(chosen) > 0 && chosen[i]
		switch {
		case l.carries(taken) && s != nil:
			r.deliver(li, nil, copies[0])
			copies = copies[1:]
		case l.carries(taken):
			r.deliver(li, value, nil)
		case r.dag:
			r.arrive(li)
		}
		if l.edgeControl || taken {
			r.permit(li, controlReady)
		} else {
			r.permit(li, controlSkipped)
		}
	}
	return nil
}

// split makes a copy of an output stream for each link that carries it. Without one the stream is closed.
func (r *run) split(n *planNode, s stream, chosen []bool) []stream {
	if s == nil {
		return nil
	}
	receivers := 0
	for i, li := range n.outLinks {
		if r.links[li].carries(len(chosen) > 0 && chosen[i]) {
			receivers++
		}
	}
	switch receivers {
	case 0:
		s.Close()
		return nil
	case 1:
		r.single[0] = s
		return r.single[:]
	}
	return n.output().Copy(s, receivers)
}

// decision holds the outLinks that the branches of a node have chosen.
type decision struct {
	chosen []bool
	err    error
}

// decide asks the branches, in the goroutine of a node that streams: a condition may wait for the stream, and the
// scheduler must not.
func (t *task) decide() {
	if !t.run.streaming || len(t.node.branches) == 0 {
		return
	}
	s := t.stream
	t.stream = nil
	t.decided = &decision{chosen: make([]bool, len(t.node.outLinks))}
	t.stream, t.decided.err = t.run.branch(t.node, nil, s, t.decided.chosen)
}

// branch asks the node's branches. It notes in chosen which outLinks they chose and returns the stream to continue
// with.
func (r *run) branch(n *planNode, value any, s stream, chosen []bool) (stream, error) {
	var copies []stream
	if s != nil {
		copies = n.output().Copy(s, len(n.branches)+1)
		s = copies[len(n.branches)]
	}
	clear(chosen)
	for i := range n.branches {
		var own stream
		if copies != nil {
			own = copies[i]
		}
		decision, err := r.ask(n, i, value, own)
		if err == nil {
			err = n.branches[i].note(&decision, chosen)
		}
		if err != nil {
			for _, c := range copies[min(i+1, len(copies)):] {
				c.Close()
			}
			closeStream(s)
			return nil, err
		}
	}
	return s, nil
}

// note sets the places of the nodes that were chosen.
func (b *planBranch) note(c *choice, chosen []bool) error {
	for key := range c.all {
		place, ok := b.targets[key]
		if !ok {
			return b.wrongChoice(key)
		}
		chosen[place] = true
	}
	return nil
}

// ask runs the condition of one of the node's branches on the node's output or on a copy of its stream.
func (r *run) ask(n *planNode, i int, value any, own stream) (choice, error) {
	b := &n.branches[i]
	switch {
	case own != nil && b.convert:
		own = b.value.Typed(n.output().Untyped(own), b.value.Check)
	case own == nil && b.checked:
		checked, err := b.value.Check(value)
		if err != nil {
			return choice{}, fmt.Errorf("branch[%s]-[%d] pre handler fail: %w", n.key, i, err)
		}
		value = checked
	}
	return b.decide(r.ctx, value, own)
}
