package conversation

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/google/uuid"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/schema"
)

// A Conversation is one branch of a conversation in a store. It keeps nothing in memory: any number of them may stand for
// the same one, in any number of processes. It is safe for concurrent use.
type Conversation struct {
	store  Store
	id     string
	branch Branch
}

// New returns the conversation with an ID, which is any string but the empty one; it need not exist. It fails if the
// store keeps no journals: the stores of package adk/checkpoint do. See [NewStore].
func New(store adk.CheckPointStore, id string) (*Conversation, error) {
	if id == "" {
		return nil, ErrNoID
	}
	kept, err := NewStore(store)
	if err != nil {
		return nil, failed(id, err)
	}
	return Open(kept, id), nil
}

// Open returns the conversation with an ID, which is any string but the empty one; it need not exist. Without an ID nothing
// can be said in it ([ErrNoID]).
func Open(store Store, id string) *Conversation { return &Conversation{store: store, id: id} }

// ID returns the ID of the conversation.
func (c *Conversation) ID() string { return c.id }

// On returns the conversation on one of its branches.
func (c *Conversation) On(branch Branch) *Conversation {
	return &Conversation{store: c.store, id: c.id, branch: branch}
}

// Fork begins a branch behind a turn of this one, 0 for before the first, and returns the conversation on it. To edit
// what was said is to fork before it. Nothing is copied.
func (c *Conversation) Fork(ctx context.Context, at Position, name Branch) (*Conversation, error) {
	if err := c.store.Fork(ctx, c.id, c.branch, at, name); err != nil {
		return nil, err
	}
	return c.On(name), nil
}

// Begin begins a turn with messages. It fails with an [*OpenError] if one is open.
func (c *Conversation) Begin(ctx context.Context, asked []*schema.Message) (*Claim, error) {
	return c.begin(ctx, uuid.NewString(), asked, HistoryOptions{})
}

// begin begins a turn, and reads what was said before within bounds.
func (c *Conversation) begin(ctx context.Context, id string, asked []*schema.Message, o HistoryOptions) (*Claim, error) {
	if c.id == "" {
		return nil, ErrNoID
	}
	lane, err := c.store.State(ctx, c.id, c.branch)
	if err != nil {
		return nil, err
	}
	if lane.Open != nil {
		return nil, c.isOpen(lane.Open)
	}
	var history History
	now := time.Now().UTC()
	open := &OpenTurn{Turn: Turn{ID: id, Kind: Exchange, Status: Running, Asked: asked, Began: now, Changed: now}}
	for key, head := "", Position(-1); ; key, head = open.Key, open.Position {
		if lane.Head == head {
			break
		}
		history, err = c.upTo(ctx, lane.Head, o)
		if err != nil {
			return nil, errors.Join(err, c.giveUp(ctx, key))
		}
		open.Key, open.Position, open.Entry, open.Agent = uuid.NewString(), lane.Head, history.Agent(), history.Agent()
		if err := c.store.SetOpen(ctx, c.id, c.branch, key, open); err != nil {
			return nil, err
		}
		// From here on only notes can come in between.
		if lane, err = c.store.State(ctx, c.id, c.branch); err != nil {
			return nil, errors.Join(err, c.giveUp(ctx, open.Key))
		}
	}
	return c.claimed(open, history), nil
}

// giveUp closes a turn that could not begin, if it was opened.
func (c *Conversation) giveUp(ctx context.Context, key string) error {
	if key == "" {
		return nil
	}
	return c.store.SetOpen(context.WithoutCancel(ctx), c.id, c.branch, key, nil)
}

func (c *Conversation) isOpen(t *OpenTurn) error {
	return &OpenError{Conversation: c.id, Branch: c.branch, Turn: t.ID, Status: t.Status, Since: t.Changed}
}

// Resume claims the turn that waits. It fails with [ErrNotWaiting] if none does.
func (c *Conversation) Resume(ctx context.Context) (*Claim, error) {
	lane, err := c.store.State(ctx, c.id, c.branch)
	if err != nil {
		return nil, err
	}
	if lane.Open == nil || lane.Open.Status != Waiting {
		return nil, failed(c.id, ErrNotWaiting)
	}
	claim, err := c.take(ctx, lane.Open, HistoryOptions{})
	if errors.Is(err, ErrLost) { // another process was faster
		err = failed(c.id, ErrNotWaiting)
	}
	return claim, err
}

