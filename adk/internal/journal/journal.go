// Package journal records the steps of a run while they happen, so that a run whose process died continues after its
// last step: answers of models and results of tool calls, each under the agent and the call that it belongs to.
//
// Package adk writes to it as its agents work, asks it for what earlier processes recorded, and puts what is not used
// up into the checkpoint of a run that stops. It must never know what an agent is, nor interpret the messages, values
// and actions in its records.
package journal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/internal/delta"
	"github.com/weftgo/weft/runs"
)

// SavingTime limits the time that a store takes to record what has happened already, whether or not the run has ended.
const SavingTime = time.Minute

// ErrClosed is returned by appends after [Journal.Close]: by calls that outlive their run.
var ErrClosed = errors.New("failed to save a step: the run has ended")

// A Journal belongs to one run in one process. It is safe for concurrent use after [Journal.Adopt] or [Journal.Begin].
type Journal struct {
	store runs.Journal
	id    string
	root  Scope
	// OnSaved, if it is set before the first record, is given how many records of this life are saved whenever that
	// changes, with the journal locked.
	OnSaved func(records int)
	// Keep has the records stay when the run stops or ends. It is set before the first record.
	Keep bool
	// fenced: the store is a lease, and only its holder writes.
	fenced bool
	// life is the life of this process.
	life string
	// saved reads the checkpoint that the store has beside the journal.
	saved func(ctx context.Context) ([]byte, error)
	// past holds what Replay found: the last life, how many records there are, and how many bytes they have since the
	// last checkpoint that is whole. stopped: the last life ended with a stop that has the checkpoint, and turns are the
	// turns at that stop.
	past struct {
		life    string
		seen    int
		bytes   int
		stopped bool
		turns   []wholeTurn
	}

	// mu guards all fields below and the fields of scopes, visits and calls. It is held while a record is written, so
	// that the store and what is known here agree. The store must not call back.
	mu sync.Mutex
	// recording: records are written to the store. Without it they are kept here only, for the next checkpoint.
	recording bool
	closed    bool
	// written is the number of records of this life that the store has.
	written int
	// unclear is a record whose append failed, so that it may be there or not. It is appended again before any other. (J5)
	unclear []byte
	// base is the checkpoint that the run continues from, nil if it does from something else, or if this process does not
	// hold it, and turns are those that have all messages. source is made of both when it is needed.
	base   []byte
	turns  [][]byte
	source *delta.Source
	// own are the first records of this life, as they were written, if they are to be remembered; ownFull: no more of them
	// are. ownBytes is how many bytes they have, and bytes how many were written.
	own             [][]byte
	ownFull         bool
	ownBytes, bytes int
	// earlier are the records of earlier processes until they are adopted.
	earlier []*Record
	// known holds what earlier processes recorded, by position of the visit. It does not change after Adopt.
	known map[string]*steps
	// started are the calls that began since the run began, or was resumed from its checkpoint. It does not change after
	// Adopt.
	started map[string]bool
	// begunAgain marks the calls in started that this process has begun once more.
	begunAgain map[string]bool
	// now is known and what this process recorded, without what is used up.
	now map[string]*steps
	// visits are the visits that this process began, by position.
	visits map[string]*Visit
	// resumable are the positions of visits that stopped, by the address at which they are resumed.
	resumable map[string]string
	// begun is the number of messages that the agents of those visits were given, by the position of the visit.
	begun map[string]int
}

// steps are the records of one visit that still matter: its last turn, with all messages, and the calls of that turn.
type steps struct {
	turn  *Record
	calls []*Record
	// last counts the records that were taken until the last one of the visit.
	last int
}

