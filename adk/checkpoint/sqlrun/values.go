package sqlrun

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/weftgo/weft/adk/checkpoint/storekit"
	"github.com/weftgo/weft/runs"
)

// valueKind is a value that is kept of a run in {vals}; of a row, the sum of those that there are.
type valueKind int64

const (
	checkpointValue valueKind = 1 << iota
	resultValue
	answersValue
	// isBehind is no value: the run is ready, and another one of its key has to end before (see waitInLine).
	isBehind
)

// Get returns the checkpoint, and false when there is none with that ID.
func (s *Store) Get(ctx context.Context, checkPointID string) (checkPoint []byte, found bool, err error) {
	return s.value(ctx, "get", checkPointID, checkpointValue)
}

// value reads a value of a run.
func (s *Store) value(ctx context.Context, doing, id string, kind valueKind) (
	data []byte, found bool, err error) {
	err = s.read(ctx, doing, id, func(ctx context.Context) error {
		var no int64
		err := s.reads.QueryRowContext(ctx, s.sql(`SELECT r.no, v.data FROM {runs} r JOIN {vals} v
			ON v.run = r.no AND v.kind = $3 WHERE r.tenant = $1 AND r.id = $2`), s.tenant, encode(id), kind).Scan(&no, &data)
		found = err == nil
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err == nil {
			data, err = checkValue(id, data, no, kind)
		}
		return err
	})
	return data, found, err
}

// recordKind is the kind of the records of a run, for their sums.
const recordKind = 0

// checkValue returns a value that is what was written, without its sum.
func checkValue(id string, data []byte, no int64, kind valueKind) ([]byte, error) {
	value, err := storekit.CheckSum(data, no, int64(kind))
	if err != nil {
		return nil, storekit.NewRowError(id, fmt.Errorf("%w: a value: %w", runs.ErrUnreadable, err))
	}
	return value, nil
}

// checkRecord returns the record of a run that is what was written, without its sum. n counts from 1.
func checkRecord(id string, data []byte, no int64, n int) ([]byte, error) {
	record, err := storekit.CheckSum(data, no, recordKind)
	if err != nil {
		return nil, fmt.Errorf("record %d in the journal of run %q: %w: %w", n, id, runs.ErrDamaged, err)
	}
	return record, nil
}

// read does something that changes nothing. It is tried again if the database could not do it.
func (s *Store) read(ctx context.Context, doing, id string, do func(ctx context.Context) error) error {
	err := ctx.Err()
	if err == nil {
		err = s.retry(ctx, func(ctx context.Context, _ int) error { return do(ctx) })
	}
	return storekit.FailedOnce(doing, id, err)
}

// Set stores the checkpoint.
func (s *Store) Set(ctx context.Context, checkPointID string, checkPoint []byte) error {
	if err := storekit.CheckSize("set", checkPointID, checkPoint); err != nil {
		return err
	}
	return s.change(ctx, "set", checkPointID, func(ctx context.Context, t *transaction) error {
		r, err := t.lockOrMake(ctx, checkPointID)
		if err != nil {
			return err
		}
		if err := t.set(ctx, r, checkpointValue, checkPoint); err != nil {
			return err
		}
		r.Run.Updated = r.now
		return t.save(ctx, r)
	})
}

// set replaces a value of a run, and counts its bytes. The row has to be saved.
func (t *transaction) set(ctx context.Context, r *row, kind valueKind, data []byte) error {
	if err := t.unset(ctx, r, kind); err != nil {
		return err
	}
	r.Run.Bytes += int64(len(data))
	return t.put(ctx, r, kind, data)
}

// unset removes a value of a run, and counts its bytes. The row has to be saved.
func (t *transaction) unset(ctx context.Context, r *row, kind valueKind) error {
	if r.has&kind == 0 {
		return nil
	}
	var size int64
	err := t.one(ctx, `SELECT length(data) FROM {vals} WHERE run = $1 AND kind = $2`, r.no, kind).Scan(&size)
	if err != nil {
		return err
	}
	r.Run.Bytes -= size - storekit.SumSize
	return t.drop(ctx, r, kind)
}

// put writes a value. The row has to be saved.
func (t *transaction) put(ctx context.Context, r *row, kind valueKind, data []byte) error {
	r.has |= kind
	_, err := t.exec(ctx, `INSERT INTO {vals} (run, kind, data) VALUES ($1, $2, $3)
		ON CONFLICT (run, kind) DO UPDATE SET data = excluded.data`, r.no, kind, storekit.AddSum(data, r.no, int64(kind)))
	return err
}

// drop removes a value. The row has to be saved.
func (t *transaction) drop(ctx context.Context, r *row, kind valueKind) error {
	r.has &^= kind
	_, err := t.exec(ctx, `DELETE FROM {vals} WHERE run = $1 AND kind = $2`, r.no, kind)
	return err
}

// Delete removes the checkpoint. Its journal stays.
func (s *Store) Delete(ctx context.Context, checkPointID string) error {
	return s.without(ctx, "delete", checkPointID, func(ctx context.Context, t *transaction, r *row) error {
		return t.unset(ctx, r, checkpointValue)
	})
}

// RemoveRecords removes all records.
func (s *Store) RemoveRecords(ctx context.Context, checkPointID string) error {
	return s.without(ctx, "remove the journal of", checkPointID, func(ctx context.Context, t *transaction,
		r *row) error {
		return t.dropRecords(ctx, r)
	})
}

