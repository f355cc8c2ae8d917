package adk

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/internal/callbacks"
	"github.com/weftgo/weft/internal/callorder"
	"github.com/weftgo/weft/internal/cancelscope"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/schema"
)

// The nodes of the ReAct graph. Callback handlers see them as RunInfo.Name.
const (
	modelNode          = "ChatModel"
	toolsNode          = "ToolNode"
	afterToolCallsNode = "AfterToolCalls"
	returnDirectlyNode = "ToolNodeToEndConverter"
	finalAnswerNode    = "FinalAnswer"
	rejectionNode      = "FinalAnswerRejection"
)

// historyRoom is the number of messages that fit into the history of a run before it grows.
const historyRoom = 4

// reactGraph is the loop of an agent for one list of tools, compiled. It is immutable and shared by all runs; what
// belongs to a run is in agentRun and agentState.
type reactGraph[M MessageType] struct {
	compose.Runnable[[]M, M]
	tools []tool.BaseTool
	infos []*schema.ToolInfo
	// shadowed has the tools that a later one of their name takes the place of, and that one, by their places.
	shadowed map[int]int
	// warned: they were logged.
	warned atomic.Bool
	// canonical has the tools' own names by alias.
	canonical map[string]string
}

// newReactGraph builds the graph
//
//	START → ChatModel → (tool calls?) → ToolNode → AfterToolCalls → (return directly?) → ChatModel …
//	                  → [FinalAnswer] → END                       → ToolNodeToEndConverter → [FinalAnswer] → END
//
// and without tools only START → ChatModel → [FinalAnswer] → END: then the first answer is the last, whatever it calls.
// FinalAnswer is there for middlewares that judge answers, or act at the end. A rejected answer goes by
// FinalAnswerRejection to ChatModel.
func newReactGraph[M MessageType](ctx context.Context, p *agentPlan[M], tools []tool.BaseTool) (*reactGraph[M], error) {
	conf, ops := &p.agent.conf, opsOf[M]()
	b := reactBuilder[M]{
		plan: p,
		out:  &reactGraph[M]{tools: slices.Clone(tools)},
		graph: compose.NewGraph[[]M, M](compose.WithGenLocalState(func(ctx context.Context) *agentState[M] {
			r := agentRunFrom[M](ctx)
			if s := r.restored; s != nil {
				return &agentState[M]{Messages: slices.Clip(s.messages), AgentName: conf.Name, RemainingIterations: s.remaining,
					Extra: s.extra, CallSeed: s.seed, ResumeAt: resumeAfterHooks}
			}
			history := r.messages
			if !p.agent.ownInput { // it may be shared
				history = append(make([]M, 0, len(history)+historyRoom), history...)
			}
			r.state = agentState[M]{Messages: history, AgentName: conf.Name, RemainingIterations: r.turns(), CallSeed: r.newCallSeed()}
			if r.durable != nil {
				r.durable.visit.Began(len(r.messages))
			}
			return &r.state
		})),
		final: compose.END,
	}
	infos, err := toolInfos(ctx, tools)
	if err != nil {
		return nil, err
	}
	b.out.infos = infos
	shown, shadowed := lastOfEachName(infos)
	b.out.shadowed = shadowed
	b.chain = newModelChain(conf, p.agent.handlers, shown)
	b.add(ops.addModelNode(b.graph, modelNode, b.chain, compose.WithNodeName(modelNode)))
	if p.agent.handlers.judgesAnswers() {
		b.addFinalAnswer()
	}
	b.add(b.graph.AddEdge(compose.START, modelNode))
	if len(tools) > 0 {
		b.addTools(ctx)
	} else {
		b.add(b.graph.AddEdge(modelNode, b.final))
	}
	if b.err != nil {
		return nil, b.err
	}
	b.out.Runnable, err = b.graph.Compile(ctx, compose.WithGraphName(conf.Name), compose.WithMaxRunSteps(math.MaxInt),
		compose.InternalWithOwnCheckPoint(runStore[M]{}),
		compose.InternalBeforeSaving((*agentState[M]).moveSent), compose.InternalWithStreamReports(streams[M]))
	return b.out, err
}

