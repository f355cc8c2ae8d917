package agentsmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/filesystem"
	"github.com/weftgo/weft/adk/filesystem/local"
	"github.com/weftgo/weft/adk/middlewares/internal/message"
	"github.com/weftgo/weft/schema"
)

// store is a backend that counts what is read. It cannot list.
type store struct {
	memory *filesystem.InMemoryBackend
	fails  map[string]error

	mu    sync.Mutex
	reads []string
}

func newStore(t *testing.T, files map[string]string) *store {
	t.Helper()
	s := &store{memory: filesystem.NewInMemoryBackend(), fails: map[string]error{}}
	for path, content := range files {
		s.write(t, path, content)
	}
	return s
}

func (s *store) write(t *testing.T, path, content string) {
	t.Helper()
	require.NoError(t, s.memory.Write(t.Context(), &filesystem.WriteRequest{FilePath: path, Content: content}))
}

func (s *store) Read(ctx context.Context, req *ReadRequest) (*FileContent, error) {
	s.mu.Lock()
	s.reads = append(s.reads, req.FilePath)
	s.mu.Unlock()
	if err, ok := s.fails[req.FilePath]; ok {
		return nil, err
	}
	if *req != (ReadRequest{FilePath: req.FilePath, Offset: 1}) {
		return nil, errors.New("the whole file was not asked for")
	}
	return s.memory.Read(ctx, req)
}

// listing is a store that can list.
type listing struct{ *store }

func (l listing) LsInfo(ctx context.Context, req *filesystem.LsInfoRequest) ([]filesystem.FileInfo, error) {
	return l.memory.LsInfo(ctx, req)
}

// warnings collects warnings as lines.
type warnings struct{ lines []string }

func (w *warnings) add(path string, err error) { w.lines = append(w.lines, path+": "+err.Error()) }

// load returns the sections that a configuration gives, as "path=content", and the warnings.
func load(t *testing.T, c *Config) (sections, warned []string, err error) {
	t.Helper()
	var w warnings
	c.OnLoadWarning = w.add
	l := &loader{conf: c, files: newFileCache(c.Backend), seen: map[string]bool{}}
	err = l.loadAll(t.Context())
	for _, s := range l.sections {
		sections = append(sections, s.path+"="+s.content)
	}
	return sections, w.lines, err
}

// Rule batteries/AM-1.
func TestNew_InvalidConfig(t *testing.T) {
	var nilBackend *store
	b := newStore(t, nil)
	for want, c := range map[string]*Config{
		"[agentsmd]: config is required":                       nil,
		"[agentsmd]: backend is required":                      {AgentsMDFiles: []string{"a"}, Backend: nilBackend},
		"[agentsmd]: at least one agent file path is required": {Backend: b},
		"[agentsmd]: AgentsMDFiles has an empty path":          {Backend: b, AgentsMDFiles: []string{"a", ""}},
		"[agentsmd]: AllAgentsMDMaxBytes must be non-negative": {Backend: b, AgentsMDFiles: []string{"a"},
			AllAgentsMDMaxBytes: -1},
		"[agentsmd]: PerAgentsMDMaxBytes must be non-negative": {Backend: b, AgentsMDFiles: []string{"a"},
			PerAgentsMDMaxBytes: -1},
	} {
		m, err := New(t.Context(), c)
		require.EqualError(t, err, want)
		require.True(t, m == nil, "the interface itself is nil")
	}
}

// Rules batteries/AM-2, batteries/AM-4, batteries/AM-13.
func TestInsert_BeforeTheFirstUserMessageAndOnce(t *testing.T) {
	t.Run("message", testInsert[*schema.Message])
	t.Run("agentic", testInsert[*schema.AgenticMessage])
}

