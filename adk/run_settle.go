package adk

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/weftgo/weft/adk/internal/journal"
	"github.com/weftgo/weft/internal/cancelscope"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/runs"
)

// runHandler has the methods of a store that the runner needs to hold its runs.
type runHandler interface {
	runs.Leaser
	runs.Inspector
	runs.Janitor
}

// WithRestart has Run begin again under the ID of a run that exists: everything of that run is removed. Without it the
// error is [runs.ErrExists] or [runs.ErrEnded], if the store knows about runs.
func WithRestart() AgentRunOption {
	return WrapImplSpecificOptFn(func(o *runnerOptions) { o.restart = true })
}

// WithRunTags gives a new run tags by which a store that knows about runs lists it: at most 16, keys and values of at
// most 128 bytes. Of several such options the last one counts.
func WithRunTags(tags map[string]string) AgentRunOption {
	tags = maps.Clone(tags)
	return WrapImplSpecificOptFn(func(o *runnerOptions) { o.tags = tags })
}

// checkTags refuses tags that stores do not take.
func checkTags(tags map[string]string) error {
	const most, longest = 16, 128
	if len(tags) > most {
		return fmt.Errorf("runner: %d tags are too many: at most %d are possible", len(tags), most)
	}
	for key, value := range tags {
		if len(key) > longest || len(value) > longest {
			return fmt.Errorf("runner: tag %q: at most %d bytes are possible", strings.ToValidUTF8(key[:min(len(key), longest)], ""), longest)
		}
	}
	return nil
}

// handler is the store as one that hands out leases, nil if it does not, or is not to.
func (run *runnerRun[M]) handler() runHandler {
	if run.runner.lease.Off {
		return nil
	}
	h, _ := run.store.(runHandler)
	return h
}

func (run *runnerRun[M]) leaseRequest() runs.LeaseRequest {
	conf := run.runner.lease
	if conf.Owner == "" {
		conf.Owner = core.ProcessOwner()
	}
	return runs.LeaseRequest{Owner: conf.Owner, TTL: conf.TTL, Steal: conf.Steal}
}

// warnOfSteal logs that a run was taken from another holder. (F12)
func (run *runnerRun[M]) warnOfSteal(ctx context.Context, lease runs.Lease) {
	if before := lease.Info(); run.runner.lease.Steal && before.Owner != "" {
		run.root.diagnostics.warn(ctx, "a run was taken from the process that held it", "run", before.ID, "from", before.Owner,
			"held until", before.LeaseUntil, "by", run.leaseRequest().Owner)
	}
}

// takeNew takes the lease of a run that begins. (F1, C3)
func (run *runnerRun[M]) takeNew(id string) error {
	if err := checkTags(run.root.options.tags); err != nil {
		return err
	}
	if lease, ok := run.store.(runs.Lease); ok {
		run.hold(lease, core.SignOfLife(lease))
		return nil
	}
	store := run.handler()
	if store == nil {
		return nil
	}
	ctx := run.exec.Context
	info, exists, err := store.Inspect(ctx, id)
	if err != nil {
		return fmt.Errorf("runner: %w", err)
	}
	if exists {
		if !run.root.options.restart {
			if err := run.refuseExisting(ctx, info); err != nil {
				return err
			}
		}
		if err := store.Remove(ctx, id, false); err != nil {
			return fmt.Errorf("runner: %w", err)
		}
	}
	request, begun := run.leaseRequest(), time.Now()
	request.Create = &runs.Spec{Agent: run.runner.agent.Name(ctx), Tags: run.root.options.tags, Build: core.BuildID()}
	lease, err := store.Acquire(ctx, id, request)
	if err != nil {
		return fmt.Errorf("runner: %w", err)
	}
	if before := lease.Info(); before.Status != "" { // it was made meanwhile
		return errors.Join(&runs.Error{Err: runs.ErrExists, Info: before}, lease.Settle(ctx, runs.Settlement{}))
	}
	run.hold(lease, begun)
	return nil
}

