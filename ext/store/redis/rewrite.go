package redis

import (
	"bytes"
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/checkpoint/storekit"
)

var _ checkpoint.Rewriter = (*Store)(nil)

// rewrite replaces the values of a run, if nothing was written since they were read.
//
//	KEYS  run, steps
//	ARGV  version that was read, "1" for a run, the checkpoint that was read, the one in its place, how many records there
//	      were, those in their place, and then fields and values
//
// It returns 1, or 0 if something was written.
var rewrite = redis.NewScript(`
if (redis.call('HGET', KEYS[1], 'v') or '0') ~= ARGV[1] then return 0 end
if (redis.call('HGET', KEYS[1], 'checkpoint') or '') ~= ARGV[3] then return 0 end
local n = tonumber(ARGV[5])
if redis.call('LLEN', KEYS[2]) ~= n then return 0 end
if ARGV[2] == '1' then redis.call('HINCRBY', KEYS[1], 'v', 1) end
if ARGV[4] ~= ARGV[3] then redis.call('HSET', KEYS[1], 'checkpoint', ARGV[4]) end
for i = 1, n do redis.call('LSET', KEYS[2], i - 1, ARGV[5 + i]) end
for i = 6 + n, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
return 1`)

// Rewrite replaces how the values of an ID are encoded, in one step of the server.
func (s *Store) Rewrite(
	ctx context.Context, id string, f func(kind checkpoint.ValueKind, value []byte) ([]byte, error),
) error {
	for {
		if err := ctx.Err(); err != nil {
			return storekit.Failed("rewrite", id, err)
		}
		done, err := s.tryRewrite(ctx, id, f)
		if err != nil || done {
			return storekit.Failed("rewrite", id, err)
		}
	}
}

// tryRewrite rewrites the values once, and reports whether no other writer came between.
func (s *Store) tryRewrite(
	ctx context.Context, id string, f func(kind checkpoint.ValueKind, value []byte) ([]byte, error),
) (done bool, err error) {
	r, version, err := s.read(ctx, id)
	if err == nil && r != nil && r.Todo != nil { // what it has for other runs is sealed, too
		return false, s.doOthers(ctx, r)
	}
	if err != nil {
		return false, err
	}
	before, exists, err := s.Get(ctx, id)
	if err != nil {
		return false, err
	}
	after := before
	if exists {
		if after, err = f(checkpoint.CheckpointValue, before); err != nil {
			return false, err
		}
	}
	records, err := s.ReadRecords(ctx, id)
	if err != nil {
		return false, err
	}
	changed, grown := !bytes.Equal(before, after), len(after)-len(before)
	isRun := "0"
	if r != nil {
		isRun = "1"
	}
	stored := func(value []byte) []byte {
		if !exists {
			return []byte{}
		}
		return storekit.AddSum(value, placeOf(id), checkpointKind)
	}
	args := []any{version, isRun, stored(before), stored(after), len(records)}
	for _, record := range records {
		again, err := f(checkpoint.RecordValue, record)
		if err != nil {
			return false, err
		}
		changed, grown = changed || !bytes.Equal(again, record), grown+len(again)-len(record)
		args = append(args, storekit.AddSum(again, placeOf(id), recordKind))
	}
	if r != nil {
		old, err := r.Row.Encode()
		if err != nil {
			return false, err
		}
		if r.Row, err = checkpoint.RewriteRow(r.Row, f); err != nil {
			return false, err
		}
		again, err := r.Row.Encode()
		if err != nil {
			return false, err
		}
		changed = changed || !bytes.Equal(again, old)
		r.Run.Bytes += int64(grown)
		fields, err := r.fields()
		if err != nil {
			return false, err
		}
		args = append(args, fields...)
	}
	if !changed {
		return true, nil
	}
	n, err := s.run(ctx, rewrite, []string{s.runKey(id), s.stepsKey(id)}, args...).Int()
	return n == 1, err
}
