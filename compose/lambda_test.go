package compose

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/schema"
)

// supplied names the forms that a lambda is made of; used notes which one ran.
type supplied struct{ invoke, stream, collect, transform bool }

func (s supplied) lambda(t *testing.T, used *string) *Lambda {
	var (
		i  Invoke[string, string, optA]
		st Stream[string, string, optA]
		c  Collect[string, string, optA]
		tr Transform[string, string, optA]
	)
	if s.invoke {
		i = func(_ context.Context, in string, opts ...optA) (string, error) {
			*used = "invoke"
			return fmt.Sprint(in, opts), nil
		}
	}
	if s.stream {
		st = func(_ context.Context, in string, opts ...optA) (*schema.StreamReader[string], error) {
			*used = "stream"
			return schema.StreamReaderFromArray([]string{in, fmt.Sprint(opts)}), nil
		}
	}
	if s.collect {
		c = func(_ context.Context, in *schema.StreamReader[string], opts ...optA) (string, error) {
			*used = "collect"
			v, err := concatStream(in)
			return fmt.Sprint(v, opts), err
		}
	}
	if s.transform {
		tr = func(_ context.Context, in *schema.StreamReader[string], opts ...optA) (*schema.StreamReader[string], error) {
			*used = "transform"
			v, err := concatStream(in)
			return schema.StreamReaderFromArray([]string{v, fmt.Sprint(opts)}), err
		}
	}
	l, err := AnyLambda(i, st, c, tr)
	require.NoError(t, err)
	return l
}

func (s supplied) has(form string) bool {
	return map[string]bool{"invoke": s.invoke, "stream": s.stream, "collect": s.collect, "transform": s.transform}[form]
}

// Every combination of supplied forms under every call: which form runs, and that all give the same.
// Rule compose/P-2.
func TestLambda_EveryFormServesEveryCall(t *testing.T) {
	values := []string{"invoke", "stream", "collect", "transform"}
	streams := []string{"transform", "stream", "collect", "invoke"}
	preferred := func(s supplied, order []string) string {
		for _, form := range order {
			if s.has(form) {
				return form
			}
		}
		return ""
	}
	for mask := 1; mask < 16; mask++ {
		s := supplied{mask&1 != 0, mask&2 != 0, mask&4 != 0, mask&8 != 0}
		t.Run(fmt.Sprintf("%+v", s), func(t *testing.T) {
			var used string
			g := NewGraph[string, string]()
			require.NoError(t, g.AddLambdaNode("n", s.lambda(t, &used)))
			line(t, g, "n")
			r := compiled[string, string](t, g)
			opt := WithLambdaOption(optA("o"))
			ctx := context.Background()
			three := func() *schema.StreamReader[string] { return schema.StreamReaderFromArray([]string{"a", "b", "c"}) }

			out, err := r.Invoke(ctx, "abc", opt)
			require.NoError(t, err)
			require.Equal(t, "abc[o]", out)
			require.Equal(t, preferred(s, values), used, "Invoke")

			used = ""
			sr, err := r.Stream(ctx, "abc", opt)
			require.NoError(t, err)
			require.Equal(t, "abc[o]", strings.Join(readAll(t, sr), ""))
			require.Equal(t, preferred(s, streams), used, "Stream")

			used = ""
			out, err = r.Collect(ctx, three(), opt)
			require.NoError(t, err)
			require.Equal(t, "abc[o]", out)
			require.Equal(t, preferred(s, streams), used, "Collect")

			used = ""
			sr, err = r.Transform(ctx, three(), opt)
			require.NoError(t, err)
			require.Equal(t, "abc[o]", strings.Join(readAll(t, sr), ""))
			require.Equal(t, preferred(s, streams), used, "Transform")
		})
	}
}

