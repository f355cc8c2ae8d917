package tool

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/internal/core"
)

var background = context.Background()

func signalOf(t *testing.T, err error) *core.InterruptSignal {
	t.Helper()
	var signal *core.InterruptSignal
	require.ErrorAs(t, err, &signal)
	return signal
}

// Rule components/T3.
func TestInterrupt_MakesARootCause(t *testing.T) {
	signal := signalOf(t, Interrupt(background, "why"))
	require.NotEmpty(t, signal.ID)
	require.Empty(t, signal.Address)
	require.Equal(t, "why", signal.Info)
	require.Nil(t, signal.State)
	require.True(t, signal.IsRootCause)
	require.Empty(t, signal.Subs)
	require.NotEqual(t, signal.ID, signalOf(t, Interrupt(background, "why")).ID)

	ctx := core.AppendAddressSegment(background, "tool", "search", "call_1")
	require.Equal(t, core.Address{{Type: "tool", ID: "search", SubID: "call_1"}}, signalOf(t, Interrupt(ctx, nil)).Address)
}

// Rule components/T4.
func TestInterrupt_KeepsTheState(t *testing.T) {
	state := &struct{ n int }{1}
	signal := signalOf(t, StatefulInterrupt(background, "why", state))
	require.Same(t, state, signal.State)
	require.True(t, signal.IsRootCause)
}

// Rule components/T5.
func TestInterrupt_CompositeOfNothingIsARootCause(t *testing.T) {
	signal := signalOf(t, CompositeInterrupt(background, "why", 1))
	require.Equal(t, "why", signal.Info)
	require.Equal(t, 1, signal.State)
	require.True(t, signal.IsRootCause)
	require.Empty(t, signal.Subs)
}

// finished is the error of a run that ended with interrupts.
type finished []*core.InterruptCtx

func (finished) Error() string                                { return "finished" }
func (f finished) GetInterruptContexts() []*core.InterruptCtx { return f }

// Rule components/T6.
func TestInterrupt_CompositeKeepsTheOrderOfItsParts(t *testing.T) {
	a, b := Interrupt(background, "a"), Interrupt(background, "b")
	run := finished{{ID: "c", Info: "c", IsRootCause: true}}
	signal := signalOf(t, CompositeInterrupt(background, "why", "state", a, fmt.Errorf("wrapped: %w", b), run))
	require.False(t, signal.IsRootCause)
	require.Equal(t, "state", signal.State)
	require.Len(t, signal.Subs, 3)
	require.Same(t, a, error(signal.Subs[0]))
	require.Same(t, b, error(signal.Subs[1]))
	require.Equal(t, "c", signal.Subs[2].ID)
}

// Rule components/B13.3.9.
func TestInterrupt_CompositeTakesLegacyInterrupts(t *testing.T) {
	wrapped := &core.AddressedError{Address: core.Address{{Type: "node", ID: "n"}}, Err: core.ErrInterruptAndRerun}
	signal := signalOf(t, CompositeInterrupt(background, nil, nil, core.ErrInterruptAndRerun, wrapped))
	require.Len(t, signal.Subs, 2)
	require.Equal(t, wrapped.Address, signal.Subs[1].Address)
}

// Rules components/T7, components/B13.3.9.
func TestInterrupt_CompositeRefusesOtherErrors(t *testing.T) {
	broken := errors.New("broken")
	err := CompositeInterrupt(background, "why", nil, Interrupt(background, "a"), broken)
	require.EqualError(t, err, "composite interrupt but one of the sub error is not interrupt error: broken")
	require.ErrorIs(t, err, broken)
	var signal *core.InterruptSignal
	require.False(t, errors.As(err, &signal))

	err = CompositeInterrupt(background, "why", nil, error(nil))
	require.ErrorContains(t, err, "composite interrupt but one of the sub error is not interrupt error: ")
	require.NotContains(t, err.Error(), "%!")
	require.False(t, errors.As(err, &signal))
}

// Rule components/T8.
func TestInterrupt_CompositeOfEmptyProvidersIsARootCause(t *testing.T) {
	signal := signalOf(t, CompositeInterrupt(background, "why", nil, finished{}, finished{}))
	require.True(t, signal.IsRootCause)
	require.Empty(t, signal.Subs)
}

// resumed is the context of a tool call in a resumed run.
func resumed(state any, data map[string]any) context.Context {
	addr := core.Address{{Type: "tool", ID: "search", SubID: "call_1"}}
	ctx := core.PopulateInterruptState(background,
		map[string]core.Address{"id": addr}, map[string]core.InterruptState{"id": {State: state}})
	ctx = core.BatchResumeWithData(ctx, data)
	return core.AppendAddressSegment(ctx, "tool", "search", "call_1")
}

// Rule components/T9.
func TestInterrupt_StateIsReadByItsType(t *testing.T) {
	was, has, _ := GetInterruptState[string](background)
	require.False(t, was || has)

	was, has, state := GetInterruptState[string](resumed("kept", nil))
	require.True(t, was && has)
	require.Equal(t, "kept", state)

	was, has, _ = GetInterruptState[int](resumed("kept", nil))
	require.True(t, was)
	require.False(t, has)
	was, has, _ = GetInterruptState[string](resumed(nil, nil))
	require.True(t, was)
	require.False(t, has)
}

// Rule components/T10.
func TestInterrupt_ResumeDataReachesItsTarget(t *testing.T) {
	target, has, _ := GetResumeContext[string](background)
	require.False(t, target || has)

	target, has, data := GetResumeContext[string](resumed(nil, map[string]any{"id": "answer"}))
	require.True(t, target && has)
	require.Equal(t, "answer", data)

	target, has, _ = GetResumeContext[int](resumed(nil, map[string]any{"id": "answer"}))
	require.True(t, target)
	require.False(t, has)
	target, has, _ = GetResumeContext[string](resumed(nil, map[string]any{"id": nil}))
	require.True(t, target)
	require.False(t, has)
	target, has, _ = GetResumeContext[string](resumed(nil, map[string]any{"another": "answer"}))
	require.False(t, target || has)
}
