package core

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
)

// ErrCheckPointNotFound says that a store has nothing under an ID.
var ErrCheckPointNotFound = errors.New("checkpoint not found")

// CheckPointNotFoundError is [ErrCheckPointNotFound] for one ID.
type CheckPointNotFoundError struct{ ID string }

func (e *CheckPointNotFoundError) Error() string {
	return fmt.Sprintf("checkpoint[%s] not exist", e.ID)
}

// Is reports whether the target is ErrCheckPointNotFound.
func (e *CheckPointNotFoundError) Is(target error) bool { return target == ErrCheckPointNotFound }

// CheckPointStore keeps checkpoints by ID. Implementations must be safe for concurrent use; Set replaces.
type CheckPointStore interface {
	// Get returns the checkpoint, and false when there is none with that ID.
	Get(ctx context.Context, checkPointID string) ([]byte, bool, error)
	// Set stores the checkpoint. The slice must not be kept after Set returns unless it is copied.
	Set(ctx context.Context, checkPointID string, checkPoint []byte) error
}

// CheckPointDeleter removes checkpoints. A store may offer it.
type CheckPointDeleter interface {
	// Delete removes the checkpoint; removing one that is not there is no error.
	Delete(ctx context.Context, checkPointID string) error
}

// CheckPointInfo describes one ID of a [CheckPointLister].
type CheckPointInfo struct {
	ID string
	// Modified is the time at which its checkpoint or its journal was written last.
	Modified time.Time
}

// CheckPointLister lists checkpoints. A store may offer it.
type CheckPointLister interface {
	// ListCheckPoints yields the IDs that begin with a prefix and have a checkpoint or a journal, in the order of the
	// IDs; with "" all of them. What is written or deleted meanwhile may be missing or not. An error is the last item.
	ListCheckPoints(ctx context.Context, prefix string) iter.Seq2[CheckPointInfo, error]
}
