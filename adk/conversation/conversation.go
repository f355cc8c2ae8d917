package conversation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/schema"
)

// A Conversation is one conversation in a store. It keeps nothing in memory: any number of them may stand for the same
// one, in any number of processes. It is safe for concurrent use. Each method reads the whole conversation.
type Conversation struct {
	journal adk.CheckPointJournal
	id      string
}

// New returns the conversation with an ID, which is any string; it need not exist. It fails if the store keeps no
// journals: those of package adk/checkpoint do.
func New(store adk.CheckPointStore, id string) (*Conversation, error) {
	journal, ok := store.(adk.CheckPointJournal)
	if !ok {
		return nil, fmt.Errorf("conversation %q: the store (%T) keeps no journals: use one that implements adk.CheckPointJournal", id, store)
	}
	return &Conversation{journal, id}, nil
}

// ID returns the ID of the conversation.
func (c *Conversation) ID() string { return c.id }

// Status is what a turn has come to: see the table of the package.
type Status string

// The states of a turn that is open or was kept. One that was discarded is not in a conversation.
const (
	Running Status = "running"
	Waiting Status = "waiting"
	Kept    Status = "kept"
)

// Turn is a question and what the agents said until the answer, or up to now. It is a value: what changes a turn are the
// methods of [Claim].
type Turn struct {
	// ID is the turn's, and the ID of the checkpoint of its run.
	ID     string
	Status Status
	// Asked are the messages that the turn began with, Said what the agents have said, in order, with their authors.
	Asked []*schema.Message
	Said  []adk.HistoryEntry
	// Entry is the agent that the turn began with, Agent the one that it was handed over to since. "" is the runner's.
	Entry, Agent string
	// Questions are what a turn waits for.
	Questions []Question
	// Usage is that of the models, summed up.
	Usage schema.TokenUsage
	// Began is when the turn began, Changed when it came to its status.
	Began, Changed time.Time
}

// Messages are those of the turn, the question first.
func (t *Turn) Messages() []*schema.Message {
	all := slices.Clone(t.Asked)
	for _, said := range t.Said {
		all = append(all, said.Message)
	}
	return all
}

// History is a conversation as it is kept: the turns that have ended, in order, and the one that is open, if any.
type History struct {
	Turns []Turn
	Open  *Turn
}

// Entries are the messages of the turns that have ended, with their authors, for [adk.WithHistory].
func (h *History) Entries() (entries []adk.HistoryEntry) {
	for i := range h.Turns {
		for _, m := range h.Turns[i].Asked {
			entries = append(entries, adk.HistoryEntry{IsUserInput: true, Message: m})
		}
		entries = append(entries, h.Turns[i].Said...)
	}
	return entries
}

// Agent is who answers next: the agent of the last turn that has ended. "" is the runner's.
func (h *History) Agent() string {
	if n := len(h.Turns); n > 0 {
		return h.Turns[n-1].Agent
	}
	return ""
}

// OpenError says that a turn cannot begin because another one is open: it runs, or waits for replies.
type OpenError struct {
	Conversation, Turn string
	Status             Status
	Since              time.Time
}

func (e *OpenError) Error() string {
	what := "wait for its end, or discard it if its process died"
	if e.Status == Waiting {
		what = "reply to it, or discard it"
	}
	return fmt.Sprintf("conversation %q: turn %s is %s since %s: %s",
		e.Conversation, e.Turn, e.Status, e.Since.Format(time.RFC3339), what)
}

// ErrNotWaiting is wrapped by the error of [Conversation.Resume] if no turn waits.
var ErrNotWaiting = errors.New("no turn waits for a reply")

// ErrLost is wrapped by the error of a [Claim] whose turn somebody has discarded meanwhile.
var ErrLost = errors.New("the turn was discarded meanwhile")