// without removes a part of what is stored under an ID, and the row if it is none of a run and has nothing left.
func (s *Store) without(ctx context.Context, doing, id string,
	do func(ctx context.Context, t *transaction, r *row) error) error {
	return s.change(ctx, doing, id, func(ctx context.Context, t *transaction) error {
		r, err := t.lock(ctx, id)
		if r == nil || err != nil {
			return err
		}
		if err := do(ctx, t, r); err != nil {
			return err
		}
		if !r.isRun() && r.Run.Steps == 0 && r.has == 0 {
			return t.remove(ctx, r)
		}
		return t.save(ctx, r)
	})
}

// dropRecords removes the journal of a run. The row has to be saved.
func (t *transaction) dropRecords(ctx context.Context, r *row) error {
	if r.Run.Steps == 0 {
		return nil
	}
	var size int64
	from, to := placeOf(r.no, 0), placeOf(r.no+1, 0)
	err := t.one(ctx, `SELECT COALESCE(SUM(length(data) - $3), 0) FROM {steps} WHERE place >= $1 AND place < $2`,
		from, to, storekit.SumSize).Scan(&size)
	if err != nil {
		return err
	}
	r.Run.Bytes, r.Run.Steps, r.nextSeq = r.Run.Bytes-size, 0, 0
	_, err = t.exec(ctx, `DELETE FROM {steps} WHERE place >= $1 AND place < $2`, from, to)
	return err
}

// AppendRecord adds a record. It is not fenced: the records of a run are appended by its lease.
func (s *Store) AppendRecord(ctx context.Context, checkPointID string, record []byte) error {
	if err := storekit.CheckSize("append to the journal of", checkPointID, record); err != nil {
		return err
	}
	nonce := rand.Int64()
	return s.change(ctx, "append to the journal of", checkPointID, func(ctx context.Context, t *transaction) error {
		r, err := t.lockOrMake(ctx, checkPointID)
		if err != nil {
			return err
		}
		if t.attempt > 0 && r.nonce == nonce {
			return nil // an earlier attempt appended it
		}
		r.nonce = nonce
		if err := t.append(ctx, r, record); err != nil {
			return err
		}
		r.Run.Updated = r.now
		return t.save(ctx, r)
	})
}

// append adds records. The row has to be saved.
func (t *transaction) append(ctx context.Context, r *row, records ...[]byte) error {
	for _, record := range records {
		if r.nextSeq++; r.nextSeq >= mostSteps {
			return errTooManySteps
		}
		r.Run.Steps++
		r.Run.Bytes += int64(len(record))
		if _, err := t.exec(ctx, insertStep, placeOf(r.no, r.nextSeq), storekit.AddSum(record, r.no, recordKind)); err != nil {
			return err
		}
	}
	return nil
}

// ReadRecords returns the records in order; nil if there are none.
func (s *Store) ReadRecords(ctx context.Context, checkPointID string) ([][]byte, error) {
	return s.ReadRecordsFrom(ctx, checkPointID, 0)
}

// ReadRecordsFrom returns the records behind the first so many, in order; nil if there are none.
func (s *Store) ReadRecordsFrom(ctx context.Context, checkPointID string, from int) (records [][]byte, err error) {
	err = s.read(ctx, "read the journal of", checkPointID, func(ctx context.Context) error {
		records = nil
		rows, err := s.reads.QueryContext(ctx, s.sql(`SELECT r.no, p.data FROM {runs} r
			JOIN {steps} p ON p.place > r.no * 16777216 + $3 AND p.place < (r.no + 1) * 16777216
			WHERE r.tenant = $1 AND r.id = $2 ORDER BY p.place`), s.tenant, encode(checkPointID), from)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var no int64
			var data []byte
			if err := rows.Scan(&no, &data); err != nil {
				return err
			}
			record, err := checkRecord(checkPointID, data, no, from+len(records)+1)
			if err != nil {
				return err
			}
			records = append(records, record)
		}
		return rows.Err()
	})
	return records, err
}

// ListCheckPoints yields the IDs that begin with a prefix. It yields those that exist when the loop begins.
func (s *Store) ListCheckPoints(ctx context.Context, prefix string) iter.Seq2[runs.Listed, error] {
	return func(yield func(runs.Listed, error) bool) {
		infos, err := s.saved(ctx, prefix)
		if err != nil {
			yield(runs.Listed{}, err)
			return
		}
		for _, info := range infos {
			if !yield(info, nil) {
				return
			}
		}
	}
}

// saved returns the IDs that have a checkpoint or a journal, in their order, which is not the order of the keys.
func (s *Store) saved(ctx context.Context, prefix string) (infos []runs.Listed, err error) {
	from, to := prefixRange(prefix)
	err = s.read(ctx, "list", prefix, func(ctx context.Context) error {
		infos = nil
		rows, err := s.reads.QueryContext(ctx, s.sql(`SELECT id, updated_at, CASE WHEN id >= '#' AND id < '$' THEN data END
			FROM {runs} WHERE tenant = $1 AND (has % 2 = 1 OR steps > 0)
			AND (id >= $2 AND id <= $3 OR id >= '#' AND id < '$')`), s.tenant, from, to)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var key string
			var updated int64
			var data []byte
			if err := rows.Scan(&key, &updated, &data); err != nil {
				return err
			}
			id, ok := decode(key)
			if !ok {
				r, err := storekit.DecodeRow(data[:max(0, len(data)-storekit.SumSize)])
				if err != nil {
					return err
				}
				id = r.Run.ID
			}
			if strings.HasPrefix(id, prefix) {
				infos = append(infos, runs.Listed{ID: id, Modified: at(updated)})
			}
		}
		return rows.Err()
	})
	slices.SortFunc(infos, func(a, b runs.Listed) int { return strings.Compare(a.ID, b.ID) })
	return infos, err
}
