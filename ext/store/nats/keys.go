package nats

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/weftgo/weft/runs"
)

// members are the hashes of the runs of a key that may be in front of others. A call that makes or takes a run of the
// key writes them in the same step, so that such calls succeed one after the other.
type members struct {
	subject string
	seq     uint64
	hashes  []string
}

func (k *members) add(hash string) {
	if !slices.Contains(k.hashes, hash) {
		k.hashes = append(k.hashes, hash)
	}
}

// membersOf has the members of a key written with the change.
func (c *change) membersOf(ctx context.Context, key string) (*members, error) {
	subject := c.store.keyOf(key)
	if k := c.keys[subject]; k != nil {
		return k, nil
	}
	k, err := c.store.readMembers(ctx, subject)
	if err == nil {
		c.keys[subject] = k
	}
	return k, err
}

func (s *Store) readMembers(ctx context.Context, subject string) (*members, error) {
	found, err := s.wire.lastOf(ctx, subject)
	if err != nil {
		return nil, err
	}
	k := &members{subject: subject}
	for _, m := range found {
		k.seq, k.hashes = m.seq, strings.Fields(string(m.data))
	}
	return k, nil
}

func (s *Store) membersMessage(k *members) *nats.Msg {
	m := nats.NewMsg(k.subject)
	m.Header.Set(rollupHeader, "sub")
	m.Header.Set(fenceHeader, strconv.FormatUint(k.seq, 10))
	m.Data = []byte(strings.Join(k.hashes, " "))
	return m
}

// inFront is the run that must end before st can be taken, nil for most. Members that have ended are left out from then
// on.
func (c *change) inFront(ctx context.Context, st *state) (*state, error) {
	if st.Row.Run.Key == "" {
		return nil, nil
	}
	k, err := c.membersOf(ctx, st.Row.Run.Key)
	if err != nil {
		return nil, err
	}
	var others []string
	for _, hash := range k.hashes {
		if hash != st.hash {
			others = append(others, hash)
		}
	}
	all, err := c.store.readAll(ctx, others)
	if err != nil {
		return nil, err
	}
	k.hashes = []string{st.hash}
	row := st.Row
	if row.Born == 0 { // it is made with the change, behind all others
		row.Born = math.MaxUint64
	}
	for _, other := range all {
		if other.bad != nil { // perhaps it has to end first
			return nil, other.bad
		}
		if row.IsBehind(&other.Row, c.now) {
			return other, nil
		}
		if other.IsRun && (other.Row.BlocksKey() || other.Row.Run.Status == runs.Paused) {
			k.add(other.hash)
		}
	}
	return nil, nil
}

// leaveKey removes the members of a key of which none is left. Nothing depends on it.
func (s *Store) leaveKey(ctx context.Context, key string) {
	if key == "" {
		return
	}
	k, err := s.readMembers(ctx, s.keyOf(key))
	if err != nil || k.seq == 0 {
		return
	}
	all, err := s.readAll(ctx, k.hashes)
	if err == nil && !slices.ContainsFunc(all, func(st *state) bool { return st.IsRun || st.bad != nil }) {
		s.wire.purgeSometime(k.subject, k.seq+1)
	}
}
