package adk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/internal/envelope"
	"github.com/weftgo/weft/internal/serialization"
	"github.com/weftgo/weft/schema"
)

// CheckPointJournal is what a store may also offer: records that are appended, so that saving a step costs as much as
// the step. The stores of package adk/checkpoint do. Its methods are
//
//	AppendRecord(ctx context.Context, checkPointID string, record []byte) error
//	ReadRecords(ctx context.Context, checkPointID string) ([][]byte, error)
//	RemoveRecords(ctx context.Context, checkPointID string) error
type CheckPointJournal = core.CheckPointJournal

// Durability says when a run with [WithCheckPointID] is saved.
type Durability int

const (
	// OnInterrupt saves a run when it is interrupted or cancelled.
	OnInterrupt Durability = iota
	// EveryStep also saves each answer of a model and each result of a tool before the run goes on, so that a run whose
	// process died can be resumed after its last step. Models and tools that were done are not called again; hooks and
	// custom agents are. A tool that had begun but not ended comes back as an interrupt ([OutcomeUnknown]), unless it is
	// an [IdempotentTool]. Events of earlier steps are not delivered again. What was saved is removed when the run
	// succeeds, and so is the checkpoint that it went on from, if the store is a [CheckPointDeleter]. Of an agent that
	// runs tools eagerly, only an IdempotentTool is started before the answer that calls it is saved. A store that offers
	// [CheckPointJournal] gets one record for a step, another one everything anew.
	EveryStep
)

// IdempotentTool is a tool that may say that calling it again with the same arguments does no harm. Such a call is
// repeated in a resumed run if nobody knows how it ended.
type IdempotentTool interface{ Idempotent() bool }

// OutcomeUnknown is the Info of the interrupt of a tool call that had begun when the process died. Resume it with a
// *[ToolOutcome].
type OutcomeUnknown struct {
	ToolName, CallID, Arguments string
	// IdempotencyKey is that of the call, see [GetIdempotencyKey].
	IdempotencyKey string
}

// ToolOutcome decides on a call whose outcome is unknown.
type ToolOutcome struct {
	// Rerun has the tool called again. Otherwise Err, if it is not empty, is the error of the call, and Result its
	// result.
	Rerun  bool
	Err    string
	Result string
}

func init() {
	schema.RegisterName[*OutcomeUnknown]("_weft_adk_outcome_unknown")
	schema.RegisterName[*ToolOutcome]("_weft_adk_tool_outcome")
	schema.RegisterName[*stepRecord]("_weft_adk_step")
}

// The kinds of steps.
const (
	stepBegin  = "begin"
	stepTurn   = "turn"
	stepStart  = "start"
	stepResult = "result"
	stepFailed = "failed"
)

// stepRecord is one step of a run.
type stepRecord struct {
	Kind string
	// Run is what the run began with, in a record of that kind.
	Run []byte
	// Agent is the address of the agent, and Visit how often it had run before in this run.
	Agent string
	Visit int

	// The state of the agent after a turn of its model: the first Keep messages of the turn before, and those behind.
	Keep      int
	Messages  []any
	Given     int // how many messages the agent was given
	Remaining int
	Extra     map[string]any
	Values    map[string]any

	// Call is a tool call of the agent, with its result.
	Call   string
	Text   string
	Result *schema.ToolResult
	Action *AgentAction
}

// runJournal saves the steps of a run, and knows those of its earlier life.
type runJournal struct {
	store core.CheckPointJournal
	id    string

	mu     sync.Mutex
	closed bool
	visits map[string]int
	turns  map[visit]*stepRecord // with all messages
	calls  map[callOfVisit]*stepRecord
}

// visit is one run of an agent inside a run.
type visit struct {
	agent string
	n     int
}

// callOfVisit is a tool call in it.
type callOfVisit struct {
	visit
	call string
}

func newRunJournal(store CheckPointStore, id string) *runJournal {
	j := &runJournal{id: id, visits: map[string]int{}, turns: map[visit]*stepRecord{}, calls: map[callOfVisit]*stepRecord{}}
	var ok bool
	if j.store, ok = store.(core.CheckPointJournal); !ok {
		j.store = &wholeJournal{store: store}
	}
	return j
}

// replay takes over the steps of an earlier life, and returns what the run had begun with, nil if there are none.
func (j *runJournal) replay(ctx context.Context) (run []byte, err error) {
	records, err := j.store.ReadRecords(ctx, j.id)
	if err != nil {
		return nil, err
	}
	for i, data := range records {
		var v any
		if err := new(serialization.InternalSerializer).Unmarshal(data, &v); err != nil {
			return nil, fmt.Errorf("step %d: %w", i, err)
		}
		s, ok := v.(*stepRecord)
		if !ok {
			return nil, fmt.Errorf("step %d: it is %T", i, v)
		}
		if s.Kind == stepBegin {
			run = s.Run
			continue
		}
		if err := j.take(s); err != nil {
			return nil, fmt.Errorf("step %d: %w", i, err)
		}
	}
	if len(records) > 0 && run == nil {
		return nil, errors.New("the first step is missing")
	}
	return run, nil
}

