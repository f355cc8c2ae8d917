package adk_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

func chatAgent(t *testing.T, name string, model *adktest.Model[*schema.Message], tools ...tool.BaseTool) *adk.ChatModelAgent {
	t.Helper()
	agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{
		Name: name, Description: "knows about " + name, Model: model, ToolsConfig: adktest.Tools(tools...),
	})
	require.NoError(t, err)
	return agent
}

var earlier = []adk.HistoryEntry{
	{IsUserInput: true, Message: schema.UserMessage("first?")},
	{AgentName: "desk", Message: schema.AssistantMessage("from the desk", nil)},
	{AgentName: "billing", Message: schema.AssistantMessage("from billing", nil)},
}

func TestHistory_OfAnAgentAlone(t *testing.T) {
	model := adktest.NewModel(t, adktest.Says("two").Seeing(
		"user: first?", "assistant: from the desk", "user: For context: [billing] said: from billing.", "user: second?"))
	runner := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: chatAgent(t, "desk", model)})
	adktest.Collect(t, runner.Query(t.Context(), "second?", adk.WithHistory(earlier...))).ExpectText("two")
}

func TestHistory_EachAgentSeesItsOwnMessagesAsTheyAre(t *testing.T) {
	desk := adktest.NewModel(t, adktest.Calls(adktest.Call("transfer_to_agent", `{"agent_name":"billing"}`)))
	billing := adktest.NewModel(t, adktest.Says("two"))
	agent, err := adk.SetSubAgents(t.Context(), chatAgent(t, "desk", desk), []adk.Agent{chatAgent(t, "billing", billing)})
	require.NoError(t, err)
	runner := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent})
	adktest.Collect(t, runner.Query(t.Context(), "second?", adk.WithHistory(earlier...))).ExpectText("two")
	require.Equal(t, []string{ // behind the instruction
		"user: first?", "user: For context: [desk] said: from the desk.", "assistant: from billing", "user: second?",
		"user: For context: [desk] called tool: `transfer_to_agent` with arguments: {\"agent_name\":\"billing\"}.",
		"user: For context: [desk] `transfer_to_agent` tool returned result: successfully transferred to agent [billing].",
	}, billing.Calls()[0].Lines[1:])
}

func TestActiveAgent_BeginsTheRunAndMayHandItBack(t *testing.T) {
	desk := adktest.NewModel(t, adktest.Says("done"))
	billing := adktest.NewModel(t, adktest.Calls(adktest.Call("transfer_to_agent", `{"agent_name":"desk"}`)))
	agent, err := adk.SetSubAgents(t.Context(), chatAgent(t, "desk", desk), []adk.Agent{chatAgent(t, "billing", billing)})
	require.NoError(t, err)
	runner := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent})
	adktest.Collect(t, runner.Query(t.Context(), "?", adk.WithActiveAgent("billing"))).ExpectText("done")
}

func TestActiveAgent_ContinuesAfterAnInterrupt(t *testing.T) {
	ask := adktest.NewTool("ask", adktest.Does(func(ctx context.Context, _ string) (string, error) {
		if interrupted, _, _ := tool.GetInterruptState[any](ctx); interrupted {
			return "yes", nil
		}
		return "", tool.Interrupt(ctx, "sure?")
	}))
	desk := adktest.NewModel(t)
	billing := adktest.NewModel(t, adktest.Calls(adktest.Call("ask", `{}`)), adktest.Says("done"))
	agent, err := adk.SetSubAgents(t.Context(), chatAgent(t, "desk", desk),
		[]adk.Agent{chatAgent(t, "billing", billing, ask)})
	require.NoError(t, err)
	runner := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent, CheckPointStore: checkpoint.NewMemoryStore()})
	opts := []adk.AgentRunOption{adk.WithActiveAgent("billing"), adk.WithHistory(earlier...)}
	adktest.Collect(t, runner.Query(t.Context(), "?", append(opts, adk.WithCheckPointID("1"))...))
	events, err := runner.Resume(t.Context(), "1", opts...)
	require.NoError(t, err)
	adktest.Collect(t, events).ExpectText("done")
}

func TestActiveAgent_ThatIsNotThereIsTheErrorOfTheRun(t *testing.T) {
	runner := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: chatAgent(t, "desk", adktest.NewModel(t))})
	event, _ := runner.Query(t.Context(), "?", adk.WithActiveAgent("sales")).Next()
	require.ErrorContains(t, event.Err, "runner: there is no agent 'sales' below 'desk'")
	require.False(t, errors.Is(event.Err, runs.ErrNotFound))
}
