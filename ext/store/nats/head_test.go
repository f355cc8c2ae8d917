package nats

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint/storekit"
	"github.com/weftgo/weft/runs"
)

func TestHead_IsReadAsItWasWritten(t *testing.T) {
	row, err := storekit.New("run\xff", runs.Spec{Tags: map[string]string{"a": "b"}}, 7, time.UnixMicro(1_700_000_000_000_000))
	require.NoError(t, err)
	row.Answers = []runs.Reply{{To: "q", Data: []byte{}}}
	for _, want := range []head{{}, {Row: *row, IsRun: true, Saved: &value{Inline: []byte("saved"), Sum: digest{1}},
		From: 3, Last: step{N: 2, Bytes: 5, Token: 9, Sum: digest{2}}, Writes: []uint64{1, 2}, Taker: 4}} {
		data, err := encodeHead(&want)
		require.NoError(t, err)
		got := head{Taker: 99} // nothing of an earlier one is left
		require.NoError(t, decodeHead(data, &got))
		require.Equal(t, want, got)
	}
}

func FuzzDecodeHead(f *testing.F) {
	data, err := encodeHead(&head{Saved: &value{Name: "x"}, Writes: []uint64{1}})
	require.NoError(f, err)
	f.Add(data)
	f.Add([]byte(`{"row":{},"last":{"Sum":"00"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var h head
		if decodeHead(data, &h) == nil {
			_, err := encodeHead(&h)
			require.NoError(t, err)
		}
	})
}
