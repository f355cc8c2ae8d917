package compose

import (
	"context"
	"fmt"

	"github.com/weftgo/weft/internal/callbacks"
)

// Workflow is a builder of nodes that declare where their inputs come from, down to single fields. It must not have
// a cycle: a node runs once everything it depends on is done or skipped. Errors are kept and returned by Compile, so
// nodes may be declared in any order.
type Workflow[I, O any] struct {
	g        *graph
	nodes    []*WorkflowNode
	byKey    map[string]*WorkflowNode
	branches []*branchUse
	err      error
	linked   bool
}

// WorkflowNode declares the inputs of one node.
type WorkflowNode struct {
	g       *graph
	key     string
	inputs  []*edge
	statics []staticValue
	err     error
}

// WorkflowBranch is a branch of a workflow.
type WorkflowBranch struct{ *GraphBranch }

// NewWorkflow makes an empty workflow.
func NewWorkflow[I, O any](opts ...NewGraphOption) *Workflow[I, O] {
	return &Workflow[I, O]{
		g:     newGraphBuilder(ComponentOfWorkflow, kindOf[I]{}, kindOf[O]{}, opts),
		byKey: map[string]*WorkflowNode{},
	}
}

func (wf *Workflow[I, O]) addNode(key string, b body, opts []GraphAddNodeOpt) *WorkflowNode {
	err := wf.g.addNode(key, b, opts)
	n := &WorkflowNode{g: wf.g, key: key}
	if err != nil {
		n.err = err
		if wf.err == nil {
			wf.err = err
		}
		return n
	}
	return wf.declare(n)
}

func (wf *Workflow[I, O]) declare(n *WorkflowNode) *WorkflowNode {
	wf.nodes = append(wf.nodes, n)
	wf.byKey[n.key] = n
	return n
}

// End returns the node whose input is the output of the workflow, always the same.
func (wf *Workflow[I, O]) End() *WorkflowNode {
	if n, ok := wf.byKey[END]; ok {
		return n
	}
	return wf.declare(&WorkflowNode{g: wf.g, key: END})
}

// AddEnd makes a node's output, or parts of it, the output of the workflow.
//
// Deprecated: use End().AddInput.
func (wf *Workflow[I, O]) AddEnd(fromNodeKey string, inputs ...*FieldMapping) *Workflow[I, O] {
	end := wf.End()
	for _, in := range inputs {
		if in == nil || in.to == "" {
			continue
		}
		for _, e := range end.inputs {
			for _, other := range e.mappings {
				if other.to == in.to && wf.err == nil {
					wf.err = fmt.Errorf("duplicate mapping target field: %s of node[%s]", in.to, END)
				}
			}
		}
	}
	end.AddInput(fromNodeKey, inputs...)
	return wf
}

// AddBranch lets a condition on a node's output choose which nodes run. It passes no data: the chosen nodes declare
// their inputs themselves, usually with [WithNoDirectDependency].
func (wf *Workflow[I, O]) AddBranch(fromNodeKey string, branch *GraphBranch) *WorkflowBranch {
	if wf.g.compiled && wf.err == nil {
		wf.err = ErrGraphCompiled
	}
	wf.branches = append(wf.branches, &branchUse{from: fromNodeKey, branch: branch, noData: true})
	return &WorkflowBranch{GraphBranch: branch}
}

// AddInput makes the node run after another one and take its output, whole or the mapped parts.
func (n *WorkflowNode) AddInput(fromNodeKey string, inputs ...*FieldMapping) *WorkflowNode {
	return n.addInput(fromNodeKey, inputs, true, true)
}

type workflowAddInputOpts struct{ noDirectDependency bool }

// WorkflowAddInputOpt configures an input of a workflow node.
type WorkflowAddInputOpt func(*workflowAddInputOpts)

// WithNoDirectDependency takes the data without waiting for the node they come from: something else, such as a
// branch in between, has to make sure that it ran.
func WithNoDirectDependency() WorkflowAddInputOpt {
	return func(o *workflowAddInputOpts) { o.noDirectDependency = true }
}

// AddInputWithOptions is [WorkflowNode.AddInput] with options.
func (n *WorkflowNode) AddInputWithOptions(
	fromNodeKey string, inputs []*FieldMapping, opts ...WorkflowAddInputOpt,
) *WorkflowNode {
	var conf workflowAddInputOpts
	for _, opt := range opts {
		if opt != nil {
			opt(&conf)
		}
	}
	return n.addInput(fromNodeKey, inputs, !conf.noDirectDependency, true)
}

// AddDependency makes the node run after another one without taking anything from it.
func (n *WorkflowNode) AddDependency(fromNodeKey string) *WorkflowNode {
	return n.addInput(fromNodeKey, nil, true, false)
}

// SetStaticValue sets a field of the node's input to a constant. The input must be a struct, a map, or any, which
// becomes a map[string]any.
func (n *WorkflowNode) SetStaticValue(path FieldPath, value any) *WorkflowNode {
	if len(path) == 0 {
		n.fail(fmt.Errorf("static value of node '%s': the path is empty", n.key))
	}
	n.checkOpen()
	n.statics = append(n.statics, staticValue{path: append(FieldPath(nil), path...), value: value})
	return n
}

func (n *WorkflowNode) addInput(from string, inputs []*FieldMapping, control, data bool) *WorkflowNode {
	n.checkOpen()
	e := &edge{from: from, to: n.key, control: control, data: data}
	for _, in := range inputs {
		m, err := in.of(from)
		if err != nil {
			n.fail(fmt.Errorf("node '%s': %w", n.key, err))
			continue
		}
		e.mappings = append(e.mappings, m)
	}
	n.inputs = append(n.inputs, e)
	return n
}

// fail keeps the first error for Compile.
func (n *WorkflowNode) fail(err error) {
	if n.err == nil {
		n.err = err
	}
}

func (n *WorkflowNode) checkOpen() {
	if n.g.compiled {
		n.fail(ErrGraphCompiled)
	}
}

// Compile checks the workflow and makes it runnable. See [Graph.Compile].
func (wf *Workflow[I, O]) Compile(ctx context.Context, opts ...GraphCompileOption) (Runnable[I, O], error) {
	return compile[I, O](ctx, wf, opts)
}

func (wf *Workflow[I, O]) describe() body {
	b := wf.g.describe()
	b.typ = callbacks.ReflectedTypeName(wf)
	return b
}

func (wf *Workflow[I, O]) compilePlan(opts *graphCompileOptions) (*plan, error) {
	if wf.err != nil {
		return nil, wf.err
	}
	for _, n := range wf.nodes {
		if n.err != nil {
			return nil, n.err
		}
	}
	if !wf.linked {
		wf.linked = true
		if wf.err = wf.link(); wf.err != nil {
			return nil, wf.err
		}
	}
	return wf.g.compilePlan(opts)
}

// link gives the builder the edges that the nodes declared.
func (wf *Workflow[I, O]) link() error {
	for _, b := range wf.branches {
		if err := wf.g.addBranch(b); err != nil {
			return err
		}
	}
	for _, n := range wf.nodes {
		for _, e := range n.inputs {
			if err := wf.g.addEdge(e); err != nil {
				return err
			}
		}
	}
	if err := wf.g.checkTyped(); err != nil {
		return err
	}
	for _, n := range wf.nodes {
		mapper, err := wf.g.newInputMapper(n.key, n.statics)
		if err != nil {
			return err
		}
		if mapper != nil {
			wf.g.mappers[n.key] = mapper
		}
	}
	return nil
}
