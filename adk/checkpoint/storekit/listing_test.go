package storekit

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/runs"
)

// Each line is a query about one run, with whether it lists the run.
func TestListing_Matches(t *testing.T) {
	created, updated := start, start.Add(time.Hour)
	info := runs.Info{ID: "m", Agent: "writer", Parent: "p", Key: "k", Status: runs.Waiting, Created: created, Updated: updated,
		Tags: map[string]string{"team": "red"}, Waiting: []runs.Question{{ID: "q", Kind: "approval", For: []string{"ana"}},
			{ID: "r", Kind: "form", For: []string{"bob"}, Answered: true}}}
	after := func(at time.Time, id string) string { return fmt.Sprintf("%x.%s", at.UnixMicro(), id) }
	for name, c := range map[string]struct {
		q    runs.Query
		want bool
	}{
		"all":                          {runs.Query{}, true},
		"its status":                   {runs.Query{Status: []runs.Status{runs.Done, runs.Waiting}}, true},
		"another status":               {runs.Query{Status: []runs.Status{runs.Done}}, false},
		"its agent":                    {runs.Query{Agent: "writer"}, true},
		"another agent":                {runs.Query{Agent: "reader"}, false},
		"another parent":               {runs.Query{Parent: "q"}, false},
		"another key":                  {runs.Query{Key: "l"}, false},
		"another queue":                {runs.Query{Queue: "slow"}, false},
		"made after":                   {runs.Query{CreatedAfter: created.Add(-1)}, true},
		"made then":                    {runs.Query{CreatedAfter: created}, false},
		"changed before":               {runs.Query{UpdatedBefore: updated.Add(1)}, true},
		"changed then":                 {runs.Query{UpdatedBefore: updated}, false},
		"its tag":                      {runs.Query{Tags: map[string]string{"team": "red"}}, true},
		"another value of the tag":     {runs.Query{Tags: map[string]string{"team": "blue"}}, false},
		"another tag":                  {runs.Query{Tags: map[string]string{"town": ""}}, false},
		"who is asked":                 {runs.Query{WaitingFor: "ana"}, true},
		"who has answered":             {runs.Query{WaitingFor: "bob"}, false},
		"kind of the question":         {runs.Query{Kind: "approval"}, true},
		"kind of what was answered":    {runs.Query{Kind: "form"}, false},
		"person and kind of different": {runs.Query{WaitingFor: "ana", Kind: "form"}, false},
		"behind one changed later":     {runs.Query{After: after(updated.Add(time.Second), "z")}, true},
		"behind one changed then":      {runs.Query{After: after(updated, "l")}, true},
		"behind itself":                {runs.Query{After: after(updated, "m")}, false},
		"behind a larger ID":           {runs.Query{After: after(updated, "n")}, false},
		"behind one changed before":    {runs.Query{After: after(updated.Add(-time.Second), "a")}, false},
	} {
		l, err := NewListing(c.q)
		require.NoError(t, err, name)
		require.Equal(t, c.want, l.Matches(&info), name)
	}
	own := runs.Info{Queue: OwnQueue}
	require.False(t, new(Listing).Matches(&own), "the store's own runs are in no list")
	require.True(t, (&Listing{Query: runs.Query{Queue: OwnQueue}}).Matches(&own), "unless they are asked for")
	for _, bad := range []string{"x", "zz.id", ".", "1f"} {
		_, err := NewListing(runs.Query{After: bad})
		require.ErrorIs(t, err, ErrBadCursor, bad)
	}
}

// Runs that are due come by priority, then since when, then as they were made. A run of a key waits for the ones before it.
// Rule distributed/D10.
func TestRow_DueOrder(t *testing.T) {
	row := func(born uint64, priority int, since time.Duration, key string) *Row {
		r, err := New(fmt.Sprint(born), runs.Spec{Priority: priority, NotBefore: start.Add(since), Key: key}, born, start)
		require.NoError(t, err)
		return r
	}
	now := start.Add(time.Hour)
	ordered := []*Row{row(9, 2, 5, ""), row(8, 1, 1, ""), row(3, 1, 2, ""), row(4, 1, 2, ""), row(1, 0, 0, "")}
	for i, a := range ordered {
		for j, b := range ordered {
			require.Equal(t, min(max(i-j, -1), 1), InDueOrder(a, b, now), "%d and %d", i, j)
		}
	}
	first, second := row(1, 0, 0, "k"), row(2, 0, 0, "k")
	require.True(t, second.IsBehind(first, now))
	require.False(t, first.IsBehind(second, now))
	require.False(t, first.IsBehind(first, now))
	require.False(t, second.IsBehind(row(1, 0, 0, "l"), now))
	require.False(t, row(2, 0, 0, "").IsBehind(row(1, 0, 0, ""), now))
	take(t, second, 1, now)
	require.True(t, first.IsBehind(second, now), "a younger one that is executed")
	require.NoError(t, second.Settle(runs.Settlement{Status: runs.Done}, runs.Retention{}, now))
	require.False(t, first.IsBehind(second, now))
	take(t, second, 2, now)
	require.True(t, second.BlocksKey(), "it is held, to be continued")
}

// Runs of the store itself are executed by workers that name its queue alone.
func TestRow_IsAmong(t *testing.T) {
	for _, c := range []struct {
		queue, agent string
		due          runs.Due
		want         bool
	}{
		{"", "a", runs.Due{}, true},
		{"slow", "a", runs.Due{}, true},
		{OwnQueue, "a", runs.Due{}, false},
		{OwnQueue, "a", runs.Due{Queues: []string{OwnQueue}}, true},
		{"slow", "a", runs.Due{Queues: []string{"fast"}}, false},
		{"slow", "a", runs.Due{Queues: []string{"fast", "slow"}, Agents: []string{"a"}}, true},
		{"slow", "a", runs.Due{Agents: []string{"b"}}, false},
	} {
		r := newRow(t, runs.Spec{Queue: c.queue, Agent: c.agent})
		require.Equal(t, c.want, r.IsAmong(c.due), "%+v", c)
	}
}
