package compose

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/schema"
)

// asks is a lambda that interrupts until it is resumed with data, which it then appends to the input it saved.
func asks(question string) *Lambda {
	return InvokableLambda(func(ctx context.Context, in string) (string, error) {
		if was, _, saved := GetInterruptState[string](ctx); was {
			in = saved
		}
		if target, has, answer := GetResumeContext[string](ctx); target && has {
			return in + answer, nil
		}
		return "", StatefulInterrupt(ctx, question, in)
	})
}

// answers resumes every open interrupt of err with what answer says to its info.
func answers(t *testing.T, err error, answer func(info any) any) context.Context {
	t.Helper()
	data := map[string]any{}
	for _, ic := range interrupted(t, err).InterruptContexts {
		data[ic.ID] = answer(ic.Info)
	}
	return BatchResumeWithData(context.Background(), data)
}

type caller func(r Runnable[string, string], ctx context.Context, opts ...Option) (string, error)

// forEachRunKind runs a test on values and on streams, so that nothing holds for one of them only.
func forEachRunKind(t *testing.T, test func(t *testing.T, call caller)) {
	t.Run("values", func(t *testing.T) {
		test(t, func(r Runnable[string, string], ctx context.Context, opts ...Option) (string, error) {
			return r.Invoke(ctx, "x", opts...)
		})
	})
	t.Run("streams", func(t *testing.T) {
		test(t, func(r Runnable[string, string], ctx context.Context, opts ...Option) (string, error) {
			s, err := r.Stream(ctx, "x", opts...)
			if err != nil {
				return "", err
			}
			return concatStream(s)
		})
	})
}

var modes = map[string][]GraphCompileOption{
	"steps":     nil,
	"dag":       {WithNodeTriggerMode(AllPredecessor)},
	"dag steps": {WithNodeTriggerMode(AllPredecessor), WithEagerExecutionDisabled()},
}

// fan is START → each of keys → join → END; join puts the outputs together in the order of the keys.
func fan(t *testing.T, add func(g *Graph[string, string], key string) error, keys ...string) *Graph[string, string] {
	g := NewGraph[string, string]()
	for _, k := range keys {
		require.NoError(t, add(g, k))
	}
	require.NoError(t, g.AddLambdaNode("join", InvokableLambda(func(_ context.Context, in map[string]any) (string, error) {
		var sb strings.Builder
		for _, k := range keys {
			fmt.Fprintf(&sb, "[%s]", in[k])
		}
		return sb.String(), nil
	})))
	for _, k := range keys {
		require.NoError(t, g.AddEdge(START, k))
		require.NoError(t, g.AddEdge(k, "join"))
	}
	require.NoError(t, g.AddEdge("join", END))
	return g
}

// Rules compose/I-9, compose/B22.1.
func TestInterrupt_ParallelNestedGraphsAllResume(t *testing.T) {
	for mode, opts := range modes {
		forEachRunKind(t, func(t *testing.T, call caller) {
			g := fan(t, func(g *Graph[string, string], key string) error {
				inner := NewGraph[string, string]()
				if err := inner.AddLambdaNode("first", suffix(key)); err != nil {
					return err
				}
				if err := inner.AddLambdaNode("ask", asks(key)); err != nil {
					return err
				}
				line(t, inner, "first", "ask")
				return g.AddGraphNode(key, inner, WithOutputKey(key))
			}, "a", "b", "c")
			r := compiled[string, string](t, g, append(opts, WithCheckPointStore(newStore()), WithGraphName("g"))...)

			_, err := call(r, context.Background(), WithCheckPointID("id"))
			info := interrupted(t, err)
			require.Len(t, info.InterruptContexts, 3, mode)
			require.Len(t, info.SubGraphs, 3)
			require.Empty(t, info.RerunNodes, "nested graphs are in SubGraphs alone")
			require.Equal(t, "runnable:g;node:a;node:ask", info.InterruptContexts[0].Address.String())
			require.Same(t, info.InterruptContexts[0].Parent.Parent, info.InterruptContexts[1].Parent.Parent)

			out, err := call(r, answers(t, err, func(info any) any { return strings.ToUpper(info.(string)) }),
				WithCheckPointID("id"))
			require.NoError(t, err)
			require.Equal(t, "[xaA][xbB][xcC]", out)
		})
	}
}