func testInsert[M adk.MessageType](t *testing.T) {
	m, err := NewTyped[M](t.Context(),
		&Config{Backend: newStore(t, map[string]string{"/a.md": "be kind"}), AgentsMDFiles: []string{"/a.md"}})
	require.NoError(t, err)
	system, user := message.NewSystem[M]("s"), message.NewUser[M]("u")
	var none M
	for _, c := range []struct {
		history []M
		at      int
	}{
		{nil, 0}, {[]M{system}, 1}, {[]M{none, system, user, user}, 2}, {[]M{user}, 0},
	} {
		before := &adk.TypedChatModelAgentState[M]{Messages: append(make([]M, 0, 9), c.history...),
			ToolInfos: []*schema.ToolInfo{{Name: "x"}}}
		ctx, once, err := m.BeforeModelRewriteState(t.Context(), before, nil)
		require.NoError(t, err)
		require.NotNil(t, ctx)
		require.Len(t, before.Messages, len(c.history))
		require.True(t, before.Messages[:len(c.history)+1][len(c.history)] == none,
			"nothing is written behind the caller's slice")
		require.Len(t, once.Messages, len(c.history)+1)
		require.Equal(t, before.ToolInfos, once.ToolInfos)
		require.Equal(t, true, message.Extra(once.Messages[c.at])["__agentsmd_content__"])
		require.Contains(t, adktest.Line(once.Messages[c.at]), "be kind")

		_, twice, err := m.BeforeModelRewriteState(t.Context(), once, nil)
		require.NoError(t, err)
		require.Same(t, once, twice)
	}
	_, nothing, err := m.BeforeModelRewriteState(t.Context(), nil, nil)
	require.NoError(t, err)
	require.Nil(t, nothing)
}

// For agentic messages the role decides, and results of tools have the role of the user.
// Rule batteries/AM-4.
func TestInsert_ToolResultsCountAsUserMessages(t *testing.T) {
	insert := func(t *testing.T) *Config {
		return &Config{Backend: newStore(t, map[string]string{"/a.md": "be kind"}), AgentsMDFiles: []string{"/a.md"}}
	}
	agentic, err := NewTyped[*schema.AgenticMessage](t.Context(), insert(t))
	require.NoError(t, err)
	call := message.Call{ID: "1", Name: "x"}
	_, s, err := agentic.BeforeModelRewriteState(t.Context(), &adk.TypedChatModelAgentState[*schema.AgenticMessage]{
		Messages: []*schema.AgenticMessage{message.NewResult[*schema.AgenticMessage](call, "r")}}, nil)
	require.NoError(t, err)
	require.True(t, isContent(s.Messages[0]))
	chat, err := New(t.Context(), insert(t))
	require.NoError(t, err)
	_, c, err := chat.BeforeModelRewriteState(t.Context(), &adk.ChatModelAgentState{
		Messages: []adk.Message{message.NewResult[adk.Message](call, "r")}}, nil)
	require.NoError(t, err)
	require.True(t, isContent(c.Messages[1]))
}

// Rule batteries/AM-3.
func TestInsert_ErrorsNameTheFiles(t *testing.T) {
	boom := errors.New("boom")
	b := newStore(t, map[string]string{"/d/a.md": "@b.md", "/d/b.md": "@c/d.md"})
	b.fails["/d/c/d.md"] = boom
	b.fails["/x.md"] = boom
	for path, want := range map[string]string{
		"/x.md":   `[agentsmd]: failed to load agent files: failed to load "/x.md": boom`,
		"/d/a.md": `[agentsmd]: failed to load agent files: failed to load "/d/a.md": failed to import "b.md" from "/d/a.md": failed to import "c/d.md" from "/d/b.md": boom`,
	} {
		m, err := New(t.Context(), &Config{Backend: b, AgentsMDFiles: []string{path}})
		require.NoError(t, err)
		ctx, _, err := m.BeforeModelRewriteState(t.Context(), &adk.ChatModelAgentState{}, nil)
		require.EqualError(t, err, want)
		require.ErrorIs(t, err, boom)
		require.Equal(t, t.Context(), ctx)
	}
}

// Rules batteries/AM-5, batteries/AM-6.
func TestLoad_SkipsMissingAndEmptyFiles(t *testing.T) {
	b := newStore(t, map[string]string{"/a.md": "a", "/empty.md": "", "/b.md": "b"})
	b.fails["/nothing.md"] = nil // neither content nor an error
	sections, warned, err := load(t,
		&Config{Backend: b, AgentsMDFiles: []string{"/x/../a.md", "/none.md", "/empty.md", "/nothing.md", "/a.md", "/b.md"}})
	require.NoError(t, err)
	require.Equal(t, []string{"/a.md=a", "/b.md=b"}, sections)
	require.Equal(t, []string{"/none.md: file not found, skipping"}, warned)
	require.Equal(t, []string{"/a.md", "/none.md", "/empty.md", "/nothing.md", "/b.md"}, b.reads)
}

