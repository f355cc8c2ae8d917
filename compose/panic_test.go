package compose

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/schema"
)

var errBoom = errors.New("boom")

// panicState panics where a run touches it.
type panicState struct{}

// Every piece of user code that a graph calls may panic: the caller gets an error that names the place, wraps the
// panic value, and nothing hangs or leaks.
// Rules compose/X-14, compose/B22.7.
func TestPanic_EverywhereIsAnErrorWithItsPlace(t *testing.T) {
	boom := func() { panic(errBoom) }
	cases := []struct {
		name  string
		where string // must be in the text
		build func(t *testing.T) Runnable[string, string]
		opts  []Option
	}{
		{name: "node", where: "node path: [n]", build: func(t *testing.T) Runnable[string, string] {
			g := NewGraph[string, string]()
			require.NoError(t, g.AddLambdaNode("n",
				InvokableLambda(func(context.Context, string) (string, error) { boom(); return "", nil })))
			line(t, g, "n")
			return compiled[string, string](t, g)
		}},
		{name: "parallel node", where: "node path: [b]", build: func(t *testing.T) Runnable[string, string] {
			g := NewGraph[string, string]()
			require.NoError(t, g.AddLambdaNode("a", keyedSuffix("a")))
			require.NoError(t, g.AddLambdaNode("b",
				InvokableLambda(func(context.Context, string) (map[string]any, error) { boom(); return nil, nil })))
			require.NoError(t, g.AddLambdaNode("j",
				InvokableLambda(func(context.Context, map[string]any) (string, error) { return "", nil })))
			for _, k := range []string{"a", "b"} {
				require.NoError(t, g.AddEdge(START, k))
				require.NoError(t, g.AddEdge(k, "j"))
			}
			require.NoError(t, g.AddEdge("j", END))
			return compiled[string, string](t, g)
		}},
		{name: "nested node", where: "node path: [sub, n]", build: func(t *testing.T) Runnable[string, string] {
			inner := NewChain[string, string]()
			inner.AppendLambda(InvokableLambda(func(context.Context, string) (string, error) { boom(); return "", nil }),
				WithNodeKey("n"))
			g := NewGraph[string, string]()
			require.NoError(t, g.AddGraphNode("sub", inner))
			line(t, g, "sub")
			return compiled[string, string](t, g)
		}},
		{name: "pre handler", where: "panic in pre handler: boom", build: func(t *testing.T) Runnable[string, string] {
			return stateGraph(t,
				WithStatePreHandler(func(context.Context, string, *panicState) (string, error) { boom(); return "", nil }))
		}},
		{name: "post handler", where: "panic in post handler: boom", build: func(t *testing.T) Runnable[string, string] {
			return stateGraph(t,
				WithStatePostHandler(func(context.Context, string, *panicState) (string, error) { boom(); return "", nil }))
		}},
		{name: "stream pre handler", where: "panic in pre handler: boom", build: func(t *testing.T) Runnable[string, string] {
			return stateGraph(t,
				WithStreamStatePreHandler(func(
					context.Context, *schema.StreamReader[string], *panicState,
				) (*schema.StreamReader[string], error) {
					boom()
					return nil, nil
				}))
		}},
		{name: "branch", where: "calculate next step fail, node: n", build: func(t *testing.T) Runnable[string, string] {
			g := NewGraph[string, string]()
			require.NoError(t, g.AddLambdaNode("n", suffix("n")))
			require.NoError(t, g.AddEdge(START, "n"))
			require.NoError(t, g.AddBranch("n",
				NewGraphBranch(func(context.Context, string) (string, error) { boom(); return "", nil },
					map[string]bool{END: true})))
			return compiled[string, string](t, g)
		}},
		{name: "stream branch", where: "calculate next step fail, node: n",
			build: func(t *testing.T) Runnable[string, string] {
				g := NewGraph[string, string]()
				require.NoError(t, g.AddLambdaNode("n", suffix("n")))
				require.NoError(t, g.AddEdge(START, "n"))
				require.NoError(t, g.AddBranch("n",
					NewStreamGraphBranch(func(context.Context, *schema.StreamReader[string]) (string, error) {
						boom()
						return "", nil
					}, map[string]bool{END: true})))
				return compiled[string, string](t, g)
			}},
		{name: "state generator", where: "GraphRunError", build: func(t *testing.T) Runnable[string, string] {
			g := NewGraph[string, string](WithGenLocalState(func(context.Context) *panicState { boom(); return nil }))
			require.NoError(t, g.AddLambdaNode("n", suffix("n")))
			line(t, g, "n")
			return compiled[string, string](t, g)
		}},
		{name: "field mapping extractor", where: "RunError", build: func(t *testing.T) Runnable[string, string] {
			wf := NewWorkflow[string, string]()
			wf.AddLambdaNode("n",
				InvokableLambda(func(_ context.Context, in map[string]any) (string, error) { return "", nil })).
				AddInput(START, ToField("x", WithCustomExtractor(func(any) (any, error) { boom(); return nil, nil })))
			wf.End().AddInput("n")
			return compiled[string, string](t, wf)
		}},
		{name: "start callback", where: "boom", opts: []Option{WithCallbacks(callbacks.NewHandlerBuilder().
			OnStartFn(func(context.Context, *callbacks.RunInfo, callbacks.CallbackInput) context.Context { boom(); return nil }).
			OnStartWithStreamInputFn(func(
				context.Context, *callbacks.RunInfo, *schema.StreamReader[callbacks.CallbackInput],
			) context.Context {
				boom()
				return nil
			}).Build())}, build: plainGraph},
		{name: "end callback of a node", where: "node path: [n]", opts: []Option{WithCallbacks(callbacks.NewHandlerBuilder().
			OnEndFn(func(context.Context, *callbacks.RunInfo, callbacks.CallbackOutput) context.Context {
				boom()
				return nil
			}).Build()).DesignateNode("n")},
			build: plainGraph},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for _, err := range fails(t, c.build(t), "x", c.opts...) {
				require.ErrorIs(t, err, errBoom)
				var p *safe.PanicError
				require.ErrorAs(t, err, &p)
				require.True(t, strings.Contains(err.Error(), c.where), "%q is not in:\n%s", c.where, err)
			}
		})
	}
}

