package journal

import "github.com/weftgo/weft/schema"

// Kind says what a record is about.
type Kind string

// The kinds of records.
const (
	// KindBegin has the document that the run begins with. It is the first record.
	KindBegin Kind = "begin"
	// KindLife says that another process continues with the run.
	KindLife Kind = "life"
	// KindEnd has the end of the run. It is the last record.
	KindEnd Kind = "end"
	// KindStop says that the run has stopped, and continues from its checkpoint, which the record may have itself: see
	// [Record.Attached]. The records before it are kept for those who look at the run, unless they are Gone, and for the
	// stretch that begins behind them.
	KindStop Kind = "stop"
	// KindTurn is the state of an agent after a turn of its model.
	KindTurn Kind = "turn"
	// KindStart says that a tool call begins, KindResult that it has its result, and KindFailed that it has none.
	KindStart  Kind = "start"
	KindResult Kind = "result"
	KindFailed Kind = "failed"
)

// Record is one step of a run.
type Record struct {
	Kind Kind
	// Life names the work of one process on the run, from taking it up to its end there. N counts the records of the life
	// from 1. Both are in every record of a journal.
	Life string
	N    int
	// Format is in records of kind begin and life, and so is Answers: what the run was resumed with, by the IDs of its
	// interrupt points, encoded by the type registry.
	Format  int
	Answers map[string][]byte
	// Prev is the life that a record of kind life follows, and Seen how many records it had read. A record of kind begin
	// has the life whose stop it follows, if those records are kept. The Seen of a stop is how many records of its life its
	// checkpoint is made of.
	Prev string
	Seen int
	// Run is the document that the run begins with, in a record of that kind. Instead of it Sum is the sum of the
	// checkpoint which the run continues from, if the journal or the store has that anyway. A stop has the Sum of the
	// checkpoint that it attaches.
	Run, Sum []byte
	// Attached says what the bytes behind the record are.
	Attached Attachment
	// Gone: what stands before a stop counts for the checkpoint alone, and is not for those who look at the run.
	Gone bool
	// End is in a record of that kind.
	End *End
	// Visit is the position of the agent's visit, in all others, and Path the names of the agents on the way to it, the
	// outermost first, in the first record that a life made of the visit.
	Visit string
	Path  []string

	// The state after a turn: the first Keep messages of the turn before, and those behind them.
	Keep     int
	Messages []any
	// Given is the number of messages that others know: those that the agent was given, or that its checkpoint had. Begun
	// is how many it was given, and Remaining how many turns it has left.
	Given, Begun, Remaining int
	Extra, Values           map[string]any
	// CallSeed is the seed of the idempotency keys of the agent's calls.
	CallSeed [2]uint64

	// Call is a tool call of the agent, and Round how many turns the agent had left when it was made.
	Call   string
	CallID string
	Round  int
	Text   string
	Result *schema.ToolResult
	Action any

	// attached are the bytes behind the record.
	attached []byte
}

// Attachment names the kind of bytes that stand behind a record, as they are: inside of the record it would be a third
// longer.
type Attachment string

// What is attached.
const (
	// AttachedWhole is the checkpoint of a stop.
	AttachedWhole Attachment = "whole"
	// AttachedPatch says how the checkpoint of a stop is made of the checkpoint of the stop before, and of the records
	// between.
	AttachedPatch Attachment = "patch"
	// AttachedRecord says how the record is made of the checkpoint that its stretch continues from. What it stands behind is
	// the head of the record: its kind, life, number and visit.
	AttachedRecord Attachment = "record"
)

// End says how a run ended, and has the last message that it emitted.
type End struct {
	// Failed: by Err. Otherwise the run is done.
	Failed bool
	Err    string
	// Message is nil if there was none. Agent and Path say whose it is.
	Message any
	Agent   string
	Path    []string
	// At is the time at which the run ended, in milliseconds since 1970.
	At int64
	// Kept: the steps before it are kept.
	Kept bool
}

func init() {
	schema.RegisterName[*End]("_weft_adk_step_end")
	schema.RegisterName[*Record]("_weft_adk_step")
	schema.RegisterName[Kind]("_weft_adk_step_kind")
	schema.RegisterName[Attachment]("_weft_adk_step_attachment")
	schema.RegisterName[*wholeRecords]("_weft_adk_steps")
}
