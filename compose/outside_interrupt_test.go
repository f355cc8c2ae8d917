package compose

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/schema"
)

// sleeper works for a while and then appends to its input. It does not look at its context.
func sleeper(d time.Duration, s string) *Lambda {
	return InvokableLambda(func(_ context.Context, in string) (string, error) {
		time.Sleep(d)
		return in + s, nil
	})
}

// after runs the graph and interrupts it from outside once some time has passed.
func after(d time.Duration, r Runnable[string, string], call func(ctx context.Context) (string, error),
	opts ...GraphInterruptOption,
) (string, error) {
	ctx, interrupt := WithGraphInterrupt(context.Background())
	timer := time.AfterFunc(d, func() { interrupt(opts...) })
	defer timer.Stop()
	return call(ctx)
}

// Rule compose/G-1.
func TestOutsideInterrupt_WaitsForItsGrace(t *testing.T) {
	cases := []struct {
		name  string
		opts  []GraphInterruptOption
		after []string
		rerun []string
	}{
		{"no timeout: the node finishes", nil, []string{"a"}, nil},
		{"an hour: the node finishes", []GraphInterruptOption{WithGraphInterruptTimeout(time.Hour)}, []string{"a"}, nil},
		{"a second: the node is given up", []GraphInterruptOption{WithGraphInterruptTimeout(time.Second)}, nil,
			[]string{"a"}},
		{"none: the node is given up at once", []GraphInterruptOption{WithGraphInterruptTimeout(0)}, nil, []string{"a"}},
	}
	for mode, opts := range modes {
		for _, c := range cases {
			t.Run(mode+"/"+c.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					g := NewGraph[string, string]()
					require.NoError(t, g.AddLambdaNode("a", sleeper(10*time.Second, "a")))
					require.NoError(t, g.AddLambdaNode("b", suffix("b")))
					line(t, g, "a", "b")
					r := compiled[string, string](t, g, append(opts, WithCheckPointStore(newStore()))...)
					for _, streaming := range []bool{false, true} {
						_, err := after(time.Second, r, func(ctx context.Context) (string, error) {
							if !streaming {
								return r.Invoke(ctx, "x", WithWriteToCheckPointID("id"))
							}
							s, err := r.Transform(ctx, schema.StreamReaderFromArray([]string{"", "x"}), WithWriteToCheckPointID("id"))
							if err != nil {
								return "", err
							}
							return concatStream(s)
						}, c.opts...)
						info := interrupted(t, err)
						require.Equal(t, c.after, info.AfterNodes)
						require.Equal(t, c.rerun, info.RerunNodes)
						out, err := r.Invoke(context.Background(), "", WithCheckPointID("id"))
						require.NoError(t, err)
						require.Equal(t, "xab", out, "the original input was not kept")
						synctest.Wait()
						time.Sleep(time.Minute) // let nodes that were given up end
					}
				})
			})
		}
	}
}

// Rule compose/G-2.
func TestOutsideInterrupt_TheResultWinsIfItIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGraph[string, string]()
		require.NoError(t, g.AddLambdaNode("a", sleeper(10*time.Second, "a")))
		line(t, g, "a")
		r := compiled[string, string](t, g)
		out, err := after(time.Second, r, func(ctx context.Context) (string, error) { return r.Invoke(ctx, "x") })
		require.NoError(t, err)
		require.Equal(t, "xa", out)
	})
}