// Rules batteries/AM-7, batteries/B13.39.
func TestImports_WhichMentionsAreFiles(t *testing.T) {
	for text, want := range map[string][]string{
		"see @docs/style.md and @notes.txt": {"docs/style.md", "notes.txt"},
		"@a.md,@b.mdx;(@c.yaml) @d.yml @e.json @f.toml @G.MD": {"a.md", "b.mdx", "c.yaml", "d.yml", "e.json", "f.toml",
			"G.MD"},
		"@../up/x @/abs/y @./z @~/home.md @a/b_c-d":             {"../up/x", "/abs/y", "./z", "~/home.md", "a/b_c-d"},
		"@someone user@example.com @company.org @ @! mail":      nil,
		"mail joe@example.com/x.md and a+b@c/d":                 nil,
		"Read @docs/style.md. Then @notes.md...":                {"docs/style.md", "notes.md"},
		"见@docs/style.md。":                                      {"docs/style.md"},
		"before @a.md\n```\n@b.md\n~~~\n@c.md\n````\n@d.md":     {"a.md", "d.md"},
		"  ~~~~ sh\n@b.md\n~~~\n@c.md\n~~~~\n@d.md\n```\n@e.md": {"d.md"},
		"no sign": nil,
	} {
		require.Equal(t, want, imports(text), text)
	}
}

// Rules batteries/AM-7, batteries/AM-8.
func TestLoad_Order(t *testing.T) {
	b := newStore(t, map[string]string{
		"/d/a.md": "@b/b.md @c.md", "/d/b/b.md": "@../c.md @/e.md", "/d/c.md": "c", "/e.md": "@d/c.md", "/f.md": "@d/c.md",
		"/rel/top.md": "@sub/x.md", "/rel/sub/x.md": "x",
	})
	sections, warned, err := load(t, &Config{Backend: b, AgentsMDFiles: []string{"/d/a.md", "/f.md", "rel/top.md"}})
	require.NoError(t, err)
	require.Empty(t, warned)
	require.Equal(t, []string{"/d/a.md=@b/b.md @c.md", "/d/b/b.md=@../c.md @/e.md", "/d/c.md=c", "/e.md=@d/c.md",
		"/f.md=@d/c.md",
		"rel/top.md=@sub/x.md", "rel/sub/x.md=x"}, sections)
}

// Rule batteries/AM-9.
func TestLoad_DepthAndCircles(t *testing.T) {
	files := map[string]string{"/a.md": "@b.md", "/b.md": "@a.md @b.md @c.md", "/c.md": "c"}
	for i := range 8 {
		files[fmt.Sprintf("/%d.md", i)] = fmt.Sprintf("@%d.md", i+1)
	}
	b := newStore(t, files)
	sections, warned, err := load(t, &Config{Backend: b, AgentsMDFiles: []string{"/a.md", "/0.md"}})
	require.NoError(t, err)
	require.Len(t, sections, 3+6)
	require.Equal(t, []string{"/a.md: circular @import detected", "/b.md: circular @import detected",
		"/6.md: @import depth exceeds maximum of 5"}, warned)
}