// New makes the journal of a run. A store without a journal of its own gets all records in one value.
func New(store core.CheckPointStore, id string) *Journal {
	j := &Journal{id: id, life: newLife(), started: map[string]bool{}, known: map[string]*steps{}, now: map[string]*steps{}, visits: map[string]*Visit{}}
	_, j.fenced = store.(runs.Lease)
	var ok bool
	if j.store, ok = store.(runs.Journal); !ok {
		j.store = &whole{store: store}
	}
	j.saved = func(ctx context.Context) ([]byte, error) {
		data, exists, err := store.Get(ctx, id)
		if err == nil && !exists {
			err = &runs.NotFoundError{ID: id}
		}
		return data, err
	}
	j.root.journal = j
	return j
}

// Root returns the scope of the run's outermost agent.
func (j *Journal) Root() *Scope { return &j.root }

// Past holds what earlier processes recorded of a run.
type Past struct {
	// Died: there are records, and the run has not stopped.
	Died bool
	// Run is the document that it continues from: the one that it began with, or the checkpoint of a stop. nil: the
	// checkpoint of the store.
	Run []byte
	// Answers are the answers that it was resumed with and that are not used up, by the IDs of interrupt points.
	Answers map[string][]byte
	// End is the end of the run, nil if it has not ended.
	End *End
	// LostCalls were begun by a process that had lost the run to another.
	LostCalls []*Record
	// Steps is the number of steps that were recorded, and Lives how many processes have continued with the run.
	Steps, Lives int
	// Stray: there are records, and none of them began the run. A process that had lost the run wrote them.
	Stray bool
}

// Replay reads the records of earlier processes. [Journal.Adopt] must be called next, and [Journal.Continue] before
// anything else is recorded.
func (j *Journal) Replay(ctx context.Context) (past Past, err error) {
	defer BlameStore(&err)
	s, read, err := j.read(ctx)
	if err != nil || len(s.kept) == 0 {
		return Past{Stray: err == nil && read > 0}, err
	}
	j.past.life = s.life
	checkpoints := savings{get: func() ([]byte, error) { return j.saved(ctx) }}
	for _, part := range s.before {
		if err := checkpoints.add(part); err != nil {
			return past, ofRun(j.id, err)
		}
	}
	if !s.stopped() {
		past, err = j.replayLast(&s, &checkpoints)
		j.past.seen, j.recording, j.past.bytes = read, true, checkpoints.bytes
		return past, ofRun(j.id, err)
	}
	if err = checkpoints.add(stretch{s.kept, s.life}); err == nil && checkpoints.inJournal {
		past.Run, err = checkpoints.whole(checkpoints.sum)
		j.past.stopped, j.past.turns = true, checkpoints.turns
	}
	j.past.bytes = checkpoints.bytes
	return past, ofRun(j.id, err)
}

// replayLast reads the last stretch of a run that has not stopped.
func (j *Journal) replayLast(s *sifted, checkpoints *savings) (past Past, err error) {
	past = Past{Died: true, LostCalls: s.lostCalls(), Answers: map[string][]byte{}}
	if past.Run, err = checkpoints.beginning(s.kept[0].Record); err != nil {
		return past, err
	}
	if s.kept[0].Sum != nil && j.fenced {
		j.remember(past.Run, checkpoints.turns)
	}
	kept, err := checkpoints.unpack(s.kept)
	if err != nil {
		return past, err
	}
	if err := checkpoints.add(stretch{s.kept, s.life}); err != nil {
		return past, err
	}
	for _, e := range kept {
		switch e.Kind {
		case KindBegin, KindLife:
			if e.Kind == KindLife {
				past.Lives++
			}
			for id, answer := range e.Answers {
				if _, answered := past.Answers[id]; !answered { // the first one counts
					past.Answers[id] = answer
				}
			}
		case KindEnd:
			past.End = e.End
		default:
			j.earlier = append(j.earlier, e.Record)
		}
	}
	past.Steps = len(j.earlier)
	return past, nil
}

// read reads what counts, and how many records there are.
func (j *Journal) read(ctx context.Context) (s sifted, read int, err error) {
	records, err := j.store.ReadRecords(ctx, j.id)
	if err != nil {
		return s, 0, err
	}
	entries, err := decodeAll(records)
	if err != nil {
		return s, 0, ofRun(j.id, err)
	}
	s, err = sift(entries)
	return s, len(records), ofRun(j.id, err)
}

