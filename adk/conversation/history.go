package conversation

import (
	"context"
	"iter"
	"slices"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/schema"
)

// History is a conversation as it is kept: turns that have ended, in order, and the one that is open, if any.
type History struct {
	Turns []Turn
	Open  *Turn
}

// Entries are the messages of the turns that have ended, with their authors, for [adk.WithHistory]. What the last
// compaction covers is left out: its summary is in its place.
func (h *History) Entries() (entries []adk.HistoryEntry) {
	covered := Position(0)
	for i := range slices.Backward(h.Turns) {
		if t := &h.Turns[i]; t.Kind == Compaction {
			covered, entries = t.Covers, t.entries()
			break
		}
	}
	for i := range h.Turns {
		if t := &h.Turns[i]; t.Kind != Compaction && t.Position > covered {
			entries = append(entries, t.entries()...)
		}
	}
	return entries
}

// Agent is the agent that answers next: the agent of the last turn that has ended. "" is the runner's.
func (h *History) Agent() string {
	if n := len(h.Turns); n > 0 {
		return h.Turns[n-1].Agent
	}
	return ""
}

// HistoryOptions bounds a history. It is cut between turns, from the oldest on; a summary stays. 0 is no bound.
type HistoryOptions struct {
	// MaxTurns is the number of turns that are returned in addition to the summary.
	MaxTurns int
	// MaxTokens is the number of tokens that they have together, as Count counts them. The newest turn is returned however
	// long it is.
	MaxTokens int
	Count     func(messages []*schema.Message) int
}

// Messages reads what a model is to see of a branch: the newest summary, if there is one, and the turns that it does not
// cover. The position is the position of the last turn. It reads no more than it returns.
func Messages(
	ctx context.Context, store Store, id string, branch Branch, o HistoryOptions,
) ([]*schema.Message, Position, error) {
	c := Open(store, id).On(branch)
	lane, err := store.State(ctx, id, branch)
	if err != nil {
		return nil, 0, err
	}
	h, err := c.upTo(ctx, lane.Head, o)
	if err != nil {
		return nil, 0, err
	}
	var messages []*schema.Message
	for _, e := range h.Entries() {
		messages = append(messages, e.Message)
	}
	return messages, lane.Head, nil
}

// standing yields the turns up to a position that no rewind leaves out, newest first. An error is the last item.
func standing(ctx context.Context, store Store, id string, branch Branch, from Position) iter.Seq2[Turn, error] {
	return func(yield func(Turn, error) bool) {
		for from > 0 {
			next := Position(0)
			for t, err := range store.Turns(ctx, id, branch, from) {
				if err == nil && t.Kind == Rewind {
					next = t.Covers
					break
				}
				if !yield(t, err) || err != nil {
					return
				}
			}
			from = next
		}
	}
}

// History reads all turns of the conversation that no rewind leaves out. One that does not exist is empty.
func (c *Conversation) History(ctx context.Context) (h History, err error) {
	lane, err := c.store.State(ctx, c.id, c.branch)
	if err != nil {
		return h, err
	}
	if lane.Open != nil {
		h.Open = &lane.Open.Turn
	}
	for t, err := range standing(ctx, c.store, c.id, c.branch, lane.Head) {
		if err != nil {
			return History{}, err
		}
		h.Turns = append(h.Turns, t)
	}
	slices.Reverse(h.Turns)
	return h, nil
}

// Find returns the turn with an ID, and false if there is none or a rewind leaves it out. It reads the newest turns first,
// up to the one that it returns; the open one is the very first.
func (c *Conversation) Find(ctx context.Context, turn string) (Turn, bool, error) {
	lane, err := c.store.State(ctx, c.id, c.branch)
	if err != nil {
		return Turn{}, false, err
	}
	if lane.Open != nil && lane.Open.ID == turn {
		return lane.Open.Turn, true, nil
	}
	for t, err := range standing(ctx, c.store, c.id, c.branch, lane.Head) {
		if err != nil || t.ID == turn {
			return t, err == nil, err
		}
	}
	return Turn{}, false, nil
}

// Before reads what the run of a turn has seen: the turns before it, within the bounds, also if a rewind has left them or
// the turn out since. It returns the turn, too, and false if the conversation has none with the ID. It reads the newest
// turns first, up to what it returns.
func (c *Conversation) Before(ctx context.Context, turn string, o HistoryOptions) (h History, t Turn, found bool, err error) {
	lane, err := c.store.State(ctx, c.id, c.branch)
	if err != nil {
		return h, t, false, err
	}
	if lane.Open != nil && lane.Open.ID == turn {
		t = lane.Open.Turn
		h, err = c.upTo(ctx, t.Position, o)
		return h, t, err == nil, err
	}
	for t, err = range c.Turns(ctx) {
		if err != nil {
			return h, t, false, err
		}
		if t.ID == turn {
			h, err = c.upTo(ctx, t.Position-1, o)
			return h, t, err == nil, err
		}
	}
	return h, Turn{}, false, nil
}

// upTo reads what a model is to see up to a position: back to what the newest compaction covers.
func (c *Conversation) upTo(ctx context.Context, head Position, o HistoryOptions) (h History, err error) {
	defer func() { slices.Reverse(h.Turns) }()
	room := bounds{o: o}
	covered := Position(0)
	for t, err := range standing(ctx, c.store, c.id, c.branch, head) {
		switch {
		case err != nil:
			return History{}, err
		case t.Position <= covered:
			return h, nil
		case t.Kind == Compaction && covered > 0: // it is older than the one that counts
		case t.Kind == Compaction:
			covered = t.Covers
			h.Turns = append(h.Turns, t)
		case room.take(&t):
			h.Turns = append(h.Turns, t)
		case covered > 0:
			return h, nil
		default:
			summary, err := c.compaction(ctx, t.Position)
			h.Turns = append(h.Turns, summary...)
			return h, err
		}
	}
	return h, nil
}

// compaction reads the newest one before a turn, if there is one.
func (c *Conversation) compaction(ctx context.Context, before Position) ([]Turn, error) {
	for on := c; ; {
		lane, err := c.store.State(ctx, c.id, on.branch)
		if err != nil {
			return nil, err
		}
		if at := lane.Compacted; at > 0 && at < before {
			for t, err := range c.store.Turns(ctx, c.id, on.branch, at) {
				return []Turn{t}, err
			}
		}
		if before = min(before, lane.ForkedAt+1); before <= 1 || on.branch == Main {
			return nil, nil
		}
		on = c.On(lane.Parent)
	}
}

// bounds is the room that is left in a history.
type bounds struct {
	o             HistoryOptions
	turns, tokens int
}

// take reports whether a turn fits, and takes its room.
func (b *bounds) take(t *Turn) bool {
	b.turns++
	if b.o.MaxTurns > 0 && b.turns > b.o.MaxTurns {
		return false
	}
	if b.o.MaxTokens > 0 && b.o.Count != nil {
		b.tokens += b.o.Count(t.Messages())
		return b.tokens <= b.o.MaxTokens || b.turns == 1
	}
	return true
}
