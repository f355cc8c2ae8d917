package runlog

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/weftgo/weft/runs"
)

// Store keeps the events of runs, for other processes and for later. It is safe for concurrent use. Package
// runlogtest tests one.
//
// An event that a store gives back is as it was appended, as JSON: Data may be decoded again.
type Store interface {
	// Append adds events of one run, which are in the order of their cursors. Events that the store has are skipped, so
	// that an append whose outcome is not known can be repeated. All are added or, with an error, none. It fails with
	// [ErrOvertaken] if the store has events of the run with a higher token.
	Append(ctx context.Context, run string, events []Event) error
	// Read yields the events behind a cursor that are there now, in order. Of a run that is not there it yields nothing. It
	// may leave out deltas of what has ended.
	Read(ctx context.Context, run string, after runs.Cursor) iter.Seq2[Event, error]
	// Wait blocks until there may be an event behind the cursor. It returns the error of ctx if that ends.
	Wait(ctx context.Context, run string, after runs.Cursor) error
	// Inspect returns what the store has of a run, and false if that is nothing.
	Inspect(ctx context.Context, run string) (Info, bool, error)
	// List yields the runs of a query, the one that was written last first.
	List(ctx context.Context, q Query) iter.Seq2[Info, error]
	// Delete removes all events of a run. Removing nothing is no error.
	Delete(ctx context.Context, run string) error
}

// Info describes the events that a store has of a run.
type Info struct {
	Run string
	// First and Last are the positions of the first and the last event that are there. First.Seq is above 1 if the log
	// was cut.
	First, Last runs.Cursor
	// End is the status of the last event, if that is a [RunEnd], else "".
	End runs.Status
	// Updated is the time at which the store was last given an event, by its clock.
	Updated time.Time
}

// Query says which runs are listed; what is empty does not matter.
type Query struct {
	// Prefix selects the IDs that begin with it.
	Prefix string
	// UpdatedBefore: nothing was written since then.
	UpdatedBefore time.Time
	// Limit is the largest number of runs; 0 means all.
	Limit int
}

// ErrOvertaken says that another process has continued a run: what this one still says of it does not count.
var ErrOvertaken = errors.New("another process records the run")

// endOf returns the status that a run has after an event, "" if the event does not say.
func endOf(e *Event) runs.Status {
	if end, ok := e.Data.(*RunEndData); ok && e.Type == RunEnd {
		return end.Status
	}
	return ""
}
