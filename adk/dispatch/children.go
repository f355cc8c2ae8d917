package dispatch

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/weftgo/weft/runs"
)

// Remove removes a run and its children, with what is recorded of them. Without force it fails with
// runs.ErrBusy, and removes nothing, if one of them is executed.
func (d *TypedDispatcher[M]) Remove(ctx context.Context, id string, force bool) error {
	defer d.notify()
	if notOwn(id) != nil {
		return nil
	}
	info, exists, err := d.store.Inspect(ctx, id)
	switch {
	case errors.Is(err, runs.ErrUnreadable), err == nil && !exists:
		info = runs.Info{ID: id}
	case err != nil:
		return err
	}
	family := []runs.Info{info} // its ID is that under which it is recorded
	err = d.children(ctx, info.ID, func(child runs.Info) error {
		family = append(family, child)
		return nil
	})
	if err != nil {
		return err
	}
	if !force {
		for _, run := range family {
			if err := d.checkIdle(ctx, run); err != nil {
				return err
			}
		}
	}
	for _, run := range slices.Backward(family) { // a run is there until its children are gone, and leads to them
		if err := d.store.Remove(ctx, run.ID, force); err != nil {
			return err
		}
		if d.conf.Log != nil {
			if err := d.conf.Log.Delete(ctx, run.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkIdle fails with runs.ErrBusy if a run is executed. Only the store knows whether a lease has ended.
func (d *TypedDispatcher[M]) checkIdle(ctx context.Context, run runs.Info) error {
	if run.Owner == "" {
		return nil
	}
	lease, err := d.store.Acquire(ctx, run.ID, d.leaseRequest())
	if err != nil {
		return err
	}
	return lease.Settle(ctx, runs.Settlement{})
}

// Descendants yields the runs that a run waits for or has waited for, and theirs: the runs of the deepest level, which is
// the 8th at most, come last. It ends with the first error.
func (d *TypedDispatcher[M]) Descendants(ctx context.Context, id string) iter.Seq2[runs.Info, error] {
	return func(yield func(runs.Info, error) bool) {
		parents := []string{id}
		for depth := 0; depth < maxDepth && len(parents) > 0; depth++ {
			var next []string
			for _, parent := range parents {
				for child, err := range d.store.List(ctx, runs.Query{Parent: parent}) {
					if err != nil {
						yield(child, fmt.Errorf("children of run %q: %w", parent, err))
						return
					}
					if !yield(child, nil) {
						return
					}
					next = append(next, child.ID)
				}
			}
			parents = next
		}
	}
}

// children does something to all runs below a run, until that fails.
func (d *TypedDispatcher[M]) children(ctx context.Context, id string, do func(runs.Info) error) error {
	for child, err := range d.Descendants(ctx, id) {
		if err != nil {
			return err
		}
		if err := do(child); err != nil {
			return fmt.Errorf("run %q below run %q: %w", child.ID, id, err)
		}
	}
	return nil
}
