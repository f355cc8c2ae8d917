package adk

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"

	"github.com/weftgo/weft/adk/internal/journal"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/internal/safe"
)

// ResumeParams says what a resumed run is given.
type ResumeParams struct {
	// Targets has data for interrupt points, by their ID (see InterruptCtx). A point that is not among them interrupts
	// again; IDs that do not exist are ignored.
	Targets map[string]any
}

// Resume goes on with the run that was saved under checkPointID, and names no interrupt point: what stopped finds out
// that it was interrupted, and decides for itself. If it stops again, it is saved under the same ID. If it ends, the
// checkpoint stays as it was, and resuming it again repeats what came after it; a run that is saved at every step
// ([EveryStep]) takes its checkpoint away when it succeeds. The streaming mode is that of the saved run; agent, models
// and tools may be new ones of the same names.
func (r *TypedRunner[M]) Resume(ctx context.Context, checkPointID string, opts ...AgentRunOption) (*AsyncIterator[*TypedAgentEvent[M]], error) {
	return r.ResumeWithParams(ctx, checkPointID, nil, opts...)
}

// ResumeWithParams is [TypedRunner.Resume] with data for chosen interrupt points. nil params name none.
func (r *TypedRunner[M]) ResumeWithParams(ctx context.Context, checkPointID string, params *ResumeParams, opts ...AgentRunOption) (*AsyncIterator[*TypedAgentEvent[M]], error) {
	return engineOf[M]().resume(ctx, r, checkPointID, params, opts)
}

func (compiled[M]) resume(ctx context.Context, r *TypedRunner[M], checkPointID string, params *ResumeParams, opts []AgentRunOption) (*AsyncIterator[*TypedAgentEvent[M]], error) {
	run, err := newRunnerRun(ctx, r, opts)
	if err != nil {
		endCancels(opts)
		return nil, err
	}
	run.root.options.checkPointID = &checkPointID
	saved, err := run.load(ctx, checkPointID)
	if err != nil {
		run.gate.end()
		return nil, err
	}
	if err := run.restore(ctx, saved, params); err != nil {
		run.gate.end()
		return nil, fmt.Errorf("failed to load from checkpoint: failed to decode checkpoint: %w", err)
	}
	run.session.add(run.root.options.sessionValues)
	run.saved = saved
	return run.start(), nil
}

// load reads a saved run from the store: a run whose steps were saved, or one that was interrupted.
func (run *runnerRun[M]) load(ctx context.Context, id string) (saved *runDocument, err error) {
	defer journal.BlameStore(&err)
	store := run.runner.store
	if isNilStore(store) {
		return nil, fmt.Errorf("failed to resume: %w", errStoreNilForResume)
	}
	steps := journal.New(store, id)
	data, err := steps.Replay(ctx)
	if err != nil {
		return nil, fmt.Errorf("failed to load from checkpoint: failed to read the steps of the run: %w", err)
	}
	died := data != nil
	if !died {
		var exists bool
		if data, exists, err = store.Get(ctx, id); err != nil {
			return nil, fmt.Errorf("failed to load from checkpoint: failed to get checkpoint from store: %w", err)
		} else if !exists || journal.IsWhole(data) {
			return nil, fmt.Errorf("failed to load from checkpoint: %w", &core.CheckPointNotFoundError{ID: id})
		}
	}
	if saved, err = openRun(data); err != nil {
		return nil, fmt.Errorf("failed to load from checkpoint: failed to decode checkpoint: %w", err)
	}
	if err := steps.Adopt(saved.rest()); err != nil {
		return nil, fmt.Errorf("failed to load from checkpoint: failed to read the steps of the run: %w", err)
	}
	switch {
	case died, run.runner.durable:
		run.keepSteps(steps)
	case len(saved.Steps)+len(saved.Resumable) > 0: // it goes on without saving more of them
		run.keepSteps(steps)
	}
	if !died && run.runner.durable {
		return saved, steps.Begin(ctx, data)
	}
	return saved, nil
}

// errStoreNilForResume has the text that callers know, and matches [ErrCheckpointStoreNil].
var errStoreNilForResume = storeNil{}

type storeNil struct{}

func (storeNil) Error() string { return "store is nil" }
func (storeNil) Unwrap() error { return ErrCheckpointStoreNil }

