package compose

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/schema"
)

// Neither START nor END takes a step: n nodes in a row need n.
// Rule compose/X-2.
func TestSteps_StartAndEndTakeNoStep(t *testing.T) {
	const n = 4
	g := NewGraph[string, string]()
	var keys []string
	for i := range n {
		keys = append(keys, fmt.Sprint("n", i))
		require.NoError(t, g.AddLambdaNode(keys[i], suffix(fmt.Sprint(i))))
	}
	line(t, g, keys...)
	forms4(t, compiled[string, string](t, g, WithMaxRunSteps(n)), "x", "x0123")
	for _, err := range fails(t, compiled[string, string](t, g, WithMaxRunSteps(n-1)), "x") {
		require.ErrorIs(t, err, ErrExceedMaxSteps)
	}
}

// A step is over when all its nodes have returned, post-handlers included; by dependencies no node waits for nodes that
// do not concern it.
// Rule compose/X-4.
func TestSteps_AStepEndsWhenItsNodesReturned(t *testing.T) {
	for mode, want := range map[string]time.Duration{"steps": 15 * time.Second, "dag": time.Second,
		"dag steps": 15 * time.Second} {
		t.Run(mode, func(t *testing.T) {
			forEachRunKind(t, func(t *testing.T, call caller) {
				synctest.Test(t, func(t *testing.T) {
					begin := time.Now()
					var started time.Duration
					g := NewGraph[string, string](WithGenLocalState(func(context.Context) *counters { return &counters{} }))
					require.NoError(t, g.AddLambdaNode("fast", sleeper(time.Second, "f")))
					require.NoError(t, g.AddLambdaNode("slow", sleeper(10*time.Second, "s"), WithOutputKey("slow"),
						WithStatePostHandler(func(_ context.Context, out kv, _ *counters) (kv, error) {
							time.Sleep(5 * time.Second)
							return out, nil
						})))
					require.NoError(t, g.AddLambdaNode("next", InvokableLambda(func(_ context.Context, in string) (string, error) {
						started = time.Since(begin)
						return in + "n", nil
					}), WithOutputKey("next")))
					require.NoError(t, g.AddLambdaNode("join", joinKeys("slow", "next")))
					for _, e := range [][2]string{{START, "fast"}, {START, "slow"}, {"fast", "next"}, {"next", "join"},
						{"join", END}} {
						require.NoError(t, g.AddEdge(e[0], e[1]))
					}
					if mode != "steps" { // there join would run with what came first
						require.NoError(t, g.AddEdge("slow", "join"))
					}
					_, err := call(compiled[string, string](t, g, modes[mode]...), context.Background())
					require.NoError(t, err)
					require.Equal(t, want, started)
				})
			})
		})
	}
}

// In a run of streams a node has returned when its reader is there: the next ones run while it still produces.
// Rule compose/X-4.
func TestSteps_StreamsContinueAcrossSteps(t *testing.T) {
	for mode, opts := range modes {
		t.Run(mode, func(t *testing.T) {
			g := NewGraph[string, string]()
			read := make(chan string)
			require.NoError(t, g.AddLambdaNode("source",
				StreamableLambda(func(context.Context, string) (*schema.StreamReader[string], error) {
					sr, sw := schema.Pipe[string](0)
					go func() {
						defer sw.Close()
						sw.Send("1", nil)
						sw.Send("after "+<-read, nil) // only once the last node has seen the first chunk
					}()
					return sr, nil
				})))
			require.NoError(t, g.AddLambdaNode("through", streamSuffix("-")))
			require.NoError(t, g.AddLambdaNode("last",
				TransformableLambda(func(_ context.Context, in *schema.StreamReader[string]) (*schema.StreamReader[string], error) {
					first, err := in.Recv()
					if err != nil {
						return nil, err
					}
					read <- first
					return in, nil
				})))
			line(t, g, "source", "through", "last")
			s, err := compiled[string, string](t, g, opts...).Stream(context.Background(), "x")
			require.NoError(t, err)
			require.Equal(t, []string{"after 1--"}, readAll(t, s))
		})
	}
}

// goroutine names the goroutine that it is called on.
func goroutine() string {
	buf := make([]byte, 64)
	name, _, _ := bytes.Cut(buf[:runtime.Stack(buf, false)], []byte("["))
	return string(name)
}

