package nats

import (
	"bytes"
	"context"

	"github.com/weftgo/weft/adk/checkpoint"
)

var _ checkpoint.Rewriter = (*Store)(nil)

// Rewrite replaces how the values of an ID are encoded, in one step: of a journal of up to 900 records or so, as one step
// of the server has at most 1000 messages.
func (s *Store) Rewrite(
	ctx context.Context, id string, f func(kind checkpoint.ValueKind, value []byte) ([]byte, error),
) error {
	_, err := s.change(ctx, "rewrite", id, nil, func(ctx context.Context, c *change, st *state) error {
		if st.isGone() {
			return nil
		}
		changed := false
		again := func(kind checkpoint.ValueKind, value []byte) ([]byte, error) {
			now, err := f(kind, value)
			changed = changed || !bytes.Equal(now, value)
			return now, err
		}
		records, err := s.journal(ctx, st)
		var saved []byte
		if err == nil && st.Saved != nil {
			saved, err = s.load(ctx, st.hash, *st.Saved)
		}
		if err != nil {
			return s.unlessChanged(ctx, s.allOf(st.hash), st.version, err)
		}
		for i := range records {
			if records[i], err = again(checkpoint.RecordValue, records[i]); err != nil {
				return err
			}
		}
		if st.Saved != nil {
			if saved, err = again(checkpoint.CheckpointValue, saved); err != nil {
				return err
			}
		}
		row, result := st.Row, len(st.Row.Result)
		if st.IsRun {
			if row, err = checkpoint.RewriteRow(st.Row, again); err != nil {
				return err
			}
		}
		if !changed {
			return nil
		}
		st.Row = row
		st.Row.Run.Bytes += int64(len(row.Result) - result)
		if err := c.rewriteJournal(ctx, st, records); err != nil {
			return err
		}
		if st.Saved != nil {
			if err := s.setSaved(ctx, st, saved); err != nil {
				return err
			}
		}
		c.put(st)
		return nil
	})
	return err
}

// rewriteJournal replaces the records. A holder that does not know whether its last record has arrived still recognizes
// it by what it was.
func (c *change) rewriteJournal(ctx context.Context, st *state, records [][]byte) error {
	if len(records) == 0 {
		return nil
	}
	last := st.Last
	st.dropSteps()
	for _, record := range records {
		if err := c.record(ctx, st, record); err != nil {
			return err
		}
	}
	last.Bytes = st.Last.Bytes
	st.Last = last
	return nil
}