// streams reports whether the run that ctx belongs to streams what its models and tools say.
func streams[M MessageType](ctx context.Context) bool {
	return agentRunFrom[M](ctx).input.EnableStreaming
}

// reactBuilder adds the nodes and keeps the first error.
type reactBuilder[M MessageType] struct {
	plan  *agentPlan[M]
	out   *reactGraph[M]
	graph *compose.Graph[[]M, M]
	chain *modelChain[M]
	// final is the place where a last message goes.
	final string
	err   error
}

func (b *reactBuilder[M]) add(err error) {
	if b.err == nil {
		b.err = err
	}
}

func (b *reactBuilder[M]) addTools(ctx context.Context) {
	conf, ops := &b.plan.agent.conf, opsOf[M]()
	config := conf.ToolsConfig.ToolsNodeConfig
	config.Tools = b.out.tools
	config.UnknownToolsHandler = sendsItsEvent[M](reportUnknownTools[M](&conf.ToolsConfig))
	config.ToolArgumentsHandler = stoppableArguments[M](config.ToolArgumentsHandler)
	config.ToolCallMiddlewares = b.plan.middlewares
	// Only a run that may return a result directly pays for looking.
	directly := len(b.plan.returnDirectly) > 0 || len(b.plan.agent.handlers.beforeAgent) > 0
	nodeOpts := []compose.GraphAddNodeOpt{compose.WithNodeName(toolsNode)}
	if directly {
		nodeOpts = append(nodeOpts, compose.WithStatePreHandler(chooseReturnDirectly[M]))
	}
	node, err := ops.addToolsNode(ctx, b.graph, toolsNode, &config, nodeOpts...)
	b.add(err)
	if b.err != nil {
		return
	}
	compose.InternalSetUnknownToolError(node, func(ctx context.Context, name, callID string, err error) error {
		return agentRunFrom[M](ctx).unknownTool(name, callID, err)
	})
	compose.InternalSetCutOffCalls(node, cutOffCall[M])
	compose.InternalSetToolsByStream(node, streams[M])
	compose.InternalSetWaiter(node, waiterOf[M])
	if conf.ToolsConfig.EagerExecution {
		b.chain.eager = newEagerTools(node, &config)
		compose.InternalSetEarlyToolCalls(node, adoptEarlyCalls[M])
	}
	b.out.canonical = canonicalNames(b.out.infos, conf.ToolsConfig.ToolAliases)
	b.add(b.graph.AddLambdaNode(afterToolCallsNode, compose.InvokableLambda(afterToolCalls[M]), compose.WithNodeName(afterToolCallsNode)))
	b.add(b.graph.AddEdge(toolsNode, afterToolCallsNode))
	b.add(b.graph.AddBranch(modelNode, compose.NewGraphBranch(func(_ context.Context, answer M) (string, error) {
		if ops.hasToolCalls(answer) {
			return toolsNode, nil
		}
		return b.final, nil
	}, map[string]bool{toolsNode: true, b.final: true})))
	if directly {
		b.addReturnDirectly()
	} else {
		b.add(b.graph.AddEdge(afterToolCallsNode, modelNode))
	}
}

// addReturnDirectly adds the way from the results of a round to the end of the run.
func (b *reactBuilder[M]) addReturnDirectly() {
	b.add(b.graph.AddLambdaNode(returnDirectlyNode, compose.InvokableLambda(returnDirectly[M]), compose.WithNodeName(returnDirectlyNode)))
	b.add(b.graph.AddBranch(afterToolCallsNode, compose.NewGraphBranch(func(ctx context.Context, _ []M) (next string, err error) {
		next = modelNode
		return next, compose.ProcessState(ctx, func(_ context.Context, s *agentState[M]) error {
			if s.HasReturnDirectly {
				next = returnDirectlyNode
			}
			return nil
		})
	}, map[string]bool{modelNode: true, returnDirectlyNode: true})))
	b.add(b.graph.AddEdge(returnDirectlyNode, b.final))
}

