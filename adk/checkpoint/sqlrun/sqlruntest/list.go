package sqlruntest

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
)

var listRules = map[string]func(*testing.T, *fixture){
	"filters":                 listFilters,
	"pages while runs change": listPages,
	"tenants":                 tenants,
	"hostile names":           hostileNames,
	"cursor":                  listCursor,
}

// listFilters holds what is found against a search in all runs.
func listFilters(t *testing.T, f *fixture) {
	random := rand.New(rand.NewSource(1))
	pick := func(of ...string) string { return of[random.Intn(len(of))] }
	for i := range 400 {
		id := fmt.Sprintf("%03d", i)
		run := checkpoint.NewRun{Queue: pick("", "q1", "q2"), Agent: pick("a1", "a2"), Parent: pick("", "p")}
		if random.Intn(2) == 0 {
			run.Tags = map[string]string{"user": pick("ana", "bob"), "env": pick("dev", "prod")}
		}
		if random.Intn(10) == 0 {
			run.Key = id
		}
		f.submit(t, id, run)
		if random.Intn(4) == 0 {
			continue
		}
		l := f.take(t, id)
		s := checkpoint.Settlement{Status: checkpoint.Status(pick("ready", "waiting", "waiting", "paused", "done",
			"failed"))}
		if s.Status == checkpoint.Waiting {
			s.Waiting = []checkpoint.WaitPoint{
				{ID: "p", Kind: pick("approval", "timer"), For: []string{pick("ana", "bob")}},
				{ID: "q", Kind: pick("approval", "timer"), For: []string{pick("ana", "bob"), "eve"}}}
		}
		require.NoError(t, l.Settle(t.Context(), s))
		if s.Status == checkpoint.Waiting && random.Intn(2) == 0 {
			require.NoError(t, f.Answer(t.Context(), id, checkpoint.Answer{Point: "p"}))
		}
	}
	var all []checkpoint.RunInfo
	for info, err := range f.List(t.Context(), checkpoint.Query{}) {
		require.NoError(t, err)
		all = append(all, info)
	}
	require.Len(t, all, 400)
	require.True(t, slices.IsSortedFunc(all, func(a, b checkpoint.RunInfo) int { return b.Updated.Compare(a.Updated) }))
	middle := all[200]
	for _, q := range []checkpoint.Query{
		{Status: []checkpoint.Status{checkpoint.Waiting}}, {Status: []checkpoint.Status{checkpoint.Done,
			checkpoint.Ready}},
		{Queue: "q1"}, {Agent: "a2", Queue: "q2"}, {Parent: "p"}, {Key: "007"}, {WaitingFor: "ana"},
		{WaitingFor: "eve"},
		{WaitingFor: "nobody"}, {Kind: "timer"}, {WaitingFor: "bob", Kind: "approval"},
		{Tags: map[string]string{"user": "ana"}},
		{Tags: map[string]string{"user": "bob", "env": "dev"}}, {CreatedAfter: middle.Created},
		{UpdatedBefore: middle.Updated},
		{After: checkpoint.Cursor(middle), Limit: 10}, {WaitingFor: "ana", Limit: 3}, {Limit: 201},
		{Status: []checkpoint.Status{"unheard of"}},
	} {
		var want []string
		counts := map[checkpoint.Status]int64{}
		for _, info := range all {
			if !found(q, info) {
				continue
			}
			counts[info.Status]++
			isBehind := q.After == "" || info.Updated.Before(middle.Updated) || info.Updated.Equal(middle.Updated) &&
				info.ID > middle.ID
			if isBehind && (q.Limit == 0 || len(want) < q.Limit) {
				want = append(want, info.ID)
			}
		}
		require.Equal(t, want, listed(t, f, q), "%+v", q)
		got, err := f.Count(t.Context(), q)
		require.NoError(t, err)
		require.Equal(t, counts, got, "%+v", q)
	}
}

// found is what a query means.
func found(q checkpoint.Query, i checkpoint.RunInfo) bool {
	same := func(want, got string) bool { return want == "" || want == got }
	if len(q.Status) > 0 && !slices.Contains(q.Status, i.Status) || !same(q.Queue, i.Queue) || !same(q.Agent,
		i.Agent) ||
		!same(q.Parent, i.Parent) || !same(q.Key, i.Key) ||
		!q.CreatedAfter.IsZero() && !i.Created.After(q.CreatedAfter) ||
		!q.UpdatedBefore.IsZero() && !i.Updated.Before(q.UpdatedBefore) {
		return false
	}
	for name, value := range q.Tags {
		if i.Tags[name] != value {
			return false
		}
	}
	return q.WaitingFor == "" && q.Kind == "" || slices.ContainsFunc(i.Waiting, func(p checkpoint.WaitPoint) bool {
		return !p.Answered && same(q.Kind, p.Kind) && (q.WaitingFor == "" || slices.Contains(p.For, q.WaitingFor))
	})
}

