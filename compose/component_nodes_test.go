package compose

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/components/document"
	"github.com/weftgo/weft/components/embedding"
	"github.com/weftgo/weft/components/indexer"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/prompt"
	"github.com/weftgo/weft/components/retriever"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// marks is the option of all the fakes: it counts how often it arrived.
type marks struct{ n *atomic.Int32 }

func mark(m *marks) { m.n.Add(1) }

func newMarks() *marks { return &marks{n: &atomic.Int32{}} }

type fakeModel[M interface {
	*schema.Message | *schema.AgenticMessage
}] struct {
	*marks
	answer M
}

func (m *fakeModel[M]) Generate(_ context.Context, _ []M, opts ...model.Option) (M, error) {
	model.GetImplSpecificOptions(m.marks, opts...)
	return m.answer, nil
}

func (m *fakeModel[M]) Stream(_ context.Context, _ []M, opts ...model.Option) (*schema.StreamReader[M], error) {
	model.GetImplSpecificOptions(m.marks, opts...)
	return singleOf(m.answer), nil
}

func (m *fakeModel[M]) GetType() string { return "Fake" }

type fakeTemplate[M any] struct {
	*marks
	messages []M
}

func (f *fakeTemplate[M]) Format(_ context.Context, _ map[string]any, opts ...prompt.Option) ([]M, error) {
	prompt.GetImplSpecificOptions(f.marks, opts...)
	return f.messages, nil
}

func (f *fakeTemplate[M]) GetType() string { return "" }

type fakeEmbedder struct{ *marks }

func (f fakeEmbedder) EmbedStrings(_ context.Context, texts []string, opts ...embedding.Option) ([][]float64, error) {
	embedding.GetImplSpecificOptions(f.marks, opts...)
	return [][]float64{{float64(len(texts))}}, nil
}

type fakeRetriever struct{ *marks }

func (f *fakeRetriever) Retrieve(
	_ context.Context, query string, opts ...retriever.Option,
) ([]*schema.Document, error) {
	retriever.GetImplSpecificOptions(f.marks, opts...)
	return docs(query), nil
}

type fakeLoader struct{ *marks }

func (f fakeLoader) Load(_ context.Context, src document.Source,
	opts ...document.LoaderOption,
) ([]*schema.Document, error) {
	document.GetLoaderImplSpecificOptions(f.marks, opts...)
	return docs(src.URI), nil
}

type fakeIndexer struct{ *marks }

func (f fakeIndexer) Store(_ context.Context, in []*schema.Document, opts ...indexer.Option) ([]string, error) {
	indexer.GetImplSpecificOptions(f.marks, opts...)
	return []string{in[0].ID}, nil
}

type fakeTransformer struct{ *marks }

func (f fakeTransformer) Transform(
	_ context.Context, in []*schema.Document, opts ...document.TransformerOption,
) ([]*schema.Document, error) {
	document.GetTransformerImplSpecificOptions(f.marks, opts...)
	return append(in, docs("more")...), nil
}

func docs(id string) []*schema.Document { return []*schema.Document{{ID: id}} }

func markedTool(m *marks) *invokable {
	return &invokable{"t", func(_ context.Context, args string, opts ...tool.Option) (string, error) {
		tool.GetImplSpecificOptions(m, opts...)
		return args, nil
	}}
}

func agenticCall() *schema.AgenticMessage {
	return &schema.AgenticMessage{Role: schema.AgenticRoleTypeAssistant, ContentBlocks: []*schema.ContentBlock{
		{Type: schema.ContentBlockTypeFunctionToolCall,
			FunctionToolCall: &schema.FunctionToolCall{CallID: "c", Name: "t", Arguments: "args"}},
	}}
}

