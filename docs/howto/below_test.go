package howto

import (
	"context"
	"fmt"

	"github.com/weftgo/weft"
	"github.com/weftgo/weft/adk"
)

// How do I get at everything that lies below?
//
// An agent of package weft has an agent of package adk in it, for a runner, a turn loop or a workflow of your own. And
// any agent of adk becomes one of weft's with Wrap.
func Example_below() {
	agent := must(weft.New(weft.Config{Model: answers("From below.")}))
	runner := adk.NewRunner(context.Background(), adk.RunnerConfig{Agent: agent.ADK()})
	for event := range runner.Query(context.Background(), "Hello").All() {
		fmt.Println(event.AgentName+":", event.Output.MessageOutput.Message.Content)
	}
	// Output: assistant: From below.
}
