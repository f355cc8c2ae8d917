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

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/checkpoint/storekit"
)

// pageSize is how many runs are read at once.
const pageSize = 200

// statuses are all that a run can have.
var statuses = []checkpoint.Status{checkpoint.Ready, checkpoint.Running, checkpoint.Waiting, checkpoint.Paused,
	checkpoint.Done, checkpoint.Failed}

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
func (s *Store) List(ctx context.Context, q checkpoint.Query) iter.Seq2[checkpoint.RunInfo, error] {
	return func(yield func(checkpoint.RunInfo, error) bool) {
		behind, err := readCursor(q.After)
		if err != nil {
			yield(checkpoint.RunInfo{}, err)
			return
		}
		for left := q.Limit; ; {
			n := pageSize
			if q.Limit > 0 {
				n = min(n, left)
			}
			infos, err := s.page(ctx, q, behind, n)
			if err != nil {
				yield(checkpoint.RunInfo{}, err)
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
func (s *Store) page(ctx context.Context, q checkpoint.Query, behind *position, n int) (
	infos []checkpoint.RunInfo, err error) {
	few, err := s.findsFew(ctx, q)
	if err != nil {
		return nil, err
	}
	query, args := s.pageQuery(q, few, behind, n)
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

// fewRuns is up to how many runs are looked up by what they wait for, or by a tag, before they are put in order.
const fewRuns = 500

// findsFew reports whether few runs have one of the tags of a query, or wait for whom it looks for.
func (s *Store) findsFew(ctx context.Context, q checkpoint.Query) (few bool, err error) {
	check := func(where string, args ...any) {
		if few || err != nil {
			return
		}
		err = s.read(ctx, "list", "", func(ctx context.Context) error {
			var n int
			err := s.reads.QueryRowContext(ctx,
				s.sql(fmt.Sprintf(`SELECT COUNT(*) FROM (SELECT 1 FROM %s LIMIT %d) AS first`,
					where, fewRuns+1)), args...).Scan(&n)
			few = n <= fewRuns
			return err
		})
	}
	if q.WaitingFor != "" {
		check("{asks} WHERE tenant = $1 AND whom = $2", s.tenant, encode(q.WaitingFor))
	}
	for name, value := range q.Tags {
		check("{tags} WHERE tenant = $1 AND name = $2 AND value = $3", s.tenant, encode(name), encode(value))
	}
	return few, err
}

// pageQuery looks for the first runs of each status, as the index has them, and takes the first of those.
func (s *Store) pageQuery(q checkpoint.Query, few bool, behind *position, n int) (string, []any) {
	args := []any{s.tenant, n}
	where := s.conditions(q, few, &args)
	if behind != nil {
		args = append(args, behind.updated, behind.key)
		u, k := len(args)-1, len(args)
		where += fmt.Sprintf(" AND r.updated_at <= $%d AND (r.updated_at < $%d OR r.id > $%d)", u, u, k)
	}
	const order = ` ORDER BY updated_at DESC, id LIMIT $2`
	var parts []string
	for _, status := range anyStatus(q) {
		args = append(args, string(status))
		parts = append(parts, fmt.Sprintf(`SELECT * FROM (SELECT {r_columns}, {now} FROM {runs} r
			WHERE r.tenant = $1 AND r.status = $%d%s%s) AS of_status`, len(args), where, order))
	}
	if len(parts) == 1 {
		return parts[0] + ` ORDER BY updated_at DESC, id`, args
	}
	return strings.Join(parts, " UNION ALL ") + order, args
}

// anyStatus are the statuses that a query looks for.
func anyStatus(q checkpoint.Query) []checkpoint.Status {
	if len(q.Status) == 0 {
		return statuses
	}
	all := slices.Clone(q.Status)
	slices.Sort(all)
	return slices.Compact(all)
}

// conditions are those of a query on a run r, but for its status and the cursor. few says that only few runs have the
// tags, or wait for whom the query looks for: those are looked up, and not each run that comes next.
func (s *Store) conditions(q checkpoint.Query, few bool, args *[]any) string {
	var b strings.Builder
	add := func(condition string, values ...any) {
		numbers := make([]any, len(values))
		for i, v := range values {
			*args = append(*args, v)
			numbers[i] = len(*args)
		}
		fmt.Fprintf(&b, " AND "+condition, numbers...)
	}
	for _, c := range []struct{ column, value string }{{"queue", encode(q.Queue)}, {"agent", encode(q.Agent)},
		{"parent", encode(q.Parent)}, {"serial", encode(q.Key)}} {
		if c.value != "" {
			add("r."+c.column+" = $%d", c.value)
		}
	}
	if q.Queue == "" {
		add("r.queue <> $%d", encode(storekit.OwnQueue))
	}
	if !q.CreatedAfter.IsZero() {
		add("r.created_at > $%d", micros(q.CreatedAfter))
	}
	if !q.UpdatedBefore.IsZero() {
		add("r.updated_at < $%d", micros(q.UpdatedBefore))
	}
	for _, name := range slices.Sorted(maps.Keys(q.Tags)) {
		condition := "EXISTS (SELECT 1 FROM {tags} t WHERE t.run = r.no AND t.name = $%d AND t.value = $%d)"
		if few {
			condition = "r.no IN (SELECT t.run FROM {tags} t WHERE t.tenant = $1 AND t.name = $%d AND t.value = $%d)"
		}
		add(condition, encode(name), encode(q.Tags[name]))
	}
	if q.Kind == "" && q.WaitingFor == "" {
		return b.String()
	}
	asks := "SELECT a.run FROM {asks} a WHERE a.tenant = $1"
	var values []any
	if q.Kind != "" {
		asks, values = asks+" AND a.kind = $%d", append(values, encode(q.Kind))
	}
	if q.WaitingFor != "" {
		asks, values = asks+" AND a.whom = $%d", append(values, encode(q.WaitingFor))
	}
	if few && q.WaitingFor != "" {
		add("r.no IN ("+asks+")", values...)
	} else {
		add("EXISTS ("+asks+" AND a.run = r.no)", values...)
	}
	return b.String()
}

// Count counts runs by status.
func (s *Store) Count(ctx context.Context, q checkpoint.Query) (counts map[checkpoint.Status]int64, err error) {
	args := []any{s.tenant}
	statuses := anyStatus(q)
	query := `SELECT r.status, COUNT(*) FROM {runs} r WHERE r.tenant = $1 AND r.status` +
		in(&args, statuses, func(s string) string { return s }) + s.conditions(q, true, &args) + ` GROUP BY r.status`
	err = s.read(ctx, "count", "", func(ctx context.Context) error {
		counts = map[checkpoint.Status]int64{}
		rows, err := s.reads.QueryContext(ctx, s.writer.write(query), args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var status checkpoint.Status
			var n int64
			if err := rows.Scan(&status, &n); err != nil {
				return err
			}
			counts[status] = n
		}
		return rows.Err()
	})
	return counts, err
}
