package compose

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/schema"
)

type kv = map[string]any

// Rule compose/W-1.
func TestWorkflow_SeparatesDataFromOrder(t *testing.T) {
	var order []string
	note := func(key string) *Lambda {
		return InvokableLambda(func(_ context.Context, in string) (string, error) {
			order = append(order, key)
			return in + key, nil
		})
	}
	wf := NewWorkflow[string, string]()
	// Declared backwards: the order does not matter.
	wf.End().AddInput("c")
	wf.AddLambdaNode("c", note("c")).
		AddInputWithOptions("a", nil, WithNoDirectDependency()). // data only: a ran before b
		AddDependency("b")
	wf.AddLambdaNode("b", note("b")).AddInput("a")
	wf.AddLambdaNode("a", note("a")).AddInput(START)
	info := described[string, string](t, wf)
	require.Equal(t, map[string][]string{START: {"a"}, "a": {"b"}, "b": {"c"}, "c": {END}}, info.Edges)
	require.Equal(t, map[string][]string{START: {"a"}, "a": {"c", "b"}, "c": {END}}, info.DataEdges)
	r := compiled[string, string](t, wf)
	forms4(t, r, "x", "xac")
	require.Equal(t, strings.Repeat("abc", 4), strings.Join(order, ""))
}

// Rules compose/W-2, compose/W-5, compose/W-11, compose/W-13, compose/B-1, compose/B-9, compose/T-4.
func TestWorkflow_CompileReportsTheFirstError(t *testing.T) {
	type flow = *Workflow[kv, kv]
	toMap := InvokableLambda(func(_ context.Context, in kv) (kv, error) { return in, nil })
	cases := []struct {
		rule, want string
		build      func(wf flow)
	}{
		{"compose/B-1", "node 'end' is reserved, cannot add manually",
			func(wf flow) { wf.AddLambdaNode(END, toMap).AddInput(START) }},
		{"compose/W-2: adders return a node all the same", "node 'a' already present", func(wf flow) {
			wf.AddLambdaNode("a", toMap).AddInput(START)
			wf.AddLambdaNode("a", toMap).AddInput(START).AddDependency(START).SetStaticValue(FieldPath{"k"}, 1)
			wf.End().AddInput("a")
		}},
		{"compose/W-2", "control edge[start]-[end] have been added yet",
			func(wf flow) { wf.End().AddInput(START, ToField("a")).AddInput(START, ToField("b")) }},
		{"compose/W-2", "data edge[start]-[end] have been added yet", func(wf flow) {
			wf.End().AddInput(START, ToField("a")).AddInputWithOptions(START, []*FieldMapping{ToField("b")},
				WithNoDirectDependency())
		}},
		{"compose/W-13: before the missing START and END", "edge start node 'nobody' needs to be added to graph first",
			func(wf flow) { wf.AddLambdaNode("a", toMap).AddInput("nobody") }},
		{"compose/W-13", "edge start node 'nobody' needs to be added to graph first",
			func(wf flow) { wf.End().AddInput("nobody") }},
		{"compose/W-13", "branch start node 'nobody' needs to be added to graph first", func(wf flow) {
			wf.AddBranch("nobody", NewGraphBranch(func(context.Context, kv) (string, error) { return END, nil },
				map[string]bool{END: true}))
		}},
		{"compose/W-13", "branch end node 'nobody' needs to be added to graph first", func(wf flow) {
			wf.AddBranch(START, NewGraphBranch(func(context.Context, kv) (string, error) { return END, nil },
				map[string]bool{"nobody": true}))
		}},
		{"compose/W-13", "DAG is invalid, has loop: [a->b->a]", func(wf flow) {
			wf.AddLambdaNode("a", toMap).AddInput("b").AddDependency(START)
			wf.AddLambdaNode("b", toMap).AddInput("a")
			wf.End().AddInput("b")
		}},
		{"compose/B-9", "start node not set", func(wf flow) {
			wf.AddLambdaNode("a", toMap)
			wf.End().AddInput("a")
		}},
		{"compose/B-9", "end node not set", func(wf flow) { wf.AddLambdaNode("a", toMap).AddInput(START) }},
		{"a nil mapping", "node 'end': field mapping from node 'start' is nil",
			func(wf flow) { wf.End().AddInput(START, nil) }},
		{"a nil branch", "branch of node 'start': the branch is nil", func(wf flow) {
			wf.AddBranch(START, nil)
			wf.End().AddInput(START)
		}},
		{"compose/W-5", "duplicate mapping target field: a of node[end]", func(wf flow) {
			wf.AddLambdaNode("a", toMap).AddInput(START)
			wf.AddEnd("a", ToField("a")).AddEnd(START, ToField("a"))
		}},
		{"compose/T-4", "some node's input or output types cannot be inferred: [p]", func(wf flow) {
			wf.AddPassthroughNode("p").AddInput(START, FromField("k"))
			wf.End().AddInput("p", ToField("x"))
		}},
		{"compose/W-11", "static value of node 'end': the path is empty",
			func(wf flow) { wf.End().AddInput(START).SetStaticValue(nil, 1) }},
	}
	for _, c := range cases {
		t.Run(c.want, func(t *testing.T) {
			wf := NewWorkflow[kv, kv]()
			c.build(wf)
			_, err := wf.Compile(context.Background())
			requireError(t, err, c.want, c.rule)
			_, again := wf.Compile(context.Background())
			require.Equal(t, err, again)
		})
	}
}

