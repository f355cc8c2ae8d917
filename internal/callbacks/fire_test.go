package callbacks

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/schema"
)

// Rule components/K6.
func TestFire_DoesNothingWithoutHandlersInTheContext(t *testing.T) {
	j := &journal{}
	withGlobals(t, &recorder{"g", j})
	ctx := context.WithValue(background, testKey("k"), 1)
	sr := schema.StreamReaderFromArray([]int{1})

	require.True(t, ctx == OnStart(ctx, 1))
	require.True(t, ctx == OnEnd(ctx, 1))
	require.True(t, ctx == OnError(ctx, errors.New("x")))
	next, out := OnStartWithStreamInput(ctx, sr)
	require.True(t, ctx == next && out == sr)
	next, out = OnEndWithStreamOutput(ctx, sr)
	require.True(t, ctx == next && out == sr)
	require.Empty(t, j.take())
}

// Rule components/K7.
func TestFire_StartConsumesThePendingInfo(t *testing.T) {
	j := &journal{}
	nothing := newStatic("n", j, 0)
	for name, start := range map[string]func(ctx context.Context) context.Context{
		"value": func(ctx context.Context) context.Context { return OnStart(ctx, 1) },
		"stream": func(ctx context.Context) context.Context {
			ctx, _ = OnStartWithStreamInput(ctx, schema.StreamReaderFromArray([]int{1}))
			return ctx
		},
		"nil stream": func(ctx context.Context) context.Context {
			ctx, _ = OnStartWithStreamInput[int](ctx, nil)
			return ctx
		},
	} {
		t.Run(name, func(t *testing.T) {
			info := &RunInfo{Name: "1"}
			before := Init(background, info, nothing)
			after := start(before)
			require.Same(t, info, FromContext(before).Pending())
			require.Nil(t, FromContext(after).Pending(), "also when no handler needs the timing")
			require.Same(t, info, FromContext(after).Last())
		})
	}
}

// Rules components/K8, components/K9.
func TestFire_StartAndEndHaveTheSameInfo(t *testing.T) {
	j := &journal{}
	outer := Init(background, &RunInfo{Name: "outer"}, &recorder{"a", j})

	require.Equal(t, []string{"a end outer "}, end(outer, j), "an end before any start uses the pending run")

	started := OnStart(outer, 1)
	second := OnStart(started, 2)
	OnEnd(second, 3)
	OnError(started, errors.New("4"))
	require.Equal(t, []string{"a start outer 1", "a start <nil> 2", "a end <nil> 3", "a error outer 4"}, j.take())

	ensured := OnStart(EnsureRunInfo(started, "T", components.ComponentOfTool), 5)
	OnEnd(ensured, 6)
	require.Equal(t, []string{"a start  5", "a end  6"}, j.take())

	require.Equal(t, []string{"a end outer "}, end(Reuse(started, nil), j), "without a pending run the last started one")
}

// Rule components/K10.
func TestFire_StartRunsInReverseOrder(t *testing.T) {
	j := &journal{}
	withGlobals(t, &recorder{"g1", j}, &recorder{"g2", j})
	ctx := Init(background, &RunInfo{}, &recorder{"a", j}, &recorder{"b", j})

	ctx = OnStart(ctx, 1)
	require.Equal(t, []string{"g2 start  1", "g1 start  1", "b start  1", "a start  1"}, j.take())
	OnEnd(ctx, 2)
	require.Equal(t, []string{"a end  2", "b end  2", "g1 end  2", "g2 end  2"}, j.take())
	OnError(ctx, errors.New("3"))
	require.Equal(t, []string{"a error  3", "b error  3", "g1 error  3", "g2 error  3"}, j.take())
	OnStartWithStreamInput(ctx, schema.StreamReaderFromArray([]int{4}))
	require.Equal(t, []string{"g2 streamstart <nil> [4]", "g1 streamstart <nil> [4]", "b streamstart <nil> [4]",
		"a streamstart <nil> [4]"}, j.take())
	OnEndWithStreamOutput(ctx, schema.StreamReaderFromArray([]int{5}))
	require.Equal(t, []string{"a streamend  [5]", "b streamend  [5]", "g1 streamend  [5]", "g2 streamend  [5]"}, j.take())
}

