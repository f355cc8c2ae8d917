package compose

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/internal/callbacks"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/schema"
)

// ToolsNodeConfig configures a [ToolsNode] or [AgenticToolsNode].
type ToolsNodeConfig struct {
	// Tools lists the tools that the model may call. Of several with the same name the last one is called, and nothing
	// reports the others: that lets a list override another one by coming after it. Names in aliases must not be taken
	// twice.
	Tools []tool.BaseTool
	// ToolAliases gives tools more names, by the name of the tool. Entries for tools that are not there are ignored.
	ToolAliases map[string]ToolAliasConfig
	// UnknownToolsHandler answers calls of tools that do not exist. Without it such a call is an error and no tool
	// of the message runs.
	UnknownToolsHandler func(ctx context.Context, name, input string) (string, error)
	// ExecuteSequentially runs the calls of a message one after another, in their order, up to the first that fails.
	// The default is all at once; then the failure of one cancels the contexts of the others.
	ExecuteSequentially bool
	// MaxParallelCalls limits how many calls of a message run at once. Zero means no limit.
	MaxParallelCalls int
	// ToolArgumentsHandler may rewrite the arguments of every call before any tool of the message runs. name is the
	// tool's own name, also for a call by alias.
	ToolArgumentsHandler func(ctx context.Context, name, arguments string) (string, error)
	// ToolCallMiddlewares wrap the calls; the first one is outermost.
	ToolCallMiddlewares []ToolMiddleware
}

// ToolsNode runs the tool calls of an assistant message and gives one tool message for each, in the order of the
// calls. It is safe for concurrent use, and works in a graph as well as when it is called directly.
//
// Of an answer that was cut off (see model.Finish.CutOff), such as by the limit of tokens, it executes only the calls that
// the provider said to be complete (model.IsWholeCall); the result of another one says why it was not.
type ToolsNode struct {
	conf  ToolsNodeConfig
	table *toolTable
	// derived is the table of the last call options that changed the tools.
	derived atomic.Pointer[derivedTable]
	// provider finds the calls of a message that were started before.
	provider func(ctx context.Context, input *schema.Message) ([]EarlyToolCall, error)
	// byStream says whether Invoke calls the streaming side of tools.
	byStream func(ctx context.Context) bool
	// waiterOf finds what waits for calls that run at the same time, nil if the node does it itself.
	waiterOf func(ctx context.Context) core.Waiter
	// unknownTool, if not nil, makes the error of a call of a tool that does not exist out of the node's own.
	unknownTool func(ctx context.Context, name, callID string, err error) error
	// cutOffCall, if not nil, makes the result of a call that is not executed: see InternalSetCutOffCalls.
	cutOffCall func(ctx context.Context, name, word string) (string, error)
}

// NewToolNode makes a tools node. It calls Info of every tool; what is wrong with a tool or an alias is an error here.
// conf and its slices may be changed afterwards.
func NewToolNode(ctx context.Context, conf *ToolsNodeConfig) (*ToolsNode, error) {
	if conf == nil {
		return nil, errors.New("(NewToolNode) the config is nil")
	}
	tn := &ToolsNode{conf: *conf}
	tn.conf.Tools = slices.Clone(conf.Tools)
	tn.conf.ToolCallMiddlewares = slices.Clone(conf.ToolCallMiddlewares)
	var err error
	if tn.table, err = tn.newTable(ctx, tn.conf.Tools, conf.ToolAliases); err != nil {
		return nil, err
	}
	return tn, nil
}

// GetType returns "".
func (tn *ToolsNode) GetType() string { return "" }

// toolTable finds tools by name and alias.
type toolTable struct {
	byName map[string]*boundTool
}

func (tn *ToolsNode) newTable(
	ctx context.Context, tools []tool.BaseTool, aliases map[string]ToolAliasConfig,
) (*toolTable, error) {
	tt := &toolTable{byName: make(map[string]*boundTool, len(tools))}
	infos := make(map[string]*schema.ToolInfo, len(tools))
	for i, t := range tools {
		info, err := toolInfo(ctx, t)
		if err != nil {
			return nil, fmt.Errorf("(NewToolNode) failed to get tool info at idx= %d: %w", i, err)
		}
		b, err := bindTool(t, info.Name, tn.conf.ToolCallMiddlewares)
		if err != nil {
			return nil, err
		}
		tt.byName[info.Name] = b
		infos[info.Name] = info
	}
	if err := tt.addAliases(aliases, infos); err != nil {
		return nil, err
	}
	return tt, nil
}

func toolInfo(ctx context.Context, t tool.BaseTool) (info *schema.ToolInfo, err error) {
	defer safe.Recover(&err)
	if isNil(t) {
		return nil, errors.New("the tool is nil")
	}
	info, err = t.Info(ctx)
	if err == nil && info == nil {
		err = errors.New("the tool returned neither an info nor an error")
	}
	return info, err
}

type toolsNodeOptions struct {
	toolOptions []tool.Option
	tools       []tool.BaseTool
	aliases     map[string]ToolAliasConfig
}

// ToolsNodeOption is an option of one call of a tools node.
type ToolsNodeOption func(o *toolsNodeOptions)

