package conversation

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/schema"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func stores(t *testing.T, test func(t *testing.T, store adk.CheckPointStore)) {
	t.Run("memory", func(t *testing.T) { test(t, checkpoint.NewMemoryStore()) })
	t.Run("files", func(t *testing.T) {
		store, err := checkpoint.NewFileStore(t.TempDir())
		require.NoError(t, err)
		test(t, store)
	})
}

func open(t *testing.T, store adk.CheckPointStore) *Conversation {
	t.Helper()
	c, err := New(store, "ana/π")
	require.NoError(t, err)
	return c
}

func says(agent, text string) Progress {
	return Progress{Agent: agent, Said: []adk.HistoryEntry{{AgentName: agent, Message: schema.AssistantMessage(text, nil)}},
		Usage: schema.TokenUsage{TotalTokens: 3}}
}

func ask(text string) []*schema.Message { return []*schema.Message{schema.UserMessage(text)} }

func TestConversation_KeepsTurnsWithAuthors(t *testing.T) {
	stores(t, func(t *testing.T, store adk.CheckPointStore) {
		c := open(t, store)
		first, err := c.Begin(t.Context(), ask("one?"))
		require.NoError(t, err)
		require.Empty(t, first.History.Turns)
		require.NoError(t, first.Keep(t.Context(), says("billing", "one")))
		second, err := open(t, store).Begin(t.Context(), ask("two?"))
		require.NoError(t, err)
		require.Equal(t, "billing", second.History.Agent())
		require.Equal(t, "billing", second.Turn.Agent, "the agent that answered last answers next")
		require.Len(t, second.History.Entries(), 2)
		require.Equal(t, "one", second.History.Entries()[1].Message.Content)
		require.Equal(t, 3, second.History.Turns[0].Usage.TotalTokens)
	})
}

func TestConversation_KeepsMessagesWhole(t *testing.T) {
	stores(t, func(t *testing.T, store adk.CheckPointStore) {
		c := open(t, store)
		claim, err := c.Begin(t.Context(), ask("?"))
		require.NoError(t, err)
		said := schema.AssistantMessage("a\x00b", []schema.ToolCall{{ID: "1", Extra: map[string]any{"big": int64(math.MaxInt64)}}})
		said.Extra = map[string]any{"signature": []byte{0, 255}, "n": int64(math.MaxInt64), "f": 1.5, "s": []string{"x"}}
		require.NoError(t, claim.Keep(t.Context(), Progress{Said: []adk.HistoryEntry{
			{AgentName: "a", Message: said}, {AgentName: "a", Message: schema.ToolMessage("done", "1")},
		}}))
		h, err := c.History(t.Context())
		require.NoError(t, err)
		require.Equal(t, said, h.Turns[0].Said[0].Message)
	})
}

func TestConversation_ATurnWaitsAndIsResumedOnce(t *testing.T) {
	stores(t, func(t *testing.T, store adk.CheckPointStore) {
		c := open(t, store)
		claim, err := c.Begin(t.Context(), ask("?"))
		require.NoError(t, err)
		_, err = c.Resume(t.Context())
		require.ErrorIs(t, err, ErrNotWaiting)
		require.NoError(t, claim.Wait(t.Context(), says("a", "a call")))
		_, err = c.Begin(t.Context(), ask("another?"))
		var isOpen *OpenError
		require.ErrorAs(t, err, &isOpen)
		require.Equal(t, Waiting, isOpen.Status)

		var won atomic.Int32
		var group sync.WaitGroup
		for range 20 {
			group.Go(func() {
				resumed, err := open(t, store).Resume(context.Background())
				if errors.Is(err, ErrNotWaiting) {
					return
				}
				if err == nil && won.Add(1) == 1 {
					err = resumed.Keep(context.Background(), says("a", "the answer"))
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		require.EqualValues(t, 1, won.Load())
		h, err := c.History(t.Context())
		require.NoError(t, err)
		require.Nil(t, h.Open)
		require.Len(t, h.Turns[0].Messages(), 3)
		require.Equal(t, 6, h.Turns[0].Usage.TotalTokens)
	})
}

func TestConversation_ADiscardedTurnIsLostForItsHolder(t *testing.T) {
	stores(t, func(t *testing.T, store adk.CheckPointStore) {
		c := open(t, store)
		claim, err := c.Begin(t.Context(), ask("?"))
		require.NoError(t, err)
		turn, err := c.Discard(t.Context())
		require.NoError(t, err)
		require.Equal(t, claim.Turn.ID, turn)
		next, err := c.Begin(t.Context(), ask("!"))
		require.NoError(t, err)
		require.ErrorIs(t, claim.Keep(t.Context(), says("a", "late")), ErrLost)
		require.NoError(t, next.Keep(t.Context(), says("a", "in time")))
		h, err := c.History(t.Context())
		require.NoError(t, err)
		require.Len(t, h.Turns, 1)
		require.Equal(t, "in time", h.Turns[0].Said[0].Message.Content)
		turn, err = c.Discard(t.Context())
		require.NoError(t, err)
		require.Empty(t, turn)
	})
}

func TestConversation_IsDeleted(t *testing.T) {
	stores(t, func(t *testing.T, store adk.CheckPointStore) {
		c := open(t, store)
		_, err := c.Begin(t.Context(), ask("?"))
		require.NoError(t, err)
		require.NoError(t, c.Delete(t.Context()))
		require.NoError(t, c.Delete(t.Context()))
		h, err := c.History(t.Context())
		require.NoError(t, err)
		require.Equal(t, History{}, h)
	})
}

func TestConversation_NeedsAStoreWithJournals(t *testing.T) {
	_, err := New(struct{ adk.CheckPointStore }{}, "x")
	require.ErrorContains(t, err, "keeps no journals")
}

// TestConversation_HoldsAgainstAModel has many writers do what they please, and checks that each turn that was kept was
// kept by who held it, once.
func TestConversation_HoldsAgainstAModel(t *testing.T) {
	stores(t, func(t *testing.T, store adk.CheckPointStore) {
		var keptBy sync.Map
		var group sync.WaitGroup
		for w := range 4 {
			group.Go(func() {
				rnd := rand.New(rand.NewPCG(uint64(w), 7))
				for i := range 25 {
					c := open(t, store)
					claim, err := c.Begin(context.Background(), ask(fmt.Sprint(w, i)))
					if err != nil {
						claim, err = c.Resume(context.Background())
					}
					if err != nil {
						continue
					}
					said := fmt.Sprint(w, "/", i)
					switch rnd.IntN(4) {
					case 0:
						err = claim.Discard(context.Background())
					case 1:
						err = claim.Wait(context.Background(), says("a", said))
					case 2:
						_, _ = c.Discard(context.Background())
						fallthrough
					default:
						if err = claim.Keep(context.Background(), says("a", said)); err == nil {
							keptBy.Store(claim.Turn.ID, said)
						}
					}
					if err != nil && !errors.Is(err, ErrLost) {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
		h, err := open(t, store).History(context.Background())
		require.NoError(t, err)
		count := 0
		keptBy.Range(func(any, any) bool { count++; return true })
		require.Len(t, h.Turns, count)
		require.NotZero(t, count)
		for _, turn := range h.Turns {
			by, ok := keptBy.Load(turn.ID)
			require.True(t, ok)
			require.Equal(t, by, turn.Said[len(turn.Said)-1].Message.Content)
		}
	})
}
