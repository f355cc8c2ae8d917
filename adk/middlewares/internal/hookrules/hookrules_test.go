package hookrules_test

import (
	"context"
	"fmt"
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
	"github.com/weftgo/weft/adk/middlewares/summarization"
	"github.com/weftgo/weft/adk/middlewares/toolerrors"
	"github.com/weftgo/weft/adk/middlewares/tooltimeout"
	"github.com/weftgo/weft/adk/middlewares/validhistory"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// every makes one of each middleware.
func every[M adk.MessageType](t *testing.T) map[string]adk.TypedChatModelAgentMiddleware[M] {
	t.Helper()
	ctx, files := t.Context(), filesystem.NewInMemoryBackend()
	require.NoError(t, files.Write(ctx, &filesystem.WriteRequest{FilePath: "/a.md", Content: "text"}))
	skills, err := skill.NewBackendFromFilesystem(ctx,
		&skill.BackendFromFilesystemConfig{Backend: files, BaseDir: "/skills"})
	require.NoError(t, err)
	all := map[string]adk.TypedChatModelAgentMiddleware[M]{}
	add := func(name string) func(adk.TypedChatModelAgentMiddleware[M], error) {
		return func(m adk.TypedChatModelAgentMiddleware[M], err error) {
			require.NoError(t, err, name)
			all[name] = m
		}
	}
	add("agentsmd")(agentsmd.NewTyped[M](ctx, &agentsmd.Config{Backend: files, AgentsMDFiles: []string{"/a.md"}}))
	add("approval")(approval.NewTyped[M](ctx, &approval.Config{Tools: []string{"x"}}))
	add("budget")(budget.NewTyped[M](ctx, &budget.Config{Limits: budget.Limits{ModelCalls: 1000}}))
	add("filesystem")(mwfilesystem.NewTyped[M](ctx, &mwfilesystem.MiddlewareConfig{Backend: files}))
	add("patchtoolcalls")(patchtoolcalls.NewTyped[M](ctx, nil))
	add("plantask")(plantask.NewTyped[M](ctx, &plantask.Config{Backend: files, BaseDir: "/tasks"}))
	add("reduction")(reduction.NewTyped(ctx, &reduction.TypedConfig[M]{Backend: files}))
	add("skill")(skill.NewTyped(ctx, &skill.TypedConfig[M]{Backend: skills}))
	add("summarization")(summarization.NewTyped(ctx, &summarization.TypedConfig[M]{Model: adktest.NewTypedModel[M](t)}))
	add("toolerrors")(toolerrors.NewTyped[M](ctx, nil))
	add("toolsearch")(toolsearch.NewTyped[M](ctx,
		&toolsearch.Config{DynamicTools: []tool.BaseTool{adktest.NewTool("hidden")}}))
	add("tooltimeout")(tooltimeout.NewTyped[M](ctx, &tooltimeout.Config{Timeout: time.Hour}))
	add("validhistory")(validhistory.NewTyped[M](ctx, nil))
	return all
}

// Rules batteries/G-6, batteries/G-7.
func TestHooks_CalledDirectly(t *testing.T) {
	messagetest.Both(t, testDirectly[*schema.Message], testDirectly[*schema.AgenticMessage])
}

func testDirectly[M adk.MessageType](t *testing.T) {
	for name, m := range every[M](t) {
		t.Run(name, func(t *testing.T) {
			ctx, rc, err := m.BeforeAgent(context.Background(), nil)
			require.NoError(t, err)
			require.NotNil(t, ctx)
			require.Nil(t, rc)
			ctx, state, err := m.BeforeModelRewriteState(context.Background(), nil, nil)
			require.NoError(t, err)
			require.NotNil(t, ctx)
			require.Nil(t, state)

			given := &adk.TypedChatModelAgentState[M]{Messages: []M{messagetest.User[M]("hi")}}
			ctx, once, err := m.BeforeModelRewriteState(context.Background(), given, nil)
			require.NoError(t, err)
			require.NotNil(t, ctx)
			require.Len(t, given.Messages, 1, "the state that it got stays")
			_, twice, err := m.BeforeModelRewriteState(context.Background(), once, nil)
			require.NoError(t, err)
			require.Equal(t, adktest.Lines(once.Messages), adktest.Lines(twice.Messages), "the same again on its own result")
		})
	}
}

// Rule batteries/G-4.
func TestInstances_ServeRunsAtTheSameTime(t *testing.T) {
	for name, m := range every[*schema.Message](t) {
		t.Run(name, func(t *testing.T) {
			agents := make([]adk.Agent, 8)
			for i := range agents {
				own := adktest.NewTool("t", adktest.Says(fmt.Sprint("result ", i)))
				model := adktest.NewModel(t, adktest.Calls(adktest.Call("t", "{}")), adktest.Says(fmt.Sprint("done ", i)).
					SeeingLast(fmt.Sprint("tool t#call_1: result ", i)))
				var err error
				agents[i], err = adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "a", Model: model,
					ToolsConfig: adktest.Tools(own), Handlers: []adk.ChatModelAgentMiddleware{m}})
				require.NoError(t, err)
			}
			var running sync.WaitGroup
			for i, agent := range agents {
				running.Go(func() { adktest.Ask(t.Context(), t, agent, "hi").ExpectText(fmt.Sprint("done ", i)) })
			}
			running.Wait()
		})
	}
}

