package journal

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/weftgo/weft/internal/delta"
	"github.com/weftgo/weft/runs"
)

// A run that stops again and again, such as at a question in every step, would write all that was said until then each time:
// its checkpoint when it stops, what it begins from when it continues, and a turn of each agent that is resumed. Instead of
// these, the journal of a run that this process holds has
//
//   - in a stop, how its checkpoint is made of the checkpoint of the stop before and of the records between,
//   - in a begin, the sum of that checkpoint,
//   - in a turn that repeats much of it, how the turn is made of it.
//
// So what is written grows with what is said. What is read grows, too: when there are most times as many bytes in the
// journal as in the checkpoint, the whole of that is saved, and the journal begins again.
const (
	most = 4
	// leastPacked is below which a record is written as it is.
	leastPacked = 1 << 10
	// mostOwn bounds the bytes of records that are remembered for the next stop.
	mostOwn = 1 << 20
	// mostTurns is the number of turns that are remembered that have all messages of a visit.
	mostTurns = 8
)

// sumOfCheckpoint tells one checkpoint from another.
func sumOfCheckpoint(data []byte) []byte {
	sum := sha256.Sum256(data)
	return sum[:16]
}

// errOtherCheckpoint says that what was put together is not what was saved.
var errOtherCheckpoint = errors.New("the checkpoint is not the one that the journal continues from")

// savings are the checkpoints that a run was saved with, one after the other.
type savings struct {
	// get reads the checkpoint that the store has beside the journal.
	get func() ([]byte, error)
	// last is the last one. It is in the journal from the first one on that a stop has; before, known says that it was read
	// from the store.
	last      delta.Value
	inJournal bool
	known     bool
	// sum is the sum of the last one, nil if it is not known.
	sum []byte
	// turns are the last ones of visits that have all messages: packed records are made of the checkpoint and of them.
	turns []wholeTurn
	// bytes is the size of the records that stand behind the last one that is whole.
	bytes int
}

// wholeTurn is a record of a turn that has all messages of a visit.
type wholeTurn struct {
	visit string
	data  delta.Value
}

// current is the last checkpoint.
func (s *savings) current() (*delta.Value, error) {
	if s.known || s.inJournal {
		return &s.last, nil
	}
	data, err := s.get()
	if err == nil {
		s.last, s.known = delta.Of(data), true
	}
	return &s.last, err
}

// whole puts the last checkpoint together, whose sum must be the one that is given.
func (s *savings) whole(sum []byte) ([]byte, error) {
	v, err := s.current()
	if err != nil {
		return nil, err
	}
	data := v.Bytes()
	if !bytes.Equal(sumOfCheckpoint(data), sum) {
		return nil, fmt.Errorf("%w: %w", runs.ErrDamaged, errOtherCheckpoint)
	}
	return data, nil
}

// add takes over the result of a stretch.
func (s *savings) add(part stretch) error {
	turns := slices.Clip(s.turns)
	for _, e := range part.kept {
		s.bytes += len(e.data)
		if e.Kind != KindTurn || e.Keep > 0 || len(e.data) < leastPacked && e.Attached == "" {
			continue
		}
		data, err := s.expand(e)
		if err != nil {
			return err
		}
		turns = slices.DeleteFunc(slices.Clone(turns), func(t wholeTurn) bool { return t.visit == e.Visit })
		turns = append(turns, wholeTurn{e.Visit, data})
	}
	s.turns = turns[max(0, len(turns)-mostTurns):]
	if len(part.kept) == 0 || part.kept[len(part.kept)-1].Kind != KindStop {
		return nil
	}
	stop := part.kept[len(part.kept)-1]
	switch stop.Attached {
	case AttachedWhole:
		*s = savings{get: s.get, last: delta.Of(stop.attached), inJournal: true, sum: stop.Sum}
	case AttachedPatch:
		before, err := s.current()
		if err != nil {
			return err
		}
		source := delta.Join(*before, delta.Of(ownIn(part.kept, stop)...))
		if s.last, err = source.Apply(stop.attached); err != nil {
			return recordError(stop.index, stop.Record, err)
		}
		s.inJournal, s.sum = true, stop.Sum
	default:
		*s = savings{get: s.get}
	}
	return nil
}

// ownIn are the records of a stretch that the checkpoint of its stop is made of, as they are in the journal.
func ownIn(kept []entry, stop entry) (own [][]byte) {
	for _, e := range kept {
		if e.Life == stop.Life && len(own) < stop.Seen {
			own = append(own, e.data)
		}
	}
	return own
}

