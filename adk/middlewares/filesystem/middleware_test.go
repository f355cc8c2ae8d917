package filesystem

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/filesystem"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

func ptr[T any](v T) *T { return &v }

// fakeShell answers every command in the same way.
type fakeShell struct {
	response *filesystem.ExecuteResponse
	err      error
	asked    []filesystem.ExecuteRequest
}

func (s *fakeShell) Execute(_ context.Context, in *filesystem.ExecuteRequest) (*filesystem.ExecuteResponse, error) {
	s.asked = append(s.asked, *in)
	return s.response, s.err
}

// fakeStreamingShell streams whatever run gives.
type fakeStreamingShell func() (*schema.StreamReader[*filesystem.ExecuteResponse], error)

func (s fakeStreamingShell) ExecuteStreaming(
	context.Context, *filesystem.ExecuteRequest,
) (*schema.StreamReader[*filesystem.ExecuteResponse], error) {
	return s()
}

// toolsOf returns the tools that the middleware adds to a run.
func toolsOf(t *testing.T, c *MiddlewareConfig) []tool.BaseTool {
	t.Helper()
	m, err := New(t.Context(), c)
	require.NoError(t, err)
	_, runCtx, err := m.BeforeAgent(t.Context(), &adk.ChatModelAgentContext{})
	require.NoError(t, err)
	return runCtx.Tools
}

func infoOf(t *testing.T, b tool.BaseTool) *schema.ToolInfo {
	t.Helper()
	info, err := b.Info(t.Context())
	require.NoError(t, err)
	return info
}

func namesOf(t *testing.T, tools []tool.BaseTool) (names []string) {
	t.Helper()
	for _, b := range tools {
		names = append(names, infoOf(t, b).Name)
	}
	return names
}

func toolNamed(t *testing.T, c *MiddlewareConfig, name string) tool.BaseTool {
	t.Helper()
	for _, b := range toolsOf(t, c) {
		if infoOf(t, b).Name == name {
			return b
		}
	}
	t.Fatalf("there is no tool %q", name)
	return nil
}

// run runs one tool on a configuration.
func run(t *testing.T, c *MiddlewareConfig, name, arguments string) (string, error) {
	t.Helper()
	switch b := toolNamed(t, c, name).(type) {
	case tool.InvokableTool:
		return b.InvokableRun(t.Context(), arguments)
	case tool.StreamableTool:
		s, err := b.StreamableRun(t.Context(), arguments)
		if err != nil {
			return "", err
		}
		defer s.Close()
		var all string
		for {
			chunk, err := s.Recv()
			if err == io.EOF {
				return all, nil
			}
			if err != nil {
				return all, err
			}
			all += chunk
		}
	}
	t.Fatalf("%s is neither invokable nor streamable", name)
	return "", nil
}

// stored is a backend in memory with these files.
func stored(t *testing.T, files map[string]string) *filesystem.InMemoryBackend {
	t.Helper()
	b := filesystem.NewInMemoryBackend()
	for path, content := range files {
		require.NoError(t, b.Write(t.Context(), &filesystem.WriteRequest{FilePath: path, Content: content}))
	}
	return b
}

// Rule batteries/FM-1.
func TestValidate_InvalidConfig(t *testing.T) {
	b := filesystem.NewInMemoryBackend()
	var nilBackend *filesystem.InMemoryBackend
	var nilShell *fakeShell
	streaming := fakeStreamingShell(nil)
	for _, c := range []struct {
		name   string
		config *MiddlewareConfig
		legacy *Config
		err    string
	}{
		{"nil config", nil, nil, "config should not be nil"},
		{"nothing", &MiddlewareConfig{}, &Config{}, "backend should not be nil"},
		{"nil pointer", &MiddlewareConfig{Backend: nilBackend}, &Config{Backend: nilBackend}, "backend should not be nil"},
		{"both shells", &MiddlewareConfig{Backend: b, Shell: &fakeShell{}, StreamingShell: chunks{{}}},
			&Config{Backend: b, Shell: &fakeShell{}, StreamingShell: chunks{{}}},
			"shell and streaming shell should not be both set"},
		{"nil shell", &MiddlewareConfig{Backend: b, Shell: nilShell}, &Config{Backend: b, Shell: nilShell},
			"shell should not be a nil pointer: leave it out instead"},
		{"nil streaming shell", &MiddlewareConfig{Backend: b, StreamingShell: streaming},
			&Config{Backend: b, StreamingShell: streaming},
			"streaming shell should not be a nil pointer: leave it out instead"},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.EqualError(t, c.config.Validate(), c.err)
			require.EqualError(t, c.legacy.Validate(), c.err)
			m, err := New(t.Context(), c.config)
			require.EqualError(t, err, c.err)
			require.True(t, m == nil, "the interface itself is nil")
			legacy, err := NewMiddleware(t.Context(), c.legacy)
			require.EqualError(t, err, c.err)
			require.Zero(t, legacy)
		})
	}
	require.NoError(t, (&MiddlewareConfig{Backend: b}).Validate())
}

