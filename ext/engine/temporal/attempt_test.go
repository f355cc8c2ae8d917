package temporalengine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	temporalengine "github.com/weftgo/weft/ext/engine/temporal"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// attemptOf is the activity that executes a run, nil if there is none.
func attemptOf(t *testing.T, c client.Client, e *temporalengine.Engine, run string) *workflow.PendingActivityInfo {
	t.Helper()
	d, err := c.DescribeWorkflowExecution(t.Context(), e.WorkflowID(run), "")
	require.NoError(t, err)
	for _, a := range d.PendingActivities {
		if a.ActivityType.Name == "weft.Attempt" {
			return a
		}
	}
	return nil
}

// TestEngine_ACallMayTakeLongerThanAHeartbeat: the activity says all the while that it lives, and how far it is. Its lease
// ends before Temporal gives the run to another worker.
// Rule temporal/W4.
func TestEngine_ACallMayTakeLongerThanAHeartbeat(t *testing.T) {
	c := dial(t, serverAddress(t))
	work := newSlow()
	d := dispatch.New(checkpoint.NewMemoryStore(), dispatch.Config{
		Agents: dispatch.Agents{"a": agentOf(t, says("one", "1"), work.tool("work"))}})
	conf := confOf(t)
	conf.Heartbeat = 1500 * time.Millisecond
	e := working(t, c, d, conf)
	_, err := e.Submit(t.Context(), jobOf("r", "a"))
	require.NoError(t, err)
	<-work.entered
	begun := time.Now()
	for time.Since(begun) < 3*conf.Heartbeat {
		attempt := attemptOf(t, c, e, "r")
		require.EqualValues(t, 1, attempt.Attempt, "it is not executed again")
		info, _, err := e.Inspect(t.Context(), "r")
		require.NoError(t, err)
		require.Less(t, time.Until(info.LeaseUntil), conf.Heartbeat, "the lease is shorter than the heartbeat")
		if time.Since(begun) > 2*conf.Heartbeat {
			var p dispatch.Progress
			require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(attempt.HeartbeatDetails, &p))
			require.Equal(t, dispatch.Progress{Token: info.Token, Steps: p.Steps, Tools: []string{"work"}}, p)
			require.Positive(t, p.Steps)
		}
		time.Sleep(200 * time.Millisecond)
	}
	close(work.open)
	require.Equal(t, "done: worked", comesTo(t, e, "r", runs.Done).Message.Content)
	require.Empty(t, work.entered)
}

// TestEngine_AnActivityThatIsPausedStopsAtASafePoint, as by an operator on the pages of Temporal, and continues when it
// is unpaused. One that is reset continues by itself.
// Rule temporal/W7.
func TestEngine_AnActivityThatIsPausedStopsAtASafePoint(t *testing.T) {
	c := dial(t, serverAddress(t))
	for _, how := range []string{"pause", "reset"} {
		t.Run(how, func(t *testing.T) {
			work := newSlow()
			d := dispatch.New(checkpoint.NewMemoryStore(), dispatch.Config{
				Agents: dispatch.Agents{"a": agentOf(t, work.tool("work"), says("rest", "rested"))}})
			conf := confOf(t)
			conf.Heartbeat, conf.StopGrace = time.Second, time.Minute
			e := working(t, c, d, conf)
			_, err := e.Submit(t.Context(), jobOf("r", "a"))
			require.NoError(t, err)
			<-work.entered
			execution := &commonpb.WorkflowExecution{WorkflowId: e.WorkflowID("r")}
			if how == "pause" {
				_, err = c.WorkflowService().PauseActivity(t.Context(), &workflowservice.PauseActivityRequest{Namespace: "default",
					Execution: execution, Activity: &workflowservice.PauseActivityRequest_Type{Type: "weft.Attempt"}})
			} else {
				_, err = c.WorkflowService().ResetActivity(t.Context(), &workflowservice.ResetActivityRequest{Namespace: "default",
					Execution: execution, Activity: &workflowservice.ResetActivityRequest_Type{Type: "weft.Attempt"}})
			}
			require.NoError(t, err)
			time.Sleep(2 * conf.Heartbeat) // the worker is given it with a heartbeat
			require.NotNil(t, attemptOf(t, c, e, "r"), "the call in flight is not abandoned")
			close(work.open)
			if how == "pause" {
				require.Eventually(t, func() bool {
					info, _, err := e.Inspect(t.Context(), "r")
					return err == nil && info.Status == runs.Ready && info.Owner == "" &&
						attemptOf(t, c, e, "r").State == enums.PENDING_ACTIVITY_STATE_PAUSED
				}, 20*time.Second, 50*time.Millisecond)
				_, err = c.WorkflowService().UnpauseActivity(t.Context(), &workflowservice.UnpauseActivityRequest{
					Namespace: "default", Execution: execution,
					Activity: &workflowservice.UnpauseActivityRequest_Type{Type: "weft.Attempt"}})
				require.NoError(t, err)
			}
			require.Equal(t, "done: rested", comesTo(t, e, "r", runs.Done).Message.Content)
			require.Empty(t, work.entered)
		})
	}
}

