// Package picture draws agents: who hands a run over to whom, what runs in which order, and which agents are tools of
// others.
//
//	fmt.Println(picture.Mermaid(ctx, agent, picture.WithTools()))
//
// A box is an agent, a frame a workflow. A solid arrow between agents is a transfer that a model may make, or, in a
// workflow, the order. A dotted one leads to an agent that is a tool of the other, a thick one to the agent that gets
// the run whatever was answered.
//
// Agents and tools that applications write may contain agents that this package cannot see. They show them by a method
//
//	AgentsInside() []adk.Agent
//
// (or of []adk.TypedAgent[*schema.AgenticMessage]), and middlewares the tools that they add to a run by a method
//
//	ToolsInside() []tool.BaseTool
//
// [Describe] returns the same as data.
package picture

import (
	"context"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/internal/drawing"
)

// Option changes what is drawn.
type Option func(*options)

type options struct{ tools, middlewares bool }

// WithTools adds the names of the tools of each agent. Tools that middlewares add are among them if the middleware
// shows them, see the comment of the package.
func WithTools() Option { return func(o *options) { o.tools = true } }

// WithMiddlewares adds the packages or types of the middlewares of each agent, the outermost first.
func WithMiddlewares() Option { return func(o *options) { o.middlewares = true } }

// Mermaid draws an agent, with all agents that it consists of or may call, as a Mermaid flowchart
// (https://mermaid.js.org), which GitHub and many editors show in a fenced block of the language mermaid. The same
// agent gives the same text. Names are asked for, nothing is run.
func Mermaid[M adk.MessageType](ctx context.Context, agent adk.TypedAgent[M], opts ...Option) string {
	return draw(ctx, agent, opts).Mermaid()
}

// DOT is [Mermaid] in the language of Graphviz, with dashed lines as the dotted ones and bold lines as the thick ones.
func DOT[M adk.MessageType](ctx context.Context, agent adk.TypedAgent[M], opts ...Option) string {
	return draw(ctx, agent, opts).DOT()
}

func draw(ctx context.Context, agent any, opts []Option) *drawing.Picture {
	p := &drawing.Picture{}
	a := &artist{ctx: ctx, ids: &drawing.IDs{}, top: &p.Group, open: map[any]place{}, asTools: map[any]place{}}
	for _, opt := range opts {
		if opt != nil {
			opt(&a.options)
		}
	}
	a.agent(agent, &p.Group, nil)
	return p
}
