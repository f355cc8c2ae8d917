package runs

import (
	"errors"
	"fmt"
	"time"

	"github.com/weftgo/weft/internal/envelope"
	"github.com/weftgo/weft/internal/serialization"
)

// Errors of stores that know about runs. They are matched by errors.Is; [BusyError] and [Error] carry more.
var (
	// ErrBusy says that another owner holds the lease of a run; see [BusyError].
	ErrBusy = errors.New("the run is busy")
	// ErrLeaseLost says that a lease no longer counts: another owner took the run over, or it was settled or removed.
	ErrLeaseLost = errors.New("the lease of the run is lost")
	// ErrNotSaved says that a step of a run could not be saved. The run ends, and can be resumed behind the last step that
	// was; a caller that takes it for the failure of a tool has a model call the tool once more.
	ErrNotSaved = errors.New("failed to save a step")
	// ErrUndecided says that a tool could not find out what became of a call whose process died. The run ends as with
	// [ErrNotSaved].
	ErrUndecided = errors.New("nobody knows what became of a call")
	// ErrNothingDue says that there is no run to take.
	ErrNothingDue = errors.New("no run is due")
	// ErrNotWaiting says that a run does not wait for the point that was answered.
	ErrNotWaiting = errors.New("the run does not wait for that answer")
	// ErrReplied says that the point has an answer.
	ErrReplied = errors.New("the question was answered before")
	// ErrReplyLate says that the time of the question was over when it was answered. It comes with [ErrNotWaiting].
	ErrReplyLate = errors.New("the time to answer the question is over")
	// ErrExists says that there is a run with that ID.
	ErrExists = errors.New("there is a run with that ID")
	// ErrEnded says that a run is done or has failed.
	ErrEnded = errors.New("the run has ended")
	// ErrExpired says that a run was kept for as long as the store keeps it, and is no more.
	ErrExpired = errors.New("the run has expired")
	// ErrFull says that a store has no room left, on its disk or by a limit of its server. The call can be made
	// again when there is room, and its run be resumed.
	ErrFull = errors.New("the store is full: make room, and resume the run")
	// ErrUnreadable says that what the store knows of a run is damaged, or was written by another release. Lists show such a
	// run as failed, no worker takes it, and Remove removes it.
	ErrUnreadable = errors.New("the row of the run cannot be read")
)

// ErrNotFound says that a store has nothing under an ID.
var ErrNotFound = errors.New("checkpoint not found")

// ErrDamaged says that a record of a journal was changed after it was written, or is missing, while records
// after it are intact. What is left of the journal must not be taken for the whole.
var ErrDamaged = errors.New("checkpoint journal is damaged")

// What was saved is intact, and this program cannot read it; another one can.
var (
	// ErrNewerFormat says that a newer version of Weft wrote it.
	ErrNewerFormat = envelope.ErrNewer
	// ErrUnknownType says that it holds a value of a type that this program does not register.
	ErrUnknownType = serialization.ErrUnknownType
)

// BusyError is [ErrBusy] with the owner of the run.
type BusyError struct {
	// ID is the ID of the run that is busy: the one that was asked for, or the one of its key that must end before.
	ID    string
	Owner string
	// Until is the time at which the lease ends if its owner does not renew it, by the clock of the store.
	Until time.Time
	Token uint64
}

func (e *BusyError) Error() string {
	if e.Until.IsZero() {
		return fmt.Sprintf("run %q is busy: it has not ended; wait for it, or stop it", e.ID)
	}
	return fmt.Sprintf("run %q is busy: %s has it until %s; wait, or take it with Steal if its process is known to be gone",
		e.ID, e.Owner, e.Until.UTC().Format(time.RFC3339))
}

// Is reports whether the target is ErrBusy.
func (e *BusyError) Is(target error) bool { return target == ErrBusy }

// Error is an error about the state of a run, with what the store knows of it.
type Error struct {
	// Err is one of the errors of this package, such as [ErrReplied].
	Err error
	// Info is the run as it is now; of a lease that is lost the ID and the token of the lease alone.
	Info Info
}

func (e *Error) Error() string {
	if e.Info.Status == "" {
		return fmt.Sprintf("run %q: %v", e.Info.ID, e.Err)
	}
	return fmt.Sprintf("run %q, which is %s: %v", e.Info.ID, e.Info.Status, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// DamageError says which record of a run's journal cannot be used.
type DamageError struct {
	// Run is the ID of the run, and Record the number of the record in its journal, from 1. Life names the process that
	// wrote the record, "" if it is too damaged to say so.
	Run    string
	Record int
	Life   string
	// Err matches [ErrDamaged], [ErrNewerFormat] or [ErrUnknownType].
	Err error
}

func (e *DamageError) Error() string {
	life := ""
	if e.Life != "" {
		life = " of life " + e.Life
	}
	return fmt.Sprintf("record %d%s in the journal of run %q: %v", e.Record, life, e.Run, e.Err)
}

func (e *DamageError) Unwrap() error { return e.Err }

// NotFoundError is [ErrNotFound] for one ID.
type NotFoundError struct{ ID string }

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("checkpoint[%s] not exist", e.ID)
}

// Is reports whether the target is ErrNotFound.
func (e *NotFoundError) Is(target error) bool { return target == ErrNotFound }