// afterToolCalls puts the results of a round into the history, with the IDs that their events had, lets out the event
// of the one that ends the run, and runs the hooks.
func afterToolCalls[M MessageType](ctx context.Context, results []M) ([]M, error) {
	r := agentRunFrom[M](ctx)
	if err := r.deliver(); err != nil {
		return nil, err
	}
	stops := r.speculation.StopsRun()
	r.speculation.Close()
	r.speculation = nil
	if r.resume != nil || r.restored != nil {
		if done, err := resumedAfterTools[M](ctx); done || err != nil {
			return results, err
		}
	}
	var direct *TypedAgentEvent[M]
	err := compose.ProcessState(ctx, func(_ context.Context, s *agentState[M]) error {
		if s.ResumeAt == resumeAfterResults {
			s.ResumeAt, results = resumeAtNode, s.lastResults()
		} else {
			results = s.remember(results, callbacks.FromContext(ctx).Active())
		}
		if s.HasReturnDirectly {
			s.continueAfterMistake(results)
		}
		direct = s.ReturnDirectlyEvent
		return nil
	})
	if err == nil && direct != nil {
		err = r.sendDirectResult(ctx, direct)
	}
	if err == nil {
		err = r.hookAfterToolCalls(ctx, len(results))
	}
	if err != nil {
		return nil, err
	}
	if (stops || r.view.At(cancelscope.Mode(CancelAfterToolCalls))) && !endsRun[M](ctx) {
		return nil, errors.Join(stopAt[M](ctx, resumeAfterTools), compose.Interrupt(ctx, infoAfterToolCalls))
	}
	return results, nil
}

// sendDirectResult sends the event of the result that ends the run. A run that is to stop at once stops instead.
func (r *agentRun[M]) sendDirectResult(ctx context.Context, e *TypedAgentEvent[M]) error {
	sent := r.trySend(e)
	if sent {
		r.answered.Store(true)
	}
	err := compose.ProcessState(ctx, func(_ context.Context, s *agentState[M]) error {
		if sent {
			s.ReturnDirectlyEvent, s.ReturnDirectlyAction = nil, e.Action
		} else {
			s.ResumeAt = resumeAfterResults
		}
		return nil
	})
	if err == nil && !sent {
		err = compose.Interrupt(ctx, infoStopped)
	}
	return err
}

// hookAfterToolCalls runs the hooks after a round with n results, and the caller's own. What a cancel has broken off is
// done again when the run continues.
func (r *agentRun[M]) hookAfterToolCalls(ctx context.Context, n int) error {
	if len(r.agent.handlers.afterToolCalls) == 0 && r.options.afterToolCalls == nil {
		return nil
	}
	hooksCtx, release := r.stoppable(ctx)
	defer release()
	hooksCtx, err := r.rewriteAfterToolCalls(hooksCtx, n)
	if err == nil {
		err = r.options.runAfterToolCalls(hooksCtx)
	}
	if err = r.stoppedOr(ctx, err); core.IsInterrupt(err) {
		err = errors.Join(stopAt[M](ctx, resumeAfterResults), err)
	}
	return err
}

// rewriteAfterToolCalls keeps what the hooks make of the state.
func (r *agentRun[M]) rewriteAfterToolCalls(ctx context.Context, n int) (context.Context, error) {
	if len(r.agent.handlers.afterToolCalls) == 0 {
		return ctx, nil
	}
	var view *TypedChatModelAgentState[M]
	err := compose.ProcessState(ctx, func(_ context.Context, s *agentState[M]) error {
		view = s.view()
		return nil
	})
	if err != nil {
		return ctx, err
	}
	if ctx, view, err = r.agent.handlers.runAfterToolCalls(ctx, view, callsContext(view.Messages, n)); err != nil {
		return ctx, err
	}
	return ctx, compose.ProcessState(ctx, func(_ context.Context, s *agentState[M]) error {
		s.adopt(view)
		return nil
	})
}

// runAfterToolCalls runs the caller's own hook.
func (o *chatModelAgentOptions) runAfterToolCalls(ctx context.Context) (err error) {
	if o.afterToolCalls == nil {
		return nil
	}
	defer blame("WithAfterToolCallsHook", &err)
	return o.afterToolCalls(ctx)
}

// endsRun reports whether the round has a result that ends the run: then there is nothing left to stop.
func endsRun[M MessageType](ctx context.Context) (ends bool) {
	_ = compose.ProcessState(ctx, func(_ context.Context, s *agentState[M]) error {
		ends = s.HasReturnDirectly
		return nil
	})
	return ends
}

