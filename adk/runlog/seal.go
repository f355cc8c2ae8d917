package runlog

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"reflect"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/runs"
)

// Seal returns a store of events that encrypts what they say before another store gets it: all of Data but the status of a
// [RunEnd]. What events are, of which run, agent and span, and when they happened, stays readable. Encryption, keys, their
// rotation, and the errors of values that cannot be opened are the same as in checkpoint.Seal; give both the same keys.
// Events are not sealed again: they are kept for a short time.
func Seal(store Store, keys checkpoint.Keys) Store { return &sealedStore{store, keys} }

type sealedStore struct {
	Store
	keys checkpoint.Keys
}

// Append implements Store.
func (s *sealedStore) Append(ctx context.Context, run string, events []Event) error {
	sealed := make([]Event, len(events))
	for i, e := range events {
		data, err := json.Marshal(e.Data)
		if err == nil {
			e.Sealed, err = checkpoint.SealEvent(s.keys, run, data)
		}
		if err != nil {
			return fmt.Errorf("event %d (%s) of run %q: %w", e.Seq, e.Type, run, err)
		}
		e.Data = nil
		if end := endOf(&events[i]); end != "" { // which lists look for
			e.Data = &RunEndData{Status: end}
		}
		sealed[i] = e
	}
	return s.Store.Append(ctx, run, sealed)
}

// Read implements Store.
func (s *sealedStore) Read(ctx context.Context, run string, after runs.Cursor) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for e, err := range s.Store.Read(ctx, run, after) {
			if err == nil {
				err = s.open(run, &e)
			}
			if err != nil {
				yield(Event{}, err)
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// open decrypts the data of an event.
func (s *sealedStore) open(run string, e *Event) error {
	data, err := checkpoint.OpenEvent(s.keys, run, e.Sealed)
	if err != nil {
		return fmt.Errorf("event %d (%s) of run %q: %w", e.Seq, e.Type, run, err)
	}
	e.Sealed = nil
	t, known := dataTypes[e.Type]
	if !known {
		e.Data = json.RawMessage(data)
		return nil
	}
	into := reflect.New(t).Interface()
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("event %d (%s) of run %q: its data is not of its type: %w", e.Seq, e.Type, run, err)
	}
	e.Data = into
	return nil
}
