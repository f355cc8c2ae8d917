package reduction_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/filesystem"
	"github.com/weftgo/weft/adk/middlewares/internal/messagetest"
	"github.com/weftgo/weft/adk/middlewares/reduction"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

var errBoom = errors.New("boom")

// files is a backend that remembers.
type files map[string]string

func (f files) Write(_ context.Context, r *filesystem.WriteRequest) error {
	f[r.FilePath] = r.Content
	return nil
}

// full is a backend that writes nothing.
type full struct{}

func (full) Write(context.Context, *filesystem.WriteRequest) error { return errBoom }

func middleware(t testing.TB, c *reduction.Config) adk.ChatModelAgentMiddleware {
	t.Helper()
	m, err := reduction.New(t.Context(), c)
	require.NoError(t, err)
	return m
}

var call = &adk.ToolContext{Name: "t", CallID: "id"}

func text(s string) schema.ToolOutputPart {
	return schema.ToolOutputPart{Type: schema.ToolPartTypeText, Text: s}
}

func image(url string) schema.ToolOutputPart {
	return schema.ToolOutputPart{Type: schema.ToolPartTypeImage,
		Image: &schema.ToolOutputImage{MessagePartCommon: schema.MessagePartCommon{URL: &url}}}
}

func invoke(t *testing.T, m adk.ChatModelAgentMiddleware, out string, outErr error) (string, error) {
	t.Helper()
	e, err := m.WrapInvokableToolCall(t.Context(),
		func(_ context.Context, arguments string, _ ...tool.Option) (string, error) {
			require.Equal(t, "args", arguments)
			return out, outErr
		}, call)
	require.NoError(t, err)
	return e(t.Context(), "args")
}

func streamText(t *testing.T, m adk.ChatModelAgentMiddleware,
	source *schema.StreamReader[string],
) (*schema.StreamReader[string], error) {
	t.Helper()
	e, err := m.WrapStreamableToolCall(t.Context(),
		func(context.Context, string, ...tool.Option) (*schema.StreamReader[string], error) {
			return source, nil
		}, call)
	require.NoError(t, err)
	return e(t.Context(), "args")
}

func streamParts(t *testing.T, m adk.ChatModelAgentMiddleware,
	source *schema.StreamReader[*schema.ToolResult],
) *schema.StreamReader[*schema.ToolResult] {
	t.Helper()
	e, err := m.WrapEnhancedStreamableToolCall(t.Context(),
		func(context.Context, *schema.ToolArgument, ...tool.Option) (*schema.StreamReader[*schema.ToolResult], error) {
			return source, nil
		}, call)
	require.NoError(t, err)
	s, err := e(t.Context(), &schema.ToolArgument{Text: "args"})
	require.NoError(t, err)
	return s
}

// items returns what a stream gives, its error last.
func items[T any](s *schema.StreamReader[T]) (all []T, err error) {
	defer s.Close()
	for {
		v, err := s.Recv()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, v)
	}
}

// broken is a stream that fails after its items.
func broken[T any](all ...T) *schema.StreamReader[T] {
	s, w := schema.Pipe[T](len(all) + 1)
	for _, v := range all {
		w.Send(v, nil)
	}
	var none T
	w.Send(none, errBoom)
	w.Close()
	return s
}

// Rule batteries/RD-1.
func TestConfig_Invalid(t *testing.T) {
	m, err := reduction.New(t.Context(), nil)
	require.EqualError(t, err, "config must not be nil")
	require.True(t, m == nil)
	var nobody *filesystem.InMemoryBackend
	for _, c := range []*reduction.Config{{}, {Backend: nobody}} {
		_, err = reduction.New(t.Context(), c)
		require.EqualError(t, err, "backend must be set when not skipping truncation")
	}
	middleware(t, &reduction.Config{SkipTruncation: true})
}

