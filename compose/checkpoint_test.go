package compose

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/internal/serialization"
	"github.com/weftgo/weft/schema"
)

// gobSerializer stores checkpoints with encoding/gob, and counts what it is asked to do.
type gobSerializer struct{ marshals, unmarshals atomic.Int32 }

func (s *gobSerializer) Marshal(v any) ([]byte, error) {
	s.marshals.Add(1)
	var buf bytes.Buffer
	err := gob.NewEncoder(&buf).Encode(v)
	return buf.Bytes(), err
}

func (s *gobSerializer) Unmarshal(data []byte, v any) error {
	s.unmarshals.Add(1)
	return gob.NewDecoder(bytes.NewReader(data)).Decode(v)
}

// decoded is the stored checkpoint in the default encoding.
func decoded(t *testing.T, data []byte) *checkpoint {
	t.Helper()
	cp := &checkpoint{}
	require.NoError(t, (&serialization.InternalSerializer{}).Unmarshal(data, cp))
	return cp
}

// A stream without a chunk that waits at an interrupt comes back without one, whatever its type.
// Rule compose/H-4.
func TestCheckpoint_AnEmptyStreamStaysEmpty(t *testing.T) {
	t.Run("string", requireStaysEmpty[string])
	t.Run("map", requireStaysEmpty[map[string]any])
	t.Run("pointer", requireStaysEmpty[*counters])
	t.Run("any", requireStaysEmpty[any])
}

func requireStaysEmpty[T any](t *testing.T) {
	g := NewGraph[string, string]()
	require.NoError(t, g.AddLambdaNode("nothing",
		StreamableLambda(func(context.Context, string) (*schema.StreamReader[T], error) {
			return schema.StreamReaderFromArray[T](nil), nil
		})))
	require.NoError(t, g.AddLambdaNode("counts",
		CollectableLambda(func(_ context.Context, in *schema.StreamReader[T]) (string, error) {
			defer in.Close()
			n := 0
			for range in.All() {
				n++
			}
			return fmt.Sprint(n, " chunks"), nil
		})))
	line(t, g, "nothing", "counts")
	for _, codec := range []Serializer{nil, &gobSerializer{}} {
		r := compiled[string, string](t, g, WithCheckPointStore(newStore()), WithSerializer(codec),
			WithInterruptBeforeNodes([]string{"counts"}))
		_, err := r.Stream(context.Background(), "x", WithCheckPointID("id"))
		interrupted(t, err)
		s, err := r.Stream(context.Background(), "x", WithCheckPointID("id"))
		require.NoError(t, err)
		require.Equal(t, []string{"0 chunks"}, readAll(t, s))
	}
}

// An input that is a typed nil is stored as a plain one, which gob can encode, in nested graphs, too; the node
// gets its typed nil back.
// Rules compose/H-5, compose/H-6, schema/R23.
func TestCheckpoint_StoresTypedNilInputs(t *testing.T) {
	pass := func(got *[]any) *Lambda {
		return InvokableLambda(func(_ context.Context, in *counters) (*counters, error) {
			*got = append(*got, in)
			return in, nil
		})
	}
	for _, streaming := range []bool{false, true} {
		t.Run(fmt.Sprintf("streaming=%v", streaming), func(t *testing.T) {
			var got []any
			inner := NewGraph[*counters, *counters]()
			require.NoError(t, inner.AddLambdaNode("i", pass(&got)))
			line(t, inner, "i")
			mid := NewGraph[*counters, *counters]()
			require.NoError(t, mid.AddGraphNode("inner", inner,
				WithGraphCompileOptions(WithInterruptBeforeNodes([]string{"i"}))))
			line(t, mid, "inner")
			g := NewGraph[*counters, *counters]()
			require.NoError(t, g.AddGraphNode("mid", mid))
			require.NoError(t, g.AddLambdaNode("n", pass(&got)))
			line(t, g, "mid", "n")
			s, codec := newStore(), &gobSerializer{}
			r := compiled[*counters, *counters](t, g, WithCheckPointStore(s), WithSerializer(codec),
				WithInterruptBeforeNodes([]string{"n"}))
			run := func() (*counters, error) {
				if !streaming {
					return r.Invoke(context.Background(), nil, WithCheckPointID("id"))
				}
				return r.Collect(context.Background(), singleOf[*counters](nil), WithCheckPointID("id"))
			}
			for _, want := range []string{"in the nested graph", "in the outer one"} {
				_, err := run()
				interrupted(t, err)
				var cp checkpoint
				require.NoError(t, codec.Unmarshal(s.data["id"], &cp), want)
			}
			out, err := run()
			require.NoError(t, err)
			require.Nil(t, out)
			require.Equal(t, []any{(*counters)(nil), (*counters)(nil)}, got)
		})
	}
}

