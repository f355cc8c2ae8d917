package schema

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// got is one Recv.
type got[T any] struct {
	v   T
	err error
}

// readAll returns everything that sr yields before io.EOF, and closes it.
func readAll[T any](tb testing.TB, sr *StreamReader[T]) []got[T] {
	tb.Helper()
	defer sr.Close()
	var all []got[T]
	for {
		v, err := sr.Recv()
		if err == io.EOF {
			return all
		}
		if all = append(all, got[T]{v, err}); len(all) > 1_000_000 {
			tb.Fatal("the stream does not end")
		}
	}
}

// values are the values of readAll; there must be no errors.
func values[T any](tb testing.TB, sr *StreamReader[T]) []T {
	tb.Helper()
	var vs []T
	for _, g := range readAll(tb, sr) {
		require.NoError(tb, g.err)
		vs = append(vs, g.v)
	}
	return vs
}

// sent returns a reader of a pipe that holds items and is closed by its writer.
func sent[T any](items ...got[T]) *StreamReader[T] {
	sr, sw := Pipe[T](len(items))
	for _, item := range items {
		sw.Send(item.v, item.err)
	}
	sw.Close()
	return sr
}

func requireRecv[T any](tb testing.TB, sr *StreamReader[T], want T) {
	tb.Helper()
	v, err := sr.Recv()
	require.NoError(tb, err)
	require.Equal(tb, want, v)
}

func requireRecvError[T any](tb testing.TB, sr *StreamReader[T], want error) {
	tb.Helper()
	v, err := sr.Recv()
	require.Equal(tb, want, err)
	require.Zero(tb, v)
}

// kinds are streams of 1, 2, 3 of every kind, with a function that reports whether the producer has been stopped.
var kinds = map[string]func() (*StreamReader[int], *StreamWriter[int]){
	"pipe": func() (*StreamReader[int], *StreamWriter[int]) { return Pipe[int](8) },
	"copy": func() (*StreamReader[int], *StreamWriter[int]) {
		sr, sw := Pipe[int](8)
		copies := sr.Copy(2)
		copies[1].Close()
		return copies[0], sw
	},
	"convert": func() (*StreamReader[int], *StreamWriter[int]) {
		sr, sw := Pipe[int](8)
		return StreamReaderWithConvert(sr, identity[int]), sw
	},
	"merge": func() (*StreamReader[int], *StreamWriter[int]) {
		sr, sw := Pipe[int](8)
		return MergeStreamReaders([]*StreamReader[int]{sr, sent[int]()}), sw
	},
	"merge of a convert": func() (*StreamReader[int], *StreamWriter[int]) {
		sr, sw := Pipe[int](8)
		return MergeStreamReaders([]*StreamReader[int]{StreamReaderWithConvert(sr, identity[int]), sent[int]()}), sw
	},
	"copy of a copy": func() (*StreamReader[int], *StreamWriter[int]) {
		sr, sw := Pipe[int](8)
		copies := sr.Copy(2)
		copies[1].Close()
		copies = copies[0].Copy(2)
		copies[0].Close()
		return copies[1], sw
	},
	"copy of a convert of a merge": func() (*StreamReader[int], *StreamWriter[int]) {
		sr, sw := Pipe[int](8)
		merged := MergeStreamReaders([]*StreamReader[int]{sent[int](), sr})
		copies := StreamReaderWithConvert(merged, identity[int]).Copy(2)
		copies[0].Close()
		return copies[1], sw
	},
}

func eachKind(t *testing.T, test func(t *testing.T, sr *StreamReader[int], sw *StreamWriter[int])) {
	for name, open := range kinds {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sr, sw := open()
				test(t, sr, sw)
			})
		})
	}
}

func TestRecv_EndIsRepeated(t *testing.T) {
	eachKind(t, func(t *testing.T, sr *StreamReader[int], sw *StreamWriter[int]) {
		sw.Send(1, nil)
		sw.Send(2, nil)
		sw.Close()
		requireRecv(t, sr, 1)
		requireRecv(t, sr, 2)
		for range 3 {
			requireRecvError(t, sr, io.EOF)
		}
		sr.Close()
		requireRecvError(t, sr, ErrRecvAfterClosed)
	})
}

func TestRecv_WaitsForTheProducer(t *testing.T) {
	eachKind(t, func(t *testing.T, sr *StreamReader[int], sw *StreamWriter[int]) {
		defer sr.Close()
		go func() {
			defer sw.Close()
			for i := range 20 {
				time.Sleep(time.Duration(i) * time.Second)
				if sw.Send(i, nil) {
					t.Error("closed early")
				}
			}
		}()
		for i := range 20 {
			requireRecv(t, sr, i)
		}
		requireRecvError(t, sr, io.EOF)
	})
}

