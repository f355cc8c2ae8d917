package adk

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/schema"
)

// ErrExceedMaxIterations ends a run, wrapped, whose model still calls tools when no iteration is left.
var ErrExceedMaxIterations = errors.New("exceeds max iterations")

// defaultMaxIterations is the number of times that an agent with tools may call its model.
const defaultMaxIterations = 20

// ToolsConfig says what tools an agent has.
type ToolsConfig struct {
	compose.ToolsNodeConfig
	// ReturnDirectly has the names of tools whose result ends the run, instead of another answer of the model.
	// Entries that are false do not count. If a message calls several of them, the first call counts.
	ReturnDirectly map[string]bool
	// EmitInternalEvents adds the events of agents that run as tools (see [NewAgentTool]) to the events of this agent.
	EmitInternalEvents bool
	// EagerExecution starts a tool as soon as its arguments have come, while the model still streams. It has an effect
	// in runs with streaming only. A tool may have run for an answer that is rejected afterwards, by a retry for
	// example: its context is cancelled then and its result dropped, but what it has done is done. In runs that are
	// saved at [EveryStep] it is for tools that are an [IdempotentTool].
	EagerExecution bool
	// ReportMistakes shows a model its mistakes, as the results of the calls, for it to try again: calls of tools that do
	// not exist, arguments that do not fit, transfers to agents that do not exist. Tools made by components/tool/utils
	// hold their arguments against their schema then, and apply its defaults. The default is false: each of these is a
	// [ModelMistake] that ends the run, and tools take what they can decode. An UnknownToolsHandler answers its calls
	// itself.
	ReportMistakes bool
	// MaxMistakes limits the answers in a row that are reported, of which every call is a mistake; one good call counts
	// from the start again. A mistake in the answer after them is a [ModelMistake] that ends the run. Default 3.
	MaxMistakes int
}

// TypedGenModelInput makes the messages of the first model call of a run.
type TypedGenModelInput[M MessageType] func(ctx context.Context, instruction string, input *TypedAgentInput[M]) ([]M, error)

// GenModelInput is the function for ordinary messages.
type GenModelInput = TypedGenModelInput[*schema.Message]

// TypedChatModelAgentConfig configures a [TypedChatModelAgent].
type TypedChatModelAgentConfig[M MessageType] struct {
	// Name and Description identify the agent in events, in callbacks and to other agents.
	Name, Description string
	// Instruction is the system prompt; none if empty. See GenModelInput.
	Instruction string
	// Model answers. Required. It gets the tools with each call (model.WithTools).
	Model model.BaseModel[M]
	// ToolsConfig has the tools that the model may call.
	ToolsConfig ToolsConfig
	// GenModelInput replaces how a run's first messages are made. The default puts the instruction, as a system
	// message, in front of the input. For ordinary messages it formats the instruction as an f-string with the
	// session values, if there are any: {Name} becomes the value of Name, and braces of other meaning must be doubled.
	GenModelInput TypedGenModelInput[M]
	// Exit is a tool that ends the run with its result, such as [ExitTool].
	Exit tool.BaseTool
	// OutputKey, if not empty, is the session value that a successful run leaves the text of its last message in.
	OutputKey string
	// MaxIterations limits the turns of the model in a run of an agent with tools, or with a middleware that judges
	// final answers. Retries do not count. Default 20.
	MaxIterations int
	// SharedIterations has MaxIterations, if the run begins with this agent, limit the turns of all agents together that it
	// is handed over to. Each keeps its own limit as well. Default false: each has its own alone, every time it gets the
	// run.
	SharedIterations bool
	// Middlewares and Handlers change how the agent works.
	Middlewares []AgentMiddleware
	Handlers    []TypedChatModelAgentMiddleware[M]
	// ModelRetryConfig and ModelFailoverConfig, if not nil, say what happens when a call of the model fails.
	ModelRetryConfig    *TypedModelRetryConfig[M]
	ModelFailoverConfig *ModelFailoverConfig[M]
}

