package nats

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/weftgo/weft/adk/checkpoint/storekit"
	"github.com/weftgo/weft/runs"
)

// Config configures a [Store].
type Config struct {
	// Conn is the connection, which the caller makes and closes. Required. Its server has JetStream, and is of release
	// 2.12 or newer.
	Conn *nats.Conn
	// Prefix begins all subjects, and is the name of the stream: letters, digits, - and _. The default is "weft".
	Prefix string
	// Replicas is on how many servers of a cluster the stream is, if New makes it. The default is 1.
	Replicas int
	// InMemory has the stream be in memory, if New makes it: what the death of the servers loses.
	InMemory bool
	// Retention is the time for which runs are kept.
	Retention runs.Retention
	// AnswerIn limits the time that an answer takes before the server is asked again, for networks that lose answers. The
	// default is 5 seconds. Patience is for how long a call is tried; the default is a minute.
	AnswerIn, Patience time.Duration
}

// Store is a runs.Store in NATS JetStream, and a runs.Waker. It is safe for concurrent use. Use New.
type Store struct {
	wire      *wire
	clock     *clock
	retention runs.Retention
	patience  time.Duration
	// piece limits the content of a message: longer values are cut into pieces.
	piece int

	prefix, tenant string
	// of is the tenant as a part of subjects.
	of   string
	view *view
	// passedOver are the heads, by their subjects, that cannot be read.
	passedOver *storekit.PassedOver[string]
	// stops has the leases of this process, of all tenants, look for requests to stop.
	stops *storekit.StopWatch[string, *lease]
}

var (
	_ runs.Store = (*Store)(nil)
	_ runs.Waker = (*Store)(nil)
)

// schema is the version of what is in the stream. It is in the metadata of the stream.
const (
	schema    = "1"
	schemaKey = "weft-schema"
)

var prefixes = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// New makes a store of the tenant "", and its stream if there is none. It fails if the server does not answer, or if
// the stream is of another release or would lose messages by its limits. It cannot see whether the server writes to its
// disk before it acknowledges, which it does not by default: see the README.
func New(ctx context.Context, conf Config) (*Store, error) {
	if conf.Conn == nil {
		return nil, errors.New("nats: Config.Conn is missing")
	}
	if conf.Prefix == "" {
		conf.Prefix = "weft"
	}
	if !prefixes.MatchString(conf.Prefix) {
		return nil, fmt.Errorf("nats: Config.Prefix %q: only letters, digits, - and _ are possible", conf.Prefix)
	}
	if most := conf.Conn.MaxPayload(); most < leastPayload {
		return nil, fmt.Errorf("nats: the server takes messages of %d bytes: set max_payload to %d or more", most,
			leastPayload)
	}
	if conf.AnswerIn == 0 {
		conf.AnswerIn = 5 * time.Second
	}
	if conf.Patience == 0 {
		conf.Patience = time.Minute
	}
	replicas, err := makeStream(ctx, conf)
	if err != nil {
		return nil, fmt.Errorf("nats: %w", err)
	}
	w, err := newWire(conf.Conn, conf.Prefix, conf.AnswerIn)
	if err != nil {
		return nil, fmt.Errorf("nats: %w", err)
	}
	w.isReplicated = replicas > 1 || conf.Conn.ConnectedClusterName() != "" // where it may be later
	s := &Store{wire: w, clock: &clock{wire: w}, retention: conf.Retention, patience: conf.Patience,
		piece: min(longestMessage, int(conf.Conn.MaxPayload())-roomForHeaders), prefix: conf.Prefix,
		passedOver: new(storekit.PassedOver[string])}
	if err := s.listenForStops(); err != nil {
		return nil, errors.Join(fmt.Errorf("nats: %w", err), w.close())
	}
	return s.Tenant(""), nil
}

// makeStream makes the stream, or checks the one that there is. It returns on how many servers it is.
func makeStream(ctx context.Context, conf Config) (replicas int, err error) {
	js, err := jetstream.New(conf.Conn)
	if err != nil {
		return 0, err
	}
	want := streamConfig(conf)
	stream, err := js.CreateStream(ctx, want)
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		stream, err = js.Stream(ctx, conf.Prefix)
	}
	if err != nil {
		return 0, fmt.Errorf("the stream %q: %w", conf.Prefix, err)
	}
	got := stream.CachedInfo().Config
	if err := checkStream(got, want); err != nil {
		return 0, fmt.Errorf("the stream %q: %w", conf.Prefix, err)
	}
	return got.Replicas, nil
}