// Rule batteries/AM-10.
func TestLoad_StopsAtTheByteBudget(t *testing.T) {
	long := strings.Repeat("ä", 500) // 1,000 bytes
	b := newStore(t, map[string]string{
		"/a.md": "@i.md @j.md", "/i.md": "import", "/j.md": long, "/b.md": long, "/c.md": "c", "/d.md": "d"})
	for name, c := range map[string]struct {
		all, each int
		files     []string
		sections  []string // their beginnings with their lengths
		warned    []string
		omitted   []string
		reads     int
	}{
		"no bound": {0, 0, []string{"/a.md", "/b.md"},
			[]string{"/a.md 11", "/i.md 6", "/j.md 1000", "/b.md 1000"}, nil, nil, 4},
		"the first file is cut": {101, 0, []string{"/b.md", "/c.md", "/x/../d.md"}, []string{"/b.md 100 of 1000"},
			[]string{"/b.md: cut: 100 of its 1000 bytes are shown"}, []string{"/c.md", "/d.md"}, 1},
		"a later file is cut": {1700, 0, []string{"/b.md", "/j.md", "/c.md"}, []string{"/b.md 1000", "/j.md 700 of 1000"},
			[]string{"/j.md: cut: 700 of its 1000 bytes are shown"}, []string{"/c.md"}, 2},
		"a later file has too little room": {1400, 0, []string{"/b.md", "/j.md", "/c.md"}, []string{"/b.md 1000"},
			[]string{"/j.md: skipped: there is no room for its 1000 bytes"}, []string{"/j.md", "/c.md"}, 2},
		"the budget is used up": {1000, 0, []string{"/b.md", "/c.md"}, []string{"/b.md 1000"}, nil, []string{"/c.md"}, 1},
		"an import has no room": {20, 0, []string{"/a.md", "/c.md"}, []string{"/a.md 11", "/i.md 6"},
			[]string{"/j.md: skipped: there is no room for its 1000 bytes"}, []string{"/c.md"}, 3},
		"each file is cut": {0, 10, []string{"/b.md", "/a.md", "/c.md"}, []string{"/b.md 10 of 1000", "/a.md 10 of 11", "/c.md 1"},
			[]string{"/b.md: cut: 10 of its 1000 bytes are shown", "/a.md: cut: 10 of its 11 bytes are shown"}, nil, 3},
		"both": {15, 10, []string{"/b.md", "/c.md", "/d.md"}, []string{"/b.md 10 of 1000", "/c.md 1", "/d.md 1"},
			[]string{"/b.md: cut: 10 of its 1000 bytes are shown"}, nil, 3},
	} {
		t.Run(name, func(t *testing.T) {
			b.reads = nil
			var w warnings
			l := &loader{conf: &Config{Backend: b, AgentsMDFiles: c.files, AllAgentsMDMaxBytes: c.all, PerAgentsMDMaxBytes: c.each,
				OnLoadWarning: w.add}, files: newFileCache(b), seen: map[string]bool{}}
			require.NoError(t, l.loadAll(t.Context()))
			var got []string
			for _, s := range l.sections {
				require.True(t, utf8.ValidString(s.content))
				text, notice, isCut := strings.Cut(s.content, "\n\n[The file is too large: ")
				size := fmt.Sprintf("%s %d", s.path, len(text))
				if isCut {
					var shown, all int
					_, err := fmt.Sscanf(notice, "%d of its %d bytes are shown.]", &shown, &all)
					require.NoError(t, err)
					require.Equal(t, len(text), shown)
					size += fmt.Sprintf(" of %d", all)
				}
				got = append(got, size)
			}
			require.Equal(t, c.sections, got)
			require.Equal(t, c.warned, w.lines)
			require.Equal(t, c.omitted, l.omitted)
			require.Len(t, b.reads, c.reads)
			text := render(l.sections, l.omitted...)
			if len(c.omitted) > 0 {
				require.Contains(t, text, fmt.Sprintf("%d more file(s) are not shown, as all of them together are too large: %s]",
					len(c.omitted), strings.Join(c.omitted, ", ")))
			} else {
				require.NotContains(t, text, "more file")
			}
		})
	}
}

// Rule batteries/B13.39.
func TestLoad_ImportsStayBelowTheRoot(t *testing.T) {
	b := newStore(t, map[string]string{"/p/a.md": "@../secret.md @/etc/passwd @sub/b.md", "/p/sub/b.md": "@../c.md",
		"/p/c.md": "c", "/secret.md": "s", "/etc/passwd": "s"})
	sections, warned, err := load(t, &Config{Backend: b, AgentsMDFiles: []string{"/p/a.md"}, ImportRoot: "/p"})
	require.NoError(t, err)
	require.Equal(t, []string{"/secret.md: @import leaves /p", "/etc/passwd: @import leaves /p"}, warned)
	require.Len(t, sections, 3)
}

