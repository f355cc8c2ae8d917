package plantask

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/filesystem"
	"github.com/weftgo/weft/adk/filesystem/local"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// board is a list with its tools.
type board struct {
	t       *testing.T
	backend *filesystem.InMemoryBackend
	tools   map[string]tool.InvokableTool
}

func newBoard(t *testing.T, files map[string]string) *board {
	b := &board{t: t, backend: filesystem.NewInMemoryBackend()}
	for name, content := range files {
		require.NoError(t, b.backend.Write(t.Context(), &WriteRequest{FilePath: "/tasks/" + name, Content: content}))
	}
	b.tools = toolsOn(t, b.backend, "/tasks")
	return b
}

func toolsOn(t *testing.T, backend Backend, dir string) map[string]tool.InvokableTool {
	t.Helper()
	m, err := New(t.Context(), &Config{Backend: backend, BaseDir: dir})
	require.NoError(t, err)
	_, runCtx, err := m.BeforeAgent(t.Context(), &adk.ChatModelAgentContext{})
	require.NoError(t, err)
	tools := map[string]tool.InvokableTool{}
	for _, b := range runCtx.Tools {
		info, err := b.Info(t.Context())
		require.NoError(t, err)
		tools[info.Name] = b.(tool.InvokableTool)
	}
	return tools
}

// does runs a tool and expects a result.
func (b *board) does(name, arguments, want string) {
	b.t.Helper()
	got, err := b.tools[name].InvokableRun(b.t.Context(), arguments)
	require.NoError(b.t, err)
	require.Equal(b.t, fmt.Sprintf(`{"result":"%s"}`, want), got)
}

// fails runs a tool and expects an error.
func (b *board) fails(name, arguments string, wants ...string) {
	b.t.Helper()
	got, err := b.tools[name].InvokableRun(b.t.Context(), arguments)
	require.Empty(b.t, got)
	for _, want := range wants {
		require.ErrorContains(b.t, err, want)
	}
	require.True(b.t, strings.HasPrefix(err.Error(), name+" "), "%v", err)
}

// create adds n tasks, a, b, c, …
func (b *board) create(n int) *board {
	b.t.Helper()
	for i := range n {
		s := string(rune('a' + i))
		b.does("TaskCreate", fmt.Sprintf(`{"subject":%q,"description":"about %s"}`, s, s),
			fmt.Sprintf("Task #%d created successfully: %s", i+1, s))
	}
	return b
}

func (b *board) file(name string) string {
	b.t.Helper()
	content, err := b.backend.Read(b.t.Context(), &ReadRequest{FilePath: "/tasks/" + name})
	require.NoError(b.t, err)
	return content.Content
}

func (b *board) files() (names []string) {
	b.t.Helper()
	infos, err := b.backend.LsInfo(b.t.Context(), &LsInfoRequest{Path: "/tasks"})
	require.NoError(b.t, err)
	for _, i := range infos {
		names = append(names, i.Path)
	}
	return names
}

// Rules batteries/PK-1, batteries/PK-2.
func TestNew_InvalidConfigAndFourTools(t *testing.T) {
	var nilBackend *filesystem.InMemoryBackend
	for want, c := range map[string]*Config{
		"config is required": nil, "backend is required": {BaseDir: "/tasks", Backend: nilBackend},
		"baseDir is required": {Backend: filesystem.NewInMemoryBackend()},
	} {
		m, err := New(t.Context(), c)
		require.EqualError(t, err, want)
		require.True(t, m == nil, "the interface itself is nil")
	}
	m, err := New(t.Context(), &Config{Backend: filesystem.NewInMemoryBackend(), BaseDir: "/tasks"})
	require.NoError(t, err)
	_, none, err := m.BeforeAgent(t.Context(), nil)
	require.NoError(t, err)
	require.Nil(t, none)
	before := &adk.ChatModelAgentContext{Tools: make([]tool.BaseTool, 0, 9)}
	_, after, err := m.BeforeAgent(t.Context(), before)
	require.NoError(t, err)
	require.Empty(t, before.Tools)
	require.Nil(t, before.Tools[:1][0])
	var names []string
	for _, b := range after.Tools {
		info, err := b.Info(t.Context())
		require.NoError(t, err)
		names = append(names, info.Name)
		_, err = info.ToJSONSchema()
		require.NoError(t, err)
	}
	require.Equal(t, []string{"TaskCreate", "TaskGet", "TaskUpdate", "TaskList"}, names)
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { _, _, _ = m.BeforeAgent(context.Background(), before) }),
		4.0)
}