// Rule batteries/FM-2.
func TestTools_Order(t *testing.T) {
	six := []string{"ls", "read_file", "write_file", "edit_file", "glob", "grep"}
	b := filesystem.NewInMemoryBackend()
	require.Equal(t, six, namesOf(t, toolsOf(t, &MiddlewareConfig{Backend: b})))
	require.Equal(t, append(six, "execute"), namesOf(t, toolsOf(t, &MiddlewareConfig{Backend: b, Shell: &fakeShell{}})))
	require.Equal(t, []string{"execute"}, namesOf(t, toolsOf(t, &MiddlewareConfig{Shell: &fakeShell{}})),
		"a shell is enough")
	require.Equal(t, []string{"mine", "execute"}, namesOf(t, toolsOf(t, &MiddlewareConfig{Shell: &fakeShell{},
		LsToolConfig: &ToolConfig{CustomTool: adktest.NewTool("mine")}})), "and a tool that needs no backend")
}

// Rule batteries/FM-3.
func TestTools_NameAndDescriptionByConfig(t *testing.T) {
	b := filesystem.NewInMemoryBackend()
	custom := adktest.NewTool("mine")
	for _, c := range []struct {
		name       string
		config     *ToolConfig
		legacy     *string
		wantName   string // "" if there is none
		wantDesc   string
		wantCustom bool
	}{
		{name: "as it is", wantName: "ls", wantDesc: ListFilesToolDesc},
		{name: "empty", config: &ToolConfig{Desc: ptr("")}, wantName: "ls", wantDesc: ListFilesToolDesc},
		{name: "legacy", legacy: ptr("old"), wantName: "ls", wantDesc: "old"},
		{name: "legacy empty", legacy: ptr(""), wantName: "ls", wantDesc: ListFilesToolDesc},
		{name: "both", config: &ToolConfig{Desc: ptr("new")}, legacy: ptr("old"), wantName: "ls", wantDesc: "new"},
		{name: "name", config: &ToolConfig{Name: "list"}, legacy: ptr("old"), wantName: "list", wantDesc: "old"},
		{name: "custom", config: &ToolConfig{Name: "list", Desc: ptr("x"), CustomTool: custom}, wantName: "mine",
			wantDesc: "a tool of a test", wantCustom: true},
		{name: "disabled", config: &ToolConfig{CustomTool: custom, Disable: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var before ToolConfig
			if c.config != nil {
				before = *c.config
			}
			tools := toolsOf(t, &MiddlewareConfig{Backend: b, LsToolConfig: c.config, CustomLsToolDesc: c.legacy})
			if c.config != nil {
				require.Equal(t, before, *c.config, "the caller's configuration stays as it is")
			}
			if c.wantName == "" {
				require.Len(t, tools, 5)
				return
			}
			info := infoOf(t, tools[0])
			require.Equal(t, c.wantName, info.Name)
			require.Equal(t, c.wantDesc, info.Desc)
			require.Equal(t, c.wantCustom, tools[0] == tool.BaseTool(custom))
		})
	}
	_, err := New(t.Context(), &MiddlewareConfig{Backend: b, LsToolConfig: &ToolConfig{Name: "grep"}})
	require.EqualError(t, err, `two tools have the name "grep": give each ToolConfig its own`)
}

