package conversationtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftgo/weft/adk/conversation"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

func openOne(t *testing.T, s conversation.Store) {
	first := open("1", "k1")
	noError(t, s.SetOpen(background, "c", conversation.Main, "", first))
	lane, err := s.State(background, "c", conversation.Main)
	noError(t, err)
	if lane.Open == nil || lane.Open.ID != "1" || lane.Open.Key != "k1" || lane.Open.Asked[0].Content != "asks 1" {
		t.Fatalf("Lane = %+v; want the open turn", lane)
	}
	err = s.SetOpen(background, "c", conversation.Main, "", open("2", "k2"))
	var isOpen *conversation.OpenError
	if !errors.As(err, &isOpen) || isOpen.Turn != "1" || isOpen.Status != conversation.Running || isOpen.Conversation != "c" ||
		!isOpen.Since.Equal(first.Changed) {
		t.Errorf("SetOpen beside an open turn: %#v; want an *OpenError that names it", err)
	}
	holds(t, s, "c", conversation.Main) // it is no part of the history
	noError(t, s.Fork(background, "c", conversation.Main, 0, "b"))
	noError(t, s.SetOpen(background, "c", "b", "", open("2", "k2"))) // one a branch
}

func openSwapped(t *testing.T, s conversation.Store) {
	noError(t, s.SetOpen(background, "c", conversation.Main, "", open("1", "k1")))
	is(t, "SetOpen with a wrong key", s.SetOpen(background, "c", conversation.Main, "k0", nil), conversation.ErrLost)
	waits := open("1", "k2")
	waits.Status, waits.Questions = conversation.Waiting, []runs.Question{{ID: "q", Text: "May it?", Info: json.RawMessage(`"why"`)}}
	noError(t, s.SetOpen(background, "c", conversation.Main, "k1", waits))
	is(t, "SetOpen with an old key", s.SetOpen(background, "c", conversation.Main, "k1", open("1", "k3")), conversation.ErrLost)
	lane, err := s.State(background, "c", conversation.Main)
	noError(t, err)
	if lane.Open == nil || lane.Open.Status != conversation.Waiting || len(lane.Open.Questions) != 1 ||
		!reflect.DeepEqual(lane.Open.Questions[0], waits.Questions[0]) {
		t.Errorf("Lane = %+v; want the turn as it was set last", lane.Open)
	}
	noError(t, s.SetOpen(background, "c", conversation.Main, "k2", nil))
	if lane, err = s.State(background, "c", conversation.Main); err != nil || lane.Open != nil {
		t.Errorf("Lane = %+v, %v; want no open turn", lane, err)
	}
	is(t, "SetOpen of a turn that is closed", s.SetOpen(background, "c", conversation.Main, "k2", nil), conversation.ErrLost)
}

func openConcurrent(t *testing.T, s conversation.Store) {
	for round := range 4 {
		before := ""
		if round > 0 {
			before = fmt.Sprint("round ", round-1)
		}
		var won atomic.Int32
		together(16, func(g int) {
			key := fmt.Sprint("round ", round)
			err := s.SetOpen(background, "c", conversation.Main, before, open(fmt.Sprint(g), key))
			switch {
			case err == nil:
				won.Add(1)
			case before == "" && !errors.As(err, new(*conversation.OpenError)), before != "" && !errors.Is(err, conversation.ErrLost):
				t.Error(err)
			}
		})
		if won.Load() != 1 {
			t.Errorf("round %d: %d of 16 have opened it; want one", round, won.Load())
		}
	}
}

func openEnds(t *testing.T, s conversation.Store) {
	noError(t, s.SetOpen(background, "c", conversation.Main, "", open("1", "k1")))
	for _, wrong := range []conversation.NewTurn{{Turn: turn("1"), Key: "k0"}, {Turn: turn("2"), Key: "k1"}} {
		_, err := s.Append(background, "c", conversation.Main, wrong)
		is(t, "Append of turn "+wrong.ID+" with key "+wrong.Key, err, conversation.ErrLost)
	}
	for range 2 { // the second time it is there
		at, err := s.Append(background, "c", conversation.Main, conversation.NewTurn{Turn: turn("1"), Key: "k1"})
		if err != nil || at != 1 {
			t.Errorf("Append of the open turn = %d, %v; want 1", at, err)
		}
	}
	lane, err := s.State(background, "c", conversation.Main)
	if err != nil || lane.Open != nil || lane.Head != 1 {
		t.Errorf("Lane = %+v, %v; want no open turn, and head 1", lane, err)
	}
	holds(t, s, "c", conversation.Main, "1")
	noError(t, s.SetOpen(background, "c", conversation.Main, "", open("2", "k2")))
	noError(t, s.SetOpen(background, "c", conversation.Main, "k2", nil))
	_, err = s.Append(background, "c", conversation.Main, conversation.NewTurn{Head: 1, Turn: turn("2"), Key: "k2"})
	is(t, "Append of a turn that was discarded", err, conversation.ErrLost)
	holds(t, s, "c", conversation.Main, "1")
}

