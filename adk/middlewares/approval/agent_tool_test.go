package approval_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/middlewares/approval"
	"github.com/weftgo/weft/adk/middlewares/internal/messagetest"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

func TestAgentTool(t *testing.T) {
	messagetest.Both(t, testAgentTool[*schema.Message], testAgentTool[*schema.AgenticMessage])
}

// testAgentTool: an approved agent begins, and one that interrupted with a question of its own continues.
func testAgentTool[M adk.MessageType](t *testing.T) {
	ask, err := approval.NewTyped[M](t.Context(), &approval.Config{Tools: []string{"worker", "pay"}})
	require.NoError(t, err)
	handlers := []adk.TypedChatModelAgentMiddleware[M]{ask}
	pay := adktest.NewTool("pay", adktest.Says("paid"))
	worker, err := adk.NewTypedChatModelAgent(t.Context(),
		&adk.TypedChatModelAgentConfig[M]{Name: "worker", Description: "works", Handlers: handlers,
			Model: adktest.NewTypedModel[M](t, adktest.Calls(adktest.Call("pay", `{}`)),
				adktest.Says("did it").SeeingLast("tool pay#call_1: paid")),
			ToolsConfig: adktest.Tools(pay)})
	require.NoError(t, err)
	boss, err := adk.NewTypedChatModelAgent(t.Context(),
		&adk.TypedChatModelAgentConfig[M]{Name: "boss", Handlers: handlers,
			Model: adktest.NewTypedModel[M](t, adktest.Calls(adktest.Call("worker", `{"request":"work"}`)),
				adktest.Says("done").SeeingLast("tool worker#call_1: did it")),
			ToolsConfig: adktest.Tools(adk.NewTypedAgentTool(t.Context(), adk.TypedAgent[M](worker)))})
	require.NoError(t, err)
	runner := adk.NewTypedRunner(adk.TypedRunnerConfig[M]{Agent: boss, CheckPointStore: adktest.NewStore()})
	events := adktest.Collect(t, runner.Query(t.Context(), "hi", adk.WithCheckPointID("1"))).ExpectNoError()
	for _, asked := range []string{"worker", "pay"} {
		all := events.All()
		stopped := all[len(all)-1].Action
		require.NotNil(t, stopped, events.Lines())
		point := stopped.Interrupted.InterruptContexts[0]
		request := point.Info.(*approval.Request)
		require.Equal(t, asked, request.Tool)
		resumed, err := runner.ResumeWithParams(t.Context(), "1",
			&adk.ResumeParams{Targets: map[string]any{point.ID: request.Approve()}})
		require.NoError(t, err)
		events = adktest.Collect(t, resumed).ExpectNoError()
	}
	events.ExpectText("done")
	require.Len(t, pay.Calls(), 1)
}

// timid is a tool whose Info fails when its context has ended.
type timid struct{ *adktest.Tool }

func (x timid) Info(ctx context.Context) (*schema.ToolInfo, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return x.Tool.Info(ctx)
}

// TestEndedContext: a run whose context has ended fails, and does not ask about a tool that needs no approval.
func TestEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ask, err := approval.New(ctx, &approval.Config{Tools: []string{"pay"}})
	require.NoError(t, err)
	ctx, _, err = ask.BeforeAgent(ctx, &adk.ChatModelAgentContext{Tools: []tool.BaseTool{timid{adktest.NewTool("look")}}})
	require.NoError(t, err)
	called := 0
	call, err := ask.WrapInvokableToolCall(ctx, func(context.Context, string, ...tool.Option) (string, error) {
		called++
		return "seen", nil
	}, &adk.ToolContext{Name: "look", CallID: "1"})
	require.NoError(t, err)
	result, err := call(ctx, "{}")
	require.NoError(t, err)
	require.Equal(t, "seen", result)
	cancel()
	_, err = call(ctx, "{}")
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, called)
}
