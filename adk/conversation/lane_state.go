package conversation

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// recordKind is the kind of a record of a branch. The words are in stores: they do not change.
type recordKind string

const (
	// recordBegin is the first record of a segment: the state of the branch at its beginning.
	recordBegin recordKind = "begin"
	// recordAppend is a turn.
	recordAppend recordKind = "append"
	// recordOpen replaces the open turn.
	recordOpen recordKind = "open"
	// recordFork is in the main branch: another one was forked.
	recordFork recordKind = "fork"
	// recordDelete is in the main branch: there is no conversation any more.
	recordDelete recordKind = "delete"
)

// recordFormat is the format that this release writes.
const recordFormat = 1

// record is one change of a branch. Its head is read to know the state of the branch, its payload, an encoded turn, only
// by those who want it.
type record struct {
	Format int        `json:"v"`
	ID     string     `json:"id"`
	Kind   recordKind `json:"kind"`
	At     time.Time  `json:"at"`
	// Turn, Key, Before, Head, Covers and TurnKind come from the turn of the payload. Compacted is the value that the
	// state's Compacted gets by a rewind.
	Turn      string     `json:"turn,omitempty"`
	Key       string     `json:"key,omitempty"`
	Before    string     `json:"before,omitempty"`
	Head      Position   `json:"head,omitempty"`
	Covers    Position   `json:"covers,omitempty"`
	TurnKind  Kind       `json:"turn_kind,omitempty"`
	Compacted Position   `json:"compacted,omitempty"`
	State     *laneState `json:"state,omitempty"`
	Fork      *fork      `json:"fork,omitempty"`

	payload []byte
}

// fork is the place where a branch begins.
type fork struct {
	Name   Branch   `json:"name"`
	Parent Branch   `json:"parent,omitempty"`
	At     Position `json:"at,omitempty"`
	Depth  int      `json:"depth"`
}

func (r *record) encode() ([]byte, error) {
	head, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	data := binary.AppendUvarint(make([]byte, 0, len(head)+len(r.payload)+binary.MaxVarintLen64), uint64(len(head)))
	return append(append(data, head...), r.payload...), nil
}

func decodeRecord(data []byte) (*record, error) {
	length, n := binary.Uvarint(data)
	if n <= 0 || length > uint64(len(data)-n) {
		return nil, errors.New("it is no record of a conversation")
	}
	r := new(record)
	head := data[n : n+int(length)]
	known := json.NewDecoder(bytes.NewReader(head))
	known.DisallowUnknownFields() // what they say would be lost
	err := known.Decode(r)
	if err != nil { // of a newer release the format can be read
		_ = json.Unmarshal(head, r)
	}
	if r.Format > recordFormat {
		return nil, fmt.Errorf("it has format %d, and this release reads formats up to %d: use a newer one", r.Format, recordFormat)
	}
	if err != nil {
		return nil, err
	}
	r.payload = data[n+int(length):]
	return r, nil
}

// recentTurns is the number of IDs of turns that a branch remembers, to know turns that are appended again.
const recentTurns = 64

// laneState is the state that follows from the records of a branch. All processes read the records in one order, so they
// agree on which ones count.
//
//	open turn            to                   by
//	none                 held with a key      recordOpen, whose Before is ""
//	held with a key      held with another    recordOpen, whose Before is the key
//	held with a key      none                 recordOpen without a Key, recordAppend with the key
type laneState struct {
	// Life tells a conversation from one that had the same ID before.
	Life      string   `json:"life"`
	Fork      fork     `json:"fork"`
	Head      Position `json:"head"`
	Compacted Position `json:"compacted,omitempty"`
	// Open is the ID of the open turn, OpenKey its key, and OpenTurn the turn, encoded.
	Open     string   `json:"open,omitempty"`
	OpenKey  string   `json:"open_key,omitempty"`
	OpenTurn []byte   `json:"open_turn,omitempty"`
	Recent   []string `json:"recent,omitempty"`
	// Info, Forks and Deleted are set in the main branch alone.
	Info    *Info           `json:"info,omitempty"`
	Forks   map[Branch]fork `json:"forks,omitempty"`
	Deleted bool            `json:"deleted,omitempty"`
	Updated time.Time       `json:"updated"`
}

// isGone reports whether the conversation of a main branch was deleted or has expired.
func (s *laneState) isGone(now time.Time) bool {
	return s.Life == "" || s.Deleted || s.Info != nil && !s.Info.Expires.IsZero() && !now.Before(s.Info.Expires)
}

// clone is a copy that changes on its own.
func (s *laneState) clone() laneState {
	c := *s
	c.Recent, c.Forks = slices.Clone(s.Recent), maps.Clone(s.Forks)
	return c
}

// apply makes the change of a record, if the branch is in a state for it.
func (s *laneState) apply(r *record) (counts bool) {
	switch {
	case s.Deleted:
		return false
	case r.Kind == recordAppend && s.takes(r):
		s.Head++
		switch r.TurnKind {
		case Compaction:
			s.Compacted = s.Head
		case Rewind:
			s.Compacted = r.Compacted
		}
		if r.Key != "" {
			s.Open, s.OpenKey, s.OpenTurn = "", "", nil
		}
		s.Recent = append(s.Recent, r.Turn)
		s.Recent = s.Recent[max(0, len(s.Recent)-recentTurns):]
	case r.Kind == recordOpen && r.Before == s.OpenKey:
		s.Open, s.OpenKey, s.OpenTurn = r.Turn, r.Key, r.payload
	case r.Kind == recordFork:
		if _, taken := s.Forks[r.Fork.Name]; taken || r.Fork.Name == Main {
			return false
		}
		if s.Forks == nil {
			s.Forks = map[Branch]fork{}
		}
		s.Forks[r.Fork.Name] = *r.Fork
	case r.Kind == recordDelete:
		s.Deleted = true
	default:
		return false
	}
	s.Updated = r.At
	return true
}

// takes reports whether a turn can be appended.
func (s *laneState) takes(r *record) bool {
	if slices.Contains(s.Recent, r.Turn) {
		return false
	}
	if r.Key != "" {
		return r.Key == s.OpenKey && r.Turn == s.Open
	}
	switch r.TurnKind {
	case Compaction:
		return r.Head == s.Head && r.Covers <= s.Head
	case Rewind: // a branch goes back to its own turns alone: what a fork left is the other branch's
		return r.Head == s.Head && r.Covers <= s.Head && r.Covers >= s.Fork.At && s.OpenKey == ""
	}
	return r.Head == s.Head
}

// isOpen is the error of what cannot be done while a turn is open.
func (s *laneState) isOpen(id string, branch Branch) error {
	t, err := DecodeTurn(s.OpenTurn)
	if err != nil {
		return err
	}
	return &OpenError{Conversation: id, Branch: branch, Turn: t.ID, Status: t.Status, Since: t.Changed}
}

// lane is the state for readers.
func (s *laneState) lane() (BranchState, error) {
	l := BranchState{Parent: s.Fork.Parent, ForkedAt: s.Fork.At, Depth: s.Fork.Depth, Head: s.Head, Compacted: s.Compacted}
	if s.OpenKey == "" {
		return l, nil
	}
	turn, err := DecodeTurn(s.OpenTurn)
	l.Open = &OpenTurn{Turn: turn, Key: s.OpenKey}
	return l, err
}
