package compose

import (
	"github.com/weftgo/weft/components/document"
	"github.com/weftgo/weft/components/embedding"
	"github.com/weftgo/weft/components/indexer"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/prompt"
	"github.com/weftgo/weft/components/retriever"
)

// AppendChatModel adds a chat model after the nodes so far.
func (c *Chain[I, O]) AppendChatModel(node model.BaseChatModel, opts ...GraphAddNodeOpt) *Chain[I, O] {
	return c.appendNode(chatModelBody(node), opts)
}

// AppendAgenticModel adds a model of agentic messages after the nodes so far.
func (c *Chain[I, O]) AppendAgenticModel(node model.AgenticModel, opts ...GraphAddNodeOpt) *Chain[I, O] {
	return c.appendNode(agenticModelBody(node), opts)
}

// AppendChatTemplate adds a chat template after the nodes so far.
func (c *Chain[I, O]) AppendChatTemplate(node prompt.ChatTemplate, opts ...GraphAddNodeOpt) *Chain[I, O] {
	return c.appendNode(chatTemplateBody(node), opts)
}

// AppendAgenticChatTemplate adds a template of agentic messages after the nodes so far.
func (c *Chain[I, O]) AppendAgenticChatTemplate(node prompt.AgenticChatTemplate, opts ...GraphAddNodeOpt) *Chain[I, O] {
	return c.appendNode(agenticChatTemplateBody(node), opts)
}

// AppendToolsNode adds a tools node after the nodes so far.
func (c *Chain[I, O]) AppendToolsNode(node *ToolsNode, opts ...GraphAddNodeOpt) *Chain[I, O] {
	return c.appendNode(toolsNodeBody(node), opts)
}

// AppendAgenticToolsNode adds a tools node for agentic messages after the nodes so far.
func (c *Chain[I, O]) AppendAgenticToolsNode(node *AgenticToolsNode, opts ...GraphAddNodeOpt) *Chain[I, O] {
	return c.appendNode(agenticToolsNodeBody(node), opts)
}

// AppendLambda adds a lambda after the nodes so far.
func (c *Chain[I, O]) AppendLambda(node *Lambda, opts ...GraphAddNodeOpt) *Chain[I, O] {
	return c.appendNode(lambdaBody(node), opts)
}

// AppendEmbedding adds an embedder after the nodes so far.
func (c *Chain[I, O]) AppendEmbedding(node embedding.Embedder, opts ...GraphAddNodeOpt) *Chain[I, O] {
	return c.appendNode(embeddingBody(node), opts)
}

// AppendRetriever adds a retriever after the nodes so far.
func (c *Chain[I, O]) AppendRetriever(node retriever.Retriever, opts ...GraphAddNodeOpt) *Chain[I, O] {
	return c.appendNode(retrieverBody(node), opts)
}

// AppendLoader adds a document loader after the nodes so far.
func (c *Chain[I, O]) AppendLoader(node document.Loader, opts ...GraphAddNodeOpt) *Chain[I, O] {
	return c.appendNode(loaderBody(node), opts)
}

// AppendIndexer adds an indexer after the nodes so far.
func (c *Chain[I, O]) AppendIndexer(node indexer.Indexer, opts ...GraphAddNodeOpt) *Chain[I, O] {
	return c.appendNode(indexerBody(node), opts)
}

// AppendDocumentTransformer adds a document transformer after the nodes so far.
func (c *Chain[I, O]) AppendDocumentTransformer(node document.Transformer, opts ...GraphAddNodeOpt) *Chain[I, O] {
	return c.appendNode(documentTransformerBody(node), opts)
}

// AppendGraph adds a graph, chain or workflow, compiled together with this one, after the nodes so far.
func (c *Chain[I, O]) AppendGraph(node AnyGraph, opts ...GraphAddNodeOpt) *Chain[I, O] {
	return c.appendNode(graphBody(node), opts)
}

// AppendPassthrough adds a node that passes its input on after the nodes so far.
func (c *Chain[I, O]) AppendPassthrough(opts ...GraphAddNodeOpt) *Chain[I, O] {
	return c.appendNode(passthroughBody(), opts)
}