// decodeAll decodes records. With an error come those before the one that cannot be read.
func decodeAll(records [][]byte) ([]entry, error) {
	entries := make([]entry, 0, len(records))
	for i, data := range records {
		r, err := decode(data)
		if err == nil {
			err = r.check()
		}
		if err != nil {
			return entries, recordError(i, r, err)
		}
		entries = append(entries, entry{r, data, i})
	}
	return entries, nil
}

// recordError says why a record cannot be used. The record is damaged, unless a newer or another program could read it.
func recordError(index int, r *Record, err error) error {
	e := &runs.DamageError{Record: index + 1, Err: err}
	if r != nil {
		e.Life = r.Life
	}
	if !errors.Is(err, runs.ErrNewerFormat) && !errors.Is(err, runs.ErrUnknownType) {
		e.Err = fmt.Errorf("%w: %w", runs.ErrDamaged, err)
	}
	return e
}

// ofRun names the run in an error about one of its records.
func ofRun(id string, err error) error {
	var record *runs.DamageError
	if errors.As(err, &record) {
		record.Run = id
	}
	return err
}

// Continue says, after Replay, that this process continues with the run, and with which answers. It fails with
// [runs.ErrBusy] if another process was faster. Nothing may happen before. (J1, J4)
func (j *Journal) Continue(ctx context.Context, answers map[string][]byte) (err error) {
	defer BlameStore(&err)
	err = j.append(ctx, &Record{Kind: KindLife, Format: Format, Prev: j.past.life, Seen: j.past.seen, Answers: answers})
	if err != nil || j.fenced {
		return err
	}
	s, _, err := j.read(ctx)
	if err != nil {
		return err
	}
	if s.life != j.life {
		j.Close()
		return fmt.Errorf("%w: another process resumed it at the same time", runs.ErrBusy)
	}
	return nil
}

// Adopt takes over what a checkpoint had of earlier records (see [Journal.Rest]), and then the records that Replay
// read.
func (j *Journal) Adopt(rest Rest) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.resumable, j.begun = maps.Clone(rest.Resumable), maps.Clone(rest.Begun)
	for i, data := range rest.Records {
		r, err := decode(data)
		if err == nil {
			err = take(j.known, r)
			j.known[r.Visit].last = i + 1
		}
		if err != nil {
			return fmt.Errorf("step %d before the checkpoint: %w", i, err)
		}
	}
	for i, r := range j.earlier {
		if r.Kind == KindStart {
			j.started[r.Visit+"!"+r.Call] = true
		}
		if err := take(j.known, r); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
		j.known[r.Visit].last = len(rest.Records) + i + 1
	}
	j.earlier = nil
	for position, s := range j.known {
		j.now[position] = &steps{turn: s.turn, calls: slices.Clone(s.calls)}
	}
	return nil
}

// take adds a record to what is known. A turn leaves only those calls that belong to it or to turns after it, and those
// with an action, which no message has.
func take(known map[string]*steps, r *Record) error {
	s := known[r.Visit]
	if s == nil {
		s = new(steps)
		known[r.Visit] = s
	}
	if r.Kind != KindTurn {
		s.calls = append(s.calls, r)
		return nil
	}
	whole := *r
	if s.turn != nil {
		if r.Keep > len(s.turn.Messages) {
			return errors.New("it keeps more messages than there are")
		}
		before := s.turn.Messages[:r.Keep]
		if r.Keep < len(s.turn.Messages) {
			before = slices.Clip(before)
		}
		whole.Messages = append(before, r.Messages...)
	}
	whole.Keep = 0
	s.turn = &whole
	s.calls = slices.DeleteFunc(s.calls, func(c *Record) bool { return c.Round > r.Remaining && c.Action == nil })
	return nil
}

