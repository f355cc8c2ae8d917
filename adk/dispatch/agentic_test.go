package dispatch_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// agenticOf is an agent on agentic messages with the replies of a script.
func agenticOf(t *testing.T, name string, tools []tool.BaseTool, script ...adktest.Answer) adk.TypedAgent[*schema.AgenticMessage] {
	t.Helper()
	agent, err := adk.NewTypedChatModelAgent(t.Context(), &adk.TypedChatModelAgentConfig[*schema.AgenticMessage]{
		Name: name, Description: name, Model: adktest.NewRecallingModel[*schema.AgenticMessage](t, script...),
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: tools}}})
	require.NoError(t, err)
	return agent
}

// TestWork_AgenticAgentsSleepAskAndWaitForRuns as those on ordinary messages do. Rules distributed/D8.
func TestWork_AgenticAgentsSleepAskAndWaitForRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sleep := toolNamed(t, "sleep", func(ctx context.Context) (string, error) {
			return "slept", dispatch.SleepFor(ctx, time.Hour)
		})
		ask := toolNamed(t, "ask", func(ctx context.Context) (string, error) {
			if _, ok, answer := tool.GetResumeContext[string](ctx); ok {
				return answer, nil
			}
			return "", tool.Interrupt(ctx, "may I?")
		})
		const args = `{"request":"do it"}`
		parent := agenticOf(t, "parent", []tool.BaseTool{sleep, ask, dispatch.AsRun("child", "works")},
			adktest.Calls(adktest.Call("sleep", args)), adktest.Calls(adktest.Call("ask", args)),
			adktest.Calls(adktest.Call("child", args)), adktest.Says("all done"))
		child := agenticOf(t, "child", nil, adktest.Says("worked"))
		store := checkpoint.NewMemoryStore()
		d := dispatch.NewTyped(store, dispatch.TypedConfig[*schema.AgenticMessage]{Agents: dispatch.TypedAgents[*schema.AgenticMessage]{
			"parent": dispatch.RunnerOf(parent), "child": dispatch.RunnerOf(child)}})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- d.Work(ctx, dispatch.WorkerConfig{}) }()
		defer func() { cancel(); require.NoError(t, <-ended) }()

		_, err := d.Submit(t.Context(), dispatch.TypedJob[*schema.AgenticMessage]{ID: "1", Agent: "parent",
			Messages: []*schema.AgenticMessage{schema.UserAgenticMessage("go")}})
		require.NoError(t, err)
		o, err := d.Wait(t.Context(), "1")
		require.NoError(t, err)
		require.Equal(t, runs.Waiting, o.Status, "%v", o.Err)
		require.Equal(t, runs.KindTimer, o.Questions[0].Kind)
		time.Sleep(time.Hour + 5*time.Second)
		o, err = d.Wait(t.Context(), "1")
		require.NoError(t, err)
		require.Equal(t, runs.KindQuestion, o.Questions[0].Kind)
		answer, err := runs.EncodeReply(o.Questions[0].ID, "you may")
		require.NoError(t, err)
		require.NoError(t, d.Reply(t.Context(), "1", answer))
		time.Sleep(10 * time.Second)
		o, err = d.Wait(t.Context(), "1")
		require.NoError(t, err)
		require.Equal(t, runs.Done, o.Status, "%v", o.Err)
		require.Equal(t, "assistant: all done", adktest.Line(o.Message))
		children, err := store.Count(t.Context(), runs.Query{Parent: "1"})
		require.NoError(t, err)
		require.Equal(t, map[runs.Status]int64{runs.Done: 1}, children)
	})
}

// TestWork_ARunOnOtherMessagesCannotBeWaitedFor, which the run is given as an error: it does not wait for ever.
func TestWork_ARunOnOtherMessagesCannotBeWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wait := toolNamed(t, "wait", func(ctx context.Context) (string, error) {
			return "", tool.Interrupt(ctx, &dispatch.TypedChildRun[*schema.AgenticMessage]{
				Job: dispatch.TypedJob[*schema.AgenticMessage]{Agent: "child",
					Messages: []*schema.AgenticMessage{schema.UserAgenticMessage("go")}}})
		})
		d, stop := working(t, checkpoint.NewMemoryStore(), dispatch.Config{
			Agents: dispatch.Agents{"a": dispatch.RunnerOf(agentOf(t, "a", wait))}}, dispatch.WorkerConfig{})
		defer stop()
		_, err := d.Submit(t.Context(), jobOf("1", "a"))
		require.NoError(t, err)
		require.ErrorContains(t, waitFor(t, d, "1", runs.Failed).Err, `a run of agent "child" cannot be waited for`)
	})
}