// Rule batteries/AM-11.
func TestWarnings_StandardLogger(t *testing.T) {
	var out bytes.Buffer
	before := log.Writer()
	log.SetOutput(&out)
	t.Cleanup(func() { log.SetOutput(before) })
	m, err := New(t.Context(), &Config{Backend: newStore(t, nil), AgentsMDFiles: []string{"/none.md"}})
	require.NoError(t, err)
	state := &adk.ChatModelAgentState{}
	_, after, err := m.BeforeModelRewriteState(t.Context(), state, nil)
	require.NoError(t, err)
	require.Same(t, state, after)
	require.Contains(t, out.String(), "[agentsmd] warning: /none.md: file not found, skipping")
	require.ErrorIs(t, &missingError{fs.ErrNotExist}, fs.ErrNotExist)
}

// Rule batteries/AM-12.
func TestFormat_OneReminderWithAllFiles(t *testing.T) {
	require.Empty(t, render(nil))
	files := []section{{"/a.md", "be kind"}, {"/b.md", "be brief\n"}}
	got := render(files)
	require.Regexp(t,
		`(?s)^<system-reminder>\n.*Contents of /a\.md:\n\nbe kind\n\nContents of /b\.md:\n\nbe brief\n\n\n.*\n</system-reminder>$`, got)
	require.Equal(t, 2, strings.Count(got, "system-reminder>"))
	require.NoError(t, adk.SetLanguage(adk.LanguageChinese))
	t.Cleanup(func() { require.NoError(t, adk.SetLanguage(adk.LanguageEnglish)) })
	require.Contains(t, render(files), "/a.md 的内容：\n\nbe kind")
}

// Rule batteries/B13.26.
func TestCache_ReadsOnlyWhatChanged(t *testing.T) {
	b := listing{newStore(t, map[string]string{"/a.md": "@b.md", "/b.md": "old"})}
	var w warnings
	m, err := New(t.Context(), &Config{Backend: b, AgentsMDFiles: []string{"/a.md", "/late.md"}, OnLoadWarning: w.add})
	require.NoError(t, err)
	show := func() string {
		_, s, err := m.BeforeModelRewriteState(t.Context(), &adk.ChatModelAgentState{}, nil)
		require.NoError(t, err)
		return s.Messages[0].Content
	}
	require.Contains(t, show(), "old")
	require.Equal(t, []string{"/a.md", "/b.md", "/late.md"}, b.reads)
	show()
	require.Equal(t, []string{"/a.md", "/b.md", "/late.md", "/late.md"}, b.reads, "only what may be there now")
	require.Equal(t, []string{"/late.md: file not found, skipping"}, w.lines, "it was reported already")

	b.write(t, "/b.md", "brand new")
	b.write(t, "/late.md", "late")
	b.reads = nil
	require.Contains(t, show(), "brand new")
	require.Equal(t, []string{"/b.md", "/late.md"}, b.reads)
	require.Contains(t, show(), "late")
	require.NoError(t, b.memory.Delete(t.Context(), &filesystem.DeleteRequest{FilePath: "/late.md"}))
	require.NotContains(t, show(), "late.md")
	require.Len(t, w.lines, 2)
}

func TestCache_WithoutLsInfo(t *testing.T) {
	b := newStore(t, map[string]string{"/a.md": "old"})
	m, err := New(t.Context(), &Config{Backend: b, AgentsMDFiles: []string{"/a.md"}})
	require.NoError(t, err)
	for _, content := range []string{"old", "new"} {
		b.write(t, "/a.md", content)
		_, s, err := m.BeforeModelRewriteState(t.Context(), &adk.ChatModelAgentState{}, nil)
		require.NoError(t, err)
		require.Contains(t, s.Messages[0].Content, content)
	}
	require.Len(t, b.reads, 2)
}

