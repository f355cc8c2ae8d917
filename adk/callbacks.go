package adk

import (
	"context"
	"errors"

	"github.com/weftgo/weft/adk/internal/runwatch"
	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/internal/callbacks"
	"github.com/weftgo/weft/schema"
)

// The kinds of agent that callback handlers see in RunInfo.Component.
const (
	ComponentOfAgent        components.Component = "Agent"
	ComponentOfAgenticAgent components.Component = "AgenticAgent"
)

// AgentCallbackInput is passed to callback handlers at the start of an agent on ordinary messages: the input of a new
// run, or what a resumed one continues from.
type AgentCallbackInput struct {
	Input      *AgentInput
	ResumeInfo *ResumeInfo
}

// AgentCallbackOutput is passed to callback handlers when an agent on ordinary messages begins to speak: its events, a
// copy of the handler's own, to be read in a goroutine of its own.
type AgentCallbackOutput struct {
	Events *AsyncIterator[*AgentEvent]
}

// ConvAgentCallbackInput returns the input if it belongs to an agent on ordinary messages, else nil.
func ConvAgentCallbackInput(input callbacks.CallbackInput) *AgentCallbackInput {
	in, _ := input.(*AgentCallbackInput)
	return in
}

// ConvAgentCallbackOutput returns the output if it belongs to an agent on ordinary messages, else nil.
func ConvAgentCallbackOutput(output callbacks.CallbackOutput) *AgentCallbackOutput {
	out, _ := output.(*AgentCallbackOutput)
	return out
}

// TypedAgentCallbackInput is [AgentCallbackInput] for any kind of message.
type TypedAgentCallbackInput[M MessageType] struct {
	Input      *TypedAgentInput[M]
	ResumeInfo *ResumeInfo
}

// TypedAgentCallbackOutput is [AgentCallbackOutput] for any kind of message.
type TypedAgentCallbackOutput[M MessageType] struct {
	Events *AsyncIterator[*TypedAgentEvent[M]]
}

// ConvTypedCallbackInput returns the input if it is of that type, else nil.
func ConvTypedCallbackInput[M MessageType](input callbacks.CallbackInput) *TypedAgentCallbackInput[M] {
	in, _ := input.(*TypedAgentCallbackInput[M])
	return in
}

// ConvTypedCallbackOutput returns the output if it is of that type, else nil.
func ConvTypedCallbackOutput[M MessageType](output callbacks.CallbackOutput) *TypedAgentCallbackOutput[M] {
	out, _ := output.(*TypedAgentCallbackOutput[M])
	return out
}

// AgenticCallbackInput is the input of agents on agentic messages.
//
// Its fields, which are documented at [TypedAgentCallbackInput]:
//
//   - Input: what the agent is asked, nil in a resumed run
//   - ResumeInfo: what it is resumed with, nil in a new run
type AgenticCallbackInput = TypedAgentCallbackInput[*schema.AgenticMessage]

// AgenticCallbackOutput is the output of agents on agentic messages.
//
// Its fields, which are documented at [TypedAgentCallbackOutput]:
//
//   - Events: a copy of the events, to be read to its end
type AgenticCallbackOutput = TypedAgentCallbackOutput[*schema.AgenticMessage]

// ConvAgenticCallbackInput is [ConvTypedCallbackInput] for agentic messages.
func ConvAgenticCallbackInput(input callbacks.CallbackInput) *AgenticCallbackInput {
	return ConvTypedCallbackInput[*schema.AgenticMessage](input)
}

// ConvAgenticCallbackOutput is [ConvTypedCallbackOutput] for agentic messages.
func ConvAgenticCallbackOutput(output callbacks.CallbackOutput) *AgenticCallbackOutput {
	return ConvTypedCallbackOutput[*schema.AgenticMessage](output)
}

// handlers are the handlers that options add for this agent and that its context does not have yet.
func (x *execution[M]) handlers() []callbacks.Handler {
	var added *agentOptions
	for i := range x.opts {
		set, ok := x.opts[i].apply.(func(*agentOptions))
		if !ok || !x.opts[i].meant(x.name) || x.hasAbove(&x.opts[i]) {
			continue
		}
		if added == nil {
			added = new(agentOptions)
		}
		set(added)
	}
	if added == nil {
		return nil
	}
	return added.handlers
}

// hasAbove reports whether an option has added its handlers to a context that x inherits.
func (x *execution[M]) hasAbove(o *AgentRunOption) bool {
	for p := x; p.parent != nil; p = p.parent {
		if p.inherits && o.meant(p.parent.name) {
			return true
		}
	}
	return false
}

// fireStart calls the callback handlers at the start of the agent, and gives them its events to read.
func (x *execution[M]) fireStart(input *TypedAgentInput[M], resume *ResumeInfo) error {
	state := callbacks.FromContext(x.Context).Append(nil, x.handlers()...)
	if !state.Active() {
		return nil
	}
	typ, _ := components.GetType(x.agent)
	state = state.WithInfo(&callbacks.RunInfo{Name: x.name, Type: typ, Component: componentOf[M]()})
	ctx := callbacks.WithState(x, state)
	if ordinary, ok := any(x).(*execution[*schema.Message]); ok {
		in, _ := any(input).(*AgentInput)
		return fire(ordinary, ctx, &AgentCallbackInput{Input: in, ResumeInfo: resume},
			func(events *AsyncIterator[*AgentEvent]) *AgentCallbackOutput {
				return &AgentCallbackOutput{Events: events}
			})
	}
	return fire(x, ctx, &TypedAgentCallbackInput[M]{Input: input, ResumeInfo: resume},
		func(events *AsyncIterator[*TypedAgentEvent[M]]) *TypedAgentCallbackOutput[M] {
			return &TypedAgentCallbackOutput[M]{Events: events}
		})
}

// fire makes the calls with the payloads of the kind of message.
func fire[M MessageType, I, O any](
	x *execution[M], ctx context.Context, in I, output func(*AsyncIterator[*TypedAgentEvent[M]]) O,
) error {
	ctx, startErr := callbacks.FireStart(ctx, in)
	x.agentCtx = ctx
	if x.witness = runwatch.In(ctx); x.witness != nil {
		x.witness.Begin(x.pathNames())
	}
	_, endErr := callbacks.FireEndCopies(ctx, output(nil), func(_ O, n int) []O {
		outputs := make([]O, n)
		for i := range outputs {
			outputs[i] = output(x.watch())
		}
		return outputs
	})
	return errors.Join(startErr, endErr)
}

// pathNames is the path of the agent as names.
func (x *execution[M]) pathNames() []string {
	names := make([]string, len(x.path))
	for i := range x.path {
		names[i] = x.path[i].agentName
	}
	return names
}

func componentOf[M MessageType]() components.Component {
	var none M
	if _, ordinary := any(none).(*schema.Message); ordinary {
		return ComponentOfAgent
	}
	return ComponentOfAgenticAgent
}

// watch opens another reader of the agent's events.
func (x *execution[M]) watch() *AsyncIterator[*TypedAgentEvent[M]] {
	h := new(hub[M])
	x.watchers = append(x.watchers, h)
	return h.open()
}

func (x *execution[M]) closeWatchers() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, w := range x.watchers {
		w.ring.Close()
	}
	x.watchers = nil
	if x.witness != nil {
		x.witness.End()
	}
}
