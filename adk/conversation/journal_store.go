package conversation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/url"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/runs"
)

// The records of a branch lie in segments: journals with so many records or bytes at most. A segment that is full is
// never written to again; what was appended to it all the same does not count. The next one begins with a record that has
// the state of the branch, so that what lies before it need not be read.
const (
	segmentRecords = 64
	segmentBytes   = 256 << 10
)

// journalPrefix is the prefix of the IDs of all journals of conversations.
const journalPrefix = "conversation/"

// journalStore keeps conversations in journals. It has no state but what it remembers of them, and is safe for concurrent
// use.
type journalStore struct {
	journal runs.Journal
	list    runs.Lister

	mu sync.Mutex // guards last, read and readBytes
	// last is the last segment of a branch that was seen, by its prefix. It may be behind.
	last map[string]int
	// read holds the records that were read of segments, by the ID of the journal, and readBytes how many bytes that has.
	// It may be behind.
	read      map[string]readRecords
	readBytes int
}

const (
	// mostRemembered is the number of branches that a store remembers the last segments of.
	mostRemembered = 10_000
	// mostRead is the number of bytes that are remembered of what was read.
	mostRead = 8 << 20
)

// readRecords are records that were read, and what the last one was in the store.
type readRecords struct {
	records []sizedRecord
	last    []byte
}

// sizedRecord is a record that is so many bytes long. It does not change.
type sizedRecord struct {
	*record
	size int
}

// records reads a segment. What was read of it before is not read again, but for its last record: that this is still
// where it was says that the segment was not removed since.
func (s *journalStore) records(ctx context.Context, prefix string, n int) ([]sizedRecord, error) {
	id := segmentID(prefix, n)
	s.mu.Lock()
	known := s.read[id]
	s.mu.Unlock()
	var more [][]byte
	var err error
	if at := len(known.records); at > 0 {
		if more, err = core.ReadRecordsFrom(ctx, s.journal, id, at-1); err != nil {
			return nil, err
		}
		if len(more) > 0 && bytes.Equal(more[0], known.last) {
			more = more[1:]
		} else {
			known, more = readRecords{}, nil
		}
	}
	if len(known.records) == 0 {
		if more, err = s.journal.ReadRecords(ctx, id); err != nil {
			return nil, err
		}
	}
	known.records = slices.Clip(known.records)
	for _, data := range more {
		r, err := decodeRecord(data)
		if err != nil {
			return nil, fmt.Errorf("record %d of segment %d: %w", len(known.records)+1, n, err)
		}
		known.records, known.last = append(known.records, sizedRecord{r, len(data)}), data
	}
	s.remember(id, known)
	return known.records, nil
}

// remember keeps what was read of a segment.
func (s *journalStore) remember(id string, read readRecords) {
	size := func(r readRecords) (n int) {
		for _, r := range r.records {
			n += r.size
		}
		return n
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readBytes += size(read) - size(s.read[id])
	s.read[id] = read
	if len(read.records) == 0 {
		delete(s.read, id)
	}
	if s.readBytes > mostRead {
		clear(s.read)
		s.readBytes = 0
	}
}

// NewStore makes a store for conversations of a store for checkpoints, which must keep journals: the stores of package
// adk/checkpoint do. So one store has both: in memory, in files, in a database. Nothing in it is rewritten: every change
// appends a record, which is durable when the method returns. A change costs what it is long, and reading what is read,
// however long the conversation is. [Store.List] needs a store that lists, too (runs.Lister), and reads a little
// of each conversation. A store that has a method Conversations() conversation.Store decides for itself.
func NewStore(store adk.CheckPointStore) (Store, error) {
	if own, ok := store.(interface{ Conversations() Store }); ok {
		return own.Conversations(), nil
	}
	journal, ok := store.(runs.Journal)
	if !ok {
		return nil, fmt.Errorf("the store (%T) keeps no journals: use one that implements adk.CheckPointJournal", store)
	}
	lister, _ := store.(runs.Lister)
	return &journalStore{journal: journal, list: lister, last: map[string]int{}, read: map[string]readRecords{}}, nil
}

// prefixOf returns the prefix of the IDs of the segments of a branch.
func prefixOf(id string, branch Branch) string {
	return journalPrefix + url.PathEscape(id) + "/" + url.PathEscape(string(branch)) + "/"
}

func segmentID(prefix string, n int) string { return fmt.Sprintf("%s%d", prefix, n) }

func (s *journalStore) lastSeen(prefix string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last[prefix]
}

func (s *journalStore) saw(prefix string, segment int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.last) >= mostRemembered {
		clear(s.last)
	}
	if s.last[prefix] = segment; segment == 0 {
		delete(s.last, prefix)
	}
}

