package redis

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/weftgo/weft/adk/checkpoint/storekit"
	"github.com/weftgo/weft/runs"
)

// Config configures a [Store].
type Config struct {
	// Client is the connection, which the caller makes and closes. Required.
	Client redis.UniversalClient
	// Prefix begins all keys. The default is "weft".
	Prefix string
	// Retention is the time for which runs are kept.
	Retention runs.Retention
	// Patience is for how long a call is tried when the server is out of reach. The default is a minute. How long an
	// attempt takes is for the client to bound: see its ReadTimeout.
	Patience time.Duration
	// Replicas is the number of replicas that must have a write before the call that made it returns (WAIT), so that a
	// failover to one of them loses nothing that a call has returned. Where too few have it within Patience, the error
	// matches [ErrUnavailable], and the write may have been made. The default, 0, waits for none. It is for clients of one
	// server, with Sentinel or without, not of a cluster. Events (OpenEvents) wait for none.
	Replicas int
	// Logger gets, at level Warn, that the server does not write what it acknowledges to its disk. The default is nil.
	Logger *slog.Logger
}

// Store is a runs.Store in Redis. Use New.
type Store struct {
	client    redis.UniversalClient
	root      string
	tenant    string
	prefix    string
	retention runs.Retention
	patience  time.Duration
	replicas  int
	// passedOver are runs, by the keys of their rows, that cannot be read.
	passedOver *storekit.PassedOver[string]
	// stops has the leases of this process, of all tenants, look for requests to stop, by the keys of their rows.
	stops *storekit.StopWatch[string, *lease]
}

var _ runs.Store = (*Store)(nil)

// New makes a store of the tenant "". It fails if the server does not answer.
func New(ctx context.Context, conf Config) (*Store, error) {
	if conf.Client == nil {
		return nil, errors.New("redis: Config.Client is missing")
	}
	if conf.Prefix == "" {
		conf.Prefix = "weft"
	}
	if conf.Patience <= 0 {
		conf.Patience = time.Minute
	}
	if err := checkReplicas(conf); err != nil {
		return nil, err
	}
	if err := conf.Client.Ping(ctx).Err(); err != nil {
		return nil, fmt.Errorf("redis: %w", err)
	}
	if conf.Logger != nil {
		warnOfDurability(ctx, conf)
	}
	s := &Store{client: conf.Client, root: conf.Prefix, retention: conf.Retention, patience: conf.Patience,
		replicas: conf.Replicas, passedOver: new(storekit.PassedOver[string]), stops: storekit.NewStopWatch[string](lookForStops, nil)}
	if err := s.checkLayout(ctx); err != nil {
		return nil, err
	}
	return s.Tenant(""), nil
}

// checkLayout refuses runs that are kept where this package does not look for them.
func (s *Store) checkLayout(ctx context.Context) error {
	old, err := try(ctx, s, func() *redis.IntCmd { return s.client.Exists(ctx, s.oldTokenKey()) })
	switch {
	case err != nil:
		return fmt.Errorf("redis: %w", err)
	case old > 0:
		return fmt.Errorf("redis: the keys that begin with %q were written by an older Weft, and cannot be read: remove them, "+
			"or set another Config.Prefix", s.root+":")
	}
	return nil
}

// warnOfDurability says what the server loses when it dies. Some do not allow to be asked.
func warnOfDurability(ctx context.Context, conf Config) {
	settings, err := conf.Client.ConfigGet(ctx, "append*").Result()
	switch {
	case err != nil:
	case settings["appendonly"] != "yes":
		conf.Logger.WarnContext(ctx, "redis: the server keeps runs in memory only (appendonly is not yes): its death loses all")
	case settings["appendfsync"] != "always":
		conf.Logger.WarnContext(ctx, "redis: the death of the server's machine loses what was written last (appendfsync is not always)",
			"appendfsync", settings["appendfsync"])
	}
}

// Tenant returns a store on the same server that sees and writes only the runs of a tenant. Any bytes are a name.
func (s *Store) Tenant(name string) *Store {
	own := *s
	own.tenant, own.prefix = name, s.root+":{"+hashed(name)+"}:"
	return &own
}

