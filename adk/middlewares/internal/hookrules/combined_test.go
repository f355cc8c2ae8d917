package hookrules_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/filesystem"
	"github.com/weftgo/weft/adk/middlewares/agentsmd"
	"github.com/weftgo/weft/adk/middlewares/approval"
	"github.com/weftgo/weft/adk/middlewares/budget"
	"github.com/weftgo/weft/adk/middlewares/dynamictool/toolsearch"
	mwfilesystem "github.com/weftgo/weft/adk/middlewares/filesystem"
	"github.com/weftgo/weft/adk/middlewares/internal/messagetest"
	"github.com/weftgo/weft/adk/middlewares/patchtoolcalls"
	"github.com/weftgo/weft/adk/middlewares/plantask"
	"github.com/weftgo/weft/adk/middlewares/reduction"
	"github.com/weftgo/weft/adk/middlewares/skill"
	"github.com/weftgo/weft/adk/middlewares/structured"
	"github.com/weftgo/weft/adk/middlewares/summarization"
	"github.com/weftgo/weft/adk/middlewares/toolerrors"
	"github.com/weftgo/weft/adk/middlewares/tooltimeout"
	"github.com/weftgo/weft/adk/middlewares/validhistory"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/internal/testsize"
	"github.com/weftgo/weft/schema"
)

// The steps of a run with all middlewares. Each has its number in its arguments, so that the model knows from any
// history, also from a summary, how far the run has come.
var stepCalls = [][][2]string{
	{{"write_file", `{"file_path":"/out/step-1","content":"one\r\ntwo"}`}},
	{{"tool_search", `{"query":"select:hidden","why":"step-2"}`}},
	{{"hidden", `"step-3"`}, {"read_file", `{"file_path":"/no/step-3"}`}, {"read_file", `{"file_path":"/big"}`}},
	{{"skill", `{"skill":"slides","why":"step-4"}`}},
	{{"skill", `{"skill":"paint","why":"step-5"}`}},
	{{"rm", `"step-6"`}, {"TaskList", `{"why":"step-6"}`}},
	{{"grep", `{"pattern":"o","path":"/out","output_mode":"content","glob":"step-7*"}`}},
	{{"hidden", `"step-8"`}},
	{{"final_answer", `{"result":9}`}},
}

var stepNumber = regexp.MustCompile(`step-(\d)`)

func stepsDone[M adk.MessageType](history []M) (done int) {
	for _, line := range adktest.Lines(history) {
		for _, m := range stepNumber.FindAllStringSubmatch(line, -1) {
			n, _ := strconv.Atoi(m[1])
			done = max(done, n)
		}
	}
	return done
}

// answering is a model that a function is.
type answering[M adk.MessageType] func(history []M) M

func (a answering[M]) Generate(ctx context.Context, in []M, _ ...model.Option) (M, error) {
	return a(in), ctx.Err()
}

func (a answering[M]) Stream(ctx context.Context, in []M, _ ...model.Option) (*schema.StreamReader[M], error) {
	return schema.StreamReaderFromArray([]M{a(in)}), ctx.Err()
}

func stepping[M adk.MessageType](history []M) M {
	done := stepsDone(history)
	calls := []schema.ToolCall{}
	for i, c := range stepCalls[min(done, len(stepCalls)-1)] {
		calls = append(calls, schema.ToolCall{ID: fmt.Sprintf("call-%d-%d", done+1, i), Type: "function",
			Function: schema.FunctionCall{Name: c[0], Arguments: c[1]}})
	}
	return messagetest.Assistant[M]("", calls...)
}

func summarizing[M adk.MessageType](history []M) M {
	return messagetest.Assistant[M](fmt.Sprintf("<summary>It came to step-%d.</summary>", stepsDone(history)))
}

// world has what outlives the lives of a run.
type world struct{ files *filesystem.InMemoryBackend }

