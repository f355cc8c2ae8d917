package compose

import (
	"errors"
	"fmt"
	"slices"

	"github.com/weftgo/weft/internal/core"
)

// pause collects why a run is to stop for now. Once something is in it no new node starts.
type pause struct {
	before, after []string
	interrupted   []*task
	timedOut      []*task
}

func (p *pause) requested() bool {
	return len(p.before) > 0 || len(p.after) > 0 || len(p.interrupted) > 0 || len(p.timedOut) > 0
}

// blocksEnd: a node that asked for an interrupt is owed one, even if another one led to END.
func (p *pause) blocksEnd() bool { return len(p.interrupted) > 0 }

// stepUnfinished reports whether a step, in a run of steps, was interrupted midway. What its finished nodes sent stays
// on the links then, to meet what the other nodes send when the run is resumed.
func (r *run) stepUnfinished() bool {
	return !r.dag && len(r.pause.interrupted)+len(r.pause.timedOut) > 0
}

func (r *run) listedBefore() []string {
	if !r.interrupts || r.resuming() || r.stepUnfinished() {
		return nil
	}
	var keys []string
	for _, i := range r.ready {
		if n := &r.nodes[i]; n.interruptBefore {
			keys = append(keys, n.key)
		}
	}
	return keys
}

// nestedInterrupt tells the graph around a nested graph that it has stopped.
type nestedInterrupt struct {
	signal     *core.InterruptSignal
	info       *InterruptInfo
	checkpoint *checkpoint
	// graphs are the signals of this graph and of those nested in it.
	graphs []*core.InterruptSignal
}

func (e *nestedInterrupt) Error() string { return "the nested graph was interrupted" }

// interruptError is the error of a root run that was interrupted.
type interruptError struct {
	info *InterruptInfo
	// signal is kept by the code around a run that is not saved by itself: see keptRun.
	signal *core.InterruptSignal
}

// InterruptSignal implements core.InterruptSignaler.
func (e *interruptError) InterruptSignal() *core.InterruptSignal { return e.signal }

func (e *interruptError) Error() string { return fmt.Sprintf("interrupt happened, info: %+v", e.info) }

// GetInterruptContexts implements core.InterruptContextsProvider.
func (e *interruptError) GetInterruptContexts() []*core.InterruptCtx {
	return e.info.InterruptContexts
}

func isInterrupt(err error) bool {
	var root *interruptError
	var nested *nestedInterrupt
	return errors.As(err, &root) || errors.As(err, &nested)
}

// suspend ends the run so that it can continue later: everything that is not done is put into a checkpoint.
func (r *run) suspend() error {
	byPlace := func(a, b *task) int { return a.node.index - b.node.index }
	slices.SortFunc(r.pause.interrupted, byPlace)
	slices.SortFunc(r.pause.timedOut, byPlace)
	state, err := r.copyState()
	if err != nil {
		return graphErrorf("failed to copy state: %w", err)
	}
	info := &InterruptInfo{
		State:           state,
		BeforeNodes:     r.pause.before,
		AfterNodes:      r.pause.after,
		RerunNodesExtra: map[string]any{},
		SubGraphs:       map[string]*InterruptInfo{},
	}
	cp := &checkpoint{
		State:          state,
		Inputs:         map[string]any{},
		SkipPreHandler: map[string]bool{},
		SubGraphs:      map[string]*checkpoint{},
	}
	if err := r.saveReady(cp); err != nil {
		return err
	}
	subs, err := r.saveInterrupted(cp, info)
	if err != nil {
		return err
	}
	if err := r.saveChannels(cp); err != nil {
		return err
	}
	signal, err := core.Interrupt(r.ctx, state, nil, subs)
	if err != nil {
		return graphError(err)
	}
	if r.nested {
		return &nestedInterrupt{signal: signal, info: info, checkpoint: cp, graphs: r.graphSignals(signal)}
	}
	stopped := &interruptError{info: info}
	if r.isKeptOutside() {
		stopped.signal = r.keep(signal)
	}
	cp.InterruptID2Addr, cp.InterruptID2State = core.SignalToPersistenceMaps(signal)
	if info.CheckPointID, err = r.storeCheckpoint(cp); err != nil {
		return err
	}
	info.InterruptContexts = core.ToInterruptContexts(signal, nil)
	return stopped
}

