package journal

import "github.com/weftgo/weft/schema"

// Kind says what a record is about.
type Kind string

// The kinds of records.
const (
	// KindBegin is what the run begins with. It is the first record.
	KindBegin Kind = "begin"
	// KindLife says that another process continues with the run.
	KindLife Kind = "life"
	// KindEnd is what the run has come to. It is the last record.
	KindEnd Kind = "end"
	// KindStop says that the run has stopped, and continues from its checkpoint: the records are kept for those who look
	// at the run, and for the stretch that begins behind them.
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
	// Life is what one process does with the run, from taking it up to its end there. N counts the records of the life
	// from 1. Both are in every record of a journal.
	Life string
	N    int
	// Format is in records of kind begin and life, and so is Answers: what the run was resumed with, by the IDs of its
	// interrupt points, encoded by the type registry.
	Format  int
	Answers map[string][]byte
	// Prev is the life that a record of kind life follows, and Seen how many records it had read. A record of kind begin
	// has the life whose stop it follows, if those records are kept.
	Prev string
	Seen int
	// Run is what the run begins with, in a record of that kind.
	Run []byte
	// End is in a record of that kind.
	End *End
	// Visit is the position of the agent's visit, in all others, and Path the names of the agents on the way to it, the
	// outermost first, in the first record that a life made of the visit.
	Visit string
	Path  []string

	// The state after a turn: the first Keep messages of the turn before, and those behind them.
	Keep     int
	Messages []any
	// Given is how many messages others know: those that the agent was given, or that its checkpoint had. Begun is how
	// many it was given, and Remaining how many turns it has left.
	Given, Begun, Remaining int
	Extra, Values           map[string]any
	// CallSeed is what the idempotency keys of the agent's calls are made with.
	CallSeed [2]uint64

	// Call is a tool call of the agent, and Round how many turns the agent had left when it was made.
	Call   string
	CallID string
	Round  int
	Text   string
	Result *schema.ToolResult
	Action any
}

// End is what a run has come to, and the last message that it emitted.
type End struct {
	// Failed: by Err. Otherwise the run is done.
	Failed bool
	Err    string
	// Message is nil if there was none. Agent and Path say whose it is.
	Message any
	Agent   string
	Path    []string
	// At is when the run ended, in milliseconds since 1970.
	At int64
	// Kept: the steps before it are kept.
	Kept bool
}

func init() {
	schema.RegisterName[*End]("_weft_adk_step_end")
	schema.RegisterName[*Record]("_weft_adk_step")
	schema.RegisterName[Kind]("_weft_adk_step_kind")
	schema.RegisterName[*wholeRecords]("_weft_adk_steps")
}
