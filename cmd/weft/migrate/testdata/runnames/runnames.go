// A logger that shows the ReAct graph of an agent, and the chains of the program.
package runnames

import (
	"context"
	"log"
	"strings"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/compose"
)

func start(ctx context.Context, info *callbacks.RunInfo, _ callbacks.CallbackInput) context.Context {
	if info.Component == compose.ComponentOfGraph && info.Name == "ReAct" { // want `nothing inside an agent is called ReAct`
		log.Print("the agent begins")
	}
	switch info.Name {
	case "ReAct", "Loop": // want `nothing inside an agent is called ReAct`
		return ctx
	case "retrieve":
		log.Print("looking for documents")
	}
	if info.Component == compose.ComponentOfChain && info.Name == "ingest" {
		log.Print("a chain of the program's")
	}
	return ctx
}

type strategy struct{ Name string }

func other(s strategy) bool { return s.Name == "ReAct" }

func isAgent(info *callbacks.RunInfo) bool {
	return strings.EqualFold(info.Name, "ReAct") || // want `nothing inside an agent is called ReAct`
		strings.HasPrefix(info.Name, "ReAct") // want `nothing inside an agent is called ReAct`
}

func inAnyCase(info *callbacks.RunInfo) bool {
	return strings.EqualFold(info.Name, "react") || // want `nothing inside an agent is called ReAct`
		strings.EqualFold("REACT", info.Name) // want `nothing inside an agent is called ReAct`
}
