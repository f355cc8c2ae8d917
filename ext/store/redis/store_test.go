package redis

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/checkpoint/checkpointtest"
)

func TestStore_Conforms(t *testing.T) {
	newStore(t, nil)
	checkpointtest.Run(t, func(t *testing.T) checkpoint.Store { return newStore(t, nil) })
}

func TestStore_CanBeSealedAgain(t *testing.T) { checkpointtest.Reseal(t, newStore(t, nil)) }

// A change for other runs that a process left behind is read by any other.
func TestTodo_IsReadAsItWasWritten(t *testing.T) {
	at := time.UnixMicro(1_700_000_000_000_001)
	for _, want := range []todo{{}, {Parent: "p\xff\x00é"}, {
		Children: []checkpoint.ChildRun{{ID: "c\xfe", Run: checkpoint.NewRun{Agent: "a", Queue: "q", Parent: "p", ParentPoint: "\xff", Key: "k",
			Tags: map[string]string{"t\xff": "v"}, Priority: 3, NotBefore: at, Deadline: at, Build: "b", Trace: "t",
			Records: [][]byte{{0, 255}, {}}}}, {ID: "d"}},
		Parent: "p", Answer: &checkpoint.Answer{Point: "q\xff", Data: []byte{1, 255}, By: "ana", At: at},
	}} {
		data, err := want.encode()
		require.NoError(t, err)
		got, err := decodeTodo(data)
		require.NoError(t, err)
		require.Equal(t, &want, got)
	}
}

func FuzzDecodeTodo(f *testing.F) {
	f.Add([]byte(`{"children":[{"row":{"id":"c"},"records":["AA=="]}],"answer":{"answers":[{"point":"q","data":null}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if todo, err := decodeTodo(data); err == nil {
			again, err := todo.encode()
			require.NoError(t, err)
			_, err = decodeTodo(again)
			require.NoError(t, err)
		}
	})
}

func TestNew_RefusesWhatCannotWork(t *testing.T) {
	_, err := New(t.Context(), Config{})
	require.ErrorContains(t, err, "Client")
}
