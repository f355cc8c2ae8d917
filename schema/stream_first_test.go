package schema

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

var errBeforeFirst = context.DeadlineExceeded // stands for any error item

// firstSources are streams with an error before the values 1, 2 and 3, of each kind, unless they are made of an array.
var firstSources = map[string]struct {
	source   func() *StreamReader[int]
	hasError bool
}{
	"array": {func() *StreamReader[int] { return StreamReaderFromArray([]int{1, 2, 3}) }, false},
	"pipe": {func() *StreamReader[int] {
		sr, sw := Pipe[int](4)
		sw.Send(0, errBeforeFirst)
		for i := range 3 {
			sw.Send(i+1, nil)
		}
		sw.Close()
		return sr
	}, true},
	"copy": {func() *StreamReader[int] {
		copies := StreamReaderWithConvert(StreamReaderFromArray([]int{1, 2, 3}),
			func(v int) (int, error) { return v, nil }).Copy(2)
		copies[1].Close()
		return copies[0]
	}, false},
}

func TestStreamReaderWithFirst_ChangesTheFirstValueOnly(t *testing.T) {
	for name, c := range firstSources {
		for next, successor := range map[string]func(*StreamReader[int]) *StreamReader[int]{
			"read itself": func(sr *StreamReader[int]) *StreamReader[int] { return sr },
			"copied": func(sr *StreamReader[int]) *StreamReader[int] {
				copies := sr.Copy(2)
				copies[0].Close()
				return copies[1]
			},
			"converted": func(sr *StreamReader[int]) *StreamReader[int] {
				return StreamReaderWithConvert(sr, func(v int) (int, error) { return v, nil })
			},
			"merged": func(sr *StreamReader[int]) *StreamReader[int] {
				return MergeStreamReaders([]*StreamReader[int]{sr, StreamReaderFromArray[int](nil)})
			},
		} {
			t.Run(name+" "+next, func(t *testing.T) {
				calls := 0
				sr := successor(StreamReaderWithFirst(c.source(), func(v int) int { calls++; return v * 10 }))
				defer sr.Close()
				if c.hasError {
					_, err := sr.Recv()
					require.ErrorIs(t, err, errBeforeFirst)
				}
				for _, want := range []int{10, 2, 3} {
					v, err := sr.Recv()
					require.NoError(t, err)
					require.Equal(t, want, v)
				}
				_, err := sr.Recv()
				require.Equal(t, io.EOF, err)
				require.Equal(t, 1, calls)
			})
		}
	}
}

func TestStreamReaderWithFirst_OnceMore(t *testing.T) {
	sr := StreamReaderWithFirst(StreamReaderFromArray([]string{"a", "b"}), func(v string) string { return v + "1" })
	sr = StreamReaderWithFirst(sr, func(v string) string { return v + "2" })
	for _, want := range []string{"a12", "b"} {
		v, err := sr.Recv()
		require.NoError(t, err)
		require.Equal(t, want, v)
	}
}

func TestStreamReaderWithFirst_TakesOver(t *testing.T) {
	sr, sw := Pipe[int](1)
	StreamReaderWithFirst(sr, func(v int) int { return v }).Close()
	require.True(t, sw.Send(1, nil), "closing the reader closes what it was made of")
	_, err := StreamReaderWithFirst[int](nil, func(v int) int { return v }).Recv()
	require.ErrorIs(t, err, errNilReader)
}
