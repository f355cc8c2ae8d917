package core

import (
	"context"
	"errors"
	"fmt"
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

// CheckPointDeleter is what a store may also offer.
type CheckPointDeleter interface {
	// Delete removes the checkpoint; removing one that is not there is no error.
	Delete(ctx context.Context, checkPointID string) error
}