// Rules batteries/B13.38, batteries/FM-3.
func TestTools_EveryToolByItsOwnConfig(t *testing.T) {
	c := &MiddlewareConfig{Backend: filesystem.NewInMemoryBackend(), Shell: &fakeShell{}}
	for i, field := range []**ToolConfig{&c.LsToolConfig, &c.ReadFileToolConfig, &c.WriteFileToolConfig,
		&c.EditFileToolConfig,
		&c.GlobToolConfig, &c.GrepToolConfig} {
		*field = &ToolConfig{Name: string(rune('a' + i))}
	}
	c.ExecuteToolConfig = &ExecuteToolConfig{Name: "g"}
	require.Equal(t, []string{"a", "b", "c", "d", "e", "f", "g"}, namesOf(t, toolsOf(t, c)))
	c = &MiddlewareConfig{Backend: c.Backend}
	for i, field := range []**string{&c.CustomLsToolDesc, &c.CustomReadFileToolDesc, &c.CustomWriteFileToolDesc,
		&c.CustomEditToolDesc, &c.CustomGlobToolDesc, &c.CustomGrepToolDesc} {
		*field = ptr(string(rune('a' + i)))
	}
	for i, b := range toolsOf(t, c) {
		require.Equal(t, string(rune('a'+i)), infoOf(t, b).Desc)
	}
}

// Rule batteries/I-5.
func TestTools_DescriptionsInChinese(t *testing.T) {
	require.NoError(t, adk.SetLanguage(adk.LanguageChinese))
	t.Cleanup(func() { require.NoError(t, adk.SetLanguage(adk.LanguageEnglish)) })
	tools := toolsOf(t, &MiddlewareConfig{Backend: filesystem.NewInMemoryBackend(), Shell: &fakeShell{}})
	for i, want := range []string{ListFilesToolDescChinese, ReadFileToolDescChinese, WriteFileToolDescChinese,
		EditFileToolDescChinese,
		GlobToolDescChinese, GrepToolDescChinese, ExecuteToolDescChinese} {
		require.Equal(t, want, infoOf(t, tools[i]).Desc)
	}
}

// Rule batteries/B13.34.
func TestTools_OnlyWhatIsNeededIsRequired(t *testing.T) {
	want := map[string][]string{ // required parameters
		"ls": {}, "read_file": {"file_path"}, "write_file": {"content", "file_path"},
		"edit_file": {"file_path", "new_string", "old_string"},
		"glob":      {"pattern"}, "grep": {"pattern"}, "execute": {"command"},
	}
	for _, b := range toolsOf(t, &MiddlewareConfig{Backend: filesystem.NewInMemoryBackend(), Shell: &fakeShell{},
		BackgroundCommands: true}) {
		info := infoOf(t, b)
		s, err := info.ToJSONSchema()
		require.NoError(t, err)
		require.Equal(t, want[info.Name], s.Required, info.Name)
		for p := s.Properties.Oldest(); p != nil; p = p.Next() {
			require.NotEmpty(t, p.Value.Description, "%s.%s", info.Name, p.Key)
		}
	}
}

// Rule batteries/FM-4.
func TestBeforeAgent_AddsPromptAndToolsToACopy(t *testing.T) {
	b := filesystem.NewInMemoryBackend()
	m, err := New(t.Context(), &MiddlewareConfig{Backend: b, CustomSystemPrompt: ptr("Mind the files.")})
	require.NoError(t, err)
	ctx, none, err := m.BeforeAgent(t.Context(), nil)
	require.NoError(t, err)
	require.Nil(t, none)
	require.Equal(t, t.Context(), ctx)

	mine := adktest.NewTool("mine")
	tools := make([]tool.BaseTool, 1, 20)
	tools[0] = mine
	before := &adk.ChatModelAgentContext{Instruction: "Be brief.", Tools: tools}
	_, after, err := m.BeforeAgent(t.Context(), before)
	require.NoError(t, err)
	require.Equal(t, "Be brief.\nMind the files.", after.Instruction)
	require.Len(t, after.Tools, 7)
	require.Equal(t, &adk.ChatModelAgentContext{Instruction: "Be brief.", Tools: []tool.BaseTool{mine}}, before)
	require.Nil(t, tools[:2][1], "nothing is written behind the caller's slice")

	m, err = New(t.Context(), &MiddlewareConfig{Backend: b, CustomSystemPrompt: ptr("")})
	require.NoError(t, err)
	_, after, err = m.BeforeAgent(t.Context(), before)
	require.NoError(t, err)
	require.Equal(t, "Be brief.", after.Instruction)
}

func TestBeforeAgent_Allocations(t *testing.T) {
	m, err := New(t.Context(), &MiddlewareConfig{Backend: filesystem.NewInMemoryBackend(), CustomSystemPrompt: ptr("x")})
	require.NoError(t, err)
	runCtx := &adk.ChatModelAgentContext{Instruction: "Be brief."}
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() {
		_, _, _ = m.BeforeAgent(context.Background(), runCtx)
	}), 5.0)
}