// source returns the value that the packed records of the next stretch are made of.
func (s *savings) source() (delta.Value, error) {
	checkpoint, err := s.current()
	if err != nil {
		return delta.Value{}, err
	}
	all := []delta.Value{*checkpoint}
	for _, t := range s.turns {
		all = append(all, t.data)
	}
	return delta.Join(all...), nil
}

// expand returns the bytes of a record of the stretch that follows, of which the journal may have only what is new in it.
func (s *savings) expand(e entry) (data delta.Value, err error) {
	if e.Attached != AttachedRecord {
		return delta.Of(e.data), nil
	}
	source, err := s.source()
	if err != nil {
		return data, err
	}
	if data, err = source.Apply(e.attached); err != nil {
		err = recordError(e.index, e.Record, err)
	}
	return data, err
}

// unpack returns the records of the stretch that follows with whole ones instead of those that are packed.
func (s *savings) unpack(kept []entry) ([]entry, error) {
	kept = slices.Clone(kept)
	for i, e := range kept {
		if e.Attached != AttachedRecord {
			continue
		}
		data, err := s.expand(e)
		if err != nil {
			return nil, err
		}
		whole, err := decode(data.Bytes())
		if err != nil {
			return nil, recordError(e.index, e.Record, err)
		}
		kept[i].Record = whole
	}
	return kept, nil
}

// beginning returns the checkpoint that a stretch begins from.
func (s *savings) beginning(begin *Record) ([]byte, error) {
	if begin.Sum != nil {
		return s.whole(begin.Sum)
	}
	if begin.Run == nil {
		return []byte{}, nil
	}
	return begin.Run, nil
}

// remember has the stretch that follows continue from these checkpoints. mu is locked, or no one else has the journal.
func (j *Journal) remember(checkpoint []byte, turns []wholeTurn) {
	j.base, j.turns = checkpoint, nil
	for _, t := range turns {
		j.turns = append(j.turns, t.data.Bytes())
	}
}

// pack returns what is written of a record.
func (j *Journal) pack(r *Record, data []byte) ([]byte, error) {
	if j.base == nil || r.Kind != KindTurn || len(data) < leastPacked {
		return data, nil
	}
	if j.source == nil {
		j.source = delta.NewSource(append([][]byte{j.base}, j.turns...)...)
	}
	head := &Record{Kind: r.Kind, Life: r.Life, N: r.N, Visit: r.Visit, Keep: r.Keep, Attached: AttachedRecord, attached: j.source.Patch(data)}
	packed, err := encode(head)
	if err != nil || len(packed) > len(data)/2 {
		return data, err
	}
	return packed, nil
}

// keepOwn remembers a record of this life that was written, for the next stop.
func (j *Journal) keepOwn(data []byte) {
	if j.base != nil && !j.ownFull && j.ownBytes+len(data) <= mostOwn {
		j.own, j.ownBytes = append(j.own, data), j.ownBytes+len(data)
		return
	}
	j.ownFull = true
}

// StopAt records that the run continues from this checkpoint, which the record has, and reports whether it does. If it
// does not, nothing is recorded, and the checkpoint is to be saved instead of the journal. Nothing is recorded
// afterwards. The store must be a lease. It may also be called for journals without further records, and for closed ones.
func (j *Journal) StopAt(ctx context.Context, checkpoint []byte) (saved bool, err error) {
	defer BlameStore(&err)
	j.mu.Lock()
	defer j.mu.Unlock()
	stop := &Record{Kind: KindStop, Sum: sumOfCheckpoint(checkpoint), Gone: !j.Keep, Attached: AttachedWhole, attached: checkpoint}
	if j.base != nil {
		patch := delta.NewSource(append([][]byte{j.base}, j.own...)...).Patch(checkpoint)
		if written := j.past.bytes + j.bytes + len(patch); len(patch) <= len(checkpoint)/2 && written <= most*len(checkpoint) {
			stop.Attached, stop.attached, stop.Seen = AttachedPatch, patch, len(j.own)
		}
	}
	if stop.Attached == AttachedWhole && !j.Keep {
		return false, nil
	}
	if !j.recording {
		j.recording = true
		begin := &Record{Kind: KindBegin, Format: Format, Prev: j.past.life, Run: []byte{}}
		if j.base != nil {
			begin.Run, begin.Sum = nil, sumOfCheckpoint(j.base)
		}
		if err := j.write(ctx, begin); err != nil {
			return false, err
		}
	}
	return true, j.write(ctx, stop)
}
