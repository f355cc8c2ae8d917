package sqlrun

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/weftgo/weft/runs"
)

// way is a way to find the runs of a query: an index in the order of lists, of the runs themselves or of a table d that says
// more of them.
type way struct {
	// table is "" for the runs.
	table, index string
	// where is a condition on d, or on the runs r, with its values.
	where  string
	values []string
	// tag is the tag by which runs are found, and asks says that they are by what they wait for: conditions that need not be
	// checked again.
	tag  *string
	asks bool
}

// from is the table with its index.
func (w way) from() string {
	table := w.table
	if table == "" {
		table = "{runs}"
	}
	return table + " " + w.alias() + " {by_" + w.index + "}"
}

// alias is the table that has the tenant, the status, the time and the ID.
func (w way) alias() string {
	if w.table == "" {
		return "r"
	}
	return "d"
}

// enough is the number up to which runs of a status are counted to choose one of several ways.
const enough = 300

// waysTo chooses how to find the runs of a query, for each status. The key and the parent come first; of several tags,
// questions and the agent, those that the fewest runs of the status have.
func (s *Store) waysTo(ctx context.Context, q runs.Query) (map[runs.Status]way, error) {
	var all []way
	switch {
	case q.Key != "":
		all = []way{{index: "runs_serial"}}
	case q.Parent != "":
		all = []way{{index: "runs_parent"}}
	default:
		all = waysBeside(q)
		if q.Agent != "" {
			all = append(all, way{index: "runs_agent", where: "r.agent = $%d", values: []string{q.Agent}})
		}
	}
	if len(all) == 0 {
		all = []way{{index: "runs_updated"}}
	}
	ways := map[runs.Status]way{}
	for _, status := range anyStatus(q) {
		best, fewest := all[0], enough+1
		for _, w := range all {
			if len(all) == 1 {
				break
			}
			n, err := s.upToEnough(ctx, w, status)
			if err != nil {
				return nil, err
			}
			if n < fewest {
				best, fewest = w, n
			}
		}
		if fewest > 0 {
			ways[status] = best
		}
	}
	return ways, nil
}

// waysBeside returns the ways by the tables beside the runs. A run has one row there: of several questions of a kind, or
// that wait for one person, the first one counts.
func waysBeside(q runs.Query) (ways []way) {
	const table = "{asks}"
	switch {
	case q.WaitingFor != "" && q.Kind != "":
		ways = append(ways, way{table: table, index: "asks_whom", where: "d.whom = $%d AND d.kind = $%d",
			values: []string{q.WaitingFor, string(q.Kind)}, asks: true})
	case q.WaitingFor != "":
		ways = append(ways, way{table: table, index: "asks_whom", where: `d.whom = $%d AND NOT EXISTS
			(SELECT 1 FROM {asks} e WHERE e.run = d.run AND e.whom = d.whom AND e.kind < d.kind)`, values: []string{q.WaitingFor}, asks: true})
	case q.Kind != "":
		ways = append(ways, way{table: table, index: "asks_kind", where: `d.kind = $%d AND NOT EXISTS
			(SELECT 1 FROM {asks} e WHERE e.run = d.run AND e.kind = d.kind AND e.whom < d.whom)`, values: []string{string(q.Kind)}, asks: true})
	}
	for _, name := range slices.Sorted(maps.Keys(q.Tags)) {
		ways = append(ways, way{table: "{tags}", index: "tags_value", where: "d.name = $%d AND d.value = $%d",
			values: []string{name, q.Tags[name]}, tag: &name})
	}
	return ways
}

// upToEnough counts the runs of a status by a way, but not further than enough.
func (s *Store) upToEnough(ctx context.Context, w way, status runs.Status) (n int, err error) {
	args, numbers := []any{s.tenant, string(status)}, []any{}
	for _, v := range w.values {
		args = append(args, encode(v))
		numbers = append(numbers, len(args))
	}
	query := fmt.Sprintf(`SELECT COUNT(*) FROM (SELECT 1 FROM `+w.from()+` WHERE %[1]s.tenant = $1 AND %[1]s.status = $2 AND `,
		w.alias()) + fmt.Sprintf(w.where, numbers...) + fmt.Sprintf(` LIMIT %d) AS first`, enough)
	err = s.read(ctx, "list", "", func(ctx context.Context) error {
		return s.reads.QueryRowContext(ctx, s.sql(query), args...).Scan(&n)
	})
	return n, err
}
