package compose

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// counting is a kind that counts how often it is compared.
type counting struct {
	kind
	asked *int
}

func (c counting) Type() reflect.Type {
	*c.asked++
	return c.kind.Type()
}

// The type of a chain of passthroughs is found with work that grows with the chain, from whichever end it is known, and
// so is the plan.
func TestGraph_InferringIsLinear(t *testing.T) {
	const n = 2000
	key := func(i int) string { return fmt.Sprint("p", i) }
	orders := map[string]func(connect func(i int)){
		"forward": func(connect func(i int)) {
			for i := range n + 1 {
				connect(i)
			}
		},
		"backward": func(connect func(i int)) {
			for i := range n + 1 {
				connect(n - i)
			}
		},
		"from the middle": func(connect func(i int)) {
			for i := 1; i < n; i++ {
				connect(i)
			}
			connect(n)
			connect(0)
		},
	}
	for name, order := range orders {
		t.Run(name, func(t *testing.T) {
			asked := 0
			k := counting{kindOf[string]{}, &asked}
			g := newGraphBuilder(ComponentOfGraph, k, k, nil)
			for i := range n {
				require.NoError(t, g.addNode(key(i), passthroughBody(), nil))
			}
			order(func(i int) {
				from, to := START, END
				if i > 0 {
					from = key(i - 1)
				}
				if i < n {
					to = key(i)
				}
				require.NoError(t, g.connect(from, to))
			})
			_, err := g.compilePlan(newCompileOptions(nil))
			require.NoError(t, err)
			require.Less(t, asked, 50*n)
		})
	}
}

// layers builds a graph of fully connected layers.
func layers(t *testing.T, width, depth int) *Graph[string, string] {
	g := NewGraph[string, string]()
	key := func(layer, i int) string { return fmt.Sprint("n", layer, "-", i) }
	for i := range width {
		for layer := range depth {
			require.NoError(t, g.AddLambdaNode(key(layer, i), suffix("")))
		}
		require.NoError(t, g.AddEdge(START, key(0, i)))
		require.NoError(t, g.AddEdge(key(depth-1, i), END))
	}
	for layer := 1; layer < depth; layer++ {
		for from := range width {
			for to := range width {
				if err := g.AddEdge(key(layer-1, from), key(layer, to)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return g
}

// Fifteen times the edges take some fifteen times as long. Where each edge was compared with all others they took 150
// times as long, in each of the rounds; what else the machine does makes some rounds slower, and none faster.
func TestGraph_AddingEdgesIsLinear(t *testing.T) {
	few, many := time.Hour, time.Hour
	for range 50 {
		few = min(few, timeOfLayers(t, 20, 3))   // 840 edges
		many = min(many, timeOfLayers(t, 80, 3)) // 12,960
		if many < 80*few {
			return
		}
	}
	require.Fail(t, "it is not linear", "%v for 840 edges, %v for 12,960", few, many)
}

func timeOfLayers(t *testing.T, width, depth int) time.Duration {
	t.Helper()
	began := time.Now()
	layers(t, width, depth)
	return time.Since(began)
}