// ChatModelAgentConfig configures a [ChatModelAgent].
//
// Its fields, which are documented at [TypedChatModelAgentConfig]:
//
//   - Name, Description: identify the agent in events and to other agents
//   - Instruction: the system prompt; a template as soon as the session has values
//   - Model: answers; required
//   - ToolsConfig: the tools that the model may call; see [ToolsConfig]
//   - GenModelInput: replaces how the first messages are made
//   - Exit: a tool that ends the run, such as [ExitTool]
//   - OutputKey: the session value that the last text is left in
//   - MaxIterations: how many turns the model has in a run; default 20
//   - SharedIterations: MaxIterations is the limit of all agents that the run is handed over to, together
//   - Middlewares: change how the agent works, by functions; see [AgentMiddleware]
//   - Handlers: change how the agent works, by hooks; see [ChatModelAgentMiddleware]
//   - ModelRetryConfig: when a failed call of the model is tried again; see [ModelRetryConfig]
//   - ModelFailoverConfig: which model is called when one fails; see [ModelFailoverConfig]
type ChatModelAgentConfig = TypedChatModelAgentConfig[*schema.Message]

// TypedChatModelAgent lets a model answer, runs the tools that it calls, and calls it again with the results until it
// calls no more (ReAct, https://arxiv.org/abs/2210.03629). It is safe for concurrent use: runs share nothing that
// changes. It is made by [NewTypedChatModelAgent].
type TypedChatModelAgent[M MessageType] struct{ agent chatAgent[M] }

// ChatModelAgent is the agent on ordinary messages.
//
// Its methods, which are documented at [TypedChatModelAgent]:
//
//   - Name, Description: return what was configured
//   - GetType: returns "ChatModel"
//   - Run: starts a run and returns its events; a [Runner] does so with checkpoints and a session
//   - Resume: continues an interrupted run
//   - OnSetSubAgents, OnSetAsSubAgent, OnDisallowTransferToParent: called by [SetSubAgents] and [AgentWithOptions]
type ChatModelAgent = TypedChatModelAgent[*schema.Message]

// NewChatModelAgent makes an agent on ordinary messages. config and its slices may be changed afterwards.
func NewChatModelAgent(ctx context.Context, config *ChatModelAgentConfig) (*ChatModelAgent, error) {
	return NewTypedChatModelAgent(ctx, config)
}

// NewTypedChatModelAgent is [NewChatModelAgent] for any kind of message.
func NewTypedChatModelAgent[M MessageType](
	_ context.Context, config *TypedChatModelAgentConfig[M],
) (*TypedChatModelAgent[M], error) {
	agent, err := runtimeOf[M]().newAgent(config)
	if err != nil {
		return nil, err
	}
	return &TypedChatModelAgent[M]{agent}, nil
}

// Name returns the configured name.
func (a *TypedChatModelAgent[M]) Name(_ context.Context) string { return a.made().name() }

// Description returns the configured description.
func (a *TypedChatModelAgent[M]) Description(_ context.Context) string { return a.made().description() }

// GetType returns "ChatModel".
func (a *TypedChatModelAgent[M]) GetType() string { return "ChatModel" }

// OnSetSubAgents sets the agents to which the agent can hand a run over. It must be called before the first run.
func (a *TypedChatModelAgent[M]) OnSetSubAgents(_ context.Context, subAgents []TypedAgent[M]) error {
	return a.made().setSubAgents(subAgents)
}

// OnSetAsSubAgent sets the agent which the agent can hand a run back to. It must be called before the first run.
func (a *TypedChatModelAgent[M]) OnSetAsSubAgent(_ context.Context, parent TypedAgent[M]) error {
	return a.made().setParent(parent)
}

// OnDisallowTransferToParent takes the way back away. It must be called before the first run.
func (a *TypedChatModelAgent[M]) OnDisallowTransferToParent(_ context.Context) error {
	return a.made().disallowTransferToParent()
}

// Run starts a run. See [TypedAgent]. BeforeAgent hooks are called before it returns. To stop a run, cancel ctx.
func (a *TypedChatModelAgent[M]) Run(
	ctx context.Context, input *TypedAgentInput[M], opts ...AgentRunOption,
) *AsyncIterator[*TypedAgentEvent[M]] {
	return a.made().launch(ctx, assignment[M]{input: input, opts: opts})
}

// Resume continues an interrupted run. info must have what the run left: see [ChatModelAgentInterruptInfo]. The
// streaming mode is taken from info, and GenModelInput is not called again.
func (a *TypedChatModelAgent[M]) Resume(
	ctx context.Context, info *ResumeInfo, opts ...AgentRunOption,
) *AsyncIterator[*TypedAgentEvent[M]] {
	return a.made().resume(ctx, info, opts)
}

// begin makes it a starter.
func (a *TypedChatModelAgent[M]) begin(ctx context.Context, do assignment[M]) task {
	return a.made().begin(ctx, do)
}

