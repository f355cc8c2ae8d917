package schema

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func merged[T any](srs ...*StreamReader[T]) *StreamReader[T] { return MergeStreamReaders(srs) }

// Rule schema/S25.
func TestMerge_ReturnsNilForNoneAndTheReaderItselfForOne(t *testing.T) {
	require.Nil(t, merged[int]())
	sr := sent(got[int]{v: 1})
	require.Same(t, sr, merged(sr))
	require.Same(t, sr, merged(nil, sr, nil))
	sr.Close()
	require.Empty(t, readAll(t, merged[int](nil)))
	require.Empty(t, readAll(t, merged[int](nil, nil)))
}

// Rule schema/S25.
func TestMerge_DeliversInOrderOfArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, aw := Pipe[string](4)
		b, bw := Pipe[string](4)
		sr := merged(a, b)
		boom := errors.New("boom")
		for _, step := range []struct {
			w    *StreamWriter[string]
			item got[string]
		}{{aw, got[string]{v: "a1"}}, {bw, got[string]{v: "b1"}}, {bw, got[string]{"b2", boom}}, {aw, got[string]{v: "a2"}},
			{bw, got[string]{v: "b3"}}} {
			step.w.Send(step.item.v, step.item.err)
			v, err := sr.Recv()
			require.Equal(t, step.item, got[string]{v, err})
		}
		aw.Send("a3", nil)
		aw.Close()
		bw.Close()
		requireRecv(t, sr, "a3")
		requireRecvError(t, sr, io.EOF)
		sr.Close()
	})
}

// Rule schema/B15.1.2.
func TestMerge_SourcesTakeTurns(t *testing.T) {
	full := func(from int) *StreamReader[int] {
		items := make([]got[int], 10)
		for i := range items {
			items[i].v = from + i
		}
		return sent(items...)
	}
	vs := values(t, merged(full(0), full(100), full(200)))
	require.Equal(t, []int{0, 100, 200, 1, 101, 201}, vs[:6])
	require.Len(t, vs, 30)
}

// Rule schema/S26.
func TestMerge_ReadsArraysInOrder(t *testing.T) {
	sr := merged(StreamReaderFromArray([]int{1, 2}), StreamReaderFromArray[int](nil), StreamReaderFromArray([]int{3}))
	require.Nil(t, sr.src, "an array reader")
	requireRecv(t, sr, 1)
	sr.Close()
	require.Equal(t, []int{2, 3}, values(t, sr))

	mixed := values(t, merged(StreamReaderFromArray([]int{1, 2}), sent(got[int]{v: 10}), StreamReaderFromArray([]int{3})))
	mixed = slices.DeleteFunc(mixed, func(v int) bool { return v == 10 })
	require.Equal(t, []int{1, 2, 3}, mixed)
}

// Rule schema/S27.
func TestMerge_FlattensMergedReaders(t *testing.T) {
	named := MergeNamedStreamReaders(map[string]*StreamReader[int]{"a": sent(got[int]{v: 1}), "b": sent(got[int]{v: 2})})
	requireRecv(t, named, 1)
	requireRecv(t, named, 2)
	requireRecvError(t, named, newSourceEOF("a"))
	vs := values(t, merged(named, sent(got[int]{v: 3}))) // no SourceEOF of b
	require.Equal(t, []int{3}, vs)

	inner := merged(sent(got[int]{v: 1}), sent(got[int]{v: 2}))
	outer := merged(inner, sent(got[int]{v: 3}))
	vs = values(t, outer)
	slices.Sort(vs)
	require.Equal(t, []int{1, 2, 3}, vs)
}

// Rule schema/S27.
func TestMerge_ConvertIsPumpedAFewItemsAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		converted := 0
		sr := merged(StreamReaderWithConvert(StreamReaderFromArray(make([]int, 100)), func(v int) (int, error) {
			converted++
			return v, nil
		}), sent[int]())
		synctest.Wait()
		require.Zero(t, converted, "a reader that nobody reads leaves nothing running")
		requireRecv(t, sr, 0)
		synctest.Wait()
		require.Equal(t, 7, converted, "one received, five buffered, one at hand")
		sr.Close()
	})
}

