package journal

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A Scope is a stretch of a run in which agents run: the run itself, one round of a loop, one tool call. What runs
// again when the scope does is found again by the order in which it runs there.
type Scope struct {
	journal *Journal
	parent  *Scope
	// id begins the positions of all visits inside. It is a function of the position in the run alone.
	id string
	// call is the tool call whose scope this is, nil for others.
	call *Call
	// begun counts the visits to an address. Guarded by journal.mu.
	begun map[string]int
}

// Inside returns a scope for one part of s, such as a round of a loop. The name must be unique in s. Of nil it is nil.
func (s *Scope) Inside(name string) *Scope {
	if s == nil {
		return nil
	}
	return &Scope{journal: s.journal, parent: s, id: s.id + name + "/"}
}

// Parts are the names of those parts of s, made by [Scope.Inside], in which earlier processes recorded something, that with
// the last record at the end. Of nil there are none.
func (s *Scope) Parts() (names []string) {
	if s == nil {
		return nil
	}
	last := map[string]int{}
	for position, known := range s.journal.known { // it does not change any more
		inside, is := strings.CutPrefix(position, s.id)
		if name, _, isPart := strings.Cut(inside, "/"); is && isPart {
			last[name] = max(last[name], known.last)
		}
	}
	return slices.SortedFunc(maps.Keys(last), func(a, b string) int { return cmp.Compare(last[a], last[b]) })
}

// Journal returns the journal of the scope.
func (s *Scope) Journal() *Journal { return s.journal }

// innermostCall is the tool call that s is part of, nil if there is none.
func (s *Scope) innermostCall() *Call {
	for ; s != nil; s = s.parent {
		if s.call != nil {
			return s.call
		}
	}
	return nil
}

// isRepeated reports whether s is in a call that begins again, as a whole or from where it was interrupted before, when
// the run is resumed. journal.mu is locked.
func (s *Scope) isRepeated() bool {
	for c := s.innermostCall(); c != nil; c = c.visit.scope.innermostCall() {
		if c.phase == callOpen || c.phase == callParked {
			return true
		}
	}
	return false
}

// visitPhase tracks how far one run of an agent got in this process.
//
//	from     to         when
//	running  ended      it came to its end, or failed
//	running  suspended  it was interrupted, and its state is in the interrupt
//	running  parked     it stopped before it had a state of its own
//
// One that is running when the run is saved was abandoned, with the call that it ran in.
type visitPhase int

const (
	visitRunning visitPhase = iota
	visitEnded
	visitSuspended
	visitParked
)

// A Visit is one run of an agent inside a run.
type Visit struct {
	scope    *Scope
	address  string
	position string
	// path are the names of the agents on the way to it, nil once a record has them. Guarded by scope.journal.mu.
	path []string
	// begun is the number of messages that the agent was given. Guarded by scope.journal.mu.
	begun int
	// resumed: it began as one that continues from an interrupt.
	resumed bool
	phase   visitPhase // guarded by scope.journal.mu
	known   *steps     // of earlier processes
}

// Begin begins a visit of the agent at an address; resumed says that it continues where it was interrupted. path are
// the names of the agents on the way to it.
func (s *Scope) Begin(address string, resumed bool, path ...string) *Visit {
	j := s.journal
	j.mu.Lock()
	defer j.mu.Unlock()
	v := &Visit{scope: s, address: address, resumed: resumed, position: j.resumable[address], path: path}
	if !resumed || v.position == "" {
		if s.begun == nil {
			s.begun = map[string]int{}
		}
		for { // one that was resumed has its position already
			v.position = s.id + address + "#" + strconv.Itoa(s.begun[address])
			s.begun[address]++
			if j.visits[v.position] == nil {
				break
			}
		}
	}
	v.begun = j.begun[v.position]
	if v.known = j.known[v.position]; v.known != nil && v.known.turn != nil {
		v.begun = v.known.turn.Begun
	}
	j.visits[v.position] = v
	return v
}

// Journal returns the journal that the visit is recorded in.
func (v *Visit) Journal() *Journal { return v.scope.journal }

// Position identifies the visit in its run. It is the same whenever the run comes to this point again, in any
// process.
func (v *Visit) Position() string { return v.position }

// Scope returns the scope for agents that run inside, but in no tool call of it.
func (v *Visit) Scope() *Scope {
	return &Scope{journal: v.scope.journal, parent: v.scope, id: v.position + "/"}
}

// End, Suspend and Park say how the visit stopped. What comes first counts.
func (v *Visit) End()     { v.stop(visitEnded) }
func (v *Visit) Suspend() { v.stop(visitSuspended) }
func (v *Visit) Park()    { v.stop(visitParked) }

func (v *Visit) stop(phase visitPhase) {
	j := v.scope.journal
	j.mu.Lock()
	defer j.mu.Unlock()
	if v.phase != visitRunning {
		return
	}
	v.phase = phase
	if phase == visitEnded && v.scope.innermostCall() == nil {
		delete(j.now, v.position)
	}
}

// isSuspended reports whether the state of the visit is in the checkpoint: the state of the call which it runs in must be
// there, too. journal.mu is locked.
func (v *Visit) isSuspended() bool {
	if v.phase != visitSuspended {
		return false
	}
	c := v.scope.innermostCall()
	return c == nil || c.phase == callSuspended && c.visit.isSuspended()
}

