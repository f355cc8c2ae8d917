package adktest_test

import (
	"context"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/internal/mock/racedetector"
	"github.com/weftgo/weft/internal/testsize"
	"github.com/weftgo/weft/schema"
)

// pairs returns the number of pairs of stops that the tests try for each way of running an agent. A search takes
// hundreds.
func pairs() int {
	if n, err := strconv.Atoi(os.Getenv("EXPLORE_PAIRS")); err == nil {
		return n
	}
	if !testsize.Full() {
		return 5
	}
	return 20
}

// boundaries is at how many boundaries the tests stop each way of running an agent: 0 is all.
func boundaries() int {
	switch {
	case testing.Short():
		return 10
	case racedetector.Enabled:
		return 25
	}
	return 0
}

// early is an answer whose call is complete before the answer is: its last chunk comes behind the call.
func early(call adktest.ToolCall) adktest.Answer {
	index := 0
	calling := schema.AssistantMessage("", []schema.ToolCall{{
		Index: &index, ID: call.ID, Type: "function",
		Function: schema.FunctionCall{Name: call.Name, Arguments: call.Arguments},
	}})
	return adktest.Messages(calling, schema.AssistantMessage(".", nil))
}

// endsLoop is a tool that ends the loop that its agent runs in, and may be called again.
type endsLoop struct{ tool.InvokableTool }

func (endsLoop) Idempotent() bool { return true }

func (e endsLoop) InvokableRun(ctx context.Context, arguments string, opts ...tool.Option) (string, error) {
	if err := adk.SendToolGenAction(ctx, "enough", adk.NewBreakLoopAction("again")); err != nil {
		return "", err
	}
	return e.InvokableTool.InvokableRun(ctx, arguments, opts...)
}

// doubtful are agents in which two features meet.
func doubtful() map[string]func(explored[*schema.Message]) adk.Agent {
	eager := func(conf *adk.ChatModelAgentConfig) { conf.ToolsConfig.EagerExecution = true }
	return map[string]func(explored[*schema.Message]) adk.Agent{
		"eager transfer": func(x explored[*schema.Message]) adk.Agent {
			transfer := adktest.Call(adk.TransferToAgentToolName, `{"agent_name":"helper"}`).WithID("t")
			boss := x.agent("boss", []adktest.Answer{work("plan"), early(transfer)}, eager)
			a, err := adk.SetSubAgents(x.t.Context(), boss, []adk.Agent{worker(x, "helper")})
			require.NoError(x.t, err)
			return a
		},
		"eager end of a loop": func(x explored[*schema.Message]) adk.Agent {
			enough := x.p.Tool(endsLoop{adktest.NewTool("enough")})
			script := []adktest.Answer{work("1"), early(adktest.Call("enough", `{}`).WithID("e"))}
			return looped(x, 3, x.agent("again", script, func(conf *adk.ChatModelAgentConfig) {
				eager(conf)
				conf.ToolsConfig.ReturnDirectly = map[string]bool{"enough": true}
			}, enough))
		},
		// A model that numbers its calls again in each answer.
		"loop of one call": func(x explored[*schema.Message]) adk.Agent {
			ask := x.approval()
			pay := adktest.Calls(adktest.Call("work", `"the same"`).WithID("call_0"))
			script := []adktest.Answer{pay, adktest.Says("1"), pay, adktest.Says("2"), pay, adktest.Says("3")}
			return looped(x, 3, x.agent("again", script, func(conf *adk.ChatModelAgentConfig) {
				conf.Handlers = append(conf.Handlers, ask, x.p.Middleware())
			}))
		},
	}
}

func TestExplore_WhereTwoFeaturesMeet(t *testing.T) {
	for name, agent := range doubtful() {
		t.Run(name, func(t *testing.T) {
			explore(t, adktest.Exploration[*schema.Message]{Answer: approve, Pairs: pairs()}, agent)
		})
	}
}

// looped has an agent run in rounds.
func looped(x explored[*schema.Message], rounds int, again adk.Agent) adk.Agent {
	a, err := adk.NewLoopAgent(x.t.Context(), &adk.LoopAgentConfig{
		Name: "loop", SubAgents: []adk.Agent{again}, MaxIterations: rounds,
	})
	require.NoError(x.t, err)
	return a
}
