package runlog

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/weftgo/weft/adk/internal/runwatch"
	"github.com/weftgo/weft/runs"
)

const (
	// recallTime is the time for which a run that continues waits at its beginning, at most, for the store of its events.
	recallTime = 2 * time.Second
	// lastEvents is the time for which it waits for the end of the stretch before, which may be on its way.
	lastEvents = time.Second
)

// recall reads what is recorded of the run, here or in the store. It is nil for nothing. An error means that there may be more
// than it returns.
func (r *recorder) recall(within time.Duration) (*folding, error) {
	ctx, cancel := context.WithTimeout(r.log.abort, within)
	defer cancel()
	src := r.past(ctx)
	if src == nil {
		return nil, nil
	}
	fold, until := &folding{}, time.Now().Add(lastEvents)
	for {
		for e, err := range src.read(ctx, fold.last.Cursor()) {
			if errors.Is(err, ErrDamaged) {
				return r.recallDamaged(ctx, src, fold, err)
			}
			if err != nil {
				return fold.known(), err
			}
			fold.add(&e)
		}
		if fold.last.Seq == 0 || endOf(&fold.last) != "" || r.opts.TakenOver {
			return fold.known(), nil
		}
		waiting, cancel := context.WithDeadline(ctx, until)
		more, err := src.wait(waiting, fold.last.Cursor())
		cancel()
		if err != nil || !more {
			return fold.known(), nil
		}
	}
}

// recallDamaged returns the events before the first damaged one, and the number of the last one: the record continues behind
// that.
func (r *recorder) recallDamaged(ctx context.Context, src source, fold *folding, damage error) (*folding, error) {
	info, exists, err := src.info(ctx)
	if err != nil {
		return fold.known(), err
	}
	if exists && info.Last.Compare(fold.last.Cursor()) > 0 {
		fold.last = Event{Seq: info.Last.Seq, Token: info.Last.Token}
		fold.spans = max(fold.spans, SpanID(info.Last.Seq)) // each has events of its own
		if info.End != "" {
			fold.last.Type, fold.last.Data = RunEnd, &RunEndData{Status: info.End}
		}
	}
	r.log.warn("events of a run are damaged; its record continues behind them", "run", r.opts.ID, "error", damage)
	return fold.known(), nil
}

// past is the place where the run so far is recorded, nil if it is nowhere. A book of this process is forgotten if other
// processes have continued the run since.
func (r *recorder) past(ctx context.Context) source {
	b, store := r.log.bookOf(r.opts.ID), r.log.conf.Store
	if store == nil {
		if b == nil {
			return nil
		}
		return bookSource{b, false}
	}
	stored := storeSource{store, r.opts.ID, func(runs.Cursor) bool { return false }}
	if b == nil || !b.hasAll() {
		return stored
	}
	here, _ := b.info()
	if there, exists, err := stored.info(ctx); err == nil && exists && there.Last.Token > here.Last.Token {
		r.log.leave(b, nil)
		return stored
	}
	return bookSource{b, false}
}

// known returns the folding, nil for one without events.
func (f *folding) known() *folding {
	if f.last.Seq == 0 {
		return nil
	}
	return f
}

// begin records the beginning behind what is recorded of the run, nil for nothing, with mu locked.
func (r *recorder) begin(s runwatch.Start, past *folding) {
	book, err := r.log.open(r)
	if err != nil {
		r.phase = recordEnded
		return
	}
	r.book, r.token, r.phase = book, s.Token, recordBegun
	r.header(s, past)
}

// continues takes over what later events of the run depend on, with mu locked.
func (r *recorder) continues(past *folding) {
	r.seq, r.spansBefore = past.last.Seq, past.spans
	if r.calls == nil {
		r.calls = map[string]int{}
	}
	for call, start := range past.calls {
		r.calls[start.CallID] = max(r.calls[start.CallID], numberOf(call, start.CallID))
	}
	for id, n := range past.named {
		r.calls[id] = max(r.calls[id], n)
	}
	last := maps.Clone(past.lastNamed)
	if last == nil {
		last = map[agentPlace][]answerCall{}
	}
	maps.Copy(last, r.last)
	r.last = last
}