// Rule schema/S27.
func TestMerge_PanicEndsTheSourceOnly(t *testing.T) {
	sr := merged(
		StreamReaderWithConvert(StreamReaderFromArray([]int{1, 2, 3}), func(v int) (int, error) {
			if v == 2 {
				panic("two")
			}
			return v, nil
		}),
		sent(got[int]{v: 10}),
	)
	var vs []int
	var errs []error
	for _, g := range readAll(t, sr) {
		if g.err == nil {
			vs = append(vs, g.v)
		} else {
			errs = append(errs, g.err)
		}
	}
	slices.Sort(vs)
	require.Equal(t, []int{1, 10}, vs)
	require.Len(t, errs, 1)
	require.ErrorContains(t, errs[0], "panic error: two")
}

// Rules schema/S28, schema/B15.1.3.
func TestMerge_CloseReachesEverySourceAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var writers []*StreamWriter[int]
		open := func() *StreamReader[int] {
			sr, sw := Pipe[int](1)
			writers = append(writers, sw)
			return sr
		}
		sr := merged(open(), StreamReaderWithConvert(open(), identity[int]), open().Copy(2)[0],
			merged(open(), StreamReaderWithConvert(open(), identity[int])))
		recv := make(chan error)
		go func() {
			_, err := sr.Recv() // the pumps run and wait for their idle sources
			recv <- err
		}()
		synctest.Wait()
		sr.Close()
		require.Equal(t, ErrRecvAfterClosed, <-recv)
		for i, sw := range writers {
			require.Equal(t, i != 2, sw.Send(1, nil), "source %d", i) // the other copy keeps its source
		}
	})
}

// Rule schema/S29.
func TestMerge_SilentAndSlowSourcesDelayNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent, sw := Pipe[int](0)
		slow := StreamReaderWithConvert(StreamReaderFromArray([]int{-1}), func(v int) (int, error) {
			time.Sleep(time.Hour)
			return v, nil
		})
		slowEnd := StreamReaderWithConvert(sent[int](), identity[int], WithOnEOF(func() (any, error) {
			time.Sleep(time.Hour)
			return -2, nil
		}))
		srs := []*StreamReader[int]{silent, slow, slowEnd.Copy(2)[0]}
		for i := range 10 {
			srs = append(srs, sent(got[int]{v: i}))
		}
		start := time.Now()
		sr := merged(srs...)
		for range 10 {
			_, err := sr.Recv()
			require.NoError(t, err)
		}
		require.Equal(t, start, time.Now())
		sw.Close()
		vs := values(t, sr)
		slices.Sort(vs)
		require.Equal(t, []int{-2, -1}, vs)
	})
}

func TestMerge_ManySourcesAtOnce(t *testing.T) {
	const ways, each = 32, 300
	srs := make([]*StreamReader[[2]int], ways)
	for s := range srs {
		sr, sw := Pipe[[2]int](s % 4)
		go func() {
			defer sw.Close()
			for i := range each {
				sw.Send([2]int{s, i}, nil)
			}
		}()
		srs[s] = sr
		switch s % 5 {
		case 1:
			srs[s] = StreamReaderWithConvert(sr, identity[[2]int])
		case 2:
			copies := sr.Copy(2)
			go drain(t, copies[1])
			srs[s] = copies[0]
		}
	}
	next := make([]int, ways)
	for _, v := range values(t, merged(srs...)) {
		require.Equal(t, next[v[0]], v[1])
		next[v[0]]++
	}
	for _, n := range next {
		require.Equal(t, each, n)
	}
}