// streamConfig returns the configuration of a stream.
func streamConfig(conf Config) jetstream.StreamConfig {
	c := jetstream.StreamConfig{
		Name:        conf.Prefix,
		Description: "runs of Weft",
		Subjects:    []string{conf.Prefix + ".run.>", conf.Prefix + ".value.>", conf.Prefix + ".key.>"},
		Storage:     jetstream.FileStorage,
		Replicas:    max(conf.Replicas, 1),
		Discard:     jetstream.DiscardNew,
		Metadata:    map[string]string{schemaKey: schema},
		AllowRollup: true, AllowDirect: true, AllowAtomicPublish: true, AllowMsgTTL: true,
	}
	if conf.InMemory {
		c.Storage = jetstream.MemoryStorage
	}
	return c
}

// checkOurs refuses a stream that is none of this release, or of another store.
func checkOurs(got, want jetstream.StreamConfig) error {
	slices.Sort(got.Subjects)
	slices.Sort(want.Subjects)
	switch version := got.Metadata[schemaKey]; {
	case version == "":
		return errors.New("it is none of Weft: choose another Config.Prefix")
	case version != schema:
		return fmt.Errorf("it has version %s of the schema, and this release version %s: update the older one", version,
			schema)
	case !slices.Equal(got.Subjects, want.Subjects):
		return fmt.Errorf("it has the subjects %q, not %q", got.Subjects, want.Subjects)
	}
	return nil
}

// checkStream refuses a stream in which runs would not be safe.
func checkStream(got, want jetstream.StreamConfig) error {
	if err := checkOurs(got, want); err != nil {
		return err
	}
	switch {
	case !got.AllowRollup || !got.AllowDirect || !got.AllowAtomicPublish || !got.AllowMsgTTL || got.DenyPurge:
		return errors.New("it must allow rollups, direct gets, atomic publication, TTLs of messages, and purges, " +
			"as servers do from release 2.12 on")
	case got.MaxMsgSize > 0:
		return errors.New("it limits the size of messages: that of the server is enough")
	case got.MaxAge > 0 || got.MaxMsgsPerSubject > 0 || got.Retention != jetstream.LimitsPolicy ||
		got.Discard != jetstream.DiscardNew && (got.MaxMsgs > 0 || got.MaxBytes > 0):
		return errors.New("its limits remove messages: runs would be lost")
	}
	return nil
}

// Close ends what the store asks of the connection, which remains open. Calls under way fail. It closes the stores that
// Tenant returned, too.
func (s *Store) Close() error {
	s.stops.Close()
	return s.wire.close()
}

// Tenant returns a store in the same stream that sees and writes only the runs of a tenant. Any bytes are a name. Keep
// it if it is asked for due runs: it knows those that it has seen.
func (s *Store) Tenant(name string) *Store {
	own := *s
	own.tenant, own.of, own.view = name, hashOf(name), newView()
	return &own
}

// hashOf is a name as a part of a subject. (B3)
func hashOf(name string) string {
	if name == "" {
		return "-"
	}
	sum := sha256.Sum256([]byte(name))
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:]))
}

// Subjects. The subjects of an ID have a part for its hash; subjects of values also have one for their name.
func (s *Store) headOf(hash string) string  { return s.prefix + ".run." + s.of + "." + hash + ".head" }
func (s *Store) stepsOf(hash string) string { return s.prefix + ".run." + s.of + "." + hash + ".step" }
func (s *Store) allOf(hash string) string   { return s.prefix + ".run." + s.of + "." + hash + ".*" }
func (s *Store) pieces(hash, name string) string {
	return s.prefix + ".value." + s.of + "." + hash + "." + name
}
func (s *Store) heads() string           { return s.headOf("*") }
func (s *Store) keyOf(key string) string { return s.prefix + ".key." + s.of + "." + hashOf(key) }
func (s *Store) wakes() string           { return s.prefix + ".wake." + s.of }

// read reads an ID. A head that cannot be read is an error.
func (s *Store) read(ctx context.Context, id string) (*state, error) {
	st, err := s.readAny(ctx, id)
	if err == nil && st.bad != nil {
		return nil, st.bad
	}
	return st, err
}

// readAny reads an ID, whose head may be bad.
func (s *Store) readAny(ctx context.Context, id string) (*state, error) {
	hash := hashOf(id)
	found, err := s.wire.lastOf(ctx, s.allOf(hash))
	if err != nil {
		return nil, err
	}
	return s.readState(ctx, &id, hash, found)
}

// readAll reads IDs by their hashes, in the order of the hashes, without IDs of which nothing is known. Heads may be
// bad.
func (s *Store) readAll(ctx context.Context, hashes []string) ([]*state, error) {
	var all []*state
	for chunk := range slices.Chunk(hashes, 400) {
		filters := make([]string, len(chunk))
		for i, hash := range chunk {
			filters[i] = s.allOf(hash)
		}
		found, err := s.wire.lastOf(ctx, filters...)
		if err != nil {
			return nil, err
		}
		own := map[string][]message{}
		for _, m := range found {
			if hash, ok := s.hashIn(m.subject); ok {
				own[hash] = append(own[hash], m)
			}
		}
		for _, hash := range chunk {
			if own[hash] == nil {
				continue
			}
			st, err := s.readState(ctx, nil, hash, own[hash])
			if err != nil {
				return nil, err
			}
			all = append(all, st)
		}
	}
	return all, nil
}

