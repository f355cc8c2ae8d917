package checkpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/weftgo/weft/adk/checkpoint/storekit"
	"github.com/weftgo/weft/runs"
)

// ValueKind names the kind of a value that a store keeps of a run.
type ValueKind string

// The kinds of values: a checkpoint, a record of a journal, a reply, the result of a run, and the Info of a question, as JSON.
const (
	CheckpointValue ValueKind = "checkpoint"
	RecordValue     ValueKind = "record"
	AnswerValue     ValueKind = "answer"
	ResultValue     ValueKind = "result"
	InfoValue       ValueKind = "info"
)

// Rewriter is a store that can replace how the values of a run are encoded. MemoryStore and the stores on SQL, Redis and
// NATS are.
type Rewriter interface {
	// Rewrite replaces each value of an ID by what f makes of it: all of them or, with an error, none. It changes nothing
	// else, and may be called while a worker holds the run. Of an ID that is not there it does nothing. f may be called
	// several times for one value.
	Rewrite(ctx context.Context, id string, f func(kind ValueKind, value []byte) ([]byte, error)) error
}

// Reseal has all values of a sealed store sealed with the current key: then keys before it are needed no more. It returns
// of how many IDs it has rewritten something. It may run beside everything else, and again after an error. The store is one
// that [Seal] or [SealWith] has made, on a [Rewriter].
func Reseal(ctx context.Context, store runs.Store) (n int, err error) {
	s, ok := As[*sealed](store)
	if !ok {
		return 0, fmt.Errorf("reseal: %T is no sealed store: give it what Seal has made", store)
	}
	below, err := rewriterOf(s.store)
	if err != nil {
		return 0, fmt.Errorf("reseal: %w", err)
	}
	current, _, err := s.keys.Current()
	if err != nil {
		return 0, fmt.Errorf("reseal: %w", err)
	}
	ids := map[string]bool{}
	for info, err := range s.store.ListCheckPoints(ctx, "") {
		if err != nil {
			return 0, fmt.Errorf("reseal: %w", err)
		}
		ids[info.ID] = true
	}
	for info, err := range s.store.List(ctx, runs.Query{}) {
		if err != nil {
			return 0, fmt.Errorf("reseal: %w", err)
		}
		ids[info.ID] = true
	}
	for id := range ids {
		changed := false
		err := below.Rewrite(ctx, id, func(kind ValueKind, value []byte) ([]byte, error) {
			again, err := s.reseal(current, kind, id, value)
			changed = changed || !bytes.Equal(again, value)
			return again, err
		})
		if err != nil {
			return n, fmt.Errorf("reseal run %q: %w", id, err)
		}
		if changed {
			n++
		}
	}
	return n, nil
}

// reseal seals a value with the current key, unless it is.
func (s *sealed) reseal(current string, kind ValueKind, id string, value []byte) ([]byte, error) {
	if kind == InfoValue {
		var text string
		if json.Unmarshal(value, &text) != nil {
			return nil, ErrNotSealed
		}
		again, err := s.resealText(current, sealedInfo, id, text)
		if err != nil {
			return nil, err
		}
		return json.Marshal(again)
	}
	if keyOf(value) == current {
		return value, nil
	}
	opened, err := s.open(string(kind), id, value)
	if err != nil {
		return nil, err
	}
	return s.seal(string(kind), id, opened)
}

func (s *sealed) resealText(current, kind, id, text string) (string, error) {
	if data, err := textEncoding.DecodeString(text); err == nil && keyOf(data) == current {
		return text, nil
	}
	opened, err := s.openText(kind, id, text)
	if err != nil {
		return "", err
	}
	return s.text(kind, id, opened)
}

// keyOf is the name of the key of a sealed value, "" for one that is not sealed.
func keyOf(data []byte) string {
	const head = len(sealMagic) + 2
	if len(data) < head || len(data) < head+int(data[head-1]) {
		return ""
	}
	return string(data[head : head+int(data[head-1])])
}

// Rewrite replaces how the values of an ID are encoded.
func (s *MemoryStore) Rewrite(
	ctx context.Context, id string, f func(kind ValueKind, value []byte) ([]byte, error),
) error {
	if err := ended(ctx, "rewrite", id); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var failed error
	grown := 0
	rewritten := func(kind ValueKind, value []byte) []byte {
		if failed != nil {
			return nil
		}
		again, err := f(kind, bytes.Clone(value))
		failed = err
		grown += len(again) - len(value)
		return storekit.Owned(again)
	}
	var apply []func()
	if data, ok := s.checkpoints[id]; ok {
		again := rewritten(CheckpointValue, data)
		apply = append(apply, func() { s.checkpoints[id] = again })
	}
	var journal [][]byte
	for _, record := range s.journals[id] {
		journal = append(journal, rewritten(RecordValue, record))
	}
	if r := s.runs.rows[id]; r != nil {
		again, err := RewriteRow(*r, f)
		failed = errors.Join(failed, err)
		apply = append(apply, func() {
			*r = again
			r.Run.Bytes += int64(grown)
		})
	}
	if failed != nil {
		return storekit.Failed("rewrite", id, failed)
	}
	for _, do := range apply {
		do()
	}
	if journal != nil {
		s.journals[id] = journal
	}
	return nil
}

// RewriteRow replaces how the answers, the result and the questions of a row are encoded, for stores that are a [Rewriter].
// It changes a copy.
func RewriteRow(r storekit.Row, f func(kind ValueKind, value []byte) ([]byte, error)) (_ storekit.Row, err error) {
	r.Run = r.Info()
	r.Answers = append([]runs.Reply(nil), r.Answers...)
	rewrite := func(kind ValueKind, value []byte) []byte {
		if err != nil || len(value) == 0 {
			return value
		}
		var again []byte
		again, err = f(kind, value)
		return again
	}
	for i := range r.Answers {
		r.Answers[i].Data = rewrite(AnswerValue, r.Answers[i].Data)
	}
	r.Result = rewrite(ResultValue, r.Result)
	for i := range r.Run.Waiting {
		p := &r.Run.Waiting[i]
		p.Info = rewrite(InfoValue, p.Info)
	}
	return r, err
}
