package nats

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/weftgo/weft/adk/checkpoint/storekit"
	"github.com/weftgo/weft/runs"
)

// Processes say on a subject of their own that a run is to be stopped; the process that holds it reads the request. What is
// not heard, because a connection was broken, the next renewal of the lease finds.

func (s *Store) stopsSubject() string { return s.prefix + ".stop" }

// watched names a run, of any tenant, to those who say or hear that it is to be stopped.
func (s *Store) watched(id string) string { return s.of + "." + id }

// listenForStops has the leases of this process look for requests to stop when another process says so.
func (s *Store) listenForStops() (err error) {
	s.stops = storekit.NewStopWatch[string](lookForStops, s.wire.conn.IsConnected)
	s.wire.heardStops, err = s.wire.conn.Subscribe(s.stopsSubject(), func(m *nats.Msg) {
		ctx, cancel := context.WithTimeout(context.Background(), s.wire.answerIn)
		defer cancel()
		s.stops.Look(ctx, string(m.Data))
	})
	return err
}

// Stop asks the holder of a run to stop it, and pauses it if no process holds it. The process that holds it hears of it at
// once.
func (s *Store) Stop(ctx context.Context, id string, how runs.StopRequest) error {
	err := s.transition(ctx, "stop", id, func(r *storekit.Row, now time.Time) error { return r.Stop(how, s.retention, now) })
	if err != nil {
		return err
	}
	s.stops.Look(ctx, s.watched(id))
	if err := s.wire.conn.Publish(s.stopsSubject(), []byte(s.watched(id))); err != nil {
		return fmt.Errorf("nats: the request to stop run %q is stored, and its holder hears of it when it renews its lease: %w", id, err)
	}
	return nil
}

// Abandon has the store look no longer for requests to stop the run.
func (l *lease) Abandon() { l.store.stops.Leave(l.store.watched(l.ID()), l) }

// lookForStops delivers the requests to stop that leases have not seen, and returns the leases that no longer count. A lease
// that is writing is passed by: it looks itself.
func lookForStops(ctx context.Context, held []*lease) (lost []*lease) {
	for _, l := range held {
		select {
		case l.turn <- struct{}{}: // a state that was read before is perhaps older than the one that the lease has seen
		default:
			continue // who writes looks itself
		}
		st, err := l.store.read(ctx, l.ID())
		switch {
		case err != nil: // the next renewal looks, too
		case !l.isHeldBy(st):
			lost = append(lost, l)
		default:
			l.noteStop(st)
		}
		<-l.turn
	}
	return lost
}