// Rules schema/S6, schema/B15.1.4.
func TestClose_ReleasesTheProducerAndIsIdempotent(t *testing.T) {
	eachKind(t, func(t *testing.T, sr *StreamReader[int], sw *StreamWriter[int]) {
		sw.Send(1, nil)
		requireRecv(t, sr, 1)
		sr.Close()
		sr.Close()
		require.True(t, sw.Send(2, nil))
		requireRecvError(t, sr, ErrRecvAfterClosed)
		sw.Close()
		sw.Close()
		require.True(t, sw.Send(3, nil))
		requireRecvError(t, sr, ErrRecvAfterClosed)
	})
}

func TestClose_DropsWhatIsBuffered(t *testing.T) {
	eachKind(t, func(t *testing.T, sr *StreamReader[int], sw *StreamWriter[int]) {
		sw.Send(1, nil)
		sw.Send(2, nil)
		requireRecv(t, sr, 1)
		sr.Close()
		requireRecvError(t, sr, ErrRecvAfterClosed)
	})
}

// Rules schema/S6, schema/B15.1.5.
func TestClose_WakesAWaitingRecvAndSend(t *testing.T) {
	eachKind(t, func(t *testing.T, sr *StreamReader[int], sw *StreamWriter[int]) {
		recv := make(chan error, 1)
		go func() {
			_, err := sr.Recv()
			recv <- err
		}()
		synctest.Wait()
		sr.Close()
		require.Equal(t, ErrRecvAfterClosed, <-recv)
		require.True(t, sw.Send(1, nil))
	})
}

// Rule schema/B15.1.4.
func TestClose_MayBeCalledByManyGoroutines(t *testing.T) {
	eachKind(t, func(t *testing.T, sr *StreamReader[int], sw *StreamWriter[int]) {
		go func() {
			defer sw.Close()
			for !sw.Send(1, nil) {
			}
		}()
		for range 8 {
			go sr.Close()
		}
		for {
			if _, err := sr.Recv(); err != nil {
				require.Equal(t, ErrRecvAfterClosed, err)
				break
			}
		}
	})
}

// Rule schema/S45.
func TestRecv_LoopReachesTheEndAfterErrors(t *testing.T) {
	boom := errors.New("boom")
	eachKind(t, func(t *testing.T, sr *StreamReader[int], sw *StreamWriter[int]) {
		sw.Send(1, nil)
		sw.Send(7, boom)
		sw.Send(0, ErrRecvAfterClosed) // forwarded from another stream: an item like others
		sw.Send(2, nil)
		sw.Close()
		var errs []error
		var vs []int
		for _, g := range readAll(t, sr) {
			if g.err != nil {
				errs = append(errs, g.err)
			} else {
				vs = append(vs, g.v)
			}
		}
		require.Equal(t, []int{1, 2}, vs)
		require.Equal(t, []error{boom, ErrRecvAfterClosed}, errs)
	})
}

// Rule schema/B15.1.9.
func TestRecvContext_GivesUpAndLosesNothing(t *testing.T) {
	eachKind(t, func(t *testing.T, sr *StreamReader[int], sw *StreamWriter[int]) {
		defer sr.Close()
		for i := range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			start := time.Now()
			_, err := sr.RecvContext(ctx)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Equal(t, time.Minute, time.Since(start))
			cancel()

			sw.Send(i, nil)
			v, err := sr.RecvContext(t.Context())
			require.NoError(t, err)
			require.Equal(t, i, v)
		}
		sw.Close()
		requireRecvError(t, sr, io.EOF)
	})
}

func TestRecvContext_Cause(t *testing.T) {
	why := errors.New("user pressed stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	for _, sr := range []*StreamReader[int]{sent(got[int]{v: 1}), StreamReaderFromArray([]int{1})} {
		_, err := sr.RecvContext(ctx)
		require.ErrorIs(t, err, why)
		require.ErrorIs(t, err, context.Canceled)
		requireRecv(t, sr, 1)
		sr.Close()
	}
}

func TestRecvContext_AbandonedWaitIsNoReceiver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sr, sw := Pipe[int](0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := sr.RecvContext(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)

		done := make(chan bool, 1)
		go func() { done <- sw.Send(1, nil) }()
		synctest.Wait()
		require.Empty(t, done, "Send must wait for a receiver")
		requireRecv(t, sr, 1)
		require.False(t, <-done)
		sr.Close()
	})
}

// Rule schema/B15.1.9.
func TestAll_YieldsEveryItem(t *testing.T) {
	boom := errors.New("boom")
	eachKind(t, func(t *testing.T, sr *StreamReader[int], sw *StreamWriter[int]) {
		sw.Send(1, nil)
		sw.Send(2, boom)
		sw.Send(3, nil)
		sw.Close()
		var vs []int
		var errs []error
		for v, err := range sr.All() {
			vs, errs = append(vs, v), append(errs, err)
		}
		require.Equal(t, 1, vs[0])
		require.Equal(t, 3, vs[2])
		require.Equal(t, []error{nil, boom, nil}, errs)
		requireRecvError(t, sr, ErrRecvAfterClosed)
	})
}