func newWorld(t *testing.T) *world {
	w := &world{filesystem.NewInMemoryBackend()}
	for path, content := range map[string]string{
		"/AGENTS.md":              "Be kind.",
		"/big":                    strings.Repeat("a line\n", 200),
		"/skills/slides/SKILL.md": "---\nname: slides\ndescription: makes slides\n---\nUse few words.",
		"/skills/paint/SKILL.md":  "---\nname: paint\ndescription: paints\ncontext: fork\n---\nPaint.",
	} {
		require.NoError(t, w.files.Write(t.Context(), &filesystem.WriteRequest{FilePath: path, Content: content}))
	}
	return w
}

type hub[M adk.MessageType] struct{ agent adk.TypedAgent[M] }

func (h hub[M]) Get(context.Context, string, *skill.TypedAgentHubOptions[M]) (adk.TypedAgent[M], error) {
	return h.agent, nil
}

// everything is an agent with all middlewares, whose models and tools can be watched.
func everything[M adk.MessageType](t *testing.T, w *world, watchModel func(model.BaseModel[M]) model.BaseModel[M],
	watchTool func(tool.InvokableTool) tool.InvokableTool) adk.TypedAgent[M] {
	ctx := t.Context()
	own := func(name string) tool.BaseTool {
		return watchTool(adktest.NewTool(name, adktest.Does(func(_ context.Context, in string) (string, error) {
			return name + " did " + in, nil
		})))
	}
	painter, err := adk.NewTypedChatModelAgent(ctx,
		&adk.TypedChatModelAgentConfig[M]{Name: "painter", Description: "paints",
			Model: watchModel(adktest.NewRecallingModel[M](t, adktest.Calls(adktest.Call("brush", `"red"`)),
				adktest.Says("painted"))),
			ToolsConfig: adktest.Tools(own("brush"))})
	require.NoError(t, err)
	skills, err := skill.NewBackendFromFilesystem(ctx,
		&skill.BackendFromFilesystemConfig{Backend: w.files, BaseDir: "/skills"})
	require.NoError(t, err)
	output, err := structured.New(&structured.Config[int]{})
	require.NoError(t, err)
	var handlers []adk.TypedChatModelAgentMiddleware[M]
	add := func(m adk.TypedChatModelAgentMiddleware[M], err error) {
		require.NoError(t, err)
		handlers = append(handlers, m)
	}
	add(budget.NewTyped[M](ctx, &budget.Config{Limits: budget.Limits{ModelCalls: 40, ToolCalls: 40}}))
	add(summarization.NewTyped(ctx,
		&summarization.TypedConfig[M]{Model: answering[M](summarizing[M]),
			Trigger: &summarization.TriggerCondition{ContextMessages: 9}}))
	add(agentsmd.NewTyped[M](ctx, &agentsmd.Config{Backend: w.files, AgentsMDFiles: []string{"/AGENTS.md"}}))
	add(approval.NewTyped[M](ctx, &approval.Config{Tools: []string{"rm"}}))
	add(reduction.NewTyped(ctx, &reduction.TypedConfig[M]{Backend: w.files, MaxLengthForTrunc: 400, MaxTokensForClear: 300,
		RootDir: "/spill"}))
	add(mwfilesystem.NewTyped[M](ctx, &mwfilesystem.MiddlewareConfig{Backend: w.files}))
	add(skill.NewTyped(ctx, &skill.TypedConfig[M]{Backend: skills, AgentHub: hub[M]{painter}}))
	add(plantask.NewTyped[M](ctx, &plantask.Config{Backend: w.files, BaseDir: "/tasks"}))
	add(toolsearch.NewTyped[M](ctx, &toolsearch.Config{DynamicTools: []tool.BaseTool{own("hidden")}}))
	add(patchtoolcalls.NewTyped[M](ctx, nil))
	add(validhistory.NewTyped[M](ctx, nil))
	add(structured.TypedHandler[M](output), nil)
	add(tooltimeout.NewTyped[M](ctx, &tooltimeout.Config{Timeout: time.Hour}))
	add(toolerrors.NewTyped[M](ctx, nil))
	a, err := adk.NewTypedChatModelAgent(ctx, &adk.TypedChatModelAgentConfig[M]{Name: "everything", Instruction: "Do it.",
		Model: watchModel(answering[M](stepping[M])), ToolsConfig: adktest.Tools(own("rm")), Handlers: handlers})
	require.NoError(t, err)
	return a
}