func TestAgent_BothKindsOfMessage(t *testing.T) {
	t.Run("message", testAgent[*schema.Message])
	t.Run("agentic", testAgent[*schema.AgenticMessage])
}

func testAgent[M adk.MessageType](t *testing.T) {
	m, err := NewTyped[M](t.Context(),
		&MiddlewareConfig{Backend: stored(t, map[string]string{"/notes/a.txt": "one\ntwo"})})
	require.NoError(t, err)
	agent, err := adk.NewTypedChatModelAgent(t.Context(), &adk.TypedChatModelAgentConfig[M]{
		Name: "clerk",
		Model: adktest.NewTypedModel[M](t,
			adktest.Calls(adktest.Call("read_file", `{"file_path":"/notes/a.txt","offset":2}`)).
				Offered("ls", "read_file", "write_file", "edit_file", "glob", "grep"),
			adktest.Calls(adktest.Call("edit_file", `{"file_path":"/notes/a.txt","old_string":"two","new_string":"2"}`)).
				SeeingLast("tool read_file#call_1:      2\ttwo"),
			adktest.Says("Done.").SeeingLast("tool edit_file#call_2: Successfully replaced the string in '/notes/a.txt'"),
		),
		Handlers: []adk.TypedChatModelAgentMiddleware[M]{m},
	})
	require.NoError(t, err)
	adktest.Ask(t.Context(), t, agent, "Change it.").ExpectText("Done.")
}

// Rule batteries/FM-5.
func TestAgent_ResultsPassThrough(t *testing.T) {
	t.Run("message", testPassThrough[*schema.Message])
	t.Run("agentic", testPassThrough[*schema.AgenticMessage])
}

func testPassThrough[M adk.MessageType](t *testing.T) {
	long := strings.Repeat("x", 200_000)
	backend := stored(t, nil)
	m, err := NewTyped[M](t.Context(), &MiddlewareConfig{Backend: backend})
	require.NoError(t, err)
	agent, err := adk.NewTypedChatModelAgent(t.Context(), &adk.TypedChatModelAgentConfig[M]{
		Name: "clerk",
		Model: adktest.NewTypedModel[M](t,
			adktest.Calls(adktest.Call("whole", "{}"), adktest.Call("streamed", "{}")),
			adktest.Says("Done.").SeeingLast("tool whole#call_1: "+long, "tool streamed#call_2: "+long)),
		ToolsConfig: adktest.Tools(adktest.NewTool("whole", adktest.Says(long)),
			adktest.NewStreamTool("streamed", adktest.Says(long))),
		Handlers: []adk.TypedChatModelAgentMiddleware[M]{m},
	})
	require.NoError(t, err)
	adktest.AskStreaming(t.Context(), t, agent, "Go.").ExpectText("Done.")
	left, err := backend.GlobInfo(t.Context(), &GlobInfoRequest{Pattern: "/**"})
	require.NoError(t, err)
	require.Empty(t, left, "nothing is moved into files")
}

var errBackend = errors.New("disk on fire")

// brokenBackend fails in everything.
type brokenBackend struct{}

func (brokenBackend) LsInfo(context.Context, *LsInfoRequest) ([]FileInfo, error) {
	return nil, errBackend
}
func (brokenBackend) Read(context.Context, *ReadRequest) (*FileContent, error) {
	return nil, errBackend
}
func (brokenBackend) GrepRaw(context.Context, *GrepRequest) ([]GrepMatch, error) {
	return nil, errBackend
}
func (brokenBackend) GlobInfo(context.Context, *GlobInfoRequest) ([]FileInfo, error) {
	return nil, errBackend
}
func (brokenBackend) Write(context.Context, *WriteRequest) error { return errBackend }
func (brokenBackend) Edit(context.Context, *EditRequest) error   { return errBackend }

// Rule batteries/FT-1.
func TestTools_BackendErrors(t *testing.T) {
	c := &MiddlewareConfig{Backend: brokenBackend{}, Shell: &fakeShell{err: errBackend}}
	for _, name := range []string{"ls", "read_file", "write_file", "edit_file", "glob", "grep", "execute"} {
		_, err := run(t, c, name, `{}`)
		require.ErrorIs(t, err, errBackend, name)
	}
}
