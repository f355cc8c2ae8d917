package adk

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weftgo/weft/adk/internal/toolparams"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/internal/cancelscope"
	"github.com/weftgo/weft/internal/modelmistake"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/schema"
)

// AgentToolOptions holds the settings that options of [NewAgentTool] change.
type AgentToolOptions struct {
	fullHistory bool
	inputSchema *schema.ParamsOneOf
}

// AgentToolOption is an option of [NewAgentTool].
type AgentToolOption func(*AgentToolOptions)

// WithFullChatHistoryAsInput gives the agent what the calling agent has seen, worded as after a transfer, instead of
// the arguments of the call. Ordinary messages only.
func WithFullChatHistoryAsInput() AgentToolOption {
	return func(o *AgentToolOptions) { o.fullHistory = true }
}

// WithAgentInputSchema replaces the parameters of the tool. The agent gets the arguments as they are, as the text of a
// user message. The default is one string, request, that becomes the user message.
func WithAgentInputSchema(schema *schema.ParamsOneOf) AgentToolOption {
	return func(o *AgentToolOptions) { o.inputSchema = schema }
}

// NewAgentTool makes a tool of an agent: a call runs it, and the text of its last event is the result. The agent shares
// the session values of the calling agent, but nothing of what was said. An interrupt in it interrupts the call, and a
// resume continues inside the agent. What it wants the runtime to do (exit, transfer) does not reach the calling agent.
func NewAgentTool(ctx context.Context, agent Agent, options ...AgentToolOption) tool.BaseTool {
	return NewTypedAgentTool(ctx, agent, options...)
}

// NewTypedAgentTool is [NewAgentTool] for any kind of message.
func NewTypedAgentTool[M MessageType](
	_ context.Context, agent TypedAgent[M], options ...AgentToolOption,
) tool.BaseTool {
	return runtimeOf[M]().newAgentTool(agent, options)
}

func (compiled[M]) newAgentTool(agent TypedAgent[M], options []AgentToolOption) tool.BaseTool {
	t := &agentTool[M]{agent: agent}
	for _, opt := range options {
		if opt != nil {
			opt(&t.options)
		}
	}
	compileArguments[agentToolRequest]()
	return t
}

// agentToolRequest is the arguments of an agent tool without a schema of its own.
type agentToolRequest struct {
	Request string `json:"request"`
}

type agentTool[M MessageType] struct {
	agent   TypedAgent[M]
	options AgentToolOptions
}

var defaultAgentToolParams = toolparams.Closed(map[string]*schema.ParameterInfo{
	"request": {Desc: "request to be processed", Required: true, Type: schema.String},
})

func defaultAgentToolInfo() *schema.ToolInfo {
	return &schema.ToolInfo{ParamsOneOf: defaultAgentToolParams}
}

// GetType returns "agentTool".
func (t *agentTool[M]) GetType() string { return "agentTool" }

// Info describes the agent.
func (t *agentTool[M]) Info(ctx context.Context) (_ *schema.ToolInfo, err error) {
	defer safe.Recover(&err)
	if t.agent == nil {
		return nil, errors.New("agent tool: the agent is nil")
	}
	info := &schema.ToolInfo{Name: t.agent.Name(ctx), Desc: t.agent.Description(ctx), ParamsOneOf: t.options.inputSchema}
	if info.Name == "" {
		return nil, errors.New("agent tool requires an agent with a non-empty Name")
	}
	if info.Desc == "" {
		return nil, fmt.Errorf("agent tool requires an agent with a non-empty Description: agent '%s' has none", info.Name)
	}
	if info.ParamsOneOf == nil {
		info.ParamsOneOf = defaultAgentToolParams
	}
	return info, nil
}