// A component that panics reports an error to its handlers before the run fails with it.
// Rule components/B13.1.8.
func TestPanic_IsReportedByItsComponent(t *testing.T) {
	var errs []string
	handler := callbacks.NewHandlerBuilder().OnErrorFn(func(
		ctx context.Context, info *callbacks.RunInfo, err error,
	) context.Context {
		var p *safe.PanicError
		require.ErrorAs(t, err, &p)
		require.ErrorIs(t, err, errBoom)
		errs = append(errs, info.Name)
		return ctx
	}).Build()
	panics := func(context.Context, string) (string, error) { panic(errBoom) }
	streams := func(context.Context, string) (*schema.StreamReader[string], error) { panic(errBoom) }
	for name, l := range map[string]*Lambda{"values": InvokableLambda(panics), "streams": StreamableLambda(streams)} {
		t.Run(name, func(t *testing.T) {
			g := NewGraph[string, string]()
			require.NoError(t, g.AddLambdaNode("n", l, WithNodeName("node")))
			line(t, g, "n")
			errs = nil
			fails(t, compiled[string, string](t, g, WithGraphName("graph")), "x", WithCallbacks(handler))
			require.Equal(t, []string{"node", "graph", "node", "graph"}, errs)
		})
	}

	g := NewGraph[*schema.Message, []*schema.Message]()
	require.NoError(t, g.AddToolsNode("tools", toolsNode(t, ToolsNodeConfig{Tools: []tool.BaseTool{
		&invokable{"bad", func(context.Context, string, ...tool.Option) (string, error) { panic(errBoom) }},
	}}), WithNodeName("node")))
	line(t, g, "tools")
	errs = nil
	fails(t, compiled[*schema.Message, []*schema.Message](t, g, WithGraphName("graph")), calls("bad"),
		WithCallbacks(handler))
	require.Equal(t, []string{"bad", "node", "graph", "bad", "node", "graph"}, errs)
}

