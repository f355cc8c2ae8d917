package core

import (
	"context"
	"slices"
	"strings"
)

// AddressSegmentType says what kind of thing a segment of an [Address] names, for example a graph node or a tool call.
type AddressSegmentType string

// AddressSegment names one thing below its parent.
type AddressSegment struct {
	// ID names the thing among its siblings: a node key, a tool name.
	ID string
	// Type is the kind of thing.
	Type AddressSegmentType
	// SubID distinguishes several runs of the same thing, such as the calls of one tool. Usually empty.
	SubID string
}

// Address is the path from the root of a run to a running thing. It is a value: an Address given out is never changed.
type Address []AddressSegment

// String renders the address as "type:id" segments, with ":subID" where there is one, joined by ";".
func (p Address) String() string {
	if p == nil {
		return ""
	}
	var sb strings.Builder
	for i, s := range p {
		if i > 0 {
			sb.WriteByte(';')
		}
		sb.WriteString(string(s.Type))
		sb.WriteByte(':')
		sb.WriteString(s.ID)
		if s.SubID != "" {
			sb.WriteByte(':')
			sb.WriteString(s.SubID)
		}
	}
	return sb.String()
}

// Equals reports whether both addresses have the same segments.
func (p Address) Equals(other Address) bool { return slices.Equal(p, other) }

// FrameKey is the context key of the *[Frame] of the running code. A context type of its own (a graph node's, say)
// may answer it from a Frame that it embeds instead of adding another layer.
type FrameKey struct{}

// Frame is the place of running code: a segment below the parent's frame, and what a resumed run holds for exactly
// this place. Frames are immutable once they are in a context.
type Frame struct {
	parent  *Frame
	segment *AddressSegment
	// tracker is nil unless the run is a resumed one.
	tracker *tracker
	// points is the subtree of the tracker's interrupt points at this address, nil when there is none at or below it.
	points *pointTree
	entry  *entry
}

// FrameFrom returns the frame of ctx, nil outside any address. A nil ctx, which only code of users can bring, is
// outside.
func FrameFrom(ctx context.Context) *Frame {
	if ctx == nil {
		return nil
	}
	f, _ := ctx.Value(FrameKey{}).(*Frame)
	return f
}

// Enter returns the frame for segment below f (nil for the root). In a resumed run it takes what the interrupt at
// that address left behind, so that entering the same address again looks like a first visit. The segment must not
// be changed afterwards.
func (f *Frame) Enter(ctx context.Context, segment *AddressSegment) Frame {
	return f.EnterAs(ctx, segment, "")
}

// EnterAs is [Frame.Enter] for code that knows which interrupt it left: places that have the same address can be kept
// apart by that. An empty interruptID stands for any.
func (f *Frame) EnterAs(ctx context.Context, segment *AddressSegment, interruptID string) Frame {
	child := Frame{parent: f, segment: segment}
	if f == nil || f.tracker == nil {
		return child
	}
	child.tracker = f.tracker
	child.points = f.points.child(*segment)
	child.entry = child.tracker.take(child.points, targetsFrom(ctx), interruptID)
	return child
}

// EnterWhich is [Frame.Enter] for code that may be run several times at one address, with what which says of the state
// that an interrupt left: is it one of those that are kept apart, and is it of the code that is entered now. Code of
// which no state is, although there are some, is entered as one that was not interrupted.
func (f *Frame) EnterWhich(ctx context.Context, segment *AddressSegment, which func(InterruptState) (apart, this bool)) Frame {
	if f == nil || f.tracker == nil {
		return f.Enter(ctx, segment)
	}
	id, apart := f.tracker.find(f.points.child(*segment), which)
	if apart && id == "" {
		return Frame{parent: f, segment: segment}
	}
	return f.EnterAs(ctx, segment, id)
}

// EnterAround is [Frame.Enter] for code that wraps the code at f. The resume is meant for it, too, where it is meant
// for what f left, or for anything that is still open below f.
func (f *Frame) EnterAround(ctx context.Context, segment *AddressSegment) Frame {
	child := f.Enter(ctx, segment)
	if child.tracker == nil || child.entry != nil && child.entry.target {
		return child
	}
	inside := f.entry != nil && f.entry.interrupted && f.entry.target
	if inside || f.tracker.openBelow(f.points, targetsFrom(ctx)) {
		entered := entry{target: true}
		if child.entry != nil {
			entered = *child.entry
			entered.target = true
		}
		child.entry = &entered
	}
	return child
}

// Address renders the frame's path from the root. It is nil for a nil frame.
func (f *Frame) Address() Address {
	n := 0
	for p := f; p != nil; p = p.parent {
		if p.segment != nil {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	addr := make(Address, n)
	for p := f; p != nil; p = p.parent {
		if p.segment != nil {
			n--
			addr[n] = *p.segment
		}
	}
	return addr
}

// frameContext is the plain way to put a frame into a context.
type frameContext struct {
	context.Context
	frame Frame
}

func (c *frameContext) Value(key any) any {
	if _, ok := key.(FrameKey); ok {
		return &c.frame
	}
	return c.Context.Value(key)
}

// GetCurrentAddress returns the address of the running code, nil outside a run.
func GetCurrentAddress(ctx context.Context) Address { return FrameFrom(ctx).Address() }

// AppendAddressSegment returns a context one segment below ctx's address. See [Frame.Enter] for what that means in a
// resumed run.
func AppendAddressSegment(ctx context.Context, segType AddressSegmentType, segID string, subID string) context.Context {
	ctx = orBackground(ctx)
	c := &frameContext{Context: ctx}
	c.frame = FrameFrom(ctx).Enter(ctx, &AddressSegment{ID: segID, Type: segType, SubID: subID})
	return c
}

// orBackground is ctx, or the empty context for none: what code of users derives a context from.
func orBackground(ctx context.Context) context.Context {
	if ctx == nil {
		return context.Background()
	}
	return ctx
}

// Beside returns a context for code that belongs beside the running one: under the same parent, at another segment.
func Beside(ctx context.Context, segType AddressSegmentType, segID string) context.Context {
	var parent *Frame
	if f := FrameFrom(ctx); f != nil {
		parent = f.parent
	}
	beside := &frameContext{Context: ctx}
	beside.frame = parent.Enter(ctx, &AddressSegment{Type: segType, ID: segID})
	return beside
}
