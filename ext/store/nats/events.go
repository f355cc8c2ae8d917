package nats

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/weftgo/weft/adk/checkpoint/storekit"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/runs"
)

// EventsConfig configures [Store.OpenEvents]. The zero value works.
type EventsConfig struct {
	// InMemory has the stream be in memory, if OpenEvents makes it. Nothing but what a UI shows is lost with it.
	InMemory bool
	// Replicas is on how many servers of a cluster the stream is, if OpenEvents makes it. The default is 1.
	Replicas int
	// MaxBytes limits the size of the stream, if OpenEvents makes it: then the oldest events are removed. The default
	// is 1 GiB.
	MaxBytes int64
}

// Events is a runlog.Store on the servers of a store, for one tenant, in a stream of its own. Deltas are removed when
// what they are pieces of has ended. A process needs one: it hears through one subscription, which is open while
// a reader waits, of what others write. It is safe for concurrent use.
type Events struct {
	store *Store
	wire  *wire
	js    jetstream.JetStream
	keys  storekit.Waiters

	mu      sync.Mutex // guards the fields below
	waiting int
	// ear hears of events, nil while no reader waits.
	ear *nats.Subscription
	// places has the places in the stream of what comes behind a position, for readers that continue.
	places map[place]uint64
}

// place is a position in the events of a run, which its hash stands for.
type place struct {
	hash string
	at   runs.Cursor
}

var _ runlog.Store = (*Events)(nil)

const (
	// lastHeader has the position of the last event of a message. Messages that are parts of one event have their number in
	// partHeader, and moreHeader but for the last one.
	lastHeader = "Weft-Last"
	partHeader = "Weft-Part"
	moreHeader = "Weft-More"
	// mostPlaces is the number of places that are remembered.
	mostPlaces = 10_000
	// lookAgain is after how long a reader looks although it has heard nothing: what wakes it may be lost.
	lookAgain = 5 * time.Second
	// eventPage is the number of messages that are read at a time.
	eventPage = 256
)

// OpenEvents opens the events of runs, for runlog.Config, and makes their stream if there is none. Close the Events
// before the connection.
func (s *Store) OpenEvents(ctx context.Context, conf EventsConfig) (*Events, error) {
	js, err := jetstream.New(s.wire.conn)
	if err != nil {
		return nil, fmt.Errorf("nats: %w", err)
	}
	if conf.MaxBytes <= 0 {
		conf.MaxBytes = 1 << 30
	}
	want := jetstream.StreamConfig{
		Name:        s.prefix + "-events",
		Description: "events of runs of Weft",
		Subjects:    []string{s.prefix + ".event.>"},
		Storage:     jetstream.FileStorage,
		Replicas:    max(conf.Replicas, 1),
		Discard:     jetstream.DiscardOld,
		MaxBytes:    conf.MaxBytes,
		Metadata:    map[string]string{schemaKey: schema},
		AllowDirect: true, AllowAtomicPublish: true,
	}
	if conf.InMemory {
		want.Storage = jetstream.MemoryStorage
	}
	stream, err := js.CreateStream(ctx, want)
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		stream, err = js.Stream(ctx, want.Name)
	}
	if err == nil {
		err = checkEvents(stream.CachedInfo().Config, want)
	}
	if err != nil {
		return nil, fmt.Errorf("nats: the stream %q: %w", want.Name, err)
	}
	w, err := newWire(s.wire.conn, want.Name, s.wire.answerIn)
	if err != nil {
		return nil, fmt.Errorf("nats: %w", err)
	}
	w.isReplicated = stream.CachedInfo().Config.Replicas > 1 || s.wire.conn.ConnectedClusterName() != ""
	return &Events{store: s, wire: w, js: js, places: map[place]uint64{}}, nil
}

// checkEvents refuses a stream that works otherwise.
func checkEvents(got, want jetstream.StreamConfig) error {
	if err := checkOurs(got, want); err != nil {
		return err
	}
	if !got.AllowDirect || !got.AllowAtomicPublish || got.DenyPurge {
		return errors.New("it must allow direct gets, atomic publication, and purges")
	}
	return nil
}