// Rule batteries/I-5.
func TestInfo_Language(t *testing.T) {
	b := newBoard(t, nil)
	for name, want := range map[string][2]string{
		"TaskCreate": {createDesc, createDescChinese}, "TaskGet": {getDesc, getDescChinese},
		"TaskUpdate": {updateDesc, updateDescChinese}, "TaskList": {listDesc, listDescChinese},
	} {
		for i, language := range []adk.Language{adk.LanguageEnglish, adk.LanguageChinese} {
			require.NoError(t, adk.SetLanguage(language))
			t.Cleanup(func() { require.NoError(t, adk.SetLanguage(adk.LanguageEnglish)) })
			info, err := b.tools[name].Info(t.Context())
			require.NoError(t, err)
			require.Equal(t, want[i], info.Desc)
		}
	}
}

// Rule batteries/PK-15.
func TestInfo_Descriptions(t *testing.T) {
	for desc, wants := range map[string][]string{
		createDesc: {"three steps or more", "several things", "plan mode", "When not to use it", "subject:",
			"description:", "activeForm: always", "metadata:", "Call TaskList before"},
		getDesc:  {"everything", "Blocked by", "before you start"},
		listDesc: {"Lists all tasks", "how far the work is", "order of their IDs"},
		updateDesc: {"pending → in_progress → completed", "deleted removes", "only when all of it is done",
			"read it with TaskGet before", `{"taskId": "1", "status": "completed"}`, `"addBlockedBy": ["1"]`},
		createDescChinese: {"三个或更多", "多项", "计划模式", "何时不使用", "subject：", "description：", "activeForm：务必", "metadata：",
			"先调用 TaskList"},
		getDescChinese:  {"全部信息", "Blocked by", "开始之前"},
		listDescChinese: {"整体进度", "ID 从小到大"},
		updateDescChinese: {"pending → in_progress → completed", "deleted 会", "全部完成后才能", "先用 TaskGet",
			`{"taskId": "1", "status": "completed"}`, `"addBlockedBy": ["1"]`},
	} {
		for _, want := range wants {
			require.Contains(t, desc, want)
		}
	}
}

// Rules batteries/PK-3, batteries/PK-4, batteries/PK-6.
func TestCreate_StoresTheTaskUnderTheNextID(t *testing.T) {
	b := newBoard(t, nil)
	b.does("TaskCreate", `{"subject":"<b> & co","description":"d"}`, "Task #1 created successfully: <b> & co")
	require.JSONEq(t, `{"id":"1","subject":"<b> & co","description":"d","status":"pending","blocks":[],"blockedBy":[]}`,
		b.file("1.json"))
	b.does("TaskCreate", `{"subject":"s","description":"d","activeForm":"doing s","metadata":{"k":1}}`,
		"Task #2 created successfully: s")
	require.JSONEq(t,
		`{"id":"2","subject":"s","description":"d","status":"pending","blocks":[],"blockedBy":[],"activeForm":"doing s","metadata":{"k":1}}`, b.file("2.json"))
	require.Equal(t, "2", b.file(".highwatermark"))
	b.fails("TaskCreate", `{"description":"d"}`, "validate subject failed")
	b.fails("TaskCreate", `{`, "unmarshal arguments failed, err: ")

	newBoard(t, map[string]string{".highwatermark": "41\n"}).does("TaskCreate", `{"subject":"s"}`,
		"Task #42 created successfully: s")
	newBoard(t, map[string]string{".highwatermark": "odd"}).does("TaskCreate", `{"subject":"s"}`,
		"Task #1 created successfully: s")
	newBoard(t, map[string]string{"1.json": "{}"}).fails("TaskCreate", `{"subject":"s"}`, "task #1 already exists")
}