// TestEngine_AStopAbandonsCallsAfterStopGrace, if the signal does not say otherwise.
// Rule temporal/W7.
func TestEngine_AStopAbandonsCallsAfterStopGrace(t *testing.T) {
	c := dial(t, serverAddress(t))
	work := newSlow()
	defer close(work.open)
	d := dispatch.New(checkpoint.NewMemoryStore(), dispatch.Config{
		Agents: dispatch.Agents{"a": agentOf(t, work.tool("work"))}})
	conf := confOf(t)
	conf.StopGrace = time.Second
	e := working(t, c, d, conf)
	_, err := e.Submit(t.Context(), jobOf("r", "a"))
	require.NoError(t, err)
	<-work.entered
	begun := time.Now()
	require.NoError(t, c.SignalWorkflow(t.Context(), e.WorkflowID("r"), "", temporalengine.StopSignal,
		temporalengine.Stop{Reason: "lunch"}))
	comesTo(t, e, "r", runs.Paused)
	require.GreaterOrEqual(t, time.Since(begun), conf.StopGrace)
	statusIs(t, c, e.WorkflowID("r"), runs.Paused)
}

// atOnce is a model that calls a tool so many times at once, and then says how many results there are.
type atOnce struct {
	tool string
	n    int
}

func (m atOnce) Generate(_ context.Context, history []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	results := 0
	for _, message := range history {
		if message.Role == schema.Tool {
			results++
		}
	}
	if results > 0 {
		return schema.AssistantMessage(fmt.Sprint(results, " results"), nil), nil
	}
	var calls []schema.ToolCall
	for i := range m.n {
		calls = append(calls, schema.ToolCall{ID: fmt.Sprint("c", i),
			Function: schema.FunctionCall{Name: m.tool, Arguments: `{"request":"do it"}`}})
	}
	return schema.AssistantMessage("", calls), nil
}

func (m atOnce) Stream(
	ctx context.Context, history []*schema.Message, _ ...model.Option,
) (*schema.StreamReader[*schema.Message], error) {
	message, err := m.Generate(ctx, history)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderFromArray([]*schema.Message{message}), nil
}

func manyOf(t *testing.T, n int, called tool.BaseTool) dispatch.TypedRunnerFunc[*schema.Message] {
	info, err := called.Info(t.Context())
	require.NoError(t, err)
	agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "many", Description: "many",
		Model:       atOnce{info.Name, n},
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{called}}}})
	require.NoError(t, err)
	return dispatch.RunnerOf(agent)
}

