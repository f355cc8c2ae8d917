package deep

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eino-contrib/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/filesystem"
	"github.com/weftgo/weft/adk/prebuilt/internal/prebuilttest"
	"github.com/weftgo/weft/adk/prebuilt/planexecute"
	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// paths runs a test for both kinds of message, with and without streaming.
func paths(t *testing.T, ordinary, agentic func(t *testing.T, streaming bool)) {
	for _, streaming := range []bool{false, true} {
		t.Run(fmt.Sprintf("ordinary,streaming=%v", streaming), func(t *testing.T) { ordinary(t, streaming) })
		t.Run(fmt.Sprintf("agentic,streaming=%v", streaming), func(t *testing.T) { agentic(t, streaming) })
	}
}

func newDeep[M adk.MessageType](t *testing.T, cfg *TypedConfig[M]) adk.TypedResumableAgent[M] {
	t.Helper()
	if cfg.Name == "" {
		cfg.Name, cfg.Description = "deep", "does it all"
	}
	a, err := NewTyped(t.Context(), cfg)
	require.NoError(t, err)
	return a
}

func ask[M adk.MessageType](t *testing.T, a adk.TypedAgent[M], streaming bool,
	opts ...adk.AgentRunOption,
) *adktest.Events[M] {
	t.Helper()
	return prebuilttest.Ask(t, a, streaming, "Go.", opts...)
}

func gives(agent, description string) adktest.Answer {
	return adktest.Calls(adktest.Call("task", fmt.Sprintf(`{"subagent_type":%q,"description":%q}`, agent, description)))
}

func worker[M adk.MessageType](
	t *testing.T, name string, m model.BaseModel[M], tools ...tool.BaseTool,
) adk.TypedAgent[M] {
	t.Helper()
	a, err := adk.NewTypedChatModelAgent(t.Context(), &adk.TypedChatModelAgentConfig[M]{
		Name: name, Description: "does " + name, Model: m, ToolsConfig: adktest.Tools(tools...)})
	require.NoError(t, err)
	return a
}

type nothing struct{ filesystem.Backend }

// Rule batteries/B13.19.
func TestNew_InvalidConfig(t *testing.T) {
	m := func() model.BaseModel[*schema.Message] { return adktest.NewModel(t) }
	for _, c := range []struct {
		name   string
		config *Config
		err    string
	}{
		{"nil", nil, "deep: the config is nil"},
		{"no model", &Config{}, "Config.ChatModel is required"},
		{"nil agent", &Config{ChatModel: m(), SubAgents: []adk.Agent{nil}}, "Config.SubAgents[0] is nil"},
		{"no name", &Config{ChatModel: m(), SubAgents: []adk.Agent{worker(t, "", m())}},
			"failed to new task tool: sub-agent at index 0 has no name"},
		{"one name twice", &Config{ChatModel: m(), SubAgents: []adk.Agent{worker(t, "a", m()), worker(t, "a", m())}},
			`failed to new task tool: two sub-agents have the name "a"`},
		{"nil pointer", &Config{ChatModel: m(), SubAgents: []adk.Agent{(*adk.ChatModelAgent)(nil)}}, "nil pointer"},
		{"nil backend", &Config{ChatModel: m(), Backend: (*nothing)(nil)}, "backend should not be nil"},
		{"both shells", &Config{ChatModel: m(), Backend: filesystem.NewInMemoryBackend(), Shell: shell{},
			StreamingShell: shell{}},
			"shell and streaming shell should not be both set"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, err := New(t.Context(), c.config)
			require.ErrorContains(t, err, c.err)
			require.True(t, a == nil, "the interface itself is nil")
		})
	}
}

type shell struct{}

func (shell) Execute(context.Context, *filesystem.ExecuteRequest) (*filesystem.ExecuteResponse, error) {
	return &filesystem.ExecuteResponse{Output: "a file"}, nil
}

func (shell) ExecuteStreaming(
	context.Context, *filesystem.ExecuteRequest,
) (*schema.StreamReader[*filesystem.ExecuteResponse], error) {
	return nil, errors.New("not used")
}

