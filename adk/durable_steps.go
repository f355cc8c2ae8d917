package adk

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/internal/concat"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/schema"
)

// restoredAgent is how far an agent had got in the earlier life of a run.
type restoredAgent[M MessageType] struct {
	messages  []M
	given     int
	remaining int
	extra     map[string]any
}

// durableRun is what a run whose steps are saved needs for that.
type durableRun[M MessageType] struct {
	journal *runJournal
	// visit tells the run from others in the journal.
	visit visit
	// journaled is the history as it was saved last.
	journaled []M
	given     int // how many messages a resumed run began with, which have been told
	// actions are those of calls whose results are not saved yet, by call ID.
	actions sync.Map
}

// findJournal finds out whether the steps of the run are saved, and how far it has got.
func (r *agentRun[M]) findJournal() error {
	journal, _ := r.Context.Value(journalKey{}).(*runJournal)
	if journal == nil {
		return nil
	}
	r.durable = &durableRun[M]{journal: journal, visit: journal.visit(core.GetCurrentAddress(r.Context).String())}
	last := r.durable.journal.turns[r.durable.visit]
	if last == nil {
		return nil
	}
	restored := &restoredAgent[M]{given: last.Given, remaining: last.Remaining, extra: last.Extra}
	for i, v := range last.Messages {
		m, ok := v.(M)
		if !ok {
			return fmt.Errorf("agent '%s': saved message %d is %T", r.agent.conf.Name, i, v)
		}
		restored.messages = append(restored.messages, m)
	}
	if len(restored.messages) == 0 {
		return fmt.Errorf("agent '%s': a saved turn has no messages", r.agent.conf.Name)
	}
	r.restored, r.resume = restored, nil
	r.durable.journaled = restored.messages
	if session := sessionFrom(r.Context); session != nil {
		session.add(last.Values)
	}
	return nil
}

// retell tells the steps that were done again. What was told before the run was saved whole, such as some of the results
// of a round that was interrupted, is known.
func (r *agentRun[M]) retell() {
	ops, known := opsOf[M](), r.knownMessages()
	for _, m := range r.restored.messages[min(r.restored.given, len(r.restored.messages)):] {
		if (ops.isAnswer(m) || ops.isResult(m)) && !known[ops.id(m)] {
			r.tellAgain(m, nil, fromSteps)
		}
	}
}

// knownMessages has the IDs of what other agents can see when the run goes on.
func (r *agentRun[M]) knownMessages() map[string]bool {
	x := executionFrom[M](r.Context)
	if x == nil || x.lane == nil {
		return nil
	}
	known := map[string]bool{}
	for _, item := range x.lane.visible() {
		if m, _ := item.whole(r.Context); !opsOf[M]().isNil(m) {
			known[opsOf[M]().id(m)] = true
		}
	}
	delete(known, "")
	return known
}

// saveTurn saves the state after a turn of the model.
func (r *agentRun[M]) saveTurn(ctx context.Context) error {
	s := &stepRecord{Kind: stepTurn, Agent: r.durable.visit.agent, Visit: r.durable.visit.n}
	var messages []M
	err := compose.ProcessState(ctx, func(_ context.Context, state *agentState[M]) error {
		messages = state.Messages[:len(state.Messages):len(state.Messages)]
		s.Remaining, s.Extra = state.RemainingIterations, maps.Clone(state.Extra)
		return nil
	})
	if err != nil {
		return err
	}
	for s.Keep < len(messages) && s.Keep < len(r.durable.journaled) && any(messages[s.Keep]) == any(r.durable.journaled[s.Keep]) {
		s.Keep++
	}
	for _, m := range messages[s.Keep:] {
		s.Messages = append(s.Messages, m)
	}
	switch {
	case r.restored != nil:
		s.Given = r.restored.given
	case r.resume == nil:
		s.Given = len(r.messages)
	default:
		s.Given = r.durable.given
	}
	s.Values = sessionFrom(ctx).all()
	if err := r.durable.journal.appendDone(ctx, s); err != nil {
		return err
	}
	r.durable.journaled = messages
	return nil
}