// saveInterrupted saves the nodes that have to run again, and returns the signals of those that asked for it.
func (r *run) saveInterrupted(cp *checkpoint, info *InterruptInfo) ([]*core.InterruptSignal, error) {
	var subs []*core.InterruptSignal
	for _, t := range r.pause.interrupted {
		key := t.node.key
		if t.nested != nil {
			subs = append(subs, t.nested.signal)
			cp.SubGraphs[key] = t.nested.checkpoint
			cp.SkipPreHandler[key] = true
			cp.RerunNodes = append(cp.RerunNodes, key)
			info.SubGraphs[key] = t.nested.info
			t.original.close()
			continue
		}
		subs = append(subs, t.signal)
		info.RerunNodes = append(info.RerunNodes, key)
		if extra := t.signal.InterruptInfo.Info; extra != nil {
			info.RerunNodesExtra[key] = extra
		}
	}
	for _, t := range r.pause.timedOut {
		info.RerunNodes = append(info.RerunNodes, t.node.key)
	}
	cp.RerunNodes = append(cp.RerunNodes, info.RerunNodes...)
	for _, tasks := range [][]*task{r.pause.interrupted, r.pause.timedOut} {
		for _, t := range tasks {
			if t.original == nil || t.nested != nil {
				continue
			}
			v, err := t.original.take(t.node.input())
			if err != nil {
				return nil, graphErrorf("save the input of node '%s': %w", t.node.key, err)
			}
			cp.Inputs[t.node.key] = v
		}
	}
	return subs, nil
}

// saveReady saves the inputs of the nodes that would have run next. If END is one of them no other would have.
func (r *run) saveReady(cp *checkpoint) error {
	if r.stepUnfinished() || r.reachedEnd() {
		return nil
	}
	for _, i := range r.ready {
		n := &r.nodes[i]
		value, s, err := r.gather(n)
		if err != nil {
			return err
		}
		if cp.Inputs[n.key], err = storable(n.input(), value, s); err != nil {
			return graphErrorf("save the input of node '%s': %w", n.key, err)
		}
	}
	r.ready = r.ready[:0]
	return nil
}

// storable returns what goes into a checkpoint for a value or a stream: streams are joined, and a nil of any type becomes
// an untyped one, which every serializer can take. A nil is a value: a stream without any has a value of its own.
func storable(k kind, value any, s stream) (any, error) {
	if s != nil {
		joined, err := k.Concat(s)
		if errors.Is(err, errEmptyStream) {
			return emptyStream{}, nil
		}
		if err != nil {
			return nil, err
		}
		value = joined
	}
	if isNil(value) {
		return nil, nil
	}
	return value, nil
}

// savedInput is the input that a node was started with, kept for an interrupt from outside.
type savedInput struct {
	value  any
	stream stream
}

func (s *savedInput) take(k kind) (any, error) {
	v, err := storable(k, s.value, s.stream)
	s.stream = nil
	return v, err
}

func (s *savedInput) close() {
	if s != nil {
		closeStream(s.stream)
		s.stream = nil
	}
}

// keepOriginal keeps a task's input where an interrupt from outside may make the node run again. An input that was
// made up, because the node got none, is not worth keeping.
func (r *run) keepOriginal(t *task, madeUp bool) {
	if r.outside == nil || madeUp {
		return
	}
	t.original = &savedInput{value: t.value}
	if t.stream != nil {
		copies := t.node.input().Copy(t.stream, 2)
		t.stream, t.original.stream = copies[0], copies[1]
	}
}
