// Package checkpoint has stores for checkpoints: what an interrupted, cancelled or crashed run needs to continue later.
//
// [NewMemoryStore] keeps them in the process, for tests and for runs that need not outlive it. [NewFileStore] keeps
// them in a directory that several processes may share: a crash at any point leaves the old checkpoint or the new one.
// Both go wherever a store is asked for:
//
//	store, err := checkpoint.NewFileStore("/var/lib/assistant/checkpoints")
//	…
//	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent, CheckPointStore: store})
//
// Both also keep a [Journal] for each ID: short records that are appended while a run continues, so that a step costs
// what the step is, and not what the run has become.
//
// A store of your own needs the two methods of [Store]; [Deleter], [Lister] and [Journal] are optional. Package
// checkpointtest tests it.
package checkpoint

import "github.com/weftgo/weft/internal/core"

// Store keeps checkpoints by ID. It is the same type as adk.CheckPointStore and compose.CheckPointStore. Its
// methods are
//
//	Get(ctx context.Context, checkPointID string) (checkPoint []byte, found bool, err error)
//	Set(ctx context.Context, checkPointID string, checkPoint []byte) error
type Store = core.CheckPointStore

// Deleter removes checkpoints. A store may offer it. Its method is
//
//	Delete(ctx context.Context, checkPointID string) error
type Deleter = core.CheckPointDeleter

// Lister lists IDs by prefix, with the time of the last write. A store may offer it. Its method is
//
//	ListCheckPoints(ctx context.Context, prefix string) iter.Seq2[Info, error]
type Lister = core.CheckPointLister

// Info describes one ID of a [Lister].
//
//   - ID: under which something was saved
//   - Modified: when that was written last
type Info = core.CheckPointInfo

// Journal keeps an append-only list of records for each ID. A store may offer it. Its methods are
//
//	AppendRecord(ctx context.Context, checkPointID string, record []byte) error
//	ReadRecords(ctx context.Context, checkPointID string) ([][]byte, error)
//	RemoveRecords(ctx context.Context, checkPointID string) error
type Journal = core.CheckPointJournal

// RecordsFrom reads the records behind the first ones, for callers that have read those. A [Journal] may offer it.
// Conversations read less with it. Its method is
//
//	ReadRecordsFrom(ctx context.Context, checkPointID string, from int) ([][]byte, error)
type RecordsFrom = core.RecordsFrom

// ErrNotFound is wrapped by the error of a resume if the store has nothing under the ID: the run has never stopped, or
// has ended since.
var ErrNotFound = core.ErrCheckPointNotFound

// ErrJournalDamaged is wrapped by the error of a [Journal] in which a record was damaged after it was written.
var ErrJournalDamaged = core.ErrJournalDamaged

// What was saved is intact, and this program cannot read it; another one can. Workers leave such a run to others.
var (
	// ErrNewerFormat is wrapped by the error of what a newer version of Weft has saved.
	ErrNewerFormat = core.ErrNewerFormat
	// ErrUnknownType is wrapped by the error of what holds a value of a type that this program does not register
	// (schema.RegisterName).
	ErrUnknownType = core.ErrUnknownType
)

// JournalError says which record of a run's journal cannot be used.
//
// Its fields and methods:
//
//   - Run: the ID of the run
//   - Record: the number of the record, from 1
//   - Life: the process that wrote it, "" if nobody knows
//   - Err: matches [ErrJournalDamaged], [ErrNewerFormat] or [ErrUnknownType]
//   - Error, Unwrap: its methods
type JournalError = core.JournalError