// hashIn is the hash in the subject of a head or a record.
func (s *Store) hashIn(subject string) (hash string, ok bool) {
	parts := strings.Split(subject, ".")
	if len(parts) != 5 {
		return "", false
	}
	return parts[3], true
}

// Get returns the checkpoint, and false when there is none with that ID.
func (s *Store) Get(ctx context.Context, id string) (data []byte, exists bool, err error) {
	err = s.retry(ctx, func(ctx context.Context) error {
		st, err := s.read(ctx, id)
		if err != nil || st.Saved == nil {
			data, exists = nil, false
			return err
		}
		data, err = s.load(ctx, st.hash, *st.Saved)
		exists = err == nil
		return s.unlessChanged(ctx, s.allOf(st.hash), st.version, err)
	})
	return data, exists, storekit.FailedOnce("get", id, err)
}

// unlessChanged is an error, or errChanged if it is about a value that was replaced meanwhile: if seq is not the
// sequence of the last message that matches a filter any more.
func (s *Store) unlessChanged(ctx context.Context, filter string, seq uint64, err error) error {
	if !errors.Is(err, errDamaged) {
		return err
	}
	found, again := s.wire.lastOf(ctx, filter)
	last := uint64(0)
	for _, m := range found {
		last = max(last, m.seq)
	}
	if again == nil && last != seq {
		return errChanged
	}
	return errors.Join(err, again)
}

// Set stores the checkpoint.
func (s *Store) Set(ctx context.Context, id string, checkPoint []byte) error {
	if err := storekit.CheckSize("set", id, checkPoint); err != nil {
		return err
	}
	_, err := s.change(ctx, "set", id, nil, func(ctx context.Context, c *change, st *state) error {
		c.put(st)
		return s.setSaved(ctx, st, storekit.Owned(checkPoint))
	})
	return err
}

// Delete removes the checkpoint.
func (s *Store) Delete(ctx context.Context, id string) error {
	_, err := s.change(ctx, "delete", id, nil, func(ctx context.Context, c *change, st *state) error {
		if st.Saved == nil {
			return nil
		}
		c.put(st)
		return s.setSaved(ctx, st, nil)
	})
	return err
}

// AppendRecord adds a record.
func (s *Store) AppendRecord(ctx context.Context, id string, record []byte) error {
	_, err := s.change(ctx, "append to the journal of", id, nil, func(ctx context.Context, c *change, st *state) error {
		if st.IsRun || st.isGone() { // otherwise the record is enough
			c.put(st)
		}
		return c.record(ctx, st, record)
	})
	return err
}

// ReadRecords returns all records.
func (s *Store) ReadRecords(ctx context.Context, id string) (records [][]byte, err error) {
	err = s.retry(ctx, func(ctx context.Context) error {
		st, err := s.read(ctx, id)
		if err != nil {
			return err
		}
		records, err = s.journal(ctx, st)
		return s.unlessChanged(ctx, s.allOf(st.hash), st.version, err)
	})
	return records, storekit.FailedOnce("read the journal of", id, err)
}

// journal reads the records that an ID had when it was read.
func (s *Store) journal(ctx context.Context, st *state) (records [][]byte, err error) {
	want := st.Row.Run.Steps
	for from, more := st.From+1, true; more && len(records) < want; {
		var found []message
		if found, more, err = s.wire.nextOfAll(ctx, s.stepsOf(st.hash), from, want-len(records)); err != nil {
			return nil, err
		}
		for _, m := range found {
			r, v, err := readStep(m)
			if err != nil {
				return nil, err
			}
			if r.N != len(records)+1 {
				return nil, fmt.Errorf("%w: record %d comes after %d", errDamaged, r.N, len(records))
			}
			record, err := s.load(ctx, st.hash, v)
			if err != nil {
				return nil, err
			}
			records, from = append(records, record), m.seq+1
		}
	}
	if len(records) < want {
		return nil, fmt.Errorf("%w: there are %d records of %d", errDamaged, len(records), want)
	}
	return records, nil
}

// RemoveRecords removes all records.
func (s *Store) RemoveRecords(ctx context.Context, id string) error {
	_, err := s.change(ctx, "remove the journal of", id, nil, func(_ context.Context, c *change, st *state) error {
		if st.Row.Run.Steps > 0 {
			st.dropSteps()
			c.put(st)
		}
		return nil
	})
	return err
}

// EventRetention is for how long the events of a run stay after its end: see runs.Retention.
func (s *Store) EventRetention() time.Duration { return s.retention.ForEvents() }
