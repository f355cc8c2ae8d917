package compose

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/internal/core"
)

// fuzzedGraphs have everything that a checkpoint restores: waiting values, states, nested graphs, a DAG and steps.
func fuzzedGraphs(t testing.TB, s *store, opts ...GraphCompileOption) []Runnable[string, string] {
	state := WithGenLocalState(func(context.Context) *counters { return &counters{} })
	var all []Runnable[string, string]
	for _, mode := range [][]GraphCompileOption{nil, {WithNodeTriggerMode(AllPredecessor)}} {
		inner := NewGraph[string, string](state)
		require.NoError(t, inner.AddLambdaNode("asks", asks("?")))
		require.NoError(t, inner.AddEdge(START, "asks"))
		require.NoError(t, inner.AddEdge("asks", END))
		g := NewGraph[string, string](state)
		require.NoError(t, g.AddGraphNode("sub", inner, WithOutputKey("sub")))
		require.NoError(t, g.AddLambdaNode("a", suffix("a"), WithOutputKey("a")))
		require.NoError(t, g.AddLambdaNode("join", joinKeys("sub", "a")))
		for _, e := range [][2]string{{START, "sub"}, {START, "a"}, {"sub", "join"}, {"a", "join"}, {"join", END}} {
			require.NoError(t, g.AddEdge(e[0], e[1]))
		}
		r, err := g.Compile(context.Background(),
			append(append(mode, WithCheckPointStore(s), WithInterruptAfterNodes([]string{"a"})), opts...)...)
		require.NoError(t, err)
		all = append(all, r)
	}
	return all
}

// madeUp is a serializer that gives back a checkpoint made of bytes: well-formed, but nothing that a run would write.
type madeUp struct{ bytes []byte }

func (m *madeUp) Marshal(any) ([]byte, error) { return nil, nil }

func (m *madeUp) Unmarshal(_ []byte, v any) error {
	left := m.bytes
	next := func(n int) int {
		if len(left) == 0 {
			return 0
		}
		b := int(left[0])
		left = left[1:]
		return b % n
	}
	key := func() string {
		return []string{"sub", "a", "join", "asks", START, END, "nowhere"}[next(7)]
	}
	value := func() any {
		return []any{nil, "text", 7, kv{"sub": "s", "a": 1}, kv(nil), &counters{}, []string{"x"}, (*counters)(nil)}[next(8)]
	}
	var fill func(cp *checkpoint, depth int)
	fill = func(cp *checkpoint, depth int) {
		cp.State = value()
		cp.Channels = map[string]*channel{key(): nil}
		for range next(6) {
			from := key()
			cp.Channels[key()] = &channel{Values: map[string]any{from: value(), key(): value()},
				Controls: map[string]control{from: control(next(5))}, Arrived: map[string]bool{from: next(2) == 0}}
		}
		cp.Inputs = map[string]any{}
		for range next(4) {
			cp.Inputs[key()] = value()
		}
		cp.SkipPreHandler = map[string]bool{key(): true}
		for range next(4) {
			cp.RerunNodes = append(cp.RerunNodes, key())
		}
		cp.SubGraphs = map[string]*checkpoint{key(): nil}
		if depth > 0 {
			nested := &checkpoint{}
			fill(nested, depth-1)
			cp.SubGraphs[key()] = nested
		}
		cp.InterruptID2Addr = map[string]core.Address{"i": {{Type: AddressSegmentNode, ID: key()}}, "j": nil}
		cp.InterruptID2State = map[string]core.InterruptState{"i": {State: value()}, "k": {}}
	}
	switch v := v.(type) {
	case *checkpoint:
		fill(v, 2)
	case *stateBox: // the copy of a state
		v.State = value()
	}
	return nil
}

// A checkpoint that fits the format but not the graph: the same.
func FuzzCheckpointContent(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("checkpoint"))
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 1, 1, 1, 2, 2, 2, 3, 3, 3})
	made := &madeUp{}
	s := newStore()
	graphs := fuzzedGraphs(f, s, WithSerializer(made))
	f.Fuzz(func(t *testing.T, data []byte) {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		made.bytes = data
		for _, r := range graphs {
			s.data["id"] = nil
			_, err := r.Invoke(ctx, "x", WithCheckPointID("id"))
			noPanic(t, err)
			s.data["id"] = nil
			sr, err := r.Stream(ctx, "x", WithCheckPointID("id"))
			noPanic(t, err)
			if err == nil {
				_, err = concatStream(sr)
				noPanic(t, err)
			}
		}
		require.NoError(t, ctx.Err(), "a call hung")
	})
}

func noPanic(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		require.NotContains(t, err.Error(), "panic error")
	}
}

// Whatever is in the store: a call ends, with a result or an error, and does not panic.
func FuzzCheckpointDecode(f *testing.F) {
	s := newStore()
	graphs := fuzzedGraphs(f, s)
	for _, r := range graphs {
		_, err := r.Invoke(context.Background(), "x", WithCheckPointID("seed"))
		require.Error(f, err)
		data := s.data["seed"]
		f.Add(data)
		f.Add(data[:len(data)/2])
	}
	f.Add([]byte{})
	f.Add([]byte("null"))
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		s := newStore()
		for _, r := range fuzzedGraphs(t, s) {
			s.data["id"] = data
			_, err := r.Invoke(ctx, "x", WithCheckPointID("id"))
			noPanic(t, err)
			s.data["id"] = data
			if sr, err := r.Stream(ctx, "x", WithCheckPointID("id")); err == nil {
				_, _ = concatStream(sr)
			}
		}
		require.NoError(t, ctx.Err(), "a call hung")
	})
}
