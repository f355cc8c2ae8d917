package callbacks

import (
	"context"
	"testing"

	"github.com/weftgo/weft/schema"
)

// payload is a value that does not fit an interface without an allocation.
type payload struct{ a, b int }

// quiet is a handler that does nothing.
type quiet struct{}

func (quiet) OnStart(ctx context.Context, _ *RunInfo, _ CallbackInput) context.Context { return ctx }
func (quiet) OnEnd(ctx context.Context, _ *RunInfo, _ CallbackOutput) context.Context  { return ctx }
func (quiet) OnError(ctx context.Context, _ *RunInfo, _ error) context.Context         { return ctx }
func (quiet) OnStartWithStreamInput(
	ctx context.Context, _ *RunInfo, sr *schema.StreamReader[CallbackInput],
) context.Context {
	sr.Close()
	return ctx
}
func (quiet) OnEndWithStreamOutput(
	ctx context.Context, _ *RunInfo, sr *schema.StreamReader[CallbackOutput],
) context.Context {
	sr.Close()
	return ctx
}

// picky is a quiet handler that answers no to everything it is asked.
type picky struct{ quiet }

func (picky) Needed(context.Context, *RunInfo, CallbackTiming) bool { return false }

// deaf is a quiet handler that is known to need nothing.
type deaf struct{ quiet }

func (deaf) NeededTimings() Timings { return 0 }

var (
	info = &RunInfo{Name: "bench"}
	sink context.Context
)

func startAndEnd(ctx context.Context) {
	ctx = OnStart(ctx, payload{a: 1})
	sink = OnEnd(ctx, payload{b: 1})
}

// Rule components/B13.1.1.
func TestAllocations_StayFew(t *testing.T) {
	wrapped := context.WithValue(background, info, info)
	node := func(handlers ...Handler) context.Context {
		s := (*State)(nil).Init(info, handlers...)
		return &nodeContext{wrapped, s.Started()}
	}
	fire := func(ctx context.Context) func() {
		return func() {
			ctx, err := FireStart(ctx, payload{a: 1})
			if err == nil {
				ctx, _ = FireEnd(ctx, payload{b: 1})
			}
			sink = ctx
		}
	}
	one := Init(wrapped, info, quiet{})
	for name, tc := range map[string]struct {
		limit float64
		run   func()
	}{
		"start and end, no handlers":         {0, func() { startAndEnd(wrapped) }},
		"start and end, one handler":         {3, func() { startAndEnd(one) }},
		"start and end, three handlers":      {3, withHandlers(wrapped, quiet{}, quiet{}, quiet{})},
		"start and end, static mask says no": {1, withHandlers(wrapped, deaf{})},
		"start and end, checker says no":     {1, withHandlers(wrapped, picky{})},
		"error, one handler":                 {0, func() { sink = OnError(one, context.Canceled) }},
		"reuse and ensure, no handlers":      {0, func() { sink = EnsureRunInfo(Reuse(wrapped, info), "T", "C") }},
		"reuse":                              {1, func() { sink = Reuse(one, info) }},
		"orchestrator, no handlers":          {0, fire(wrapped)},
		"orchestrator, nothing needed":       {0, fire(node(deaf{}, picky{}))},
		"orchestrator, one handler":          {2, fire(node(quiet{}))},
		"stream end nobody needs":            {0, streamEnd(Init(wrapped, info, deaf{}, picky{}))},
	} {
		t.Run(name, func(t *testing.T) {
			if got := testing.AllocsPerRun(100, tc.run); got > tc.limit {
				t.Errorf("%v allocations, want at most %v", got, tc.limit)
			}
		})
	}
}

func withHandlers(ctx context.Context, handlers ...Handler) func() {
	ctx = Init(ctx, info, handlers...)
	return func() { startAndEnd(ctx) }
}

func streamEnd(ctx context.Context) func() {
	sr := schema.StreamReaderFromArray([]int{1})
	return func() { sink, _ = OnEndWithStreamOutput(ctx, sr) }
}

func BenchmarkStartEnd(b *testing.B) {
	for _, bm := range []struct {
		name     string
		handlers []Handler
	}{
		{"NoHandlers", nil},
		{"NothingNeeded", []Handler{deaf{}}},
		{"CheckerSaysNo", []Handler{picky{}}},
		{"OneHandler", []Handler{quiet{}}},
		{"FourHandlers", []Handler{quiet{}, quiet{}, quiet{}, quiet{}}},
	} {
		b.Run(bm.name, func(b *testing.B) {
			ctx := Init(background, info, bm.handlers...)
			b.ReportAllocs()
			for b.Loop() {
				startAndEnd(ctx)
			}
		})
		b.Run(bm.name+"Reused", func(b *testing.B) {
			ctx := Init(background, info, bm.handlers...)
			b.ReportAllocs()
			for b.Loop() {
				startAndEnd(Reuse(ctx, info))
			}
		})
	}
}

func BenchmarkStreamEnd(b *testing.B) {
	ctx := Init(background, info, quiet{})
	items := []int{1, 2, 3}
	b.ReportAllocs()
	for b.Loop() {
		_, sr := OnEndWithStreamOutput(ctx, schema.StreamReaderFromArray(items))
		sr.Close()
	}
}

func BenchmarkInit(b *testing.B) {
	h := quiet{}
	b.ReportAllocs()
	for b.Loop() {
		sink = Init(background, info, h)
	}
}