// Rule batteries/RT-5.
func TestTruncate_Text(t *testing.T) {
	f := files{}
	m := middleware(t, &reduction.Config{Backend: f, MaxLengthForTrunc: 10})
	out, err := invoke(t, m, "0123456789", nil)
	require.NoError(t, err)
	require.Equal(t, "0123456789", out)
	require.Empty(t, f)

	out, err = invoke(t, m, "0123456789a", nil)
	require.NoError(t, err)
	require.Equal(t,
		"<persisted-output>\nOutput too large (11). Full output saved to: /tmp/trunc/id\nPreview (first 5):\n01234\n\n"+
			"Preview (last 5):\n6789a\n\nUse read_file to view\n</persisted-output>", out)
	require.Equal(t, files{"/tmp/trunc/id": "0123456789a"}, f)

	out, err = invoke(t, m, "中文字符中文字符", nil)
	require.NoError(t, err)
	require.Contains(t, out, "(first 5):\n中\n")
	require.Contains(t, out, "(last 5):\n符\n")

	_, err = invoke(t, m, "", errBoom)
	require.ErrorIs(t, err, errBoom)
	_, err = invoke(t, middleware(t, &reduction.Config{Backend: full{}, MaxLengthForTrunc: 1}), "long", nil)
	require.ErrorIs(t, err, errBoom)
}

// Rule batteries/RT-1.
func TestTruncate_PassedThrough(t *testing.T) {
	ctx, args := t.Context(), &schema.ToolArgument{Text: "args"}
	result := &schema.ToolResult{Parts: []schema.ToolOutputPart{text("long")}}
	texts, parts := schema.StreamReaderFromArray([]string{"long"}), schema.StreamReaderFromArray([]*schema.ToolResult{result})
	for name, c := range map[string]*reduction.Config{
		"skipped":  {SkipTruncation: true, MaxLengthForTrunc: 1},
		"excluded": {Backend: files{}, MaxLengthForTrunc: 1, TruncExcludeTools: []string{"t"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := middleware(t, c)
			out, err := invoke(t, m, "long", nil)
			require.NoError(t, err)
			require.Equal(t, "long", out)
			s, err := streamText(t, m, texts)
			require.NoError(t, err)
			require.Same(t, texts, s)
			require.Same(t, parts, streamParts(t, m, parts))
			e, err := m.WrapEnhancedInvokableToolCall(ctx,
				func(_ context.Context, got *schema.ToolArgument, _ ...tool.Option) (*schema.ToolResult, error) {
					require.Same(t, args, got)
					return result, nil
				}, call)
			require.NoError(t, err)
			got, err := e(ctx, args)
			require.NoError(t, err)
			require.Same(t, result, got)
		})
	}

	// Arguments reach a tool as they are, also where its results are cut; its errors never reach a handler.
	m := middleware(t, own(nil, &reduction.TruncResult{NeedTrunc: true}, errors.New("must not be asked")))
	enhanced, err := m.WrapEnhancedInvokableToolCall(ctx,
		func(_ context.Context, got *schema.ToolArgument, _ ...tool.Option) (*schema.ToolResult, error) {
			require.Same(t, args, got)
			return nil, errBoom
		}, call)
	require.NoError(t, err)
	_, err = enhanced(ctx, args)
	require.Equal(t, errBoom, err)
	streaming, err := m.WrapEnhancedStreamableToolCall(ctx,
		func(_ context.Context, got *schema.ToolArgument,
			_ ...tool.Option,
		) (*schema.StreamReader[*schema.ToolResult], error) {
			require.Same(t, args, got)
			return nil, errBoom
		}, call)
	require.NoError(t, err)
	_, err = streaming(ctx, args)
	require.Equal(t, errBoom, err)
	_, err = invoke(t, m, "", errBoom)
	require.Equal(t, errBoom, err)
}

