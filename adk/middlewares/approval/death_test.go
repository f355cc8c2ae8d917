package approval_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/middlewares/approval"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// again is a tool whose calls may be repeated.
type again struct{ tool.InvokableTool }

func (again) Idempotent() bool { return true }

// TestApproval_IsGivenOnceAlthoughTheProcessDiesInTheCall: the call that was approved is made again after the death, by
// the same decision, and no other call is. Rules distributed/C6.
func TestApproval_IsGivenOnceAlthoughTheProcessDiesInTheCall(t *testing.T) {
	for depth, name := range []string{"alone", "in a tool", "two tools deep"} {
		t.Run(name, func(t *testing.T) { approvedOnce(t, depth) })
	}
}

// inTools is an agent inside so many tools of agents.
func inTools(t *testing.T, agent adk.Agent, depth int) adk.Agent {
	for i := range depth {
		around, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "around" + strconv.Itoa(i), Description: "a",
			Model: adktest.NewRecallingModel[*schema.Message](t, adktest.Calls(adktest.Call(agent.Name(t.Context()), `{"request":"pay"}`)),
				adktest.Says("done")),
			ToolsConfig: adktest.Tools(adk.NewAgentTool(t.Context(), agent))})
		require.NoError(t, err)
		agent = around
	}
	return agent
}

func approvedOnce(t *testing.T, depth int) {
	store := checkpoint.NewMemoryStore()
	ledger := approval.StoreLedger(store)
	calls := 0
	pay, err := utils.InferTool("pay", "pays", func(ctx context.Context, _ struct{}) (string, error) {
		if calls++; calls > 1 {
			return "paid", nil
		}
		lease, err := store.Acquire(ctx, "1", runs.LeaseRequest{Owner: "reaper", Steal: true}) // as after a death
		if err != nil {
			return "", err
		}
		return "", errors.Join(errors.New("died"), lease.Settle(ctx, runs.Settlement{}))
	})
	require.NoError(t, err)
	process := func() *adk.Runner {
		asks, err := approval.New(t.Context(), &approval.Config{Tools: []string{"pay"}, Ledger: ledger})
		require.NoError(t, err)
		agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "a", Description: "a",
			Model:       adktest.NewRecallingModel[*schema.Message](t, adktest.Calls(adktest.Call("pay", "{}")), adktest.Says("done")),
			ToolsConfig: adktest.Tools(again{pay}), Handlers: []adk.ChatModelAgentMiddleware{asks}})
		require.NoError(t, err)
		return adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: inTools(t, agent, depth), CheckPointStore: store, Durability: adk.EveryStep})
	}
	var request *approval.Request
	var point string
	for e := range process().Query(t.Context(), "pay", adk.WithCheckPointID("1")).All() {
		require.NoError(t, e.Err)
		if e.Action != nil && e.Action.Interrupted != nil {
			c := e.Action.Interrupted.InterruptContexts[0]
			request, point = c.Info.(*approval.Request), c.ID
		}
	}
	it, err := process().ResumeWithParams(t.Context(), "1", &adk.ResumeParams{Targets: map[string]any{point: request.Approve()}})
	require.NoError(t, err)
	var last error
	for e := range it.All() {
		last = e.Err
	}
	require.ErrorIs(t, last, runs.ErrLeaseLost)
	require.Equal(t, 1, calls)

	it, err = process().Resume(t.Context(), "1")
	require.NoError(t, err)
	adktest.Collect(t, it).ExpectText("done")
	require.Equal(t, 2, calls)
	used, err := ledger.Use(t.Context(), request.Hash, time.Now().Add(time.Hour))
	require.NoError(t, err)
	require.False(t, used)
	used, err = ledger.(approval.CallLedger).UseFor(t.Context(), request.Hash, "another call", time.Now().Add(time.Hour))
	require.NoError(t, err)
	require.False(t, used)
}
