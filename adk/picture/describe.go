package picture

import (
	"context"
	"iter"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/internal/anatomy"
	"github.com/weftgo/weft/schema"
)

// Agent is an agent as data: what its model is offered, and the agents around it. What an agent does not show is not
// there: see the comment of the package.
type Agent struct {
	Name, Description string
	// Tools are the tools of the agent's own and of middlewares that show them, without the tool that hands the run over.
	Tools []*schema.ToolInfo
	// Middlewares are the agent's, of type adk.AgentMiddleware or adk.TypedChatModelAgentMiddleware, the outermost first.
	Middlewares []any

	// Members are the agents of a workflow, and those that an agent of the application's shows to be in it.
	Members []*Agent
	// SubAgents may be handed the run by the agent.
	SubAgents []*Agent
	// AsTools are the agents that are tools of the agent.
	AsTools []*Agent

	// Opaque says that there may be more: the agent is of a type that shows nothing, one of its tools has not said what it
	// is, or there are more than 1,000 agents.
	Opaque bool
}

// Describe describes an agent, and all agents that it consists of or may call. An agent that is met again is the same
// *Agent, so that there may be circles. Names, descriptions and tools are asked for, nothing is run.
func Describe[M adk.MessageType](ctx context.Context, agent adk.TypedAgent[M]) *Agent {
	d := &describer{artist: artist{ctx: ctx}, known: map[any]*Agent{}}
	return d.agent(agent)
}

// All yields the agent and the agents below it, each once.
func (a *Agent) All() iter.Seq[*Agent] {
	return func(yield func(*Agent) bool) {
		if a != nil {
			a.visit(map[*Agent]bool{}, yield)
		}
	}
}

// visit yields the agents that were not seen. It returns false if the caller wants no more.
func (a *Agent) visit(seen map[*Agent]bool, yield func(*Agent) bool) bool {
	if seen[a] {
		return true
	}
	if seen[a] = true; !yield(a) {
		return false
	}
	for _, below := range [][]*Agent{a.Members, a.SubAgents, a.AsTools} {
		for _, one := range below {
			if !one.visit(seen, yield) {
				return false
			}
		}
	}
	return true
}

// mostAgents bounds a description: agents of applications may show others that they have just made, which show others.
const mostAgents = 1000

// describer describes agents, each once. count is how many.
type describer struct {
	artist
	known map[any]*Agent
	count int
}

func (d *describer) agent(agent any) *Agent {
	l := d.unwrap(agent)
	key, isKnown := identity(l.core)
	if isKnown && d.known[key] != nil {
		return d.known[key]
	}
	described := &Agent{Name: d.name(agent), Description: d.description(agent), Middlewares: l.parts.Middlewares}
	if d.count++; d.count > mostAgents {
		described.Opaque = true
		return described
	}
	if isKnown { // before what is inside, which may contain it
		d.known[key] = described
	}
	members := l.parts.Members
	if l.parts.Kind == anatomy.Other {
		members = agentsInside(l.core)
		described.Opaque = len(members) == 0
	}
	described.Opaque = described.Opaque || l.parts.Kind == anatomy.Wrapper // around itself
	described.Members, described.SubAgents = d.agents(members), d.agents(l.subAgents)
	for _, t := range allTools(&l) {
		if info := d.toolInfo(t); info != nil {
			described.Tools = append(described.Tools, info)
		} else {
			described.Opaque = true
		}
		described.AsTools = append(described.AsTools, d.agents(agentsOfTool(t))...)
	}
	return described
}

func (d *describer) agents(agents []any) (all []*Agent) {
	for _, agent := range agents {
		all = append(all, d.agent(agent))
	}
	return all
}

// description asks an agent for its description. It is "" if there is none to be had.
func (d *describer) description(agent any) (text string) {
	defer func() { _ = recover() }()
	if described, ok := agent.(interface{ Description(context.Context) string }); ok {
		return described.Description(d.ctx)
	}
	return ""
}