// hashed is a name as part of a key.
func hashed(name string) string {
	if name == "" {
		return "-"
	}
	sum := sha256.Sum256([]byte(name))
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:20]))
}

// Keys of a tenant share a hash tag, so that they are in one slot of a cluster: a script that changes a run changes in the
// same step where it is to be looked for.
func (s *Store) runKey(id string) string   { return s.prefix + "run:" + hashed(id) }
func (s *Store) stepsKey(id string) string { return s.prefix + "steps:" + hashed(id) }

// Indexes are sorted sets of IDs (see index.go).
func (s *Store) idsKey() string            { return s.prefix + "ids" }
func (s *Store) dueKey() string            { return s.prefix + "due" }
func (s *Store) expiresKey() string        { return s.prefix + "expires" }
func (s *Store) keyKey(key string) string  { return s.prefix + "key:" + hashed(key) }
func (s *Store) mendedKey() string         { return s.prefix + "mended" }
func (s *Store) lockKey(key string) string { return s.prefix + "lock:" + hashed(key) }
func (s *Store) tokenKey() string          { return s.root + ":tokens" }
func (s *Store) oldTokenKey() string       { return s.root + ":token" } // of builds that kept keys elsewhere

// now is the clock of the server.
func (s *Store) now(ctx context.Context) (time.Time, error) {
	return try(ctx, s, func() *redis.TimeCmd { return s.client.Time(ctx) })
}

// Get returns the checkpoint, and false when there is none with that ID.
func (s *Store) Get(ctx context.Context, id string) ([]byte, bool, error) {
	data, err := try(ctx, s, func() *redis.StringCmd { return s.client.HGet(ctx, s.runKey(id), "checkpoint") })
	if errors.Is(err, redis.Nil) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, storekit.Failed("get", id, err)
	}
	value, err := storekit.CheckSum([]byte(data), placeOf(id), checkpointKind)
	if err != nil {
		return nil, false, storekit.NewRowError(id, fmt.Errorf("the checkpoint: %w", err))
	}
	return value, true, nil
}

// The kinds of values, for their sums.
const (
	recordKind = iota
	checkpointKind
)

// placeOf says for sums of which run a value is.
func placeOf(id string) int64 { return int64(crc32.ChecksumIEEE([]byte(id))) }

// checkpointSize returns the length of the checkpoint, also one that was damaged; 0 for none.
func (s *Store) checkpointSize(ctx context.Context, id string) (int64, error) {
	n, err := try(ctx, s, func() *redis.IntCmd { return s.client.HStrLen(ctx, s.runKey(id), "checkpoint") })
	return max(0, n-storekit.SumSize), storekit.Failed("get", id, err)
}

// recordsSize is the number of records that there are, and how long, also if one was damaged.
func (s *Store) recordsSize(ctx context.Context, id string) (n int, size int64, err error) {
	texts, err := try(ctx, s, func() *redis.StringSliceCmd { return s.client.LRange(ctx, s.stepsKey(id), 0, -1) })
	for _, text := range texts {
		size += int64(max(0, len(text)-storekit.SumSize))
	}
	return len(texts), size, storekit.Failed("read the journal of", id, err)
}

// Set stores the checkpoint.
func (s *Store) Set(ctx context.Context, id string, checkPoint []byte) error {
	return s.keep(ctx, "set", id, "set", checkPoint, checkpointKind)
}

// keep writes a value of an ID without a lease.
func (s *Store) keep(ctx context.Context, doing, id, op string, value []byte, kind int64) error {
	err := s.check(ctx, doing, id, value)
	if err == nil {
		keys := []string{s.runKey(id), s.stepsKey(id), s.idsKey()}
		err = s.run(ctx, keep, keys, id, time.Now().UnixMicro(), op, storekit.AddSum(value, placeOf(id), kind)).Err()
	}
	return storekit.Failed(doing, id, err)
}