// Rules batteries/DP-1, batteries/DP-4, batteries/DP-5.
func TestNew_ToolsInOrder(t *testing.T) {
	files := []string{"ls", "read_file", "write_file", "edit_file", "glob", "grep"}
	own := adktest.Tools(adktest.NewTool("own"))
	late := &addition[*schema.Message]{tool: adktest.NewTool("late")}
	backend := filesystem.NewInMemoryBackend()
	for _, c := range []struct {
		name   string
		config Config
		want   []string
	}{
		{"default", Config{}, []string{"write_todos", "task"}},
		{"all", Config{ToolsConfig: own, Backend: backend, Shell: shell{}, Handlers: []adk.ChatModelAgentMiddleware{late}},
			append(append([]string{"own", "write_todos"}, files...), "execute", "task", "late")},
		{"shell alone", Config{Shell: shell{}}, []string{"write_todos", "execute", "task"}},
		{"nobody to give tasks to", Config{WithoutGeneralSubAgent: true}, []string{"write_todos"}},
		{"a sub-agent only", Config{WithoutGeneralSubAgent: true,
			SubAgents: []adk.Agent{worker(t, "a", model.BaseModel[*schema.Message](adktest.NewModel(t)))}},
			[]string{"write_todos", "task"}},
		{"nothing", Config{WithoutGeneralSubAgent: true, WithoutWriteTodos: true}, []string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.config.ChatModel = adktest.NewModel(t, adktest.Says("ok").Offered(c.want...))
			a := newDeep(t, &c.config)
			require.IsType(t, (*adk.ChatModelAgent)(nil), a)
			ask(t, a, false).ExpectText("ok")
		})
	}
}

func testInput[M adk.MessageType](t *testing.T, streaming bool) {
	// Braces stay as they are, also where the session has values.
	values := adk.WithSessionValues(map[string]any{"x": 1})
	m := adktest.NewTypedModel[M](t, adktest.Says("ok").Seeing("system: Mind {x} and {y}.", "user: Go."))
	a := newDeep(t, &TypedConfig[M]{ChatModel: m, Instruction: "Mind {x} and {y}.", WithoutGeneralSubAgent: true,
		OutputKey: "out"})
	k := &kept[M]{TypedResumableAgent: a}
	ask[M](t, k, streaming, values).ExpectText("ok")
	require.Equal(t, "ok", k.values["out"])

	builtIn := adktest.NewTypedModel[M](t, adktest.Says("ok"))
	k = &kept[M]{TypedResumableAgent: newDeep(t, &TypedConfig[M]{ChatModel: builtIn})}
	ask[M](t, k, streaming).ExpectText("ok")
	require.Equal(t, "system: "+instruction+"\n\n"+taskInstruction, builtIn.Calls()[0].Lines[0])
	require.Empty(t, k.values)
}

// Rule batteries/DP-2.
func TestNew_InputOfTheModel(t *testing.T) {
	paths(t, testInput[*schema.Message], testInput[*schema.AgenticMessage])
}

// kept remembers the session at the end of a run.
type kept[M adk.MessageType] struct {
	adk.TypedResumableAgent[M]
	values map[string]any
}

func (k *kept[M]) Run(ctx context.Context, input *adk.TypedAgentInput[M],
	opts ...adk.AgentRunOption,
) *adk.AsyncIterator[*adk.TypedAgentEvent[M]] {
	events, out := adk.NewAsyncIteratorPair[*adk.TypedAgentEvent[M]]()
	inner := k.TypedResumableAgent.Run(ctx, input, opts...)
	go func() {
		defer out.Close()
		for e := range inner.All() {
			out.Send(e)
		}
		k.values = adk.GetSessionValues(ctx)
	}()
	return events
}

func testTodos[M adk.MessageType](t *testing.T, streaming bool) {
	list := `[{"content":"Run <all> tests","activeForm":"Running <all> tests","status":"pending"}]`
	m := adktest.NewTypedModel[M](t,
		adktest.Calls(adktest.Call("write_todos", `{"todos":`+list+`}`)),
		adktest.Says("ok").SeeingLast("tool write_todos#call_1: Updated todo list to "+list))
	k := &kept[M]{TypedResumableAgent: newDeep(t, &TypedConfig[M]{ChatModel: m})}
	ask[M](t, k, streaming).ExpectText("ok")
	require.Equal(t, []TODO{{"Run <all> tests", "Running <all> tests", "pending"}}, k.values[SessionKeyTodos])
}

