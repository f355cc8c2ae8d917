package sqlruntest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftgo/weft/adk/checkpoint/sqlrun"
	"github.com/weftgo/weft/runs"
)

// Bench measures what a store does most. Insert inserts the record into a table of its own, as a program would do that knows
// nothing of leases: what an append is compared with.
func Bench(b *testing.B, open func(b *testing.B) (store *sqlrun.Store, conf sqlrun.Config)) {
	record := make([]byte, 1024)
	for _, writers := range []int{1, 16} {
		b.Run(fmt.Sprintf("Append/writers=%d", writers), func(b *testing.B) {
			store, _ := open(b)
			leases := make([]runs.Lease, writers)
			for i := range leases {
				leases[i] = held(b, store, fmt.Sprint(i))
			}
			share(b, writers, func(ctx context.Context, i int) error {
				return leases[i].AppendRecord(ctx, fmt.Sprint(i), record)
			})
		})
		b.Run(fmt.Sprintf("Insert/writers=%d", writers), func(b *testing.B) {
			_, conf := open(b)
			statement(b, conf, fmt.Sprintf("CREATE TABLE by_hand (run %s, seq %s, data %s, PRIMARY KEY (run, seq))",
				conf.Dialect.Int, conf.Dialect.Int, conf.Dialect.Blob))
			var seq atomic.Int64
			p := conf.Dialect.Parameter
			insert := fmt.Sprintf("INSERT INTO by_hand (run, seq, data) VALUES (%s1, %s2, %s3)", p, p, p)
			share(b, writers, func(ctx context.Context, i int) error {
				_, err := conf.DB.ExecContext(ctx, insert, int64(i), seq.Add(1), record)
				return err
			})
		})
	}
	b.Run("Renew/leases=200", func(b *testing.B) {
		store, _ := open(b)
		leases := make([]runs.Lease, 200)
		for i := range leases {
			leases[i] = held(b, store, fmt.Sprint(i))
		}
		share(b, len(leases), func(ctx context.Context, i int) error { return leases[i].Renew(ctx) })
	})
	b.Run("Claim/due=100000", func(b *testing.B) { benchClaim(b, open, 100_000) })
	b.Run("Claim/due=10000", func(b *testing.B) { benchClaim(b, open, 10_000) })
	for _, whom := range []string{"", "ana"} {
		b.Run("ListPage/waiting=10000/for="+whom, func(b *testing.B) { benchList(b, open, whom) })
	}
}

func held(b *testing.B, store *sqlrun.Store, id string) runs.Lease {
	b.Helper()
	l, err := store.Acquire(b.Context(), id, runs.LeaseRequest{TTL: time.Hour, Create: &runs.Spec{}})
	if err != nil {
		b.Fatal(err)
	}
	return l
}

func statement(b *testing.B, conf sqlrun.Config, text string) {
	b.Helper()
	if _, err := conf.DB.ExecContext(b.Context(), text); err != nil {
		b.Fatal(err)
	}
}

// share does something b.N times, in so many goroutines.
func share(b *testing.B, writers int, do func(ctx context.Context, i int) error) {
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ResetTimer()
	together(writers, func(i int) {
		for left.Add(-1) >= 0 {
			if err := do(b.Context(), i); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.StopTimer()
}

// benchClaim has 32 workers take runs of a table in which so many are due, and no more: b.N must be smaller.
func benchClaim(b *testing.B, open func(b *testing.B) (*sqlrun.Store, sqlrun.Config), due int) {
	store, conf := open(b)
	fill(b, store, conf, due, "ready")
	share(b, 32, func(ctx context.Context, _ int) error {
		_, err := store.AcquireDue(ctx, runs.LeaseRequest{}, runs.Due{Queues: []string{"q"}})
		return err
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
}

func benchList(b *testing.B, open func(b *testing.B) (*sqlrun.Store, sqlrun.Config), whom string) {
	store, conf := open(b)
	fill(b, store, conf, 10_000, "waiting")
	q := runs.Query{Status: []runs.Status{runs.Waiting}, WaitingFor: whom, Limit: 50}
	for b.Loop() {
		n := 0
		for info, err := range store.List(b.Context(), q) {
			if err != nil {
				b.Fatal(err)
			}
			q.After = info.Page()
			n++
		}
		if n < q.Limit {
			q.After = ""
		}
	}
}

// fill makes runs quickly: one through the store, and copies of its rows.
func fill(b *testing.B, store *sqlrun.Store, conf sqlrun.Config, n int, status string) {
	b.Helper()
	l, err := store.Acquire(b.Context(), "0", runs.LeaseRequest{Create: &runs.Spec{Queue: "q"}})
	if err != nil {
		b.Fatal(err)
	}
	s := runs.Settlement{Status: runs.Status(status)}
	if s.Status == runs.Waiting {
		s.Waiting = []runs.Question{{ID: "p", Kind: "approval", For: []string{"ana"}, Text: "Pay?"}}
	}
	if err := l.Settle(b.Context(), s); err != nil {
		b.Fatal(err)
	}
	statement(b, conf, fmt.Sprintf(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		INSERT INTO weft_runs SELECT no + 1000 + i, tenant, CAST(i AS TEXT), born + 1000 + i, status, token, held, lease_until,
			nonce, life, attempts, agent, queue, serial, parent, priority, due_at, next_seq, steps, bytes, has, stops, created_at,
			updated_at + i, expires_at, data FROM weft_runs, n WHERE id = '0'`, n-1))
	statement(b, conf, `INSERT INTO weft_asks SELECT r.no, a.kind, a.whom, a.tenant, r.status, r.updated_at, r.id
		FROM weft_runs r, weft_asks a WHERE r.id <> '0'`)
}
