package compose

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/weftgo/weft/internal/callbacks"
	"github.com/weftgo/weft/internal/core"
)

// The virtual nodes have fixed places in a plan; the nodes of the builder follow in the order they were added.
const (
	startIndex = iota
	endIndex
	firstNode
)

// plan is a compiled graph: everything about it that does not change from run to run, by integer index. It is
// immutable, so any number of runs may use it at once.
type plan struct {
	info    callbacks.RunInfo
	segment core.AddressSegment
	in, out kind
	nodes   []planNode
	links   []link
	byKey   map[string]int

	dag bool
	// eager: a node starts as soon as it is ready. Otherwise the run goes in steps.
	eager    bool
	maxSteps int

	genState  func(ctx context.Context) any
	stateType reflect.Type

	store           CheckPointStore
	ownCheckpoint   *string // what every run is saved under unless its call says otherwise
	serializer      Serializer
	interrupts      bool // some node has interruptBefore or interruptAfter
	deleteOnSuccess bool
	awaitSideNodes  bool
	// reportStreams says whether a run of values is reported to callback handlers as one of streams; nil means never.
	reportStreams func(ctx context.Context) bool
	// beforeSaving readies the state for being copied, nil if there is nothing to do.
	beforeSaving func(state any)

	compileInfo *GraphInfo
	// runs is the memory of runs that have ended.
	runs sync.Pool
}

// planNode is a node of a plan.
type planNode struct {
	key     string
	index   int
	info    callbacks.RunInfo
	segment core.AddressSegment

	// action is nil for a passthrough and for a nested graph, which is in sub.
	action action
	sub    *plan
	// silent: what runs in the node reports to the callback handlers itself.
	silent              bool
	in, out             kind
	inputKey, outputKey string
	pre, post           *stateHandler

	// inLinks are ordered by the place of the predecessor, outLinks by the place of the successor.
	inLinks, outLinks []int
	branches          []planBranch
	mapper            *inputMapper
	namedMerge        bool
	interruptBefore   bool
	interruptAfter    bool
	// controls and datas count the inLinks of that sort.
	controls, datas int
}

func (n *planNode) input() kind {
	if n.inputKey != "" {
		return keyed
	}
	return n.in
}

func (n *planNode) output() kind {
	if n.outputKey != "" {
		return keyed
	}
	return n.out
}

// link connects two nodes. An edge and the branches of its source that lead to the same target share one link.
type link struct {
	from, to int
	// What an edge says always holds, what a branch says only if it chooses the target.
	edgeControl, edgeData     bool
	branchControl, branchData bool
	// convert: the target's type is not the source's. On a checked link the values are checked, too.
	convert, checked bool
}

func (l *link) control() bool { return l.edgeControl || l.branchControl }
func (l *link) data() bool    { return l.edgeData || l.branchData }

// carries reports whether an output goes over the link; taken says whether a branch chose the target.
func (l *link) carries(taken bool) bool { return l.edgeData || l.branchData && taken }

// planBranch is a branch at a node.
type planBranch struct {
	*GraphBranch
	// targets are places in outLinks by the keys that the condition returns.
	targets map[string]int
	convert bool
	checked bool
}

// compilePlan checks the graph as a whole and builds its plan.
func (g *graph) compilePlan(opts *graphCompileOptions) (*plan, error) {
	if g.err != nil {
		return nil, g.err
	}
	if g.compiling {
		return nil, errors.New("the graph contains itself")
	}
	g.compiling = true
	defer func() { g.compiling = false }()
	if err := opts.check(g); err != nil {
		return nil, err
	}
	if err := g.checkComplete(); err != nil {
		return nil, err
	}
	p := &plan{
		info:            callbacks.RunInfo{Name: opts.name, Component: g.component},
		segment:         core.AddressSegment{Type: AddressSegmentRunnable, ID: opts.name},
		in:              g.in,
		out:             g.out,
		dag:             opts.dag(g),
		genState:        g.genState,
		stateType:       g.stateType,
		store:           opts.store,
		ownCheckpoint:   opts.checkpointID,
		serializer:      opts.serializer,
		deleteOnSuccess: opts.deleteOnSuccess,
		awaitSideNodes:  opts.awaitSideNodes,
		reportStreams:   opts.reportStreams,
		beforeSaving:    opts.beforeSaving,
		maxSteps:        opts.maxSteps,
	}
	p.eager = p.dag && !opts.steps
	if p.maxSteps <= 0 {
		p.maxSteps = len(g.nodes) + 10
	}
	if err := p.addNodes(g, opts); err != nil {
		return nil, err
	}
	p.addLinks(g)
	p.addBranches(g)
	if p.dag {
		if err := p.checkAcyclic(); err != nil {
			return nil, err
		}
	}
	p.compileInfo = g.describeCompiled(p, opts)
	g.compiled = true
	return p, nil
}

// checkComplete finds mistakes that show only in the whole graph.
func (g *graph) checkComplete() error {
	starts, ends := false, false
	for _, e := range g.edges {
		starts = starts || e.control && e.from == START
		ends = ends || e.control && e.to == END
	}
	for _, b := range g.branches {
		starts = starts || b.from == START
		for name := range b.branch.endNodes {
			ends = ends || b.target(name) == END
		}
	}
	if !starts {
		return g.noStart()
	}
	if !ends {
		return g.noEnd()
	}
	return g.checkTyped()
}