func noteBeside(t *testing.T, s conversation.Store) {
	noError(t, s.SetOpen(background, "c", conversation.Main, "", open("run", "k")))
	note := turn("note")
	note.Kind = conversation.Note
	_, err := s.Append(background, "c", conversation.Main, conversation.NewTurn{Turn: note})
	noError(t, err)
	at, err := s.Append(background, "c", conversation.Main, conversation.NewTurn{Turn: turn("run"), Key: "k"})
	if err != nil || at != 2 {
		t.Errorf("Append of the run's turn = %d, %v; want it behind the note, at 2", at, err)
	}
	holds(t, s, "c", conversation.Main, "note", "run")
}

func compactionCovers(t *testing.T, s conversation.Store) {
	put(t, s, "c", conversation.Main, 0, "1", "2", "3")
	compact := turn("sum")
	compact.Kind, compact.Covers = conversation.Compaction, 4
	_, err := s.Append(background, "c", conversation.Main, conversation.NewTurn{Head: 3, Turn: compact})
	is(t, "a compaction of what is not there", err, conversation.ErrNoPosition)
	compact.Covers = 2
	_, err = s.Append(background, "c", conversation.Main, conversation.NewTurn{Head: 3, Turn: compact})
	noError(t, err)
	put(t, s, "c", conversation.Main, 4, "5")
	lane, err := s.State(background, "c", conversation.Main)
	if err != nil || lane.Compacted != 4 || lane.Head != 5 {
		t.Errorf("Lane = %+v, %v; want Compacted 4 and Head 5", lane, err)
	}
	holds(t, s, "c", conversation.Main, "1", "2", "3", "sum", "5")
	messages, head, err := conversation.Messages(background, s, "c", conversation.Main, conversation.HistoryOptions{})
	noError(t, err)
	if want := []string{"asks sum", "asks 3", "asks 5"}; head != 5 || !slices.Equal(contents(messages), want) {
		t.Errorf("Messages = %q, %d; want %q, 5", contents(messages), head, want)
	}
}

func rewindTo(to conversation.Position, head conversation.Position) conversation.NewTurn {
	back := turn(fmt.Sprint("back to ", to, " at ", head))
	back.Kind, back.Covers = conversation.Rewind, to
	return conversation.NewTurn{Head: head, Turn: back}
}

// compactAt appends a summary.
func compactAt(t *testing.T, s conversation.Store, covers, head conversation.Position) {
	sum := turn(fmt.Sprint("sum", covers))
	sum.Kind, sum.Covers = conversation.Compaction, covers
	_, err := s.Append(background, "c", conversation.Main, conversation.NewTurn{Head: head, Turn: sum})
	noError(t, err)
}

// seen checks what a model sees of the main branch.
func seen(t *testing.T, s conversation.Store, o conversation.HistoryOptions, want ...string) {
	t.Helper()
	messages, _, err := conversation.Messages(background, s, "c", conversation.Main, o)
	noError(t, err)
	if got := contents(messages); !slices.Equal(got, want) {
		t.Errorf("Messages = %q; want %q", got, want)
	}
}

func rewindLeavesOut(t *testing.T, s conversation.Store) {
	put(t, s, "c", conversation.Main, 0, "1", "2")
	compactAt(t, s, 1, 2)
	put(t, s, "c", conversation.Main, 3, "4", "5")
	compactAt(t, s, 4, 5)
	back := func(to, head conversation.Position) {
		t.Helper()
		_, err := s.Append(background, "c", conversation.Main, rewindTo(to, head))
		noError(t, err)
	}
	back(4, 6)
	seen(t, s, conversation.HistoryOptions{}, "asks sum1", "asks 2", "asks 4")
	put(t, s, "c", conversation.Main, 7, "8")
	seen(t, s, conversation.HistoryOptions{MaxTurns: 1}, "asks sum1", "asks 8")
	lane, err := s.State(background, "c", conversation.Main)
	if err != nil || lane.Compacted != 3 || lane.Head != 8 {
		t.Errorf("Lane = %+v, %v; want Compacted 3 and Head 8", lane, err)
	}
	noError(t, s.Fork(background, "c", conversation.Main, 8, "b"))
	back(2, 8)
	put(t, s, "c", conversation.Main, 9, "10")
	seen(t, s, conversation.HistoryOptions{}, "asks 1", "asks 2", "asks 10")
	seen(t, s, conversation.HistoryOptions{MaxTurns: 1}, "asks 10")
	back(0, 10)
	seen(t, s, conversation.HistoryOptions{})
	put(t, s, "c", conversation.Main, 11, "12")
	seen(t, s, conversation.HistoryOptions{}, "asks 12")
	back(9, 12) // what is before it is left out by the rewind that was the ninth turn
	seen(t, s, conversation.HistoryOptions{}, "asks 1", "asks 2")
	holds(t, s, "c", conversation.Main, "1", "2", "sum1", "4", "5", "sum4", "back to 4 at 6", "8", "back to 2 at 8", "10",
		"back to 0 at 10", "12", "back to 9 at 12")
	messages, _, err := conversation.Messages(background, s, "c", "b", conversation.HistoryOptions{})
	noError(t, err)
	if want := []string{"asks sum1", "asks 2", "asks 4", "asks 8"}; !slices.Equal(contents(messages), want) {
		t.Errorf("Messages of the branch = %q; want what was there when it was forked: %q", contents(messages), want)
	}
}

