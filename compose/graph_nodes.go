package compose

import (
	"github.com/weftgo/weft/components/document"
	"github.com/weftgo/weft/components/embedding"
	"github.com/weftgo/weft/components/indexer"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/prompt"
	"github.com/weftgo/weft/components/retriever"
)

// AddChatModelNode adds a chat model under key.
func (g *graph) AddChatModelNode(key string, node model.BaseChatModel, opts ...GraphAddNodeOpt) error {
	return g.addNode(key, chatModelBody(node), opts)
}

// AddAgenticModelNode adds a model of agentic messages under key.
func (g *graph) AddAgenticModelNode(key string, node model.AgenticModel, opts ...GraphAddNodeOpt) error {
	return g.addNode(key, agenticModelBody(node), opts)
}

// AddChatTemplateNode adds a chat template under key.
func (g *graph) AddChatTemplateNode(key string, node prompt.ChatTemplate, opts ...GraphAddNodeOpt) error {
	return g.addNode(key, chatTemplateBody(node), opts)
}

// AddAgenticChatTemplateNode adds a template of agentic messages under key.
func (g *graph) AddAgenticChatTemplateNode(key string, node prompt.AgenticChatTemplate, opts ...GraphAddNodeOpt) error {
	return g.addNode(key, agenticChatTemplateBody(node), opts)
}

// AddToolsNode adds a tools node under key.
func (g *graph) AddToolsNode(key string, node *ToolsNode, opts ...GraphAddNodeOpt) error {
	return g.addNode(key, toolsNodeBody(node), opts)
}

// AddAgenticToolsNode adds a tools node for agentic messages under key.
func (g *graph) AddAgenticToolsNode(key string, node *AgenticToolsNode, opts ...GraphAddNodeOpt) error {
	return g.addNode(key, agenticToolsNodeBody(node), opts)
}

// AddLambdaNode adds a lambda under key.
func (g *graph) AddLambdaNode(key string, node *Lambda, opts ...GraphAddNodeOpt) error {
	return g.addNode(key, lambdaBody(node), opts)
}

// AddEmbeddingNode adds an embedder under key.
func (g *graph) AddEmbeddingNode(key string, node embedding.Embedder, opts ...GraphAddNodeOpt) error {
	return g.addNode(key, embeddingBody(node), opts)
}

// AddRetrieverNode adds a retriever under key.
func (g *graph) AddRetrieverNode(key string, node retriever.Retriever, opts ...GraphAddNodeOpt) error {
	return g.addNode(key, retrieverBody(node), opts)
}

// AddLoaderNode adds a document loader under key.
func (g *graph) AddLoaderNode(key string, node document.Loader, opts ...GraphAddNodeOpt) error {
	return g.addNode(key, loaderBody(node), opts)
}

// AddIndexerNode adds an indexer under key.
func (g *graph) AddIndexerNode(key string, node indexer.Indexer, opts ...GraphAddNodeOpt) error {
	return g.addNode(key, indexerBody(node), opts)
}

// AddDocumentTransformerNode adds a document transformer under key.
func (g *graph) AddDocumentTransformerNode(key string, node document.Transformer, opts ...GraphAddNodeOpt) error {
	return g.addNode(key, documentTransformerBody(node), opts)
}

// AddGraphNode adds a graph, chain or workflow, compiled together with this one, under key.
func (g *graph) AddGraphNode(key string, node AnyGraph, opts ...GraphAddNodeOpt) error {
	return g.addNode(key, graphBody(node), opts)
}

// AddPassthroughNode adds a node that passes its input on under key.
func (g *graph) AddPassthroughNode(key string, opts ...GraphAddNodeOpt) error {
	return g.addNode(key, passthroughBody(), opts)
}
