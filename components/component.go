// Package components names the kinds of components an application is built from and the two optional interfaces
// every component may implement: [Typer] to say what it is, [Checker] to say that it fires its own callbacks.
//
// The interfaces of the components themselves are in the packages below it: model, tool, prompt, embedding,
// retriever, indexer and document.
package components

// Component is the kind of a component, as callback handlers see it in RunInfo.Component.
type Component string

// The kinds of the components declared below this package. Orchestrators add their own (graphs, chains, agents).
const (
	ComponentOfPrompt        Component = "ChatTemplate"
	ComponentOfAgenticPrompt Component = "AgenticChatTemplate"
	ComponentOfChatModel     Component = "ChatModel"
	ComponentOfAgenticModel  Component = "AgenticModel"
	ComponentOfEmbedding     Component = "Embedding"
	ComponentOfIndexer       Component = "Indexer"
	ComponentOfRetriever     Component = "Retriever"
	ComponentOfLoader        Component = "Loader"
	ComponentOfTransformer   Component = "DocumentTransformer"
	ComponentOfTool          Component = "Tool"
)

// Typer is implemented by components that name their implementation, such as "OpenAI" for a chat model. The name
// appears as RunInfo.Type.
type Typer interface {
	GetType() string
}

// GetType returns the type name a component gives itself. ok is false when it gives none; nil is allowed.
func GetType(component any) (typ string, ok bool) {
	if typer, is := component.(Typer); is {
		return typer.GetType(), true
	}
	return "", false
}

// Checker is implemented by components that may fire their own callbacks.
//
// Answering true means that the component calls OnStart, OnEnd and OnError itself. Its caller then only prepares the
// context (handlers and RunInfo) and fires nothing around it.
type Checker interface {
	IsCallbacksEnabled() bool
}

// IsCallbacksEnabled reports whether a component fires its own callbacks; false when it does not say. nil is allowed.
func IsCallbacksEnabled(i any) bool {
	checker, ok := i.(Checker)
	return ok && checker.IsCallbacksEnabled()
}
