package adk

import (
	"context"
	"errors"
	"slices"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/internal/cancelscope"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/schema"
)

// modelChain is the model as the graph sees it. Around the user's model lie, from the outside in:
//
//	the state and its hooks            (this file)
//	failover and retry                 (model_attempts.go)
//	the tap of the eager tools         (eager.go)
//	the sender of events               (model_attempt.go)
//	the WrapModel of the middlewares
//	message ID and callbacks           (model_target.go)
//
// It reports to the callback handlers itself, once per call of the user's model.
type modelChain[M MessageType] struct {
	handlers *handlerSet[M]
	retry    *TypedModelRetryConfig[M]
	failover *ModelFailoverConfig[M]
	target   *modelTarget[M]
	// consulting: code of users runs in a turn besides the model.
	consulting bool
	// limited: an agent with tools, or with a gate before the final answer, counts its iterations.
	limited bool
	infos   []*schema.ToolInfo
	// tools is the option that tells the model about infos.
	tools []model.Option
	// eager, if not nil, runs tool calls while the model streams.
	eager *eagerTools
}

func newModelChain[M MessageType](conf *TypedChatModelAgentConfig[M], handlers *handlerSet[M], infos []*schema.ToolInfo) *modelChain[M] {
	return &modelChain[M]{
		handlers:   handlers,
		retry:      conf.ModelRetryConfig,
		failover:   conf.ModelFailoverConfig,
		target:     newModelTarget(conf.Model),
		consulting: handlers.aroundModel() || conf.ModelRetryConfig != nil || conf.ModelFailoverConfig != nil,
		limited:    len(infos) > 0 || len(handlers.finalAnswer) > 0,
		infos:      infos,
		tools:      []model.Option{model.WithTools(infos)},
	}
}

// GetType returns the type of the user's model.
func (c *modelChain[M]) GetType() string { return c.target.typ }

// IsCallbacksEnabled keeps the graph from reporting a second time.
func (c *modelChain[M]) IsCallbacksEnabled() bool { return true }

// Generate answers the history in the state. The node's own input is not used: hooks may have changed the history. In a
// run that streams the model does, and the event has the live stream.
func (c *modelChain[M]) Generate(ctx context.Context, _ []M, _ ...model.Option) (M, error) {
	return c.turn(ctx)
}

// Stream is Generate for a graph that streams, which that of an agent does not.
func (c *modelChain[M]) Stream(ctx context.Context, _ []M, _ ...model.Option) (*schema.StreamReader[M], error) {
	answer, err := c.turn(ctx)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderFromArray([]M{answer}), nil
}

// turn is one turn of the model: it takes the history from the state, has it answered and adds the answer. The last
// message of the history is the result.
func (c *modelChain[M]) turn(ctx context.Context) (M, error) {
	t := c.newTurn(ctx)
	if c.consulting {
		stoppable, release := t.run.stoppable(ctx)
		defer release()
		ctx = stoppable
	}
	last, err := t.begin(ctx)
	switch phase := t.run.phase.get(); {
	case err != nil || phase == turnHooked:
		return last, err
	case phase == turnAnswered:
		last, err = t.hookAfter(ctx, last, t.hookContext(c.toolsOf(t.run)))
	case c.handlers.beforeTurn() || c.handlers.afterTurn():
		last, err = t.answerWithHooks(ctx)
	default:
		if last, err = t.answer(ctx); err == nil {
			err = t.keep(ctx, last)
		}
	}
	return t.end(ctx, last, err)
}

// newTurn makes the turn in the run, which has one at a time.
func (c *modelChain[M]) newTurn(ctx context.Context) *modelTurn[M] {
	r := agentRunFrom[M](ctx)
	t := &r.turn
	*t = modelTurn[M]{chain: c, run: r, nodeCtx: ctx}
	r.phase.begin()
	return t
}

// begin readies the turn, unless the run had done it already when it was stopped. If it had its answer but not the hooks
// after it, they are what is left of the turn. A run that is to stop at once stops here.
func (t *modelTurn[M]) begin(ctx context.Context) (last M, err error) {
	if t.run.resume != nil || t.run.restored != nil {
		if last, err = t.resumed(ctx); err != nil || t.resumedAt != resumeAtNode {
			return last, err
		}
	}
	if t.run.stopped() {
		return last, compose.Interrupt(ctx, infoStopped)
	}
	return last, t.takeInput(ctx)
}

// end saves the turn, in a run whose steps are. A cancelled run stops here: after an answer with tool calls, or before a
// turn that the cancel has broken off.
func (t *modelTurn[M]) end(ctx context.Context, last M, err error) (M, error) {
	r := t.run
	if err == nil && r.durable != nil {
		err = r.saveTurn(t.nodeCtx)
	}
	switch {
	case core.IsInterrupt(err): // of the model, or of code around it
		return last, errors.Join(t.goBack(ctx), err)
	case r.view == nil:
	case err != nil && r.view.Now():
		return last, errors.Join(t.goBack(ctx), compose.Interrupt(ctx, infoStopped))
	case err == nil && r.phase.get() == turnLost: // the answer came with the cancel, too late to be emitted
		return last, errors.Join(t.undo(ctx), compose.Interrupt(ctx, infoStopped))
	case err == nil && r.view.At(cancelscope.Mode(CancelAfterChatModel)) && t.chain.limited && opsOf[M]().hasToolCalls(last):
		if r.speculation.drain() { // the run stops behind the results of the calls that run already
			return last, nil
		}
		return last, errors.Join(stopAt[M](ctx, resumeAfterHooks), compose.Interrupt(ctx, infoAfterChatModel))
	}
	return last, err
}