// InvokableRun runs the agent. It works outside a run, too.
func (t *agentTool[M]) InvokableRun(ctx context.Context, argumentsInJSON string, _ ...tool.Option) (string, error) {
	if t.agent == nil {
		return "", errors.New("agent tool: the agent is nil")
	}
	view := agentToolView(ctx)
	if view != nil {
		var stop func()
		ctx, stop = detach(ctx)
		defer stop()
	}
	c := &agentToolRun[M]{tool: t, ctx: ctx, caller: innermostRun(ctx)}
	var opts []AgentRunOption
	if c.caller != nil {
		opts = c.caller.agentToolOptions(t.agent.Name(ctx))
	}
	root := newRootRun[M](nil, opts)
	if shared := sessionFrom(ctx); shared != nil {
		root.session = shared
		shared.add(root.options.sessionValues)
	}
	if talksToOthers(t.agent) {
		root.recording.Store(true)
	}
	x := &execution[M]{Context: ctx, run: root, out: c, opts: opts, lane: newLane[M](), view: view}
	if c.caller != nil {
		x.scope = c.caller.scopeOf(ctx)
	}
	x.setAgent(t.agent)
	x.path = []RunStep{{agentName: x.name}}
	begun, err := c.begin(x, argumentsInJSON)
	if err != nil {
		return "", err
	}
	begun.execute()
	return c.result(x)
}

// agentToolView returns the view of cancels for an agent that runs as a tool: it obeys the cancels of the calling agent that
// are recursive. The call is marked as one that stops by itself. A caller that can only be aborted hides the agent.
func agentToolView(ctx context.Context) *cancelscope.View {
	caller := innermostRun(ctx)
	if caller == nil {
		return cancelViewFrom(ctx).Nested()
	}
	view := caller.cancelView()
	if view == nil || view.IsAbortOnly() {
		return nil
	}
	if call := cancelscope.CallFrom(ctx); call != nil {
		call.StopsItself(true)
	}
	return view.Nested()
}

// agentToolRun is one call.
type agentToolRun[M MessageType] struct {
	tool   *agentTool[M]
	ctx    context.Context
	caller anyRun
	last   *TypedAgentEvent[M]
	err    error
}

// begin starts the agent, or lets it continue where it was interrupted.
func (c *agentToolRun[M]) begin(x *execution[M], arguments string) (task, error) {
	interrupted, hasState, state := tool.GetInterruptState[[]byte](c.ctx)
	_, around, _ := tool.GetInterruptState[any](c.ctx) // the state of a wrapper which stopped the call before it got here
	if interrupted && !hasState && !around {
		return nil, fmt.Errorf("agent tool '%s' interrupt has happened, but cannot find interrupt state: "+
			"a wrapper that interrupts its calls must do so with a state of its own (tool.StatefulInterrupt)", x.name)
	}
	if !hasState {
		input, err := c.input(arguments)
		if err != nil {
			return nil, err
		}
		x.run.input = input
		return x.begin(input, nil), nil
	}
	saved, err := openRun(state)
	if err != nil {
		return nil, fmt.Errorf("agent tool '%s': %w", x.name, err)
	}
	if x.run.input, err = inputIn[M](saved); err != nil {
		return nil, fmt.Errorf("agent tool '%s': %w", x.name, err)
	}
	items, err := restoreItems[M](saved.History)
	if err != nil {
		return nil, fmt.Errorf("agent tool '%s': %w", x.name, err)
	}
	x.lane.restore(items)
	return x.beginResume(saved.Streaming), nil
}

// input returns the input of the agent.
func (c *agentToolRun[M]) input(arguments string) (*TypedAgentInput[M], error) {
	input := &TypedAgentInput[M]{EnableStreaming: c.caller != nil && c.caller.streaming()}
	switch {
	case c.tool.options.fullHistory:
		messages, err := c.history()
		input.Messages = messages
		return input, err
	case c.tool.options.inputSchema != nil:
		input.Messages = []M{opsOf[M]().user(arguments)}
		return input, c.checkArguments(arguments)
	}
	request, err := decodeArguments[agentToolRequest](c.ctx, defaultAgentToolInfo, arguments)
	if err != nil {
		return nil, fmt.Errorf("arguments of agent tool '%s': %w", c.tool.agent.Name(c.ctx), err)
	}
	input.Messages = []M{opsOf[M]().user(request.Request)}
	return input, nil
}

