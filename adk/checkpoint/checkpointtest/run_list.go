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

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/checkpoint/storekit"
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

// listed is what a query yields.
func (s *subject) listed(q checkpoint.Query) (runs []checkpoint.RunInfo) {
	for info, err := range s.List(background, q) {
		if err != nil {
			s.t.Errorf("List(%+v): %v", q, err)
			return runs
		}
		runs = append(runs, info)
	}
	return runs
}

// lists requires the IDs that a query yields, in any order, and that Count says the same.
func (s *subject) lists(q checkpoint.Query, want ...string) {
	s.t.Helper()
	var got []string
	byStatus := map[checkpoint.Status]int64{}
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
	maps.DeleteFunc(counts, func(_ checkpoint.Status, n int64) bool { return n == 0 })
	if err != nil || !maps.Equal(counts, byStatus) {
		s.t.Errorf("Count(%+v) = %v, %v; want %v, as List yields", q, counts, err, byStatus)
	}
}

// population makes runs of all kinds, and returns them.
func (s *subject) population(n int) (runs []checkpoint.RunInfo) {
	random := rand.New(rand.NewPCG(1, 2))
	one := func(of ...string) string { return of[random.IntN(len(of))] }
	states := []checkpoint.Status{"", checkpoint.Ready, checkpoint.Waiting, checkpoint.Paused, checkpoint.Done,
		checkpoint.Failed}
	for i := range n {
		id := fmt.Sprintf("run %03d", i)
		s.submit(id, checkpoint.NewRun{Agent: one("a", "b", "A"), Queue: one("", "p", "q"), Parent: one("", "run 000",
			"run 00"),
			Key: one("", id, "key "+id), Tags: map[string]string{"x": one("1", "2"), one("y", "z"): one("", "1")}})
		if status := states[random.IntN(len(states))]; status != "" {
			s.settled(id, checkpoint.Settlement{Status: status, Waiting: []checkpoint.WaitPoint{
				{ID: "q", Kind: one("approval", "timer"), For: []string{one("ana", "bob"), "eve"}},
				{ID: "r", Kind: one("question", "timer"), For: []string{one("ana", "an"), "o'neil%"}}}})
			if status == checkpoint.Waiting && random.IntN(2) == 0 {
				noError(s.t, s.answer(id, "q"))
			}
		}
		if i%7 == 0 {
			s.advance(2 * time.Millisecond)
		}
		runs = append(runs, s.info(id))
	}
	return runs
}

// wanted is the model of a query: it reports whether a run is to be listed.
func wanted(q checkpoint.Query, i checkpoint.RunInfo) bool {
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
	runs := s.population(size)
	next := queries(runs)
	for range 150 {
		q := next()
		s.lists(q, wantedOf(q, runs)...)
	}
}