// resumedAfterTools reports whether the run was stopped here, when everything was done.
func resumedAfterTools[M MessageType](ctx context.Context) (done bool, err error) {
	err = compose.ProcessState(ctx, func(_ context.Context, s *agentState[M]) error {
		if done = s.ResumeAt == resumeAfterTools; done {
			s.ResumeAt = resumeAtNode
		}
		return nil
	})
	return done, err
}

// remember appends the results of a round to the history, with the IDs of their events, and returns them. The tools node
// has made them for this run alone, but callback handlers may still read them: then copies get the IDs.
func (s *agentState[M]) remember(results []M, observed bool) []M {
	ops := opsOf[M]()
	if observed {
		results = slices.Clone(results)
	}
	for i, m := range results {
		if ops.isNil(m) || ops.id(m) != "" {
			continue
		}
		if observed {
			m = ops.withExtra(m, ops.extra(m))
			results[i] = m
		}
		s.identifyResult(m, labelOf(results, i))
	}
	s.forgetToolEvents()
	s.Messages = append(s.Messages, results...)
	return results
}

// labelOf is the label of the call whose result is at a place: results are in the order of the calls.
func labelOf[M MessageType](results []M, place int) string {
	ops := opsOf[M]()
	return callorder.Label(place, func(i int) string {
		if ops.isNil(results[i]) {
			return ""
		}
		_, id := ops.toolCallOf(results[i])
		return id
	})
}

// finalMessage is the last message of a run that has got there.
func (s *agentState[M]) finalMessage() (last M) {
	if s.HasReturnDirectly {
		results := s.lastResults()
		for i, m := range results {
			if labelOf(results, i) == s.ReturnDirectlyToolCallID {
				return m
			}
		}
	}
	if n := len(s.Messages); n > 0 {
		last = s.Messages[n-1]
	}
	return last
}

// lastResults are the results of tools at the end of the history.
func (s *agentState[M]) lastResults() []M {
	ops, first := opsOf[M](), len(s.Messages)
	for ; first > 0 && !ops.isNil(s.Messages[first-1]); first-- {
		if _, callID := ops.toolCallOf(s.Messages[first-1]); callID == "" {
			break
		}
	}
	return slices.Clip(s.Messages[first:])
}

// callsContext lists the calls of the assistant message before the last n messages.
func callsContext[M MessageType](messages []M, n int) *ToolCallsContext {
	ops := opsOf[M]()
	tc := &ToolCallsContext{}
	if i := len(messages) - n - 1; i >= 0 && !ops.isNil(messages[i]) {
		for _, call := range ops.toolCalls(messages[i]) {
			tc.ToolCalls = append(tc.ToolCalls, ToolContext{Name: call.Function.Name, CallID: call.ID})
		}
	}
	return tc
}

// addFinalAnswer adds what runs between the last message and the end.
func (b *reactBuilder[M]) addFinalAnswer() {
	b.final = finalAnswerNode
	b.add(b.graph.AddLambdaNode(finalAnswerNode, compose.InvokableLambda(judgeAnswer[M]), compose.WithNodeName(finalAnswerNode)))
	b.add(b.graph.AddLambdaNode(rejectionNode, compose.InvokableLambda(func(context.Context, M) ([]M, error) {
		return nil, nil // the model answers the history
	}), compose.WithNodeName(rejectionNode)))
	b.add(b.graph.AddBranch(finalAnswerNode, compose.NewGraphBranch(func(_ context.Context, accepted M) (string, error) {
		if opsOf[M]().isNil(accepted) {
			return rejectionNode, nil
		}
		return compose.END, nil
	}, map[string]bool{rejectionNode: true, compose.END: true})))
	b.add(b.graph.AddEdge(rejectionNode, modelNode))
}

