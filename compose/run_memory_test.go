package compose

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/internal/mock/racedetector"
	"github.com/weftgo/weft/schema"
)

// memoryState holds what the runs of memoryGraph remember.
type memoryState struct{ seen []string }

// memoryGraph is START → split → (left and right, or right alone) → join → END. What a run does depends on its input:
// nodes fail, panic, ask for an interrupt, or end their goroutine, and the branch may choose wrongly.
func memoryGraph(t *testing.T, mode NodeTriggerMode) Runnable[string, map[string]any] {
	g := NewGraph[string, map[string]any](WithGenLocalState(func(context.Context) *memoryState { return &memoryState{} }))
	work := func(name string) *Lambda {
		return InvokableLambda(func(ctx context.Context, in string) (string, error) {
			err := ProcessState(ctx, func(_ context.Context, s *memoryState) error {
				s.seen = append(s.seen, in)
				return nil
			})
			switch kind, _, _ := strings.Cut(in, " "); {
			case err != nil:
				return "", err
			case kind == name+"-fails":
				return "", fmt.Errorf("failed: %s", in)
			case kind == name+"-panics":
				panic("panicked: " + in)
			case kind == name+"-asks":
				return "", Interrupt(ctx, in)
			}
			return in, nil
		})
	}
	for _, n := range []string{"split", "left", "right"} {
		var opts []GraphAddNodeOpt
		if n != "split" {
			opts = append(opts, WithOutputKey(n))
		}
		require.NoError(t, g.AddLambdaNode(n, work(n), opts...))
	}
	require.NoError(t, g.AddEdge(START, "split"))
	require.NoError(t, g.AddBranch("split",
		NewGraphMultiBranch(func(ctx context.Context, in string) (map[string]bool, error) {
			if strings.HasPrefix(in, "strays") {
				return nil, fmt.Errorf("strayed: %s", in)
			}
			if strings.HasPrefix(in, "alone") {
				return map[string]bool{"right": true}, nil
			}
			return map[string]bool{"left": true, "right": true}, nil
		}, map[string]bool{"left": true, "right": true})))
	require.NoError(t, g.AddLambdaNode("join",
		InvokableLambda(func(ctx context.Context, in map[string]any) (map[string]any, error) {
			return in, ProcessState(ctx, func(_ context.Context, s *memoryState) error {
				in["seen"] = len(s.seen)
				for _, seen := range s.seen {
					if seen != s.seen[0] {
						return fmt.Errorf("the state is that of %q and %q", s.seen[0], seen)
					}
				}
				return nil
			})
		})))
	for _, from := range []string{"left", "right"} {
		require.NoError(t, g.AddEdge(from, "join"))
	}
	require.NoError(t, g.AddEdge("join", END))
	r, err := g.Compile(context.Background(), WithNodeTriggerMode(mode))
	require.NoError(t, err)
	return r
}

// TestRun_MemoryIsOfOneRunAtATime: runs use memory of runs that ended before them, however those ended. Nothing of one
// shows in another.
func TestRun_MemoryIsOfOneRunAtATime(t *testing.T) {
	kinds := []string{"both", "alone", "strays", "split-fails", "left-fails", "right-panics", "left-asks", "split-asks",
		"split-panics"}
	for _, mode := range []NodeTriggerMode{AnyPredecessor, AllPredecessor} {
		r := memoryGraph(t, mode)
		var all sync.WaitGroup
		for worker := range 16 {
			all.Go(func() {
				for i := range 200 {
					in := fmt.Sprintf("%s %d %d", kinds[(worker+i)%len(kinds)], worker, i)
					var out map[string]any
					var err error
					if i%2 == 0 {
						out, err = r.Invoke(context.Background(), in)
					} else {
						var s *schema.StreamReader[map[string]any]
						if s, err = r.Stream(context.Background(), in); err == nil {
							out, err = concatStream(s)
						}
					}
					requireMemory(t, in, out, err)
				}
			})
		}
		all.Wait()
	}
}

// requireMemory checks that a run has had its own input and nothing else.
func requireMemory(t *testing.T, in string, out map[string]any, err error) {
	kind, _, _ := strings.Cut(in, " ")
	info, interrupted := ExtractInterruptInfo(err)
	switch {
	case kind == "both":
		if !interrupted && err == nil && fmt.Sprint(out) == fmt.Sprint(map[string]any{"left": in, "right": in, "seen": 3}) {
			return
		}
	case kind == "alone":
		if err == nil && fmt.Sprint(out) == fmt.Sprint(map[string]any{"right": in, "seen": 2}) {
			return
		}
	case strings.HasSuffix(kind, "-asks"):
		if interrupted && info.InterruptContexts[0].Info == in {
			return
		}
	case err != nil && strings.Contains(err.Error(), in):
		return
	}
	t.Errorf("%s: got %v, %v", in, out, err)
}

// TestRun_MemoryOfNestedGraphsIsLinear: a level costs the same wherever it is.
func TestRun_MemoryOfNestedGraphsIsLinear(t *testing.T) {
	if racedetector.Enabled {
		t.Skip("the race detector empties pools at random")
	}
	memory := func(levels int) (bytes uint64) {
		var inner AnyGraph = passing(t, nil)
		for range levels - 2 {
			inner = passing(t, inner)
		}
		r, err := passing(t, inner).Compile(t.Context())
		require.NoError(t, err)
		const runs = 50
		for i := range 2 * runs {
			if i == runs { // the pools are full
				bytes = allocated()
			}
			_, err := r.Invoke(t.Context(), "x")
			require.NoError(t, err)
		}
		return (allocated() - bytes) / runs
	}
	few, many := memory(20), memory(200)
	require.Less(t, many, 15*few, "ten times the levels")
}

func allocated() uint64 {
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.TotalAlloc
}

// passing is a graph with one node: inner, or a function.
func passing(t *testing.T, inner AnyGraph) *Graph[string, string] {
	g := NewGraph[string, string]()
	if inner == nil {
		require.NoError(t, g.AddLambdaNode("n",
			InvokableLambda(func(_ context.Context, in string) (string, error) { return in, nil })))
	} else {
		require.NoError(t, g.AddGraphNode("n", inner))
	}
	require.NoError(t, g.AddEdge(START, "n"))
	require.NoError(t, g.AddEdge("n", END))
	return g
}
