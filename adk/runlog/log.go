package runlog

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/weftgo/weft/runs"
)

// Policy selects the parts of events that are stored.
type Policy int

const (
	// Full stores everything.
	Full Policy = iota
	// Shape stores what happened, when, and how long it was, without texts, arguments and results.
	Shape
)

// Config configures a [Log]. The zero value keeps runs in memory.
type Config struct {
	// Store keeps events outside of the memory of the process, for other processes and for later. The default is
	// nil: readers of other processes and of runs that have ended for longer than Linger find nothing.
	Store Store
	// Policy selects the parts of events that are stored. It does not concern readers of a run in the process that executes
	// it.
	Policy Policy
	// Redact changes an event before it is stored, after Policy. It must change copies of what the event refers to. A panic
	// of it, or an event without a Type, leaves the event out.
	Redact func(Event) Event
	// Media has base64 media of more than 4 KiB stored. The default replaces them by their type, length and SHA-256.
	Media bool
	// Linger is the time for which a run stays in memory after it has ended or stopped. The default is 10 minutes, negative
	// is not at all.
	Linger time.Duration
	// MaxEvents, MaxBytes and MaxRuns bound the memory: events and bytes of a run, 10,000 and 8 MiB by default, and runs
	// that have ended or stopped, 1,000 by default.
	MaxEvents, MaxBytes, MaxRuns int
	// Price returns the cost of calls of models, for the ends of runs; see [CataloguePrice]. The default is nil: not known.
	Price Price
	// Ended is given the end of each stretch of a run that this process has recorded, such as to log it: a run that waits
	// has ended one. It is called in the goroutine of the run, which waits for it; a panic is logged. The default is nil.
	Ended func(Attempt)
	// Logger gets, at level Warn, that a store fails. The default is nil.
	Logger *slog.Logger
}

// Attempt is a part of a run, from where it begins or continues to where it ends or waits, for [Config].Ended.
type Attempt struct {
	Run About
	// Agent is the outermost one, and Took how long it was executed.
	Agent string
	Took  time.Duration
	End   RunEndData
}

// Log records the runs of this process, and reads the runs of all processes. It is safe for concurrent use. It has a
// goroutine for each run that is being recorded and stored. [Log.Close] ends them.
type Log struct {
	conf Config

	mu sync.Mutex // guards the fields below; it is taken before a book's mutex
	// books are the runs in memory, rested those that have ended or stopped, the first one first.
	books  map[string]*book
	rested []*rest
	closed bool
	// began is closed, and replaced, when a run is added.
	began chan struct{}
	// storing are the books that a writer stores, each with what it closes when it ends.
	storing map[*book]chan struct{}
	// deferred are the recorders that wait for what is recorded of their runs.
	deferred map[*recorder]struct{}
	// writers are those that store events. abort ends them.
	writers sync.WaitGroup
	abort   context.Context
	stop    context.CancelFunc
}

// rest is a run that has ended or stopped, and when it is forgotten.
type rest struct {
	book  *book
	timer *time.Timer
}

// New makes a log.
func New(conf Config) *Log {
	if conf.Linger == 0 {
		conf.Linger = 10 * time.Minute
	}
	for _, d := range []struct {
		set       *int
		byDefault int
	}{{&conf.MaxEvents, defaultEvents}, {&conf.MaxBytes, defaultBytes}, {&conf.MaxRuns, defaultRuns}} {
		if *d.set <= 0 {
			*d.set = d.byDefault
		}
	}
	l := &Log{conf: conf, books: map[string]*book{}, storing: map[*book]chan struct{}{},
		deferred: map[*recorder]struct{}{}, began: make(chan struct{})}
	l.abort, l.stop = context.WithCancel(context.Background())
	return l
}

// ErrClosed is the error of a log after [Log.Close].
var ErrClosed = errors.New("the run log is closed")

// Close has everything stored that is recorded, and forgets all runs. It waits until ctx ends, at most, and returns its
// error if something was not stored. Runs that still execute are not recorded further.
func (l *Log) Close(ctx context.Context) error {
	l.mu.Lock()
	l.closed = true
	for _, r := range l.rested {
		r.timer.Stop()
	}
	for _, b := range l.books {
		b.become(bookLeft)
	}
	l.books, l.rested = nil, nil
	l.mu.Unlock()
	stored := make(chan struct{})
	go func() {
		l.writers.Wait()
		close(stored)
	}()
	defer l.stop()
	select {
	case <-stored:
		return nil
	case <-ctx.Done():
		l.stop()
		<-stored
		return ctx.Err()
	}
}

// Events yields what was recorded of a run behind a cursor, then what comes, and ends with the run: behind a [RunEnd] that
// is final. A run that waits, is paused, or was taken over by another process, is followed. The loop waits for a run that is
// not recorded yet. An error is the last item: the error of ctx, or of the store.
//
// What is not there any more is announced by a [Dropped] event, or replaced by a [Snapshot]: see [Cursor].
//
// Any number of readers may read a run, each at its own pace. No run waits for them.
func (l *Log) Events(ctx context.Context, run string, after runs.Cursor) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if l.conf.Store == nil && l.awaitBook(ctx, run) == nil {
			if ctx.Err() != nil {
				yield(Event{}, ctx.Err())
			}
			return
		}
		f := &follower{at: after, yield: yield}
		f.next = func() source { return l.sourceOf(run, f.at) }
		f.follow(ctx)
	}
}

