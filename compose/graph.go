package compose

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/weftgo/weft/components"
)

// START is the key of the virtual node whose output is the input of the graph.
const START = "start"

// END is the key of the virtual node whose input is the output of the graph.
const END = "end"

// AnyGraph is a [Graph], [Chain] or [Workflow] of any types: what can be a node of another graph.
type AnyGraph interface {
	// describe gives the graph as the body of a node, without an action: that is made by compiling.
	describe() body
	// compilePlan makes the immutable plan of the graph. Compiling again makes another one.
	compilePlan(opts *graphCompileOptions) (*plan, error)
}

// edge is a connection in a builder: control (the target waits for the source), data (the source's output is input
// of the target), or both.
type edge struct {
	from, to      string
	control, data bool
	mappings      []*FieldMapping
}

// branchUse is a branch at its node.
type branchUse struct {
	from   string
	branch *GraphBranch
	// names translates a key that the condition returns into a node key, for chains. nil: they are the same.
	names map[string]string
	// noData: the chosen nodes declare their inputs themselves (workflows).
	noData bool
}

func (b *branchUse) target(name string) string {
	if key, ok := b.names[name]; ok {
		return key
	}
	return name
}

// neighbourhood holds what touches a node, in the order it was added: edges into it and out of it, and the branches that
// it has or that may choose it.
type neighbourhood struct {
	in, out  []*edge
	branches []*branchUse
}

type (
	nodePair struct{ from, to string }
	edgeSort struct{ control, data bool }
)

// graph is the builder that Graph, Chain and Workflow share. The first error sticks.
type graph struct {
	component components.Component
	in, out   kind
	nodes     []*node
	byKey     map[string]*node
	edges     []*edge
	branches  []*branchUse
	// near has what touches each node; pairs says what the edges between two nodes are.
	near  map[string]*neighbourhood
	pairs map[nodePair]edgeSort
	// learned are the nodes whose types were just inferred: what touches them has to be checked.
	learned []string
	// mappers build the inputs of workflow nodes that take parts of their predecessors' outputs.
	mappers map[string]*inputMapper
	newGraphOptions
	rawOpts  []NewGraphOption
	err      error
	compiled bool
	// compiling finds graphs that contain themselves.
	compiling bool
}

func newGraphBuilder(component components.Component, in, out kind, opts []NewGraphOption) *graph {
	g := &graph{component: component, in: in, out: out, byKey: map[string]*node{},
		near:  map[string]*neighbourhood{START: {}, END: {}},
		pairs: map[nodePair]edgeSort{}, mappers: map[string]*inputMapper{}, rawOpts: slices.Clone(opts)}
	for _, opt := range opts {
		if opt != nil {
			opt(&g.newGraphOptions)
		}
	}
	if g.stateType != nil && g.genState == nil {
		g.err = errors.New("WithGenLocalState got a nil function")
	}
	return g
}

// change runs a mutation unless the builder is broken or compiled, and keeps its error.
func (g *graph) change(mutate func() error) error {
	if g.compiled {
		return ErrGraphCompiled
	}
	if g.err == nil {
		g.err = mutate()
	}
	return g.err
}

func (g *graph) addNode(key string, b body, opts []GraphAddNodeOpt) error {
	return g.change(func() error {
		if key == START || key == END {
			return fmt.Errorf("node '%s' is reserved, cannot add manually: it stands for the %s of the graph; "+
				"use another key", key, map[string]string{START: "input", END: "output"}[key])
		}
		if _, exists := g.byKey[key]; exists {
			return fmt.Errorf("node '%s' already present: give each node a key of its own", key)
		}
		n, err := newNode(key, b, opts)
		if err != nil {
			return err
		}
		if n.opts.key != "" && g.component != ComponentOfChain {
			return errors.New("only chain support node key option")
		}
		if err := n.checkHandlers(g.stateType, g.stateType != nil); err != nil {
			return err
		}
		g.nodes = append(g.nodes, n)
		g.byKey[key] = n
		g.near[key] = &neighbourhood{}
		return nil
	})
}

