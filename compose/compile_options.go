package compose

import (
	"context"
	"errors"
	"fmt"
	"maps"
)

// NodeTriggerMode says when a node of a graph runs.
type NodeTriggerMode string

const (
	// AnyPredecessor runs a node whenever a value arrived for it. The graph runs in steps and may have cycles. This
	// is the default of graphs, and what chains do.
	AnyPredecessor NodeTriggerMode = "any_predecessor"
	// AllPredecessor runs a node once all its predecessors are done or skipped. The graph must not have a cycle.
	// This is what workflows do.
	AllPredecessor NodeTriggerMode = "all_predecessor"
)

type graphCompileOptions struct {
	maxSteps        int
	name            string
	trigger         NodeTriggerMode
	steps           bool // super-steps also for AllPredecessor
	callbacks       []GraphCompileCallback
	fanIn           map[string]FanInMergeConfig
	store           CheckPointStore
	checkpointID    *string
	serializer      Serializer
	interruptBefore []string
	interruptAfter  []string
	deleteOnSuccess bool
	awaitSideNodes  bool
	reportStreams   func(ctx context.Context) bool
	beforeSaving    func(state any)

	given []GraphCompileOption
}

// GraphCompileOption configures compiling a graph.
type GraphCompileOption func(*graphCompileOptions)

func newCompileOptions(opts []GraphCompileOption) *graphCompileOptions {
	o := &graphCompileOptions{given: opts}
	for _, opt := range opts {
		if opt != nil {
			opt(o)
		}
	}
	return o
}

// WithMaxRunSteps limits the steps of a run; the default is the number of nodes plus 10. One step runs all nodes that
// are ready. It is for graphs that may have cycles and an error for [AllPredecessor].
func WithMaxRunSteps(maxSteps int) GraphCompileOption {
	return func(o *graphCompileOptions) { o.maxSteps = maxSteps }
}

// WithGraphName names the graph for callback handlers and for the addresses of interrupts.
func WithGraphName(graphName string) GraphCompileOption {
	return func(o *graphCompileOptions) { o.name = graphName }
}

// WithEagerExecution does nothing.
//
// Deprecated: it is the default where it is possible, with [AllPredecessor].
func WithEagerExecution() GraphCompileOption {
	return func(*graphCompileOptions) {}
}

// WithEagerExecutionDisabled makes a graph with [AllPredecessor] wait for all running nodes before it starts the
// next ones. The default is to start a node as soon as its own predecessors are done.
func WithEagerExecutionDisabled() GraphCompileOption {
	return func(o *graphCompileOptions) { o.steps = true }
}

// WithNodeTriggerMode says when nodes run. Chains and workflows do not take it.
func WithNodeTriggerMode(triggerMode NodeTriggerMode) GraphCompileOption {
	return func(o *graphCompileOptions) { o.trigger = triggerMode }
}

// WithGraphCompileCallbacks adds callbacks that get a description of the compiled graph.
func WithGraphCompileCallbacks(cbs ...GraphCompileCallback) GraphCompileOption {
	return func(o *graphCompileOptions) { o.callbacks = append(o.callbacks, cbs...) }
}

// FanInMergeConfig says how the streams that arrive at one node are merged.
type FanInMergeConfig struct {
	// StreamMergeWithSourceEOF makes the merged stream report the end of each source: a schema.SourceEOF error that
	// carries the key of the predecessor.
	StreamMergeWithSourceEOF bool
}

// WithFanInMergeConfig configures merging by the key of the node that is merged for. Unknown keys are ignored.
func WithFanInMergeConfig(confs map[string]FanInMergeConfig) GraphCompileOption {
	return func(o *graphCompileOptions) { o.fanIn = maps.Clone(confs) }
}

// WithCheckPointStore lets interrupted runs be saved and resumed (see [WithCheckPointID]).
func WithCheckPointStore(store CheckPointStore) GraphCompileOption {
	return func(o *graphCompileOptions) { o.store = store }
}

// InternalWithOwnCheckPoint is [WithCheckPointStore] for a store that has a place for each run by itself: every run is
// saved there, and continues from there, without a call option. It is for the agent runtime.
func InternalWithOwnCheckPoint(store CheckPointStore) GraphCompileOption {
	return func(o *graphCompileOptions) { o.store, o.checkpointID = store, new(string) }
}

// InternalBeforeSaving has ready called with the state of a run before that is copied for a checkpoint. It is for the agent
// runtime.
func InternalBeforeSaving[S any](ready func(state S)) GraphCompileOption {
	return func(o *graphCompileOptions) {
		o.beforeSaving = func(state any) {
			if s, ok := state.(S); ok {
				ready(s)
			}
		}
	}
}

// InternalWithStreamReports has runs by Invoke report their input and output to callback handlers as streams of one
// chunk where asStreams says so, which is asked only if there are handlers. It is for the agent runtime, whose nodes
// work on whole messages also where models and tools stream.
func InternalWithStreamReports(asStreams func(ctx context.Context) bool) GraphCompileOption {
	return func(o *graphCompileOptions) { o.reportStreams = asStreams }
}

// WithSerializer replaces the encoding of checkpoints.
func WithSerializer(serializer Serializer) GraphCompileOption {
	return func(o *graphCompileOptions) { o.serializer = serializer }
}

// WithInterruptBeforeNodes interrupts a run before any of the nodes runs. Unknown keys are ignored.
func WithInterruptBeforeNodes(nodes []string) GraphCompileOption {
	return func(o *graphCompileOptions) { o.interruptBefore = nodes }
}

// WithInterruptAfterNodes interrupts a run after any of the nodes ran. Unknown keys are ignored.
func WithInterruptAfterNodes(nodes []string) GraphCompileOption {
	return func(o *graphCompileOptions) { o.interruptAfter = nodes }
}

// WithCheckPointDeletion deletes a run's checkpoint when the run that resumed from it succeeds, if the store is a
// deleter (a type with Delete(ctx, checkPointID) error). The default is to keep it, so that it can be resumed again.
func WithCheckPointDeletion() GraphCompileOption {
	return func(o *graphCompileOptions) { o.deleteOnSuccess = true }
}

// WithAwaitSideNodes makes a run of a graph with [AllPredecessor] wait for nodes that END does not depend on. The
// default is to return as soon as END has its value and let such nodes finish on their own, unobserved.
func WithAwaitSideNodes() GraphCompileOption {
	return func(o *graphCompileOptions) { o.awaitSideNodes = true }
}

// check holds the options against the builder.
func (o *graphCompileOptions) check(g *graph) error {
	if o.trigger != "" && (g.component == ComponentOfChain || g.component == ComponentOfWorkflow) {
		return fmt.Errorf("%s doesn't support node trigger mode option", g.component)
	}
	switch o.trigger {
	case "", AnyPredecessor, AllPredecessor:
	default:
		return fmt.Errorf("unknown node trigger mode %q: use AnyPredecessor or AllPredecessor", o.trigger)
	}
	if o.maxSteps > 0 && o.dag(g) {
		return errors.New("cannot set max run steps in dag mode")
	}
	return nil
}

func (o *graphCompileOptions) dag(g *graph) bool {
	return o.trigger == AllPredecessor || g.component == ComponentOfWorkflow
}
