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
// Both also keep a [runs.Journal] for each ID: short records that are appended while a run continues, so that a step costs
// what the step is, and not what the run has become.
//
// A store of your own needs the two methods of [Store]; [Deleter], [runs.Lister] and [runs.Journal] are optional. Package
// checkpointtest tests it.
package checkpoint

import (
	"github.com/weftgo/weft/internal/core"
)

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