// Rules compose/B-10, compose/B-12.
func TestWorkflow_RefusesOptionsOfSteps(t *testing.T) {
	wf := NewWorkflow[string, string]()
	wf.End().AddInput(START)
	for _, mode := range []NodeTriggerMode{AnyPredecessor, AllPredecessor} {
		_, err := wf.Compile(context.Background(), WithNodeTriggerMode(mode))
		require.EqualError(t, err, "Workflow doesn't support node trigger mode option")
	}
	_, err := wf.Compile(context.Background(), WithMaxRunSteps(3))
	require.EqualError(t, err, "cannot set max run steps in dag mode")
	forms4(t, compiled[string, string](t, wf), "x", "x")
}

// Rule compose/B-3.
func TestWorkflow_CompiledWorkflowsDoNotChange(t *testing.T) {
	changes := map[string]func(wf *Workflow[string, string], n *WorkflowNode){
		"node":       func(wf *Workflow[string, string], _ *WorkflowNode) { wf.AddLambdaNode("b", suffix("")) },
		"input":      func(_ *Workflow[string, string], n *WorkflowNode) { n.AddInput(START) },
		"dependency": func(_ *Workflow[string, string], n *WorkflowNode) { n.AddDependency(START) },
		"static":     func(_ *Workflow[string, string], n *WorkflowNode) { n.SetStaticValue(FieldPath{"x"}, 1) },
		"end":        func(wf *Workflow[string, string], _ *WorkflowNode) { wf.AddEnd("a") },
		"branch": func(wf *Workflow[string, string], _ *WorkflowNode) {
			wf.AddBranch("a", NewGraphBranch(choose(END), map[string]bool{END: true}))
		},
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			wf := NewWorkflow[string, string]()
			a := wf.AddLambdaNode("a", suffix("a")).AddInput(START)
			require.Same(t, wf.End(), wf.End())
			wf.End().AddInput("a")
			before := compiled[string, string](t, wf)
			compiled[string, string](t, wf)
			change(wf, a)
			_, err := wf.Compile(context.Background())
			require.ErrorIs(t, err, ErrGraphCompiled)
			forms4(t, before, "x", "xa")
		})
	}
}

func TestWorkflow_AddEndIsAnInputOfEnd(t *testing.T) {
	wf := NewWorkflow[string, kv]()
	wf.AddLambdaNode("a", suffix("a")).AddInput(START)
	wf.AddEnd("a", ToField("a")).AddEnd(START, ToField("in"))
	forms4(t, compiled[string, kv](t, wf), "x", kv{"a": "xa", "in": "x"})
}

// A branch carries no data, and END may be one of its ends.
// Rule compose/W-12.
func TestWorkflow_BranchesCarryNoData(t *testing.T) {
	wf := NewWorkflow[string, kv]()
	wf.AddLambdaNode("a", suffix("a")).AddInput(START)
	// b takes from START, not from the node with the branch.
	wf.AddLambdaNode("b", suffix("b")).AddInputWithOptions(START, nil, WithNoDirectDependency())
	wf.AddLambdaNode("c", suffix("c")).AddInputWithOptions("a", nil, WithNoDirectDependency())
	wf.AddBranch("a", NewGraphMultiBranch(func(_ context.Context, in string) (map[string]bool, error) {
		ends := map[string]bool{}
		for _, e := range []string{"b", "c", END} {
			if strings.Contains(in, e) {
				ends[e] = true
			}
		}
		return ends, nil
	}, map[string]bool{"b": true, "c": true, END: true}))
	wf.End().
		AddInput("b", ToField("b")).
		AddInput("c", ToField("c")).
		AddInputWithOptions("a", []*FieldMapping{ToField("a")}, WithNoDirectDependency())
	r := compiled[string, kv](t, wf)
	forms4(t, r, "-b-", kv{"a": "-b-a", "b": "-b-b"})
	forms4(t, r, "-b-c-", kv{"a": "-b-c-a", "b": "-b-c-b", "c": "-b-c-ac"})
	forms4(t, r, "-end-", kv{"a": "-end-a"})
	for _, err := range fails(t, r, "none") { // "none" has no end's name in it
		require.ErrorContains(t, err, "no tasks to execute, last completed nodes: [a]")
	}
}