// refuseExisting returns the error of a new run under the ID of one that has ended or can be resumed. One of which
// nothing is saved is replaced, unless a process holds it: its process died before there was anything, or it failed.
func (run *runnerRun[M]) refuseExisting(ctx context.Context, info runs.Info) error {
	const wayOut = "give the new run another ID, or pass WithRestart"
	switch info.Status {
	case runs.Done:
		return fmt.Errorf("runner: %w: %s", &runs.Error{Err: runs.ErrEnded, Info: info}, wayOut)
	case runs.Running, runs.Failed:
		if _, saved, err := run.store.Get(ctx, info.ID); err != nil || !saved && info.Steps == 0 {
			return err
		}
	}
	exists := &runs.Error{Err: runs.ErrExists, Info: info}
	if info.Owner == "" {
		return fmt.Errorf("runner: %w: resume it, %s", exists, wayOut)
	}
	// Only the store knows whether the lease has ended. It is not taken to find out: its holder may be slow, and still
	// write.
	busy := &runs.BusyError{ID: info.ID, Owner: info.Owner, Until: info.LeaseUntil, Token: info.Token}
	return fmt.Errorf("runner: %w (%w: once it is over, resume the run; or %s)", busy, exists, wayOut)
}

// takeSaved takes the lease of a run that is to be resumed. Of one that is done it sets the end instead. (F1, C3)
func (run *runnerRun[M]) takeSaved(ctx context.Context, id string) error {
	if lease, ok := run.store.(runs.Lease); ok {
		run.hold(lease, core.SignOfLife(lease))
		return nil
	}
	store := run.handler()
	if store == nil {
		return nil
	}
	info, exists, err := store.Inspect(ctx, id)
	if err != nil {
		return err
	}
	request := run.leaseRequest()
	switch {
	case exists && info.Status == runs.Done:
		return run.takeEnd(ctx, store, id)
	case !exists:
		saved, err := run.hasUnleased(ctx, id)
		if err != nil { // there may be something, which cannot be read
			return err
		}
		if !saved {
			return &runs.NotFoundError{ID: id}
		}
		request.Create = &runs.Spec{Agent: run.runner.agent.Name(ctx), Build: core.BuildID()}
	}
	begun := time.Now()
	lease, err := store.Acquire(ctx, id, request)
	if err != nil {
		return err
	}
	run.warnOfSteal(ctx, lease)
	if lease.Info().Status == runs.Done { // since a moment ago
		return errors.Join(lease.Settle(ctx, runs.Settlement{}), run.takeEnd(ctx, store, id))
	}
	run.hold(lease, begun)
	return nil
}

// hasUnleased reports whether there is something that was saved without a lease.
func (run *runnerRun[M]) hasUnleased(ctx context.Context, id string) (bool, error) {
	_, saved, err := run.store.Get(ctx, id)
	if err != nil || saved {
		return saved, err
	}
	past, err := journal.New(run.store, id).Replay(ctx)
	run.warnOfPast(ctx, id, past)
	return past.Died, err
}

// takeEnd reads the end of a run that is done.
func (run *runnerRun[M]) takeEnd(ctx context.Context, store runHandler, id string) error {
	data, err := store.Result(ctx, id)
	if err == nil && data != nil {
		run.ended, err = journal.DecodeEnd(data)
	}
	if err == nil && run.ended == nil {
		run.ended = new(journal.End)
	}
	return err
}

// hold begins to hold the run. begun is when the lease was asked for.
func (run *runnerRun[M]) hold(lease runs.Lease, begun time.Time) {
	if run.gate.control == nil {
		run.gate.control = new(cancelscope.Control)
		run.gate.control.Use()
		run.exec.view = run.gate.view()
	}
	ctx, giveUp := context.WithCancelCause(run.exec.Context)
	run.exec.Context = ctx
	run.held = holdRun(lease, begun, run.gate.control, giveUp)
	run.store, run.root.held = run.held, run.held
}

// release gives the lease back of a run that could not begin or continue. Of a new one nothing is left.
func (run *runnerRun[M]) release() {
	if !run.held.isHeld() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(run.exec.Context), savingTime)
	defer cancel()
	s := runs.Settlement{}
	if run.held.Info().Status == "" {
		s = runs.Settlement{Status: runs.Failed, Err: "it could not begin", DropRecords: true}
	}
	if err := run.held.Settle(ctx, s); err != nil {
		run.held.become(leaseSettled) // it ends by itself
	}
	run.held.giveUp(nil)
}

