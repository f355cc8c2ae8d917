package adk

import (
	"slices"

	"github.com/weftgo/weft/adk/internal/anatomy"
	"github.com/weftgo/weft/schema"
)

func init() { anatomy.Of = partsOf }

// partsOf shows package adk/picture what an agent is made of.
func partsOf(agent any) anatomy.Parts {
	switch a := agent.(type) {
	case *flowAgent:
		_, converses := a.agent.(*ChatModelAgent)
		return anatomy.Parts{Kind: anatomy.Wrapper, Inside: a.agent, SubAgents: anyAgents(a.subAgents),
			Sealed: a.sealed, ToParent: converses && !a.sealed && a.parentAgent() != nil}
	case *resumableDeterministicAgent:
		return partsOf(a.deterministicAgent)
	case *deterministicAgent:
		return anatomy.Parts{Kind: anatomy.Wrapper, Inside: a.Agent, Then: a.targets}
	case *chainAgent:
		if a.loop {
			return anatomy.Parts{Kind: anatomy.Loop, Members: anyAgents(a.children), Rounds: a.rounds}
		}
		return anatomy.Parts{Kind: anatomy.Sequential, Members: anyAgents(a.children)}
	case *parallelAgent:
		return anatomy.Parts{Kind: anatomy.Parallel, Members: anyAgents(a.children)}
	case *ChatModelAgent:
		return chatParts(a)
	case *TypedChatModelAgent[*schema.AgenticMessage]:
		return chatParts(a)
	case *agentTool[Message]:
		return anatomy.Parts{Kind: anatomy.Wrapper, Inside: a.agent}
	case *agentTool[*schema.AgenticMessage]:
		return anatomy.Parts{Kind: anatomy.Wrapper, Inside: a.agent}
	}
	return anatomy.Parts{}
}

func anyAgents(agents []*flowAgent) []any {
	all := make([]any, len(agents))
	for i, a := range agents {
		all[i] = a
	}
	return all
}

func chatParts[M MessageType](a *TypedChatModelAgent[M]) anatomy.Parts {
	made, ok := a.agent.(*chatModelAgent[M])
	if !ok {
		return anatomy.Parts{Kind: anatomy.ChatModel}
	}
	p := anatomy.Parts{Kind: anatomy.ChatModel, Tools: slices.Clone(made.conf.ToolsConfig.Tools)}
	for _, m := range made.conf.Middlewares {
		p.Tools = append(p.Tools, m.AdditionalTools...)
		p.Middlewares = append(p.Middlewares, m)
	}
	for _, h := range made.conf.Handlers {
		p.Middlewares = append(p.Middlewares, h)
	}
	if made.conf.Exit != nil {
		p.Tools = append(p.Tools, made.conf.Exit)
	}
	return p
}
