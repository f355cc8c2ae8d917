package core

import (
	"context"
)

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