// Rules batteries/PK-5, batteries/PK-7.
func TestGet_ShowsTheTaskAndRefusesOddIDs(t *testing.T) {
	b := newBoard(t, nil).create(1)
	b.does("TaskGet", `{"taskId":"1"}`, `Task #1: a\nStatus: pending\nDescription: about a\n`)
	b = newBoard(t,
		map[string]string{"7.json": `{"id":"9","subject":"s","description":"d","status":"in_progress","blocks":["3"],"blockedBy":["1","2"],"owner":"me"}`})
	b.does("TaskGet", `{"taskId":"7"}`,
		`Task #7: s\nStatus: in_progress\nDescription: d\nBlocked by: #1, #2\nBlocks: #3\nOwner: me\n`)
	b.fails("TaskGet", `{"taskId":"8"}`, "read task file /tasks/8.json failed, err: file not found")
	for _, id := range []string{"", "../x", "abc", "1.5", "-1", " 1", "１"} {
		b.fails("TaskGet", fmt.Sprintf(`{"taskId":%q}`, id), "validate task ID failed")
		b.fails("TaskUpdate", fmt.Sprintf(`{"taskId":%q}`, id), "validate task ID failed")
	}
}

// Rule batteries/PK-8.
func TestList_SortsTasksByID(t *testing.T) {
	b := newBoard(t, nil)
	for _, none := range []string{`{}`, ``, " \n", `null`} {
		b.does("TaskList", none, "No tasks found.")
	}
	b.fails("TaskGet", ``, "validate task ID failed")
	b = newBoard(t, map[string]string{
		"10.json": `{"subject":"ten","status":"pending","blockedBy":["2","9"]}`,
		"2.json":  `{"subject":"two","status":"in_progress","owner":"me"}`,
		"9.json":  `{"subject":"nine","status":"completed"}`,
		"x.json":  "no task", "3.json.bak": "no task", "notes.md": "no task", "4/5.json": "no task", ".highwatermark": "10",
	})
	b.does("TaskList", `{}`,
		`#2 [in_progress] two [owner: me]\n#9 [completed] nine\n#10 [pending] ten [blocked by #2, #9]\n`)
	b = newBoard(t, map[string]string{"1.json": "{"})
	b.fails("TaskList", `{}`, "parse task file /tasks/1.json failed, err: ")
}

// Rules batteries/PK-9, batteries/PK-12.
func TestUpdate_Fields(t *testing.T) {
	b := newBoard(t, nil).create(3)
	b.does("TaskUpdate",
		`{"taskId":"1","owner":"me","metadata":{"a":1,"b":"x"},"addBlockedBy":["3"],"addBlocks":["2"],"status":"in_progress","activeForm":"f","description":"d","subject":"s"}`,
		"Updated task #1 subject, description, activeForm, status, blocks, blockedBy, owner, metadata")
	require.JSONEq(t,
		`{"id":"1","subject":"s","description":"d","status":"in_progress","blocks":["2"],"blockedBy":["3"],"activeForm":"f","owner":"me","metadata":{"a":1,"b":"x"}}`, b.file("1.json"))
	b.does("TaskUpdate", `{"taskId":"1","subject":"","status":"pending"}`, "Updated task #1 status")
	before := b.file("1.json")
	b.does("TaskUpdate", `{"taskId":"1"}`, "Task #1 was not changed: no field was given")
	require.Equal(t, before, b.file("1.json"))
	b.fails("TaskUpdate", `{"taskId":"1","status":"done"}`, "validate status failed")
	b.fails("TaskUpdate", `{"taskId":"9","status":"completed"}`, "read task file /tasks/9.json failed")
	b.does("TaskUpdate", `{"taskId":"1","metadata":{"b":null,"c":[1]}}`, "Updated task #1 metadata")
	require.Contains(t, b.file("1.json"), `"metadata":{"a":1,"c":[1]}`)
}