// durableTools saves the results of tool calls, and answers those that were done in the earlier life of the run.
func durableTools[M MessageType]() compose.ToolMiddleware {
	return compose.ToolMiddleware{
		Invokable: func(next compose.InvokableToolEndpoint) compose.InvokableToolEndpoint {
			return durableTool[M](next, toolStep[compose.ToolOutput]{
				note: func(_ context.Context, out *compose.ToolOutput, s *stepRecord) error { s.Text = out.Result; return nil },
				answer: func(ctx context.Context, in *compose.ToolInput, s *stepRecord) (*compose.ToolOutput, error) {
					return &compose.ToolOutput{Result: s.Text}, sendToolText[M](ctx, in.Name, in.CallID, s.Text)
				},
			})
		},
		Streamable: func(next compose.StreamableToolEndpoint) compose.StreamableToolEndpoint {
			return durableTool[M](next, toolStep[compose.StreamToolOutput]{
				note: func(ctx context.Context, out *compose.StreamToolOutput, s *stepRecord) (err error) {
					out.Result, err = joinedStep(ctx, out.Result, &s.Text)
					return err
				},
				answer: func(ctx context.Context, in *compose.ToolInput, s *stepRecord) (*compose.StreamToolOutput, error) {
					out := &compose.StreamToolOutput{Result: schema.StreamReaderFromArray([]string{s.Text})}
					return out, sendToolText[M](ctx, in.Name, in.CallID, s.Text)
				},
			})
		},
		EnhancedInvokable: func(next compose.EnhancedInvokableToolEndpoint) compose.EnhancedInvokableToolEndpoint {
			return durableTool[M](next, toolStep[compose.EnhancedInvokableToolOutput]{
				note: func(_ context.Context, out *compose.EnhancedInvokableToolOutput, s *stepRecord) error {
					s.Result = out.Result
					return nil
				},
				answer: func(ctx context.Context, in *compose.ToolInput, s *stepRecord) (*compose.EnhancedInvokableToolOutput, error) {
					return &compose.EnhancedInvokableToolOutput{Result: s.Result}, sendToolResult[M](ctx, in.Name, in.CallID, s.Result)
				},
			})
		},
		EnhancedStreamable: func(next compose.EnhancedStreamableToolEndpoint) compose.EnhancedStreamableToolEndpoint {
			return durableTool[M](next, toolStep[compose.EnhancedStreamableToolOutput]{
				note: func(ctx context.Context, out *compose.EnhancedStreamableToolOutput, s *stepRecord) (err error) {
					out.Result, err = joinedStep(ctx, out.Result, &s.Result)
					return err
				},
				answer: func(ctx context.Context, in *compose.ToolInput, s *stepRecord) (*compose.EnhancedStreamableToolOutput, error) {
					out := &compose.EnhancedStreamableToolOutput{Result: schema.StreamReaderFromArray([]*schema.ToolResult{s.Result})}
					return out, sendToolResult[M](ctx, in.Name, in.CallID, s.Result)
				},
			})
		},
	}
}

// joinedStep reads a stream to its end, joins it into a step, and returns it anew.
func joinedStep[T any](ctx context.Context, s *schema.StreamReader[T], into *T) (*schema.StreamReader[T], error) {
	if s == nil {
		return nil, nil
	}
	items, err := gatheredItems(ctx, s, nil)
	if err != nil {
		return nil, err
	}
	switch len(items) {
	case 0:
	case 1:
		*into = items[0]
	default:
		if *into, err = concat.Items(items); err != nil {
			return nil, err
		}
	}
	return schema.StreamReaderFromArray(items), nil
}

// replayedCallKey marks the context of a call that is only answered.
type replayedCallKey struct{}

// durableTool saves one kind of call.
func durableTool[M MessageType, O any](next toolCall[O], step toolStep[O]) toolCall[O] {
	return func(ctx context.Context, in *compose.ToolInput) (*O, error) {
		if r := agentRunFrom[M](ctx); r != nil && r.durable != nil {
			return callDurably(ctx, r, in, next, step)
		}
		return next(ctx, in)
	}
}

// toolStep is how the result of one kind of tool is saved: note puts an output into a step, answer makes one of a step.
type toolStep[O any] struct {
	note   func(context.Context, *O, *stepRecord) error
	answer func(context.Context, *compose.ToolInput, *stepRecord) (*O, error)
}