// A tool with an entry of its own that says nothing about truncation is cut like all others, also when it streams. A
// stream that breaks off is not: what there was of it comes whole, and then its error.
// Rule batteries/RT-10.
func TestTruncate_StreamsOfAToolWithAnEntry(t *testing.T) {
	f := files{}
	m := middleware(t, &reduction.Config{Backend: files{}, MaxLengthForTrunc: 3,
		ToolConfig: map[string]*reduction.ToolReductionConfig{"t": {Backend: f}}})
	s, err := streamText(t, m, schema.StreamReaderFromArray([]string{"a", "bcd"}))
	require.NoError(t, err)
	got, err := items(s)
	require.NoError(t, err)
	require.Contains(t, got[len(got)-1], "saved to: /tmp/trunc/id")
	require.Equal(t, files{"/tmp/trunc/id": "abcd"}, f)

	clear(f)
	s, err = streamText(t, m, broken("a", "bcd", "e"))
	require.NoError(t, err)
	got, err = items(s)
	require.ErrorIs(t, err, errBoom)
	require.Equal(t, "abcde", strings.Join(got, ""))
	require.Empty(t, f)
}

// The hooks cost a little where they are called one by one; the runtime calls what they are made of.
func TestTruncate_NothingToDoCostsLittle(t *testing.T) {
	m := middleware(t, &reduction.Config{Backend: files{}})
	e, err := m.WrapInvokableToolCall(t.Context(),
		func(context.Context, string, ...tool.Option) (string, error) { return "short", nil }, call)
	require.NoError(t, err)
	require.LessOrEqual(t, testing.AllocsPerRun(10, func() { _, _ = e(t.Context(), "args") }), 4.0)
}

func TestTruncate_PathsStayInside(t *testing.T) {
	for id, want := range map[string]string{"../../etc/passwd": "/tmp/trunc/.._.._etc_passwd", "..": "/tmp/trunc/__",
		`a\b`: "/tmp/trunc/a_b"} {
		f := files{}
		m := middleware(t, &reduction.Config{Backend: f, MaxLengthForTrunc: 1})
		e, err := m.WrapInvokableToolCall(t.Context(),
			func(context.Context, string, ...tool.Option) (string, error) { return "long", nil },
			&adk.ToolContext{Name: "t", CallID: id})
		require.NoError(t, err)
		_, err = e(t.Context(), "")
		require.NoError(t, err)
		require.Equal(t, files{want: "long"}, f)
	}
}

// Rule batteries/RT-5.
func TestTruncate_Parts(t *testing.T) {
	f := files{}
	m := middleware(t, &reduction.Config{Backend: f, MaxLengthForTrunc: 8, RootDir: "/r", ReadFileToolName: "cat"})
	result := &schema.ToolResult{Parts: []schema.ToolOutputPart{text("abc"), image("u"), text("abcdef")}}
	e, err := m.WrapEnhancedInvokableToolCall(t.Context(),
		func(context.Context, *schema.ToolArgument, ...tool.Option) (*schema.ToolResult, error) {
			return result, nil
		}, call)
	require.NoError(t, err)
	got, err := e(t.Context(), &schema.ToolArgument{Text: "args"})
	require.NoError(t, err)
	require.Equal(t, "abcdef", result.Parts[2].Text, "the tool's own result stays as it is")
	require.Equal(t, "abc", got.Parts[0].Text)
	require.Same(t, result.Parts[1].Image, got.Parts[1].Image)
	require.Contains(t, got.Parts[2].Text, "Output too large (6)")
	require.Contains(t, got.Parts[2].Text, "Use cat to view")
	require.True(t, strings.HasPrefix(f["/r/trunc/id"], "[\n\t{\n\t\t\"type\": \"text\","), f["/r/trunc/id"])

	for _, result = range []*schema.ToolResult{nil, {}, {Parts: []schema.ToolOutputPart{image("loooooooooong")}}} {
		got, err = e(t.Context(), nil)
		require.NoError(t, err)
		require.Same(t, result, got)
	}
}

