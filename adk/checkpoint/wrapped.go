package checkpoint

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/weftgo/weft/runs"
)

// The methods of the store below that wrappers pass on, other than the methods of RunStore. (S1)

// Wake implements Waker, as far as the store of all tenants does.
func (s *scope) Wake(ctx context.Context, due runs.Due) <-chan struct{} {
	waker, ok := As[runs.Waker](s.store)
	if !ok {
		return nil
	}
	in := runs.Due{Queues: slices.Clone(due.Queues), Agents: slices.Clone(due.Agents)}
	for i := range in.Queues {
		in.Queues[i] = s.queueIn(in.Queues[i])
	}
	for i := range in.Agents {
		in.Agents[i] = s.queueIn(in.Agents[i])
	}
	return waker.Wake(ctx, in)
}

// Rewrite implements Rewriter, if the store of all tenants does.
func (s *scope) Rewrite(ctx context.Context, id string, f func(kind ValueKind, value []byte) ([]byte, error)) error {
	below, err := rewriterOf(s.store)
	if err != nil {
		return err
	}
	return below.Rewrite(ctx, s.prefix+id, f)
}

// Rewrite implements Rewriter, if the store below does: f is given the values themselves, also those that are elsewhere.
// One that it changes is put under another name; what nothing refers to any more is swept.
func (s *spilling) Rewrite(ctx context.Context, id string, f func(kind ValueKind, value []byte) ([]byte, error)) error {
	below, err := rewriterOf(s.store)
	if err != nil {
		return err
	}
	return below.Rewrite(ctx, id, func(kind ValueKind, data []byte) ([]byte, error) {
		switch kind {
		case CheckpointValue, RecordValue, ResultValue:
		default: // the others are never elsewhere
			return f(kind, data)
		}
		value, err := s.get(ctx, id, data)
		if err != nil {
			return nil, err
		}
		again, err := f(kind, bytes.Clone(value))
		if err != nil || bytes.Equal(again, value) {
			return data, err
		}
		return s.put(ctx, id, again)
	})
}

// rewriterOf is a store as one that can rewrite values.
func rewriterOf(store runs.Store) (Rewriter, error) {
	if r, ok := store.(Rewriter); ok {
		return r, nil
	}
	return nil, fmt.Errorf("%T cannot rewrite values: keep the old keys until its runs have expired", store)
}

// Unwrap is the lease below, so that requests to stop are noticed as there.
func (l *scopedLease) Unwrap() runs.Lease { return l.Lease }

// Unwrap is the lease below, so that requests to stop are noticed as there.
func (l *sealedLease) Unwrap() runs.Lease { return l.Lease }

// Unwrap is the lease below, so that requests to stop are noticed as there.
func (l *spillingLease) Unwrap() runs.Lease { return l.Lease }