// Errors of each form, before and inside its stream, are met in every call.
func TestLambda_FormsFail(t *testing.T) {
	broken := func() *schema.StreamReader[string] {
		sr, sw := schema.Pipe[string](2)
		sw.Send("a", nil)
		sw.Send("", errBoom)
		sw.Close()
		return sr
	}
	lambdas := map[string]*Lambda{
		"invoke": InvokableLambda(func(context.Context, string) (string, error) { return "", errBoom }),
		"stream": StreamableLambda(func(context.Context, string) (*schema.StreamReader[string], error) {
			return nil, errBoom
		}),
		"collect": CollectableLambda(func(_ context.Context, in *schema.StreamReader[string]) (string, error) {
			in.Close()
			return "", errBoom
		}),
		"transform": TransformableLambda(func(
			_ context.Context, in *schema.StreamReader[string],
		) (*schema.StreamReader[string], error) {
			in.Close()
			return nil, errBoom
		}),
		"inside stream": StreamableLambda(func(context.Context, string) (*schema.StreamReader[string], error) {
			return broken(), nil
		}),
		"inside transform": TransformableLambda(func(
			_ context.Context, in *schema.StreamReader[string],
		) (*schema.StreamReader[string], error) {
			in.Close()
			return broken(), nil
		}),
	}
	for name, l := range lambdas {
		t.Run(name, func(t *testing.T) {
			g := NewGraph[string, string]()
			require.NoError(t, g.AddLambdaNode("n", l))
			line(t, g, "n")
			r := compiled[string, string](t, g)
			for _, err := range fails(t, r, "x") {
				require.ErrorIs(t, err, errBoom)
			}
			_, err := r.Collect(context.Background(), singleOf("x"))
			require.ErrorIs(t, err, errBoom)
		})
	}
}

// Rule compose/P-1.
func TestLambda_NeedsAForm(t *testing.T) {
	const want = "needs to have at least one of four lambda types: invoke/stream/collect/transform, got none"
	_, err := AnyLambda[string, string, optA](nil, nil, nil, nil)
	require.EqualError(t, err, want)
	for _, l := range []*Lambda{
		InvokableLambda[string, string](nil), InvokableLambdaWithOption[string, string, optA](nil),
		StreamableLambda[string, string](nil), StreamableLambdaWithOption[string, string, optA](nil),
		CollectableLambda[string, string](nil), CollectableLambdaWithOption[string, string, optA](nil),
		TransformableLambda[string, string](nil), TransformableLambdaWithOption[string, string, optA](nil),
		MessageParser[string](nil),
	} {
		require.ErrorContains(t, NewGraph[string, string]().AddLambdaNode("n", l), want)
	}
	require.Error(t, NewGraph[string, string]().AddLambdaNode("n", nil))
	require.Error(t, NewGraph[string, string]().AddLambdaNode("n", &Lambda{}))
}

// The eight constructors: the form that they take runs, with options where there are any.
func TestLambda_Constructors(t *testing.T) {
	split := func(in string) *schema.StreamReader[string] {
		return schema.StreamReaderFromArray(strings.Split(in, ""))
	}
	cases := map[string]*Lambda{
		"i": InvokableLambda(func(_ context.Context, in string) (string, error) { return in + "i", nil }),
		"io": InvokableLambdaWithOption(func(_ context.Context, in string, o ...optA) (string, error) {
			return in + "i" + string(o[0]), nil
		}),
		"s": StreamableLambda(func(_ context.Context, in string) (*schema.StreamReader[string], error) {
			return split(in + "s"), nil
		}),
		"so": StreamableLambdaWithOption(func(_ context.Context, in string, o ...optA) (*schema.StreamReader[string], error) {
			return split(in + "s" + string(o[0])), nil
		}),
		"c": CollectableLambda(func(_ context.Context, in *schema.StreamReader[string]) (string, error) {
			v, err := concatStream(in)
			return v + "c", err
		}),
		"co": CollectableLambdaWithOption(func(
			_ context.Context, in *schema.StreamReader[string], o ...optA,
		) (string, error) {
			v, err := concatStream(in)
			return v + "c" + string(o[0]), err
		}),
		"t": TransformableLambda(func(
			_ context.Context, in *schema.StreamReader[string],
		) (*schema.StreamReader[string], error) {
			v, err := concatStream(in)
			return split(v + "t"), err
		}),
		"to": TransformableLambdaWithOption(func(
			_ context.Context, in *schema.StreamReader[string], o ...optA,
		) (*schema.StreamReader[string], error) {
			v, err := concatStream(in)
			return split(v + "t" + string(o[0])), err
		}),
	}
	for want, l := range cases {
		t.Run(want, func(t *testing.T) {
			g := NewGraph[string, string]()
			require.NoError(t, g.AddLambdaNode("n", l))
			line(t, g, "n")
			forms4(t, compiled[string, string](t, g), "x", "x"+want, WithLambdaOption(optA("o")),
				WithLambdaOption(optB("never")))
		})
	}
}

