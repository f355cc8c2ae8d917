package core

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func segment(id string) *AddressSegment { return &AddressSegment{Type: "node", ID: id} }

func at(ids ...string) Address {
	var addr Address
	for _, id := range ids {
		addr = append(addr, *segment(id))
	}
	return addr
}

func enter(ctx context.Context, ids ...string) context.Context {
	for _, id := range ids {
		ctx = AppendAddressSegment(ctx, "node", id, "")
	}
	return ctx
}

func TestAddress_String(t *testing.T) {
	require.Equal(t, "", Address(nil).String())
	require.Equal(t, "node:a;tool:b:c1", Address{{ID: "a", Type: "node"}, {ID: "b", Type: "tool", SubID: "c1"}}.String())
	require.True(t, at("a", "b").Equals(at("a", "b")))
	require.False(t, at("a", "b").Equals(at("a")))
}

func TestFrame_AddressIsBuiltFromParents(t *testing.T) {
	require.Nil(t, GetCurrentAddress(context.Background()))
	ctx := enter(context.Background(), "a", "b")
	require.Equal(t, at("a", "b"), GetCurrentAddress(ctx))
	require.Equal(t, at("a", "b", "c"), GetCurrentAddress(enter(ctx, "c")))
	require.Equal(t, at("a", "b"), GetCurrentAddress(ctx), "entering a child changed the parent")
}

// interrupted is the context of a run that resumes from interrupts at the given addresses; the ID and the state of each
// are its address.
func interrupted(ctx context.Context, addrs ...Address) context.Context {
	id2Addr, id2State := map[string]Address{}, map[string]InterruptState{}
	for _, a := range addrs {
		id2Addr[a.String()] = a
		id2State[a.String()] = InterruptState{State: a.String()}
	}
	return PopulateInterruptState(ctx, id2Addr, id2State)
}

// Rule compose/U-6.
func TestResume_StateIsHandedOverOnce(t *testing.T) {
	ctx := interrupted(context.Background(), at("a", "b"))
	was, has, state := GetInterruptState[string](enter(ctx, "a", "b"))
	require.True(t, was)
	require.True(t, has)
	require.Equal(t, "node:a;node:b", state)

	was, _, _ = GetInterruptState[string](enter(ctx, "a", "b"))
	require.False(t, was, "the second visit must look like a first run")
}

// Rule compose/U-6.
func TestResume_FindsItsTargets(t *testing.T) {
	one, two := at("a", "one"), at("a", "two")
	ctx := interrupted(BatchResumeWithData(context.Background(), map[string]any{one.String(): 7}), one, two)

	a := enter(ctx, "a")
	target, has, _ := GetResumeContext[int](a)
	require.True(t, target, "something below is targeted")
	require.False(t, has)

	target, has, data := GetResumeContext[int](enter(a, "one"))
	require.True(t, target)
	require.True(t, has)
	require.Equal(t, 7, data)

	target, _, _ = GetResumeContext[int](enter(a, "two"))
	require.False(t, target, "it was interrupted but not targeted")

	target, _, _ = GetResumeContext[int](enter(ctx, "a"))
	require.False(t, target, "what is below was answered already")
}

func TestResume_AncestorsOfUntargetedPointsAreNoTargets(t *testing.T) {
	one, two := at("a", "x"), at("b", "y")
	ctx := interrupted(BatchResumeWithData(context.Background(), map[string]any{one.String(): nil}), one, two)
	target, _, _ := GetResumeContext[any](enter(ctx, "b"))
	require.False(t, target)

	everything := interrupted(context.Background(), one, two)
	target, _, _ = GetResumeContext[any](enter(everything, "b"))
	require.True(t, target, "without explicit targets everything open is meant")
}

// Rule compose/U-7.
func TestResume_TypesMustMatch(t *testing.T) {
	a := at("a")
	ctx := enter(interrupted(BatchResumeWithData(context.Background(), map[string]any{a.String(): "text"}), a), "a")
	was, has, _ := GetInterruptState[int](ctx)
	require.True(t, was)
	require.False(t, has)
	target, has, _ := GetResumeContext[int](ctx)
	require.True(t, target)
	require.False(t, has)
}

func TestResume_TargetsOfAContextNeverChange(t *testing.T) {
	parent := BatchResumeWithData(context.Background(), map[string]any{"1": "a"})
	child := BatchResumeWithData(parent, map[string]any{"2": "b"})
	require.Len(t, targetsFrom(parent), 1)
	require.Len(t, targetsFrom(child), 2)
}

