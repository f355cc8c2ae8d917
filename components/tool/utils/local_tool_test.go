package utils

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/schema"
)

var background = context.Background()

func infoOf(name string) *schema.ToolInfo { return &schema.ToolInfo{Name: name} }

// all reads a stream to its end.
func all[T any](t *testing.T, sr *schema.StreamReader[T]) (items []T, errs []error) {
	t.Helper()
	defer sr.Close()
	for {
		item, err := sr.Recv()
		switch err {
		case nil:
			items = append(items, item)
		case io.EOF:
			return items, errs
		default:
			errs = append(errs, err)
		}
	}
}

// echo makes a tool that records its argument and returns nothing in particular.
func echo[T any](got *T, opts ...Option) tool.InvokableTool {
	return NewTool(infoOf("t"), func(_ context.Context, in T) (string, error) {
		*got = in
		return "ok", nil
	}, opts...)
}

// Rules components/U1, components/B13.3.5.
func TestTools_TypeIsTheNameInCamelCase(t *testing.T) {
	for name, want := range map[string]string{
		"google_search_3": "GoogleSearch3",
		"_HTTP_HOST_":     "HttpHost",
		"_":               "",
		"getWeather":      "Getweather",
		"":                "",
		"über_größe":      "ÜberGröße",
		"日本_語":            "日本語",
	} {
		require.Equal(t, want, snakeToCamel(name), name)
		for _, built := range fourKinds(infoOf(name)) {
			typ, ok := components.GetType(built)
			require.True(t, ok)
			require.Equal(t, want, typ)
			_, checks := built.(components.Checker)
			require.False(t, checks)
		}
	}
	for _, built := range fourKinds(nil) {
		typ, _ := components.GetType(built)
		require.Empty(t, typ)
	}
}

func TestWithIdempotent(t *testing.T) {
	type idempotent interface{ Idempotent() bool }
	for _, built := range fourKinds(infoOf("t")) {
		require.False(t, built.(idempotent).Idempotent())
	}
	reads := NewTool(infoOf("t"), func(context.Context, int) (int, error) { return 0, nil }, WithIdempotent())
	require.True(t, any(reads).(idempotent).Idempotent())
	require.True(t, WrapToolWithErrorHandler(reads, nil).(idempotent).Idempotent())
	require.False(t, WrapToolWithErrorHandler(&invokeTool{}, nil).(idempotent).Idempotent())
}

func fourKinds(info *schema.ToolInfo) []tool.BaseTool {
	return []tool.BaseTool{
		NewTool(info, func(context.Context, int) (int, error) { return 0, nil }),
		NewStreamTool(info, func(context.Context, int) (*schema.StreamReader[int], error) { return nil, nil }),
		NewEnhancedTool(info, func(context.Context, int) (*schema.ToolResult, error) { return nil, nil }),
		NewEnhancedStreamTool(info,
			func(context.Context, int) (*schema.StreamReader[*schema.ToolResult], error) { return nil, nil }),
	}
}

// Rule components/U2.
func TestTools_InfoIsTheGivenPointer(t *testing.T) {
	for _, info := range []*schema.ToolInfo{infoOf("a"), nil} {
		for _, built := range fourKinds(info) {
			got, err := built.Info(background)
			require.NoError(t, err)
			require.True(t, got == info)
		}
	}
}

type args struct {
	M map[string]int `json:"m"`
	S []string       `json:"s"`
	N int            `json:"n"`
}

// Rule components/U3.
func TestTools_DecodeArgumentsIntoAnyType(t *testing.T) {
	run := func(built tool.InvokableTool, arguments string) error {
		_, err := built.InvokableRun(background, arguments)
		return err
	}
	var deep ***args
	require.NoError(t, run(echo(&deep), `{"n":1,"unknown":2}`))
	require.Equal(t, 1, (**deep).N)

	p := &args{}
	require.NoError(t, run(echo(&p), `null`))
	require.Nil(t, p)

	var m map[string]int
	require.NoError(t, run(echo(&m), `{}`))
	require.NotNil(t, m)
	var s []int
	require.NoError(t, run(echo(&s), `[]`))
	require.NotNil(t, s)
	var arr [2]int
	require.NoError(t, run(echo(&arr), `[1,2]`))
	require.Equal(t, [2]int{1, 2}, arr)
	var a any
	require.NoError(t, run(echo(&a), `{"x":"y"}`))
	require.Equal(t, map[string]any{"x": "y"}, a)

	var text string
	require.Error(t, run(echo(&text), `100`))
	require.NoError(t, run(echo(&text), `"100"`))
	require.Equal(t, "100", text)

	var v args
	for _, bad := range []string{`{"n":1} x`, `{"n":1}{}`, `{"n":`, `{"n":"x"}`} {
		require.ErrorContains(t, run(echo(&v), bad), "[LocalFunc] failed to unmarshal arguments in json, toolName=t, err=",
			bad)
	}
}

