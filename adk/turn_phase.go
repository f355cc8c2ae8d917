package adk

import (
	"fmt"
	"sync/atomic"
)

// turnPhase is what a turn of the model has committed. It decides where a run that stops in it goes on.
//
//	from                 to        when                                         a run that stops then
//	notBegun             asked     the turn has taken its input                 takes the turn again
//	notBegun             answered  a resumed run had the answer already         goes on with the hooks after the model
//	notBegun             hooked    a resumed run had run those hooks, too       goes on behind the turn
//	asked                answered  the answer is in the history                 goes on with the hooks after the model
//	asked, answered      hooked    the hooks after the model have run           goes on behind the turn
//	any but notBegun     lost      an event was dropped: the run is to stop     takes the turn again
type turnPhase int32

const (
	turnNotBegun turnPhase = iota
	turnAsked
	turnAnswered
	turnHooked
	turnLost
)

func (p turnPhase) mayBecome(to turnPhase) bool {
	switch to {
	case turnAsked:
		return p == turnNotBegun
	case turnAnswered:
		return p == turnNotBegun || p == turnAsked
	case turnHooked:
		return p != turnLost && p != turnHooked
	case turnLost:
		return p != turnNotBegun && p != turnLost
	}
	return false
}

// turnProgress is the phase of the current turn. The goroutine of the run advances it; whoever emits events may lose it.
type turnProgress struct{ phase atomic.Int32 }

func (t *turnProgress) get() turnPhase { return turnPhase(t.phase.Load()) }

// begin makes it the progress of another turn.
func (t *turnProgress) begin() { t.phase.Store(int32(turnNotBegun)) }

// advance makes a transition of the table. A turn that is lost stays so.
func (t *turnProgress) advance(to turnPhase) {
	for {
		from := t.get()
		if from == turnLost {
			return
		}
		if to == turnLost || !from.mayBecome(to) {
			panic(fmt.Sprintf("adk: a turn cannot go from phase %d to %d", from, to))
		}
		if t.phase.CompareAndSwap(int32(from), int32(to)) {
			return
		}
	}
}

// lose says that an event of the turn was dropped. Outside of a turn it does nothing.
func (t *turnProgress) lose() {
	for {
		from := t.get()
		if !from.mayBecome(turnLost) || t.phase.CompareAndSwap(int32(from), int32(turnLost)) {
			return
		}
	}
}
