package adktest

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/weftgo/weft/adk"
)

// plan says how a run is stopped: at each fault in turn, in one life each.
type plan[M adk.MessageType] struct {
	faults []fault[M]
	then   sequel
}

// fault is one stop: in a way, at a boundary. Boundaries are counted from the life behind the fault before.
type fault[M adk.MessageType] struct {
	way *way[M]
	at  int
}

// sequel says what comes after the first fault of a plan.
type sequel int

const (
	// sameDurability: the run is resumed by a runner like the first.
	sameDurability sequel = iota
	// otherDurability: it is resumed by runners of the other durability.
	otherDurability
	// anotherRun: it is not resumed. Another run begins under its ID, in a runner of the other durability.
	anotherRun
	sequels
)

var sequelNames = [sequels]string{
	"and in the next life", "and, resumed with another durability,", "and, replaced by another run of another durability,",
}

// durability returns the setting for a life behind so many stops, if the first runner has the given one.
func (p *plan[M]) durability(first adk.Durability, stops int) adk.Durability {
	if stops > 0 && (p.then == otherDurability || p.then == anotherRun) {
		return other(first)
	}
	return first
}

// other returns the other durability.
func other(d adk.Durability) adk.Durability {
	if d == adk.EveryStep {
		return adk.OnInterrupt
	}
	return adk.EveryStep
}

// next returns the fault behind so many stops, nil if there is none.
func (p *plan[M]) next(stops int) *fault[M] {
	if stops >= len(p.faults) {
		return nil
	}
	return &p.faults[stops]
}

// stopper is the fault of a life; nil is none.
func (f *fault[M]) stopper(l *life[M]) *stopper {
	if f == nil {
		return nil
	}
	return &stopper{f.at, f.way.usable, f.way.givesUp, func(ctx context.Context) error { return f.way.stop(l, ctx) }}
}

// describe says what the plan does to a run with the given boundaries.
func (p *plan[M]) describe(boundaries []boundaryKind) string {
	first := p.faults[0]
	text := fmt.Sprintf("stopped at boundary %d of %d (%s) by %s", first.at, len(boundaries), boundaries[first.at-1],
		first.way.name)
	if len(p.faults) > 1 {
		text += fmt.Sprintf(", %s at boundary %d by %s", sequelNames[p.then], p.faults[1].at, p.faults[1].way.name)
	}
	return text
}

// ways returns the ways in which the runs of the exploration are stopped.
func (x *explorer[M]) ways() []way[M] {
	if x.TakeOver {
		return []way[M]{takenOver[M]()}
	}
	return ways[M]()
}

// single returns a plan for each boundary and each way to stop there.
func (x *explorer[M]) single() (plans []plan[M]) {
	for i, kind := range x.boundaries {
		if !x.isChosen(i) {
			continue
		}
		for _, w := range x.ways() {
			if w.usable(kind) && w.bearable(x.Durability) {
				plans = append(plans, plan[M]{faults: []fault[M]{{&w, i + 1}}})
			}
		}
	}
	return plans
}

// isChosen reports whether runs are stopped at a boundary one by one.
func (x *explorer[M]) isChosen(i int) bool {
	last, gaps := len(x.boundaries)-1, x.Boundaries-1
	if x.Boundaries <= 0 || gaps >= last {
		return true
	}
	for n := range x.Boundaries {
		if i == n*last/max(gaps, 1) {
			return true
		}
	}
	return false
}

// pairs returns plans of two faults. Half of the second ones come soon: in a resumed run that has hardly begun.
func (x *explorer[M]) pairs() (plans []plan[M]) {
	random := rand.New(rand.NewPCG(1, uint64(len(x.boundaries))))
	for len(plans) < x.Pairs {
		p := plan[M]{then: sequel(random.IntN(int(sequels)))}
		if x.TurnLoop {
			p.then = sameDurability // a TurnLoop has no other
		}
		at := 1 + random.IntN(len(x.boundaries))
		soon := 1 + random.IntN(4)
		if random.IntN(2) == 0 {
			soon = 1 + random.IntN(len(x.boundaries))
		}
		first := x.chosen(random, p.durability(x.Durability, 0), x.boundaries[at-1])
		second := x.chosen(random, p.durability(x.Durability, 1), "")
		p.faults = []fault[M]{{first, at}, {second, soon}}
		plans = append(plans, p)
	}
	return plans
}

// chosen draws a way to stop that a runner of some durability bears, at a boundary if that is given.
func (x *explorer[M]) chosen(random *rand.Rand, durability adk.Durability, kind boundaryKind) *way[M] {
	all := x.ways()
	for {
		w := &all[random.IntN(len(all))]
		if w.bearable(durability) && (kind == "" || w.usable(kind)) {
			return w
		}
	}
}

// bearable reports whether a run of some durability can be resumed after the way.
func (w *way[M]) bearable(d adk.Durability) bool { return d == adk.EveryStep || !w.durable }