// Rule components/U3.
func TestTools_MakeAFreshInstanceForEachCall(t *testing.T) {
	var got args
	built := echo(&got)
	_, err := built.InvokableRun(background, `{"m":{"a":1},"s":["x"],"n":1}`)
	require.NoError(t, err)
	_, err = built.InvokableRun(background, `{}`)
	require.NoError(t, err)
	require.Equal(t, args{}, got)
}

// Rules components/U3, components/B13.3.6.
func TestTools_DecodedStringsAreCopies(t *testing.T) {
	var got args
	buf := []byte(`{"s":["kept"]}`)
	_, err := echo(&got).InvokableRun(background, unsafe.String(&buf[0], len(buf)))
	require.NoError(t, err)
	copy(buf, strings.Repeat("x", len(buf)))
	require.Equal(t, "kept", got.S[0])
}

// Rule components/U4.
func TestTools_CustomDecodingMustGiveTheType(t *testing.T) {
	give := func(v any, err error) Option {
		return WithUnmarshalArguments(func(_ context.Context, arguments string) (any, error) {
			require.Equal(t, "raw", arguments)
			return v, err
		})
	}
	var got args
	_, err := echo(&got, give(args{N: 7}, nil)).InvokableRun(background, "raw")
	require.NoError(t, err)
	require.Equal(t, 7, got.N)

	_, err = echo(&got, give(&args{}, nil)).InvokableRun(background, "raw")
	require.EqualError(t, err, "[LocalFunc] invalid type, toolName=t, expected=utils.args, given=*utils.args")
	_, err = echo(&got, give(nil, nil)).InvokableRun(background, "raw")
	require.EqualError(t, err, "[LocalFunc] invalid type, toolName=t, expected=utils.args, given=<nil>")
	var a any
	_, err = echo(&a, give(nil, nil)).InvokableRun(background, "raw")
	require.EqualError(t, err, "[LocalFunc] invalid type, toolName=t, expected=<nil>, given=<nil>")
}

type label string

