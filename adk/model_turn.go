package adk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/internal/cancelscope"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/schema"
)

// newTurn makes the turn in the run, which has one at a time.
func (c *modelChain[M]) newTurn(ctx context.Context) *modelTurn[M] {
	r := agentRunFrom[M](ctx)
	t := &r.turn
	*t = modelTurn[M]{chain: c, run: r, nodeCtx: ctx}
	r.phase.begin()
	return t
}

// modelTurn holds what the layers of one turn share.
type modelTurn[M MessageType] struct {
	chain   *modelChain[M]
	run     *agentRun[M]
	nodeCtx context.Context // the context of the graph's node; hooks may replace it for what is inside them
	input   []M
	options []model.Option
	// view is the state as the hooks see it, if there are any.
	view *TypedChatModelAgentState[M]
	// resumedAt is the place where a resumed run continues in the turn, resumeAtNode if it takes the turn from its
	// beginning.
	resumedAt resumePoint
	// about is the information on the turn that hooks are given.
	about *TypedModelContext[M]
	// open is the attempt that has not been judged yet.
	open *modelAttempt[M]
	// first is the first attempt, of which nothing outlives the turn: most turns need no other.
	first modelAttempt[M]
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
			t.view = s.view() // the options follow from what the hooks make of it
		} else {
			t.options = c.optionsFor(r, s.ToolInfos, s.DeferredToolInfos)
		}
		return nil
	})
}

// answerWithHooks is answer between the hooks before and after the turn.
func (t *modelTurn[M]) answerWithHooks(ctx context.Context) (last M, err error) {
	mc := t.hookContext(t.chain.toolsOf(t.run))
	if ctx, err = t.hookBefore(ctx, mc); err != nil {
		return last, err
	}
	answer, err := t.answer(ctx)
	if err == nil {
		err = t.run.deliver()
	}
	if err != nil {
		return last, err
	}
	return t.hookAfter(ctx, answer, mc)
}

// hookContext describes a call with the given tools to hooks. Hooks of one turn share it as long as the tools
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

// end saves the turn, in a run whose steps are. A cancelled run stops here: after an answer with tool calls, or before a
// turn that the cancel has broken off.
func (t *modelTurn[M]) end(ctx context.Context, last M, err error) (M, error) {
	r := t.run
	if err == nil && r.durable != nil {
		err = r.saveTurn(t.nodeCtx)
	}
	switch {
	case core.IsInterrupt(err): // of the model, or of code around it
		return last, errors.Join(t.rewindState(ctx), err)
	case r.view == nil:
	case err != nil && r.view.Now():
		return last, errors.Join(t.rewindState(ctx), compose.Interrupt(ctx, infoStopped))
	case err == nil && r.phase.get() == turnLost: // the answer came with the cancel, too late to be emitted
		return last, errors.Join(t.undo(ctx), compose.Interrupt(ctx, infoStopped))
	case err == nil && r.view.At(cancelscope.Mode(CancelAfterChatModel)) && t.chain.limited && opsOf[M]().hasToolCalls(last):
		if r.speculation.Drain() { // the run stops behind the results of the calls that run already
			return last, nil
		}
		return last, errors.Join(stopAt[M](ctx, resumeAfterHooks), compose.Interrupt(ctx, infoAfterChatModel))
	}
	return last, err
}

// resumed returns the answer that the run had when it was stopped. If messages came behind it, there is none: a history
// may be changed when a run is resumed.
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

// rewindState prepares the state for a resume: it is set to after the answer if that has been emitted, else to before the
// turn.
func (t *modelTurn[M]) rewindState(ctx context.Context) error {
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

// stateBefore holds the parts of the state that a turn changes.
type stateBefore[M MessageType] struct {
	view                TypedChatModelAgentState[M]
	toolsInitialised    bool
	remainingIterations int
	// said counts what all agents of the run had said.
	said int
}

// stopAt notes in the state what a resumed run does not have to do again.
func stopAt[M MessageType](ctx context.Context, point resumePoint) error {
	return compose.ProcessState(ctx, func(_ context.Context, s *agentState[M]) error {
		s.ResumeAt = point
		return nil
	})
}

// turnPhase says what a turn of the model has committed. It decides where a run that stops in it continues.
//
//	from                 to        when                                         a run that stops then
//	notBegun             asked     the turn has taken its input                 takes the turn again
//	notBegun             answered  a resumed run had the answer already         continues with the hooks after the model
//	notBegun             hooked    a resumed run had run those hooks, too       continues behind the turn
//	asked                answered  the answer is in the history                 continues with the hooks after the model
//	asked, answered      hooked    the hooks after the model have run           continues behind the turn
//	any but notBegun     lost      an event was dropped: the run is to stop     takes the turn again
type turnPhase int32

const (
	turnNotBegun turnPhase = iota
	turnAsked
	turnAnswered
	turnHooked
	turnLost
)

func (p turnPhase) mayBecome(to turnPhase) bool {
	switch to {
	case turnAsked:
		return p == turnNotBegun
	case turnAnswered:
		return p == turnNotBegun || p == turnAsked
	case turnHooked:
		return p != turnLost && p != turnHooked
	case turnLost:
		return p != turnNotBegun && p != turnLost
	}
	return false
}

// turnProgress is the phase of the current turn. The goroutine of the run advances it; code that emits events may lose
// it.
type turnProgress struct{ phase atomic.Int32 }

func (t *turnProgress) get() turnPhase { return turnPhase(t.phase.Load()) }

// begin makes it the progress of another turn.
func (t *turnProgress) begin() { t.phase.Store(int32(turnNotBegun)) }

// advance makes a transition of the table. A turn that is lost stays so.
func (t *turnProgress) advance(to turnPhase) {
	for {
		from := t.get()
		if from == turnLost {
			return
		}
		if to == turnLost || !from.mayBecome(to) {
			panic(fmt.Sprintf("adk: a turn cannot go from phase %d to %d", from, to))
		}
		if t.phase.CompareAndSwap(int32(from), int32(to)) {
			return
		}
	}
}

// lose says that an event of the turn was dropped. Outside of a turn it does nothing.
func (t *turnProgress) lose() {
	for {
		from := t.get()
		if !from.mayBecome(turnLost) || t.phase.CompareAndSwap(int32(from), int32(turnLost)) {
			return
		}
	}
}
