package adk

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/weftgo/weft/adk/internal/journal"
)

// agentPlace says which of the agents of a workflow one is: its name, and how many before it have that name. It stays the same
// when others are added, removed or moved, so that a run which waits or died finds its agents again.
type agentPlace struct {
	name   string
	before int
}

// planned is an agent of a chain in the order of a round. child is -1 for one that has run and is not there any more.
type planned struct {
	agentPlace
	child int
}

// placesOf are the places of agents that have names, in their order.
func placesOf(names []string) []agentPlace {
	places := make([]agentPlace, len(names))
	for i, name := range names {
		places[i].name = name
		for _, other := range names[:i] {
			if other == name {
				places[i].before++
			}
		}
	}
	return places
}

// places returns the places of the children.
func (w *workflow) places(ctx context.Context) []agentPlace {
	names := make([]string, len(w.children))
	for i, child := range w.children {
		names[i] = child.Name(ctx)
	}
	return placesOf(names)
}

// all are the children in their order.
func (w *workflow) all(ctx context.Context) []planned {
	places := w.places(ctx)
	all := make([]planned, len(places))
	for i, p := range places {
		all[i] = planned{p, i}
	}
	return all
}

// part names the scope of a child in the journal. how tells rounds of a chain from branches.
func (w *workflow) part(how string, p agentPlace) string {
	return how + ":" + strconv.Itoa(p.before) + ":" + url.QueryEscape(w.name) + ":" + url.QueryEscape(p.name)
}

// branchPart marks the places of the branches of a parallel agent.
const branchPart = "p"

// recorded are the children that a journal has something of, the last one at the end.
type recorded struct {
	how string
	agentPlace
}

// recordedIn reads what part wrote. Parts of others are left out.
func (w *workflow) recordedIn(scope *journal.Scope) (all []recorded) {
	for _, name := range scope.Parts() {
		fields := strings.Split(name, ":")
		if len(fields) != 4 || fields[2] != url.QueryEscape(w.name) {
			continue
		}
		before, err := strconv.Atoi(fields[1])
		child, unescaped := url.QueryUnescape(fields[3])
		if err == nil && unescaped == nil {
			all = append(all, recorded{fields[0], agentPlace{child, before}})
		}
	}
	return all
}

// checkRecorded refuses to begin a workflow whose process died, if that would make again what was done: when it was another
// kind of workflow, or the agent that worked last is gone. needs tells which of those that are recorded have to be there.
func (w *workflow) checkRecorded(ctx context.Context, scope *journal.Scope, needs func([]recorded) ([]recorded, error)) error {
	all := w.recordedIn(scope)
	if len(all) == 0 {
		return nil
	}
	needed, err := needs(all)
	if err != nil {
		return err
	}
	places := w.places(ctx)
	for _, r := range needed {
		if !slices.Contains(places, r.agentPlace) {
			return w.gone(r.agentPlace, places)
		}
	}
	return nil
}

// chainParts returns the parts that a chain needs: the last one, as the parts before it had ended.
func (w *workflow) chainParts(all []recorded) ([]recorded, error) {
	last := all[len(all)-1]
	if last.how == branchPart {
		return nil, w.otherKind("side by side")
	}
	return []recorded{last}, nil
}

// branchParts returns the parts that a parallel agent needs: all.
func (w *workflow) branchParts(all []recorded) ([]recorded, error) {
	for _, r := range all {
		if r.how != branchPart {
			return nil, w.otherKind("one after another")
		}
	}
	return all, nil
}

// otherKind is the error of a workflow that was changed into another kind.
func (w *workflow) otherKind(ran string) error {
	return fmt.Errorf("workflow agent '%s' cannot continue: its agents ran %s when the run died; execute the run with the agents "+
		"that it began with, or begin it anew", w.name, ran)
}

// gone is the error of a workflow without an agent that it has to continue with.
func (w *workflow) gone(missing agentPlace, places []agentPlace) error {
	names := make([]string, len(places))
	for i, p := range places {
		names[i] = p.name
	}
	return fmt.Errorf("workflow agent '%s' cannot continue: agent '%s' (number %d of that name), in which the run stopped, is not among its "+
		"agents [%s]; execute the run with it, or begin it anew", w.name, missing.name, missing.before+1, strings.Join(names, ", "))
}

// continueIn makes the plan of the round in which the chain stopped. The agents that had run do not run again, the one
// that ran continues, and then come the others in their order of today; one that was added in front of it has missed its
// turn in this round.
func (r *chainRun) continueIn(order []string) error {
	w, now := &r.agent.workflow, r.agent.places(r.ctx)
	before := placesOf(order)
	stopped := slices.Index(now, before[r.index])
	if stopped < 0 {
		return w.gone(before[r.index], now)
	}
	for i, p := range before[:r.index+1] {
		r.plan = append(r.plan, planned{p, slices.Index(now, before[i])})
	}
	for i, p := range now {
		had, waited := slices.Contains(before[:r.index+1], p), slices.Contains(before[r.index+1:], p)
		if !had && (waited || i > stopped) {
			r.plan = append(r.plan, planned{p, i})
		}
	}
	r.resuming = true
	for range r.round {
		r.extendPath(order)
	}
	r.extendPath(order[:r.index])
	return nil
}

// extendPath adds agents that have run to the path.
func (r *chainRun) extendPath(names []string) {
	for _, name := range names {
		r.path = append(r.path, RunStep{agentName: name})
	}
}