// Close ends what the events ask of the connection, which remains open. Calls under way fail.
func (e *Events) Close() error { return e.wire.close() }

// Subjects. What stays of a run has one, and the deltas of each span have one, which is purged when the span has ended.
func (e *Events) subjects(hash string) string { return e.prefix() + hash + "." }
func (e *Events) prefix() string              { return e.store.prefix + ".event." + e.store.of + "." }
func (e *Events) said() string                { return e.store.prefix + ".said." + e.store.of }

const stays = "stays"

// Append adds events.
func (e *Events) Append(ctx context.Context, run string, events []runlog.Event) error {
	if err := ctx.Err(); err != nil || len(events) == 0 {
		return err
	}
	hash := hashOf(run)
	err := e.store.retry(ctx, func(ctx context.Context) error { return e.append(ctx, hash, events) })
	if errors.Is(err, runlog.ErrOvertaken) {
		return runlog.ErrOvertaken
	}
	if err != nil {
		return storekit.Failed("add events to", run, err)
	}
	for _, span := range endedSpans(events) {
		e.wire.purgeSometime(e.subjects(hash)+span, 0)
	}
	e.keys.Wake(hash)
	_ = e.store.wire.conn.Publish(e.said(), []byte(hash))
	return nil
}

// append publishes what the stream does not have, unless another writer adds to the run at the same moment.
func (e *Events) append(ctx context.Context, hash string, events []runlog.Event) error {
	last, seq, err := e.lastOf(ctx, hash)
	if err != nil {
		return err
	}
	if events[0].Token < last.Token {
		return runlog.ErrOvertaken
	}
	ended := endedSpans(events)
	var messages []*nats.Msg
	var batch []runlog.Event
	subject := ""
	flush := func() (err error) {
		if len(batch) > 0 {
			messages, err = e.pack(messages, e.subjects(hash)+subject, batch)
		}
		batch = nil
		return err
	}
	for _, event := range events {
		to := stays
		if event.Type.IsDelta() {
			to = spanSubject(event.Span)
		}
		if event.Cursor().Compare(last) <= 0 || to != stays && slices.Contains(ended, to) {
			continue
		}
		if to != subject {
			if err := flush(); err != nil {
				return err
			}
		}
		batch, subject = append(batch, event), to
	}
	if err := flush(); err != nil || len(messages) == 0 {
		return err
	}
	for _, m := range messages { // all have the same fence: see [Store.fence]
		m.Header.Set(fenceHeader, strconv.FormatUint(seq, 10))
		m.Header.Set(fenceForHeader, e.subjects(hash)+"*")
	}
	_, err = e.wire.publish(ctx, messages...)
	return err
}

func spanSubject(s runlog.SpanID) string { return "d" + strconv.FormatUint(uint64(s), 10) }

// endedSpans are the subjects of the deltas of what ends with some events.
func endedSpans(events []runlog.Event) (subjects []string) {
	for i := range events {
		if t := events[i].Type; t == runlog.ModelEnd || t == runlog.ToolEnd {
			subjects = append(subjects, spanSubject(events[i].Span))
		}
	}
	return subjects
}

// pack makes messages of events: several in one, as far as they fit, and one of a long event in several, which are
// numbered.
func (e *Events) pack(messages []*nats.Msg, subject string, events []runlog.Event) ([]*nats.Msg, error) {
	add := func(data []byte, last runs.Cursor) *nats.Msg {
		m := nats.NewMsg(subject)
		m.Data = data
		m.Header.Set(lastHeader, last.String())
		messages = append(messages, m)
		return m
	}
	var lines []byte
	var at runs.Cursor // of the last event in lines
	for i := range events {
		line, err := events[i].AppendStored(nil)
		if err != nil {
			return nil, err
		}
		line = append(line, '\n')
		if len(lines) > 0 && len(lines)+len(line) > e.store.piece {
			add(lines, at)
			lines = nil
		}
		at = events[i].Cursor()
		if len(line) <= e.store.piece {
			lines = append(lines, line...)
			continue
		}
		part := 1
		for piece := range slices.Chunk(line, e.store.piece) {
			m := add(piece, at)
			m.Header.Set(partHeader, strconv.Itoa(part))
			if part*e.store.piece < len(line) {
				m.Header.Set(moreHeader, "1")
			}
			part++
		}
	}
	if len(lines) > 0 {
		add(lines, at)
	}
	return messages, nil
}

