package serve

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/runs"
)

// Times of a stream.
const (
	keepAliveEvery = 15 * time.Second
	coalesceFor    = 20 * time.Millisecond
	// writeWithin limits the time that a client takes nothing. Its deadline may be one of up to deadlineSlack before, so
	// that it needs not be set for each frame.
	writeWithin   = 30 * time.Second
	deadlineSlack = 3 * time.Second
	// stopWithin limits the time that a run without watchers takes to come to where nothing is lost.
	stopWithin = 5 * time.Second
	// lookFor limits the time that an event that was recorded takes to be read.
	lookFor = 250 * time.Millisecond
	// restFor is after how long without an event the stream of a run that waits or was stopped ends: its record is gone, or
	// the end of it was lost.
	restFor = 2 * time.Second
)

// Disconnect says what happens to a run when its last watcher has gone away.
type Disconnect struct {
	cancels bool
	after   time.Duration
}

// Keep leaves the run as it is. It is the zero Disconnect.
func Keep() Disconnect { return Disconnect{} }

// CancelAfter stops the run when no client has watched it for a time since the last client went away: where nothing is
// lost, or 5 seconds later at once. A server counts its own watchers alone: where requests of one run reach several
// processes, use [Keep], or send the requests of a run to one process.
func CancelAfter(d time.Duration) Disconnect { return Disconnect{true, d} }

// StreamConfig says what of a run is written to a client, and how.
type StreamConfig struct {
	// Run is the run. Required.
	Run string
	// After is the position behind which events are read.
	After runs.Cursor
	// AfterToken: the frames of events whose token is not higher are dropped. With the Token of a run, that is what comes after
	// an answer; Translate gets the events before, too, to know where it is.
	AfterToken uint64
	// KeepOpen continues where the run waits or was stopped. The default is to end there.
	KeepOpen bool
	// OnDisconnect decides about the run when the client goes away.
	OnDisconnect Disconnect
	// Header is set beside the headers of all streams.
	Header http.Header
	// Translate writes the frames of an event, which is valid until it returns. What the event refers to stays. Required.
	Translate func(e *runlog.Event, out *Frames)
	// Broken writes how a stream ends that cannot be continued: because the server shuts down, or because its store fails.
	// The default writes nothing.
	Broken func(p *Problem, out *Frames)
}

// Frames takes the server-sent events of a protocol.
type Frames struct {
	out   *stream
	muted bool
	// at is the event that is translated, nil while the stream breaks off. failed is given what cannot be encoded.
	at     *runlog.Event
	failed func(err error)
	// room is for the next event as JSON.
	room []byte
}

// ID returns the ID of the event that is translated, for frames that a client may come back behind; "" for others.
func (f *Frames) ID() string {
	if f.at == nil {
		return ""
	}
	return f.at.Cursor().String()
}

// SendJSON writes an event as Send does, with a value as JSON. One that cannot be encoded is logged.
func (f *Frames) SendJSON(id, event string, value any) {
	if f.muted {
		return
	}
	data, err := json.Marshal(value)
	if err != nil {
		f.failed(err)
		return
	}
	f.Send(id, event, data)
}

// Send writes an event: id and event may be empty. data must have no line breaks.
func (f *Frames) Send(id, event string, data []byte) {
	if f.muted {
		return
	}
	s := f.out
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.frame[:0]
	if id != "" {
		b = append(append(append(b, "id: "...), id...), '\n')
	}
	s.frameOf(b, event, data)
}

// sendEvent writes the event that is translated as it is. mark stands behind its ID.
func (f *Frames) sendEvent(mark string) {
	if f.muted {
		return
	}
	if f.room == nil {
		f.room = make([]byte, 0, 512)
	}
	data, err := f.at.AppendJSON(f.room[:0])
	if err != nil {
		f.failed(err)
		return
	}
	if f.room = nil; cap(data) < largeFrame { // what is large may be shared
		f.room = data[:0]
	}
	s := f.out
	s.mu.Lock()
	defer s.mu.Unlock()
	b, _ := f.at.Cursor().AppendText(append(s.frame[:0], "id: "...))
	s.frameOf(append(append(b, mark...), '\n'), string(f.at.Type), data)
}

// frameOf writes an event behind the beginning of its frame. s.mu is held.
func (s *stream) frameOf(b []byte, event string, data []byte) {
	if len(data) >= largeFrame {
		var giveBack func()
		data, giveBack = s.large.take(data)
		defer giveBack()
	}
	if event != "" {
		b = append(append(append(b, "event: "...), event...), '\n')
	}
	b = append(b, "data: "...)
	if len(data) < largeFrame {
		b = append(append(b, data...), "\n\n"...)
		s.write(b)
	} else {
		s.write(b)
		s.write(data)
		s.write([]byte("\n\n"))
	}
	s.frame = b[:0]
}