// made returns the agent. If there is none, it panics with advice on how to make one, which runners, workflows and tools
// turn into an error.
func (a *TypedChatModelAgent[M]) made() chatAgent[M] {
	if a == nil || a.agent == nil {
		panic("adk: a ChatModelAgent is made by NewChatModelAgent or NewTypedChatModelAgent; this one is a nil pointer or a zero value")
	}
	return a.agent
}

// chatAgent is a chat model agent as [TypedChatModelAgent] sees it.
type chatAgent[M MessageType] interface {
	starter[M]
	name() string
	description() string
	launch(ctx context.Context, do assignment[M]) *AsyncIterator[*TypedAgentEvent[M]]
	resume(ctx context.Context, info *ResumeInfo, opts []AgentRunOption) *AsyncIterator[*TypedAgentEvent[M]]
	// hooksBeforeAgent reports whether code of users runs before the run itself.
	hooksBeforeAgent() bool
	// runsInLoop reports whether a run of it needs no goroutine of its own.
	runsInLoop() bool
	setSubAgents(agents []TypedAgent[M]) error
	setParent(agent TypedAgent[M]) error
	disallowTransferToParent() error
	joinFlow()
}

// chatModelAgent is the agent itself.
type chatModelAgent[M MessageType] struct {
	conf     TypedChatModelAgentConfig[M]
	handlers *handlerSet[M]
	// ownInput: what GenModelInput returns is the run's alone, with room to grow.
	ownInput bool
	// prepared is the compiled agent, made by the first run that succeeds to.
	prepared atomic.Pointer[agentPlan[M]]
	family   family[M]
}

// family is the agents around an agent, to which it can hand a run over. It is fixed by the first run.
type family[M MessageType] struct {
	mu            sync.Mutex // guards all fields
	frozen        bool
	subAgents     []TypedAgent[M]
	subAgentsSet  bool
	parent        TypedAgent[M]
	noWayToParent bool
	// ofFlow: the agents were set by [SetSubAgents], so that only the agent that it returned can hand a run over.
	ofFlow bool
}

func (compiled[M]) newAgent(config *TypedChatModelAgentConfig[M]) (chatAgent[M], error) {
	if config == nil {
		return nil, errors.New("agent config is nil")
	}
	if failover := config.ModelFailoverConfig; failover != nil {
		switch {
		case failover.GetFailoverModel == nil:
			return nil, errors.New("ModelFailoverConfig.GetFailoverModel is required when ModelFailoverConfig is set")
		case failover.ShouldFailover == nil:
			return nil, errors.New("ModelFailoverConfig.ShouldFailover is required when ModelFailoverConfig is set")
		}
	}
	if config.Model == nil {
		return nil, errors.New("agent 'Model' is required")
	}
	a := &chatModelAgent[M]{conf: *config}
	a.conf.ToolsConfig.Tools = slices.Clone(config.ToolsConfig.Tools)
	a.conf.ToolsConfig.ToolCallMiddlewares = slices.Clone(config.ToolsConfig.ToolCallMiddlewares)
	a.conf.ToolsConfig.ReturnDirectly = maps.Clone(config.ToolsConfig.ReturnDirectly)
	a.conf.Middlewares = slices.Clone(config.Middlewares)
	a.conf.Handlers = slices.Clone(config.Handlers)
	if a.conf.MaxIterations <= 0 {
		a.conf.MaxIterations = defaultMaxIterations
	}
	if a.conf.GenModelInput == nil {
		a.conf.GenModelInput = defaultGenModelInput[M]
		a.ownInput = true
	} else {
		a.conf.GenModelInput = stoppableInput(a.conf.GenModelInput)
	}
	if exit, ok := a.conf.Exit.(interface{ compile() }); ok {
		exit.compile()
	}
	var err error
	a.handlers, err = newHandlerSet(a.conf.Middlewares, a.conf.Handlers)
	return a, err
}

func (a *chatModelAgent[M]) name() string { return a.conf.Name }

func (a *chatModelAgent[M]) description() string { return a.conf.Description }

func (a *chatModelAgent[M]) hooksBeforeAgent() bool { return len(a.handlers.beforeAgent) > 0 }

func (a *chatModelAgent[M]) launch(ctx context.Context, do assignment[M]) *AsyncIterator[*TypedAgentEvent[M]] {
	return launch(ctx, a, do)
}

var errFrozen = errors.New("agent has been frozen after run")