// listFiltersBeside: runs that do not change are in the lists that they belong to, while others come, change and go.
func listFiltersBeside(s *subject) {
	runs := s.population(30)
	s.submit("busy 0", checkpoint.NewRun{Agent: "a", Queue: "p"})
	next := queries(runs)
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
			want := wantedOf(q, runs)
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

// comesAndGoes makes a run, changes it, says so to whoever waits for that, and removes it.
func (s *subject) comesAndGoes(id string, there chan<- struct{}) {
	_, err := s.Submit(background, id, checkpoint.NewRun{Agent: "a", Queue: "p", Tags: map[string]string{"x": "1"}})
	noError(s.t, err)
	noError(s.t, s.Stop(background, id, checkpoint.StopRequest{}))
	select {
	case there <- struct{}{}:
	default:
	}
	time.Sleep(time.Millisecond)
	noError(s.t, s.Remove(background, id, false))
}

// wantedOf are the IDs of runs that a query is to list.
func wantedOf(q checkpoint.Query, runs []checkpoint.RunInfo) (ids []string) {
	for _, i := range runs {
		if wanted(q, i) {
			ids = append(ids, i.ID)
		}
	}
	return ids
}

// queries returns random queries about runs.
func queries(runs []checkpoint.RunInfo) func() checkpoint.Query {
	random := rand.New(rand.NewPCG(3, 4))
	middle := runs[len(runs)/2]
	some := func() bool { return random.IntN(4) == 0 }
	return func() (q checkpoint.Query) {
		for _, set := range []func(){
			func() { q.Status = []checkpoint.Status{checkpoint.Waiting, checkpoint.Done}[:1+random.IntN(2)] },
			func() { q.Agent = []string{"a", "A", "none"}[random.IntN(3)] },
			func() { q.Queue = []string{"p", "q"}[random.IntN(2)] },
			func() { q.Parent = []string{"run 000", "run 00"}[random.IntN(2)] },
			func() { q.Key = runs[random.IntN(len(runs))].Key },
			func() { q.WaitingFor = []string{"ana", "an", "eve", "o'neil%", "%"}[random.IntN(5)] },
			func() { q.Kind = []string{"approval", "timer", "none"}[random.IntN(3)] },
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
	s.waiting("one", checkpoint.WaitPoint{ID: "q", Kind: "approval", For: []string{"ana"}},
		checkpoint.WaitPoint{ID: "r", Kind: "timer", For: []string{"bob", "eve"}})
	s.waiting("two", checkpoint.WaitPoint{ID: "q", Kind: "approval", For: []string{"bob"}})
	s.lists(checkpoint.Query{WaitingFor: "bob"}, "one", "two")
	s.lists(checkpoint.Query{WaitingFor: "ana", Kind: "approval"}, "one")
	s.lists(checkpoint.Query{WaitingFor: "ana", Kind: "timer"}) // both of one question
	noError(s.t, s.answer("one", "q"))
	s.lists(checkpoint.Query{WaitingFor: "ana"})
	s.lists(checkpoint.Query{Kind: "approval"}, "two")
	s.settled("two", checkpoint.Settlement{Status: checkpoint.Failed})
	s.lists(checkpoint.Query{WaitingFor: "bob"}, "one")
	s.lists(checkpoint.Query{Status: []checkpoint.Status{checkpoint.Failed}}, "two")
	noError(s.t, s.Remove(background, "one", false))
	s.lists(checkpoint.Query{}, "two")
}

// inListOrder is the order of lists: the run that was updated last comes first, then by ID.
func inListOrder(a, b checkpoint.RunInfo) int {
	return cmp.Or(b.Updated.Compare(a.Updated), strings.Compare(a.ID, b.ID))
}

// listOrder: lists have what Inspect says, in order.
func listOrder(s *subject) {
	want := s.population(40)
	slices.SortFunc(want, inListOrder)
	for n, got := range s.listed(checkpoint.Query{}) {
		if w := want[n]; got.ID != w.ID || got.Status != w.Status || got.Agent != w.Agent ||
			len(got.Waiting) != len(w.Waiting) ||
			!maps.Equal(got.Tags, w.Tags) || got.Token != w.Token || !got.Updated.Equal(w.Updated) || got.Steps != w.Steps {
			s.t.Fatalf("run %d of the list is %+v; want %+v", n, got, w)
		}
	}
	for _, limit := range []int{1, 7, 40, 100} {
		if got := s.listed(checkpoint.Query{Limit: limit}); len(got) != min(limit, 40) || got[0].ID != want[0].ID {
			s.t.Errorf("List with the limit %d yields %d runs", limit, len(got))
		}
	}
}

// paged reads a list page by page, and returns how often each run was in it.
func (s *subject) paged(q checkpoint.Query, between func(page int)) map[string]int {
	s.t.Helper()
	seen := map[string]int{}
	for page := 0; page < 1000; page++ {
		runs := s.listed(q)
		if len(runs) > q.Limit || !slices.IsSortedFunc(runs, inListOrder) {
			s.t.Errorf("page %d has %d runs; want at most %d, in order", page, len(runs), q.Limit)
		}
		for _, i := range runs {
			seen[i.ID]++
		}
		if len(runs) == 0 {
			return seen
		}
		q.After = checkpoint.Cursor(runs[len(runs)-1])
		between(page)
	}
	s.t.Error("a list has no last page")
	return seen
}

// listPages: pages have each run once, though many were updated at the same time.
func listPages(s *subject) {
	runs := s.population(60)
	for _, limit := range []int{1, 7, 60} {
		for _, q := range []checkpoint.Query{{Limit: limit}, {Limit: limit, Agent: "a"}} {
			seen := s.paged(q, func(int) {})
			for _, i := range runs {
				if want := wanted(q, i); (seen[i.ID] == 1) != want || seen[i.ID] > 1 {
					s.t.Errorf("pages of %d have %s %d times; it is to be listed: %v", limit, i.ID, seen[i.ID], want)
				}
			}
		}
	}
}

// listPagesBeside: runs that do not change are listed once, whatever happens to others between pages and beside them.
func listPagesBeside(s *subject) {
	runs := s.population(60)
	for i := range 40 {
		s.submit(fmt.Sprint("busy ", i), checkpoint.NewRun{})
	}
	var ended atomic.Bool
	together(3, func(g int) {
		if g > 0 {
			for n := g; !ended.Load(); n += 2 {
				_, err := s.Submit(background, fmt.Sprint("new ", n), checkpoint.NewRun{})
				noError(s.t, err)
				noError(s.t, s.Remove(background, fmt.Sprint("new ", n), false))
				time.Sleep(time.Millisecond)
			}
			return
		}
		defer ended.Store(true)
		seen := s.paged(checkpoint.Query{Limit: 7}, func(page int) {
			if page < 40 {
				noError(s.t, s.Stop(background, fmt.Sprint("busy ", page), checkpoint.StopRequest{}))
				noError(s.t, s.Remove(background, fmt.Sprint("busy ", 39-page), true))
			}
		})
		for _, i := range runs {
			if seen[i.ID] != 1 {
				s.t.Errorf("pages have %s, which did not change, %d times; want once", i.ID, seen[i.ID])
			}
		}
	})
}

// listCursor: a cursor that is none is an error, and Count knows neither cursors nor limits.
func listCursor(s *subject) {
	runs := s.population(10)
	for _, bad := range []string{"rubbish", ".", "zz.run 000", "'"} {
		var last error
		for _, err := range s.List(background, checkpoint.Query{After: bad}) {
			last = err
		}
		if last == nil {
			s.t.Errorf("List after the cursor %q: no error", bad)
		}
	}
	all, err := s.Count(background, checkpoint.Query{})
	noError(s.t, err)
	some, err := s.Count(background, checkpoint.Query{After: checkpoint.Cursor(runs[5]), Limit: 2})
	if err != nil || !maps.Equal(all, some) {
		s.t.Errorf("Count of a page = %v, %v; want %v, of all", some, err, all)
	}
}

// listRunsStopped: a loop that breaks off, and writes while it reads, harms nobody.
func listRunsStopped(s *subject) {
	s.submit("a", checkpoint.NewRun{})
	s.submitLater("b", checkpoint.NewRun{})
	for info, err := range s.List(background, checkpoint.Query{}) {
		noError(s.t, err)
		if info.ID != "b" {
			s.t.Errorf("the first run is %q; want the one that was submitted last", info.ID)
		}
		s.settled(info.ID, checkpoint.Settlement{Status: checkpoint.Done})
		break
	}
	s.hasStatus("b", checkpoint.Done)
}

// listOwn: runs of Weft's own are in no list and on no page, are not counted, and are taken by no worker, unless their
// queue is named.
func listOwn(s *subject) {
	s.submit("first", checkpoint.NewRun{})
	s.submitLater("own", checkpoint.NewRun{Agent: storekit.OwnQueue, Queue: storekit.OwnQueue})
	s.submitLater("last", checkpoint.NewRun{})
	s.lists(checkpoint.Query{}, "first", "last")
	s.lists(checkpoint.Query{Agent: storekit.OwnQueue})
	if seen := s.paged(checkpoint.Query{Limit: 1}, func(int) {}); len(seen) != 2 {
		s.t.Errorf("pages of one have %v; want the two runs of others", seen)
	}
	own := checkpoint.Due{Queues: []string{storekit.OwnQueue}}
	s.lists(checkpoint.Query{Queue: storekit.OwnQueue}, "own")
	s.due(checkpoint.Due{}, "first", "last")
	s.nothingDue(checkpoint.Due{})
	s.due(own, "own")
}
