package compose

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/schema"
)

// When a node fails, the nodes that run beside it are cancelled with the failure as the cause, and waited for.
// Rules compose/X-11, compose/B22.20.
func TestLifecycle_SiblingsOfAFailureAreCancelledAndJoined(t *testing.T) {
	for mode, opts := range modes {
		t.Run(mode, func(t *testing.T) {
			var left atomic.Int32
			g := fan(t, func(g *Graph[string, string], key string) error {
				return g.AddLambdaNode(key, InvokableLambda(func(ctx context.Context, _ string) (string, error) {
					if key == "bad" {
						return "", errBoom
					}
					<-ctx.Done()
					left.Add(1)
					return "", context.Cause(ctx)
				}), WithOutputKey(key))
			}, "a", "bad", "b")
			_, err := compiled[string, string](t, g, opts...).Invoke(context.Background(), "x")
			require.ErrorIs(t, err, errBoom)
			require.Contains(t, err.Error(), "node path: [bad]")
			require.EqualValues(t, 2, left.Load(), "the run returned before its nodes")
		})
	}
}

func TestLifecycle_ADoneContextEndsTheRun(t *testing.T) {
	cause := errors.New("the user left")
	ctx, cancel := context.WithCancelCause(context.Background())
	g := NewGraph[int, int]()
	require.NoError(t, g.AddLambdaNode("n", InvokableLambda(func(_ context.Context, in int) (int, error) {
		if in == 3 {
			cancel(cause)
		}
		return in + 1, nil
	})))
	require.NoError(t, g.AddEdge(START, "n"))
	require.NoError(t, g.AddBranch("n",
		NewGraphBranch(func(context.Context, int) (string, error) { return "n", nil },
			map[string]bool{"n": true, END: true})))
	_, err := compiled[int, int](t, g, WithMaxRunSteps(1000)).Invoke(ctx, 0)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, cause)
	require.ErrorContains(t, err, "context has been canceled: context canceled")
}

// A stream run must not cancel the producers that still feed its result.
// Rule compose/B22.20.
func TestLifecycle_ProducersOfAResultOutliveTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		producer := func(key string) *Lambda {
			return StreamableLambda(func(ctx context.Context, in string) (*schema.StreamReader[map[string]any], error) {
				sr, sw := schema.Pipe[map[string]any](0)
				go func() {
					defer sw.Close()
					for i := range 3 {
						select {
						case <-ctx.Done():
							sw.Send(nil, ctx.Err())
							return
						case <-time.After(time.Second):
						}
						sw.Send(map[string]any{key: fmt.Sprint(i)}, nil)
					}
				}()
				return sr, nil
			})
		}
		g := NewGraph[string, map[string]any]()
		for _, k := range []string{"a", "b"} {
			require.NoError(t, g.AddLambdaNode(k, producer(k)))
			require.NoError(t, g.AddEdge(START, k))
			require.NoError(t, g.AddEdge(k, END))
		}
		s, err := compiled[string, map[string]any](t, g).Stream(context.Background(), "x")
		require.NoError(t, err)
		out, err := concatStream(s)
		require.NoError(t, err)
		require.Equal(t, map[string]any{"a": "012", "b": "012"}, out)
		runtime.GC() // the context of the nodes may go now
	})
}

