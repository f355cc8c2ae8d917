package redis

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/weftgo/weft/adk/checkpoint/storekit"
	"github.com/weftgo/weft/runs"
)

// row is the row of a run as it was read. What signs of life change is in fields of its own (see sign).
type row struct {
	storekit.Row
	// Todo holds what follows from the last change for other runs, and may not be done yet: the next change of the row
	// does it first. All of it can be done again.
	Todo *todo

	// bad is set if the row cannot be read. Then only ID, version and what is in fields of its own are known.
	bad     *storekit.RowError
	version string
	// serial is the index of the runs of its key, "" if it has none. Also a row that cannot be read has it.
	serial string
	// life is the number of records that the lease has appended.
	life int64
}

// change holds what changes together with a row.
type change struct {
	dropSteps     bool
	setCheckpoint []byte // nil leaves it
	dropped       bool   // the checkpoint
	records       [][]byte
}

// rowFields are the fields of a run's hash that a row is made of.
var rowFields = []string{"v", "row", "token", "held", "until", "steps", "bytes", "attempts", "status", "expires", "updated", "life", "todo",
	"serial", "stop"}

// read reads the row of an ID; nil if there is none. version is the version of what is there, for callers that make
// one. A row that cannot be read is an error.
func (s *Store) read(ctx context.Context, id string) (r *row, version string, err error) {
	r, version, err = s.readAny(ctx, id)
	if err == nil && r != nil && r.bad != nil {
		return nil, version, r.bad
	}
	return r, version, err
}

// readAny is read, and returns also a row that is bad.
func (s *Store) readAny(ctx context.Context, id string) (r *row, version string, err error) {
	values, err := try(ctx, s, func() *redis.SliceCmd { return s.client.HMGet(ctx, s.runKey(id), rowFields...) })
	if err != nil {
		return nil, "", err
	}
	r, version = s.readRow(id, values)
	return r, version, nil
}

// readRow makes a row of its fields, nil if there is none.
func (s *Store) readRow(id string, values []any) (r *row, version string) {
	text := func(i int) string { t, _ := values[i].(string); return t }
	number := func(i int) int64 { n, _ := strconv.ParseInt(text(i), 10, 64); return n }
	version = text(0)
	if version == "" {
		version = "0"
	}
	if values[1] == nil {
		return nil, version
	}
	r = &row{version: version, serial: text(13)}
	whole, err := storekit.CheckSum([]byte(text(1)), placeOf(id), besideRow(text(2), text(3), text(12), r.serial, text(14)))
	var decoded *storekit.Row
	switch {
	case err == nil:
		decoded, err = storekit.DecodeRow(whole)
	default:
		err = fmt.Errorf("%w: it, or a field beside it: %w", runs.ErrUnreadable, err)
	}
	if err == nil {
		err = decoded.CheckMoved(storekit.Moved{Life: number(11), Status: runs.Status(text(8)), Attempts: int(number(7)),
			Steps: int(number(5)), Expires: at(number(9))})
	}
	if err == nil {
		r.Row = *decoded
		if t := text(12); t != "" {
			r.Todo, err = decodeTodo([]byte(t))
		}
	}
	run := &r.Run
	if err != nil {
		r.bad, r.Todo = storekit.NewRowError(id, err), nil
		run.ID, run.Error = id, r.bad.Unreadable().Error
	}
	run.Tenant, run.Token = s.tenant, uint64(number(2))
	if text(3) == "1" {
		if run.Owner == "" {
			run.Owner = "somebody"
		}
		run.LeaseUntil = at(number(4))
	}
	run.Steps, run.Bytes, run.Attempts = int(number(5)), number(6), int(number(7))
	run.Status, run.Expires, run.Updated = runs.Status(text(8)), at(number(9)), at(number(10))
	r.life = number(11)
	return r, version
}

// at is a time, the zero one for 0.
func at(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros)
}

func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// fields are the fields of the hash.
func (r *row) fields() ([]any, error) {
	encoded, err := r.Row.Encode()
	if err != nil {
		return nil, err
	}
	var others []byte
	if r.Todo != nil {
		if others, err = r.Todo.encode(); err != nil {
			return nil, err
		}
	}
	stop, held := "", "0"
	if r.Stopping != nil {
		text, err := json.Marshal(r.Stopping)
		if err != nil {
			return nil, err
		}
		stop = string(text)
	}
	if r.Run.Owner != "" {
		held = "1"
	}
	encoded = storekit.AddSum(encoded, placeOf(r.Run.ID), besideRow(strconv.FormatUint(r.Run.Token, 10), held, string(others), r.serial, stop))
	return []any{"row", encoded, "token", r.Run.Token, "held", held, "until", micros(r.Run.LeaseUntil),
		"steps", r.Run.Steps, "bytes", r.Run.Bytes, "attempts", r.Run.Attempts, "taken", r.TakenSteps,
		"status", string(r.Run.Status), "expires", micros(r.Run.Expires), "updated", micros(r.Run.Updated),
		"life", r.life, "stop", stop, "todo", others, "serial", r.serial}, nil
}

