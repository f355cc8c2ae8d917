// Package conversationtest tests stores for conversations: what package conversation relies on, each rule a subtest.
//
//	func TestMyStore(t *testing.T) {
//		conversationtest.Run(t, func(t *testing.T) conversation.Store { return mystore.New(t.TempDir()) })
//	}
package conversationtest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/conversation"
	"github.com/weftgo/weft/schema"
)

// Run tests a store. newStore makes an empty one for each subtest, and may use t to clean up after it.
func Run(t *testing.T, newStore func(t *testing.T) conversation.Store) {
	t.Helper()
	for _, rule := range []struct {
		name string
		test func(*testing.T, conversation.Store)
	}{
		{"Create/once", createOnce},
		{"Create/first-write", firstWrite},
		{"Create/expires", expires},
		{"Delete/all", deleteAll},
		{"Sweep/expired", sweepExpired},
		{"List/filters", listFilters},
		{"List/pages", listPages},
		{"IDs/hostile", hostileIDs},
		{"Append/order", appendOrder},
		{"Append/head-moved", headMoved},
		{"Append/again", appendAgain},
		{"Append/concurrent", appendConcurrent},
		{"Append/many", appendMany},
		{"Append/large", appendLarge},
		{"Messages/whole", messagesWhole},
		{"Open/one", openOne},
		{"Open/swapped", openSwapped},
		{"Open/concurrent", openConcurrent},
		{"Open/ends-with-turn", openEnds},
		{"Open/note-beside", noteBeside},
		{"Compaction/covers", compactionCovers},
		{"Rewind/leaves-out", rewindLeavesOut},
		{"Rewind/refused", rewindRefused},
		{"Fork/chain", forkChain},
		{"Fork/refused", forkRefused},
		{"Fork/depth", forkDepth},
		{"Context/ended", contextEnded},
	} {
		t.Run(rule.name, func(t *testing.T) { rule.test(t, newStore(t)) })
	}
}

var background = context.Background()

func createOnce(t *testing.T, s conversation.Store) {
	absent(t, s, "c")
	made, err := s.Create(background, conversation.Info{ID: "c", User: "ana", Title: "T", Tags: map[string]string{"a": "b"}})
	noError(t, err)
	got, ok, err := s.Get(background, "c")
	noError(t, err)
	if !ok || got.User != "ana" || got.Title != "T" || got.Tags["a"] != "b" || !got.Created.Equal(made.Created) ||
		got.Created.IsZero() || got.Updated.Before(got.Created) {
		t.Errorf("Get = %+v, %v; want what was created: %+v", got, ok, made)
	}
	_, err = s.Create(background, conversation.Info{ID: "c", User: "eve"})
	is(t, "Create of one that exists", err, conversation.ErrExists)
	if got, _, _ := s.Get(background, "c"); got.User != "ana" {
		t.Errorf("after it was created again it belongs to %q; want ana", got.User)
	}
}

func firstWrite(t *testing.T, s conversation.Store) {
	lane, err := s.State(background, "c", conversation.Main)
	noError(t, err)
	if lane.Head != 0 || lane.Open != nil {
		t.Errorf("Lane of one that is not there = %+v; want an empty one", lane)
	}
	holds(t, s, "c", conversation.Main)
	absent(t, s, "c")
	put(t, s, "c", conversation.Main, 0, "1")
	if _, ok, err := s.Get(background, "c"); !ok || err != nil {
		t.Errorf("Get after the first write = %v, %v; want true", ok, err)
	}
	_, err = s.Create(background, conversation.Info{ID: "c"})
	is(t, "Create of one that was written to", err, conversation.ErrExists)
}

func expires(t *testing.T, s conversation.Store) {
	_, err := s.Create(background, conversation.Info{ID: "c", User: "ana", Expires: time.Now().Add(-time.Minute)})
	noError(t, err)
	_, err = s.Create(background, conversation.Info{ID: "later", Expires: time.Now().Add(time.Hour)})
	noError(t, err)
	absent(t, s, "c")
	if ids := list(t, s, conversation.Query{}); !slices.Equal(ids, []string{"later"}) {
		t.Errorf("List = %q; want what has not expired", ids)
	}
	put(t, s, "c", conversation.Main, 0, "1")
	if got, ok, _ := s.Get(background, "c"); !ok || got.User != "" {
		t.Errorf("Get = %+v, %v; want a new one in place of the one that has expired", got, ok)
	}
	holds(t, s, "c", conversation.Main, "1")
}

