package runlog

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/internal/runwatch"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// runWitness records what concerns the run as a whole.
type runWitness struct {
	*recorder
	// status and err are the outcome of the run, by its events. mu guards them.
	status runs.Status
	err    error
	lost   bool
	// settled: [Recorder.Finish] sets the outcome of the run.
	settled bool
}

var _ runwatch.Run = (*runWitness)(nil)

// Begin records the beginning.
func (w *runWitness) Begin(s runwatch.Start) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.agent = s.Agent
	past, err := w.recall(recallTime)
	switch {
	case err == nil:
		w.begin(s, past)
	case s.Resumed && w.postpone(s):
		w.log.warn("what is recorded of a run that continues cannot be read yet: the rest is recorded when it can", "run", w.opts.ID, "error", err)
	default:
		w.log.warn("what is recorded of a run cannot be read; its record begins anew", "run", w.opts.ID, "error", err)
		w.begin(s, past)
	}
}

func inputOf(input any) []Message {
	switch ms := input.(type) {
	case []*schema.Message:
		return messagesOf(ms)
	case []*schema.AgenticMessage:
		return messagesOf(ms)
	}
	return []Message{}
}

// Saved records that a step was saved.
func (w *runWitness) Saved(steps int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.saved = steps
	w.markSaved()
}

// Event sees how the run ends.
func (w *runWitness) Event(event any) {
	e := seeEvent(event)
	if e.err == nil && (e.action == nil || e.action.Interrupted == nil) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var cancelled *adk.CancelError
	switch {
	case errors.Is(e.err, runs.ErrLeaseLost):
		w.lost = true
	case errors.As(e.err, &cancelled):
		w.status, w.err = runs.Paused, e.err
	case e.err != nil:
		if w.status != runs.Failed {
			w.status, w.err = runs.Failed, e.err
		}
	default:
		for _, s := range append([]*span(nil), w.open...) {
			s.release()
		}
		if w.status == "" {
			w.status = runs.Waiting
		}
		questions := questionsOf(e.action.Interrupted, w.askedIn)
		w.emit(Event{Type: Waiting, Data: &WaitingData{Questions: questions}})
	}
}

// End records the end, unless [Recorder.Finish] does.
func (w *runWitness) End() {
	w.mu.Lock()
	status, err, lost, settled := w.status, w.err, w.lost, w.settled
	refused := w.phase == recordNew && err != nil
	w.mu.Unlock()
	switch {
	case settled:
	case lost:
		w.lose()
	case refused: // it could not begin
		w.Begin(runwatch.Start{})
		w.finish(runs.Failed, err)
	case status == "":
		w.finish(runs.Done, nil)
	default:
		w.finish(status, err)
	}
}

// Begin records that the agent has begun.
func (s *span) Begin(path []string) {
	s.rec.mu.Lock()
	defer s.rec.mu.Unlock()
	s.path = path
	start := &AgentStartData{Name: s.agent, Kind: s.typ}
	if around := s.around(); around != nil && around.kind == toolSpan {
		start.Call = around.call
	}
	e := s.of(AgentStart, start)
	e.T = s.since
	s.rec.emit(e)
}

// Event records what an event of the agent has that nothing else shows.
func (s *span) Event(event any, place int) {
	e := seeEvent(event)
	e.place = place
	s.rec.mu.Lock()
	watch := e.has && !s.message(&e)
	if a := e.action; a != nil {
		switch {
		case a.TransferToAgent != nil:
			s.rec.emit(s.of(Action, &ActionData{Kind: Transfer, To: a.TransferToAgent.DestAgentName}))
		case a.BreakLoop != nil:
			s.rec.emit(s.of(Action, &ActionData{Kind: Break}))
		case a.Exit:
			s.rec.emit(s.of(Action, &ActionData{Kind: Exit}))
		}
	}
	switch custom := e.custom.(type) {
	case nil:
	case ProgressData:
		s.progress(custom, place)
	case *ProgressData:
		if custom != nil {
			s.progress(*custom, place)
		}
	case progresses:
		if d, ok := progressOf(custom); ok {
			s.progress(d, place)
		}
	default:
		s.rec.emit(s.of(Custom, &CustomData{Name: fmt.Sprintf("%T", custom), Value: jsonOf(custom)}))
	}
	if e.err != nil {
		s.failed = e.err
	}
	s.rec.mu.Unlock()
	if watch && e.watch != nil {
		s.watchEvent(&e)
	}
}

// progresses is an output of an agent's event that says how far a call of a tool is, by the model's ID of the call: such as
// a *mcptool.Progress. A total of 0 is not known.
type progresses interface {
	Progress() (call string, done, total float64, message string)
}