// Rule batteries/DP-3.
func TestTodos_AreKeptInTheSession(t *testing.T) {
	paths(t, testTodos[*schema.Message], testTodos[*schema.AgenticMessage])

	todos := newTodosTool()
	info, err := todos.Info(t.Context())
	require.NoError(t, err)
	s, err := info.ToJSONSchema()
	require.NoError(t, err)
	require.Equal(t, []string{"todos"}, s.Required)
	items, _ := s.Properties.Get("todos")
	status, ok := items.Items.Properties.Get("status")
	require.True(t, ok)
	require.Equal(t, []any{"pending", "in_progress", "completed"}, status.Enum)

	result, err := todos.InvokableRun(t.Context(), `{}`)
	require.NoError(t, err, "it works outside a run")
	require.Equal(t, "Updated todo list to []", result)
	_, err = todos.InvokableRun(t.Context(), `{`)
	require.ErrorContains(t, err, "arguments of write_todos")
}

// Rule batteries/I-5.
func TestLanguage_EverythingInChinese(t *testing.T) {
	require.NoError(t, adk.SetLanguage(adk.LanguageChinese))
	t.Cleanup(func() { require.NoError(t, adk.SetLanguage(adk.LanguageEnglish)) })
	m := adktest.NewModel(t, adktest.Calls(adktest.Call("write_todos", `{"todos":[]}`)),
		adktest.Says("ok").SeeingLast("tool write_todos#call_1: 已更新待办列表为 []"))
	ask(t, newDeep(t, &Config{ChatModel: m}), false).ExpectText("ok")
	call := m.Calls()[0]
	require.Equal(t, "system: "+instructionChinese+"\n\n"+taskInstructionChinese, call.Lines[0])
	require.Equal(t, todosDescChinese, call.Options.Tools[0].Desc)
	require.Contains(t, call.Options.Tools[1].Desc, "- general-purpose: "+generalAgentDescChinese+"\n")
}

// Rule batteries/DP-11.
func TestPrompts_SayWhatTheyMust(t *testing.T) {
	for text, wants := range map[string][]string{
		instruction: {"helpful assistant", "command-line", "security", "Never guess or make up a URL", "Be short",
			"no emojis", "Create files only where", "objective", "never how long",
			"Read what you are going to change", "no extra features", "injection", "Finish what you began", "side by side",
			"not with commands in a shell", "path:line", "<system-reminder>"},
		taskInstruction: {"Delegate when", "Do not delegate when", "The life of a task", "side by side"},
		taskDesc:        {"{other_agents}", "Always give subagent_type", "Notes:", "Examples:"},
		todosDesc: {"Use it when", "Do not use it when", "Examples:", "pending", "in_progress", "completed",
			"exactly one entry is in_progress", "content:", "activeForm:", "only if it is done completely"},
		generalAgentDesc: {"research", "searching", "many steps", "all tools"},
		instructionChinese: {"命令行", "安全", "绝不猜测或编造 URL", "简", "表情符号", "只创建工作所必需的文件", "客观", "不要估计所需时间", "之前", "不添加额外功能", "注入",
			"善始善终",
			"并行执行", "而不是 shell 命令", "路径:行号", "<system-reminder>"},
		taskInstructionChinese: {"适合委派", "不适合委派", "任务的生命周期", "并行执行"},
		taskDescChinese:        {"{other_agents}", "必须给出 subagent_type", "示例"},
		todosDescChinese: {"何时使用", "何时不使用", "示例", "pending", "恰好有一项处于 in_progress", "content", "activeForm",
			"完全做完才能设为 completed"},
		generalAgentDescChinese: {"研究", "搜索", "多步骤", "工具"},
	} {
		for _, want := range wants {
			require.Contains(t, text, want)
		}
	}
}

// The names are in checkpoints.
// Rule batteries/DP-10.
func TestTODO_RegisteredNames(t *testing.T) {
	for name, value := range map[string]any{"_eino_adk_prebuilt_deep_todo": TODO{Content: "x"},
		"_eino_adk_prebuilt_deep_todo_slice": []TODO{{Content: "x"}}} {
		var saved bytes.Buffer
		require.NoError(t, gob.NewEncoder(&saved).Encode(&value))
		require.Contains(t, saved.String(), name)
		var restored any
		require.NoError(t, gob.NewDecoder(&saved).Decode(&restored))
		require.Equal(t, value, restored)
	}
}

