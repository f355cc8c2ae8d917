package compose

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// What follows is the part of errors that says what to do. The texts before it are part of the API.

// unknownNode is the error of an edge or branch whose node is not there.
func (g *graph) unknownNode(what, side, key, from, to string) error {
	var keys []string
	for _, n := range g.nodes {
		keys = append(keys, n.key)
	}
	advice := fmt.Sprintf("the %s leads from '%s' to '%s', and ", what, from, to)
	switch near := nearest(key, keys); {
	case near != "":
		advice += fmt.Sprintf("there is a node '%s'", near)
	case len(keys) == 0:
		advice += "no node was added before it"
	default:
		advice += fmt.Sprintf("the nodes are %s", quotedList(keys))
	}
	return fmt.Errorf("%s %s node '%s' needs to be added to graph first: %s", what, side, key, advice)
}

// nearest returns the key that was probably meant by a misspelt one, "" if none is like it.
func nearest(key string, keys []string) string {
	if key == "" {
		return ""
	}
	best, least := "", max(1, len(key)/3)+1
	for _, k := range keys {
		if d := distance(strings.ToLower(key), strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	return best
}

// distance is the number of letters that have to be put in, taken out or replaced to make a of b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			above := row[j+1]
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, above, row[j])
			}
			row[j+1], diagonal = cost, above
		}
	}
	return row[len(b)]
}

func quotedList(keys []string) string {
	const enough = 12
	more := ""
	if len(keys) > enough {
		more = fmt.Sprintf(" and %d more", len(keys)-enough)
		keys = keys[:enough]
	}
	return "'" + strings.Join(keys, "', '") + "'" + more
}

// noStart and noEnd are the errors of a graph that lacks what begins or ends it.
func (g *graph) noStart() error {
	if len(g.nodes) == 0 {
		return fmt.Errorf("start node not set: nothing leads from START, and the %s has no nodes", g.what())
	}
	first := g.nodes[0].key
	for _, n := range g.nodes {
		if len(g.near[n.key].in) == 0 && !g.chosen(n.key) {
			first = n.key
			break
		}
	}
	how := fmt.Sprintf("AddEdge(compose.START, %q), or a branch there", first)
	if g.component == ComponentOfWorkflow {
		how = fmt.Sprintf("AddInput(compose.START) to a node, such as '%s'", first)
	}
	return fmt.Errorf("start node not set: nothing leads from START; add %s", how)
}

func (g *graph) noEnd() error {
	last := START
	for _, n := range g.nodes {
		if near := g.near[n.key]; len(near.out) == 0 && !slices.ContainsFunc(near.branches, n.has) {
			last = n.key
		}
	}
	how := fmt.Sprintf("AddEdge(%q, compose.END), or a branch that may choose compose.END", last)
	if g.component == ComponentOfWorkflow {
		how = fmt.Sprintf("End().AddInput(%q)", last)
	}
	return fmt.Errorf("end node not set: nothing leads to END, so there would be no output; add %s", how)
}

// has reports whether a branch is at the node.
func (n *node) has(b *branchUse) bool { return b.from == n.key }

// chosen reports whether a branch may choose the node.
func (g *graph) chosen(key string) bool {
	return slices.ContainsFunc(g.near[key].branches, func(b *branchUse) bool {
		return slices.ContainsFunc(sortedKeys(b.branch.endNodes), func(name string) bool { return b.target(name) == key })
	})
}

func (g *graph) what() string { return strings.ToLower(string(g.component)) }

// convertAdvice says how values of one type get to a node that takes another.
func (g *graph) convertAdvice(from, to string, out, in reflect.Type) string {
	switch keyedType := keyed.Type(); {
	case out == keyedType && from != START && g.byKey[from].opts.outputKey != "":
		return fmt.Sprintf("'%s' has an output key, which makes its output a map: leave WithOutputKey away, or have the "+
			"next node take the value out of the map (WithInputKey)", from)
	case in == keyedType && to != END && g.byKey[to].opts.inputKey != "":
		return fmt.Sprintf("'%s' has an input key, so it takes a map: give the node before it the same key "+
			"(WithOutputKey)", to)
	case in == keyedType && from == START:
		return "the node takes a map: put a passthrough with WithOutputKey between the two, which makes its input an " +
			"entry of a map"
	case in == keyedType:
		return fmt.Sprintf("the node takes a map: WithOutputKey at '%s' makes its output an entry of one", from)
	case out == keyedType && to != END:
		return fmt.Sprintf("WithInputKey at '%s' takes one entry of the map", to)
	case in.Kind() == reflect.Slice && in.Elem() == out:
		return fmt.Sprintf("compose.ToList[%s]() is a lambda that makes a list of one value: put it between the two", out)
	}
	return "put a lambda between the two that converts the value"
}

// wrongChoice is the error of a condition that chose a node that its branch does not have.
func (b *planBranch) wrongChoice(key string) error {
	return fmt.Errorf("branch invocation returns unintended end node: %s: the condition may choose %s; it returns one of "+
		"these, or the branch has to be made with '%s' among its end nodes, too", key, quotedList(sortedKeys(b.targets)), key)
}

// loopError names the cycles of a graph that must not have one.
func (p *plan) loopError(loops []string) error {
	advice := "where nodes wait for all those before them, these wait for each other; a Graph without " +
		"WithNodeTriggerMode(AllPredecessor) may have a loop"
	if p.info.Component == ComponentOfWorkflow {
		advice = "a workflow has no loops, as its nodes wait for all those before them; put the loop into a Graph, and add " +
			"that with AddGraphNode"
	}
	return fmt.Errorf("%w: %s: %s", DAGInvalidLoopErr, strings.Join(loops, ", "), advice)
}

// stuck is the error of a run that did not get to END.
func (r *run) stuck() error {
	const text = "END was not reached, and there is nothing left that leads to it"
	if len(r.last) == 0 {
		return graphErrorf("no tasks to execute after graph start: %s: no branch at START chose a node", text)
	}
	return graphErrorf("no tasks to execute, last completed nodes: %v: %s: add an edge or a branch behind these "+
		"nodes, or "+
		"choose another node in a branch before them", r.keysOf(r.last), text)
}

// fanInAdvice says what to do about several values for one node that cannot become one.
func fanInAdvice(n *planNode, outputs []mapped, err error) error {
	keys := make([]string, len(outputs))
	for i := range outputs {
		keys[i] = outputs[i].from
	}
	return fmt.Errorf("%w: node '%s' gets values from %s at once: give each of them an output key of its own "+
		"(WithOutputKey), so that they become entries of one map, or say how such values become one "+
		"(RegisterValuesMergeFunc)", err, n.key, quotedList(keys))
}