// header records the events with which a stretch begins behind what is recorded of the run, nil for nothing, with mu locked.
func (r *recorder) header(s runwatch.Start, past *folding) {
	r.seq = 0
	if past != nil {
		r.continues(past)
	}
	forked, at := r.opts.Forked, r.began.UnixMicro()
	if forked == nil && s.Origin != "" {
		forked = &Fork{Run: s.Origin, Step: s.OriginStep}
	}
	start := &RunStartData{Agent: s.Agent, Input: inputOf(s.Input), Streaming: s.Streaming, Thread: r.opts.Thread,
		Conversation: r.opts.Conversation, Forked: forked, Labels: r.opts.Labels}
	if past == nil || !s.Resumed { // of a run that takes the ID of another one the log has both
		r.emit(Event{Type: RunStart, T: at, Data: start})
		return
	}
	r.before = past.usage
	from := past.last.Seq
	if endOf(&past.last) == "" { // its process died
		from = past.saved
		r.emit(Event{Type: Restarted, T: at, Data: &RestartedData{FromSeq: from, Message: past.lastMessage(from)}})
	}
	start.Input, start.Resumed = []Message{}, &Resumption{FromSeq: from}
	r.emit(Event{Type: RunStart, T: at, Data: start})
	if len(s.Answers) > 0 {
		r.emit(Event{Type: Replied, T: at, Data: &RepliesData{Replies: answersOf(s.Answers)}})
	}
}

// postpone begins the record of a stretch while what is recorded of the run before cannot be read, with mu locked. The numbers
// of events, and of spans, continue those: so the events are kept in a book that no reader finds, counted from 1, until they
// are known. The run does not wait for that. postpone returns false for a log that is closed.
func (r *recorder) postpone(s runwatch.Start) bool {
	l := r.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	r.book = newBook(r.opts.ID, limits{l.conf.MaxEvents, l.conf.MaxBytes})
	r.deferred, r.token, r.phase = &s, s.Token, recordDeferred
	l.deferred[r] = struct{}{}
	l.writers.Go(func() { r.readLater(l.abort) })
	return true
}

// readLater reads what is recorded of the run, as soon as that can be read, and records the stretch behind it. It gives up when
// the log is aborted, or the stretch has been over for lastTries.
func (r *recorder) readLater(ctx context.Context) {
	defer func() {
		r.log.mu.Lock()
		delete(r.log.deferred, r)
		r.log.mu.Unlock()
	}()
	var pause time.Duration
	var over time.Time
	for {
		past, err := r.recall(appendTime)
		if err == nil {
			r.catchUp(past)
			return
		}
		pause = min(max(2*pause, 100*time.Millisecond), longestPause)
		sleep(ctx, pause)
		r.mu.Lock()
		phase := r.phase
		r.mu.Unlock()
		if phase == recordOver && over.IsZero() {
			over = time.Now()
		}
		if ctx.Err() != nil || phase == recordEnded || !over.IsZero() && time.Since(over) > lastTries {
			r.log.warn("a part of a run is not recorded: what is recorded of it before cannot be read", "run", r.opts.ID, "error", err)
			r.lose()
			return
		}
	}
}

// catchUp records the stretch behind what is recorded of the run.
func (r *recorder) catchUp(past *folding) {
	r.mu.Lock()
	defer r.mu.Unlock()
	phase, start := r.phase, r.deferred
	if !phase.takes() && phase != recordOver {
		return
	}
	r.deferred = nil
	book, ok := r.log.openLate(r)
	if !ok || past != nil && past.last.Token > r.token {
		r.phase = recordEnded
		return
	}
	kept := r.book
	r.book, r.phase = book, recordBegun
	r.header(*start, past)
	events, _ := kept.read(runs.Cursor{}, kept.count)
	before := r.seq
	for i := range events {
		e := r.moved(events[i])
		if e.From != 0 {
			e.From += before
		}
		e.Seq += before
		events[i] = e
		r.seq = e.Seq
	}
	_ = book.append(r.now(), events...) // it is overtaken only by what the next event meets, too
	for _, s := range r.open {
		if s.piece = nil; s.phase == spanHeld {
			s.held = r.moved(s.held)
		}
	}
	if phase == recordOver {
		r.log.rest(r)
		r.phase = recordEnded
	}
	if r.log.isClosed() {
		book.become(bookLeft)
		r.phase = recordEnded
	}
}

// moved returns an event with the numbers of its spans, which were counted from 1, behind those of the run before.
func (r *recorder) moved(e Event) Event {
	if e.Span != 0 {
		e.Span += r.spansBefore
	}
	if e.Parent != 0 {
		e.Parent += r.spansBefore
	}
	return e
}

// openLate is open for a stretch that was deferred, whose log may be closed by now: that stores it still. It is false if the run
// has continued in this process since.
func (l *Log) openLate(r *recorder) (*book, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		b := newBook(r.opts.ID, limits{l.conf.MaxEvents, l.conf.MaxBytes})
		b.owner = r
		l.write(b)
		return b, true
	}
	if b := l.books[r.opts.ID]; b != nil {
		if info, ok := b.info(); ok && info.Last.Token > r.token {
			return nil, false
		}
	}
	return l.openLocked(r), true
}