// TestEngine_WaitsForMoreThanTheHistoryHasRoomFor: runs and answers. What an attempt returns is at most 8 KiB.
// Rules temporal/W4, temporal/W5, temporal/W11.
func TestEngine_WaitsForMoreThanTheHistoryHasRoomFor(t *testing.T) {
	c := dial(t, serverAddress(t))
	const n = 150
	d := dispatch.New(checkpoint.NewMemoryStore(), dispatch.Config{Agents: dispatch.Agents{
		"runs": manyOf(t, n, dispatch.AsRun("b", "b")), "b": agentOf(t, says("one", "1")), "asks": manyOf(t, n, asks("ask"))}})
	e := working(t, c, d, confOf(t))
	_, err := e.Submit(t.Context(), jobOf("asks", "asks"))
	require.NoError(t, err)
	s := statusIs(t, c, e.WorkflowID("asks"), runs.Waiting)
	require.Positive(t, s.More)
	require.Equal(t, n, len(s.Waiting)+s.More)
	for i, q := range comesTo(t, e, "asks", runs.Waiting).Questions {
		if i%2 == 0 {
			a, err := runs.EncodeReply(q.ID, "blue")
			require.NoError(t, err)
			require.NoError(t, e.Reply(t.Context(), "asks", a))
			continue
		}
		require.Eventually(t, func() bool { // it is refused while the workflow looks
			h, err := c.UpdateWorkflow(t.Context(), client.UpdateWorkflowOptions{WorkflowID: e.WorkflowID("asks"),
				UpdateName: temporalengine.ReplyUpdate, WaitForStage: client.WorkflowUpdateStageCompleted,
				Args: []any{temporalengine.Reply{To: q.ID, Data: json.RawMessage(`"blue"`)}}})
			return err == nil && h.Get(t.Context(), nil) == nil
		}, 20*time.Second, 20*time.Millisecond)
	}
	require.Equal(t, fmt.Sprint(n, " results"), comesTo(t, e, "asks", runs.Done).Message.Content)

	_, err = e.Submit(t.Context(), jobOf("runs", "runs"))
	require.NoError(t, err)
	require.Equal(t, fmt.Sprint(n, " results"), comesTo(t, e, "runs", runs.Done).Message.Content)
	for _, run := range []string{"asks", "runs"} {
		for _, event := range historyOf(t, c, e.WorkflowID(run), "").Events {
			for _, p := range event.GetActivityTaskCompletedEventAttributes().GetResult().GetPayloads() {
				require.LessOrEqual(t, len(p.Data), 8<<10)
			}
		}
	}
}

// TestEngine_TakesLargeAnswersThroughTheStore, and refuses them as updates.
// Rule temporal/W6.
func TestEngine_TakesLargeAnswersThroughTheStore(t *testing.T) {
	c := dial(t, serverAddress(t))
	d := dispatch.New(checkpoint.NewMemoryStore(), dispatch.Config{Agents: dispatch.Agents{"a": agentOf(t, asks("ask"))}})
	e := working(t, c, d, confOf(t))
	_, err := e.Submit(t.Context(), jobOf("r", "a"))
	require.NoError(t, err)
	s := statusIs(t, c, e.WorkflowID("r"), runs.Waiting)
	large := strings.Repeat("blue", 1<<18)
	h, err := c.UpdateWorkflow(t.Context(), client.UpdateWorkflowOptions{WorkflowID: e.WorkflowID("r"),
		UpdateName: temporalengine.ReplyUpdate, WaitForStage: client.WorkflowUpdateStageCompleted,
		Args: []any{temporalengine.Reply{To: s.Waiting[0].ID, Data: json.RawMessage(`"` + large + `"`)}}})
	require.NoError(t, err)
	err = h.Get(t.Context(), nil)
	require.True(t, isType(err, temporalengine.ErrTypeInvalid), "%v", err)
	require.ErrorContains(t, err, "put it into the store, and signal weft.changed")
	answer(t, e, "r", large)
	require.Equal(t, "done: "+large, comesTo(t, e, "r", runs.Done).Message.Content)
	for _, event := range historyOf(t, c, e.WorkflowID("r"), "").Events {
		require.Less(t, event.Size(), 8<<10)
	}
}
