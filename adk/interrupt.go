package adk

import (
	"context"

	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/schema"
)

// Address is the path of running code from the root of the run: a slice of [AddressSegment]. Its String joins the
// segments, such as "agent:travel;tool:book_hotel:call_1".
//
//   - Equals: reports whether two addresses are the same
//   - String: joins the segments
type Address = core.Address

// AddressSegment is one element of an [Address]: the Type of a thing, its ID among its siblings, and a SubID that tells
// apart several runs of it, such as the calls of one tool.
//
//   - Type: what is named: an agent, a tool call, a node
//   - ID: its name among its siblings
//   - SubID: which of several runs of it, such as the calls of one tool
type AddressSegment = core.AddressSegment

// AddressSegmentType says what a segment names.
type AddressSegmentType = core.AddressSegmentType

const (
	// AddressSegmentAgent is an agent, by its name.
	AddressSegmentAgent AddressSegmentType = "agent"
	// AddressSegmentTool is a tool call: the name of the tool and the ID of the call.
	AddressSegmentTool AddressSegmentType = "tool"
)

// AppendAddressSegment returns a context for something that the running code runs itself, so that interrupts in it
// have an address of their own.
func AppendAddressSegment(ctx context.Context, segType AddressSegmentType, segID string) context.Context {
	return core.AppendAddressSegment(ctx, segType, segID, "")
}

// InterruptCtx is one interrupt point of a run, with the points around it as parents. It has the ID that
// an answer is keyed by, the Address, the Info that was given with the interrupt, IsRootCause (true for the point that
// asked, false for what is around it), and the Parent, nil for the outermost one.
//
//   - ID: what an answer is keyed by (ResumeParams.Targets of adk, ResumeWithData of compose)
//   - Address: where in the run it is
//   - Info: what was given with the interrupt, for the person or program that answers
//   - IsRootCause: true for the point that asked, false for what is around it
//   - Parent: the point around it, nil for the outermost one
//   - EqualsWithoutID: compares all but the IDs
type InterruptCtx = core.InterruptCtx

// InterruptSignal is the tree of interrupts of a run.
//
//   - ID: of the interrupt point
//   - Address: where it is
//   - InterruptInfo: what was given with the interrupt
//   - InterruptState: what is kept for the resume
//   - Subs: the interrupts inside
//   - Error, String: the text
type InterruptSignal = core.InterruptSignal

// InterruptInfo says why a run stopped.
type InterruptInfo struct {
	// Data is the information that the interrupted agent gives about it.
	Data any
	// InterruptContexts are the root causes, with IDs to resume them by.
	InterruptContexts []*InterruptCtx
}

// ResumeInfo is passed to an agent when its run is resumed.
type ResumeInfo struct {
	EnableStreaming bool
	// InterruptInfo has the Data of the agent's own interrupt, if it is a custom agent, and no InterruptContexts.
	*InterruptInfo
	// WasInterrupted is true for an agent that was interrupted itself, InterruptState is what it left then.
	WasInterrupted bool
	InterruptState any
	// IsResumeTarget is true for an agent that the caller resumes, or something in it. ResumeData is for exactly
	// this agent.
	IsResumeTarget bool
	ResumeData     any
	// ImplicitResume is true if the caller named no interrupt point at all.
	ImplicitResume bool
}

// Interrupt makes the event with which an agent stops its run so that it can continue later. info says why, for the
// user.
func Interrupt(ctx context.Context, info any) *AgentEvent {
	return TypedInterrupt[*schema.Message](ctx, info)
}

// StatefulInterrupt is [Interrupt] with a state that the agent gets back when it is resumed. Its type must be
// registered: see schema.RegisterName.
func StatefulInterrupt(ctx context.Context, info any, state any) *AgentEvent {
	return TypedStatefulInterrupt[*schema.Message](ctx, info, state)
}

// CompositeInterrupt is [StatefulInterrupt] for an agent that was interrupted because others in it were. Without
// signals of others it is the interrupt of the agent itself.
func CompositeInterrupt(ctx context.Context, info any, state any, subInterruptSignals ...*InterruptSignal) *AgentEvent {
	return TypedCompositeInterrupt[*schema.Message](ctx, info, state, subInterruptSignals...)
}

// TypedInterrupt is [Interrupt] for any kind of message.
func TypedInterrupt[M MessageType](ctx context.Context, info any) *TypedAgentEvent[M] {
	return TypedCompositeInterrupt[M](ctx, info, nil)
}

// TypedStatefulInterrupt is [StatefulInterrupt] for any kind of message.
func TypedStatefulInterrupt[M MessageType](ctx context.Context, info any, state any) *TypedAgentEvent[M] {
	return TypedCompositeInterrupt[M](ctx, info, state)
}

// TypedCompositeInterrupt is [CompositeInterrupt] for any kind of message.
func TypedCompositeInterrupt[M MessageType](
	ctx context.Context, info any, state any, subInterruptSignals ...*InterruptSignal,
) *TypedAgentEvent[M] {
	signal, err := core.Interrupt(ctx, info, state, subInterruptSignals)
	if err != nil {
		return &TypedAgentEvent[M]{Err: err}
	}
	return &TypedAgentEvent[M]{Action: &AgentAction{
		Interrupted: &InterruptInfo{InterruptContexts: interruptContexts(signal)},
		signal:      signal,
	}}
}

// interruptContexts are the root causes of a signal, with addresses of agents and tools.
func interruptContexts(signal *InterruptSignal) []*InterruptCtx {
	return core.ToInterruptContexts(signal, []AddressSegmentType{AddressSegmentAgent, AddressSegmentTool})
}

// FromInterruptContexts makes one tree of interrupt points out of their root causes, nil of none.
func FromInterruptContexts(contexts []*InterruptCtx) *InterruptSignal {
	return core.FromInterruptContexts(contexts)
}

// WorkflowInterruptInfo is the Data of the interrupt of a workflow agent.
type WorkflowInterruptInfo struct {
	OrigInput *AgentInput
	// SequentialInterruptIndex is the sub-agent that stopped a sequence or loop, and SequentialInterruptInfo what it said.
	SequentialInterruptIndex int
	SequentialInterruptInfo  *InterruptInfo
	// LoopIterations counts the rounds of a loop before this one.
	LoopIterations int
	// ParallelInterruptInfo has what each of the sub-agents said that stopped at the same time, by its place.
	ParallelInterruptInfo map[int]*InterruptInfo
}
