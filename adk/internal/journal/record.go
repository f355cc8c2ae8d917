package journal

import "github.com/weftgo/weft/schema"

// Kind says what a record is about.
type Kind string

// The kinds of records.
const (
	// KindBegin is what the run begins with. It is the first record.
	KindBegin Kind = "begin"
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
	// Run is what the run begins with, in a record of that kind.
	Run []byte
	// Visit is the position of the agent's visit, in all others.
	Visit string

	// The state after a turn: the first Keep messages of the turn before, and those behind them.
	Keep     int
	Messages []any
	// Given is how many messages the agent was given, and Remaining how many turns it has left.
	Given, Remaining int
	Extra, Values    map[string]any
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

func init() {
	schema.RegisterName[*Record]("_weft_adk_step")
	schema.RegisterName[Kind]("_weft_adk_step_kind")
	schema.RegisterName[*wholeRecords]("_weft_adk_steps")
}
