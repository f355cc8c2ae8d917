package adk

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/weftgo/weft/schema"
)

// chatAgent is a chat model agent as [TypedChatModelAgent] sees it.
type chatAgent[M MessageType] interface {
	starter[M]
	name() string
	description() string
	launch(ctx context.Context, do assignment[M]) *AsyncIterator[*TypedAgentEvent[M]]
	resume(ctx context.Context, info *ResumeInfo, opts []AgentRunOption) *AsyncIterator[*TypedAgentEvent[M]]
	// hooksBeforeAgent reports whether code of users runs before the run itself.
	hooksBeforeAgent() bool
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
	switch a.conf.Exit.(type) {
	case ExitTool, *ExitTool:
		compileArguments[exitArguments]()
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

// plan returns the compiled agent. A failure is not kept: a tool that could not tell its info now may do so for the
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
func defaultGenModelInput[M MessageType](ctx context.Context, instruction string, input *TypedAgentInput[M]) ([]M, error) {
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
	// Not with a chat template, which would tell the callback handlers of the agent that it starts and ends.
	formatted, err := schema.SystemMessage(instruction).Format(ctx, GetSessionValues(ctx), schema.FString)
	if err != nil {
		return "", fmt.Errorf("defaultGenModelInput: failed to format instruction using FString template: %w "+
			"(the instruction is a template because the session has values; "+
			"if its braces mean something else, double them or set GenModelInput)", err)
	}
	return formatted[0].Content, nil
}
