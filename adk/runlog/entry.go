package runlog

import "sort"

// entry is an event in memory, or pieces of one answer that follow each other. Most events of most runs are such pieces:
// they are kept as that in which they differ, and made into events for whoever reads them.
type entry struct {
	// Event is the event. Of pieces it is the first one, and its Data what all of them have.
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

// delta is a text that is to be recorded. of is what it has in common with others of its answer, which have the same
// pointer.
type delta struct {
	of   *ModelDeltaData
	text string
}

// count is how many events it is.
func (e *entry) count() int { return max(1, len(e.pieces)) }

// end is the position of the last event.
func (e *entry) end() Cursor { return Cursor{e.Token, e.Seq + uint64(e.count()) - 1} }

// size estimates the memory in bytes.
func (e *entry) size() int {
	n := sizeOf(&e.Event) + pieceSize*len(e.pieces)
	for i := range e.pieces {
		n += len(e.pieces[i].text)
	}
	return n
}

// event is the i-th event. Of a piece, data becomes its Data.
func (e *entry) event(i int, data *ModelDeltaData) Event {
	if e.pieces == nil {
		return e.Event
	}
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
	// slab is where pieces are: those of an entry are next to each other.
	slab []piece
}

const (
	// pageSize is how many entries are kept in one piece of memory, slabSize how many pieces.
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

// addPiece adds a piece that is the event first but for its Data: to the last entry, or one of its own. It reports whether
// that is new.
func (s *entries) addPiece(first *Event, d delta) (isNew bool) {
	last := s.last()
	more := last != nil && last.pieces != nil && last.Data == any(d.of) && last.end() == Cursor{first.Token, first.Seq - 1}
	if len(s.slab) == cap(s.slab) {
		s.slab, more = make([]piece, 0, min(slabSize, max(8, 4*cap(s.slab)))), false
	}
	s.slab = append(s.slab, piece{d.text, first.T})
	n := len(s.slab)
	if more {
		last.pieces = s.slab[n-1-len(last.pieces) : n]
		return false
	}
	e := entry{*first, s.slab[n-1 : n]}
	e.Data = d.of
	s.add(e)
	return true
}

// read makes the events behind a position, up to some.
func (s *entries) read(after Cursor, most int) []Event {
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
	data := make([]ModelDeltaData, max(0, min(pieces, most))+1)
	for i := from; len(page) < cap(page); i++ {
		e := s.at(i)
		for k := skip; k < e.count() && len(page) < cap(page); k++ {
			page = append(page, e.event(k, &data[0]))
			if e.pieces != nil {
				data = data[1:]
			}
		}
		skip = 0
	}
	return page
}
