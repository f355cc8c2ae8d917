package nats

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/weftgo/weft/adk/checkpoint/storekit"
	"github.com/weftgo/weft/runs"
)

// Headers of messages of the store.
const (
	// valueHeader is size, sum and name of the content.
	valueHeader = "Weft-Value"
	// stepHeader is the number of records that the journal has with this one, their bytes, and the token of who appended it.
	stepHeader = "Weft-Step"
	// idHeader is the ID of a head: it is known also where the head cannot be read.
	idHeader = "Weft-ID"
)

// longestIDHeader limits the length of an ID in a header.
const longestIDHeader = 2000

// keptWrites is the number of writes of a head that are remembered, so that a writer that has lost the answer to one
// recognizes it.
const keptWrites = 8

// head holds what the store knows of an ID, without the records that were appended since it was written.
type head struct {
	// Row is the row of a run if IsRun is set. Otherwise something was written without a lease, and only ID, Steps and
	// Bytes count.
	Row   storekit.Row
	IsRun bool
	// Saved is the checkpoint, nil for none.
	Saved *value
	// From is a sequence: records that are not behind it do not count. Last is the last of the others.
	From uint64
	Last step
	// Writes names the last writes of the head, Taker that which took the lease of the run.
	Writes []uint64
	Taker  uint64
}

// savedHead is a head as it is written.
type savedHead struct {
	Row    json.RawMessage `json:"row"`
	IsRun  bool            `json:"is_run,omitempty"`
	Saved  *value          `json:"saved,omitempty"`
	From   uint64          `json:"from,omitempty"`
	Last   step            `json:"last,omitzero"`
	Writes []uint64        `json:"writes,omitempty"`
	Taker  uint64          `json:"taker,omitempty"`
}

func encodeHead(h *head) ([]byte, error) {
	row, err := h.Row.Encode()
	if err != nil {
		return nil, err
	}
	return json.Marshal(&savedHead{row, h.IsRun, h.Saved, h.From, h.Last, h.Writes, h.Taker})
}

func decodeHead(data []byte, h *head) error {
	var s savedHead
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	row, err := storekit.DecodeRow(s.Row)
	if err != nil {
		return err
	}
	*h = head{*row, s.IsRun, s.Saved, s.From, s.Last, s.Writes, s.Taker}
	return nil
}

// step is a record of a journal.
type step struct {
	N     int   // how many records there are with this one
	Bytes int64 // of all of them
	// Token is the token of the lease by which it was appended, 0 without one.
	Token uint64
	Sum   digest
}

// state is an ID as it was read: its head, with the records that came after it. A call that changes it has a copy of
// its own, and publishes it under the condition that nothing came after version.
type state struct {
	head
	hash string
	// bad is set if the head cannot be read. Then only ID, version and headSeq are known.
	bad *storekit.RowError
	// version is the sequence of the last message, headSeq of the head; 0 if there is none.
	version, headSeq uint64
	modified         time.Time
	// body is the place where the head is if it is long.
	body value
	// fresh are values that were written for the next head, stale those that it replaces. hasDropped says that it drops
	// the records.
	fresh, stale []value
	hasDropped   bool
}

// clone is a state that can be changed without changing this one.
func (st *state) clone() *state {
	c := *st
	c.Writes, c.fresh, c.stale, c.hasDropped = slices.Clip(c.Writes), nil, nil, false
	return &c
}

// isGone reports whether nothing is known of the ID. Its head may remain for a while, so that all processes see that.
func (st *state) isGone() bool {
	return st.bad == nil && !st.IsRun && st.Saved == nil && st.Row.Run.Steps == 0
}

// readState makes a state of the last messages of an ID, which is nil if only its hash is known. The state of a head
// that cannot be read is bad.
func (s *Store) readState(ctx context.Context, id *string, hash string, found []message) (*state, error) {
	st := &state{hash: hash}
	if id != nil {
		st.Row.Run.ID = *id
	}
	var last *message
	for i, m := range found {
		st.version = max(st.version, m.seq)
		switch m.subject {
		case s.headOf(hash):
			if err := s.readHead(ctx, m, st); err != nil {
				return nil, err
			}
		case s.stepsOf(hash):
			last = &found[i]
		}
	}
	switch {
	case st.headSeq == 0: // records without a head are what is left of a run that was removed
		st.From = st.version
	case st.bad != nil:
	case id != nil && st.Row.Run.ID != *id:
		return nil, fmt.Errorf("it and %q have the same hash", st.Row.Run.ID)
	case last != nil && last.seq > st.headSeq:
		return st, st.fold(*last)
	}
	return st, nil
}

// readHead reads the head out of its message.
func (s *Store) readHead(ctx context.Context, m message, st *state) (err error) {
	st.headSeq, st.modified = m.seq, m.at
	if st.body, err = content(m); err != nil {
		st.isBad(m, err)
		return nil
	}
	data, err := s.load(ctx, st.hash, st.body)
	if err != nil {
		if err = s.unlessChanged(ctx, m.subject, m.seq, err); errors.Is(err, errDamaged) {
			st.isBad(m, err)
			return nil
		}
		return err
	}
	if err := decodeHead(data, &st.head); err != nil {
		st.isBad(m, err)
		return nil
	}
	st.body.Inline, st.Row.Run.Tenant = nil, s.tenant
	st.number(m.seq)
	return nil
}