// Rule compose/G-5.
func TestOutsideInterrupt_NestedGraphsHaveTheSameGrace(t *testing.T) {
	for _, timeout := range []time.Duration{-1, 5 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			inner := NewGraph[string, string]()
			require.NoError(t, inner.AddLambdaNode("i", sleeper(10*time.Second, "i")))
			require.NoError(t, inner.AddLambdaNode("j", suffix("j")))
			line(t, inner, "i", "j")
			g := NewGraph[string, string]()
			require.NoError(t, g.AddGraphNode("sub", inner))
			require.NoError(t, g.AddLambdaNode("b", suffix("b")))
			line(t, g, "sub", "b")
			r := compiled[string, string](t, g, WithCheckPointStore(newStore()))
			var opts []GraphInterruptOption
			if timeout > 0 {
				opts = append(opts, WithGraphInterruptTimeout(timeout))
			}
			_, err := after(time.Second, r, func(ctx context.Context) (string, error) {
				return r.Invoke(ctx, "x", WithCheckPointID("id"))
			}, opts...)
			info := interrupted(t, err)
			require.Contains(t, info.SubGraphs, "sub")
			if timeout > 0 {
				require.Equal(t, []string{"i"}, info.SubGraphs["sub"].RerunNodes)
			} else {
				require.Equal(t, []string{"i"}, info.SubGraphs["sub"].AfterNodes)
			}
			out, err := r.Invoke(context.Background(), "", WithCheckPointID("id"))
			require.NoError(t, err)
			require.Equal(t, "xijb", out)
			time.Sleep(time.Minute)
		})
	}
}

// Rule compose/G-4.
func TestOutsideInterrupt_FinishedSiblingsAreKept(t *testing.T) {
	for mode, opts := range modes {
		t.Run(mode, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := fan(t, func(g *Graph[string, string], key string) error {
					d := time.Second
					if key == "slow" {
						d = time.Hour
					}
					return g.AddLambdaNode(key, sleeper(d, key), WithOutputKey(key))
				}, "fast", "slow")
				r := compiled[string, string](t, g, append(opts, WithCheckPointStore(newStore()))...)
				start := time.Now()
				_, err := after(5*time.Second, r, func(ctx context.Context) (string, error) {
					return r.Invoke(ctx, "x", WithCheckPointID("id"))
				}, WithGraphInterruptTimeout(5*time.Second))
				info := interrupted(t, err)
				require.Equal(t, []string{"slow"}, info.RerunNodes)
				require.Equal(t, 10*time.Second, time.Since(start))
				out, err := r.Invoke(context.Background(), "", WithCheckPointID("id"))
				require.NoError(t, err)
				require.Equal(t, "[xfast][xslow]", out)
				time.Sleep(2 * time.Hour)
			})
		})
	}
}

// Every node of the run keeps its original input, in nested graphs, too: what runs again gets it, through its
// pre-handler, whether it was given up or asked for an interrupt itself.
// Rule compose/G-3.
func TestOutsideInterrupt_OriginalInputsAreKept(t *testing.T) {
	pre := WithStatePreHandler(func(_ context.Context, in string, s *counters) (string, error) {
		s.Pre++
		return fmt.Sprint(in, s.Pre), nil
	})
	state := WithGenLocalState(func(context.Context) *counters { return &counters{} })
	cases := map[string]func(t *testing.T) *Graph[string, string]{
		"given up": func(t *testing.T) *Graph[string, string] {
			g := NewGraph[string, string](state)
			require.NoError(t, g.AddLambdaNode("n", sleeper(time.Hour, "!"), pre))
			line(t, g, "n")
			return g
		},
		"a node asks": func(t *testing.T) *Graph[string, string] {
			g := NewGraph[string, string](state)
			require.NoError(t, g.AddLambdaNode("n", InvokableLambda(func(ctx context.Context, in string) (string, error) {
				if was, _, _ := GetInterruptState[any](ctx); was {
					return in + "!", nil
				}
				return "", Interrupt(ctx, "q")
			}), pre))
			line(t, g, "n")
			return g
		},
	}
	for name, build := range cases {
		for _, nested := range []bool{false, true} {
			for mode, opts := range modes {
				t.Run(fmt.Sprintf("%s/nested=%v/%s", name, nested, mode), func(t *testing.T) {
					forEachRunKind(t, func(t *testing.T, call caller) {
						synctest.Test(t, func(t *testing.T) {
							g := build(t)
							if nested {
								inner := g
								g = NewGraph[string, string]()
								require.NoError(t, g.AddGraphNode("sub", inner))
								line(t, g, "sub")
							}
							r := compiled[string, string](t, g, append(opts, WithCheckPointStore(newStore()))...)
							_, err := after(time.Second, r, func(ctx context.Context) (string, error) {
								return call(r, ctx, WithCheckPointID("id"))
							}, WithGraphInterruptTimeout(0))
							interrupted(t, err)
							out, err := call(r, context.Background(), WithCheckPointID("id"))
							require.NoError(t, err)
							require.Equal(t, "x2!", out)
							time.Sleep(2 * time.Hour) // let nodes that were given up end
						})
					})
				})
			}
		}
	}
}