// take claims an open turn, from its holder if it has one, and reads what was said before within bounds.
func (c *Conversation) take(ctx context.Context, open *OpenTurn, o HistoryOptions) (*Claim, error) {
	history, err := c.upTo(ctx, open.Position, o)
	if err != nil {
		return nil, err
	}
	taken := *open
	taken.Status, taken.Changed, taken.Questions, taken.Key = Running, time.Now().UTC(), nil, uuid.NewString()
	if err := c.store.SetOpen(ctx, c.id, c.branch, open.Key, &taken); err != nil {
		return nil, err
	}
	return c.claimed(&taken, history), nil
}

func (c *Conversation) claimed(open *OpenTurn, before History) *Claim {
	return &Claim{Turn: open.Turn, History: before, conversation: c, key: open.Key}
}

// Discard drops the turn that is open, whichever process holds it, and returns its ID, "" if none is open. What was said
// in it is not part of the conversation.
func (c *Conversation) Discard(ctx context.Context) (turn string, err error) {
	for {
		lane, err := c.store.State(ctx, c.id, c.branch)
		if err != nil || lane.Open == nil || turn != "" && lane.Open.ID != turn {
			return turn, err
		}
		turn = lane.Open.ID
		err = c.store.SetOpen(ctx, c.id, c.branch, lane.Open.Key, nil)
		if !errors.Is(err, ErrLost) { // otherwise it has changed meanwhile
			return turn, err
		}
	}
}

// Delete removes the conversation with all its branches. That there is none is no error.
func (c *Conversation) Delete(ctx context.Context) error { return c.store.Delete(ctx, c.id) }

// Note appends messages that no agent answers: messages of a person, or of another system. A turn may be open: the note
// is before it. A note with the ID of one that was appended before changes nothing.
func (c *Conversation) Note(ctx context.Context, id string, messages ...*schema.Message) (Position, error) {
	if c.id == "" {
		return 0, ErrNoID
	}
	now := time.Now().UTC()
	note := NewTurn{Turn: Turn{ID: id, Kind: Note, Asked: messages, Began: now, Changed: now}}
	for {
		lane, err := c.store.State(ctx, c.id, c.branch)
		if err != nil {
			return 0, err
		}
		note.Head = lane.Head
		if note.Agent, err = c.agentAt(ctx, lane.Head); err != nil {
			return 0, err
		}
		at, err := c.store.Append(ctx, c.id, c.branch, note)
		if !errors.As(err, new(*HeadMovedError)) {
			return at, err
		}
	}
}

// agentAt returns the name of the agent that answers behind a turn.
func (c *Conversation) agentAt(ctx context.Context, at Position) (string, error) {
	if at == 0 {
		return "", nil
	}
	for t, err := range c.store.Turns(ctx, c.id, c.branch, at) {
		return t.Agent, err
	}
	return "", nil
}

// Compact appends a summary that stands for all turns up to one, in histories. Nothing is rewritten: [Conversation.Turns]
// still has everything. head is where the branch ended for the writer of the summary: of several that are written at the
// same time the first one counts, and the others are a [*HeadMovedError].
func (c *Conversation) Compact(
	ctx context.Context, head, covers Position, summary ...*schema.Message,
) (Position, error) {
	agent, err := c.agentAt(ctx, head)
	if err != nil {
		return 0, err
	}
	now := time.Now().UTC()
	return c.store.Append(ctx, c.id, c.branch, NewTurn{Head: head, Turn: Turn{ID: uuid.NewString(), Kind: Compaction,
		Covers: covers, Asked: summary, Agent: agent, Began: now, Changed: now}})
}

// Rewind leaves the turns behind a position, 0 for all, out of the conversation: agents do not see them any more, and
// [Conversation.History] does not have them. Nothing is rewritten: [Conversation.Turns] still has everything. head is
// where the branch ended for the caller that decided it: if it has moved the error is a [*HeadMovedError]. It fails with
// an [*OpenError] while a turn is open, and with [ErrNoPosition] for turns before the place where the branch was forked.
func (c *Conversation) Rewind(ctx context.Context, head, to Position) (Position, error) {
	agent, err := c.agentAt(ctx, to)
	if err != nil {
		return 0, err
	}
	now := time.Now().UTC()
	return c.store.Append(ctx, c.id, c.branch, NewTurn{Head: head, Turn: Turn{ID: uuid.NewString(), Kind: Rewind,
		Covers: to, Agent: agent, Began: now, Changed: now}})
}

// Turns yields the turns that have ended, newest first, with compactions and rewinds. An error is the last item.
func (c *Conversation) Turns(ctx context.Context) iter.Seq2[Turn, error] {
	return c.store.Turns(ctx, c.id, c.branch, 0)
}
