package compose

import (
	"github.com/weftgo/weft/components/document"
	"github.com/weftgo/weft/components/embedding"
	"github.com/weftgo/weft/components/indexer"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/prompt"
	"github.com/weftgo/weft/components/retriever"
)

// AddChatModel adds a chat model that the condition chooses with key.
func (cb *ChainBranch) AddChatModel(key string, node model.BaseChatModel, opts ...GraphAddNodeOpt) *ChainBranch {
	return cb.add(key, chatModelBody(node), opts)
}

// AddAgenticModel adds a model of agentic messages that the condition chooses with key.
func (cb *ChainBranch) AddAgenticModel(key string, node model.AgenticModel, opts ...GraphAddNodeOpt) *ChainBranch {
	return cb.add(key, agenticModelBody(node), opts)
}

// AddChatTemplate adds a chat template that the condition chooses with key.
func (cb *ChainBranch) AddChatTemplate(key string, node prompt.ChatTemplate, opts ...GraphAddNodeOpt) *ChainBranch {
	return cb.add(key, chatTemplateBody(node), opts)
}

// AddAgenticChatTemplate adds a template of agentic messages that the condition chooses with key.
func (cb *ChainBranch) AddAgenticChatTemplate(
	key string, node prompt.AgenticChatTemplate, opts ...GraphAddNodeOpt,
) *ChainBranch {
	return cb.add(key, agenticChatTemplateBody(node), opts)
}

// AddToolsNode adds a tools node that the condition chooses with key.
func (cb *ChainBranch) AddToolsNode(key string, node *ToolsNode, opts ...GraphAddNodeOpt) *ChainBranch {
	return cb.add(key, toolsNodeBody(node), opts)
}

// AddAgenticToolsNode adds a tools node for agentic messages that the condition chooses with key.
func (cb *ChainBranch) AddAgenticToolsNode(key string, node *AgenticToolsNode, opts ...GraphAddNodeOpt) *ChainBranch {
	return cb.add(key, agenticToolsNodeBody(node), opts)
}

// AddLambda adds a lambda that the condition chooses with key.
func (cb *ChainBranch) AddLambda(key string, node *Lambda, opts ...GraphAddNodeOpt) *ChainBranch {
	return cb.add(key, lambdaBody(node), opts)
}

// AddEmbedding adds an embedder that the condition chooses with key.
func (cb *ChainBranch) AddEmbedding(key string, node embedding.Embedder, opts ...GraphAddNodeOpt) *ChainBranch {
	return cb.add(key, embeddingBody(node), opts)
}

// AddRetriever adds a retriever that the condition chooses with key.
func (cb *ChainBranch) AddRetriever(key string, node retriever.Retriever, opts ...GraphAddNodeOpt) *ChainBranch {
	return cb.add(key, retrieverBody(node), opts)
}

// AddLoader adds a document loader that the condition chooses with key.
func (cb *ChainBranch) AddLoader(key string, node document.Loader, opts ...GraphAddNodeOpt) *ChainBranch {
	return cb.add(key, loaderBody(node), opts)
}

// AddIndexer adds an indexer that the condition chooses with key.
func (cb *ChainBranch) AddIndexer(key string, node indexer.Indexer, opts ...GraphAddNodeOpt) *ChainBranch {
	return cb.add(key, indexerBody(node), opts)
}

// AddDocumentTransformer adds a document transformer that the condition chooses with key.
func (cb *ChainBranch) AddDocumentTransformer(
	key string, node document.Transformer, opts ...GraphAddNodeOpt,
) *ChainBranch {
	return cb.add(key, documentTransformerBody(node), opts)
}

// AddGraph adds a graph, chain or workflow, compiled together with this one, that the condition chooses with key.
func (cb *ChainBranch) AddGraph(key string, node AnyGraph, opts ...GraphAddNodeOpt) *ChainBranch {
	return cb.add(key, graphBody(node), opts)
}

// AddPassthrough adds a node that passes its input on that the condition chooses with key.
func (cb *ChainBranch) AddPassthrough(key string, opts ...GraphAddNodeOpt) *ChainBranch {
	return cb.add(key, passthroughBody(), opts)
}
