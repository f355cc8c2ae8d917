package compose

import (
	"context"
	"errors"
	"fmt"

	"github.com/weftgo/weft/internal/core"
)

// AddressSegmentType says what a segment of an [Address] names.
type AddressSegmentType = core.AddressSegmentType

// The segments that graphs make.
const (
	// AddressSegmentNode is a node, by its key.
	AddressSegmentNode AddressSegmentType = "node"
	// AddressSegmentTool is a tool call: the name of the tool and the ID of the call.
	AddressSegmentTool AddressSegmentType = "tool"
	// AddressSegmentMiddleware is a tool middleware that has a name, by that, below the call.
	AddressSegmentMiddleware AddressSegmentType = "middleware"
	// AddressSegmentRunnable is a graph that is called on its own, by its name. A nested graph has none.
	AddressSegmentRunnable AddressSegmentType = "runnable"
)

// Address is the path of running code from the root of the run: a slice of [AddressSegment]. Its String joins the
// segments, such as "agent:travel;tool:book_hotel:call_1".
//
//   - Equals: reports whether two addresses are the same
//   - String: joins the segments
type Address = core.Address

// AddressSegment is one element of an [Address]: the Type of a thing, its ID among its siblings, and a SubID that
// distinguishes several runs of it, such as the calls of one tool.
//
//   - Type: what is named: an agent, a tool call, a node
//   - ID: its name among its siblings
//   - SubID: which of several runs of it, such as the calls of one tool
type AddressSegment = core.AddressSegment

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

// InterruptInfo says what was continuing when a graph was interrupted.
type InterruptInfo struct {
	// State is a copy of the graph's state, nil without one.
	State any
	// BeforeNodes and AfterNodes are the nodes of [WithInterruptBeforeNodes] and [WithInterruptAfterNodes] that
	// caused the interrupt; AfterNodes also has the nodes that finished when an interrupt came from outside.
	BeforeNodes, AfterNodes []string
	// RerunNodes are the nodes that will run again: those that asked for the interrupt or were given up.
	RerunNodes []string
	// RerunNodesExtra has what the nodes said when they asked for it. It is never nil.
	RerunNodesExtra map[string]any
	// SubGraphs has the nested graphs that were interrupted. It is never nil.
	SubGraphs map[string]*InterruptInfo
	// InterruptContexts are the root causes, with IDs to resume them by. Only the root graph's info has them.
	InterruptContexts []*InterruptCtx
	// CheckPointID is the ID that the run was saved under: with it as [WithCheckPointID] the run continues. It is empty if
	// the run was not saved, and in the infos of nested graphs.
	CheckPointID string
}

// InterruptAndRerun makes a node run again when the run is resumed.
//
// Deprecated: use [Interrupt], which can also say why.
var InterruptAndRerun = core.ErrInterruptAndRerun

// ExtractInterruptInfo returns the info of the error that an interrupted run ended with.
func ExtractInterruptInfo(err error) (info *InterruptInfo, existed bool) {
	var root *interruptError
	if errors.As(err, &root) {
		return root.info, true
	}
	var nested *nestedInterrupt
	if errors.As(err, &nested) {
		return nested.info, true
	}
	return nil, false
}

// IsInterruptRerunError reports whether err, returned by a node or a tool, asks for an interrupt, and what it says.
func IsInterruptRerunError(err error) (any, bool) { return core.IsInterruptRerunError(err) }

// Interrupt makes the error with which a node or tool stops the run so that it can continue later; the node or tool is
// run again then. info is for the user and is not stored.
func Interrupt(ctx context.Context, info any) error { return StatefulInterrupt(ctx, info, nil) }

// StatefulInterrupt is [Interrupt] with a state that is stored and found with [GetInterruptState] when the node or
// tool runs again. Its type must be registered: see schema.RegisterName.
func StatefulInterrupt(ctx context.Context, info any, state any) error {
	signal, err := core.Interrupt(ctx, info, state, nil)
	if err != nil {
		return err
	}
	return signal
}

// CompositeInterrupt is [StatefulInterrupt] for code that runs several things of its own, some of which returned
// errors that ask for an interrupt: errs. Any other error in errs makes the result an ordinary error.
func CompositeInterrupt(ctx context.Context, info any, state any, errs ...error) error {
	return core.CompositeInterrupt(ctx, "composite interrupt but one of the sub error is not interrupt and rerun error",
		info, state, errs...)
}

// NewInterruptAndRerunErr makes an interrupt error without a context.
//
// Deprecated: use [Interrupt].
func NewInterruptAndRerunErr(extra any) error { return core.NewInterruptAndRerun(extra) }

// WrapInterruptAndRerunIfNeeded notes the address of an interrupt that was made without one: ctx's with step added.
// Interrupts that have an address are returned as they are; any other error is wrapped into one that says so.
func WrapInterruptAndRerunIfNeeded(ctx context.Context, step AddressSegment, err error) error {
	var addressed *core.AddressedError
	if errors.As(err, &addressed) {
		return err
	}
	var signal *core.InterruptSignal
	if errors.As(err, &signal) && signal.Address != nil {
		return err
	}
	if signal == nil && !errors.Is(err, InterruptAndRerun) {
		return fmt.Errorf("failed to wrap error as addressed InterruptAndRerun: %w", err)
	}
	return &core.AddressedError{Address: append(GetCurrentAddress(ctx), step), Err: err}
}

// GetInterruptState returns whether the running code was interrupted in the run that is being resumed, and the state
// it left. hasState is true only for a non-nil state of type T.
func GetInterruptState[T any](ctx context.Context) (wasInterrupted bool, hasState bool, state T) {
	return core.GetInterruptState[T](ctx)
}

// GetResumeContext returns whether the caller resumes the running code, or something in it, and the data for exactly
// this code. Code that was interrupted and is not resumed should interrupt again.
func GetResumeContext[T any](ctx context.Context) (isResumeFlow bool, hasData bool, data T) {
	return core.GetResumeContext[T](ctx)
}

// GetCurrentAddress returns the address of the running code, nil outside a run.
func GetCurrentAddress(ctx context.Context) Address { return core.GetCurrentAddress(ctx) }

// AppendAddressSegment returns a context for something that the running code runs itself, so that interrupts in it
// have an address of their own.
func AppendAddressSegment(ctx context.Context, segType AddressSegmentType, segID string) context.Context {
	return core.AppendAddressSegment(ctx, segType, segID, "")
}

// Resume returns a context that resumes the interrupts with the given IDs, without data. Calls add up.
func Resume(ctx context.Context, interruptIDs ...string) context.Context {
	data := make(map[string]any, len(interruptIDs))
	for _, id := range interruptIDs {
		data[id] = nil
	}
	return core.BatchResumeWithData(ctx, data)
}

// ResumeWithData returns a context that resumes one interrupt with data for the code that asked for it.
func ResumeWithData(ctx context.Context, interruptID string, data any) context.Context {
	return core.BatchResumeWithData(ctx, map[string]any{interruptID: data})
}

// BatchResumeWithData is [ResumeWithData] for several interrupts, by ID.
func BatchResumeWithData(ctx context.Context, resumeData map[string]any) context.Context {
	return core.BatchResumeWithData(ctx, resumeData)
}