// The serializer that was given writes and reads the whole checkpoint, states and nested graphs included.
// Rule compose/H-6.
func TestCheckpoint_SerializerIsReplaced(t *testing.T) {
	state := WithGenLocalState(func(context.Context) *counters { return &counters{} })
	count := WithStatePreHandler(func(_ context.Context, in string, s *counters) (string, error) {
		s.Pre++
		return fmt.Sprint(in, s.Pre), nil
	})
	inner := NewGraph[string, string](state)
	require.NoError(t, inner.AddLambdaNode("i", asks("q"), count))
	require.NoError(t, inner.AddLambdaNode("j", suffix("j"), count))
	line(t, inner, "i", "j")
	g := NewGraph[string, string](state)
	require.NoError(t, g.AddLambdaNode("a", suffix("a"), count))
	require.NoError(t, g.AddGraphNode("sub", inner, count))
	line(t, g, "a", "sub")
	forEachRunKind(t, func(t *testing.T, call caller) {
		s, codec := newStore(), &gobSerializer{}
		r := compiled[string, string](t, g, WithCheckPointStore(s), WithSerializer(codec))
		_, err := call(r, context.Background(), WithCheckPointID("id"))
		require.Equal(t, &counters{Pre: 2}, interrupted(t, err).State)
		require.Positive(t, codec.marshals.Load())
		require.Error(t, (&serialization.InternalSerializer{}).Unmarshal(s.data["id"], &checkpoint{}),
			"it is in gob's encoding")
		var cp checkpoint
		require.NoError(t, codec.Unmarshal(s.data["id"], &cp))
		require.Equal(t, &counters{Pre: 2}, cp.State)
		require.Equal(t, &counters{Pre: 1}, cp.SubGraphs["sub"].State)
		out, err := call(r, answers(t, err, func(any) any { return "!" }), WithCheckPointID("id"))
		require.NoError(t, err)
		require.Equal(t, "x1a21!3j", out)

		// The default cannot read it.
		_, err = call(compiled[string, string](t, g, WithCheckPointStore(s)), context.Background(), WithCheckPointID("id"))
		require.ErrorContains(t, err, "load checkpoint from store fail")
	})
}

// unregistered is registered nowhere.
type unregistered struct{ X int }

// What an interface holds must be of a registered type; what the user is asked is not stored at all.
// Rule compose/H-8.
func TestCheckpoint_NeedsRegisteredTypesBehindInterfaces(t *testing.T) {
	give := func(v any) *Lambda {
		return InvokableLambda(func(context.Context, string) (any, error) { return v, nil })
	}
	end := InvokableLambda(func(_ context.Context, in any) (string, error) { return fmt.Sprint(in), nil })
	cases := []struct {
		name, want string
		before     bool // the interrupt is before the node
		build      func(g *Graph[string, string]) error
	}{
		{"an input", "unknown type: compose.unregistered", true, func(g *Graph[string, string]) error {
			return errors.Join(g.AddLambdaNode("a", give(unregistered{1})), g.AddLambdaNode("stop", end))
		}},
		{"behind a pointer, in a map", "unknown type: compose.unregistered", true, func(g *Graph[string, string]) error {
			return errors.Join(g.AddLambdaNode("a", give(kv{"k": []any{&unregistered{1}}})), g.AddLambdaNode("stop", end))
		}},
		{"the state of an interrupt", "unknown type: compose.unregistered", false, func(g *Graph[string, string]) error {
			return errors.Join(g.AddLambdaNode("a", suffix("a")),
				g.AddLambdaNode("stop", InvokableLambda(func(ctx context.Context, _ string) (string, error) {
					return "", StatefulInterrupt(ctx, nil, unregistered{1})
				})))
		}},
		{"the info of an interrupt", "", false, func(g *Graph[string, string]) error {
			return errors.Join(g.AddLambdaNode("a", suffix("a")),
				g.AddLambdaNode("stop", InvokableLambda(func(ctx context.Context, _ string) (string, error) {
					return "", Interrupt(ctx, func() unregistered { return unregistered{7} })
				})))
		}},
		{"a registered input", "", true, func(g *Graph[string, string]) error {
			return errors.Join(g.AddLambdaNode("a", give(&counters{Pre: 1})), g.AddLambdaNode("stop", end))
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			g := NewGraph[string, string]()
			require.NoError(t, c.build(g))
			line(t, g, "a", "stop")
			s := newStore()
			var listed []string
			if c.before {
				listed = []string{"stop"}
			}
			_, err := compiled[string, string](t, g, WithCheckPointStore(s),
				WithInterruptBeforeNodes(listed)).Invoke(context.Background(), "x", WithCheckPointID("id"))
			if c.want == "" {
				interrupted(t, err)
				require.Equal(t, 1, s.sets)
				return
			}
			require.ErrorContains(t, err, "failed to set checkpoint: ")
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, "schema.RegisterName")
			_, ok := ExtractInterruptInfo(err)
			require.False(t, ok, "nobody can resume what was not stored")
			require.Empty(t, s.data)
		})
	}
}