func deleteAll(t *testing.T, s conversation.Store) {
	noError(t, s.Delete(background, "c"))
	put(t, s, "c", conversation.Main, 0, "1", "2")
	put(t, s, "stays", conversation.Main, 0, "1")
	noError(t, s.Fork(background, "c", conversation.Main, 1, "b"))
	put(t, s, "c", "b", 1, "b2")
	noError(t, s.SetOpen(background, "c", conversation.Main, "", open("3", "k")))
	noError(t, s.Delete(background, "c"))
	noError(t, s.Delete(background, "c"))
	absent(t, s, "c")
	holds(t, s, "c", conversation.Main)
	holds(t, s, "stays", conversation.Main, "1")
	_, err := s.State(background, "c", "b")
	is(t, "Lane of a branch that was deleted", err, conversation.ErrNoBranch)
	put(t, s, "c", conversation.Main, 0, "new")
	holds(t, s, "c", conversation.Main, "new")
	noError(t, s.Fork(background, "c", conversation.Main, 1, "b"))
	holds(t, s, "c", "b", "new")
}

// sweepExpired: what has expired is removed, if the store is a Sweeper, and nothing else is.
func sweepExpired(t *testing.T, s conversation.Store) {
	sweeper, ok := s.(conversation.Sweeper)
	if !ok {
		t.Skip("the store is no conversation.Sweeper")
	}
	put(t, s, "stays", conversation.Main, 0, "1")
	sweep := func(limit int, want conversation.Swept) {
		t.Helper()
		if got, err := sweeper.Sweep(background, limit); err != nil || got != want {
			t.Errorf("Sweep(%d) = %+v, %v; want %+v", limit, got, err, want)
		}
	}
	var soon time.Time
	for wait := time.Second; ; wait *= 4 { // until the store is faster than that, which may be loaded
		soon = time.Now().Add(wait)
		for _, id := range []string{"a", "b", "c"} {
			_, err := s.Create(background, conversation.Info{ID: id, Expires: soon})
			noError(t, err)
			put(t, s, id, conversation.Main, 0, "1", "2")
			noError(t, s.Fork(background, id, conversation.Main, 1, "fork"))
			put(t, s, id, "fork", 1, "3")
		}
		swept, err := sweeper.Sweep(background, 10)
		if err == nil && swept == (conversation.Swept{}) {
			break
		}
		if err != nil || time.Now().Before(soon) || wait > time.Minute {
			t.Fatalf("Sweep(10) = %+v, %v before anything has expired", swept, err)
		}
		for _, id := range []string{"a", "b", "c"} {
			noError(t, s.Delete(background, id))
		}
	}
	time.Sleep(time.Until(soon) + time.Millisecond)
	sweep(2, conversation.Swept{Conversations: 2, More: true})
	sweep(2, conversation.Swept{Conversations: 1})
	sweep(2, conversation.Swept{})
	holds(t, s, "stays", conversation.Main, "1")
	absent(t, s, "a")
	put(t, s, "a", conversation.Main, 0, "new")
	holds(t, s, "a", conversation.Main, "new")
	_, err := s.State(background, "a", "fork")
	is(t, "Lane of a branch of the one before", err, conversation.ErrNoBranch)
}

func listFilters(t *testing.T, s conversation.Store) {
	for i, c := range []conversation.Info{
		{ID: "1", User: "ana"}, {ID: "2", User: "bo", Tags: map[string]string{"k": "v"}},
		{ID: "3", User: "ana", Tags: map[string]string{"k": "v", "x": "y"}}, {ID: "4"},
	} {
		_, err := s.Create(background, c)
		noError(t, err)
		put(t, s, c.ID, conversation.Main, 0, fmt.Sprint("turn ", i))
	}
	for _, c := range []struct {
		q    conversation.Query
		want []string
	}{
		{conversation.Query{}, []string{"1", "2", "3", "4"}},
		{conversation.Query{User: "ana"}, []string{"1", "3"}},
		{conversation.Query{User: "eve"}, nil},
		{conversation.Query{Tags: map[string]string{"k": "v"}}, []string{"2", "3"}},
		{conversation.Query{Tags: map[string]string{"k": "v", "x": "y"}}, []string{"3"}},
		{conversation.Query{Tags: map[string]string{"k": ""}}, nil},
		{conversation.Query{User: "ana", Tags: map[string]string{"k": "v"}}, []string{"3"}},
	} {
		got := list(t, s, c.q)
		if slices.Sort(got); !slices.Equal(got, c.want) {
			t.Errorf("List(%+v) = %q; want %q", c.q, got, c.want)
		}
	}
}