func stateGraph(t *testing.T, opts ...GraphAddNodeOpt) Runnable[string, string] {
	g := NewGraph[string, string](WithGenLocalState(func(context.Context) *panicState { return &panicState{} }))
	require.NoError(t, g.AddLambdaNode("n", suffix("n"), opts...))
	line(t, g, "n")
	return compiled[string, string](t, g)
}

func plainGraph(t *testing.T) Runnable[string, string] {
	g := NewGraph[string, string]()
	require.NoError(t, g.AddLambdaNode("n", suffix("n")))
	line(t, g, "n")
	return compiled[string, string](t, g)
}

type mergedByPanic struct{ n int }

func TestPanic_InAMergeFunction(t *testing.T) {
	RegisterValuesMergeFunc(func([]mergedByPanic) (mergedByPanic, error) { panic(errBoom) })
	g := NewGraph[string, mergedByPanic]()
	for _, k := range []string{"a", "b"} {
		require.NoError(t, g.AddLambdaNode(k,
			InvokableLambda(func(context.Context, string) (mergedByPanic, error) { return mergedByPanic{1}, nil })))
		require.NoError(t, g.AddEdge(START, k))
		require.NoError(t, g.AddEdge(k, END))
	}
	_, err := compiled[string, mergedByPanic](t, g).Invoke(context.Background(), "x")
	require.ErrorIs(t, err, errBoom)
}

type panicSerializer struct{}

func (panicSerializer) Marshal(any) ([]byte, error) { panic(errBoom) }
func (panicSerializer) Unmarshal([]byte, any) error { panic(errBoom) }

func TestPanic_InTheSerializer(t *testing.T) {
	g := NewGraph[string, string]()
	require.NoError(t, g.AddLambdaNode("n", suffix("n")))
	line(t, g, "n")
	s := newStore()
	r := compiled[string, string](t, g, WithCheckPointStore(s), WithSerializer(panicSerializer{}),
		WithInterruptBeforeNodes([]string{"n"}))
	_, err := r.Invoke(context.Background(), "x", WithCheckPointID("id"))
	require.ErrorIs(t, err, errBoom)
	_, ok := ExtractInterruptInfo(err)
	require.False(t, ok, "a checkpoint that was not written must not look like an interrupt")
	s.data["id"] = []byte("x")
	_, err = r.Invoke(context.Background(), "x", WithCheckPointID("id"))
	require.ErrorIs(t, err, errBoom)
}

// badErr is an error that panics when it is looked into, as one does that is a nil pointer behind an interface.
type badErr struct{ cause error }

func (e *badErr) Error() string { return "bad: " + e.cause.Error() }
func (e *badErr) Unwrap() error { return e.cause }