// With all its mapped sources skipped a node runs on an empty input of its type.
// Rule compose/X-18.
func TestWorkflow_AllSourcesSkipped(t *testing.T) {
	type box struct{ V, Fixed string }
	build := func(add func(wf *Workflow[string, string]) *WorkflowNode, m *FieldMapping) Runnable[string, string] {
		wf := NewWorkflow[string, string]()
		wf.AddLambdaNode("a", suffix("a")).AddInputWithOptions(START, nil, WithNoDirectDependency())
		wf.AddLambdaNode("b", suffix("b")).AddInputWithOptions(START, nil, WithNoDirectDependency())
		wf.AddBranch(START, NewGraphBranch(choose("b"), map[string]bool{"a": true, "b": true}))
		var mappings []*FieldMapping
		if m != nil {
			mappings = append(mappings, m)
		}
		add(wf).AddInputWithOptions("a", mappings, WithNoDirectDependency()).AddDependency("b")
		wf.End().AddInput("n")
		return compiled[string, string](t, wf)
	}
	forms4(t, build(func(wf *Workflow[string, string]) *WorkflowNode {
		return wf.AddLambdaNode("n",
			InvokableLambda(func(_ context.Context, in box) (string, error) { return in.V + "|" + in.Fixed, nil })).
			SetStaticValue(FieldPath{"Fixed"}, "f")
	}, ToField("V")), "x", "|f")
	forms4(t, build(func(wf *Workflow[string, string]) *WorkflowNode {
		return wf.AddLambdaNode("n",
			InvokableLambda(func(_ context.Context, in *box) (string, error) { return in.V + "|" + in.Fixed, nil }))
	}, ToField("V")), "x", "|")
	forms4(t, build(func(wf *Workflow[string, string]) *WorkflowNode {
		return wf.AddLambdaNode("n", InvokableLambda(func(_ context.Context, in map[string]string) (string, error) {
			if in == nil || len(in) > 0 {
				return "", errBoom
			}
			return "empty", nil
		}))
	}, ToField("V")), "x", "empty")
	forms4(t, build(func(wf *Workflow[string, string]) *WorkflowNode {
		return wf.AddLambdaNode("n",
			InvokableLambda(func(_ context.Context, in string) (string, error) { return "<" + in + ">", nil }))
	}, nil), "x", "<>")
}

// A merged stream says where each source ends, in workflows, too.
// Rules compose/W-8, compose/X-17.
func TestWorkflow_StreamFanInWithSourceEOF(t *testing.T) {
	wf := NewWorkflow[string, kv]()
	for _, k := range []string{"a", "b"} {
		wf.AddLambdaNode(k, suffix(k)).AddInput(START)
		wf.End().AddInput(k, ToField(k))
	}
	r := compiled[string, kv](t, wf,
		WithFanInMergeConfig(map[string]FanInMergeConfig{END: {StreamMergeWithSourceEOF: true}}))
	s, err := r.Stream(context.Background(), "x")
	require.NoError(t, err)
	defer s.Close()
	var ended []string
	got := kv{}
	for {
		chunk, err := s.Recv()
		if name, ok := schema.GetSourceName(err); ok {
			ended = append(ended, name)
			continue
		}
		if err != nil {
			break
		}
		for k, v := range chunk {
			got[k] = v
		}
	}
	require.Equal(t, kv{"a": "xa", "b": "xb"}, got)
	require.ElementsMatch(t, []string{"a", "b"}, ended)
}

// Compiling twice, and one workflow as two nodes, leave each other alone.
// Rule compose/B22.4.
func TestWorkflow_PartsMayBeUsedManyTimes(t *testing.T) {
	type pair struct{ A, B string }
	inner := NewWorkflow[string, pair]()
	inner.AddLambdaNode("a", suffix("a")).AddInput(START)
	inner.End().AddInput("a", ToField("A")).AddInput(START, ToField("B"))
	RegisterStreamChunkConcatFunc(func(chunks []pair) (pair, error) {
		var p pair
		for _, c := range chunks {
			p.A += c.A
			p.B += c.B
		}
		return p, nil
	})
	outer := NewWorkflow[string, kv]()
	outer.AddGraphNode("one", inner).AddInput(START)
	outer.AddGraphNode("two", inner).AddInput("one", FromField("A"))
	outer.End().AddInput("one", MapFields("B", "one")).AddInput("two", ToField("two"))
	first, second := compiled[string, kv](t, outer), compiled[string, kv](t, outer)
	want := kv{"one": "x", "two": pair{A: "xaa", B: "xa"}}
	for range 2 {
		forms4(t, first, "x", want)
		forms4(t, second, "x", want)
		forms4(t, compiled[string, pair](t, inner), "x", pair{A: "xa", B: "x"})
	}
}