func TestInterrupt_OneOfSeveralIsResumedTheOthersAskAgain(t *testing.T) {
	forEachRunKind(t, func(t *testing.T, call caller) {
		g := fan(t, func(g *Graph[string, string], key string) error {
			return g.AddLambdaNode(key, asks(key), WithOutputKey(key))
		}, "a", "b")
		r := compiled[string, string](t, g, WithCheckPointStore(newStore()))
		_, err := call(r, context.Background(), WithCheckPointID("id"))
		first := interrupted(t, err).InterruptContexts[0]

		_, err = call(r, ResumeWithData(context.Background(), first.ID, "1"), WithCheckPointID("id"))
		info := interrupted(t, err)
		require.Len(t, info.InterruptContexts, 1)
		require.Equal(t, "b", info.InterruptContexts[0].Info)

		out, err := call(r, answers(t, err, func(any) any { return "2" }), WithCheckPointID("id"))
		require.NoError(t, err)
		require.Equal(t, "[x1][x2]", out)
	})
}

// A node that is to be interrupted before it runs becomes ready while another one, still running, asks for an
// interrupt: neither may be lost.
// Rule compose/B22.2.
func TestInterrupt_BeforeANodeWhileASiblingAsksLosesNothing(t *testing.T) {
	forEachRunKind(t, func(t *testing.T, call caller) {
		g := NewGraph[string, string]()
		release := make(chan struct{})
		require.NoError(t, g.AddLambdaNode("fast", suffix("f")))
		require.NoError(t, g.AddLambdaNode("listed", keyedSuffix("l")))
		var once sync.Once
		slow := asks("q")
		require.NoError(t, g.AddLambdaNode("gate", InvokableLambda(func(_ context.Context, in string) (string, error) {
			<-release
			return in, nil
		})))
		require.NoError(t, g.AddLambdaNode("slow", slow, WithOutputKey("s")))
		require.NoError(t, g.AddLambdaNode("join",
			InvokableLambda(func(_ context.Context, in map[string]any) (string, error) {
				return fmt.Sprint(in["l"], in["s"]), nil
			})))
		for _, e := range [][2]string{{START, "fast"}, {START, "gate"}, {"fast", "listed"}, {"gate", "slow"},
			{"listed", "join"}, {"slow", "join"}, {"join", END}} {
			require.NoError(t, g.AddEdge(e[0], e[1]))
		}
		r := compiled[string, string](t, g, WithNodeTriggerMode(AllPredecessor), WithCheckPointStore(newStore()),
			WithInterruptBeforeNodes([]string{"listed"}))
		once.Do(func() { close(release) })
		ctx := context.Background()
		out, err := call(r, ctx, WithCheckPointID("id"))
		for round := 0; err != nil; round++ {
			require.Less(t, round, 5)
			ctx = answers(t, err, func(info any) any {
				if info == "q" {
					return "!"
				}
				return nil
			})
			out, err = call(r, ctx, WithCheckPointID("id"))
		}
		require.Equal(t, "xflx!", out)
	})
}

// Rule compose/I-4.
func TestInterrupt_StopsBeforeAndAfterNodes(t *testing.T) {
	for mode, opts := range modes {
		forEachRunKind(t, func(t *testing.T, call caller) {
			g := NewGraph[string, string]()
			for _, k := range []string{"a", "b", "c"} {
				require.NoError(t, g.AddLambdaNode(k, suffix(k)))
			}
			line(t, g, "a", "b", "c")
			r := compiled[string, string](t, g, append(opts, WithCheckPointStore(newStore()), WithGraphName("g"),
				WithInterruptBeforeNodes([]string{"a", "unknown"}), WithInterruptAfterNodes([]string{"b", "c"}))...)

			_, err := call(r, context.Background(), WithCheckPointID("id"))
			info := interrupted(t, err)
			require.Equal(t, []string{"a"}, info.BeforeNodes, mode)
			require.Nil(t, info.AfterNodes)
			require.Len(t, info.InterruptContexts, 1)
			require.True(t, info.InterruptContexts[0].IsRootCause)
			require.Equal(t, "runnable:g", info.InterruptContexts[0].Address.String())
			require.NotNil(t, info.RerunNodesExtra)
			require.NotNil(t, info.SubGraphs)

			_, err = call(r, context.Background(), WithCheckPointID("id"))
			require.Equal(t, []string{"b"}, interrupted(t, err).AfterNodes)

			out, err := call(r, context.Background(), WithCheckPointID("id"))
			require.NoError(t, err, "END is reached in the same routing as c: the run ends")
			require.Equal(t, "xabc", out)
		})
	}
}

