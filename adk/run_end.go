package adk

// runEnd is the state of the run, by the events of its agents. Events after a cancel are dropped.
//
//	from     to           when
//	running  failed       an error
//	running  interrupted  an interrupt
//	running  cancelled    an interrupt of a run that was asked to stop
//	failed   interrupted  the interrupt of an agent that ran beside the one that failed
//	failed   cancelled    as before
//
// A run that is still running when its agents have ended has succeeded.
type runEnd int

const (
	runRunning runEnd = iota
	runFailed
	runInterrupted
	runCancelled
)

// become makes the transition of the table. What the table has not changes nothing.
func (e *runEnd) become(to runEnd) {
	if *e == runRunning || *e == runFailed && to != runRunning {
		*e = to
	}
}
