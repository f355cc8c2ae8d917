package adk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"github.com/weftgo/weft/adk/internal/journal"
	"github.com/weftgo/weft/adk/internal/runwatch"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/internal/eventring"
	"github.com/weftgo/weft/schema"
)

// CheckPointStore keeps runs by ID. It is the same type as compose.CheckPointStore. Package adk/checkpoint has some. Its
// methods are
//
//	Get(ctx context.Context, checkPointID string) (checkPoint []byte, found bool, err error)
//	Set(ctx context.Context, checkPointID string, checkPoint []byte) error
type CheckPointStore = core.CheckPointStore

// CheckPointDeleter is what a store may also offer. Its method is
//
//	Delete(ctx context.Context, checkPointID string) error
type CheckPointDeleter = core.CheckPointDeleter

// CheckPointLister is what a store may also offer: to find runs again whose IDs nobody remembers. Its method is
//
//	ListCheckPoints(ctx context.Context, prefix string) iter.Seq2[CheckPointInfo, error]
type CheckPointLister = core.CheckPointLister

// CheckPointInfo is what a [CheckPointLister] says of one ID: the ID, and when it was written last.
//
//   - ID: under which the run was saved
//   - Modified: when it was written last
type CheckPointInfo = core.CheckPointInfo

// ErrCheckpointStoreNil says that something needs a store and has none.
var ErrCheckpointStoreNil = errors.New("checkpoint store is nil")

// ErrCheckPointNotFound is wrapped by the error of a resume if the store has nothing under the ID. It is the same value
// as checkpoint.ErrNotFound.
var ErrCheckPointNotFound = core.ErrCheckPointNotFound

// TypedRunnerConfig configures a [TypedRunner].
type TypedRunnerConfig[M MessageType] struct {
	// Agent is what runs.
	Agent TypedAgent[M]
	// EnableStreaming asks the agent for messages as streams.
	EnableStreaming bool
	// CheckPointStore keeps runs that stopped, so that they can continue later: those with [WithCheckPointID].
	CheckPointStore CheckPointStore
	// Durability says when they are saved.
	Durability Durability
	// Lease is how the runner holds its runs, if the store hands out leases: each run is then executed by one process at a
	// time, and its end is kept for as long as the store keeps it.
	Lease LeaseOptions
	// KeepEnded is how long the end of a run is kept in a store that does not hand out leases: Resume emits the last
	// message again then. The default is not at all: a run that has ended looks like one that never was.
	KeepEnded time.Duration
	// KeepSteps keeps the steps of runs that stop or end, for [Steps] and [Fork], until the run itself is removed. It
	// needs [EveryStep] and a store that offers [CheckPointJournal]. The end of a run is kept with its steps: Resume emits
	// the last message again.
	KeepSteps bool
	// Logger gets, at level Warn, what a run cannot report otherwise: resume targets that do not exist, options that name
	// agents but act on the whole run, tools and agents that share a name, and calls of models and tools that were given
	// up by a cancel and may still be running. The default is nil: nothing is logged.
	Logger *slog.Logger
}

// RunnerConfig configures a [Runner].
//
// Its fields, which are documented at [TypedRunnerConfig]:
//
//   - Agent: what runs; required
//   - EnableStreaming: asks the agent for messages as streams
//   - CheckPointStore: keeps runs that stopped, for Resume
//   - Durability: when they are saved; default: when they are interrupted
//   - Lease: how runs are held in a store that several processes share; see [LeaseOptions]
//   - KeepEnded: for how long a store without leases keeps the end of a run; default: not at all
//   - KeepSteps: keeps the steps of runs that stop or end, for [Steps] and [Fork]
//   - Logger: gets warnings that a run has no other place for; default none
type RunnerConfig = TypedRunnerConfig[*schema.Message]

// TypedRunner runs an agent as the outermost one: each run has a session of its own, its events say which agent
// speaks, and it can be saved and resumed. It is safe for concurrent use.
type TypedRunner[M MessageType] struct {
	agent       TypedAgent[M]
	streaming   bool
	store       CheckPointStore
	durable     bool
	lease       LeaseOptions
	keepEnded   time.Duration
	keepSteps   bool
	diagnostics diagnostics
}