// answerWithHooks is answer between the hooks before and after the turn.
func (t *modelTurn[M]) answerWithHooks(ctx context.Context) (last M, err error) {
	mc := t.hookContext(t.chain.toolsOf(t.run))
	if ctx, err = t.hookBefore(ctx, mc); err != nil {
		return last, err
	}
	answer, err := t.answer(ctx)
	if err != nil {
		return last, err
	}
	return t.hookAfter(ctx, answer, mc)
}

// resumed returns the answer that the run had when it was stopped. If somebody has said more since, there is none: a
// history may be changed when a run is resumed.
func (t *modelTurn[M]) resumed(ctx context.Context) (last M, err error) {
	return last, compose.ProcessState(ctx, func(_ context.Context, s *agentState[M]) error {
		end := len(s.Messages) - 1
		at := s.ResumeAt
		if at != resumeAfterHooks && at != resumeAfterAnswer || end < 0 {
			return nil
		}
		s.ResumeAt = resumeAtNode
		if !opsOf[M]().isAnswer(s.Messages[end]) {
			return nil
		}
		last, t.resumedAt = s.Messages[end], at
		if at == resumeAfterHooks {
			t.run.phase.advance(turnHooked)
			return nil
		}
		t.run.phase.advance(turnAnswered)
		s.Messages = slices.Clip(s.Messages[:end])
		return nil
	})
}

// goBack makes the state one that a resumed run can go on from: after an answer that has been emitted, or else before
// the turn.
func (t *modelTurn[M]) goBack(ctx context.Context) error {
	switch t.run.phase.get() {
	case turnAnswered:
		return stopAt[M](ctx, resumeAfterAnswer)
	case turnHooked:
		return stopAt[M](ctx, resumeAfterHooks)
	}
	return t.undo(ctx)
}

// undo makes the state what it was before the turn: a resumed run takes it again.
func (t *modelTurn[M]) undo(ctx context.Context) error {
	switch {
	case t.run.phase.get() == turnNotBegun:
		return nil
	case t.resumedAt != resumeAtNode: // the turn began in an earlier process, which has emitted its answer
		return stopAt[M](ctx, resumeAfterAnswer)
	}
	before := &t.run.before
	if l := t.run.lane(); l != nil {
		l.discard(t.run.agent.conf.Name, before.said, entrySuperseded)
	}
	return compose.ProcessState(ctx, func(_ context.Context, s *agentState[M]) error {
		s.adopt(&before.view)
		s.ToolsInitialised, s.RemainingIterations = before.toolsInitialised, before.remainingIterations
		return nil
	})
}

// stateBefore is what a turn changes in the state.
type stateBefore[M MessageType] struct {
	view                TypedChatModelAgentState[M]
	toolsInitialised    bool
	remainingIterations int
	// said is how much all agents of the run had said.
	said int
}

// stopAt notes in the state what a resumed run does not have to do again.
func stopAt[M MessageType](ctx context.Context, point resumePoint) error {
	return compose.ProcessState(ctx, func(_ context.Context, s *agentState[M]) error {
		s.ResumeAt = point
		return nil
	})
}

// modelTurn is what the layers of one turn share.
type modelTurn[M MessageType] struct {
	chain   *modelChain[M]
	run     *agentRun[M]
	nodeCtx context.Context // that of the graph's node; hooks may replace it for what is inside them
	input   []M
	options []model.Option
	// view is the state as the hooks see it, if there are any.
	view *TypedChatModelAgentState[M]
	// resumedAt is where a resumed run goes on in the turn, resumeAtNode if it takes the turn from its beginning.
	resumedAt resumePoint
	// about is what hooks are given about the turn.
	about *TypedModelContext[M]
	// open is the attempt that has not been judged yet.
	open *modelAttempt[M]
	// first is the first attempt, of which nothing outlives the turn: most turns need no other.
	first modelAttempt[M]
}