// Raw writes text as it is, such as a comment: it must end with an empty line.
func (f *Frames) Raw(text string) {
	if f.muted {
		return
	}
	f.out.mu.Lock()
	defer f.out.mu.Unlock()
	f.out.write([]byte(text))
}

// Stream writes a run to a client as server-sent events, as a protocol translates them. It blocks until the run ends,
// waits or was stopped, or the client goes away. The error, a *Problem, says why nothing was written: then the caller
// answers the request.
//
// A client that reads slowly slows no one else down: it is written to at its own pace, and is dropped when it has taken
// nothing for 30 seconds.
func (s *Server) Stream(w http.ResponseWriter, r *http.Request, c *Caller, conf StreamConfig) error {
	info, err := c.watched(r.Context(), conf.Run)
	if err != nil {
		return err
	}
	if !s.watchers.enter(conf.Run, s.settings.limits.Watchers) {
		return &Problem{Code: TooMany, Title: "too many clients watch the run", Run: conf.Run, RetryAfter: 5 * time.Second}
	}
	gone := true // also if what follows panics: then the client is cut off
	defer func() { s.watchers.leave(conf.Run, conf.OnDisconnect, gone, func() { s.stopUnwatched(conf.Run) }) }()
	ctx, stop := context.WithCancelCause(r.Context())
	defer stop(nil)
	// What has happened in a run that waits or was stopped is there, unless its record is gone: then nothing comes.
	rested := time.AfterFunc(restFor, func() { stop(errRests) })
	defer rested.Stop()
	if conf.KeepOpen || info.Status != runs.Waiting && info.Status != runs.Paused {
		rested.Stop()
		rested = nil
	}
	out := newStream(w, &s.large)
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Add("Vary", "Accept")
	for name, values := range conf.Header {
		h[name] = values
	}
	out.begin()
	defer out.end()
	gone = s.copyEvents(ctx, c, &conf, out, rested)
	return nil
}

// inspectWithin limits the time that the store takes to say what a run is that a client wants to watch.
const inspectWithin = 10 * time.Second

// watched returns a run that a client wants to watch. It does not end with the request: a client that has gone away since
// it started the run counts as one that watched it.
func (c *Caller) watched(ctx context.Context, run string) (runs.Info, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), inspectWithin)
	defer cancel()
	info, _, err := c.inspect(ctx, run, ReadRun)
	return info, err
}

// errRests is the reason for which a stream ends that the run does not end.
var errRests = errors.New("nothing happens in the run")

// copyEvents translates the events of a run, and reports whether the client went away before the end. rested ends the
// stream of a run that waits or was stopped, when no event has come for a while; it is nil for others.
func (s *Server) copyEvents(ctx context.Context, c *Caller, conf *StreamConfig, out *stream, rested *time.Timer) (gone bool) {
	frames := &Frames{out: out, failed: func(err error) {
		s.log(ctx, "an event cannot be encoded", "run", conf.Run, "error", err)
	}}
	event := new(runlog.Event) // that is translated
	for e, err := range c.Watch(ctx, conf.Run, conf.After) {
		if rested != nil {
			rested.Reset(restFor)
		}
		if err != nil {
			if context.Cause(ctx) == errRests {
				return false
			}
			if ctx.Err() != nil {
				return true
			}
			p := ProblemOf(err)
			if p.Code != ShuttingDown {
				s.log(ctx, "a stream broke off", "run", conf.Run, "error", err)
			}
			if conf.Broken != nil {
				frames.muted, frames.at = false, nil
				conf.Broken(p, frames)
			}
			return false
		}
		*event = e
		frames.muted, frames.at = conf.AfterToken > 0 && e.Token <= conf.AfterToken, event
		conf.Translate(event, frames)
		if !out.written(e.Type == runlog.ModelDelta || e.Type == runlog.ToolDelta) {
			return true
		}
		if d, ends := e.Data.(*runlog.RunEndData); ends && (d.Status.HasEnded() || !conf.KeepOpen && s.rests(ctx, conf.Run, e.Cursor())) {
			return false
		}
	}
	return ctx.Err() != nil
}

// rests reports whether nothing happens in a run now, and nothing did behind the end of a stretch.
func (s *Server) rests(ctx context.Context, run string, end runs.Cursor) bool {
	info, exists, err := s.runs.Inspect(ctx, run)
	switch {
	case err != nil || !exists:
		return true
	case info.Status == runs.Ready || info.Status == runs.Running:
		return false
	case info.Token <= end.Token:
		return true
	}
	// Another lease was taken since: to continue, or only to look whether there are answers.
	looking, stop := context.WithTimeout(ctx, lookFor)
	defer stop()
	for _, err := range s.runs.Events(looking, run, end) {
		return err != nil
	}
	return true
}