// judgeAnswer runs the hooks for the last message of a run and returns it, or nil if they reject it.
func judgeAnswer[M MessageType](ctx context.Context, last M) (M, error) {
	r := agentRunFrom[M](ctx)
	handlers := r.agent.handlers
	var view *TypedChatModelAgentState[M]
	err := compose.ProcessState(ctx, func(_ context.Context, s *agentState[M]) error {
		if opsOf[M]().isNil(last) { // the node continues after an interrupt
			last = s.finalMessage()
		}
		view = s.view()
		return nil
	})
	if err != nil {
		return last, err
	}
	hooksCtx, release := r.stoppable(ctx)
	defer release()
	decision, view, err := handlers.runFinalAnswer(hooksCtx, view)
	if err != nil {
		return last, r.stoppedOr(ctx, err)
	}
	rejected := decision == RejectFinalAnswer
	err = compose.ProcessState(ctx, func(_ context.Context, s *agentState[M]) error {
		s.adopt(view)
		if rejected {
			s.HasReturnDirectly, s.ReturnDirectlyToolCallID = false, ""
		}
		if r.lastAction = nil; s.HasReturnDirectly {
			r.lastAction = s.ReturnDirectlyAction
		}
		if !rejected && len(handlers.afterAgent) > 0 {
			view = s.view()
			view.Messages = slices.Clip(slices.Clone(view.Messages)) // nothing is taken over from what they do to it
		}
		return nil
	})
	if err != nil || rejected {
		var none M
		return none, err
	}
	return last, r.stoppedOr(ctx, handlers.runAfterAgent(hooksCtx, view))
}

var errNoDirectResult = errors.New("return directly tool call result not found")

// chooseReturnDirectly looks for a call whose result ends the run, before the tools run. The calls are in the last
// message: a node that continues after an interrupt has no other input.
func chooseReturnDirectly[M MessageType](ctx context.Context, _ M, s *agentState[M]) (answer M, err error) {
	r := agentRunFrom[M](ctx)
	if len(s.Messages) == 0 {
		return answer, errors.New("no messages left in state before the tools run")
	}
	answer = s.Messages[len(s.Messages)-1]
	s.HasReturnDirectly, s.ReturnDirectlyToolCallID = false, ""
	if len(r.returnDirectly) == 0 {
		return answer, nil
	}
	calls := opsOf[M]().toolCalls(answer)
	for i := range calls {
		if r.returnsDirectly(calls[i].Function.Name) {
			s.HasReturnDirectly, s.ReturnDirectlyToolCallID = true, callorder.Label(i, func(i int) string { return calls[i].ID })
			break
		}
	}
	return answer, nil
}

// returnDirectly finds the result that ends the run.
func returnDirectly[M MessageType](ctx context.Context, results []M) (result M, err error) {
	r, ops := agentRunFrom[M](ctx), opsOf[M]()
	var wanted string
	err = compose.ProcessState(ctx, func(_ context.Context, s *agentState[M]) error {
		wanted, r.lastAction = s.ReturnDirectlyToolCallID, s.ReturnDirectlyAction
		return nil
	})
	if err != nil {
		return result, err
	}
	for i, m := range results {
		if ops.isNil(m) {
			continue
		}
		if name, _ := ops.toolCallOf(m); labelOf(results, i) == wanted && r.returnsDirectly(name) {
			return m, nil
		}
	}
	return result, errNoDirectResult
}

// canonicalNames has the tools' own names by alias.
func canonicalNames(infos []*schema.ToolInfo, aliases map[string]compose.ToolAliasConfig) map[string]string {
	names := map[string]string{}
	for _, info := range infos {
		for _, alias := range aliases[info.Name].NameAliases {
			names[alias] = info.Name
		}
	}
	return names
}

// warnOfToolNames reports tools of the agent that share a name, once for each list of tools.
func (r *agentRun[M]) warnOfToolNames() {
	d, g := diagnosticsFrom[M](r), r.graph
	if d.to == nil || len(g.shadowed) == 0 || g.warned.Swap(true) {
		return
	}
	for first, last := range g.shadowed {
		d.warn(r, "two tools have the same name: the model is shown the later one, and calls that",
			"agent", r.agent.conf.Name, "tool", g.infos[first].Name, "ignored", g.describe(first), "used", g.describe(last))
	}
}

// describe says which of several tools of one name it is.
func (g *reactGraph[M]) describe(i int) string {
	return fmt.Sprintf("tool %d, %T: %s", i, g.tools[i], g.infos[i].Desc)
}