func TestResume_EveryRootRunHasItsOwnProgress(t *testing.T) {
	base := BatchResumeWithData(context.Background(), map[string]any{at("a").String(): "x"})
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			ctx := enter(interrupted(base, at("a")), "a")
			if target, has, _ := GetResumeContext[string](ctx); !target || !has {
				t.Error("one run used up the target of another")
			}
		})
	}
	wg.Wait()
}

func TestResume_PopulatingAgainKeepsProgress(t *testing.T) {
	ctx := interrupted(context.Background(), at("a", "b"))
	inner := enter(ctx, "a", "b")
	again := interrupted(inner, at("a", "b"), at("a", "b", "c"))
	was, _, _ := GetInterruptState[string](enter(again, "c"))
	require.True(t, was, "a new point below is found")
	was, _, _ = GetInterruptState[string](enter(ctx, "a", "b"))
	require.False(t, was, "a known point was opened again")
}

// Rule compose/U-9.
func TestResume_ListsTheNextPoints(t *testing.T) {
	_, err := GetNextResumptionPoints(context.Background())
	require.EqualError(t, err, "GetNextResumptionPoints: failed to get resume info from context")

	ctx := interrupted(context.Background(), at("a", "x"), at("a", "y", "z"), at("b"))
	next, err := GetNextResumptionPoints(enter(ctx, "a"))
	require.NoError(t, err)
	require.Equal(t, map[string]bool{"x": true, "y": true}, next)
	next, err = GetNextResumptionPoints(enter(ctx, "c"))
	require.NoError(t, err)
	require.Empty(t, next)
}

func TestSignalFrom(t *testing.T) {
	here := enter(context.Background(), "here")
	_, ok := SignalFrom(here, errors.New("plain"))
	require.False(t, ok)

	s, ok := SignalFrom(here, fmt.Errorf("wrapped: %w", ErrInterruptAndRerun))
	require.True(t, ok)
	require.NotEmpty(t, s.ID)
	require.Equal(t, GetCurrentAddress(here), s.Address)

	first, _ := SignalFrom(here, NewInterruptAndRerun("why"))
	second, _ := SignalFrom(here, NewInterruptAndRerun("why"))
	require.NotEqual(t, first.ID, second.ID, "interrupts without an ID of their own must not collide")
	require.Equal(t, "why", first.InterruptInfo.Info)

	s, _ = SignalFrom(here, &AddressedError{Address: at("there"), Err: ErrInterruptAndRerun})
	require.Equal(t, at("there"), s.Address)

	made, err := Interrupt(enter(context.Background(), "a"), "info", "state", nil)
	require.NoError(t, err)
	s, ok = SignalFrom(here, fmt.Errorf("wrapped: %w", made))
	require.True(t, ok)
	require.Same(t, made, s)
}

func TestCompositeInterrupt(t *testing.T) {
	ctx := enter(context.Background(), "a")
	sub, _ := Interrupt(enter(ctx, "b"), "why", nil, nil)

	var s *InterruptSignal
	require.ErrorAs(t, CompositeInterrupt(ctx, "no", "info", "state", sub, ErrInterruptAndRerun), &s)
	require.False(t, s.IsRootCause)
	require.Len(t, s.Subs, 2)
	require.Same(t, sub, s.Subs[0])

	require.ErrorAs(t, CompositeInterrupt(ctx, "no", "info", "state"), &s)
	require.True(t, s.IsRootCause)

	plain := errors.New("plain")
	err := CompositeInterrupt(ctx, "no", nil, nil, sub, plain)
	require.ErrorIs(t, err, plain)
	require.EqualError(t, err, "no: plain")
	require.False(t, errors.As(err, &s))
	require.NotContains(t, CompositeInterrupt(ctx, "no", nil, nil, nil).Error(), "%!")
}

func tree(t *testing.T) *InterruptSignal {
	root := context.Background()
	one, err := Interrupt(AppendAddressSegment(enter(root, "g", "n1"), "tool", "x", "1"), "one", 1, nil)
	require.NoError(t, err)
	two, err := Interrupt(enter(root, "g", "n2"), "two", 2, nil)
	require.NoError(t, err)
	mid, err := Interrupt(enter(root, "g"), "mid", 3, []*InterruptSignal{one, two})
	require.NoError(t, err)
	top, err := Interrupt(root, "top", nil, []*InterruptSignal{mid})
	require.NoError(t, err)
	return top
}