// The interrupt tree is stored once, with the root.
// Rule compose/B22.34.
func TestCheckpoint_TheInterruptTreeIsStoredOnce(t *testing.T) {
	inner := NewGraph[string, string]()
	require.NoError(t, inner.AddLambdaNode("i", asks("q")))
	line(t, inner, "i")
	mid := NewGraph[string, string]()
	require.NoError(t, mid.AddGraphNode("inner", inner))
	line(t, mid, "inner")
	g := NewGraph[string, string]()
	require.NoError(t, g.AddGraphNode("mid", mid))
	line(t, g, "mid")
	s := newStore()
	r := compiled[string, string](t, g, WithCheckPointStore(s))
	_, err := r.Invoke(context.Background(), "x", WithCheckPointID("id"))
	interrupted(t, err)
	cp := decoded(t, s.data["id"])
	require.Len(t, cp.InterruptID2Addr, 4, "three graphs and the node")
	require.Len(t, cp.InterruptID2State, 4)
	for _, nested := range []*checkpoint{cp.SubGraphs["mid"], cp.SubGraphs["mid"].SubGraphs["inner"]} {
		require.Empty(t, nested.InterruptID2Addr)
		require.Empty(t, nested.InterruptID2State)
	}
}

// noDeleter is a store that cannot delete.
type noDeleter struct{ *store }

func (noDeleter) Delete() {}

// A run that resumed and succeeded may take its checkpoint with it.
// Rule compose/B22.36.
func TestCheckpoint_IsDeletedOnSuccess(t *testing.T) {
	ctx := context.Background()
	g := NewGraph[string, string]()
	require.NoError(t, g.AddLambdaNode("n", asks("q")))
	line(t, g, "n")
	forEachRunKind(t, func(t *testing.T, call caller) {
		s := newStore()
		r := compiled[string, string](t, g, WithCheckPointStore(s), WithCheckPointDeletion())
		_, err := call(r, ctx, WithCheckPointID("id"))
		interrupted(t, err)
		_, err = call(r, ctx, WithCheckPointID("id"))
		interrupted(t, err)
		require.Empty(t, s.deleted, "interrupted again")
		require.Contains(t, s.data, "id")
		_, err = call(r, answers(t, err, func(any) any { return "!" }), WithCheckPointID("id"))
		require.NoError(t, err)
		require.Equal(t, []string{"id"}, s.deleted)

		// A run that resumed from nothing deletes nothing.
		free := compiled[string, string](t, lineOf(t, suffix("n")), WithCheckPointStore(s), WithCheckPointDeletion())
		_, err = call(free, ctx, WithCheckPointID("other"))
		require.NoError(t, err)
		require.Equal(t, []string{"id"}, s.deleted)

		// A store that cannot delete is as good as any.
		r = compiled[string, string](t, g, WithCheckPointStore(noDeleter{s}), WithCheckPointDeletion())
		_, err = call(r, ctx, WithCheckPointID("kept"))
		out, err := call(r, answers(t, err, func(any) any { return "!" }), WithCheckPointID("kept"))
		require.NoError(t, err)
		require.Equal(t, "x!", out)
		require.Contains(t, s.data, "kept")
	})
}