// Rules batteries/B13.23, batteries/RT-6, batteries/RT-7.
func TestTruncate_Stream(t *testing.T) {
	for name, c := range map[string]struct {
		in   []string
		want []string
	}{
		"short":             {[]string{"a", "", "bc"}, []string{"a", "bc"}},
		"exactly the limit": {[]string{"aaa", "bb"}, []string{"aaa", "bb"}},
		"beyond":            {[]string{"aaa", "bbbb", "c"}, []string{"aaa", "bb"}},
		"at once":           {[]string{"aaaaaaa"}, []string{"aaaaa"}},
		"half a character":  {[]string{"aaa", "中"}, []string{"aaa", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			f := files{}
			m := middleware(t, &reduction.Config{Backend: f, MaxLengthForTrunc: 5})
			s, err := streamText(t, m, schema.StreamReaderFromArray(c.in))
			require.NoError(t, err)
			got, err := items(s)
			require.NoError(t, err)
			if name == "short" {
				require.Equal(t, c.want, got)
				require.Empty(t, f)
				return
			}
			c.want[len(c.want)-1] += "<persisted-output>\nOutput truncated after 5 bytes were streamed.\nFull output saved to: /tmp/trunc/id. Use read_file to view.\n</persisted-output>"
			require.Equal(t, c.want, got)
			require.Equal(t, files{"/tmp/trunc/id": strings.Join(c.in, "")}, f)
		})
	}
}

// Rule batteries/RT-6.
func TestTruncate_SwallowsUntilTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := middleware(t, &reduction.Config{Backend: files{}, MaxLengthForTrunc: 3})
		source, w := schema.Pipe[string](0)
		go func() {
			defer w.Close()
			for _, c := range []string{"a", "bcd", "e"} {
				w.Send(c, nil)
				time.Sleep(time.Second)
			}
		}()
		s, err := streamText(t, m, source)
		require.NoError(t, err)
		began := time.Now()
		first, err := s.Recv()
		require.NoError(t, err)
		require.Equal(t, "a", first)
		require.Zero(t, time.Since(began))
		last, err := s.Recv()
		require.NoError(t, err)
		require.Equal(t, 3*time.Second, time.Since(began))
		require.True(t, strings.HasPrefix(last, "bc<persisted-output>"), last)
		s.Close()
	})
}

// Rule batteries/RT-7.
func TestTruncate_FailuresAreInTheNotice(t *testing.T) {
	failing := func(context.Context, *reduction.ToolDetail) (string, error) { return "", errBoom }
	for want, c := range map[string]*reduction.Config{
		"Failed to save full output: boom.": {Backend: full{}, MaxLengthForTrunc: 1},
		"Failed to save full output: boom":  {Backend: files{}, MaxLengthForTrunc: 1, GenTruncOffloadFilePath: failing},
	} {
		s, err := streamText(t, middleware(t, c), schema.StreamReaderFromArray([]string{"ab"}))
		require.NoError(t, err)
		got, err := items(s)
		require.NoError(t, err)
		require.Len(t, got, 1)
		require.Contains(t, got[0], want)
	}
}

// Rule batteries/RT-8.
func TestTruncate_SourceFails(t *testing.T) {
	f := files{}
	m := middleware(t, &reduction.Config{Backend: f, MaxLengthForTrunc: 3})
	s, err := streamText(t, m, broken("a"))
	require.NoError(t, err)
	got, err := items(s)
	require.ErrorIs(t, err, errBoom)
	require.Equal(t, []string{"a"}, got)

	s, err = streamText(t, m, broken("a", "bcd", "e"))
	require.NoError(t, err)
	got, err = items(s)
	require.ErrorIs(t, err, errBoom)
	require.Equal(t, []string{"a", "bcde"}, got)

	parts, err := items(streamParts(t, m,
		broken(&schema.ToolResult{Parts: []schema.ToolOutputPart{text("abc"), image("u")}}, nil,
			&schema.ToolResult{Parts: []schema.ToolOutputPart{text("d")}})))
	require.ErrorIs(t, err, errBoom)
	require.Len(t, parts, 1)
	require.Len(t, parts[0].Parts, 3)
	require.Empty(t, f)
}

