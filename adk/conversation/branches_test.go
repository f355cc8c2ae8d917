package conversation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/schema"
)

// exchange adds a turn.
func exchange(t *testing.T, c *Conversation, question, answer string) {
	t.Helper()
	claim, err := c.Begin(t.Context(), ask(question))
	require.NoError(t, err)
	require.NoError(t, claim.Keep(t.Context(), says("a", answer)))
}

// texts returns what a model sees.
func texts(t *testing.T, c *Conversation, o HistoryOptions) []string {
	t.Helper()
	messages, _, err := Messages(t.Context(), c.store, c.id, c.branch, o)
	require.NoError(t, err)
	var all []string
	for _, m := range messages {
		all = append(all, m.Content)
	}
	return all
}

func TestFork_EditsWhatWasSaid(t *testing.T) {
	stores(t, func(t *testing.T, store adk.CheckPointStore) {
		c := open(t, store)
		exchange(t, c, "1?", "1")
		exchange(t, c, "2?", "2")
		other, err := c.Fork(t.Context(), 1, "edited")
		require.NoError(t, err)
		running, err := c.Begin(t.Context(), ask("3?"))
		require.NoError(t, err)
		exchange(t, other, "2, better?", "2, better") // beside the open turn of the main branch
		require.NoError(t, running.Keep(t.Context(), says("a", "3")))
		require.Equal(t, []string{"1?", "1", "2?", "2", "3?", "3"}, texts(t, c, HistoryOptions{}))
		require.Equal(t, []string{"1?", "1", "2, better?", "2, better"}, texts(t, other, HistoryOptions{}))
		require.NoError(t, c.Delete(t.Context()))
		_, err = other.History(t.Context())
		require.ErrorIs(t, err, ErrNoBranch)
	})
}

// Before: what the run of a turn has seen does not change by what happens later, nor by a rewind that leaves it out.
func TestBefore_ReadsWhatATurnHasSeen(t *testing.T) {
	stores(t, func(t *testing.T, store adk.CheckPointStore) {
		c := open(t, store)
		exchange(t, c, "1?", "1")
		exchange(t, c, "2?", "2")
		exchange(t, c, "3?", "3")
		h, err := c.History(t.Context())
		require.NoError(t, err)
		second := h.Turns[1].ID
		seen := func(turn string, o HistoryOptions) (texts []string) {
			before, found, ok, err := c.Before(t.Context(), turn, o)
			require.NoError(t, err)
			require.True(t, ok)
			require.Equal(t, turn, found.ID)
			for _, e := range before.Entries() {
				texts = append(texts, e.Message.Content)
			}
			return texts
		}
		require.Equal(t, []string{"1?", "1"}, seen(second, HistoryOptions{}))
		_, err = c.Rewind(t.Context(), 3, 0)
		require.NoError(t, err)
		require.Equal(t, []string{"1?", "1"}, seen(second, HistoryOptions{}))
		require.Equal(t, []string{"2?", "2"}, seen(h.Turns[2].ID, HistoryOptions{MaxTurns: 1}))
		claim, err := c.Begin(t.Context(), ask("4?"))
		require.NoError(t, err)
		require.Empty(t, seen(claim.Turn.ID, HistoryOptions{}))
		_, _, ok, err := c.Before(t.Context(), "nobody's", HistoryOptions{})
		require.NoError(t, err)
		require.False(t, ok)
	})
}

