package sqlrun

import (
	"bytes"
	"context"
	"database/sql"
	"errors"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/checkpoint/storekit"
)

var _ checkpoint.Rewriter = (*Store)(nil)

// Rewrite replaces how the values of an ID are encoded, in one transaction.
func (s *Store) Rewrite(
	ctx context.Context, id string, f func(kind checkpoint.ValueKind, value []byte) ([]byte, error),
) error {
	return s.change(ctx, "rewrite", id, func(ctx context.Context, t *transaction) error {
		r, err := t.lock(ctx, id)
		if r == nil || err != nil {
			return err
		}
		for kind, value := range map[checkpoint.ValueKind]valueKind{
			checkpoint.CheckpointValue: checkpointValue, checkpoint.ResultValue: resultValue,
		} {
			if err := t.rewriteValue(ctx, r, value, func(data []byte) ([]byte, error) { return f(kind, data) }); err != nil {
				return err
			}
		}
		err = t.rewriteRecords(ctx, r, func(data []byte) ([]byte, error) { return f(checkpoint.RecordValue, data) })
		if err != nil {
			return err
		}
		if r.Row, err = checkpoint.RewriteRow(r.Row, f); err != nil {
			return err
		}
		if len(r.Answers) > 0 {
			r.was.answers = 0 // so that they are written
		}
		return t.save(ctx, r)
	})
}

// rewriteValue replaces a value, if there is one. The row has to be saved.
func (t *transaction) rewriteValue(
	ctx context.Context, r *row, kind valueKind, f func([]byte) ([]byte, error),
) error {
	var data []byte
	err := t.one(ctx, `SELECT data FROM {vals} WHERE run = $1 AND kind = $2`, r.no, kind).Scan(&data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err == nil {
		data, err = checkValue(r.Run.ID, data, r.no, kind)
	}
	if err != nil || kind == resultValue && len(data) == 0 {
		return err
	}
	again, err := f(data)
	if err != nil || bytes.Equal(again, data) {
		return err
	}
	if kind == checkpointValue {
		return t.set(ctx, r, kind, again)
	}
	return t.put(ctx, r, kind, again)
}

// rewriteRecords replaces the records of a run. The row has to be saved.
func (t *transaction) rewriteRecords(ctx context.Context, r *row, f func([]byte) ([]byte, error)) error {
	for behind, end := placeOf(r.no, 0)-1, placeOf(r.no+1, 0); ; {
		var place int64
		var data []byte
		err := t.one(ctx, `SELECT place, data FROM {steps} WHERE place > $1 AND place < $2 ORDER BY place LIMIT 1`,
			behind, end).Scan(&place, &data)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		if data, err = checkRecord(r.Run.ID, data, r.no, int(place-placeOf(r.no, 0))); err != nil {
			return err
		}
		again, err := f(data)
		if err != nil {
			return err
		}
		if !bytes.Equal(again, data) {
			with := storekit.AddSum(again, r.no, recordKind)
			if _, err := t.exec(ctx, `UPDATE {steps} SET data = $1 WHERE place = $2`, with, place); err != nil {
				return err
			}
			r.Run.Bytes += int64(len(again) - len(data))
		}
		behind = place
	}
}