// Rules compose/I-8, compose/I-12.
func TestToInterruptContexts_ListsRootCausesWithTheirParents(t *testing.T) {
	leaves := ToInterruptContexts(tree(t), nil)
	require.Len(t, leaves, 2)
	require.Same(t, leaves[0].Parent, leaves[1].Parent, "siblings share their parent")
	require.Equal(t, "mid", leaves[0].Parent.Info)
	require.Equal(t, "top", leaves[0].Parent.Parent.Info)
	require.Nil(t, leaves[0].Parent.Parent.Parent)

	tools := ToInterruptContexts(tree(t), []AddressSegmentType{"tool"})
	require.Equal(t, "tool:x:1", tools[0].Address.String())
	require.Nil(t, tools[0].Parent, "parents of other types are left out")
	require.Empty(t, ToInterruptContexts(nil, nil))
}

// TestFromInterruptContexts_RebuildsTheTree: ancestors that root causes share are one again, in the order of the
// causes.
// Rule compose/I-12.
func TestFromInterruptContexts_RebuildsTheTree(t *testing.T) {
	top := tree(t)
	back := FromInterruptContexts(ToInterruptContexts(top, nil))
	require.Equal(t, top.ID, back.ID)
	require.Len(t, back.Subs, 1)
	require.Len(t, back.Subs[0].Subs, 2)
	for i, sub := range top.Subs[0].Subs {
		require.Equal(t, sub.ID, back.Subs[0].Subs[i].ID)
		require.Equal(t, sub.Address, back.Subs[0].Subs[i].Address)
		require.Equal(t, sub.InterruptInfo, back.Subs[0].Subs[i].InterruptInfo)
	}
	require.Nil(t, FromInterruptContexts(nil))
	require.Nil(t, FromInterruptContexts([]*InterruptCtx{nil}))

	addrs, states := SignalToPersistenceMaps(top)
	require.Len(t, addrs, 4)
	require.Equal(t, 2, states[top.Subs[0].Subs[1].ID].State)
	addrs, states = SignalToPersistenceMaps(nil)
	require.NotNil(t, addrs)
	require.NotNil(t, states)
}

// TestInterruptCtx_EqualsWithoutID: everything but the ID counts, up to the root.
// Rule compose/I-12.
func TestInterruptCtx_EqualsWithoutID(t *testing.T) {
	fresh := func() *InterruptCtx { return ToInterruptContexts(tree(t), nil)[0] }
	one, two := fresh(), fresh()
	require.NotEqual(t, one.ID, two.ID)
	require.True(t, one.EqualsWithoutID(two))
	require.True(t, (*InterruptCtx)(nil).EqualsWithoutID(nil))
	require.False(t, one.EqualsWithoutID(nil))
	require.False(t, (*InterruptCtx)(nil).EqualsWithoutID(one))
	for name, change := range map[string]func(*InterruptCtx){
		"address":       func(ic *InterruptCtx) { ic.Address = at("elsewhere") },
		"info":          func(ic *InterruptCtx) { ic.Info = []string{"other"} },
		"root cause":    func(ic *InterruptCtx) { ic.IsRootCause = !ic.IsRootCause },
		"no parent":     func(ic *InterruptCtx) { ic.Parent = nil },
		"grandparent's": func(ic *InterruptCtx) { ic.Parent.Parent.Info = "other" },
	} {
		changed := fresh()
		change(changed)
		require.False(t, one.EqualsWithoutID(changed), name)
		require.False(t, changed.EqualsWithoutID(one), name)
	}
	one.Info, two.Info = []string{"a"}, []string{"a"}
	require.True(t, one.EqualsWithoutID(two), "infos are compared deeply")
}

func TestTexts(t *testing.T) {
	s := &InterruptSignal{ID: "i", Address: at("a"), InterruptInfo: InterruptInfo{Info: 1, IsRootCause: true},
		InterruptState: InterruptState{State: 2}}
	require.Equal(t, "interrupt signal: ID=i, Addr=node:a, Info=interrupt info: Info=1, IsRootCause=true, "+
		"State=interrupt state: State=2, LayerSpecificPayload=<nil>, SubsLen=0", s.Error())
	require.Equal(t, "", (*InterruptInfo)(nil).String())
	require.Equal(t, "", (*InterruptState)(nil).String())
}

func BenchmarkEnter_NotResumed(b *testing.B) {
	ctx := enter(context.Background(), "a")
	parent, seg := FrameFrom(ctx), segment("b")
	b.ReportAllocs()
	for b.Loop() {
		if f := parent.Enter(ctx, seg); f.points != nil {
			b.Fatal("resumed")
		}
	}
}