// Rule components/K11.
func TestFire_SkipsHandlersThatNeedNothing(t *testing.T) {
	j := &journal{}
	type question struct {
		timing CallbackTiming
		info   string
		last   string
	}
	var asked []question
	c := &checked{recorder{"c", j}, func(ctx context.Context, info *RunInfo, timing CallbackTiming) bool {
		asked = append(asked, question{timing, infoName(info), infoName(FromContext(ctx).Last())})
		return timing == TimingOnEnd
	}}
	s := newStatic("s", j, Timings(0).With(TimingOnStart))
	ctx := Init(background, &RunInfo{Name: "1"}, c, s, &recorder{"r", j})

	ctx = OnStart(ctx, 1)
	ctx, _ = OnStartWithStreamInput(Reuse(ctx, &RunInfo{Name: "2"}), schema.StreamReaderFromArray([]int{2}))
	OnEnd(ctx, 3)
	ctx, _ = OnEndWithStreamOutput(ctx, schema.StreamReaderFromArray([]int{4}))
	OnError(ctx, errors.New("5"))

	require.Equal(t, []string{"r start 1 1", "s start 1 1", "r streamstart 2 [2]", "c end 2 3", "r end 2 3",
		"r streamend 2 [4]", "r error 2 5"}, j.take())
	require.Equal(t, []question{
		{TimingOnStart, "1", "1"},
		{TimingOnStartWithStreamInput, "2", "2"},
		{TimingOnEnd, "2", "2"},
		{TimingOnEndWithStreamOutput, "2", "2"},
		{TimingOnError, "2", "2"},
	}, asked, "once a firing, with the run started already")
}

// Rules components/K12, components/B13.1.4.
func TestFire_ThreadsTheContextThroughHandlers(t *testing.T) {
	j := &journal{}
	a := &funcs{
		onStart: func(ctx context.Context, _ *RunInfo, _ CallbackInput) context.Context {
			return context.WithValue(ctx, testKey("a"), fmt.Sprint(ctx.Value(testKey("b"))))
		},
		onEnd: func(ctx context.Context, info *RunInfo, _ CallbackOutput) context.Context {
			j.add("a=%v b=%v %s", ctx.Value(testKey("a")), ctx.Value(testKey("b")), infoName(info))
			return ctx
		},
	}
	b := &funcs{onStart: func(ctx context.Context, _ *RunInfo, _ CallbackInput) context.Context {
		return context.WithValue(ctx, testKey("b"), 1)
	}}
	ctx := Init(background, &RunInfo{Name: "1"}, a, b)
	OnEnd(OnStart(ctx, 1), 2)
	require.Equal(t, []string{"a=1 b=1 1"}, j.take())
}

// Rule components/K12.
func TestFire_KeepsItsStateWhateverHandlersReturn(t *testing.T) {
	j := &journal{}
	for name, returned := range map[string]func(context.Context) context.Context{
		"nil":         func(context.Context) context.Context { return nil },
		"foreign":     func(context.Context) context.Context { return background },
		"other state": func(ctx context.Context) context.Context { return Init(ctx, nil, &recorder{"other", j}) },
	} {
		t.Run(name, func(t *testing.T) {
			f := &funcs{recorder: recorder{"f", j},
				onStart: func(ctx context.Context, _ *RunInfo, _ CallbackInput) context.Context {
					return returned(ctx)
				}}
			ctx := OnStart(Init(background, &RunInfo{Name: "1"}, f), 1)
			OnError(ctx, errors.New("e"))
			require.Equal(t, []string{"f error 1 e"}, j.take())
		})
	}
}

// Rule components/K13.
func TestFire_HandsOverTheSameValue(t *testing.T) {
	var got CallbackInput = "unset"
	f := &funcs{onStart: func(ctx context.Context, _ *RunInfo, input CallbackInput) context.Context {
		got = input
		return ctx
	}}
	ctx := Init(background, nil, f, f)

	value := &struct{ n int }{1}
	OnStart(ctx, value)
	require.Same(t, value, got)
	OnStart(ctx, (*int)(nil))
	require.Equal(t, CallbackInput((*int)(nil)), got)
	require.True(t, got != nil, "a typed nil, not nil")
	OnStart[any](ctx, nil)
	require.True(t, got == nil)
}