// progressOf returns the progress that p reports, and false if p panics.
func progressOf(p progresses) (d ProgressData, ok bool) {
	err := guard(func() error {
		call, done, total, message := p.Progress()
		d = ProgressData{Call: call, Done: &done, Message: message}
		if total != 0 {
			d.Total = &total
		}
		return nil
	})
	return d, err == nil
}

// progress records how far something is, with mu locked. An ID of the model becomes the name of the call.
func (s *span) progress(d ProgressData, place int) {
	if name := callAt(s.made(), place, d.Call); name != "" {
		d.Call = name
	}
	s.rec.emit(s.of(Progress, &d))
}

// watchEvent records the message of an event that is a stream.
func (s *span) watchEvent(e *seenEvent) {
	isResult, place := e.tool, e.place
	e.watch(func(m Message, err error) {
		s.rec.mu.Lock()
		defer s.rec.mu.Unlock()
		if !isNil(m) {
			s.other(m, isResult, place, err)
		}
	})
}

// message finds the call that an event is about, and records its end with the message. It is false if that is not known
// yet: of a stream of which there is no call. mu is locked.
func (s *span) message(e *seenEvent) bool {
	if e.tool {
		return s.toolMessage(e)
	}
	m := s.model
	if i := slices.IndexFunc(s.below, (*span).awaitsEvent); i >= 0 {
		m = s.below[i]
	}
	if m == nil || m.shown || m.phase == spanClosed {
		if e.watch == nil {
			s.other(e.message, false, 0, nil)
		}
		return e.watch == nil
	}
	m.shown = true
	if end, ok := m.held.Data.(*ModelEndData); ok && (e.watch == nil || m.stands) {
		if e.watch == nil {
			if end.Message == nil {
				end.Message = new(Message)
			}
			*end.Message = e.message
		}
		s.attempts = 0
		m.release()
	}
	return true
}

// toolMessage is message for the result of a tool.
func (s *span) toolMessage(e *seenEvent) bool {
	if e.watch != nil { // it is of the call whose stream it is, if there is one that streams
		for _, c := range s.below {
			if c.kind == toolSpan && !c.shown && c.first < 0 && c.isAt(e.place) {
				c.shown = true
				c.release()
				return true
			}
		}
		return s.isLate(func(c *span) bool { return c.isAt(e.place) })
	}
	id, text, isText := e.message.textResult()
	if !isText {
		var parts []schema.ToolOutputPart
		id, _, parts = e.message.result()
		text, isText = onlyText(parts)
	}
	for _, c := range s.below {
		if c.kind != toolSpan || c.callID != id || c.shown || !c.isAt(e.place) {
			continue
		}
		c.shown = true
		if end, ok := c.held.Data.(*ToolEndData); ok {
			if isText && (len(end.Parts) <= 1 || end.Error != nil) {
				if had, same := onlyText(end.Parts); !same || had != text || len(end.Parts) == 0 {
					end.Parts = textParts(text)
				}
			}
			end.IsError, end.Error = end.IsError || end.Error != nil, nil
		}
		c.release()
		return true
	}
	if !s.isLate(func(c *span) bool { return c.callID == id && c.isAt(e.place) }) {
		s.other(e.message, true, e.place, nil)
	}
	return true
}

// isLate reports whether an event is of a call of a tool that is recorded already, with mu locked: an application's agent
// may pass on events of the agent that it runs after that has continued.
func (s *span) isLate(is func(*span) bool) bool {
	i := slices.IndexFunc(s.late, is)
	if i >= 0 {
		s.late = slices.Delete(s.late, i, i+1)
	}
	return i >= 0
}

// isAt reports whether a call of a tool is the one at a place of its answer, as far as that is known.
func (s *span) isAt(place int) bool { return place == 0 || s.place == 0 || s.place == place }

// other records a message that no call of a model or a tool has made, with mu locked. place is the place of the call in its
// answer, if m is a result and its place is known.
func (s *span) other(m Message, isResult bool, place int, err error) {
	s.releaseBelow(false)
	id, name, parts := m.result()
	if !isResult || id == "" {
		s.rec.emit(s.of(Said, &MessageData{Message: m, Error: errOf(err)}))
		return
	}
	// A middleware answered, or the tool does not exist: the call was not made.
	s.rec.spans++
	c := &span{rec: s.rec, kind: toolSpan, id: s.rec.spans, parent: s, agent: s.agent, path: s.path}
	c.call = s.callOf(place, id)
	s.rec.emit(c.of(ToolStart, &ToolStartData{Call: c.call, CallID: id, Name: name}))
	s.rec.emit(c.of(ToolEnd, &ToolEndData{Call: c.call, Parts: parts, Error: errOf(err)}))
}

