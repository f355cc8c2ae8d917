package adk

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weftgo/weft/adk/internal/journal"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/runs"
)

// ForkOptions says which run [Fork] makes.
type ForkOptions struct {
	// At is the number of steps of the origin that the fork has, at least 1: the N of its last [Step].
	At int
	// NewID is the ID of the fork. There must be no run with it.
	NewID string
	// Edit changes the last of the steps, if it is not nil. Of a StepBegin it may change Messages and Values, of a
	// StepTurn Messages and Values, though no value can be removed, and of a StepResult Text or Result, whichever is set.
	// Messages must be a history that a model takes: each call has its result, except the calls of the last message. One
	// that ends with a message of the user has the model asked. What it may not change is an error, and so is one that
	// Edit returns; that the change does not fit the step is an error that matches [ErrForkEdit].
	Edit func(*Step) error
	// Tags and Deadline belong to the fork in a store that hands out leases. The default of Tags is the tags of the
	// origin, which an empty map replaces; of Deadline, none.
	Tags     map[string]string
	Deadline time.Time
}

// ErrForkEdit says that [ForkOptions].Edit has changed a step in a way that does not fit it.
var ErrForkEdit = errors.New("the edit does not fit the step")

// Fork makes a run of the first steps of another one, which Runner.Resume(NewID) continues. It runs nothing, and changes
// nothing of the origin, which may have ended, wait, or work. Everything behind the steps happens again: tool calls whose
// result is not among them are made, with idempotency keys of their own, and what the origin asked is asked again,
// whatever was answered there. The steps must be recorded from the beginning of the run on, see [Steps]; with an error of
// a damaged journal a fork of the steps before the damage can be made. A store that hands out leases has the fork as a
// run that is paused, with the agent, queue and priority of the origin, and its tags if the options have none. It has no
// key: it keeps no other run waiting. What the origin was given with options, such as the turns of a conversation before
// it (WithHistory), is no part of its steps: the caller that continues the fork gives it the same.
func Fork(ctx context.Context, store CheckPointStore, id string, o ForkOptions) error {
	if err := fork(ctx, store, id, o); err != nil {
		return fmt.Errorf("failed to fork run %q: %w", id, err)
	}
	return nil
}

func fork(ctx context.Context, store CheckPointStore, id string, o ForkOptions) (err error) {
	defer journal.BlameStore(&err)
	if o.NewID == "" || o.NewID == id {
		return errors.New("the fork needs an ID of its own: set ForkOptions.NewID")
	}
	h, err := readSteps(ctx, store, id)
	if o.At < 1 || o.At > len(h.steps) {
		if err != nil {
			return err
		}
		return fmt.Errorf("there is no step %d: set ForkOptions.At to one from 1 to %d", o.At, len(h.steps))
	}
	if d := h.begin; len(d.Points)+len(d.Steps)+len(d.History) > 0 {
		return errors.New("its steps are recorded only since it was resumed: have them kept from its beginning " +
			"(RunnerConfig.KeepSteps)")
	}
	if o.Edit != nil {
		if err := h.edit(o.At, o.Edit); err != nil {
			return err
		}
	}
	records, err := h.draft(id, o.At)
	if err != nil {
		return err
	}
	return placeFork(ctx, store, id, &o, records)
}

// draft makes the journal of a fork with so many steps.
func (h *runSteps) draft(id string, at int) ([][]byte, error) {
	records := settled(h.records[1:at])
	begin := *h.begin
	begin.Stops, begin.Origin = 0, origin{Run: id, At: at, Steps: len(records)}
	_, _ = rand.Read(begin.Seed[:]) // never fails
	sealed, err := begin.seal()
	if err != nil {
		return nil, err
	}
	var d journal.Draft
	if err := d.Begin(sealed); err != nil {
		return nil, err
	}
	for _, r := range records {
		if r.Kind == journal.KindTurn { // it is unknown what the checkpoints of the origin had
			known := *r
			known.Given = r.Begun
			r = &known
		}
		if err := d.Add(r); err != nil {
			return nil, fmt.Errorf("step of %s: %w", r.Visit, err)
		}
	}
	return d.Records, nil
}

