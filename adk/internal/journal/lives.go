package journal

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/weftgo/weft/runs"
)

// entry is a record as it stands in the store.
type entry struct {
	*Record
	data  []byte
	index int
}

// sifted holds the records that count, of a journal to which several processes may have written at once.
type sifted struct {
	// before are the stretches that ended with a stop, and that the last one continues.
	before []stretch
	// kept are the records that count, the first one of kind begin. None: there is no journal.
	kept []entry
	// life is the current one.
	life string
	// dropped are the others that stand behind the last begin.
	dropped []entry
}

// stretch holds the records that count of a run from where it began, or continued from its checkpoint, to where it
// stopped.
type stretch struct {
	kept []entry
	life string
}

// sift finds out what counts, by these rules:
//
//   - What stands before the last record of kind begin is of an earlier run (J3), unless that record follows one of kind
//     stop: then it is what the run did before it stopped.
//   - What stands between a record of kind stop and the next one of kind begin is dropped.
//   - The life of that record is the current one, until a record of kind life says that it follows the current one.
//     Then that life is, and what it had not read is dropped. A record of kind life that follows another life is
//     dropped: another process was faster. (J2, J3)
//   - Records of lives that are not the current one are dropped. (J3)
//   - Within a life N counts from 1 without gaps. A record that comes twice, because its append was repeated after an
//     unclear error, counts once. (J5)
func sift(entries []entry) (s sifted, err error) {
	for _, e := range entries {
		switch {
		case e.Kind == KindBegin:
			s = sifted{before: s.stretchesTo(e.Prev), kept: []entry{e}, life: e.Life}
		case len(s.kept) == 0: // of a run that was removed
		case e.Kind == KindLife && e.Prev == s.life && e.Life != s.life && e.Seen > s.kept[0].index:
			read := slices.IndexFunc(s.kept, func(k entry) bool { return k.index >= e.Seen })
			if read >= 0 {
				s.dropped = append(s.dropped, s.kept[read:]...)
				s.kept = s.kept[:read:read]
			}
			s.kept, s.life = append(s.kept, e), e.Life
		case e.Life != s.life, s.stopped():
			s.dropped = append(s.dropped, e)
		case !e.repeats(s.kept):
			s.kept = append(s.kept, e)
		}
	}
	_, err = intact(s.kept)
	return s, err
}

// stopped reports whether the run continues from its checkpoint.
func (s *sifted) stopped() bool { return len(s.kept) > 0 && s.kept[len(s.kept)-1].Kind == KindStop }

// stretchesTo returns the stretches up to the one whose last life it was. Two processes may have continued from the same
// stop.
func (s *sifted) stretchesTo(life string) []stretch {
	all := s.before
	if s.stopped() {
		all = append(all[:len(all):len(all)], stretch{s.kept, s.life})
	}
	return all[:1+slices.IndexFunc(all, func(b stretch) bool { return b.life == life && life != "" })]
}

// repeats reports whether the record is the one before it of its life, again.
func (e entry) repeats(kept []entry) bool {
	last := kept[len(kept)-1]
	return last.Life == e.Life && last.N == e.N && bytes.Equal(last.data, e.data)
}

// intact returns the records before the first gap in a life, and an error if there is one.
func intact(kept []entry) ([]entry, error) {
	next := map[string]int{}
	for i, e := range kept {
		next[e.Life]++
		if e.N != next[e.Life] {
			return kept[:i], &runs.DamageError{Record: e.index + 1, Life: e.Life, Err: fmt.Errorf(
				"%w: it has number %d and stands where number %d belongs", runs.ErrDamaged, e.N, next[e.Life])}
		}
	}
	return kept, nil
}

// lostCalls returns the calls that a life which does not count began or ended, and that are unknown to the lives which
// count: a payment may have been made. (J9)
func (s *sifted) lostCalls() (calls []*Record) {
	if len(s.dropped) == 0 {
		return nil
	}
	key := func(e entry) string { return e.Visit + "!" + e.Call }
	known := map[string]bool{}
	for _, e := range s.kept {
		known[key(e)] = true
	}
	for _, e := range s.dropped {
		if (e.Kind == KindStart || e.Kind == KindResult) && !known[key(e)] {
			known[key(e)] = true
			calls = append(calls, e.Record)
		}
	}
	return calls
}

// newLife is the name of a life: 16 hex digits.
func newLife() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
