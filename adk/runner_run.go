package adk

import (
	"context"
	"errors"
	"fmt"

	"github.com/weftgo/weft/adk/internal/journal"
	"github.com/weftgo/weft/adk/internal/runwatch"
	"github.com/weftgo/weft/runs"
)

// runnerRun is one run of a runner, in one block.
type runnerRun[M MessageType] struct {
	runner  *TypedRunner[M]
	session session
	root    rootRun[M]
	exec    execution[M]
	hub     hub[M]
	input   TypedAgentInput[M]
	step    [1]RunStep
	// store is the runner's, or the lease of the run.
	store CheckPointStore
	held  *heldRun
	// saved is the document that the run continues from, nil for a new one, and past holds what else the store has of it.
	saved *runDocument
	past  resumedPast
	// steps are the journal that the run was read from, or is recorded in; nil for a new one whose steps are not saved.
	steps *journal.Journal
	// answers holds the answers that the run is resumed with, by the IDs of interrupt points.
	answers map[string]any
	// ended is the end of the run, if it has ended before.
	ended *journal.End
	// last is the last message that was emitted, and failed the first error.
	last   *lastMessage[M]
	failed error
	// turn is the turn of the run in its conversation, nil if it belongs to none.
	turn *watchedTurn[M]
	// task is the work of the run, once it has begun.
	task task
	gate cancelGate[M]
	end  runEnd
	// replayed is the last event, if an earlier process emitted it. It is emitted again if no other follows.
	replayed *TypedAgentEvent[M]
}

func newRunnerRun[M MessageType](ctx context.Context, r *TypedRunner[M], opts []AgentRunOption) (*runnerRun[M], error) {
	run := &runnerRun[M]{runner: r, store: r.store}
	if r.agent == nil {
		return run, errors.New("runner: the agent is nil: set RunnerConfig.Agent")
	}
	if ctx == nil {
		return run, errNilContext
	}
	if _, ok := r.store.(runs.Journal); r.keepSteps && !(ok && r.durable) {
		return run, errors.New("runner: KeepSteps needs Durability EveryStep and a CheckPointStore with a journal " +
			"(CheckPointJournal)")
	}
	run.root.session, run.root.diagnostics = &run.session, r.diagnostics
	run.exec = execution[M]{Context: ctx, run: &run.root, out: run, opts: opts}
	if talksToOthers(r.agent) {
		run.root.recording.Store(true)
	}
	if _, alone := r.agent.(*TypedChatModelAgent[M]); !alone {
		run.exec.lane = newLane[M]()
	}
	if len(opts) > 0 {
		if err := run.readOptions(opts); err != nil {
			return run, err
		}
	}
	run.exec.view = run.gate.view()
	run.gate.saver, run.gate.outcome = run, run.root.options.outcome
	return run, nil
}

// watchOf returns the options that say which watchers a run has; the zero value for most runs.
func watchOf(opts []AgentRunOption) runwatch.Options {
	var o *runwatch.Options
	for i := range opts {
		if set, ok := opts[i].apply.(func(*runwatch.Options)); ok {
			if o == nil {
				o = new(runwatch.Options)
			}
			set(o)
		}
	}
	if o == nil {
		return runwatch.Options{}
	}
	return *o
}

// readOptions keeps those for the runner, and finds out whether the run can be cancelled.
func (run *runnerRun[M]) readOptions(opts []AgentRunOption) error {
	err := guardHook(func() error {
		run.root.read(opts)
		watch := watchOf(opts)
		run.hub.watch, run.hub.unread = watch.Run, watch.Unread
		return nil
	})
	if err != nil {
		return err
	}
	run.root.diagnostics.warnOfDesignations(run.exec.Context, opts)
	run.exec.opts, err = run.gate.open(opts)
	return err
}

