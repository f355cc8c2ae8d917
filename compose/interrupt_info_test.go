package compose

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/internal/core"
)

// What an interrupted call returns.
// Rule compose/I-6.
func TestInterrupt_TheRootReturnsItsContexts(t *testing.T) {
	g := NewGraph[string, *counters]()
	require.NoError(t, g.AddLambdaNode("n", InvokableLambda(func(ctx context.Context, _ string) (*counters, error) {
		return &counters{Pre: 1}, Interrupt(ctx, "why")
	})))
	line(t, g, "n")
	r := compiled[string, *counters](t, g, WithGraphName("g"))
	ctx := context.Background()
	out, err := r.Invoke(ctx, "x")
	require.Nil(t, out)
	check := func(err error) {
		t.Helper()
		info := interrupted(t, err)
		wrapped, ok := ExtractInterruptInfo(fmt.Errorf("my agent: %w", err))
		require.True(t, ok)
		require.Same(t, info, wrapped)
		require.EqualError(t, err, fmt.Sprintf("interrupt happened, info: %+v", info))
		var provider core.InterruptContextsProvider
		require.ErrorAs(t, err, &provider)
		require.Equal(t, info.InterruptContexts, provider.GetInterruptContexts())
		require.Len(t, info.InterruptContexts, 1)
		require.Equal(t, "runnable:g;node:n", info.InterruptContexts[0].Address.String())
		require.Equal(t, "why", info.InterruptContexts[0].Info)
	}
	check(err)
	s, err := r.Stream(ctx, "x")
	require.Nil(t, s)
	check(err)
	out, err = r.Collect(ctx, singleOf("x"))
	require.Nil(t, out)
	check(err)
	s, err = r.Transform(ctx, singleOf("x"))
	require.Nil(t, s)
	check(err)

	for _, other := range []error{nil, errBoom, InterruptAndRerun, Interrupt(ctx, "no run returned it")} {
		info, ok := ExtractInterruptInfo(other)
		require.False(t, ok)
		require.Nil(t, info)
	}
}

// The info of a run has the ID under which it was saved, the info of a nested graph does not.
func TestInterrupt_InfoHasTheCheckPointID(t *testing.T) {
	inner := NewGraph[string, string]()
	require.NoError(t, inner.AddLambdaNode("n", InvokableLambda(func(ctx context.Context, _ string) (string, error) {
		return "", Interrupt(ctx, "why")
	})))
	line(t, inner, "n")
	g := NewGraph[string, string]()
	require.NoError(t, g.AddGraphNode("sub", inner))
	line(t, g, "sub")
	r := compiled[string, string](t, g, WithCheckPointStore(newStore()))
	for want, opts := range map[string][]Option{
		"":      nil,
		"one":   {WithCheckPointID("one")},
		"other": {WithCheckPointID("two"), WithWriteToCheckPointID("other")},
	} {
		_, err := r.Invoke(context.Background(), "x", opts...)
		info := interrupted(t, err)
		require.Equal(t, want, info.CheckPointID)
		require.Empty(t, info.SubGraphs["sub"].CheckPointID)
	}
}

// What the info says, of every source of interrupts in one step.
// Rule compose/I-7.
func TestInterrupt_InfoListsEverySource(t *testing.T) {
	state := func(n int) NewGraphOption {
		return WithGenLocalState(func(context.Context) *counters { return &counters{Pre: n} })
	}
	for mode, opts := range modes {
		forEachRunKind(t, func(t *testing.T, call caller) {
			inner := NewGraph[string, string](state(2))
			require.NoError(t, inner.AddLambdaNode("i", asks("inner")))
			line(t, inner, "i")
			var live *counters
			g := NewGraph[string, string](WithGenLocalState(func(context.Context) *counters {
				live = &counters{Pre: 1}
				return live
			}))
			require.NoError(t, g.AddGraphNode("sub", inner, WithOutputKey("sub")))
			require.NoError(t, g.AddLambdaNode("done", suffix("d"), WithOutputKey("done")))
			require.NoError(t, g.AddLambdaNode("asks", asks("why"), WithOutputKey("asks")))
			require.NoError(t, g.AddLambdaNode("silent",
				InvokableLambda(func(context.Context, string) (string, error) { return "", InterruptAndRerun }),
				WithOutputKey("silent")))
			require.NoError(t, g.AddLambdaNode("join", joinKeys("sub", "done", "asks", "silent")))
			for _, k := range []string{"sub", "done", "asks", "silent"} {
				require.NoError(t, g.AddEdge(START, k))
				require.NoError(t, g.AddEdge(k, "join"))
			}
			require.NoError(t, g.AddEdge("join", END))
			r := compiled[string, string](t, g, append(opts, WithInterruptAfterNodes([]string{"done"}), WithGraphName("g"))...)
			_, err := call(r, context.Background())
			info := interrupted(t, err)

			require.Equal(t, &counters{Pre: 1}, info.State, mode)
			require.NotSame(t, live, info.State, "the state is a copy")
			require.Nil(t, info.BeforeNodes)
			require.Equal(t, []string{"done"}, info.AfterNodes)
			require.Equal(t, []string{"asks", "silent"}, info.RerunNodes, "not the nested graph")
			require.Equal(t, map[string]any{"asks": "why"}, info.RerunNodesExtra, "a node without info is absent")
			require.Len(t, info.SubGraphs, 1)
			nested := info.SubGraphs["sub"]
			require.Equal(t, &counters{Pre: 2}, nested.State)
			require.Equal(t, []string{"i"}, nested.RerunNodes)
			require.Equal(t, map[string]any{"i": "inner"}, nested.RerunNodesExtra)
			require.NotNil(t, nested.SubGraphs)
			require.Nil(t, nested.AfterNodes)
			require.Empty(t, nested.InterruptContexts, "the root has them all")
			require.Len(t, info.InterruptContexts, 3)
		})
	}

	// Without a state, and with lists alone.
	g := fan(t, func(g *Graph[string, string], key string) error {
		return g.AddLambdaNode(key, suffix(key), WithOutputKey(key))
	}, "b", "a")
	_, err := compiled[string, string](t, g, WithInterruptBeforeNodes([]string{"a", "b"})).Invoke(context.Background(),
		"x")
	require.Equal(t, &InterruptInfo{
		BeforeNodes:       []string{"b", "a"}, // in the order of the nodes
		RerunNodesExtra:   map[string]any{},
		SubGraphs:         map[string]*InterruptInfo{},
		InterruptContexts: interrupted(t, err).InterruptContexts,
	}, interrupted(t, err))
	require.Len(t, interrupted(t, err).InterruptContexts, 1)
}
