package adk

import (
	"encoding/json"
	"io"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/schema"
)

// Rules agent/I-1, runtime/E1.
func TestIterator_UnboundedInOrder(t *testing.T) {
	it, gen := NewAsyncIteratorPair[int]()
	const n = 10_000
	for i := range n {
		gen.Send(i) // there is no reader
	}
	gen.Close()
	gen.Close()
	for i := range n {
		got, ok := it.Next()
		require.True(t, ok)
		require.Equal(t, i, got)
	}
	for range 2 {
		got, ok := it.Next()
		require.False(t, ok)
		require.Zero(t, got)
	}
}

// Rules agent/I-1, runtime/E1.
func TestIterator_NextWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		it, gen := NewAsyncIteratorPair[string]()
		var got []string
		go func() {
			for {
				v, ok := it.Next()
				if !ok {
					got = append(got, "end")
					return
				}
				got = append(got, v)
			}
		}()
		synctest.Wait()
		require.Empty(t, got)
		gen.Send("a")
		synctest.Wait()
		require.Equal(t, []string{"a"}, got)
		gen.Close()
		synctest.Wait()
		require.Equal(t, []string{"a", "end"}, got)
	})
}

// Rules agent/I-2, runtime/E2.
func TestIterator_SendAfterClosePanics(t *testing.T) {
	_, gen := NewAsyncIteratorPair[int]()
	gen.Close()
	require.PanicsWithValue(t, "send on closed channel", func() { gen.Send(1) })
}

// Rules agent/I-3, runtime/E2.
func TestIterator_ManySendersAndReaders(t *testing.T) {
	it, gen := NewAsyncIteratorPair[[2]int]()
	var senders, readers sync.WaitGroup
	for s := range 4 {
		senders.Go(func() {
			for i := range 500 {
				gen.Send([2]int{s, i})
			}
		})
	}
	var mu sync.Mutex
	count := 0
	for range 4 {
		readers.Go(func() {
			last := [4]int{-1, -1, -1, -1}
			for item := range it.All() {
				if item[1] <= last[item[0]] {
					t.Errorf("items of sender %d out of order", item[0])
				}
				last[item[0]] = item[1]
				mu.Lock()
				count++
				mu.Unlock()
			}
		})
	}
	senders.Wait()
	gen.Close()
	readers.Wait()
	require.Equal(t, 2000, count, "each item goes to exactly one reader")
}

func TestIterator_CloseDropsAndWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		it, gen := NewAsyncIteratorPair[int]()
		ended := false
		go func() {
			_, ok := it.Next()
			ended = !ok
		}()
		synctest.Wait()
		it.Close()
		synctest.Wait()
		require.True(t, ended, "a waiting Next must return")
		gen.Send(1)
		_, ok := it.Next()
		require.False(t, ok)
		it.Close()
		gen.Close()
		require.Panics(t, func() { gen.Send(2) })
	})
}

// TestIterator_CloseClosesStreams: a producer learns that the reader is gone, of events that wait and that still come.
func TestIterator_CloseClosesStreams(t *testing.T) {
	it, gen := NewAsyncIteratorPair[*AgentEvent]()
	waiting, waitingWriter := schema.Pipe[Message](0)
	late, lateWriter := schema.Pipe[Message](0)
	gen.Send(EventFromMessage(nil, waiting, schema.Assistant, ""))
	gen.Send(nil)
	it.Close()
	gen.Send(EventFromMessage(nil, late, schema.Assistant, ""))
	gen.Send(nil)
	require.True(t, waitingWriter.Send(nil, nil), "the stream of a waiting event is closed")
	require.True(t, lateWriter.Send(nil, nil), "the stream of a later event is closed")
	waitingWriter.Close()
	lateWriter.Close()
}

func TestIterator_AllClosesWhenLeftEarly(t *testing.T) {
	it, gen := NewAsyncIteratorPair[int]()
	gen.Send(1)
	gen.Send(2)
	for v := range it.All() {
		require.Equal(t, 1, v)
		break
	}
	_, ok := it.Next()
	require.False(t, ok)
	gen.Close()
}

func TestIterator_NilAndZero(t *testing.T) {
	for _, it := range []*AsyncIterator[int]{nil, {}} {
		_, ok := it.Next()
		require.False(t, ok)
		for range it.All() {
			t.Fatal("an item of nothing")
		}
		it.Close()
	}
}

func TestIterator_JSON(t *testing.T) {
	it, gen := NewAsyncIteratorPair[*AgentEvent]()
	gen.Send(&AgentEvent{})
	gen.Close()
	b, err := json.Marshal(AgentCallbackOutput{Events: it})
	require.NoError(t, err)
	require.JSONEq(t, `{"Events":{}}`, string(b))
	_, ok := it.Next()
	require.True(t, ok, "encoding reads nothing")
}

// TestIterator_StreamsCanBeReadAfterTheEnd: a stream that was delivered belongs to the reader, whenever it is read.
// Rule runtime/E9.
func TestIterator_StreamsCanBeReadAfterTheEnd(t *testing.T) {
	t.Run("ordinary", testReadLater[ordinary])
	t.Run("agentic", testReadLater[agentic])
}

func testReadLater[M MessageType](t *testing.T) {
	d := dialectOf[M]()
	m := &scripted[M]{answers: [][]M{{d.chunk("a"), d.chunk("b"), d.chunk("c")}}}
	it := setup(t, m, nil).Run(t.Context(), &TypedAgentInput[M]{EnableStreaming: true})
	var all []*TypedAgentEvent[M]
	for e := range it.All() {
		all = append(all, e)
	}
	require.Len(t, all, 1)
	s := all[0].Output.MessageOutput.MessageStream
	var text []string
	for {
		chunk, err := s.Recv()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		text = append(text, d.line(chunk))
	}
	require.Equal(t, []string{"assistant: a", "assistant: b", "assistant: c"}, text)
}
