package checkpointtest

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/weftgo/weft/adk/checkpoint/storekit"
	"github.com/weftgo/weft/runs"
)

var listRules = []runRule{
	{"filters", listFilters},
	{"filters beside writers", listFiltersBeside},
	{"questions", listQuestions},
	{"order", listOrder},
	{"pages", listPages},
	{"pages beside writers", listPagesBeside},
	{"cursor", listCursor},
	{"stopped", listRunsStopped},
	{"own", listOwn},
}

// listed returns the runs that a query yields.
func (s *subject) listed(q runs.Query) (all []runs.Info) {
	for info, err := range s.List(background, q) {
		if err != nil {
			s.t.Errorf("List(%+v): %v", q, err)
			return all
		}
		all = append(all, info)
	}
	return all
}

// lists requires the IDs that a query yields, in any order, and that Count says the same.
func (s *subject) lists(q runs.Query, want ...string) {
	s.t.Helper()
	var got []string
	byStatus := map[runs.Status]int64{}
	for _, info := range s.listed(q) {
		got = append(got, info.ID)
		byStatus[info.Status]++
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		s.t.Errorf("List(%+v) yields %d runs: %.300q; want %d: %.300q", q, len(got), got, len(want), want)
	}
	counts, err := s.Count(background, q)
	maps.DeleteFunc(counts, func(_ runs.Status, n int64) bool { return n == 0 })
	if err != nil || !maps.Equal(counts, byStatus) {
		s.t.Errorf("Count(%+v) = %v, %v; want %v, as List yields", q, counts, err, byStatus)
	}
}

// population makes runs of all kinds, and returns them.
func (s *subject) population(n int) (all []runs.Info) {
	random := rand.New(rand.NewPCG(1, 2))
	one := func(of ...string) string { return of[random.IntN(len(of))] }
	states := []runs.Status{"", runs.Ready, runs.Waiting, runs.Paused, runs.Done,
		runs.Failed}
	for i := range n {
		id := fmt.Sprintf("run %03d", i)
		s.submit(id, runs.Spec{Agent: one("a", "b", "A"), Queue: one("", "p", "q"), Parent: one("", "run 000",
			"run 00"),
			Key: one("", id, "key "+id), Tags: map[string]string{"x": one("1", "2"), one("y", "z"): one("", "1")}})
		if status := states[random.IntN(len(states))]; status != "" {
			s.settled(id, runs.Settlement{Status: status, Waiting: []runs.Question{
				{ID: "q", Kind: runs.Kind(one("approval", "timer")), For: []string{one("ana", "bob"), "eve"}},
				{ID: "r", Kind: runs.Kind(one("question", "timer")), For: []string{one("ana", "an"), "o'neil%"}}}})
			if status == runs.Waiting && random.IntN(2) == 0 {
				noError(s.t, s.answer(id, "q"))
			}
		}
		if i%7 == 0 {
			s.advance(2 * time.Millisecond)
		}
		all = append(all, s.info(id))
	}
	return all
}

// wanted is the model of a query: it reports whether a run is to be listed.
func wanted(q runs.Query, i runs.Info) bool {
	for _, pair := range [][2]string{{q.Agent, i.Agent}, {q.Queue, i.Queue}, {q.Parent, i.Parent}, {q.Key, i.Key}} {
		if pair[0] != "" && pair[0] != pair[1] {
			return false
		}
	}
	for key, value := range q.Tags {
		if got, ok := i.Tags[key]; !ok || got != value {
			return false
		}
	}
	if len(q.Status) > 0 && !slices.Contains(q.Status, i.Status) ||
		!q.CreatedAfter.IsZero() && !i.Created.After(q.CreatedAfter) ||
		!q.UpdatedBefore.IsZero() && !i.Updated.Before(q.UpdatedBefore) {
		return false
	}
	asked := q.WaitingFor == "" && q.Kind == ""
	for _, p := range i.Waiting {
		asked = asked || !p.Answered && (q.Kind == "" || q.Kind == p.Kind) &&
			(q.WaitingFor == "" || slices.Contains(p.For, q.WaitingFor))
	}
	return asked
}

// listFilters: lists have what they should, for filters alone and together.
func listFilters(s *subject) {
	size := 120
	if isThorough() {
		size = 10_000
	}
	all := s.population(size)
	next := queries(all)
	for range 150 {
		q := next()
		s.lists(q, wantedOf(q, all)...)
	}
}

