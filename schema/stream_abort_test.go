package schema

import (
	"errors"
	"io"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

var errCut = errors.New("cut")

func TestAbort_EndsAWaitingReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sr, sw := Pipe[int](0)
		r, abort := StreamReaderWithAbort(sr)
		copies := r.Copy(2)
		got := make([][]error, 2)
		for i := range copies {
			go func() {
				for range 3 {
					_, err := copies[i].Recv()
					got[i] = append(got[i], err)
				}
			}()
		}
		require.False(t, sw.Send(1, nil))
		synctest.Wait()
		abort(errCut)
		abort(errors.New("again"))
		synctest.Wait()
		require.Equal(t, [][]error{{nil, errCut, io.EOF}, {nil, errCut, io.EOF}}, got)
		require.True(t, sw.Send(2, nil), "the producer learns of it")
		sw.Close()
	})
}

func TestAbort_BeforeAndAfter(t *testing.T) {
	r, abort := StreamReaderWithAbort(StreamReaderFromArray([]int{1, 2}))
	v, err := r.Recv()
	require.NoError(t, err)
	require.Equal(t, 1, v)
	abort(errCut)
	_, err = r.Recv()
	require.ErrorIs(t, err, errCut)
	_, err = r.Recv()
	require.Equal(t, io.EOF, err)

	r, abort = StreamReaderWithAbort(StreamReaderFromArray([]int{}))
	_, err = r.Recv()
	require.Equal(t, io.EOF, err)
	abort(errCut)
	_, err = r.Recv()
	require.Equal(t, io.EOF, err)
	r.Close()
}

// A stream that fails because it was cut off, while an item is asked for, says that it was cut off.
func TestAbort_WinsOverTheErrorsThatItCauses(t *testing.T) {
	var abort func(error)
	failing := StreamReaderWithConvert(StreamReaderFromArray([]int{1, 2}), func(i int) (int, error) {
		abort(errCut)
		return 0, errors.New("the producer gave up")
	})
	s, cut := StreamReaderWithAbort(failing)
	abort = cut
	_, err := s.Recv()
	require.Equal(t, errCut, err)
	_, err = s.Recv()
	require.Equal(t, io.EOF, err)
	s.Close()
}
