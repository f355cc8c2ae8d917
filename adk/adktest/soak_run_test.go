package adktest_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/middlewares/approval"
)

// reading is a way of reading the events of a run.
type reading int

const (
	// readAll reads all events and their streams; readSlowly waits on the way.
	readAll reading = iota
	readSlowly
	// leaveStreams reads all events, and neither reads nor closes their streams.
	leaveStreams
	// closeEarly closes the iterator after some events.
	closeEarly
	// walkAway stops reading after some events; neverRead does not even begin. Nothing is closed.
	walkAway
	neverRead
)

// randomReading is mostly one that reads everything.
func randomReading(rnd *rand.Rand) reading {
	if rnd.IntN(2) == 0 {
		return readAll
	}
	return reading(rnd.IntN(int(neverRead) + 1))
}

// readEnd says how a life ended for its reader.
type readEnd struct {
	text   string
	points []*adk.InterruptCtx
	err    error
	// complete: the reader saw the last event. whole: and all streams to their end.
	complete, whole bool
}

// succeeded reports whether the reader saw the run succeed.
func (e *readEnd) succeeded() bool { return e.complete && e.err == nil && e.points == nil }

// stopped reports whether the run was interrupted or cancelled, and can be resumed if it has a store.
func (e *readEnd) stopped() bool {
	return e.complete && (e.points != nil || errors.As(e.err, new(*adk.CancelError)))
}

// String says how the life ended, for the tally.
func (e *readEnd) String() string {
	switch {
	case !e.complete:
		return "not read"
	case errors.As(e.err, new(*adk.CancelError)):
		return "cancelled"
	case e.err != nil:
		return "failed"
	case e.points != nil:
		return "interrupted"
	}
	return "succeeded"
}

// tally counts the lives of runs by how they ended.
type tally struct {
	mu sync.Mutex // guards n
	n  map[string]int
}

func (c *tally) add(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n[what]++
}

// soaking is an agent that is run again and again.
type soaking[M adk.MessageType] struct {
	name string
	// build makes one; shared is one for many runs. want is the text of its last message.
	build  func() adk.TypedAgent[M]
	shared adk.TypedAgent[M]
	want   string
	tally  *tally
}

// run is one run, with random faults and readers, resumed a few times. The error is what must not be.
func (s *soaking[M]) run(rnd *rand.Rand) error {
	agent := s.shared
	if rnd.IntN(4) == 0 {
		agent = s.build()
	}
	d := disturbance{}
	var store adk.CheckPointStore
	switch rnd.IntN(4) {
	case 0:
	case 1:
		d.store = adktest.NewStore()
		store = d.store
	default:
		store = checkpoint.NewMemoryStore()
	}
	runner := adk.NewTypedRunner(adk.TypedRunnerConfig[M]{
		Agent: agent, EnableStreaming: rnd.IntN(2) == 0, CheckPointStore: store, Durability: adk.Durability(rnd.IntN(2))})
	var last readEnd
	for life := range 4 {
		end, err := s.live(rnd, runner, &d, life, answersTo(last.points))
		switch {
		case err != nil && d.store == nil && last.stopped() && !errors.Is(err, context.Canceled):
			return fmt.Errorf("%s cannot be resumed: %w", s.name, err)
		case err != nil:
			s.tally.add("not saved")
			return nil
		case life > 0:
			s.tally.add("resumed")
		}
		s.tally.add(end.String())
		if err := s.judge(&end, &d); err != nil {
			return err
		}
		if !end.complete || end.succeeded() || store == nil || rnd.IntN(5) == 0 {
			return nil // it has ended, or is given up
		}
		if d.store != nil {
			d.store.Fail(nil)
		}
		last = end
	}
	return nil
}

// judge finds what must not be in a life.
func (s *soaking[M]) judge(end *readEnd, d *disturbance) error {
	switch {
	case end.complete && end.err != nil && !end.stopped() && !d.happened:
		return fmt.Errorf("%s failed: %w", s.name, end.err)
	case end.succeeded() && end.whole && end.text != s.want:
		return fmt.Errorf("%s ended with %q; want %q", s.name, end.text, s.want)
	}
	return nil
}

// live is one life of a run.
func (s *soaking[M]) live(
	rnd *rand.Rand, runner *adk.TypedRunner[M], d *disturbance, life int, targets map[string]any,
) (end readEnd, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	d.end = cancel
	opts := []adk.AgentRunOption{adk.WithCheckPointID("soak")}
	var option adk.AgentRunOption
	option, d.cancel = adk.WithCancel()
	if rnd.IntN(3) > 0 {
		opts = append(opts, option)
	}
	if f := randomFault(rnd, *d, 20); f != nil {
		d.happened = true
		ctx = context.WithValue(ctx, faultsKey{}, f)
	}
	if rnd.IntN(4) == 0 {
		d.happened = true
		how, stop, end := cancelOptions(rnd), d.cancel, rnd.IntN(3) == 0
		time.AfterFunc(time.Duration(rnd.IntN(3000))*time.Microsecond, func() {
			if end {
				cancel()
			} else if handle, _ := stop(how...); handle != nil && len(opts) > 1 {
				_ = handle.Wait()
			}
		})
	}
	if life == 0 {
		return read(rnd, runner.Query(ctx, "Do it.", opts...), randomReading(rnd)), nil
	}
	events, err := runner.ResumeWithParams(ctx, "soak", &adk.ResumeParams{Targets: targets}, opts[1:]...)
	if err != nil {
		return end, err
	}
	return read(rnd, events, randomReading(rnd)), nil
}

// read reads the events of a life in some way.
func read[M adk.MessageType](
	rnd *rand.Rand, events *adk.AsyncIterator[*adk.TypedAgentEvent[M]], how reading,
) (end readEnd) {
	enough := rnd.IntN(8)
	end.whole = how != leaveStreams && how != walkAway
	for n := 0; ; n++ {
		switch {
		case how == neverRead, how == walkAway && n == enough:
			return end
		case how == closeEarly && n == enough:
			events.Close()
			return end
		case how == readSlowly:
			time.Sleep(time.Duration(rnd.IntN(500)) * time.Microsecond)
		}
		e, ok := events.Next()
		if !ok {
			end.complete = true
			return end
		}
		end.take(e.Err, e.Action)
		if e.Output == nil || e.Output.MessageOutput == nil || !end.whole {
			continue
		}
		if m, err := e.Output.MessageOutput.GetMessage(); err == nil {
			end.text = adktest.Line(m)
		}
	}
}

// take notes what an event says about the end.
func (e *readEnd) take(err error, action *adk.AgentAction) {
	if err != nil {
		e.err = err
	}
	if action != nil && action.Interrupted != nil {
		e.points = action.Interrupted.InterruptContexts
	}
}

// answersTo are the answers to all questions of a run.
func answersTo(points []*adk.InterruptCtx) map[string]any {
	targets := map[string]any{}
	for _, point := range points {
		switch info := point.Info.(type) {
		case *adk.OutcomeUnknown:
			targets[point.ID] = &adk.ToolOutcome{Rerun: true}
		case *approval.Request:
			targets[point.ID] = info.Approve()
		default:
			targets[point.ID] = "yes"
		}
	}
	return targets
}