// takeInput counts the turn and takes input and options from the state.
func (t *modelTurn[M]) takeInput(ctx context.Context) error {
	c, r := t.chain, t.run
	said := 0
	if l := r.lane(); l != nil {
		said = l.nextSeq()
	}
	return compose.ProcessState(ctx, func(_ context.Context, s *agentState[M]) error {
		r.phase.advance(turnAsked)
		r.before = stateBefore[M]{
			view:             TypedChatModelAgentState[M]{slices.Clip(s.Messages), s.ToolInfos, s.DeferredToolInfos},
			toolsInitialised: s.ToolsInitialised, remainingIterations: s.RemainingIterations, said: said,
		}
		if c.limited {
			if s.RemainingIterations <= 0 {
				return r.exceededIterations()
			}
			s.RemainingIterations--
		}
		s.RetryAttempt = 0
		if !s.ToolsInitialised {
			s.ToolsInitialised = true
			s.ToolInfos = c.toolsOf(r)
		}
		t.input = slices.Clip(s.Messages)
		if c.handlers.beforeTurn() {
			t.view = s.view() // and the options are those of what the hooks make of it
		} else {
			t.options = c.optionsFor(r, s.ToolInfos, s.DeferredToolInfos)
		}
		return nil
	})
}

// optionsFor are those of the run, and then what tools there are. The model learns of tools in no other way.
func (c *modelChain[M]) optionsFor(r *agentRun[M], tools, deferred []*schema.ToolInfo) []model.Option {
	own := slices.Equal(tools, c.infos)
	if own && len(r.options.model) == 0 && r.toolSearchTool == nil && deferred == nil {
		return c.tools
	}
	opts := make([]model.Option, 0, len(r.options.model)+3)
	opts = append(opts, r.options.model...)
	if r.toolSearchTool != nil {
		opts = append(opts, model.WithToolSearchTool(r.toolSearchTool))
	}
	if own {
		opts = append(opts, c.tools...)
	} else {
		opts = append(opts, model.WithTools(tools))
	}
	if deferred != nil {
		opts = append(opts, model.WithDeferredTools(deferred))
	}
	return opts
}

// toolsOf are the tools that a run tells the model about unless hooks change them: those of the agent, or else of the
// caller's options.
func (c *modelChain[M]) toolsOf(r *agentRun[M]) []*schema.ToolInfo {
	if len(c.infos) > 0 || len(r.options.model) == 0 {
		return c.infos
	}
	return toolsIn(r.options.model)
}

// toolsIn are the tools that options tell a model about.
func toolsIn(opts []model.Option) []*schema.ToolInfo {
	return model.GetCommonOptions(nil, opts...).Tools
}

// hookContext is what hooks are told about a call with the given tools. Hooks of one turn share it as long as the tools
// are the same.
func (t *modelTurn[M]) hookContext(tools []*schema.ToolInfo) *TypedModelContext[M] {
	if t.about == nil || !slices.Equal(t.about.Tools, tools) {
		t.about = &TypedModelContext[M]{Tools: tools, ModelRetryConfig: t.chain.retry, ModelFailoverConfig: t.chain.failover}
	}
	return t.about
}

// hookBefore runs the hooks before the turn and keeps what they make of the state.
func (t *modelTurn[M]) hookBefore(ctx context.Context, mc *TypedModelContext[M]) (context.Context, error) {
	handlers := t.chain.handlers
	if !handlers.beforeTurn() {
		return ctx, nil
	}
	ctx, view, err := handlers.runBeforeModel(ctx, t.view, mc)
	if err != nil {
		return ctx, err
	}
	t.input = slices.Clip(view.Messages)
	t.options = t.chain.optionsFor(t.run, view.ToolInfos, view.DeferredToolInfos)
	return ctx, compose.ProcessState(ctx, func(_ context.Context, s *agentState[M]) error {
		s.adopt(view)
		return nil
	})
}

// hookAfter adds the answer, runs the hooks after the turn and keeps what they make of the state.
func (t *modelTurn[M]) hookAfter(ctx context.Context, answer M, mc *TypedModelContext[M]) (last M, err error) {
	handlers := t.chain.handlers
	if !handlers.afterTurn() {
		return answer, t.keep(ctx, answer)
	}
	var view *TypedChatModelAgentState[M]
	err = compose.ProcessState(ctx, func(_ context.Context, s *agentState[M]) error {
		s.Messages = append(s.Messages, answer)
		view = s.view()
		t.answered()
		return nil
	})
	if err != nil {
		return last, err
	}
	if view, err = handlers.runAfterModel(ctx, view, mc); err != nil {
		return last, err
	}
	if len(view.Messages) == 0 {
		return last, errors.New("no messages left in state after model call")
	}
	last = view.Messages[len(view.Messages)-1]
	if opsOf[M]().isNil(last) {
		return last, errors.New("the last message in state after model call is nil")
	}
	t.run.keepSpeculation(last)
	return last, compose.ProcessState(ctx, func(_ context.Context, s *agentState[M]) error {
		s.adopt(view)
		t.run.phase.advance(turnHooked)
		return nil
	})
}

// answered advances a turn whose answer is in the history. A resumed one may have had it.
func (t *modelTurn[M]) answered() {
	if t.run.phase.get() == turnAsked {
		t.run.phase.advance(turnAnswered)
	}
}

// keep adds the answer to the history as it is.
func (t *modelTurn[M]) keep(ctx context.Context, answer M) error {
	t.run.keepSpeculation(answer)
	return compose.ProcessState(ctx, func(_ context.Context, s *agentState[M]) error {
		s.Messages = append(s.Messages, answer)
		t.run.phase.advance(turnHooked)
		return nil
	})
}