// An error that panics when it is looked into is an error like any other, wherever code of users returns it or panics
// with it: callers need not guard errors.Is.
func TestPanic_ErrorsThatPanic(t *testing.T) {
	var bad *badErr
	give := map[string]func() error{"returned": func() error { return bad }, "thrown": func() error { panic(error(bad)) }}
	graphs := map[string]func(t *testing.T, fails func() error) *Graph[string, string]{
		"nodes side by side": func(t *testing.T, fails func() error) *Graph[string, string] {
			return fan(t, func(g *Graph[string, string], key string) error {
				return g.AddLambdaNode(key, InvokableLambda(func(context.Context, string) (string, error) { return "", fails() }),
					WithOutputKey(key))
			}, "a", "b", "c")
		},
		"a pre-handler": func(t *testing.T, fails func() error) *Graph[string, string] {
			g := NewGraph[string, string](WithGenLocalState(func(context.Context) *counters { return &counters{} }))
			require.NoError(t, g.AddLambdaNode("n", suffix("n"),
				WithStatePreHandler(func(context.Context, string, *counters) (string, error) { return "", fails() })))
			line(t, g, "n")
			return g
		},
		"a branch": func(t *testing.T, fails func() error) *Graph[string, string] {
			g := NewGraph[string, string]()
			require.NoError(t, g.AddBranch(START,
				NewGraphBranch(func(context.Context, string) (string, error) { return "", fails() }, map[string]bool{END: true})))
			return g
		},
		"tools side by side": func(t *testing.T, fails func() error) *Graph[string, string] {
			tn := toolsNode(t,
				ToolsNodeConfig{Tools: []tool.BaseTool{&invokable{"bad",
					func(context.Context, string, ...tool.Option) (string, error) { return "", fails() }}}})
			g := NewGraph[string, string]()
			require.NoError(t, g.AddLambdaNode("calls",
				InvokableLambda(func(context.Context, string) (*schema.Message, error) { return calls("bad", "bad", "bad"), nil })))
			require.NoError(t, g.AddToolsNode("tools", tn))
			require.NoError(t, g.AddLambdaNode("n",
				InvokableLambda(func(context.Context, []*schema.Message) (string, error) { return "", nil })))
			line(t, g, "calls", "tools", "n")
			return g
		},
	}
	listens := WithCallbacks(callbacks.NewHandlerBuilder().OnErrorFn(func(
		ctx context.Context, _ *callbacks.RunInfo, err error,
	) context.Context {
		_ = errors.Is(err, errBoom)
		panic(error(bad))
	}).Build())
	for where, build := range graphs {
		for how, fail := range give {
			for name, opts := range map[string][]Option{"": nil, ", with a handler that panics": {listens}} {
				t.Run(where+", "+how+name, func(t *testing.T) {
					outer := NewGraph[string, string]()
					require.NoError(t, outer.AddGraphNode("sub", build(t, fail)))
					line(t, outer, "sub")
					for _, err := range fails(t, compiled[string, string](t, outer), "x", opts...) {
						require.NotErrorIs(t, err, errBoom, "looking into it does not panic any more")
						require.ErrorContains(t, err, "an error of type *")
						require.ErrorContains(t, err, "that panics when it is looked into: runtime error: invalid memory address")
						require.ErrorContains(t, err, "node path: [sub")
					}
				})
			}
		}
	}
}

// Components that panic when they are asked what they are fail where they are given, with their place.
func TestPanic_ComponentsThatCannotSayWhatTheyAre(t *testing.T) {
	for _, m := range []*mute{{typ: true}, {enabled: true}} {
		g := NewGraph[[]*schema.Message, *schema.Message]()
		err := g.AddChatModelNode("n", m)
		require.ErrorIs(t, err, errBoom)
		require.ErrorContains(t, err, "node 'n': ")
		_, err = g.Compile(context.Background())
		require.ErrorIs(t, err, errBoom)

		tl := &muteTool{invokable{"t", func(context.Context, string, ...tool.Option) (string, error) { return "", nil }}, m}
		_, err = NewToolNode(context.Background(), &ToolsNodeConfig{Tools: []tool.BaseTool{tl}})
		require.ErrorIs(t, err, errBoom)
		require.ErrorContains(t, err, "tool t: ")
		_, err = toolsNode(t, ToolsNodeConfig{}).Invoke(context.Background(), calls("t"), WithToolList(tl))
		require.ErrorIs(t, err, errBoom)
	}
	_, err := NewToolNode(context.Background(), &ToolsNodeConfig{Tools: []tool.BaseTool{echo("e")},
		ToolCallMiddlewares: []ToolMiddleware{{Invokable: func(InvokableToolEndpoint) InvokableToolEndpoint {
			panic(errBoom)
		}}}})
	require.ErrorIs(t, err, errBoom)
	require.ErrorContains(t, err, "tool e: ")
}

// mute panics when it is asked what it is.
type mute struct {
	model.BaseChatModel
	typ, enabled bool
}

func (m *mute) GetType() string {
	if m.typ {
		panic(errBoom)
	}
	return "Mute"
}

func (m *mute) IsCallbacksEnabled() bool {
	if m.enabled {
		panic(errBoom)
	}
	return false
}

type muteTool struct {
	invokable
	*mute
}

