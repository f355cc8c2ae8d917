package journal

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/internal/envelope"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/internal/serialization"
)

// whole is the journal of a store that has none: all records in one value, written again for each.
type whole struct {
	store   core.CheckPointStore
	records [][]byte
}

// wholeRecords is the value that it stores.
type wholeRecords struct{ Records [][]byte }

// wholeKind marks the value.
var wholeKind = envelope.Kind{Magic: [8]byte{'w', 'e', 'f', 't', 's', 't', 'e', 'p'}, Version: 1}

// wholeCodec is the encoding of the value: by the serializer of the type registry.
const wholeCodec = "gob"

func (w *whole) AppendRecord(ctx context.Context, id string, record []byte) error {
	w.records = append(w.records, record)
	return w.set(ctx, id)
}

func (w *whole) ReadRecords(ctx context.Context, id string) ([][]byte, error) {
	data, exists, err := w.store.Get(ctx, id)
	if err != nil || !exists {
		return nil, err
	}
	_, _, payload, err := wholeKind.Open(data)
	if errors.Is(err, envelope.ErrForeign) { // a checkpoint
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var v any
	if err := new(serialization.InternalSerializer).Unmarshal(payload, &v); err != nil {
		return nil, fmt.Errorf("steps: %w", err)
	}
	d, ok := v.(*wholeRecords)
	if !ok {
		return nil, fmt.Errorf("steps: it is %T", v)
	}
	w.records = slices.Clone(d.Records)
	return d.Records, nil
}

// RemoveRecords removes the value, if it is not a checkpoint by now. Where the store cannot delete, an empty list
// stands for nothing.
func (w *whole) RemoveRecords(ctx context.Context, id string) error {
	w.records = nil
	data, exists, err := w.store.Get(ctx, id)
	if err != nil || !exists || !IsWhole(data) {
		return err
	}
	if deleter, ok := w.store.(core.CheckPointDeleter); ok {
		return deleter.Delete(ctx, id)
	}
	return w.set(ctx, id)
}

func (w *whole) set(ctx context.Context, id string) error {
	data, err := new(serialization.InternalSerializer).Marshal(&wholeRecords{Records: w.records})
	if err != nil {
		return fmt.Errorf("steps: %w", err)
	}
	return w.store.Set(ctx, id, wholeKind.Seal(wholeCodec, data))
}

// IsWhole reports whether a value of a store is a list of records and not a checkpoint.
func IsWhole(data []byte) bool {
	_, _, _, err := wholeKind.Open(data)
	return err == nil
}

// BlameStore turns the panic of a store into an error of its caller. It must be deferred directly.
func BlameStore(err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("the checkpoint store panicked: %w", safe.NewPanicError(v, debug.Stack()))
	}
}