// lastOf is the position of the last event of a run, and the sequence of its message.
func (e *Events) lastOf(ctx context.Context, hash string) (at runs.Cursor, seq uint64, err error) {
	m, err := e.lastMessage(ctx, hash)
	if err != nil || m == nil {
		return at, 0, err
	}
	at, err = runs.ParseCursor(m.header.Get(lastHeader))
	return at, m.seq, err
}

func (e *Events) lastMessage(ctx context.Context, hash string) (last *message, err error) {
	found, err := e.wire.lastOf(ctx, e.subjects(hash)+"*")
	for i := range found {
		if last == nil || found[i].seq > last.seq {
			last = &found[i]
		}
	}
	return last, err
}

// Read yields events.
func (e *Events) Read(ctx context.Context, run string, after runs.Cursor) iter.Seq2[runlog.Event, error] {
	return func(yield func(runlog.Event, error) bool) {
		hash := hashOf(run)
		from, more := e.placeOf(hash, after), true
		for more {
			var page []runlog.Event
			err := ctx.Err()
			if err == nil {
				err = e.store.retry(ctx, func(ctx context.Context) (err error) {
					page, from, more, err = e.page(ctx, hash, run, from)
					return err
				})
			}
			if err != nil {
				yield(runlog.Event{}, storekit.Failed("read the events of", run, err))
				return
			}
			for _, event := range page {
				if event.Cursor().Compare(after) > 0 && !yield(event, nil) {
					return
				}
			}
		}
	}
}

// page reads events from a sequence on, of a run or of the one that has the hash. next is where those behind them begin.
func (e *Events) page(
	ctx context.Context, hash, run string, from uint64,
) (events []runlog.Event, next uint64, more bool, err error) {
	var long []byte // the parts of an event
	for at, more := from, true; more && len(events) == 0; {
		var found []message
		if found, more, err = e.wire.nextOfAll(ctx, e.subjects(hash)+"*", at, eventPage); err != nil {
			return nil, from, false, err
		}
		for i := range found {
			m := &found[i]
			at = m.seq + 1
			if part := m.header.Get(partHeader); part != "" && part != "1" && long == nil {
				continue // the stream has removed the parts before
			}
			if m.header.Get(moreHeader) != "" {
				long = append(long, m.data...)
				continue
			}
			for line := range bytes.Lines(append(long, m.data...)) {
				event, err := runlog.DecodeStored(bytes.TrimSuffix(line, []byte{'\n'}), run)
				if err != nil {
					return nil, from, false, err
				}
				events = append(events, event)
			}
			long, next = nil, at
			e.remember(place{hash, events[len(events)-1].Cursor()}, next)
		}
		if len(events) > 0 {
			return events, next, more || long != nil, nil
		}
	}
	return nil, from, false, nil
}

// placeOf returns the place in the stream of what comes behind a position, 1 if it is not known.
func (e *Events) placeOf(hash string, at runs.Cursor) uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return max(e.places[place{hash, at}], 1)
}

func (e *Events) remember(p place, from uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.places) >= mostPlaces {
		clear(e.places)
	}
	e.places[p] = from
}

