package runs

import (
	"context"
	"iter"
	"time"
)

// Listed describes one ID of a [Lister].
type Listed struct {
	ID string
	// Modified is the time at which its checkpoint or its journal was written last.
	Modified time.Time
}

// Lister lists checkpoints. A store may offer it.
type Lister interface {
	// ListCheckPoints yields the IDs that begin with a prefix and have a checkpoint or a journal, in the order of the
	// IDs; with "" all of them. What is written or deleted meanwhile may be missing or not. An error is the last item.
	ListCheckPoints(ctx context.Context, prefix string) iter.Seq2[Listed, error]
}