func (s *Store) check(ctx context.Context, doing, id string, value []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return storekit.CheckSize(doing, id, value)
}

// Delete removes the checkpoint.
func (s *Store) Delete(ctx context.Context, id string) error {
	err := s.put(ctx, func(p redis.Pipeliner) { p.HDel(ctx, s.runKey(id), "checkpoint") })
	return storekit.Failed("delete", id, err)
}

// AppendRecord adds a record: twice, if the answer gets lost. Who reads a journal knows records by their numbers.
func (s *Store) AppendRecord(ctx context.Context, id string, record []byte) error {
	return s.keep(ctx, "append to the journal of", id, "append", record, recordKind)
}

// ReadRecords returns all records.
func (s *Store) ReadRecords(ctx context.Context, id string) ([][]byte, error) {
	return s.ReadRecordsFrom(ctx, id, 0)
}

// ReadRecordsFrom returns the records behind the first so many.
func (s *Store) ReadRecordsFrom(ctx context.Context, id string, from int) ([][]byte, error) {
	texts, err := try(ctx, s, func() *redis.StringSliceCmd { return s.client.LRange(ctx, s.stepsKey(id), int64(from), -1) })
	if err != nil || len(texts) == 0 {
		return nil, storekit.Failed("read the journal of", id, err)
	}
	records := make([][]byte, len(texts))
	for i, t := range texts {
		if records[i], err = storekit.CheckSum([]byte(t), placeOf(id), recordKind); err != nil {
			return nil, fmt.Errorf("record %d in the journal of run %q: %w: %w", from+i+1, id, runs.ErrDamaged, err)
		}
	}
	return records, nil
}

// RemoveRecords removes all records.
func (s *Store) RemoveRecords(ctx context.Context, id string) error {
	err := s.put(ctx, func(p redis.Pipeliner) { p.Del(ctx, s.stepsKey(id)) })
	return storekit.Failed("remove the journal of", id, err)
}

// ListCheckPoints yields the IDs that begin with a prefix and have a checkpoint or a journal, in their order.
func (s *Store) ListCheckPoints(ctx context.Context, prefix string) iter.Seq2[runs.Listed, error] {
	return func(yield func(runs.Listed, error) bool) {
		ids, err := s.ids(ctx)
		if err != nil {
			yield(runs.Listed{}, storekit.Failed("list", prefix, err))
			return
		}
		slices.Sort(ids)
		for _, id := range ids {
			if !strings.HasPrefix(id, prefix) {
				continue
			}
			info, exists, err := s.saved(ctx, id)
			if err == nil && !exists {
				continue
			}
			if !yield(info, storekit.Failed("list", id, err)) || err != nil {
				return
			}
		}
	}
}

// saved is the time at which something was written last of which there is a checkpoint or a journal.
func (s *Store) saved(ctx context.Context, id string) (info runs.Listed, exists bool, err error) {
	var has *redis.BoolCmd
	var steps *redis.IntCmd
	var times *redis.SliceCmd
	err = s.pipelined(ctx, func(p redis.Pipeliner) {
		has, steps = p.HExists(ctx, s.runKey(id), "checkpoint"), p.LLen(ctx, s.stepsKey(id))
		times = p.HMGet(ctx, s.runKey(id), "modified", "updated")
	})
	if err != nil || !has.Val() && steps.Val() == 0 {
		return info, false, err
	}
	last := int64(0)
	for _, v := range times.Val() {
		if text, ok := v.(string); ok {
			at, _ := strconv.ParseInt(text, 10, 64)
			last = max(last, at)
		}
	}
	return runs.Listed{ID: id, Modified: time.UnixMicro(last)}, true, nil
}

// ids are all that may have something.
func (s *Store) ids(ctx context.Context) ([]string, error) {
	return try(ctx, s, func() *redis.StringSliceCmd { return s.client.ZRange(ctx, s.idsKey(), 0, -1) })
}

// EventRetention is for how long the events of a run stay after its end: see runs.Retention.
func (s *Store) EventRetention() time.Duration { return s.retention.ForEvents() }