// badDeleter is a store whose Delete goes wrong.
type badDeleter struct {
	*store
	how func() error
}

func (d badDeleter) Delete(context.Context, string) error { return d.how() }

// A checkpoint that cannot be deleted makes the run fail, and what it had to give is closed.
// Rule compose/B22.36.
func TestCheckpoint_AFailedDeletionFailsTheRun(t *testing.T) {
	var closed <-chan struct{}
	g := NewGraph[string, string]()
	require.NoError(t, g.AddLambdaNode("n", asks("q")))
	require.NoError(t, g.AddLambdaNode("s",
		StreamableLambda(func(_ context.Context, in string) (sr *schema.StreamReader[string], err error) {
			sr, closed = tracked(in, in)
			return sr, nil
		})))
	line(t, g, "n", "s")
	for name, how := range map[string]func() error{
		"error": func() error { return errors.New("cannot delete") },
		"panic": func() error { panic("cannot delete") },
	} {
		t.Run(name, func(t *testing.T) {
			forEachRunKind(t, func(t *testing.T, call caller) {
				r := compiled[string, string](t, g, WithCheckPointStore(badDeleter{newStore(), how}), WithCheckPointDeletion())
				for _, opts := range [][]Option{nil, {WithCallbacks(callbacks.NewHandlerBuilder().OnErrorFn(
					func(ctx context.Context, _ *callbacks.RunInfo, _ error) context.Context { return ctx }).Build())}} {
					_, err := call(r, context.Background(), WithCheckPointID("id"))
					ctx := answers(t, err, func(any) any { return "!" })
					_, err = call(r, ctx, append(opts, WithCheckPointID("id"))...)
					require.ErrorContains(t, err, "cannot delete")
					require.ErrorContains(t, err, "checkPointID: id")
					<-closed
				}
			})
		})
	}
}

// lineOf is a graph of one node.
func lineOf(t *testing.T, l *Lambda) *Graph[string, string] {
	g := NewGraph[string, string]()
	require.NoError(t, g.AddLambdaNode("n", l))
	line(t, g, "n")
	return g
}

// The order in which a resumed run comes to life.
// Rule compose/U-1.
func TestResume_StartsInOrder(t *testing.T) {
	forEachRunKind(t, func(t *testing.T, call caller) {
		var events []string
		note := func(event string) { events = append(events, event) }
		pre := func(ctx context.Context) (n int) {
			require.NoError(t, ProcessState(ctx, func(_ context.Context, s *counters) error { n = s.Pre; return nil }))
			return n
		}
		g := NewGraph[string, string](WithGenLocalState(func(context.Context) *counters {
			note("state made")
			return &counters{Pre: 1}
		}))
		require.NoError(t, g.AddLambdaNode("a", suffix("a"), WithOutputKey("a")))
		require.NoError(t, g.AddLambdaNode("b", suffix("b"), WithOutputKey("b")))
		require.NoError(t, g.AddLambdaNode("join", InvokableLambda(func(ctx context.Context, in kv) (string, error) {
			note(fmt.Sprint("node, state ", pre(ctx)))
			return fmt.Sprint(in["a"], in["b"]), nil
		})))
		for _, k := range []string{"a", "b"} {
			require.NoError(t, g.AddEdge(START, k))
			require.NoError(t, g.AddEdge(k, "join"))
		}
		require.NoError(t, g.AddEdge("join", END))
		s := &notingStore{store: newStore(), note: note}
		r := compiled[string, string](t, g, WithCheckPointStore(s), WithInterruptBeforeNodes([]string{"join"}))
		started := WithCallbacks(onGraphStart(func(ctx context.Context) {
			note(fmt.Sprint("start, state ", pre(ctx)))
		}))
		_, err := call(r, context.Background(), WithCheckPointID("id"))
		cause := interrupted(t, err).InterruptContexts[0]
		modify := WithStateModifier(func(_ context.Context, path NodePath, state any) error {
			note(fmt.Sprint("modified ", state.(*counters).Pre))
			state.(*counters).Pre = 2
			return nil
		})

		for _, c := range []struct {
			ctx   context.Context
			state int
		}{{context.Background(), 2}, {ResumeWithData(context.Background(), cause.ID, &counters{Pre: 3}), 3}} {
			events = nil
			out, err := call(r, c.ctx, WithCheckPointID("id"), modify, started)
			require.NoError(t, err)
			require.Equal(t, "xaxb", out, "the values of the channels; the input of this call does not count")
			require.Equal(t, []string{"loaded", "modified 1", fmt.Sprint("start, state ", c.state),
				fmt.Sprint("node, state ", c.state)}, events)
		}
	})
}

