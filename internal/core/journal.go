package core

import (
	"context"
	"errors"
)

// ErrJournalDamaged says that a record of a journal was changed after it was written, or is missing, while records
// after it are intact. What is left of the journal must not be taken for the whole.
var ErrJournalDamaged = errors.New("checkpoint journal is damaged")

// CheckPointJournal is what a store may also offer: an append-only list of records for each ID. It lives beside the
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

// RecordsSteps is implemented by tools that are agents: all that a call does is steps of the run, so that one that had
// begun when the process died continues where it was.
type RecordsSteps interface{ RecordsSteps() }
