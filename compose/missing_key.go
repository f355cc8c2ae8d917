package compose

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weftgo/weft/components"
)

// noInputKey is the error of a node whose input lacks the key of [WithInputKey].
type noInputKey string

func (k noInputKey) Error() string { return "cannot find input key: " + string(k) }

func (k noInputKey) MissingKey() string { return string(k) }

// explained is the error of a task that failed. If its input lacked a key, the error says which predecessors had given
// nothing: the one that gives the key or else, where the node itself asks for keys, all of them. What ran before a run
// was resumed is not known.
func (r *run) explained(t *task) error {
	failed, ok := t.err.(*RunError)
	var missing interface{ MissingKey() string }
	if !ok || len(failed.path) != 1 || r.fromCheckpoint || !errors.As(failed.err, &missing) {
		return t.err
	}
	absent := r.withoutOutput(t.node)
	giver := slices.IndexFunc(absent, func(n *planNode) bool { return n.gives(t.node, missing.MissingKey()) })
	var why string
	switch {
	case giver >= 0:
		why = fmt.Sprintf("node '%s', which gives it, %s", absent[giver].key, r.whyNoOutput())
	case len(absent) > 0 && t.node.asksForKeys():
		keys := make([]string, len(absent))
		for i, n := range absent {
			keys[i] = "'" + n.key + "'"
		}
		why = fmt.Sprintf("there was nothing from %s, which %s", strings.Join(keys, ", "), r.whyNoOutput())
	default:
		return t.err
	}
	return &RunError{kind: failed.kind, path: failed.path, err: fmt.Errorf("%w (%s)", failed.err, why)}
}

// withoutOutput are the predecessors that a node takes data from and that have not handed on any output.
func (r *run) withoutOutput(n *planNode) (absent []*planNode) {
	for _, li := range n.inLinks {
		from := r.links[li].from
		if r.links[li].data() && !r.nodeStates[from].handedOn {
			absent = append(absent, &r.nodes[from])
		}
	}
	return absent
}

func (r *run) whyNoOutput() string {
	if r.dag {
		return "was skipped: no branch chose the way to it. Give the key on every way that leads here"
	}
	return "had given nothing yet: with AnyPredecessor a node runs as soon as one of those before it has. " +
		"Compile with WithNodeTriggerMode(AllPredecessor), or give the key on every way that leads here"
}

// gives reports whether the output of n becomes the value at a key of the input of another node.
func (n *planNode) gives(to *planNode, key string) bool {
	if to.mapper == nil {
		return n.outputKey == key
	}
	return slices.ContainsFunc(to.mapper.byFrom[n.key], func(f fieldMapper) bool {
		return len(f.target) > 0 && f.target[0].name == key
	})
}

// asksForKeys reports whether the node takes its input apart by keys that it was given.
func (n *planNode) asksForKeys() bool {
	return n.inputKey != "" || n.info.Component == components.ComponentOfPrompt
}