// What is ready at the same time runs at the same time, each on a goroutine of its own; one may be the caller's, and is
// where that holds up no other node.
// Rule compose/X-5.
func TestSteps_ReadyNodesRunSideBySide(t *testing.T) {
	for mode, opts := range modes {
		for _, n := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s/%d nodes", mode, n), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { // a node that waits for one that never starts is a deadlock
					var all []string
					for i := range n {
						all = append(all, fmt.Sprint(i))
					}
					arrived, meet := &atomic.Int32{}, make(chan struct{})
					on := make([]string, n)
					g := fan(t, func(g *Graph[string, string], key string) error {
						return g.AddLambdaNode(key, InvokableLambda(func(_ context.Context, in string) (string, error) {
							on[key[0]-'0'] = goroutine()
							if int(arrived.Add(1)) == n {
								close(meet)
							}
							<-meet
							return in, nil
						}), WithOutputKey(key))
					}, all...)
					r := compiled[string, string](t, g, opts...)
					run := func(ctx context.Context) (onCaller int) {
						arrived.Store(0)
						meet = make(chan struct{})
						out, err := r.Invoke(ctx, "x")
						require.NoError(t, err)
						require.Equal(t, strings.Repeat("[x]", n), out)
						seen := map[string]bool{}
						for _, id := range on {
							seen[id] = true
							if id == goroutine() {
								onCaller++
							}
						}
						require.Len(t, seen, n)
						return onCaller
					}
					onCaller := run(context.Background())
					if mode != "dag" || n == 1 { // by dependencies the caller has to take what ends first
						require.Equal(t, 1, onCaller)
					}
					ctx, _ := WithGraphInterrupt(context.Background())
					require.Zero(t, run(ctx), "a node on the caller's goroutine cannot be given up")
				})
			})
		}
	}
}

// Of several failures that which came first is the run's; those who were cancelled by it do not count.
// Rule compose/X-11.
func TestSteps_TheFirstFailureCounts(t *testing.T) {
	for mode, opts := range modes {
		t.Run(mode, func(t *testing.T) {
			forEachRunKind(t, func(t *testing.T, call caller) {
				synctest.Test(t, func(t *testing.T) {
					begin := time.Now()
					g := fan(t, func(g *Graph[string, string], key string) error {
						return g.AddLambdaNode(key, InvokableLambda(func(ctx context.Context, _ string) (string, error) {
							switch key {
							case "first":
								time.Sleep(time.Second)
							case "second": // does not look at its context
								time.Sleep(5 * time.Second)
							case "cancelled":
								<-ctx.Done()
							}
							return "", errors.New(key + " failed")
						}), WithOutputKey(key))
					}, "cancelled", "second", "first")
					_, err := call(compiled[string, string](t, g, opts...), context.Background())
					require.EqualError(t, err, "[NodeRunError] first failed\n------------------------\nnode path: [first]")
					require.Equal(t, 5*time.Second, time.Since(begin), "the others were waited for")
				})
			})
		})
	}
}

// By dependencies a node runs once, however many ways lead to it and however far apart they end.
// Rule compose/X-25.
func TestSteps_ANodeFiresOnce(t *testing.T) {
	for _, mode := range []string{"dag", "dag steps"} {
		t.Run(mode, func(t *testing.T) {
			forEachRunKind(t, func(t *testing.T, call caller) {
				synctest.Test(t, func(t *testing.T) {
					var fired atomic.Int32
					g := NewGraph[string, string]()
					require.NoError(t, g.AddLambdaNode("join", InvokableLambda(func(_ context.Context, in kv) (string, error) {
						fired.Add(1)
						return fmt.Sprint(in["a"], in["b"], in["c"]), nil
					})))
					for i, k := range []string{"a", "b", "c"} {
						require.NoError(t, g.AddLambdaNode(k, sleeper(time.Duration(i)*time.Second, k), WithOutputKey(k)))
						require.NoError(t, g.AddEdge(START, k))
						require.NoError(t, g.AddEdge(k, "join"))
						require.NoError(t, g.AddBranch(k,
							NewGraphBranch(func(context.Context, kv) (string, error) { return "join", nil }, map[string]bool{"join": true})))
					}
					require.NoError(t, g.AddEdge("join", END))
					r := compiled[string, string](t, g, modes[mode]...)
					for range 2 { // the second run finds nothing of the first
						out, err := call(r, context.Background())
						require.NoError(t, err)
						require.Equal(t, "xaxbxc", out)
					}
					require.EqualValues(t, 2, fired.Load())
				})
			})
		})
	}
}