// A Claim is the right to end a turn: of the caller whose Begin or Resume came first. It is for one goroutine.
type Claim struct {
	// Turn is the turn as it was when it was claimed, History what was kept before it.
	Turn    Turn
	History History

	conversation *Conversation
	key          string
}

// History reads the conversation. One that does not exist is empty.
func (c *Conversation) History(ctx context.Context) (History, error) {
	s, _, err := c.read(ctx, "")
	return s.history, err
}

// Begin begins a turn with messages. It fails with an [*OpenError] if one is open.
func (c *Conversation) Begin(ctx context.Context, asked []*schema.Message) (*Claim, error) {
	r := record{Kind: began, Turn: uuid.NewString(), Key: uuid.NewString(), Asked: asked}
	s, counts, err := c.append(ctx, &r)
	if err != nil {
		return nil, err
	}
	if !counts {
		return nil, s.isOpen(c.id)
	}
	return c.claimed(s), nil
}

// Resume claims the turn that waits. It fails with [ErrNotWaiting] if none does.
func (c *Conversation) Resume(ctx context.Context) (*Claim, error) {
	before, _, err := c.read(ctx, "")
	if err != nil {
		return nil, err
	}
	if open := before.history.Open; open == nil || open.Status != Waiting {
		return nil, fmt.Errorf("conversation %q: %w", c.id, ErrNotWaiting)
	}
	r := record{Kind: resumed, Turn: before.history.Open.ID, Key: uuid.NewString()}
	s, counts, err := c.append(ctx, &r)
	if err != nil {
		return nil, err
	}
	if !counts { // somebody else was faster
		return nil, fmt.Errorf("conversation %q: %w", c.id, ErrNotWaiting)
	}
	return c.claimed(s), nil
}

// Discard drops the turn that is open, whoever holds it, and returns its ID, "" if none is open. What was said in it is
// not part of the conversation.
func (c *Conversation) Discard(ctx context.Context) (turn string, err error) {
	s, _, err := c.read(ctx, "")
	if err != nil || s.history.Open == nil {
		return "", err
	}
	turn = s.history.Open.ID
	_, _, err = c.append(ctx, &record{Kind: discarded, Turn: turn})
	return turn, err
}

// Delete removes the conversation. That there is none is no error.
func (c *Conversation) Delete(ctx context.Context) error {
	if err := c.journal.RemoveRecords(ctx, c.journalID()); err != nil {
		return fmt.Errorf("conversation %q: %w", c.id, err)
	}
	return nil
}

func (c *Conversation) claimed(s state) *Claim {
	turn := *s.history.Open
	s.history.Open = nil
	return &Claim{Turn: turn, History: s.history, conversation: c, key: s.holder}
}

// Wait says that the run of the turn was interrupted: what it has said since it was claimed is kept with the open turn,
// with the questions that it waits for, for whoever resumes it. The claim ends with it.
func (c *Claim) Wait(ctx context.Context, p Progress, questions ...Question) error {
	return c.end(ctx, record{Kind: waits, Questions: storable(questions)}, p)
}

// Keep appends the turn to the conversation. The claim ends with it.
func (c *Claim) Keep(ctx context.Context, p Progress) error { return c.end(ctx, record{Kind: kept}, p) }

// Discard drops the turn. The claim ends with it.
func (c *Claim) Discard(ctx context.Context) error {
	return c.end(ctx, record{Kind: discarded}, Progress{})
}

// Progress is what a run has come to since its turn was claimed.
type Progress struct {
	Said  []adk.HistoryEntry
	Agent string
	Usage schema.TokenUsage
}

func (c *Claim) end(ctx context.Context, r record, p Progress) error {
	r.Turn, r.Key, r.Said, r.Agent, r.Usage = c.Turn.ID, c.key, p.Said, p.Agent, p.Usage
	_, counts, err := c.conversation.append(ctx, &r)
	if err == nil && !counts {
		err = fmt.Errorf("conversation %q: turn %s: %w", c.conversation.id, c.Turn.ID, ErrLost)
	}
	return err
}