// isBad notes that the head in a message cannot be read.
func (st *state) isBad(m message, err error) {
	id := st.Row.Run.ID
	if text, bad := base64.RawURLEncoding.DecodeString(m.header.Get(idHeader)); bad == nil && len(text) > 0 {
		id = string(text)
	}
	if id == "" {
		id = st.hash
	}
	st.head = head{}
	st.Row.Run.ID, st.bad = id, storekit.NewRowError(id, err)
}

// number gives a run and its lease the sequence of the head in which they are new. (B31)
func (st *state) number(seq uint64) {
	if st.IsRun && st.Row.Born == 0 {
		st.Row.Born = seq
	}
	if st.Row.Run.Owner != "" && st.Row.Run.Token == 0 {
		st.Row.Run.Token = seq
	}
}

// fold adds the records since the head, of which m is the last.
func (st *state) fold(m message) error {
	last, v, err := readStep(m)
	if err == nil {
		last.Sum = v.Sum
		st.added(last, m.at)
	}
	return err
}

// added notes a record, and those before it that are not known yet.
func (st *state) added(last step, at time.Time) {
	row := &st.Row
	for row.Run.Steps < last.N {
		if last.Token == 0 {
			row.Run.Steps++
		} else {
			row.Appended(0, at)
		}
	}
	row.Run.Bytes += last.Bytes - st.Last.Bytes
	st.Last, st.modified = last, at
}

func readStep(m message) (r step, v value, err error) {
	if v, err = content(m); err == nil {
		_, err = fmt.Sscan(m.header.Get(stepHeader), &r.N, &r.Bytes, &r.Token)
	}
	return r, v, err
}

// stepMessage makes a record and the message that has it. What is too long for a message is written before.
func (s *Store) stepMessage(
	ctx context.Context, st *state, token uint64, record []byte,
) (r step, m *nats.Msg, err error) {
	v, err := s.keep(ctx, st.hash, ofStep, record, s.piece)
	if err != nil {
		return r, nil, err
	}
	st.fresh = append(st.fresh, v)
	r = step{N: st.Row.Run.Steps + 1, Bytes: st.Last.Bytes + int64(len(record)), Token: token, Sum: v.Sum}
	m = nats.NewMsg(s.stepsOf(st.hash))
	m.Header.Set(stepHeader, fmt.Sprint(r.N, " ", r.Bytes, " ", r.Token))
	m.Header.Set(valueHeader, v.header())
	m.Data = v.Inline
	return r, m, nil
}

// headMessage is a head as it is published. What is too long for a message is written before.
func (s *Store) headMessage(ctx context.Context, st *state) (*nats.Msg, error) {
	encoded, err := encodeHead(&st.head)
	if err != nil {
		return nil, err
	}
	body, err := s.keep(ctx, st.hash, ofHead, encoded, s.piece)
	if err != nil {
		return nil, err
	}
	st.stale, st.fresh, st.body = append(st.stale, st.body), append(st.fresh, body), body
	m := nats.NewMsg(s.headOf(st.hash))
	m.Header.Set(rollupHeader, "sub")
	m.Header.Set(valueHeader, body.header())
	if id := st.Row.Run.ID; len(id) <= longestIDHeader {
		m.Header.Set(idHeader, base64.RawURLEncoding.EncodeToString([]byte(id)))
	}
	if st.isGone() {
		m.Header.Set(ttlHeader, goneFor.String())
	}
	m.Data, st.body.Inline = body.Inline, nil
	return m, nil
}

// fence has a message refused if there is a later one of the ID than the one that was read. Every message of an ID has
// the same fence, also where another one would do: a server that replicates looks for others under way by its name.
func (s *Store) fence(m *nats.Msg, st *state) {
	m.Header.Set(fenceHeader, strconv.FormatUint(st.version, 10))
	m.Header.Set(fenceForHeader, s.allOf(st.hash))
}

// setSaved replaces the checkpoint, with none if it is nil.
func (s *Store) setSaved(ctx context.Context, st *state, data []byte) error {
	if st.Saved != nil {
		st.Row.Run.Bytes -= int64(st.Saved.Size)
		st.stale, st.Saved = append(st.stale, *st.Saved), nil
	}
	if data == nil {
		return nil
	}
	v, err := s.keep(ctx, st.hash, ofSaved, data, longestSaved)
	if err == nil {
		st.Saved, st.fresh = &v, append(st.fresh, v)
		st.Row.Run.Bytes += int64(v.Size)
	}
	return err
}

// dropSteps removes the journal.
func (st *state) dropSteps() {
	st.Row.Run.Bytes -= st.Last.Bytes
	st.Row.Run.Steps, st.Last, st.From, st.hasDropped = 0, step{}, st.version, true
}

// make creates the run of an ID and takes over what was written without a lease. The caller adds the records of the run.
func (st *state) make(n runs.Spec, tenant string, now time.Time) error {
	row, err := storekit.New(st.Row.Run.ID, n, 0, now)
	if err != nil {
		return err
	}
	row.Run.Tenant, row.Run.Steps, row.Run.Bytes = tenant, st.Row.Run.Steps, st.Row.Run.Bytes
	st.Row, st.IsRun = *row, true
	return nil
}
