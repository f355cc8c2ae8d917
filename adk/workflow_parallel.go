package adk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/weftgo/weft/schema"
)

// ParallelAgentConfig configures a parallel agent.
type ParallelAgentConfig struct {
	Name, Description string
	// SubAgents run at the same time. They see what was said before, but not each other. Several may have one name: the
	// addresses of the second and further ones tell their number.
	SubAgents []Agent
}

// NewParallelAgent makes an agent that runs others at the same time. Their events come as they happen. An error or exit
// of one does not stop the others; if some are interrupted, the agent is when all have ended. A resumed run resumes
// those that were interrupted; one that failed beside them counts as done, with what it had said: its error event is
// the only sign of it, also in a run that is saved at [EveryStep].
func NewParallelAgent(ctx context.Context, config *ParallelAgentConfig) (ResumableAgent, error) {
	if config == nil {
		return nil, errors.New("NewParallelAgent: the config is nil")
	}
	w := &parallelAgent{workflow{name: config.Name, description: config.Description}}
	return w.complete(ctx, w, config.SubAgents)
}

// parallelState holds what an interrupted parallel agent leaves, for each of its children.
type parallelState struct {
	Branches []parallelBranch
}

type parallelBranch struct {
	// Name is the name of the agent.
	Name        string
	Said        []savedItem
	Interrupted bool
}

func init() {
	schema.RegisterName[*parallelState]("eino_adk_parallel_workflow_state")
	schema.RegisterName[savedItem]("_weft_adk_history_item")
	schema.RegisterName[parallelBranch]("_weft_adk_parallel_branch")
}

type parallelAgent struct{ workflow }

// GetType returns "Parallel".
func (w *parallelAgent) GetType() string { return "Parallel" }

// Run runs the workflow by itself.
func (w *parallelAgent) Run(
	ctx context.Context, input *AgentInput, opts ...AgentRunOption,
) *AsyncIterator[*AgentEvent] {
	return launch(ctx, w, assignment[Message]{input: input, opts: opts})
}

// Resume continues an interrupted workflow.
func (w *parallelAgent) Resume(
	ctx context.Context, info *ResumeInfo, opts ...AgentRunOption,
) *AsyncIterator[*AgentEvent] {
	return launch(ctx, w, assignment[Message]{resume: info, opts: opts})
}

func (w *parallelAgent) begin(ctx context.Context, do assignment[Message]) task {
	r := &parallelRun{agent: w, ctx: ctx, do: do, parent: executionFrom[Message](ctx)}
	if r.parent == nil {
		return failing[Message]{do.out, fmt.Errorf("workflow agent '%s': its context has no run: begin it with Run, or by a Runner", w.name)}
	}
	var saved *parallelState
	if do.resume != nil {
		var ok bool
		saved, ok = do.resume.InterruptState.(*parallelState)
		if !ok {
			return failing[Message]{do.out, w.noState(do.resume.InterruptState)}
		}
		if len(saved.Branches) == 0 { // it was stopped before it began
			saved = nil
		}
	}
	places := w.places(ctx)
	earlier, err := w.earlierBranches(saved, places)
	if err == nil && saved == nil {
		err = w.checkRecorded(ctx, r.parent.scope, w.branchParts)
	}
	if err != nil {
		return failing[Message]{do.out, err}
	}
	r.spawned = saved != nil
	r.branches = make([]branch, len(w.children))
	for i := range r.branches {
		if err := r.prepare(i, places[i], earlier[places[i]]); err != nil {
			return failing[Message]{do.out, fmt.Errorf("workflow agent '%s': branch %d: %w", w.name, i, err)}
		}
	}
	return r
}

// earlierBranches finds the branches of a run that was saved again, by their places. One that is gone is an error: what
// it has said, or was asked, would be lost.
func (w *parallelAgent) earlierBranches(saved *parallelState, places []agentPlace) (map[agentPlace]*parallelBranch, error) {
	earlier := map[agentPlace]*parallelBranch{}
	if saved == nil {
		return earlier, nil
	}
	names := make([]string, len(saved.Branches))
	for i := range saved.Branches {
		names[i] = saved.Branches[i].Name
	}
	for i, p := range placesOf(names) {
		if !slices.Contains(places, p) {
			return nil, w.gone(p, places)
		}
		earlier[p] = &saved.Branches[i]
	}
	return earlier, nil
}