// sourceOf is the place where a reader continues at a position, nil if there is nothing.
func (l *Log) sourceOf(run string, at runs.Cursor) source {
	b := l.bookOf(run)
	switch {
	case b != nil && (l.conf.Store == nil || b.continues(at)):
		return bookSource{b, l.conf.Store != nil}
	case l.conf.Store != nil:
		return storeSource{l.conf.Store, run, func(at runs.Cursor) bool {
			b := l.bookOf(run)
			return b != nil && b.continues(at)
		}}
	}
	return nil
}

// Delete removes everything that is recorded of a run, here and in the store. It is for runs that no process executes.
func (l *Log) Delete(ctx context.Context, run string) error {
	var ends []chan struct{}
	var lost []*recorder
	l.mu.Lock()
	if b := l.books[run]; b != nil {
		l.forget(b)
	}
	for b, end := range l.storing {
		if b.run == run && b.isLeft() {
			b.clear()
			ends = append(ends, end)
		}
	}
	for r := range l.deferred {
		if r.opts.ID == run {
			lost = append(lost, r)
		}
	}
	l.mu.Unlock()
	for _, r := range lost {
		r.lose()
	}
	if l.conf.Store == nil {
		return nil
	}
	for _, end := range ends { // what is on its way to the store would come behind
		select {
		case <-end:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return l.conf.Store.Delete(ctx, run)
}

// Sweep removes from the store what is recorded of runs that have ended, and of which nothing was recorded for a time. It
// returns how many there were. Runs that wait stay.
func (l *Log) Sweep(ctx context.Context, age time.Duration) (n int, err error) {
	return l.SweepFunc(ctx, age, func(info Info) (bool, error) { return info.End.HasEnded(), nil })
}

// SweepFunc is [Log.Sweep] for runs of which over says that no reader will ask for their events, whether or not they have
// ended here. over is called for runs of which nothing was recorded for a time; its error ends the sweep.
func (l *Log) SweepFunc(ctx context.Context, age time.Duration, over func(Info) (bool, error)) (n int, err error) {
	if l.conf.Store == nil {
		return 0, nil
	}
	var old []string
	for info, err := range l.conf.Store.List(ctx, Query{UpdatedBefore: time.Now().Add(-age)}) {
		if err != nil {
			return 0, err
		}
		is, err := over(info)
		if err != nil {
			return 0, err
		}
		if is {
			old = append(old, info.Run)
		}
	}
	for _, run := range old {
		if err := l.conf.Store.Delete(ctx, run); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func (l *Log) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// bookOf is the book of a run that is in memory, nil if it is not.
func (l *Log) bookOf(run string) *book {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.books[run]
}

// awaitBook waits for a run to be recorded here, nil if ctx ends before, or the log is closed.
func (l *Log) awaitBook(ctx context.Context, run string) *book {
	for {
		l.mu.Lock()
		b, began, closed := l.books[run], l.began, l.closed
		l.mu.Unlock()
		if b != nil || closed {
			return b
		}
		select {
		case <-began:
		case <-ctx.Done():
			return nil
		}
	}
}

// open returns the book of a run for its recorder, and makes it if there is none.
func (l *Log) open(r *recorder) (*book, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, ErrClosed
	}
	return l.openLocked(r), nil
}

// openLocked is open of a log that is not closed, with mu locked.
func (l *Log) openLocked(r *recorder) *book {
	run := r.opts.ID
	b := l.books[run]
	if b == nil {
		b = newBook(run, limits{l.conf.MaxEvents, l.conf.MaxBytes})
		l.books[run] = b
		close(l.began)
		l.began = make(chan struct{})
	}
	l.forgetRest(b)
	b.become(bookWritten)
	b.owner = r
	l.write(b)
	return b
}

// rest lets a run that has ended or stopped stay for a while.
func (l *Log) rest(by *recorder) {
	b := by.book
	l.mu.Lock()
	defer l.mu.Unlock()
	if b.owner != by { // it continues here
		return
	}
	b.become(bookResting)
	if l.closed || l.books[b.run] != b {
		return
	}
	if l.conf.Linger < 0 {
		l.forget(b)
		return
	}
	r := &rest{book: b}
	r.timer = time.AfterFunc(l.conf.Linger, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if slices.Contains(l.rested, r) {
			l.forget(b)
		}
	})
	l.rested = append(l.rested, r)
	for len(l.rested) > l.conf.MaxRuns {
		l.forget(l.rested[0].book)
	}
}

// leave drops a run from memory that another process has, unless another recorder has its book. by is nil for the writer.
func (l *Log) leave(b *book, by *recorder) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if by == nil || b.owner == by {
		l.forget(b)
	}
}

// forget drops a run from memory, with mu locked.
func (l *Log) forget(b *book) {
	if l.books[b.run] == b {
		delete(l.books, b.run)
	}
	l.forgetRest(b)
	b.become(bookLeft)
}

// forgetRest says that a run does not rest any more, with mu locked.
func (l *Log) forgetRest(b *book) {
	l.rested = slices.DeleteFunc(l.rested, func(r *rest) bool {
		if r.book == b {
			r.timer.Stop()
		}
		return r.book == b
	})
}

// warn logs an error that cannot be returned to a caller.
func (l *Log) warn(message string, args ...any) {
	if l.conf.Logger != nil {
		l.conf.Logger.Warn(message, args...)
	}
}