// LastTurn returns the last turn that an earlier process recorded, with all messages, nil if there is none.
func (v *Visit) LastTurn() *Record {
	if v.known == nil {
		return nil
	}
	return v.known.turn
}

// Actions returns the actions of the calls whose results an earlier process recorded, by call ID.
func (v *Visit) Actions() map[string]any {
	actions := map[string]any{}
	if v.known != nil {
		for _, r := range v.known.calls {
			if r.Action != nil {
				actions[r.CallID] = r.Action
			}
		}
	}
	return actions
}

// Began says how many messages the agent was given, before its first turn.
func (v *Visit) Began(messages int) {
	j := v.scope.journal
	j.mu.Lock()
	defer j.mu.Unlock()
	v.begun = messages
}

// SaveTurn records a turn. It fills in Kind and Visit, and the journal Begun.
func (v *Visit) SaveTurn(ctx context.Context, r *Record) error {
	r.Kind, r.Visit = KindTurn, v.position
	return v.scope.journal.appendDone(ctx, r)
}

// callPhase tracks how far a tool call got in this process.
//
//	from  to         when
//	open  done       its result is recorded
//	open  suspended  it was interrupted, and its state is in the interrupt
//	open  parked     it had been resumed, and was given up: it is interrupted again with the state that it was resumed with
//
// One that is open when the run is saved is made again.
type callPhase int

const (
	callOpen callPhase = iota
	callDone
	callSuspended
	callParked
)

// A Call is one tool call of a visit.
type Call struct {
	visit  *Visit
	key    string
	round  int
	inside Scope
	phase  callPhase // guarded by the journal's mu
}

// Call returns a call of the visit. key distinguishes it from the others, round is how many turns the agent has left.
func (v *Visit) Call(key string, round int) *Call {
	c := &Call{visit: v, key: key, round: round}
	c.inside = Scope{journal: v.scope.journal, parent: v.scope, id: v.position + "!" + key + "/", call: c}
	return c
}

// Visit returns whose call it is.
func (c *Call) Visit() *Visit { return c.visit }

// Scope returns the scope of what runs in the call.
func (c *Call) Scope() *Scope { return &c.inside }

// Known returns the last record that an earlier process made of the call, nil if there is none.
func (c *Call) Known() (last *Record) {
	if c.visit.known == nil {
		return nil
	}
	for _, r := range c.visit.known.calls {
		if r.Call == c.key {
			last = r
		}
	}
	return last
}

// StartedSince reports whether an earlier process began the call after the run began, or was resumed from its checkpoint:
// what was answered to a question about the call in that checkpoint was said before.
func (c *Call) StartedSince() bool {
	return c.visit.scope.journal.started[c.visit.position+"!"+c.key]
}

// Start records that the call begins. After an error the call must not begin. A call that an earlier process began
// without a result is recorded already: it is no step forward that the run begins it once more, and a count of the deaths
// of its processes must not take it for one.
func (c *Call) Start(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("failed to save a step: %w", err)
	}
	if c.isBegunAgain() {
		return c.visit.scope.journal.alive(ctx)
	}
	err := c.visit.scope.journal.appendDone(ctx, c.record(KindStart))
	if err != nil {
		_ = c.Fail(ctx) // the record may be there, and the call did not begin
	}
	return err
}

// isBegunAgain reports whether the record of an earlier process that the call begins still counts, which it does once: a
// call that fails, and is made again, has a record of its own.
func (c *Call) isBegunAgain() bool {
	last := c.Known()
	if last == nil || last.Kind != KindStart || !c.StartedSince() {
		return false
	}
	j, key := c.visit.scope.journal, c.visit.position+"!"+c.key
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.recording || j.closed || j.begunAgain[key] {
		return false
	}
	if j.begunAgain == nil {
		j.begunAgain = map[string]bool{}
	}
	j.begunAgain[key] = true
	return true
}

// Fail records that the call has no result.
func (c *Call) Fail(ctx context.Context) error {
	return c.visit.scope.journal.appendDone(ctx, c.record(KindFailed))
}

// Suspend says that the call was interrupted, with its state in the interrupt.
func (c *Call) Suspend() { c.stop(callSuspended) }

// Park says that the call was given up, and is interrupted again with the state that it was resumed with.
func (c *Call) Park() { c.stop(callParked) }

// stop makes the transition to phase. What comes first counts.
func (c *Call) stop(phase callPhase) {
	j := c.visit.scope.journal
	j.mu.Lock()
	defer j.mu.Unlock()
	if c.phase == callOpen {
		c.phase = phase
	}
}

// Finish records the result. fill sets its fields.
func (c *Call) Finish(ctx context.Context, fill func(*Record)) error {
	r := c.record(KindResult)
	fill(r)
	j := c.visit.scope.journal
	if err := j.appendDone(ctx, r); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	c.phase = callDone
	j.forgetBelow(c.inside.id)
	return nil
}

func (c *Call) record(kind Kind) *Record {
	return &Record{Kind: kind, Visit: c.visit.position, Call: c.key, Round: c.round}
}