// listFiltersBeside: runs that do not change are in the lists that they belong to, while others come, change and go.
func listFiltersBeside(s *subject) {
	all := s.population(30)
	s.submit("busy 0", runs.Spec{Agent: "a", Queue: "p"})
	next := queries(all)
	var ended atomic.Bool
	there := make(chan struct{})
	together(3, func(g int) {
		if g > 0 {
			for n := g; !ended.Load(); n += 2 {
				s.comesAndGoes(fmt.Sprint("busy ", n), there)
			}
			return
		}
		defer ended.Store(true)
		for range 25 {
			<-there // one is the last that has changed, for a moment
			q := next()
			want := wantedOf(q, all)
			var got []string
			for _, i := range s.listed(q) {
				if !strings.HasPrefix(i.ID, "busy ") {
					got = append(got, i.ID)
				} else if !wanted(q, i) {
					s.t.Errorf("List(%+v) beside writers yields %+v", q, i)
				}
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				s.t.Errorf("List(%+v) beside writers yields %.300q of the runs that do not change; want %.300q", q, got, want)
			}
		}
	})
}

// comesAndGoes makes a run, changes it, tells the goroutine that waits for that, and removes it.
func (s *subject) comesAndGoes(id string, there chan<- struct{}) {
	_, err := s.Submit(background, id, runs.Spec{Agent: "a", Queue: "p", Tags: map[string]string{"x": "1"}})
	noError(s.t, err)
	noError(s.t, s.Stop(background, id, runs.StopRequest{}))
	select {
	case there <- struct{}{}:
	default:
	}
	time.Sleep(time.Millisecond)
	noError(s.t, s.Remove(background, id, false))
}

// wantedOf are the IDs of runs that a query is to list.
func wantedOf(q runs.Query, all []runs.Info) (ids []string) {
	for _, i := range all {
		if wanted(q, i) {
			ids = append(ids, i.ID)
		}
	}
	return ids
}

// queries returns random queries about runs.
func queries(all []runs.Info) func() runs.Query {
	random := rand.New(rand.NewPCG(3, 4))
	middle := all[len(all)/2]
	some := func() bool { return random.IntN(4) == 0 }
	return func() (q runs.Query) {
		for _, set := range []func(){
			func() { q.Status = []runs.Status{runs.Waiting, runs.Done}[:1+random.IntN(2)] },
			func() { q.Agent = []string{"a", "A", "none"}[random.IntN(3)] },
			func() { q.Queue = []string{"p", "q"}[random.IntN(2)] },
			func() { q.Parent = []string{"run 000", "run 00"}[random.IntN(2)] },
			func() { q.Key = all[random.IntN(len(all))].Key },
			func() { q.WaitingFor = []string{"ana", "an", "eve", "o'neil%", "%"}[random.IntN(5)] },
			func() { q.Kind = []runs.Kind{"approval", "timer", "none"}[random.IntN(3)] },
			func() { q.Tags = map[string]string{"x": "1"} },
			func() { q.Tags = map[string]string{"x": "2", "y": ""} },
			func() { q.CreatedAfter = middle.Created },
			func() { q.UpdatedBefore = middle.Updated },
		} {
			if some() {
				set()
			}
		}
		return q
	}
}

// listQuestions: whom a run waits for is found by questions that have no answer.
func listQuestions(s *subject) {
	s.waiting("one", runs.Question{ID: "q", Kind: "approval", For: []string{"ana"}},
		runs.Question{ID: "r", Kind: "timer", For: []string{"bob", "eve"}})
	s.waiting("two", runs.Question{ID: "q", Kind: "approval", For: []string{"bob"}})
	s.lists(runs.Query{WaitingFor: "bob"}, "one", "two")
	s.lists(runs.Query{WaitingFor: "ana", Kind: "approval"}, "one")
	s.lists(runs.Query{WaitingFor: "ana", Kind: "timer"}) // both of one question
	noError(s.t, s.answer("one", "q"))
	s.lists(runs.Query{WaitingFor: "ana"})
	s.lists(runs.Query{Kind: "approval"}, "two")
	s.settled("two", runs.Settlement{Status: runs.Failed})
	s.lists(runs.Query{WaitingFor: "bob"}, "one")
	s.lists(runs.Query{Status: []runs.Status{runs.Failed}}, "two")
	noError(s.t, s.Remove(background, "one", false))
	s.lists(runs.Query{}, "two")
}

// inListOrder is the order of lists: the run that was updated last comes first, then by ID.
func inListOrder(a, b runs.Info) int {
	return cmp.Or(b.Updated.Compare(a.Updated), strings.Compare(a.ID, b.ID))
}

// listOrder: lists have what Inspect says, in order.
func listOrder(s *subject) {
	want := s.population(40)
	slices.SortFunc(want, inListOrder)
	for n, got := range s.listed(runs.Query{}) {
		if w := want[n]; got.ID != w.ID || got.Status != w.Status || got.Agent != w.Agent ||
			len(got.Waiting) != len(w.Waiting) ||
			!maps.Equal(got.Tags, w.Tags) || got.Token != w.Token || !got.Updated.Equal(w.Updated) || got.Steps != w.Steps {
			s.t.Fatalf("run %d of the list is %+v; want %+v", n, got, w)
		}
	}
	for _, limit := range []int{1, 7, 40, 100} {
		if got := s.listed(runs.Query{Limit: limit}); len(got) != min(limit, 40) || got[0].ID != want[0].ID {
			s.t.Errorf("List with the limit %d yields %d runs", limit, len(got))
		}
	}
}