// A stream run that is interrupted while a value from START still waits for a later node.
// Rule compose/B22.3.
func TestInterrupt_KeepsAValueFromStartThatWaits(t *testing.T) {
	forEachRunKind(t, func(t *testing.T, call caller) {
		wf := NewWorkflow[string, string]()
		wf.AddLambdaNode("ask", asks("q")).AddInput(START)
		wf.AddLambdaNode("both", InvokableLambda(func(_ context.Context, in map[string]any) (string, error) {
			return fmt.Sprint(in["start"], in["ask"]), nil
		})).AddInput("ask", ToField("ask")).AddInput(START, ToField("start"))
		wf.End().AddInput("both")
		r := compiled[string, string](t, wf, WithCheckPointStore(newStore()))
		_, err := call(r, context.Background(), WithCheckPointID("id"))
		out, err := call(r, answers(t, err, func(any) any { return "!" }), WithCheckPointID("id"))
		require.NoError(t, err)
		require.Equal(t, "xx!", out)
	})
}

// Rule compose/B22.9.
func TestInterrupt_TakesLegacySentinels(t *testing.T) {
	for name, legacy := range map[string]error{
		"sentinel": InterruptAndRerun,
		"extra":    NewInterruptAndRerunErr("extra"),
		"wrapped":  fmt.Errorf("wrapped: %w", InterruptAndRerun),
	} {
		t.Run(name, func(t *testing.T) {
			forEachRunKind(t, func(t *testing.T, call caller) {
				var tries atomic.Int32
				g := NewGraph[string, string]()
				require.NoError(t, g.AddLambdaNode("n", InvokableLambda(func(_ context.Context, in string) (string, error) {
					if tries.Add(1) == 1 {
						return "", legacy
					}
					return in + "done", nil
				})))
				line(t, g, "n")
				r := compiled[string, string](t, g, WithCheckPointStore(newStore()))
				_, err := call(r, context.Background(), WithCheckPointID("id"))
				info := interrupted(t, err)
				require.Equal(t, []string{"n"}, info.RerunNodes)
				require.NotEmpty(t, info.InterruptContexts[0].ID)
				require.Equal(t, "runnable:;node:n", info.InterruptContexts[0].Address.String())
				out, err := call(r, context.Background(), WithCheckPointID("id"))
				require.NoError(t, err)
				require.Equal(t, "done", out, "the input of a node that interrupts itself is not kept")
			})
		})
	}
}

// A runnable that is called inside a lambda and interrupts makes the lambda's node interrupt, even if the lambda does
// nothing about it.
// Rules compose/S21.6, compose/B22.10.
func TestInterrupt_OfARunnableInsideALambdaIsResumed(t *testing.T) {
	forEachRunKind(t, func(t *testing.T, call caller) {
		inner := NewGraph[string, string]()
		require.NoError(t, inner.AddLambdaNode("y", asks("q")))
		line(t, inner, "y")
		innerStore := newStore()
		innerRun := compiled[string, string](t, inner, WithGraphName("inner"), WithCheckPointStore(innerStore))

		g := NewGraph[string, string]()
		require.NoError(t, g.AddLambdaNode("x", InvokableLambda(func(ctx context.Context, in string) (string, error) {
			return innerRun.Invoke(ctx, in, WithCheckPointID("inner"))
		})))
		line(t, g, "x")
		r := compiled[string, string](t, g, WithGraphName("root"), WithCheckPointStore(newStore()))
		_, err := call(r, context.Background(), WithCheckPointID("id"))
		info := interrupted(t, err)
		require.Equal(t, []string{"x"}, info.RerunNodes)
		require.Equal(t, "runnable:root;node:x;runnable:inner;node:y", info.InterruptContexts[0].Address.String())
		out, err := call(r, answers(t, err, func(any) any { return "!" }), WithCheckPointID("id"))
		require.NoError(t, err)
		require.Equal(t, "x!", out)
	})
}

