package adk

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/weftgo/weft/adk/internal/journal"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/internal/cancelscope"
	"github.com/weftgo/weft/internal/concat"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// Durability says when a run with [WithCheckPointID] is saved.
type Durability int

const (
	// OnInterrupt saves a run when it is interrupted or cancelled.
	OnInterrupt Durability = iota
	// EveryStep also saves each answer of a model and each result of a tool before the run continues, so that a run whose
	// process died can be resumed after its last step. Models and tools that were done are not called again; hooks and
	// custom agents are. A tool that had begun but not ended comes back as an interrupt ([OutcomeUnknown]), unless it is
	// an [IdempotentTool]. Events of earlier steps are not delivered again. What was saved is removed when the run
	// succeeds, and so is the checkpoint that it continued from, if the store is a [CheckPointDeleter]. Of an agent that
	// runs tools eagerly, only an IdempotentTool is started before the answer that calls it is saved. A store that offers
	// [runs.Journal] gets one record for a step, another one everything again.
	EveryStep
)

// IdempotentTool is a tool that may say that calling it again with the same arguments does no harm. Such a call is
// repeated in a resumed run if its outcome is unknown. It may also be made while the call of a process that was taken for
// dead is still in flight: services must be able to take both at the same time.
type IdempotentTool interface{ Idempotent() bool }

// OutcomeUnknown is the Info of the interrupt of a tool call that had begun when the process died. Resume it with a
// *[ToolOutcome].
type OutcomeUnknown struct {
	ToolName, CallID, Arguments string
	// IdempotencyKey is the key of the call, see [GetIdempotencyKey].
	IdempotencyKey string
}

// OutcomeResolver is a tool that may be able to find out what became of a call whose process died, such as by asking the
// service for the idempotency key of the call. It is asked before anybody else is. nil and no error: it does not know.
// An error fails the run, which can be resumed.
type OutcomeResolver interface {
	Outcome(ctx context.Context, u *OutcomeUnknown) (*ToolOutcome, error)
}

// ToolOutcome decides on a call whose outcome is unknown.
type ToolOutcome struct {
	// Rerun has the tool called again. Otherwise Err, if it is not empty, is the error of the call, and Result its
	// result.
	Rerun  bool
	Err    string
	Result string
	// Action goes with the result, for a tool that would have sent it by [SendToolGenAction]: such as the transfer to
	// another agent, or the end of a loop.
	Action *AgentAction
}

func init() {
	schema.RegisterName[*OutcomeUnknown]("_weft_adk_outcome_unknown")
	schema.RegisterName[*ToolOutcome]("_weft_adk_tool_outcome")
	schema.RegisterName[*AgentAction]("_weft_adk_action")
}

// scopeKey asks a context where in the journal of its run agents are recorded. Agents that hooks and tools run by
// themselves are not.
type scopeKey struct{}

// savingTime limits the time that a store takes to save what has happened already.
const savingTime = journal.SavingTime

// restoredAgent tracks how far an agent had got in an earlier process.
type restoredAgent[M MessageType] struct {
	messages  []M
	given     int
	remaining int
	extra     map[string]any
	seed      [2]uint64
}

// durableRun holds what a run needs to save its steps.
type durableRun[M MessageType] struct {
	visit *journal.Visit
	// journaled is the history as it was saved last.
	journaled []M
	given     int // how many messages a resumed run began with, whose events are out
	// actions has the actions of calls whose results are not saved yet, by the labels of the calls.
	actions sync.Map
}