// besideRow returns a checksum that goes into the sum of a row, with its ID: it is made of the fields beside the row that
// change with it alone. If one of them was damaged, the row is taken to be damaged. Rule distributed/B23.
func besideRow(token, held, todo, serial, stop string) int64 {
	var b []byte
	for _, text := range []string{token, held, todo, serial, stop} {
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	return int64(crc32.ChecksumIEEE(b))
}

// errChanged says that the row was written since it was read.
var errChanged = errors.New("the row was changed")

// write writes a row, and what changes with it, unless the row was written since it was read.
func (s *Store) write(ctx context.Context, r *row, c change) error {
	if r.Run.Key != "" {
		r.serial = hashed(r.Run.Key)
	}
	fields, err := r.fields()
	if err != nil {
		return err
	}
	drop, op := "0", ""
	if c.dropSteps {
		drop = "1"
	}
	switch {
	case c.setCheckpoint != nil:
		op = "set"
	case c.dropped:
		op = "drop"
	}
	keys, args := s.indexed(r.Run.ID, r.version, r)
	place := placeOf(r.Run.ID)
	args = append(args, rand.Text(), time.Now().UnixMicro(), drop, op, storekit.AddSum(c.setCheckpoint, place, checkpointKind), len(fields))
	args = append(args, fields...)
	for _, record := range c.records {
		args = append(args, storekit.AddSum(record, place, recordKind))
	}
	done, err := s.run(ctx, replace, keys, args...).Int()
	if err == nil && done == 0 {
		err = errChanged
	}
	return err
}

// update changes the row of an ID. do gets nil if there is none, and may be called again when another writer was
// faster. It returns the row to write, nil to write none.
func (s *Store) update(
	ctx context.Context, doing, id string, do func(r *row, now time.Time) (*row, change, error),
) error {
	if err := ctx.Err(); err != nil {
		return storekit.FailedOnce(doing, id, err)
	}
	for {
		r, version, err := s.read(ctx, id)
		if err == nil && r != nil && r.Todo != nil {
			if err = s.doOthers(ctx, r); err == nil || errors.Is(err, errChanged) {
				continue
			}
		}
		var now time.Time
		if err == nil {
			now, err = s.now(ctx)
		}
		if err != nil {
			return storekit.FailedOnce(doing, id, err)
		}
		changed, c, err := do(r, now.Truncate(time.Microsecond))
		if err != nil || changed == nil {
			return err
		}
		if changed.version == "" {
			changed.version = version
		}
		switch err := s.write(ctx, changed, c); {
		case errors.Is(err, errChanged):
			if err := ctx.Err(); err != nil {
				return storekit.FailedOnce(doing, id, err)
			}
			continue
		case err != nil:
			return storekit.FailedOnce(doing, id, err)
		}
		if changed.Todo == nil {
			return nil
		}
		after, _, err := s.read(ctx, id)
		if err == nil && after != nil && after.Todo != nil {
			err = s.doOthers(ctx, after)
		}
		if err != nil && !errors.Is(err, errChanged) { // it has happened; the next change does the rest
			return nil
		}
		return nil
	}
}

// askedAgain notes at which question a run that exists is waited for.
func (s *Store) askedAgain(ctx context.Context, child runs.Child) error {
	return s.update(ctx, "submit", child.ID, func(r *row, _ time.Time) (*row, change, error) {
		if r == nil || !r.AskedAgain(child.Run) { // or it was removed meanwhile
			return nil, change{}, nil
		}
		return r, change{}, nil
	})
}

// doOthers applies the queued changes to other runs, and then removes them from the queue.
func (s *Store) doOthers(ctx context.Context, r *row) error {
	ctx = context.WithoutCancel(ctx)
	for _, child := range r.Todo.Children {
		_, err := s.Submit(ctx, child.ID, child.Run)
		if errors.Is(err, runs.ErrExists) {
			err = s.askedAgain(ctx, child)
		}
		if err != nil {
			return err
		}
	}
	if a := r.Todo.Answer; a != nil {
		err := s.Reply(ctx, r.Todo.Parent, *a)
		var state *runs.Error
		if err != nil && !errors.As(err, &state) && !errors.Is(err, runs.ErrNotFound) {
			return err // otherwise it does not wait any more
		}
	}
	r.Todo = nil
	return s.write(ctx, r, change{})
}