// Rule components/K17.
func TestFire_LetsPanicsPass(t *testing.T) {
	f := &funcs{onStart: func(context.Context, *RunInfo, CallbackInput) context.Context { panic("boom") }}
	require.PanicsWithValue(t, "boom", func() { OnStart(Init(background, nil, f), 1) })

	c := &checked{needed: func(context.Context, *RunInfo, CallbackTiming) bool { panic("boom") }}
	require.PanicsWithValue(t, "boom", func() { OnEnd(Init(background, nil, c), 1) })
}

// Rule components/B13.1.7.
func TestFire_ReportsPanicsAndCallsTheOtherHandlers(t *testing.T) {
	j := &journal{}
	cause := errors.New("cause")
	bad := &funcs{
		recorder: recorder{"bad", j},
		onStart:  func(context.Context, *RunInfo, CallbackInput) context.Context { panic(cause) },
		onEnd:    func(context.Context, *RunInfo, CallbackOutput) context.Context { panic("boom") },
	}
	asking := &checked{needed: func(context.Context, *RunInfo, CallbackTiming) bool { panic("asked") }}
	s := (*State)(nil).Init(&RunInfo{Name: "1"}, &recorder{"a", j}, bad, &recorder{"b", j})
	ctx := WithState(background, s.Started())

	next, err := FireStart(ctx, 1)
	require.True(t, ctx == next)
	var panicked *safe.PanicError
	require.ErrorAs(t, err, &panicked)
	require.ErrorIs(t, err, cause)
	require.Contains(t, string(panicked.Stack), "fire_test.go")

	_, err = FireEnd(ctx, 2)
	require.ErrorAs(t, err, &panicked)
	require.Equal(t, "boom", panicked.Value)
	require.Equal(t, []string{"b start 1 1", "a start 1 1", "a end 1 2", "b end 1 2"}, j.take(),
		"the others are called all the same")

	both := Append(ctx, nil, asking)
	_, err = FireEnd(both, 3)
	require.ErrorContains(t, err, "boom")
	require.ErrorContains(t, err, "asked")
	require.Equal(t, []string{"a end 1 3", "b end 1 3"}, j.take())

	_, err = FireError(Init(background, nil, asking), cause)
	require.ErrorContains(t, err, "asked")
	_, err = FireError(ctx, cause)
	require.NoError(t, err)
}

func TestFire_MoreHandlersThanTheBufferHolds(t *testing.T) {
	j := &journal{}
	var want []string
	ctx := Init(background, &RunInfo{})
	for i := range 3 * len(buffer{}) {
		ctx = Append(ctx, &RunInfo{}, &recorder{fmt.Sprint(i), j})
		want = append(want, fmt.Sprintf("%d end  x", i))
	}
	OnEnd(ctx, "x")
	require.Equal(t, want, j.take())
}

func TestFireEndCopies(t *testing.T) {
	j := &journal{}
	calls := 0
	split := func(output string, n int) []string {
		calls++
		copies := make([]string, n)
		for i := range copies {
			copies[i] = fmt.Sprintf("%s[%d/%d]", output, i, n)
		}
		return copies
	}
	_, err := FireEndCopies(background, "x", split)
	require.NoError(t, err)
	_, err = FireEndCopies(Init(background, nil, newStatic("s", j, 0)), "x", split)
	require.NoError(t, err)
	require.Zero(t, calls, "no copies for nobody")

	bad := &funcs{onEnd: func(context.Context, *RunInfo, CallbackOutput) context.Context { panic("boom") }}
	ctx := Init(background, &RunInfo{Name: "1"}, &recorder{"a", j}, bad, &recorder{"b", j})
	_, err = FireEndCopies(ctx, "x", split)
	require.ErrorContains(t, err, "boom")
	require.Equal(t, []string{"a end 1 x[0/3]", "b end 1 x[2/3]"}, j.take())
	require.Equal(t, 1, calls)
}