// Rule schema/S30.
func TestNamedMerge_EveryEndIsReportedOnce(t *testing.T) {
	require.Nil(t, MergeNamedStreamReaders[int](nil))
	require.Nil(t, InternalMergeNamedStreamReaders[int](nil, []string{"a"}))

	one := MergeNamedStreamReaders(map[string]*StreamReader[int]{"only": StreamReaderFromArray([]int{1})})
	require.Equal(t, []got[int]{{v: 1}, {err: newSourceEOF("only")}}, readAll(t, one))

	copies := sent(got[int]{v: 5}).Copy(2)
	defer copies[1].Close()
	srs := map[string]*StreamReader[int]{
		"pipe":    sent(got[int]{v: 1}, got[int]{v: 2}),
		"array":   StreamReaderFromArray([]int{3}),
		"empty":   StreamReaderFromArray[int](nil),
		"convert": StreamReaderWithConvert(sent(got[int]{v: 4}), identity[int]),
		"copy":    copies[0],
		"nil":     nil,
	}
	last := map[string]int{"pipe": 2, "array": 3, "convert": 4, "copy": 5}
	seen := map[int]bool{}
	ended := map[string]bool{}
	for _, g := range readAll(t, MergeNamedStreamReaders(srs)) {
		name, ok := GetSourceName(g.err)
		if !ok {
			require.NoError(t, g.err)
			seen[g.v] = true
			continue
		}
		require.False(t, ended[name], name)
		require.Zero(t, g.v)
		require.True(t, last[name] == 0 || seen[last[name]], "the end of %s came before its last item", name)
		ended[name] = true
	}
	require.Len(t, ended, len(srs))
	require.Len(t, seen, 5)
}

// Rule schema/S31.
func TestNamedMerge_SourceEOFNamesItsSource(t *testing.T) {
	err := newSourceEOF("a")
	require.Equal(t, "EOF from source stream: a", err.Error())
	require.NotErrorIs(t, err, io.EOF)
	name, ok := GetSourceName(fmt.Errorf("wrapped: %w", err))
	require.True(t, ok)
	require.Equal(t, "a", name)
	for _, err := range []error{nil, io.EOF, errors.New("x")} {
		name, ok = GetSourceName(err)
		require.False(t, ok)
		require.Empty(t, name)
	}
}

// Rules schema/S32, schema/B15.1.8.
func TestNamedMerge_NamesSourcesByPosition(t *testing.T) {
	two := func() []*StreamReader[int] { return []*StreamReader[int]{sent[int](), sent[int]()} }
	require.Empty(t, readAll(t, InternalMergeNamedStreamReaders(two(), nil)))
	require.Equal(t, []got[int]{{err: newSourceEOF("a")}, {err: newSourceEOF("")}},
		readAll(t, InternalMergeNamedStreamReaders(two(), []string{"a"})))
}

// Rule schema/S32.
func TestNamedMerge_ReportsTheInnerEndFirst(t *testing.T) {
	inner := InternalMergeNamedStreamReaders([]*StreamReader[int]{sent(got[int]{v: 1})}, []string{"inner"})
	outer := InternalMergeNamedStreamReaders([]*StreamReader[int]{inner}, []string{"outer"})
	require.Equal(t, []got[int]{{v: 1}, {err: newSourceEOF("inner")}, {err: newSourceEOF("outer")}}, readAll(t, outer))
}

// Rule schema/S32.
func TestNamedMerge_EndIsAnOrdinaryErrorItem(t *testing.T) {
	named := func() *StreamReader[int] {
		return InternalMergeNamedStreamReaders([]*StreamReader[int]{sent(got[int]{v: 1})}, []string{"a"})
	}
	wrapped := StreamReaderWithConvert(named(), identity[int],
		WithErrWrapper(func(err error) error { return fmt.Errorf("w: %w", err) }))
	all := readAll(t, wrapped)
	require.EqualError(t, all[1].err, "w: EOF from source stream: a")

	pumped := merged(StreamReaderWithConvert(named(), identity[int]), sent[int]())
	require.Equal(t, []got[int]{{v: 1}, {err: newSourceEOF("a")}}, readAll(t, pumped))
	for _, c := range named().Copy(2) {
		require.Equal(t, []got[int]{{v: 1}, {err: newSourceEOF("a")}}, readAll(t, c))
	}
}

// Rule schema/B15.1.2.
func TestMerge_AllocatesLittle(t *testing.T) {
	n := testing.AllocsPerRun(10, func() {
		srs := make([]*StreamReader[*int], 8)
		for i := range srs {
			srs[i] = produce(16, benchItems/8, new(int))
		}
		drain(t, MergeStreamReaders(srs))
	})
	require.LessOrEqual(t, n, 100.0)
}
