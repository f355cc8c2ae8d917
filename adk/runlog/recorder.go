package runlog

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/weftgo/weft/adk/internal/runwatch"
	"github.com/weftgo/weft/catalogue"
	"github.com/weftgo/weft/internal/json"
	"github.com/weftgo/weft/runs"
)

// spanKind is the kind of a span: an agent, a model, a tool or a node.
type spanKind int

const (
	agentSpan spanKind = iota
	modelSpan
	toolSpan
	nodeSpan
)

// span is something that starts and ends in a run. The recorder's mutex guards it.
//
// A call of a model or a tool ends before the run knows its result: whether the answer stands, and what the middlewares
// around make of it. So its end is held until the run shows that: by an event with the message, by the verdict on the
// attempt, or because it does something else.
type span struct {
	rec    *recorder
	kind   spanKind
	id     SpanID
	parent *span // nil for the outermost agent
	agent  string
	path   []string

	phase spanPhase
	// held is the end that is not recorded yet.
	held Event
	// shown: an event has the message of the call, whole or as a stream.
	shown bool
	// stands: of a call of a model whose answer was accepted before an event had it. An application's agent passes on the
	// events of the agent that it runs, or does not: the end is held until the event comes, or the agent ends.
	stands bool

	// Of an agent: the calls below it that are open or held, the last call of its model and what that was asked, how
	// often in a row it was called, the last answer with calls of tools, and why it failed.
	below    []*span
	late     []*span // calls of tools that are recorded, and whose events may still come
	model    *span
	asked    seenRequest
	attempts int
	answered *span
	failed   error

	// Of a call: when it started, in microseconds, the first chunk, and the kind of an agent.
	since, first int64
	typ          string
	// Of a model's answer: the calls in it, in their order, and its chunks, until they are joined. Of a tool: the call, and
	// its place in the answer, from 1, 0 if that is not known.
	inAnswer []answerCall
	chunks   answerChunks
	call     string
	callID   string
	place    int
	// piece is the event of pieces of a model's answer, but for T, Seq and Data; text and reasoning are what such pieces
	// have in common.
	piece           *Event
	text, reasoning *ModelDeltaData
	// start is the data of the event with which the call of a model began.
	start *ModelStartData
	// ctx is the context of what is inside.
	ctx spanContext
}

// spanPhase tracks how far a span is.
//
//	from  to      when
//	open  held    its component has ended, of a call that an agent makes
//	open  closed  its component has ended, of any other; or what is around it has ended
//	held  closed  the run has shown its result
type spanPhase int

const (
	spanOpen spanPhase = iota
	spanHeld
	spanClosed
)

// recorder records one stretch of a run. It is called by the goroutines of the run and never calls the run.
type recorder struct {
	log  *Log
	book *book
	opts About

	mu    sync.Mutex // guards the fields below and all spans; it is taken before the book's mutex
	phase recordPhase
	token uint64
	seq   uint64
	spans SpanID
	// spansBefore is the highest number of a span in the stretches before: it is added to the number of each span.
	spansBefore SpanID
	// deferred holds the beginning of the stretch while what is recorded of the run before cannot be read, nil otherwise.
	deferred *runwatch.Start
	open     []*span
	// calls is the number of times that an ID of a model was used in the run, and last the calls in the last answer of each
	// agent that makes some.
	calls map[string]int
	last  map[agentPlace][]answerCall
	// saved is a step that was saved while the end of a call was held, 0 if there is none.
	saved int
	end   RunEndData
	cost  catalogue.Sum
	// before is the usage of the earlier stretches, as far as they are recorded.
	before runs.Usage
	// agent is the outermost one.
	agent string
	// began is the time at which the recorder was made, by a clock that is not set.
	began time.Time
}

// recordPhase tracks how far a recorder is.
//
//	from      to        when
//	new       begun     the first event is recorded
//	new       deferred  the run continues, and what is recorded of it cannot be read yet (see postpone)
//	deferred  begun     that was read
//	deferred  over      the stretch has ended
//	over      ended     what is recorded of the run was read, and the stretch is behind it
//	begun     ended     the stretch has ended
//	any       ended     nothing was recorded, or the run was lost
type recordPhase int

const (
	recordNew recordPhase = iota
	recordDeferred
	recordBegun
	recordOver
	recordEnded
)