// Rule batteries/PK-10.
func TestUpdate_Deleted(t *testing.T) {
	b := newBoard(t, nil).create(3)
	b.does("TaskUpdate", `{"taskId":"2","addBlocks":["3"],"addBlockedBy":["1"]}`, "Updated task #2 blocks, blockedBy")
	b.does("TaskUpdate", `{"taskId":"2","status":"deleted","subject":"ignored","addBlocks":["x"]}`,
		"Updated task #2 deleted")
	require.Equal(t, []string{".highwatermark", "1.json", "3.json"}, b.files())
	require.Contains(t, b.file("1.json"), `"blocks":[]`)
	require.Contains(t, b.file("3.json"), `"blockedBy":[]`)
	b.fails("TaskUpdate", `{"taskId":"2","status":"deleted"}`, "delete Task #2 failed")
	b.does("TaskCreate", `{"subject":"d"}`, "Task #4 created successfully: d")
}

// Rule batteries/PK-11.
func TestUpdate_Dependencies(t *testing.T) {
	b := newBoard(t, nil).create(4)
	b.does("TaskUpdate", `{"taskId":"1","addBlocks":["2","2"]}`, "Updated task #1 blocks")
	b.does("TaskUpdate", `{"taskId":"1","addBlocks":["2","3"]}`, "Updated task #1 blocks")
	b.does("TaskUpdate", `{"taskId":"4","addBlockedBy":["3"]}`, "Updated task #4 blockedBy")
	require.Contains(t, b.file("1.json"), `"blocks":["2","3"]`)
	require.Contains(t, b.file("2.json"), `"blockedBy":["1"]`)
	require.Contains(t, b.file("3.json"), `"blocks":["4"],"blockedBy":["1"]`)

	before := b.all()
	for arguments, want := range map[string]string{
		`{"taskId":"1","addBlocks":["1"]}`:                                          "cyclic dependency",
		`{"taskId":"1","addBlockedBy":["1"]}`:                                       "cyclic dependency",
		`{"taskId":"4","addBlocks":["1"]}`:                                          "cyclic dependency",
		`{"taskId":"1","addBlockedBy":["4"]}`:                                       "cyclic dependency",
		`{"taskId":"2","addBlocks":["4"],"addBlockedBy":["4"]}`:                     "cyclic dependency",
		`{"taskId":"1","addBlocks":["x"]}`:                                          "validate blocked task ID failed",
		`{"taskId":"1","addBlockedBy":["../1"]}`:                                    "validate blocking task ID failed",
		`{"taskId":"1","addBlocks":["4","9"]}`:                                      "update Task #1 blocks failed",
		`{"taskId":"2","subject":"changed","addBlocks":["4"],"addBlockedBy":["9"]}`: "update Task #2 blockedBy failed",
	} {
		b.fails("TaskUpdate", arguments, want)
		require.Equal(t, before, b.all(), "%s: nothing is written", arguments)
	}
}

// all is the content of all files.
func (b *board) all() (all string) {
	for _, name := range b.files() {
		all += name + b.file(name)
	}
	return all
}

// Rule batteries/PK-11.
func TestUpdate_EdgeWrittenAtOneEndOnly(t *testing.T) {
	b := newBoard(t, map[string]string{"1.json": `{"blocks":["2"]}`, "2.json": `{}`, "3.json": `{"blockedBy":["2"]}`})
	b.fails("TaskUpdate", `{"taskId":"3","addBlocks":["1"]}`, "cyclic dependency")
}

// Rule batteries/PK-13.
func TestUpdate_AllCompleted(t *testing.T) {
	b := newBoard(t, nil).create(2)
	b.does("TaskUpdate", `{"taskId":"1","status":"completed"}`, "Updated task #1 status")
	require.Len(t, b.files(), 3)
	b.does("TaskUpdate", `{"taskId":"2","status":"completed"}`, "Updated task #2 status")
	require.Equal(t, []string{".highwatermark"}, b.files())
	b.does("TaskCreate", `{"subject":"c"}`, "Task #3 created successfully: c")
}

