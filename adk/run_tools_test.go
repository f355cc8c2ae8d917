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
