package compose

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync/atomic"

	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/internal/safe"
)

// GraphCompileCallback is called for every graph that was compiled.
type GraphCompileCallback interface {
	// OnFinish is called synchronously after a successful compile. The callbacks of a compile share the info; the
	// graph does not look at it again. A panic fails the compile.
	OnFinish(ctx context.Context, info *GraphInfo)
}

// globalCompileCallbacks are called for every graph that is compiled on its own.
var globalCompileCallbacks atomic.Pointer[[]GraphCompileCallback]

// InitGraphCompileCallbacks replaces the callbacks for every top-level compile, before those given with
// [WithGraphCompileCallbacks]. A nested graph is described as part of the graph around it. It is safe for concurrent
// use.
func InitGraphCompileCallbacks(cbs []GraphCompileCallback) {
	copied := slices.Clone(cbs)
	globalCompileCallbacks.Store(&copied)
}

// GraphInfo describes a compiled graph. [Describe] makes one, and compile callbacks get one. [GraphInfo.Mermaid] and
// [GraphInfo.DOT] draw it.
type GraphInfo struct {
	CompileOptions []GraphCompileOption
	Nodes          map[string]GraphNodeInfo
	// Edges and DataEdges list the successors of each node: those that wait for it and those that get its output.
	// Branches are separate.
	Edges, DataEdges map[string][]string
	Branches         map[string][]GraphBranch
	// EndMappings are the field mappings into END, in workflows.
	EndMappings           []*FieldMapping
	InputType, OutputType reflect.Type
	Name                  string
	NewGraphOptions       []NewGraphOption
	// GenStateFn makes the state of a run, nil without one.
	GenStateFn func(context.Context) any
}

// GraphNodeInfo describes a node of a compiled graph.
type GraphNodeInfo struct {
	Component components.Component
	// Instance is the component, lambda or graph that was added, nil for a passthrough.
	Instance         any
	GraphAddNodeOpts []GraphAddNodeOpt
	// InputType and OutputType are the component's own, before input and output keys.
	InputType, OutputType reflect.Type
	Name                  string
	InputKey, OutputKey   string
	// GraphInfo describes a nested graph.
	GraphInfo *GraphInfo
	// Mappings are the field mappings into the node, in workflows.
	Mappings []*FieldMapping
}

// Describe checks a graph, chain or workflow as its Compile does and returns what it consists of. It calls no compile
// callbacks. As after Compile, the graph cannot be changed any more, but it can be compiled.
func Describe(g AnyGraph, opts ...GraphCompileOption) (*GraphInfo, error) {
	if isNil(g) {
		return nil, errors.New("Describe: the graph is nil")
	}
	p, err := g.compilePlan(newCompileOptions(opts))
	if err != nil {
		return nil, err
	}
	return p.compileInfo, nil
}

// GraphInfoOf returns what a compiled graph consists of. It is shared by all who ask: do not change it. It is false for
// a Runnable that was not made by a Compile of this package.
func GraphInfoOf[I, O any](r Runnable[I, O]) (*GraphInfo, bool) {
	compiled, ok := r.(*runnable[I, O])
	if !ok || compiled == nil {
		return nil, false
	}
	return compiled.plan.compileInfo, true
}

func (g *graph) describeCompiled(p *plan, opts *graphCompileOptions) *GraphInfo {
	info := &GraphInfo{
		CompileOptions:  slices.Clone(opts.given),
		Nodes:           make(map[string]GraphNodeInfo, len(g.nodes)),
		Edges:           map[string][]string{},
		DataEdges:       map[string][]string{},
		Branches:        map[string][]GraphBranch{},
		InputType:       g.in.Type(),
		OutputType:      g.out.Type(),
		Name:            opts.name,
		NewGraphOptions: slices.Clone(g.rawOpts),
		GenStateFn:      g.genState,
	}
	for _, n := range g.nodes {
		described := GraphNodeInfo{
			Component:        n.component,
			Instance:         n.instance,
			GraphAddNodeOpts: slices.Clone(n.rawOpts),
			InputType:        typeOf(n.in),
			OutputType:       typeOf(n.out),
			Name:             n.opts.name,
			InputKey:         n.opts.inputKey,
			OutputKey:        n.opts.outputKey,
		}
		if sub := p.nodes[p.byKey[n.key]].sub; sub != nil {
			described.GraphInfo = sub.compileInfo
		}
		for _, e := range g.near[n.key].in {
			described.Mappings = append(described.Mappings, e.mappings...)
		}
		info.Nodes[n.key] = described
	}
	for _, e := range g.near[END].in {
		info.EndMappings = append(info.EndMappings, e.mappings...)
	}
	for _, e := range g.edges {
		if e.control {
			info.Edges[e.from] = append(info.Edges[e.from], e.to)
		}
		if e.data {
			info.DataEdges[e.from] = append(info.DataEdges[e.from], e.to)
		}
	}
	for _, b := range g.branches {
		info.Branches[b.from] = append(info.Branches[b.from], b.described())
	}
	return info
}

// described is the branch with the nodes that it may choose by their keys.
func (b *branchUse) described() GraphBranch {
	described := *b.branch
	described.endNodes = make(map[string]bool, len(b.branch.endNodes))
	for name := range b.branch.endNodes {
		described.endNodes[b.target(name)] = true
	}
	described.names, described.noData = b.names, b.noData
	return described
}

// notifyCompiled calls the compile callbacks for a graph that was compiled on its own.
func (p *plan) notifyCompiled(ctx context.Context, opts *graphCompileOptions) (err error) {
	defer safe.Recover(&err)
	var all []GraphCompileCallback
	if global := globalCompileCallbacks.Load(); global != nil {
		all = append(all, *global...)
	}
	for _, cb := range append(all, opts.callbacks...) {
		if cb != nil {
			cb.OnFinish(ctx, p.compileInfo)
		}
	}
	return nil
}