func TestCompact_StandsForTheTurnsBeforeIt(t *testing.T) {
	c := open(t, checkpoint.NewMemoryStore())
	for i := 1; i <= 4; i++ {
		exchange(t, c, fmt.Sprint(i, "?"), fmt.Sprint(i))
	}
	_, err := c.Compact(t.Context(), 4, 2, schema.UserMessage("1 and 2"))
	require.NoError(t, err)
	require.Equal(t, []string{"1 and 2", "3?", "3", "4?", "4"}, texts(t, c, HistoryOptions{}))
	_, err = c.Compact(t.Context(), 4, 3, schema.UserMessage("too late"))
	require.ErrorAs(t, err, new(*HeadMovedError))
	exchange(t, c, "6?", "6")
	require.Equal(t, []string{"1 and 2", "6?", "6"}, texts(t, c, HistoryOptions{MaxTurns: 1}), "a summary stays")
	_, err = c.Compact(t.Context(), 6, 4, schema.UserMessage("up to 4"))
	require.NoError(t, err)
	require.Equal(t, []string{"up to 4", "6?", "6"}, texts(t, c, HistoryOptions{}))
	claim, err := c.Begin(t.Context(), ask("?"))
	require.NoError(t, err)
	require.Equal(t, "a", claim.Turn.Entry, "a summary does not change who answers next")
	require.Len(t, claim.History.Entries(), 3)
	h, err := c.History(t.Context())
	require.NoError(t, err)
	require.Len(t, h.Turns, 7, "nothing is rewritten")
	other, err := c.Fork(t.Context(), 5, "before the second summary")
	require.NoError(t, err)
	require.Equal(t, []string{"1 and 2", "3?", "3", "4?", "4"}, texts(t, other, HistoryOptions{}))
	exchange(t, other, "x?", "x")
	exchange(t, other, "y?", "y")
	require.Equal(t, []string{"y?", "y"}, texts(t, other, HistoryOptions{MaxTurns: 1}),
		"the newest summary of the branch before it came later")
}

func TestHistoryOptions_CutBetweenTurns(t *testing.T) {
	c := open(t, checkpoint.NewMemoryStore())
	for i := 1; i <= 3; i++ {
		exchange(t, c, fmt.Sprint(i, "?"), fmt.Sprint(i))
	}
	count := func(messages []*schema.Message) int { return len(messages) }
	for most, want := range map[int][]string{
		0: {"1?", "1", "2?", "2", "3?", "3"}, 6: {"1?", "1", "2?", "2", "3?", "3"}, 5: {"2?", "2", "3?", "3"}, 1: {"3?", "3"},
	} {
		require.Equal(t, want, texts(t, c, HistoryOptions{MaxTokens: most, Count: count}), most)
	}
	require.Equal(t, []string{"2?", "2", "3?", "3"}, texts(t, c, HistoryOptions{MaxTurns: 2}))
}