// A resume context is a value: it may be used again, and by runs at the same time.
// Rule compose/B22.14.
func TestInterrupt_AResumeContextCanBeUsedAgain(t *testing.T) {
	g := NewGraph[string, string]()
	require.NoError(t, g.AddLambdaNode("n", asks("q")))
	line(t, g, "n")
	r := compiled[string, string](t, g, WithCheckPointStore(newStore()))
	_, err := r.Invoke(context.Background(), "x", WithCheckPointID("id"))
	ctx := answers(t, err, func(any) any { return "!" })
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			out, err := r.Invoke(ctx, "", WithCheckPointID("id"))
			if err != nil || out != "x!" {
				t.Errorf("got %q, %v", out, err)
			}
		})
	}
	wg.Wait()
}

// Rule compose/I-10.
func TestInterrupt_WithoutAnIDNothingIsStored(t *testing.T) {
	g := NewGraph[string, string]()
	require.NoError(t, g.AddLambdaNode("n", asks("q")))
	line(t, g, "n")
	s := newStore()
	_, err := compiled[string, string](t, g, WithCheckPointStore(s)).Invoke(context.Background(), "x")
	interrupted(t, err)
	require.Zero(t, s.sets)
	require.True(t, strings.HasPrefix(err.Error(), "interrupt happened, info: "))
	var provider core.InterruptContextsProvider
	require.ErrorAs(t, err, &provider)
}

// Rule compose/E-3.
func TestInterrupt_IsNeverWrappedAndAPlainErrorWins(t *testing.T) {
	plain := errors.New("plain")
	g := fan(t, func(g *Graph[string, string], key string) error {
		return g.AddLambdaNode(key, InvokableLambda(func(ctx context.Context, _ string) (string, error) {
			if key == "a" {
				return "", Interrupt(ctx, "why")
			}
			return "", plain
		}), WithOutputKey(key))
	}, "a", "b")
	_, err := compiled[string, string](t, g).Invoke(context.Background(), "x")
	require.ErrorIs(t, err, plain)
	_, ok := ExtractInterruptInfo(err)
	require.False(t, ok)
}

// counters is a graph state for tests.
type counters struct{ Pre, Post int }

func init() { schema.RegisterName[*counters]("_weft_compose_test_counters") }

// Rules compose/U-2, compose/U-3, compose/B22.17.
func TestResume_ModifiesOrReplacesTheState(t *testing.T) {
	forEachRunKind(t, func(t *testing.T, call caller) {
		state := WithGenLocalState(func(context.Context) *counters { return &counters{} })
		count := WithStatePreHandler(func(_ context.Context, in string, s *counters) (string, error) {
			s.Pre++
			return fmt.Sprint(in, s.Pre), nil
		})
		inner := NewGraph[string, string](state)
		require.NoError(t, inner.AddLambdaNode("i", suffix("i"), count))
		require.NoError(t, inner.AddLambdaNode("j", suffix("j"), count))
		line(t, inner, "i", "j")
		g := NewGraph[string, string](state)
		require.NoError(t, g.AddGraphNode("sub", inner, WithGraphCompileOptions(WithInterruptAfterNodes([]string{"i"})),
			count))
		line(t, g, "sub")
		r := compiled[string, string](t, g, WithCheckPointStore(newStore()))

		_, err := call(r, context.Background(), WithCheckPointID("id"))
		info := interrupted(t, err)
		require.Equal(t, &counters{Pre: 1}, info.State)
		require.Equal(t, &counters{Pre: 1}, info.SubGraphs["sub"].State)
		require.Empty(t, info.AfterNodes, "a nested graph that was interrupted did not finish")

		var paths []string
		out, err := call(r, context.Background(), WithCheckPointID("id"),
			WithStateModifier(func(_ context.Context, path NodePath, s any) error {
				paths = append(paths, path.String())
				s.(*counters).Pre += 10
				return nil
			}))
		require.NoError(t, err)
		require.Equal(t, []string{"[]", "[sub]"}, paths)
		require.Equal(t, "x11i12j", out, "the pre-handler of an interrupted nested graph does not run again")

		// Data for the nested graph's own interrupt replaces its state.
		_, err = call(r, context.Background(), WithCheckPointID("id"), WithForceNewRun(), WithWriteToCheckPointID("id2"))
		cause := interrupted(t, err).InterruptContexts[0]
		out, err = call(r, ResumeWithData(context.Background(), cause.ID, &counters{Pre: 50}), WithCheckPointID("id2"))
		require.NoError(t, err)
		require.Equal(t, "x11i51j", out)
	})
}

