package compose

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/schema"
)

// onStart calls f with the name of everything that starts.
func onStart(f func(name string)) callbacks.Handler {
	return callbacks.NewHandlerBuilder().
		OnStartFn(func(ctx context.Context, info *callbacks.RunInfo, _ callbacks.CallbackInput) context.Context {
			f(info.Name)
			return ctx
		}).
		OnStartWithStreamInputFn(func(
			ctx context.Context, info *callbacks.RunInfo, in *schema.StreamReader[callbacks.CallbackInput],
		) context.Context {
			in.Close()
			f(info.Name)
			return ctx
		}).Build()
}

type optA string
type optB string

// optionGraph is outer{a, sub{a, b}}: each node appends its key and the options of its type.
func optionGraph(t *testing.T) Runnable[string, string] {
	withA := func(key string) *Lambda {
		return InvokableLambdaWithOption(func(_ context.Context, in string, opts ...optA) (string, error) {
			return fmt.Sprint(in, key, opts), nil
		})
	}
	inner := NewGraph[string, string]()
	require.NoError(t, inner.AddLambdaNode("a", withA("ia"), WithNodeName("ia")))
	require.NoError(t, inner.AddLambdaNode("b",
		InvokableLambdaWithOption(func(_ context.Context, in string, opts ...optB) (string, error) {
			return fmt.Sprint(in, "ib", opts), nil
		}), WithNodeName("ib")))
	line(t, inner, "a", "b")
	g := NewGraph[string, string]()
	require.NoError(t, g.AddLambdaNode("a", withA("a"), WithNodeName("a")))
	require.NoError(t, g.AddGraphNode("sub", inner, WithNodeName("sub")))
	require.NoError(t, g.AddLambdaNode("plain", suffix("p"), WithNodeName("plain")))
	line(t, g, "a", "sub", "plain")
	return compiled[string, string](t, g, WithGraphName("g"))
}

// Rules compose/O-1, compose/O-2.
func TestOptions_ReachTheirNodes(t *testing.T) {
	r := optionGraph(t)
	forms4(t, r, "", "a[]ia[]ib[]p")
	forms4(t, r, "", "a[1 2]ia[1 2]ib[]p", WithLambdaOption(optA("1"), optA("2")))
	forms4(t, r, "", "a[]ia[]ib[b]p", WithLambdaOption(optB("b")))
	forms4(t, r, "", "a[1]ia[]ib[]p", WithLambdaOption(optA("1")).DesignateNode("a"))
	forms4(t, r, "", "a[]ia[1]ib[]p", WithLambdaOption(optA("1")).DesignateNode("sub"))
	forms4(t, r, "", "a[]ia[1]ib[]p", WithLambdaOption(optA("1")).DesignateNodeWithPath(NewNodePath("sub", "a")))
	forms4(t, r, "", "a[x 1 y]ia[x y]ib[]p", WithLambdaOption(optA("x")), WithLambdaOption(optA("1")).DesignateNode("a"),
		WithLambdaOption(optA("y")))
	forms4(t, r, "", "a[]ia[]ib[]p", WithLambdaOption("nobody takes strings"))

	for want, opt := range map[string]Option{
		"option type[compose.optB] is different from which the designated node[a] expects[compose.optA]": WithLambdaOption(optB("b")).DesignateNode("a"),
		"call option has designated an empty path":                                                       WithLambdaOption(optA("")).DesignateNodeWithPath(NewNodePath()),
		"option has designated an unknown node: [zz]":                                                    WithLambdaOption(optA("")).DesignateNode("zz"),
		"cannot designate sub path of a component, path:[a, b]":                                          WithLambdaOption(optA("")).DesignateNodeWithPath(NewNodePath("a", "b")),
		"unexpected component option type, expected:compose.optA, actual:compose.optB":                   WithLambdaOption(optA(""), optB("")),
	} {
		for _, err := range fails(t, r, "", opt) {
			require.ErrorContains(t, err, want)
		}
	}
}

// Rule compose/O-5.
func TestOptions_AreValues(t *testing.T) {
	base := WithLambdaOption(optA("1"))
	one, two := base.DesignateNode("a"), base.DesignateNode("sub")
	r := optionGraph(t)
	forms4(t, r, "", "a[1]ia[]ib[]p", one)
	forms4(t, r, "", "a[]ia[1]ib[]p", two)
	forms4(t, r, "", "a[1]ia[1]ib[]p", base)
}

