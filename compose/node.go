package compose

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/weftgo/weft/components"
)

// body holds what a node runs: a component, a lambda, a nested graph, or nothing (passthrough).
type body struct {
	component components.Component
	// typ is RunInfo.Type.
	typ string
	// in and out are the body's own types, before input and output keys. A passthrough's are nil until they are
	// inferred from its neighbours.
	in, out  kind
	action   action
	graph    AnyGraph
	instance any
	// silent: what runs in the node reports to the callback handlers itself.
	silent  bool
	problem error
}

// node is a body under a key in a builder.
type node struct {
	body
	key     string
	opts    graphAddNodeOpts
	rawOpts []GraphAddNodeOpt
}

func (n *node) isPassthrough() bool { return n.component == ComponentOfPassthrough }

// input is the type of what edges bring to the node, nil while it is not inferred.
func (n *node) input() kind {
	if n.opts.inputKey != "" {
		return keyed
	}
	return n.in
}

// output is the type of what edges take from the node, nil while it is not inferred.
func (n *node) output() kind {
	if n.opts.outputKey != "" {
		return keyed
	}
	return n.out
}

func newNode(key string, b body, rawOpts []GraphAddNodeOpt) (*node, error) {
	if key == "" {
		return nil, errors.New("node key must not be empty")
	}
	if b.problem != nil {
		return nil, fmt.Errorf("node '%s': %w", key, b.problem)
	}
	n := &node{body: b, key: key, opts: newNodeOptions(rawOpts), rawOpts: rawOpts}
	if n.isPassthrough() && n.opts.inputKey != "" && n.opts.outputKey != "" {
		n.in, n.out = kindOf[any]{}, kindOf[any]{} // no neighbour knows what goes from key to key
	}
	return n, nil
}

// checkHandlers holds the node's state handlers against the graph's state and the node's own types.
func (n *node) checkHandlers(state reflect.Type, hasState bool) error {
	pre, post := n.opts.pre, n.opts.post
	if pre == nil && post == nil {
		return nil
	}
	if !hasState {
		return fmt.Errorf("node '%s' needs state but graph state is not enabled", n.key)
	}
	if err := n.checkHandler("pre", "input", pre, n.input(), state); err != nil {
		return err
	}
	return n.checkHandler("post", "output", post, n.output(), state)
}

func (n *node) checkHandler(which, side string, h *stateHandler, want kind, state reflect.Type) error {
	if h == nil {
		return nil
	}
	if h.state != state {
		return fmt.Errorf("node[%s]'s %s handler state type[%v] is different from graph[%v]", n.key, which, h.state, state)
	}
	got := h.value.Type()
	if want == nil { // a passthrough without a key
		if got != reflect.TypeFor[any]() {
			return fmt.Errorf("passthrough node[%s]'s %s handler type isn't any", n.key, which)
		}
		return nil
	}
	if got != want.Type() {
		return fmt.Errorf("node[%s]'s %s handler type[%v] is different from its %s type[%v]", n.key, which, got, side,
			want.Type())
	}
	return nil
}

// isNil also finds a nil pointer, map or func behind an interface.
func isNil(v any) bool {
	if v == nil {
		return true
	}
	rv := reflect.ValueOf(v)
	return nilable(rv.Type()) && rv.IsNil()
}
