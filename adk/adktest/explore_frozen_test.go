package adktest_test

import (
	"fmt"
	"testing"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/schema"
)

// TestExplore_TakenOver: at each boundary another process takes the run over while the first one stands still.
// Rule distributed/K8.
func TestExplore_TakenOver(t *testing.T) {
	for name, agent := range map[string]func(explored[*schema.Message]) adk.Agent{
		"react": explored[*schema.Message].react, "eager": explored[*schema.Message].eager,
		"return directly":     explored[*schema.Message].direct,
		"agent tool two deep": explored[*schema.Message].deep, "plan with an approval": explored[*schema.Message].plan,
	} {
		t.Run(name, func(t *testing.T) { exploreTakenOver(t, name, agent) })
	}
	for name, agent := range workflows() {
		t.Run(name, func(t *testing.T) { exploreTakenOver(t, name, agent) })
	}
}

func exploreTakenOver(t *testing.T, name string, agent func(explored[*schema.Message]) adk.Agent) {
	for _, streaming := range []bool{false, true} {
		if name == "eager" && !streaming {
			continue
		}
		t.Run(fmt.Sprint("streaming=", streaming), func(t *testing.T) {
			made := new(made[*schema.Message])
			adktest.Explore(t.Context(), t, adktest.Exploration[*schema.Message]{
				Query: "Do it.", Streaming: streaming, Durability: adk.EveryStep, TakeOver: true, Answer: approve,
				Speculative: name == "eager", Unordered: name == "parallel" || name == "sequential with a plan",
				Agent: func(p *adktest.Probe[*schema.Message]) adk.Agent { return agent(explored[*schema.Message]{t, p, made}) },
			})
		})
	}
}