// nodeKind is one kind of node: how each builder adds it, what it does, and what handlers receive.
type nodeKind struct {
	component components.Component
	typ       string
	in        any
	option    Option // nil: the kind takes none
	marks     *marks
	converts  func(in callbacks.CallbackInput, out callbacks.CallbackOutput) bool

	graph    func(g *Graph[any, any], key string, opts ...GraphAddNodeOpt) error
	workflow func(wf *Workflow[any, any], key string, opts ...GraphAddNodeOpt) *WorkflowNode
	chain    func(c *Chain[any, any], opts ...GraphAddNodeOpt) *Chain[any, any]
	branch   func(b *ChainBranch, key string, opts ...GraphAddNodeOpt) *ChainBranch
	parallel func(p *Parallel, key string, opts ...GraphAddNodeOpt) *Parallel
}

// adders gives a nodeKind the methods of the five builders for one node.
func adders[N any](node N,
	graph func(*Graph[any, any], string, N, ...GraphAddNodeOpt) error,
	workflow func(*Workflow[any, any], string, N, ...GraphAddNodeOpt) *WorkflowNode,
	chain func(*Chain[any, any], N, ...GraphAddNodeOpt) *Chain[any, any],
	branch func(*ChainBranch, string, N, ...GraphAddNodeOpt) *ChainBranch,
	parallel func(*Parallel, string, N, ...GraphAddNodeOpt) *Parallel,
) nodeKind {
	return nodeKind{
		graph: func(g *Graph[any, any], key string, opts ...GraphAddNodeOpt) error {
			return graph(g, key, node, opts...)
		},
		workflow: func(wf *Workflow[any, any], key string, opts ...GraphAddNodeOpt) *WorkflowNode {
			return workflow(wf, key, node, opts...)
		},
		chain: func(c *Chain[any, any], opts ...GraphAddNodeOpt) *Chain[any, any] { return chain(c, node, opts...) },
		branch: func(b *ChainBranch, key string, opts ...GraphAddNodeOpt) *ChainBranch {
			return branch(b, key, node, opts...)
		},
		parallel: func(p *Parallel, key string, opts ...GraphAddNodeOpt) *Parallel {
			return parallel(p, key, node, opts...)
		},
	}
}

func (k nodeKind) with(component components.Component, typ string, in any, m *marks, option Option,
	converts func(in callbacks.CallbackInput, out callbacks.CallbackOutput) bool) nodeKind {
	k.component, k.typ, k.in, k.marks, k.option, k.converts = component, typ, in, m, option, converts
	return k
}

type (
	anyGraph = *Graph[any, any]
	anyFlow  = *Workflow[any, any]
	anyChain = *Chain[any, any]
)