// A state handler that has to join a slow stream first holds up only its own node.
// Rule compose/B22.31.
func TestSteps_ASlowStreamDelaysOnlyItsNode(t *testing.T) {
	state := WithGenLocalState(func(context.Context) *counters { return &counters{} })
	slow := StreamableLambda(func(_ context.Context, in string) (*schema.StreamReader[string], error) {
		sr, sw := schema.Pipe[string](0)
		go func() {
			defer sw.Close()
			for _, c := range []string{in, "slow"} {
				time.Sleep(5 * time.Second)
				sw.Send(c, nil)
			}
		}()
		return sr, nil
	})
	handler := func(_ context.Context, v string, _ *counters) (string, error) { return v, nil }
	cases := map[string]func(g *Graph[string, string]) error{
		"a pre-handler": func(g *Graph[string, string]) error {
			return errors.Join(g.AddLambdaNode("slow", slow),
				g.AddLambdaNode("reads", streamSuffix("r"), WithStatePreHandler(handler), WithOutputKey("reads")),
				g.AddEdge("slow", "reads"))
		},
		"a post-handler": func(g *Graph[string, string]) error {
			return errors.Join(g.AddLambdaNode("slow", slow, WithStatePostHandler(handler)),
				g.AddLambdaNode("reads", streamSuffix("r"), WithOutputKey("reads")),
				g.AddEdge("slow", "reads"))
		},
		"a condition": func(g *Graph[string, string]) error {
			return errors.Join(g.AddLambdaNode("slow", slow),
				g.AddLambdaNode("reads", streamSuffix("r"), WithOutputKey("reads")),
				g.AddBranch("slow", NewGraphBranch(choose("reads"), map[string]bool{"reads": true})))
		},
		"a condition on the stream": func(g *Graph[string, string]) error {
			patient := func(_ context.Context, s *schema.StreamReader[string]) (string, error) {
				_, err := s.Recv()
				s.Close()
				return "reads", err
			}
			return errors.Join(g.AddLambdaNode("slow", slow),
				g.AddLambdaNode("reads", streamSuffix("r"), WithOutputKey("reads")),
				g.AddBranch("slow", NewStreamGraphBranch(patient, map[string]bool{"reads": true})))
		},
	}
	for name, build := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				var started time.Duration
				g := NewGraph[string, string](state)
				require.NoError(t, build(g))
				require.NoError(t, g.AddLambdaNode("fast", sleeper(time.Second, "f")))
				require.NoError(t, g.AddLambdaNode("next", InvokableLambda(func(_ context.Context, in string) (string, error) {
					started = time.Since(begin)
					return in, nil
				}), WithOutputKey("next")))
				require.NoError(t, g.AddLambdaNode("join", joinKeys("reads", "next")))
				for _, e := range [][2]string{{START, "slow"}, {START, "fast"}, {"fast", "next"}, {"reads", "join"},
					{"next", "join"}, {"join", END}} {
					require.NoError(t, g.AddEdge(e[0], e[1]))
				}
				s, err := compiled[string, string](t, g, WithNodeTriggerMode(AllPredecessor)).Stream(context.Background(), "x")
				require.NoError(t, err)
				_ = readAll(t, s)
				require.Equal(t, time.Second, started)
			})
		})
	}
}

// The context is looked at before a step begins: what runs by then is waited for, nothing new starts, and the
// input of what would have been next is closed.
// Rules compose/X-1, compose/X-12.
func TestSteps_CheckTheContextBetweenSteps(t *testing.T) {
	for mode, opts := range modes {
		t.Run(mode, func(t *testing.T) {
			forEachRunKind(t, func(t *testing.T, call caller) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancel(context.Background())
					begin := time.Now()
					var ran []string
					g := NewGraph[string, string]()
					require.NoError(t, g.AddLambdaNode("cancels", InvokableLambda(func(_ context.Context, in string) (string, error) {
						cancel()
						return in, nil
					}), WithOutputKey("cancels")))
					require.NoError(t, g.AddLambdaNode("ignores", sleeper(5*time.Second, "i"), WithOutputKey("ignores")))
					require.NoError(t, g.AddLambdaNode("next", InvokableLambda(func(_ context.Context, in kv) (string, error) {
						ran = append(ran, "next")
						return "n", nil
					})))
					require.NoError(t, g.AddLambdaNode("also next", InvokableLambda(func(_ context.Context, in kv) (string, error) {
						ran = append(ran, "also next")
						return "n", nil
					})))
					for _, e := range [][2]string{{START, "cancels"}, {START, "ignores"}, {"cancels", "next"},
						{"ignores", "also next"}, {"also next", END}} {
						require.NoError(t, g.AddEdge(e[0], e[1]))
					}
					_, err := call(compiled[string, string](t, g, opts...), ctx)
					require.EqualError(t, err, "[GraphRunError] context has been canceled: context canceled")
					require.ErrorIs(t, err, context.Canceled)
					require.Equal(t, 5*time.Second, time.Since(begin), "what ran was not waited for")
					require.Empty(t, ran)
				})
			})
		})
	}
}