// segment holds what was read of a journal.
type segment struct {
	// start is the state at the beginning, nil if the segment has not begun; state is the one at the end.
	start *laneState
	state laneState
	full  bool
	// appended are the turns that count, with the positions from start.Head+1 on.
	appended []*record
}

// readSegment reads a segment up to its end, or up to the record with an ID. found reports whether that is there, and
// counted whether it counts.
func (s *journalStore) readSegment(
	ctx context.Context, prefix string, n int, id string,
) (seg segment, found, counted bool, err error) {
	all, err := s.records(ctx, prefix, n)
	if err != nil {
		return seg, false, false, err
	}
	records, size := 0, 0 // since the first one that counts
	for _, sized := range all {
		r := sized.record
		counts := false
		switch {
		case seg.start == nil && r.Kind == recordBegin && r.State != nil:
			start := r.State.clone()
			seg.start, seg.state, counts = &start, r.State.clone(), true
		case seg.start != nil:
			if counts = seg.state.apply(r); counts && r.Kind == recordAppend {
				seg.appended = append(seg.appended, r)
			}
		}
		if r.ID == id {
			return seg, true, counts, nil
		}
		if seg.start != nil && r.Kind != recordBegin {
			records, size = records+1, size+sized.size
		}
		if records >= segmentRecords || size >= segmentBytes {
			seg.full = true
			break
		}
	}
	return seg, false, false, nil
}

// place is the end of a branch: the segment that the next record goes to, and the state.
type place struct {
	prefix  string
	segment int
	seg     segment
	// begun reports whether the segment has its first record. If not, seg.state is that at the end of the one before.
	begun bool
}

// locate finds the end of a branch: from the segment that was last seen, in leaps, so that a branch of which nothing is
// known costs the logarithm of its length.
func (s *journalStore) locate(ctx context.Context, prefix string) (p place, err error) {
	p.prefix = prefix
	read := func(n int) (segment, error) {
		seg, _, _, err := s.readSegment(ctx, prefix, n, "")
		return seg, err
	}
	n := s.lastSeen(prefix)
	seg, err := read(n)
	if err == nil && seg.start == nil && n > 0 { // it was deleted, and perhaps made again
		n = 0
		seg, err = read(0)
	}
	if err != nil || !seg.full {
		p.segment, p.seg, p.begun = n, seg, seg.start != nil
		return p, err
	}
	below, step := n, 1 // is full
	full := seg
	above := -1 // is not full
	for above < 0 || below+1 < above {
		next := below + step
		if above >= 0 {
			next = (below + above) / 2
		}
		if seg, err = read(next); err != nil {
			return p, err
		}
		if seg.full {
			below, full, step = next, seg, 2*step
			continue
		}
		above = next
		p.seg, p.begun = seg, seg.start != nil
	}
	p.segment = above
	if !p.begun {
		p.seg = segment{state: full.state}
	}
	s.saw(prefix, above)
	return p, nil
}