func nodeKinds(t *testing.T) []nodeKind {
	m := newMarks()
	message, agentic := schema.AssistantMessage("hi", nil), &schema.AgenticMessage{Role: schema.AgenticRoleTypeAssistant}
	tools := toolsNode(t, ToolsNodeConfig{Tools: []tool.BaseTool{markedTool(m)}})
	agenticTools, err := NewAgenticToolsNode(context.Background(), &ToolsNodeConfig{Tools: []tool.BaseTool{markedTool(m)}})
	require.NoError(t, err)
	lambda := InvokableLambdaWithOption(func(_ context.Context, in string, opts ...optA) (string, error) {
		m.n.Add(int32(len(opts)))
		return in + "!", nil
	}, WithLambdaType("Exclaim"))
	inner := NewGraph[string, string]()
	require.NoError(t, inner.AddLambdaNode("l", lambda))
	line(t, inner, "l")
	innerChain := NewChain[string, string]().AppendLambda(lambda)
	innerFlow := NewWorkflow[string, string]()
	innerFlow.AddLambdaNode("l", lambda).AddInput(START)
	innerFlow.End().AddInput("l")
	toolOption := WithToolsNodeOption(WithToolOption(tool.WrapImplSpecificOptFn(mark)))
	modelOption := WithChatModelOption(model.WrapImplSpecificOptFn(mark))
	promptOption := WithChatTemplateOption(prompt.WrapImplSpecificOptFn(mark))
	graphAdders := func(g AnyGraph) nodeKind {
		return adders(g, anyGraph.AddGraphNode, anyFlow.AddGraphNode, anyChain.AppendGraph, (*ChainBranch).AddGraph,
			(*Parallel).AddGraph)
	}
	return []nodeKind{
		adders[model.BaseChatModel](&fakeModel[*schema.Message]{m, message}, anyGraph.AddChatModelNode,
			anyFlow.AddChatModelNode, anyChain.AppendChatModel, (*ChainBranch).AddChatModel, (*Parallel).AddChatModel).
			with("ChatModel", "Fake", []*schema.Message{message}, m, modelOption,
				func(in callbacks.CallbackInput, out callbacks.CallbackOutput) bool {
					return model.ConvCallbackInput(in) != nil && model.ConvCallbackOutput(out) != nil
				}),
		adders[model.AgenticModel](&fakeModel[*schema.AgenticMessage]{m, agentic}, anyGraph.AddAgenticModelNode,
			anyFlow.AddAgenticModelNode, anyChain.AppendAgenticModel, (*ChainBranch).AddAgenticModel,
			(*Parallel).AddAgenticModel).
			with("AgenticModel", "Fake", []*schema.AgenticMessage{agentic}, m, modelOption,
				func(in callbacks.CallbackInput, out callbacks.CallbackOutput) bool {
					return model.ConvAgenticCallbackInput(in) != nil && model.ConvAgenticCallbackOutput(out) != nil
				}),
		adders[prompt.ChatTemplate](&fakeTemplate[*schema.Message]{m, []*schema.Message{message}},
			anyGraph.AddChatTemplateNode, anyFlow.AddChatTemplateNode, anyChain.AppendChatTemplate,
			(*ChainBranch).AddChatTemplate, (*Parallel).AddChatTemplate).
			with("ChatTemplate", "", kv{"k": 1}, m, promptOption,
				func(in callbacks.CallbackInput, out callbacks.CallbackOutput) bool {
					return prompt.ConvCallbackInput(in) != nil && prompt.ConvCallbackOutput(out) != nil
				}),
		adders[prompt.AgenticChatTemplate](&fakeTemplate[*schema.AgenticMessage]{m, []*schema.AgenticMessage{agentic}},
			anyGraph.AddAgenticChatTemplateNode, anyFlow.AddAgenticChatTemplateNode, anyChain.AppendAgenticChatTemplate,
			(*ChainBranch).AddAgenticChatTemplate, (*Parallel).AddAgenticChatTemplate).
			with("AgenticChatTemplate", "", kv{"k": 1}, m, promptOption,
				func(in callbacks.CallbackInput, out callbacks.CallbackOutput) bool {
					return prompt.ConvAgenticCallbackInput(in) != nil && prompt.ConvAgenticCallbackOutput(out) != nil
				}),
		adders(tools, anyGraph.AddToolsNode, anyFlow.AddToolsNode, anyChain.AppendToolsNode, (*ChainBranch).AddToolsNode,
			(*Parallel).AddToolsNode).
			with("ToolsNode", "", calls("t:args"), m, toolOption,
				func(in callbacks.CallbackInput, out callbacks.CallbackOutput) bool {
					_, inOK := in.(*schema.Message)
					_, outOK := out.([]*schema.Message)
					return inOK && outOK
				}),
		adders(agenticTools, anyGraph.AddAgenticToolsNode, anyFlow.AddAgenticToolsNode, anyChain.AppendAgenticToolsNode,
			(*ChainBranch).AddAgenticToolsNode, (*Parallel).AddAgenticToolsNode).
			with("AgenticToolsNode", "", agenticCall(), m, toolOption,
				func(in callbacks.CallbackInput, out callbacks.CallbackOutput) bool {
					_, inOK := in.(*schema.AgenticMessage)
					_, outOK := out.([]*schema.AgenticMessage)
					return inOK && outOK
				}),
		adders(lambda, anyGraph.AddLambdaNode, anyFlow.AddLambdaNode, anyChain.AppendLambda, (*ChainBranch).AddLambda,
			(*Parallel).AddLambda).
			with("Lambda", "Exclaim", "x", m, WithLambdaOption(optA("")),
				func(in callbacks.CallbackInput, out callbacks.CallbackOutput) bool {
					return in == "x" && out == "x!"
				}),
		adders[embedding.Embedder](fakeEmbedder{m}, anyGraph.AddEmbeddingNode, anyFlow.AddEmbeddingNode,
			anyChain.AppendEmbedding, (*ChainBranch).AddEmbedding, (*Parallel).AddEmbedding).
			with("Embedding", "fakeEmbedder", []string{"x"}, m, WithEmbeddingOption(embedding.WrapImplSpecificOptFn(mark)),
				func(in callbacks.CallbackInput, out callbacks.CallbackOutput) bool {
					return embedding.ConvCallbackInput(in) != nil && embedding.ConvCallbackOutput(out) != nil
				}),
		adders[retriever.Retriever](&fakeRetriever{m}, anyGraph.AddRetrieverNode, anyFlow.AddRetrieverNode,
			anyChain.AppendRetriever, (*ChainBranch).AddRetriever, (*Parallel).AddRetriever).
			with("Retriever", "fakeRetriever", "query", m, WithRetrieverOption(retriever.WrapImplSpecificOptFn(mark)),
				func(in callbacks.CallbackInput, out callbacks.CallbackOutput) bool {
					return retriever.ConvCallbackInput(in) != nil && retriever.ConvCallbackOutput(out) != nil
				}),
		adders[document.Loader](fakeLoader{m}, anyGraph.AddLoaderNode, anyFlow.AddLoaderNode, anyChain.AppendLoader,
			(*ChainBranch).AddLoader, (*Parallel).AddLoader).
			with("Loader", "fakeLoader", document.Source{URI: "u"}, m,
				WithLoaderOption(document.WrapLoaderImplSpecificOptFn(mark)),
				func(in callbacks.CallbackInput, out callbacks.CallbackOutput) bool {
					return document.ConvLoaderCallbackInput(in) != nil && document.ConvLoaderCallbackOutput(out) != nil
				}),
		adders[indexer.Indexer](fakeIndexer{m}, anyGraph.AddIndexerNode, anyFlow.AddIndexerNode, anyChain.AppendIndexer,
			(*ChainBranch).AddIndexer, (*Parallel).AddIndexer).
			with("Indexer", "fakeIndexer", docs("d"), m, WithIndexerOption(indexer.WrapImplSpecificOptFn(mark)),
				func(in callbacks.CallbackInput, out callbacks.CallbackOutput) bool {
					return indexer.ConvCallbackInput(in) != nil && indexer.ConvCallbackOutput(out) != nil
				}),
		adders[document.Transformer](fakeTransformer{m}, anyGraph.AddDocumentTransformerNode,
			anyFlow.AddDocumentTransformerNode, anyChain.AppendDocumentTransformer, (*ChainBranch).AddDocumentTransformer,
			(*Parallel).AddDocumentTransformer).
			with("DocumentTransformer", "fakeTransformer", docs("d"), m,
				WithDocumentTransformerOption(document.WrapTransformerImplSpecificOptFn(mark)),
				func(in callbacks.CallbackInput, out callbacks.CallbackOutput) bool {
					return document.ConvTransformerCallbackInput(in) != nil && document.ConvTransformerCallbackOutput(out) != nil
				}),
		graphAdders(inner).with("Graph", "", "x", m, WithLambdaOption(optA("")), nil),
		graphAdders(innerChain).with("Chain", "Chain[string,string]", "x", m, WithLambdaOption(optA("")), nil),
		graphAdders(innerFlow).with("Workflow", "Workflow[string,string]", "x", m, WithLambdaOption(optA("")), nil),
		{
			component: ComponentOfPassthrough, in: "x",
			graph: func(g *Graph[any, any], key string, opts ...GraphAddNodeOpt) error {
				return g.AddPassthroughNode(key, opts...)
			},
			workflow: anyFlow.AddPassthroughNode,
			chain:    anyChain.AppendPassthrough,
			branch:   (*ChainBranch).AddPassthrough,
			parallel: (*Parallel).AddPassthrough,
		},
	}
}