// takes reports whether events are recorded.
func (p recordPhase) takes() bool { return p == recordBegun || p == recordDeferred }

// About says what is recorded about a run beside what happens in it.
type About struct {
	// ID is the ID of the run. It is required.
	ID string
	// Thread and Conversation are what the run belongs to.
	Thread, Conversation string
	Labels               map[string]string
	// Nodes has nodes of graphs recorded, too: of graphs that are tools, and of graphs that agents are made of.
	Nodes bool
	// Forked says which run this one was made from. The default is what the run itself knows (see adk.Fork).
	Forked *Fork
	// TakenOver: the process that executed the run is known to have died. Others wait up to a second, at the beginning of
	// a run that continues, for the end of the stretch before: it may be on its way.
	TakenOver bool
}

func (l *Log) newRecorder(opts About) *recorder {
	return &recorder{log: l, opts: opts, began: time.Now()}
}

// now returns the time: the time of the beginning plus the time since, which reads one clock instead of two.
func (r *recorder) now() time.Time { return r.began.Add(time.Since(r.began)) }

// emit records an event, with mu locked.
func (r *recorder) emit(e Event) {
	if !r.phase.takes() {
		return
	}
	r.seq++
	e.V, e.Run, e.Seq, e.Token = Version, r.opts.ID, r.seq, r.token
	now := r.now()
	if e.T == 0 {
		e.T = now.UnixMicro()
	}
	if r.book.append(now, e) != nil { // another stretch of the run is recorded in this process
		r.phase = recordEnded
	}
}

// beginPieces returns a writer for the pieces of an answer, with mu locked. It returns false if nothing is recorded any
// more.
func (s *span) beginPieces(now time.Time) (w pieceWriter, ok bool) {
	r := s.rec
	if !r.phase.takes() {
		return w, false
	}
	if s.piece == nil {
		e := s.of(ModelDelta, nil)
		e.V, e.Run, e.Token = Version, r.opts.ID, r.token
		s.piece = &e
	}
	w, err := r.book.beginPieces(now, s.piece, r.seq+1)
	if err != nil { // another stretch of the run is recorded in this process
		r.phase = recordEnded
	}
	return w, err == nil
}

// of is an event about a span.
func (s *span) of(t Type, data any) Event {
	e := Event{Type: t, Span: s.rec.spansBefore + s.id, Agent: s.agent, Path: s.path, Data: data}
	if s.parent != nil {
		e.Parent = s.rec.spansBefore + s.parent.id
	}
	return e
}

// newSpan opens a span, with mu locked.
func (r *recorder) newSpan(kind spanKind, parent *span) *span {
	r.spans++
	s := &span{rec: r, kind: kind, id: r.spans, parent: parent, since: r.now().UnixMicro()}
	if parent != nil {
		s.agent, s.path = parent.agent, parent.path
		if (kind == modelSpan || kind == toolSpan) && parent.kind == agentSpan {
			parent.below = append(parent.below, s)
		}
	}
	r.open = append(r.open, s)
	return s
}

// ended records that a component has ended, or holds that, with mu locked.
func (s *span) ended(e Event) {
	if s.phase != spanOpen {
		return
	}
	e.T = s.rec.now().UnixMicro()
	s.phase, s.held = spanHeld, e
	if s.shown && s.kind == toolSpan || s.parent == nil || s.parent.kind != agentSpan {
		s.release()
	}
}

// release records an end that was held, with mu locked.
func (s *span) release() {
	if s.phase != spanHeld {
		return
	}
	r := s.rec
	s.phase = spanClosed
	r.remove(s)
	switch d := s.held.Data.(type) {
	case *ModelEndData:
		s.complete(d)
		d.Aside = !s.shown && !d.Again && d.Error == nil
		r.end.ModelCalls++
		r.end.Usage.Add(d.Usage)
		addCost(&r.cost, r.log.conf.Price, s.start, d)
		if d.Message != nil && d.Calls == nil {
			s.nameCalls(d)
		}
	case *ToolEndData:
		r.end.ToolCalls++
	}
	r.emit(s.held)
	s.held = Event{}
	r.markSaved()
}

// remove forgets a span that is closed, with mu locked.
func (r *recorder) remove(s *span) {
	drop := func(all []*span) []*span {
		return slices.DeleteFunc(all, func(o *span) bool { return o == s })
	}
	r.open = drop(r.open)
	if s.parent != nil {
		s.parent.below = drop(s.parent.below)
	}
}

