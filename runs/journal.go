package runs

import "context"

// Journal keeps an append-only list of records for each ID. A store of checkpoints may offer it. The journal of an ID and its
// checkpoint do not touch each other. Implementations must be safe for concurrent use.
type Journal interface {
	// AppendRecord adds a record, which is durable when it returns. The slice must not be kept unless it is copied.
	// After an error the record may be there or not, but never in part.
	AppendRecord(ctx context.Context, checkPointID string, record []byte) error
	// ReadRecords returns the records in order; nil if there are none. The torn end that a crash in the middle of an
	// append leaves is left out and no error. A record that was damaged later is an error that wraps
	// [ErrDamaged].
	ReadRecords(ctx context.Context, checkPointID string) ([][]byte, error)
	// RemoveRecords removes all records; that there are none is no error.
	RemoveRecords(ctx context.Context, checkPointID string) error
}

// RecordsFrom reads the records behind the first ones, for callers that have read those. A [Journal] may offer it.
type RecordsFrom interface {
	// ReadRecordsFrom returns the records behind the first so many, in order; nil if there are none.
	ReadRecordsFrom(ctx context.Context, checkPointID string, from int) ([][]byte, error)
}