func (j *runJournal) take(s *stepRecord) error {
	v := visit{s.Agent, s.Visit}
	if s.Kind != stepTurn {
		j.calls[callOfVisit{v, s.Call}] = s
		return nil
	}
	if before := j.turns[v]; before != nil {
		if s.Keep > len(before.Messages) {
			return errors.New("it keeps more messages than there are")
		}
		s.Messages = append(slices.Clip(before.Messages[:s.Keep]), s.Messages...)
	}
	j.turns[v] = s
	return nil
}

// visit counts the runs of an agent.
func (j *runJournal) visit(agent string) visit {
	j.mu.Lock()
	defer j.mu.Unlock()
	v := visit{agent, j.visits[agent]}
	j.visits[agent]++
	return v
}

// appendDone saves what has happened, also when the context has ended meanwhile: nobody could tell later that it has.
func (j *runJournal) appendDone(ctx context.Context, s *stepRecord) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), savingTime)
	defer cancel()
	return j.append(ctx, s)
}

// append saves a step.
func (j *runJournal) append(ctx context.Context, s *stepRecord) (err error) {
	defer blameStore(&err)
	data, err := encodeValue(s, "step of %s", s.Agent)
	if err == nil {
		j.mu.Lock()
		defer j.mu.Unlock()
		if j.closed {
			return errRunSaved
		}
		err = j.store.AppendRecord(ctx, j.id, data)
	}
	if err != nil {
		return fmt.Errorf("failed to save a step: %w", err)
	}
	return nil
}

// errRunSaved is for calls that were given up and come back when nobody waits for them any more.
var errRunSaved = errors.New("failed to save a step: the run has ended")

// close ends the journal: what outlives the run must not write to what is left of it, nor to what is saved in its place.
func (j *runJournal) close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
}

func (j *runJournal) remove(ctx context.Context) error { return j.store.RemoveRecords(ctx, j.id) }

// journalKey asks a context where steps are saved. Agents that hooks and tools run by themselves are not.
type journalKey struct{}

// wholeJournal is the journal of a store that has none: all records in one value.
type wholeJournal struct {
	store   CheckPointStore
	records [][]byte
}

var journalKind = envelope.Kind{Magic: [8]byte{'w', 'e', 'f', 't', 's', 't', 'e', 'p'}, Version: 1}

func (w *wholeJournal) AppendRecord(ctx context.Context, id string, record []byte) error {
	w.records = append(w.records, record)
	return w.set(ctx, id)
}

// wholeRecords is what a wholeJournal stores.
type wholeRecords struct{ Records [][]byte }

func init() { schema.RegisterName[*wholeRecords]("_weft_adk_steps") }

func (w *wholeJournal) ReadRecords(ctx context.Context, id string) ([][]byte, error) {
	data, exists, err := w.store.Get(ctx, id)
	if err != nil || !exists {
		return nil, err
	}
	_, _, payload, err := journalKind.Open(data)
	if errors.Is(err, envelope.ErrForeign) { // a checkpoint
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	v, err := decodeValue(payload, "steps")
	if err != nil {
		return nil, err
	}
	d, ok := v.(*wholeRecords)
	if !ok {
		return nil, fmt.Errorf("steps: it is %T", v)
	}
	w.records = slices.Clone(d.Records)
	return d.Records, nil
}

// RemoveRecords takes the value away, if it is not a checkpoint by now. Where the store cannot delete, an empty list
// stands for nothing.
func (w *wholeJournal) RemoveRecords(ctx context.Context, id string) error {
	w.records = nil
	data, exists, err := w.store.Get(ctx, id)
	if err != nil || !exists || !isWholeJournal(data) {
		return err
	}
	if deleter, ok := w.store.(CheckPointDeleter); ok {
		return deleter.Delete(ctx, id)
	}
	return w.set(ctx, id)
}

// set stores the records.
func (w *wholeJournal) set(ctx context.Context, id string) error {
	data, err := encodeValue(&wholeRecords{Records: w.records}, "steps")
	if err != nil {
		return err
	}
	return w.store.Set(ctx, id, journalKind.Seal(runCodec, data))
}

func isWholeJournal(data []byte) bool {
	_, _, _, err := journalKind.Open(data)
	return err == nil
}
