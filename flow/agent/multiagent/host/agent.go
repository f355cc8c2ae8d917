package host

import (
	"context"
	"fmt"

	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/flow/agent"
	"github.com/weftgo/weft/flow/agent/internal/live"
	"github.com/weftgo/weft/schema"
)

// MultiAgent is a host with its specialists, ready to run. It is immutable and safe for concurrent use.
type MultiAgent struct {
	text           *live.Text
	graph          *compose.Graph[[]*schema.Message, *schema.Message]
	runnable       compose.Runnable[[]*schema.Message, *schema.Message]
	compileOptions []compose.GraphCompileOption
}

// NewMultiAgent makes a team. It binds the specialists to the host's model as tools. What is wrong with the
// configuration is an error here.
func NewMultiAgent(ctx context.Context, config *MultiAgentConfig) (*MultiAgent, error) {
	conf, err := config.completed()
	if err != nil {
		return nil, err
	}
	text := live.New(conf.StreamToolCallChecker)
	g, err := conf.graph(text)
	if err != nil {
		return nil, err
	}
	ma := &MultiAgent{text: text, graph: g, compileOptions: []compose.GraphCompileOption{compose.WithGraphName(conf.Name)}}
	if ma.runnable, err = g.Compile(ctx, ma.compileOptions...); err != nil {
		return nil, fmt.Errorf("compile host multi agent %s: %w", conf.Name, err)
	}
	return ma, nil
}

// Generate runs the team on the messages, which may be none, and returns the answer. It blocks until the run is over.
func (ma *MultiAgent) Generate(
	ctx context.Context, input []*schema.Message, opts ...agent.AgentOption,
) (*schema.Message, error) {
	return ma.runnable.Invoke(live.Hide(ctx), input, agent.GetComposeOptions(opts...)...)
}

// Stream is Generate with streaming models and functions. It blocks until the host writes text, or the answer begins. The
// caller closes the stream, which ends the run.
//
// Text of the host is passed on as it writes it. If it hands over behind some text, the stream has that text and then the
// answer, as one message. What fails after the first text is an error of the stream.
func (ma *MultiAgent) Stream(
	ctx context.Context, input []*schema.Message, opts ...agent.AgentOption,
) (*schema.StreamReader[*schema.Message], error) {
	return ma.text.Stream(ctx, func(ctx context.Context) (*schema.StreamReader[*schema.Message], error) {
		return ma.runnable.Stream(ctx, input, agent.GetComposeOptions(opts...)...)
	})
}

// ExportGraph returns the graph of the team and the options to add it with to another graph or chain.
func (ma *MultiAgent) ExportGraph() (compose.AnyGraph, []compose.GraphAddNodeOpt) {
	return ma.graph, []compose.GraphAddNodeOpt{compose.WithGraphCompileOptions(ma.compileOptions...)}
}

// HostNodeKey returns the key of the host's node: "host". With it, options can be designated to the host.
func (ma *MultiAgent) HostNodeKey() string { return hostKey }