// Wait blocks until there may be an event behind the cursor.
func (e *Events) Wait(ctx context.Context, run string, after runs.Cursor) error {
	hash := hashOf(run)
	changed, leave := e.keys.Watch(hash)
	defer leave()
	if err := e.listen(ctx); err != nil {
		return storekit.Failed("wait for events of", run, err)
	}
	defer e.unlisten()
	var last runs.Cursor
	err := e.store.retry(ctx, func(ctx context.Context) (err error) {
		last, _, err = e.lastOf(ctx, hash)
		return err
	})
	if err != nil {
		return storekit.Failed("wait for events of", run, err)
	}
	if last.Compare(after) > 0 {
		return nil
	}
	return storekit.Await(ctx, changed, lookAgain)
}

// listen begins to hear of events, if it is the first one that waits.
func (e *Events) listen(ctx context.Context) (err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ear == nil {
		conn := e.store.wire.conn
		if e.ear, err = conn.Subscribe(e.said(), func(m *nats.Msg) { e.keys.Wake(string(m.Data)) }); err != nil {
			e.ear = nil
			return err
		}
		// The server has the subscription before it answers what is asked next, on the same connection.
	}
	e.waiting++
	return ctx.Err()
}

// unlisten stops hearing after the last one that waits.
func (e *Events) unlisten() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.waiting--; e.waiting == 0 {
		_ = e.ear.Unsubscribe()
		e.ear = nil
	}
}

// Inspect returns what there is of a run.
func (e *Events) Inspect(ctx context.Context, run string) (info runlog.Info, exists bool, err error) {
	if err := ctx.Err(); err != nil {
		return info, false, err
	}
	hash := hashOf(run)
	err = e.store.retry(ctx, func(ctx context.Context) (err error) {
		info, exists, err = e.inspect(ctx, hash)
		return err
	})
	info.Run = run
	return info, exists && err == nil, storekit.Failed("inspect the events of", run, err)
}

func (e *Events) inspect(ctx context.Context, hash string) (info runlog.Info, exists bool, err error) {
	first, _, _, err := e.page(ctx, hash, "", 1)
	if err != nil || len(first) == 0 {
		return info, false, err
	}
	m, err := e.lastMessage(ctx, hash)
	if err != nil || m == nil {
		return info, false, err
	}
	info = runlog.Info{Run: first[0].Run, First: first[0].Cursor(), Updated: m.at}
	if info.Last, err = runs.ParseCursor(m.header.Get(lastHeader)); err != nil {
		return info, false, err
	}
	lines := strings.Split(strings.TrimSuffix(string(m.data), "\n"), "\n")
	if last, err := runlog.DecodeStored([]byte(lines[len(lines)-1]), ""); err == nil { // else it is a part of a long one, which is no end
		if end, ok := last.Data.(*runlog.RunEndData); ok {
			info.End = end.Status
		}
	}
	return info, true, nil
}

// List yields runs.
func (e *Events) List(ctx context.Context, q runlog.Query) iter.Seq2[runlog.Info, error] {
	return func(yield func(runlog.Info, error) bool) {
		infos, err := e.list(ctx)
		if err != nil {
			yield(runlog.Info{}, fmt.Errorf("nats: list the runs with events: %w", err))
			return
		}
		q.Of(ctx, infos)(yield)
	}
}

// list reads all runs. There are as many as sweeps leave.
func (e *Events) list(ctx context.Context) (infos []runlog.Info, err error) {
	stream, err := e.js.Stream(ctx, e.wire.stream)
	if err != nil {
		return nil, err
	}
	found, err := stream.Info(ctx, jetstream.WithSubjectFilter(e.prefix()+">"))
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for subject := range found.State.Subjects {
		hash, _, _ := strings.Cut(strings.TrimPrefix(subject, e.prefix()), ".")
		if seen[hash] {
			continue
		}
		seen[hash] = true
		err := e.store.retry(ctx, func(ctx context.Context) error {
			info, exists, err := e.inspect(ctx, hash)
			if exists {
				infos = append(infos, info)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return infos, nil
}

// Delete removes the events of a run.
func (e *Events) Delete(ctx context.Context, run string) error {
	return storekit.Failed("delete the events of", run, e.store.retry(ctx, func(ctx context.Context) error {
		return e.wire.purge(ctx, e.subjects(hashOf(run))+"*", 0)
	}))
}
