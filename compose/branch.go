package compose

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/schema"
)

// GraphBranchCondition picks the next node by a node's output.
type GraphBranchCondition[T any] func(ctx context.Context, in T) (endNode string, err error)

// StreamGraphBranchCondition picks the next node by a node's output stream. It gets a copy of its own and should
// close it; it need not read it to the end.
type StreamGraphBranchCondition[T any] func(ctx context.Context, in *schema.StreamReader[T]) (endNode string, err error)

// GraphMultiBranchCondition picks any number of next nodes: the keys of the map it returns, whatever their values.
type GraphMultiBranchCondition[T any] func(ctx context.Context, in T) (endNode map[string]bool, err error)

// StreamGraphMultiBranchCondition is [GraphMultiBranchCondition] on a stream. See [StreamGraphBranchCondition].
type StreamGraphMultiBranchCondition[T any] func(
	ctx context.Context, in *schema.StreamReader[T],
) (endNodes map[string]bool, err error)

// GraphBranch is a condition with the nodes it may choose. It holds nothing of a graph: one branch may be added to
// several nodes.
type GraphBranch struct {
	value kind
	// Exactly one is set.
	onValue  func(ctx context.Context, v any) (choice, error)
	onStream func(ctx context.Context, s stream) (choice, error)
	endNodes map[string]bool
	// many: the condition chooses any number of nodes.
	many    bool
	problem error
	// What a described branch has in addition: see branchUse.
	names  map[string]string
	noData bool
}

// GetEndNode returns a copy of the set of nodes that the branch may choose.
func (gb *GraphBranch) GetEndNode() map[string]bool { return maps.Clone(gb.endNodes) }

// NewGraphBranch makes a branch that follows one of endNodes (all true).
func NewGraphBranch[T any](condition GraphBranchCondition[T], endNodes map[string]bool) *GraphBranch {
	if condition == nil {
		return brokenBranch[T](endNodes)
	}
	return valueBranch(endNodes, func(ctx context.Context, in T) (choice, error) { return one(condition(ctx, in)) })
}

// NewGraphMultiBranch makes a branch that follows any number of endNodes (all true).
func NewGraphMultiBranch[T any](condition GraphMultiBranchCondition[T], endNodes map[string]bool) *GraphBranch {
	if condition == nil {
		return brokenBranch[T](endNodes)
	}
	return valueBranch(endNodes, func(ctx context.Context, in T) (choice, error) {
		return many(condition(ctx, in))
	}).choosesMany()
}

// NewStreamGraphBranch is [NewGraphBranch] for a condition on the stream.
func NewStreamGraphBranch[T any](condition StreamGraphBranchCondition[T], endNodes map[string]bool) *GraphBranch {
	if condition == nil {
		return brokenBranch[T](endNodes)
	}
	return streamBranch(endNodes, func(ctx context.Context, in *schema.StreamReader[T]) (choice, error) {
		return one(condition(ctx, in))
	})
}

// NewStreamGraphMultiBranch is [NewGraphMultiBranch] for a condition on the stream.
func NewStreamGraphMultiBranch[T any](
	condition StreamGraphMultiBranchCondition[T], endNodes map[string]bool,
) *GraphBranch {
	if condition == nil {
		return brokenBranch[T](endNodes)
	}
	return streamBranch(endNodes, func(ctx context.Context, in *schema.StreamReader[T]) (choice, error) {
		return many(condition(ctx, in))
	}).choosesMany()
}

func (gb *GraphBranch) choosesMany() *GraphBranch {
	gb.many = true
	return gb
}

// choice is the choice of a condition: one key, or any number of them.
type choice struct {
	key   string
	multi bool
	keys  []string
}

func one(key string, err error) (choice, error) { return choice{key: key}, err }

func many(keys map[string]bool, err error) (choice, error) {
	return choice{multi: true, keys: slices.Sorted(maps.Keys(keys))}, err
}

// all yields the chosen keys.
func (c *choice) all(yield func(string) bool) {
	if !c.multi {
		yield(c.key)
		return
	}
	for _, key := range c.keys {
		if !yield(key) {
			return
		}
	}
}

func valueBranch[T any](endNodes map[string]bool, condition func(context.Context, T) (choice, error)) *GraphBranch {
	return &GraphBranch{
		value:    kindOf[T]{},
		endNodes: maps.Clone(endNodes),
		onValue: func(ctx context.Context, v any) (chosen choice, err error) {
			defer safe.Recover(&err)
			in, err := valueAs[T](v)
			if err != nil {
				return chosen, err
			}
			return condition(ctx, in)
		},
	}
}

func streamBranch[T any](
	endNodes map[string]bool, condition func(context.Context, *schema.StreamReader[T]) (choice, error),
) *GraphBranch {
	return &GraphBranch{
		value:    kindOf[T]{},
		endNodes: maps.Clone(endNodes),
		onStream: func(ctx context.Context, s stream) (chosen choice, err error) {
			defer safe.Recover(&err)
			in, err := streamAs[T](s)
			if err != nil {
				return chosen, err
			}
			return condition(ctx, in)
		},
	}
}

func brokenBranch[T any](endNodes map[string]bool) *GraphBranch {
	return &GraphBranch{value: kindOf[T]{}, endNodes: maps.Clone(endNodes),
		problem: errors.New("the condition of the branch is nil")}
}

// check finds what would make the branch fail at run time.
func (gb *GraphBranch) check() error {
	if gb == nil || gb.value == nil {
		return errors.New("the branch is nil")
	}
	if gb.problem != nil {
		return gb.problem
	}
	for _, key := range slices.Sorted(maps.Keys(gb.endNodes)) {
		if !gb.endNodes[key] {
			return fmt.Errorf("branch end node '%s' has the value false: leave it out of the map or set it to true", key)
		}
	}
	return nil
}

// decide runs the condition. It cannot interrupt the run: a checkpoint has no place where only a branch is left to do.
func (gb *GraphBranch) decide(ctx context.Context, v any, s stream) (choice, error) {
	chosen, err := gb.choose(ctx, v, s)
	if err = safe.Sound(err); core.IsInterrupt(err) {
		err = fmt.Errorf("a branch cannot interrupt a run, which a node before it can: %v", err)
	}
	return chosen, err
}

// choose runs the condition on a value or, in a run of streams, on a stream that is the condition's own. Between the
// two forms it joins the stream or makes one of a single chunk.
func (gb *GraphBranch) choose(ctx context.Context, v any, s stream) (chosen choice, err error) {
	switch {
	case gb.onValue != nil && s != nil:
		if v, err = gb.value.Concat(s); err != nil {
			return chosen, fmt.Errorf("branch invoke run error: concat stream reader fail: %w", err)
		}
		fallthrough
	case gb.onValue != nil:
		if chosen, err = gb.onValue(ctx, v); err != nil {
			return chosen, fmt.Errorf("branch invoke run error: %w", err)
		}
	default:
		if s == nil {
			if s, err = gb.value.Single(v); err != nil {
				return chosen, fmt.Errorf("branch collect run error: %w", err)
			}
		}
		if chosen, err = gb.onStream(ctx, s); err != nil {
			return chosen, fmt.Errorf("branch collect run error: %w", err)
		}
	}
	return chosen, nil
}
