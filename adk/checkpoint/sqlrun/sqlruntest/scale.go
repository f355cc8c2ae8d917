package sqlruntest

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint/sqlrun"
	"github.com/weftgo/weft/runs"
)

// Scale tests that what workers and lists ask for costs the same however many runs a store keeps that have ended, that wait
// and that are due later, and that the database reads no whole table for it. The test gives the database no statistics of
// the tables: open returns it as users have it.
func Scale(t *testing.T, open func(t *testing.T) sqlrun.Config) {
	conf := open(t)
	f := newFixture(t, conf)
	conf.AutoMigrate = true
	withItsClock, err := sqlrun.New(t.Context(), conf)
	require.NoError(t, err)
	defer func() { require.NoError(t, withItsClock.Close()) }()
	f.Store = withItsClock
	size := 20_000
	if os.Getenv("WEFT_THOROUGH") != "" {
		size = 100_000
	}
	few := size / 10
	f.populate(t, 0, few)
	before := f.measure(t)
	f.populate(t, few, size)
	after := f.measure(t)
	for _, what := range asked {
		limit := 3*before[what.name] + 3*time.Millisecond
		for again := 0; after[what.name] > limit && again < 20; again++ { // a vacuum, or what else the machine does, passes
			time.Sleep(250 * time.Millisecond)
			after[what.name] = min(after[what.name], f.least(t, what.do))
		}
		t.Logf("%-28s %8.2f ms with %d runs of each, %8.2f ms with %d", what.name, ms(before[what.name]), few, ms(after[what.name]), size)
		if after[what.name] > limit {
			t.Errorf("%s takes %v with %d runs of each kind, and %v with %d; want it to be flat", what.name, before[what.name], few,
				after[what.name], size)
		}
	}
	f.plansReadNoTable(t, "as the database was opened")
	_, err = conf.DB.ExecContext(t.Context(), "ANALYZE") // servers do that by themselves, at any time
	require.NoError(t, err)
	f.plansReadNoTable(t, "with statistics of the tables")
}

func (f *fixture) plansReadNoTable(t *testing.T, when string) {
	t.Helper()
	plans, err := f.Plans(t.Context())
	require.NoError(t, err)
	for name, plan := range plans {
		if whole := wholeTable.FindString(plan); whole != "" {
			t.Errorf("%s, %s reads a whole table (%s):\n%s", when, name, strings.TrimSpace(whole), plan)
		}
	}
}

// wholeTable matches a plan that reads a table from its beginning to its end, or sorts all that it finds.
var wholeTable = regexp.MustCompile(`(?m)SCAN (r|o|d|e|t|a|weft_\w+)\b.*|Seq Scan on weft_(runs|tags|asks).*|Hash Join.*`)

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// asked are the requests that are measured. Each is a page of at most 50 runs, or finds nothing.
var asked = []struct {
	name string
	do   func(t *testing.T, f *fixture)
}{
	{"idle poll", func(t *testing.T, f *fixture) { f.nothingDue(t, runs.Due{}) }},
	{"idle poll of agents", func(t *testing.T, f *fixture) { f.nothingDue(t, runs.Due{Agents: []string{"a", "b"}}) }},
	{"idle poll of a queue", func(t *testing.T, f *fixture) { f.nothingDue(t, runs.Due{Queues: []string{"q"}}) }},
	{"sweep of nothing", func(t *testing.T, f *fixture) {
		swept, err := f.Sweep(t.Context(), 100)
		require.NoError(t, err)
		require.Equal(t, runs.Swept{}, swept)
	}},
	{"count of children", func(t *testing.T, f *fixture) {
		counts, err := f.Count(t.Context(), runs.Query{Parent: "parent of done 3"})
		require.NoError(t, err)
		require.Equal(t, map[runs.Status]int64{runs.Done: 1}, counts)
	}},
	page("list", 50, runs.Query{}),
	page("list by key", 1, runs.Query{Key: "key of done 3"}),
	page("list by key of none", 0, runs.Query{Key: "none"}),
	page("list by parent", 1, runs.Query{Parent: "parent of done 3"}),
	page("list by agent of all", 50, runs.Query{Agent: "a"}),
	page("list by agent of none", 0, runs.Query{Agent: "none"}),
	page("list by tag of all", 50, runs.Query{Tags: map[string]string{"all": "1"}}),
	page("list by tag of a state", 50, runs.Query{Tags: map[string]string{"state": "waiting"}}),
	page("list by tags of all and few", 20, runs.Query{Tags: map[string]string{"rare": "1", "all": "1"}}),
	page("list by agent and rare tag", 20, runs.Query{Agent: "a", Tags: map[string]string{"rare": "1"}}),
	page("list by tag of none", 0, runs.Query{Tags: map[string]string{"none": "1"}}),
	page("list by kind", 50, runs.Query{Kind: "approval"}),
	page("list by kind of none", 0, runs.Query{Kind: "none"}),
	page("list by person", 50, runs.Query{WaitingFor: "ana"}),
	page("list by person and kind", 50, runs.Query{WaitingFor: "ana", Kind: "approval"}),
	page("list by person of none", 0, runs.Query{WaitingFor: "none"}),
	page("is anything waiting", 1, runs.Query{Status: []runs.Status{runs.Waiting}, Limit: 1}),
}