// A stream is kept whole, however much of it the node has read.
// Rule compose/G-3.
func TestOutsideInterrupt_StreamsAreKeptWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tries atomic.Int32
		var got []string
		g := lineOf(t,
			TransformableLambda(func(_ context.Context, in *schema.StreamReader[string]) (*schema.StreamReader[string], error) {
				defer in.Close()
				if tries.Add(1) == 1 {
					_, err := in.Recv()
					time.Sleep(time.Hour)
					return nil, err
				}
				got = readAll(t, in)
				return singleOf("done"), nil
			}))
		r := compiled[string, string](t, g, WithCheckPointStore(newStore()))
		_, err := after(time.Second, r, func(ctx context.Context) (string, error) {
			return r.Collect(ctx, schema.StreamReaderFromArray([]string{"a", "b", "c"}), WithCheckPointID("id"))
		}, WithGraphInterruptTimeout(0))
		interrupted(t, err)
		out, err := r.Collect(context.Background(), singleOf(""), WithCheckPointID("id"))
		require.NoError(t, err)
		require.Equal(t, "done", out)
		require.Equal(t, []string{"abc"}, got)
		time.Sleep(2 * time.Hour)
	})
}

// A zero value that was made up for a node without an input is not kept as if it had been given.
// Rule compose/B22.18.
func TestOutsideInterrupt_MadeUpInputsAreNotKept(t *testing.T) {
	forEachRunKind(t, func(t *testing.T, call caller) {
		synctest.Test(t, func(t *testing.T) {
			var tries atomic.Int32
			var inputs [3]string
			g := lineOf(t, InvokableLambda(func(ctx context.Context, in string) (string, error) {
				try := tries.Add(1)
				inputs[try-1] = in
				switch try {
				case 1:
					return "", Interrupt(ctx, "q")
				case 2:
					time.Sleep(time.Hour)
				}
				return "done", nil
			}))
			s := newStore()
			r := compiled[string, string](t, g, WithCheckPointStore(s))
			_, err := call(r, context.Background(), WithCheckPointID("id")) // loses the input
			interrupted(t, err)
			require.NotContains(t, decoded(t, s.data["id"]).Inputs, "n")
			_, err = after(time.Second, r, func(ctx context.Context) (string, error) {
				return call(r, ctx, WithCheckPointID("id"))
			}, WithGraphInterruptTimeout(0))
			require.Equal(t, []string{"n"}, interrupted(t, err).RerunNodes)
			require.NotContains(t, decoded(t, s.data["id"]).Inputs, "n")
			_, err = call(r, context.Background(), WithCheckPointID("id"))
			require.NoError(t, err)
			synctest.Wait()
			require.Equal(t, [3]string{"x", "", ""}, inputs)
			time.Sleep(2 * time.Hour)
		})
	})

	// The same for a node that only waits for another one.
	synctest.Test(t, func(t *testing.T) {
		wf := NewWorkflow[string, string]()
		wf.AddLambdaNode("n", sleeper(time.Hour, "n")).AddDependency(START)
		wf.End().AddInput("n")
		s := newStore()
		r := compiled[string, string](t, wf, WithCheckPointStore(s))
		_, err := after(time.Second, r, func(ctx context.Context) (string, error) {
			return r.Invoke(ctx, "x", WithCheckPointID("id"))
		}, WithGraphInterruptTimeout(0))
		interrupted(t, err)
		require.NotContains(t, decoded(t, s.data["id"]).Inputs, "n")
		time.Sleep(2 * time.Hour)
	})
}

