package adk

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"slices"

	"github.com/weftgo/weft/internal/envelope"
)

// TurnLoopExitState holds the remains of a loop that has ended. Every item was consumed by a turn, dropped by
// GenInput, GenResume or a preempted turn, or is in exactly one of the lists.
type TurnLoopExitState[T any, M MessageType] struct {
	// ExitReason is the reason for which the loop ended; nil after a stop that let the last turn end.
	ExitReason error
	// UnhandledItems were not part of a turn.
	UnhandledItems []T
	// InterruptedItems are the items of the turn that was interrupted. CanceledItems is the same list.
	InterruptedItems []T
	CanceledItems    []T
	// StopCause is the cause given by [WithStopCause].
	StopCause string
	// CheckpointAttempted says that the loop was saved, and CheckpointErr what went wrong then, or when an old
	// checkpoint was deleted. Without an error every item of the lists is in the store. Checkpointed is
	// CheckpointAttempted.
	CheckpointAttempted bool
	Checkpointed        bool
	CheckpointErr       error
	// TakeLateItems returns the items that were pushed too late. After that, pushing panics.
	TakeLateItems func() []T
}

// InterruptError ends a loop whose agent was interrupted.
type InterruptError struct {
	InterruptContexts []*InterruptCtx
}

func (e *InterruptError) Error() string {
	return fmt.Sprintf("agent interrupted: %d context(s)", len(e.InterruptContexts))
}

// GetInterruptContexts returns InterruptContexts.
func (e *InterruptError) GetInterruptContexts() []*InterruptCtx { return e.InterruptContexts }

// finish ends the loop: from here on items are late. It saves what is left.
func (l *TurnLoop[T, M]) finish(end *turnEnd[T]) {
	defer l.endLife(nil)
	unhandled, orders := l.endQueue()
	exit, saved := &l.exit, l.saved
	exit.ExitReason, exit.StopCause = end.reason, orders.cause
	exit.UnhandledItems, exit.InterruptedItems = given(unhandled), given(end.interrupted)
	d := turnDocument[T]{RunnerCheckpoint: end.checkpoint, HasRunnerState: len(end.checkpoint) > 0}
	save := end.save
	if saved != nil { // no turn was started from it: it is kept, with the items that came since
		save = true
		d.RunnerCheckpoint, d.HasRunnerState = saved.RunnerCheckpoint, saved.HasRunnerState
		exit.InterruptedItems = given(saved.CanceledItems)
		if saved.HasRunnerState {
			exit.UnhandledItems = given(slices.Concat(saved.UnhandledItems, unhandled))
		}
	}
	exit.CanceledItems = exit.InterruptedItems
	d.UnhandledItems, d.CanceledItems = exit.UnhandledItems, exit.InterruptedItems
	l.saveOrDelete(&d, save && !orders.skipCheckpoint)
	if exit.CheckpointAttempted && exit.CheckpointErr == nil {
		exit.CheckpointErr = end.saveErr
	}
	exit.Checkpointed = exit.CheckpointAttempted
	exit.TakeLateItems = l.takeLate
}

// endQueue ends the loop for all callers, and returns the items that wait and what the stops asked for.
func (l *TurnLoop[T, M]) endQueue() (unhandled []T, orders stopOrders) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unwatch()
	if t := l.presentTurn(); t != nil { // a callback panicked, or ended the goroutine
		if l.queue.Phase().IsPlanned() {
			l.queue.PutBack(t.items)
		}
		l.endTurn(t)
	}
	return l.queue.End(), l.stop
}

// takeLate returns the items that came too late.
func (l *TurnLoop[T, M]) takeLate() []T {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.queue.Seal()
}

// turnDocument is a loop that ended: the run that can be resumed, its items, and those that wait.
type turnDocument[T any] struct {
	RunnerCheckpoint []byte
	HasRunnerState   bool
	UnhandledItems   []T
	CanceledItems    []T
}

// turnKind marks saved loops.
var turnKind = envelope.Kind{Magic: [8]byte{'w', 'e', 'f', 't', 't', 'u', 'r', 'n'}, Version: 1}