// WithToolOption passes options to the tools. Calls add up.
func WithToolOption(opts ...tool.Option) ToolsNodeOption {
	return func(o *toolsNodeOptions) { o.toolOptions = append(o.toolOptions, opts...) }
}

// WithToolList replaces the node's tools for one call, inside the node's middlewares and handlers and with its
// aliases. An empty list changes nothing.
func WithToolList(tool ...tool.BaseTool) ToolsNodeOption {
	return func(o *toolsNodeOptions) { o.tools = tool }
}

// WithToolAliases replaces the node's aliases for one call, all of them. nil changes nothing.
func WithToolAliases(toolAliases map[string]ToolAliasConfig) ToolsNodeOption {
	return func(o *toolsNodeOptions) { o.aliases = toolAliases }
}

// derivedTable is a table made for call options. It is kept because callers pass the same tools again and again.
type derivedTable struct {
	tools []tool.BaseTool
	// aliases is a copy of the aliases of the options, nil for the node's own.
	aliases map[string]ToolAliasConfig
	table   *toolTable
}

// tableFor returns the tools of one call.
func (tn *ToolsNode) tableFor(ctx context.Context, o *toolsNodeOptions) (*toolTable, error) {
	if len(o.tools) == 0 && o.aliases == nil {
		if tn.table == nil {
			return nil, errors.New("the tools node was not made by NewToolNode")
		}
		return tn.table, nil
	}
	tools, aliases := tn.conf.Tools, tn.conf.ToolAliases
	if len(o.tools) > 0 {
		tools = o.tools
	}
	if o.aliases != nil {
		aliases = o.aliases
	}
	if d := tn.derived.Load(); d != nil && sameAliases(d.aliases, o.aliases) && sameTools(d.tools, tools) {
		return d.table, nil
	}
	table, err := tn.newTable(ctx, tools, aliases)
	if err != nil {
		return nil, fmt.Errorf("failed to convert tool list from call option: %w", err)
	}
	tn.derived.Store(&derivedTable{tools: slices.Clone(tools), aliases: cloneAliases(o.aliases), table: table})
	return table, nil
}

// sameTools reports whether both lists hold the same instances. Tools that cannot be compared never count as the same.
func sameTools(a, b []tool.BaseTool) bool {
	return slices.EqualFunc(a, b, func(x, y tool.BaseTool) bool { return safe.Same(x, y) })
}