// What is nil must be found when the graph is built.
// Rules compose/B22.8, compose/B22.19b.
func TestNil_IsAnErrorAtConstruction(t *testing.T) {
	var noModel *nilModel
	cases := map[string]func(g *Graph[string, string]) error{
		"lambda": func(g *Graph[string, string]) error { return g.AddLambdaNode("n", nil) },
		"lambda func": func(g *Graph[string, string]) error {
			return g.AddLambdaNode("n", InvokableLambda[string, string](nil))
		},
		"model":      func(g *Graph[string, string]) error { return g.AddChatModelNode("n", nil) },
		"typed nil":  func(g *Graph[string, string]) error { return g.AddChatModelNode("n", noModel) },
		"graph":      func(g *Graph[string, string]) error { return g.AddGraphNode("n", nil) },
		"tools node": func(g *Graph[string, string]) error { return g.AddToolsNode("n", nil) },
		"branch":     func(g *Graph[string, string]) error { return g.AddBranch(START, nil) },
		"condition": func(g *Graph[string, string]) error {
			return g.AddBranch(START, NewGraphBranch[string](nil, map[string]bool{END: true}))
		},
		"empty key": func(g *Graph[string, string]) error { return g.AddLambdaNode("", suffix("")) },
		"false end node": func(g *Graph[string, string]) error {
			return g.AddBranch(START, NewGraphBranch(func(context.Context, string) (string, error) { return END, nil },
				map[string]bool{END: false}))
		},
	}
	for name, build := range cases {
		t.Run(name, func(t *testing.T) { require.Error(t, build(NewGraph[string, string]())) })
	}
	_, err := AnyLambda[string, string, any](nil, nil, nil, nil)
	require.EqualError(t, err,
		"needs to have at least one of four lambda types: invoke/stream/collect/transform, got none")
	_, err = NewToolNode(context.Background(), nil)
	require.Error(t, err)
	_, err = compiled[string, string](t, func() *Graph[string, string] {
		g := NewGraph[string, string]()
		require.NoError(t, g.AddLambdaNode("n", suffix("")))
		line(t, g, "n")
		return g
	}()).Transform(context.Background(), nil)
	require.Error(t, err)
}

type nilModel struct{ model.BaseChatModel }

func TestNil_StreamFromANodeIsItsError(t *testing.T) {
	g := NewGraph[string, string]()
	require.NoError(t, g.AddLambdaNode("n",
		StreamableLambda(func(context.Context, string) (*schema.StreamReader[string], error) { return nil, nil })))
	line(t, g, "n")
	for _, err := range fails(t, compiled[string, string](t, g), "x") {
		require.ErrorIs(t, err, errNilStream)
		require.Contains(t, err.Error(), "node path: [n]")
	}
}

// Goexit is called by a mock that fails its test. On a goroutine of the graph's own it must not be lost.
func TestGoexit_OfANodeOrToolBesideOthers(t *testing.T) {
	for mode, opts := range modes {
		g := fan(t, func(g *Graph[string, string], key string) error {
			return g.AddLambdaNode(key, InvokableLambda(func(ctx context.Context, in string) (string, error) {
				if key == "exits" {
					runtime.Goexit()
				}
				return in, nil
			}), WithOutputKey(key))
		}, "a", "exits")
		for _, err := range fails(t, compiled[string, string](t, g, opts...), "x") {
			require.ErrorIs(t, err, errGoexit, mode)
			require.ErrorContains(t, err, "node path: [exits]")
		}
	}
	exits := &invokable{"exits",
		func(context.Context, string, ...tool.Option) (string, error) { runtime.Goexit(); return "", nil }}
	for _, limit := range []int{0, 2} {
		tn := toolsNode(t, ToolsNodeConfig{Tools: []tool.BaseTool{exits, echo("ok")}, MaxParallelCalls: limit})
		done := make(chan error, 1)
		go func() { // the caller's own goroutine takes a call, too
			defer func() { done <- nil }()
			_, err := tn.Invoke(context.Background(), calls("ok", "exits", "ok", "ok"))
			done <- err
		}()
		if err := <-done; err != nil {
			require.ErrorIs(t, err, errGoexit)
		}
	}
}