// Every stream that will not be read is closed, so that its producer learns of it.
// Rule compose/B22.22.
func TestLifecycle_UnreadStreamsAreClosed(t *testing.T) {
	// source gives a stream whose producer blocks until the stream is read or closed.
	source := func(closed *<-chan struct{}) *Lambda {
		return StreamableLambda(func(context.Context, string) (*schema.StreamReader[string], error) {
			s, c := tracked("1", "2", "3")
			*closed = c
			return s, nil
		})
	}
	var closed <-chan struct{}
	cases := map[string]func(t *testing.T) (Runnable[string, string], string){
		"a node without successors": func(t *testing.T) (Runnable[string, string], string) {
			g := NewGraph[string, string]()
			require.NoError(t, g.AddLambdaNode("side", source(&closed)))
			require.NoError(t, g.AddLambdaNode("n", suffix("n")))
			require.NoError(t, g.AddEdge(START, "side"))
			line(t, g, "n")
			return compiled[string, string](t, g), ""
		},
		"a branch that chooses nothing": func(t *testing.T) (Runnable[string, string], string) {
			g := NewGraph[string, string]()
			require.NoError(t, g.AddLambdaNode("side", source(&closed)))
			require.NoError(t, g.AddLambdaNode("n", suffix("n")))
			require.NoError(t, g.AddEdge(START, "side"))
			require.NoError(t, g.AddBranch("side",
				NewStreamGraphMultiBranch(func(_ context.Context, s *schema.StreamReader[string]) (map[string]bool, error) {
					s.Close()
					return nil, nil
				}, map[string]bool{"n": true})))
			line(t, g, "n")
			return compiled[string, string](t, g), ""
		},
		"END is reached while it waits": func(t *testing.T) (Runnable[string, string], string) {
			g := NewGraph[string, string]()
			require.NoError(t, g.AddLambdaNode("slow", source(&closed)))
			require.NoError(t, g.AddLambdaNode("later", suffix("")))
			require.NoError(t, g.AddLambdaNode("n", suffix("n")))
			require.NoError(t, g.AddEdge(START, "slow"))
			require.NoError(t, g.AddEdge("slow", "later"))
			line(t, g, "n")
			return compiled[string, string](t, g), ""
		},
		"a sibling fails": func(t *testing.T) (Runnable[string, string], string) {
			g := NewGraph[string, string]()
			require.NoError(t, g.AddLambdaNode("ok", source(&closed)))
			require.NoError(t, g.AddLambdaNode("bad",
				InvokableLambda(func(context.Context, string) (string, error) { return "", errBoom })))
			require.NoError(t, g.AddLambdaNode("n", suffix("n")))
			require.NoError(t, g.AddEdge(START, "ok"))
			require.NoError(t, g.AddEdge(START, "bad"))
			require.NoError(t, g.AddEdge("ok", "n"))
			require.NoError(t, g.AddEdge("bad", "n"))
			require.NoError(t, g.AddEdge("n", END))
			return compiled[string, string](t, g), "boom"
		},
		"a branch fails": func(t *testing.T) (Runnable[string, string], string) {
			g := NewGraph[string, string]()
			require.NoError(t, g.AddLambdaNode("ok", source(&closed)))
			require.NoError(t, g.AddEdge(START, "ok"))
			require.NoError(t, g.AddBranch("ok",
				NewStreamGraphBranch(func(_ context.Context, s *schema.StreamReader[string]) (string, error) {
					s.Close()
					return "", errBoom
				}, map[string]bool{END: true})))
			return compiled[string, string](t, g), "boom"
		},
		"a value branch chooses an unknown node": func(t *testing.T) (Runnable[string, string], string) {
			g := NewGraph[string, string]()
			require.NoError(t, g.AddLambdaNode("ok", source(&closed)))
			require.NoError(t, g.AddEdge(START, "ok"))
			require.NoError(t, g.AddBranch("ok",
				NewGraphBranch(func(context.Context, string) (string, error) { return "nowhere", nil },
					map[string]bool{END: true})))
			return compiled[string, string](t, g), "branch invocation returns unintended end node: nowhere"
		},
	}
	for name, build := range cases {
		t.Run(name, func(t *testing.T) {
			r, wantErr := build(t)
			s, err := r.Stream(context.Background(), "x")
			if wantErr != "" {
				require.ErrorContains(t, err, wantErr)
			} else {
				require.NoError(t, err)
				out, err := concatStream(s)
				require.NoError(t, err)
				require.Equal(t, "xn", out)
			}
			select {
			case <-closed:
			case <-time.After(5 * time.Second):
				t.Fatal("the producer never learned of it")
			}
		})
	}
}

// Rule compose/B22.22.
func TestLifecycle_TheInputOfAResumeIsClosed(t *testing.T) {
	g := NewGraph[string, string]()
	require.NoError(t, g.AddLambdaNode("n", suffix("n")))
	line(t, g, "n")
	r := compiled[string, string](t, g, WithCheckPointStore(newStore()), WithInterruptBeforeNodes([]string{"n"}))
	_, err := r.Invoke(context.Background(), "x", WithCheckPointID("id"))
	interrupted(t, err)
	in, closed := tracked("ignored")
	s, err := r.Transform(context.Background(), in, WithCheckPointID("id"))
	require.NoError(t, err)
	require.Equal(t, []string{"xn"}, readAll(t, s))
	<-closed
}

