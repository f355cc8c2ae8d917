package runs

import "time"

// Settlement describes the state in which a lease gives its run back.
type Settlement struct {
	// Status of the run. "" gives the lease back and changes nothing but WakeAt, if it is set: the run has the status that
	// it had when it was taken (running, if a lease before had ended without being settled or records were appended), its
	// questions and replies; the other fields are ignored.
	Status Status
	// Waiting are the questions of a run that is waiting. All earlier ones are gone.
	Waiting []Question
	// Result is the result of a run that is done.
	Result []byte
	// Err is the reason for which it has failed; of a run that is ready, why it is tried again.
	Err string
	// WakeAt is the time at which a run that is ready or waiting becomes due.
	WakeAt time.Time
	// Keep is after how long what is left of the run is removed. 0 is what the store keeps such runs for, a negative
	// time for ever.
	Keep time.Duration
	// Checkpoint replaces the checkpoint, if it is not nil. The checkpoint of a run that is done is removed.
	Checkpoint []byte
	// DropRecords removes the journal: what it had is in the checkpoint, or the run is done.
	DropRecords bool
	// Usage counts the tokens of the run since its beginning. The zero value leaves what the store has.
	Usage Usage
	// Children are runs that are submitted in the same step. One that exists is left as it is.
	Children []Child
	// Answer is the reply to the parent's question that waits for this run.
	Answer []byte
	// Cause is the error behind Err, and Infos are the values behind the Info of Waiting, by the ID of the point. They are
	// for leases that wrap the lease of a store, which ignores them.
	Cause error
	Infos map[string]any
}