func TestAllMiddlewares_StopAnywhere(t *testing.T) {
	t.Run("ordinary, streaming", func(t *testing.T) { testStopAnywhere[*schema.Message](t, true, adk.OnInterrupt) })
	if testsize.Full() {
		t.Run("agentic, every step", func(t *testing.T) { testStopAnywhere[*schema.AgenticMessage](t, false, adk.EveryStep) })
	}
}

func testStopAnywhere[M adk.MessageType](t *testing.T, streaming bool, durability adk.Durability) {
	var worlds sync.Map
	boundaries := 0 // all
	if testing.Short() {
		boundaries = 25
	}
	adktest.Explore(t.Context(), t, adktest.Exploration[M]{
		Query: "Go.", Streaming: streaming, Durability: durability, Boundaries: boundaries,
		Answer: func(point *adk.InterruptCtx) any { return point.Info.(*approval.Request).Approve() },
		Agent: func(p *adktest.Probe[M]) adk.TypedAgent[M] {
			w, _ := worlds.LoadOrStore(p, newWorld(t))
			return everything(t, w.(*world), p.Model, p.Tool)
		},
	})
}

func unwatched[T any](x T) T { return x }

// finish approves whatever a run asks until it ends, and returns its last message.
func finish[M adk.MessageType](t *testing.T, runner *adk.TypedRunner[M], id string, events *adktest.Events[M]) string {
	for {
		lines, all := events.ExpectNoError().Lines(), events.All()
		last := all[len(all)-1]
		if last.Action == nil || last.Action.Interrupted == nil {
			return lines[len(lines)-1]
		}
		answers := map[string]any{}
		for _, point := range last.Action.Interrupted.InterruptContexts {
			answers[point.ID] = point.Info.(*approval.Request).Approve()
		}
		resumed, err := runner.ResumeWithParams(t.Context(), id, &adk.ResumeParams{Targets: answers})
		if err != nil {
			t.Error(err)
			return ""
		}
		events = adktest.Collect(t, resumed)
	}
}

// TestAllMiddlewares_ManyRunsAtOnce: the runs share the agent, the middlewares and the files.
// Rule batteries/G-4.
func TestAllMiddlewares_ManyRunsAtOnce(t *testing.T) {
	messagetest.Both(t, testManyRuns[*schema.Message], testManyRuns[*schema.AgenticMessage])
}

func testManyRuns[M adk.MessageType](t *testing.T) {
	agent := everything(t, newWorld(t), unwatched[model.BaseModel[M]], unwatched[tool.InvokableTool])
	runners := map[bool]*adk.TypedRunner[M]{}
	for _, streaming := range []bool{false, true} {
		runners[streaming] = adk.NewTypedRunner(adk.TypedRunnerConfig[M]{Agent: agent, EnableStreaming: streaming,
			CheckPointStore: adktest.NewStore()})
	}
	var running sync.WaitGroup
	for i := range 100 {
		running.Go(func() {
			runner, id := runners[i%2 == 0], fmt.Sprint(i)
			option, cancel := adk.WithCancel()
			events := adktest.Watch(t, runner.Query(t.Context(), "Go.", adk.WithCheckPointID(id), option))
			if i%3 == 0 {
				events.Wait(1 + i%7)
				cancel(adk.WithAgentCancelMode(adk.CancelAfterChatModel|adk.CancelAfterToolCalls), adk.WithRecursive())
				var stopped *adk.CancelError
				if errors.As(events.Err(), &stopped) {
					resumed, err := runner.Resume(t.Context(), id)
					if err != nil {
						t.Error(err)
						return
					}
					events = adktest.Collect(t, resumed)
				}
			}
			if got := finish(t, runner, id, events); got != `tool final_answer#call-9-0: {"result":9}` {
				t.Errorf("run %d ended with %q", i, got)
			}
		})
	}
	running.Wait()
}
