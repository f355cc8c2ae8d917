package chaostest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weftgo/weft/adk/conversation"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/runs"
)

// findings collects findings. It is safe for concurrent use.
type findings struct {
	mu  sync.Mutex // guards all
	all []finding
}

// finding is something that is wrong with a run.
type finding struct {
	run  runID
	what string
}

// add remembers something that is wrong, once for each run and text.
func (f *findings) add(run runID, what string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	found := finding{run, fmt.Sprintf(what, args...)}
	if !slices.Contains(f.all, found) {
		f.all = append(f.all, found)
	}
}

// take returns what was found.
func (f *findings) take() []finding {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.all)
}

// oracle holds what the store and the bank have in the end against what was to come out, for one tenant.
type oracle struct {
	load   *load
	runs   runs.Store
	people *people
	bank   []booking
	// hurried are the processes that were ended in a hurry.
	hurried map[int]bool
	broken  *findings
	// lateEvents: events may be any time on their way to the store, as the network is disturbed.
	lateEvents bool
	// infos are the runs of the tenant, rootOf the submitted runs that they are a part of, and children the children of
	// each run.
	infos    map[string]runs.Info
	rootOf   map[string]*job
	children map[string][]runs.Info
}

func (o *oracle) id(id string) runID { return runID{o.load.tenant, id} }

// check looks at everything.
func (o *oracle) check(ctx context.Context) error {
	if err := o.readRuns(ctx); err != nil {
		return err
	}
	o.checkBookings()
	for _, j := range o.load.jobs() {
		o.checkFamily(j.run.id, j.plan)
		if err := o.checkResult(ctx, j); err != nil {
			return err
		}
	}
	o.checkKeys()
	if err := o.checkTalks(ctx); err != nil {
		return err
	}
	o.checkEvents(ctx)
	return nil
}

// readRuns reads all runs of the tenant, and finds out which belong together.
func (o *oracle) readRuns(ctx context.Context) error {
	o.infos, o.rootOf, o.children = map[string]runs.Info{}, map[string]*job{}, map[string][]runs.Info{}
	for info, err := range o.runs.List(ctx, runs.Query{}) {
		if err != nil {
			return err
		}
		o.infos[info.ID] = info
		o.children[info.Parent] = append(o.children[info.Parent], info)
		if info.Status != runs.Done {
			o.broken.add(o.id(info.ID), "it is %s in the end: %s", info.Status, info.Error)
		}
	}
	for _, j := range o.load.jobs() {
		o.adopt(j, j.run.id)
	}
	for id, info := range o.infos {
		if o.rootOf[id] == nil {
			o.broken.add(o.id(id), "nobody has submitted it; its parent is %q", info.Parent)
		}
	}
	return nil
}

func (o *oracle) adopt(j *job, id string) {
	if _, exists := o.infos[id]; !exists {
		o.broken.add(o.id(id), "it is in no list")
	}
	o.rootOf[id] = j
	for _, child := range o.children[id] {
		o.adopt(j, child.ID)
	}
}

// family are a run and those that it waits for and that wait for it.
func (o *oracle) family(run runID) (all []runID) {
	root := o.rootOf[run.id]
	if root == nil {
		return []runID{run}
	}
	for id, j := range o.rootOf {
		if j == root {
			all = append(all, o.id(id))
		}
	}
	return all
}

// checkBookings: each step was booked once, by the run that it is a step of, and what must not be made twice was asked for
// once.
func (o *oracle) checkBookings() {
	booked := map[string][]booking{}
	for _, b := range o.bank {
		if b.Tenant != o.load.tenant {
			continue
		}
		if !b.again {
			booked[b.Name] = append(booked[b.Name], b)
			continue
		}
		excused := o.hurried[b.before] || o.rootOf[b.Run] != nil && o.people.said.atOnce[o.rootOf[b.Run].run]
		if (b.Do == doPay || b.Do == doRisk) && !excused {
			o.broken.add(b.run(), "%s, which must not be made twice, was made by worker %d and again by worker %d", b.Name, b.before, b.Worker)
		}
	}
	for _, j := range o.load.jobs() {
		j.plan.each(func(s step, inChild bool) {
			made := booked[s.Name]
			delete(booked, s.Name)
			if s.Then != nil {
				return
			}
			if len(made) != 1 {
				o.broken.add(j.run, "%s %s was booked under %d keys", s.Do, s.Name, len(made))
				return
			}
			b := made[0]
			if b.Do != s.Do || o.rootOf[b.Run] != j || (b.Run != j.run.id) != inChild {
				o.broken.add(j.run, "%s %s was booked by run %s as %s", s.Do, s.Name, b.Run, b.Do)
			}
		})
	}
	for name, made := range booked {
		o.broken.add(made[0].run(), "%s was booked, which nobody has to do", name)
	}
}

// checkFamily: a run has the children of its plan, and they had ended when it went on.
func (o *oracle) checkFamily(id string, p plan) {
	if got, want := len(o.children[id]), p.children(); got != want {
		o.broken.add(o.id(id), "it has %d children; its plan has %d", got, want)
	}
	for i, calls := range p {
		for _, s := range calls {
			if s.Do != doClerk || i+1 >= len(p) {
				continue
			}
			last, lastName := o.place(s.Then, false)
			first, firstName := o.place(p[i+1:], true)
			if last >= 0 && first >= 0 && first < last {
				o.broken.add(o.id(id), "it booked %s before its child had booked %s", firstName, lastName)
			}
		}
	}
}

