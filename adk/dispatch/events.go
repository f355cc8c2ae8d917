package dispatch

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/runs"
)

// recordOptions have the run of a stretch recorded.
func (h *attempt[M]) recordOptions() []adk.AgentRunOption {
	if h.record == nil {
		return nil
	}
	return h.record.Options()
}

// endRecord ends the record of the stretch. err is the reason why the outcome of the run is not known.
func (h *attempt[M]) endRecord(err error) {
	if h.record == nil {
		return
	}
	s := h.end()
	switch {
	case s == nil && errors.Is(err, runs.ErrLeaseLost):
		h.record.Abandon()
	case s == nil:
		h.record.Finish("", nil)
	default:
		h.record.Finish(recordedStatus(s.Status), s.Cause)
	}
}

// recordedStatus returns the status that the record of a stretch ends with, "" if the run continues by itself.
func recordedStatus(s runs.Status) runs.Status {
	switch s {
	case runs.Done:
		return runs.Done
	case runs.Failed:
		return runs.Failed
	case runs.Waiting:
		return runs.Waiting
	case runs.Paused:
		return runs.Paused
	}
	return ""
}

// discard gives up what is left of an event. A stream is read to its end if it is recorded: it may have no other reader.
func (h *attempt[M]) discard(e *adk.TypedAgentEvent[M]) {
	if e.Output == nil || e.Output.MessageOutput == nil || e.Output.MessageOutput.MessageStream == nil {
		return
	}
	s := e.Output.MessageOutput.MessageStream
	defer s.Close()
	for h.record != nil {
		if _, err := s.Recv(); err != nil {
			return
		}
	}
}

const (
	// lookAtRun is the interval at which a reader that nothing comes for looks whether the run has ended: the process
	// that ended it may have died before it recorded that.
	lookAtRun = 15 * time.Second
	// lastEvents limits the time that the record of a run that has ended takes to arrive.
	lastEvents = 2 * time.Second
)

// Events yields what was recorded of a run behind a cursor, then what comes, whichever process executes it, and ends with
// the run, behind a runlog.RunEnd that is final. A run that waits, is paused or is taken over is followed. It needs
// Config.Log. An error is the last item: the error of ctx, an error of a store, or runs.ErrNotFound.
//
// Every cursor is good, also the zero one and one of another life of the run: see [runs.Cursor].
func (d *TypedDispatcher[M]) Events(
	ctx context.Context, id string, after runs.Cursor,
) iter.Seq2[runlog.Event, error] {
	return func(yield func(runlog.Event, error) bool) {
		if d.conf.Log == nil {
			yield(runlog.Event{}, fmt.Errorf("events of run %q: runs are not recorded: set Config.Log", id))
			return
		}
		r := &eventReader[M]{d: d, id: id, at: after, yield: yield}
		if err := r.read(ctx); err != nil {
			yield(runlog.Event{}, fmt.Errorf("events of run %q: %w", id, err))
		}
	}
}

// eventReader is one call of Events.
type eventReader[M adk.MessageType] struct {
	d     *TypedDispatcher[M]
	id    string
	at    runs.Cursor
	yield func(runlog.Event, error) bool
	// name is the ID under which the run is recorded: that which the store shows.
	name string
	// seen is the number of events that were recorded.
	seen int
}

// read yields events, and looks now and then whether there can be more.
func (r *eventReader[M]) read(ctx context.Context) error {
	ended := false
	for {
		info, exists, err := r.d.Inspect(ctx, r.id)
		switch {
		case err != nil:
			return err
		case !exists && r.seen == 0:
			return runs.ErrNotFound
		case !exists:
			return nil
		}
		r.name = info.ID
		over := info.Status == runs.Done || info.Status == runs.Failed
		if over && ended {
			return r.end(ctx, info)
		}
		look := lookAtRun
		if ended = over; ended {
			look = lastEvents
		}
		if done, err := r.readFor(ctx, look); done || err != nil {
			return err
		}
	}
}

// readFor yields events until none has come for a time. done says that there are no more, or that the caller wants no more.
func (r *eventReader[M]) readFor(ctx context.Context, idle time.Duration) (done bool, err error) {
	reading, stop := context.WithCancel(ctx)
	defer stop()
	w := watchIdle(idle, stop)
	defer w.end()
	for e, err := range r.d.conf.Log.Events(reading, r.name, r.at) {
		if err != nil {
			if reading.Err() != nil && ctx.Err() == nil {
				return false, nil
			}
			return false, err
		}
		r.seen++
		r.at = e.Cursor()
		w.rest()
		if !r.yield(e, nil) {
			return true, nil
		}
		w.wait()
	}
	return true, nil
}

// end yields the end of a run that is not recorded.
func (r *eventReader[M]) end(ctx context.Context, info runs.Info) error {
	o, err := r.d.outcomeOf(ctx, info)
	if err != nil {
		return err
	}
	e := runlog.Event{V: runlog.Version, Run: r.name, Token: info.Token, Seq: r.at.Seq + 1, T: info.Updated.UnixMicro()}
	if r.seen == 0 && info.Status == runs.Done {
		shown := e
		shown.Type, shown.Data = runlog.Snapshot, &runlog.SnapshotData{Messages: []runlog.Message{runlog.MessageOf(o.Message)}}
		if !r.yield(shown, nil) {
			return nil
		}
		e.Seq++
	}
	end := &runlog.RunEndData{Status: recordedStatus(info.Status)}
	if o.Err != nil {
		end.Error = &runlog.Err{Type: adk.ErrorType(o.Err), Message: o.Err.Error()}
	}
	e.Type, e.Data = runlog.RunEnd, end
	r.yield(e, nil)
	return nil
}
