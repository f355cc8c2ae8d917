package journal

import (
	"context"
	"errors"

	"github.com/weftgo/weft/internal/core"
)

// History is what is recorded of a run, for those who look at it.
type History struct {
	// Run is what the run began with.
	Run []byte
	// Steps are the turns and calls since then, in their order. A turn has the messages that were new in it, see
	// [Record.Keep].
	Steps []*Record
}

// ReadHistory reads the records of a run, and changes nothing. With an error come the steps before the damage. The Run
// of a journal that has none is nil.
func ReadHistory(ctx context.Context, store core.CheckPointJournal, id string) (h History, err error) {
	defer BlameStore(&err)
	records, err := store.ReadRecords(ctx, id)
	entries, damage := decodeAll(records)
	s, _ := sift(entries) // its error is that of the last stretch
	for i, part := range append(s.before[:len(s.before):len(s.before)], stretch{s.kept, s.life}) {
		kept, gap := intact(part.kept)
		for _, e := range kept {
			switch e.Kind {
			case KindBegin:
				if i == 0 {
					h.Run = e.Run
				}
			case KindTurn, KindStart, KindResult, KindFailed:
				h.Steps = append(h.Steps, e.Record)
			}
		}
		if gap != nil {
			return h, ofRun(id, gap)
		}
	}
	return h, errors.Join(err, ofRun(id, damage))
}

// Decode reads a step that was kept elsewhere, such as in a checkpoint.
func Decode(data []byte) (*Record, error) { return decode(data) }

// Encode writes it.
func Encode(r *Record) ([]byte, error) { return encode(r) }

// A Draft is the journal of a run that nobody executes yet.
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