func listPages(t *testing.T, s conversation.Store) {
	const n = 7
	for i := range n {
		put(t, s, fmt.Sprint(i), conversation.Main, 0, "1")
		time.Sleep(2 * time.Millisecond) // the times of changes are what is tested
	}
	put(t, s, "3", conversation.Main, 1, "2")
	var all []string
	for q := (conversation.Query{Limit: 2}); ; {
		page := 0
		for info, err := range s.List(background, q) {
			noError(t, err)
			all, page, q.After = append(all, info.ID), page+1, info.Cursor()
		}
		if page > 2 {
			t.Fatalf("a page has %d; want 2 at most", page)
		}
		if page == 0 {
			break
		}
	}
	if want := []string{"3", "6", "5", "4", "2", "1", "0"}; !slices.Equal(all, want) {
		t.Errorf("all pages: %q; want the one updated last first: %q", all, want)
	}
}

func hostileIDs(t *testing.T, s conversation.Store) {
	ids := []string{"", ".", "..", "/", "a/b", "a//0", "a/", "a", "A", "%", "%2F", "a%2Fb", "a\x00b", "\xff", "ü", "日本語",
		"'; DROP TABLE turns; --", strings.Repeat("long", 300), strings.Repeat("long", 300) + "!", "conversation/a"}
	for i, id := range ids {
		put(t, s, id, conversation.Main, 0, fmt.Sprint(i))
		for j, branch := range ids {
			if branch == "" {
				continue
			}
			noError(t, s.Fork(background, id, conversation.Main, 1, conversation.Branch(branch)))
			if j < 3 || len(branch) > 1000 {
				put(t, s, id, conversation.Branch(branch), 1, fmt.Sprint(i, "/", j))
			}
		}
	}
	for i, id := range ids {
		holds(t, s, id, conversation.Main, fmt.Sprint(i))
		holds(t, s, id, "..", fmt.Sprint(i), fmt.Sprint(i, "/", 2))
		holds(t, s, id, "a", strings.Fields(fmt.Sprint(i))...)
	}
	if got := list(t, s, conversation.Query{}); len(got) != len(ids) {
		t.Errorf("List has %d; want %d: %q", len(got), len(ids), got)
	}
}

func appendOrder(t *testing.T, s conversation.Store) {
	for i := range 5 {
		at, err := s.Append(background, "c", conversation.Main,
			conversation.NewTurn{Head: conversation.Position(i), Turn: turn(fmt.Sprint(i))})
		noError(t, err)
		if at != conversation.Position(i+1) {
			t.Errorf("Append = %d; want %d", at, i+1)
		}
	}
	holds(t, s, "c", conversation.Main, "0", "1", "2", "3", "4")
	var got []string
	for turn, err := range s.Turns(background, "c", conversation.Main, 3) {
		noError(t, err)
		if got = append(got, turn.ID); len(got) == 2 {
			break
		}
	}
	if !slices.Equal(got, []string{"2", "1"}) {
		t.Errorf("Turns from 3, two of them = %q; want 2 and 1", got)
	}
}

func headMoved(t *testing.T, s conversation.Store) {
	put(t, s, "c", conversation.Main, 0, "1", "2")
	for _, head := range []conversation.Position{0, 1, 3} {
		_, err := s.Append(background, "c", conversation.Main, conversation.NewTurn{Head: head, Turn: turn("x")})
		var moved *conversation.HeadMovedError
		if !errors.As(err, &moved) || moved.Head != 2 || moved.Expected != head {
			t.Errorf("Append behind %d, where the head is 2: %v; want a *HeadMovedError that says so", head, err)
		}
	}
	holds(t, s, "c", conversation.Main, "1", "2")
}

func appendAgain(t *testing.T, s conversation.Store) {
	put(t, s, "c", conversation.Main, 0, "1", "2", "3")
	for _, head := range []conversation.Position{1, 3} {
		again := turn("2")
		again.Asked = []*schema.Message{schema.UserMessage("another text")}
		at, err := s.Append(background, "c", conversation.Main, conversation.NewTurn{Head: head, Turn: again})
		if err != nil || at != 2 {
			t.Errorf("Append of turn 2 again, behind %d = %d, %v; want 2 and no error", head, at, err)
		}
	}
	holds(t, s, "c", conversation.Main, "1", "2", "3")
	for got, err := range s.Turns(background, "c", conversation.Main, 2) {
		if noError(t, err); got.Asked[0].Content != "asks 2" {
			t.Errorf("the turn has %q; want what was appended first", got.Asked[0].Content)
		}
		break
	}
}