func testTask[M adk.MessageType](t *testing.T, streaming bool) {
	outer := adktest.NewTypedModel[M](t, gives("search", "Find it. \"Quickly\" & <well>."),
		adktest.Says("done").SeeingLast("tool task#call_1: found"))
	inner := adktest.NewTypedModel[M](t, adktest.Streams("fo", "und").Seeing(`user: Find it. "Quickly" & <well>.`))
	k := &kept[M]{TypedResumableAgent: newDeep(t,
		&TypedConfig[M]{ChatModel: outer, SubAgents: []adk.TypedAgent[M]{worker[M](t, "search", inner, leaves{})}})}
	ask[M](t, k, streaming).ExpectText("done").ExpectToolCalls("task")
	require.Equal(t, streaming, inner.Calls()[0].Streaming, "the mode is passed on")
}

// leaves is a tool that leaves something in the session.
type leaves struct{}

func (leaves) Info(context.Context) (*schema.ToolInfo, error) {
	return &schema.ToolInfo{Name: "leave", Desc: "leaves a value"}, nil
}

func (leaves) InvokableRun(ctx context.Context, in string, _ ...tool.Option) (string, error) {
	adk.AddSessionValue(ctx, "left", in)
	return "left", nil
}

// An agent on one kind of message takes sub-agents of that kind only: the compiler checks it (rule batteries/DP-9).
var (
	_ = Config{SubAgents: []adk.Agent(nil)}
	_ = TypedConfig[*schema.AgenticMessage]{SubAgents: []adk.TypedAgent[*schema.AgenticMessage](nil)}
)

// Rules batteries/DP-5, batteries/DP-9.
func TestTask_RunsTheNamedAgent(t *testing.T) {
	paths(t, testTask[*schema.Message], testTask[*schema.AgenticMessage])

	t.Run("missing description", func(t *testing.T) {
		m := adktest.NewModel(t, adktest.Calls(adktest.Call("task", `{"subagent_type":"search"}`)),
			adktest.Says("done").SeeingLast("tool task#call_1: The call was not executed: description is required"))
		inner := adktest.NewModel(t)
		ask(t, newDeep(t, &Config{ChatModel: m,
			SubAgents: []adk.Agent{worker(t, "search", model.BaseModel[*schema.Message](inner))}}), false).ExpectText("done")
	})
	t.Run("session", func(t *testing.T) {
		m := adktest.NewModel(t, gives("search", "x"), adktest.Says("done"))
		inner := adktest.NewModel(t, adktest.Calls(adktest.Call("leave", "{}")), adktest.Says("ok"))
		k := &kept[*schema.Message]{TypedResumableAgent: newDeep(t, &Config{ChatModel: m,
			SubAgents: []adk.Agent{worker(t, "search", model.BaseModel[*schema.Message](inner), leaves{})}})}
		ask(t, adk.Agent(k), false).ExpectText("done")
		require.Equal(t, "{}", k.values["left"])
	})
	for arguments, texts := range map[string][2]string{
		`{"subagent_type":`: {"failed to unmarshal task tool input json: ",
			"the arguments are not valid JSON: unexpected EOF"},
		`{"subagent_type":"who?","description":"x"}`: {"subagent type who? not found",
			"subagent type who? not found, the types are general-purpose"},
	} {
		bad := func() adktest.Answer { return adktest.Calls(adktest.Call("task", arguments)) }
		report := "tool task#call_3: The call was not executed: " + texts[1]
		m := adktest.NewModel(t, bad(), bad(), bad(), bad().SeeingLast(report))
		err := ask(t, newDeep(t, &Config{ChatModel: m}), false).Err()
		require.ErrorContains(t, err, texts[0])
		require.ErrorAs(t, err, new(*adk.ModelMistake), "three in a row are reported")
	}
}

// Rule batteries/B13.20.
func TestTask_Parameters(t *testing.T) {
	task, err := newTaskTool(t.Context(), &Config{ChatModel: adktest.NewModel(t)}, nil)
	require.NoError(t, err)
	info, err := task.Info(t.Context())
	require.NoError(t, err)
	s, err := info.ToJSONSchema()
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"subagent_type", "description"}, s.Required)
	require.Equal(t, jsonschema.FalseSchema, s.AdditionalProperties)
	todos := newTodosTool()
	info, err = todos.Info(t.Context())
	require.NoError(t, err)
	doc, err := info.SchemaJSON()
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(string(doc), `"additionalProperties":false`))
	for want, built := range map[string]any{"taskTool": task, "WriteTodos": todos} {
		typ, _ := components.GetType(built)
		require.Equal(t, want, typ)
	}
}