// Rule compose/O-3.
func TestOptions_CallbacksAreInherited(t *testing.T) {
	r := optionGraph(t)
	for _, c := range []struct {
		opt  func(callbacks.Handler) Option
		want []string
	}{
		{func(h callbacks.Handler) Option { return WithCallbacks(h) }, []string{"g", "a", "sub", "ia", "ib", "plain"}},
		{func(h callbacks.Handler) Option { return WithCallbacks(h).DesignateNode("a") }, []string{"a"}},
		{func(h callbacks.Handler) Option { return WithCallbacks(h).DesignateNode("sub") }, []string{"sub", "ia", "ib"}},
		{func(h callbacks.Handler) Option {
			return WithCallbacks(h).DesignateNodeWithPath(NewNodePath("sub", "b"))
		}, []string{"ib"}},
	} {
		var names []string
		_, err := r.Invoke(context.Background(), "", c.opt(onStart(func(name string) { names = append(names, name) })))
		require.NoError(t, err)
		require.Equal(t, c.want, names)
		names = nil
		s, err := r.Stream(context.Background(), "", c.opt(onStart(func(name string) { names = append(names, name) })))
		require.NoError(t, err)
		s.Close()
		require.Equal(t, c.want, names)
	}
}

// moment is one callback.
type moment struct{ timing, name, component string }

func recorder(out *[]moment) callbacks.Handler {
	note := func(ctx context.Context, timing string, info *callbacks.RunInfo) context.Context {
		*out = append(*out, moment{timing, info.Name, string(info.Component)})
		return ctx
	}
	return callbacks.NewHandlerBuilder().
		OnStartFn(func(ctx context.Context, i *callbacks.RunInfo, _ callbacks.CallbackInput) context.Context {
			return note(ctx, "start", i)
		}).
		OnEndFn(func(ctx context.Context, i *callbacks.RunInfo, _ callbacks.CallbackOutput) context.Context {
			return note(ctx, "end", i)
		}).
		OnErrorFn(func(ctx context.Context, i *callbacks.RunInfo, _ error) context.Context { return note(ctx, "error", i) }).
		OnStartWithStreamInputFn(func(
			ctx context.Context, i *callbacks.RunInfo, s *schema.StreamReader[callbacks.CallbackInput],
		) context.Context {
			s.Close()
			return note(ctx, "start stream", i)
		}).
		OnEndWithStreamOutputFn(func(ctx context.Context, i *callbacks.RunInfo,
			s *schema.StreamReader[callbacks.CallbackOutput],
		) context.Context {
			s.Close()
			return note(ctx, "end stream", i)
		}).Build()
}

// Rule compose/K-2.
func TestCallbacks_TheUsersOwnFormIsReported(t *testing.T) {
	g := NewGraph[string, string]()
	require.NoError(t, g.AddLambdaNode("invoke", suffix(""), WithNodeName("invoke")))
	require.NoError(t, g.AddLambdaNode("stream",
		StreamableLambda(func(_ context.Context, in string) (*schema.StreamReader[string], error) {
			return singleOf(in), nil
		}), WithNodeName("stream")))
	require.NoError(t, g.AddLambdaNode("collect",
		CollectableLambda(func(_ context.Context, in *schema.StreamReader[string]) (string, error) {
			return concatStream(in)
		}), WithNodeName("collect")))
	require.NoError(t, g.AddLambdaNode("transform", streamSuffix(""), WithNodeName("transform")))
	require.NoError(t, g.AddPassthroughNode("pass", WithNodeName("pass")))
	line(t, g, "invoke", "stream", "collect", "transform", "pass")
	r := compiled[string, string](t, g, WithGraphName("g"))
	nodes := []moment{
		{"start", "invoke", "Lambda"}, {"end", "invoke", "Lambda"},
		{"start", "stream", "Lambda"}, {"end stream", "stream", "Lambda"},
		{"start stream", "collect", "Lambda"}, {"end", "collect", "Lambda"},
		{"start stream", "transform", "Lambda"}, {"end stream", "transform", "Lambda"},
	}
	var got []moment
	_, err := r.Invoke(context.Background(), "x", WithCallbacks(recorder(&got)))
	require.NoError(t, err)
	require.Equal(t, append(append([]moment{{"start", "g", "Graph"}}, nodes...), moment{"end", "g", "Graph"}), got)
	got = nil
	s, err := r.Stream(context.Background(), "x", WithCallbacks(recorder(&got)))
	require.NoError(t, err)
	s.Close()
	require.Equal(t, append(append([]moment{{"start stream", "g", "Graph"}}, nodes...),
		moment{"end stream", "g", "Graph"}), got)
}