// listPages: a run that does not change is on one page, whatever the others do.
func listPages(t *testing.T, f *fixture) {
	const runs = 60
	for i := range runs {
		f.submit(t, fmt.Sprint(i), checkpoint.NewRun{})
	}
	times := map[string]int{}
	after := ""
	for page := 0; ; page++ {
		n := 0
		for info, err := range f.List(t.Context(), checkpoint.Query{After: after, Limit: 7}) {
			require.NoError(t, err)
			times[info.ID]++
			after = checkpoint.Cursor(info)
			n++
		}
		if n < 7 {
			break
		}
		f.pass(t, time.Second)
		id := fmt.Sprint(page * 13 % runs)
		if l, err := f.Acquire(t.Context(), id, checkpoint.LeaseRequest{}); assert.NoError(t, err) {
			require.NoError(t, l.Settle(t.Context(), checkpoint.Settlement{Status: checkpoint.Ready}))
			times[id]++ // it may come twice, or not at all
		}
	}
	require.Len(t, times, runs)
}

func listCursor(t *testing.T, f *fixture) {
	for _, err := range f.List(t.Context(), checkpoint.Query{After: "nonsense"}) {
		require.ErrorContains(t, err, "cursor")
	}
	n := 0
	for range 450 {
		f.submit(t, fmt.Sprint(n), checkpoint.NewRun{})
		n++
	}
	require.Len(t, listed(t, f, checkpoint.Query{}), n)
	require.Len(t, listed(t, f, checkpoint.Query{Limit: 399}), 399)
}

// tenants do not see, and not change, what others have.
func tenants(t *testing.T, f *fixture) {
	names := []string{"", "a", "a/", "a:", "%", "%25", "#", "A", strings.Repeat("🧵", 300), strings.Repeat("x", 600),
		"\x00", "a\xff"}
	for i, name := range names {
		s := f.Tenant(name)
		_, err := s.Submit(t.Context(), "id", checkpoint.NewRun{Agent: fmt.Sprint(i),
			Tags: map[string]string{"a": "b"}, Key: "k"})
		require.NoError(t, err, "tenant %q", name)
		require.NoError(t, s.Set(t.Context(), "plain", fmt.Append(nil, i)))
		l, err := s.AcquireDue(t.Context(), checkpoint.LeaseRequest{}, checkpoint.Due{})
		require.NoError(t, err)
		require.Equal(t, name, l.Info().Tenant)
		require.NoError(t, l.AppendRecord(t.Context(), "id", fmt.Append(nil, i)))
		require.NoError(t, l.Settle(t.Context(), checkpoint.Settlement{Status: checkpoint.Waiting,
			Waiting: []checkpoint.WaitPoint{{ID: "p", For: []string{"ana"}}}}))
	}
	for i, name := range names {
		s := f.Tenant(name)
		got, _, err := s.Get(t.Context(), "plain")
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint(i), string(got))
		records(t, s, "id", fmt.Sprint(i))
		for _, q := range []checkpoint.Query{{}, {WaitingFor: "ana"}, {Tags: map[string]string{"a": "b"}}} {
			require.Equal(t, []string{"id"}, listed(t, s, q))
		}
		for info, err := range s.List(t.Context(), checkpoint.Query{}) {
			require.NoError(t, err)
			require.Equal(t, fmt.Sprint(i), info.Agent)
			require.Equal(t, name, info.Tenant)
		}
		switch i % 3 {
		case 0:
			require.NoError(t, s.Answer(t.Context(), "id", checkpoint.Answer{Point: "p"}))
		case 1:
			require.NoError(t, s.Stop(t.Context(), "id", checkpoint.StopRequest{}))
		default:
			require.NoError(t, s.Remove(t.Context(), "id", false))
		}
		counts, err := s.Count(t.Context(), checkpoint.Query{})
		require.NoError(t, err)
		require.Equal(t, []map[checkpoint.Status]int64{{checkpoint.Ready: 1}, {checkpoint.Paused: 1}, {}}[i%3], counts)
	}
}

func hostileNames(t *testing.T, f *fixture) {
	ids := []string{"", " ", "a\x00b", "a\x00", "\xff\xfe", "%", "%00", "#", "#" + strings.Repeat("a", 64), "é",
		"e\u0301", "日本語",
		"日\xe6", strings.Repeat("long", 1000), strings.Repeat("long", 1000) + "!", strings.Repeat("🧵", 300),
		strings.Repeat("%", 400)}
	for i, id := range ids {
		info := f.submit(t, id, checkpoint.NewRun{Agent: id, Queue: id, Key: id, Parent: id, ParentPoint: id,
			Build: id})
		require.Equal(t, []string{id, id, id, id, id, id}, []string{info.ID, info.Agent, info.Queue, info.Key,
			info.Parent, info.Build})
		require.Equal(t, info, f.inspect(t, id))
		l := f.take(t, id)
		require.NoError(t, l.AppendRecord(t.Context(), id, fmt.Append(nil, i)))
		require.NoError(t, l.Settle(t.Context(), checkpoint.Settlement{Status: checkpoint.Waiting, Err: id,
			Waiting: []checkpoint.WaitPoint{{ID: id, Address: id, Kind: id, For: []string{id}}}}))
	}
	for i, id := range ids {
		records(t, f, id, fmt.Sprint(i))
		info := f.inspect(t, id)
		require.Equal(t, checkpoint.WaitPoint{ID: id, Address: id, Kind: id, For: []string{id}}, info.Waiting[0])
		require.Equal(t, id, info.Error)
		if id != "" {
			require.Equal(t, []string{id}, listed(t, f, checkpoint.Query{WaitingFor: id, Kind: id, Key: id, Parent: id,
				Agent: id}))
		}
		require.NoError(t, f.Answer(t.Context(), id, checkpoint.Answer{Point: id, By: id}))
	}
}