func (g *graph) addEdge(e *edge) error {
	return g.change(func() error {
		if err := g.checkEndpoints("edge", e.from, e.to); err != nil {
			return err
		}
		pair := nodePair{e.from, e.to}
		there := g.pairs[pair]
		if e.control && there.control {
			return fmt.Errorf("control edge[%s]-[%s] have been added yet", e.from, e.to)
		}
		if e.data && there.data {
			return fmt.Errorf("data edge[%s]-[%s] have been added yet", e.from, e.to)
		}
		g.pairs[pair] = edgeSort{control: e.control || there.control, data: e.data || there.data}
		from, to := g.near[e.from], g.near[e.to]
		from.out, to.in = append(from.out, e), append(to.in, e)
		g.edges = append(g.edges, e)
		if err := g.inferAlongEdge(e); err != nil {
			return err
		}
		return g.spread()
	})
}

func (g *graph) addBranch(use *branchUse) error {
	return g.change(func() error {
		if err := use.branch.check(); err != nil {
			return fmt.Errorf("branch of node '%s': %w", use.from, err)
		}
		touched := map[string]bool{use.from: true}
		for _, end := range sortedKeys(use.branch.endNodes) {
			if err := g.checkEndpoints("branch", use.from, use.target(end)); err != nil {
				return err
			}
			touched[use.target(end)] = true
		}
		for key := range touched {
			g.near[key].branches = append(g.near[key].branches, use)
		}
		g.branches = append(g.branches, use)
		if err := g.inferAlongBranch(use); err != nil {
			return err
		}
		return g.spread()
	})
}

func (g *graph) checkEndpoints(what, from, to string) error {
	if from == END {
		return errors.New("END cannot be a start node")
	}
	if to == START {
		return errors.New("START cannot be an end node")
	}
	if from != START && g.byKey[from] == nil {
		return g.unknownNode(what, "start", from, from, to)
	}
	if to != END && g.byKey[to] == nil {
		return g.unknownNode(what, "end", to, from, to)
	}
	return nil
}

func (g *graph) outputOf(key string) kind {
	if key == START {
		return g.in
	}
	return g.byKey[key].output()
}

func (g *graph) inputOf(key string) kind {
	if key == END {
		return g.out
	}
	return g.byKey[key].input()
}

// spread checks the connections of nodes whose types were just learned, which may decide the types of others, until
// nothing new is learned.
func (g *graph) spread() error {
	for len(g.learned) > 0 {
		key := g.learned[0]
		g.learned = g.learned[1:]
		near := g.near[key]
		for _, e := range near.in {
			if err := g.inferAlongEdge(e); err != nil {
				return err
			}
		}
		for _, e := range near.out {
			if err := g.inferAlongEdge(e); err != nil {
				return err
			}
		}
		for _, b := range near.branches {
			if err := g.inferAlongBranch(b); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g *graph) inferAlongEdge(e *edge) error {
	if !e.data || len(e.mappings) > 0 {
		return nil
	}
	return g.inferBetween(e.from, e.to)
}

func (g *graph) inferBetween(from, to string) error {
	out, in := g.outputOf(from), g.inputOf(to)
	switch {
	case out == nil && in == nil:
	case out == nil:
		g.infer(from, in)
	case in == nil:
		g.infer(to, out)
	case assignable(out.Type(), in.Type()) == never:
		return fmt.Errorf("graph edge[%s]-[%s]: start node's output type[%s] and end node's input type[%s] mismatch: %s",
			from, to, out.Type(), in.Type(), g.convertAdvice(from, to, out.Type(), in.Type()))
	}
	return nil
}

func (g *graph) inferAlongBranch(b *branchUse) error {
	want := b.branch.value
	out := g.outputOf(b.from)
	if out == nil {
		g.infer(b.from, want)
	} else if assignable(out.Type(), want.Type()) == never {
		return fmt.Errorf("condition's input type[%s] and start node[%s]'s output type[%s] are mismatched: "+
			"a condition gets what the node before it gives, so let it take %s", want.Type(), b.from, out.Type(), out.Type())
	}
	if b.noData {
		return nil
	}
	for _, end := range sortedKeys(b.branch.endNodes) {
		if err := g.inferBetween(b.from, b.target(end)); err != nil {
			return err
		}
	}
	return nil
}

// infer gives a passthrough its type.
func (g *graph) infer(key string, k kind) {
	n := g.byKey[key]
	if !n.isPassthrough() || n.in != nil {
		return
	}
	n.in, n.out = k, k
	g.learned = append(g.learned, key)
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func typeOf(k kind) reflect.Type {
	if k == nil {
		return nil
	}
	return k.Type()
}
