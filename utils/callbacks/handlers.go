package callbacks

import (
	"context"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/components/document"
	"github.com/weftgo/weft/components/embedding"
	"github.com/weftgo/weft/components/indexer"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/prompt"
	"github.com/weftgo/weft/components/retriever"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// Every handler type has a function for each moment that its kind of component has. A function that is nil is not
// called. A payload of a type that the kind does not have reaches it as nil.

// PromptCallbackHandler watches chat templates.
type PromptCallbackHandler struct {
	OnStart func(ctx context.Context, info *callbacks.RunInfo, input *prompt.CallbackInput) context.Context
	OnEnd   func(ctx context.Context, info *callbacks.RunInfo, output *prompt.CallbackOutput) context.Context
	OnError func(ctx context.Context, info *callbacks.RunInfo, err error) context.Context
}

// Needed implements callbacks.TimingChecker: a moment is needed if its function is set.
func (ch *PromptCallbackHandler) Needed(
	ctx context.Context, info *callbacks.RunInfo, timing callbacks.CallbackTiming,
) bool {
	return ch.adapter().Needed(ctx, info, timing)
}

func (ch *PromptCallbackHandler) adapter() *typed[*prompt.CallbackInput, *prompt.CallbackOutput] {
	if ch == nil {
		return nil
	}
	return &typed[*prompt.CallbackInput, *prompt.CallbackOutput]{
		input: prompt.ConvCallbackInput, output: prompt.ConvCallbackOutput,
		onStart: ch.OnStart, onEnd: ch.OnEnd, onError: ch.OnError,
	}
}

// Prompt sets the handler of chat templates, replacing an earlier one. nil takes it away.
func (c *HandlerHelper) Prompt(handler *PromptCallbackHandler) *HandlerHelper {
	return set(c, components.ComponentOfPrompt, handler.adapter())
}

// ModelCallbackHandler watches chat models.
type ModelCallbackHandler struct {
	OnStart func(ctx context.Context, info *callbacks.RunInfo, input *model.CallbackInput) context.Context
	OnEnd   func(ctx context.Context, info *callbacks.RunInfo, output *model.CallbackOutput) context.Context
	// OnEndWithStreamOutput gets a copy of the stream, which it must close.
	OnEndWithStreamOutput func(ctx context.Context, info *callbacks.RunInfo,
		output *schema.StreamReader[*model.CallbackOutput],
	) context.Context
	OnError func(ctx context.Context, info *callbacks.RunInfo, err error) context.Context
}

// Needed implements callbacks.TimingChecker: a moment is needed if its function is set.
func (ch *ModelCallbackHandler) Needed(
	ctx context.Context, info *callbacks.RunInfo, timing callbacks.CallbackTiming,
) bool {
	return ch.adapter().Needed(ctx, info, timing)
}

func (ch *ModelCallbackHandler) adapter() *typed[*model.CallbackInput, *model.CallbackOutput] {
	if ch == nil {
		return nil
	}
	return &typed[*model.CallbackInput, *model.CallbackOutput]{
		input: model.ConvCallbackInput, output: model.ConvCallbackOutput,
		onStart: ch.OnStart, onEnd: ch.OnEnd, onEndStream: ch.OnEndWithStreamOutput, onError: ch.OnError,
	}
}

// ChatModel sets the handler of chat models, replacing an earlier one. nil takes it away.
func (c *HandlerHelper) ChatModel(handler *ModelCallbackHandler) *HandlerHelper {
	return set(c, components.ComponentOfChatModel, handler.adapter())
}

// EmbeddingCallbackHandler watches embedders.
type EmbeddingCallbackHandler struct {
	OnStart func(ctx context.Context, info *callbacks.RunInfo, input *embedding.CallbackInput) context.Context
	OnEnd   func(ctx context.Context, info *callbacks.RunInfo, output *embedding.CallbackOutput) context.Context
	OnError func(ctx context.Context, info *callbacks.RunInfo, err error) context.Context
}

// Needed implements callbacks.TimingChecker: a moment is needed if its function is set.
func (ch *EmbeddingCallbackHandler) Needed(
	ctx context.Context, info *callbacks.RunInfo, timing callbacks.CallbackTiming,
) bool {
	return ch.adapter().Needed(ctx, info, timing)
}

func (ch *EmbeddingCallbackHandler) adapter() *typed[*embedding.CallbackInput, *embedding.CallbackOutput] {
	if ch == nil {
		return nil
	}
	return &typed[*embedding.CallbackInput, *embedding.CallbackOutput]{
		input: embedding.ConvCallbackInput, output: embedding.ConvCallbackOutput,
		onStart: ch.OnStart, onEnd: ch.OnEnd, onError: ch.OnError,
	}
}

// Embedding sets the handler of embedders, replacing an earlier one. nil takes it away.
func (c *HandlerHelper) Embedding(handler *EmbeddingCallbackHandler) *HandlerHelper {
	return set(c, components.ComponentOfEmbedding, handler.adapter())
}

// IndexerCallbackHandler watches indexers.
type IndexerCallbackHandler struct {
	OnStart func(ctx context.Context, info *callbacks.RunInfo, input *indexer.CallbackInput) context.Context
	OnEnd   func(ctx context.Context, info *callbacks.RunInfo, output *indexer.CallbackOutput) context.Context
	OnError func(ctx context.Context, info *callbacks.RunInfo, err error) context.Context
}

// Needed implements callbacks.TimingChecker: a moment is needed if its function is set.
func (ch *IndexerCallbackHandler) Needed(
	ctx context.Context, info *callbacks.RunInfo, timing callbacks.CallbackTiming,
) bool {
	return ch.adapter().Needed(ctx, info, timing)
}

func (ch *IndexerCallbackHandler) adapter() *typed[*indexer.CallbackInput, *indexer.CallbackOutput] {
	if ch == nil {
		return nil
	}
	return &typed[*indexer.CallbackInput, *indexer.CallbackOutput]{
		input: indexer.ConvCallbackInput, output: indexer.ConvCallbackOutput,
		onStart: ch.OnStart, onEnd: ch.OnEnd, onError: ch.OnError,
	}
}

// Indexer sets the handler of indexers, replacing an earlier one. nil takes it away.
func (c *HandlerHelper) Indexer(handler *IndexerCallbackHandler) *HandlerHelper {
	return set(c, components.ComponentOfIndexer, handler.adapter())
}

// RetrieverCallbackHandler watches retrievers.
type RetrieverCallbackHandler struct {
	OnStart func(ctx context.Context, info *callbacks.RunInfo, input *retriever.CallbackInput) context.Context
	OnEnd   func(ctx context.Context, info *callbacks.RunInfo, output *retriever.CallbackOutput) context.Context
	OnError func(ctx context.Context, info *callbacks.RunInfo, err error) context.Context
}

// Needed implements callbacks.TimingChecker: a moment is needed if its function is set.
func (ch *RetrieverCallbackHandler) Needed(
	ctx context.Context, info *callbacks.RunInfo, timing callbacks.CallbackTiming,
) bool {
	return ch.adapter().Needed(ctx, info, timing)
}

func (ch *RetrieverCallbackHandler) adapter() *typed[*retriever.CallbackInput, *retriever.CallbackOutput] {
	if ch == nil {
		return nil
	}
	return &typed[*retriever.CallbackInput, *retriever.CallbackOutput]{
		input: retriever.ConvCallbackInput, output: retriever.ConvCallbackOutput,
		onStart: ch.OnStart, onEnd: ch.OnEnd, onError: ch.OnError,
	}
}

// Retriever sets the handler of retrievers, replacing an earlier one. nil takes it away.
func (c *HandlerHelper) Retriever(handler *RetrieverCallbackHandler) *HandlerHelper {
	return set(c, components.ComponentOfRetriever, handler.adapter())
}

// LoaderCallbackHandler watches document loaders.
type LoaderCallbackHandler struct {
	OnStart func(ctx context.Context, info *callbacks.RunInfo, input *document.LoaderCallbackInput) context.Context
	OnEnd   func(ctx context.Context, info *callbacks.RunInfo, output *document.LoaderCallbackOutput) context.Context
	OnError func(ctx context.Context, info *callbacks.RunInfo, err error) context.Context
}

// Needed implements callbacks.TimingChecker: a moment is needed if its function is set.
func (ch *LoaderCallbackHandler) Needed(
	ctx context.Context, info *callbacks.RunInfo, timing callbacks.CallbackTiming,
) bool {
	return ch.adapter().Needed(ctx, info, timing)
}

func (ch *LoaderCallbackHandler) adapter() *typed[*document.LoaderCallbackInput, *document.LoaderCallbackOutput] {
	if ch == nil {
		return nil
	}
	return &typed[*document.LoaderCallbackInput, *document.LoaderCallbackOutput]{
		input: document.ConvLoaderCallbackInput, output: document.ConvLoaderCallbackOutput,
		onStart: ch.OnStart, onEnd: ch.OnEnd, onError: ch.OnError,
	}
}

// Loader sets the handler of document loaders, replacing an earlier one. nil takes it away.
func (c *HandlerHelper) Loader(handler *LoaderCallbackHandler) *HandlerHelper {
	return set(c, components.ComponentOfLoader, handler.adapter())
}

// TransformerCallbackHandler watches document transformers.
type TransformerCallbackHandler struct {
	OnStart func(ctx context.Context, info *callbacks.RunInfo, input *document.TransformerCallbackInput) context.Context
	OnEnd   func(ctx context.Context, info *callbacks.RunInfo, output *document.TransformerCallbackOutput) context.Context
	OnError func(ctx context.Context, info *callbacks.RunInfo, err error) context.Context
}

// Needed implements callbacks.TimingChecker: a moment is needed if its function is set.
func (ch *TransformerCallbackHandler) Needed(
	ctx context.Context, info *callbacks.RunInfo, timing callbacks.CallbackTiming,
) bool {
	return ch.adapter().Needed(ctx, info, timing)
}

func (ch *TransformerCallbackHandler) adapter() *typed[*document.TransformerCallbackInput, *document.TransformerCallbackOutput] {
	if ch == nil {
		return nil
	}
	return &typed[*document.TransformerCallbackInput, *document.TransformerCallbackOutput]{
		input: document.ConvTransformerCallbackInput, output: document.ConvTransformerCallbackOutput,
		onStart: ch.OnStart, onEnd: ch.OnEnd, onError: ch.OnError,
	}
}

// Transformer sets the handler of document transformers, replacing an earlier one. nil takes it away.
func (c *HandlerHelper) Transformer(handler *TransformerCallbackHandler) *HandlerHelper {
	return set(c, components.ComponentOfTransformer, handler.adapter())
}

// ToolCallbackHandler watches tools.
type ToolCallbackHandler struct {
	OnStart func(ctx context.Context, info *callbacks.RunInfo, input *tool.CallbackInput) context.Context
	OnEnd   func(ctx context.Context, info *callbacks.RunInfo, output *tool.CallbackOutput) context.Context
	// OnEndWithStreamOutput gets a copy of the stream, which it must close.
	OnEndWithStreamOutput func(ctx context.Context, info *callbacks.RunInfo,
		output *schema.StreamReader[*tool.CallbackOutput],
	) context.Context
	OnError func(ctx context.Context, info *callbacks.RunInfo, err error) context.Context
}

// Needed implements callbacks.TimingChecker: a moment is needed if its function is set.
func (ch *ToolCallbackHandler) Needed(
	ctx context.Context, info *callbacks.RunInfo, timing callbacks.CallbackTiming,
) bool {
	return ch.adapter().Needed(ctx, info, timing)
}

func (ch *ToolCallbackHandler) adapter() *typed[*tool.CallbackInput, *tool.CallbackOutput] {
	if ch == nil {
		return nil
	}
	return &typed[*tool.CallbackInput, *tool.CallbackOutput]{
		input: tool.ConvCallbackInput, output: tool.ConvCallbackOutput,
		onStart: ch.OnStart, onEnd: ch.OnEnd, onEndStream: ch.OnEndWithStreamOutput, onError: ch.OnError,
	}
}

// Tool sets the handler of tools, replacing an earlier one. nil takes it away.
func (c *HandlerHelper) Tool(handler *ToolCallbackHandler) *HandlerHelper {
	return set(c, components.ComponentOfTool, handler.adapter())
}

// ToolsNodeCallbackHandlers watches tools nodes.
type ToolsNodeCallbackHandlers struct {
	OnStart func(ctx context.Context, info *callbacks.RunInfo, input *schema.Message) context.Context
	OnEnd   func(ctx context.Context, info *callbacks.RunInfo, output []*schema.Message) context.Context
	// OnEndWithStreamOutput gets a copy of the stream, which it must close.
	OnEndWithStreamOutput func(ctx context.Context, info *callbacks.RunInfo,
		output *schema.StreamReader[[]*schema.Message],
	) context.Context
	OnError func(ctx context.Context, info *callbacks.RunInfo, err error) context.Context
}

// Needed implements callbacks.TimingChecker: a moment is needed if its function is set.
func (ch *ToolsNodeCallbackHandlers) Needed(
	ctx context.Context, info *callbacks.RunInfo, timing callbacks.CallbackTiming,
) bool {
	return ch.adapter().Needed(ctx, info, timing)
}

func (ch *ToolsNodeCallbackHandlers) adapter() *typed[*schema.Message, []*schema.Message] {
	if ch == nil {
		return nil
	}
	return &typed[*schema.Message, []*schema.Message]{
		input: inputAs[*schema.Message], output: outputAs[[]*schema.Message],
		onStart: ch.OnStart, onEnd: ch.OnEnd, onEndStream: ch.OnEndWithStreamOutput, onError: ch.OnError,
	}
}

// ToolsNode sets the handler of tools nodes, replacing an earlier one. nil takes it away.
func (c *HandlerHelper) ToolsNode(handler *ToolsNodeCallbackHandlers) *HandlerHelper {
	return set(c, compose.ComponentOfToolsNode, handler.adapter())
}

// AgenticModelCallbackHandler watches agentic models.
type AgenticModelCallbackHandler struct {
	OnStart func(ctx context.Context, info *callbacks.RunInfo, input *model.AgenticCallbackInput) context.Context
	OnEnd   func(ctx context.Context, info *callbacks.RunInfo, output *model.AgenticCallbackOutput) context.Context
	// OnEndWithStreamOutput gets a copy of the stream, which it must close.
	OnEndWithStreamOutput func(ctx context.Context, info *callbacks.RunInfo,
		output *schema.StreamReader[*model.AgenticCallbackOutput],
	) context.Context
	OnError func(ctx context.Context, info *callbacks.RunInfo, err error) context.Context
}

// Needed implements callbacks.TimingChecker: a moment is needed if its function is set.
func (ch *AgenticModelCallbackHandler) Needed(
	ctx context.Context, info *callbacks.RunInfo, timing callbacks.CallbackTiming,
) bool {
	return ch.adapter().Needed(ctx, info, timing)
}

func (ch *AgenticModelCallbackHandler) adapter() *typed[*model.AgenticCallbackInput, *model.AgenticCallbackOutput] {
	if ch == nil {
		return nil
	}
	return &typed[*model.AgenticCallbackInput, *model.AgenticCallbackOutput]{
		input: model.ConvAgenticCallbackInput, output: model.ConvAgenticCallbackOutput,
		onStart: ch.OnStart, onEnd: ch.OnEnd, onEndStream: ch.OnEndWithStreamOutput, onError: ch.OnError,
	}
}

// AgenticModel sets the handler of agentic models, replacing an earlier one. nil takes it away.
func (c *HandlerHelper) AgenticModel(handler *AgenticModelCallbackHandler) *HandlerHelper {
	return set(c, components.ComponentOfAgenticModel, handler.adapter())
}

// AgenticToolsNodeCallbackHandlers watches agentic tools nodes.
type AgenticToolsNodeCallbackHandlers struct {
	OnStart func(ctx context.Context, info *callbacks.RunInfo, input *schema.AgenticMessage) context.Context
	OnEnd   func(ctx context.Context, info *callbacks.RunInfo, output []*schema.AgenticMessage) context.Context
	// OnEndWithStreamOutput gets a copy of the stream, which it must close.
	OnEndWithStreamOutput func(ctx context.Context, info *callbacks.RunInfo,
		output *schema.StreamReader[[]*schema.AgenticMessage],
	) context.Context
	OnError func(ctx context.Context, info *callbacks.RunInfo, err error) context.Context
}

// Needed implements callbacks.TimingChecker: a moment is needed if its function is set.
func (ch *AgenticToolsNodeCallbackHandlers) Needed(
	ctx context.Context, info *callbacks.RunInfo, timing callbacks.CallbackTiming,
) bool {
	return ch.adapter().Needed(ctx, info, timing)
}

func (ch *AgenticToolsNodeCallbackHandlers) adapter() *typed[*schema.AgenticMessage, []*schema.AgenticMessage] {
	if ch == nil {
		return nil
	}
	return &typed[*schema.AgenticMessage, []*schema.AgenticMessage]{
		input: inputAs[*schema.AgenticMessage], output: outputAs[[]*schema.AgenticMessage],
		onStart: ch.OnStart, onEnd: ch.OnEnd, onEndStream: ch.OnEndWithStreamOutput, onError: ch.OnError,
	}
}

// AgenticToolsNode sets the handler of agentic tools nodes, replacing an earlier one. nil takes it away.
func (c *HandlerHelper) AgenticToolsNode(handler *AgenticToolsNodeCallbackHandlers) *HandlerHelper {
	return set(c, compose.ComponentOfAgenticToolsNode, handler.adapter())
}

// AgentCallbackHandler watches agents.
type AgentCallbackHandler struct {
	OnStart func(ctx context.Context, info *callbacks.RunInfo, input *adk.AgentCallbackInput) context.Context
	OnEnd   func(ctx context.Context, info *callbacks.RunInfo, output *adk.AgentCallbackOutput) context.Context
}

// Needed implements callbacks.TimingChecker: a moment is needed if its function is set.
func (ch *AgentCallbackHandler) Needed(
	ctx context.Context, info *callbacks.RunInfo, timing callbacks.CallbackTiming,
) bool {
	return ch.adapter().Needed(ctx, info, timing)
}

func (ch *AgentCallbackHandler) adapter() *typed[*adk.AgentCallbackInput, *adk.AgentCallbackOutput] {
	if ch == nil {
		return nil
	}
	return &typed[*adk.AgentCallbackInput, *adk.AgentCallbackOutput]{
		input: adk.ConvAgentCallbackInput, output: adk.ConvAgentCallbackOutput,
		onStart: ch.OnStart, onEnd: ch.OnEnd,
	}
}

// Agent sets the handler of agents, replacing an earlier one. nil takes it away.
func (c *HandlerHelper) Agent(handler *AgentCallbackHandler) *HandlerHelper {
	return set(c, adk.ComponentOfAgent, handler.adapter())
}

// AgenticAgentCallbackHandler watches agents on agentic messages.
type AgenticAgentCallbackHandler struct {
	OnStart func(ctx context.Context, info *callbacks.RunInfo,
		input *adk.TypedAgentCallbackInput[*schema.AgenticMessage],
	) context.Context
	OnEnd func(ctx context.Context, info *callbacks.RunInfo,
		output *adk.TypedAgentCallbackOutput[*schema.AgenticMessage],
	) context.Context
}

// Needed implements callbacks.TimingChecker: a moment is needed if its function is set.
func (ch *AgenticAgentCallbackHandler) Needed(
	ctx context.Context, info *callbacks.RunInfo, timing callbacks.CallbackTiming,
) bool {
	return ch.adapter().Needed(ctx, info, timing)
}

func (ch *AgenticAgentCallbackHandler) adapter() *typed[*adk.TypedAgentCallbackInput[*schema.AgenticMessage], *adk.TypedAgentCallbackOutput[*schema.AgenticMessage]] {
	if ch == nil {
		return nil
	}
	return &typed[*adk.TypedAgentCallbackInput[*schema.AgenticMessage], *adk.TypedAgentCallbackOutput[*schema.AgenticMessage]]{
		input:   adk.ConvTypedCallbackInput[*schema.AgenticMessage],
		output:  adk.ConvTypedCallbackOutput[*schema.AgenticMessage],
		onStart: ch.OnStart, onEnd: ch.OnEnd,
	}
}

// AgenticAgent sets the handler of agents on agentic messages, replacing an earlier one. nil takes it away.
func (c *HandlerHelper) AgenticAgent(handler *AgenticAgentCallbackHandler) *HandlerHelper {
	return set(c, adk.ComponentOfAgenticAgent, handler.adapter())
}

// AgenticPromptCallbackHandler watches agentic chat templates. OnStart and OnEnd get what the payloads for ordinary
// chat templates can hold: the variables and Extra. OnAgenticStart and OnAgenticEnd get everything.
type AgenticPromptCallbackHandler struct {
	OnStart        func(ctx context.Context, info *callbacks.RunInfo, input *prompt.CallbackInput) context.Context
	OnEnd          func(ctx context.Context, info *callbacks.RunInfo, output *prompt.CallbackOutput) context.Context
	OnError        func(ctx context.Context, info *callbacks.RunInfo, err error) context.Context
	OnAgenticStart func(ctx context.Context, info *callbacks.RunInfo, input *prompt.AgenticCallbackInput) context.Context
	OnAgenticEnd   func(ctx context.Context, info *callbacks.RunInfo, output *prompt.AgenticCallbackOutput) context.Context
}

// Needed implements callbacks.TimingChecker: a moment is needed if one of its functions is set.
func (ch *AgenticPromptCallbackHandler) Needed(
	ctx context.Context, info *callbacks.RunInfo, timing callbacks.CallbackTiming,
) bool {
	return ch.adapter().Needed(ctx, info, timing)
}

func (ch *AgenticPromptCallbackHandler) adapter() *typed[*prompt.AgenticCallbackInput, *prompt.AgenticCallbackOutput] {
	if ch == nil {
		return nil
	}
	t := &typed[*prompt.AgenticCallbackInput, *prompt.AgenticCallbackOutput]{
		input: prompt.ConvAgenticCallbackInput, output: prompt.ConvAgenticCallbackOutput, onError: ch.OnError,
	}
	if ch.OnStart != nil || ch.OnAgenticStart != nil {
		t.onStart = ch.start
	}
	if ch.OnEnd != nil || ch.OnAgenticEnd != nil {
		t.onEnd = ch.end
	}
	return t
}

func (ch *AgenticPromptCallbackHandler) start(
	ctx context.Context, info *callbacks.RunInfo, in *prompt.AgenticCallbackInput,
) context.Context {
	if ch.OnStart != nil {
		var plain *prompt.CallbackInput
		if in != nil {
			plain = &prompt.CallbackInput{Variables: in.Variables, Extra: in.Extra}
		}
		ctx = unlessNil(ch.OnStart(ctx, info, plain), ctx)
	}
	if ch.OnAgenticStart != nil {
		ctx = unlessNil(ch.OnAgenticStart(ctx, info, in), ctx)
	}
	return ctx
}

func (ch *AgenticPromptCallbackHandler) end(
	ctx context.Context, info *callbacks.RunInfo, out *prompt.AgenticCallbackOutput,
) context.Context {
	if ch.OnEnd != nil {
		var plain *prompt.CallbackOutput
		if out != nil {
			plain = &prompt.CallbackOutput{Extra: out.Extra}
		}
		ctx = unlessNil(ch.OnEnd(ctx, info, plain), ctx)
	}
	if ch.OnAgenticEnd != nil {
		ctx = unlessNil(ch.OnAgenticEnd(ctx, info, out), ctx)
	}
	return ctx
}

// AgenticPrompt sets the handler of agentic chat templates, replacing an earlier one. nil takes it away.
func (c *HandlerHelper) AgenticPrompt(handler *AgenticPromptCallbackHandler) *HandlerHelper {
	return set(c, components.ComponentOfAgenticPrompt, handler.adapter())
}

// AgenticCallbackHandler is another name of [AgenticAgentCallbackHandler].
type AgenticCallbackHandler = AgenticAgentCallbackHandler

// Agentic is another name of [HandlerHelper.AgenticAgent].
func (c *HandlerHelper) Agentic(handler *AgenticCallbackHandler) *HandlerHelper {
	return c.AgenticAgent(handler)
}
