package callbacks

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/schema"
)

// Inputs and outputs are types of their own, so that their streams do not mix with streams of any.
var (
	_ any = (func(*schema.StreamReader[CallbackInput]))(nil)
	_ any = (func(*schema.StreamReader[CallbackOutput]))(nil)
)

func TestStreamTypesAreDistinct(t *testing.T) {
	var sr any = schema.StreamReaderFromArray([]CallbackOutput{1})
	_, isAny := sr.(*schema.StreamReader[any])
	_, isInput := sr.(*schema.StreamReader[CallbackInput])
	require.False(t, isAny || isInput)
}

func TestContextFunctions(t *testing.T) {
	var infos []RunInfo
	h := NewHandlerBuilder().OnStartFn(func(ctx context.Context, info *RunInfo, _ CallbackInput) context.Context {
		infos = append(infos, *info)
		return ctx
	}).Build()
	ctx := InitCallbacks(background, &RunInfo{Name: "init"}, h)
	ctx = OnStart(EnsureRunInfo(ctx, "T", components.ComponentOfTool), 1)
	ctx = OnStart(EnsureRunInfo(ctx, "T", components.ComponentOfTool), 1)
	OnStart(ReuseHandlers(ctx, &RunInfo{Name: "reuse"}), 1)
	require.Equal(t, []RunInfo{{Name: "init"}, {Type: "T", Component: components.ComponentOfTool}, {Name: "reuse"}}, infos)
}

func TestGlobalHandlers(t *testing.T) {
	t.Cleanup(func() { InitCallbackHandlers(nil) })
	var calls [5]int
	AppendGlobalHandlers(counting(NewHandlerBuilder(), &calls, TimingOnStart).Build())
	OnStart(background, 1)
	require.Zero(t, calls[TimingOnStart], "only once somebody prepared the context")
	OnStart(EnsureRunInfo(background, "T", ""), 1)
	require.Equal(t, 1, calls[TimingOnStart])

	InitCallbackHandlers([]Handler{counting(NewHandlerBuilder(), &calls, TimingOnEnd).Build()})
	fireAll(EnsureRunInfo(background, "T", ""))
	require.Equal(t, [5]int{TimingOnStart: 1, TimingOnEnd: 1}, calls)
}

// A nil context has no handlers, and contexts made of it are as good as any.
func TestNilContext(t *testing.T) {
	var none context.Context
	require.Nil(t, OnStart(none, 1))
	require.Nil(t, OnEnd(none, 1))
	require.Nil(t, OnError(none, nil))
	in := schema.StreamReaderFromArray([]int{1})
	ctx, same := OnEndWithStreamOutput(none, in)
	require.Nil(t, ctx)
	require.Same(t, in, same)
	started := 0
	h := NewHandlerBuilder().OnStartFn(func(ctx context.Context, _ *RunInfo, _ CallbackInput) context.Context {
		started++
		return ctx
	}).Build()
	ctx = InitCallbacks(none, &RunInfo{}, h)
	require.NoError(t, ctx.Err())
	OnStart(ctx, 1)
	require.Equal(t, 1, started)
	t.Cleanup(func() { InitCallbackHandlers(nil) })
	AppendGlobalHandlers(h)
	OnStart(EnsureRunInfo(none, "T", ""), 1)
	OnStart(ReuseHandlers(none, &RunInfo{}), 1)
	require.Equal(t, 3, started)
}

func TestAllocations_BuilderHandlers(t *testing.T) {
	same := func(ctx context.Context, _ *RunInfo, _ CallbackInput) context.Context { return ctx }
	one := InitCallbacks(background, &RunInfo{}, NewHandlerBuilder().OnStartFn(same).OnEndFn(
		func(ctx context.Context, _ *RunInfo, _ CallbackOutput) context.Context { return ctx }).Build())
	none := InitCallbacks(background, &RunInfo{}, NewHandlerBuilder().Build())
	run := func(ctx context.Context) func() {
		return func() { OnEnd(OnStart(ctx, [4]int{1}), [4]int{2}) }
	}
	require.LessOrEqual(t, testing.AllocsPerRun(100, run(one)), 3.0)
	require.LessOrEqual(t, testing.AllocsPerRun(100, run(none)), 1.0)
	require.Zero(t, testing.AllocsPerRun(100, run(background)))
}