func page(name string, want int, q runs.Query) struct {
	name string
	do   func(t *testing.T, f *fixture)
} {
	if q.Limit == 0 {
		q.Limit = 50
	}
	return struct {
		name string
		do   func(t *testing.T, f *fixture)
	}{name, func(t *testing.T, f *fixture) { require.Len(t, listed(t, f.Store, q), want, name) }}
}

// measure returns how long each takes at least.
func (f *fixture) measure(t *testing.T) map[string]time.Duration {
	t.Helper()
	took := map[string]time.Duration{}
	for _, what := range asked {
		took[what.name] = f.least(t, what.do)
	}
	return took
}

// least returns how long a request takes at least: a loaded machine makes any of several slow, and not all of them.
func (f *fixture) least(t *testing.T, do func(t *testing.T, f *fixture)) time.Duration {
	t.Helper()
	var all []time.Duration
	for range 7 {
		began := time.Now()
		do(t, f)
		all = append(all, time.Since(began))
	}
	return slices.Min(all)
}

// populate makes runs that are done, wait for an answer and sleep, up to so many of each: copies of one each that the store
// made, as numbers from a.
func (f *fixture) populate(t *testing.T, from, to int) {
	t.Helper()
	if from == 0 {
		for _, kind := range []string{"done", "waiting", "sleeping", "first"} {
			l := f.begin(t, kind, runs.Spec{Agent: "a", Queue: "q", Key: "key of " + kind, Parent: "parent of " + kind,
				Tags: map[string]string{"all": "1", "state": kind}})
			end := runs.Settlement{Status: runs.Waiting,
				Waiting: []runs.Question{{ID: "p", Kind: "approval", For: []string{"ana", "bob"}}}}
			switch kind {
			case "done":
				end = runs.Settlement{Status: runs.Done}
			case "sleeping":
				end.Waiting[0].Kind, end.Waiting[0].For, end.WakeAt = "timer", nil, l.Info().Now.Add(time.Hour)
			}
			require.NoError(t, l.Settle(t.Context(), end))
		}
		for i := range 20 { // of a key whose first one waits
			f.submit(t, fmt.Sprint("behind ", i), runs.Spec{Agent: "a", Queue: "q", Key: "key of first",
				Tags: map[string]string{"rare": "1", "all": "1"}})
		}
	}
	for i, kind := range []string{"done", "waiting", "sleeping"} {
		for _, statement := range []string{
			fmt.Sprintf(`INSERT INTO weft_runs SELECT no + 10000000 * %[1]d + i, tenant, id || ' ' || i, born + 10000000 * %[1]d + i, status,
				token, held, lease_until, nonce, life, attempts, agent, queue, serial || ' ' || i, parent || ' ' || i, priority,
				due_at + i, next_seq, steps, bytes, has, stops, created_at + i, updated_at + i, expires_at + i, data
				FROM weft_runs, (WITH RECURSIVE g (i) AS (SELECT %[2]d UNION ALL SELECT i + 1 FROM g WHERE i < %[3]d) SELECT i FROM g) AS n
				WHERE id = '%[4]s'`, i+1, from+1, to, kind),
			fmt.Sprintf(`INSERT INTO weft_tags SELECT r.no, t.name, t.value, t.tenant, r.status, r.updated_at, r.id FROM weft_tags t, weft_runs r
				WHERE t.run = (SELECT no FROM weft_runs WHERE id = '%[1]s') AND r.no > 10000000 * %[2]d + %[3]d + t.run
				AND r.no < 10000000 * (%[2]d + 1)`, kind, i+1, from),
			fmt.Sprintf(`INSERT INTO weft_asks SELECT r.no, t.kind, t.whom, t.tenant, r.status, r.updated_at, r.id FROM weft_asks t, weft_runs r
				WHERE t.run = (SELECT no FROM weft_runs WHERE id = '%[1]s') AND r.no > 10000000 * %[2]d + %[3]d + t.run
				AND r.no < 10000000 * (%[2]d + 1)`, kind, i+1, from),
		} {
			_, err := f.conf.DB.Exec(statement)
			require.NoError(t, err, statement)
		}
	}
}