// A lambda without options takes none, not even a nil one.
// Rule compose/O-1.
func TestLambda_WithoutOptionsTakesNone(t *testing.T) {
	g := NewGraph[string, string]()
	require.NoError(t, g.AddLambdaNode("n", suffix("n")))
	require.NoError(t, g.AddPassthroughNode("p"))
	line(t, g, "n", "p")
	r := compiled[string, string](t, g)
	forms4(t, r, "x", "xn", WithLambdaOption(nil), WithLambdaOption(), WithLambdaOption(optA("")),
		WithLambdaOption(noOption{}))
	_, err := r.Invoke(context.Background(), "x", WithLambdaOption(optA("")).DesignateNode("n"))
	require.ErrorContains(t, err,
		"option type[compose.optA] is different from which the designated node[n] expects[<nil>]")
	_, err = r.Invoke(context.Background(), "x", WithLambdaOption(nil).DesignateNode("n"))
	require.ErrorContains(t, err, "option type[<nil>] is different from which the designated node[n] expects[<nil>]")
	_, err = r.Invoke(context.Background(), "x", WithLambdaOption(optA("")).DesignateNode("p"))
	require.ErrorContains(t, err,
		"option type[compose.optA] is different from which the designated node[p] expects[<nil>]")
}

// Rule compose/O-5.
func TestLambda_RefusesMixedOptions(t *testing.T) {
	var used string
	g := NewGraph[string, string]()
	require.NoError(t, g.AddLambdaNode("n", supplied{invoke: true, transform: true}.lambda(t, &used)))
	line(t, g, "n")
	for _, err := range fails(t, compiled[string, string](t, g), "x", WithLambdaOption(optA("a"), optB("b"))) {
		require.ErrorContains(t, err, "unexpected component option type, expected:compose.optA, actual:compose.optB")
	}
}

// Rule compose/P-3.
func TestLambda_ToListWrapsEachChunk(t *testing.T) {
	g := NewGraph[string, []string]()
	require.NoError(t, g.AddLambdaNode("n", ToList[string]()))
	line(t, g, "n")
	r := compiled[string, []string](t, g)
	out, err := r.Invoke(context.Background(), "a")
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, out)
	s, err := r.Transform(context.Background(), schema.StreamReaderFromArray([]string{"a", "b"}))
	require.NoError(t, err)
	require.Equal(t, [][]string{{"a"}, {"b"}}, readAll(t, s), "chunk by chunk")
}

type parser struct{}

func (parser) Parse(_ context.Context, m *schema.Message) (int, error) {
	if m.Content == "" {
		return 0, errBoom
	}
	return len(m.Content), nil
}

// Rule compose/P-3.
func TestLambda_MessageParserParses(t *testing.T) {
	typeSeen := func(opts ...LambdaOpt) string {
		g := NewGraph[*schema.Message, int]()
		require.NoError(t, g.AddLambdaNode("n", MessageParser[int](parser{}, opts...)))
		line(t, g, "n")
		r := compiled[*schema.Message, int](t, g)
		var info callbacks.RunInfo
		handler := callbacks.NewHandlerBuilder().OnStartFn(func(
			ctx context.Context, i *callbacks.RunInfo, _ callbacks.CallbackInput,
		) context.Context {
			if i.Component == ComponentOfLambda {
				info = *i
			}
			return ctx
		}).Build()
		forms4(t, r, schema.UserMessage("four"), 4, WithCallbacks(handler))
		for _, err := range fails(t, r, schema.UserMessage("")) {
			require.ErrorIs(t, err, errBoom)
		}
		return info.Type
	}
	require.Equal(t, "MessageParse", typeSeen())
	require.Equal(t, "Own", typeSeen(WithLambdaType("Own")))
	require.Equal(t, components.Component("Lambda"), ComponentOfLambda)
}

