package adk

import (
	"context"

	"github.com/weftgo/weft/internal/core"
)

// Address is the path of running code from the root of the run.
type Address = core.Address

// AddressSegment is one element of an [Address].
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

// InterruptCtx is one interrupt point of a run, with the points around it as parents.
type InterruptCtx = core.InterruptCtx

// InterruptSignal is the tree of interrupts of a run.
type InterruptSignal = core.InterruptSignal

// InterruptInfo says why a run stopped.
type InterruptInfo struct {
	// Data is what the interrupted agent says about it.
	Data any
	// InterruptContexts are the root causes, with IDs to resume them by.
	InterruptContexts []*InterruptCtx
}

// ResumeInfo is what an agent is told when its run is resumed.
type ResumeInfo struct {
	EnableStreaming bool
	*InterruptInfo
	// WasInterrupted is true for an agent that was interrupted itself, InterruptState is what it left then.
	WasInterrupted bool
	InterruptState any
	// IsResumeTarget is true for an agent that the caller resumes, or something in it. ResumeData is for exactly
	// this agent.
	IsResumeTarget bool
	ResumeData     any
}
