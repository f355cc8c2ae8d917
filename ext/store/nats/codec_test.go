package nats

import (
	"bytes"
	"encoding/gob"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/checkpoint/storekit"
)

func anyHead(n int) head {
	row, _ := storekit.New("run\xff", checkpoint.NewRun{Tags: map[string]string{"a": "b"}, Key: strings.Repeat("k", n)}, 7,
		time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	row.Run.Waiting = []checkpoint.WaitPoint{{ID: "q", For: []string{"ana"}, Info: []byte(`{}`)}}
	row.Answers = []checkpoint.Answer{{Point: "q", Data: []byte{}}}
	row.Stopping = &checkpoint.StopRequest{Reason: "tea"}
	return head{Row: *row, IsRun: true, Saved: &value{Inline: []byte("saved")}, Writes: []uint64{1, 2}, From: 3}
}

// TestCodec_ReadsWhatGobWrites and the other way round, in any order, also of a process that numbers types otherwise.
func TestCodec_ReadsWhatGobWrites(t *testing.T) {
	type other struct{ A, B int }
	for n := range 200 {
		want := anyHead(n)
		var plain bytes.Buffer
		e := gob.NewEncoder(&plain)
		require.NoError(t, e.Encode(&want))
		fast, err := encodeHead(&want)
		require.NoError(t, err)
		for _, data := range [][]byte{plain.Bytes(), fast} {
			var got, slow head
			require.NoError(t, decodeHead(data, &got))
			require.NoError(t, gob.NewDecoder(bytes.NewReader(data)).Decode(&slow))
			require.Equal(t, slow, got)
			require.Equal(t, want.Row.Run, got.Row.Run)
			require.Equal(t, want.Saved.Inline, got.Saved.Inline)
		}
		var empty head
		data, err := encodeHead(&head{})
		require.NoError(t, err)
		require.NoError(t, decodeHead(data, &empty))
		require.Equal(t, head{}, empty, "nothing of an earlier value is left")
	}
}

func FuzzDecodeHead(f *testing.F) {
	h := anyHead(3)
	data, _ := encodeHead(&h)
	f.Add(data)
	f.Add([]byte{0xfc, 1})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		_ = decodeHead(data, new(head)) // it does not panic
		var got head
		good, err := encodeHead(&h)
		require.NoError(t, err)
		require.NoError(t, decodeHead(good, &got), "others are read after what is damaged")
		require.Equal(t, h.Row.Run, got.Row.Run)
	})
}
