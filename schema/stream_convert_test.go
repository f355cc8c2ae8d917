package schema

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Rule schema/S35.
func TestConvert_RunsInsideRecv(t *testing.T) {
	calls := 0
	sr := StreamReaderWithConvert(StreamReaderFromArray([]int{1, 2}), func(v int) (string, error) {
		calls++
		return strconv.Itoa(v), nil
	})
	require.Zero(t, calls)
	requireRecv(t, sr, "1")
	require.Equal(t, 1, calls)
	require.Equal(t, []string{"2"}, values(t, sr))
}

// Rule schema/S36.
func TestConvert_DeliversSkipsOrFails(t *testing.T) {
	boom := errors.New("boom")
	sr := StreamReaderWithConvert(StreamReaderFromArray([]int{1, 2, 3, 4, 5, 6}), func(v int) (int, error) {
		switch v {
		case 2:
			return 0, ErrNoValue
		case 3:
			return 0, fmt.Errorf("wrapped: %w", ErrNoValue)
		case 4:
			return 40, boom
		case 5:
			return 0, io.EOF
		}
		return v, nil
	})
	requireRecv(t, sr, 1)
	v, err := sr.Recv()
	require.Equal(t, got[int]{40, boom}, got[int]{v, err})
	requireRecvError(t, sr, io.EOF)
	requireRecv(t, sr, 6)
	requireRecvError(t, sr, io.EOF)
	sr.Close()
}

// Rule schema/S37.
func TestConvert_WrapsErrorItemsOfTheSource(t *testing.T) {
	boom, skip := errors.New("boom"), errors.New("skip")
	source := func() *StreamReader[int] {
		return sent(got[int]{v: 1}, got[int]{7, boom}, got[int]{err: skip}, got[int]{v: 2})
	}
	double := func(v int) (int, error) {
		if v == 2 {
			return 0, skip // errors of convert are not wrapped
		}
		return 2 * v, nil
	}
	require.Equal(t, []got[int]{{v: 2}, {err: boom}, {err: skip}, {err: skip}},
		readAll(t, StreamReaderWithConvert(source(), double)))

	wrapped := fmt.Errorf("wrapped: %w", boom)
	wrapper := WithErrWrapper(func(err error) error {
		if err == skip {
			return nil
		}
		return wrapped
	})
	require.Equal(t, []got[int]{{v: 2}, {err: wrapped}, {err: skip}},
		readAll(t, StreamReaderWithConvert(source(), double, nil, wrapper)))
}

// Rules schema/S38, schema/B15.1.1.
func TestConvert_OnEOFRunsOnceAtTheEnd(t *testing.T) {
	boom := errors.New("boom")
	for name, c := range map[string]struct {
		v    any
		err  error
		want []got[fmt.Stringer]
	}{
		"end":        {nil, io.EOF, nil},
		"value":      {time.Second, nil, []got[fmt.Stringer]{{v: time.Second}}},
		"zero value": {nil, nil, []got[fmt.Stringer]{{}}},
		"error":      {time.Second, boom, []got[fmt.Stringer]{{err: boom}}},
		"ErrNoValue": {nil, ErrNoValue, []got[fmt.Stringer]{{err: ErrNoValue}}},
		"not assignable": {1, nil,
			[]got[fmt.Stringer]{{err: errors.New("WithOnEOF: int is not assignable to fmt.Stringer")}}},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			sr := StreamReaderWithConvert(sent[fmt.Stringer](), identity[fmt.Stringer], WithOnEOF(func() (any, error) {
				calls++
				return c.v, c.err
			}))
			require.Equal(t, c.want, readAll(t, sr))
			require.Equal(t, 1, calls)
		})
	}

	type ints []int
	sr := StreamReaderWithConvert(sent[ints](), identity[ints], WithOnEOF(func() (any, error) { return []int{1}, nil }))
	require.Equal(t, []ints{{1}}, values(t, sr))

	stopped := StreamReaderWithConvert(sent(got[int]{v: 1}), identity[int], WithOnEOF(func() (any, error) {
		t.Error("called without need")
		return nil, nil
	}))
	requireRecv(t, stopped, 1)
	stopped.Close()
}

// Rule schema/S38.
func TestConvert_OnEOFMayBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sr := StreamReaderWithConvert(StreamReaderFromArray[int](nil), identity[int], WithOnEOF(func() (any, error) {
			time.Sleep(time.Hour)
			return 1, nil
		}))
		start := time.Now()
		require.Equal(t, []int{1}, values(t, sr))
		require.Equal(t, time.Hour, time.Since(start))
	})
}

// Rules schema/S39, schema/X2, schema/B15.1.1.
func TestConvert_PassesNilElements(t *testing.T) {
	sr := StreamReaderWithConvert(StreamReaderFromArray([]error{nil, io.EOF}), func(err error) (any, error) {
		if err == nil {
			return nil, nil
		}
		return err, nil
	})
	require.Equal(t, []any{nil, io.EOF}, values(t, sr))
}

// Rule schema/S45.
func TestConvert_PanicIsOneErrorThenTheEnd(t *testing.T) {
	boom := errors.New("boom")
	panics := func() { panic(boom) }
	for name, sr := range map[string]*StreamReader[int]{
		"convert": StreamReaderWithConvert(StreamReaderFromArray([]int{1, 2}), func(int) (int, error) {
			panics()
			return 0, nil
		}),
		"wrapper": StreamReaderWithConvert(sent(got[int]{err: io.ErrUnexpectedEOF}, got[int]{v: 1}), identity[int],
			WithErrWrapper(func(error) error {
				panics()
				return nil
			})),
		"end": StreamReaderWithConvert(sent[int](), identity[int], WithOnEOF(func() (any, error) {
			panics()
			return nil, nil
		})),
		"nil function": StreamReaderWithConvert[int, int](StreamReaderFromArray([]int{1}), nil),
	} {
		t.Run(name, func(t *testing.T) {
			all := readAll(t, sr)
			require.Len(t, all, 1)
			require.ErrorContains(t, all[0].err, "panic error: ")
			if name != "nil function" {
				require.ErrorIs(t, all[0].err, boom)
			}
		})
	}
}

func TestConvert_Stacked(t *testing.T) {
	sr := StreamReaderFromArray([]int{1, 2, 3})
	for range 50 {
		sr = StreamReaderWithConvert(sr, func(v int) (int, error) { return v + 1, nil })
	}
	require.Equal(t, []int{51, 52, 53}, values(t, sr))
}
