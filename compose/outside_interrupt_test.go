package compose

import (
	"context"
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
func after(d time.Duration, r Runnable[string, string], call func(ctx context.Context) (string, error), opts ...GraphInterruptOption) (string, error) {
	ctx, interrupt := WithGraphInterrupt(context.Background())
	timer := time.AfterFunc(d, func() { interrupt(opts...) })
	defer timer.Stop()
	return call(ctx)
}

func TestOutsideInterrupt_G1(t *testing.T) {
	cases := []struct {
		name  string
		opts  []GraphInterruptOption
		after []string
		rerun []string
	}{
		{"no timeout: the node finishes", nil, []string{"a"}, nil},
		{"an hour: the node finishes", []GraphInterruptOption{WithGraphInterruptTimeout(time.Hour)}, []string{"a"}, nil},
		{"a second: the node is given up", []GraphInterruptOption{WithGraphInterruptTimeout(time.Second)}, nil, []string{"a"}},
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

func TestOutsideInterrupt_G2_TheResultWinsIfItIsThere(t *testing.T) {
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

func TestOutsideInterrupt_G5_NestedGraphsHaveTheSameGrace(t *testing.T) {
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

func TestOutsideInterrupt_G4_FinishedSiblingsAreKept(t *testing.T) {
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
	g := fan(t, func(g *Graph[string, string], key string) error { return g.AddLambdaNode(key, keyedSuffix(key)) }, "a", "b")
	out, err := compiled[string, string](t, g).Invoke(ctx, "x")
	require.NoError(t, err)
	require.Equal(t, "[xa][xb]", out)
}