// What is kept of a stream is let go as soon as the node has returned, not at the end of the run; and
// without an interrupt from outside nothing is kept.
// Rule compose/B22.23.
func TestOutsideInterrupt_KeptStreamsAreReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, closed := tracked("a", "b", "c")
		g := NewGraph[string, string]()
		require.NoError(t, g.AddLambdaNode("drops",
			TransformableLambda(func(_ context.Context, in *schema.StreamReader[string]) (*schema.StreamReader[string], error) {
				in.Close()
				return singleOf("x"), nil
			})))
		require.NoError(t, g.AddLambdaNode("later", InvokableLambda(func(_ context.Context, in string) (string, error) {
			synctest.Wait()
			select {
			case <-closed:
				return in + " released", nil
			default:
				return in + " kept", nil
			}
		})))
		line(t, g, "drops", "later")
		ctx, _ := WithGraphInterrupt(context.Background())
		out, err := compiled[string, string](t, g).Collect(ctx, in)
		require.NoError(t, err)
		require.Equal(t, "x released", out)
	})

	in, closed := tracked("a", "b", "c")
	g := lineOf(t,
		TransformableLambda(func(_ context.Context, in *schema.StreamReader[string]) (*schema.StreamReader[string], error) {
			in.Close()
			<-closed // the node had the only reader
			return singleOf("x"), nil
		}))
	out, err := compiled[string, string](t, g).Collect(context.Background(), in)
	require.NoError(t, err)
	require.Equal(t, "x", out)
}

// Rules compose/G-6, compose/B22.21.
func TestOutsideInterrupt_CallingAgainOnlyShortens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGraph[string, string]()
		require.NoError(t, g.AddLambdaNode("a", sleeper(time.Hour, "a")))
		require.NoError(t, g.AddLambdaNode("b", suffix("b")))
		line(t, g, "a", "b")
		r := compiled[string, string](t, g)
		ctx, interrupt := WithGraphInterrupt(context.Background())
		time.AfterFunc(1*time.Second, func() { interrupt() })
		time.AfterFunc(2*time.Second, func() { interrupt(WithGraphInterruptTimeout(10 * time.Second)) })
		time.AfterFunc(3*time.Second, func() { interrupt(WithGraphInterruptTimeout(time.Minute)) })
		start := time.Now()
		_, err := r.Invoke(ctx, "x")
		require.Equal(t, []string{"a"}, interrupted(t, err).RerunNodes)
		require.Equal(t, 12*time.Second, time.Since(start))
		interrupt()
		interrupt(WithGraphInterruptTimeout(0))
		time.Sleep(2 * time.Hour)
	})
}

func TestOutsideInterrupt_UnusedChangesNothing(t *testing.T) {
	ctx, _ := WithGraphInterrupt(context.Background())
	g := fan(t, func(g *Graph[string, string], key string) error { return g.AddLambdaNode(key, keyedSuffix(key)) }, "a",
		"b")
	out, err := compiled[string, string](t, g).Invoke(ctx, "x")
	require.NoError(t, err)
	require.Equal(t, "[xa][xb]", out)
}

// TestOutsideInterrupt_LeavesNoTimer: the timer for the nodes' time ends with the run, and is started again if the run
// is resumed under the same context.
func TestOutsideInterrupt_LeavesNoTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGraph[string, string]()
		require.NoError(t, g.AddLambdaNode("a", sleeper(10*time.Second, "a")))
		require.NoError(t, g.AddLambdaNode("b", sleeper(time.Hour, "b")))
		line(t, g, "a", "b")
		r := compiled[string, string](t, g, WithCheckPointStore(newStore()))
		var none context.Context // code of users may bring one
		ctx, interrupt := WithGraphInterrupt(none)
		time.AfterFunc(time.Second, func() { interrupt(WithGraphInterruptTimeout(time.Minute)) })
		_, err := r.Invoke(ctx, "x", WithCheckPointID("id"))
		interrupted(t, err)
		require.Nil(t, outsideInterruptFrom(ctx).timer)

		begun := time.Now()
		_, err = r.Invoke(ctx, "", WithCheckPointID("id"))
		interrupted(t, err)
		require.Equal(t, 51*time.Second, time.Since(begun))
		time.Sleep(time.Hour) // let the node that was given up end
	})
}
