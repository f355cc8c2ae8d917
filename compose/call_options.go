package compose

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components/document"
	"github.com/weftgo/weft/components/embedding"
	"github.com/weftgo/weft/components/indexer"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/prompt"
	"github.com/weftgo/weft/components/retriever"
)

// NodePath leads to a node: the keys from the outermost graph down.
type NodePath struct{ path []string }

// NewNodePath makes a path of node keys.
func NewNodePath(nodeKeyPath ...string) *NodePath {
	return &NodePath{path: slices.Clone(nodeKeyPath)}
}

// GetPath returns the keys.
func (p *NodePath) GetPath() []string {
	if p == nil {
		return nil
	}
	return slices.Clone(p.path)
}

// String renders the path as [outer, inner].
func (p NodePath) String() string { return "[" + strings.Join(p.path, ", ") + "]" }

// StateModifier changes the saved state of a graph before a run continues from it. It is called for the outermost
// graph, with an empty path, and for each nested graph when that one continues. The state is what the graph's
// GenLocalState made: usually a pointer, to be changed in place.
type StateModifier func(ctx context.Context, path NodePath, state any) error

// Option is an option of one call of a [Runnable]. It is immutable and may be used for many calls.
type Option struct {
	component     []any
	componentType reflect.Type
	handlers      []callbacks.Handler
	paths         [][]string
	maxSteps      int
	checkpoint    checkpointOption
}

// checkpointOption is the part of an Option that acts on the graph it is given to alone.
type checkpointOption struct {
	id, writeTo *string
	forceNew    bool
	modify      StateModifier
}

// DesignateNode makes the option act on the nodes with the given keys only.
func (o Option) DesignateNode(nodeKey ...string) Option {
	paths := make([]*NodePath, len(nodeKey))
	for i, key := range nodeKey {
		paths[i] = NewNodePath(key)
	}
	return o.DesignateNodeWithPath(paths...)
}

// DesignateNodeWithPath makes the option act on the nodes at the given paths only. A path that ends at a nested graph
// stands for everything in it.
func (o Option) DesignateNodeWithPath(path ...*NodePath) Option {
	o.paths = slices.Clip(o.paths)
	for _, p := range path {
		o.paths = append(o.paths, p.GetPath())
	}
	return o
}

func componentOption[T any](opts []T) Option {
	o := Option{component: make([]any, len(opts))}
	for i, opt := range opts {
		o.component[i] = opt
	}
	if len(opts) > 0 {
		o.componentType = reflect.TypeOf(o.component[0])
	}
	return o
}

// WithEmbeddingOption passes options to embedding nodes.
func WithEmbeddingOption(opts ...embedding.Option) Option { return componentOption(opts) }

// WithRetrieverOption passes options to retriever nodes.
func WithRetrieverOption(opts ...retriever.Option) Option { return componentOption(opts) }

// WithLoaderOption passes options to loader nodes.
func WithLoaderOption(opts ...document.LoaderOption) Option { return componentOption(opts) }

// WithDocumentTransformerOption passes options to document transformer nodes.
func WithDocumentTransformerOption(opts ...document.TransformerOption) Option {
	return componentOption(opts)
}

// WithIndexerOption passes options to indexer nodes.
func WithIndexerOption(opts ...indexer.Option) Option { return componentOption(opts) }

// WithChatModelOption passes options to chat model and agentic model nodes.
func WithChatModelOption(opts ...model.Option) Option { return componentOption(opts) }

// WithChatTemplateOption passes options to chat template nodes.
func WithChatTemplateOption(opts ...prompt.Option) Option { return componentOption(opts) }

// WithToolsNodeOption passes options to tools nodes.
func WithToolsNodeOption(opts ...ToolsNodeOption) Option { return componentOption(opts) }

// WithLambdaOption passes options to the lambdas whose option type is the type of the first element.
func WithLambdaOption(opts ...any) Option { return componentOption(opts) }

// WithCallbacks adds handlers for the run: for everything in it, or for the designated nodes and what runs in them.
func WithCallbacks(cbs ...callbacks.Handler) Option {
	return Option{handlers: slices.Clone(cbs)}
}

// WithRuntimeMaxSteps replaces the step limit that the graph was compiled with (see [WithMaxRunSteps]) for one call.
// The last positive one counts.
func WithRuntimeMaxSteps(maxSteps int) Option { return Option{maxSteps: maxSteps} }

// WithCheckPointID names the checkpoint of the run: an interrupted run is saved there, and a call with the ID of a
// saved run continues from it and ignores its input. The graph must have been compiled with a store.
func WithCheckPointID(checkPointID string) Option {
	return Option{checkpoint: checkpointOption{id: &checkPointID}}
}