// prepare makes the execution of a branch, with what it had said when the run was saved. Those that have the name of one
// before them have an address that tells their number: an interrupt in it is found by its address.
func (r *parallelRun) prepare(i int, at agentPlace, saved *parallelBranch) error {
	b, number := &r.branches[i], ""
	if at.before > 0 {
		number = strconv.Itoa(at.before + 1)
	}
	b.run = r
	b.exec = r.parent.childAt(r.ctx, number, r.agent.children[i], b, r.do.opts)
	b.exec.inherits = true
	b.exec.scope = b.exec.scope.Inside(r.agent.part(branchPart, at))
	b.exec.lane = r.parent.lane.fork()
	if saved == nil {
		return nil
	}
	items, err := restoreItems[Message](saved.Said)
	if err != nil {
		return err
	}
	b.exec.lane.restore(items)
	b.finished = !saved.Interrupted
	return nil
}

// parallelRun is one run of agents beside each other.
type parallelRun struct {
	agent    *parallelAgent
	ctx      context.Context
	do       assignment[Message]
	parent   *execution[Message]
	branches []branch
	// spawned: the branches have begun in an earlier process of the run.
	spawned bool
}

// branch is one of the agents at work.
type branch struct {
	run  *parallelRun
	exec *execution[Message]
	// finished: it ended before the run was interrupted.
	finished  bool
	failed    bool
	interrupt *AgentEvent
}

func (r *parallelRun) execute() {
	if !r.spawned && r.parent.view.Requested() {
		if !r.parent.view.IsAbortOnly() {
			r.do.out.send(CompositeInterrupt(r.ctx, "Parallel workflow cancel before spawn", &parallelState{}))
		}
		return
	}
	var all sync.WaitGroup
	for i := range r.branches {
		if b := &r.branches[i]; !b.finished {
			all.Go(b.execute)
		}
	}
	all.Wait()
	lanes := make([]*lane[Message], len(r.branches))
	interrupted := false
	for i := range r.branches {
		lanes[i] = r.branches[i].exec.lane
		interrupted = interrupted || r.branches[i].interrupt != nil
	}
	if interrupted {
		r.do.out.send(r.composite())
		return
	}
	r.parent.lane.join(lanes)
}

// execute does the work of the branch, in a goroutine of its own, whose end the other branches do not notice.
func (b *branch) execute() {
	ended := false
	defer func() {
		if !ended && !b.failed { // runtime.Goexit, without an event
			b.send(b.exec.named(&AgentEvent{Err: b.exec.failed(errGoexit)}))
		}
	}()
	if resume := b.run.do.resume; resume != nil && b.exec.wasInterrupted() {
		b.exec.beginResume(resume.EnableStreaming).execute()
	} else {
		b.exec.begin(nil, nil).execute()
	}
	ended = true
}

// send passes an event of the branch on.
func (b *branch) send(e *AgentEvent) {
	if e.Action != nil && e.Action.Interrupted != nil {
		b.interrupt = e
		return
	}
	b.failed = b.failed || e.Err != nil && e.origin != originInner
	b.run.do.out.send(e)
}

// composite returns the interrupt of the agent, around the interrupts of its branches.
func (r *parallelRun) composite() *AgentEvent {
	state := &parallelState{Branches: make([]parallelBranch, len(r.branches))}
	data := &WorkflowInterruptInfo{OrigInput: r.do.input, ParallelInterruptInfo: map[int]*InterruptInfo{}}
	var signals []*InterruptSignal
	for i := range r.branches {
		b := &r.branches[i]
		said, err := saveItems(r.ctx, b.exec.lane.own())
		if err != nil {
			return &AgentEvent{Err: fmt.Errorf("workflow agent '%s': saving branch %d: %w", r.agent.name, i, err)}
		}
		state.Branches[i] = parallelBranch{Name: b.exec.name, Said: said, Interrupted: b.interrupt != nil}
		if b.interrupt != nil {
			data.ParallelInterruptInfo[i] = b.interrupt.Action.Interrupted
			signals = append(signals, signalsOf(b.interrupt)...)
		}
	}
	e := CompositeInterrupt(r.ctx, "Parallel workflow interrupted", state, signals...)
	e.Action.Interrupted.Data = data
	return e
}