// Between steps only. A node that leads to END makes a run of a done context succeed, one that gives the error of
// its context fails as itself.
// Rule compose/X-12.
func TestSteps_ANodeMayIgnoreItsContext(t *testing.T) {
	for _, ignores := range []bool{true, false} {
		forEachRunKind(t, func(t *testing.T, call caller) {
			ctx, cancel := context.WithCancel(context.Background())
			r := compiled[string, string](t, lineOf(t, InvokableLambda(func(ctx context.Context, in string) (string, error) {
				cancel()
				if ignores {
					return in + "n", nil
				}
				return "", ctx.Err()
			})))
			out, err := call(r, ctx)
			if ignores {
				require.NoError(t, err)
				require.Equal(t, "xn", out)
				return
			}
			require.EqualError(t, err, "[NodeRunError] context canceled\n------------------------\nnode path: [n]")
			require.ErrorIs(t, err, context.Canceled)
		})
	}
	done, cancel := context.WithCancel(context.Background())
	cancel()
	for _, err := range []error{
		func() error {
			_, err := compiled[string, string](t, lineOf(t, suffix("n"))).Invoke(done, "x")
			return err
		}(),
		func() error {
			_, err := compiled[string, string](t, lineOf(t, suffix("n"))).Stream(done, "x")
			return err
		}(),
	} {
		require.EqualError(t, err, "[GraphRunError] context has been canceled: context canceled")
	}
}

// The pre-handlers of all nodes that start together run one after another, before the first of these nodes does;
// one that fails or panics is the failure of its node, and the others still run. Post-handlers run one at a time
// as their nodes end, not for a node that failed.
// Rules compose/X-6, compose/X-7.
func TestSteps_RunStateHandlersOneByOne(t *testing.T) {
	for mode, opts := range modes {
		for _, bad := range []string{"", "error", "panic"} {
			t.Run(mode+"/"+bad, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var mu sync.Mutex
					var events []string
					note := func(event string) {
						mu.Lock()
						defer mu.Unlock()
						events = append(events, event)
					}
					handler := func(what, key string) func(context.Context, string, *counters) (string, error) {
						return func(_ context.Context, v string, s *counters) (string, error) {
							s.Pre++
							require.Equal(t, 1, s.Pre, "two handlers at once")
							time.Sleep(time.Second)
							s.Pre--
							note(what + " " + key)
							switch {
							case what == "post" || key != "b":
							case bad == "error":
								return "", errBoom
							case bad == "panic":
								panic(errBoom)
							}
							return v, nil
						}
					}
					g := NewGraph[string, string](WithGenLocalState(func(context.Context) *counters { return &counters{} }))
					for i, k := range []string{"a", "b", "c"} {
						require.NoError(t, g.AddLambdaNode(k, InvokableLambda(func(_ context.Context, in string) (string, error) {
							note("run " + k)
							time.Sleep(time.Duration(10-2*i) * time.Second) // c ends first
							return in, nil
						}), WithStatePreHandler(handler("pre", k)), WithStatePostHandler(handler("post", k))))
						require.NoError(t, g.AddEdge(START, k))
					}
					require.NoError(t, g.AddLambdaNode("join", suffix("j"), WithStatePreHandler(handler("pre", "join"))))
					require.NoError(t, g.AddEdge("a", "join")) // with the slowest
					require.NoError(t, g.AddEdge("join", END))
					out, err := compiled[string, string](t, g, opts...).Invoke(context.Background(), "x")
					require.GreaterOrEqual(t, len(events), 3)
					require.Equal(t, []string{"pre a", "pre b", "pre c"}, events[:3])
					if bad != "" {
						require.ErrorIs(t, err, errBoom)
						require.ErrorContains(t, err, "node path: [b]")
						require.Subset(t, events, []string{"run a", "run c"})
						require.NotContains(t, events, "run b")
						require.NotContains(t, events, "post b")
						return
					}
					require.NoError(t, err)
					require.Equal(t, "xj", out)
					require.ElementsMatch(t, []string{"run a", "run b", "run c"}, events[3:6])
					require.Equal(t, []string{"post c", "post b", "post a", "pre join"}, events[6:])
				})
			})
		}
	}
}