// failing fails in one method.
type failing struct {
	*filesystem.InMemoryBackend
	method string
}

var errDisk = errors.New("disk on fire")

func (f *failing) fail(method string) error {
	if f.method == method {
		return errDisk
	}
	return nil
}

func (f *failing) LsInfo(ctx context.Context, r *LsInfoRequest) ([]FileInfo, error) {
	if err := f.fail("LsInfo"); err != nil {
		return nil, err
	}
	return f.InMemoryBackend.LsInfo(ctx, r)
}

func (f *failing) Read(ctx context.Context, r *ReadRequest) (*filesystem.FileContent, error) {
	if f.method == "nothing" {
		return nil, nil
	}
	if err := f.fail("Read"); err != nil {
		return nil, err
	}
	return f.InMemoryBackend.Read(ctx, r)
}

func (f *failing) Write(ctx context.Context, r *WriteRequest) error {
	return errors.Join(f.fail("Write"), f.InMemoryBackend.Write(ctx, r))
}

func (f *failing) Delete(ctx context.Context, r *DeleteRequest) error {
	return errors.Join(f.fail("Delete"), f.InMemoryBackend.Delete(ctx, r))
}

// Rule batteries/PK-14.
func TestTools_BackendErrors(t *testing.T) {
	for _, c := range []struct{ method, tool, arguments string }{
		{"LsInfo", "TaskCreate", `{"subject":"s"}`}, {"Read", "TaskCreate", `{"subject":"s"}`},
		{"Write", "TaskCreate", `{"subject":"s"}`},
		{"Read", "TaskGet", `{"taskId":"1"}`}, {"LsInfo", "TaskList", `{}`}, {"Read", "TaskList", `{}`},
		{"Read", "TaskUpdate", `{"taskId":"1","subject":"s"}`}, {"Write", "TaskUpdate", `{"taskId":"1","subject":"s"}`},
		{"Write", "TaskUpdate", `{"taskId":"1","addBlocks":["2"]}`},
		{"Delete", "TaskUpdate", `{"taskId":"1","status":"deleted"}`},
		{"LsInfo", "TaskUpdate", `{"taskId":"1","addBlocks":["2"]}`},
		{"LsInfo", "TaskUpdate", `{"taskId":"1","status":"deleted"}`},
	} {
		t.Run(c.method+" "+c.tool, func(t *testing.T) {
			b := newBoard(t, nil).create(2)
			b.tools = toolsOn(t, &failing{b.backend, c.method}, "/tasks")
			_, err := b.tools[c.tool].InvokableRun(t.Context(), c.arguments)
			require.ErrorIs(t, err, errDisk)
			require.Regexp(t, "^"+c.tool+" .* failed, err: ", err.Error())
		})
	}
	b := newBoard(t, nil).create(1)
	b.tools = toolsOn(t, &failing{b.backend, "nothing"}, "/tasks")
	b.fails("TaskGet", `{"taskId":"1"}`, "neither content nor an error")
}

// The names that LsInfo returns may be whole paths.
type absolute struct{ *filesystem.InMemoryBackend }

func (b absolute) LsInfo(ctx context.Context, r *LsInfoRequest) ([]FileInfo, error) {
	infos, err := b.InMemoryBackend.LsInfo(ctx, r)
	for i := range infos {
		infos[i].Path = "/tasks/" + infos[i].Path
	}
	return infos, err
}

// Rule batteries/B13.13.
func TestBackend_PathsOfAnyForm(t *testing.T) {
	b := newBoard(t, nil)
	b.tools = toolsOn(t, absolute{b.backend}, "/tasks")
	b.create(2)
	b.does("TaskList", `{}`, `#1 [pending] a\n#2 [pending] b\n`)
}