// Invoke runs the calls of an assistant message and waits for all results.
func (tn *ToolsNode) Invoke(
	ctx context.Context, input *schema.Message, opts ...ToolsNodeOption,
) ([]*schema.Message, error) {
	b, err := tn.begin(ctx, input, opts)
	if err != nil {
		return nil, err
	}
	execute := (*toolCall).invoke
	if tn.callsByStream(ctx) {
		execute = (*toolCall).gather
	}
	b.run(execute)
	if err := b.outcome(invokeFailure); err != nil {
		return nil, err
	}
	out := make([]*schema.Message, len(b.calls))
	for i := range b.calls {
		if out[i], err = b.calls[i].message(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// callsByStream reports whether Invoke calls the streaming side of tools. Callback handlers see it as Stream then.
func (tn *ToolsNode) callsByStream(ctx context.Context) bool {
	return tn.byStream != nil && tn.byStream(ctx)
}

// Stream starts the calls of an assistant message and returns their results as they come. Each chunk is a slice with
// a place for every call, of which one is set: a chunk of that call's tool message.
func (tn *ToolsNode) Stream(
	ctx context.Context, input *schema.Message, opts ...ToolsNodeOption,
) (*schema.StreamReader[[]*schema.Message], error) {
	b, err := tn.begin(ctx, input, opts)
	if err != nil {
		return nil, err
	}
	b.run((*toolCall).stream)
	if err := b.outcome(streamFailure); err != nil {
		return nil, err
	}
	streams := make([]*schema.StreamReader[[]*schema.Message], len(b.calls))
	for i := range b.calls {
		streams[i] = b.calls[i].messages(len(b.calls))
	}
	return schema.MergeStreamReaders(streams), nil
}

// InternalStreamSingleToolCall runs one call the way the node runs the calls of a message, in stream form. Errors,
// interrupts among them, are returned as the tool gave them. It is for the agent runtime.
func InternalStreamSingleToolCall(
	tn *ToolsNode,
	ctx context.Context,
	tc schema.ToolCall,
	opts ...tool.Option,
) (sOutput *schema.StreamReader[string], enhancedSOutput *schema.StreamReader[*schema.ToolResult], useEnhanced bool, err error) {
	if tc.Function.Name == "" {
		return nil, nil, false, errors.New("the tool call names no tool")
	}
	b := &toolBatch{node: tn, ctx: ctx, options: toolsNodeOptions{toolOptions: opts}}
	b.calls = b.single[:]
	if err := b.prepare([]schema.ToolCall{tc}); err != nil {
		return nil, nil, false, err
	}
	c := &b.calls[0]
	b.guard(c, (*toolCall).stream)
	return c.textStream, c.resultStream, c.enhanced, c.err
}

// begin checks the message and gets its calls ready.
func (tn *ToolsNode) begin(ctx context.Context, input *schema.Message, opts []ToolsNodeOption) (*toolBatch, error) {
	if ctx == nil {
		return nil, errNilContext
	}
	b := &toolBatch{node: tn, ctx: ctx, input: input}
	for _, opt := range opts {
		if opt != nil {
			opt(&b.options)
		}
	}
	saved := b.restoreInput()
	if b.input == nil {
		return nil, errors.New("the input message is nil")
	}
	if b.input.Role != schema.Assistant {
		return nil, fmt.Errorf("expected message role is Assistant, got %s", b.input.Role)
	}
	if len(b.input.ToolCalls) == 0 {
		return nil, errors.New("no tool call found in input message")
	}
	b.cutOff = cutOffWord(b.input)
	if b.calls = b.single[:]; len(b.input.ToolCalls) > 1 {
		b.calls = make([]toolCall, len(b.input.ToolCalls))
	}
	if saved == nil {
		if err := b.askProvider(); err != nil {
			return nil, err
		}
	}
	b.restoreResults(saved)
	if err := b.prepare(b.input.ToolCalls); err != nil {
		b.closeStreams()
		return nil, err
	}
	return b, nil
}

// prepare finds the tools and their arguments. Nothing runs if one of the calls cannot.
func (b *toolBatch) prepare(calls []schema.ToolCall) error {
	table, err := b.node.tableFor(b.ctx, &b.options)
	if err != nil {
		return err
	}
	inherited := newRunContext(b.ctx)
	inherited.Context = b.ctx
	for i := range calls {
		b.calls[i].segment = core.AddressSegment{Type: AddressSegmentTool, ID: calls[i].Function.Name, SubID: calls[i].ID}
	}
	if early, ok := b.ctx.Value(callPlaceKey{}).(callPlace); ok && b.input == nil {
		b.calls[0].segment.SubID, b.calls[0].before = early.label, early.before
	} else {
		core.CallKeys(len(calls), func(i int) *string { return &b.calls[i].segment.SubID })
	}
	for i := range calls {
		c := &b.calls[i]
		c.index, c.id = i, calls[i].ID
		c.ctx = inherited
		if c.done { // whatever is open at its address is of another call
			continue
		}
		if c.early != nil {
			c.enter(b.ctx, &callbacks.RunInfo{Name: c.name(), Component: components.ComponentOfTool}, true)
			continue
		}
		if b.refusesCutOff(&calls[i]) {
			b.refuse(c, &calls[i])
			continue
		}
		if err := b.bind(c, &calls[i], table); err != nil {
			return err
		}
	}
	return nil
}

// unknownToolType is the RunInfo.Type of calls that the handler for unknown tools answers.
const unknownToolType = "UnknownTool"

func (b *toolBatch) bind(c *toolCall, tc *schema.ToolCall, table *toolTable) error {
	c.tool = table.byName[c.name()]
	arguments := tc.Function.Arguments
	if c.tool == nil {
		if b.node.conf.UnknownToolsHandler == nil {
			return b.unknownTool(c)
		}
		c.unknown = b.node.conf.UnknownToolsHandler
		c.enter(b.ctx, &callbacks.RunInfo{Name: c.name(), Type: unknownToolType, Component: components.ComponentOfTool}, true)
	} else {
		info := &c.tool.info
		if info.Name != c.name() {
			info = &callbacks.RunInfo{Name: c.name(), Type: info.Type, Component: info.Component}
		}
		c.enter(b.ctx, info, c.tool.silent)
		var err error
		if arguments, err = b.arguments(c, arguments); err != nil {
			return err
		}
	}
	c.arguments = arguments
	c.input = ToolInput{Name: c.name(), Arguments: arguments, CallID: c.callID(), CallOptions: b.options.toolOptions}
	return nil
}

// unknownTool is the error of a call of a tool that does not exist.
func (b *toolBatch) unknownTool(c *toolCall) error {
	err := fmt.Errorf("tool %s not found in toolsNode indexes", c.name())
	if b.node.unknownTool != nil {
		err = b.node.unknownTool(b.ctx, c.name(), c.callID(), err)
	}
	return err
}

// InternalSetUnknownToolError sets what makes the error of a call of a tool that does not exist, out of the node's own.
// It is for the agent runtime and must be called before the node is used.
func InternalSetUnknownToolError(tn *ToolsNode, wrap func(ctx context.Context, name, callID string, err error) error) {
	tn.unknownTool = wrap
}

func (b *toolBatch) arguments(c *toolCall, arguments string) (_ string, err error) {
	arguments = renameArguments(arguments, c.tool.arguments)
	handler := b.node.conf.ToolArgumentsHandler
	if handler == nil {
		return arguments, nil
	}
	handled, err := guarded(b.ctx,
		func(ctx context.Context) (string, error) { return handler(ctx, c.tool.info.Name, arguments) })
	if err != nil {
		return "", fmt.Errorf("failed to executed tool[name:%s arguments:%s] arguments handler: %w", c.name(), arguments, err)
	}
	return handled, nil
}