// nodeCalls records the callbacks of the node named "node".
type nodeCalls struct {
	infos []callbacks.RunInfo
	ins   []callbacks.CallbackInput
	outs  []callbacks.CallbackOutput
}

func (h *nodeCalls) handler() callbacks.Handler {
	return callbacks.NewHandlerBuilder().
		OnStartFn(func(ctx context.Context, info *callbacks.RunInfo, in callbacks.CallbackInput) context.Context {
			if info.Name == "node" {
				h.infos, h.ins = append(h.infos, *info), append(h.ins, in)
			}
			return ctx
		}).
		OnEndFn(func(ctx context.Context, info *callbacks.RunInfo, out callbacks.CallbackOutput) context.Context {
			if info.Name == "node" {
				h.outs = append(h.outs, out)
			}
			return ctx
		}).
		OnEndWithStreamOutputFn(func(ctx context.Context, info *callbacks.RunInfo,
			s *schema.StreamReader[callbacks.CallbackOutput],
		) context.Context {
			defer s.Close()
			if out, err := s.Recv(); err == nil && info.Name == "node" {
				h.outs = append(h.outs, out)
			}
			return ctx
		}).Build()
}

// metaless drops what only chunks have, so that the four calls of a runnable can be compared.
type metaless struct{ Runnable[any, any] }