// Runner runs agents on ordinary messages.
//
// Its methods, which are documented at [TypedRunner]:
//
//   - Query: runs the agent on one user message and returns the events
//   - Run: runs the agent on messages
//   - Resume: continues a run that was saved under an ID
//   - ResumeWithParams: continues it with answers for its interrupt points; see [ResumeParams]
type Runner = TypedRunner[*schema.Message]

// NewRunner makes a runner. It never fails: what is wrong with the configuration is an error event of each run.
func NewRunner(_ context.Context, conf RunnerConfig) *Runner { return NewTypedRunner(conf) }

// NewTypedRunner is [NewRunner] for any kind of message.
func NewTypedRunner[M MessageType](conf TypedRunnerConfig[M]) *TypedRunner[M] {
	return &TypedRunner[M]{agent: conf.Agent, streaming: conf.EnableStreaming, store: conf.CheckPointStore,
		lease: conf.Lease, keepEnded: conf.KeepEnded, keepSteps: conf.KeepSteps,
		diagnostics: diagnostics{conf.Logger}, durable: conf.Durability == EveryStep && !isNilStore(conf.CheckPointStore)}
}

// Query runs the agent on one user message.
func (r *TypedRunner[M]) Query(
	ctx context.Context, query string, opts ...AgentRunOption,
) *AsyncIterator[*TypedAgentEvent[M]] {
	return r.Run(ctx, []M{messageRuntimeOf[M]().userMessage(query)}, opts...)
}

// Run runs the agent on messages. It returns when the agent has begun; the run continues to its end whether or not the
// events are read. An error is the last event. To stop a run, cancel ctx, or see [WithCancel].
func (r *TypedRunner[M]) Run(
	ctx context.Context, messages []M, opts ...AgentRunOption,
) *AsyncIterator[*TypedAgentEvent[M]] {
	return runtimeOf[M]().run(ctx, r, messages, opts)
}

func (compiledMessages[M]) userMessage(text string) M { return opsOf[M]().user(text) }

func (compiled[M]) run(
	ctx context.Context, r *TypedRunner[M], messages []M, opts []AgentRunOption,
) *AsyncIterator[*TypedAgentEvent[M]] {
	run, err := newRunnerRun(ctx, r, opts)
	if err != nil {
		endCancels(opts)
		return run.hub.refuse(err)
	}
	run.session.add(run.root.options.sessionValues)
	// Clipped, because agents append to the messages, and the caller may use the slice for several runs.
	run.input = TypedAgentInput[M]{Messages: slices.Clip(messages), EnableStreaming: r.streaming}
	run.root.input = &run.input
	if err := run.openJournal(); err != nil {
		err = run.lostOr(err)
		run.release()
		run.gate.end()
		return run.hub.refuse(err)
	}
	if err := run.beginTurn(opts); err != nil {
		err = errors.Join(err, run.withdraw())
		run.gate.end()
		return run.hub.refuse(err)
	}
	return run.start()
}

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
	// saved is what the run continues from, nil for a new one, and past what else the store has of it.
	saved *runDocument
	past  resumedPast
	// answers are what the run is resumed with, by the IDs of interrupt points.
	answers map[string]any
	// ended is what the run has come to, if it has ended before.
	ended *journal.End
	// last is the last message that was emitted, and failed the first error.
	last   *lastMessage[M]
	failed error
	// turn is what the run is in its conversation, nil if it belongs to none.
	turn *watchedTurn[M]
	// task is what the run does, once it has begun.
	task task
	gate cancelGate[M]
	end  runEnd
	// replayed is the last event, if an earlier process emitted it. It is emitted again if no other follows.
	replayed *TypedAgentEvent[M]
}

// runEnd is what the run has come to, by the events of its agents. Those after a cancel are dropped.
//
//	from     to           when
//	running  failed       an error
//	running  interrupted  an interrupt
//	running  cancelled    an interrupt of a run that was asked to stop
//	failed   interrupted  the interrupt of an agent that ran beside the one that failed
//	failed   cancelled    as before
//
// A run that is still running when its agents have ended has succeeded.
type runEnd int

