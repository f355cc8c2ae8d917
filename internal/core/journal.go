package core

import (
	"context"

	"github.com/weftgo/weft/runs"
)

// ReadRecordsFrom returns the records of a journal behind the first so many. One that offers no [runs.RecordsFrom] is read whole.
func ReadRecordsFrom(ctx context.Context, j interface {
	ReadRecords(ctx context.Context, checkPointID string) ([][]byte, error)
}, checkPointID string, from int) ([][]byte, error) {
	if tail, ok := j.(runs.RecordsFrom); ok && from > 0 {
		return tail.ReadRecordsFrom(ctx, checkPointID, from)
	}
	all, err := j.ReadRecords(ctx, checkPointID)
	return all[min(from, len(all)):], err
}

// RecordsSteps is implemented by tools that are agents: all that a call does is steps of the run, so that one that had
// begun when the process died continues where it was.
type RecordsSteps interface{ RecordsSteps() }
