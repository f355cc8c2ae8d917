package compose

import "context"

// Graph is a builder of nodes connected by edges and branches, from an input of type I to an output of type O. Build
// it in one goroutine; what [Graph.Compile] returns may be called from many.
type Graph[I, O any] struct {
	*graph
}

// NewGraph makes an empty graph.
func NewGraph[I, O any](opts ...NewGraphOption) *Graph[I, O] {
	return &Graph[I, O]{graph: newGraphBuilder(ComponentOfGraph, kindOf[I]{}, kindOf[O]{}, opts)}
}

// AddEdge makes the output of one node an input of another. [START] and [END] stand for the input and the output of
// the graph. The types must fit; see the package comment.
func (g *Graph[I, O]) AddEdge(startNode, endNode string) (err error) {
	return g.connect(startNode, endNode)
}

// connect adds an edge for control and data.
func (g *graph) connect(startNode, endNode string) error {
	return g.addEdge(&edge{from: startNode, to: endNode, control: true, data: true})
}

// AddBranch lets a condition choose which nodes come after startNode.
func (g *graph) AddBranch(startNode string, branch *GraphBranch) (err error) {
	return g.addBranch(&branchUse{from: startNode, branch: branch})
}

// GetType returns "".
func (g *Graph[I, O]) GetType() string { return "" }

// Compile checks the graph and makes it runnable. After a successful Compile the graph cannot be changed; it may be
// compiled again, with other options, and what was compiled before is not affected.
func (g *Graph[I, O]) Compile(ctx context.Context, opts ...GraphCompileOption) (Runnable[I, O], error) {
	return compile[I, O](ctx, g, opts)
}

func (g *graph) describe() body {
	return body{component: g.component, in: g.in, out: g.out}
}

func compile[I, O any](ctx context.Context, g AnyGraph, opts []GraphCompileOption) (Runnable[I, O], error) {
	conf := newCompileOptions(opts)
	p, err := g.compilePlan(conf)
	if err != nil {
		return nil, err
	}
	if err := p.notifyCompiled(ctx, conf); err != nil {
		return nil, err
	}
	return &runnable[I, O]{plan: p}, nil
}