func testGeneral[M adk.MessageType](t *testing.T, streaming bool) {
	own := adktest.NewTool("own", adktest.Says("used"))
	fails := errors.New("busy")
	m := adktest.NewTypedModel[M](t,
		gives("general-purpose", "Look.").Offered("own", "write_todos", "task", "late"),
		adktest.Fails(fails),
		adktest.Calls(adktest.Call("own", "{}")).Offered("own", "write_todos", "late").Seeing("system: Mind.", "user: Look."),
		adktest.Says("seen"),
		adktest.Says("done").SeeingLast("tool task#call_1: seen"))
	retried := 0
	a := newDeep(t, &TypedConfig[M]{ChatModel: m, Instruction: "Mind.", ToolsConfig: adktest.Tools(own), OutputKey: "out",
		Handlers: []adk.TypedChatModelAgentMiddleware[M]{&addition[M]{tool: adktest.NewTool("late")}},
		ModelRetryConfig: &adk.TypedModelRetryConfig[M]{MaxRetries: 1, IsRetryAble: func(context.Context, error) bool {
			retried++
			return true
		}, BackoffFunc: func(context.Context, int) time.Duration { return 0 }}})
	k := &kept[M]{TypedResumableAgent: a}
	ask[M](t, k, streaming).ExpectText("done")
	require.Len(t, own.Calls(), 1)
	require.Equal(t, 1, retried, "the agent retries, too")
	require.Equal(t, "done", k.values["out"])
}

// Rules batteries/B13.20, batteries/DP-6.
func TestTask_GeneralAgent(t *testing.T) {
	paths(t, testGeneral[*schema.Message], testGeneral[*schema.AgenticMessage])

	t.Run("overridden", func(t *testing.T) {
		m := adktest.NewModel(t, gives("general-purpose", "x"), adktest.Says("done").SeeingLast("tool task#call_1: mine"))
		mine := worker(t, "general-purpose", model.BaseModel[*schema.Message](adktest.NewModel(t, adktest.Says("mine"))))
		var offered []string
		agents := []adk.Agent{mine}
		a := newDeep(t, &Config{ChatModel: m, SubAgents: agents,
			TaskToolDescriptionGenerator: func(ctx context.Context, available []adk.Agent) (string, error) {
				offered = nil
				for _, a := range available {
					offered = append(offered, a.Name(ctx))
				}
				return "mine", nil
			}})
		ask(t, a, false).ExpectText("done")
		require.Equal(t, []string{"general-purpose"}, offered)
		require.Equal(t, "mine", m.Calls()[0].Options.Tools[1].Desc)
	})
}

// Rule batteries/B13.20.
func TestTask_LeavesTheSliceOfSubAgentsAlone(t *testing.T) {
	room := make([]adk.Agent, 1, 4)
	room[0] = worker(t, "a", model.BaseModel[*schema.Message](adktest.NewModel(t)))
	newDeep(t, &Config{ChatModel: adktest.NewModel(t), SubAgents: room})
	require.Nil(t, room[:2][1])
}

// Rule batteries/B13.4.
func TestAddition_LeavesWhatItGets(t *testing.T) {
	a := &addition[*schema.Message]{tool: adktest.NewTool("more"), instruction: "Mind."}
	ctx, none, err := a.BeforeAgent(t.Context(), nil)
	require.NoError(t, err)
	require.NotNil(t, ctx)
	require.Nil(t, none)
	given := &adk.ChatModelAgentContext{Instruction: "Be brief.",
		Tools: append(make([]tool.BaseTool, 0, 4), adktest.NewTool("own"))}
	_, got, err := a.BeforeAgent(t.Context(), given)
	require.NoError(t, err)
	require.Equal(t, "Be brief.\n\nMind.", got.Instruction)
	require.Len(t, got.Tools, 2)
	require.Equal(t, "Be brief.", given.Instruction)
	require.Len(t, given.Tools, 1)
	require.Nil(t, given.Tools[:2][1])
}