// Begin starts recording a run that is new, with its input. Records of a run before it under the same ID are removed.
func (j *Journal) Begin(ctx context.Context, run []byte) error {
	return j.begin(ctx, &Record{Kind: KindBegin, Format: Format, Run: run})
}

// From says which checkpoint a run continues from that has stopped. It comes after [Journal.Replay], and before anything is
// recorded.
func (j *Journal) From(checkpoint []byte) {
	if j.fenced {
		j.remember(checkpoint, j.past.turns)
	}
}

// BeginAgain starts recording a run that continues from its checkpoint, with the answers to its questions. Records of the
// stretch that ended with the checkpoint are removed, unless they are kept, or have it.
func (j *Journal) BeginAgain(ctx context.Context, checkpoint []byte, answers map[string][]byte) error {
	begin := &Record{Kind: KindBegin, Format: Format, Run: checkpoint, Answers: answers}
	if j.base != nil {
		begin.Run, begin.Sum = nil, sumOfCheckpoint(j.base)
	}
	return j.begin(ctx, begin)
}

func (j *Journal) begin(ctx context.Context, begin *Record) error {
	if j.Keep || j.past.stopped {
		begin.Prev = j.past.life
	}
	if begin.Prev == "" {
		if err := j.Remove(ctx); err != nil {
			return fmt.Errorf("%w: %w", runs.ErrNotSaved, err)
		}
	}
	j.recording = true
	return j.append(ctx, begin)
}

// Stop records that the run continues from its checkpoint, which must be saved. Nothing is recorded afterwards. It is
// for journals that are kept, also after [Journal.Close].
func (j *Journal) Stop(ctx context.Context) (err error) {
	defer BlameStore(&err)
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.write(ctx, &Record{Kind: KindStop})
}

// End records how the run ended. It is the last record. (J7)
func (j *Journal) End(ctx context.Context, end *End) error {
	return j.append(ctx, &Record{Kind: KindEnd, End: end})
}

// EncodeEnd returns what is kept of a run that has ended, and DecodeEnd reads it.
func EncodeEnd(end *End) ([]byte, error) {
	return encode(&Record{Kind: KindEnd, Format: Format, End: end})
}

// DecodeEnd reads what EncodeEnd wrote.
func DecodeEnd(data []byte) (*End, error) {
	r, err := decode(data)
	if err == nil {
		err = checkFormat(r.Format)
	}
	if err != nil || r.Kind != KindEnd || r.End == nil {
		return nil, errors.Join(errors.New("it is no end of a run"), err)
	}
	return r.End, nil
}

// Remove removes all records from the store.
func (j *Journal) Remove(ctx context.Context) (err error) {
	defer BlameStore(&err)
	return j.store.RemoveRecords(ctx, j.id)
}

// Close ends the journal: what outlives the run must not write to what is left of it, nor to what is saved in its
// place.
func (j *Journal) Close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
}

// alive asks the store whether this process still has the run, as a record that is written does.
func (j *Journal) alive(ctx context.Context) (err error) {
	defer BlameStore(&err)
	lease, ok := j.store.(runs.Lease)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), SavingTime)
	defer cancel()
	return lease.Renew(ctx)
}

// appendDone records what has happened, also when the context has ended meanwhile: it could not be found out later.
func (j *Journal) appendDone(ctx context.Context, r *Record) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), SavingTime)
	defer cancel()
	return j.append(ctx, r)
}

func (j *Journal) append(ctx context.Context, r *Record) (err error) {
	defer BlameStore(&err)
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return ErrClosed
	}
	if err := j.write(ctx, r); err != nil {
		return err
	}
	switch r.Kind {
	// not that it began: one that a cancel gives up is made again without a question
	case KindTurn, KindResult, KindFailed:
		return take(j.now, r)
	}
	return nil
}

