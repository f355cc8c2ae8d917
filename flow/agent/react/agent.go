package react

import (
	"context"

	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/flow/agent"
	"github.com/weftgo/weft/flow/agent/internal/live"
	"github.com/weftgo/weft/schema"
)

// The keys of the nodes.
const (
	modelKey        = "chat"
	toolsKey        = "tools"
	directReturnKey = "direct_return"
)

// Agent is a chat model with tools, ready to run. It is immutable and safe for concurrent use.
type Agent struct {
	text           *live.Text
	graph          *compose.Graph[[]*schema.Message, *schema.Message]
	runnable       compose.Runnable[[]*schema.Message, *schema.Message]
	compileOptions []compose.GraphCompileOption
}

// NewAgent makes an agent. It asks every tool for its info and binds the tools to the model. What is wrong with the
// configuration is an error here.
func NewAgent(ctx context.Context, config *AgentConfig) (_ *Agent, err error) {
	conf, err := config.completed()
	if err != nil {
		return nil, err
	}
	infos, err := toolInfos(ctx, conf.ToolsConfig.Tools)
	if err != nil {
		return nil, err
	}
	chatModel, err := agent.ChatModelWithTools(conf.Model, conf.ToolCallingModel, infos)
	if err != nil {
		return nil, err
	}
	toolsConf := withCollector(conf.ToolsConfig)
	toolsNode, err := compose.NewToolNode(ctx, &toolsConf)
	if err != nil {
		return nil, err
	}

	text := live.New(conf.StreamToolCallChecker)
	g := compose.NewGraph[[]*schema.Message, *schema.Message](compose.WithGenLocalState(
		func(context.Context) *state { return &state{} }))
	if err := firstError(
		g.AddChatModelNode(modelKey, chatModel, compose.WithNodeName(conf.ModelNodeName),
			compose.WithStatePreHandler(conf.beforeModel)),
		g.AddToolsNode(toolsKey, toolsNode, compose.WithNodeName(conf.ToolsNodeName),
			compose.WithStatePreHandler(conf.beforeTools)),
		g.AddLambdaNode(directReturnKey, compose.TransformableLambda(directResult)),
		g.AddEdge(compose.START, modelKey),
		g.AddBranch(modelKey, afterModel(text)),
		g.AddBranch(toolsKey, compose.NewStreamGraphBranch(afterTools,
			map[string]bool{modelKey: true, directReturnKey: true})),
		g.AddEdge(directReturnKey, compose.END),
	); err != nil {
		return nil, err
	}
	a := &Agent{text: text, graph: g, compileOptions: []compose.GraphCompileOption{
		compose.WithGraphName(conf.GraphName),
		compose.WithNodeTriggerMode(compose.AnyPredecessor),
		compose.WithMaxRunSteps(conf.MaxStep),
	}}
	if a.runnable, err = g.Compile(ctx, a.compileOptions...); err != nil {
		return nil, err
	}
	return a, nil
}

// firstError is for a series of builder calls, of which none does harm after one that failed.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// afterModel goes to the tools if the answer calls any.
func afterModel(text *live.Text) *compose.GraphBranch {
	return compose.NewStreamGraphBranch(func(
		ctx context.Context, answer *schema.StreamReader[*schema.Message],
	) (string, error) {
		hasToolCalls, err := text.HasToolCalls(ctx, answer)
		if err != nil || !hasToolCalls {
			return compose.END, err
		}
		return toolsKey, nil
	}, map[string]bool{toolsKey: true, compose.END: true})
}

// Generate runs the agent on the messages, which may be none, and returns the last answer, or the result of a tool
// that returns directly. It blocks until the run is over.
func (r *Agent) Generate(
	ctx context.Context, input []*schema.Message, opts ...agent.AgentOption,
) (*schema.Message, error) {
	return r.runnable.Invoke(live.Hide(ctx), input, agent.GetComposeOptions(opts...)...)
}

// Stream is Generate with a streaming model and streaming tools. It blocks until the model writes text, or the result
// begins. The caller closes the stream, which ends the run.
//
// Text is passed on as the model writes it. If a tool call follows, the stream has the text before the call, nothing of
// the call, and then the text of the next answer, as one message. What fails after the first text, or interrupts, is an
// error of the stream. With a StreamToolCallChecker of your own the stream begins when that has said that no tools are
// called.
func (r *Agent) Stream(
	ctx context.Context, input []*schema.Message, opts ...agent.AgentOption,
) (output *schema.StreamReader[*schema.Message], err error) {
	run := func(ctx context.Context) (*schema.StreamReader[*schema.Message], error) {
		return r.runnable.Stream(ctx, input, agent.GetComposeOptions(opts...)...)
	}
	return r.text.Stream(ctx, run)
}

// ExportGraph returns the graph of the agent and the options to add it with to another graph or chain.
func (r *Agent) ExportGraph() (compose.AnyGraph, []compose.GraphAddNodeOpt) {
	return r.graph, []compose.GraphAddNodeOpt{compose.WithGraphCompileOptions(r.compileOptions...)}
}
