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

// turnDocument is a loop that ended: the run that can go on, its items, and those that wait.
type turnDocument[T any] struct {
	RunnerCheckpoint []byte
	HasRunnerState   bool
	UnhandledItems   []T
	CanceledItems    []T
}

// turnKind marks saved loops.
var turnKind = envelope.Kind{Magic: [8]byte{'w', 'e', 'f', 't', 't', 'u', 'r', 'n'}, Version: 1}

// stores reports whether the loop has where to save itself.
func (l *TurnLoop[T, M]) stores() bool { return !isNilStore(l.cfg.Store) && l.cfg.CheckpointID != "" }

// load takes what a checkpoint holds, before the first turn.
func (l *TurnLoop[T, M]) load() error {
	if !l.stores() {
		return nil
	}
	if err := l.probe(); err != nil {
		return err
	}
	if err := l.ctx.Err(); err != nil {
		return err
	}
	id := l.cfg.CheckpointID
	var data []byte
	var exists bool
	err := guardHook(func() (err error) { data, exists, err = l.cfg.Store.Get(l.ctx, id); return err })
	if err != nil {
		return fmt.Errorf("failed to load checkpoint[%s]: %w", id, err)
	}
	if !exists || len(data) == 0 {
		l.loaded = true
		return nil
	}
	d, err := openTurns[T](data)
	if err == nil && d.HasRunnerState && len(d.RunnerCheckpoint) == 0 {
		err = errors.New("has runner state but bytes are empty")
	}
	if err != nil {
		return fmt.Errorf("failed to unmarshal checkpoint[%s]: %w", id, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stored, l.loaded = d, true
	if !d.HasRunnerState { // the items of a run that could not be saved begin anew
		l.buffer = slices.Concat(d.CanceledItems, d.UnhandledItems, l.buffer)
		d.CanceledItems = nil
	}
	return nil
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
	if !l.loaded {
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
