package compose

import (
	"crypto/sha256"

	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/internal/json"
)

// keptRun marks the interrupt of a run without a checkpoint ID that code of another run called, such as a tool. Nothing of
// the run is saved but what its nodes left with their interrupts, which is kept with the interrupt of that code. The code
// is called again from its start, and so is the graph: its nodes find what they left if it has the same input.
// Rule compose/S21.9.
type keptRun struct {
	// Input is a hash of what the graph was given, nil for a stream. The code may run one graph several times.
	Input []byte
}

// isKeptOutside reports whether the code that called the run keeps what it leaves.
func (r *run) isKeptOutside() bool {
	return r.inside && !r.nested && r.checkpointID() == nil && r.opts.checkpoint.writeTo == nil
}

// keep has a signal say what the code around the run keeps. States of graphs are not among it: they are made again.
func (r *run) keep(signal *core.InterruptSignal) *core.InterruptSignal {
	for _, graph := range r.graphSignals(signal) {
		graph.State = nil
	}
	signal.LayerSpecificPayload = &keptRun{Input: r.inputHash()}
	return signal
}

// graphSignals returns the signals of the graph and of the graphs nested in it.
func (r *run) graphSignals(own *core.InterruptSignal) []*core.InterruptSignal {
	graphs := []*core.InterruptSignal{own}
	for _, t := range r.pause.interrupted {
		if t.nested != nil {
			graphs = append(graphs, t.nested.graphs...)
		}
	}
	return graphs
}

// inputHash tells inputs apart, nil if the input is a stream or cannot be encoded.
func (r *run) inputHash() []byte {
	if r.whole == nil {
		return nil
	}
	data, err := json.Marshal(r.whole)
	if err != nil {
		return nil
	}
	sum := sha256.Sum256(data)
	return sum[:]
}

// isKept reports whether what an interrupt left is of a run that was kept, and whether it is of this one.
func (r *run) isKept(state core.InterruptState) (kept, this bool) {
	saved, kept := state.LayerSpecificPayload.(*keptRun)
	return kept, kept && string(saved.Input) == string(r.inputHash())
}