// checkTyped finds passthroughs whose type does not follow from anything around them.
func (g *graph) checkTyped() error {
	var untyped []string
	for _, n := range g.nodes {
		if n.in == nil || n.out == nil {
			untyped = append(untyped, n.key)
		}
	}
	if len(untyped) > 0 {
		return fmt.Errorf("some node's input or output types cannot be inferred: %v: a passthrough has the type of what is "+
			"connected to it, and nothing around these says one; connect them to a node that has a type", untyped)
	}
	return nil
}

func (p *plan) addNodes(g *graph, opts *graphCompileOptions) error {
	p.nodes = make([]planNode, firstNode+len(g.nodes))
	p.byKey = make(map[string]int, len(p.nodes))
	p.nodes[startIndex] = planNode{key: START, in: g.in, out: g.in}
	p.nodes[endIndex] = planNode{key: END, in: g.out, out: g.out}
	for i, n := range g.nodes {
		pn := planNode{
			key:       n.key,
			info:      callbacks.RunInfo{Name: n.opts.name, Type: n.typ, Component: n.component},
			segment:   core.AddressSegment{Type: AddressSegmentNode, ID: n.key},
			action:    n.action,
			silent:    n.silent,
			in:        n.in,
			out:       n.out,
			inputKey:  n.opts.inputKey,
			outputKey: n.opts.outputKey,
			pre:       n.opts.pre,
			post:      n.opts.post,
		}
		if n.graph != nil {
			sub, err := n.graph.compilePlan(newCompileOptions(n.opts.compile))
			if err != nil {
				return fmt.Errorf("compile graph of node '%s': %w", n.key, err)
			}
			pn.sub = sub
		}
		p.nodes[firstNode+i] = pn
	}
	for i := range p.nodes {
		n := &p.nodes[i]
		n.index = i
		n.mapper = g.mappers[n.key]
		n.namedMerge = opts.fanIn[n.key].StreamMergeWithSourceEOF
		p.byKey[n.key] = i
	}
	for n := range p.named(opts.interruptBefore) {
		n.interruptBefore, p.interrupts = true, true
	}
	for n := range p.named(opts.interruptAfter) {
		n.interruptAfter, p.interrupts = true, true
	}
	return nil
}

// named are the nodes with these keys. Keys without a node are ignored.
func (p *plan) named(keys []string) iter.Seq[*planNode] {
	return func(yield func(*planNode) bool) {
		for _, key := range keys {
			if i := p.byKey[key]; i >= firstNode && !yield(&p.nodes[i]) {
				return
			}
		}
	}
}

// addLinks makes one link for each pair of nodes that an edge or a branch connects.
func (p *plan) addLinks(g *graph) {
	type pair struct{ from, to int }
	places := map[pair]int{}
	at := func(from, to string) *link {
		key := pair{p.byKey[from], p.byKey[to]}
		i, ok := places[key]
		if !ok {
			i = len(p.links)
			places[key] = i
			p.links = append(p.links, link{from: key.from, to: key.to})
		}
		return &p.links[i]
	}
	for _, e := range g.edges {
		l := at(e.from, e.to)
		l.edgeControl = l.edgeControl || e.control
		l.edgeData = l.edgeData || e.data
	}
	for _, b := range g.branches {
		for _, name := range sortedKeys(b.branch.endNodes) {
			l := at(b.from, b.target(name))
			l.branchControl = true
			l.branchData = l.branchData || !b.noData
		}
	}
	slices.SortFunc(p.links, func(a, b link) int {
		if a.from != b.from {
			return a.from - b.from
		}
		return a.to - b.to
	})
	for i := range p.links {
		l := &p.links[i]
		from, to := &p.nodes[l.from], &p.nodes[l.to]
		from.outLinks = append(from.outLinks, i)
		to.inLinks = append(to.inLinks, i)
		if l.control() {
			to.controls++
		}
		if l.data() {
			to.datas++
		}
		l.convert, l.checked = conversion(from.output(), to.input())
	}
}

// conversion says whether values of one kind need work to become values of another.
func conversion(out, in kind) (convert, checked bool) {
	if out.Type() == in.Type() {
		return false, false
	}
	return true, assignable(out.Type(), in.Type()) == checkedAtRun
}

func (p *plan) addBranches(g *graph) {
	for _, b := range g.branches {
		from := &p.nodes[p.byKey[b.from]]
		pb := planBranch{GraphBranch: b.branch, targets: make(map[string]int, len(b.branch.endNodes))}
		for name := range b.branch.endNodes {
			to := p.byKey[b.target(name)]
			pb.targets[name], _ = slices.BinarySearchFunc(from.outLinks, to, func(i, to int) int { return p.links[i].to - to })
		}
		pb.convert, pb.checked = conversion(from.output(), b.branch.value)
		from.branches = append(from.branches, pb)
	}
}

// checkAcyclic walks the control and data links and names the cycles it finds.
func (p *plan) checkAcyclic() error {
	const (
		unseen = iota
		onPath
		done
	)
	state := make([]int, len(p.nodes))
	var path []string
	var loops []string
	var walk func(i int)
	walk = func(i int) {
		state[i] = onPath
		path = append(path, p.nodes[i].key)
		for _, li := range p.nodes[i].outLinks {
			to := p.links[li].to
			switch state[to] {
			case unseen:
				walk(to)
			case onPath:
				from := slices.Index(path, p.nodes[to].key)
				loop := append(slices.Clone(path[from:]), p.nodes[to].key)
				loops = append(loops, "["+strings.Join(loop, "->")+"]")
			}
		}
		path = path[:len(path)-1]
		state[i] = done
	}
	for i := range p.nodes {
		if state[i] == unseen {
			walk(i)
		}
	}
	if len(loops) == 0 {
		return nil
	}
	return p.loopError(loops)
}
