package turnqueue

import "slices"

// Phase is the phase of a loop. The queue alone changes it, with the owner's lock held:
//
//	phase        goroutine  pushed items  present turn  next phases
//	Unstarted    no         wait          none          Choosing (Start), Unwanted (Stop)
//	Unwanted     no         are late      none          Closing (Start)
//	Idle         no         wait          none          Choosing (Wake), Closing (Stop)
//	Choosing     yes        wait          none          Planning or Idle (Next), Closing (Stop), Ended (End)
//	Planning     yes        wait          is planned    Running (Begin), Choosing (Over), Withdrawing (Stop)
//	Withdrawing  yes        are late      is planned    Closing (Over)
//	Running      yes        wait          runs          Choosing (Over), Finishing (Stop)
//	Finishing    yes        are late      runs          Closing (Over)
//	Closing      yes        are late      none          Ended (End)
//	Ended        no         are late      none          Sealed (Seal)
//	Sealed       no         are refused   none          none
type Phase uint8

// The phases.
const (
	// Unstarted: the loop has been made.
	Unstarted Phase = iota
	// Unwanted: it was stopped before it was started.
	Unwanted
	// Idle: there is nothing to do.
	Idle
	// Choosing: the loop is between two turns.
	Choosing
	// Planning: the items of a turn have been taken.
	Planning
	// Withdrawing: the loop was stopped while a turn was planned, which does not begin.
	Withdrawing
	// Running: a turn runs.
	Running
	// Finishing: the loop was stopped while a turn ran, which is the last one.
	Finishing
	// Closing: the loop was stopped, and is between its last turn and its end.
	Closing
	// Ended: the loop has ended.
	Ended
	// Sealed: the late items were taken.
	Sealed
	phases
)

var phaseNames = [phases]string{
	"unstarted", "unwanted", "idle", "choosing", "planning", "withdrawing", "running", "finishing", "closing", "ended",
	"sealed",
}

// String returns the name of the phase in lower case.
func (p Phase) String() string { return phaseNames[p] }

// successors are the phases that may follow.
var successors = [phases][]Phase{
	Unstarted:   {Choosing, Unwanted},
	Unwanted:    {Closing},
	Idle:        {Choosing, Closing},
	Choosing:    {Planning, Idle, Closing, Ended},
	Planning:    {Running, Choosing, Withdrawing},
	Withdrawing: {Closing},
	Running:     {Choosing, Finishing},
	Finishing:   {Closing},
	Closing:     {Ended},
	Ended:       {Sealed},
}

// onStart, onStop and onOver are what a phase becomes by Start, Stop and Over. The phases that are not in them have
// been started, have been stopped, and have no turn.
var (
	onStart = map[Phase]Phase{Unstarted: Choosing, Unwanted: Closing}
	onStop  = map[Phase]Phase{
		Unstarted: Unwanted, Idle: Closing, Choosing: Closing, Planning: Withdrawing, Running: Finishing,
	}
	onOver = map[Phase]Phase{Planning: Choosing, Running: Choosing, Withdrawing: Closing, Finishing: Closing}
)

// TakesItems reports whether items that are pushed wait for a turn.
func (p Phase) TakesItems() bool {
	switch p {
	case Unstarted, Idle, Choosing, Planning, Running:
		return true
	}
	return false
}

// IsPlanned reports whether there is a turn that has not begun.
func (p Phase) IsPlanned() bool { return p == Planning || p == Withdrawing }

// HasBegun reports whether a turn runs.
func (p Phase) HasBegun() bool { return p == Running || p == Finishing }

// HasTurn reports whether there is a turn.
func (p Phase) HasTurn() bool { return p.IsPlanned() || p.HasBegun() }

// precedes reports whether a phase may follow.
func (p Phase) precedes(next Phase) bool { return slices.Contains(successors[p], next) }
