package runlog

import (
	"sort"

	"github.com/weftgo/weft/runs"
)

// entry is an event in memory, or pieces of one answer that follow each other. Most events of most runs are such pieces:
// only their differences are kept, and readers are given them as events.
type entry struct {
	// Event is the event. Of pieces it is the first one, without T, and its Data what all of them have.
	Event
	pieces []piece
}

// piece is a text of an answer, and when it came, in microseconds since 1970.
type piece struct {
	text string
	at   int64
}

// pieceSize is the memory of a piece without its text, in bytes.
const pieceSize = 24

// count is the number of events that it is.
func (e *entry) count() int { return max(1, len(e.pieces)) }

// end is the position of the last event.
func (e *entry) end() runs.Cursor {
	return runs.Cursor{Token: e.Token, Seq: e.Seq + uint64(e.count()) - 1}
}

// size estimates the memory in bytes.
func (e *entry) size() int {
	n := sizeOf(&e.Event) + pieceSize*len(e.pieces)
	for i := range e.pieces {
		n += len(e.pieces[i].text)
	}
	return n
}

// event is the i-th of the pieces as an event, with data as its Data.
func (e *entry) event(i int, data *ModelDeltaData) Event {
	one := e.Event
	*data = *one.Data.(*ModelDeltaData)
	data.Text = e.pieces[i].text
	one.Seq, one.T, one.Data = one.Seq+uint64(i), e.pieces[i].at, data
	return one
}

// entries are in the order of their positions. The zero value is empty.
type entries struct {
	pages [][]entry // pageSize in each but the last one
	n     int
	// slab holds pieces, with the pieces of the last entry at its end.
	slab []piece
}

const (
	// pageSize is the number of entries that are kept in one piece of memory, slabSize how many pieces.
	pageSize = 64
	slabSize = 256
)

func (s *entries) len() int { return s.n }

func (s *entries) at(i int) *entry { return &s.pages[i/pageSize][i%pageSize] }

// last is nil if there is none.
func (s *entries) last() *entry {
	if s.n == 0 {
		return nil
	}
	return s.at(s.n - 1)
}

// add adds an entry behind the others.
func (s *entries) add(e entry) {
	if s.n == pageSize*len(s.pages) {
		room := pageSize
		if s.n == 0 { // many runs are short
			room = 8
		}
		s.pages = append(s.pages, make([]entry, 0, room))
	}
	last := &s.pages[len(s.pages)-1]
	*last = append(*last, e)
	s.n++
}

// extend returns the entry that a piece joins: the last one, if the piece has the same in common with others, and comes
// right behind those, or else a new one. first is the event of a piece without Seq and Data.
func (s *entries) extend(first *Event, seq uint64, of *ModelDeltaData) (e *entry, isNew bool) {
	last := s.last()
	if len(s.slab) == cap(s.slab) {
		s.slab = make([]piece, 0, min(slabSize, max(8, 4*cap(s.slab))))
	} else if last != nil && last.pieces != nil && last.Data == any(of) && last.end() == (runs.Cursor{Token: first.Token, Seq: seq - 1}) {
		return last, false
	}
	n := len(s.slab)
	s.add(entry{*first, s.slab[n:n:cap(s.slab)]})
	last = s.last()
	last.Seq, last.Data = seq, of
	return last, true
}

// read makes the events behind a position, up to some.
func (s *entries) read(after runs.Cursor, most int) []Event {
	from := sort.Search(s.n, func(i int) bool { return s.at(i).end().Compare(after) > 0 })
	if from == s.n || most <= 0 {
		return nil
	}
	skip := 0 // of the first entry
	if e := s.at(from); e.Token == after.Token && e.Seq <= after.Seq {
		skip = int(after.Seq - e.Seq + 1)
	}
	events, pieces := -skip, -skip
	for i := from; i < s.n && events < most; i++ {
		e := s.at(i)
		events, pieces = events+e.count(), pieces+len(e.pieces)
	}
	page := make([]Event, 0, min(events, most))
	data := make([]ModelDeltaData, max(0, min(pieces, most)))
	for i := from; len(page) < cap(page); i++ {
		e := s.at(i)
		for k := skip; k < e.count() && len(page) < cap(page); k++ {
			if e.pieces == nil {
				page = append(page, e.Event)
				continue
			}
			page = append(page, e.event(k, &data[0]))
			data = data[1:]
		}
		skip = 0
	}
	return page
}
