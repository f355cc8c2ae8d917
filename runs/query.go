package runs

import (
	"context"
	"fmt"
	"iter"
	"time"
)

// Inspector tells what a store knows of runs. It decodes nothing and takes no lease.
type Inspector interface {
	// Inspect returns what is known of a run, and false if there is none.
	Inspect(ctx context.Context, id string) (Info, bool, error)
	// Result returns the result of a run that is done, nil if there is none.
	Result(ctx context.Context, id string) ([]byte, error)
	// List yields runs, the one updated last first. A run that changes meanwhile may come twice; none that does not change
	// is missed. An error is the last item.
	List(ctx context.Context, q Query) iter.Seq2[Info, error]
	// Count counts runs by status. It reads all of them: to see whether a store answers, List with a Limit of 1 costs less.
	Count(ctx context.Context, q Query) (map[Status]int64, error)
}

// Query selects the runs of a list. A field that is empty selects all, but for the runs of the queue "weft.sweep".
type Query struct {
	Status []Status
	// WaitingFor is a user, group or role that a question without a reply is for, Kind the kind of such a question.
	WaitingFor string
	Kind       Kind
	// The others select by the fields of the run.
	Queue, Agent, Parent, Key   string
	Tags                        map[string]string
	CreatedAfter, UpdatedBefore time.Time
	// After is the place behind the last run that was seen (see [Info.Page]). Limit 0 means all.
	After string
	Limit int
}

// Page returns the place in a list behind the run, for the After of a [Query].
func (i Info) Page() string { return fmt.Sprintf("%x.%s", i.Updated.UnixMicro(), i.ID) }