func dropMeta(v any) (any, error) {
	ms, _ := v.([]*schema.AgenticMessage)
	for _, m := range ms {
		for _, b := range m.ContentBlocks {
			b.StreamingMeta = nil
		}
	}
	return v, nil
}

func (m metaless) Stream(ctx context.Context, in any, opts ...Option) (*schema.StreamReader[any], error) {
	s, err := m.Runnable.Stream(ctx, in, opts...)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderWithConvert(s, dropMeta), nil
}

func (m metaless) Collect(ctx context.Context, in *schema.StreamReader[any], opts ...Option) (any, error) {
	out, err := m.Runnable.Collect(ctx, in, opts...)
	if err != nil {
		return nil, err
	}
	return dropMeta(out)
}

func (m metaless) Transform(ctx context.Context, in *schema.StreamReader[any],
	opts ...Option,
) (*schema.StreamReader[any], error) {
	s, err := m.Runnable.Transform(ctx, in, opts...)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderWithConvert(s, dropMeta), nil
}

// Every adder of every builder takes every kind of node; the node runs in all four calls, gets its own options, and
// handlers get its RunInfo and payloads that its package understands.
// Rules compose/K-1, compose/N-4, components/K16a.
func TestComponentNodes_EveryKindInEveryBuilder(t *testing.T) {
	named := WithNodeName("node")
	for _, k := range nodeKinds(t) {
		builders := map[string]func(t *testing.T) Runnable[any, any]{
			"graph": func(t *testing.T) Runnable[any, any] {
				g := NewGraph[any, any]()
				require.NoError(t, k.graph(g, "n", named))
				line(t, g, "n")
				return compiled[any, any](t, g)
			},
			"workflow": func(t *testing.T) Runnable[any, any] {
				wf := NewWorkflow[any, any]()
				k.workflow(wf, "n", named).AddInput(START)
				wf.End().AddInput("n")
				return compiled[any, any](t, wf)
			},
			"chain": func(t *testing.T) Runnable[any, any] {
				return compiled[any, any](t, k.chain(NewChain[any, any](), named))
			},
			"branch": func(t *testing.T) Runnable[any, any] {
				b := NewChainBranch(func(context.Context, any) (string, error) { return "a", nil })
				k.branch(k.branch(b, "a", named), "b", named)
				return compiled[any, any](t, NewChain[any, any]().AppendBranch(b))
			},
			"parallel": func(t *testing.T) Runnable[any, any] {
				p := k.parallel(NewParallel(), "a", named).AddLambda("b",
					InvokableLambda(func(context.Context, any) (string, error) { return "", nil }))
				return compiled[any, any](t, NewChain[any, any]().AppendParallel(p).
					AppendLambda(InvokableLambda(func(_ context.Context, in map[string]any) (any, error) { return in["a"], nil })))
			},
		}
		for name, build := range builders {
			t.Run(string(k.component)+"/"+name, func(t *testing.T) {
				r := build(t)
				var h nodeCalls
				opts := []Option{WithCallbacks(h.handler())}
				before := int32(0)
				if k.marks != nil {
					opts = append(opts, k.option, WithLambdaOption(optB("of another kind")))
					before = k.marks.n.Load()
				}
				want, err := r.Invoke(context.Background(), k.in, opts...)
				require.NoError(t, err)
				require.NotNil(t, want)
				forms4(t, metaless{r}, k.in, want, opts...)
				if k.marks == nil { // a passthrough
					require.Equal(t, k.in, want)
					require.Empty(t, h.infos, "a passthrough reports nothing")
					return
				}
				require.Equal(t, before+5, k.marks.n.Load(), "options that arrived")
				require.NotEmpty(t, h.infos)
				for _, info := range h.infos {
					require.Equal(t, callbacks.RunInfo{Name: "node", Type: k.typ, Component: k.component}, info)
				}
				require.Len(t, h.outs, 5)
				for i := range h.ins {
					require.True(t, k.converts == nil || k.converts(h.ins[i], h.outs[i]), "payloads %T and %T", h.ins[i], h.outs[i])
				}
			})
		}
	}
}