func (a *chatModelAgent[M]) setSubAgents(subAgents []TypedAgent[M]) error {
	return a.family.change(func(f *family[M]) error {
		if f.subAgentsSet {
			return errors.New("agent's sub-agents has already been set")
		}
		f.subAgentsSet, f.subAgents = true, slices.Clone(subAgents)
		compileArguments[transferArguments]()
		return nil
	})
}

func (a *chatModelAgent[M]) setParent(parent TypedAgent[M]) error {
	return a.family.change(func(f *family[M]) error {
		if f.parent != nil {
			return errors.New("agent has already been set as a sub-agent of another agent")
		}
		f.parent = parent
		return nil
	})
}

func (a *chatModelAgent[M]) disallowTransferToParent() error {
	return a.family.change(func(f *family[M]) error {
		f.noWayToParent = true
		return nil
	})
}

func (f *family[M]) change(how func(*family[M]) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.frozen {
		return errFrozen
	}
	return how(f)
}

func (f *family[M]) isOfFlow() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ofFlow
}

// joinFlow notes that the agents around the agent were set by [SetSubAgents].
func (a *chatModelAgent[M]) joinFlow() {
	a.family.mu.Lock()
	defer a.family.mu.Unlock()
	a.family.ofFlow = true
}

// freeze ends the time for changes and returns whom the agent can hand a run over to.
func (f *family[M]) freeze() []TypedAgent[M] {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.frozen = true
	targets := slices.Clone(f.subAgents)
	if f.parent != nil && !f.noWayToParent {
		targets = append(targets, f.parent)
	}
	return targets
}

// plan returns the compiled agent. A failure is not kept: a tool that could not return its info now may do so for the
// next run.
func (a *chatModelAgent[M]) plan(ctx context.Context) (*agentPlan[M], error) {
	if p := a.prepared.Load(); p != nil {
		return p, nil
	}
	p, err := newAgentPlan(ctx, a)
	if err != nil {
		return nil, err
	}
	a.prepared.CompareAndSwap(nil, p)
	return a.prepared.Load(), nil
}

// defaultGenModelInput puts the instruction in front of the input.
func defaultGenModelInput[M MessageType](
	ctx context.Context, instruction string, input *TypedAgentInput[M],
) ([]M, error) {
	messages := make([]M, 0, len(input.Messages)+1+historyRoom)
	if instruction != "" {
		instruction, err := formatInstruction[M](ctx, instruction)
		if err != nil {
			return nil, err
		}
		messages = append(messages, opsOf[M]().system(instruction))
	}
	return append(messages, input.Messages...), nil
}

// formatInstruction fills in session values, for ordinary messages.
func formatInstruction[M MessageType](ctx context.Context, instruction string) (string, error) {
	var m M
	if _, ordinary := any(m).(*schema.Message); !ordinary || sessionFrom(ctx).empty() {
		return instruction, nil
	}
	// Not with a chat template, which would call the callback handlers of the agent at its start and end.
	formatted, err := schema.SystemMessage(instruction).Format(ctx, GetSessionValues(ctx), schema.FString)
	if err != nil {
		return "", fmt.Errorf("defaultGenModelInput: failed to format instruction using FString template: %w "+
			"(the instruction is a template because the session has values; "+
			"if its braces mean something else, double them or set GenModelInput)", err)
	}
	return formatted[0].Content, nil
}

// agentPlan is an agent made ready to run, at its first run. It is shared by all runs.
type agentPlan[M MessageType] struct {
	agent          *chatModelAgent[M]
	instruction    string
	tools          []tool.BaseTool
	returnDirectly map[string]bool
	// middlewares wrap every tool call, the first one outermost.
	middlewares []compose.ToolMiddleware
	// graph is for the tools above; derived is the last one that was made for other tools.
	graph   *reactGraph[M]
	derived atomic.Pointer[reactGraph[M]]
}

