package conversation_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/conversation"
	"github.com/weftgo/weft/schema"
)

// readMeter counts the bytes that are read of journals.
type readMeter struct {
	*checkpoint.MemoryStore
	read atomic.Int64
}

func (m *readMeter) ReadRecords(ctx context.Context, id string) ([][]byte, error) {
	return m.count(m.MemoryStore.ReadRecords(ctx, id))
}

func (m *readMeter) ReadRecordsFrom(ctx context.Context, id string, from int) ([][]byte, error) {
	return m.count(m.MemoryStore.ReadRecordsFrom(ctx, id, from))
}

func (m *readMeter) count(records [][]byte, err error) ([][]byte, error) {
	for _, r := range records {
		m.read.Add(int64(len(r)))
	}
	return records, err
}

// during is the number of bytes that are read while something happens.
func (m *readMeter) during(do func()) int64 {
	before := m.read.Load()
	do()
	return m.read.Load() - before
}

// TestRunOption_ATurnReadsTheHistoryOnce: a turn reads what it is given and what others have changed meanwhile, whether or not
// its process has had the conversation before.
// Rule distributed/M9.
func TestRunOption_ATurnReadsTheHistoryOnce(t *testing.T) {
	const turns = 10_000
	bounds := conversation.HistoryOptions{MaxTurns: 5}
	meter := &readMeter{MemoryStore: checkpoint.NewMemoryStore()}
	open := func() conversation.Store {
		store, err := conversation.NewStore(meter)
		require.NoError(t, err)
		return store
	}
	long := open()
	head, text := conversation.Position(0), strings.Repeat("x", 400)
	for i := range turns {
		var err error
		head, err = long.Append(t.Context(), "c", conversation.Main, conversation.NewTurn{Head: head, Turn: conversation.Turn{
			ID: fmt.Sprint("t", i), Kind: conversation.Exchange, Status: conversation.Kept, Asked: []*schema.Message{schema.UserMessage(text)},
			Said: []adk.HistoryEntry{{AgentName: "a", Message: schema.AssistantMessage(text, nil)}}}})
		require.NoError(t, err)
	}
	agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "a", Description: "a",
		Model: adktest.NewModel(t, adktest.Says("well"), adktest.Says("well"))})
	require.NoError(t, err)
	runner := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent})
	turn := func(store conversation.Store) func() {
		return func() {
			for e := range runner.Query(t.Context(), "hi", conversation.Open(store, "c").RunOption(bounds)).All() {
				require.NoError(t, e.Err)
			}
		}
	}
	history := func(store conversation.Store) func() {
		return func() {
			_, _, err := conversation.Messages(t.Context(), store, "c", conversation.Main, bounds)
			require.NoError(t, err)
		}
	}
	fresh := open()
	bounded := meter.during(history(fresh))
	another := open()
	first := meter.during(turn(another))
	next := meter.during(turn(another))
	t.Logf("the history alone %d bytes, the first turn of a process %d, the next one %d", bounded, first, next)
	require.LessOrEqual(t, float64(first), 1.2*float64(bounded))
	require.Less(t, next, int64(16<<10), "what the turn has written, and the last record of each segment")
}
