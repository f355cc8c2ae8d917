package runs

import "context"

// Store is a store that knows about runs, so that several processes can share them: package adk/checkpoint has two, the modules
// below ext/store keep runs in databases. A Runner takes leases of a store that is one. It is safe for concurrent use. Package
// adk/checkpoint/checkpointtest tests one.
//
// The methods of the store itself write without a fence, and make no run: they are for a Runner that takes no leases. The
// methods of a [Lease] are fenced.
type Store interface {
	// Get returns the checkpoint with an ID, and false when there is none.
	Get(ctx context.Context, checkPointID string) (checkPoint []byte, exists bool, err error)
	// Set stores a checkpoint. The slice must not be kept after Set returns unless it is copied.
	Set(ctx context.Context, checkPointID string, checkPoint []byte) error
	// Delete removes the checkpoint; removing one that is not there is no error.
	Delete(ctx context.Context, checkPointID string) error
	Lister
	Journal
	Leaser
	Inspector
	Inbox
	Janitor
}