// checkArguments holds the arguments against a schema of the user's, if the calling agent wants that.
func (c *agentToolRun[M]) checkArguments(arguments string) error {
	if !modelmistake.ChecksArguments(c.ctx) {
		return nil
	}
	info := &schema.ToolInfo{ParamsOneOf: c.tool.options.inputSchema}
	if _, err := utils.DecodeArguments[any](c.ctx, info, arguments, true); err != nil {
		return fmt.Errorf("arguments of agent tool '%s': %w", c.tool.agent.Name(c.ctx), err)
	}
	return nil
}

// history returns the messages that the calling agent has seen up to the one with the call, and a transfer to the agent.
func (c *agentToolRun[M]) history() ([]M, error) {
	var none M
	if _, ordinary := any(none).(Message); !ordinary {
		return nil, errors.New("fullChatHistoryAsInput is only supported for *schema.Message agents")
	}
	caller, ok := c.caller.(*agentRun[Message])
	if !ok {
		return nil, errors.New("fullChatHistoryAsInput needs a calling ChatModelAgent")
	}
	seen, err := caller.history(c.ctx)
	if err != nil {
		return nil, err
	}
	if n := len(seen); n > 0 {
		seen = seen[:n-1]
	}
	call, result := GenTransferMessages(c.ctx, c.tool.agent.Name(c.ctx))
	var messages []Message
	for _, m := range append(slices.Clip(seen), call, result) {
		switch {
		case m == nil || m.Role == schema.System:
		case m.Role == schema.Assistant || m.Role == schema.Tool:
			messages = append(messages, quote(caller.agent.conf.Name, m))
		default:
			messages = append(messages, m)
		}
	}
	return any(messages).([]M), nil
}

// send takes the events of the agent. Only the last one counts; all but interrupts are shown to the caller's reader if
// that wants to see them.
func (c *agentToolRun[M]) send(e *TypedAgentEvent[M]) {
	if c.err != nil {
		e.closeStreams()
		return
	}
	inner := e.origin == originInner // of an agent further inside: it is for the reader only
	if !inner {
		c.last.closeStreams()
		c.last, c.err = e, e.Err
	}
	if e.Action != nil && e.Action.Interrupted != nil {
		return
	}
	outer, ok := c.caller.(*agentRun[M])
	if ok && outer.agent.conf.ToolsConfig.EmitInternalEvents && !e.origin.isReplayed() {
		shown := copyEvent(e)
		shown.origin = originInner
		var path []RunStep
		if x := executionFrom[M](outer); x != nil {
			path = x.path
		}
		shown.RunPath = append(slices.Clip(path), e.RunPath...)
		outer.send(shown)
	}
	if inner {
		e.closeStreams()
	}
}

// result returns the result of the call.
func (c *agentToolRun[M]) result(x *execution[M]) (string, error) {
	switch {
	case c.err != nil:
		return "", c.err
	case c.last == nil:
		return "", errors.New("no event returned")
	case c.last.Action != nil && c.last.Action.Interrupted != nil:
		return "", c.interrupt(x)
	case c.last.Output == nil || c.last.Output.MessageOutput == nil:
		return "", nil
	}
	m, err := c.last.Output.MessageOutput.whole(c.ctx)
	if err != nil || opsOf[M]().isNil(m) {
		return "", err
	}
	return opsOf[M]().text(m), nil
}

// interrupt returns the interrupt of the call, around the agent's.
func (c *agentToolRun[M]) interrupt(x *execution[M]) error {
	d := &runDocument{Streaming: x.run.input.EnableStreaming}
	var err error
	if _, alone := x.agent.(*TypedChatModelAgent[M]); !alone || x.flow != nil {
		if err = setInput(d, x.run.input); err == nil {
			d.History, err = saveItems(x, x.lane.own())
		}
	}
	var sealed []byte
	if err == nil {
		sealed, err = d.seal()
	}
	if err != nil {
		return fmt.Errorf("agent tool '%s': saving its run: %w", x.name, err)
	}
	return tool.CompositeInterrupt(c.ctx, "agent tool interrupt", sealed, signalOf(c.last))
}
