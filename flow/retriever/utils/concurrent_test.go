package utils

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components/retriever"
	"github.com/weftgo/weft/schema"
)

var (
	background = context.Background()
	errBoom    = errors.New("boom")
)

// search is a retriever.
type search func(ctx context.Context, query string, opts ...retriever.Option) ([]*schema.Document, error)

func (s search) Retrieve(ctx context.Context, query string, opts ...retriever.Option) ([]*schema.Document, error) {
	return s(ctx, query, opts...)
}

// typed names its type, and says whether it reports itself.
type typed struct {
	search
	reports bool
}

func (typed) GetType() string            { return "Fake" }
func (r typed) IsCallbacksEnabled() bool { return r.reports }
func found(id string) []*schema.Document { return []*schema.Document{{ID: id}} }
func echo(prefix string) retriever.Retriever {
	return search(func(_ context.Context, query string, _ ...retriever.Option) ([]*schema.Document, error) {
		return found(prefix + query), nil
	})
}

// Rule components/V1.
func TestConcurrent_EveryTaskGetsItsResult(t *testing.T) {
	failing := search(func(context.Context, string, ...retriever.Option) ([]*schema.Document, error) {
		return found("x"), errBoom
	})
	panicking := search(func(context.Context, string, ...retriever.Option) ([]*schema.Document, error) { panic(errBoom) })
	leaving := search(func(context.Context, string, ...retriever.Option) ([]*schema.Document, error) {
		runtime.Goexit()
		return nil, nil
	})
	tasks := []*RetrieveTask{
		{Retriever: echo("a"), Query: "1"}, nil, {Retriever: failing, Query: "2"}, {Retriever: panicking, Query: "3"},
		{Retriever: leaving, Query: "4"}, {Query: "5"}, {Retriever: echo("b"), Query: "6"},
	}
	ConcurrentRetrieveWithCallback(background, tasks)
	require.Equal(t, found("a1"), tasks[0].Result)
	require.NoError(t, tasks[0].Err)
	require.Equal(t, errBoom, tasks[2].Err)
	require.Nil(t, tasks[2].Result)
	require.EqualError(t, tasks[3].Err, "retrieve panic, query: 3, error: boom")
	require.ErrorIs(t, tasks[3].Err, errBoom)
	require.ErrorContains(t, tasks[4].Err, "ended its goroutine")
	require.ErrorContains(t, tasks[5].Err, "the retriever is nil")
	require.Equal(t, found("b6"), tasks[6].Result, "what has begun may end well")

	ConcurrentRetrieveWithCallback(background, nil)
}

// mute panics when it is asked what it is.
type mute struct {
	search
	enabled bool
}

func (m mute) GetType() string {
	if !m.enabled {
		panic(errBoom)
	}
	return "Mute"
}

func (m mute) IsCallbacksEnabled() bool { panic(errBoom) }

// gone is an error that panics when it is looked into, as its pointer is nil.
type gone struct{ cause error }

func (g *gone) Error() string { return "gone" }
func (g *gone) Unwrap() error { return g.cause }

// A panic of a retriever's methods, or of the methods of its error, is its task's error.
// Rule components/V1.
func TestConcurrent_PanicsOutsideRetrieveAreErrors(t *testing.T) {
	for _, enabled := range []bool{false, true} {
		tasks := []*RetrieveTask{{Retriever: mute{search(echo("x").Retrieve), enabled}, Query: "q"}}
		ConcurrentRetrieveWithCallback(background, tasks)
		require.ErrorIs(t, tasks[0].Err, errBoom)
		require.EqualError(t, tasks[0].Err, "retrieve panic, query: q, error: boom")
	}
	for _, f := range []search{
		func(context.Context, string, ...retriever.Option) ([]*schema.Document, error) {
			return nil, (*gone)(nil)
		},
		func(context.Context, string, ...retriever.Option) ([]*schema.Document, error) {
			panic(error((*gone)(nil)))
		},
	} {
		tasks := []*RetrieveTask{{Retriever: f, Query: "q"}}
		ConcurrentRetrieveWithCallback(background, tasks)
		require.ErrorContains(t, tasks[0].Err, "an error of type *utils.gone that panics when it is looked into")
	}
}

