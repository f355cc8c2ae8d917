package core

import (
	"context"
	"errors"
	"fmt"

	"github.com/weftgo/weft/internal/envelope"
	"github.com/weftgo/weft/internal/serialization"
)

// ErrJournalDamaged says that a record of a journal was changed after it was written, or is missing, while records
// after it are intact. What is left of the journal must not be taken for the whole.
var ErrJournalDamaged = errors.New("checkpoint journal is damaged")

// What was saved is intact, and this program cannot read it; another one can.
var (
	// ErrNewerFormat says that a newer version of Weft wrote it.
	ErrNewerFormat = envelope.ErrNewer
	// ErrUnknownType says that it holds a value of a type that this program does not register.
	ErrUnknownType = serialization.ErrUnknownType
)

// JournalError says which record of a run's journal cannot be used.
type JournalError struct {
	// Run is the ID of the run, and Record the number of the record in its journal, from 1. Life names the process that
	// wrote the record, "" if it is too damaged to say so.
	Run    string
	Record int
	Life   string
	// Err matches [ErrJournalDamaged], [ErrNewerFormat] or [ErrUnknownType].
	Err error
}

func (e *JournalError) Error() string {
	life := ""
	if e.Life != "" {
		life = " of life " + e.Life
	}
	return fmt.Sprintf("record %d%s in the journal of run %q: %v", e.Record, life, e.Run, e.Err)
}

func (e *JournalError) Unwrap() error { return e.Err }

// CheckPointJournal is an optional interface of stores: an append-only list of records for each ID. It lives beside the
// checkpoint of that ID; neither touches the other. Implementations must be safe for concurrent use.
type CheckPointJournal interface {
	// AppendRecord adds a record, which is durable when it returns. The slice must not be kept unless it is copied.
	// After an error the record may be there or not, but never in part.
	AppendRecord(ctx context.Context, checkPointID string, record []byte) error
	// ReadRecords returns the records in order; nil if there are none. The torn end that a crash in the middle of an
	// append leaves is left out and no error. A record that was damaged later is an error that wraps
	// [ErrJournalDamaged].
	ReadRecords(ctx context.Context, checkPointID string) ([][]byte, error)
	// RemoveRecords removes all records; that there are none is no error.
	RemoveRecords(ctx context.Context, checkPointID string) error
}

// RecordsFrom is an optional interface of journals: it reads what was appended since, without what was read before.
type RecordsFrom interface {
	// ReadRecordsFrom returns the records behind the first so many, in order; nil if there are none.
	ReadRecordsFrom(ctx context.Context, checkPointID string, from int) ([][]byte, error)
}

// ReadRecordsFrom returns the records of a journal behind the first so many. One that offers no [RecordsFrom] is read whole.
func ReadRecordsFrom(ctx context.Context, j interface {
	ReadRecords(ctx context.Context, checkPointID string) ([][]byte, error)
}, checkPointID string, from int) ([][]byte, error) {
	if tail, ok := j.(RecordsFrom); ok && from > 0 {
		return tail.ReadRecordsFrom(ctx, checkPointID, from)
	}
	all, err := j.ReadRecords(ctx, checkPointID)
	return all[min(from, len(all)):], err
}

// RecordsSteps is implemented by tools that are agents: all that a call does is steps of the run, so that one that had
// begun when the process died continues where it was.
type RecordsSteps interface{ RecordsSteps() }
