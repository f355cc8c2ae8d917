package adk

import (
	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/schema"
)

// The kinds of agent that callback handlers see in RunInfo.Component.
const (
	ComponentOfAgent        components.Component = "Agent"
	ComponentOfAgenticAgent components.Component = "AgenticAgent"
)

// AgentCallbackInput is what callback handlers get at the start of an agent on ordinary messages: the input of a new
// run, or what a resumed one goes on from.
type AgentCallbackInput struct {
	Input      *AgentInput
	ResumeInfo *ResumeInfo
}

// AgentCallbackOutput is what callback handlers get when an agent on ordinary messages begins to speak: its events, a
// copy of the handler's own, to be read in a goroutine of its own.
type AgentCallbackOutput struct {
	Events *AsyncIterator[*AgentEvent]
}

// ConvAgentCallbackInput returns the input if it is that of an agent on ordinary messages, else nil.
func ConvAgentCallbackInput(input callbacks.CallbackInput) *AgentCallbackInput {
	in, _ := input.(*AgentCallbackInput)
	return in
}

// ConvAgentCallbackOutput returns the output if it is that of an agent on ordinary messages, else nil.
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
type AgenticCallbackInput = TypedAgentCallbackInput[*schema.AgenticMessage]

// AgenticCallbackOutput is the output of agents on agentic messages.
type AgenticCallbackOutput = TypedAgentCallbackOutput[*schema.AgenticMessage]

// ConvAgenticCallbackInput is [ConvTypedCallbackInput] for agentic messages.
func ConvAgenticCallbackInput(input callbacks.CallbackInput) *AgenticCallbackInput {
	return ConvTypedCallbackInput[*schema.AgenticMessage](input)
}

// ConvAgenticCallbackOutput is [ConvTypedCallbackOutput] for agentic messages.
func ConvAgenticCallbackOutput(output callbacks.CallbackOutput) *AgenticCallbackOutput {
	return ConvTypedCallbackOutput[*schema.AgenticMessage](output)
}