func TestAll_ClosesOnBreakAndStopsWhenClosedInside(t *testing.T) {
	eachKind(t, func(t *testing.T, sr *StreamReader[int], sw *StreamWriter[int]) {
		sw.Send(1, nil)
		for range sr.All() {
			break
		}
		require.True(t, sw.Send(2, nil))
	})
	eachKind(t, func(t *testing.T, sr *StreamReader[int], sw *StreamWriter[int]) {
		sw.Send(1, nil)
		turns := 0
		for range sr.All() {
			turns++
			sr.Close()
		}
		require.Equal(t, 1, turns)
	})
}

// Rule schema/B15.1.8.
func TestReaders_NilAndZeroReadersFailWithoutPanic(t *testing.T) {
	var none *StreamReader[int]
	_, err := none.Recv()
	require.Equal(t, errNilReader, err)
	_, err = none.RecvContext(t.Context())
	require.Equal(t, errNilReader, err)
	none.Close()
	none.SetAutomaticClose()
	for _, err := range none.All() {
		require.Equal(t, errNilReader, err)
	}
	for _, c := range none.Copy(2) {
		require.Equal(t, []got[int]{{err: errNilReader}}, readAll(t, c))
	}
	require.Equal(t, []got[string]{{err: errNilReader}},
		readAll(t, StreamReaderWithConvert(none, func(int) (string, error) { return "", nil })))

	var zero StreamReader[int]
	require.Empty(t, readAll(t, &zero))
	for _, c := range zero.Copy(2) {
		require.Empty(t, readAll(t, c))
	}

	var noWriter *StreamWriter[int]
	require.True(t, noWriter.Send(1, nil))
	noWriter.Close()
	var zeroWriter StreamWriter[int]
	require.True(t, zeroWriter.Send(1, nil))
	zeroWriter.Close()
}

func TestHandedOverReader(t *testing.T) {
	successors := map[string]func(sr *StreamReader[int]) *StreamReader[int]{
		"copy":    func(sr *StreamReader[int]) *StreamReader[int] { return sr.Copy(2)[0] },
		"convert": func(sr *StreamReader[int]) *StreamReader[int] { return StreamReaderWithConvert(sr, identity[int]) },
		"merge": func(sr *StreamReader[int]) *StreamReader[int] {
			return MergeStreamReaders([]*StreamReader[int]{sr, sent[int]()})
		},
	}
	for name, hand := range successors {
		t.Run(name, func(t *testing.T) {
			sr, sw := Pipe[int](8)
			next := hand(sr)
			requireRecvError(t, sr, errHandedOver)
			requireRecvError(t, sr, io.EOF)
			require.Equal(t, []got[int]{{err: errHandedOver}}, readAll(t, sr.Copy(2)[1]))

			sw.Send(1, nil)
			requireRecv(t, next, 1)
			sr.Close() // closes the source under its successor
			sr.Close()
			require.True(t, sw.Send(2, nil))
			requireRecvError(t, next, ErrRecvAfterClosed)
			requireRecvError(t, next, io.EOF)
			next.Close()
			requireRecvError(t, next, ErrRecvAfterClosed)
		})
	}
}

// Rule schema/S10.
func TestArray_YieldsItsElementsEvenAfterClose(t *testing.T) {
	arr := []int{1, 2, 3}
	sr := StreamReaderFromArray(arr)
	requireRecv(t, sr, 1)
	copies := sr.Copy(3)
	sr.Close()
	sr.Close()
	arr[2] = 30 // the slice is not copied
	for _, c := range append(copies, sr) {
		requireRecv(t, c, 2)
		c.Close()
		requireRecv(t, c, 30)
		requireRecvError(t, c, io.EOF)
		requireRecvError(t, c, io.EOF)
	}
	require.Empty(t, readAll(t, StreamReaderFromArray[int](nil)))
}

func TestArray_Allocations(t *testing.T) {
	v := new(int)
	n := testing.AllocsPerRun(100, func() { escape = StreamReaderFromArray([]*int{v}) })
	assert.LessOrEqual(t, n, 2.0)
}

var escape any

func TestValuesOfEveryType(t *testing.T) {
	type point struct{ x, y int }
	require.Equal(t, []point{{1, 2}}, values(t, sent(got[point]{v: point{1, 2}})))
	require.Equal(t, []any{nil, 1}, values(t, sent(got[any]{}, got[any]{v: 1})))
	require.Equal(t, [][]int{nil, {1}}, values(t, sent(got[[]int]{}, got[[]int]{v: []int{1}})))
	require.Equal(t, []error{io.EOF}, values(t, sent(got[error]{v: io.EOF})))
	require.Equal(t, []struct{}{{}, {}}, values(t, StreamReaderFromArray(slices.Repeat([]struct{}{{}}, 2))))
}
