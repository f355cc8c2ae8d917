package adk_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// Hooks and tools learn what the run has under a name.
func TestToolInfoOf_FindsToolsOfTheRunByTheirNamesAndAliases(t *testing.T) {
	var found []string
	look := adktest.NewTool("look", adktest.Does(func(ctx context.Context, _ string) (string, error) {
		for _, name := range []string{"look", "see", "other"} {
			if info := adk.ToolInfoOf(ctx, name); info != nil {
				found = append(found, info.Name)
			}
		}
		return "", nil
	}))
	tools := adktest.Tools(look)
	tools.ToolAliases = map[string]compose.ToolAliasConfig{"look": {NameAliases: []string{"see"}}}
	agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "a", Description: "a", ToolsConfig: tools,
		Model: adktest.NewModel(t, adktest.Calls(adktest.Call("see", "{}")), adktest.Says("done"))})
	require.NoError(t, err)
	adktest.Ask[*schema.Message](t.Context(), t, agent, "?").ExpectText("done")
	require.Equal(t, []string{"look", "look"}, found)
	require.Nil(t, adk.ToolInfoOf(t.Context(), "look"))
}

// A run, and what it calls, knows its ID; agents that are called as tools have the ID of the run around.
func TestRunID_IsThatOfTheRunAround(t *testing.T) {
	var found []string
	look := adktest.NewTool("look", adktest.Does(func(ctx context.Context, _ string) (string, error) {
		found = append(found, adk.RunID(ctx))
		return "", nil
	}).Repeated())
	script := func() adktest.Answer { return adktest.Calls(adktest.Call("look", "{}")) }
	inner, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "inner", Description: "a",
		ToolsConfig: adktest.Tools(look), Model: adktest.NewModel(t, script(), adktest.Says("done"))})
	require.NoError(t, err)
	outer, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "outer", Description: "a",
		ToolsConfig: adktest.Tools(look, adk.NewAgentTool(t.Context(), inner)),
		Model:       adktest.NewModel(t, script(), adktest.Calls(adktest.Call("inner", `{"request":"x"}`)), adktest.Says("done"))})
	require.NoError(t, err)
	adktest.Ask[*schema.Message](t.Context(), t, outer, "?", adk.WithCheckPointID("r1")).ExpectText("done")
	require.Equal(t, []string{"r1", "r1"}, found)
	require.Empty(t, adk.RunID(t.Context()))
}