// Rules components/V1, components/B13.4.5.
func TestConcurrent_ReportsEachRetrievalOnce(t *testing.T) {
	var mu sync.Mutex
	var reported []string
	note := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		reported = append(reported, fmt.Sprintf(format, args...))
	}
	h := callbacks.NewHandlerBuilder().
		OnStartFn(func(ctx context.Context, info *callbacks.RunInfo, in callbacks.CallbackInput) context.Context {
			note("start %v %v", *info, retriever.ConvCallbackInput(in).Query)
			return ctx
		}).
		OnEndFn(func(ctx context.Context, info *callbacks.RunInfo, out callbacks.CallbackOutput) context.Context {
			note("end %s %s", info.Name, retriever.ConvCallbackOutput(out).Docs[0].ID)
			return ctx
		}).
		OnErrorFn(func(ctx context.Context, info *callbacks.RunInfo, err error) context.Context {
			note("error %s %v", info.Name, err)
			return ctx
		}).Build()
	ctx := callbacks.InitCallbacks(background, &callbacks.RunInfo{Name: "outer"}, h)
	panicking := search(func(context.Context, string, ...retriever.Option) ([]*schema.Document, error) { panic("ouch") })
	reporting := search(func(ctx context.Context, query string, _ ...retriever.Option) ([]*schema.Document, error) {
		ctx = callbacks.OnStart(ctx, query)
		callbacks.OnEnd(ctx, found("own"))
		return found("own"), nil
	})
	cases := []struct {
		r    retriever.Retriever
		want []string
	}{
		{typed{search: search(echo("x").Retrieve)},
			[]string{"start {FakeRetriever Fake Retriever} q", "end FakeRetriever xq"}},
		{echo("x"), []string{"start {Retriever  Retriever} q", "end Retriever xq"}},
		{panicking, []string{"start {Retriever  Retriever} q", "error Retriever retrieve panic, query: q, error: ouch"}},
		{typed{reporting, true}, []string{"start {FakeRetriever Fake Retriever} q", "end FakeRetriever own"}},
	}
	for _, c := range cases {
		reported = nil
		ConcurrentRetrieveWithCallback(ctx, []*RetrieveTask{{Retriever: c.r, Query: "q"}})
		require.Equal(t, c.want, reported)
	}

	bad := callbacks.NewHandlerBuilder().OnStartFn(func(
		context.Context, *callbacks.RunInfo, callbacks.CallbackInput,
	) context.Context {
		panic(errBoom)
	}).Build()
	task := &RetrieveTask{Retriever: echo("x"), Query: "q"}
	ConcurrentRetrieveWithCallback(callbacks.InitCallbacks(background, nil, bad), []*RetrieveTask{task})
	require.ErrorIs(t, task.Err, errBoom)
}

// Rule components/V1.
func TestConcurrent_ForwardsOptions(t *testing.T) {
	var topK *int
	r := search(func(_ context.Context, _ string, opts ...retriever.Option) ([]*schema.Document, error) {
		topK = retriever.GetCommonOptions(nil, opts...).TopK
		return nil, nil
	})
	ConcurrentRetrieveWithCallback(background,
		[]*RetrieveTask{{Retriever: r, RetrieveOptions: []retriever.Option{retriever.WithTopK(3)}}})
	require.Equal(t, 3, *topK)
}

func tasksOf(n int, r retriever.Retriever) []*RetrieveTask {
	tasks := make([]*RetrieveTask, n)
	for i := range tasks {
		tasks[i] = &RetrieveTask{Retriever: r, Query: fmt.Sprint(i)}
	}
	return tasks
}

// Rule components/B13.4.4.
func TestConcurrent_IsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running, most atomic.Int32
		r := search(func(_ context.Context, query string, _ ...retriever.Option) ([]*schema.Document, error) {
			now := running.Add(1)
			for m := most.Load(); now > m && !most.CompareAndSwap(m, now); m = most.Load() {
			}
			time.Sleep(time.Second)
			running.Add(-1)
			return found(query), nil
		})
		begin := time.Now()
		tasks := tasksOf(3*maxConcurrent, r)
		ConcurrentRetrieveWithCallback(background, tasks)
		require.Equal(t, 3*time.Second, time.Since(begin))
		require.EqualValues(t, maxConcurrent, most.Load())
		for i, task := range tasks {
			require.Equal(t, fmt.Sprint(i), task.Result[0].ID)
		}
	})
}

// Rule components/B13.4.4.
func TestConcurrent_AFailureStopsTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var began atomic.Int32
		r := search(func(ctx context.Context, query string, _ ...retriever.Option) ([]*schema.Document, error) {
			began.Add(1)
			if query == "3" {
				time.Sleep(time.Second)
				return nil, errBoom
			}
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(time.Hour):
				return nil, nil
			}
		})
		begin := time.Now()
		tasks := tasksOf(2*maxConcurrent, r)
		ConcurrentRetrieveWithCallback(background, tasks)
		require.Equal(t, time.Second, time.Since(begin))
		require.EqualValues(t, maxConcurrent, began.Load())
		for i, task := range tasks {
			require.ErrorIs(t, task.Err, errBoom, "the reason can be found at every task")
			require.NotErrorIs(t, task.Err, context.Canceled)
			require.Equal(t, i == 3, task.Err == errBoom)
		}
	})
}

// Rule components/B13.4.4.
func TestConcurrent_HonoursTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("the user left")
		ctx, cancel := context.WithCancelCause(background)
		time.AfterFunc(time.Second, func() { cancel(cause) })
		r := search(func(ctx context.Context, _ string, _ ...retriever.Option) ([]*schema.Document, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		tasks := tasksOf(2*maxConcurrent, r)
		ConcurrentRetrieveWithCallback(ctx, tasks)
		for _, task := range tasks {
			require.ErrorIs(t, task.Err, context.Canceled)
		}
		require.ErrorIs(t, tasks[2*maxConcurrent-1].Err, cause)
	})
}