// Rules compose/H-1, compose/H-2, compose/H-3, compose/H-4, compose/B22.6.
func TestCheckpoint_Options(t *testing.T) {
	ctx := context.Background()
	build := func(opts ...GraphCompileOption) Runnable[string, string] {
		g := NewGraph[string, string]()
		require.NoError(t, g.AddLambdaNode("n", suffix("n")))
		line(t, g, "n")
		return compiled[string, string](t, g, append(opts, WithInterruptBeforeNodes([]string{"n"}))...)
	}
	t.Run("no store", func(t *testing.T) {
		for _, opt := range []Option{WithCheckPointID("id"), WithWriteToCheckPointID("id")} {
			_, err := build().Invoke(ctx, "x", opt)
			require.ErrorContains(t, err, "receive checkpoint id but have not set checkpoint store")
		}
	})
	t.Run("write elsewhere", func(t *testing.T) {
		s := newStore()
		_, err := build(WithCheckPointStore(s)).Invoke(ctx, "x", WithCheckPointID("a"), WithWriteToCheckPointID("b"))
		interrupted(t, err)
		require.Contains(t, s.data, "b")
		require.NotContains(t, s.data, "a")
	})
	t.Run("force new run, in any place", func(t *testing.T) {
		s := newStore()
		r := build(WithCheckPointStore(s))
		_, err := r.Invoke(ctx, "x", WithCheckPointID("id"))
		interrupted(t, err)
		_, err = r.Invoke(ctx, "y", WithForceNewRun(), WithCheckPointID("id"))
		interrupted(t, err)
		out, err := r.Invoke(ctx, "", WithCheckPointID("id"))
		require.NoError(t, err)
		require.Equal(t, "yn", out)
	})
	t.Run("the same checkpoint resumes again", func(t *testing.T) {
		s := newStore()
		r := build(WithCheckPointStore(s))
		_, err := r.Invoke(ctx, "x", WithCheckPointID("id"))
		interrupted(t, err)
		for range 2 {
			out, err := r.Invoke(ctx, "", WithCheckPointID("id"))
			require.NoError(t, err)
			require.Equal(t, "xn", out)
		}
		require.Equal(t, 1, s.sets)
		require.Empty(t, s.deleted)
	})
	t.Run("store errors", func(t *testing.T) {
		s := newStore()
		s.fail = errors.New("disk")
		r := build(WithCheckPointStore(s))
		_, err := r.Invoke(ctx, "x", WithCheckPointID("id"))
		require.ErrorIs(t, err, s.fail)
		require.ErrorContains(t, err, "load checkpoint from store fail")
		_, err = r.Invoke(ctx, "x", WithWriteToCheckPointID("id"))
		require.ErrorContains(t, err, "failed to set checkpoint: disk, checkPointID: id")
		_, ok := ExtractInterruptInfo(err)
		require.False(t, ok)
	})
	t.Run("garbage", func(t *testing.T) {
		s := newStore()
		s.data["id"] = []byte("no checkpoint")
		_, err := build(WithCheckPointStore(s)).Invoke(ctx, "x", WithCheckPointID("id"))
		require.ErrorContains(t, err, "load checkpoint from store fail")
	})
	t.Run("a checkpoint of values resumes as streams and back", func(t *testing.T) {
		s := newStore()
		r := build(WithCheckPointStore(s))
		_, err := r.Invoke(ctx, "x", WithCheckPointID("id"))
		interrupted(t, err)
		sr, err := r.Stream(ctx, "", WithCheckPointID("id"))
		require.NoError(t, err)
		out, err := concatStream(sr)
		require.NoError(t, err)
		require.Equal(t, "xn", out)
		_, err = r.Transform(ctx, schema.StreamReaderFromArray([]string{"a", "b"}), WithWriteToCheckPointID("s"))
		interrupted(t, err)
		out, err = r.Invoke(ctx, "", WithCheckPointID("s"))
		require.NoError(t, err)
		require.Equal(t, "abn", out)
	})
}

