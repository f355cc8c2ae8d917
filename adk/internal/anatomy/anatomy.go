// Package anatomy is how package adk/picture looks into the agents of package adk, whose types are not exported.
package anatomy

import "github.com/weftgo/weft/components/tool"

// Kind says how an agent runs the agents in it.
type Kind uint8

const (
	Other Kind = iota // an agent that package adk did not make
	ChatModel
	Sequential
	Loop
	Parallel
	Wrapper // around one agent, in whose name it acts; also a tool that is an agent
)

// Parts describes what an agent is made of. Agents in it are of type adk.Agent or adk.TypedAgent.
type Parts struct {
	Kind Kind
	// Inside is the agent in a Wrapper.
	Inside any
	// Members run one after another or at once, in a workflow. Rounds limits the rounds of a Loop, 0 does not.
	Members []any
	Rounds  int
	// SubAgents may be given the run by a Wrapper's agent. ToParent: that may hand it back to its parent. Sealed: nothing
	// may.
	SubAgents        []any
	ToParent, Sealed bool
	// Then are the names of the agents that get the run when the agent in a Wrapper has ended.
	Then []string
	// Tools and Middlewares belong to a ChatModel.
	Tools       []tool.BaseTool
	Middlewares []any
}

// Of returns the parts of an agent, or of a tool that is one. Package adk sets it while it is initialized.
var Of func(agent any) Parts
