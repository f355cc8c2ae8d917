package sqlrun

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weftgo/weft/adk/checkpoint/storekit"
	"github.com/weftgo/weft/runs"
)

// pageSize is the number of runs that are read at once.
const pageSize = 200

// statuses are all that a run can have.
var statuses = []runs.Status{runs.Ready, runs.Running, runs.Waiting, runs.Paused,
	runs.Done, runs.Failed}

// position is behind a run in a list.
type position struct {
	updated int64
	key     string
}

// readCursor is the opposite of checkpoint.Cursor.
func readCursor(cursor string) (*position, error) {
	if cursor == "" {
		return nil, nil
	}
	updated, id, ok := strings.Cut(cursor, ".")
	at, err := strconv.ParseInt(updated, 16, 64)
	if err != nil || !ok {
		return nil, storekit.ErrBadCursor
	}
	return &position{at, encode(id)}, nil
}

// List yields runs, the one updated last first. It reads them a page at a time.
func (s *Store) List(ctx context.Context, q runs.Query) iter.Seq2[runs.Info, error] {
	return func(yield func(runs.Info, error) bool) {
		behind, err := readCursor(q.After)
		if err != nil {
			yield(runs.Info{}, err)
			return
		}
		for left := q.Limit; ; {
			n := pageSize
			if q.Limit > 0 {
				n = min(n, left)
			}
			infos, err := s.page(ctx, q, behind, n)
			if err != nil {
				yield(runs.Info{}, err)
				return
			}
			for _, info := range infos {
				if !yield(info, nil) {
					return
				}
			}
			left -= len(infos)
			if len(infos) < n || q.Limit > 0 && left == 0 {
				return
			}
			last := infos[len(infos)-1]
			behind = &position{micros(last.Updated), encode(last.ID)}
		}
	}
}

// page reads up to n runs behind a position.
func (s *Store) page(ctx context.Context, q runs.Query, behind *position, n int) (
	infos []runs.Info, err error) {
	ways, err := s.waysTo(ctx, q)
	if err != nil || len(ways) == 0 {
		return nil, err
	}
	query, args := s.pageQuery(q, ways, behind, n)
	err = s.read(ctx, "list", "", func(ctx context.Context) error {
		infos = infos[:0]
		found, err := s.reads.QueryContext(ctx, s.writer.write(query), args...)
		if err != nil {
			return err
		}
		defer found.Close()
		for found.Next() {
			r, err := scanRow(found)
			var bad *unreadable
			if errors.As(err, &bad) {
				r, err = bad.shown(), nil
			}
			if err != nil {
				return err
			}
			infos = append(infos, s.shown(r))
		}
		return found.Err()
	})
	return infos, err
}

// pageQuery looks for the first runs of each status that there is a way to, as the index has them, and takes the first of
// those.
func (s *Store) pageQuery(q runs.Query, ways map[runs.Status]way, behind *position, n int) (string, []any) {
	args := []any{s.tenant, n}
	if behind != nil {
		args = append(args, behind.updated, behind.key)
	}
	var parts []string
	for _, status := range anyStatus(q) {
		by, ok := ways[status]
		if !ok {
			continue
		}
		from, where := s.conditions(q, by, &args)
		if behind != nil {
			where += strings.ReplaceAll(" AND x.updated_at <= $3 AND (x.updated_at < $3 OR x.id > $4)", "x.", by.alias()+".")
		}
		args = append(args, string(status))
		parts = append(parts, fmt.Sprintf(`SELECT * FROM (SELECT {r_columns}, {now} FROM %[1]s WHERE %[2]s AND %[4]s.status = $%[3]d
			ORDER BY %[4]s.updated_at DESC, %[4]s.id LIMIT $2) AS of_status`, from, where, len(args), by.alias()))
	}
	const order = ` ORDER BY updated_at DESC, id`
	if len(parts) == 1 {
		return parts[0] + order, args
	}
	return strings.Join(parts, " UNION ALL ") + order + ` LIMIT $2`, args
}

// anyStatus are the statuses that a query looks for.
func anyStatus(q runs.Query) []runs.Status {
	if len(q.Status) == 0 {
		return statuses
	}
	all := slices.Clone(q.Status)
	slices.Sort(all)
	return slices.Compact(all)
}

