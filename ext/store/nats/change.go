package nats

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/weftgo/weft/adk/checkpoint/storekit"
	"github.com/weftgo/weft/runs"
)

// mostTogether is the number of messages that are published in one step at most: the server's limit.
const mostTogether = 1000

// change holds what a call writes, all in one step or none of it: heads, records before them, and the members of keys.
// A change of a head alone, as most are, is one message.
type change struct {
	store *Store
	now   time.Time
	// write names the change in the heads.
	write uint64
	// written are the heads, in the order in which they were put. records are new ones, by the hash of their ID.
	written []*state
	records map[string][]*nats.Msg
	keys    map[string]*members
}

// change changes an ID, which do gets as it is, and may be called again when another writer was faster. known is how
// the ID was last, if the caller knows; nil if not. It returns the ID as it is then.
func (s *Store) change(
	ctx context.Context, doing, id string, known *state, do func(ctx context.Context, c *change, st *state) error,
) (after *state, err error) {
	return s.changeRead(ctx, doing, id, known, s.read, do)
}

// changeRead is change with the function that reads the ID.
func (s *Store) changeRead(
	ctx context.Context, doing, id string, known *state, read func(ctx context.Context, id string) (*state, error),
	do func(ctx context.Context, c *change, st *state) error,
) (after *state, err error) {
	write, isDoubtful := rand.Uint64(), false
	err = s.retry(ctx, func(ctx context.Context) error {
		st := known
		if known = nil; st != nil {
			st = st.clone()
		} else if st, err = read(ctx, id); err != nil {
			return err
		}
		if isDoubtful && slices.Contains(st.Writes, write) {
			after = st // the answer to the attempt before was lost
			return nil
		}
		now, err := s.now(ctx, st)
		if err != nil {
			return err
		}
		c := &change{store: s, now: now, write: write, records: map[string][]*nats.Msg{}, keys: map[string]*members{}}
		if err = do(ctx, c, st); err == nil {
			err = c.commit(ctx, st)
		}
		switch {
		case err == nil:
			after = st
		case isUnclear(err):
			isDoubtful = true
		default:
			c.discard(st)
		}
		return err
	})
	return after, storekit.FailedOnce(doing, id, err)
}

// now is the time of the server. The time of an ID does not go back, and the clock does not stay behind it: a run that
// becomes due now is due for the next call of this process.
func (s *Store) now(ctx context.Context, st *state) (time.Time, error) {
	now, err := s.clock.now(ctx)
	if now.Before(st.modified) {
		now = st.modified
		s.clock.reached(now)
	}
	return now, err
}

// put has a head written.
func (c *change) put(st *state) {
	if !slices.Contains(c.written, st) {
		c.written = append(c.written, st)
	}
}

// record has a record appended without a lease.
func (c *change) record(ctx context.Context, st *state, record []byte) error {
	if err := storekit.CheckSize("append to the journal of", st.Row.Run.ID, record); err != nil {
		return err
	}
	r, m, err := c.store.stepMessage(ctx, st, 0, record)
	if err != nil {
		return err
	}
	c.records[st.hash] = append(c.records[st.hash], m)
	st.added(r, c.now)
	return nil
}

var errTooMuch = errors.New("the change has more than 1000 records and runs: write fewer at once")

// commit publishes everything.
func (c *change) commit(ctx context.Context, main *state) error {
	if !slices.Contains(c.written, main) {
		return c.commitRecords(ctx, main)
	}
	var messages []*nats.Msg
	for _, k := range c.keys {
		messages = append(messages, c.store.membersMessage(k))
	}
	for _, st := range c.written {
		st.Writes = append(st.Writes[max(0, len(st.Writes)-keptWrites+1):], c.write)
		head, err := c.store.headMessage(ctx, st)
		if err != nil {
			return err
		}
		own := append(c.records[st.hash], head)
		c.store.fence(own[0], st)
		messages = append(messages, own...)
	}
	if len(messages) > mostTogether {
		return errTooMuch
	}
	seq, err := c.store.wire.publish(ctx, messages...)
	if err != nil {
		return err
	}
	for i, m := range messages { // they have one sequence after the other
		if st := c.headIn(m); st != nil {
			st.version = seq - uint64(len(messages)-1-i)
			st.headSeq, st.modified = st.version, c.now
			st.number(st.headSeq)
			c.store.view.note(st)
			c.store.tidy(st)
			c.store.wakeFor(st, c.now)
		}
	}
	return nil
}

// headIn is the ID whose head a message is, nil for others.
func (c *change) headIn(m *nats.Msg) *state {
	for _, st := range c.written {
		if m.Subject == c.store.headOf(st.hash) {
			return st
		}
	}
	return nil
}

// commitRecords publishes records of an ID whose head stays as it is: there is at most one.
func (c *change) commitRecords(ctx context.Context, st *state) error {
	for _, m := range c.records[st.hash] {
		c.store.fence(m, st)
		seq, err := c.store.wire.publish(ctx, m)
		if err != nil {
			return err
		}
		st.version, st.fresh = seq, nil
	}
	return nil
}

// tidy removes what a head that was written has replaced.
func (s *Store) tidy(st *state) {
	s.forget(st.hash, st.stale...)
	if st.hasDropped {
		s.wire.purgeSometime(s.stepsOf(st.hash), st.From+1)
		s.wire.purgeSometime(s.pieces(st.hash, ofStep+"*"), st.From+1)
	}
	st.fresh, st.stale, st.hasDropped = nil, nil, false
}

// discard removes what was written for a change that was not made.
func (c *change) discard(main *state) {
	c.store.forget(main.hash, main.fresh...)
	for _, st := range c.written {
		if st != main {
			c.store.forget(st.hash, st.fresh...)
		}
	}
}

// submit makes a run.
func (c *change) submit(ctx context.Context, st *state, n runs.Spec) error {
	if err := st.make(n, c.store.tenant, c.now); err != nil {
		return err
	}
	for _, record := range n.Records {
		if err := c.record(ctx, st, record); err != nil {
			return err
		}
	}
	if n.Key != "" {
		k, err := c.membersOf(ctx, n.Key)
		if err != nil {
			return err
		}
		k.add(st.hash)
	}
	c.put(st)
	return nil
}

// children submits the runs that another one waits for. One that exists keeps all but the question that it answers.
func (c *change) children(ctx context.Context, children []runs.Child) error {
	for _, child := range children {
		st, err := c.other(ctx, child.ID)
		if err != nil {
			return err
		}
		if st.IsRun {
			if st.Row.AskedAgain(child.Run) {
				c.put(st)
			}
			continue
		}
		if err := c.submit(ctx, st, child.Run); err != nil {
			return err
		}
	}
	return nil
}

// answer answers a question of another run, if it still waits for that.
func (c *change) answer(ctx context.Context, id string, a runs.Reply) error {
	st, err := c.other(ctx, id)
	if err != nil || !st.IsRun {
		return err
	}
	var refused *runs.Error
	switch err := st.Row.Reply([]runs.Reply{a}, c.now); {
	case errors.As(err, &refused):
		return nil
	case err != nil:
		return err
	}
	c.put(st)
	return nil
}

// other is another ID, as the change has made it.
func (c *change) other(ctx context.Context, id string) (*state, error) {
	for _, st := range c.written {
		if st.Row.Run.ID == id {
			return st, nil
		}
	}
	return c.store.read(ctx, id)
}
