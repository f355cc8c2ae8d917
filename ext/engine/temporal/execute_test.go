package temporalengine_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/dispatch"
	temporalengine "github.com/weftgo/weft/ext/engine/temporal"
	"github.com/weftgo/weft/runs"
)

// TestExecuteRun_IsAStepOfAWorkflow of the application's, which may ask people in between.
func TestExecuteRun_IsAStepOfAWorkflow(t *testing.T) {
	c := dial(t, serverAddress(t))
	conf := confOf(t)
	d := dispatch.New(checkpoint.NewMemoryStore(), dispatch.Config{Agents: dispatch.Agents{"a": agentOf(t, asks("ask"))}})
	e := working(t, c, d, conf)
	order := func(ctx workflow.Context, id string) (temporalengine.RunResult, error) {
		var result temporalengine.RunResult
		err := temporalengine.ExecuteRun(ctx, jobOf(id, "a"), temporalengine.RunOptions{TaskQueue: conf.TaskQueue,
			IDPrefix: conf.IDPrefix}).Get(ctx, &result)
		return result, err
	}
	w := worker.New(c, "orders of "+conf.TaskQueue, worker.Options{})
	w.RegisterWorkflowWithOptions(order, workflow.RegisterOptions{Name: "order"})
	require.NoError(t, w.Start())
	defer w.Stop()
	run := func(id string) client.WorkflowRun {
		r, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
			ID: conf.IDPrefix + "order " + id, TaskQueue: "orders of " + conf.TaskQueue}, "order", id)
		require.NoError(t, err)
		return r
	}
	first := run("r")
	statusIs(t, c, e.WorkflowID("r"), runs.Waiting)
	answer(t, e, "r", "blue")
	var result temporalengine.RunResult
	require.NoError(t, first.Get(t.Context(), &result))
	require.Equal(t, temporalengine.RunResult{ID: "r", Status: runs.Done}, result)
	require.Equal(t, "done: blue", comesTo(t, e, "r", runs.Done).Message.Content)

	// Canceling the workflow stops the run.
	second := run("s")
	statusIs(t, c, e.WorkflowID("s"), runs.Waiting)
	require.NoError(t, c.CancelWorkflow(t.Context(), second.GetID(), ""))
	require.Error(t, second.Get(t.Context(), nil))
	comesTo(t, e, "s", runs.Paused)

	require.ErrorContains(t, run("").Get(t.Context(), nil), "needs Job.ID")
}