func rewindRefused(t *testing.T, s conversation.Store) {
	put(t, s, "c", conversation.Main, 0, "1", "2", "3")
	_, err := s.Append(background, "c", conversation.Main, rewindTo(1, 2))
	if !errors.As(err, new(*conversation.HeadMovedError)) {
		t.Errorf("a rewind of a branch that has moved = %v; want a *HeadMovedError", err)
	}
	_, err = s.Append(background, "c", conversation.Main, rewindTo(4, 3))
	is(t, "a rewind to what is not there", err, conversation.ErrNoPosition)
	noError(t, s.Fork(background, "c", conversation.Main, 2, "b"))
	put(t, s, "c", "b", 2, "b3")
	_, err = s.Append(background, "c", "b", rewindTo(1, 3))
	is(t, "a rewind of a branch to before its fork", err, conversation.ErrNoPosition)
	_, err = s.Append(background, "c", "b", rewindTo(2, 3))
	noError(t, err)
	noError(t, s.SetOpen(background, "c", conversation.Main, "", open("4", "k")))
	_, err = s.Append(background, "c", conversation.Main, rewindTo(1, 3))
	if !errors.As(err, new(*conversation.OpenError)) {
		t.Errorf("a rewind while a turn is open = %v; want an *OpenError", err)
	}
	seen(t, s, conversation.HistoryOptions{}, "asks 1", "asks 2", "asks 3")
}

func forkChain(t *testing.T, s conversation.Store) {
	put(t, s, "c", conversation.Main, 0, "1", "2", "3")
	noError(t, s.Fork(background, "c", conversation.Main, 2, "a"))
	noError(t, s.Fork(background, "c", conversation.Main, 2, "a")) // the same place: it is there
	holds(t, s, "c", "a", "1", "2")
	put(t, s, "c", "a", 2, "a3", "a4")
	put(t, s, "c", conversation.Main, 3, "4")
	noError(t, s.Fork(background, "c", "a", 3, "b"))
	noError(t, s.Fork(background, "c", "a", 1, "early"))
	noError(t, s.Fork(background, "c", "a", 0, "empty"))
	put(t, s, "c", "b", 3, "b4")
	put(t, s, "c", "empty", 0, "e1")
	holds(t, s, "c", conversation.Main, "1", "2", "3", "4")
	holds(t, s, "c", "a", "1", "2", "a3", "a4")
	holds(t, s, "c", "b", "1", "2", "a3", "b4")
	holds(t, s, "c", "early", "1")
	holds(t, s, "c", "empty", "e1")
	lane, err := s.State(background, "c", "b")
	if err != nil || lane.Parent != "a" || lane.ForkedAt != 3 || lane.Head != 4 || lane.Depth != 2 {
		t.Errorf("Lane(b) = %+v, %v; want it forked from a behind 3, of depth 2, with head 4", lane, err)
	}
}

