package callbacks

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components"
)

var background = context.Background()

// testKey is a key of a context value.
type testKey string

// end fires OnEnd and returns which handlers were called, for which run.
func end(ctx context.Context, j *journal) []string {
	OnEnd(ctx, "")
	return j.take()
}

func TestInit_ReplacesInherited(t *testing.T) {
	j := &journal{}
	a, b := &recorder{"a", j}, &recorder{"b", j}
	ctx := Init(background, &RunInfo{Name: "1"}, a)
	require.Equal(t, []string{"b end 2 "}, end(Init(ctx, &RunInfo{Name: "2"}, b), j))

	hidden := Init(ctx, &RunInfo{Name: "3"})
	require.Empty(t, end(hidden, j), "no handlers and no globals hide the inherited ones")
	require.False(t, FromContext(hidden).Active())
	require.Equal(t, []string{"a end 1 "}, end(ctx, j), "the outer context keeps its own")
}

func TestReuse(t *testing.T) {
	j := &journal{}
	g1, g2 := &recorder{"g1", j}, &recorder{"g2", j}
	withGlobals(t, g1)
	ctx := Init(background, &RunInfo{Name: "1"}, &recorder{"a", j})
	AppendGlobal(g2)

	require.Equal(t, []string{"a end 2 ", "g1 end 2 "}, end(Reuse(ctx, &RunInfo{Name: "2"}), j), "the snapshot stays")
	require.Equal(t, []string{"a end <nil> ", "g1 end <nil> "}, end(Reuse(ctx, nil), j))
	require.Equal(t, []string{"g1 end 3 ", "g2 end 3 "}, end(Reuse(background, &RunInfo{Name: "3"}), j), "globals only")
}

func TestEnsureRunInfo(t *testing.T) {
	j := &journal{}
	a := &recorder{"a", j}

	require.Equal(t, background, EnsureRunInfo(background, "T", components.ComponentOfTool), "nobody listens")

	ctx := Init(background, &RunInfo{Name: "1"}, a)
	require.True(t, ctx == EnsureRunInfo(ctx, "T", components.ComponentOfTool), "a pending run stays")

	ensured := EnsureRunInfo(Reuse(ctx, nil), "T", components.ComponentOfTool)
	require.Equal(t, &RunInfo{Type: "T", Component: components.ComponentOfTool}, FromContext(ensured).Pending())
	require.Equal(t, []string{"a end  "}, end(ensured, j))

	withGlobals(t, &recorder{"g", j})
	ensured = EnsureRunInfo(background, "T", components.ComponentOfTool)
	require.Equal(t, &RunInfo{Type: "T", Component: components.ComponentOfTool}, FromContext(ensured).Pending())
	require.Equal(t, []string{"g end  "}, end(ensured, j))
}

func TestAppend(t *testing.T) {
	j := &journal{}
	withGlobals(t, &recorder{"g1", j})
	ctx := Init(background, &RunInfo{Name: "1"}, &recorder{"a", j})
	AppendGlobal(&recorder{"g2", j})

	require.Equal(t, []string{"a end 2 ", "b end 2 ", "g1 end 2 ", "g2 end 2 "},
		end(Append(ctx, &RunInfo{Name: "2"}, &recorder{"b", j}), j), "a fresh snapshot of the globals")
	require.Equal(t, []string{"a end 3 ", "g1 end 3 ", "g2 end 3 "}, end(Append(ctx, &RunInfo{Name: "3"}), j))
	require.Equal(t, []string{"b end 4 ", "g1 end 4 ", "g2 end 4 "},
		end(Append(background, &RunInfo{Name: "4"}, &recorder{"b", j}), j))
}

// Rule components/K1.
func TestAppend_SharesNoTail(t *testing.T) {
	j := &journal{}
	base := Init(background, nil, &recorder{"a", j})
	for range 5 { // capacity grows: some of these appends find spare room
		base = Append(base, nil, &recorder{"x", j})
	}
	left := Append(base, nil, &recorder{"left", j})
	right := Append(base, nil, &recorder{"right", j})
	require.Equal(t, "left end <nil> ", end(left, j)[6])
	require.Equal(t, "right end <nil> ", end(right, j)[6])
	require.Len(t, end(base, j), 6)
}

// Rule components/B13.1.2.
func TestInit_LeavesTheCallersSliceAlone(t *testing.T) {
	j := &journal{}
	withGlobals(t, &recorder{"g", j})
	handlers := make([]Handler, 1, 4)
	handlers[0] = &recorder{"a", j}
	ctx := Append(Init(background, nil, handlers...), nil, handlers...)
	require.Equal(t, []Handler{nil, nil, nil}, handlers[1:4])
	handlers[0] = &recorder{"changed", j}
	require.Equal(t, []string{"a end <nil> ", "a end <nil> ", "g end <nil> "}, end(ctx, j))
}