// notingStore says when it is read.
type notingStore struct {
	*store
	note func(string)
}

func (s *notingStore) Get(ctx context.Context, id string) ([]byte, bool, error) {
	data, ok, err := s.store.Get(ctx, id)
	if ok {
		s.note("loaded")
	}
	return data, ok, err
}

// onGraphStart calls f when a graph starts, with values or with a stream.
func onGraphStart(f func(ctx context.Context)) callbacks.Handler {
	return callbacks.NewHandlerBuilder().
		OnStartFn(func(ctx context.Context, info *callbacks.RunInfo, _ callbacks.CallbackInput) context.Context {
			if info.Component == ComponentOfGraph {
				f(ctx)
			}
			return ctx
		}).
		OnStartWithStreamInputFn(func(
			ctx context.Context, info *callbacks.RunInfo, in *schema.StreamReader[callbacks.CallbackInput],
		) context.Context {
			in.Close()
			if info.Component == ComponentOfGraph {
				f(ctx)
			}
			return ctx
		}).Build()
}

// What a resumed run does with nodes that are done, that interrupted themselves and that a graph is in.
// Rule compose/U-4.
func TestResume_RunsNoFinishedNodeAgain(t *testing.T) {
	for mode, opts := range modes {
		t.Run(mode, func(t *testing.T) {
			forEachRunKind(t, func(t *testing.T, call caller) {
				var handled []string
				pre := func(key string) GraphAddNodeOpt {
					return WithStatePreHandler(func(_ context.Context, in string, _ *counters) (string, error) {
						handled = append(handled, key)
						return in + "^", nil
					})
				}
				inner := NewGraph[string, string]()
				require.NoError(t, inner.AddLambdaNode("i", asks("q")))
				line(t, inner, "i")
				again := InvokableLambda(func(ctx context.Context, in string) (string, error) {
					if _, has, answer := GetResumeContext[string](ctx); has {
						return in + answer, nil
					}
					return "", Interrupt(ctx, "again")
				})
				g := NewGraph[string, string](WithGenLocalState(func(context.Context) *counters { return &counters{} }))
				require.NoError(t, g.AddLambdaNode("done", suffix("d"), pre("done"), WithOutputKey("done")))
				require.NoError(t, g.AddLambdaNode("again", again, pre("again"), WithOutputKey("again")))
				require.NoError(t, g.AddGraphNode("sub", inner, pre("sub"), WithOutputKey("sub")))
				require.NoError(t, g.AddLambdaNode("join", joinKeys("done", "again", "sub")))
				for _, k := range []string{"done", "again", "sub"} {
					require.NoError(t, g.AddEdge(START, k))
					require.NoError(t, g.AddEdge(k, "join"))
				}
				require.NoError(t, g.AddEdge("join", END))
				r := compiled[string, string](t, g, append(opts, WithCheckPointStore(newStore()))...)

				_, err := call(r, context.Background(), WithCheckPointID("id"))
				require.Len(t, interrupted(t, err).InterruptContexts, 2)
				require.ElementsMatch(t, []string{"done", "again", "sub"}, handled)
				handled = nil
				out, err := call(r, answers(t, err, func(any) any { return "!" }), WithCheckPointID("id"))
				require.NoError(t, err)
				require.Equal(t, "[x^d][^!][x^!]", out, "the input of a node that interrupted itself is not kept")
				require.Equal(t, []string{"again"}, handled)
			})
		})
	}
}

