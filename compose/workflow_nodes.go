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
func (wf *Workflow[I, O]) AddChatModelNode(
	key string, node model.BaseChatModel, opts ...GraphAddNodeOpt,
) *WorkflowNode {
	return wf.addNode(key, chatModelBody(node), opts)
}

// AddAgenticModelNode adds a model of agentic messages under key.
func (wf *Workflow[I, O]) AddAgenticModelNode(
	key string, node model.AgenticModel, opts ...GraphAddNodeOpt,
) *WorkflowNode {
	return wf.addNode(key, agenticModelBody(node), opts)
}

// AddChatTemplateNode adds a chat template under key.
func (wf *Workflow[I, O]) AddChatTemplateNode(
	key string, node prompt.ChatTemplate, opts ...GraphAddNodeOpt,
) *WorkflowNode {
	return wf.addNode(key, chatTemplateBody(node), opts)
}

// AddAgenticChatTemplateNode adds a template of agentic messages under key.
func (wf *Workflow[I, O]) AddAgenticChatTemplateNode(
	key string, node prompt.AgenticChatTemplate, opts ...GraphAddNodeOpt,
) *WorkflowNode {
	return wf.addNode(key, agenticChatTemplateBody(node), opts)
}

// AddToolsNode adds a tools node under key.
func (wf *Workflow[I, O]) AddToolsNode(key string, node *ToolsNode, opts ...GraphAddNodeOpt) *WorkflowNode {
	return wf.addNode(key, toolsNodeBody(node), opts)
}

// AddAgenticToolsNode adds a tools node for agentic messages under key.
func (wf *Workflow[I, O]) AddAgenticToolsNode(
	key string, node *AgenticToolsNode, opts ...GraphAddNodeOpt,
) *WorkflowNode {
	return wf.addNode(key, agenticToolsNodeBody(node), opts)
}

// AddLambdaNode adds a lambda under key.
func (wf *Workflow[I, O]) AddLambdaNode(key string, node *Lambda, opts ...GraphAddNodeOpt) *WorkflowNode {
	return wf.addNode(key, lambdaBody(node), opts)
}

// AddEmbeddingNode adds an embedder under key.
func (wf *Workflow[I, O]) AddEmbeddingNode(key string, node embedding.Embedder, opts ...GraphAddNodeOpt) *WorkflowNode {
	return wf.addNode(key, embeddingBody(node), opts)
}

// AddRetrieverNode adds a retriever under key.
func (wf *Workflow[I, O]) AddRetrieverNode(
	key string, node retriever.Retriever, opts ...GraphAddNodeOpt,
) *WorkflowNode {
	return wf.addNode(key, retrieverBody(node), opts)
}

// AddLoaderNode adds a document loader under key.
func (wf *Workflow[I, O]) AddLoaderNode(key string, node document.Loader, opts ...GraphAddNodeOpt) *WorkflowNode {
	return wf.addNode(key, loaderBody(node), opts)
}

// AddIndexerNode adds an indexer under key.
func (wf *Workflow[I, O]) AddIndexerNode(key string, node indexer.Indexer, opts ...GraphAddNodeOpt) *WorkflowNode {
	return wf.addNode(key, indexerBody(node), opts)
}

// AddDocumentTransformerNode adds a document transformer under key.
func (wf *Workflow[I, O]) AddDocumentTransformerNode(
	key string, node document.Transformer, opts ...GraphAddNodeOpt,
) *WorkflowNode {
	return wf.addNode(key, documentTransformerBody(node), opts)
}

// AddGraphNode adds a graph, chain or workflow, compiled together with this one, under key.
func (wf *Workflow[I, O]) AddGraphNode(key string, node AnyGraph, opts ...GraphAddNodeOpt) *WorkflowNode {
	return wf.addNode(key, graphBody(node), opts)
}

// AddPassthroughNode adds a node that passes its input on under key.
func (wf *Workflow[I, O]) AddPassthroughNode(key string, opts ...GraphAddNodeOpt) *WorkflowNode {
	return wf.addNode(key, passthroughBody(), opts)
}
