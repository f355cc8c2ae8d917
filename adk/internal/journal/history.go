package journal

import (
	"context"
	"errors"

	"github.com/weftgo/weft/internal/core"
)

// History holds what is recorded of a run, for readers.
type History struct {
	// Run is the document that the run began with.
	Run []byte
	// Steps are the turns and calls since then, in their order. A turn has the messages that were new in it, see
	// [Record.Keep].
	Steps []*Record
}

// ReadHistory reads the records of a run in a store that has a journal, and changes nothing. With an error come the steps
// before the damage. The Run of a journal that has none is nil.
func ReadHistory(ctx context.Context, store core.CheckPointStore, id string) (h History, err error) {
	defer BlameStore(&err)
	j := New(store, id)
	records, err := j.store.ReadRecords(ctx, id)
	entries, damage := decodeAll(records)
	s, _ := sift(entries) // its error is the error of the last stretch
	checkpoints := savings{get: func() ([]byte, error) { return j.saved(ctx) }}
	for _, part := range append(s.before[:len(s.before):len(s.before)], stretch{s.kept, s.life}) {
		kept, gap := intact(part.kept)
		if len(kept) > 0 && h.Run == nil {
			begin, damage := checkpoints.beginning(kept[0].Record)
			if damage != nil {
				return h, ofRun(id, damage)
			}
			h.Run = begin
		}
		whole, damage := checkpoints.unpack(kept)
		if damage != nil {
			return h, ofRun(id, damage)
		}
		for _, e := range whole {
			switch e.Kind {
			case KindStop:
				if e.Gone {
					h = History{}
				}
			case KindTurn, KindStart, KindResult, KindFailed:
				h.Steps = append(h.Steps, e.Record)
			}
		}
		if gap != nil {
			return h, ofRun(id, gap)
		}
		if damage := checkpoints.add(stretch{kept, part.life}); damage != nil {
			return h, ofRun(id, damage)
		}
	}
	return h, errors.Join(err, ofRun(id, damage))
}

// Decode reads a step that was kept elsewhere, such as in a checkpoint.
func Decode(data []byte) (*Record, error) { return decode(data) }

// Encode writes it.
func Encode(r *Record) ([]byte, error) { return encode(r) }

// A Draft is the journal of a run that is not executed yet.
type Draft struct {
	Records [][]byte
	life    string
}

// Begin adds what the run begins with.
func (d *Draft) Begin(run []byte) error {
	d.life = newLife()
	return d.Add(&Record{Kind: KindBegin, Format: Format, Run: run})
}

// Add adds a copy of a record.
func (d *Draft) Add(r *Record) error {
	added := *r
	added.Life, added.N = d.life, len(d.Records)+1
	data, err := encode(&added)
	if err == nil {
		d.Records = append(d.Records, data)
	}
	return err
}