func newAgentPlan[M MessageType](ctx context.Context, a *chatModelAgent[M]) (*agentPlan[M], error) {
	conf := &a.conf
	p := &agentPlan[M]{
		agent:          a,
		tools:          slices.Clip(conf.ToolsConfig.Tools),
		returnDirectly: maps.Clone(conf.ToolsConfig.ReturnDirectly),
		middlewares:    toolMiddlewares(conf, a.handlers),
	}
	if p.returnDirectly == nil {
		p.returnDirectly = map[string]bool{}
	}
	instructions := []string{conf.Instruction}
	if targets := a.family.freeze(); len(targets) > 0 {
		p.tools = append(p.tools, &transferTool[M]{a, targets})
		p.returnDirectly[TransferToAgentToolName] = true
		instructions = append(instructions, transferInstruction(ctx, targets))
	}
	if conf.Exit != nil {
		info, err := toolInfo(ctx, conf.Exit)
		if err != nil {
			return nil, fmt.Errorf("exit tool: %w", err)
		}
		p.tools = append(p.tools, conf.Exit)
		p.returnDirectly[info.Name] = true
	}
	for _, m := range conf.Middlewares {
		p.tools = append(p.tools, m.AdditionalTools...)
		instructions = append(instructions, m.AdditionalInstruction)
	}
	instructions = slices.DeleteFunc(instructions, func(s string) bool { return s == "" })
	p.instruction = strings.Join(instructions, "\n\n")
	var err error
	p.graph, err = newReactGraph(ctx, p, p.tools)
	return p, err
}

// toolMiddlewares returns all that wraps tool calls, from the outside in: [outerToolCall], the middlewares of the configuration,
// and [innerToolCall].
func toolMiddlewares[M MessageType](
	conf *TypedChatModelAgentConfig[M], handlers *handlerSet[M],
) []compose.ToolMiddleware {
	all := []compose.ToolMiddleware{compose.InternalToolMiddleware(
		func(form compose.InternalToolForm, next compose.ToolCallEndpoint) compose.ToolCallEndpoint {
			return outerToolCall[M](form, !handlers.toolSender, next)
		})}
	all = append(all, conf.ToolsConfig.ToolCallMiddlewares...)
	for _, m := range conf.Middlewares {
		all = append(all, m.WrapToolCall)
	}
	return append(all, compose.InternalToolMiddleware(
		func(form compose.InternalToolForm, next compose.ToolCallEndpoint) compose.ToolCallEndpoint {
			if !handlers.wrapsToolCalls() {
				return innerToolCall[M](form, nil, next)
			}
			return innerToolCall[M](form, func(call compose.ToolCallEndpoint) compose.ToolCallEndpoint {
				return hookedTool(handlers, form, call)
			}, next)
		}))
}

// graphFor returns the graph for the tools of a run. Runs that change the tools in the same way share one.
func (p *agentPlan[M]) graphFor(ctx context.Context, tools []tool.BaseTool) (*reactGraph[M], error) {
	if sameTools(tools, p.graph.tools) {
		return p.graph, nil
	}
	if d := p.derived.Load(); d != nil && sameTools(tools, d.tools) {
		return d, nil
	}
	g, err := newReactGraph(ctx, p, tools)
	if err != nil {
		return nil, err
	}
	p.derived.Store(g)
	return g, nil
}

// sameTools reports whether both lists hold the same instances. Tools that cannot be compared never count as the same.
func sameTools(a, b []tool.BaseTool) bool {
	return slices.EqualFunc(a, b, func(x, y tool.BaseTool) bool { return safe.Same(x, y) })
}

func toolInfos(ctx context.Context, tools []tool.BaseTool) ([]*schema.ToolInfo, error) {
	infos := make([]*schema.ToolInfo, 0, len(tools))
	for i, t := range tools {
		info, err := toolInfo(ctx, t)
		if err != nil {
			return nil, fmt.Errorf("tool at index %d: %w", i, err)
		}
		infos = append(infos, info)
	}
	return infos, nil
}

// lastOfEachName returns what the model is shown: of several tools with one name the last one is called, and providers
// refuse to be shown two. shadowed has the last one for each of the others, by their places.
func lastOfEachName(infos []*schema.ToolInfo) (shown []*schema.ToolInfo, shadowed map[int]int) {
	last := make(map[string]int, len(infos))
	for i, info := range infos {
		last[info.Name] = i
	}
	if len(last) == len(infos) {
		return infos, nil
	}
	shadowed = map[int]int{}
	for i, info := range infos {
		if j := last[info.Name]; j == i {
			shown = append(shown, info)
		} else {
			shadowed[i] = j
		}
	}
	return shown, shadowed
}

func toolInfo(ctx context.Context, t tool.BaseTool) (info *schema.ToolInfo, err error) {
	if t == nil {
		return nil, errors.New("the tool is nil")
	}
	defer blame("Info", &err)
	info, err = t.Info(ctx)
	if err == nil && info == nil {
		err = errors.New("it returned neither an info nor an error")
	}
	return info, err
}
