package compose

import (
	"context"
	"errors"
	"fmt"

	"github.com/weftgo/weft/internal/callbacks"
)

// Chain is a builder of nodes one after another, with branches and parallels in between. Errors are kept and
// returned by Compile. It runs like a [Graph] with [AnyPredecessor].
type Chain[I, O any] struct {
	g *graph
	// tails are the nodes that the next one comes after.
	tails []string
	// count is the number of indexes that are taken: it numbers the keys.
	count int
	err   error
	// ended: the tails are connected to END, by the first compile.
	ended bool
}

// NewChain makes an empty chain.
func NewChain[I, O any](opts ...NewGraphOption) *Chain[I, O] {
	return &Chain[I, O]{g: newGraphBuilder(ComponentOfChain, kindOf[I]{}, kindOf[O]{}, opts)}
}

// Compile checks the chain and makes it runnable. See [Graph.Compile].
func (c *Chain[I, O]) Compile(ctx context.Context, opts ...GraphCompileOption) (Runnable[I, O], error) {
	return compile[I, O](ctx, c, opts)
}

func (c *Chain[I, O]) describe() body {
	b := c.g.describe()
	b.typ = callbacks.ReflectedTypeName(c)
	return b
}

func (c *Chain[I, O]) compilePlan(opts *graphCompileOptions) (*plan, error) {
	if c.err != nil {
		return nil, c.err
	}
	if !c.ended {
		if len(c.tails) == 0 {
			return nil, fmt.Errorf("pre node keys not set, number of nodes in chain= %d: append a node before Compile", len(c.g.nodes))
		}
		for _, tail := range c.tails {
			if err := c.g.connect(tail, END); err != nil {
				return nil, err
			}
		}
		c.ended = true
	}
	return c.g.compilePlan(opts)
}

// change runs one append unless an earlier one failed, and keeps its error.
func (c *Chain[I, O]) change(appendTo func() error) *Chain[I, O] {
	if c.err != nil {
		return c
	}
	if c.g.compiled {
		c.err = ErrChainCompiled
		return c
	}
	c.err = appendTo()
	return c
}

func (c *Chain[I, O]) nextIndex() int {
	c.count++
	return c.count - 1
}

func (c *Chain[I, O]) appendNode(b body, opts []GraphAddNodeOpt) *Chain[I, O] {
	return c.change(func() error {
		key := chosenKey(fmt.Sprintf("node_%d", c.nextIndex()), opts)
		if err := c.g.addNode(key, b, opts); err != nil {
			return err
		}
		if err := c.connect(key); err != nil {
			return err
		}
		c.tails = []string{key}
		return nil
	})
}

// chosenKey is the key given with WithNodeKey, or else the one that the chain makes.
func chosenKey(made string, opts []GraphAddNodeOpt) string {
	if key := newNodeOptions(opts).key; key != "" {
		return key
	}
	return made
}

// connect makes a node come after the nodes so far.
func (c *Chain[I, O]) connect(key string) error {
	tails := c.tails
	if len(tails) == 0 {
		tails = []string{START}
	}
	for _, tail := range tails {
		if err := c.g.connect(tail, key); err != nil {
			return err
		}
	}
	return nil
}

// head is the one node that a branch or parallel comes after.
func (c *Chain[I, O]) head(what string) (string, error) {
	switch len(c.tails) {
	case 0:
		return START, nil
	case 1:
		return c.tails[0], nil
	}
	return "", fmt.Errorf("append %s invalid, multiple previous nodes: %v ", what, c.tails)
}

// AppendBranch lets a condition choose which of the branch's nodes come next. What is appended then comes after all
// of them. There must be a single node before it: put a passthrough after a branch or parallel.
func (c *Chain[I, O]) AppendBranch(b *ChainBranch) *Chain[I, O] {
	return c.change(func() error {
		switch {
		case b == nil:
			return errors.New("append branch invalid, branch is nil")
		case b.err != nil:
			return fmt.Errorf("append branch error: %w", b.err)
		case len(b.nodes) == 0:
			return errors.New("append branch invalid, nodeList is empty")
		case len(b.nodes) == 1:
			return errors.New("append branch invalid, nodeList length = 1")
		}
		head, err := c.head("branch")
		if err != nil {
			return err
		}
		index := c.nextIndex()
		names := make(map[string]string, len(b.nodes))
		tails := make([]string, 0, len(b.nodes))
		for _, n := range b.nodes {
			key := chosenKey(fmt.Sprintf("node_%d_branch_%s", index, n.key), n.opts)
			if err := c.g.addNode(key, n.body, n.opts); err != nil {
				return fmt.Errorf("add branch node[%s] to chain failed: %w", n.key, err)
			}
			names[n.key] = key
			tails = append(tails, key)
		}
		if err := c.g.addBranch(&branchUse{from: head, branch: b.branchOf(names), names: names}); err != nil {
			return fmt.Errorf("chain append branch failed: %w", err)
		}
		c.tails = tails
		return nil
	})
}