func TestLocalFiles(t *testing.T) {
	dir := t.TempDir()
	files, err := local.NewBackend(t.Context(), &local.Config{Root: dir})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	require.NoError(t, files.Write(t.Context(),
		&filesystem.WriteRequest{FilePath: filepath.Join(dir, "AGENTS.md"), Content: "@docs/x.md @none.md"}))
	require.NoError(t, files.Write(t.Context(),
		&filesystem.WriteRequest{FilePath: filepath.Join(dir, "docs", "x.md"), Content: "be kind"}))
	sections, warned, err := load(t, &Config{Backend: files, AgentsMDFiles: []string{filepath.Join(dir, "AGENTS.md")}})
	require.NoError(t, err)
	require.Len(t, sections, 2)
	require.Len(t, warned, 1)
}

// forgetful removes the files from the history, as summarization does.
type forgetful struct {
	*adk.BaseChatModelAgentMiddleware
}

func (*forgetful) BeforeModelRewriteState(
	ctx context.Context, s *adk.ChatModelAgentState, _ *adk.ModelContext,
) (context.Context, *adk.ChatModelAgentState, error) {
	if len(s.Messages) > 2 {
		s.Messages = []adk.Message{schema.UserMessage("summary")}
	}
	return ctx, s, nil
}

// Rules batteries/AM-2, batteries/AM-3, batteries/G-2.
func TestAgent_OneTextForTheRun(t *testing.T) {
	b := newStore(t, map[string]string{"/a.md": "be kind"})
	m, err := New(t.Context(), &Config{Backend: b, AgentsMDFiles: []string{"/a.md"}})
	require.NoError(t, err)
	text := "user: " + render([]section{{"/a.md", "be kind"}})
	change := adktest.NewTool("change", adktest.Does(func(context.Context, string) (string, error) {
		b.write(t, "/a.md", "be unkind")
		return "changed", nil
	}))
	model := adktest.NewModel(t,
		adktest.Calls(adktest.Call("change", `{}`)).Seeing(text, "user: Hi"),
		adktest.Says("Done.").Seeing(text, "user: summary"),
		adktest.Says("Done.").Seeing("user: "+render([]section{{"/a.md", "be unkind"}}), "user: Hi"),
	)
	agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "assistant", Model: model,
		ToolsConfig: adktest.Tools(change), Handlers: []adk.ChatModelAgentMiddleware{&forgetful{}, m}})
	require.NoError(t, err)
	adktest.Ask(t.Context(), t, agent, "Hi").Expect("assistant: [change#call_1 {}]", "tool change#call_1: changed",
		"assistant: Done.")
	require.Equal(t, []string{"/a.md"}, b.reads)
	adktest.Ask(t.Context(), t, agent, "Hi").ExpectText("Done.")
}

func TestAgent_ConcurrentRuns(t *testing.T) {
	m, err := New(t.Context(), &Config{Backend: listing{newStore(t, map[string]string{"/a.md": "@b.md", "/b.md": "b"})},
		AgentsMDFiles: []string{"/a.md"}})
	require.NoError(t, err)
	agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "assistant",
		Model: adktest.NewModel(t, adktest.Says("Done.").Repeated()), Handlers: []adk.ChatModelAgentMiddleware{m}})
	require.NoError(t, err)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { adktest.Ask(t.Context(), t, agent, "Hi").ExpectText("Done.") })
	}
	wg.Wait()
}

func TestBeforeModelRewriteState_AllocationsOfATurnWithNothingToDo(t *testing.T) {
	m, err := New(t.Context(), &Config{Backend: newStore(t, map[string]string{"/a.md": "a"}),
		AgentsMDFiles: []string{"/a.md"}})
	require.NoError(t, err)
	ctx := context.Background()
	_, state, err := m.BeforeModelRewriteState(ctx,
		&adk.ChatModelAgentState{Messages: []adk.Message{schema.UserMessage("hi")}}, nil)
	require.NoError(t, err)
	require.Zero(t, testing.AllocsPerRun(100, func() { _, _, _ = m.BeforeModelRewriteState(ctx, state, nil) }))
}

func FuzzImports(f *testing.F) {
	f.Add("see @docs/style.md")
	f.Add("```\n@a.md")
	f.Fuzz(func(t *testing.T, text string) {
		for _, path := range imports(text) {
			require.Contains(t, text, "@"+path)
			require.False(t, strings.HasSuffix(path, "."))
		}
	})
}