// Rules components/U5, components/B13.3.6.
func TestTools_EncodeResultsAsStableJSON(t *testing.T) {
	text := "x"
	for name, tc := range map[string]struct {
		out  any
		want string
	}{
		"string":       {`a "b" <c>`, `a "b" <c>`},
		"nil":          {nil, `null`},
		"pointer":      {&text, `"x"`},
		"named string": {label("x"), `"x"`},
		"bytes":        {[]byte("hi"), `"aGk="`},
		"HTML":         {[]string{"<b>&"}, `["<b>&"]`},
		"map":          {map[string]int{"b": 1, "a": 2, "c": 3, "d": 4, "e": 5}, `{"a":2,"b":1,"c":3,"d":4,"e":5}`},
		"struct":       {struct{ A int }{1}, `{"A":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			for range 10 {
				got, err := marshalString(tc.out)
				require.NoError(t, err)
				require.Equal(t, tc.want, got)
			}
		})
	}
}

// Rule components/U6.
func TestTools_CustomEncodingIsUsedForEveryChunk(t *testing.T) {
	shout := WithMarshalOutput(func(_ context.Context, output any) (string, error) {
		return fmt.Sprintf("<%v>", output), nil
	})
	got, err := NewTool(infoOf("t"), func(context.Context, int) (string, error) { return "x", nil },
		shout).InvokableRun(background, "1")
	require.NoError(t, err)
	require.Equal(t, "<x>", got, "strings, too")

	sr, err := NewStreamTool(infoOf("t"), func(context.Context, int) (*schema.StreamReader[int], error) {
		return schema.StreamReaderFromArray([]int{1, 2}), nil
	}, shout).StreamableRun(background, "1")
	require.NoError(t, err)
	chunks, _ := all(t, sr)
	require.Equal(t, []string{"<1>", "<2>"}, chunks)

	want := &schema.ToolResult{}
	result, err := NewEnhancedTool(infoOf("t"),
		func(context.Context, int) (*schema.ToolResult, error) { return want, nil }, shout).
		InvokableRun(background, &schema.ToolArgument{Text: "1"})
	require.NoError(t, err)
	require.Same(t, want, result)
}

// The eight ways to infer a tool, each running its function with the argument 1 and giving it the options opts.
func eightKinds(t *testing.T, seen func(in args, opts []tool.Option),
	toolOpts ...Option,
) map[string]func(arguments string, opts ...tool.Option) error {
	t.Helper()
	inv := func(_ context.Context, in args) (int, error) { seen(in, nil); return 0, nil }
	invO := func(_ context.Context, in args, opts ...tool.Option) (int, error) { seen(in, opts); return 0, nil }
	enh := func(_ context.Context, in args) (*schema.ToolResult, error) { seen(in, nil); return nil, nil }
	enhO := func(_ context.Context, in args, opts ...tool.Option) (*schema.ToolResult, error) {
		seen(in, opts)
		return nil, nil
	}
	str := func(_ context.Context, in args) (*schema.StreamReader[int], error) {
		seen(in, nil)
		return schema.StreamReaderFromArray([]int{1}), nil
	}
	strO := func(_ context.Context, in args, opts ...tool.Option) (*schema.StreamReader[int], error) {
		seen(in, opts)
		return schema.StreamReaderFromArray([]int{1}), nil
	}
	enhStr := func(_ context.Context, in args) (*schema.StreamReader[*schema.ToolResult], error) {
		seen(in, nil)
		return schema.StreamReaderFromArray([]*schema.ToolResult{{}}), nil
	}
	enhStrO := func(_ context.Context, in args, opts ...tool.Option) (*schema.StreamReader[*schema.ToolResult], error) {
		seen(in, opts)
		return schema.StreamReaderFromArray([]*schema.ToolResult{{}}), nil
	}
	runs := map[string]func(string, ...tool.Option) error{}
	add := func(name string, built tool.BaseTool, err error) {
		require.NoError(t, err)
		info, err := built.Info(background)
		require.NoError(t, err)
		require.Equal(t, "n", info.Name)
		require.Equal(t, "d", info.Desc)
		runs[name] = func(arguments string, opts ...tool.Option) error {
			return runAny(built, arguments, opts...)
		}
	}
	b1, err := InferTool("n", "d", inv, toolOpts...)
	add("InferTool", b1, err)
	b2, err := InferOptionableTool("n", "d", invO, toolOpts...)
	add("InferOptionableTool", b2, err)
	b3, err := InferEnhancedTool("n", "d", enh, toolOpts...)
	add("InferEnhancedTool", b3, err)
	b4, err := InferOptionableEnhancedTool("n", "d", enhO, toolOpts...)
	add("InferOptionableEnhancedTool", b4, err)
	b5, err := InferStreamTool("n", "d", str, toolOpts...)
	add("InferStreamTool", b5, err)
	b6, err := InferOptionableStreamTool("n", "d", strO, toolOpts...)
	add("InferOptionableStreamTool", b6, err)
	b7, err := InferEnhancedStreamTool("n", "d", enhStr, toolOpts...)
	add("InferEnhancedStreamTool", b7, err)
	b8, err := InferOptionableEnhancedStreamTool("n", "d", enhStrO, toolOpts...)
	add("InferOptionableEnhancedStreamTool", b8, err)
	return runs
}

// runAny runs a tool the way it can be run.
func runAny(built tool.BaseTool, arguments string, opts ...tool.Option) error {
	var err error
	switch b := built.(type) {
	case tool.InvokableTool:
		_, err = b.InvokableRun(background, arguments, opts...)
	case tool.EnhancedInvokableTool:
		_, err = b.InvokableRun(background, &schema.ToolArgument{Text: arguments}, opts...)
	case tool.StreamableTool:
		_, err = b.StreamableRun(background, arguments, opts...)
	case tool.EnhancedStreamableTool:
		_, err = b.StreamableRun(background, &schema.ToolArgument{Text: arguments}, opts...)
	}
	return err
}

// Rule components/U7.
func TestTools_CustomDecodingWorksInAllKinds(t *testing.T) {
	var got args
	um := WithUnmarshalArguments(func(_ context.Context, arguments string) (any, error) {
		return args{S: []string{arguments}}, nil
	})
	for name, run := range eightKinds(t, func(in args, _ []tool.Option) { got = in }, um) {
		got = args{}
		require.NoError(t, run("raw"), name)
		require.Equal(t, []string{"raw"}, got.S, name)
	}
}

type toolOpt struct{ list []int }

// Rule components/U8.
func TestTools_OptionsReachOptionableFunctions(t *testing.T) {
	add := func(n int) tool.Option {
		return tool.WrapImplSpecificOptFn(func(o *toolOpt) { o.list = append(o.list, n) })
	}
	var got []tool.Option
	var n int
	for name, run := range eightKinds(t, func(in args, opts []tool.Option) { got, n = opts, in.N }) {
		require.NoError(t, run(`{"n":5}`, add(1), add(2)), name)
		require.Equal(t, 5, n, name)
		list := tool.GetImplSpecificOptions[toolOpt](nil, got...).list
		if strings.Contains(name, "Optionable") {
			require.Equal(t, []int{1, 2}, list, name)
		} else {
			require.Empty(t, got, name)
		}
	}
}

// Rule components/U9.
func TestTools_ConvertStreamsLazily(t *testing.T) {
	broken := errors.New("broken")
	source, w := schema.Pipe[any](4)
	encoded := 0
	built := NewStreamTool(infoOf("t"),
		func(context.Context, int) (*schema.StreamReader[any], error) { return source, nil },
		WithMarshalOutput(func(_ context.Context, output any) (string, error) {
			encoded++
			return marshalString(output)
		}))
	sr, err := built.StreamableRun(background, "1")
	require.NoError(t, err)
	w.Send("a", nil)
	w.Send(nil, broken)
	w.Send(func() {}, nil)
	w.Send(map[string]int{"b": 1}, nil)
	require.Zero(t, encoded, "nothing is read ahead")

	got, err := sr.Recv()
	require.NoError(t, err)
	require.Equal(t, "a", got)
	require.Equal(t, 1, encoded)
	_, err = sr.Recv()
	require.Same(t, broken, err)
	_, err = sr.Recv()
	require.ErrorContains(t, err, "[LocalStreamFunc] failed to marshal output, toolName=t, err=")
	got, err = sr.Recv()
	require.NoError(t, err)
	require.Equal(t, `{"b":1}`, got)

	sr.Close()
	require.True(t, w.Send(1, nil), "closing the reader closes the source")
}

// Rule components/U10.
func TestTools_EnhancedStreamIsUnchanged(t *testing.T) {
	want := schema.StreamReaderFromArray([]*schema.ToolResult{{}})
	got, err := NewEnhancedStreamTool(infoOf("t"),
		func(context.Context, int) (*schema.StreamReader[*schema.ToolResult], error) {
			return want, nil
		}).StreamableRun(background, &schema.ToolArgument{Text: "1"})
	require.NoError(t, err)
	require.Same(t, want, got)
}

// failing makes the four kinds of tools with a function that fails.
func failing(err error, opts ...Option) map[string]tool.BaseTool {
	return map[string]tool.BaseTool{
		"[LocalFunc]": NewTool(infoOf("t"), func(context.Context, int) (any, error) { return 1, err }, opts...),
		"[LocalStreamFunc]": NewStreamTool(infoOf("t"), func(context.Context, int) (*schema.StreamReader[any], error) {
			return nil, err
		}, opts...),
		"[EnhancedLocalFunc]": NewEnhancedTool(infoOf("t"), func(context.Context, int) (*schema.ToolResult, error) {
			return &schema.ToolResult{}, err
		}, opts...),
		"[EnhancedLocalStreamFunc]": NewEnhancedStreamTool(infoOf("t"),
			func(context.Context, int) (*schema.StreamReader[*schema.ToolResult], error) {
				return nil, err
			}, opts...),
	}
}

// Rule components/B13.3.7.
func TestTools_ErrorsNameTheTool(t *testing.T) {
	cause := errors.New("cause")
	for prefix, built := range failing(cause) {
		t.Run(prefix, func(t *testing.T) {
			err := runAny(built, "1")
			require.ErrorIs(t, err, cause)
			if strings.Contains(prefix, "Stream") {
				require.EqualError(t, err, "cause")
			} else {
				require.EqualError(t, err, prefix+" failed to invoke tool, toolName=t, err=cause")
			}
			var named *ToolError
			require.ErrorAs(t, err, &named)
			require.Equal(t, "t", named.ToolName)

			err = runAny(built, "")
			require.ErrorContains(t, err, prefix+" failed to unmarshal arguments in json, toolName=t, err=")
			require.ErrorAs(t, err, &named)
		})
	}
	um := func(v any, err error) Option {
		return WithUnmarshalArguments(func(context.Context, string) (any, error) { return v, err })
	}
	for prefix, built := range failing(nil, um(nil, cause)) {
		err := runAny(built, "1")
		require.ErrorIs(t, err, cause)
		require.EqualError(t, err, prefix+" failed to unmarshal arguments, toolName=t, err=cause")
	}
	for prefix, built := range failing(nil, um("x", nil)) {
		text := " invalid type, toolName=t, expected=int, given=string"
		if strings.Contains(prefix, "Stream") {
			text = " type err, toolName=t, expected=int, given=string"
		}
		require.EqualError(t, runAny(built, "1"), prefix+text)
	}
}

func TestTools_EncodeErrorTexts(t *testing.T) {
	cause := errors.New("cause")
	custom := WithMarshalOutput(func(context.Context, any) (string, error) { return "ignored", cause })
	value := func(context.Context, int) (any, error) { return func() {}, nil }
	stream := func(context.Context, int) (*schema.StreamReader[any], error) {
		return schema.StreamReaderFromArray([]any{func() {}}), nil
	}

	got, err := NewTool(infoOf("t"), value, custom).InvokableRun(background, "1")
	require.EqualError(t, err, "[LocalFunc] failed to marshal output, toolName=t, err=cause")
	require.ErrorIs(t, err, cause)
	require.Empty(t, got)
	_, err = NewTool(infoOf("t"), value).InvokableRun(background, "1")
	require.ErrorContains(t, err, "[LocalFunc] failed to marshal output in json, toolName=t, err=")

	sr, err := NewStreamTool(infoOf("t"), stream, custom).StreamableRun(background, "1")
	require.NoError(t, err)
	_, errs := all(t, sr)
	require.EqualError(t, errors.Join(errs...), "[LocalStreamFunc] failed to marshal output, toolName=t, err=cause")
	sr, err = NewStreamTool(infoOf("t"), stream).StreamableRun(background, "1")
	require.NoError(t, err)
	_, errs = all(t, sr)
	require.ErrorContains(t, errors.Join(errs...), "[LocalStreamFunc] failed to marshal output in json, toolName=t, err=")
}

func TestTools_InterruptsStayDetectable(t *testing.T) {
	interrupt := tool.Interrupt(background, "why")
	for prefix, built := range failing(interrupt) {
		err := runAny(built, "1")
		require.ErrorIs(t, err, interrupt, prefix)
		if strings.Contains(prefix, "Stream") {
			require.Same(t, interrupt, err, prefix)
		}
	}
}

// Rule components/B13.3.4.
func TestTools_NilArgumentIsEmpty(t *testing.T) {
	kinds := failing(nil)
	_, err := kinds["[EnhancedLocalFunc]"].(tool.EnhancedInvokableTool).InvokableRun(background, nil)
	require.ErrorContains(t, err, "[EnhancedLocalFunc] failed to unmarshal arguments in json, toolName=t, err=")
	_, err = kinds["[EnhancedLocalStreamFunc]"].(tool.EnhancedStreamableTool).StreamableRun(background, nil)
	require.ErrorContains(t, err, "[EnhancedLocalStreamFunc] failed to unmarshal arguments in json, toolName=t, err=")
}

// Rule components/B13.3.4.
func TestTools_RefuseANilStream(t *testing.T) {
	for prefix, built := range failing(nil) {
		err := runAny(built, "1")
		if strings.Contains(prefix, "Stream") {
			require.EqualError(t, err, prefix+" tool returned neither a stream nor an error, toolName=t")
		} else {
			require.NoError(t, err)
		}
	}
}

type panicOnJSON struct{}

func (panicOnJSON) MarshalJSON() ([]byte, error) { panic("marshal") }
func (*panicOnJSON) UnmarshalJSON([]byte) error  { panic("unmarshal") }

// Rule components/B13.3.8.
func TestTools_PanicsBecomeErrors(t *testing.T) {
	boom := func(context.Context, int) (int, error) { panic("boom") }
	marshal := WithMarshalOutput(func(context.Context, any) (string, error) { panic("boom") })
	unmarshal := WithUnmarshalArguments(func(context.Context, string) (any, error) { panic("boom") })
	fine := func(context.Context, int) (int, error) { return 1, nil }
	var nothing InvokeFunc[int, int]
	for name, built := range map[string]tool.BaseTool{
		"function":      NewTool(infoOf("t"), boom),
		"nil function":  NewTool(infoOf("t"), nothing),
		"encoding":      NewTool(infoOf("t"), fine, marshal),
		"decoding":      NewTool(infoOf("t"), fine, unmarshal),
		"MarshalJSON":   NewTool(infoOf("t"), func(context.Context, int) (any, error) { return panicOnJSON{}, nil }),
		"UnmarshalJSON": NewTool(infoOf("t"), func(context.Context, panicOnJSON) (any, error) { return nil, nil }),
		"stream function": NewStreamTool(infoOf("t"),
			func(context.Context, int) (*schema.StreamReader[int], error) { panic("boom") }),
		"enhanced function": NewEnhancedTool(infoOf("t"),
			func(context.Context, int) (*schema.ToolResult, error) { panic("boom") }),
	} {
		var panicked *safe.PanicError
		err := runAny(built, "1")
		require.ErrorAs(t, err, &panicked, name)
		require.NotEmpty(t, panicked.Stack)
		var named *ToolError
		require.ErrorAs(t, err, &named)
		require.Equal(t, "t", named.ToolName)
	}

	sr, err := NewStreamTool(infoOf("t"), func(context.Context, int) (*schema.StreamReader[int], error) {
		return schema.StreamReaderFromArray([]int{1}), nil
	}, marshal).StreamableRun(background, "1")
	require.NoError(t, err)
	_, errs := all(t, sr)
	var panicked *safe.PanicError
	require.ErrorAs(t, errors.Join(errs...), &panicked)
}

// Rule components/T2.
func TestTools_MayRunConcurrently(t *testing.T) {
	built := NewTool(infoOf("t"), func(_ context.Context, in args) (args, error) { return in, nil })
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			want := fmt.Sprintf(`{"m":{"k":%d},"s":["%d"],"n":%d}`, i, i, i)
			if got, err := built.InvokableRun(background, want); err != nil || got != want {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
	wg.Wait()
}

func TestTools_NilOptions(t *testing.T) {
	got, err := NewTool(infoOf("t"), func(_ context.Context, in int) (int, error) { return in, nil },
		nil).InvokableRun(background, "3")
	require.NoError(t, err)
	require.Equal(t, "3", got)
}

func FuzzDecodeArguments(f *testing.F) {
	for _, seed := range []string{`{}`, ``, `null`, `{"m":{"a":1},"s":["x",null],"n":-3}`, `{"n":1}x`,
		"{\"s\":[\"\xff\"]}", `[[[`, `{"N":1e400}`, `"\ud800"`, "\x00"} {
		f.Add(seed)
	}
	local := newLocalTool(infoOf("t"), invokableKind, nil)
	t := &local
	f.Fuzz(func(tt *testing.T, arguments string) {
		valid := json.Valid([]byte(orObject(arguments)))
		if _, err := decodeArguments[any](background, t, arguments); err == nil && !valid {
			tt.Fatalf("accepted what is not JSON: %q", arguments)
		}
		in, err := decodeArguments[*args](background, t, arguments)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "[LocalFunc] failed to unmarshal arguments in json, toolName=t, err=") {
				tt.Fatalf("error text: %v", err)
			}
			return
		}
		if !valid {
			tt.Fatalf("a struct was decoded from what is not JSON: %q", arguments)
		}
		text, err := marshalString(in)
		if err != nil {
			tt.Fatalf("encode: %v", err)
		}
		again, err := decodeArguments[*args](background, t, text)
		if err != nil {
			tt.Fatalf("decode again %q: %v", text, err)
		}
		if twice, _ := marshalString(again); twice != text {
			tt.Fatalf("%q became %q", text, twice)
		}
	})
}

func BenchmarkInvokableRun(b *testing.B) {
	built := NewTool(infoOf("t"), func(_ context.Context, in args) (string, error) { return "ok", nil })
	b.ReportAllocs()
	for b.Loop() {
		if _, err := built.InvokableRun(background, `{"n":1,"s":["a"]}`); err != nil {
			b.Fatal(err)
		}
	}
}
