package conversation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/internal/serialization"
	"github.com/weftgo/weft/schema"
)

// recordKind is what a record says. The words are in stores: they do not change.
type recordKind string

const (
	began     recordKind = "began"
	waits     recordKind = "waits"
	resumed   recordKind = "resumed"
	kept      recordKind = "kept"
	discarded recordKind = "discarded"
)

// record is one change of a conversation, as it is stored.
type record struct {
	// ID tells the record from all others.
	ID   string
	Kind recordKind
	// Turn is whose change it is. Key is the claim that a turn is begun or resumed with, or that its holder ends it with.
	Turn, Key string
	Asked     []*schema.Message
	Said      []adk.HistoryEntry
	Agent     string
	Usage     schema.TokenUsage
	At        time.Time
	// Questions are what the turn waits for.
	Questions []Question
}

func init() {
	err := errors.Join(serialization.GenericRegister[record]("weft.conversation.record"),
		serialization.GenericRegister[Question]("weft.conversation.question"))
	if err != nil {
		panic(err)
	}
}

// state is what the records of a conversation come to.
type state struct {
	history History
	// holder is the key of the claim on the open turn, "" if it waits.
	holder string
}

// apply makes the change of a record, if the conversation is in a state for it: see the table of the package. All
// processes read the records in one order, so they agree on which ones count.
func (s *state) apply(r *record) (counts bool) {
	open := s.history.Open
	switch {
	case r.Kind == began && open == nil:
		s.history.Open = &Turn{ID: r.Turn, Status: Running, Asked: r.Asked, Began: r.At, Changed: r.At}
		s.history.Open.Entry, s.history.Open.Agent = s.history.Agent(), s.history.Agent()
		s.holder = r.Key
	case open == nil || open.ID != r.Turn:
		return false
	case r.Kind == resumed && open.Status == Waiting:
		open.Status, open.Changed, open.Questions, s.holder = Running, r.At, nil, r.Key
	case r.Kind == discarded && (r.Key == "" || r.Key == s.holder):
		s.history.Open, s.holder = nil, ""
	case (r.Kind == waits || r.Kind == kept) && r.Key == s.holder:
		s.progress(open, r)
	default:
		return false
	}
	return true
}

// progress adds what a run has said to its turn, which waits or has ended with it.
func (s *state) progress(open *Turn, r *record) {
	open.Said = append(open.Said, r.Said...)
	open.Agent, open.Changed, open.Questions = r.Agent, r.At, r.Questions
	open.Usage.Add(&r.Usage)
	s.holder = ""
	if open.Status = Waiting; r.Kind == kept {
		open.Status = Kept
		s.history.Turns, s.history.Open = append(s.history.Turns, *open), nil
	}
}

func (s *state) isOpen(conversation string) error {
	open := s.history.Open
	return &OpenError{Conversation: conversation, Turn: open.ID, Status: open.Status, Since: open.Changed}
}

// journalID is where the records are: apart from those of a run that has the same ID.
func (c *Conversation) journalID() string { return "conversation/" + c.id }

// read returns what the conversation is, or was when the record with an ID had come, and whether that record counts.
func (c *Conversation) read(ctx context.Context, id string) (s state, counts bool, err error) {
	records, err := c.journal.ReadRecords(ctx, c.journalID())
	if err != nil {
		return s, false, fmt.Errorf("conversation %q: %w", c.id, err)
	}
	for i, data := range records {
		var r record
		if err := new(serialization.InternalSerializer).Unmarshal(data, &r); err != nil {
			return s, false, fmt.Errorf("conversation %q: record %d: %w", c.id, i+1, err)
		}
		if counts = s.apply(&r); r.ID == id {
			return s, counts, nil
		}
	}
	if id != "" {
		err = fmt.Errorf("conversation %q: it was deleted meanwhile", c.id)
	}
	return s, false, err
}

// append appends a record. It returns what the conversation is with it, and whether it counts: others may have appended
// theirs before.
func (c *Conversation) append(ctx context.Context, r *record) (s state, counts bool, err error) {
	r.ID, r.At = uuid.NewString(), time.Now().UTC()
	data, err := new(serialization.InternalSerializer).Marshal(*r)
	if err == nil {
		err = c.journal.AppendRecord(ctx, c.journalID(), data)
	}
	if err != nil {
		return s, false, fmt.Errorf("conversation %q: %w", c.id, err)
	}
	return c.read(ctx, r.ID)
}