// newRootRun is for agents that run without a runner.
func newRootRun[M MessageType](input *TypedAgentInput[M], opts []AgentRunOption) *rootRun[M] {
	root := &rootRun[M]{session: new(session), input: input}
	root.read(opts)
	root.session.add(root.options.sessionValues)
	return root
}

func (root *rootRun[M]) read(opts []AgentRunOption) {
	if len(opts) > 0 {
		GetImplSpecificOptions(&root.options, opts...)
	}
}

// talksToOthers reports whether other agents may want to see what an agent has said.
func talksToOthers[M MessageType](agent TypedAgent[M]) bool {
	f, ok := any(agent).(*flowAgent)
	if !ok {
		return false
	}
	_, workflow := f.agent.(interface{ passesOptionsOn() })
	return workflow || len(f.subAgents) > 0 || f.parentAgent() != nil
}

// start begins the run in the caller's goroutine and continues in one of its own.
func (run *runnerRun[M]) start() *AsyncIterator[*TypedAgentEvent[M]] {
	if err := guardHook(run.chooseAgent); err != nil {
		run.abandonTurn()
		run.release()
		run.gate.end()
		return run.hub.refuse(err)
	}
	begun := false
	defer func() {
		if !begun { // user code has ended the caller's goroutine: there is no reader, but others may wait for the end
			run.abandonTurn()
			run.release()
			run.gate.end()
			run.hub.close()
			run.outcomeEnds()
		}
	}()
	run.step[0].agentName = run.exec.name
	run.exec.path = run.step[:]
	run.showStart()
	if run.root.options.inLoop {
		run.tie()
	} else if a, ok := run.runner.agent.(*TypedChatModelAgent[M]); !ok || a.agent.hooksBeforeAgent() {
		// Without hooks there is no code of the user's to run in the caller's goroutine, and the beginning can wait.
		run.task = run.begin()
	}
	begun = true
	if run.root.loop == nil {
		run.hub.drive(run)
	}
	return run.hub.open()
}

// showStart shows the run to who watches it.
func (run *runnerRun[M]) showStart() {
	if run.hub.watch == nil {
		return
	}
	start := runwatch.Start{Streaming: run.input.EnableStreaming, Agent: run.exec.name, Input: run.input.Messages,
		Answers: run.answers}
	if run.held != nil {
		start.Token = run.held.Token()
	}
	if run.saved != nil {
		start.Resumed, start.Streaming = true, run.saved.Streaming
	}
	start.Origin, start.OriginStep = run.root.origin.Run, run.root.origin.At
	run.hub.watch.Begin(start)
	if run.root.journal != nil {
		run.root.journal.OnSaved = run.hub.watch.Saved
	}
}

// chooseAgent sets the agent that the run begins with.
func (run *runnerRun[M]) chooseAgent() error {
	agent, err := activeAgent(run.exec.Context, run.runner.agent, run.root.options.active)
	if err == nil {
		run.exec.setAgent(agent)
	}
	return err
}

// outcomeEnds wakes those that wait for the outcome.
func (run *runnerRun[M]) outcomeEnds() {
	if o := run.root.options.outcome; o != nil {
		close(o.ended)
	}
}

// begin makes the agent start or continue.
func (run *runnerRun[M]) begin() task {
	if run.saved == nil || len(run.saved.Points) == 0 { // it is new, or its process died
		return run.exec.begin(&run.input, nil)
	}
	streaming := run.saved.Streaming
	if interrupted, _, target, _ := run.exec.frame.Resumption(); !interrupted && !target {
		return run.exec.refuse(&ResumeInfo{EnableStreaming: streaming, InterruptInfo: &InterruptInfo{}}, errNoInterruptedChild)
	}
	return run.exec.beginResume(streaming)
}