// storeState says what a loop knows of its store. Only its goroutine changes it:
//
//	unread   the store has not been asked       → unknown
//	unknown  there is none, or it did not say   → known
//	known    what it holds was taken over, so that it may be overwritten or deleted
type storeState int

const (
	storeUnread storeState = iota
	storeUnknown
	storeKnown
)

// stores reports whether the loop has where to save itself.
func (l *TurnLoop[T, M]) stores() bool { return !isNilStore(l.cfg.Store) && l.cfg.CheckpointID != "" }

// load takes over what a checkpoint holds, once, before the first turn.
func (l *TurnLoop[T, M]) load() error {
	if l.store != storeUnread {
		return nil
	}
	l.store = storeUnknown
	if !l.stores() {
		return nil
	}
	if err := l.probe(); err != nil {
		return err
	}
	if err := l.ctx.Err(); err != nil {
		return err
	}
	d, err := l.readStore()
	if err != nil {
		return err
	}
	l.store, l.saved = storeKnown, d
	if d != nil && !d.HasRunnerState { // the items of a run that could not be saved begin again
		l.mu.Lock()
		defer l.mu.Unlock()
		l.queue.PutBack(slices.Concat(d.CanceledItems, d.UnhandledItems))
		d.CanceledItems = nil
	}
	return nil
}

// readStore returns the checkpoint in the store, nil if there is none.
func (l *TurnLoop[T, M]) readStore() (d *turnDocument[T], err error) {
	id := l.cfg.CheckpointID
	var data []byte
	var exists bool
	err = guardHook(func() (err error) { data, exists, err = l.cfg.Store.Get(l.ctx, id); return err })
	if err != nil {
		return nil, fmt.Errorf("failed to load checkpoint[%s]: %w", id, err)
	}
	if !exists || len(data) == 0 {
		return nil, nil
	}
	d, err = openTurns[T](data)
	if err == nil && d.HasRunnerState && len(d.RunnerCheckpoint) == 0 {
		err = errors.New("has runner state but bytes are empty")
	}
	if err != nil {
		return nil, fmt.Errorf("failed to unmarshal checkpoint[%s]: %w", id, err)
	}
	return d, nil
}

// probe finds out early whether items can be saved at all.
func (l *TurnLoop[T, M]) probe() error {
	var one turnDocument[T]
	err := guardHook(func() error { return gob.NewEncoder(new(bytes.Buffer)).Encode(&one) })
	if err != nil {
		var item T
		return fmt.Errorf("TurnLoop: items of type %T cannot be saved, but there is a Store: %w", item, err)
	}
	return nil
}

// saveOrDelete saves the loop, or deletes what was saved before.
func (l *TurnLoop[T, M]) saveOrDelete(d *turnDocument[T], save bool) {
	if l.store != storeKnown {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.ctx), savingTime)
	defer cancel()
	store, id, exit := l.cfg.Store, l.cfg.CheckpointID, &l.exit
	if save && (d.HasRunnerState || len(d.UnhandledItems)+len(d.CanceledItems) > 0) {
		exit.CheckpointAttempted = true
		data, err := sealTurns(d)
		if err == nil {
			err = guardHook(func() error { return store.Set(ctx, id, data) })
		}
		exit.CheckpointErr = err
		return
	}
	if deleter, ok := store.(CheckPointDeleter); ok {
		exit.CheckpointErr = guardHook(func() error { return deleter.Delete(ctx, id) })
	}
}

func sealTurns[T any](d *turnDocument[T]) ([]byte, error) {
	var buf bytes.Buffer
	if err := guardHook(func() error { return gob.NewEncoder(&buf).Encode(d) }); err != nil {
		return nil, err
	}
	return turnKind.Seal(runCodec, buf.Bytes()), nil
}

func openTurns[T any](data []byte) (*turnDocument[T], error) {
	_, codec, payload, err := turnKind.Open(data)
	if err == nil && codec != runCodec {
		err = fmt.Errorf("it is encoded by %q, which this version does not know", codec)
	}
	if err != nil {
		return nil, err
	}
	d := new(turnDocument[T])
	err = guardHook(func() error { return gob.NewDecoder(bytes.NewReader(payload)).Decode(d) })
	return d, err
}
