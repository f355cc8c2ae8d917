package temporalengine_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/dispatch"
	temporalengine "github.com/weftgo/weft/ext/engine/temporal"
	"github.com/weftgo/weft/runs"
)

// TestEngine_TenantsDoNotShareWorkflows: the runs of two tenants have the same ID, and each is executed by the worker of
// its tenant.
// Rule temporal/W2.
func TestEngine_TenantsDoNotShareWorkflows(t *testing.T) {
	c := dial(t, serverAddress(t))
	store, conf := checkpoint.NewMemoryStore(), confOf(t)
	engines := map[string]*temporalengine.Engine{}
	for _, tenant := range []string{"acme", "a/b", "umbrella"} {
		conf.Tenant = tenant
		engines[tenant] = working(t, c, dispatch.New(checkpoint.Scope(store, tenant), dispatch.Config{Agents: dispatch.Agents{
			"a": agentOf(t, dispatch.AsRun("b", "b")), "b": agentOf(t, says("name", tenant), asks("ask"))}}), conf)
	}
	for _, e := range engines {
		_, err := e.Submit(t.Context(), jobOf("r", "a"))
		require.NoError(t, err)
	}
	for tenant, e := range engines {
		child := comesTo(t, e, "r", runs.Waiting).Questions[0]
		require.Contains(t, e.WorkflowID("r"), "#r", tenant)
		info, _, err := e.Inspect(t.Context(), "r")
		require.NoError(t, err)
		require.Equal(t, tenant, info.Tenant)
		for run, err := range e.List(t.Context(), runs.Query{Parent: "r"}) {
			require.NoError(t, err)
			answer(t, e, run.ID, fmt.Sprint("answer of ", tenant))
		}
		require.Equal(t, "done: done: answer of "+tenant, comesTo(t, e, "r", runs.Done).Message.Content, child.ID)
	}
}

// TestEngine_RefusesRunsOfAnotherTenant than its configuration has: their workflows would belong to that tenant.
// Rule temporal/W2.
func TestEngine_RefusesRunsOfAnotherTenant(t *testing.T) {
	d := dispatch.New(checkpoint.Scope(checkpoint.NewMemoryStore(), "acme"), dispatch.Config{})
	e, err := temporalengine.New(lazyClient(t), d, temporalengine.Config{})
	require.NoError(t, err)
	_, err = e.Submit(t.Context(), jobOf("r", "a"))
	require.ErrorContains(t, err, `run "r" is of tenant "acme", and Config.Tenant is "": set it to that of the store`)
}
