package compose

import (
	"context"
	"errors"
	"fmt"

	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/components/document"
	"github.com/weftgo/weft/components/embedding"
	"github.com/weftgo/weft/components/indexer"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/prompt"
	"github.com/weftgo/weft/components/retriever"
	"github.com/weftgo/weft/internal/callbacks"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/schema"
)

// The kinds of node that only graphs have. The other values of components.Component are in package components.
const (
	ComponentOfUnknown          components.Component = "Unknown"
	ComponentOfGraph            components.Component = "Graph"
	ComponentOfWorkflow         components.Component = "Workflow"
	ComponentOfChain            components.Component = "Chain"
	ComponentOfPassthrough      components.Component = "Passthrough"
	ComponentOfToolsNode        components.Component = "ToolsNode"
	ComponentOfAgenticToolsNode components.Component = "AgenticToolsNode"
	ComponentOfLambda           components.Component = "Lambda"
)

// componentBody is the body of a component whose methods bind gives. bind is called only for an instance that is
// not nil.
func componentBody[I, O, P any](component components.Component, instance any, bind func() forms[I, O, P]) body {
	b := body{component: component, in: kindOf[I]{}, out: kindOf[O]{}, instance: instance}
	if isNil(instance) {
		b.problem = fmt.Errorf("the %s is nil", component)
		return b
	}
	var err error
	if b.typ, b.silent, err = introduce(instance); err != nil {
		b.problem = err
		return b
	}
	f := bind()
	f.silent = b.silent
	b.action = &f
	return b
}

// introduce asks a component for its type and whether it reports itself.
func introduce(component any) (typ string, silent bool, err error) {
	defer safe.Recover(&err)
	return callbacks.TypeName(component), components.IsCallbacksEnabled(component), nil
}

func chatModelBody(m model.BaseChatModel) body {
	return modelBody[*schema.Message](components.ComponentOfChatModel, m)
}

func agenticModelBody(m model.AgenticModel) body {
	return modelBody[*schema.AgenticMessage](components.ComponentOfAgenticModel, m)
}

func modelBody[M *schema.Message | *schema.AgenticMessage](component components.Component, m model.BaseModel[M]) body {
	return componentBody(component, m, func() forms[[]M, M, model.Option] {
		return forms[[]M, M, model.Option]{invoke: m.Generate, stream: m.Stream}
	})
}

func chatTemplateBody(t prompt.ChatTemplate) body {
	return componentBody(components.ComponentOfPrompt, t, func() forms[map[string]any, []*schema.Message, prompt.Option] {
		return forms[map[string]any, []*schema.Message, prompt.Option]{invoke: t.Format}
	})
}

func agenticChatTemplateBody(t prompt.AgenticChatTemplate) body {
	return componentBody(components.ComponentOfAgenticPrompt, t,
		func() forms[map[string]any, []*schema.AgenticMessage, prompt.Option] {
			return forms[map[string]any, []*schema.AgenticMessage, prompt.Option]{invoke: t.Format}
		})
}

func toolsNodeBody(tn *ToolsNode) body {
	return componentBody(ComponentOfToolsNode, tn, func() forms[*schema.Message, []*schema.Message, ToolsNodeOption] {
		return forms[*schema.Message, []*schema.Message, ToolsNodeOption]{invoke: tn.Invoke, stream: tn.Stream,
			joinsStream: tn.callsByStream}
	})
}

func agenticToolsNodeBody(tn *AgenticToolsNode) body {
	return componentBody(ComponentOfAgenticToolsNode, tn,
		func() forms[*schema.AgenticMessage, []*schema.AgenticMessage, ToolsNodeOption] {
			return forms[*schema.AgenticMessage, []*schema.AgenticMessage, ToolsNodeOption]{invoke: tn.Invoke, stream: tn.Stream,
				joinsStream: func(ctx context.Context) bool { return tn.tools != nil && tn.tools.callsByStream(ctx) }}
		})
}

func embeddingBody(e embedding.Embedder) body {
	return componentBody(components.ComponentOfEmbedding, e, func() forms[[]string, [][]float64, embedding.Option] {
		return forms[[]string, [][]float64, embedding.Option]{invoke: e.EmbedStrings}
	})
}

func retrieverBody(r retriever.Retriever) body {
	return componentBody(components.ComponentOfRetriever, r, func() forms[string, []*schema.Document, retriever.Option] {
		return forms[string, []*schema.Document, retriever.Option]{invoke: r.Retrieve}
	})
}

func loaderBody(l document.Loader) body {
	return componentBody(components.ComponentOfLoader, l,
		func() forms[document.Source, []*schema.Document, document.LoaderOption] {
			return forms[document.Source, []*schema.Document, document.LoaderOption]{invoke: l.Load}
		})
}

func indexerBody(i indexer.Indexer) body {
	return componentBody(components.ComponentOfIndexer, i, func() forms[[]*schema.Document, []string, indexer.Option] {
		return forms[[]*schema.Document, []string, indexer.Option]{invoke: i.Store}
	})
}

func documentTransformerBody(t document.Transformer) body {
	return componentBody(components.ComponentOfTransformer, t,
		func() forms[[]*schema.Document, []*schema.Document, document.TransformerOption] {
			return forms[[]*schema.Document, []*schema.Document, document.TransformerOption]{invoke: t.Transform}
		})
}

func lambdaBody(l *Lambda) body {
	if l == nil || l.newAction == nil {
		return body{component: ComponentOfLambda, problem: errors.New("the Lambda is nil")}
	}
	return body{
		component: ComponentOfLambda,
		typ:       l.typ,
		in:        l.in,
		out:       l.out,
		action:    l.newAction(l.silent),
		instance:  l,
		silent:    l.silent,
		problem:   l.problem,
	}
}

func passthroughBody() body { return body{component: ComponentOfPassthrough} }

func graphBody(g AnyGraph) body {
	if isNil(g) {
		return body{component: ComponentOfUnknown, problem: errors.New("the graph is nil")}
	}
	b := g.describe()
	b.graph, b.instance = g, g
	return b
}