// Rules compose/P-4, schema/X1.
func TestConcat_JoinsAWholeStream(t *testing.T) {
	g := NewGraph[string, string]()
	require.NoError(t, g.AddLambdaNode("n", suffix("n")))
	line(t, g, "n")
	r := compiled[string, string](t, g)
	ctx := context.Background()
	_, err := r.Collect(ctx, schema.StreamReaderFromArray[string](nil))
	require.ErrorContains(t, err, "concat stream reader fail: stream reader is empty, concat fail")

	closed := make(chan struct{})
	failing := schema.StreamReaderWithConvert(schema.StreamReaderFromArray([]int{1, 2}), func(i int) (string, error) {
		if i == 2 {
			close(closed)
			return "", errBoom
		}
		return "a", nil
	})
	_, err = r.Collect(ctx, failing)
	require.ErrorIs(t, err, errBoom)
	require.ErrorContains(t, err, "concat stream reader fail: failed to read from stream. error: ")
	<-closed

	// The stream is closed when joining it fails in the middle.
	sr, done := trackedError("a", errBoom)
	_, err = r.Collect(ctx, sr)
	require.ErrorIs(t, err, errBoom)
	<-done

	// The ends of named sources are not chunks.
	merged := schema.MergeNamedStreamReaders(map[string]*schema.StreamReader[string]{"one": singleOf("a"),
		"two": schema.StreamReaderFromArray[string](nil)})
	out, err := r.Collect(ctx, merged)
	require.NoError(t, err)
	require.Equal(t, "an", out)

	_, err = r.Transform(ctx, nil)
	require.ErrorContains(t, err, "the input stream is nil")
	_, err = r.Collect(ctx, nil)
	require.ErrorContains(t, err, "the input stream is nil")
}

// trackedError sends a chunk and an error, and then chunks until the reader is closed.
func trackedError(chunk string, err error) (*schema.StreamReader[string], <-chan struct{}) {
	sr, sw := schema.Pipe[string](0)
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		defer sw.Close()
		sw.Send(chunk, nil)
		sw.Send("", err)
		for !sw.Send(chunk, nil) {
		}
	}()
	return sr, closed
}

type lastWins struct{ V int }

// Registering again replaces.
// Rules compose/P-5, compose/P-7.
func TestConcat_UsesRegisteredFunctions(t *testing.T) {
	join := func(n int) int {
		g := NewGraph[lastWins, lastWins]()
		require.NoError(t, g.AddLambdaNode("n",
			InvokableLambda(func(_ context.Context, in lastWins) (lastWins, error) { return in, nil })))
		line(t, g, "n")
		chunks := make([]lastWins, n)
		for i := range chunks {
			chunks[i].V = i + 1
		}
		out, err := compiled[lastWins, lastWins](t, g).Collect(context.Background(), schema.StreamReaderFromArray(chunks))
		require.NoError(t, err)
		return out.V
	}
	RegisterStreamChunkConcatFunc(func(vs []lastWins) (lastWins, error) { return vs[0], nil })
	require.Equal(t, 1, join(3))
	RegisterStreamChunkConcatFunc(func(vs []lastWins) (lastWins, error) { return vs[len(vs)-1], nil })
	require.Equal(t, 3, join(3))
	require.Equal(t, 1, join(1), "one chunk is returned as it is")
}