// Rule batteries/RT-9.
func TestTruncate_EnhancedStream(t *testing.T) {
	f := files{}
	m := middleware(t, &reduction.Config{Backend: f, MaxLengthForTrunc: 4})
	got, err := items(streamParts(t, m, schema.StreamReaderFromArray([]*schema.ToolResult{
		{Parts: []schema.ToolOutputPart{text("ab")}},
		{Parts: []schema.ToolOutputPart{image("1"), text("c"), image("2"), text("def"), image("3")}},
		{Parts: []schema.ToolOutputPart{image("4")}},
	})))
	require.NoError(t, err)
	require.Len(t, got, 2)
	last := got[1].Parts
	require.Len(t, last, 5)
	require.Equal(t, "1", *last[0].Image.URL)
	require.Equal(t, "c", last[1].Text)
	require.Equal(t, "2", *last[2].Image.URL)
	require.Equal(t, "d", last[3].Text)
	require.Contains(t, last[4].Text, "truncated after 4 bytes")
	require.True(t, strings.HasPrefix(f["/tmp/trunc/id"], "["))

	clear(f)
	_, err = items(streamParts(t, m, schema.StreamReaderFromArray([]*schema.ToolResult{
		{Parts: []schema.ToolOutputPart{text("ab")}}, {Parts: []schema.ToolOutputPart{text("cd")}}})))
	require.NoError(t, err)
	require.Equal(t, files{"/tmp/trunc/id": "abcd"}, f, "texts alone are saved as text")
}

func TestTruncate_ReaderGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := middleware(t, &reduction.Config{Backend: files{}})
		source, w := schema.Pipe[string](0)
		s, err := streamText(t, m, source)
		require.NoError(t, err)
		s.Close()
		synctest.Wait()
		require.True(t, w.Send("x", nil), "the source is closed")
		w.Close()
	})
}

func TestTruncate_PanicOfTheBackend(t *testing.T) {
	m := middleware(t, &reduction.Config{Backend: files{}, MaxLengthForTrunc: 1,
		GenTruncOffloadFilePath: func(context.Context, *reduction.ToolDetail) (string, error) { panic(errBoom) }})
	s, err := streamText(t, m, schema.StreamReaderFromArray([]string{"ab"}))
	require.NoError(t, err)
	_, err = items(s)
	require.ErrorIs(t, err, errBoom)
}

// own is a configuration with a handler for tool "t".
func own(b reduction.Backend, result *reduction.TruncResult, err error) *reduction.Config {
	return &reduction.Config{SkipTruncation: true, ToolConfig: map[string]*reduction.ToolReductionConfig{"t": {Backend: b,
		TruncHandler: func(_ context.Context, d *reduction.ToolDetail) (*reduction.TruncResult, error) {
			if d.ToolContext.Name != "t" || d.ToolArgument.Text != "args" {
				return nil, fmt.Errorf("unexpected detail %+v", d)
			}
			if d.StreamToolResult != nil {
				_, _ = d.StreamToolResult.Recv()
			}
			return result, err
		}}}}
}