// An error inside a stream fails the node that reads it, not the one that made it.
// Rule compose/P-6.
func TestLifecycle_AnErrorInAStreamFailsItsReader(t *testing.T) {
	broken := StreamableLambda(func(_ context.Context, in string) (*schema.StreamReader[string], error) {
		sr, sw := schema.Pipe[string](2)
		sw.Send(in, nil)
		sw.Send("", errBoom)
		sw.Close()
		return sr, nil
	})
	g := NewGraph[string, string]()
	require.NoError(t, g.AddLambdaNode("broken", broken))
	require.NoError(t, g.AddLambdaNode("through", streamSuffix("!")))
	line(t, g, "broken", "through")
	s, err := compiled[string, string](t, g).Stream(context.Background(), "x")
	require.NoError(t, err)
	first, err := s.Recv()
	require.NoError(t, err)
	require.Equal(t, "x!", first)
	_, err = s.Recv()
	require.ErrorIs(t, err, errBoom)
	_, err = s.Recv()
	require.Equal(t, io.EOF, err)
	s.Close()

	g = NewGraph[string, string]()
	require.NoError(t, g.AddLambdaNode("broken", broken))
	require.NoError(t, g.AddLambdaNode("joins", suffix("!")))
	line(t, g, "broken", "joins")
	_, err = compiled[string, string](t, g).Stream(context.Background(), "x")
	require.ErrorIs(t, err, errBoom)
	require.ErrorContains(t, err, "concat stream reader fail: failed to read from stream. error: boom")
	require.ErrorContains(t, err, "node path: [joins]")
}

// What END does not depend on is left alone, or waited for.
// Rules compose/X-8, compose/B22.33.
func TestLifecycle_SideNodesAreDetachedOrAwaited(t *testing.T) {
	build := func(release <-chan struct{}, ended *atomic.Bool, opts ...GraphCompileOption) Runnable[string, string] {
		g := NewGraph[string, string]()
		require.NoError(t, g.AddLambdaNode("side", InvokableLambda(func(ctx context.Context, in string) (string, error) {
			select {
			case <-release:
			case <-ctx.Done():
				return "", ctx.Err()
			}
			ended.Store(true)
			return in, nil
		})))
		require.NoError(t, g.AddLambdaNode("n", suffix("n")))
		require.NoError(t, g.AddEdge(START, "side"))
		line(t, g, "n")
		return compiled[string, string](t, g, append(opts, WithNodeTriggerMode(AllPredecessor))...)
	}
	synctest.Test(t, func(t *testing.T) {
		release, ended := make(chan struct{}), &atomic.Bool{}
		out, err := build(release, ended).Invoke(context.Background(), "x")
		require.NoError(t, err)
		require.Equal(t, "xn", out)
		require.False(t, ended.Load())
		close(release)
		synctest.Wait()
		require.True(t, ended.Load(), "a side node was cancelled by a run that succeeded")
	})
	synctest.Test(t, func(t *testing.T) {
		release, ended := make(chan struct{}), &atomic.Bool{}
		time.AfterFunc(time.Second, func() { close(release) })
		_, err := build(release, ended, WithAwaitSideNodes()).Invoke(context.Background(), "x")
		require.NoError(t, err)
		require.True(t, ended.Load())
	})
}

// One runnable, many runs at once, nothing shared.
// Rule compose/X-13.
func TestLifecycle_RunsMayBeConcurrent(t *testing.T) {
	g := fan(t, func(g *Graph[string, string], key string) error { return g.AddLambdaNode(key, keyedSuffix(key)) }, "a",
		"b", "c")
	r := compiled[string, string](t, g)
	t.Run("runs", func(t *testing.T) {
		for i := range 200 {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				in := fmt.Sprint(i)
				forms4(t, r, in, fmt.Sprintf("[%sa][%sb][%sc]", in, in, in))
			})
		}
	})
}