// WithWriteToCheckPointID saves an interrupted run under another ID than it is loaded from. Alone it only saves.
func WithWriteToCheckPointID(checkPointID string) Option {
	return Option{checkpoint: checkpointOption{writeTo: &checkPointID}}
}

// WithForceNewRun starts a new run even if there is a checkpoint.
func WithForceNewRun() Option { return Option{checkpoint: checkpointOption{forceNew: true}} }

// WithStateModifier changes the saved state before the run continues from it.
func WithStateModifier(sm StateModifier) Option {
	return Option{checkpoint: checkpointOption{modify: sm}}
}

// routedOptions are the options of a call, sorted by who gets them.
type routedOptions struct {
	handlers   []callbacks.Handler
	maxSteps   int
	checkpoint checkpointOption
	nodes      []nodeOptions
}

// nodeOptions are the options for one node.
type nodeOptions struct {
	component []any
	handlers  []callbacks.Handler
	graph     []Option // for a nested graph
}

func (o *routedOptions) of(node int) *nodeOptions {
	if o.nodes == nil {
		return nil
	}
	return &o.nodes[node]
}

// route sorts the options. With an error it still leaves the handlers that it found, so that the error is reported to
// them.
func (p *plan) route(opts []Option, routed *routedOptions) error {
	for i := range opts {
		routed.takeForGraph(&opts[i])
	}
	for i := range opts {
		if err := p.routeToNodes(routed, &opts[i]); err != nil {
			return err
		}
	}
	return nil
}

// takeForGraph takes what acts on the graph that is called.
func (o *routedOptions) takeForGraph(opt *Option) {
	if len(opt.paths) > 0 {
		return
	}
	o.handlers = append(o.handlers, opt.handlers...)
	if opt.maxSteps > 0 {
		o.maxSteps = opt.maxSteps
	}
	c := &opt.checkpoint
	if c.id != nil {
		o.checkpoint.id = c.id
	}
	if c.writeTo != nil {
		o.checkpoint.writeTo = c.writeTo
	}
	if c.modify != nil {
		o.checkpoint.modify = c.modify
	}
	o.checkpoint.forceNew = o.checkpoint.forceNew || c.forceNew
}

func (p *plan) routeToNodes(routed *routedOptions, opt *Option) error {
	if len(opt.paths) == 0 && len(opt.component) == 0 {
		return nil
	}
	if routed.nodes == nil {
		routed.nodes = make([]nodeOptions, len(p.nodes))
	}
	if len(opt.paths) == 0 {
		for i := firstNode; i < len(p.nodes); i++ {
			p.nodes[i].offer(&routed.nodes[i], opt)
		}
		return nil
	}
	for _, path := range opt.paths {
		if len(path) == 0 {
			return fmt.Errorf("call option has designated an empty path")
		}
		i, ok := p.byKey[path[0]]
		if !ok || i < firstNode {
			return fmt.Errorf("option has designated an unknown node: %s", NodePath{path: path[:1]})
		}
		if err := p.nodes[i].designate(&routed.nodes[i], opt, path); err != nil {
			return err
		}
	}
	return nil
}

// optionType is the type of call option that the node takes, nil for none.
func (n *planNode) optionType() reflect.Type {
	if n.action == nil {
		return nil
	}
	return n.action.OptionType()
}

// takes reports whether a component option is for such nodes. A node without options takes not even a nil one.
func (n *planNode) takes(opt *Option) bool {
	return opt.componentType != nil && opt.componentType == n.optionType()
}

// offer gives a component option that names no node to every node that takes its type.
func (n *planNode) offer(to *nodeOptions, opt *Option) {
	switch {
	case n.sub != nil:
		to.graph = append(to.graph, Option{component: opt.component, componentType: opt.componentType})
	case n.takes(opt):
		to.component = append(to.component, opt.component...)
	}
}

func (n *planNode) designate(to *nodeOptions, opt *Option, path []string) error {
	if len(path) > 1 {
		if n.sub == nil {
			return fmt.Errorf("cannot designate sub path of a component, path:%s", NodePath{path: path})
		}
		inner := *opt
		inner.paths = [][]string{path[1:]}
		to.graph = append(to.graph, inner)
		return nil
	}
	to.handlers = append(to.handlers, opt.handlers...)
	if n.sub != nil {
		inner := *opt
		inner.paths, inner.handlers, inner.checkpoint = nil, nil, checkpointOption{}
		to.graph = append(to.graph, inner)
		return nil
	}
	if len(opt.component) == 0 {
		return nil
	}
	if !n.takes(opt) {
		return fmt.Errorf("option type[%v] is different from which the designated node[%s] expects[%v]", opt.componentType,
			n.key, n.optionType())
	}
	to.component = append(to.component, opt.component...)
	return nil
}