// findJournal finds out whether the steps of the run are saved, and how far it has got.
func (r *agentRun[M]) findJournal() error {
	scope, _ := r.Context.Value(scopeKey{}).(*journal.Scope)
	if scope == nil {
		return nil
	}
	at := core.GetCurrentAddress(r.Context)
	r.durable = &durableRun[M]{visit: scope.Begin(at.String(), r.resume != nil, agentsOn(at)...)}
	last := r.durable.visit.LastTurn()
	if last == nil {
		return nil
	}
	restored := &restoredAgent[M]{given: last.Given, remaining: last.Remaining, extra: last.Extra, seed: last.CallSeed}
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

// agentsOn are the names of the agents on an address, the outermost first.
func agentsOn(at core.Address) (names []string) {
	for _, s := range at {
		if s.Type == AddressSegmentAgent {
			names = append(names, s.ID)
		}
	}
	return names
}

// recordEnd says that the run has ended, unless it stopped, for a resumed run to continue with.
func (r *agentRun[M]) recordEnd() {
	if r.durable != nil {
		r.durable.visit.End()
	}
}

// recordStop says that the run stopped, and whether its state is in the interrupt.
func (r *agentRun[M]) recordStop(hasState bool) {
	switch {
	case r.durable == nil:
	case hasState:
		r.durable.visit.Suspend()
	default:
		r.durable.visit.Park()
	}
}

// replaySteps sends the events of the steps that an earlier process recorded. What the saved history has, such as some
// of the results of a round that was interrupted, is left out.
func (r *agentRun[M]) replaySteps() {
	ops, known := opsOf[M](), r.knownMessages()
	actions := r.durable.visit.Actions()
	for _, m := range r.restored.messages[min(r.restored.given, len(r.restored.messages)):] {
		if (ops.isAnswer(m) || ops.isResult(m)) && !known[ops.id(m)] {
			_, callID := ops.toolCallOf(m)
			r.replay(m, breaksLoop(actions[callID]), originReplayedSteps)
		}
	}
}

// breaksLoop returns an action if it breaks a loop: other than what else an action says, that counts although more
// events follow.
func breaksLoop(action any) *AgentAction {
	if a, _ := action.(*AgentAction); a != nil && a.BreakLoop != nil {
		return a
	}
	return nil
}

// knownMessages has the IDs of what other agents can see when the run continues.
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
	s := new(journal.Record)
	var messages []M
	err := compose.ProcessState(ctx, func(_ context.Context, state *agentState[M]) error {
		messages = state.Messages[:len(state.Messages):len(state.Messages)]
		s.Remaining, s.Extra, s.CallSeed = state.RemainingIterations, maps.Clone(state.Extra), state.CallSeed
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
	if err := r.durable.visit.SaveTurn(ctx, s); err != nil {
		return err
	}
	r.durable.journaled = messages
	return nil
}

// noteResult puts the result of a call into the step. A stream is read to its end; its chunks stay as they came.
func noteResult(ctx context.Context, s *journal.Record, out *compose.ToolCallOutput) (err error) {
	switch {
	case out.ResultStream != nil:
		out.ResultStream, err = joinedStep(ctx, out.ResultStream, &s.Result)
	case out.Result != nil:
		s.Result = out.Result
	case out.TextStream != nil:
		out.TextStream, err = joinedStep(ctx, out.TextStream, &s.Text)
	default:
		s.Text = out.Text
	}
	return err
}

// answerStep gives a call the result of a step, and sends its event, with its action.
func answerStep[M MessageType](
	ctx context.Context, in *compose.ToolInput, s *journal.Record, enhanced bool,
) (*compose.ToolCallOutput, error) {
	if action, _ := s.Action.(*AgentAction); action != nil {
		if err := sendToolGenAction(ctx, in.Name, action); err != nil {
			return nil, err
		}
	}
	if enhanced {
		return &compose.ToolCallOutput{Result: s.Result}, sendToolResult[M](ctx, in.Name, in.CallID, s.Result)
	}
	return &compose.ToolCallOutput{Text: s.Text}, sendToolText[M](ctx, in.Name, in.CallID, s.Text)
}

// joinedStep reads a stream to its end, joins it into a step, and returns it again.
func joinedStep[T any](ctx context.Context, s *schema.StreamReader[T], into *T) (*schema.StreamReader[T], error) {
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

// recordedCallKey asks a context which recorded tool call it belongs to.
type recordedCallKey struct{}

// callDurably calls a tool in a run whose steps are saved.
func callDurably[M MessageType](
	ctx context.Context, r *agentRun[M], in *compose.ToolInput, next compose.ToolCallEndpoint, enhanced bool,
) (*compose.ToolCallOutput, error) {
	call, err := r.recordedCall(ctx, in)
	if err != nil {
		return nil, err
	}
	known := call.Known()
	if known != nil && known.Kind == journal.KindResult {
		return answerStep[M](context.WithValue(ctx, replayedCallKey{}, true), in, known, enhanced)
	}
	switch decided, err := r.decide(ctx, in, call); {
	case err != nil:
		if core.IsInterrupt(err) {
			call.Suspend()
		}
		return nil, err
	case decided != nil:
		return answerDecided(ctx, r, in, call, decided, enhanced)
	}
	if err := call.Start(ctx); err != nil {
		return nil, err
	}
	out, err := next(context.WithValue(ctx, recordedCallKey{}, call), in)
	noted := new(journal.Record)
	if err == nil {
		err = noteResult(ctx, noted, out)
	}
	action := r.actionOf(ctx, in)
	if err != nil {
		if core.IsInterrupt(err) {
			call.Suspend()
		}
		return nil, errors.Join(err, call.Fail(ctx))
	}
	return out, call.Finish(ctx, func(s *journal.Record) {
		s.Text, s.Result, s.CallID = noted.Text, noted.Result, compose.InternalToolCallLabel(ctx)
		if action != nil {
			s.Action = action
		}
	})
}

// callRecorded returns the recorded call of the run that ctx belongs to, nil if there is none.
func (r *agentRun[M]) callRecorded(ctx context.Context) *journal.Call {
	if call, _ := ctx.Value(recordedCallKey{}).(*journal.Call); call != nil && r.durable != nil && call.Visit() == r.durable.visit {
		return call
	}
	return nil
}

// answerDecided gives a call the result that the resumed run was given for it. It counts like the result of a tool: from
// the moment on that it is recorded, an immediate cancel no longer drops its event.
func answerDecided[M MessageType](
	ctx context.Context, r *agentRun[M], in *compose.ToolInput, call *journal.Call, decided *ToolOutcome, enhanced bool,
) (*compose.ToolCallOutput, error) {
	emitted, release := ctx, noRelease
	if r.view != nil {
		c := new(cancelscope.Call)
		c.Open(ctx, r.view, callPolicy)
		emitted, release = c, c.Release
		if !c.Commit() {
			release()
			call.Park() // it asks again
			interrupted, _, state := tool.GetInterruptState[any](ctx)
			return nil, givenUp(ctx, interrupted, state)
		}
	}
	defer release()
	var done *journal.Record
	err := call.Finish(ctx, func(s *journal.Record) {
		s.Text, s.CallID, done = decided.Result, compose.InternalToolCallLabel(ctx), s
		s.Result = &schema.ToolResult{Parts: []schema.ToolOutputPart{{Type: schema.ToolPartTypeText, Text: decided.Result}}}
		if decided.Action != nil {
			s.Action = decided.Action
		}
	})
	if err != nil {
		return nil, err
	}
	return answerStep[M](emitted, in, done, enhanced)
}

// recordedCall is the call in the journal.
func (r *agentRun[M]) recordedCall(ctx context.Context, in *compose.ToolInput) (call *journal.Call, err error) {
	err = compose.ProcessState(ctx, func(_ context.Context, s *agentState[M]) error {
		key := callKey(s.RemainingIterations, schema.ToolCall{ID: in.CallID,
			Function: schema.FunctionCall{Name: in.Name, Arguments: in.Arguments}}, compose.InternalToolCallLabel(ctx))
		call = r.durable.visit.Call(key, s.RemainingIterations)
		return nil
	})
	return call, err
}

// decide finds out about a call that had begun in an earlier process. With neither an outcome nor an error the
// tool is to be called.
func (r *agentRun[M]) decide(ctx context.Context, in *compose.ToolInput, call *journal.Call) (*ToolOutcome, error) {
	known := call.Known()
	asked, hasState, _ := tool.GetInterruptState[*OutcomeUnknown](ctx)
	if !(asked && hasState) && (known == nil || known.Kind != journal.KindStart || r.idempotent(in.Name)) {
		return nil, nil
	}
	unknown := &OutcomeUnknown{ToolName: in.Name, CallID: in.CallID, Arguments: in.Arguments, IdempotencyKey: GetIdempotencyKey(ctx)}
	_, decided, outcome := tool.GetResumeContext[*ToolOutcome](ctx)
	// A decision that the journal has was made before the call began again, if it did.
	if !decided || known != nil && known.Kind == journal.KindStart && call.StartedSince() {
		var err error
		if outcome, err = r.resolve(ctx, unknown); err != nil {
			return nil, err
		}
	}
	switch {
	case outcome == nil:
		return nil, tool.StatefulInterrupt(ctx, unknown, unknown)
	case outcome.Rerun:
		return nil, nil
	case outcome.Err != "":
		return nil, errors.New(outcome.Err)
	}
	return outcome, nil
}

// resolve asks the tool for the outcome of its call, if the tool can find out. nil: it is unknown. (F14)
func (r *agentRun[M]) resolve(ctx context.Context, u *OutcomeUnknown) (outcome *ToolOutcome, err error) {
	resolver, ok := r.toolNamed(u.ToolName).(OutcomeResolver)
	if !ok {
		return nil, nil
	}
	err = guardHook(func() (err error) { outcome, err = resolver.Outcome(ctx, u); return err })
	if err != nil {
		err = undecided{fmt.Errorf("tool '%s' could not find out what became of call %q: %w", u.ToolName, u.CallID, err)}
	}
	return outcome, err
}

// undecided is the error of an [OutcomeResolver]. It matches runs.ErrUndecided.
type undecided struct{ error }

func (u undecided) Unwrap() error        { return u.error }
func (u undecided) Is(target error) bool { return target == runs.ErrUndecided }

// idempotent reports whether a call that had begun may be repeated. An agent continues where it was.
func (r *agentRun[M]) idempotent(name string) bool {
	if _, ok := r.toolNamed(name).(core.RecordsSteps); ok {
		return true
	}
	return r.Repeatable(name)
}

// Repeatable reports whether a tool says that it may be called again.
func (r *agentRun[M]) Repeatable(name string) bool {
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

// RecordsSteps says that the steps of the agent are saved with the steps of the run.
func (t *agentTool[M]) RecordsSteps() {}

// noteAction remembers the action of a call until its result is saved: the result of an early call is published only
// later.
func (r *agentRun[M]) noteAction(label string, action *AgentAction) {
	if r.durable != nil && action != nil {
		r.durable.actions.Store(label, action)
	}
}

// actionOf takes the action of a call that has ended. One that code outside of the tool has set for the tool's name may
// not be published yet.
func (r *agentRun[M]) actionOf(ctx context.Context, in *compose.ToolInput) *AgentAction {
	if action, ok := r.durable.actions.LoadAndDelete(compose.InternalToolCallLabel(ctx)); ok {
		return action.(*AgentAction)
	}
	var action *AgentAction
	if r.earlyCall(ctx) != nil {
		_ = compose.ProcessState(ctx, func(_ context.Context, s *agentState[M]) error {
			action = s.ToolGenActions[in.Name]
			return nil
		})
	}
	return action
}

// GetIdempotencyKey returns a key for the tool call of ctx that is the same whenever the call is repeated: after a retry
// of the model with the same call, a failover, or a resume. Services that take such keys do nothing twice then. It is ""
// outside a tool call of an agent. After the death of the process it is the same if the run is saved at every step (see
// [EveryStep]); other runs begin again then.
func GetIdempotencyKey(ctx context.Context) string {
	call, id, ok := compose.InternalToolCall(ctx)
	if !ok {
		return ""
	}
	for r := innermostRun(ctx); r != nil; r = innermostRun(ctx) {
		outside := r.outside()
		if _, around, _ := compose.InternalToolCall(outside); around != id {
			return r.idempotencyKey(ctx, call)
		}
		ctx = outside // the call is of an agent around the innermost one
	}
	return ""
}

// newCallSeed returns the seed that makes the idempotency keys of a new run differ from the keys of all other runs. The
// seed is there from the beginning, and saved with the run: even a call that is given up while the run is saved has the
// key with which it is repeated. A run that is saved at every step finds its seed again when the process dies before
// anything else is saved: it is made of the seed of the run, which its journal begins with, and not of its ID, which runs
// of other tenants and later ones may have, too.
func (r *agentRun[M]) newCallSeed() [2]uint64 {
	ids, _ := r.Context.Value(core.InterruptIDsKey{}).(*core.InterruptIDs)
	if r.durable == nil || ids == nil {
		return [2]uint64{rand.Uint64(), rand.Uint64()}
	}
	sum := sha256.Sum256(append(ids.Seed[:], r.durable.visit.Position()...))
	return [2]uint64{binary.BigEndian.Uint64(sum[:]), binary.BigEndian.Uint64(sum[8:])}
}

// idempotencyKey makes the key out of what a repeated call has in common. In a fork it is none of the keys of the
// origin, whose seeds are in the turns that both have.
func (r *agentRun[M]) idempotencyKey(ctx context.Context, call schema.ToolCall) (key string) {
	_ = compose.ProcessState(ctx, func(_ context.Context, s *agentState[M]) error {
		made := fmt.Appendf(nil, "%x %s", s.CallSeed, callKey(s.RemainingIterations, call, compose.InternalToolCallLabel(ctx)))
		if f := forkFrom(r.Context); f != nil {
			made = append(made, f.seed[:]...)
		}
		sum := sha256.Sum256(made)
		key = hex.EncodeToString(sum[:])
		return nil
	})
	return key
}

// Asks says how the question is listed: see [runs.Asker].
func (u *OutcomeUnknown) Asks() runs.Question {
	return runs.Question{Kind: runs.KindOutcome, Tool: u.ToolName, Call: u.CallID, Arguments: u.Arguments,
		Text: fmt.Sprintf("did the call of tool %q succeed?", u.ToolName)}
}

// Shortened implements [runs.Shortener].
func (u *OutcomeUnknown) Shortened(most int) any {
	short := *u
	short.Arguments = strings.ToValidUTF8(u.Arguments[:min(len(u.Arguments), most)], "")
	return &short
}