// Rules batteries/RT-2, batteries/RT-3, batteries/RT-4.
func TestTruncate_OwnHandler(t *testing.T) {
	changed := &schema.ToolResult{Parts: []schema.ToolOutputPart{text("new"), text("er")}}
	f := files{}
	for name, c := range map[string]struct {
		conf *reduction.Config
		want string
		err  string
	}{
		"stays":    {own(nil, &reduction.TruncResult{}, nil), "old", ""},
		"nil":      {own(nil, nil, nil), "old", ""},
		"replaced": {own(nil, &reduction.TruncResult{NeedTrunc: true, ToolResult: changed}, nil), "new", ""},
		"offloaded": {own(f, &reduction.TruncResult{NeedTrunc: true, ToolResult: changed, NeedOffload: true,
			OffloadFilePath: "p", OffloadContent: "c"}, nil), "new", ""},
		"no backend": {own(nil, &reduction.TruncResult{NeedTrunc: true, ToolResult: changed, NeedOffload: true}, nil),
			"", "truncation: no backend for offload"},
		"fails":              {own(nil, nil, errBoom), "", "boom"},
		"replaced by nobody": {own(nil, &reduction.TruncResult{NeedTrunc: true}, nil), "", "returned none"},
	} {
		t.Run(name, func(t *testing.T) {
			m := middleware(t, c.conf)
			out, err := invoke(t, m, "old", nil)
			s, streamErr := streamText(t, m, schema.StreamReaderFromArray([]string{"o", "ld"}))
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				require.ErrorContains(t, streamErr, c.err)
				return
			}
			require.NoError(t, err)
			require.NoError(t, streamErr)
			require.Equal(t, c.want, out)
			all, err := items(s)
			require.NoError(t, err)
			require.Equal(t, c.want, strings.Join(all, ""))
		})
	}
	require.Equal(t, files{"p": "c"}, f)
}

// Rules batteries/RT-2, batteries/RT-4.
func TestTruncate_StreamsWithOwnHandler(t *testing.T) {
	m := middleware(t, own(nil, &reduction.TruncResult{}, nil))
	s, err := streamText(t, m, broken("a", "b"))
	require.NoError(t, err)
	got, err := items(s)
	require.ErrorIs(t, err, errBoom)
	require.Equal(t, []string{"a", "b"}, got)

	replaced := schema.StreamReaderFromArray([]*schema.ToolResult{{Parts: []schema.ToolOutputPart{text("x"), text("y")}},
		{}, nil})
	m = middleware(t, own(nil, &reduction.TruncResult{NeedTrunc: true, StreamToolResult: replaced}, nil))
	s, err = streamText(t, m, schema.StreamReaderFromArray([]string{"a"}))
	require.NoError(t, err)
	got, err = items(s)
	require.NoError(t, err)
	require.Equal(t, []string{"x", "", ""}, got)

	source, w := schema.Pipe[string](1)
	m = middleware(t, own(nil, nil, errBoom))
	w.Send("a", nil)
	_, err = streamText(t, m, source)
	require.ErrorIs(t, err, errBoom)
	require.True(t, w.Send("x", nil), "a stream that is not delivered is closed")
}

// The copy of a stream that a handler got is closed, whether the handler has read it or not.
// Rule batteries/B13.21.
func TestTruncate_CopiesAreClosed(t *testing.T) {
	for name, result := range map[string]*reduction.TruncResult{
		"stays":         nil,
		"by a result":   {NeedTrunc: true, ToolResult: textOf("new")},
		"by nothing":    {NeedTrunc: true},
		"not offloaded": {NeedTrunc: true, NeedOffload: true, ToolResult: textOf("new")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := middleware(t, &reduction.Config{SkipTruncation: true,
					ToolConfig: map[string]*reduction.ToolReductionConfig{"t": {
						TruncHandler: func(context.Context, *reduction.ToolDetail) (*reduction.TruncResult, error) {
							return result, nil
						}}}})
				source, w := schema.Pipe[string](1)
				defer w.Close()
				s, err := streamText(t, m, source)
				if err == nil {
					s.Close()
				}
				synctest.Wait()
				require.True(t, w.Send("x", nil), "nobody reads any more")
			})
		})
	}
}

func textOf(s string) *schema.ToolResult {
	return &schema.ToolResult{Parts: []schema.ToolOutputPart{text(s)}}
}

