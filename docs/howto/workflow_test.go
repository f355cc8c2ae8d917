package howto

import (
	"context"
	"fmt"

	"github.com/weftgo/weft"
	"github.com/weftgo/weft/adk"
)

// How do agents work one after the other?
//
// In a workflow of package adk: sequential, parallel, or in a loop. Each agent sees what those before it have said.
func Example_workflow() {
	ctx := context.Background()
	draft := must(weft.New(weft.Config{Name: "draft", Model: answers("Roses are blue.")}))
	review := must(weft.New(weft.Config{Name: "review", Model: answers("Roses are red.")}))
	both := must(adk.NewSequentialAgent(ctx, &adk.SequentialAgentConfig{
		Name: "poet", SubAgents: []adk.Agent{draft.ADK(), review.ADK()},
	}))
	poet := must(weft.Wrap(both))
	fmt.Println(must(poet.Ask(ctx, "Write a line.")))
	// Output: Roses are red.
}