// find locates a branch for reading. A conversation that does not exist is an empty place.
func (s *journalStore) find(ctx context.Context, id string, branch Branch) (p place, err error) {
	main, err := s.locate(ctx, prefixOf(id, Main))
	if err != nil {
		return p, err
	}
	gone := main.seg.state.isGone(time.Now())
	switch {
	case branch == Main && gone:
		return place{prefix: main.prefix}, nil
	case branch == Main:
		return main, nil
	}
	at, forked := main.seg.state.Forks[branch]
	if gone || !forked {
		return p, fmt.Errorf("branch %q: %w", branch, ErrNoBranch)
	}
	p, err = s.locate(ctx, prefixOf(id, branch))
	if err == nil && p.seg.state.Life == "" {
		p.seg.state = laneState{Life: main.seg.state.Life, Fork: at, Head: at.At}
	}
	return p, err
}

// change appends a record to a branch and returns the state that it is in with it, and whether the record counts. One
// that would not count is not appended.
func (s *journalStore) change(ctx context.Context, id string, branch Branch, r *record) (laneState, bool, error) {
	for {
		p, err := s.find(ctx, id, branch)
		if err != nil {
			return laneState{}, false, err
		}
		if p.seg.state.Life == "" {
			if err := s.begin(ctx, id, Info{ID: id}); err != nil && !errors.Is(err, ErrExists) {
				return laneState{}, false, err
			}
			continue
		}
		if ahead := p.seg.state.clone(); !ahead.apply(r) {
			return p.seg.state, false, nil
		}
		if !p.begun {
			if err := s.write(ctx, p, &record{Kind: recordBegin, State: &p.seg.state}); err != nil {
				return laneState{}, false, err
			}
		}
		if err := s.write(ctx, p, r); err != nil {
			return laneState{}, false, err
		}
		seg, found, counted, err := s.readSegment(ctx, p.prefix, p.segment, r.ID)
		switch {
		case err != nil || found:
			return seg.state, counted, err
		case !seg.full:
			return seg.state, false, errors.New("it was deleted meanwhile")
		}
	}
}

// begin makes a conversation. What is left of one that is gone is removed before.
func (s *journalStore) begin(ctx context.Context, id string, info Info) error {
	p, err := s.locate(ctx, prefixOf(id, Main))
	if err != nil {
		return err
	}
	if p.seg.state.Life != "" {
		if !p.seg.state.isGone(time.Now()) {
			return ErrExists
		}
		if err := s.remove(ctx, id, p); err != nil {
			return err
		}
		p = place{prefix: p.prefix}
	}
	state := laneState{Life: uuid.NewString(), Info: &info, Updated: info.Created}
	r := &record{Kind: recordBegin, State: &state}
	if info.Created.IsZero() {
		info.Created = time.Now().UTC()
		state.Updated = info.Created
	}
	if err := s.write(ctx, p, r); err != nil {
		return err
	}
	seg, found, counted, err := s.readSegment(ctx, p.prefix, p.segment, r.ID)
	if err == nil && !(found && counted && seg.state.Life == state.Life) {
		err = ErrExists
	}
	return err
}

// write appends a record to a segment.
func (s *journalStore) write(ctx context.Context, p place, r *record) error {
	r.Format, r.ID, r.At = recordFormat, uuid.NewString(), time.Now().UTC()
	data, err := r.encode()
	if err != nil {
		return err
	}
	return s.journal.AppendRecord(ctx, segmentID(p.prefix, p.segment), data)
}

// remove removes all segments of a conversation, the main branch last, and of each branch the first segment last: what is
// left of it when the process dies is removed by the next call that removes it.
func (s *journalStore) remove(ctx context.Context, id string, main place) error {
	for name := range main.seg.state.Forks {
		lane, err := s.locate(ctx, prefixOf(id, name))
		if err == nil {
			err = s.removeLane(ctx, lane)
		}
		if err != nil {
			return err
		}
	}
	// It may have been made again meanwhile: the process that does so removes what was there before.
	if now, err := s.locate(ctx, main.prefix); err != nil || now.seg.state.Life != main.seg.state.Life {
		return err
	}
	return s.removeLane(ctx, main)
}