// Rules batteries/B13.3, batteries/RD-2.
func TestTruncate_WhichTools(t *testing.T) {
	f, mine := files{}, files{}
	never := func(context.Context, *reduction.ToolDetail) (*reduction.TruncResult, error) {
		panic("must not be asked")
	}
	for name, c := range map[string]struct {
		conf reduction.Config
		want bool
	}{
		"excluded": {reduction.Config{TruncExcludeTools: []string{"t"},
			ToolConfig: map[string]*reduction.ToolReductionConfig{"t": {TruncHandler: never}}}, false},
		"skipped": {reduction.Config{ToolConfig: map[string]*reduction.ToolReductionConfig{"t": {SkipTruncation: true,
			TruncHandler: never}}}, false},
		"all skipped": {reduction.Config{SkipTruncation: true,
			ToolConfig: map[string]*reduction.ToolReductionConfig{"t": {}}}, false},
		"an entry for clearing only": {reduction.Config{ToolConfig: map[string]*reduction.ToolReductionConfig{"t": {SkipClear: true}}}, true},
		"a nil entry": {reduction.Config{ToolConfig: map[string]*reduction.ToolReductionConfig{"t": nil}},
			true},
		"a backend of its own": {reduction.Config{ToolConfig: map[string]*reduction.ToolReductionConfig{"t": {Backend: mine}}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			c.conf.Backend, c.conf.MaxLengthForTrunc = f, 2
			out, err := invoke(t, middleware(t, &c.conf), "long", nil)
			require.NoError(t, err)
			require.Equal(t, c.want, out != "long")
		})
	}
	require.Equal(t, files{"/tmp/trunc/id": "long"}, mine)
}

func TestTruncate_InARun(t *testing.T) {
	messagetest.Both(t, testTruncateRun[*schema.Message], testTruncateRun[*schema.AgenticMessage])
}

func testTruncateRun[M adk.MessageType](t *testing.T) {
	backend := filesystem.NewInMemoryBackend()
	for _, tl := range []tool.BaseTool{
		adktest.NewTool("t", adktest.Says("0123456789")), adktest.NewStreamTool("t", adktest.Streams("01234", "56789")),
		adktest.NewEnhancedTool("t", adktest.Says("0123456789")),
		adktest.NewEnhancedStreamTool("t", adktest.Streams("01234", "56789")),
	} {
		m, err := reduction.NewTyped(t.Context(), &reduction.TypedConfig[M]{Backend: backend, MaxLengthForTrunc: 8})
		require.NoError(t, err)
		model := adktest.NewTypedModel[M](t, adktest.Calls(adktest.Call("t", "{}")), adktest.Says("done"))
		agent, err := adk.NewTypedChatModelAgent(t.Context(), &adk.TypedChatModelAgentConfig[M]{
			Name: "a", Model: model, ToolsConfig: adktest.Tools(tl), Handlers: []adk.TypedChatModelAgentMiddleware[M]{m}})
		require.NoError(t, err)
		adktest.AskStreaming(t.Context(), t, agent, "hi").ExpectText("done")
		require.Contains(t, model.Calls()[1].Lines[2], "<persisted-output>", "%T", tl)
		saved, err := backend.Read(t.Context(), &filesystem.ReadRequest{FilePath: "/tmp/trunc/call_1"})
		require.NoError(t, err)
		require.Equal(t, "0123456789", saved.Content)
	}
}

func TestLanguage_Chinese(t *testing.T) {
	require.NoError(t, adk.SetLanguage(adk.LanguageChinese))
	defer func() { require.NoError(t, adk.SetLanguage(adk.LanguageEnglish)) }()
	out, err := invoke(t, middleware(t, &reduction.Config{Backend: files{}, MaxLengthForTrunc: 1}), "long", nil)
	require.NoError(t, err)
	require.Contains(t, out, "输出过大（4）")
}