// withdraw leaves nothing of a new run that could not begin although its store was readied.
func (run *runnerRun[M]) withdraw() error {
	if run.held != nil || run.root.journal == nil {
		run.release()
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(run.exec.Context), savingTime)
	defer cancel()
	run.root.journal.Close()
	return run.root.journal.Remove(ctx)
}

// noteLast remembers the last message that the run emits, if it is kept when the run ends. A stream is split.
func (run *runnerRun[M]) noteLast(e *TypedAgentEvent[M]) {
	if run.held == nil && run.root.journal == nil && run.runner.keepEnded <= 0 ||
		e.Output == nil || e.Output.MessageOutput == nil || e.origin == originInner {
		return
	}
	last := &lastMessage[M]{path: e.RunPath}
	last.item.agent, last.item.message = e.AgentName, e.Output.MessageOutput.Message
	if v := e.Output.MessageOutput; v.IsStreaming && v.MessageStream != nil {
		last.item.stream = v.split()
	}
	if run.last != nil && run.last.item.stream != nil {
		run.last.item.stream.Close()
	}
	run.last = last
}

// lastMessage is the last message that a run has emitted.
type lastMessage[M MessageType] struct {
	item historyItem[M]
	path []RunStep
}

// endNow returns the end of the run as it is now.
func (run *runnerRun[M]) endNow(ctx context.Context) *journal.End {
	end := &journal.End{At: time.Now().UnixMilli(), Kept: run.runner.keepSteps}
	if run.last == nil {
		return end
	}
	if m, err := run.last.item.whole(ctx); err == nil && !opsOf[M]().isNil(m) {
		end.Message = m
	}
	end.Agent = run.last.item.agent
	for _, step := range run.last.path {
		end.Path = append(end.Path, step.agentName)
	}
	return end
}

// finish delivers the result of a run that had only to be replayed, and tells the store how the run ended.
func (run *runnerRun[M]) finish() {
	if run.replayed != nil && run.end == runRunning && !run.held.isLost() {
		run.noteLast(run.replayed)
		run.hub.send(run.replayed)
	}
	run.endTurn()
	err := run.settleEnd()
	if run.root.journal != nil {
		run.root.journal.Close()
	}
	switch {
	case run.held.isLost():
		run.hub.send(&TypedAgentEvent[M]{Err: run.lostError()})
	case err != nil:
		run.hub.send(&TypedAgentEvent[M]{Err: fmt.Errorf("failed to save the end of the run: %w", err)})
	}
	if run.held != nil {
		run.held.become(leaseSettled) // if the store failed, the lease ends by itself
		run.held.giveUp(nil)
	}
}

// lostOr is an error of a run that could not begin, or says that it was given up meanwhile.
func (run *runnerRun[M]) lostOr(err error) error {
	if run.held.isLost() {
		return run.lostError()
	}
	return err
}

// lostError says why the run was given up.
func (run *runnerRun[M]) lostError() error {
	cause := context.Cause(run.exec.Context)
	if !errors.Is(cause, runs.ErrLeaseLost) {
		cause = runs.ErrLeaseLost
	}
	return fmt.Errorf("the run was given up: %w", cause)
}

// hasEndToSettle reports whether the store is to be given the end of the run: it hands out leases, or has steps of the
// run, or keeps ends.
func (run *runnerRun[M]) hasEndToSettle() bool {
	if run.held != nil {
		return run.held.isHeld()
	}
	return run.end == runRunning && (run.runner.keepEnded > 0 || run.root.journal != nil)
}

// settleEnd tells the store how a run ended that was not saved when it stopped.
func (run *runnerRun[M]) settleEnd() (err error) {
	if run.root.options.checkPointID == nil || isNilStore(run.store) || !run.hasEndToSettle() {
		return nil
	}
	defer journal.BlameStore(&err)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(run.exec.Context), savingTime)
	defer cancel()
	switch {
	case run.held == nil:
		return run.forget(ctx)
	case run.end == runRunning:
		end := run.endNow(ctx)
		if end.Kept {
			if err := run.root.journal.End(ctx, end); err != nil {
				return err
			}
		}
		return run.settleDone(ctx, end)
	}
	return run.held.Settle(ctx, run.failure())
}

