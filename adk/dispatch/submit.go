package dispatch

import (
	"context"
	"errors"
	"fmt"

	"github.com/weftgo/weft/runs"
)

// Submit makes a run that workers find. If there is one with the ID, it returns that one, with an error that matches
// runs.ErrExists. Of several that are submitted at the same moment with one key and [Reject] one is made; with
// [Interrupt] the last one stops the others.
func (d *TypedDispatcher[M]) Submit(ctx context.Context, job TypedJob[M]) (info runs.Info, err error) {
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
// not know runs.Spec.Alone.
func (d *TypedDispatcher[M]) submitAlone(
	ctx context.Context, id string, run runs.Spec,
) (runs.Info, error) {
	before, err := d.active(ctx, run.Key, id)
	if err != nil {
		return runs.Info{}, err
	}
	if len(before) > 0 {
		b := before[0]
		return runs.Info{}, fmt.Errorf("submit run %q: run %q has the key %q: %w", id, b.ID, run.Key,
			&runs.BusyError{ID: b.ID, Owner: b.Owner, Until: b.LeaseUntil, Token: b.Token})
	}
	info, err := d.store.Submit(ctx, id, run)
	if errors.Is(err, runs.ErrBusy) {
		err = fmt.Errorf("submit run %q: %w", id, err)
	}
	return info, err
}

// submitInPlace submits a run and stops the runs of its key that were submitted before, also at the same moment: they are
// in the store when this one is.
func (d *TypedDispatcher[M]) submitInPlace(
	ctx context.Context, id string, run runs.Spec,
) (runs.Info, error) {
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
		err := d.store.Stop(ctx, b.ID, runs.StopRequest{Reason: "run " + id + " takes its place", Children: true})
		if err != nil && !errors.Is(err, runs.ErrEnded) && !errors.Is(err, runs.ErrNotFound) {
			return info, fmt.Errorf("run %q is submitted, and run %q before it could not be stopped: %w", id, b.ID, err)
		}
	}
	return info, nil
}

// active are the runs of a key that keep later ones waiting, but for the one with the ID.
func (d *TypedDispatcher[M]) active(ctx context.Context, key, id string) (all []runs.Info, err error) {
	q := runs.Query{Key: key, Status: []runs.Status{runs.Ready, runs.Running, runs.Waiting}}
	for info, err := range d.store.List(ctx, q) {
		if err != nil {
			return nil, err
		}
		if info.ID != id {
			all = append(all, info)
		}
	}
	return all, nil
}
