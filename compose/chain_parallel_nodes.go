package compose

import (
	"github.com/weftgo/weft/components/document"
	"github.com/weftgo/weft/components/embedding"
	"github.com/weftgo/weft/components/indexer"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/prompt"
	"github.com/weftgo/weft/components/retriever"
)

// AddChatModel adds a chat model, whose output is the value of outputKey.
func (p *Parallel) AddChatModel(outputKey string, node model.BaseChatModel, opts ...GraphAddNodeOpt) *Parallel {
	return p.add(outputKey, chatModelBody(node), opts)
}

// AddAgenticModel adds a model of agentic messages, whose output is the value of outputKey.
func (p *Parallel) AddAgenticModel(outputKey string, node model.AgenticModel, opts ...GraphAddNodeOpt) *Parallel {
	return p.add(outputKey, agenticModelBody(node), opts)
}

// AddChatTemplate adds a chat template, whose output is the value of outputKey.
func (p *Parallel) AddChatTemplate(outputKey string, node prompt.ChatTemplate, opts ...GraphAddNodeOpt) *Parallel {
	return p.add(outputKey, chatTemplateBody(node), opts)
}

// AddAgenticChatTemplate adds a template of agentic messages, whose output is the value of outputKey.
func (p *Parallel) AddAgenticChatTemplate(
	outputKey string, node prompt.AgenticChatTemplate, opts ...GraphAddNodeOpt,
) *Parallel {
	return p.add(outputKey, agenticChatTemplateBody(node), opts)
}

// AddToolsNode adds a tools node, whose output is the value of outputKey.
func (p *Parallel) AddToolsNode(outputKey string, node *ToolsNode, opts ...GraphAddNodeOpt) *Parallel {
	return p.add(outputKey, toolsNodeBody(node), opts)
}

// AddAgenticToolsNode adds a tools node for agentic messages, whose output is the value of outputKey.
func (p *Parallel) AddAgenticToolsNode(outputKey string, node *AgenticToolsNode, opts ...GraphAddNodeOpt) *Parallel {
	return p.add(outputKey, agenticToolsNodeBody(node), opts)
}

// AddLambda adds a lambda, whose output is the value of outputKey.
func (p *Parallel) AddLambda(outputKey string, node *Lambda, opts ...GraphAddNodeOpt) *Parallel {
	return p.add(outputKey, lambdaBody(node), opts)
}

// AddEmbedding adds an embedder, whose output is the value of outputKey.
func (p *Parallel) AddEmbedding(outputKey string, node embedding.Embedder, opts ...GraphAddNodeOpt) *Parallel {
	return p.add(outputKey, embeddingBody(node), opts)
}

// AddRetriever adds a retriever, whose output is the value of outputKey.
func (p *Parallel) AddRetriever(outputKey string, node retriever.Retriever, opts ...GraphAddNodeOpt) *Parallel {
	return p.add(outputKey, retrieverBody(node), opts)
}

// AddLoader adds a document loader, whose output is the value of outputKey.
func (p *Parallel) AddLoader(outputKey string, node document.Loader, opts ...GraphAddNodeOpt) *Parallel {
	return p.add(outputKey, loaderBody(node), opts)
}

// AddIndexer adds an indexer, whose output is the value of outputKey.
func (p *Parallel) AddIndexer(outputKey string, node indexer.Indexer, opts ...GraphAddNodeOpt) *Parallel {
	return p.add(outputKey, indexerBody(node), opts)
}

// AddDocumentTransformer adds a document transformer, whose output is the value of outputKey.
func (p *Parallel) AddDocumentTransformer(
	outputKey string, node document.Transformer, opts ...GraphAddNodeOpt,
) *Parallel {
	return p.add(outputKey, documentTransformerBody(node), opts)
}

// AddGraph adds a graph, chain or workflow, compiled together with this one, , whose output is the value of outputKey.
func (p *Parallel) AddGraph(outputKey string, node AnyGraph, opts ...GraphAddNodeOpt) *Parallel {
	return p.add(outputKey, graphBody(node), opts)
}

// AddPassthrough adds a node that passes its input on, whose output is the value of outputKey.
func (p *Parallel) AddPassthrough(outputKey string, opts ...GraphAddNodeOpt) *Parallel {
	return p.add(outputKey, passthroughBody(), opts)
}