// paged reads a list page by page, and returns how often each run was in it.
func (s *subject) paged(q runs.Query, between func(page int)) map[string]int {
	s.t.Helper()
	seen := map[string]int{}
	for page := 0; page < 1000; page++ {
		all := s.listed(q)
		if len(all) > q.Limit || !slices.IsSortedFunc(all, inListOrder) {
			s.t.Errorf("page %d has %d runs; want at most %d, in order", page, len(all), q.Limit)
		}
		for _, i := range all {
			seen[i.ID]++
		}
		if len(all) == 0 {
			return seen
		}
		q.After = all[len(all)-1].Page()
		between(page)
	}
	s.t.Error("a list has no last page")
	return seen
}

// listPages: pages have each run once, though many were updated at the same time.
func listPages(s *subject) {
	all := s.population(60)
	for _, limit := range []int{1, 7, 60} {
		for _, q := range []runs.Query{{Limit: limit}, {Limit: limit, Agent: "a"}} {
			seen := s.paged(q, func(int) {})
			for _, i := range all {
				if want := wanted(q, i); (seen[i.ID] == 1) != want || seen[i.ID] > 1 {
					s.t.Errorf("pages of %d have %s %d times; it is to be listed: %v", limit, i.ID, seen[i.ID], want)
				}
			}
		}
	}
}

// listPagesBeside: runs that do not change are listed once, whatever happens to others between pages and beside them.
func listPagesBeside(s *subject) {
	all := s.population(60)
	for i := range 40 {
		s.submit(fmt.Sprint("busy ", i), runs.Spec{})
	}
	var ended atomic.Bool
	together(3, func(g int) {
		if g > 0 {
			for n := g; !ended.Load(); n += 2 {
				_, err := s.Submit(background, fmt.Sprint("new ", n), runs.Spec{})
				noError(s.t, err)
				noError(s.t, s.Remove(background, fmt.Sprint("new ", n), false))
				time.Sleep(time.Millisecond)
			}
			return
		}
		defer ended.Store(true)
		seen := s.paged(runs.Query{Limit: 7}, func(page int) {
			if page < 40 {
				noError(s.t, s.Stop(background, fmt.Sprint("busy ", page), runs.StopRequest{}))
				noError(s.t, s.Remove(background, fmt.Sprint("busy ", 39-page), true))
			}
		})
		for _, i := range all {
			if seen[i.ID] != 1 {
				s.t.Errorf("pages have %s, which did not change, %d times; want once", i.ID, seen[i.ID])
			}
		}
	})
}

// listCursor: a cursor that is none is an error, and Count knows neither cursors nor limits.
func listCursor(s *subject) {
	list := s.population(10)
	for _, bad := range []string{"rubbish", ".", "zz.run 000", "'"} {
		var last error
		for _, err := range s.List(background, runs.Query{After: bad}) {
			last = err
		}
		if last == nil {
			s.t.Errorf("List after the cursor %q: no error", bad)
		}
	}
	all, err := s.Count(background, runs.Query{})
	noError(s.t, err)
	some, err := s.Count(background, runs.Query{After: list[5].Page(), Limit: 2})
	if err != nil || !maps.Equal(all, some) {
		s.t.Errorf("Count of a page = %v, %v; want %v, of all", some, err, all)
	}
}

// listRunsStopped: a loop that breaks off, and writes while it reads, does no harm.
func listRunsStopped(s *subject) {
	s.submit("a", runs.Spec{})
	s.submitLater("b", runs.Spec{})
	for info, err := range s.List(background, runs.Query{}) {
		noError(s.t, err)
		if info.ID != "b" {
			s.t.Errorf("the first run is %q; want the one that was submitted last", info.ID)
		}
		s.settled(info.ID, runs.Settlement{Status: runs.Done})
		break
	}
	s.hasStatus("b", runs.Done)
}

// listOwn: runs of Weft's own are in no list and on no page, are not counted, and are taken by no worker, unless their
// queue is named.
func listOwn(s *subject) {
	s.submit("first", runs.Spec{})
	s.submitLater("own", runs.Spec{Agent: storekit.OwnQueue, Queue: storekit.OwnQueue})
	s.submitLater("last", runs.Spec{})
	s.lists(runs.Query{}, "first", "last")
	s.lists(runs.Query{Agent: storekit.OwnQueue})
	if seen := s.paged(runs.Query{Limit: 1}, func(int) {}); len(seen) != 2 {
		s.t.Errorf("pages of one have %v; want the two runs of others", seen)
	}
	own := runs.Due{Queues: []string{storekit.OwnQueue}}
	s.lists(runs.Query{Queue: storekit.OwnQueue}, "own")
	s.due(runs.Due{}, "first", "last")
	s.nothingDue(runs.Due{})
	s.due(own, "own")
}
