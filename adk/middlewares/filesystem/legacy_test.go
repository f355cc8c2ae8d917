package filesystem

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/filesystem"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// Rule batteries/FM-6.
func TestNewMiddleware_MakesAStructMiddleware(t *testing.T) {
	b := filesystem.NewInMemoryBackend()
	m, err := NewMiddleware(t.Context(), &Config{Backend: b})
	require.NoError(t, err)
	require.Empty(t, m.AdditionalInstruction)
	require.Len(t, m.AdditionalTools, 6)
	require.NotNil(t, m.WrapToolCall.Invokable)
	require.NotNil(t, m.WrapToolCall.Streamable)

	m, err = NewMiddleware(t.Context(), &Config{Backend: b, Shell: &fakeShell{}, CustomSystemPrompt: ptr("x"),
		WithoutLargeToolResultOffloading: true, GrepToolConfig: &ToolConfig{Disable: true}, CustomLsToolDesc: ptr("old")})
	require.NoError(t, err)
	require.Equal(t, "x", m.AdditionalInstruction)
	require.Equal(t, []string{"ls", "read_file", "write_file", "edit_file", "glob", "execute"},
		namesOf(t, m.AdditionalTools))
	require.Equal(t, "old", infoOf(t, m.AdditionalTools[0]).Desc)
	require.Nil(t, m.WrapToolCall.Invokable)
	require.Nil(t, m.WrapToolCall.Streamable)
}

// call runs a call through the offloading, as a value and as a stream, and checks that both give the same.
func call(t *testing.T, c *Config, result string, fails error) (string, error) {
	t.Helper()
	m, err := NewMiddleware(t.Context(), c)
	require.NoError(t, err)
	input := &compose.ToolInput{Name: "x", CallID: "call_1"}
	output, err := m.WrapToolCall.Invokable(func(context.Context, *compose.ToolInput) (*compose.ToolOutput, error) {
		return &compose.ToolOutput{Result: result}, fails
	})(t.Context(), input)
	streamed, streamErr := m.WrapToolCall.Streamable(func(
		context.Context, *compose.ToolInput,
	) (*compose.StreamToolOutput, error) {
		half := len(result) / 2
		return &compose.StreamToolOutput{Result: schema.StreamReaderFromArray([]string{result[:half], result[half:]})}, fails
	})(t.Context(), input)
	require.Equal(t, err, streamErr)
	if err != nil {
		return "", err
	}
	chunk, streamErr := streamed.Result.Recv()
	require.NoError(t, streamErr)
	require.Equal(t, output.Result, chunk)
	_, streamErr = streamed.Result.Recv()
	require.Equal(t, io.EOF, streamErr)
	return chunk, nil
}

// Rule batteries/OF-1.
func TestOffload_Threshold(t *testing.T) {
	for _, c := range []struct {
		limit, size int
		offloaded   bool
	}{{10, 40, false}, {10, 41, true}, {0, 80000, false}, {0, 80001, true}} {
		b := filesystem.NewInMemoryBackend()
		whole := strings.Repeat("x", c.size)
		got, err := call(t, &Config{Backend: b, LargeToolResultOffloadingTokenLimit: c.limit}, whole, nil)
		require.NoError(t, err)
		if !c.offloaded {
			require.Equal(t, whole, got)
			continue
		}
		require.Contains(t, got, "Tool result too large")
		content, err := b.Read(t.Context(), &ReadRequest{FilePath: "/large_tool_result/call_1"})
		require.NoError(t, err)
		require.Equal(t, whole, content.Content)
	}
}

// Rule batteries/OF-2.
func TestOffload_Errors(t *testing.T) {
	boom := errors.New("boom")
	long := strings.Repeat("x", 100)
	b := filesystem.NewInMemoryBackend()
	_, err := call(t, &Config{Backend: b, LargeToolResultOffloadingTokenLimit: 1}, long, boom)
	require.Equal(t, boom, err)
	_, err = call(t, &Config{Backend: b, LargeToolResultOffloadingTokenLimit: 1,
		LargeToolResultOffloadingPathGen: func(context.Context, *compose.ToolInput) (string, error) { return "", boom }},
		long, nil)
	require.Equal(t, boom, err)
	_, err = call(t, &Config{Backend: brokenBackend{}, LargeToolResultOffloadingTokenLimit: 1}, long, nil)
	require.Equal(t, errBackend, err)
	files, err := b.LsInfo(t.Context(), &LsInfoRequest{Path: "/"})
	require.NoError(t, err)
	require.Empty(t, files)
}

// Rule batteries/OF-3.
func TestOffload_Message(t *testing.T) {
	c := &Config{Backend: filesystem.NewInMemoryBackend(), LargeToolResultOffloadingTokenLimit: 1,
		LargeToolResultOffloadingPathGen: func(_ context.Context, in *compose.ToolInput) (string, error) {
			return "/r/" + in.Name, nil
		}}
	for _, language := range []adk.Language{adk.LanguageEnglish, adk.LanguageChinese} {
		require.NoError(t, adk.SetLanguage(language))
		t.Cleanup(func() { require.NoError(t, adk.SetLanguage(adk.LanguageEnglish)) })
		got, err := call(t, c, "first {file_path}\nsecond", nil)
		require.NoError(t, err)
		for _, want := range []string{"call_1", "/r/x", "read_file", "offset", "limit", "1: first {file_path}\n2: second\n"} {
			require.Contains(t, got, want)
		}
	}
}

// Rules batteries/B13.17, batteries/OF-4.
func TestOffload_Sample(t *testing.T) {
	require.Equal(t, "1: a\n2: \n3: b\n", sample("a\n\nb\n"))
	require.Equal(t, 10, strings.Count(sample(strings.Repeat("x\n", 50)), "\n"))
	long := strings.Repeat("é", 200_000)
	require.Equal(t, "1: "+strings.Repeat("é", 1000)+"\n", sample(long), "however long a line is")
}

// Rule batteries/OF-5.
func TestOffload_NilStream(t *testing.T) {
	m, err := NewMiddleware(t.Context(), &Config{Backend: filesystem.NewInMemoryBackend()})
	require.NoError(t, err)
	_, err = m.WrapToolCall.Streamable(func(context.Context, *compose.ToolInput) (*compose.StreamToolOutput, error) {
		return nil, nil
	})(t.Context(), &compose.ToolInput{})
	require.EqualError(t, err, "stream is nil")
	output, err := m.WrapToolCall.Invokable(func(context.Context, *compose.ToolInput) (*compose.ToolOutput, error) {
		return nil, nil
	})(t.Context(), &compose.ToolInput{})
	require.NoError(t, err)
	require.Nil(t, output)
}
