package deep

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/internal/durabletest"
	"github.com/weftgo/weft/schema"
)

// TestTask_Durable: a task whose process died continues inside the sub-agent, after the last saved step. At most the
// step that could not be saved is done again.
func TestTask_Durable(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		for steps := 1; ; steps++ {
			if died := testDurableTask(t, streaming, steps); !died {
				require.Greater(t, steps, 8, "both agents have two turns and a call, with a beginning and an end")
				break
			}
		}
	}
}

func testDurableTask(t *testing.T, streaming bool, steps int) (died bool) {
	echo := adktest.NewTool("echo")
	outer := durabletest.NewModel("1", "task", `{"subagent_type":"search","description":"x"}`)
	inner := durabletest.NewModel("2", "echo", `"x"`)
	a := newDeep(t, &Config{ChatModel: outer,
		SubAgents: []adk.Agent{worker[*schema.Message](t, "search", inner, durabletest.Again{InvokableTool: echo})}})
	died = durabletest.Survive(t, a, streaming, steps)
	require.LessOrEqual(t, outer.Asked+inner.Asked+len(echo.Calls()), 6, "died after %d steps", steps)
	return died
}