// stopUnwatched stops a run that no client watches any more.
func (s *Server) stopUnwatched(run string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	err := s.runs.Stop(ctx, run, runs.StopRequest{Timeout: stopWithin, Reason: "the client has gone away", Children: true})
	if err != nil && !errors.Is(err, runs.ErrEnded) && !errors.Is(err, runs.ErrNotFound) {
		s.log(ctx, "a run that nobody watches could not be stopped", "run", run, "error", err)
	}
}

// stream writes to one client. Its handler writes events; a timer writes what was held back, another one comments when
// nothing happens.
type stream struct {
	w     http.ResponseWriter
	rc    *http.ResponseController
	large *largeFrames

	mu sync.Mutex // guards the fields below, and writing
	// over: the handler has returned, or is about to, and nothing may be written.
	over  bool
	frame []byte
	err   error
	// flushed is the time at which the client was last sent something; held says that something was written since.
	flushed time.Time
	held    bool
	// deadline is until when the client has to take what was written.
	deadline time.Time
	flush    *time.Timer
	alive    *time.Timer
}

func newStream(w http.ResponseWriter, large *largeFrames) *stream {
	return &stream{w: w, rc: http.NewResponseController(w), large: large}
}

// begin sends the headers.
func (s *stream) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.w.WriteHeader(http.StatusOK)
	s.write([]byte(": weft\nretry: 2000\n\n"))
	s.send()
	s.flush = time.AfterFunc(time.Hour, s.sendHeld)
	s.flush.Stop()
	s.alive = time.AfterFunc(keepAliveEvery, s.keepAlive)
}

// write writes to the buffer of the response. s.mu is held.
func (s *stream) write(data []byte) {
	if s.over || s.err != nil {
		return
	}
	if now := time.Now(); !s.held && s.deadline.Sub(now) < writeWithin-deadlineSlack {
		s.deadline = now.Add(writeWithin)
		_ = s.rc.SetWriteDeadline(s.deadline)
	}
	s.held = true
	_, s.err = s.w.Write(data)
}

// send sends what was written. s.mu is held.
func (s *stream) send() {
	if s.over || s.err != nil || !s.held {
		return
	}
	s.held = false
	if err := s.rc.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		s.err = err
	}
	s.flushed = time.Now()
}

// written sends what the event before has written: at once, or a delta that comes soon after another one a little later,
// with those that come until then. It reports whether the client is there.
func (s *stream) written(delta bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch wait := coalesceFor - time.Since(s.flushed); {
	case !s.held:
	case delta && wait > 0:
		s.flush.Reset(wait)
	default:
		s.send()
	}
	return s.err == nil
}

func (s *stream) sendHeld() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.send()
}

// keepAlive shows the client, and whatever is in between, that the connection is alive.
func (s *stream) keepAlive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	if time.Since(s.flushed) >= keepAliveEvery {
		s.write([]byte(": keep-alive\n\n"))
		s.send()
	}
	s.alive.Reset(max(keepAliveEvery-time.Since(s.flushed), time.Second))
}

// end sends the rest. Nothing is written after it.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.send()
	s.over = true
	s.flush.Stop()
	s.alive.Stop()
	_ = s.rc.SetWriteDeadline(time.Time{})
}

// watchers counts the clients that watch runs in this process, and has a run stopped that all of them left.
type watchers struct {
	mu   sync.Mutex // guards runs
	runs map[string]*watched
}

// watched is a run that has watchers, or that is to be stopped because it has none.
type watched struct {
	clients int
	stop    *time.Timer
}

// enter counts a client, unless there are too many.
func (w *watchers) enter(run string, most int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.runs[run]
	if r == nil {
		r = &watched{}
		w.runs[run] = r
	}
	if r.clients >= most {
		return false
	}
	r.clients++
	if r.stop != nil {
		r.stop.Stop()
		r.stop = nil
	}
	return true
}

// leave ends what enter began. If the client has gone away, and was the last, stop is called as d says.
func (w *watchers) leave(run string, d Disconnect, gone bool, stop func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.runs[run]
	if r.clients--; r.clients > 0 {
		return
	}
	if !gone || !d.cancels {
		delete(w.runs, run)
		return
	}
	r.stop = time.AfterFunc(d.after, func() {
		w.mu.Lock()
		unwatched := w.runs[run] == r && r.clients == 0
		if unwatched {
			delete(w.runs, run)
		}
		w.mu.Unlock()
		if unwatched {
			stop()
		}
	})
}

// isAbandoned reports whether a run is to be stopped because no client watches it.
func (w *watchers) isAbandoned(run string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.runs[run]
	return r != nil && r.stop != nil
}

// close forgets the runs that would be stopped.
func (w *watchers) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, r := range w.runs {
		if r.stop != nil && r.stop.Stop() {
			delete(w.runs, id)
		}
	}
}
