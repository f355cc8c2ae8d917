package dispatch

import (
	"context"
	"errors"
	"fmt"

	"github.com/weftgo/weft/adk/checkpoint"
)

// Submit makes a run that workers find. If there is one with the ID, it returns that one, with an error that matches
// checkpoint.ErrRunExists. Of several that are submitted at the same moment with one key and [Reject] one is made; with
// [Interrupt] the last one stops the others.
func (d *TypedDispatcher[M]) Submit(ctx context.Context, job TypedJob[M]) (info checkpoint.RunInfo, err error) {
	defer d.notify()
	run, err := job.NewRun()
	if err != nil {
		return info, fmt.Errorf("submit run %q: %w", job.ID, err)
	}
	switch {
	case job.Key != "" && job.OnBusy == Reject:
		return d.submitAlone(ctx, job.ID, run)
	case job.Key != "" && job.OnBusy == Interrupt:
		return d.submitInPlace(ctx, job.ID, run)
	}
	return d.store.Submit(ctx, job.ID, run)
}

// submitAlone submits a run if no other one has its key. The store decides; the look before is for a store that does
// not know checkpoint.NewRun.Alone.
func (d *TypedDispatcher[M]) submitAlone(
	ctx context.Context, id string, run checkpoint.NewRun,
) (checkpoint.RunInfo, error) {
	before, err := d.active(ctx, run.Key, id)
	if err != nil {
		return checkpoint.RunInfo{}, err
	}
	if len(before) > 0 {
		b := before[0]
		return checkpoint.RunInfo{}, fmt.Errorf("submit run %q: run %q has the key %q: %w", id, b.ID, run.Key,
			&checkpoint.BusyError{ID: b.ID, Owner: b.Owner, Until: b.LeaseUntil, Token: b.Token})
	}
	info, err := d.store.Submit(ctx, id, run)
	if errors.Is(err, checkpoint.ErrRunBusy) {
		err = fmt.Errorf("submit run %q: %w", id, err)
	}
	return info, err
}

// submitInPlace submits a run and stops those of its key that were submitted before, also at the same moment: they are
// there when this one is.
func (d *TypedDispatcher[M]) submitInPlace(
	ctx context.Context, id string, run checkpoint.NewRun,
) (checkpoint.RunInfo, error) {
	info, err := d.store.Submit(ctx, id, run)
	if err != nil {
		return info, err
	}
	others, err := d.active(ctx, run.Key, id)
	if err != nil {
		return info, fmt.Errorf("run %q is submitted, and the runs before it could not be looked for: %w", id, err)
	}
	for _, b := range others {
		if info.Born != 0 && b.Born > info.Born { // that one stops this one, if it was to
			continue
		}
		err := d.store.Stop(ctx, b.ID, checkpoint.StopRequest{Reason: "run " + id + " takes its place", Children: true})
		if err != nil && !errors.Is(err, checkpoint.ErrRunEnded) && !errors.Is(err, checkpoint.ErrNotFound) {
			return info, fmt.Errorf("run %q is submitted, and run %q before it could not be stopped: %w", id, b.ID, err)
		}
	}
	return info, nil
}

// active are the runs of a key that keep later ones waiting, but for the one with the ID.
func (d *TypedDispatcher[M]) active(ctx context.Context, key, id string) (runs []checkpoint.RunInfo, err error) {
	q := checkpoint.Query{Key: key, Status: []checkpoint.Status{checkpoint.Ready, checkpoint.Running, checkpoint.Waiting}}
	for info, err := range d.store.List(ctx, q) {
		if err != nil {
			return nil, err
		}
		if info.ID != id {
			runs = append(runs, info)
		}
	}
	return runs, nil
}
