package sqlrun

import (
	"context"
	"fmt"

	"github.com/weftgo/weft/runs"
)

// Plans says, by name, how the database finds what workers and lists look for, in its own words. Tests of dialects call it
// with a database that has many runs: none of them may read a whole table.
func (s *Store) Plans(ctx context.Context) (plans map[string]string, err error) {
	plans = map[string]string{}
	explain := func(name, query string, args []any) {
		if err != nil {
			return
		}
		if plans[name], err = s.explain(ctx, s.writer.write(query), args); err != nil {
			err = fmt.Errorf("sqlrun: explain %q: %w", name, err)
		}
	}
	for name, due := range map[string]runs.Due{"": {}, " of a queue": {Queues: []string{"q"}}, " of an agent": {Agents: []string{"a"}}} {
		query, args := s.priorityQuery(due, nil, 1<<40)
		explain("poll"+name, query, args)
		query, args = s.dueQuery(due, nil, 0)
		explain("take"+name, query, args)
	}
	explain("sweep", `SELECT no FROM {runs} {by_runs_expires} WHERE `+isExpired+` ORDER BY expires_at LIMIT 100`, []any{s.tenant})
	explain("anything to sweep", anyExpired, []any{s.tenant})
	explain("requests to stop", `SELECT no, stops FROM {runs} {by_runs_stopping} WHERE held = 1 AND stops > 0`, nil)
	explain("first of a key", firstOfKey, []any{s.tenant, encode("k"), 1 << 40})
	for name, q := range map[string]runs.Query{"all": {}, "key": {Key: "k"}, "parent": {Parent: "p"}, "agent": {Agent: "a"},
		"tag": {Tags: map[string]string{"t": "v"}}, "kind": {Kind: "k"}, "person": {WaitingFor: "w"},
		"person and kind": {WaitingFor: "w", Kind: "k"}} {
		ways, failed := s.waysTo(ctx, q)
		if failed != nil {
			return nil, failed
		}
		query, args := s.pageQuery(q, ways, &position{1 << 60, "x"}, 50)
		explain("list by "+name, query, args)
	}
	return plans, err
}

// explain has the database explain a query, a line for each step.
func (s *Store) explain(ctx context.Context, query string, args []any) (plan string, err error) {
	rows, err := s.reads.QueryContext(ctx, s.dialect.Explain+" "+query, args...)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return "", err
	}
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		if err := rows.Scan(values...); err != nil {
			return "", err
		}
		plan += fmt.Sprintln(*values[len(values)-1].(*any)) // the last one is the text
	}
	return plan, rows.Err()
}
