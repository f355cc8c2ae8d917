package redis

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/weftgo/weft/adk/checkpoint/storekit"
)

// Where a run is to be looked for is kept beside its row, in sorted sets of IDs: when it becomes due, when it expires, and
// by its key in the order of the key's runs. A script that writes a row writes them in the same step, and a call that
// meets an entry that the row says is wrong mends it only if the row is still the one that was read. So no row that was
// written ever lacks an entry; what a server has lost or a hand has removed is mended by sweeps.
// Rule distributed/B21.

// indexed are the keys that a change of a run needs, and the arguments that say where it is to be looked for: the version
// that was read, the ID, and a score for each index. A run without a row is in none.
func (s *Store) indexed(id, version string, r *row) (keys []string, args []any) {
	serial, scores := "", [3]string{}
	if r != nil {
		serial, scores = r.serial, r.scores()
	}
	return []string{s.runKey(id), s.stepsKey(id), s.idsKey(), s.dueKey(), s.expiresKey(), s.serialKey(serial)},
		[]any{version, id, scores[0], scores[1], scores[2]}
}

// serialKey is the index of the runs of a key, of which serial is the hash.
func (s *Store) serialKey(serial string) string { return s.prefix + "key:" + serial }

// scores returns the scores of a run in the indexes of what is due, what expires, and the runs of its key; "" if it is
// in none.
func (r *row) scores() (scores [3]string) {
	if due, ok := r.dueFrom(); ok {
		scores[0] = strconv.FormatInt(micros(due), 10)
	}
	if !r.Run.Expires.IsZero() {
		scores[1] = strconv.FormatInt(micros(r.Run.Expires), 10)
	}
	if r.BlocksKey() {
		scores[2] = strconv.FormatUint(r.Born, 10)
	}
	return scores
}

// dueFrom is from when on a worker may have to take the run.
func (r *row) dueFrom() (time.Time, bool) {
	from, ok := r.DueFrom()
	if r.Run.Owner != "" {
		from = r.Run.LeaseUntil
	}
	return from, ok
}

// versionOf is the version of a row, also of one that there is not.
func versionOf(r *row) string {
	if r == nil {
		return "0"
	}
	return r.version
}

// mend brings the indexes in line with a row, nil if there is none, unless it was written since it was read. serial is the
// key under which a run without a row was found, if it was. What is known of a row that cannot be read stays as it is.
func (s *Store) mend(ctx context.Context, id, version, serial string, r *row) error {
	if r != nil && r.bad != nil {
		return nil
	}
	keys, args := s.indexed(id, version, r)
	if r == nil {
		keys[5] = s.serialKey(serial)
	}
	return s.run(ctx, mend, keys, args...).Err()
}

// mendedAtOnce is about how many runs a sweep compares with the indexes. The next one continues behind them.
const mendedAtOnce = 500

// mendSome compares the rows of some runs with the indexes.
func (s *Store) mendSome(ctx context.Context) error {
	text, err := try(ctx, s, func() *redis.StringCmd { return s.client.Get(ctx, s.mendedKey()) })
	if err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	from, _ := strconv.ParseUint(text, 10, 64)
	var next uint64
	found, err := try(ctx, s, func() scanned {
		members, cursor, err := s.client.ZScan(ctx, s.idsKey(), from, "", mendedAtOnce).Result()
		next = cursor
		return scanned{members, err}
	})
	if err != nil {
		return err
	}
	ids := make([]string, 0, len(found)/2)
	for i := 0; i < len(found); i += 2 { // each is followed by its score
		ids = append(ids, found[i])
	}
	if err := s.mendAll(ctx, ids); err != nil {
		return err
	}
	return s.put(ctx, func(p redis.Pipeliner) { p.Set(ctx, s.mendedKey(), next, 0) })
}

// scanned is the answer of a scan.
type scanned struct {
	members []string
	err     error
}

func (s scanned) Result() ([]string, error) { return s.members, s.err }

// mendAll mends the indexes of the runs of which they are wrong.
func (s *Store) mendAll(ctx context.Context, ids []string) error {
	rows, err := s.readAll(ctx, ids)
	if err != nil {
		return err
	}
	have := make([][3]*redis.FloatCmd, len(ids))
	err = s.pipelined(ctx, func(p redis.Pipeliner) {
		for i, r := range rows {
			if r != nil && r.bad == nil {
				have[i] = [3]*redis.FloatCmd{p.ZScore(ctx, s.dueKey(), ids[i]), p.ZScore(ctx, s.expiresKey(), ids[i]),
					p.ZScore(ctx, s.serialKey(r.serial), ids[i])}
			}
		}
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	for i, r := range rows {
		if r == nil || r.bad != nil || !isWrong(have[i], r.scores()) {
			continue
		}
		if err := s.mend(ctx, ids[i], r.version, "", r); err != nil {
			return storekit.FailedOnce("mend the indexes of", ids[i], err)
		}
	}
	return nil
}

// isWrong reports whether indexes have other scores than they should.
func isWrong(have [3]*redis.FloatCmd, want [3]string) bool {
	for i, score := range have {
		if score.Err() != nil { // it is not there
			if want[i] != "" {
				return true
			}
			continue
		}
		if n, err := strconv.ParseFloat(want[i], 64); err != nil || n != score.Val() {
			return true
		}
	}
	return false
}
