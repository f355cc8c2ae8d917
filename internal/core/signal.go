package core

import (
	"context"
	"fmt"
)

// InterruptInfo is the information of an interrupt for the user.
type InterruptInfo struct {
	Info any
	// IsRootCause is true for code that asked for the interrupt, false for what merely passes interrupts of its
	// children on.
	IsRootCause bool
}

// String describes the info; "" for nil.
func (i *InterruptInfo) String() string {
	if i == nil {
		return ""
	}
	return fmt.Sprintf("interrupt info: Info=%v, IsRootCause=%v", i.Info, i.IsRootCause)
}

// InterruptState holds the state of an interrupt for the resumed run. Both values go into the checkpoint.
type InterruptState struct {
	State any
	// LayerSpecificPayload belongs to the layer that raised the interrupt (see [WithLayerPayload]).
	LayerSpecificPayload any
}

// String describes the state; "" for nil.
func (is *InterruptState) String() string {
	if is == nil {
		return ""
	}
	return fmt.Sprintf("interrupt state: State=%v, LayerSpecificPayload=%v", is.State, is.LayerSpecificPayload)
}

// InterruptSignal is the error that code returns to stop a run so that it can continue later. Signals form a tree:
// a thing whose children were interrupted passes them on in Subs.
type InterruptSignal struct {
	ID string
	Address
	InterruptInfo
	InterruptState
	Subs []*InterruptSignal
}

// Error implements error.
func (is *InterruptSignal) Error() string {
	return fmt.Sprintf("interrupt signal: ID=%s, Addr=%s, Info=%s, State=%s, SubsLen=%d",
		is.ID, is.Address.String(), is.InterruptInfo.String(), is.InterruptState.String(), len(is.Subs))
}

// String is Error: the embedded types each have a String of their own.
func (is *InterruptSignal) String() string { return is.Error() }

// InterruptConfig collects the options of [Interrupt].
type InterruptConfig struct {
	LayerPayload any
}

// InterruptOption configures [Interrupt].
type InterruptOption func(*InterruptConfig)

// WithLayerPayload stores a value of the raising layer beside the user's state.
func WithLayerPayload(payload any) InterruptOption {
	return func(c *InterruptConfig) { c.LayerPayload = payload }
}

// Interrupt makes a signal at ctx's address with an ID of its own (see [InterruptIDs]). With subs it is not a root
// cause. The error is always nil today.
func Interrupt(
	ctx context.Context, info any, state any, subContexts []*InterruptSignal, opts ...InterruptOption,
) (*InterruptSignal, error) {
	var conf InterruptConfig
	for _, opt := range opts {
		if opt != nil {
			opt(&conf)
		}
	}
	address := GetCurrentAddress(ctx)
	return &InterruptSignal{
		ID:             newInterruptID(ctx, address),
		Address:        address,
		InterruptInfo:  InterruptInfo{Info: info, IsRootCause: len(subContexts) == 0},
		InterruptState: InterruptState{State: state, LayerSpecificPayload: conf.LayerPayload},
		Subs:           subContexts,
	}, nil
}

// SignalToPersistenceMaps flattens the whole tree into what a checkpoint stores: by interrupt ID the address and the
// state. Both maps are never nil.
func SignalToPersistenceMaps(is *InterruptSignal) (map[string]Address, map[string]InterruptState) {
	addrs, states := map[string]Address{}, map[string]InterruptState{}
	var walk func(*InterruptSignal)
	walk = func(s *InterruptSignal) {
		if s == nil {
			return
		}
		addrs[s.ID] = s.Address
		states[s.ID] = s.InterruptState
		for _, sub := range s.Subs {
			walk(sub)
		}
	}
	walk(is)
	return addrs, states
}
