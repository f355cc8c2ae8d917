package sqlrun

import (
	"context"
)

// LookForStop looks for a request to stop the run in a row, and delivers it if this process holds the run. It is for who
// hears that another process has written one: see Config.AnnounceStop.
func (s *Store) LookForStop(ctx context.Context, row int64) { s.stops.Look(ctx, row) }

// Abandon has the store look no longer for requests to stop the run.
func (l *lease) Abandon() { l.store.stops.Leave(l.no, l) }

// lookForStops delivers the requests to stop that leases have not seen, and returns the leases that no longer count. Its
// first statement reads the rows of an index in which only runs are that are held and have been asked to stop.
func (e *engine) lookForStops(ctx context.Context, held []*lease) (lost []*lease) {
	if ctx.Err() != nil {
		return nil
	}
	asked, err := e.askedToStop(ctx)
	if err != nil {
		return nil // the next renewal looks, too
	}
	for _, l := range held {
		stops, ok := asked[l.no]
		if ok && l.noteStops(ctx, stops) != nil && ctx.Err() == nil {
			lost = append(lost, l)
		}
	}
	return lost
}

// askedToStop has the numbers of requests to stop of the runs that are held and have any.
func (e *engine) askedToStop(ctx context.Context) (map[int64]int64, error) {
	rows, err := e.reads.QueryContext(ctx, e.sql(`SELECT no, stops FROM {runs} {by_runs_stopping} WHERE held = 1 AND stops > 0`))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	asked := map[int64]int64{}
	for rows.Next() {
		var no, stops int64
		if err := rows.Scan(&no, &stops); err != nil {
			return nil, err
		}
		asked[no] = stops
	}
	return asked, rows.Err()
}