// markSaved records that a step was saved, once no end is held any more that may belong to it, with mu locked.
func (r *recorder) markSaved() {
	if r.saved == 0 || slices.ContainsFunc(r.open, func(s *span) bool { return s.phase == spanHeld }) {
		return
	}
	step := r.saved
	r.saved = 0
	r.emit(Event{Type: Saved, Data: &SavedData{Step: step}})
}

// awaitsEvent reports whether the end of an accepted answer is held for the event that has it, with mu locked.
func (s *span) awaitsEvent() bool { return s.stands && !s.shown && s.phase == spanHeld }

// releaseBelow records the ends that are held below an agent, with mu locked. What shows only later how it ended, such as a
// tool whose event comes at the end of the run, stays held if all is false. So does what comes behind an answer whose event
// is still to come: what was said stays in its order.
func (s *span) releaseBelow(all bool) {
	for i := 0; i < len(s.below); {
		c := s.below[i]
		if c.awaitsEvent() {
			return
		}
		if all || c.kind == modelSpan {
			if c.kind == toolSpan && c.phase == spanHeld && !c.shown {
				s.late = append(s.late, c)
			}
			c.release()
		}
		if i < len(s.below) && s.below[i] == c { // it is open, or stays held
			i++
		}
	}
}

// finish ends the record of the stretch, with the spans that are open closed, innermost first. A status of "" leaves the
// run as it is: it continues elsewhere.
func (r *recorder) finish(status runs.Status, err error) {
	if end := r.settle(status, err); end != nil && r.log.conf.Ended != nil {
		r.log.ended(Attempt{Run: r.opts, Agent: r.agent, Took: time.Since(r.began), End: *end})
	}
}

// ended calls Config.Ended.
func (l *Log) ended(s Attempt) {
	defer func() {
		if v := recover(); v != nil && l.conf.Logger != nil {
			l.conf.Logger.Warn("Config.Ended panicked", "run", s.Run.ID, "error", fmt.Sprint(v))
		}
	}()
	l.conf.Ended(s)
}

// settle ends the record, and returns what it ends with, nil if that is nothing.
func (r *recorder) settle(status runs.Status, err error) (settled *RunEndData) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.phase.takes() {
		for _, s := range slices.Backward(slices.Clone(r.open)) {
			s.close()
		}
		r.markSaved()
		if status != "" {
			r.end.Status = status
			if r.end.Error = errOf(err); status == runs.Done || status == runs.Waiting {
				r.end.Error = nil
			}
			end := r.end
			end.Cost = costOf(r.cost)
			r.emit(Event{Type: RunEnd, Data: &end})
			settled = &end
		}
	}
	if r.phase == recordDeferred {
		r.phase = recordOver
		return settled
	}
	if r.phase == recordBegun {
		r.log.rest(r)
	}
	r.phase = recordEnded
	return settled
}

// lose ends the record of a run that another process has.
func (r *recorder) lose() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.phase == recordBegun {
		r.log.leave(r.book, r)
	}
	r.phase, r.deferred = recordEnded, nil
}

// close records the end of a span that has none, with mu locked.
func (s *span) close() {
	if s.phase == spanHeld {
		s.release()
		return
	}
	if s.phase == spanClosed {
		return
	}
	why := &Err{Type: "abandoned", Message: "it had not ended when the run did"}
	s.phase = spanClosed
	s.rec.remove(s)
	switch s.kind {
	case agentSpan:
		s.rec.emit(s.of(AgentEnd, &AgentEndData{Error: errOf(s.failed)}))
	case modelSpan:
		s.rec.emit(s.of(ModelEnd, &ModelEndData{Error: why}))
	case toolSpan:
		s.rec.emit(s.of(ToolEnd, &ToolEndData{Call: s.call, Error: why}))
	case nodeSpan:
		s.rec.emit(s.of(NodeEnd, &NodeEndData{Error: why}))
	}
}

// answersOf are answers as JSON.
func answersOf(answers map[string]any) map[string]json.RawMessage {
	all := make(map[string]json.RawMessage, len(answers))
	for id, answer := range answers {
		if raw, ok := answer.(runs.JSONReply); ok && json.Valid(raw) {
			all[id] = json.RawMessage(raw)
		} else {
			all[id] = jsonOf(answer)
		}
	}
	return all
}