// What a zero value lacks shows when it is called.
// Rule compose/B-15.
func TestComponentNodes_AcceptZeroValues(t *testing.T) {
	kinds := map[string]struct {
		kind nodeKind
		in   any
	}{
		"ToolsNode": {adders(&ToolsNode{}, anyGraph.AddToolsNode, anyFlow.AddToolsNode, anyChain.AppendToolsNode,
			(*ChainBranch).AddToolsNode, (*Parallel).AddToolsNode), calls("t:")},
		"AgenticToolsNode": {adders(&AgenticToolsNode{}, anyGraph.AddAgenticToolsNode, anyFlow.AddAgenticToolsNode,
			anyChain.AppendAgenticToolsNode,
			(*ChainBranch).AddAgenticToolsNode, (*Parallel).AddAgenticToolsNode), agenticCall()},
		"ChatTemplate": {adders[prompt.ChatTemplate](&prompt.DefaultChatTemplate{}, anyGraph.AddChatTemplateNode,
			anyFlow.AddChatTemplateNode, anyChain.AppendChatTemplate,
			(*ChainBranch).AddChatTemplate, (*Parallel).AddChatTemplate), kv{}},
	}
	for name, c := range kinds {
		t.Run(name, func(t *testing.T) {
			k := c.kind
			g := NewGraph[any, any]()
			require.NoError(t, k.graph(g, "n"))
			line(t, g, "n")
			wf := NewWorkflow[any, any]()
			k.workflow(wf, "n").AddInput(START)
			wf.End().AddInput("n")
			branch := k.branch(k.branch(NewChainBranch(func(context.Context, any) (string, error) { return "a", nil }), "a"),
				"b")
			parallel := k.parallel(k.parallel(NewParallel(), "a"), "b")
			for _, r := range []Runnable[any, any]{
				compiled[any, any](t, g), compiled[any, any](t, wf), compiled[any, any](t, k.chain(NewChain[any, any]())),
				compiled[any, any](t, NewChain[any, any]().AppendBranch(branch)),
				compiled[any, any](t, NewChain[any, any]().AppendParallel(parallel)),
			} {
				if name == "ChatTemplate" { // lacks nothing
					_, err := r.Invoke(context.Background(), c.in)
					require.NoError(t, err)
					continue
				}
				for _, err := range fails(t, r, c.in) {
					require.ErrorContains(t, err, "was not made by New")
					require.NotContains(t, err.Error(), "panic")
				}
			}
		})
	}
}

type selfReporting struct {
	fakeModel[*schema.Message]
}

func (*selfReporting) IsCallbacksEnabled() bool { return true }

func (m *selfReporting) Generate(
	ctx context.Context, in []*schema.Message, opts ...model.Option,
) (*schema.Message, error) {
	ctx = callbacks.OnStart(ctx, &model.CallbackInput{Messages: in})
	callbacks.OnEnd(ctx, &model.CallbackOutput{Message: m.answer})
	return m.answer, nil
}