// callDurably calls a tool in a run whose steps are saved.
func callDurably[M MessageType, O any](ctx context.Context, r *agentRun[M], in *compose.ToolInput, next toolCall[O], step toolStep[O]) (*O, error) {
	call, err := r.callKey(ctx, in)
	if err != nil {
		return nil, err
	}
	if known := r.durable.journal.calls[callOfVisit{r.durable.visit, call}]; known != nil && known.Kind == stepResult {
		if known.Action != nil {
			if err := SendToolGenAction(ctx, in.Name, known.Action); err != nil {
				return nil, err
			}
		}
		return step.answer(context.WithValue(ctx, replayedCallKey{}, true), in, known)
	}
	done := &stepRecord{Kind: stepResult, Agent: r.durable.visit.agent, Visit: r.durable.visit.n, Call: call}
	switch decided, err := r.decide(ctx, in, call); {
	case err != nil:
		return nil, err
	case decided != nil:
		done.Text = decided.Result
		done.Result = &schema.ToolResult{Parts: []schema.ToolOutputPart{{Type: schema.ToolPartTypeText, Text: decided.Result}}}
		if err := r.durable.journal.append(ctx, done); err != nil {
			return nil, err
		}
		return step.answer(ctx, in, done)
	}
	if err := r.durable.journal.append(ctx, &stepRecord{Kind: stepStart, Agent: r.durable.visit.agent, Visit: r.durable.visit.n, Call: call}); err != nil {
		return nil, err
	}
	out, err := next(ctx, in)
	if err == nil && out != nil {
		err = step.note(ctx, out, done)
	}
	if err != nil {
		failed := &stepRecord{Kind: stepFailed, Agent: r.durable.visit.agent, Visit: r.durable.visit.n, Call: call}
		return nil, errors.Join(err, r.durable.journal.appendDone(ctx, failed))
	}
	done.Action = r.actionOf(in.CallID)
	return out, r.durable.journal.appendDone(ctx, done)
}

// callKey tells a call from the others of its agent.
func (r *agentRun[M]) callKey(ctx context.Context, in *compose.ToolInput) (key string, err error) {
	err = compose.ProcessState(ctx, func(_ context.Context, s *agentState[M]) error {
		key = fmt.Sprintf("%d %q %q %q", s.RemainingIterations, in.CallID, in.Name, in.Arguments)
		return nil
	})
	return key, err
}

// decide finds out about a call that had begun in the earlier life of the run. With neither an outcome nor an error the
// tool is to be called.
func (r *agentRun[M]) decide(ctx context.Context, in *compose.ToolInput, call string) (*ToolOutcome, error) {
	asked, hasState, _ := tool.GetInterruptState[*OutcomeUnknown](ctx)
	known := r.durable.journal.calls[callOfVisit{r.durable.visit, call}]
	if !(asked && hasState) && (known == nil || known.Kind != stepStart || r.idempotent(in.Name)) {
		return nil, nil
	}
	if _, ok, outcome := tool.GetResumeContext[*ToolOutcome](ctx); ok {
		switch {
		case outcome.Rerun:
			return nil, nil
		case outcome.Err != "":
			return nil, errors.New(outcome.Err)
		}
		return outcome, nil
	}
	unknown := &OutcomeUnknown{ToolName: in.Name, CallID: in.CallID, Arguments: in.Arguments, IdempotencyKey: GetIdempotencyKey(ctx)}
	return nil, tool.StatefulInterrupt(ctx, unknown, unknown)
}

// idempotent reports whether a call that had begun may be repeated. An agent goes on where it was.
func (r *agentRun[M]) idempotent(name string) bool {
	if _, ok := r.toolNamed(name).(core.GoesOn); ok {
		return true
	}
	return r.repeatable(name)
}

// repeatable reports whether a tool says that it may be called again.
func (r *agentRun[M]) repeatable(name string) bool {
	t, ok := r.toolNamed(name).(IdempotentTool)
	return ok && t.Idempotent()
}

// toolNamed finds a tool by its name or an alias, nil if there is none.
func (r *agentRun[M]) toolNamed(name string) tool.BaseTool {
	if own, ok := r.graph.canonical[name]; ok {
		name = own
	}
	for i, info := range slices.Backward(r.graph.infos) { // the last one is called
		if info.Name == name {
			return r.graph.tools[i]
		}
	}
	return nil
}

// GoesOn says that the steps of the agent are saved with those of the run.
func (t *agentTool[M]) GoesOn() {}

// noteAction remembers the action of a call until its result is saved.
func (r *agentRun[M]) noteAction(callID string, action *AgentAction) {
	if r.durable != nil && action != nil {
		r.durable.actions.Store(callID, action)
	}
}

func (r *agentRun[M]) actionOf(callID string) *AgentAction {
	action, _ := r.durable.actions.LoadAndDelete(callID)
	a, _ := action.(*AgentAction)
	return a
}
