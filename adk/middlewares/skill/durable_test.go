package skill

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/internal/durabletest"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
)

// TestTool_Durable: a run whose process died while a skill was loaded or carried out continues after the last saved
// step. At most the step that could not be saved is done again.
func TestTool_Durable(t *testing.T) {
	for _, s := range []Skill{slides, forked(ContextModeFork), forked(ContextModeForkWithContext)} {
		t.Run(string(s.Context), func(t *testing.T) {
			for steps := 1; testDurableSkill(t, s, steps); steps++ {
			}
		})
	}
}

func testDurableSkill(t *testing.T, s Skill, steps int) (died bool) {
	brush := adktest.NewTool("brush")
	inner := durabletest.NewModel("2", "brush", `"x"`)
	hub := agentHub[*schema.Message](func(name string, _ model.BaseChatModel) (adk.Agent, error) {
		return adk.NewChatModelAgent(context.Background(),
			&adk.ChatModelAgentConfig{Name: name, Description: "paints", Model: inner,
				ToolsConfig: adktest.Tools(durabletest.Again{InvokableTool: brush})})
	})
	m, err := NewTyped(t.Context(), &Config{Backend: withSkills(s), AgentHub: hub})
	require.NoError(t, err)
	outer := durabletest.NewModel("1", "skill", `{"skill":"slides"}`)
	a, err := adk.NewChatModelAgent(t.Context(),
		&adk.ChatModelAgentConfig{Name: "artist", Model: outer, Handlers: []adk.ChatModelAgentMiddleware{m}})
	require.NoError(t, err)
	died = durabletest.Survive(t, a, false, steps)
	require.LessOrEqual(t, outer.Asked+inner.Asked+len(brush.Calls()), 6, "died after %d steps", steps)
	return died
}
