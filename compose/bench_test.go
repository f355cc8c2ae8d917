package compose

import (
	"context"
	"fmt"
	"testing"

	"github.com/weftgo/weft/internal/mock/racedetector"
	"github.com/weftgo/weft/schema"
)

func benchInvoke[I, O any](b *testing.B, r Runnable[I, O], in I) {
	b.Helper()
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Invoke(ctx, in); err != nil {
			b.Fatal(err)
		}
	}
}

func mustCompile[I, O any](tb testing.TB, g interface {
	Compile(context.Context, ...GraphCompileOption) (Runnable[I, O], error)
}, opts ...GraphCompileOption) Runnable[I, O] {
	tb.Helper()
	r, err := g.Compile(context.Background(), opts...)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func chainOf(n int) *Chain[string, string] {
	c := NewChain[string, string]()
	for range n {
		c.AppendLambda(InvokableLambda(func(_ context.Context, in string) (string, error) { return in, nil }))
	}
	return c
}

func fanOf(n int) *Graph[string, map[string]any] {
	g := NewGraph[string, map[string]any]()
	for i := range n {
		key := fmt.Sprint("n", i)
		_ = g.AddLambdaNode(key, suffix(""), WithOutputKey(key))
		_ = g.AddEdge(START, key)
		_ = g.AddEdge(key, END)
	}
	return g
}

func countdown(n int) *Graph[int, int] {
	g := NewGraph[int, int]()
	_ = g.AddLambdaNode("n", InvokableLambda(func(_ context.Context, in int) (int, error) { return in + 1, nil }))
	_ = g.AddEdge(START, "n")
	_ = g.AddBranch("n", NewGraphBranch(func(_ context.Context, in int) (string, error) {
		if in < n {
			return "n", nil
		}
		return END, nil
	}, map[string]bool{"n": true, END: true}))
	return g
}

func BenchmarkChain(b *testing.B) {
	for _, n := range []int{1, 10, 100} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			benchInvoke(b, mustCompile[string, string](b, chainOf(n), WithMaxRunSteps(1000)), "x")
		})
	}
	b.Run("stream10", func(b *testing.B) {
		r := mustCompile[string, string](b, chainOf(10))
		b.ReportAllocs()
		for b.Loop() {
			s, err := r.Stream(context.Background(), "x")
			if err != nil {
				b.Fatal(err)
			}
			for range s.All() {
			}
		}
	})
}

func BenchmarkFan16(b *testing.B) {
	b.Run("steps", func(b *testing.B) { benchInvoke(b, mustCompile[string, map[string]any](b, fanOf(16)), "x") })
	b.Run("dag", func(b *testing.B) {
		benchInvoke(b, mustCompile[string, map[string]any](b, fanOf(16), WithNodeTriggerMode(AllPredecessor)), "x")
	})
}

func BenchmarkLoop100(b *testing.B) {
	benchInvoke(b, mustCompile[int, int](b, countdown(100), WithMaxRunSteps(1000)), 0)
}

func BenchmarkInterruptAndResume(b *testing.B) {
	g := NewGraph[[]*schema.Message, []*schema.Message]()
	_ = g.AddLambdaNode("n",
		InvokableLambda(func(_ context.Context, in []*schema.Message) ([]*schema.Message, error) { return in, nil }))
	_ = g.AddEdge(START, "n")
	_ = g.AddEdge("n", END)
	s := newStore()
	r := mustCompile[[]*schema.Message, []*schema.Message](b, g, WithCheckPointStore(s),
		WithInterruptBeforeNodes([]string{"n"}))
	history := make([]*schema.Message, 100)
	for i := range history {
		history[i] = schema.UserMessage("a message of a length that messages have, more or less, on average")
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Invoke(context.Background(), history, WithWriteToCheckPointID("id")); err == nil {
			b.Fatal("not interrupted")
		}
		if _, err := r.Invoke(context.Background(), nil, WithCheckPointID("id")); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(s.data["id"])), "checkpoint-bytes")
}

// What a run allocates beyond what the nodes do must not creep up. A node of a chain takes its context and the boxing
// of its output.
// A node costs a few allocations, and a longer graph in proportion.
// Rules compose/B22.25, compose/B22.26, compose/B22.28, compose/B22.29.
func TestAllocations(t *testing.T) {
	if racedetector.Enabled {
		t.Skip("allocations are counted without the race detector")
	}
	ctx := context.Background()
	allocs := func(run func() error) float64 {
		return testing.AllocsPerRun(200, func() {
			if err := run(); err != nil {
				t.Error(err)
			}
		})
	}
	chain := mustCompile[string, string](t, chainOf(10))
	fan := mustCompile[string, map[string]any](t, fanOf(16))
	loop := mustCompile[int, int](t, countdown(100), WithMaxRunSteps(1000))
	for _, c := range []struct {
		name string
		most float64
		run  func() error
	}{
		{"chain of 10", 26, func() error { _, err := chain.Invoke(ctx, "x"); return err }},
		{"fan of 16", 115, func() error { _, err := fan.Invoke(ctx, "x"); return err }},
		{"loop of 100", 115, func() error { _, err := loop.Invoke(ctx, 0); return err }},
	} {
		if got := allocs(c.run); got > c.most {
			t.Errorf("%s: %.0f allocations, at most %.0f are expected", c.name, got, c.most)
		}
	}
}