// A component that reports itself reports once, with the node's RunInfo.
// Rules compose/K-3, components/C3.
func TestComponentNodes_SelfReportingOnesReportOnce(t *testing.T) {
	g := NewGraph[[]*schema.Message, *schema.Message]()
	answer := schema.AssistantMessage("hi", nil)
	require.NoError(t, g.AddChatModelNode("n", &selfReporting{fakeModel[*schema.Message]{newMarks(), answer}},
		WithNodeName("node")))
	line(t, g, "n")
	var h nodeCalls
	_, err := compiled[[]*schema.Message, *schema.Message](t, g).Invoke(context.Background(), nil,
		WithCallbacks(h.handler()))
	require.NoError(t, err)
	require.Equal(t, []callbacks.RunInfo{{Name: "node", Type: "Fake", Component: components.ComponentOfChatModel}},
		h.infos)
	require.IsType(t, &model.CallbackInput{}, h.ins[0])
}

// Payloads are the function's own, inside keys and handlers.
// Rule compose/K-2.
func TestCallbacks_PayloadsAreTheFunctionsOwn(t *testing.T) {
	g := NewGraph[kv, kv](WithGenLocalState(func(context.Context) *counters { return &counters{} }))
	require.NoError(t, g.AddLambdaNode("n", suffix("n"), WithNodeName("node"), WithInputKey("in"), WithOutputKey("out"),
		WithStatePreHandler(func(_ context.Context, in kv, _ *counters) (kv, error) {
			return kv{"in": in["in"].(string) + "<"}, nil
		}),
		WithStatePostHandler(func(_ context.Context, out kv, _ *counters) (kv, error) {
			return kv{"out": out["out"].(string) + ">"}, nil
		})))
	line(t, g, "n")
	var h nodeCalls
	forms4(t, compiled[kv, kv](t, g), kv{"in": "x"}, kv{"out": "x<n>"}, WithCallbacks(h.handler()))
	for i := range h.ins {
		require.Equal(t, "x<", h.ins[i])
		require.Equal(t, "x<n", h.outs[i])
	}
	require.Len(t, h.ins, 4)
}

// A nested graph that interrupts starts and fails on every attempt. A node that runs again without an
// input reports the zero value of its type.
// Rules compose/K-5, components/K16a.
func TestCallbacks_NestedInterruptsStartAndFailEachTime(t *testing.T) {
	inner := NewGraph[string, string]()
	require.NoError(t, inner.AddLambdaNode("asks", asks("?"), WithNodeName("node")))
	line(t, inner, "asks")
	g := NewGraph[string, string]()
	require.NoError(t, g.AddGraphNode("sub", inner, WithNodeName("sub")))
	line(t, g, "sub")
	forEachRunKind(t, func(t *testing.T, call caller) {
		r := compiled[string, string](t, g, WithGraphName("g"), WithCheckPointStore(newStore()))
		attempt := func(ctx context.Context) (out, moments string, h nodeCalls, err error) {
			var got []moment
			out, err = call(r, ctx, WithCheckPointID("id"), WithCallbacks(recorder(&got), h.handler()))
			var sb strings.Builder
			for _, m := range got {
				sb.WriteString(strings.TrimSuffix(m.timing, " stream") + " " + m.name + "|")
			}
			return out, sb.String(), h, err
		}
		const interruptedRun = "start g|start sub|start node|error node|error sub|error g|"
		_, moments, h, err := attempt(context.Background())
		interrupted(t, err)
		require.Equal(t, interruptedRun, moments)
		require.Equal(t, []callbacks.CallbackInput{"x"}, h.ins)
		_, moments, h, err = attempt(context.Background())
		interrupted(t, err)
		require.Equal(t, interruptedRun, moments)
		require.Equal(t, []callbacks.CallbackInput{""}, h.ins, "not an untyped nil")
		out, moments, _, err := attempt(answers(t, err, func(any) any { return "!" }))
		require.NoError(t, err)
		require.Equal(t, "x!", out)
		require.Equal(t, "start g|start sub|start node|end node|end sub|end g|", moments)
	})
}