// Rule batteries/B13.13.
func TestBackend_Local(t *testing.T) {
	dir := t.TempDir()
	files, err := local.NewBackend(t.Context(), &local.Config{Root: dir})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	b := &board{t: t, tools: toolsOn(t, files, dir+"/tasks")}
	b.does("TaskList", `{}`, "No tasks found.")
	b.create(2)
	b.does("TaskUpdate", `{"taskId":"1","status":"deleted"}`, "Updated task #1 deleted")
	b.does("TaskUpdate", `{"taskId":"2","status":"completed"}`, "Updated task #2 status")
	b.does("TaskList", `{}`, "No tasks found.")
}

// Rule batteries/B13.14.
func TestTools_ConcurrentCallsOfSeveralRuns(t *testing.T) {
	b := newBoard(t, nil)
	m, err := New(t.Context(), &Config{Backend: b.backend, BaseDir: "/tasks"})
	require.NoError(t, err)
	var wg sync.WaitGroup
	for range 8 {
		_, runCtx, err := m.BeforeAgent(t.Context(), &adk.ChatModelAgentContext{})
		require.NoError(t, err)
		wg.Go(func() {
			for range 5 {
				if _, err := runCtx.Tools[0].(tool.InvokableTool).InvokableRun(t.Context(), `{"subject":"s"}`); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	require.Len(t, b.files(), 41)
	require.Equal(t, "40", b.file(".highwatermark"))
}

// blocking blocks in LsInfo until it is let go.
type blocking struct {
	*filesystem.InMemoryBackend
	release chan struct{}
}

func (b blocking) LsInfo(ctx context.Context, r *LsInfoRequest) ([]FileInfo, error) {
	<-b.release
	return b.InMemoryBackend.LsInfo(ctx, r)
}

func TestTools_WaitingEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := blocking{filesystem.NewInMemoryBackend(), make(chan struct{})}
		tools := toolsOn(t, b, "/tasks")
		done := make(chan error)
		go func() {
			_, err := tools["TaskList"].InvokableRun(context.Background(), `{}`)
			done <- err
		}()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			_, err := tools["TaskList"].InvokableRun(ctx, `{}`)
			done <- err
		}()
		synctest.Wait()
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
		close(b.release)
		require.NoError(t, <-done)
		_, err := tools["TaskList"].InvokableRun(ctx, `{}`)
		require.ErrorIs(t, err, context.Canceled)
	})
}

func TestAgent_BothKindsOfMessage(t *testing.T) {
	t.Run("message", testAgent[*schema.Message])
	t.Run("agentic", testAgent[*schema.AgenticMessage])
}

func testAgent[M adk.MessageType](t *testing.T) {
	m, err := NewTyped[M](t.Context(), &Config{Backend: filesystem.NewInMemoryBackend(), BaseDir: "/tasks"})
	require.NoError(t, err)
	agent, err := adk.NewTypedChatModelAgent(t.Context(), &adk.TypedChatModelAgentConfig[M]{
		Name: "planner",
		Model: adktest.NewTypedModel[M](t,
			adktest.Calls(adktest.Call("TaskCreate", `{"subject":"cook","description":"soup"}`)).
				Offered("TaskCreate", "TaskGet", "TaskUpdate", "TaskList"),
			adktest.Calls(adktest.Call("TaskList", `{}`)).
				SeeingLast(`tool TaskCreate#call_1: {"result":"Task #1 created successfully: cook"}`),
			adktest.Says("Done.").SeeingLast(`tool TaskList#call_2: {"result":"#1 [pending] cook\n"}`),
		),
		Handlers: []adk.TypedChatModelAgentMiddleware[M]{m},
	})
	require.NoError(t, err)
	adktest.Ask(t.Context(), t, agent, "Plan dinner.").ExpectText("Done.")
}

// Rule batteries/B13.14.
func TestCompareIDs_OrdersByNumber(t *testing.T) {
	ids := []string{"10", "2", "100000000000000000000", "1", "99999999999999999999"}
	slices.SortFunc(ids, compareIDs)
	require.Equal(t, []string{"1", "2", "10", "99999999999999999999", "100000000000000000000"}, ids)
}
