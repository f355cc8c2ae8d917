package adk

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weftgo/weft/adk/internal/journal"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// StepKind names the kind of a [Step].
type StepKind string

// The kinds of steps.
const (
	StepBegin  StepKind = "begin"  // what the run begins with
	StepTurn   StepKind = "turn"   // a turn of a model is over
	StepStart  StepKind = "start"  // a tool call begins
	StepResult StepKind = "result" // it has its result
	StepFailed StepKind = "failed" // it has none: it failed, was interrupted, or given up
)

// Step is one step of a run that is saved at every step. Which fields are set depends on its kind.
type Step struct {
	// N counts the steps of the run from 1.
	N    int
	Kind StepKind
	// Agent is the way to the agent whose step it is: the names of agents, the outermost first. Of a StepBegin it is
	// empty.
	Agent []string
	// Visit tells apart what one agent does at several places of the run. It has no other meaning.
	Visit string

	// Messages are the input of the run (StepBegin), or the whole history of the agent after the turn (StepTurn), each of
	// them a *schema.Message or a *schema.AgenticMessage, as the agent speaks.
	Messages []any
	// Values holds the values of the session (StepBegin, StepTurn).
	Values map[string]any
	// Extra are the run-local values of the agent, and Remaining how many turns of its model are left (StepTurn).
	Extra     map[string]any
	Remaining int

	// Call is the tool call (StepStart, StepResult, StepFailed), and Result what came of it, if the tool returns parts;
	// otherwise Text is.
	Call   schema.ToolCall
	Text   string
	Result *schema.ToolResult
}

// Steps reads what is recorded of a run: with [EveryStep] of a run whose process died, that failed or still works, and
// with RunnerConfig.KeepSteps of any run. It can be called while the run works. If the journal is damaged, the steps
// before the damage come with the error, which matches runs.ErrDamaged if the store noticed it. The error
// matches [runs.ErrNotFound] if nothing is recorded. Changing the steps changes nothing of the run.
func Steps(ctx context.Context, store CheckPointStore, id string) ([]Step, error) {
	h, err := readSteps(ctx, store, id)
	return h.steps, err
}

// runSteps are the steps of a run with what they are made of.
type runSteps struct {
	steps []Step
	// records are the records of the steps, one for each; the first one, of the beginning, is nil.
	records []*journal.Record
	// begin is the document that the run began with.
	begin *runDocument
}

// readSteps reads the steps of a run. With an error come those before the damage.
func readSteps(ctx context.Context, store CheckPointStore, id string) (h runSteps, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("failed to read the steps of run %q: %w", id, err)
		}
	}()
	if _, err := journalOf(store); err != nil {
		return h, err
	}
	read, err := journal.ReadHistory(ctx, store, id)
	if read.Run == nil {
		if err == nil {
			err = fmt.Errorf("there are none, or they are not kept (see RunnerConfig.KeepSteps): %w",
				&runs.NotFoundError{ID: id})
		}
		return h, err
	}
	if damage := h.decode(read); damage != nil {
		err = damage
	}
	return h, err
}

// journalOf returns the journal of a store.
func journalOf(store CheckPointStore) (runs.Journal, error) {
	if isNilStore(store) {
		return nil, errStoreNilForResume
	}
	list, ok := store.(runs.Journal)
	if !ok {
		return nil, fmt.Errorf("the store %T has no journal: use one that offers adk.CheckPointJournal", store)
	}
	return list, nil
}

// decode makes steps of what was read, up to the damage.
func (h *runSteps) decode(read journal.History) (err error) {
	if h.begin, err = openRun(read.Run); err != nil {
		return fmt.Errorf("what the run began with: %w", err)
	}
	begin := Step{N: 1, Kind: StepBegin}
	if begin.Messages, err = h.begin.messages(); err != nil {
		return err
	}
	if begin.Values, err = h.begin.values(); err != nil {
		return err
	}
	h.steps, h.records = []Step{begin}, []*journal.Record{nil}
	records := make([]*journal.Record, 0, len(h.begin.Steps)+len(read.Steps))
	for i, data := range h.begin.Steps { // those before its checkpoint that it had not used up
		r, err := journal.Decode(data)
		if err != nil {
			return fmt.Errorf("step %d before the checkpoint: %w", i, err)
		}
		records = append(records, r)
	}
	visits := map[string]*visitHistory{}
	for _, r := range append(records, read.Steps...) {
		v := visits[r.Visit]
		if v == nil {
			v = new(visitHistory)
			visits[r.Visit] = v
		}
		s, err := v.step(r)
		if err != nil {
			return fmt.Errorf("step %d: %w", len(h.steps)+1, err)
		}
		s.N = len(h.steps) + 1
		h.steps, h.records = append(h.steps, s), append(h.records, r)
	}
	return nil
}

// messages are the input of the run.
func (d *runDocument) messages() (all []any, err error) {
	for i, data := range d.Input {
		m, err := decodeValue(data, "input message %d", i)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// visitHistory tracks how far one visit of an agent has got.
type visitHistory struct {
	path     []string
	messages []any
}

// step makes a step of a record.
func (v *visitHistory) step(r *journal.Record) (s Step, err error) {
	if len(r.Path) > 0 {
		v.path = r.Path
	}
	s = Step{Kind: StepKind(r.Kind), Agent: slices.Clone(v.path), Visit: r.Visit}
	if r.Kind != journal.KindTurn {
		s.Text, s.Result = r.Text, r.Result
		if r.Text != "" { // of a result that was given for the call there are both forms
			s.Result = nil
		}
		s.Call, err = callIn(r.Call)
		return s, err
	}
	if r.Keep > len(v.messages) {
		return s, fmt.Errorf("%w: a turn keeps %d messages, and there are %d", runs.ErrDamaged, r.Keep,
			len(v.messages))
	}
	v.messages = slices.Concat(v.messages[:r.Keep], r.Messages)
	s.Messages, s.Values, s.Extra, s.Remaining = slices.Clone(v.messages), r.Values, r.Extra, r.Remaining
	return s, nil
}

// callKey names a call of an agent that has so many turns left. The label tells it from other calls of the answer: it is in
// the key if it is not the ID.
func callKey(remaining int, c schema.ToolCall, label string) string {
	key := fmt.Sprintf("%d %q %q %q", remaining, c.ID, c.Function.Name, c.Function.Arguments)
	if label != c.ID {
		key += fmt.Sprintf(" %q", label)
	}
	return key
}

// callIn is the call that a callKey names.
func callIn(key string) (c schema.ToolCall, err error) {
	_, rest, _ := strings.Cut(key, " ")
	for _, into := range []*string{&c.ID, &c.Function.Name, &c.Function.Arguments} {
		quoted, err := strconv.QuotedPrefix(strings.TrimPrefix(rest, " "))
		if err == nil {
			*into, err = strconv.Unquote(quoted)
		}
		if err != nil {
			return c, fmt.Errorf("%w: the call %s: %w", runs.ErrDamaged, key, err)
		}
		rest = strings.TrimPrefix(rest, " ")[len(quoted):]
	}
	return c, nil
}