// restore puts a saved run back together.
func (run *runnerRun[M]) restore(ctx context.Context, saved *runDocument, params *ResumeParams) error {
	addresses, states, err := saved.points()
	if err != nil {
		return err
	}
	if params != nil {
		known := knownTargets(params.Targets, addresses)
		run.root.diagnostics.warnOfTargets(ctx, *run.root.options.checkPointID, params.Targets, known)
		if len(known) > 0 {
			ctx = core.BatchResumeWithData(ctx, known)
		}
	}
	run.exec.Context = core.PopulateInterruptState(ctx, addresses, states)
	values, err := saved.values()
	if err != nil {
		return err
	}
	run.session.add(values)
	input, err := inputIn[M](saved)
	if err != nil {
		return err
	}
	run.input = *input
	run.root.input = &run.input
	if run.exec.lane == nil {
		return nil
	}
	items, err := restoreItems[M](saved.History)
	if err != nil {
		return err
	}
	run.exec.lane.restore(items)
	return nil
}

// knownTargets leaves out the targets that are none of the interrupt points of a saved run.
func knownTargets(targets map[string]any, points map[string]core.Address) map[string]any {
	known := maps.Clone(targets)
	maps.DeleteFunc(known, func(id string, _ any) bool {
		_, ok := points[id]
		return !ok
	})
	return known
}

var errNoInterruptedChild = errors.New("no child agents leading to interrupted agent were found")

func notResumable(name string) error {
	return fmt.Errorf("failed to resume agent: agent '%s' is an interrupt point but is not a ResumableAgent", name)
}

// beginResume lets the agent of x, or the one below it that was interrupted, go on.
func (x *execution[M]) beginResume(streaming bool) (t task) {
	defer func() { // the agents around it are asked for their names
		if v := recover(); v != nil {
			t = x.failing(x.failed(safe.NewPanicError(v, debug.Stack())))
		}
	}()
	interrupted, state, target, data := x.frame.Resumption()
	info := &ResumeInfo{
		EnableStreaming: streaming,
		InterruptInfo:   &InterruptInfo{Data: state.LayerSpecificPayload},
		WasInterrupted:  interrupted,
		InterruptState:  state.State,
		IsResumeTarget:  target,
		ResumeData:      data,
		ImplicitResume:  !core.HasTargets(x.Context),
	}
	if interrupted {
		return x.begin(nil, info)
	}
	next, err := core.GetNextResumptionPoints(x)
	if err != nil { // it names a function that no caller knows
		return x.refuse(info, fmt.Errorf("agent '%s' cannot resume: its context does not come from a resumed run; "+
			"call Resume or ResumeWithParams of a Runner, and hand the context of Resume on to agents inside", x.name))
	}
	if x.flow != nil && (len(x.flow.subAgents) > 0 || x.flow.parentAgent() != nil) {
		if below := resumeBelow(any(x).(*execution[Message]), next, info); below != nil {
			return below
		}
		if _, alone := x.agent.(*TypedChatModelAgent[M]); alone {
			return x.refuse(info, errNoInterruptedChild)
		}
	}
	if _, ok := x.agent.(TypedResumableAgent[M]); ok {
		return x.begin(nil, info)
	}
	return x.refuse(info, fmt.Errorf("failed to resume agent: agent '%s' does not implement ResumableAgent interface, but an agent "+
		"inside it was interrupted: your custom agent wrapper must implement the ResumableAgent interface", x.name))
}

// refuse is the task of an agent that cannot go on. Its callback handlers hear of it.
func (x *execution[M]) refuse(info *ResumeInfo, why error) task {
	if err := guardHook(func() error { return x.fireStart(nil, info) }); err != nil {
		why = errors.Join(why, err)
	}
	x.task = x.failing(why)
	return x
}

// resumeBelow lets the agent go on that x's agent had handed the run over to. It returns nil if there is none: then the
// interrupted agent is inside x's own.
func resumeBelow(x *execution[Message], next map[string]bool, info *ResumeInfo) task {
	var found *flowAgent
	candidates := x.flow.subAgents
	if parent := x.flow.parentAgent(); parent != nil {
		candidates = append(candidates[:len(candidates):len(candidates)], parent)
	}
	for _, a := range candidates {
		if !next[a.Name(x)] {
			continue
		}
		if found != nil {
			return x.refuse(info, errors.New("agent has multiple child agents leading to interruption, but concurrent transfer is not supported"))
		}
		found = a
	}
	if found == nil {
		return nil
	}
	return successor(x, found).beginResume(info.EnableStreaming)
}