// Rule batteries/DP-7.
func TestTask_Description(t *testing.T) {
	m := adktest.NewModel(t, adktest.Says("ok"))
	a := worker(t, "a", model.BaseModel[*schema.Message](adktest.NewModel(t)))
	ask(t, newDeep(t, &Config{ChatModel: m, SubAgents: []adk.Agent{a}}), false).ExpectText("ok")
	desc := m.Calls()[0].Options.Tools[1].Desc
	require.Contains(t, desc, "\n- a: does a\n- general-purpose: "+generalAgentDesc+"\n")
	require.NotContains(t, desc, "{other_agents}")

	broken := errors.New("no idea")
	failing := newDeep(t, &Config{ChatModel: adktest.NewModel(t),
		TaskToolDescriptionGenerator: func(context.Context, []adk.Agent) (string, error) { return "", broken }})
	ask(t, failing, false).ExpectError(broken)
}

// binding is a scripted model that takes tools.
type binding struct {
	*adktest.Model[*schema.Message]
}

func (b binding) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return b, nil }

// Rule batteries/DP-8.
func TestTask_InternalEventsOfAPlan(t *testing.T) {
	planner, err := planexecute.NewPlanner(t.Context(), &planexecute.PlannerConfig{
		ToolCallingChatModel: binding{adktest.NewModel(t, adktest.Calls(adktest.Call("plan", `{"steps":["a"]}`)))}})
	require.NoError(t, err)
	executor, err := planexecute.NewExecutor(t.Context(),
		&planexecute.ExecutorConfig{Model: adktest.NewModel(t, adktest.Says("did a"))})
	require.NoError(t, err)
	replanner, err := planexecute.NewReplanner(t.Context(), &planexecute.ReplannerConfig{
		ChatModel: binding{adktest.NewModel(t, adktest.Calls(adktest.Call("respond", `{"response":"ok"}`)))}})
	require.NoError(t, err)
	plan, err := planexecute.New(t.Context(),
		&planexecute.Config{Planner: planner, Executor: executor, Replanner: replanner})
	require.NoError(t, err)
	m := adktest.NewModel(t, gives("plan_execute_replan", "Do it."), adktest.Says("done"))
	var names []string
	a := newDeep(t, &Config{ChatModel: m, SubAgents: []adk.Agent{plan},
		ToolsConfig: adk.ToolsConfig{EmitInternalEvents: true}})
	for _, e := range ask(t, a, false).ExpectText("done").All() {
		names = append(names, e.AgentName)
	}
	require.Equal(t, "deep planner executor replanner replanner deep deep", strings.Join(names, " "))
}

func testResume[M adk.MessageType](t *testing.T, streaming bool) {
	for _, who := range []string{"search", "general-purpose", "deep itself"} {
		asks := adktest.Calls(adktest.Call("ask", "{}"))
		said := adktest.Says("allowed").SeeingLast("tool ask#call_1: answered yes")
		cfg := &TypedConfig[M]{ToolsConfig: adktest.Tools(prebuilttest.Approval())}
		todos := adktest.Calls(adktest.Call("write_todos", `{"todos":[{"content":"a","activeForm":"b","status":"pending"}]}`))
		switch who {
		case "search":
			cfg.ChatModel = adktest.NewTypedModel[M](t, todos, gives(who, "Ask."),
				adktest.Says("done").SeeingLast("tool task#call_2: allowed"))
			cfg.SubAgents = []adk.TypedAgent[M]{worker[M](t, who, adktest.NewTypedModel[M](t, asks, said),
				prebuilttest.Approval())}
		case "general-purpose":
			cfg.ChatModel = adktest.NewTypedModel[M](t, todos, gives(who, "Ask."), asks,
				adktest.Says("allowed").SeeingLast("tool ask#call_3: answered yes"),
				adktest.Says("done").SeeingLast("tool task#call_2: allowed"))
		default:
			cfg.ChatModel = adktest.NewTypedModel[M](t, todos, asks,
				adktest.Says("done").SeeingLast("tool ask#call_2: answered yes"))
		}
		store := adktest.NewStore()
		runner := func() *adk.TypedRunner[M] {
			k := &kept[M]{TypedResumableAgent: newDeep(t, cfg)}
			return adk.NewTypedRunner(adk.TypedRunnerConfig[M]{Agent: k, EnableStreaming: streaming, CheckPointStore: store})
		}
		events := adktest.Collect(t, runner().Query(t.Context(), "Go.", adk.WithCheckPointID("1"))).All()
		last := events[len(events)-1]
		require.NotNil(t, last.Action, last.String())
		require.Len(t, last.Action.Interrupted.InterruptContexts, 1)
		point := last.Action.Interrupted.InterruptContexts[0]
		require.Equal(t, "may I?", point.Info)
		resumed, err := runner().ResumeWithParams(t.Context(), "1",
			&adk.ResumeParams{Targets: map[string]any{point.ID: "yes"}})
		require.NoError(t, err)
		adktest.Collect(t, resumed).ExpectText("done")
	}
}