func (s *journalStore) removeLane(ctx context.Context, p place) error {
	for n := p.segment; n >= 0; n-- {
		if err := s.journal.RemoveRecords(ctx, segmentID(p.prefix, n)); err != nil {
			return err
		}
	}
	s.saw(p.prefix, 0)
	return nil
}

// failed says which conversation an error is about.
func failed(id string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("conversation %q: %w", id, err)
}

// Create implements Store.
func (s *journalStore) Create(ctx context.Context, info Info) (Info, error) {
	info.Created = time.Now().UTC()
	info.Updated, info.Tags = info.Created, maps.Clone(info.Tags)
	if err := s.begin(ctx, info.ID, info); err != nil {
		return Info{}, failed(info.ID, err)
	}
	return info, nil
}

// Get implements Store.
func (s *journalStore) Get(ctx context.Context, id string) (Info, bool, error) {
	p, err := s.find(ctx, id, Main)
	if err != nil || p.seg.state.Life == "" {
		return Info{}, false, failed(id, err)
	}
	return p.seg.state.info(), true, nil
}

func (s *laneState) info() Info {
	info := *s.Info
	info.Updated = s.Updated
	return info
}

// List implements Store.
func (s *journalStore) List(ctx context.Context, q Query) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		found, err := s.found(ctx, q)
		if err != nil {
			yield(Info{}, fmt.Errorf("listing conversations: %w", err))
			return
		}
		for _, info := range found {
			if !yield(info, nil) {
				return
			}
		}
	}
}

// found are the conversations of a query, the one updated last first.
func (s *journalStore) found(ctx context.Context, q Query) (found []Info, err error) {
	ids, err := s.ids(ctx)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		info, ok, err := s.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		if ok && q.matches(info) {
			found = append(found, info)
		}
	}
	slices.SortFunc(found, func(a, b Info) int { return strings.Compare(b.Cursor(), a.Cursor()) })
	if q.Limit > 0 && len(found) > q.Limit {
		found = found[:q.Limit]
	}
	return found, nil
}