// settleDone gives back the lease of a run that is done.
func (run *runnerRun[M]) settleDone(ctx context.Context, end *journal.End) error {
	result, err := journal.EncodeEnd(end)
	if err != nil {
		return err
	}
	return run.held.Settle(ctx, runs.Settlement{Status: runs.Done, Result: result, DropRecords: !end.Kept})
}

// failure is the settlement of a run that failed, or that could not be saved when it stopped. One whose context ended is
// paused if it can be continued: nothing went wrong.
func (run *runnerRun[M]) failure() runs.Settlement {
	s := runs.Settlement{Status: runs.Failed, Err: "it could not be saved when it stopped"}
	if run.failed != nil {
		s.Err, s.Cause = run.failed.Error(), run.failed
	}
	if run.root.journal != nil && run.exec.Context.Err() != nil {
		s.Status = runs.Paused
	}
	return s
}

// forget removes what was saved of a run that has succeeded, in a store that does not know about runs: its steps, and the
// checkpoint that it continued from. Its end is written first: who resumes it after a crash in between is given that.
func (run *runnerRun[M]) forget(ctx context.Context) error {
	id, steps, end := run.root.options.checkPointID, run.root.journal, run.endNow(ctx)
	if run.runner.keepEnded > 0 && !end.Kept {
		return run.keepEnd(ctx, *id, end)
	}
	if err := steps.End(ctx, end); err != nil {
		return err
	}
	if !end.Kept {
		return run.removeAll(ctx)
	}
	return run.removeCheckPoint(ctx)
}

// removeCheckPoint removes what a plain store has of a run in addition to its steps.
func (run *runnerRun[M]) removeCheckPoint(ctx context.Context) error {
	if deleter, ok := run.store.(CheckPointDeleter); ok {
		return deleter.Delete(ctx, *run.root.options.checkPointID)
	}
	return nil
}

// removeAll removes what a plain store has of a run.
func (run *runnerRun[M]) removeAll(ctx context.Context) error {
	if err := run.removeCheckPoint(ctx); err != nil { // first: the steps alone can be replayed
		return err
	}
	return journal.New(run.store, *run.root.options.checkPointID).Remove(ctx)
}

// keepEnd puts the end of the run in the place of its checkpoint.
func (run *runnerRun[M]) keepEnd(ctx context.Context, id string, end *journal.End) error {
	data, err := journal.EncodeEnd(end)
	if err != nil {
		return err
	}
	if err := run.store.Set(ctx, id, endKind.Seal(runCodec, data)); err != nil {
		return err
	}
	if run.root.journal == nil {
		return nil
	}
	return run.root.journal.Remove(ctx)
}

// replayEnd is a run that is done: its last message is emitted again, and nothing else happens.
func (run *runnerRun[M]) replayEnd(ctx context.Context) (*AsyncIterator[*TypedAgentEvent[M]], error) {
	defer run.hub.close()
	defer run.gate.end()
	defer run.outcomeEnds()
	end := run.ended
	switch kept := run.runner.keepEnded; {
	case run.held.isHeld(): // the process died before it gave the lease back
		defer run.held.giveUp(nil)
		if err := run.settleDone(ctx, end); err != nil {
			run.held.become(leaseSettled) // it ends by itself
			return nil, fmt.Errorf("failed to save the end of the run: %w", err)
		}
	case run.handler() != nil:
	case kept > 0:
		if expired := time.UnixMilli(end.At).Add(kept); time.Now().After(expired) {
			id := *run.root.options.checkPointID
			return nil, errors.Join(&runs.Error{Err: runs.ErrExpired, Info: runs.Info{ID: id, Status: runs.Done}}, run.removeAll(ctx))
		}
	case !end.Kept: // the process died while it removed the run
		if err := run.removeAll(ctx); err != nil {
			return nil, fmt.Errorf("failed to remove the steps of the run: %w", err)
		}
	}
	m, ok := end.Message.(M)
	if !ok {
		return run.hub.open(), nil
	}
	e := eventAgain(m)
	e.AgentName = end.Agent
	for _, name := range end.Path {
		e.RunPath = append(e.RunPath, RunStep{agentName: name})
	}
	run.hub.send(e)
	return run.hub.open(), nil
}