// Rules compose/K-3, compose/K-4.
func TestCallbacks_ReportErrorsOfGraphsAndLeaveSelfReportingAlone(t *testing.T) {
	g := NewGraph[string, string]()
	require.NoError(t, g.AddLambdaNode("own", InvokableLambda(func(ctx context.Context, in string) (string, error) {
		ctx = callbacks.OnStart(ctx, in)
		callbacks.OnEnd(ctx, in)
		return in, nil
	}, WithLambdaCallbackEnable(true)), WithNodeName("own")))
	require.NoError(t, g.AddLambdaNode("bad",
		InvokableLambda(func(context.Context, string) (string, error) { return "", errBoom }), WithNodeName("bad")))
	line(t, g, "own", "bad")
	var got []moment
	r := compiled[string, string](t, g, WithGraphName("g"))
	_, err := r.Invoke(context.Background(), "x", WithCallbacks(recorder(&got)))
	require.ErrorIs(t, err, errBoom)
	require.Equal(t, []moment{{"start", "g", "Graph"}, {"start", "own", "Lambda"}, {"end", "own", "Lambda"},
		{"start", "bad", "Lambda"}, {"error", "bad", "Lambda"}, {"error", "g", "Graph"}}, got)
	got = nil
	_, err = r.Invoke(context.Background(), "x", WithCallbacks(recorder(&got)),
		WithLambdaOption(1).DesignateNode("nowhere"))
	require.Error(t, err)
	require.Equal(t, []moment{{"start", "g", "Graph"}, {"error", "g", "Graph"}}, got)
}

// Spans hang where they belong.
// Rule compose/K-6.
func TestCallbacks_ContextsFormATree(t *testing.T) {
	type key struct{}
	path := func(ctx context.Context) string { p, _ := ctx.Value(key{}).(string); return p }
	span := callbacks.NewHandlerBuilder().OnStartFn(func(
		ctx context.Context, info *callbacks.RunInfo, _ callbacks.CallbackInput,
	) context.Context {
		return context.WithValue(ctx, key{}, path(ctx)+"/"+info.Name)
	}).Build()
	var ends []string
	ended := callbacks.NewHandlerBuilder().OnEndFn(func(
		ctx context.Context, info *callbacks.RunInfo, _ callbacks.CallbackOutput,
	) context.Context {
		ends = append(ends, path(ctx))
		return ctx
	}).Build()
	seen := map[string]string{}
	look := func(key string) *Lambda {
		return InvokableLambda(func(ctx context.Context, in string) (string, error) { seen[key] = path(ctx); return in, nil })
	}
	inner := NewGraph[string, string]()
	require.NoError(t, inner.AddLambdaNode("i", look("i"), WithNodeName("i")))
	line(t, inner, "i")
	g := NewGraph[string, string](WithGenLocalState(func(context.Context) *counters { return &counters{} }))
	require.NoError(t, g.AddLambdaNode("a", look("a"), WithNodeName("a"),
		WithStatePreHandler(func(ctx context.Context, in string, _ *counters) (string, error) {
			seen["pre"] = path(ctx)
			return in, nil
		})))
	require.NoError(t, g.AddGraphNode("sub", inner, WithNodeName("sub")))
	require.NoError(t, g.AddEdge(START, "a"))
	require.NoError(t, g.AddBranch("a",
		NewGraphBranch(func(ctx context.Context, _ string) (string, error) { seen["branch"] = path(ctx); return "sub", nil },
			map[string]bool{"sub": true})))
	require.NoError(t, g.AddEdge("sub", END))
	_, err := compiled[string, string](t, g, WithGraphName("g")).Invoke(context.Background(), "x",
		WithCallbacks(span, ended))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a": "/g/a", "pre": "/g", "branch": "/g", "i": "/g/sub/i"}, seen)
	require.Equal(t, []string{"/g/a", "/g/sub/i", "/g/sub", "/g"}, ends)
}

func TestNodePath_NilIsEmpty(t *testing.T) {
	require.Empty(t, (*NodePath)(nil).GetPath())
}
