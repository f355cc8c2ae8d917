package runlog

import (
	"context"
	"errors"
	"time"

	"github.com/weftgo/weft/runs"
)

// Bounds of a writer.
const (
	// joinTime is the time for which deltas wait to be joined with others, joinBytes how much text may come together.
	joinTime  = 50 * time.Millisecond
	joinBytes = 4 << 10
	// queueLength is the number of events that a writer may be behind its run before it leaves out deltas.
	queueLength = 1024
	// batchLength is the number of events that are stored at a time.
	batchLength = 256
	// appendTime limits the time that a store takes.
	appendTime = 10 * time.Second
	// lastTries is the time for which the writer of a run that has ended tries to store the rest.
	lastTries = time.Minute
	// longestPause is the longest time that a writer waits before it tries again.
	longestPause = 5 * time.Second
)

// writer stores the events of a run of this process. It is a reader of the book like others, so that the run never waits
// for the store: if that is slow, the writer falls behind, leaves out deltas, and the book drops what it may drop. A book
// has at most one.
type writer struct {
	log  *Log
	book *book
	at   runs.Cursor
	// left is since when nothing is recorded any more, zero while something is.
	left time.Time
}

// write has a book stored, with mu locked, unless it is.
func (l *Log) write(b *book) {
	if l.conf.Store == nil || l.storing[b] != nil {
		return
	}
	l.storing[b] = make(chan struct{})
	w := &writer{log: l, book: b, at: b.stored}
	l.writers.Go(func() { w.run(l.abort) })
}

// end ends the writer, unless there is more to do and it is not forced.
func (w *writer) end(force bool) bool {
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	page, state := w.book.read(w.at, 1)
	if !force && (len(page) > 0 || state == bookWritten) {
		return false
	}
	w.book.stored = w.at
	close(w.log.storing[w.book])
	delete(w.log.storing, w.book)
	return true
}

func (w *writer) run(ctx context.Context) {
	var pause time.Duration
	for ctx.Err() == nil {
		batch, upTo := w.batch(ctx)
		if upTo == w.at {
			if w.end(false) {
				return
			}
			continue
		}
		err := w.store(ctx, batch)
		switch {
		case err == nil:
			w.at, pause, w.left = upTo, 0, time.Time{}
			continue
		case errors.Is(err, ErrOvertaken):
			w.log.leave(w.book, nil)
			w.end(true)
			return
		case ctx.Err() != nil:
			continue
		}
		pause = min(max(2*pause, 100*time.Millisecond), longestPause)
		w.log.warn("events of a run cannot be stored; the log tries again", "run", w.book.run, "after", pause, "error", err)
		if w.isOver() && time.Since(w.left) > lastTries {
			w.log.warn("events of a run are not stored", "run", w.book.run, "behind", w.at.String())
			w.end(true)
			return
		}
		sleep(ctx, pause)
	}
	w.end(true)
}

// isOver reports whether nothing more is recorded, and notes since when.
func (w *writer) isOver() bool {
	_, state := w.book.read(w.at, 0)
	switch {
	case state == bookWritten:
		w.left = time.Time{}
	case w.left.IsZero():
		w.left = time.Now()
	}
	return state != bookWritten
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// batch waits for events, joins their deltas, and returns what is to be stored, and up to which position that is.
func (w *writer) batch(ctx context.Context) (batch []Event, upTo runs.Cursor) {
	for {
		over := w.isOver()
		page, _ := w.book.read(w.at, batchLength)
		if len(page) == 0 && over {
			return nil, w.at
		}
		if len(page) == 0 {
			if w.book.wait(ctx, w.at, bookWritten) != nil {
				return nil, w.at
			}
			continue
		}
		if !over && onlyDeltas(page) {
			w.waitForMore(ctx, page[0].T)
			if page, _ = w.book.read(w.at, batchLength); len(page) == 0 { // the book has dropped them
				continue
			}
		}
		upTo = page[len(page)-1].Cursor()
		if last, _ := w.book.info(); last.Last.Seq > upTo.Seq+queueLength {
			page = withoutDeltas(page)
		}
		return w.log.prepare(join(page)), upTo
	}
}

// waitForMore gives deltas time to be joined with others: until something else comes, or there is enough text.
func (w *writer) waitForMore(ctx context.Context, since int64) {
	until := time.UnixMicro(since).Add(joinTime)
	for {
		left := time.Until(until)
		page, _ := w.book.read(w.at, batchLength)
		if len(page) == 0 || left <= 0 || !onlyDeltas(page) || textOf(page) >= joinBytes || len(page) == batchLength || w.isOver() {
			return
		}
		at := page[len(page)-1].Cursor()
		waiting, cancel := context.WithTimeout(ctx, left)
		_ = w.book.wait(waiting, at, bookWritten)
		cancel()
	}
}

func onlyDeltas(events []Event) bool {
	for i := range events {
		if !events[i].Type.IsDelta() {
			return false
		}
	}
	return true
}

func withoutDeltas(events []Event) (kept []Event) {
	for _, e := range events {
		if !e.Type.IsDelta() {
			kept = append(kept, e)
		}
	}
	return kept
}

func textOf(events []Event) (n int) {
	for i := range events {
		switch d := events[i].Data.(type) {
		case *ModelDeltaData:
			n += len(d.Text)
		case *ToolDeltaData:
			n += len(d.Text)
		}
	}
	return n
}

// store gives a batch to the store.
func (w *writer) store(ctx context.Context, batch []Event) (err error) {
	if len(batch) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, appendTime)
	defer cancel()
	return guard(func() error { return w.log.conf.Store.Append(ctx, w.book.run, batch) })
}

// join joins deltas of one kind that follow each other.
func join(events []Event) (joined []Event) {
	var text []byte // of the delta that is being joined
	finish := func() {
		if text == nil {
			return
		}
		last := &joined[len(joined)-1]
		switch d := last.Data.(type) {
		case *ModelDeltaData:
			whole := *d
			whole.Text = string(text)
			last.Data = &whole
		case *ToolDeltaData:
			whole := *d
			whole.Text = string(text)
			last.Data = &whole
		}
		text = nil
	}
	for i := range events {
		e := events[i]
		if len(joined) > 0 && joins(&joined[len(joined)-1], &e) {
			last := &joined[len(joined)-1]
			if text == nil {
				text = append([]byte{}, deltaText(last)...)
			}
			text = append(text, deltaText(&e)...)
			if last.From == 0 {
				last.From = last.Seq
			}
			last.Seq = e.Seq
			continue
		}
		finish()
		joined = append(joined, e)
	}
	finish()
	return joined
}

// joins reports whether a delta continues another one.
func joins(a, b *Event) bool {
	if a.Type != b.Type || a.Span != b.Span || a.Token != b.Token || a.Seq+1 != b.Seq {
		return false
	}
	switch d := a.Data.(type) {
	case *ModelDeltaData:
		next := b.Data.(*ModelDeltaData)
		return d.Kind == next.Kind && d.Call == next.Call && sameIndex(d.Index, next.Index) && next.Name == ""
	case *ToolDeltaData:
		next := b.Data.(*ToolDeltaData)
		return d.Parts == nil && next.Parts == nil
	}
	return false
}

func sameIndex(a, b *int) bool { return a == b || a != nil && b != nil && *a == *b }

func deltaText(e *Event) string {
	switch d := e.Data.(type) {
	case *ModelDeltaData:
		return d.Text
	case *ToolDeltaData:
		return d.Text
	}
	return ""
}