// A node that was to run next gets its input, through the handler that has not seen it yet; one without an input
// gets a zero value, as a stream of that one chunk.
// Rule compose/U-4.
func TestResume_GivesWaitingNodesTheirInput(t *testing.T) {
	var chunks [][]string
	reader := TransformableLambda(func(
		ctx context.Context, in *schema.StreamReader[string],
	) (*schema.StreamReader[string], error) {
		got := readAll(t, in)
		chunks = append(chunks, got)
		if was, _, _ := GetInterruptState[any](ctx); !was {
			return nil, Interrupt(ctx, "q")
		}
		return singleOf(got[0] + "done"), nil
	})
	g := NewGraph[string, string](WithGenLocalState(func(context.Context) *counters { return &counters{} }))
	require.NoError(t, g.AddLambdaNode("n", reader,
		WithStatePreHandler(func(_ context.Context, in string, s *counters) (string, error) {
			s.Pre++
			return fmt.Sprint(in, s.Pre), nil
		})))
	require.NoError(t, g.AddLambdaNode("bare", reader))
	line(t, g, "n", "bare")
	forEachRunKind(t, func(t *testing.T, call caller) {
		chunks = nil
		r := compiled[string, string](t, g, WithCheckPointStore(newStore()), WithInterruptBeforeNodes([]string{"n"}))
		ctx := context.Background()
		_, err := call(r, ctx, WithCheckPointID("id"))
		require.Equal(t, []string{"n"}, interrupted(t, err).BeforeNodes)
		require.Equal(t, &counters{}, interrupted(t, err).State, "the handler has not run")
		for _, want := range []string{"n", "bare"} {
			_, err = call(r, ctx, WithCheckPointID("id"))
			require.Equal(t, []string{want}, interrupted(t, err).RerunNodes)
		}
		out, err := call(r, ctx, WithCheckPointID("id"))
		require.NoError(t, err)
		require.Equal(t, "done", out)
		require.Equal(t, [][]string{{"x1"}, {"2"}, {"2done"}, {""}}, chunks)
	})
}

// A checkpoint of another version of the graph is refused where resuming from it would lose something silently.
func TestResume_ChangedGraph(t *testing.T) {
	build := func(t *testing.T, opts []GraphCompileOption, st CheckPointStore,
		done, asking string,
	) Runnable[string, string] {
		g := NewGraph[string, string]()
		require.NoError(t, g.AddLambdaNode(done, suffix("d"), WithOutputKey("d")))
		require.NoError(t, g.AddLambdaNode(asking, asks("q"), WithOutputKey("a")))
		require.NoError(t, g.AddLambdaNode("other", asks("q"), WithOutputKey("o")))
		require.NoError(t, g.AddLambdaNode("join", joinKeys("d", "a", "o")))
		for _, k := range []string{done, asking, "other"} {
			require.NoError(t, g.AddEdge(START, k))
			require.NoError(t, g.AddEdge(k, "join"))
		}
		require.NoError(t, g.AddEdge("join", END))
		return compiled[string, string](t, g, append(slices.Clip(opts), WithCheckPointStore(st))...)
	}
	for mode, opts := range modes {
		for _, c := range []struct{ done, asking, want string }{
			{"done", "asking", ""},
			{"done", "renamed", "the checkpoint continues with node 'asking', which is not in this graph"},
			{"renamed", "asking",
				"the checkpoint has an output of node 'done' for node 'join', which takes none of it in this graph"},
		} {
			t.Run(mode+"/"+c.done+" "+c.asking, func(t *testing.T) {
				forEachRunKind(t, func(t *testing.T, call caller) {
					st := newStore()
					_, err := call(build(t, opts, st, "done", "asking"), context.Background(), WithCheckPointID("id"))
					ctx := answers(t, err, func(any) any { return "!" })
					out, err := call(build(t, opts, st, c.done, c.asking), ctx, WithCheckPointID("id"))
					if c.want == "" {
						require.NoError(t, err)
						require.Equal(t, "[xd][x!][x!]", out)
						return
					}
					require.ErrorContains(t, err, c.want)
				})
			})
		}
	}
}