// settled leaves out that calls began which have neither ended nor failed: in the fork they did not begin.
func settled(records []*journal.Record) (kept []*journal.Record) {
	done := map[string]bool{}
	for _, r := range slices.Backward(records) {
		call := r.Visit + "!" + r.Call
		switch {
		case r.Kind == journal.KindResult || r.Kind == journal.KindFailed:
			done[call] = true
		case r.Kind == journal.KindStart && !done[call]:
			continue
		}
		kept = append(kept, r)
	}
	slices.Reverse(kept)
	return kept
}

// placeFork puts the journal of a fork into the store.
func placeFork(ctx context.Context, store CheckPointStore, id string, o *ForkOptions, records [][]byte) error {
	newID := o.NewID
	list, err := journalOf(store)
	if err != nil {
		return err
	}
	_, exists, err := store.Get(ctx, newID)
	if err == nil && !exists {
		var there [][]byte
		there, err = list.ReadRecords(ctx, newID)
		exists = len(there) > 0
	}
	if err != nil {
		return err
	}
	if exists {
		return &runs.Error{Err: runs.ErrExists, Info: runs.Info{ID: newID}}
	}
	if runStore, ok := store.(runHandler); ok {
		return placeRun(ctx, runStore, id, o, records)
	}
	for _, r := range records {
		if err := list.AppendRecord(ctx, newID, r); err != nil {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), savingTime)
			defer cancel()
			return errors.Join(err, list.RemoveRecords(ctx, newID))
		}
	}
	return nil
}

// placeRun makes the fork a run that is paused.
func placeRun(ctx context.Context, store runHandler, id string, o *ForkOptions, records [][]byte) error {
	newID := o.NewID
	from, _, err := store.Inspect(ctx, id)
	if err != nil {
		return err
	}
	there, exists, err := store.Inspect(ctx, newID)
	if err != nil || exists {
		return errors.Join(err, &runs.Error{Err: runs.ErrExists, Info: there})
	}
	tags := from.Tags
	if o.Tags != nil {
		tags = o.Tags
	}
	made := &runs.Spec{Agent: from.Agent, Queue: from.Queue, Tags: tags, Priority: from.Priority, Deadline: o.Deadline,
		Build: core.BuildID(), Records: records}
	lease, err := store.Acquire(ctx, newID, runs.LeaseRequest{Owner: core.ProcessOwner(), Create: made})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), savingTime)
	defer cancel()
	if before := lease.Info(); before.Status != "" { // it was made meanwhile
		return errors.Join(&runs.Error{Err: runs.ErrExists, Info: before}, lease.Settle(ctx, runs.Settlement{}))
	}
	return lease.Settle(ctx, runs.Settlement{Status: runs.Paused})
}

// origin is the run that a fork was made of.
type origin struct {
	// Run is its ID, "" of a run that is no fork, and At how many of its steps the fork has.
	Run string
	At  int
	// Steps is the number of records that the journal of the fork has behind its first one. Fewer: it was not written to
	// its end.
	Steps int
}

// forkKey asks a context for the *runFork that it is in.
type forkKey struct{}

// runFork identifies a fork inside the runtime.
type runFork struct {
	origin origin
	seed   [16]byte
}

func forkFrom(ctx context.Context) *runFork {
	if ctx == nil {
		return nil
	}
	f, _ := ctx.Value(forkKey{}).(*runFork)
	return f
}

// ForkedFrom returns the run that the run of ctx is a fork of, and how many of its steps it has; "" and 0 in a run that
// is no fork. It is for tools that must not do again what the origin has done: the idempotency keys of a fork are other
// ones (see [GetIdempotencyKey]).
func ForkedFrom(ctx context.Context) (id string, at int) {
	if f := forkFrom(ctx); f != nil {
		return f.origin.Run, f.origin.At
	}
	return "", 0
}
