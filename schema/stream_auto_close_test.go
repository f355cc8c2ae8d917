package schema

import (
	"context"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/require"
)

// requireClosed collects garbage until the producer learns that the reader is gone.
func requireClosed(t *testing.T, sw *StreamWriter[int]) {
	t.Helper()
	require.Eventually(t, func() bool {
		runtime.GC()
		return sw.Send(0, nil) // the pipe has room for all attempts
	}, 10*time.Second, time.Millisecond)
}

// requireOpen collects garbage and checks that the producer may continue.
func requireOpen(t *testing.T, sw *StreamWriter[int]) {
	t.Helper()
	for range 5 {
		canary, collected := new([64]byte), make(chan struct{})
		runtime.AddCleanup(canary, func(c chan struct{}) { close(c) }, collected)
		runtime.GC()
		<-collected
	}
	require.False(t, sw.Send(0, nil))
}

// Rules schema/S40, schema/X6, schema/B15.1.7.
func TestAutomaticClose_ClosesAnUnreachableReader(t *testing.T) {
	for name, use := range map[string]func(sr *StreamReader[int]){
		"pipe": func(sr *StreamReader[int]) {
			sr.SetAutomaticClose()
			sr.SetAutomaticClose()
		},
		"read before": func(sr *StreamReader[int]) {
			sr.SetAutomaticClose()
			_, _ = sr.Recv()
		},
		"waited before": func(sr *StreamReader[int]) {
			sr.SetAutomaticClose()
			_, _ = sr.Recv()
			ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
			defer cancel()
			_, _ = sr.RecvContext(ctx)
		},
		"convert": func(sr *StreamReader[int]) {
			StreamReaderWithConvert(sr, identity[int]).SetAutomaticClose()
		},
		"marked before convert": func(sr *StreamReader[int]) {
			sr.SetAutomaticClose()
			StreamReaderWithConvert(sr, identity[int])
		},
		"merge": func(sr *StreamReader[int]) {
			merged(sr, sent[int]()).SetAutomaticClose()
		},
		"merge with a running pump": func(sr *StreamReader[int]) {
			m := merged(StreamReaderWithConvert(sr, identity[int]), sent[int]())
			m.SetAutomaticClose()
			_, _ = m.Recv()
		},
		"marked before merge": func(sr *StreamReader[int]) {
			sr.SetAutomaticClose()
			merged(sr, sent[int]())
		},
		"all copies": func(sr *StreamReader[int]) {
			for _, c := range sr.Copy(3) {
				c.SetAutomaticClose()
				_, _ = c.Recv()
			}
		},
		"marked before copy": func(sr *StreamReader[int]) {
			sr.SetAutomaticClose()
			_, _ = sr.Copy(3)[0].Recv()
		},
		"one copy marked, the others gone": func(sr *StreamReader[int]) {
			sr.Copy(3)[0].SetAutomaticClose()
		},
		"copy of a copy": func(sr *StreamReader[int]) {
			sr.SetAutomaticClose()
			copies := sr.Copy(2)
			copies[0].Close()
			copies = copies[1].Copy(2)
			copies[0].Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			sr, sw := Pipe[int](1 << 16)
			sw.Send(1, nil)
			use(sr)
			sr = nil
			requireClosed(t, sw)
		})
	}
}

// Rule schema/S40.
func TestAutomaticClose_LeavesWhatIsReachable(t *testing.T) {
	sr, sw := Pipe[int](8)
	sr.SetAutomaticClose()
	copies := sr.Copy(3)
	sr = nil
	copies[0].Close()
	copies[0] = nil
	copies[1].SetAutomaticClose()
	copies[1] = nil // leaked
	requireOpen(t, sw)
	requireRecv(t, copies[2], 0)
	copies[2].Close()
	require.True(t, sw.Send(1, nil))
}

// Rule schema/B15.1.7.
func TestAutomaticClose_LeakedCopyCountsAsClosed(t *testing.T) {
	sr, sw := Pipe[int](1 << 16)
	copies := sr.Copy(2)
	copies[0].SetAutomaticClose()
	copies[0] = nil
	copies[1].Close()
	requireClosed(t, sw)
	runtime.KeepAlive(copies)
}

func TestAutomaticClose_ExplicitCloseStaysAllowed(t *testing.T) {
	sr, sw := Pipe[int](1)
	sr.SetAutomaticClose()
	sr.Close()
	sr.Close()
	sr.SetAutomaticClose()
	require.True(t, sw.Send(1, nil))

	arr := StreamReaderFromArray([]int{1})
	arr.SetAutomaticClose()
	requireRecv(t, arr, 1)
}

// TestAutomaticClose_ClosesReadersThatTheirOwnStreamRefersTo: code of users on the way may refer to the reader itself,
// such as to a context that leads to it. That must not keep the reader, and what it refers to, for ever. Rule
// schema/S40.
func TestAutomaticClose_ClosesReadersThatTheirOwnStreamRefersTo(t *testing.T) {
	for name, make := range map[string]func(owner *owner) *StreamReader[int]{
		"convert": func(o *owner) *StreamReader[int] {
			return StreamReaderWithConvert(sent(got[int]{v: 1}), func(v int) (int, error) { return v, o.err })
		},
		"copies of a convert": func(o *owner) *StreamReader[int] {
			return StreamReaderWithConvert(sent(got[int]{v: 1}), func(v int) (int, error) { return v, o.err }).Copy(2)[0]
		},
		"convert of a copy": func(o *owner) *StreamReader[int] {
			return StreamReaderWithConvert(sent(got[int]{v: 1}).Copy(2)[0], func(v int) (int, error) { return v, o.err })
		},
		"abort": func(o *owner) *StreamReader[int] {
			sr, abort := StreamReaderWithAbort(StreamReaderWithConvert(sent(got[int]{v: 1}),
				func(v int) (int, error) { return v, o.err }))
			o.abort = abort
			return sr
		},
		"merge": func(o *owner) *StreamReader[int] {
			return merged(StreamReaderWithConvert(sent(got[int]{v: 1}), func(v int) (int, error) { return v, o.err }),
				sent(got[int]{v: 2}))
		},
		"pipe whose writer is gone": func(o *owner) *StreamReader[int] {
			sr, sw := Pipe[int](1)
			sw.OnReaderClose(func() { o.err = nil })
			return sr
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := new(owner)
			gone := weak.Make(o)
			o.stream = make(o)
			o.stream.SetAutomaticClose()
			o = nil
			require.Eventually(t, func() bool {
				runtime.GC()
				return gone.Value() == nil
			}, 10*time.Second, time.Millisecond)
		})
	}
}

type owner struct {
	stream *StreamReader[int]
	abort  func(error)
	err    error
}

// TestAutomaticClose_CountsACopyOnce: a copy that was closed under its reader does not count again when that becomes
// unreachable.
// Rule schema/S40.
func TestAutomaticClose_CountsACopyOnce(t *testing.T) {
	sr, sw := Pipe[int](8)
	copies := sr.Copy(2)
	copies[0].SetAutomaticClose()
	_, abort := StreamReaderWithAbort(copies[0])
	abort(context.Canceled)
	copies[0] = nil
	requireOpen(t, sw)
	requireRecv(t, copies[1], 0)
	copies[1].Close()
	require.True(t, sw.Send(1, nil))
}