// execute does the run. Then there is nothing left to cancel.
func (run *runnerRun[M]) execute() {
	defer run.outcomeEnds()
	finished := false
	defer func() {
		if !finished { // runtime.Goexit
			if run.end != runFailed {
				run.end, run.failed = runFailed, errGoexit
				run.hub.send(&TypedAgentEvent[M]{Err: errGoexit})
			}
			run.finish()
		}
		run.gate.end()
	}()
	if run.task == nil {
		run.task = run.begin()
	}
	run.task.execute()
	finished = true
	run.finish()
}

// send passes an event to the reader.
func (run *runnerRun[M]) send(e *TypedAgentEvent[M]) {
	switch {
	case run.end == runCancelled || run.held.isLost():
		e.closeStreams()
	case e.origin.isReplayed():
		run.turn.note(e)
		run.replayed = e
	case e.Action == nil || e.Action.Interrupted == nil:
		run.replayed = nil
		if e.Err != nil && e.origin != originInner {
			run.end.become(runFailed)
			if run.failed == nil {
				run.failed = e.Err
			}
		}
		run.turn.note(e)
		run.noteLast(e)
		run.hub.send(e)
	default:
		run.sendInterrupt(e)
	}
}

// sendInterrupt saves an interrupt and passes it on. The interrupt of a cancelled run is its end.
func (run *runnerRun[M]) sendInterrupt(e *TypedAgentEvent[M]) {
	if run.end == runInterrupted {
		run.hub.send(&TypedAgentEvent[M]{Err: errors.New("multiple interrupt actions should not happen in Runner")})
		return
	}
	signal, data := signalOf(e), e.Action.Interrupted.Data
	if signal == nil {
		run.hub.send(&TypedAgentEvent[M]{Err: errors.New("an interrupt event was not made by Interrupt, StatefulInterrupt or CompositeInterrupt")})
		return
	}
	if run.gate.stopped(signal, &run.hub) {
		run.end.become(runCancelled)
		return
	}
	run.end.become(runInterrupted)
	run.turn.note(e)
	if o := run.root.options.outcome; o != nil {
		o.interrupts = interruptContexts(signal)
	}
	_, err := run.save(signal, runs.Waiting)
	if run.held.isLost() { // its questions are saved nowhere, and finish emits why (F6)
		return
	}
	if err != nil {
		if o := run.root.options.outcome; o != nil {
			o.saveErr = err
		}
		run.hub.send(&TypedAgentEvent[M]{Err: fmt.Errorf("failed to save checkpoint: %w", err)})
	}
	run.hub.send(&TypedAgentEvent[M]{
		AgentName: e.AgentName,
		RunPath:   e.RunPath,
		Output:    e.Output,
		Action: &AgentAction{
			Interrupted: &InterruptInfo{Data: data, InterruptContexts: interruptContexts(signal)},
			signal:      signal,
		},
	})
}

// reopen takes a saved run and puts it back together. Nothing of it has been executed then.
func (run *runnerRun[M]) reopen(id string, params *ResumeParams) error {
	if isNilStore(run.store) {
		return fmt.Errorf("failed to resume: %w", errStoreNilForResume)
	}
	if err := run.takeSaved(run.exec.Context, id); err != nil {
		return fmt.Errorf("failed to load from checkpoint: %w", err)
	}
	if run.ended != nil {
		return nil
	}
	ctx := run.exec.Context
	saved, err := run.load(ctx, id)
	if err != nil || run.ended != nil {
		return err
	}
	run.saved = saved
	answers, err := run.answersFor(ctx, saved, params)
	if err != nil {
		return fmt.Errorf("failed to resume: %w", err)
	}
	run.answers = answers
	if err := run.continueJournal(ctx, answers); err != nil {
		return fmt.Errorf("failed to resume: %w", err)
	}
	if err := run.addLateAnswers(ctx, saved, answers); err != nil {
		return fmt.Errorf("failed to resume: %w", err)
	}
	if err := run.restore(ctx, saved, answers); err != nil {
		return fmt.Errorf("failed to load from checkpoint: failed to decode checkpoint: %w", err)
	}
	return nil
}