// Rule compose/T-6.
func TestLambda_TakesNilInputs(t *testing.T) {
	nilOf := func(name string, l *Lambda) {
		t.Run(name, func(t *testing.T) {
			g := NewGraph[any, string]()
			require.NoError(t, g.AddLambdaNode("n", l))
			line(t, g, "n")
			forms4(t, compiled[any, string](t, g), nil, "nil")
		})
	}
	nilOf("map",
		InvokableLambda(func(_ context.Context, in map[string]any) (string, error) { return isNilText(in == nil), nil }))
	nilOf("slice",
		InvokableLambda(func(_ context.Context, in []string) (string, error) { return isNilText(in == nil), nil }))
	nilOf("pointer",
		InvokableLambda(func(_ context.Context, in *leaf) (string, error) { return isNilText(in == nil), nil }))
	nilOf("func", InvokableLambda(func(_ context.Context, in func()) (string, error) { return isNilText(in == nil), nil }))
	nilOf("chan",
		InvokableLambda(func(_ context.Context, in chan int) (string, error) { return isNilText(in == nil), nil }))
	nilOf("interface",
		InvokableLambda(func(_ context.Context, in error) (string, error) { return isNilText(in == nil), nil }))
	g := NewGraph[any, string]()
	require.NoError(t, g.AddLambdaNode("n", suffix("")))
	line(t, g, "n")
	for _, err := range fails(t, compiled[any, string](t, g), nil) {
		require.ErrorContains(t, err, "runtime type check fail, expected type: string, actual type: <nil>")
	}
	// A nil result, where O is an interface.
	out := NewGraph[string, error]()
	require.NoError(t, out.AddLambdaNode("n",
		InvokableLambda(func(context.Context, string) (error, error) { return nil, nil })))
	line(t, out, "n")
	forms4(t, compiled[string, error](t, out), "x", nil)
}

func isNilText(yes bool) string {
	if yes {
		return "nil"
	}
	return "not nil"
}

// An error in the middle of a stream is the reader's error.
// Rule compose/P-6.
func TestLambda_ErrorsBelongToTheReader(t *testing.T) {
	g := NewGraph[string, string]()
	require.NoError(t, g.AddLambdaNode("producer",
		StreamableLambda(func(context.Context, string) (*schema.StreamReader[string], error) {
			sr, sw := schema.Pipe[string](2)
			sw.Send("a", nil)
			sw.Send("", errBoom)
			sw.Close()
			return sr, nil
		})))
	require.NoError(t, g.AddLambdaNode("reader", suffix("r")))
	line(t, g, "producer", "reader")
	_, err := compiled[string, string](t, g).Stream(context.Background(), "x")
	var at *RunError
	require.True(t, errors.As(err, &at))
	require.Equal(t, []string{"reader"}, at.Path())
	require.ErrorIs(t, err, errBoom)
	require.NotErrorIs(t, err, io.EOF)
}

// A nil in a stream of an interface type is an element like any other on every way: copied to
// two nodes, merged, behind a key, seen as any and as another interface.
// Rule schema/X2.
func TestLambda_NilElementsOfStreamsAreElements(t *testing.T) {
	nils := StreamableLambda(func(context.Context, string) (*schema.StreamReader[fmt.Stringer], error) {
		return schema.StreamReaderFromArray([]fmt.Stringer{nil, nil, nil}), nil
	})
	counts := CollectableLambda(func(_ context.Context, in *schema.StreamReader[any]) (map[string]int, error) {
		n := 0
		for _, chunk := range readAll(t, in) {
			if chunk == nil {
				n++
			}
		}
		return map[string]int{"any": n}, nil
	})
	keyedCounts := CollectableLambda(func(
		_ context.Context, in *schema.StreamReader[map[string]any],
	) (map[string]int, error) {
		n := map[string]int{}
		for _, chunk := range readAll(t, in) {
			for key, v := range chunk {
				require.Nil(t, v)
				n[key]++
			}
		}
		return n, nil
	})
	g := NewGraph[string, map[string]int]()
	require.NoError(t, g.AddLambdaNode("a", nils, WithOutputKey("a")))
	require.NoError(t, g.AddLambdaNode("b", nils, WithOutputKey("b")))
	require.NoError(t, g.AddLambdaNode("c", nils))
	require.NoError(t, g.AddLambdaNode("keyed", keyedCounts))
	require.NoError(t, g.AddLambdaNode("counts", counts))
	for _, e := range [][2]string{{START, "a"}, {START, "b"}, {START, "c"}, {"a", "keyed"}, {"b", "keyed"},
		{"c", "counts"}, {"keyed", END}, {"counts", END}} {
		require.NoError(t, g.AddEdge(e[0], e[1]))
	}
	out, err := compiled[string, map[string]int](t, g, WithNodeTriggerMode(AllPredecessor)).Collect(context.Background(),
		singleOf("x"))
	require.NoError(t, err)
	require.Equal(t, map[string]int{"a": 3, "b": 3, "any": 3}, out)
}