// place is the place where the bank has the first, or the last, booking of a plan, -1 for none.
func (o *oracle) place(p plan, first bool) (at int, name string) {
	names := map[string]bool{}
	p.each(func(s step, _ bool) { names[s.Name] = true })
	at = -1
	for i, b := range o.bank {
		if names[b.Name] && !b.again {
			if at, name = i, b.Name; first {
				break
			}
		}
	}
	return at, name
}

// checkResult: a run says what its calls should have returned, with the answers that were taken.
func (o *oracle) checkResult(ctx context.Context, j *job) error {
	answers := map[string]string{}
	said := o.people.said
	j.plan.each(func(s step, _ bool) {
		taken := said.answers[s.Name]
		switch {
		case s.Do == doAsk && len(taken) != 1, s.Do == doBrief && len(taken) > 1:
			o.broken.add(j.run, "question %s took the answers %q", s.Name, taken)
		case len(taken) == 1:
			answers[s.Name] = taken[0]
		case s.Do == doHook:
			answers[s.Name] = o.heardBy(s.Name)
		}
	})
	info, exists := o.infos[j.run.id]
	if !exists || info.Status != runs.Done {
		return nil // that is known
	}
	result, err := o.people.d.Wait(ctx, j.run.id)
	if err != nil {
		return err
	}
	want := j.plan.says(j.asked, answers)
	if result.Message == nil || result.Message.Content != want {
		o.broken.add(j.run, "it says %v\nand should say %s", result.Message, want)
	}
	return nil
}

// heardBy returns what another program answered at a step, if the answer was taken.
func (o *oracle) heardBy(name string) string {
	for _, b := range o.bank {
		if b.Name != name {
			continue
		}
		if !slices.Contains(o.people.said.hooks[b.run()], b.Says) {
			o.broken.add(b.run(), "%s heard %q, which no other program was told that it was taken", name, b.Says)
		}
		return b.Says
	}
	return ""
}

// checkKeys: of the runs with one key nothing was booked at the same time, and they kept their order.
func (o *oracle) checkKeys() {
	for _, line := range o.load.lines {
		for i := 1; i < len(line); i++ {
			before, after := line[i-1], line[i]
			last, lastName := o.place(before.plan, false)
			if first, firstName := o.place(after.plan, true); first >= 0 && first < last {
				o.broken.add(after.run, "it booked %s before run %s, which has the same key and came before it, booked %s", firstName,
					before.run.id, lastName)
			}
		}
	}
}

// checkTalks: each turn of a conversation is in it once, in its order, with the result of its run.
func (o *oracle) checkTalks(ctx context.Context) error {
	for _, line := range o.load.lines {
		talk := line[0].talk
		if talk == "" {
			continue
		}
		c, err := conversation.New(o.runs, talk)
		if err != nil {
			return err
		}
		var turns, want []string
		for turn, err := range c.Turns(ctx) {
			if err != nil {
				return err
			}
			turns = append(turns, turn.ID+" "+string(turn.Status))
		}
		slices.Reverse(turns) // the newest one comes first
		for _, j := range line {
			want = append(want, j.run.id+" "+string(conversation.Kept))
		}
		if !slices.Equal(turns, want) {
			o.broken.add(line[0].run, "conversation %s has the turns\n%s\nand should have\n%s", talk, strings.Join(turns, "\n"),
				strings.Join(want, "\n"))
		}
	}
	return nil
}

// recorded has the events of a run told with the rest of its story.
func (o *oracle) recorded(ctx context.Context, run runID, s *story) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for e, err := range o.people.d.Events(ctx, run.id, runs.Cursor{}) {
		if err != nil {
			s.add(run, "record", "cannot be read further: %v", err)
			return
		}
		data, err := json.Marshal(e.Data)
		if err != nil {
			data = []byte(err.Error())
		}
		s.addAt(time.UnixMicro(e.T), run, "record", "%s %s %.200s", e.Cursor(), e.Type, data)
	}
}

// checkEvents: the events of each run are one sequence from its beginning to its end.
func (o *oracle) checkEvents(ctx context.Context) {
	var all sync.WaitGroup
	seats := make(chan struct{}, 8)
	for id, info := range o.infos {
		if info.Status != runs.Done {
			continue
		}
		seats <- struct{}{}
		all.Go(func() {
			defer func() { <-seats }()
			ctx, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			if err := o.checkRecord(ctx, id); err != nil {
				o.broken.add(o.id(id), "its events: %v", err)
			}
		})
	}
	all.Wait()
}

// longestLate is the longest delay of the events of a process that was frozen before it had stored them.
const longestLate = 4 * time.Second

func (o *oracle) checkRecord(ctx context.Context, id string) error {
	var last runlog.Event
	for e, err := range o.people.d.Events(ctx, id, runs.Cursor{}) {
		if err != nil {
			return err
		}
		from := e.Seq
		if e.From != 0 {
			from = e.From
		}
		// A process may write until the first event of the one that takes its run over, which counts on from what it has
		// seen.
		overlaps := e.Token > last.Token && from <= last.Seq &&
			(e.Type == runlog.Restarted || e.Type == runlog.RunStart && (o.lateEvents || e.T-last.T < longestLate.Microseconds()))
		if e.Run != id || from != last.Seq+1 && !overlaps || e.Token < last.Token {
			return fmt.Errorf("%s %s (of run %s, from %d) comes behind %s %s", e.Type, e.Cursor(), e.Run, from, last.Type, last.Cursor())
		}
		last = e
	}
	if end, ok := last.Data.(*runlog.RunEndData); !ok || end.Status != runs.Done {
		return fmt.Errorf("the last one is %s %s", last.Type, last.Cursor())
	}
	return nil
}