// conditions returns the table from which the runs r of a query are read, and its conditions but for the status and the
// cursor.
func (s *Store) conditions(q runs.Query, by way, args *[]any) (from, where string) {
	var b strings.Builder
	add := func(condition string, values ...string) {
		numbers := make([]any, len(values))
		for i, v := range values {
			*args = append(*args, encode(v))
			numbers[i] = len(*args)
		}
		fmt.Fprintf(&b, " AND "+condition, numbers...)
	}
	b.WriteString(by.alias() + ".tenant = $1")
	if from = by.from(); by.table != "" {
		from += " CROSS JOIN {runs} r"
		add("r.no = d.run")
		add(by.where, by.values...)
	}
	for _, c := range []struct{ column, value, more string }{{"queue", q.Queue, ""}, {"agent", q.Agent, ""},
		{"parent", q.Parent, " AND r.parent <> ''"}, {"serial", q.Key, " AND r.serial <> ''"}} {
		if c.value != "" {
			add("r."+c.column+" = $%d"+c.more, c.value)
		}
	}
	if q.Queue == "" {
		add("r.queue <> '{own}'")
	}
	if !q.CreatedAfter.IsZero() {
		add(fmt.Sprint("r.created_at > ", micros(q.CreatedAfter)))
	}
	if !q.UpdatedBefore.IsZero() {
		add(fmt.Sprint("r.updated_at < ", micros(q.UpdatedBefore)))
	}
	for _, name := range slices.Sorted(maps.Keys(q.Tags)) {
		if by.tag == nil || *by.tag != name {
			add("EXISTS (SELECT 1 FROM {tags} t WHERE t.run = r.no AND t.name = $%d AND t.value = $%d)", name, q.Tags[name])
		}
	}
	switch {
	case by.asks, q.Kind == "" && q.WaitingFor == "":
	case q.WaitingFor == "":
		add("EXISTS (SELECT 1 FROM {asks} a WHERE a.run = r.no AND a.kind = $%d)", string(q.Kind))
	case q.Kind == "":
		add("EXISTS (SELECT 1 FROM {asks} a WHERE a.run = r.no AND a.whom = $%d)", q.WaitingFor)
	default:
		add("EXISTS (SELECT 1 FROM {asks} a WHERE a.run = r.no AND a.kind = $%d AND a.whom = $%d)", string(q.Kind), q.WaitingFor)
	}
	return from, b.String()
}

// Count counts runs by status.
func (s *Store) Count(ctx context.Context, q runs.Query) (counts map[runs.Status]int64, err error) {
	if isAll(q) {
		return s.countAll(ctx, q)
	}
	ways, err := s.waysTo(ctx, q)
	if err != nil {
		return nil, err
	}
	args := []any{s.tenant}
	var parts []string
	for _, status := range anyStatus(q) {
		by, ok := ways[status]
		if !ok {
			continue
		}
		from, where := s.conditions(q, by, &args)
		args = append(args, string(status))
		parts = append(parts, fmt.Sprintf(`SELECT '%s' AS status, COUNT(*) FROM %s WHERE %s AND %s.status = $%d`, status, from, where,
			by.alias(), len(args)))
	}
	if len(parts) == 0 {
		return map[runs.Status]int64{}, nil
	}
	return s.counted(ctx, strings.Join(parts, " UNION ALL "), args)
}

// isAll reports whether a query looks for nothing but statuses.
func isAll(q runs.Query) bool {
	return q.Queue == "" && q.Agent == "" && q.Parent == "" && q.Key == "" && q.Kind == "" && q.WaitingFor == "" && len(q.Tags) == 0 &&
		q.CreatedAfter.IsZero() && q.UpdatedBefore.IsZero()
}

// countAll counts by the index alone. Weft's own leases, which are few, are taken off.
func (s *Store) countAll(ctx context.Context, q runs.Query) (map[runs.Status]int64, error) {
	args := []any{s.tenant}
	count := func(of string) string {
		return `SELECT r.status, COUNT(*) FROM {runs} r ` + of + ` AND r.status`
	}
	statuses := in(&args, anyStatus(q), func(s string) string { return s }) + ` GROUP BY r.status`
	counts, err := s.counted(ctx, count(`{by_runs_updated} WHERE r.tenant = $1`)+statuses, args)
	if err != nil {
		return nil, err
	}
	own, err := s.counted(ctx, count(`{by_runs_own} WHERE r.tenant = $1 AND r.queue = '{own}'`)+statuses, args)
	for status, n := range own {
		if counts[status] -= n; counts[status] <= 0 {
			delete(counts, status)
		}
	}
	return counts, err
}

// counted reads numbers of runs by status.
func (s *Store) counted(ctx context.Context, query string, args []any) (counts map[runs.Status]int64, err error) {
	err = s.read(ctx, "count", "", func(ctx context.Context) error {
		counts = map[runs.Status]int64{}
		rows, err := s.reads.QueryContext(ctx, s.writer.write(query), args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var status runs.Status
			var n int64
			if err := rows.Scan(&status, &n); err != nil {
				return err
			}
			if n > 0 {
				counts[status] = n
			}
		}
		return rows.Err()
	})
	return counts, err
}