// Rules batteries/G-2, batteries/G-5.
func TestResume_ToolsAndAdditionsAreThereOnce(t *testing.T) {
	messagetest.Both(t, testResume[*schema.Message], testResume[*schema.AgenticMessage])
}

// asking is a tool that interrupts until it is answered.
type asking struct{ *adktest.Tool }

func (asking) InvokableRun(ctx context.Context, _ string, _ ...tool.Option) (string, error) {
	if target, has, answer := tool.GetResumeContext[string](ctx); target && has {
		return answer, nil
	}
	return "", tool.Interrupt(ctx, "may I?")
}

func testResume[M adk.MessageType](t *testing.T) {
	for name, m := range every[M](t) {
		t.Run(name, func(t *testing.T) {
			scripted := adktest.NewTypedModel[M](t, adktest.Calls(adktest.Call("ask", "{}")),
				adktest.Says("done").SeeingLast("tool ask#call_1: yes"))
			agent, err := adk.NewTypedChatModelAgent(t.Context(),
				&adk.TypedChatModelAgentConfig[M]{Name: "a", Model: model.BaseModel[M](scripted),
					ToolsConfig: adktest.Tools(asking{adktest.NewTool("ask")}), Handlers: []adk.TypedChatModelAgentMiddleware[M]{m}})
			require.NoError(t, err)
			runner := adk.NewTypedRunner(adk.TypedRunnerConfig[M]{Agent: agent, CheckPointStore: adktest.NewStore()})
			events := adktest.Collect(t, runner.Run(t.Context(), []M{messagetest.User[M]("hi")},
				adk.WithCheckPointID("1"))).All()
			points := events[len(events)-1].Action.Interrupted.InterruptContexts
			require.Len(t, points, 1, "that of the tool alone")
			require.Equal(t, "may I?", points[0].Info)
			resumed, err := runner.ResumeWithParams(t.Context(), "1",
				&adk.ResumeParams{Targets: map[string]any{points[0].ID: "yes"}})
			require.NoError(t, err)
			adktest.Collect(t, resumed).ExpectText("done")
			calls := scripted.Calls()
			require.Equal(t, calls[0].Tools(), calls[1].Tools())
			require.Equal(t, calls[0].Lines, calls[1].Lines[:len(calls[0].Lines)], "nothing is injected twice")
		})
	}
}

// TestTools_ThatOnlyRead: a run whose process died in such a call makes it again without a question.
func TestTools_ThatOnlyRead(t *testing.T) {
	repeated := map[string]bool{}
	for name, m := range every[*schema.Message](t) {
		_, rc, err := m.BeforeAgent(t.Context(), &adk.ChatModelAgentContext{})
		require.NoError(t, err, name)
		for _, tl := range rc.Tools {
			info, err := tl.Info(t.Context())
			require.NoError(t, err, name)
			again, ok := tl.(adk.IdempotentTool)
			repeated[info.Name] = ok && again.Idempotent()
		}
	}
	delete(repeated, "hidden") // of the test itself
	require.Equal(t, map[string]bool{
		"ls": true, "read_file": true, "glob": true, "grep": true, "write_file": false, "edit_file": false,
		"TaskGet": true, "TaskList": true, "TaskCreate": false, "TaskUpdate": false,
		"tool_search": true,
		"skill":       false, // continues where it was
	}, repeated)
}