const (
	runRunning runEnd = iota
	runFailed
	runInterrupted
	runCancelled
)

// become makes the transition of the table. What the table has not changes nothing.
func (e *runEnd) become(to runEnd) {
	if *e == runRunning || *e == runFailed && to != runRunning {
		*e = to
	}
}

func newRunnerRun[M MessageType](ctx context.Context, r *TypedRunner[M], opts []AgentRunOption) (*runnerRun[M], error) {
	run := &runnerRun[M]{runner: r, store: r.store}
	if r.agent == nil {
		return run, errors.New("runner: the agent is nil: set RunnerConfig.Agent")
	}
	if ctx == nil {
		return run, errNilContext
	}
	if _, ok := r.store.(CheckPointJournal); r.keepSteps && !(ok && r.durable) {
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

// watcherOf is who watches the run, nil for most.
func watcherOf(opts []AgentRunOption) runwatch.Run {
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
		return nil
	}
	return o.Run
}

// readOptions keeps those for the runner, and finds out whether the run can be cancelled.
func (run *runnerRun[M]) readOptions(opts []AgentRunOption) error {
	err := guardHook(func() error {
		run.root.read(opts)
		run.hub.watch = watcherOf(opts)
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
		if !begun { // user code has ended the caller's goroutine: nobody will read, but somebody may wait for the end
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

// sendInterrupt saves an interrupt and passes it on. That of a cancelled run is its end.
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
	_, err := run.save(signal, core.RunWaiting)
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

// isNilStore reports whether there is no store, also where a nil pointer was given as one.
func isNilStore(store CheckPointStore) bool {
	v := reflect.ValueOf(store)
	return store == nil || v.Kind() == reflect.Pointer && v.IsNil()
}

// A sink takes the events of a run on their way to the reader. Layers around agents are sinks that pass events on.
type sink[M MessageType] interface {
	send(e *TypedAgentEvent[M])
}

// A task is a run that has begun. execute does the rest of it in the caller's goroutine, and returns when the last
// event is out.
type task interface {
	execute()
}

// assignment is what an agent is to do: answer the input, or continue an interrupted run.
type assignment[M MessageType] struct {
	input  *TypedAgentInput[M]
	resume *ResumeInfo
	out    sink[M]
	opts   []AgentRunOption
}

// A starter is an agent that runs in the goroutine of its caller. All agents of this package do, so that a run
// has one goroutine however deeply its agents are nested.
type starter[M MessageType] interface {
	begin(ctx context.Context, do assignment[M]) task
}

// hub is where the events of a run leave the runtime.
type hub[M MessageType] struct {
	ring     eventring.Ring[*TypedAgentEvent[M]]
	iterator AsyncIterator[*TypedAgentEvent[M]]
	// watch sees the run, nil for most.
	watch runwatch.Run
}

// open returns the reader's end.
func (h *hub[M]) open() *AsyncIterator[*TypedAgentEvent[M]] {
	h.iterator.ring = &h.ring
	return &h.iterator
}

// send delivers an event, or drops it when the run is over or nobody reads.
func (h *hub[M]) send(e *TypedAgentEvent[M]) {
	if h.watch != nil {
		h.watch.Event(e)
	}
	if !h.ring.Put(e) {
		e.closeStreams()
	} else if h.iterator.lazy != nil {
		h.iterator.lazy.notice()
	}
}

// drive runs a task to its end, in a goroutine of its own. The iterator ends with it, even if user code ends the
// goroutine.
func (h *hub[M]) drive(t task) {
	go func() {
		reserveStack()
		h.run(t)
	}()
}

func (h *hub[M]) run(t task) {
	defer h.close()
	t.execute()
}

// close says that nothing more comes.
func (h *hub[M]) close() {
	if h.watch != nil {
		h.watch.End()
	}
	h.ring.Close()
}

// launch begins what do describes and runs it in a goroutine of its own. It is for agents that run without a runner.
func launch[M MessageType](ctx context.Context, s starter[M], do assignment[M]) *AsyncIterator[*TypedAgentEvent[M]] {
	h := new(hub[M])
	if ctx == nil {
		endCancels(do.opts)
		return h.refuse(errNilContext)
	}
	do.out = h
	d := directRun[M]{hub: h}
	opts, err := d.gate.open(do.opts)
	if err != nil {
		return h.refuse(err)
	}
	if d.gate.control == nil {
		t := s.begin(ctx, do)
		h.drive(t)
		return h.open()
	}
	run := &d
	do.opts, do.out = opts, run
	begun := false
	defer func() {
		if !begun { // user code has ended the caller's goroutine
			run.gate.end()
			h.ring.Close()
		}
	}()
	run.task = s.begin(context.WithValue(ctx, cancelKey{}, run.gate.view()), do)
	begun = true
	h.drive(run)
	return h.open()
}

var errNilContext = errors.New("the context is nil: pass context.Background() if there is none")

// refuse ends a run that could not even begin.
func (h *hub[M]) refuse(err error) *AsyncIterator[*TypedAgentEvent[M]] {
	h.send(&TypedAgentEvent[M]{Err: err})
	h.close()
	return h.open()
}

// done is a task that is over.
type done struct{}

func (done) execute() {}

// reserveStack makes the goroutine's stack as large as a run needs down to its model, while there is hardly anything
// on it. Growing it later would mean to adjust every frame in between, which took a third of the time of a short run.
//
//go:noinline
func reserveStack() byte {
	var room [4400]byte
	i := int(stackProbe.Load()) // keeps the compiler from leaving it out
	room[i%len(room)]++
	return room[(i+1)%len(room)]
}

var stackProbe atomic.Int32

// ResumeParams says what a resumed run is given.
type ResumeParams struct {
	// Targets has data for interrupt points, by their ID (see InterruptCtx). A point that is not among them interrupts
	// again; IDs that do not exist are ignored.
	Targets map[string]any
}

// Resume continues with the run that was saved under checkPointID, and names no interrupt point: what stopped finds out
// that it was interrupted, and decides for itself. If it stops again, it is saved under the same ID. If it ends, the
// checkpoint stays as it was, and resuming it again repeats what came after it; a run that is saved at every step
// ([EveryStep]) deletes its checkpoint when it succeeds. The streaming mode is the saved run's; agent, models
// and tools may be new ones of the same names.
func (r *TypedRunner[M]) Resume(
	ctx context.Context, checkPointID string, opts ...AgentRunOption,
) (*AsyncIterator[*TypedAgentEvent[M]], error) {
	return r.ResumeWithParams(ctx, checkPointID, nil, opts...)
}

// ResumeWithParams is [TypedRunner.Resume] with data for chosen interrupt points. nil params name none.
func (r *TypedRunner[M]) ResumeWithParams(
	ctx context.Context, checkPointID string, params *ResumeParams, opts ...AgentRunOption,
) (*AsyncIterator[*TypedAgentEvent[M]], error) {
	return runtimeOf[M]().resume(ctx, r, checkPointID, params, opts)
}

func (compiled[M]) resume(
	ctx context.Context, r *TypedRunner[M], checkPointID string, params *ResumeParams, opts []AgentRunOption,
) (*AsyncIterator[*TypedAgentEvent[M]], error) {
	run, err := newRunnerRun(ctx, r, opts)
	if err != nil {
		endCancels(opts)
		return nil, err
	}
	run.root.options.checkPointID = &checkPointID
	switch err = run.reopen(checkPointID, params); {
	case err != nil:
		err = run.lostOr(err)
		run.release()
		run.gate.end()
		return nil, err
	case run.ended != nil:
		return run.replayEnd(ctx)
	}
	if err := run.beginTurn(opts); err != nil {
		run.release()
		run.gate.end()
		return nil, fmt.Errorf("failed to resume: %w", err)
	}
	run.session.add(run.root.options.sessionValues)
	return run.start(), nil
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
	if err := run.restore(ctx, saved, answers); err != nil {
		return fmt.Errorf("failed to load from checkpoint: failed to decode checkpoint: %w", err)
	}
	return nil
}
