package runlog

import (
	"context"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/weftgo/weft/runs"
)

// limits bound a book.
type limits struct{ events, bytes int }

// book is the events of one run in memory. Readers have nothing but a position in it, so that it does not matter how
// many there are and how slow they are.
//
// When it has more than its limits allow it drops the deltas of what has ended, then all deltas, then the starts of
// models and tools and what else is not needed for the conversation. The first event and what has a message, a result
// or a question of its own is never dropped.
type book struct {
	run   string
	limit limits
	// stored tracks how far the writers came that have ended. owner is who records the run, the last one of several. The
	// mutex of the log guards them.
	stored runs.Cursor
	owner  *recorder

	mu sync.Mutex // guards the fields below
	// entries have the events in the order of their cursors, count in all.
	entries entries
	count   int
	bytes   int
	updated time.Time
	// roomFor is the number of events, and bytes, at which it looks again for something to drop.
	roomFor limits
	// changed is closed when something happens, nil if no reader waits.
	changed chan struct{}
	closed  bookEnd
}

// bookEnd says whether a book is written.
//
//	from     to       when
//	written  resting  the stretch has ended; another may follow, here or elsewhere
//	resting  written  another follows here
//	any      left     another process has the run, or the book is forgotten
type bookEnd int

const (
	bookWritten bookEnd = iota
	bookResting
	bookLeft
)

func newBook(run string, limit limits) *book {
	return &book{run: run, limit: limit, roomFor: limit}
}

// append adds events at a time. Those that are there are skipped.
func (b *book) append(now time.Time, events ...Event) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	last := b.lastLocked()
	if len(events) > 0 && events[0].Token < last.Token {
		return ErrOvertaken
	}
	for i := range events {
		if e := &events[i]; e.Cursor().Compare(last) > 0 {
			b.addLocked(entry{Event: *e})
			last = e.Cursor()
		}
	}
	b.appended(now)
	return nil
}

// pieceWriter adds pieces of answers to a book, whose mutex it holds.
type pieceWriter struct {
	book  *book
	now   time.Time
	at    int64  // now as T
	event *Event // of the next piece, without T, Seq and Data
	seq   uint64 // of the next piece
	// of holds the data that the pieces in entry share.
	of    *ModelDeltaData
	entry *entry
}

// beginPieces locks the book for pieces. The first one is at a position, and all of them are an event but for T, Seq and
// Data. Unless it fails, end must be called.
func (b *book) beginPieces(now time.Time, event *Event, seq uint64) (w pieceWriter, err error) {
	b.mu.Lock()
	if last := b.lastLocked(); last.Compare(runs.Cursor{Token: event.Token, Seq: seq}) >= 0 {
		b.mu.Unlock()
		return w, ErrOvertaken
	}
	return pieceWriter{book: b, now: now, at: now.UnixMicro(), event: event, seq: seq}, nil
}

// add appends a piece of text. of identifies the part of the answer that it belongs to, compared by pointer.
func (w *pieceWriter) add(of *ModelDeltaData, text string) {
	b := w.book
	slab := b.entries.slab
	if of != w.of || len(slab) == cap(slab) {
		var isNew bool
		if w.entry, isNew = b.entries.extend(w.event, w.seq, of); isNew {
			b.bytes += entrySize
		}
		w.of, slab = of, b.entries.slab
	}
	b.entries.slab = append(slab, piece{text, w.at})
	w.entry.pieces = w.entry.pieces[:len(w.entry.pieces)+1]
	b.count++
	b.bytes += pieceSize + len(text)
	w.seq++
}

// end unlocks the book and returns the position of the last piece.
func (w *pieceWriter) end() (last uint64) {
	w.book.appended(w.now)
	w.book.mu.Unlock()
	return w.seq - 1
}

// appended makes room and wakes the readers, with mu locked.
func (b *book) appended(now time.Time) {
	b.updated = now
	if b.count > b.roomFor.events || b.bytes > b.roomFor.bytes {
		b.shrink()
	}
	b.wakeLocked()
}

// addLocked adds an entry behind the others.
func (b *book) addLocked(e entry) {
	b.count += e.count()
	b.bytes += e.size()
	b.entries.add(e)
}

func (b *book) lastLocked() runs.Cursor {
	if last := b.entries.last(); last != nil {
		return last.end()
	}
	return runs.Cursor{}
}

func (b *book) wakeLocked() {
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
}

// become makes a transition of the table of [bookEnd].
func (b *book) become(to bookEnd) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed != bookLeft {
		b.closed = to
	}
	b.wakeLocked()
}

// isLeft reports whether nothing more comes.
func (b *book) isLeft() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closed == bookLeft
}