// write puts a record into the store, if the run is recorded, with mu locked. After an error it is not known whether the
// record is there: it has its number, and is written again before the next one.
func (j *Journal) write(ctx context.Context, r *Record) error {
	r.Life, r.N = j.life, j.written+1
	if j.unclear != nil {
		r.N++
	}
	visit := j.visits[r.Visit]
	if visit != nil {
		r.Path = visit.path
	}
	if visit != nil && r.Kind == KindTurn {
		r.Begun = visit.begun
	}
	data, err := encode(r)
	if err != nil {
		return fmt.Errorf("%w: step of %s: %w", runs.ErrNotSaved, r.Visit, err)
	}
	if !j.recording {
		return nil
	}
	if data, err = j.pack(r, data); err != nil {
		return fmt.Errorf("%w: step of %s: %w", runs.ErrNotSaved, r.Visit, err)
	}
	for _, next := range [][]byte{j.unclear, data} {
		if next == nil {
			continue
		}
		if err := j.store.AppendRecord(ctx, j.id, next); err != nil {
			j.unclear = next
			return fmt.Errorf("%w: record %d of life %s (%s of %q): %w", runs.ErrNotSaved, r.N, r.Life, r.Kind, r.Visit, err)
		}
		j.unclear = nil
		j.written++
		j.bytes += len(next)
		j.keepOwn(next)
		if j.OnSaved != nil {
			j.OnSaved(j.written)
		}
	}
	if visit != nil {
		visit.path = nil
	}
	return nil
}

// Rest holds what a checkpoint keeps of the journal of a run that stops: the records that its saved state does not
// contain.
type Rest struct {
	Records   [][]byte
	Resumable map[string]string
	Begun     map[string]int
}

// Rest returns what the checkpoint of the run has to keep. The journal must be closed: what is recorded later would be
// lost.
//
// Which records those are depends on how far the visit got that they belong to:
//
//	not begun by this process    all
//	running, abandoned           all; it begins again, and replays them
//	parked                       all; it is resumed with what it was resumed with before
//	suspended                    the calls after its last turn; its saved state has the rest
//	ended                        none, unless it ran in a call that begins again, as a whole or where it was resumed
func (j *Journal) Rest() (rest Rest, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	rest.Resumable = maps.Clone(j.resumable)
	if rest.Resumable == nil {
		rest.Resumable = map[string]string{}
	}
	for _, v := range j.visits {
		delete(rest.Resumable, v.address)
	}
	for position, v := range j.visits {
		if v.resumed && (v.phase != visitEnded || v.scope.isRepeated()) || v.phase == visitParked || v.isSuspended() {
			rest.Resumable[v.address] = position
		}
	}
	rest.Begun = map[string]int{}
	for _, position := range rest.Resumable {
		if v := j.visits[position]; v != nil {
			rest.Begun[position] = v.begun
		} else {
			rest.Begun[position] = j.begun[position]
		}
	}
	for _, position := range slices.Sorted(maps.Keys(j.now)) {
		s := j.now[position]
		v := j.visits[position]
		if v != nil && v.phase == visitEnded && !v.scope.isRepeated() {
			continue
		}
		if s.turn != nil && (v == nil || !v.isSuspended()) {
			if rest.Records, err = appendEncoded(rest.Records, s.turn); err != nil {
				return rest, err
			}
		}
		for _, c := range s.calls {
			if rest.Records, err = appendEncoded(rest.Records, c); err != nil {
				return rest, err
			}
		}
	}
	return rest, nil
}

func appendEncoded(records [][]byte, r *Record) ([][]byte, error) {
	data, err := encode(r)
	if err != nil {
		return nil, fmt.Errorf("step of %s: %w", r.Visit, err)
	}
	return append(records, data), nil
}

// forgetBelow drops what was recorded inside a call that has its result. mu is locked.
func (j *Journal) forgetBelow(scope string) {
	inside := func(position string) bool { return strings.HasPrefix(position, scope) }
	maps.DeleteFunc(j.now, func(position string, _ *steps) bool { return inside(position) })
	maps.DeleteFunc(j.visits, func(position string, _ *Visit) bool { return inside(position) })
}