// What a nested graph has to keep is in the checkpoint around it, whatever store it was given, and serves one
// run. A runnable inside a node is a run of its own: it begins again unless it keeps a checkpoint itself.
// Rule compose/H-9.
func TestCheckpoint_OfANestedGraphIsInTheOuterOne(t *testing.T) {
	forEachRunKind(t, func(t *testing.T, call caller) {
		outer, own := newStore(), newStore()
		inner := NewGraph[string, string]()
		ran := 0
		require.NoError(t, inner.AddLambdaNode("done", InvokableLambda(func(_ context.Context, in string) (string, error) {
			ran++
			return in + "d", nil
		})))
		require.NoError(t, inner.AddLambdaNode("ask", InvokableLambda(func(ctx context.Context, in string) (string, error) {
			if _, has, saved := GetInterruptState[string](ctx); has {
				in = saved
			}
			if _, has, answer := GetResumeContext[string](ctx); has {
				return in + answer, nil
			}
			return "", StatefulInterrupt(ctx, "q", in)
		})))
		line(t, inner, "done", "ask")

		// The graph is in a loop: the second time it finds nothing of the first.
		g := NewGraph[string, string]()
		require.NoError(t, g.AddGraphNode("sub", inner, WithGraphCompileOptions(WithCheckPointStore(own))))
		require.NoError(t, g.AddEdge(START, "sub"))
		require.NoError(t, g.AddBranch("sub", NewGraphBranch(func(_ context.Context, in string) (string, error) {
			if len(in) < 4 {
				return "sub", nil
			}
			return END, nil
		}, map[string]bool{"sub": true, END: true})))
		r := compiled[string, string](t, g, WithCheckPointStore(outer))
		_, err := call(r, context.Background(), WithCheckPointID("id"))
		_, err = call(r, answers(t, err, func(any) any { return "!" }), WithCheckPointID("id"))
		require.Equal(t, 2, ran)
		out, err := call(r, answers(t, err, func(any) any { return "?" }), WithCheckPointID("id"))
		require.NoError(t, err)
		require.Equal(t, "xd!d?", out)
		require.Equal(t, 2, ran, "what was done ran again")
		require.Empty(t, own.data)
		require.Len(t, outer.data, 1)

		for _, keeps := range []bool{false, true} {
			ran = 0
			innerRun := compiled[string, string](t, inner, WithCheckPointStore(own))
			g := lineOf(t, InvokableLambda(func(ctx context.Context, in string) (string, error) {
				if keeps {
					return innerRun.Invoke(ctx, "x", WithCheckPointID("own"))
				}
				return innerRun.Invoke(ctx, "x")
			}))
			r := compiled[string, string](t, g, WithCheckPointStore(newStore()))
			_, err := call(r, context.Background(), WithCheckPointID("id"))
			out, err := call(r, answers(t, err, func(any) any { return "!" }), WithCheckPointID("id"))
			require.NoError(t, err, "its points resolve through the context in any case")
			require.Equal(t, "xd!", out)
			require.Equal(t, map[bool]int{false: 2, true: 1}[keeps], ran)
		}
	})
}

// A checkpoint without a state, of a graph that has one by now, continues with a new state.
// Rule compose/B22.16.
func TestResume_MakesAStateThatWasNotSaved(t *testing.T) {
	count := InvokableLambda(func(ctx context.Context, in string) (out string, err error) {
		err = ProcessState(ctx, func(_ context.Context, s *counters) error { out = fmt.Sprint(in, s.Pre); return nil })
		return out, err
	})
	build := func(t *testing.T, st CheckPointStore, last *Lambda, opts ...NewGraphOption) Runnable[string, string] {
		g := NewGraph[string, string](opts...)
		require.NoError(t, g.AddLambdaNode("ask", asks("q")))
		require.NoError(t, g.AddLambdaNode("n", last))
		line(t, g, "ask", "n")
		return compiled[string, string](t, g, WithCheckPointStore(st))
	}
	forEachRunKind(t, func(t *testing.T, call caller) {
		st := newStore()
		_, err := call(build(t, st, suffix("")), context.Background(), WithCheckPointID("id"))
		withState := build(t, st, count, WithGenLocalState(func(context.Context) *counters { return &counters{Pre: 5} }))
		modify := WithStateModifier(func(context.Context, NodePath, any) error { return errBoom })
		out, err := call(withState, answers(t, err, func(any) any { return "!" }), WithCheckPointID("id"), modify)
		require.NoError(t, err, "there is no saved state to modify")
		require.Equal(t, "x!5", out)
	})
}
