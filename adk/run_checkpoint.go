package adk

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/weftgo/weft/adk/internal/journal"
	"github.com/weftgo/weft/adk/internal/turnwatch"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/runs"
)

// save stores the run, if there is a store and an ID, and returns the ID. as is the status of the run.
func (run *runnerRun[M]) save(signal *InterruptSignal, as runs.Status) (savedAs string, err error) {
	defer journal.BlameStore(&err)
	id := run.root.options.checkPointID
	if id == nil || isNilStore(run.store) {
		return "", nil
	}
	if err := run.waitTurn(signal, as); err != nil {
		return "", err
	}
	d := &runDocument{Streaming: run.input.EnableStreaming, Seed: run.root.ids.Seed, Stops: run.root.ids.Stops + 1,
		Origin: run.root.origin}
	err = d.setValues(run.session.all())
	if err == nil && run.exec.lane != nil { // a chat model agent alone has all messages in its own state
		if err = setInput(d, run.root.input); err == nil {
			d.History, err = saveItems(run.exec.Context, run.exec.lane.visible())
		}
	}
	if err == nil {
		err = d.setPoints(signal)
	}
	if err == nil {
		run.keepAnswers(d, signal)
		err = d.setRest(run.root.journal)
	}
	if err != nil {
		return "", err
	}
	sealed, err := d.seal()
	if err != nil {
		return "", err
	}
	// The run may have ended because its context did: it is saved all the same.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(run.exec.Context), savingTime)
	defer cancel()
	if run.held != nil {
		return *id, run.settleStop(ctx, signal, as, sealed)
	}
	if run.runner.keepSteps { // the checkpoint counts from the record on
		if err := run.store.Set(ctx, *id, sealed); err != nil {
			return "", err
		}
		if err := run.root.journal.Stop(ctx); err != nil {
			return "", err
		}
	}
	if run.runner.keepSteps {
		return *id, nil
	}
	if err := run.store.Set(ctx, *id, sealed); err != nil {
		return "", err
	}
	if run.root.journal != nil { // everything is in the checkpoint
		return *id, run.root.journal.Remove(ctx)
	}
	return *id, nil
}

// settleStop saves a run that this process holds, and gives it back. What it has been saved with before is not written
// again.
func (run *runnerRun[M]) settleStop(ctx context.Context, signal *InterruptSignal, as runs.Status, sealed []byte) error {
	s := runs.Settlement{Status: as, Err: run.held.stopReason()}
	inJournal := false
	if steps := run.steps; steps != nil {
		var err error
		if inJournal, err = steps.StopAt(ctx, sealed); err != nil {
			return err
		}
	}
	if !inJournal {
		s.Checkpoint, s.DropRecords = sealed, true
	}
	if as == runs.Waiting {
		s.Waiting, s.Infos = waitingFor(signal, run.held.clock.Now())
	}
	return run.held.Settle(ctx, s)
}

// recordSteps has the steps of the run recorded.
func (run *runnerRun[M]) recordSteps(steps *journal.Journal) {
	steps.Keep = run.runner.keepSteps
	run.root.journal, run.exec.scope = steps, steps.Root()
}

// openJournal readies the store for a new run: what is left of a run before it under the same ID must not be resumed in
// its place. If the steps of the run are to be saved, its input is the first.
func (run *runnerRun[M]) openJournal() error {
	id := run.root.options.checkPointID
	if id == nil || isNilStore(run.store) {
		return nil
	}
	run.newIDs()
	if err := run.takeNew(*id); err != nil {
		return err
	}
	store := run.store
	if !run.runner.durable {
		if _, ok := store.(runs.Journal); ok { // in another store the checkpoint replaces them
			if err := journal.New(store, *id).Remove(run.exec.Context); err != nil {
				return fmt.Errorf("failed to remove the steps of an earlier run with ID %q: %w", *id, err)
			}
		}
		return nil
	}
	d := &runDocument{Streaming: run.input.EnableStreaming, Seed: run.root.ids.Seed}
	err := setInput(d, &run.input)
	if err == nil {
		err = d.setValues(run.session.all())
	}
	var input []byte
	if err == nil {
		input, err = d.seal()
	}
	if err != nil {
		return fmt.Errorf("%w: %w", runs.ErrNotSaved, err)
	}
	steps := journal.New(store, *id)
	run.steps = steps
	run.recordSteps(steps)
	return steps.Begin(run.exec.Context, input)
}

// newIDs has the interrupt points of a run that is saved named by the run.
func (run *runnerRun[M]) newIDs() {
	run.root.ids = &run.root.idsRoom
	_, _ = rand.Read(run.root.ids.Seed[:]) // never fails
}