// M6
func TestNote_IsAppendedWhileATurnIsOpen(t *testing.T) {
	stores(t, func(t *testing.T, store adk.CheckPointStore) {
		c := open(t, store)
		exchange(t, c, "?", "!")
		claim, err := c.Begin(t.Context(), ask("1?"))
		require.NoError(t, err)
		var group sync.WaitGroup
		for i := range 4 {
			group.Go(func() {
				for range 2 { // the second time it is there
					if _, err := open(t, store).Note(context.Background(), fmt.Sprint(i), schema.UserMessage("note")); err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
		require.NoError(t, claim.Keep(t.Context(), says("b", "1")))
		require.Equal(t, []string{"?", "!", "note", "note", "note", "note", "1?", "1"}, texts(t, c, HistoryOptions{}))
		_, err = c.Note(t.Context(), "last", schema.UserMessage("note"))
		require.NoError(t, err)
		h, err := c.History(t.Context())
		require.NoError(t, err)
		require.Equal(t, "b", h.Agent(), "a note does not change who answers next")
	})
}

// A turn that begins while notes come has all of them in its history that are before it.
func TestBegin_SeesWhatWasAppendedMeanwhile(t *testing.T) {
	kept, err := NewStore(checkpoint.NewMemoryStore())
	require.NoError(t, err)
	noted := 0
	c := Open(&storeWith{Store: kept, beforeOpen: func(s Store) {
		if noted++; noted == 1 {
			_, err := Open(s, "c").Note(t.Context(), "n", schema.UserMessage("note"))
			require.NoError(t, err)
		}
	}}, "c")
	claim, err := c.Begin(t.Context(), ask("?"))
	require.NoError(t, err)
	require.Len(t, claim.History.Entries(), 1)
	require.EqualValues(t, 1, claim.Turn.Position)
	require.NoError(t, claim.Keep(t.Context(), says("a", "!")))
}

// storeWith calls something before a turn is opened.
type storeWith struct {
	Store
	beforeOpen func(Store)
}

func (s *storeWith) SetOpen(ctx context.Context, id string, b Branch, before string, open *OpenTurn) error {
	s.beforeOpen(s.Store)
	return s.Store.SetOpen(ctx, id, b, before, open)
}

func TestKeep_LeavesOutCallsWithoutResults(t *testing.T) {
	call := func(content string, ids ...string) *schema.Message {
		m := schema.AssistantMessage(content, nil)
		for _, id := range ids {
			m.ToolCalls = append(m.ToolCalls, schema.ToolCall{ID: id})
		}
		return m
	}
	by := func(agent string, m *schema.Message) adk.HistoryEntry {
		return adk.HistoryEntry{AgentName: agent, Message: m}
	}
	result := func(id string) *schema.Message { return schema.ToolMessage("r"+id, id) }
	show := func(entries []adk.HistoryEntry) (all []string) {
		for _, e := range entries {
			text := e.AgentName + e.Message.Content
			for _, c := range e.Message.ToolCalls {
				text += "+" + c.ID
			}
			all = append(all, text)
		}
		return all
	}
	for _, c := range []struct {
		said []adk.HistoryEntry
		want []string
	}{
		{nil, nil},
		{[]adk.HistoryEntry{by("a", call("", "1")), by("a", result("1"))}, []string{"a+1", "ar1"}},
		{[]adk.HistoryEntry{by("a", call("", "1"))}, nil},
		{[]adk.HistoryEntry{by("a", call("text", "1"))}, []string{"atext"}},
		{[]adk.HistoryEntry{by("a", call("", "1", "2")), by("a", result("2"))}, []string{"a+2", "ar2"}},
		{[]adk.HistoryEntry{by("a", result("1")), by("a", call("end"))}, []string{"aend"}},
		{[]adk.HistoryEntry{by("a", call("", "1")), by("b", call("", "1")), by("a", result("1")), by("b", result("1"))},
			[]string{"a+1", "b+1", "ar1", "br1"}},
		{[]adk.HistoryEntry{by("a", call("", "1")), by("a", call("next")), by("a", result("1"))}, []string{"anext"}},
	} {
		require.Equal(t, c.want, show(settled(c.said)))
	}
}

// counted counts the bytes that are read.
type counted struct {
	*checkpoint.MemoryStore
	bytes atomic.Int64
}

func (c *counted) ReadRecords(ctx context.Context, id string) ([][]byte, error) {
	return c.count(c.MemoryStore.ReadRecords(ctx, id))
}

func (c *counted) ReadRecordsFrom(ctx context.Context, id string, from int) ([][]byte, error) {
	return c.count(c.MemoryStore.ReadRecordsFrom(ctx, id, from))
}

func (c *counted) count(records [][]byte, err error) ([][]byte, error) {
	for _, r := range records {
		c.bytes.Add(int64(len(r)))
	}
	return records, err
}

// M9: what a long conversation costs is what a short one does.
func TestAppend_CostsWhatTheTurnIsLong(t *testing.T) {
	store := &counted{MemoryStore: checkpoint.NewMemoryStore()}
	kept, err := NewStore(store)
	require.NoError(t, err)
	head := Position(0)
	costs := func(turns int) int64 {
		store.bytes.Store(0)
		for range turns {
			head, err = kept.Append(t.Context(), "c", Main, NewTurn{Head: head, Turn: Turn{ID: fmt.Sprint(head), Asked: ask("?")}})
			require.NoError(t, err)
		}
		return store.bytes.Load()
	}
	const some = 4 * segmentRecords
	early := costs(some)
	costs(3000 - 2*some)
	late := costs(some)
	require.Less(t, late, 2*early)

	store.bytes.Store(0)
	n := 0
	for _, err := range kept.Turns(t.Context(), "c", Main, 0) {
		require.NoError(t, err)
		if n++; n == 10 {
			break
		}
	}
	require.Less(t, store.bytes.Load(), early/some*8, "reading a few turns")

	cold, err := NewStore(store)
	require.NoError(t, err)
	store.bytes.Store(0)
	lane, err := cold.State(t.Context(), "c", Main)
	require.NoError(t, err)
	require.EqualValues(t, 3000, lane.Head)
	found := store.bytes.Swap(0)
	all, err := NewStore(store)
	require.NoError(t, err)
	for _, err := range all.Turns(t.Context(), "c", Main, 0) {
		require.NoError(t, err)
	}
	require.Less(t, found, store.bytes.Load()/2, "finding the end of a conversation of which nothing is known")
}

func TestRewind_HasAQuestionAnsweredAgain(t *testing.T) {
	stores(t, func(t *testing.T, store adk.CheckPointStore) {
		c := open(t, store)
		exchange(t, c, "1?", "1")
		exchange(t, c, "2?", "2")
		h, err := c.History(t.Context())
		require.NoError(t, err)
		left := h.Turns[1].ID
		at, err := c.Rewind(t.Context(), 2, 1)
		require.NoError(t, err)
		require.EqualValues(t, 3, at)
		exchange(t, c, "2?", "two")
		require.Equal(t, []string{"1?", "1", "2?", "two"}, texts(t, c, HistoryOptions{}))
		h, err = c.History(t.Context())
		require.NoError(t, err)
		require.Len(t, h.Turns, 2)
		_, found, err := c.Find(t.Context(), left)
		require.NoError(t, err)
		require.False(t, found, "it is left out")
		again, found, err := c.Find(t.Context(), h.Turns[1].ID)
		require.NoError(t, err)
		require.True(t, found)
		require.Equal(t, h.Turns[1], again)
		count := 0
		for _, err := range c.Turns(t.Context()) {
			require.NoError(t, err)
			count++
		}
		require.Equal(t, 4, count, "nothing is rewritten")
		_, err = c.Rewind(t.Context(), 4, 0)
		require.NoError(t, err)
		require.Empty(t, texts(t, c, HistoryOptions{}))
	})
}

// TestRewind_HoldsAgainstAModel does random things to a branch, and compares what models see with what a list of texts
// would have.
func TestRewind_HoldsAgainstAModel(t *testing.T) {
	for seed := range uint64(60) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		c := open(t, checkpoint.NewMemoryStore())
		views := [][]string{nil} // by position: what a model sees
		var said []string
		for range 40 {
			head := Position(len(views) - 1)
			switch rnd.IntN(4) {
			case 0:
				to := Position(rnd.IntN(len(views)))
				_, err := c.Rewind(t.Context(), head, to)
				require.NoError(t, err)
				said = views[to]
			case 1:
				if len(said) == 0 {
					continue
				}
				text := fmt.Sprint("sum", head)
				_, err := c.Compact(t.Context(), head, head, schema.UserMessage(text))
				require.NoError(t, err)
				said = []string{text}
			default:
				text := fmt.Sprint(head)
				_, err := c.Note(t.Context(), text, schema.UserMessage(text))
				require.NoError(t, err)
				said = append(slices.Clip(said), text)
			}
			views = append(views, said)
			got := texts(t, c, HistoryOptions{})
			require.Equal(t, append([]string{}, said...), append([]string{}, got...), "seed %d", seed)
			if len(said) > 1 { // a summary stays where turns are cut
				want := said[len(said)-1:]
				if strings.HasPrefix(said[0], "sum") {
					want = []string{said[0], want[0]}
				}
				require.Equal(t, want, texts(t, c, HistoryOptions{MaxTurns: 1}), "seed %d", seed)
			}
		}
	}
}