func appendConcurrent(t *testing.T, s conversation.Store) {
	const writers, each = 8, 6
	together(writers, func(w int) {
		for i := range each {
			id := fmt.Sprint(w, "-", i)
			for {
				lane, err := s.State(background, "c", conversation.Main)
				if noError(t, err); err != nil {
					return
				}
				_, err = s.Append(background, "c", conversation.Main, conversation.NewTurn{Head: lane.Head, Turn: turn(id)})
				if err == nil {
					break
				}
				if !errors.As(err, new(*conversation.HeadMovedError)) {
					t.Error(err)
					return
				}
			}
		}
	})
	ids := read(t, s, "c", conversation.Main)
	next := [writers]int{}
	for _, id := range ids {
		var w, i int
		_, err := fmt.Sscanf(id, "%d-%d", &w, &i)
		if noError(t, err); next[w] != i {
			t.Fatalf("turn %s is there; want %d-%d: each once, in the order of its writer", id, w, next[w])
		}
		next[w]++
	}
	if len(ids) != writers*each {
		t.Errorf("%d turns; want %d", len(ids), writers*each)
	}
}

func appendMany(t *testing.T, s conversation.Store) {
	const n = 300
	want := make([]string, n)
	for i := range n {
		want[i] = fmt.Sprint(i)
		put(t, s, "c", conversation.Main, conversation.Position(i), want[i])
	}
	holds(t, s, "c", conversation.Main, want...)
	for _, from := range []int{1, 63, 64, 65, 128, 200, n} {
		for got, err := range s.Turns(background, "c", conversation.Main, conversation.Position(from)) {
			if noError(t, err); got.ID != want[from-1] || got.Position != conversation.Position(from) {
				t.Errorf("Turns from %d begins with %s at %d", from, got.ID, got.Position)
			}
			break
		}
	}
}

func appendLarge(t *testing.T, s conversation.Store) {
	large := turn("1")
	large.Asked = []*schema.Message{schema.UserMessage(strings.Repeat("long ", 1<<18))}
	noError(t, s.SetOpen(background, "c", conversation.Main, "", &conversation.OpenTurn{Turn: large, Key: "k"}))
	for i := range 3 { // also while a large turn is open
		put(t, s, "c", conversation.Main, conversation.Position(i), fmt.Sprint("note ", i))
	}
	_, err := s.Append(background, "c", conversation.Main, conversation.NewTurn{Turn: large, Key: "k"})
	noError(t, err)
	put(t, s, "c", conversation.Main, 4, "5")
	holds(t, s, "c", conversation.Main, "note 0", "note 1", "note 2", "1", "5")
	for got, err := range s.Turns(background, "c", conversation.Main, 4) {
		if noError(t, err); got.Asked[0].Content != large.Asked[0].Content {
			t.Error("the large message has changed")
		}
		break
	}
}

func messagesWhole(t *testing.T, s conversation.Store) {
	index := 3
	m := &schema.Message{
		Role: schema.Assistant, Content: "a\x00b\xff", ReasoningContent: "because", Name: "n",
		ToolCalls: []schema.ToolCall{{Index: &index, ID: "1", Type: "function", Extra: map[string]any{"big": int64(math.MaxInt64)},
			Function: schema.FunctionCall{Name: "f", Arguments: `{"n":9007199254740993}`}}},
		ResponseMeta: &schema.ResponseMeta{FinishReason: "stop", Usage: &schema.TokenUsage{TotalTokens: 7}},
		Extra: map[string]any{"signature": []byte{0, 255}, "n": int64(math.MinInt64), "f": 1.5, "s": []string{"x"},
			"m": map[string]any{"k": uint64(math.MaxUint64)}},
	}
	want := conversation.Turn{
		ID: "1", Kind: conversation.Exchange, Asked: []*schema.Message{schema.UserMessage("?")}, Entry: "a", Agent: "b",
		Said: []adk.HistoryEntry{{AgentName: "a", Message: m}, {AgentName: "a", Message: schema.ToolMessage("r", "1")},
			{AgentName: "b", IsUserInput: true, Message: schema.UserMessage("x")}},
		Usage: schema.TokenUsage{PromptTokens: 1, TotalTokens: 7}, Tags: map[string]string{"k": "v"},
		Began: time.Unix(1, 1000).UTC(), Changed: time.Unix(2, 2000).UTC(),
	}
	_, err := s.Append(background, "c", conversation.Main, conversation.NewTurn{Turn: want})
	noError(t, err)
	want.Status, want.Position = conversation.Kept, 1
	for got, err := range s.Turns(background, "c", conversation.Main, 0) {
		if noError(t, err); !reflect.DeepEqual(got, want) {
			t.Errorf("Turns yields\n%+v\nwant\n%+v", got, want)
		}
	}
}