// load reads a saved run from the store: a run whose steps were saved, or one that was interrupted.
func (run *runnerRun[M]) load(ctx context.Context, id string) (saved *runDocument, err error) {
	defer journal.BlameStore(&err)
	steps := journal.New(run.store, id)
	run.steps = steps
	past, err := steps.Replay(ctx)
	if err != nil {
		return nil, fmt.Errorf("failed to load from checkpoint: failed to read the steps of the run: %w", err)
	}
	run.warnOfPast(ctx, id, past)
	data := past.Run
	if data == nil {
		var exists bool
		if data, exists, err = run.store.Get(ctx, id); err != nil {
			return nil, fmt.Errorf("failed to load from checkpoint: failed to get checkpoint from store: %w", err)
		} else if !exists || journal.IsWhole(data) {
			return nil, fmt.Errorf("failed to load from checkpoint: %w", &runs.NotFoundError{ID: id})
		}
	}
	if !past.Died {
		steps.From(data)
	}
	if past.End == nil {
		past.End = endIn(data)
	}
	if run.ended = past.End; run.ended != nil {
		return new(runDocument), nil
	}
	if saved, err = openRun(data); err != nil {
		return nil, fmt.Errorf("failed to load from checkpoint: failed to decode checkpoint: %w", err)
	}
	if err := steps.Adopt(saved.rest()); err != nil {
		return nil, fmt.Errorf("failed to load from checkpoint: failed to read the steps of the run: %w", err)
	}
	run.past = resumedPast{data: data, died: past.Died, answers: past.Answers, turn: turnwatch.Underway}
	if past.Died && past.Steps == 0 && len(saved.Points) == 0 {
		run.past.turn = turnwatch.Tried
		if past.Lives == 0 && run.held != nil {
			run.past.turn = turnwatch.Submitted
		}
	}
	if run.past.died || run.runner.durable || len(saved.Steps)+len(saved.Resumable) > 0 { // the last without saving more of them
		run.recordSteps(steps)
	}
	run.newIDs()
	if saved.Seed != [16]byte{} {
		run.root.ids.Seed, run.root.ids.Stops = saved.Seed, saved.Stops
	}
	if run.root.origin = saved.Origin; past.Steps < saved.Origin.Steps {
		return nil, fmt.Errorf("failed to load from checkpoint: fork %q of run %q was not written to its end: "+
			"remove it, and fork again", id, saved.Origin.Run)
	}
	run.root.origin.Steps = 0
	return saved, nil
}

// resumedPast holds what the store has of a run that is resumed.
type resumedPast struct {
	// data is the document that the run, or the process that resumed it last, began with.
	data []byte
	// died: the process that had the run did not record its status.
	died bool
	// answers are the answers that an earlier process was given.
	answers map[string][]byte
	// turn is the information on the run that a conversation is given.
	turn turnwatch.Past
}

// continueJournal records that this process continues with the run, and with which answers. Nothing may happen before.
func (run *runnerRun[M]) continueJournal(ctx context.Context, answers map[string]any) error {
	steps := run.root.journal
	switch {
	case run.past.died:
		return steps.Continue(ctx, run.root.diagnostics.encodeAnswers(ctx, answers))
	case run.runner.durable:
		return steps.BeginAgain(ctx, run.past.data, run.root.diagnostics.encodeAnswers(ctx, answers))
	}
	return nil
}

// warnOfPast logs what processes did that had lost the run.
func (run *runnerRun[M]) warnOfPast(ctx context.Context, id string, past journal.Past) {
	if past.Stray {
		run.root.diagnostics.warn(ctx, "a process wrote steps to a run that had been removed; they are ignored", "run", id)
	}
	for _, lost := range past.LostCalls {
		call, _ := callIn(lost.Call)
		run.root.diagnostics.warn(ctx, "a process that had lost the run made a tool call that does not count; "+
			"what it did outside is not undone", "run", id, "tool", call.Function.Name, "call", call.ID)
	}
}

// errStoreNilForResume has the text that callers know, and matches [ErrCheckpointStoreNil].
var errStoreNilForResume = storeNil{}

type storeNil struct{}

func (storeNil) Error() string { return "store is nil" }
func (storeNil) Unwrap() error { return ErrCheckpointStoreNil }

// restore puts a saved run back together.
func (run *runnerRun[M]) restore(ctx context.Context, saved *runDocument, answers map[string]any) error {
	addresses, states, err := saved.points()
	if err != nil {
		return err
	}
	if len(answers) > 0 {
		ctx = core.BatchResumeWithData(ctx, answers)
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