// Rule compose/H-7.
func TestCheckpoint_MigratesEveryState(t *testing.T) {
	ctx := context.Background()
	g := NewGraph[string, string](WithGenLocalState(func(context.Context) *counters { return &counters{Pre: 1} }))
	require.NoError(t, g.AddLambdaNode("n", InvokableLambda(func(ctx context.Context, in string) (out string, err error) {
		err = ProcessState(ctx, func(_ context.Context, s *counters) error { out = fmt.Sprint(in, s.Pre); return nil })
		return out, err
	})))
	line(t, g, "n")
	s := newStore()
	r := compiled[string, string](t, g, WithCheckPointStore(s), WithInterruptBeforeNodes([]string{"n"}))
	_, err := r.Invoke(ctx, "x", WithCheckPointID("id"))
	interrupted(t, err)

	same, err := MigrateCheckpointState(s.data["id"], nil, func(any) (any, bool, error) { return nil, false, nil })
	require.NoError(t, err)
	require.Equal(t, s.data["id"], same)

	s.data["id"], err = MigrateCheckpointState(s.data["id"], nil, func(state any) (any, bool, error) {
		return &counters{Pre: state.(*counters).Pre + 6}, true, nil
	})
	require.NoError(t, err)
	out, err := r.Invoke(ctx, "", WithCheckPointID("id"))
	require.NoError(t, err)
	require.Equal(t, "x7", out)

	stop := errors.New("stop")
	_, err = MigrateCheckpointState(s.data["id"], nil, func(any) (any, bool, error) { panic("boom") })
	require.ErrorContains(t, err, "boom")
	_, err = MigrateCheckpointState(s.data["id"], nil, func(any) (any, bool, error) { return nil, false, stop })
	require.ErrorIs(t, err, stop)
}

// Before an interrupt all that runs is waited for, also where nodes need not wait for each other. What the others
// gave is saved and does not run again; if one of them fails, that is the run's error.
// Rule compose/I-5.
func TestInterrupt_WaitsForWhatRuns(t *testing.T) {
	sources := map[string]struct {
		opts []GraphCompileOption
		node func(t *testing.T) *Lambda
	}{
		"a node asks": {nil, func(*testing.T) *Lambda { return asks("q") }},
		"after a node": {[]GraphCompileOption{WithInterruptAfterNodes([]string{"stops"})},
			func(*testing.T) *Lambda { return suffix("!") }},
		"before the next": {[]GraphCompileOption{WithInterruptBeforeNodes([]string{"next"})},
			func(*testing.T) *Lambda { return suffix("!") }},
	}
	for mode, opts := range modes {
		for name, source := range sources {
			for _, fail := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/fail=%v", mode, name, fail), func(t *testing.T) {
					forEachRunKind(t, func(t *testing.T, call caller) {
						synctest.Test(t, func(t *testing.T) {
							ran := 0
							g := NewGraph[string, string]()
							require.NoError(t, g.AddLambdaNode("stops", source.node(t)))
							require.NoError(t, g.AddLambdaNode("next", suffix("n"), WithOutputKey("next")))
							require.NoError(t, g.AddLambdaNode("slow", InvokableLambda(func(_ context.Context, in string) (string, error) {
								time.Sleep(time.Minute)
								ran++
								if fail {
									return "", errBoom
								}
								return in + "s", nil
							})))
							require.NoError(t, g.AddLambdaNode("after slow", suffix("a"), WithOutputKey("slow")))
							require.NoError(t, g.AddLambdaNode("join", joinKeys("next", "slow")))
							for _, e := range [][2]string{{START, "stops"}, {START, "slow"}, {"stops", "next"}, {"slow", "after slow"},
								{"next", "join"}, {"after slow", "join"}, {"join", END}} {
								require.NoError(t, g.AddEdge(e[0], e[1]))
							}
							r := compiled[string, string](t, g, append(slices.Concat(opts, source.opts), WithCheckPointStore(newStore()))...)
							begin := time.Now()
							_, err := call(r, context.Background(), WithCheckPointID("id"))
							require.Equal(t, time.Minute, time.Since(begin))
							if fail {
								require.EqualError(t, err, "[NodeRunError] boom\n------------------------\nnode path: [slow]")
								return
							}
							out, err := call(r, answers(t, err, func(any) any { return "!" }), WithCheckPointID("id"))
							require.NoError(t, err)
							require.Equal(t, "[x!n][xsa]", out)
							require.Equal(t, 1, ran)
						})
					})
				})
			}
		}
	}
}

