package adk

import (
	"github.com/weftgo/weft/adk/internal/journal"
	"github.com/weftgo/weft/internal/core"
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
	schema.RegisterName[*AgentAction]("_weft_adk_action")
}

// scopeKey asks a context where in the journal of its run agents are recorded. Agents that hooks and tools run by
// themselves are not.
type scopeKey struct{}

// savingTime is how long a store may take to save what has happened already.
const savingTime = journal.SavingTime
