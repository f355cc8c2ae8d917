package core

import (
	"context"
	"errors"
	"fmt"
)

// ErrInterruptAndRerun is the legacy way to ask for an interrupt without saying anything about it.
var ErrInterruptAndRerun = errors.New("interrupt and rerun")

// NewInterruptAndRerun makes a signal that has info but, as its maker has no context, neither ID nor address. The
// caller of that code adds them ([Addressed]).
func NewInterruptAndRerun(info any) error {
	return &InterruptSignal{InterruptInfo: InterruptInfo{Info: info, IsRootCause: true}}
}

// AddressedError is a legacy interrupt together with the place it came from.
type AddressedError struct {
	Address Address
	Err     error
}

func (e *AddressedError) Error() string {
	return fmt.Sprintf("interrupt and rerun at %s: %v", e.Address, e.Err)
}

// Unwrap returns the legacy interrupt.
func (e *AddressedError) Unwrap() error { return e.Err }

// IsInterruptRerunError reports whether err asks for an interrupt, and the info it carries.
func IsInterruptRerunError(err error) (any, bool) {
	var signal *InterruptSignal
	if errors.As(err, &signal) {
		return signal.InterruptInfo.Info, true
	}
	return nil, errors.Is(err, ErrInterruptAndRerun)
}

// SignalFrom resolves any error that asks for an interrupt into a signal with an ID and an address. Legacy
// interrupts get the address they were wrapped with, or else ctx's. An error of a finished root run is rebuilt from
// its contexts, if it has any; many such trees may come from one error. ok is false for an error that is no interrupt.
func SignalFrom(ctx context.Context, err error) (signal *InterruptSignal, ok bool) {
	if errors.As(err, &signal) {
		if signal.ID != "" || len(signal.Subs) > 0 {
			return signal, true
		}
		addressed := *signal
		if addressed.Address == nil {
			addressed.Address = legacyAddress(ctx, err)
		}
		addressed.ID = newInterruptID(ctx, addressed.Address)
		return &addressed, true
	}
	var provider InterruptContextsProvider
	if errors.As(err, &provider) {
		if whole, ok := provider.(InterruptSignaler); ok {
			if signal = whole.InterruptSignal(); signal != nil {
				return signal, true
			}
		}
		// Without contexts it only says that something was stopped: such as the cause of a context that a cancel has ended.
		if signal = FromInterruptContexts(provider.GetInterruptContexts()); signal != nil {
			return signal, true
		}
	}
	if errors.Is(err, ErrInterruptAndRerun) {
		address := legacyAddress(ctx, err)
		return &InterruptSignal{
			ID:            newInterruptID(ctx, address),
			Address:       address,
			InterruptInfo: InterruptInfo{IsRootCause: true},
		}, true
	}
	return nil, false
}

// IsInterrupt reports whether an error asks for an interrupt.
func IsInterrupt(err error) bool {
	if err == nil {
		return false
	}
	_, interrupted := SignalFrom(nowhere, err)
	return interrupted
}

var nowhere = context.Background()

func legacyAddress(ctx context.Context, err error) Address {
	var at *AddressedError
	if errors.As(err, &at) {
		return at.Address
	}
	return GetCurrentAddress(ctx)
}

// CompositeInterrupt makes the interrupt of something whose children were interrupted: errs are the children's
// errors. Without errs, or when none of them holds a signal, it is a root cause with the given state. An err that is no
// interrupt makes the result a plain error: notInterrupt, a colon and that err.
func CompositeInterrupt(ctx context.Context, notInterrupt string, info, state any, errs ...error) error {
	var subs []*InterruptSignal
	for _, err := range errs {
		if err == nil {
			return fmt.Errorf("%s: nil error", notInterrupt)
		}
		sub, ok := SignalFrom(ctx, err)
		switch {
		case !ok && errors.As(err, new(InterruptContextsProvider)): // of a child that has nothing to continue with
		case !ok:
			return fmt.Errorf("%s: %w", notInterrupt, err)
		case sub.ID == "":
			subs = append(subs, sub.Subs...)
		default:
			subs = append(subs, sub)
		}
	}
	signal, err := Interrupt(ctx, info, state, subs)
	if err != nil {
		return err
	}
	return signal
}