// The caller gets a copy of the state also where nothing is saved. A state that cannot be copied is an error, and
// so is one that cannot be saved, but only where it is to be.
// Rules compose/I-11, compose/B22.35.
func TestInterrupt_AStateThatCannotBeCopiedIsAnError(t *testing.T) {
	type node struct {
		F    func()
		Next *node
	}
	cycle := func() *node {
		n := &node{}
		n.Next = n
		return n
	}
	withFunc := func() *node { return &node{F: func() {}} }
	cases := []struct {
		name  string
		state func() *node
		opts  []GraphCompileOption
		saved bool
		want  []string // in the error; none: it is an interrupt
	}{
		{"a cycle", cycle, nil, false, []string{"[GraphRunError] failed to copy state: ", "node.Next: cycle"}},
		{"a cycle, saved", cycle, nil, true, []string{"[GraphRunError] failed to copy state: ", "node.Next: cycle"}},
		{"a func", withFunc, nil, false, nil},
		{"a func, saved", withFunc, nil, true,
			[]string{"[GraphRunError] failed to set checkpoint: ", "State", "unknown type: compose.node",
				"schema.RegisterName"}},
		{"a serializer that cannot", withFunc, []GraphCompileOption{WithSerializer(&gobSerializer{})}, false,
			[]string{"[GraphRunError] failed to copy state: "}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			forEachRunKind(t, func(t *testing.T, call caller) {
				g := NewGraph[string, string](WithGenLocalState(func(context.Context) *node { return c.state() }))
				require.NoError(t, g.AddLambdaNode("n", asks("q")))
				line(t, g, "n")
				var opts []Option
				if c.saved {
					opts = []Option{WithCheckPointID("id")}
				}
				_, err := call(compiled[string, string](t, g, append(c.opts, WithCheckPointStore(newStore()))...),
					context.Background(), opts...)
				if c.want == nil {
					interrupted(t, err)
					return
				}
				for _, want := range c.want {
					require.ErrorContains(t, err, want)
				}
				_, ok := ExtractInterruptInfo(err)
				require.False(t, ok)
			})
		})
	}
}

// Calling again without targets asks the same again, in the same places.
// Rule compose/U-10.
func TestResume_WithoutTargetsAsksAgain(t *testing.T) {
	for mode, opts := range modes {
		t.Run(mode, func(t *testing.T) {
			forEachRunKind(t, func(t *testing.T, call caller) {
				inner := lineOf(t, asks("inner"))
				g := NewGraph[string, string]()
				require.NoError(t, g.AddLambdaNode("n", asks("outer"), WithOutputKey("n")))
				require.NoError(t, g.AddGraphNode("sub", inner, WithOutputKey("sub")))
				require.NoError(t, g.AddLambdaNode("join", joinKeys("n", "sub")))
				for _, k := range []string{"n", "sub"} {
					require.NoError(t, g.AddEdge(START, k))
					require.NoError(t, g.AddEdge(k, "join"))
				}
				require.NoError(t, g.AddEdge("join", END))
				r := compiled[string, string](t, g, append(slices.Clip(opts), WithCheckPointStore(newStore()))...)
				var first []*InterruptCtx
				for range 3 {
					_, err := call(r, context.Background(), WithCheckPointID("id"))
					asked := interrupted(t, err).InterruptContexts
					require.Len(t, asked, 2)
					if first == nil {
						first = asked
					}
					for i := range asked {
						require.True(t, first[i].EqualsWithoutID(asked[i]), "%v and %v", first[i], asked[i])
					}
				}
				_, err := call(r, context.Background(), WithCheckPointID("id"))
				out, err := call(r, answers(t, err, func(any) any { return "!" }), WithCheckPointID("id"))
				require.NoError(t, err)
				require.Equal(t, "[x!][x!]", out)
			})
		})
	}
}
