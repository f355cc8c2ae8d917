package runs

import "time"

// Spec describes a run to be made.
type Spec struct {
	// Agent and Queue are the names by which workers select runs (see [Due]).
	Agent, Queue string
	// Parent is the run that waits for this one at ParentPoint. Its question gets a reply when this one is settled as done or failed.
	// A child of a settlement that exists keeps all but the point, if it has that parent.
	Parent, ParentPoint string
	// Key: of the runs with one key that are ready, running or waiting only the first that was made can be taken.
	Key string
	// Alone refuses to make the run, with an error that matches [ErrBusy], if another one of its key would have to end
	// before it: in the one step of Submit, so that one of several at the same moment is made. It has no meaning elsewhere.
	Alone    bool
	Tags     map[string]string
	Priority int
	// NotBefore is the time at which the run becomes due, Deadline the one after which it fails; zero for none.
	NotBefore, Deadline time.Time
	// Build is the build of the program that submits the run, Trace the trace that it belongs to.
	Build, Trace string
	// Records are the beginning of the journal.
	Records [][]byte
}

// Child is a run that another one waits for, submitted in the settlement of that one.
type Child struct {
	ID  string
	Run Spec
}
