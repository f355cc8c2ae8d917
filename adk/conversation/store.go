package conversation

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
)

// Branch names a line of a conversation. [Main] is the one that every conversation has; others are forked.
type Branch string

// Main is the branch that a conversation begins with.
const Main Branch = ""

// Position is the place of a turn on its branch: the first turn has 1. 0 is the place before it.
type Position int64

// MaxDepth limits the number of forks between a branch and the main one.
const MaxDepth = 100

// Store keeps conversations. All of its methods are safe for concurrent use, by goroutines and by the processes that
// share what it keeps. [NewStore] makes one of a store for checkpoints. Package conversationtest tests others.
//
// A conversation that does not exist is read as an empty one, and is made by the first write to its main branch.
// A branch that was not forked is [ErrNoBranch].
type Store interface {
	// Create makes a conversation, and returns it with the times. One that exists is [ErrExists].
	Create(ctx context.Context, info Info) (Info, error)
	// Get returns what is known of a conversation, and false if there is none, or if it has expired.
	Get(ctx context.Context, id string) (Info, bool, error)
	// List yields conversations, the one updated last first. An error is the last item.
	List(ctx context.Context, q Query) iter.Seq2[Info, error]
	// Delete removes a conversation with all its branches. That there is none is no error.
	Delete(ctx context.Context, id string) error

	// Lane returns the state of a branch. It reads no turns.
	State(ctx context.Context, id string, branch Branch) (BranchState, error)
	// Append adds a turn behind the head of a branch in one atomic step, and returns its position. Without a.Key it is an
	// [*HeadMovedError] if the branch has another head than a.Head. With a key the turn must be the one that is open, and
	// be held with that key, or it is [ErrLost]: it is closed in the same step, wherever the head is now. If there is a
	// turn with the same ID behind a.Head already, nothing changes and its position is returned. A rewind goes back to turns
	// of the branch itself, or to where it was forked ([ErrNoPosition]), while no turn is open (an [*OpenError]).
	Append(ctx context.Context, id string, branch Branch, a NewTurn) (Position, error)
	// SetOpen replaces the open turn of a branch in one atomic step, if it is held with the key before: by another state
	// of it with another key, or, with nil, by none. before is "" if no turn is open: the error is an [*OpenError] if one
	// is. If the key is another one by now, it is [ErrLost].
	SetOpen(ctx context.Context, id string, branch Branch, before string, open *OpenTurn) error
	// Turns yields the turns of a branch, and behind the first of them the turns of the branch that it was forked from,
	// newest first, beginning at a position. 0 begins at the head. An error is the last item.
	Turns(ctx context.Context, id string, branch Branch, from Position) iter.Seq2[Turn, error]
	// Fork begins a branch behind a turn of another one, 0 for before the first. It copies nothing. A name that is taken is
	// [ErrBranchExists], unless it was forked at the same place.
	Fork(ctx context.Context, id string, from Branch, at Position, name Branch) error
}

// Sweeper removes conversations that have expired. A [Store] may offer it; stores of [NewStore] on a store that lists do.
// It is not called by itself: call it now and then, for example once an hour in one process; several at once do no harm.
type Sweeper interface {
	// Sweep removes at most limit conversations that have expired, and what is left of those whose deletion was cut short,
	// each with all its branches. It looks at each conversation there is.
	Sweep(ctx context.Context, limit int) (Swept, error)
}

// Swept reports what a sweep removed.
type Swept struct {
	Conversations int
	// More says that there is more to remove than the limit.
	More bool
}

// Info describes a conversation, without its messages.
type Info struct {
	ID string
	// User is whom it belongs to, as the application names people.
	User, Title string
	Tags        map[string]string
	// Created is the time at which it was made, Updated the time of its last change. The store sets them.
	Created, Updated time.Time
	// Expires is the time at which it ends: from then on there is none. The zero time is never.
	Expires time.Time
}

// Cursor returns the position behind the conversation, for the After of a list.
func (i Info) Cursor() string { return fmt.Sprintf("%016x.%s", i.Updated.UnixMicro(), i.ID) }

// Query says which conversations are listed. What is empty does not matter.
type Query struct {
	User string
	Tags map[string]string
	// After is the [Info.Cursor] of the last conversation that was seen. Limit 0 means all.
	After string
	Limit int
}

// Lane is the state of a branch.
type BranchState struct {
	// Parent is the branch that it was forked from, behind ForkedAt. Depth is how many forks it is away from [Main].
	Parent   Branch
	ForkedAt Position
	Depth    int
	// Head is the position of the last turn, and Compacted the position of the last compaction that no rewind leaves out,
	// 0 if there is none on the branch itself.
	Head, Compacted Position
	// Open is the turn that is open, nil if none is.
	Open *OpenTurn
}

// OpenTurn is a turn that is not part of the history yet.
type OpenTurn struct {
	Turn
	// Key authorises its holder to change it. Each change needs another one, which cannot be guessed.
	Key string
}

// NewTurn is a turn that is appended.
type NewTurn struct {
	Turn
	// Head is the place where the branch ended for the caller that appends.
	Head Position
	// Key is the key of the open turn that ends with this one, "" for turns that were not open.
	Key string
}

// Errors of stores.
var (
	// ErrExists says that there is a conversation with that ID.
	ErrExists = errors.New("there is a conversation with that ID")
	// ErrNoBranch says that there is no branch of that name.
	ErrNoBranch = errors.New("the conversation has no such branch")
	// ErrBranchExists says that there is a branch of that name, at another place.
	ErrBranchExists = errors.New("the conversation has a branch of that name")
	// ErrNoPosition says that a branch has no turn at that place.
	ErrNoPosition = errors.New("the branch has no turn at that place")
	// ErrTooDeep says that a branch would be more than [MaxDepth] forks away from the main one.
	ErrTooDeep = errors.New("too many forks lie behind the branch: begin a new conversation with its history")
	// ErrNoID says that a conversation has no ID: all that have none would be one, whatever user they belong to.
	ErrNoID = errors.New("the ID of the conversation is empty: name the user or the chat that it belongs to")
	// ErrNotWaiting is wrapped by the error of [Conversation.Resume] if no turn waits.
	ErrNotWaiting = errors.New("no turn waits for a reply")
	// ErrLost says that a turn is not held any more: it was discarded, or taken over by another process.
	ErrLost = errors.New("the turn was discarded meanwhile")
)

// HeadMovedError says that a turn was not appended because others were appended before.
type HeadMovedError struct {
	Conversation   string
	Branch         Branch
	Expected, Head Position
}

func (e *HeadMovedError) Error() string {
	return fmt.Sprintf("conversation %q: its head is turn %d by now, not %d: read it, and append again",
		e.Conversation, e.Head, e.Expected)
}

// OpenError says that a turn cannot begin because another one is open: it runs, or waits for replies.
type OpenError struct {
	Conversation string
	Branch       Branch
	// Turn is the ID of the open turn.
	Turn   string
	Status Status
	Since  time.Time
}

func (e *OpenError) Error() string {
	what := "wait for its end, or discard it if its process died"
	if e.Status == Waiting {
		what = "reply to it, or discard it"
	}
	return fmt.Sprintf("conversation %q: turn %s is %s since %s: %s",
		e.Conversation, e.Turn, e.Status, e.Since.Format(time.RFC3339), what)
}