func forkRefused(t *testing.T, s conversation.Store) {
	put(t, s, "c", conversation.Main, 0, "1", "2")
	noError(t, s.Fork(background, "c", conversation.Main, 1, "a"))
	is(t, "Fork with a name that is taken", s.Fork(background, "c", conversation.Main, 2, "a"), conversation.ErrBranchExists)
	is(t, "Fork as the main branch", s.Fork(background, "c", "a", 1, conversation.Main), conversation.ErrBranchExists)
	is(t, "Fork behind the head", s.Fork(background, "c", conversation.Main, 3, "b"), conversation.ErrNoPosition)
	is(t, "Fork of no branch", s.Fork(background, "c", "none", 0, "b"), conversation.ErrNoBranch)
	_, err := s.State(background, "c", "b")
	is(t, "Lane of no branch", err, conversation.ErrNoBranch)
	_, err = s.Append(background, "c", "b", conversation.NewTurn{Turn: turn("x")})
	is(t, "Append to no branch", err, conversation.ErrNoBranch)
	is(t, "SetOpen on no branch", s.SetOpen(background, "c", "b", "", open("x", "k")), conversation.ErrNoBranch)
	for _, err := range s.Turns(background, "c", "b", 0) {
		is(t, "Turns of no branch", err, conversation.ErrNoBranch)
	}
}

func forkDepth(t *testing.T, s conversation.Store) {
	put(t, s, "c", conversation.Main, 0, "1")
	from := conversation.Main
	for i := range conversation.MaxDepth {
		to := conversation.Branch(fmt.Sprint("b", i))
		noError(t, s.Fork(background, "c", from, 1, to))
		from = to
	}
	holds(t, s, "c", from, "1")
	is(t, "one fork too many", s.Fork(background, "c", from, 1, "more"), conversation.ErrTooDeep)
}

// contextEnded: a store may continue or give up, but it does what it says, whole.
func contextEnded(t *testing.T, s conversation.Store) {
	put(t, s, "c", conversation.Main, 0, "1")
	ctx, cancel := context.WithCancel(background)
	cancel()
	want := []string{"1"}
	_, err := s.Append(ctx, "c", conversation.Main, conversation.NewTurn{Head: 1, Turn: turn("2")})
	if err == nil {
		want = append(want, "2")
	} else if !errors.Is(err, context.Canceled) {
		t.Errorf("Append with a context that has ended: %v; want an error that wraps context.Canceled", err)
	}
	holds(t, s, "c", conversation.Main, want...)
}

// together runs goroutines and waits for them.
func together(n int, do func(g int)) {
	var all sync.WaitGroup
	for g := range n {
		all.Go(func() { do(g) })
	}
	all.Wait()
}

func turn(id string) conversation.Turn {
	return conversation.Turn{ID: id, Asked: []*schema.Message{schema.UserMessage("asks " + id)}, Began: time.Unix(1, 0).UTC()}
}

func open(id, key string) *conversation.OpenTurn {
	o := &conversation.OpenTurn{Turn: turn(id), Key: key}
	o.Status, o.Changed = conversation.Running, time.Unix(2, 0).UTC()
	return o
}

func contents(messages []*schema.Message) (all []string) {
	for _, m := range messages {
		all = append(all, m.Content)
	}
	return all
}

// The checks report with Errorf, as they also run in goroutines of their own.

// put appends turns behind a head.
func put(t *testing.T, s conversation.Store, id string, b conversation.Branch, head conversation.Position, turns ...string) {
	t.Helper()
	for i, name := range turns {
		_, err := s.Append(background, id, b, conversation.NewTurn{Head: head + conversation.Position(i), Turn: turn(name)})
		if err != nil {
			t.Errorf("Append of turn %s: %v", name, err)
		}
	}
}

// read returns the IDs of the turns of a branch, oldest first, whose positions have no gaps.
func read(t *testing.T, s conversation.Store, id string, b conversation.Branch) (ids []string) {
	t.Helper()
	lane, err := s.State(background, id, b)
	noError(t, err)
	at := lane.Head
	for turn, err := range s.Turns(background, id, b, 0) {
		if err != nil {
			t.Errorf("Turns: %v", err)
			return nil
		}
		if turn.Position != at || turn.Status != conversation.Kept {
			t.Errorf("turn %s is %s at %d; want kept, at %d", turn.ID, turn.Status, turn.Position, at)
		}
		ids = append(ids, turn.ID)
		at--
	}
	slices.Reverse(ids)
	return ids
}

func holds(t *testing.T, s conversation.Store, id string, b conversation.Branch, want ...string) {
	t.Helper()
	if got := read(t, s, id, b); !slices.Equal(got, want) {
		t.Errorf("branch %q has %q; want %q", b, got, want)
	}
}

func absent(t *testing.T, s conversation.Store, id string) {
	t.Helper()
	if info, ok, err := s.Get(background, id); ok || err != nil {
		t.Errorf("Get(%q) = %+v, %v, %v; want none", id, info, ok, err)
	}
}

func list(t *testing.T, s conversation.Store, q conversation.Query) (ids []string) {
	t.Helper()
	for info, err := range s.List(background, q) {
		noError(t, err)
		ids = append(ids, info.ID)
	}
	return ids
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

func is(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v; want an error that wraps %q", what, err, want)
	}
}