// clear drops everything.
func (b *book) clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.entries, b.count, b.bytes = entries{}, 0, 0
	b.wakeLocked()
}

// shrink drops what may be dropped, with mu locked, until a fourth of the limits is free, if that is possible.
func (b *book) shrink() {
	ended := map[SpanID]bool{}
	for i := range b.entries.len() {
		if e := b.entries.at(i); e.Type == ModelEnd || e.Type == ToolEnd {
			ended[e.Span] = true
		}
	}
	for _, droppable := range []func(*Event) bool{
		func(e *Event) bool { return e.Type.IsDelta() && ended[e.Span] },
		func(e *Event) bool { return e.Type.IsDelta() },
		func(e *Event) bool { return !isKept(e.Type) },
	} {
		all := b.entries
		b.entries, b.count, b.bytes = entries{}, 0, 0
		for i := range all.len() {
			if e := all.at(i); i == 0 || !droppable(&e.Event) {
				b.addLocked(*e)
			}
		}
		if b.count <= b.limit.events*3/4 && b.bytes <= b.limit.bytes*3/4 {
			break
		}
	}
	// What is left must stay. It looks again when there is half as much more.
	b.roomFor = limits{max(b.limit.events, b.count*3/2), max(b.limit.bytes, b.bytes*3/2)}
}

// isKept reports whether events of a type are needed for the conversation, and for its status.
func isKept(t Type) bool {
	switch t {
	case RunStart, RunEnd, AgentStart, ModelEnd, ToolEnd, Said, Waiting, Replied, Action, Custom, Restarted, Snapshot:
		return true
	}
	return false
}

// read returns up to some events behind a position, and whether the book is written.
func (b *book) read(after runs.Cursor, most int) ([]Event, bookEnd) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.entries.read(after, most), b.closed
}

// state reports whether there is something behind a position, and whether the book is written.
func (b *book) state(after runs.Cursor) (more bool, closed bookEnd) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lastLocked().Compare(after) > 0, b.closed
}

// readSize is the number of events that a reader takes at a time.
const readSize = 64

// all yields what is behind a position.
func (b *book) all(ctx context.Context, after runs.Cursor) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for {
			if err := ctx.Err(); err != nil {
				yield(Event{}, err)
				return
			}
			page, _ := b.read(after, readSize)
			for _, e := range page {
				if !yield(e, nil) {
					return
				}
				after = e.Cursor()
			}
			if len(page) < readSize { // what has come meanwhile is there for the next call
				return
			}
		}
	}
}

// wait blocks until there is something behind a position, or the book is no longer in one of the given states.
func (b *book) wait(ctx context.Context, after runs.Cursor, while ...bookEnd) error {
	for {
		b.mu.Lock()
		if b.lastLocked().Compare(after) > 0 || !slices.Contains(while, b.closed) {
			b.mu.Unlock()
			return nil
		}
		if b.changed == nil {
			b.changed = make(chan struct{})
		}
		changed := b.changed
		b.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// continues reports whether the book is written and has what is behind a position.
func (b *book) continues(at runs.Cursor) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closed == bookWritten && b.count > 0 && b.entries.at(0).Seq <= at.Seq+1
}

// hasAll reports whether the book begins with the run.
func (b *book) hasAll() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.count > 0 && b.entries.at(0).Seq == 1
}

// info describes the run of the book. It returns false for an empty book.
func (b *book) info() (Info, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.count == 0 {
		return Info{Run: b.run}, false
	}
	return Info{Run: b.run, First: b.entries.at(0).Cursor(), Last: b.lastLocked(), End: endOf(&b.entries.last().Event),
		Updated: b.updated}, true
}

// entrySize is the memory of an event without its texts, in bytes.
const entrySize = 200

// sizeOf estimates the memory of an event in bytes.
func sizeOf(e *Event) int {
	fixed := entrySize + len(e.Sealed)
	switch d := e.Data.(type) {
	case *ModelDeltaData:
		return fixed + len(d.Text)
	case *ToolDeltaData:
		return fixed + len(d.Text) + partsSize(d.Parts)
	case *ModelEndData:
		if d.Message != nil {
			return fixed + messageSize(*d.Message)
		}
	case *RunStartData:
		return fixed + messagesSize(d.Input)
	case *ModelStartData:
		return fixed + messagesSize(d.Messages.Add)
	case *MessageData:
		return fixed + messageSize(d.Message)
	case *RestartedData:
		if d.Message != nil {
			return fixed + messageSize(*d.Message)
		}
	case *ToolStartData:
		return fixed + len(d.Args)
	case *ToolEndData:
		return fixed + partsSize(d.Parts)
	case *SnapshotData:
		return fixed + messagesSize(d.Messages)
	case *CustomData:
		return fixed + len(d.Value)
	}
	return fixed
}