// AppendParallel runs the parallel's nodes on the same input, side by side. What comes next gets map[string]any with
// the output of each under its output key. There must be a single node before it: put a passthrough after a branch
// or parallel.
func (c *Chain[I, O]) AppendParallel(p *Parallel) *Chain[I, O] {
	return c.change(func() error {
		switch {
		case p == nil:
			return errors.New("append parallel invalid, parallel is nil")
		case p.err != nil:
			return fmt.Errorf("append parallel invalid, parallel error: %w", p.err)
		case len(p.nodes) < 2:
			return fmt.Errorf("append parallel invalid, not enough nodes, count = %d", len(p.nodes))
		}
		head, err := c.head("parallel")
		if err != nil {
			return err
		}
		index := c.nextIndex()
		tails := make([]string, 0, len(p.nodes))
		for i, n := range p.nodes {
			key := chosenKey(fmt.Sprintf("node_%d_parallel_%d", index, i), n.opts)
			if err := c.g.addNode(key, n.body, n.opts); err != nil {
				return fmt.Errorf("add parallel node to chain failed, key=%s, err: %w", key, err)
			}
			if err := c.g.connect(head, key); err != nil {
				return fmt.Errorf("add parallel edge failed, from=%s, to=%s, err: %w", head, key, err)
			}
			tails = append(tails, key)
		}
		c.tails = tails
		return nil
	})
}

// memberNode is a node of a ChainBranch or Parallel before it is in a chain.
type memberNode struct {
	key  string
	body body
	opts []GraphAddNodeOpt
}

// ChainBranch is a condition and the nodes it may choose, for [Chain.AppendBranch]. The condition speaks in the keys
// given to the Add methods.
type ChainBranch struct {
	condition GraphBranch
	nodes     []memberNode
	err       error
}

// NewChainBranch makes a branch that follows one of its nodes.
func NewChainBranch[T any](cond GraphBranchCondition[T]) *ChainBranch {
	return &ChainBranch{condition: *NewGraphBranch(cond, nil)}
}

// NewChainMultiBranch makes a branch that follows any number of its nodes.
func NewChainMultiBranch[T any](cond GraphMultiBranchCondition[T]) *ChainBranch {
	return &ChainBranch{condition: *NewGraphMultiBranch(cond, nil)}
}

// NewStreamChainBranch is [NewChainBranch] for a condition on the stream.
func NewStreamChainBranch[T any](cond StreamGraphBranchCondition[T]) *ChainBranch {
	return &ChainBranch{condition: *NewStreamGraphBranch(cond, nil)}
}

// NewStreamChainMultiBranch is [NewChainMultiBranch] for a condition on the stream.
func NewStreamChainMultiBranch[T any](cond StreamGraphMultiBranchCondition[T]) *ChainBranch {
	return &ChainBranch{condition: *NewStreamGraphMultiBranch(cond, nil)}
}

func (cb *ChainBranch) add(key string, b body, opts []GraphAddNodeOpt) *ChainBranch {
	for _, n := range cb.nodes {
		if n.key == key && cb.err == nil {
			cb.err = fmt.Errorf("chain branch add node, duplicate branch node key= %s", key)
		}
	}
	cb.nodes = append(cb.nodes, memberNode{key: key, body: b, opts: opts})
	return cb
}

func (cb *ChainBranch) branchOf(names map[string]string) *GraphBranch {
	b := cb.condition
	b.endNodes = make(map[string]bool, len(names))
	for name := range names {
		b.endNodes[name] = true
	}
	return &b
}

// Parallel is a group of nodes that run on the same input, for [Chain.AppendParallel].
type Parallel struct {
	nodes []memberNode
	err   error
}

// NewParallel makes an empty group.
func NewParallel() *Parallel { return &Parallel{} }

func (p *Parallel) add(outputKey string, b body, opts []GraphAddNodeOpt) *Parallel {
	for _, n := range p.nodes {
		if n.key == outputKey && p.err == nil {
			p.err = fmt.Errorf("parallel add node err, duplicate output key= %s", outputKey)
		}
	}
	opts = append(opts[:len(opts):len(opts)], WithOutputKey(outputKey))
	p.nodes = append(p.nodes, memberNode{key: outputKey, body: b, opts: opts})
	return p
}