// ids lists the conversations that have records.
func (s *journalStore) ids(ctx context.Context) (ids []string, err error) {
	if s.list == nil {
		return nil, fmt.Errorf("the store (%T) does not list: use one that implements adk.CheckPointLister", s.journal)
	}
	for info, err := range s.list.ListCheckPoints(ctx, journalPrefix) {
		if err != nil {
			return nil, err
		}
		escaped, main := strings.CutSuffix(strings.TrimPrefix(info.ID, journalPrefix), "//0")
		if id, err := url.PathUnescape(escaped); main && err == nil {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// Sweep implements Sweeper.
func (s *journalStore) Sweep(ctx context.Context, limit int) (swept Swept, err error) {
	ids, err := s.ids(ctx)
	if err != nil {
		return swept, fmt.Errorf("sweeping conversations: %w", err)
	}
	for _, id := range ids {
		p, err := s.locate(ctx, prefixOf(id, Main))
		if err != nil {
			return swept, failed(id, err)
		}
		if p.seg.state.Life == "" || !p.seg.state.isGone(time.Now()) {
			continue
		}
		if swept.Conversations == limit {
			swept.More = true
			return swept, nil
		}
		if err := s.remove(ctx, id, p); err != nil {
			return swept, failed(id, err)
		}
		swept.Conversations++
	}
	return swept, nil
}

func (q *Query) matches(i Info) bool {
	for k, v := range q.Tags {
		if have, ok := i.Tags[k]; !ok || have != v {
			return false
		}
	}
	return (q.User == "" || q.User == i.User) && (q.After == "" || i.Cursor() < q.After)
}

// Delete implements Store.
func (s *journalStore) Delete(ctx context.Context, id string) error {
	p, err := s.locate(ctx, prefixOf(id, Main))
	if err == nil && p.seg.state.Life != "" && !p.seg.state.isGone(time.Now()) {
		// From this record on there is none, for all processes; the rest is cleaning up.
		if _, _, err = s.change(ctx, id, Main, &record{Kind: recordDelete}); err == nil {
			p, err = s.locate(ctx, p.prefix)
		}
	}
	if err == nil && p.seg.state.Life != "" {
		err = s.remove(ctx, id, p)
	}
	return failed(id, err)
}

// Lane implements Store.
func (s *journalStore) State(ctx context.Context, id string, branch Branch) (BranchState, error) {
	p, err := s.find(ctx, id, branch)
	if err != nil {
		return BranchState{}, failed(id, err)
	}
	lane, err := p.seg.state.lane()
	return lane, failed(id, err)
}

// Append implements Store.
func (s *journalStore) Append(ctx context.Context, id string, branch Branch, a NewTurn) (Position, error) {
	if a.Kind == "" {
		a.Kind = Exchange
	}
	a.Status, a.Position = Kept, 0
	payload, err := EncodeTurn(a.Turn)
	if err != nil {
		return 0, failed(id, fmt.Errorf("turn %s: %w", a.ID, err))
	}
	r := &record{Kind: recordAppend, Turn: a.ID, Key: a.Key, Head: a.Head, Covers: a.Covers, TurnKind: a.Kind,
		payload: payload}
	if a.Kind == Rewind {
		if r.Compacted, err = s.compactedAt(ctx, id, branch, a.Covers); err != nil {
			return 0, err
		}
	}
	state, counts, err := s.change(ctx, id, branch, r)
	if err != nil || counts {
		return state.Head, failed(id, err)
	}
	return s.refused(ctx, id, branch, a, state)
}

// compactedAt is the position of the newest compaction that counts up to a turn of a branch, 0 if the branch itself has
// none. It reads what is behind the turn, and more only if something else counts there than at the head.
func (s *journalStore) compactedAt(ctx context.Context, id string, branch Branch, at Position) (Position, error) {
	lane, err := s.State(ctx, id, branch)
	if err != nil {
		return 0, err
	}
	sameAsNow := lane.Compacted <= at
	for t, err := range s.Turns(ctx, id, branch, 0) {
		if err != nil {
			return 0, err
		}
		if t.Position <= at || !sameAsNow {
			break
		}
		sameAsNow = t.Kind != Rewind
	}
	if sameAsNow {
		return lane.Compacted, nil
	}
	for t, err := range standing(ctx, s, id, branch, at) {
		switch {
		case err != nil:
			return 0, err
		case t.Position <= lane.ForkedAt:
			return 0, nil
		case t.Kind == Compaction:
			return t.Position, nil
		}
	}
	return 0, nil
}

// refused finds out why a turn was not appended: that it is there already is no error.
func (s *journalStore) refused(ctx context.Context, id string, branch Branch, a NewTurn, state laneState) (Position, error) {
	behind := a.Head
	if slices.Contains(state.Recent, a.ID) {
		behind = 0
	}
	for t, err := range s.Turns(ctx, id, branch, 0) {
		if err != nil {
			return 0, err
		}
		if t.Position <= behind {
			break
		}
		if t.ID == a.ID {
			return t.Position, nil
		}
	}
	switch {
	case a.Key != "":
		return 0, failed(id, fmt.Errorf("turn %s: %w", a.ID, ErrLost))
	case a.Head == state.Head && a.Kind == Rewind && state.OpenKey != "":
		return 0, failed(id, state.isOpen(id, branch))
	case a.Head == state.Head: // a compaction, or a rewind
		return 0, failed(id, fmt.Errorf("a %s up to turn %d: %w", a.Kind, a.Covers, ErrNoPosition))
	}
	return 0, &HeadMovedError{Conversation: id, Branch: branch, Expected: a.Head, Head: state.Head}
}

// SetOpen implements Store.
func (s *journalStore) SetOpen(ctx context.Context, id string, branch Branch, before string, open *OpenTurn) error {
	r := &record{Kind: recordOpen, Before: before}
	if open != nil {
		payload, err := EncodeTurn(open.Turn)
		if err != nil {
			return failed(id, fmt.Errorf("turn %s: %w", open.ID, err))
		}
		r.Turn, r.Key, r.payload = open.ID, open.Key, payload
	}
	state, counts, err := s.change(ctx, id, branch, r)
	if err != nil || counts {
		return failed(id, err)
	}
	if before != "" {
		return failed(id, ErrLost)
	}
	return failed(id, state.isOpen(id, branch))
}

// Turns implements Store.
func (s *journalStore) Turns(ctx context.Context, id string, branch Branch, from Position) iter.Seq2[Turn, error] {
	return func(yield func(Turn, error) bool) {
		for {
			p, err := s.find(ctx, id, branch)
			if err != nil {
				yield(Turn{}, failed(id, err))
				return
			}
			at := p.seg.state.Fork
			if from == 0 || from > p.seg.state.Head {
				from = p.seg.state.Head
			}
			if from > at.At && !s.turnsOf(ctx, id, p, from, yield) {
				return
			}
			if from = min(from, at.At); from <= 0 || branch == Main {
				return
			}
			branch = at.Parent
		}
	}
}

// turnsOf yields the turns of one branch from a position on backwards. It reports whether the caller reads on.
func (s *journalStore) turnsOf(
	ctx context.Context, id string, p place, from Position, yield func(Turn, error) bool,
) bool {
	last := p.segment // that has begun
	if !p.begun {
		last--
	}
	n := last
	if !p.begun || p.seg.start.Head >= from {
		var failure error
		n = sort.Search(last+1, func(i int) bool { // the first one that begins behind the position
			seg, _, _, err := s.readSegment(ctx, p.prefix, i, "")
			failure = errors.Join(failure, err)
			return err != nil || seg.start == nil || seg.start.Head >= from
		}) - 1
		if failure != nil {
			return yield(Turn{}, failed(id, failure)) && false
		}
	}
	for ; n >= 0; n-- {
		seg := p.seg
		if n != p.segment {
			var err error
			if seg, _, _, err = s.readSegment(ctx, p.prefix, n, ""); err != nil {
				return yield(Turn{}, failed(id, err)) && false
			}
		}
		if seg.start != nil && !seg.yieldTurns(id, from, yield) {
			return false
		}
	}
	return true
}

// yieldTurns yields the turns of a segment from a position on backwards.
func (seg *segment) yieldTurns(id string, from Position, yield func(Turn, error) bool) bool {
	for i, r := range slices.Backward(seg.appended) {
		at := seg.start.Head + Position(i) + 1
		if at > from {
			continue
		}
		t, err := DecodeTurn(r.payload)
		if err != nil {
			return yield(Turn{}, failed(id, fmt.Errorf("turn %d: %w", at, err))) && false
		}
		if t.Position = at; !yield(t, nil) {
			return false
		}
	}
	return true
}

// Fork implements Store.
func (s *journalStore) Fork(ctx context.Context, id string, from Branch, at Position, name Branch) error {
	parent, err := s.State(ctx, id, from)
	switch {
	case err != nil:
		return err
	case at < 0 || at > parent.Head:
		return failed(id, fmt.Errorf("forking behind turn %d: %w", at, ErrNoPosition))
	case parent.Depth >= MaxDepth:
		return failed(id, fmt.Errorf("branch %q: %w", name, ErrTooDeep))
	case name == Main:
		return failed(id, fmt.Errorf("branch %q: %w", name, ErrBranchExists))
	}
	f := fork{Name: name, Parent: from, At: at, Depth: parent.Depth + 1}
	state, counts, err := s.change(ctx, id, Main, &record{Kind: recordFork, Fork: &f})
	if err == nil && !counts && state.Forks[name] != f {
		err = fmt.Errorf("branch %q: %w", name, ErrBranchExists)
	}
	return failed(id, err)
}