// Verdict records the end of an answer.
func (s *span) Verdict(answer any, again bool) {
	s.rec.mu.Lock()
	defer s.rec.mu.Unlock()
	if !again {
		s.attempts = 0
	}
	m := s.model
	if m == nil {
		return
	}
	if end, ok := m.held.Data.(*ModelEndData); ok && m.phase == spanHeld {
		end.Again = again
		isShown := m.shown || !again && end.Error == nil // or will be
		if answer := seeMessage(answer); end.Message == nil && end.Error == nil && isShown && !isNil(answer) {
			end.Message = &answer
		}
		if !again && !m.shown && end.Error == nil {
			m.stands = true
			m.complete(end)
			if end.Message != nil {
				m.nameCalls(end)
			}
			return
		}
		m.release()
	}
}

// End records that the agent has ended.
func (s *span) End() {
	s.rec.mu.Lock()
	defer s.rec.mu.Unlock()
	for _, inside := range slices.Backward(slices.Clone(s.rec.open)) {
		if inside != s && inside.isInside(s) {
			inside.close()
		}
	}
	if s.phase == spanOpen {
		s.phase = spanClosed
		s.rec.remove(s)
		s.rec.emit(s.of(AgentEnd, &AgentEndData{Error: errOf(s.failed)}))
	}
}

// around is the span around this one that is no node.
func (s *span) around() *span {
	p := s.parent
	for p != nil && p.kind == nodeSpan {
		p = p.parent
	}
	return p
}

// isInside reports whether a span is below another one.
func (s *span) isInside(other *span) bool {
	for p := s.parent; p != nil; p = p.parent {
		if p == other {
			return true
		}
	}
	return false
}

// Observe has a run recorded: the options are given to Run, Query or Resume of a Runner, once. Recording does not change the
// run, and nothing of it waits. Its outcome is recorded when it ends, whether or not its events are read.
//
// A run that is resumed is given the same ID: its record continues.
func Observe(log *Log, run About) []adk.AgentRunOption {
	return (&Recorder{w: &runWitness{recorder: log.newRecorder(run)}}).options()
}

// Recorder is [Observe] for callers that know the outcome better than the run itself, such as that it is tried again. It is
// for one stretch of a run.
type Recorder struct {
	w *runWitness
	// token is the token of the lease.
	token uint64
}

// Record makes the recorder of a stretch. [Recorder.Finish] must be called at its end.
//
// token is the token of the lease of the run.
func (l *Log) Record(run About, token uint64) *Recorder {
	return &Recorder{w: &runWitness{recorder: l.newRecorder(run), settled: true}, token: token}
}

// Options are given to the run.
func (r *Recorder) Options() []adk.AgentRunOption { return r.options() }

func (r *Recorder) options() []adk.AgentRunOption {
	return []adk.AgentRunOption{
		adk.WithCallbacks(&handler{r.w.recorder}),
		adk.WrapImplSpecificOptFn(func(o *runwatch.Options) { o.Run = r.w }),
	}
}

// Finish ends the record of the stretch. A status of "" says that the run continues elsewhere, or later, by itself.
func (r *Recorder) Finish(status runs.Status, err error) {
	r.w.mu.Lock()
	isNew := r.w.phase == recordNew
	if status == "" && r.w.status == runs.Paused { // it was saved where it stopped, and continues there
		status = runs.Paused
	}
	r.w.mu.Unlock()
	if isNew && status != "" { // it ended without being executed
		r.w.Begin(runwatch.Start{Resumed: true, Token: r.token})
	}
	r.w.finish(status, err)
}

// Usage returns what the run has used up to now, for the process that settles it: in the stretches before, as far as they
// are recorded and at least what is known of them otherwise, and in this one.
func (r *Recorder) Usage(known runs.Usage) runs.Usage {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	used := r.w.before
	used.Raise(known)
	used.Add(&r.w.end.Usage)
	for _, s := range r.w.open {
		if end, ok := s.held.Data.(*ModelEndData); ok && s.phase == spanHeld {
			s.complete(end)
			used.Add(end.Usage)
		}
	}
	return used
}

// Abandon ends the record of a run that another process has taken over.
func (r *Recorder) Abandon() { r.w.lose() }

// spanKey is the key of the span of a context.
type spanKey struct{}

// spanContext is a context with a span.
type spanContext struct {
	context.Context
	span *span
}

// context makes the context of what is inside the span, once.
func (s *span) context(ctx context.Context) context.Context {
	s.ctx = spanContext{ctx, s}
	return &s.ctx
}

func (c *spanContext) Value(key any) any {
	if _, ok := key.(spanKey); ok {
		return c.span
	}
	return c.Context.Value(key)
}

// spanIn is the span of a context that a recorder has made, nil if there is none.
func (r *recorder) spanIn(ctx context.Context) *span {
	if s, ok := ctx.Value(spanKey{}).(*span); ok && s.rec == r {
		return s
	}
	return nil
}
