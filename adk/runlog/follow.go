package runlog

import (
	"context"
	"iter"

	"github.com/weftgo/weft/runs"
)

// source is followed by a reader: a book or a store.
type source interface {
	read(ctx context.Context, after runs.Cursor) iter.Seq2[Event, error]
	// wait blocks until there may be something behind the cursor, or more is false: the events come from another source now.
	wait(ctx context.Context, after runs.Cursor) (more bool, err error)
	info(ctx context.Context) (Info, bool, error)
}

// storeSource is a run in a store. isHere reports whether it can be read in memory from a position.
type storeSource struct {
	store  Store
	run    string
	isHere func(at runs.Cursor) bool
}

func (s storeSource) read(ctx context.Context, after runs.Cursor) iter.Seq2[Event, error] {
	return s.store.Read(ctx, s.run, after)
}

func (s storeSource) wait(ctx context.Context, after runs.Cursor) (bool, error) {
	if s.isHere(after) {
		return false, nil
	}
	return true, s.store.Wait(ctx, s.run, after)
}

func (s storeSource) info(ctx context.Context) (Info, bool, error) {
	return s.store.Inspect(ctx, s.run)
}

// bookSource is a run in memory. rests: a run that rests here may continue elsewhere.
type bookSource struct {
	book  *book
	rests bool
}

func (s bookSource) read(ctx context.Context, after runs.Cursor) iter.Seq2[Event, error] {
	return s.book.all(ctx, after)
}

func (s bookSource) wait(ctx context.Context, after runs.Cursor) (bool, error) {
	while := []bookEnd{bookWritten, bookResting}
	if s.rests {
		while = while[:1]
	}
	if err := s.book.wait(ctx, after, while...); err != nil {
		return false, err
	}
	more, state := s.book.state(after)
	return more || state == bookWritten || state == bookResting && !s.rests, nil
}

func (s bookSource) info(context.Context) (Info, bool, error) {
	info, ok := s.book.info()
	return info, ok, nil
}

// follower is one reader of a run.
type follower struct {
	// next chooses where to read, nil if there is nothing to read any more.
	next  func() source
	at    runs.Cursor
	yield func(Event, error) bool
}

// follow yields what is behind the cursor, then what comes, until the run has ended.
func (f *follower) follow(ctx context.Context) {
	begun := false
	for src := f.next(); src != nil; src = f.next() {
		if !begun {
			begun = true
			over, err := f.begin(ctx, src)
			if err != nil {
				f.yield(Event{}, err)
				return
			}
			if over {
				return
			}
		}
		if !f.drain(ctx, src) {
			return
		}
	}
}

// begin finds out what the reader has missed, and whether there is nothing more.
func (f *follower) begin(ctx context.Context, src source) (over bool, err error) {
	info, exists, err := src.info(ctx)
	if err != nil || !exists {
		f.at = runs.Cursor{} // of a run that is not there no cursor can be right
		return false, err
	}
	switch {
	case f.at == info.Last:
		return info.End.HasEnded(), nil
	case f.at.Compare(info.Last) > 0, f.at.Seq+1 < info.First.Seq:
		return f.snapshot(ctx, src, info)
	}
	return false, nil
}

// snapshot yields all messages as they are now, and behind them the end of the run, if that is there.
func (f *follower) snapshot(ctx context.Context, src source, info Info) (over bool, err error) {
	fold := folding{}
	var last Event
	for e, err := range src.read(ctx, runs.Cursor{}) {
		if err != nil {
			return false, err
		}
		fold.add(&e)
		last = e
	}
	f.at = last.Cursor()
	s := Event{V: Version, Run: info.Run, Seq: last.Seq, Token: last.Token, T: last.T, Type: Snapshot, Data: fold.snapshot()}
	if !endOf(&last).HasEnded() {
		return !f.yield(s, nil), nil
	}
	s.Seq-- // who comes back behind it gets the end
	_ = f.yield(s, nil) && f.yield(last, nil)
	return true, nil
}

// drain yields from one source. It returns false if the reader is done.
func (f *follower) drain(ctx context.Context, src source) bool {
	for {
		var end runs.Status
		for e, err := range src.read(ctx, f.at) {
			if err != nil {
				f.yield(Event{}, err)
				return false
			}
			if gap, instead := f.gapBefore(&e); gap.V != 0 && !f.yield(gap, nil) || !instead && !f.yield(e, nil) {
				return false
			}
			f.at, end = e.Cursor(), endOf(&e)
		}
		if end.HasEnded() {
			return false
		}
		more, err := src.wait(ctx, f.at)
		if err != nil {
			f.yield(Event{}, err)
			return false
		}
		if !more {
			return true
		}
	}
}

// gapBefore returns the event that announces a gap before e, mostly the zero Event: the reader has missed the events in
// between. If e joins deltas of which the reader has seen some, the gap replaces e: they are lost.
func (f *follower) gapBefore(e *Event) (gap Event, instead bool) {
	from := e.Seq
	if e.From != 0 {
		from = e.From
	}
	switch next := f.at.Seq + 1; {
	case from > next:
		return dropped(e, next, from-1), false
	case from < next && e.From != 0 && e.Token == f.at.Token:
		return dropped(e, next, e.Seq), true
	}
	return Event{}, false
}

// dropped says which events at or before e are not there any more.
func dropped(e *Event, from, to uint64) Event {
	return Event{V: Version, Run: e.Run, Seq: to, Token: e.Token, T: e.T, Type: Dropped, Data: &DroppedData{From: from, To: to}}
}