// Rule components/K2.
func TestGlobals_RunOncePerTiming(t *testing.T) {
	j := &journal{}
	withGlobals(t, &recorder{"g", j})
	ctx := Init(background, nil)
	for range 3 {
		ctx = Append(Reuse(ctx, nil), nil, &recorder{"a", j})
	}
	require.Equal(t, []string{"a end <nil> ", "a end <nil> ", "a end <nil> ", "g end <nil> "}, end(ctx, j))
}

// Rule components/K3.
func TestHandlers_AreNotDeduplicated(t *testing.T) {
	j := &journal{}
	a := &recorder{"a", j}
	require.Len(t, end(Append(Init(background, nil, a), nil, a), j), 2)
}

// Rule components/K4.
func TestGlobals_SeenByLaterStatesOnly(t *testing.T) {
	j := &journal{}
	withGlobals(t)
	before := Init(background, nil, &recorder{"a", j})
	AppendGlobal()
	AppendGlobal(nil)
	require.Nil(t, globals.Load(), "adding nothing changes nothing")

	AppendGlobal(&recorder{"g", j})
	require.Equal(t, []string{"a end <nil> "}, end(before, j))
	require.Equal(t, []string{"a end <nil> ", "g end <nil> "}, end(Init(background, nil, &recorder{"a", j}), j))
}

// Rule components/K5.
func TestGlobals_CanBeReset(t *testing.T) {
	j := &journal{}
	withGlobals(t, &recorder{"g", j})
	SetGlobal(nil)
	require.Empty(t, end(Init(background, nil), j))
}

// Rule components/B13.1.3.
func TestGlobals_MayBeAppendedConcurrently(t *testing.T) {
	j := &journal{}
	withGlobals(t)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			AppendGlobal(&recorder{"g", j})
			OnEnd(Init(background, nil), "")
		})
	}
	wg.Wait()
	j.take()
	require.Len(t, end(Init(background, nil), j), 50, "no addition is lost")
}

// Rule components/B13.1.4.
func TestInit_SkipsNilHandlers(t *testing.T) {
	j := &journal{}
	require.Nil(t, FromContext(Init(background, nil, nil, nil)))
	ctx := Init(background, &RunInfo{Name: "1"}, nil, &recorder{"a", j}, nil)
	require.Equal(t, []string{"a end 1 "}, end(ctx, j))
	require.Equal(t, []string{"a end 2 "}, end(Append(ctx, &RunInfo{Name: "2"}, nil), j))
}

func TestState_NilIsUsable(t *testing.T) {
	var s *State
	require.False(t, s.Active())
	require.False(t, s.Needs(TimingOnStart))
	require.Nil(t, s.Pending())
	require.Nil(t, s.Last())
	require.Equal(t, State{}, s.Started())
	require.Equal(t, State{}, s.WithInfo(&RunInfo{}))
	require.Equal(t, State{}, s.Append(&RunInfo{}))
	require.Equal(t, State{}, s.Init(&RunInfo{}))
}

func TestState_Needs(t *testing.T) {
	j := &journal{}
	only := newStatic("s", j, Timings(0).With(TimingOnEnd))
	s := (*State)(nil).Init(nil, only)
	require.True(t, s.Needs(TimingOnEnd))
	require.False(t, s.Needs(TimingOnStart))
	require.False(t, s.Needs(77))

	s = s.Append(nil, &checked{recorder{"c", j}, func(context.Context, *RunInfo, CallbackTiming) bool { return false }})
	require.True(t, s.Needs(TimingOnStart), "a handler that must be asked may need everything")
}

// nodeContext stands for an orchestrator's own context type.
type nodeContext struct {
	context.Context
	State
}

func (n *nodeContext) Value(key any) any {
	if key == (Key{}) {
		return &n.State
	}
	return n.Context.Value(key)
}

func TestState_EmbeddedInAnotherContext(t *testing.T) {
	j := &journal{}
	root := (*State)(nil).Append(&RunInfo{Name: "node"}, &recorder{"a", j})
	node := &nodeContext{context.WithValue(background, testKey("k"), "kept"), root.Started()}

	ctx, err := FireStart(node, "in")
	require.NoError(t, err)
	require.True(t, ctx == context.Context(node), "a started state needs no further context")
	require.Equal(t, []string{"a start node in"}, j.take())

	inner := OnStart(Reuse(ctx, &RunInfo{Name: "inner"}), "x")
	OnEnd(inner, "y")
	require.Equal(t, "kept", inner.Value(testKey("k")))
	_, err = FireEnd(ctx, "out")
	require.NoError(t, err)
	require.Equal(t, []string{"a start inner x", "a end inner y", "a end node out"}, j.take())
}

func TestWithState_HiddenContextIsDropped(t *testing.T) {
	j := &journal{}
	ctx := Init(background, nil, &recorder{"a", j})
	for range 10 {
		ctx = Reuse(ctx, &RunInfo{})
	}
	require.Equal(t, background, ctx.(*stateContext).Context)
}