// Rule batteries/DP-5.
func TestResume_InsideATask(t *testing.T) {
	paths(t, testResume[*schema.Message], testResume[*schema.AgenticMessage])
}

func testCancel[M adk.MessageType](t *testing.T, streaming bool) {
	option, cancel := adk.WithCancel()
	echo := adktest.NewTool("echo", adktest.Does(func(_ context.Context, in string) (string, error) {
		cancel(adk.WithAgentCancelMode(adk.CancelAfterToolCalls), adk.WithRecursive())
		return in, nil
	}))
	inner := adktest.NewTypedModel[M](t, adktest.Calls(adktest.Call("echo", `"x"`)), adktest.Says("found"))
	a := newDeep(t, &TypedConfig[M]{ChatModel: adktest.NewTypedModel[M](t, gives("search", "x"), adktest.Says("done")),
		SubAgents: []adk.TypedAgent[M]{worker[M](t, "search", inner, echo)}})
	r := adk.NewTypedRunner(adk.TypedRunnerConfig[M]{Agent: a, EnableStreaming: streaming,
		CheckPointStore: adktest.NewStore()})
	var stopped *adk.CancelError
	require.ErrorAs(t, adktest.Collect(t, r.Query(t.Context(), "Go.", adk.WithCheckPointID("1"), option)).Err(), &stopped)
	resumed, err := r.Resume(t.Context(), "1")
	require.NoError(t, err)
	adktest.Collect(t, resumed).ExpectText("done")
	require.Len(t, echo.Calls(), 1, "what was done is not done again")
}

// Rule batteries/DP-5.
func TestCancel_InsideATask(t *testing.T) {
	paths(t, testCancel[*schema.Message], testCancel[*schema.AgenticMessage])
}

// Rule batteries/DP-4.
func TestFiles_ToolsForTheAgentAndItsTasks(t *testing.T) {
	backend := filesystem.NewInMemoryBackend()
	m := adktest.NewModel(t,
		adktest.Calls(adktest.Call("write_file", `{"file_path":"/a","content":"x"}`)),
		gives("general-purpose", "Read."),
		adktest.Calls(adktest.Call("read_file", `{"file_path":"/a"}`)),
		adktest.Says("It has an x."),
		adktest.Says("done"))
	ask(t, newDeep(t, &Config{ChatModel: m, Backend: backend}), false).ExpectText("done")
	require.Contains(t, m.Calls()[3].Lines[len(m.Calls()[3].Lines)-1], "x")
}

// tireless gives one task and then answers, whichever agent asks.
type tireless struct{}

func (m tireless) Generate(_ context.Context, in []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	asked, last := in[1].Content, in[len(in)-1]
	switch {
	case last.Role == schema.Tool:
		return schema.AssistantMessage("done: "+last.Content, nil), nil
	case strings.HasPrefix(asked, "part "):
		return schema.AssistantMessage("did "+asked, nil), nil
	}
	return schema.AssistantMessage("", []schema.ToolCall{{ID: "1", Function: schema.FunctionCall{Name: "task",
		Arguments: fmt.Sprintf(`{"subagent_type":"general-purpose","description":"part %s"}`, asked)}}}), nil
}

func (m tireless) Stream(ctx context.Context, in []*schema.Message,
	opts ...model.Option,
) (*schema.StreamReader[*schema.Message], error) {
	answer, err := m.Generate(ctx, in, opts...)
	return schema.StreamReaderFromArray([]*schema.Message{answer}), err
}

func TestRun_Concurrently(t *testing.T) {
	a := newDeep(t, &Config{ChatModel: tireless{}})
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			r := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: a, EnableStreaming: i%2 == 0})
			events := adktest.Collect(t, r.Query(t.Context(), fmt.Sprint(i)))
			if got, want := events.Text(), fmt.Sprintf("done: did part %d", i); got != want || events.Err() != nil {
				t.Errorf("run %d ended with %q, %v", i, got, events.Err())
			}
		})
	}
	all.Wait()
}
